"""Erasing a player from an SQLite journal: the name, and what the player's tickets brought in words.

Events, checkpoints, records and ratings speak of players by number and stay as they are, so every hash and proof holds.
The number is noted as given out, so that nobody gets it again. What is deleted is overwritten in the file; a copy made
before (a backup, the write-ahead log until it is written back) still has it.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from evenmatch.errors import JournalDamaged

from .transactions import connect, said_clearly

ERASED_TABLE: Final = "CREATE TABLE IF NOT EXISTS erased (number INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL) STRICT"


class Erasure(msgspec.Struct, frozen=True):
    """A player who is to be forgotten by name, with the tickets whose attributes go too."""

    number: int
    tickets: list[int] = []


class Traces(msgspec.Struct, frozen=True):
    """Where a player stands in the read tables: finished tickets and matches, by number."""

    tickets: list[int]
    matches: list[int]


def erase(db: sqlite3.Connection, erasures: list[Erasure], at_ms: int) -> None:
    """Take the names and attributes out, in a commit's transaction."""
    db.executemany("DELETE FROM players WHERE number = ?", ((row.number,) for row in erasures))
    db.executemany("INSERT OR REPLACE INTO erased VALUES (?, ?)", ((row.number, at_ms) for row in erasures))
    db.executemany("DELETE FROM attributes WHERE ticket = ?", ((ticket,) for row in erasures for ticket in row.tickets))


@contextlib.contextmanager
def overwriting(db: sqlite3.Connection, path: Path, needed: bool) -> Iterator[None]:
    """Where it is needed: what a transaction deletes is overwritten with zeros."""
    if not needed:
        yield
        return
    with said_clearly(path):
        db.execute("PRAGMA secure_delete = ON")
    try:
        yield
    finally:
        with contextlib.suppress(sqlite3.Error):
            db.execute("PRAGMA secure_delete = OFF")


def last_number(db: sqlite3.Connection) -> int:
    """The highest player number given out, to erased players too."""
    known = "SELECT coalesce(max(number), 0) FROM players"
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'erased'").fetchone():
        known = f"SELECT max(({known}), (SELECT coalesce(max(number), 0) FROM erased))"
    return int(db.execute(known).fetchone()[0])


def traces_in(path: Path, player: int) -> Traces:
    """Where a player stands; reads whole tables over a connection of its own, so any thread may ask."""
    in_ticket = "SELECT 1 FROM json_each(t.body, '$.players') AS p WHERE json_extract(p.value, '$.player') = ?1"
    in_match = (
        "SELECT 1 FROM json_each(m.body, '$.teams') AS team, json_each(team.value) AS party,"
        " json_each(party.value, '$.players') AS p WHERE json_extract(p.value, '$.player') = ?1"
    )
    with said_clearly(path):
        db = connect(path, "ro")
        try:
            tickets = db.execute(f"SELECT ticket FROM tickets AS t WHERE EXISTS ({in_ticket}) ORDER BY 1", (player,))
            found = [row[0] for row in tickets]
            matches = db.execute(f"SELECT match FROM matches AS m WHERE EXISTS ({in_match}) ORDER BY 1", (player,))
            return Traces(found, [row[0] for row in matches])
        except sqlite3.OperationalError as error:
            if "malformed JSON" in str(error):
                raise JournalDamaged(f"{path} is damaged: a record cannot be read ({error})") from error
            raise
        finally:
            db.close()
