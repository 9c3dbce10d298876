"""Large checkpoints, written while commits go on.

A state of a million tickets is two hundred megabytes. In one transaction it would hold up every commit for seconds, and
SQLite takes no value above a gigabyte. So its bytes are cut into pieces, and a connection of its own writes each in a
transaction of its own; the checkpoint counts from the moment when its row, with an empty body, is entered in the last.
Pieces that a crash left without a row do not count and are dropped by the next one.
"""

import contextlib
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from evenmatch.errors import JournalDamaged

from .codec import SCHEMA
from .memory import CHECKPOINTS_KEPT
from .protocol import Checkpoint
from .transactions import connect, crc32, fenced, said_clearly

_TABLE: Final = """CREATE TABLE IF NOT EXISTS checkpoint_pieces (
    sequence INTEGER NOT NULL, piece INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (sequence, piece)
) STRICT"""
"""As in journal.sql; files of schema 1 do not have it."""
_ORPHANS: Final = "SELECT rowid FROM checkpoint_pieces WHERE sequence NOT IN (SELECT sequence FROM checkpoints)"


def write(
    path: Path, fence: int, sequence: int, pieces: Iterable[bytes], enter: Callable[[sqlite3.Connection, int], None]
) -> None:
    """Write pieces, then call `enter` with the last transaction and the checksum of all of them.

    Nothing is done where a checkpoint of that sequence is there already: one sequence, one state.
    """
    with said_clearly(path), contextlib.closing(connect(path, "rw")) as db:
        db.execute(_TABLE)
        # What is dropped need not be overwritten, and a piece need not be durable before its checkpoint is.
        db.execute("PRAGMA secure_delete = OFF")
        db.execute("PRAGMA synchronous = NORMAL")
        _drop_orphans(db, path, fence)
        with fenced(db, path, fence):
            if db.execute("SELECT 1 FROM checkpoints WHERE sequence = ?", (sequence,)).fetchone():
                return
        crc = 0
        for number, piece in enumerate(pieces):
            crc = zlib.crc32(piece, crc)
            with fenced(db, path, fence):
                db.execute("INSERT INTO checkpoint_pieces VALUES (?, ?, ?)", (sequence, number, piece))
        db.execute("PRAGMA synchronous = FULL")
        with fenced(db, path, fence):
            enter(db, crc)
        _drop_orphans(db, path, fence)


def _drop_orphans(db: sqlite3.Connection, path: Path, fence: int) -> None:
    for row in db.execute(_ORPHANS).fetchall():
        with fenced(db, path, fence):
            db.execute("DELETE FROM checkpoint_pieces WHERE rowid = ?", row)


def forget(db: sqlite3.Connection, sequence: int) -> None:
    """Drop the pieces of a checkpoint that is written whole now."""
    db.execute(_TABLE)
    db.execute("DELETE FROM checkpoint_pieces WHERE sequence = ?", (sequence,))


def joined(db: sqlite3.Connection, sequence: int) -> bytes:
    """The body of a checkpoint that was written in pieces."""
    pieces = "SELECT body FROM checkpoint_pieces WHERE sequence = ? ORDER BY piece"
    return b"".join(body for (body,) in db.execute(pieces, (sequence,)))


def enter(db: sqlite3.Connection, checkpoint: Checkpoint, crc: int, last: int) -> None:
    """Enter a checkpoint's row; older ones that nothing needs are dropped. `last`: the last sequence written."""
    # An archive beside us may move the journal's beginning at any other time.
    first = db.execute("SELECT min(first_sequence) FROM commits").fetchone()[0]
    base = (last + 1 if first is None else first) - 1
    db.execute(
        "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?)",
        (checkpoint.sequence, checkpoint.hash, SCHEMA, crc, checkpoint.body),
    )
    db.execute(
        "DELETE FROM checkpoints WHERE sequence <> ? AND sequence NOT IN"
        " (SELECT sequence FROM checkpoints ORDER BY sequence DESC LIMIT ?)",
        (base, CHECKPOINTS_KEPT),
    )


def read(db: sqlite3.Connection, path: Path, order: str) -> Iterator[Checkpoint]:
    """The saved states in an order, such as ASC."""
    with said_clearly(path):
        for sequence, digest, crc, body in db.execute(
            f"SELECT sequence, hash, crc, body FROM checkpoints ORDER BY sequence {order}"
        ):
            content = joined(db, sequence) if body == b"" else body
            if crc32(content) != crc:
                raise JournalDamaged(f"{path}: the checkpoint at {sequence} is not what was written (checksum)")
            yield Checkpoint(sequence, digest, content)
