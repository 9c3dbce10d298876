"""One test drives every journal: the same calls, the same answers; in PostgreSQL, also beside another lane."""

import sqlite3
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from evenmatch.domain import events as ev
from evenmatch.domain.arrays import numbers
from evenmatch.errors import JournalError, JournalStale
from evenmatch.storage.codec import encode_events
from evenmatch.storage.memory import MemoryJournal, MemoryStore
from evenmatch.storage.postgres import PostgresJournal
from evenmatch.storage.postgres_lanes import make_lane
from evenmatch.storage.postgres_line import Line
from evenmatch.storage.protocol import Checkpoint, Commit
from evenmatch.storage.sqlite import SqliteJournal
from evenmatch.storage.tables import TABLES
from tests import postgres

EVENTS = st.one_of(
    st.builds(ev.Resumed, st.integers(0, 99), st.integers(0, 99)),
    st.builds(ev.OperatorActed, st.integers(0, 99), *[st.text(max_size=3)] * 4),
    st.builds(ev.TicketsSeen, st.integers(0, 99), st.text(max_size=3), st.lists(st.integers(0, 9)).map(numbers)),
)
NAMES = st.text(max_size=4) | st.sampled_from(["anna", "Anna", "änna", "a\0b", "a", "1", "null", '"', "💡"])
RECORDS = st.dictionaries(
    st.text(max_size=3),
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | NAMES,
    max_size=3,
)
ROWS = st.lists(st.tuples(st.integers(1, 9), RECORDS), max_size=3)


