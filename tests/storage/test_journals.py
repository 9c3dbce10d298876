"""One test drives every journal: the same calls, the same answers."""

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
from evenmatch.storage.protocol import Checkpoint, Commit
from evenmatch.storage.sqlite import SqliteJournal

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
    """Every rule does the same to the memory journal and to the SQLite journal."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "journal.evm"
        self.store = MemoryStore()
        self.memory = MemoryJournal(self.store)
        self.sqlite = SqliteJournal(self.path)
        self.stale: list[MemoryJournal] = []
        self.boundaries = [0]

    def teardown(self) -> None:
        if hasattr(self, "sqlite"):
            self.sqlite.close()
            self.folder.cleanup()

    def both(self, call: Any) -> Any:
        """The one answer of both, or the one kind of error."""
        answers: list[Any] = []
        for journal in (self.memory, self.sqlite):
            try:
                answers.append(call(journal))
            except JournalError as error:
                answers.append(isinstance(error, JournalStale))
        assert answers[0] == answers[1]
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
        self.memory, self.sqlite = MemoryJournal(self.store), SqliteJournal(self.path)

    @precondition(lambda self: self.stale)
    @rule()
    def write_as_a_stale_owner(self) -> None:
        """I9. Nobody can open the file twice, so the other owner of the SQLite journal is a bare connection."""
        with sqlite3.connect(self.path) as other:
            other.execute("UPDATE owner SET fence = fence + 1")
        other.close()
        before, self.memory = self.memory, self.stale[-1]
        commit = Commit(before.last + 1, 0, [ev.Resumed(1, 1)], [(1_000, "stale")])
        assert self.both(lambda journal: journal.append(commit)) is True
        assert self.both(lambda journal: journal.save_checkpoint(Checkpoint(0, "", b""))) is True
        assert self.both(lambda journal: journal.save_in_pieces(0, "", [b"x"])) is True
        self.memory = before
        with sqlite3.connect(self.path) as other:
            other.execute("UPDATE owner SET fence = fence - 1")
        other.close()

    @rule()
    def archive(self) -> None:
        before = [event for _, event in self.memory.read(0)]
        gone = self.memory.archive()
        target = self.path.with_name("archive.evm")
        assert self.sqlite.archive(target) == gone
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

    @rule()
    def ends(self) -> None:
        self.both(lambda journal: (journal.oldest, journal.last, journal.fence, journal.last_player()))
        self.both(lambda journal: journal.newest_checkpoint())
        assert list(self.sqlite.checkpoints()) == self.store.checkpoints
        self.both(lambda journal: journal.names_of(list(range(12))))


TestJournals = JournalMachine.TestCase
TestJournals.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=30)
