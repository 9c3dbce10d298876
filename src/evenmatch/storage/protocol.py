"""What a journal can do. Synchronous: the live server calls it from the one thread that owns the engine.

- A commit is all or nothing, and follows the last one without a gap. When `append` returns, it is durable.
- `append` checks the fence: an owner that has been replaced cannot write (I9).
- Events speak of players by number. Their names, and the attributes of tickets, live in side tables and are written in
  the same commit as the events that need them; a name can be erased without touching an event.
- Results and ratings live in the ledger (`ledger.py`), written in the same commit as the events that tell of them.
- Requests for game servers are kept in the outbox (`outbox.py`), written with the events that they follow from.
- Finished tickets and matches are written to read tables when they leave the state; so are operators' actions, at once.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec

from evenmatch.domain.events import Event, OperatorActed

from .erasing import Erasure, Traces
from .ledger import Entries, Ledger
from .openings import Opening, openings_in
from .outbox import Letter


class Commit(msgspec.Struct, frozen=True, eq=False):
    """Events that become durable together, with what goes into the side tables for them."""

    first_sequence: int
    at_ms: int
    events: list[Event]
    names: list[tuple[int, str]] = []
    """player number, name: players never seen before; a name has no NUL character"""
    attributes: list[tuple[int, dict[str, Any]]] = []
    """ticket, attributes: of tickets that brought any"""
    tickets: list[tuple[int, dict[str, Any]]] = []
    """ticket, record: tickets that leave the state"""
    matches: list[tuple[int, dict[str, Any]]] = []
    """match, record: matches that leave the state"""
    entries: Entries | None = None
    """what goes into the ledger: results, ratings"""
    erasures: list[Erasure] = []
    """players whose names go; before the new names of the same commit come"""
    letters: list[Letter] = []
    """requests for game servers, new or as they stand now; a commit may have nothing else"""

    @property
    def last_sequence(self) -> int:
        """The sequence of its last event."""
        return self.first_sequence + len(self.events) - 1

    def actions(self) -> list[tuple[int, dict[str, Any]]]:
        """sequence, record: operators' actions among the events, for the audit."""
        return [
            (sequence, {name: getattr(event, name) for name in OperatorActed.__struct_fields__})
            for sequence, event in enumerate(self.events, self.first_sequence)
            if isinstance(event, OperatorActed)
        ]

    def openings(self) -> list[Opening]:
        """The rules that its events give to queues."""
        return openings_in(self.events, self.first_sequence)


class Checkpoint(msgspec.Struct, frozen=True):
    """A saved state: replay goes on from here."""

    sequence: int
    hash: str
    body: bytes


class Journal(Protocol):
    """A durable sequence of events and its side tables."""

    @property
    def fence(self) -> int:
        """The number of this ownership; every later one is higher."""

    @property
    def oldest(self) -> int:
        """The first sequence that is still kept; one past the last where nothing is."""

    @property
    def last(self) -> int:
        """The last sequence written, 0 for a new journal."""

    @property
    def ledger(self) -> Ledger:
        """Results and ratings, to read."""

    def append(self, commit: Commit) -> None:
        """Make a commit durable."""

    def read(self, after: int) -> Iterator[tuple[int, Event]]:
        """Every event after a sequence, with its own."""

    def event(self, sequence: int) -> Event | None:
        """One event, or None where it is not kept."""

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a saved state; older ones that nothing needs are dropped."""

    def save_in_pieces(self, sequence: int, hash: str, pieces: Iterable[bytes]) -> None:
        """The same for a large state, which may be written by another thread while commits go on."""

    def newest_checkpoint(self) -> Checkpoint | None:
        """The saved state to start from."""

    def numbers_of(self, names: list[str]) -> dict[str, int]:
        """The numbers of those players that are known."""

    def names_of(self, players: list[int]) -> dict[int, str]:
        """The names of those players that have one."""

    def last_player(self) -> int:
        """The highest player number given out, to erased players too."""

    def attributes_of(self, ticket: int) -> dict[str, Any]:
        """The attributes that a ticket brought."""

    def finished_ticket(self, ticket: int) -> dict[str, Any] | None:
        """The record of a ticket that has left the state."""

    def recent_tickets(self, limit: int) -> list[tuple[int, dict[str, Any]]]:
        """Those of the tickets that have left the state which joined last, newest first."""

    def finished_match(self, match: int) -> dict[str, Any] | None:
        """The record of a match that has left the state."""

    def audit(self, after: int, limit: int) -> list[tuple[int, dict[str, Any]]]:
        """Operators' actions after a sequence, oldest first, each with its own."""

    def openings(self, queue: str) -> list[Opening]:
        """The rules that a queue has had, oldest first."""

    def traces(self, player: int) -> Traces:
        """The finished tickets and matches that a player is in; slow, and any thread may ask."""

    def letter(self, match: int) -> Letter | None:
        """The request for a match's game server."""

    def letters(self, status: str) -> list[Letter]:
        """All such requests that stand like this, oldest match first."""

    def close(self) -> None:
        """Let go of the journal."""
