"""What a journal can do. Synchronous: the live server calls it from the one thread that owns the engine.

- A commit is all or nothing, and follows the last one without a gap. When `append` returns, it is durable.
- `append` checks the fence: an owner that has been replaced cannot write (I9). Where a database has several lanes, it
  is refused too (JournalConflict) when it claims a player whom another lane has (I11).
- Events speak of players by number. Their names, and the attributes of tickets, live in side tables and are written in
  the same commit as the events that need them; a name can be erased without touching an event.
- Results and ratings live in the ledger (`ledger.py`), written in the same commit as the events that tell of them.
- Requests for game servers are kept in the outbox (`outbox.py`), written with the events that they follow from.
- Finished tickets and matches are written to read tables when they leave the state; so are operators' actions, at once.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from evenmatch.domain.arrays import Array
from evenmatch.domain.events import Event, OperatorActed
from evenmatch.errors import JournalError

from .erasing import Erasure, Traces
from .inbox import Outcome
from .ledger import Entries, Ledger
from .openings import Opening, openings_in
from .outbox import Letter
from .pruning import Pruned
from .tables import Table


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
    outcomes: list[Outcome] = []
    """answers to requests of other nodes, which it takes from the inbox; a commit may have nothing else"""
    claimed: Array | None = None
    """int64: players whom its events claim for a proposal or match; told where there are other lanes"""
    released: Array | None = None
    """int64: players whom they let go"""

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
    def lane(self) -> int:
        """The number of its lane: 1 = main, and the only one where it is not in a database."""

    @property
    def lane_name(self) -> str:
        """What that lane is called."""

    @property
    def shared(self) -> bool:
        """Is it one of several lanes of a database, which have other owners?"""

    @property
    def place(self) -> str | None:
        """Where it can be opened, as `--db` says it, password and all; None = nowhere, it is in memory."""

    @property
    def fault(self) -> JournalError | None:
        """Why it cannot be written to, as far as is known without trying."""

    @property
    def ledger(self) -> Ledger:
        """Results and ratings, to read."""

    @property
    def ahead_s(self) -> float:
        """How far the store's clock is ahead of this machine's, where the store has one: time is the store's."""

    def expect_commits(self) -> None:
        """Raise where a commit would be refused, as far as can be known beforehand."""

    def append(self, commit: Commit) -> None:
        """Make a commit durable."""

    def read(self, after: int) -> Iterator[tuple[int, Event]]:
        """Every event after a sequence, with its own."""

    def event(self, sequence: int) -> Event | None:
        """One event, or None where it is not kept."""

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a saved state; older ones that nothing needs are dropped."""

    def save_in_pieces(self, sequence: int, hash: str, bodies: Iterable[bytes], /) -> None:
        """The same for a large state, which may be written by another thread while commits go on."""

    def newest_checkpoint(self) -> Checkpoint | None:
        """The saved state to start from."""

    def checkpoints(self) -> Iterator[Checkpoint]:
        """The saved states, oldest first."""

    def numbers_of(self, names: list[str]) -> dict[str, int]:
        """The numbers of those players that are known."""

    def names_of(self, players: list[int]) -> dict[int, str]:
        """The names of those players that have one."""

    def number(self, names: list[str], leaving: Collection[str] = (), /) -> dict[str, int] | None:
        """Numbers for new names, where several owners give them out; None = the only owner does, in its commit.

        A name that got one keeps it, whatever becomes of the commit to come. Except those of `leaving`, whose players
        that commit erases: it has to bring their names again, with these numbers.
        """

    def claimed_elsewhere(self, players: Array, /) -> Array:
        """Those of these players whom proposals or matches of other lanes have (I11)."""

    def settle_claims(self, players: Array, /) -> None:
        """Say at the beginning of an ownership whom this lane's proposals and matches have: nobody else."""

    def last_player(self) -> int:
        """The highest player number given out, to erased players too."""

    def attributes_of(self, ticket: int) -> dict[str, Any]:
        """The attributes that a ticket brought."""

    def finished_ticket(self, ticket: int) -> dict[str, Any] | None:
        """The record of a ticket that has left the state."""

    def recent_tickets(self, limit: int, before: int | None = None) -> list[tuple[int, dict[str, Any]]]:
        """Those of the tickets that have left the state which joined last, newest first; below `before`."""

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

    def reader(self) -> "AbstractContextManager[Journal]":
        """The same journal, to read, for a thread that does not own it."""

    def close(self) -> None:
        """Let go of the journal."""


class Followed(Journal, Protocol):
    """A journal that another process writes."""

    def follow(self, after: int) -> list[tuple[int, int, list[Event]]]:
        """Some of the commits after a sequence, in order: first sequence, time, events; empty = there are none yet."""

    def reasons(self) -> list[tuple[str, int, bytes]]:
        """Why the last wave of each queue left tickets waiting, as its owner wrote it: queue, wave, body."""


class Whole(NamedTuple):
    """A journal as of one moment."""

    last: int
    rows: Callable[[Table], Iterator[tuple[Any, ...]]]
    """The rows of a table, by its key."""


class Store(Journal, Protocol):
    """A journal that outlives its process: in a file or in a database."""

    @property
    def name(self) -> str:
        """What it is called in messages: never with a password in it."""

    def when_lost(self, call: Callable[[str], None]) -> None:
        """Have a function called, from another thread, as soon as another owner is seen to have taken over."""

    def size(self) -> int:
        """About how many bytes it takes up."""

    def damage(self) -> list[str]:
        """What the store itself finds wrong; empty = nothing."""

    def archive(self, target: Path) -> int:
        """Move the commits that the kept checkpoints have behind them into a file; returns how many events went."""

    def prune(self, before_ms: int) -> Pruned:
        """Drop the records of finished tickets and matches from before a moment."""

    def snapshot(self) -> "AbstractContextManager[Whole]":
        """All tables as of one moment."""

    def fill(self, last: int, rows: Callable[[Table], Iterator[tuple[Any, ...]]]) -> None:
        """Take all tables of another journal, at once; only a new journal does."""

    def __enter__(self) -> "Store":
        """Itself."""

    def __exit__(self, *_: object) -> None:
        """Let go of it."""
