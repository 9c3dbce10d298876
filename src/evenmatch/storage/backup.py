"""A copy of a journal in a file, taken while its server runs.

SQLite's backup reads one snapshot: all commits up to a moment, and nothing after it. In one step, so that a busy server
cannot make it begin again; a writer is not held up by it, for in WAL mode readers never are. A journal in PostgreSQL is
copied table by table (`copying.py`), out of one snapshot too. The copy is made under another name and gets its own only
when it is whole and on disk.
"""

import contextlib
import os
import sqlite3
from pathlib import Path

from evenmatch.errors import JournalError

from .copying import copy
from .places import MAIN, in_database, open_store
from .sqlite import SqliteJournal
from .transactions import connect, said_clearly


def back_up(place: str, target: Path, lane: str = MAIN) -> int:
    """Copy the journal at a place, or of a lane there, to a file that is not there yet; returns its last sequence."""
    if target.exists():
        raise JournalError(f"{target} is there already: name a new file, nothing is overwritten")
    if not target.parent.is_dir():
        raise JournalError(f"{target.parent} is not a folder: make it first")
    part = target.with_name(target.name + ".part")
    with open_store(place, lane=lane, read_only=True):
        pass  # refuse, in our words, what is not a journal
    try:
        part.unlink(missing_ok=True)
        if in_database(place):
            _copy_rows(place, part, lane)
        else:
            _copy_file(Path(place), part)
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


def size_of(place: str) -> int:
    """About how many bytes a copy of the journal at a place will have."""
    with open_store(place, read_only=True) as store:
        return store.size()


def _copy_file(path: Path, part: Path) -> None:
    with said_clearly(path):
        source = connect(path, "ro")
        try:
            with said_clearly(part):
                target = connect(part, "rwc")
                try:
                    source.backup(target)
                    _in_one_file(target)
                finally:
                    target.close()
        finally:
            source.close()


def _copy_rows(place: str, part: Path, lane: str) -> None:
    with open_store(place, lane=lane, read_only=True) as source, SqliteJournal(part) as target:
        copy(source, target)
    part.with_name(part.name + ".lock").unlink(missing_ok=True)
    with said_clearly(part), contextlib.closing(connect(part, "rw")) as db:
        _in_one_file(db)


def _in_one_file(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode = DELETE")  # nothing beside it


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
