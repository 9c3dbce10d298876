"""The file under an SQLite journal: what is refused before SQLite touches it, and the lock of its one owner."""

import fcntl
from pathlib import Path
from typing import Final, TextIO

from evenmatch.errors import JournalBusy, JournalDamaged, JournalForeign, JournalUnavailable

_HEADER: Final = b"SQLite format 3\x00"


def check_file(path: Path, read_only: bool) -> None:
    """Refuse what is plainly not a journal before SQLite touches it."""
    try:
        if path.is_dir():
            raise JournalForeign(f"{path} is a folder; name a file")
        if path.exists():
            with path.open("rb") as file:
                head = file.read(100)
            if head and not head.startswith(_HEADER):
                raise JournalForeign(f"{path} is not an evenmatch journal; choose another file. It was left as it is")
            if not head and read_only:
                raise JournalForeign(f"{path} is empty: there is no journal in it")
            if head and _cut_short(path, head):
                raise JournalDamaged(f"{path} is cut short. Restore it from a backup; it was left as it is")
        elif read_only:
            raise JournalUnavailable(f"there is no file {path}")
        elif not path.parent.is_dir():
            raise JournalUnavailable(f"there is no folder {path.parent} to put {path.name} in; make it first")
    except OSError as error:
        raise JournalUnavailable(f"{path} cannot be opened: {error.strerror}") from error


def _cut_short(path: Path, head: bytes) -> bool:
    """Is the file shorter than it says? With a write-ahead log beside it, the rest may be in there."""
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        return False
    page_size, pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
    is_pages_valid = head[24:28] == head[92:96]
    return is_pages_valid and path.stat().st_size < pages * (65536 if page_size == 1 else page_size)


def is_served(path: Path) -> bool:
    """Does somebody own the journal in this file now?"""
    real = path.resolve()
    try:
        with real.with_name(real.name + ".lock").open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def take_lock(path: Path) -> TextIO:
    """Hold the lock file next to the journal for as long as we own it."""
    real = path.resolve()  # one file has one lock, by whatever link it is reached
    lock_path = real.with_name(real.name + ".lock")
    try:
        lock = lock_path.open("w")
    except OSError as error:
        raise JournalUnavailable(f"{lock_path} cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise JournalBusy(
            f"another evenmatch is serving {path}; stop it first, or give this one its own file with --db"
        ) from error
    return lock
