"""All tables of an SQLite journal at once: made, looked over, read as of one moment, or filled as a copy of another."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from evenmatch.errors import JournalDamaged, JournalError

from .codec import SCHEMA
from .protocol import Checkpoint, Whole
from .tables import TABLES, Table
from .transactions import connect, crc32, said_clearly, whole


def create(db: sqlite3.Connection, application: int) -> None:
    """Make the tables of a new file, all or none."""
    script = resources.files(__package__).joinpath("journal.sql").read_text("utf-8")
    marks = f"PRAGMA application_id = {application}; PRAGMA user_version = {SCHEMA};"
    db.executescript(f"BEGIN IMMEDIATE; {script} {marks} COMMIT;")


def check_tail(db: sqlite3.Connection, path: Path, newest: Checkpoint | None) -> None:
    """Read what a recovery will read, as far as checksums tell."""
    expected = None if newest is None else newest.sequence + 1
    for first, last, crc, body in db.execute(
        "SELECT first_sequence, last_sequence, crc, body FROM commits WHERE first_sequence >= ? ORDER BY 1",
        (expected or 0,),
    ):
        if crc32(body) != crc or (expected is not None and first != expected):
            raise JournalDamaged(f"{path}: the commit at {first} is not what was written, or one is missing")
        expected = whole(path, last) + 1


@contextlib.contextmanager
def snapshot(path: Path) -> Iterator[Whole]:
    """The tables of a file as of one moment, over a connection of its own."""
    with said_clearly(path), contextlib.closing(connect(path, "ro")) as db:
        db.execute("BEGIN")
        row = db.execute("SELECT max(last_sequence) FROM commits").fetchone()
        saved = db.execute("SELECT max(sequence) FROM checkpoints").fetchone()
        last = whole(path, row[0] if row[0] is not None else (saved[0] or 0))
        yield Whole(last, lambda table: _rows(db, table))


def _rows(db: sqlite3.Connection, table: Table) -> Iterator[tuple[Any, ...]]:
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table.name,)).fetchone():
        return iter(())  # an older file
    return iter(db.execute(f"SELECT {', '.join(table.columns)} FROM {table.name} ORDER BY {', '.join(table.key)}"))


def fill(db: sqlite3.Connection, rows: Callable[[Table], Iterator[tuple[Any, ...]]]) -> None:
    """Put the rows of all tables into an empty journal, in its transaction."""
    for table in TABLES:
        if next(_rows(db, table), None) is not None:
            raise JournalError("there is a journal already: name an empty place, nothing is overwritten")
        places = ", ".join("?" * len(table.columns))
        db.executemany(f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({places})", rows(table))
    db.execute("UPDATE owner SET fence = max(fence, (SELECT coalesce(max(fence), 0) FROM commits))")


def size(path: Path) -> int:
    """About how many bytes a file takes up, with what lies beside it."""
    beside = path.with_name(path.name + "-wal")
    return sum(part.stat().st_size for part in (path, beside) if part.exists())


def damage(db: sqlite3.Connection, path: Path) -> list[str]:
    """What SQLite itself finds wrong with a file; empty = nothing."""
    with said_clearly(path):
        found = [str(row[0]) for row in db.execute("PRAGMA integrity_check(10)")]
    return [] if found == ["ok"] else found
