"""The rules that every queue has had, version by version: a read table beside the events `queue_opened`.

The events are the truth; the rows are written in the same commit and stay when old events are moved to an archive. A
version that was given before there was this table is not in it.
"""

import sqlite3
from pathlib import Path
from typing import Final

import msgspec

from evenmatch.domain.events import Event, QueueOpened
from evenmatch.domain.queue import QueueSpec
from evenmatch.errors import JournalDamaged

from .transactions import said_clearly

OPENINGS_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS queue_versions (queue TEXT NOT NULL, version INTEGER NOT NULL,"
    " sequence INTEGER NOT NULL, at_ms INTEGER NOT NULL, source TEXT NOT NULL, body TEXT NOT NULL,"
    " PRIMARY KEY (queue, version)) STRICT, WITHOUT ROWID"
)


class Opening(msgspec.Struct, frozen=True):
    """Rules that a queue was given."""

    queue: str
    version: int
    sequence: int
    at_ms: int
    source: str
    """file or operator"""
    spec: QueueSpec


def openings_in(events: list[Event], first_sequence: int) -> list[Opening]:
    """The rules that the events of a commit give."""
    return [
        Opening(event.spec.name, event.version, sequence, event.at_ms, event.source, event.spec)
        for sequence, event in enumerate(events, first_sequence)
        if isinstance(event, QueueOpened) and event.version
    ]


def write_openings(db: sqlite3.Connection, openings: list[Opening]) -> None:
    """Write what belongs to a commit, in its transaction."""
    for row in openings:
        spec = msgspec.json.encode(row.spec).decode()
        db.execute(
            "INSERT OR REPLACE INTO queue_versions VALUES (?, ?, ?, ?, ?, ?)",
            (row.queue, row.version, row.sequence, row.at_ms, row.source, spec),
        )


def read_openings(db: sqlite3.Connection, path: Path, queue: str) -> list[Opening]:
    """A queue's versions, oldest first; none where an older file has no table for them."""
    with said_clearly(path):
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'queue_versions'").fetchone():
            return []
        rows = db.execute("SELECT * FROM queue_versions WHERE queue = ? ORDER BY version", (queue,)).fetchall()
    try:
        return [
            Opening(name, version, sequence, at_ms, source, msgspec.json.decode(body, type=QueueSpec))
            for name, version, sequence, at_ms, source, body in rows
        ]
    except (msgspec.DecodeError, TypeError) as error:
        raise JournalDamaged(f"{path} is damaged: a queue's rules cannot be read ({error})") from error
