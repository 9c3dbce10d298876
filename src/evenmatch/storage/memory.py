"""The in-memory twin of the journal: the same answers, nothing durable. For tests, the lab and embedding."""

import contextlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

from evenmatch.domain.events import Event
from evenmatch.errors import JournalError, JournalStale, JournalWithdrawn

from . import alone
from .erasing import Traces
from .inbox import Outcome, Request
from .memory_ledger import MemoryLedger
from .openings import Opening
from .outbox import Letter
from .protocol import Checkpoint, Commit

CHECKPOINTS_KEPT = 2


class MemoryStore:
    """What outlives an owner: hand the same store to the next `MemoryJournal` to restart."""

    def __init__(self) -> None:
        self.fence = 0
        self.commits: list[Commit] = []
        self.checkpoints: list[Checkpoint] = []
        self.numbers: dict[str, int] = {}
        self.names: dict[int, str] = {}
        self.attributes: dict[int, dict[str, Any]] = {}
        self.tickets: dict[int, dict[str, Any]] = {}
        self.matches: dict[int, dict[str, Any]] = {}
        self.audit: dict[int, dict[str, Any]] = {}
        self.erased: dict[int, int] = {}
        self.openings: dict[str, dict[int, Opening]] = {}
        self.ledger = MemoryLedger()
        self.outbox: dict[int, Letter] = {}
        self.inbox: dict[str, Request] = {}
        self.outcomes: dict[str, Outcome] = {}


