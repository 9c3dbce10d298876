"""A journal as an audit reads it, by SQL and the codec alone; and the plain account that the audit keeps of it."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from evenmatch.domain.events import Event
from evenmatch.errors import ConfigError, JournalForeign
from evenmatch.storage.codec import decode_events
from evenmatch.storage.places import in_database, open_store, shown

LIVE = ("waiting", "proposed")


@dataclass(frozen=True)
class Row:
    """One commit."""

    first: int
    last: int
    fence: int
    events: list[Event]


@dataclass(frozen=True)
class Book:
    """A journal from its beginning."""

    rows: list[Row]
    names: dict[int, str]


_COMMITS = "SELECT first_sequence, last_sequence, fence, schema, body FROM {}commits {}ORDER BY 1"
_NAMES = "SELECT number, name FROM {}players"


def read_book(place: Path | str, lane: int = 1) -> Book:
    """The journal in a file, or of a lane in a database, by SQL and the codec alone."""
    if isinstance(place, str) and in_database(place):
        import psycopg

        with psycopg.connect(place) as there:
            rows = there.execute(_COMMITS.format("evenmatch.", f"WHERE journal = {lane:d} ").encode()).fetchall()
            names = dict(there.execute(_NAMES.format("evenmatch.").encode()).fetchall())
    else:
        with closing(sqlite3.connect(f"{Path(place).absolute().as_uri()}?mode=ro", uri=True)) as db:
            rows = db.execute(_COMMITS.format("", "")).fetchall()
            names = dict(db.execute(_NAMES.format("")).fetchall())
    return Book(
        [Row(first, last, fence, decode_events(body, schema)) for first, last, fence, schema, body in rows], names
    )


def refuse_used(db: str) -> None:
    """A drill starts from nothing: its players know of nobody else's tickets."""
    if not in_database(db):
        raise ConfigError(f"{db} is not a database: use postgresql://user@host/database, or --folder for a file")
    try:
        with open_store(db, read_only=True):
            raise ConfigError(f"{shown(db)} has a journal already: give the drill an empty database")
    except JournalForeign:
        pass


@dataclass
class Ticket:
    """A ticket as the auditor's own account has it."""

    number: int
    queue: str
    players: tuple[int, ...]
    group: str
    joined_ms: int
    last: int
    """The sequence of the last event of its story."""
    woke: int
    since_ms: int
    status: str = "waiting"
    cause: str = ""
    proposal: int | None = None
    matches: int = 0
    waited_ms: int = 0
    running: bool = True
    """Its clock runs."""
    misses: int = 0
    forgotten: bool = False
    story: list[tuple[int, str]] = field(default_factory=list)
    when_proposed: dict[int, tuple[int, int]] = field(default_factory=dict)
    """proposal -> waited_ms and misses it came with"""


@dataclass
class Proposal:
    """A proposal or match."""

    number: int
    queue: str
    tickets: tuple[int, ...]
    standing: str
    accepted: set[int] = field(default_factory=set)
    decliner: int | None = None
    left: set[int] = field(default_factory=set)
    """Players who left it while it ran."""
    joins: int = 0
    """The match that it invites to; 0 = it is no invitation."""
