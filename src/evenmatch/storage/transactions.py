"""What every statement on an SQLite journal goes through: errors in our words, transactions that check the fence."""

import contextlib
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path

from evenmatch.errors import JournalDamaged, JournalError, JournalStale, JournalUnavailable


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection in SQLite's mode ro, rw or rwc."""
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False, timeout=5.0
    )


@contextlib.contextmanager
def said_clearly(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except UnicodeDecodeError as error:  # SQLite complains in words out of the file itself
        raise JournalDamaged(f"{path} is damaged. Restore it from a backup; it was left as it is") from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise JournalDamaged(
                f"{path} is damaged: {error}. Restore it from a backup; it was left as it is"
            ) from error
        if code == sqlite3.SQLITE_CONSTRAINT:
            raise JournalError(f"{path} does not take what it has already: {error}") from error
        if code == sqlite3.SQLITE_FULL:
            raise JournalUnavailable(f"the disk under {path} is full; free some space") from error
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise JournalUnavailable(f"{path} is locked by another program ({error})") from error
        raise JournalUnavailable(f"{path} cannot be used: {error}") from error


def crc32(body: object) -> int:
    """The checksum of a body; -1, which no body has, for what a damaged file gives in place of one."""
    return zlib.crc32(body) if isinstance(body, bytes) else -1


def whole(path: Path, value: object) -> int:
    """A number out of the file, which may hold anything once it is damaged."""
    if not isinstance(value, int):
        raise JournalDamaged(f"{path} is damaged: {value!r} stands where a number must be")
    return value


def owner(db: sqlite3.Connection, path: Path) -> int:
    """The number of the present owner."""
    row = db.execute("SELECT fence FROM owner").fetchone()
    return whole(path, None if row is None else row[0])


@contextlib.contextmanager
def fenced(db: sqlite3.Connection, path: Path, fence: int) -> Iterator[sqlite3.Connection]:
    """A transaction of the owner with this number, undone on any failure."""
    with said_clearly(path):
        db.execute("BEGIN IMMEDIATE")
        try:
            present = owner(db, path)
            if present != fence:
                raise JournalStale(f"owner {present} has taken {path} over from owner {fence}")
            yield db
            db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # SQLite may have rolled back by itself
                db.execute("ROLLBACK")
            raise