class JournalMachine(RuleBasedStateMachine):
    """Every rule does the same to the journals in memory, in SQLite and in PostgreSQL."""

    @initialize(lane=st.sampled_from([1, 2]))
    def begin(self, lane: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "journal.evm"
        self.store = MemoryStore()
        self.memory = MemoryJournal(self.store)
        self.sqlite = SqliteJournal(self.path)
        self.url = postgres.cleared()
        self.lane = lane
        self.beside: list[Any] = []
        if lane == 2:
            self.make_beside()
        self.postgres = PostgresJournal(self.url, "the database", journal=lane)
        self.stale: list[MemoryJournal] = []
        self.boundaries = [0]

    def make_beside(self) -> None:
        """Another lane, which has tickets, matches and events with the same numbers."""
        with PostgresJournal(self.url, "the database") as main:
            events: list[ev.Event] = [ev.OperatorActed(1, "who", "what", "whom"), ev.Resumed(1, 1)] * 20
            rows: Any = [(number, {"main": number}) for number in range(12)]
            main.append(Commit(1, 0, events, [], rows, rows, rows))
            main.save_checkpoint(Checkpoint(1, "x", b"x"))
            main.save_in_pieces(40, "y", [b"y", b"y"])
        line = Line(self.url, "the database")
        assert make_lane(line, "second") == make_lane(line, "second") == (2, "second")
        line.close()
        self.beside = self.rows_beside()

    def rows_beside(self) -> list[Any]:
        """What the other lane holds."""
        named = [table.name for table in TABLES if not table.shared]
        return [postgres.bare(self.url, f"SELECT * FROM evenmatch.{name} WHERE journal = 1") for name in named]

    def teardown(self) -> None:
        if hasattr(self, "sqlite"):
            self.sqlite.close()
            self.folder.cleanup()
        if hasattr(self, "postgres"):
            self.postgres.close()
            assert self.lane == 1 or self.rows_beside() == self.beside

    def both(self, call: Any) -> Any:
        """The one answer of all of them, or the one kind of error."""
        answers: list[Any] = []
        for journal in (self.memory, self.sqlite, self.postgres):
            try:
                answers.append(call(journal))
            except JournalError as error:
                answers.append(isinstance(error, JournalStale))
        assert answers[0] == answers[1] == answers[2]
        return answers[0]

    @rule(
        events=st.lists(EVENTS, max_size=3),
        names=st.lists(st.tuples(st.integers(1, 9), NAMES), max_size=2),
        ahead=st.sampled_from([0, 0, 0, 0, 0, 1, -1]),
        attributes=ROWS,
        tickets=ROWS,
        matches=ROWS,
    )
    def append(
        self, events: list[ev.Event], names: Any, ahead: int, attributes: Any, tickets: Any, matches: Any
    ) -> None:
        commit = Commit(self.memory.last + 1 + ahead, 5, events, names, attributes, tickets, matches)
        if self.both(lambda journal: journal.append(commit)) is None and events:
            self.boundaries.append(self.memory.last)

    @rule(which=st.integers(0, 9), body=st.binary(max_size=5))
    def save_checkpoint(self, which: int, body: bytes) -> None:
        kept = [point for point in self.boundaries if point >= self.memory.oldest - 1]
        checkpoint = Checkpoint(kept[-1 - which % min(3, len(kept))], body.hex(), body)
        self.both(lambda journal: journal.save_checkpoint(checkpoint))

    @rule(which=st.integers(0, 9), pieces=st.lists(st.binary(max_size=5), max_size=3))
    def save_in_pieces(self, which: int, pieces: list[bytes]) -> None:
        kept = [point for point in self.boundaries if point >= self.memory.oldest - 1]
        sequence = kept[-1 - which % min(3, len(kept))]
        self.both(lambda journal: journal.save_in_pieces(sequence, "x", iter(pieces)))

    @rule()
    def reopen(self) -> None:
        self.sqlite.close()
        self.stale.append(self.memory)
        self.postgres.close()
        self.memory, self.sqlite = MemoryJournal(self.store), SqliteJournal(self.path)
        self.postgres = PostgresJournal(self.url, "the database", journal=self.lane)

    @precondition(lambda self: self.stale)
    @rule()
    def write_as_a_stale_owner(self) -> None:
        """I9. Nobody can open the file twice, so the other owner of the SQLite journal is a bare connection."""
        with sqlite3.connect(self.path) as other:
            other.execute("UPDATE owner SET fence = fence + 1")
        other.close()
        postgres.bare(self.url, "UPDATE evenmatch.leases SET fence = fence + 1")
        before, self.memory = self.memory, self.stale[-1]
        commit = Commit(before.last + 1, 0, [ev.Resumed(1, 1)], [(1_000, "stale")])
        assert self.both(lambda journal: journal.append(commit)) is True
        assert self.both(lambda journal: journal.save_checkpoint(Checkpoint(0, "", b""))) is True
        assert self.both(lambda journal: journal.save_in_pieces(0, "", [b"x"])) is True
        self.memory = before
        with sqlite3.connect(self.path) as other:
            other.execute("UPDATE owner SET fence = fence - 1")
        other.close()
        postgres.bare(self.url, "UPDATE evenmatch.leases SET fence = fence - 1")

    @rule()
    def archive(self) -> None:
        before = [event for _, event in self.memory.read(0)]
        gone = self.memory.archive()
        for journal, name in ((self.sqlite, "archive.evm"), (self.postgres, "other.evm")):
            target = self.path.with_name(name)
            assert journal.archive(target) == gone
            if target.exists():
                with SqliteJournal(target, read_only=True) as archived:
                    tail = [event for _, event in archived.read(archived.last - gone)]
                assert encode_events(tail) == encode_events(before[:gone])

    @rule(after=st.integers(0, 30))
    def read(self, after: int) -> None:
        self.both(lambda journal: [(at, encode_events([event])) for at, event in journal.read(after)])

    @rule(sequence=st.integers(-1, 30))
    def one_event(self, sequence: int) -> None:
        def ask(journal: Any) -> bytes | None:
            event = journal.event(sequence)
            return None if event is None else encode_events([event])

        self.both(ask)

    @rule(names=st.lists(NAMES, max_size=3), players=st.lists(st.integers(0, 10), max_size=4))
    def names(self, names: list[str], players: list[int]) -> None:
        self.both(lambda journal: journal.numbers_of([name for name in names if "\0" not in name]))
        self.both(lambda journal: journal.names_of(players))

    @rule(after=st.integers(0, 30), limit=st.integers(0, 5))
    def audit(self, after: int, limit: int) -> None:
        self.both(lambda journal: journal.audit(after, limit))

    @rule(number=st.integers(0, 10))
    def records(self, number: int) -> None:
        self.both(lambda journal: journal.attributes_of(number))
        self.both(lambda journal: journal.finished_ticket(number))
        self.both(lambda journal: journal.finished_match(number))
        self.both(lambda journal: journal.recent_tickets(number))
        self.both(lambda journal: journal.recent_tickets(2, number))

    @rule()
    def ends(self) -> None:
        self.both(lambda journal: (journal.oldest, journal.last, journal.fence, journal.last_player()))
        self.both(lambda journal: journal.newest_checkpoint())
        self.both(lambda journal: list(journal.checkpoints()))
        self.both(lambda journal: journal.names_of(list(range(12))))


TestJournals = JournalMachine.TestCase
TestJournals.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=30)
