"""A player's last tickets, and the matches that came of them: those in the state, and the newest finished ones.

    question ─> engine thread: the player's tickets in the state ─> a thread: the newest records, a page at a time

1. Bounded, for the read tables have no index of players: of the tickets that have left the state the last `SEARCHED`
   are looked through, 8 µs each and away from the engine, one search at a time. The answer says how far back that was.
2. All of a player, however long ago, is for operators: `/v1/players/{id}/export` reads whole tables.
"""

import asyncio
from typing import Any, Final

import msgspec

from evenmatch.core.records import ticket_record
from evenmatch.domain.ids import match_id, ticket_id
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.errors import JournalError
from evenmatch.storage.protocol import Journal

from . import wire
from .erasing import in_state
from .group import unavailable
from .handlers import Answer, problem, turned_away
from .mailbox import Unavailable
from .runner import Runner
from .views import Views

SHOWN: Final = 50
"""Tickets of an answer."""
SEARCHED: Final = 6_000
"""Finished tickets of all players that are looked through."""
_PAGE: Final = 1_000
_WAITING_MOST: Final = 16
_encode = msgspec.json.Encoder().encode


class RecentTicket(msgspec.Struct, frozen=True):
    """A ticket in short."""

    id: str
    queue: str
    status: str
    """waiting, proposed, matched, cancelled or expired"""
    joined_ms: int
    waited_ms: int
    players: int
    cause: str | None = None
    """Why it was cancelled or expired."""
    match: str | None = None
    """The match that it is or was in."""


class RecentView(msgspec.Struct, frozen=True):
    """A player's last tickets."""

    player: str
    tickets: list[RecentTicket]
    """Newest first, 50 at most."""
    since_ms: int
    """Finished tickets were looked for among all that joined since then; 0 = among all that are kept."""


class RecentAnswer(msgspec.Struct, frozen=True):
    """A player's last tickets."""

    recent: RecentView


class Searches:
    """Looks for the tickets of players, one player at a time."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._one = asyncio.Semaphore(1)
        self._asked = 0

    async def answer(self, player: str) -> Answer:
        """GET /v1/players/{id}/tickets"""
        busy = turned_away(self.runner)
        if busy is not None or self._asked >= _WAITING_MOST:
            return busy or problem(wire.BUSY)
        self._asked += 1
        try:
            found: tuple[int, dict[int, dict[str, Any]]] | Refusal | Unavailable = await self.runner.ask(
                lambda views, now_ms: _live(views, player, now_ms)
            )
            if isinstance(found, Refusal | Unavailable):
                return problem(wire.problem_of(found))
            async with self._one:
                view = await asyncio.to_thread(recent, self.runner.journal, player, *found)
        except JournalError as error:
            return problem(wire.problem_of(unavailable(error)))
        finally:
            self._asked -= 1
        return Answer(200, _encode(RecentAnswer(view)))


def _live(views: Views, name: str, now_ms: int) -> tuple[int, dict[int, dict[str, Any]]] | Refusal:
    """A player's number, and the tickets that are in the state; in the engine thread."""
    number = views.directory.known([name]).get(name)
    if number is None:
        return Refusal(Reasons.UNKNOWN_PLAYER, f"nobody called {name[:128]!r} was ever seen here")
    state = views.engine.state
    numbers = in_state(state, number).tickets[-SHOWN:]
    records = {ticket: ticket_record(state, ticket, now_ms) for ticket in numbers}
    return number, {ticket: record for ticket, record in records.items() if record is not None}


def recent(journal: Journal, name: str, player: int, live: dict[int, dict[str, Any]]) -> RecentView:
    """The newest of a player's tickets: of the state, and of the last that have left it."""
    found = dict(live)
    read, since_ms, before = 0, 0, None
    with journal.reader() as reading:
        while read < SEARCHED and len(found) < SHOWN + len(live):
            records = reading.recent_tickets(_PAGE, before)
            read += len(records)
            for ticket, record in records:
                if any(member["player"] == player for member in record["players"]):
                    found.setdefault(ticket, record)
            if len(records) < _PAGE:
                since_ms = 0
                break
            before, oldest = records[-1]
            since_ms = int(oldest["joined_ms"])
    newest = sorted(found, reverse=True)[:SHOWN]
    return RecentView(name, [_in_short(ticket, found[ticket]) for ticket in newest], since_ms)


def _in_short(ticket: int, record: dict[str, Any]) -> RecentTicket:
    match = record.get("match")
    return RecentTicket(
        id=ticket_id(ticket),
        queue=record["queue"],
        status=record["status"],
        cause=record.get("cause"),
        joined_ms=record["joined_ms"],
        waited_ms=record["waited_ms"],
        players=len(record["players"]),
        match=None if match is None else match_id(match),
    )
