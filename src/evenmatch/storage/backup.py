"""A copy of a journal, taken while its server runs.

SQLite's backup reads one snapshot: all commits up to a moment, and nothing after it. In one step, so that a busy server
cannot make it begin again; a writer is not held up by it, for in WAL mode readers never are. The copy is made under
another name and gets its own only when it is whole and on disk.
"""

import contextlib
import os
import sqlite3
from pathlib import Path

from evenmatch.errors import JournalError

from .sqlite import SqliteJournal
from .transactions import connect, said_clearly


def back_up(path: Path, target: Path) -> int:
    """Copy a journal to a file that is not there yet; returns its last sequence."""
    if target.exists():
        raise JournalError(f"{target} is there already: name a new file, nothing is overwritten")
    if not target.parent.is_dir():
        raise JournalError(f"{target.parent} is not a folder: make it first")
    part = target.with_name(target.name + ".part")
    with SqliteJournal(path, read_only=True):
        pass  # refuse, in our words, what is not a journal
    try:
        part.unlink(missing_ok=True)
        with said_clearly(path):
            source = connect(path, "ro")
            try:
                _copy(source, part)
            finally:
                source.close()
        with SqliteJournal(part, read_only=True) as copy:
            last = copy.last
        for beside in ("-wal", "-shm"):
            part.with_name(part.name + beside).unlink(missing_ok=True)
        _sync(part)
        os.link(part, target)  # fails where somebody else was faster
        part.unlink()
        _sync(target.parent)
    except FileExistsError:
        raise JournalError(f"{target} is there already: name a new file, nothing is overwritten") from None
    except OSError as error:
        raise JournalError(f"{target} cannot be written: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    return last


def _copy(source: sqlite3.Connection, part: Path) -> None:
    with said_clearly(part):
        copy = connect(part, "rwc")
        try:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, nothing beside it
        finally:
            copy.close()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