class MemoryJournal:
    """One ownership of a store."""

    ahead_s = 0.0
    """Time is this machine's."""
    lane, lane_name, shared = 1, "main", False
    number, claimed_elsewhere, settle_claims = alone.number, alone.claimed_elsewhere, alone.settle_claims
    expect_commits = alone.expect_commits

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = MemoryStore() if store is None else store
        self.store.fence += 1
        self._fence = self.store.fence

    @property
    def fence(self) -> int:
        """The number of this ownership."""
        return self._fence

    @property
    def ledger(self) -> MemoryLedger:
        """Results and ratings, to read."""
        return self.store.ledger

    @property
    def oldest(self) -> int:
        """The first sequence that is still kept."""
        return self.store.commits[0].first_sequence if self.store.commits else self.last + 1

    @property
    def last(self) -> int:
        """The last sequence written."""
        if self.store.commits:
            return self.store.commits[-1].last_sequence
        return self.store.checkpoints[-1].sequence if self.store.checkpoints else 0

    def append(self, commit: Commit) -> None:
        """Keep a commit."""
        store = self.store
        if store.fence != self._fence:
            raise JournalStale(f"owner {store.fence} has taken over from owner {self._fence}")
        if commit.first_sequence != self.last + 1:
            raise JournalError(f"a commit must start at {self.last + 1}, not {commit.first_sequence}")
        if any("\0" in name for _, name in commit.names):
            raise JournalError("a name with a NUL character cannot be kept")
        if any(outcome.id not in store.inbox for outcome in commit.outcomes):
            raise JournalWithdrawn("a request was taken back while it was carried out")
        going = {row.number for row in commit.erasures}
        known = [store.numbers[name] for _, name in commit.names if name in store.numbers]
        numbers, names = [number for number, _ in commit.names], [name for _, name in commit.names]
        twice = len(set(numbers)) < len(numbers) or len(set(names)) < len(names)
        if twice or not store.names.keys().isdisjoint(numbers) or not going.issuperset(known):
            raise JournalError("a player's number or name is known already")
        if commit.entries is not None:
            store.ledger.refuse(commit.entries)
            store.ledger.write(commit.entries)
        if commit.events:
            store.commits.append(commit)
        for row in commit.erasures:
            store.numbers.pop(store.names.pop(row.number, ""), None)
            store.erased[row.number] = commit.at_ms
            for ticket in row.tickets:
                store.attributes.pop(ticket, None)
        for number, name in commit.names:
            store.numbers[name] = number
            store.names[number] = name
        store.attributes.update(commit.attributes)
        store.tickets.update(commit.tickets)
        store.matches.update(commit.matches)
        store.audit.update(commit.actions())
        for opening in commit.openings():
            store.openings.setdefault(opening.queue, {})[opening.version] = opening
        store.outbox.update((letter.match, letter) for letter in commit.letters)
        for outcome in commit.outcomes:
            del store.inbox[outcome.id]
            store.outcomes[outcome.id] = Outcome(outcome.id, outcome.body, commit.last_sequence)

    def follow(self, after: int) -> list[tuple[int, int, list[Event]]]:
        """The commits after a sequence: first sequence, time, events."""
        return [(c.first_sequence, c.at_ms, c.events) for c in self.store.commits if c.first_sequence > after]

    def reasons(self) -> list[tuple[str, int, bytes]]:
        """Nobody writes them down here."""
        return []

    def read(self, after: int) -> Iterator[tuple[int, Event]]:
        """Every event after a sequence, with its own."""
        for commit in self.store.commits:
            if commit.last_sequence > after:
                for sequence, event in enumerate(commit.events, commit.first_sequence):
                    if sequence > after:
                        yield sequence, event

    def event(self, sequence: int) -> Event | None:
        """One event, or None where it is not kept."""
        commits = self.store.commits
        index = bisect_right(commits, sequence, key=lambda commit: commit.first_sequence) - 1
        if index < 0 or commits[index].last_sequence < sequence:
            return None
        return commits[index].events[sequence - commits[index].first_sequence]

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a saved state."""
        if self.store.fence != self._fence:
            raise JournalStale(f"owner {self.store.fence} has taken over from owner {self._fence}")
        base = self.oldest - 1
        kept = [c for c in self.store.checkpoints if c.sequence != checkpoint.sequence] + [checkpoint]
        kept.sort(key=lambda saved: saved.sequence)
        newest = kept[-CHECKPOINTS_KEPT:]
        self.store.checkpoints = [c for c in kept if c in newest or c.sequence == base]

    def save_in_pieces(self, sequence: int, hash: str, pieces: Iterable[bytes]) -> None:
        """Keep a large one, unless there is one of that sequence."""
        known = {saved.sequence: saved for saved in self.store.checkpoints}
        self.save_checkpoint(known.get(sequence) or Checkpoint(sequence, hash, b"".join(pieces)))

    def newest_checkpoint(self) -> Checkpoint | None:
        """The saved state to start from."""
        return self.store.checkpoints[-1] if self.store.checkpoints else None

    def checkpoints(self) -> Iterator[Checkpoint]:
        """The saved states, oldest first."""
        return iter(list(self.store.checkpoints))

    @property
    def place(self) -> str | None:
        """Nowhere that others could open it."""
        return None

    @property
    def fault(self) -> JournalError | None:
        """Memory has none."""
        return None

    @contextlib.contextmanager
    def reader(self) -> Iterator["MemoryJournal"]:
        """The same for another thread: itself."""
        yield self

    def archive(self) -> int:
        """Drop the commits that the kept checkpoints have behind them; returns how many events went."""
        if not self.store.checkpoints:
            return 0
        self.store.checkpoints = self.store.checkpoints[-CHECKPOINTS_KEPT:]
        base = self.store.checkpoints[0].sequence
        gone = [commit for commit in self.store.commits if commit.last_sequence <= base]
        self.store.commits = self.store.commits[len(gone) :]
        return sum(len(commit.events) for commit in gone)

    def numbers_of(self, names: list[str]) -> dict[str, int]:
        """The numbers of those players that are known."""
        return {name: self.store.numbers[name] for name in names if name in self.store.numbers}

    def names_of(self, players: list[int]) -> dict[int, str]:
        """The names of those players that have one."""
        return {number: self.store.names[number] for number in players if number in self.store.names}

    def last_player(self) -> int:
        """The highest player number given out."""
        return max(max(self.store.names, default=0), max(self.store.erased, default=0))

    def attributes_of(self, ticket: int) -> dict[str, Any]:
        """The attributes that a ticket brought."""
        return self.store.attributes.get(ticket, {})

    def finished_ticket(self, ticket: int) -> dict[str, Any] | None:
        """The record of a ticket that has left the state."""
        return self.store.tickets.get(ticket)

    def recent_tickets(self, limit: int, before: int | None = None) -> list[tuple[int, dict[str, Any]]]:
        """Those of the tickets that have left the state which joined last, newest first."""
        numbers = sorted((one for one in self.store.tickets if before is None or one < before), reverse=True)
        return [(number, self.store.tickets[number]) for number in numbers[:limit]]

    def finished_match(self, match: int) -> dict[str, Any] | None:
        """The record of a match that has left the state."""
        return self.store.matches.get(match)

    def audit(self, after: int, limit: int) -> list[tuple[int, dict[str, Any]]]:
        """Operators' actions after a sequence, oldest first."""
        return [row for row in self.store.audit.items() if row[0] > after][:limit]

    def openings(self, queue: str) -> list[Opening]:
        """The rules that a queue has had, oldest first."""
        return [opening for _, opening in sorted(self.store.openings.get(queue, {}).items())]

    def traces(self, player: int) -> Traces:
        """The finished tickets and matches that a player is in."""
        tickets = [
            number
            for number, record in sorted(self.store.tickets.items())
            if any(member["player"] == player for member in record["players"])
        ]
        matches = [
            number
            for number, record in sorted(self.store.matches.items())
            if any(
                member["player"] == player for team in record["teams"] for party in team for member in party["players"]
            )
        ]
        return Traces(tickets, matches)

    def letter(self, match: int) -> Letter | None:
        """The request for a match's game server."""
        return self.store.outbox.get(match)

    def letters(self, status: str) -> list[Letter]:
        """All such requests that stand like this, oldest match first."""
        found = [letter for letter in self.store.outbox.values() if letter.status == status]
        return sorted(found, key=lambda letter: letter.match)

    def close(self) -> None:
        """Nothing to let go of."""
