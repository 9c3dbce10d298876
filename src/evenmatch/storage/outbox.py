"""Requests for game servers, as the journal keeps them: what is still to be asked, and what was answered.

A letter is written in the same commit as the event that makes the match, so that none is forgotten in a crash; it is
delivered at least once. It holds no names and no secret: its body is made of the match whenever it is sent.
"""

import sqlite3
from pathlib import Path
from typing import Final, Literal

import msgspec

from evenmatch.errors import JournalDamaged

from .transactions import said_clearly

Status = Literal["pending", "done", "dead", "dropped"]

_STATEMENTS: Final = (
    "CREATE TABLE IF NOT EXISTS outbox (match INTEGER PRIMARY KEY, status TEXT NOT NULL, body TEXT NOT NULL) STRICT",
    "CREATE INDEX IF NOT EXISTS outbox_open ON outbox (status, match) WHERE status IN ('pending', 'dead')",
)
"""As in journal.sql; older files do not have it."""


class Server(msgspec.Struct, frozen=True):
    """A game server that was given."""

    address: str
    port: int
    token: str = ""


class Letter(msgspec.Struct, frozen=True):
    """The request for a match's game server."""

    match: int
    queue: str
    made_ms: int
    status: Status = "pending"
    attempts: int = 0
    tried_ms: int = 0
    """When it was last sent, 0 = never."""
    why: str = ""
    """What was wrong the last time."""
    server: Server | None = None


def create(db: sqlite3.Connection) -> None:
    """Make the table where an older file has none."""
    for statement in _STATEMENTS:
        db.execute(statement)


def write(db: sqlite3.Connection, letters: list[Letter]) -> None:
    """Keep letters as they stand now; part of a commit."""
    if letters:
        rows = ((letter.match, letter.status, msgspec.json.encode(letter).decode()) for letter in letters)
        db.executemany("INSERT OR REPLACE INTO outbox VALUES (?, ?, ?)", rows)


def letter(db: sqlite3.Connection, path: Path, match: int) -> Letter | None:
    """The letter of a match."""
    found = _read(db, path, "SELECT body FROM outbox WHERE match = ?", match)
    return found[0] if found else None


def letters(db: sqlite3.Connection, path: Path, status: str) -> list[Letter]:
    """All letters that stand like this, oldest match first."""
    return _read(db, path, "SELECT body FROM outbox WHERE status = ? ORDER BY match", status)


def _read(db: sqlite3.Connection, path: Path, sql: str, value: object) -> list[Letter]:
    with said_clearly(path):
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'outbox'").fetchone():
            return []
        rows = db.execute(sql, (value,)).fetchall()
    try:
        return [msgspec.json.decode(body, type=Letter) for (body,) in rows]
    except (msgspec.DecodeError, TypeError) as error:
        raise JournalDamaged(f"{path} is damaged: the outbox cannot be read ({error})") from error
