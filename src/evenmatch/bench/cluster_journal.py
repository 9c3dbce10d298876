"""What the journals of a bench hold, by SQL and the codec alone: how many were matched, who is lost, who is doubled."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from evenmatch.domain import events as ev
from evenmatch.domain.events import Event
from evenmatch.storage.codec import decode_events
from evenmatch.storage.places import in_database

Ends = dict[int, int]
"""Journal -> its last durable sequence."""


def ends(db: str) -> Ends:
    """How far each journal goes at the moment."""
    found = _rows(
        db,
        "SELECT journal, last FROM evenmatch.leases",
        "SELECT 1, coalesce(max(last_sequence), 0) FROM commits",
    )
    return dict(found)


def _rows(db: str, postgres: str, sqlite: str) -> list[Any]:
    if in_database(db):
        with psycopg.connect(db) as there:
            return there.execute(postgres.encode()).fetchall()
    with closing(sqlite3.connect(f"{Path(db).absolute().as_uri()}?mode=ro", uri=True)) as file:
        return file.execute(sqlite).fetchall()


def _events(db: str) -> Iterator[tuple[int, int, list[Event]]]:
    """The events of all commits, with their journal and last sequence."""
    columns = "last_sequence, schema, body FROM {}commits ORDER BY {}first_sequence"
    rows = _rows(
        db,
        f"SELECT journal, {columns.format('evenmatch.', 'journal, ')}",
        f"SELECT 1, {columns.format('', '')}",
    )
    for journal, last, schema, body in rows:
        yield journal, last, decode_events(bytes(body), schema)


def matched_between(db: str, before: Ends, after: Ends) -> int:
    """Players whose match became durable between two looks; every ticket of the bench has one player."""
    found = 0
    for journal, last, events in _events(db):
        if before.get(journal, 0) < last <= after.get(journal, 0):
            found += sum(int((event.roster >= 0).sum()) for event in events if isinstance(event, ev.WaveFinished))
    return found


class Account:
    """All tickets and matches of the journals of a database."""

    def __init__(self, db: str) -> None:
        self.tickets: set[int] = set()
        self._of_player: Counter[int] = Counter()
        self._matches: Counter[int] = Counter()
        for _, _, events in _events(db):
            for event in events:
                if isinstance(event, ev.TicketsJoined):
                    self.tickets.update(range(event.first_ticket, event.first_ticket + len(event.size)))
                    self._of_player.update(event.player.tolist())
                elif isinstance(event, ev.WaveFinished):
                    self._matches.update(event.roster[event.roster >= 0].tolist())

    @property
    def doubled(self) -> int:
        """Tickets in two matches, and players with two tickets: each joined once, however often it was asked for."""
        return sum(times > 1 for counted in (self._matches, self._of_player) for times in counted.values())

    @property
    def matched(self) -> int:
        """Tickets in a match."""
        return len(self._matches)
