"""The journal in PostgreSQL: for studios that run one already, and for more than one machine.

A group of commands is one transaction: the lease moves, one row of events goes in, and rows for the side tables. The
same calls and the same answers as the SQLite journal; what is different lies under them.

- Who may write is settled by a lease (`postgres_lease.py`). There is one a journal, not one a queue: one engine owns
  all its queues and writes one sequence, and what it decides for a player in one queue follows from the others (I11).
  A database may hold several journals, a lane each (`postgres_lanes.py`).
- A connection that broke is made anew with the next call (`postgres_line.py`). Whether the commit that broke with it
  came through is not known then; the lease's `last` says, and a writer that believes otherwise is turned away.
- Tables come from numbered migrations (`postgres_schema.py`), large batches go in by COPY (`postgres_rows.py`).
"""

import contextlib
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from psycopg import errors

from evenmatch.domain.arrays import NONE, Array
from evenmatch.domain.events import Event
from evenmatch.errors import JournalDamaged, JournalError, JournalUnsure, JournalWithdrawn

from . import postgres_bodies, postgres_claims, postgres_commit, postgres_inbox, postgres_lanes, postgres_whole
from .codec import decode_events
from .erasing import Traces
from .openings import Opening
from .outbox import Letter
from .postgres_checkpoints import alone, enter, read_checkpoints, write_pieces
from .postgres_lease import Keeper, hold, proven, read, refusal
from .postgres_ledger import PostgresLedger, decoded
from .postgres_line import SILENCE_S, Db, Line, ahead_s
from .postgres_schema import look, prepare
from .protocol import Checkpoint, Commit, Whole
from .pruning import Pruned
from .recent import Part, Recent, split
from .tables import LAST, Table

T = TypeVar("T")
_encode = msgspec.json.Encoder().encode


class PostgresJournal:
    """One ownership of a journal in a database; with `read_only`, a look at it."""

    def __init__(
        self,
        url: str,
        name: str,
        *,
        cluster: str = "evenmatch",
        journal: int = 1,
        read_only: bool = False,
        own: bool = True,
    ) -> None:
        """`own=False`: work on a journal beside its owner, without taking it over (see `archive`)."""
        self._url, self._name, self._journal = url, name, journal
        self._own = own and not read_only
        self._fence, self._last, self._recent = 0, 0, Recent()
        self._keeper: Keeper | None = None
        self._line = Line(url, name, self._again)
        self.ledger = PostgresLedger(self._line, self._journal)
        """Results and ratings, to read."""
        try:
            with self._line.use() as db:
                if self._own:
                    with db.patient():
                        prepare(db, name, cluster)
                    self._keeper = Keeper(url, name, self._journal)
                    self._last = self._keeper.last
                else:
                    look(db, name)
                    self._fence, self._last = read(db, name, journal)
                known = dict(postgres_lanes.lanes(db))
                self.lane_name, self._shared = known.get(journal, ""), len(known) > 1
                """What its lane is called."""
                self._recent.after = self._saved(db)
                self.ahead_s = ahead_s(db)
        except BaseException:
            self.close()
            raise

    def _saved(self, db: Db) -> int:
        row = db.execute(
            "SELECT coalesce(max(sequence), 0) FROM checkpoints WHERE journal = %s", (self._journal,)
        ).fetchone()
        return int(row[0]) if row else 0

    def _again(self, db: Db) -> None:
        """A new connection in place of one that broke: what was written last is what the lease says."""
        if self._own and self._keeper is not None:
            self._last = self._keeper.confirm(db)

    @property
    def name(self) -> str:
        """What it is called in messages: its URL, without a password."""
        return self._name

    @property
    def place(self) -> str:
        """Where it can be opened: its URL."""
        return self._url

    @property
    def lane(self) -> int:
        """The number of its lane."""
        return self._journal

    @property
    def shared(self) -> bool:
        """Are there other lanes? An owner that was alone is replaced when a second one is made."""
        return self._shared

    @property
    def fence(self) -> int:
        """The number of this ownership."""
        return self._fence if self._keeper is None else self._keeper.fence

    @property
    def fault(self) -> JournalError | None:
        """Why the lease was not renewed lately."""
        return None if self._keeper is None else self._keeper.fault

    def when_lost(self, call: Callable[[str], None]) -> None:
        """Have a function called, from another thread, when another owner has taken over."""
        if self._keeper is not None:
            self._keeper.lost = call

    @property
    def oldest(self) -> int:
        """The first sequence that is still kept."""
        row = self._line.rows("SELECT min(first_sequence) FROM commits WHERE journal = %s", (self._journal,))[0]
        return int(row[0]) if row[0] is not None else self._last + 1

    @property
    def last(self) -> int:
        """The last sequence written."""
        return self._last

    def expect_commits(self) -> None:
        """Raise where a commit would be refused: the lease is another's, or somebody has edited or deleted it."""
        with self._line.use() as db:
            self._last = proven(db, self._name, self._journal, self.fence)

    def append(self, commit: Commit) -> None:
        """Make a commit durable."""
        if commit.first_sequence != self._last + 1 and commit.first_sequence != self._catch_up() + 1:
            raise JournalError(f"a commit must start at {self._last + 1}, not {commit.first_sequence}")
        postgres_commit.refuse_nul(commit)
        try:
            with self._line.use() as db, self._together(db, commit):
                postgres_commit.write(db, self._journal, self.fence, commit)
        except JournalError as error:
            unsure = self._line.broken
            self._catch_up()
            if unsure:
                raise JournalUnsure(str(error)) from error
            raise
        self._last = commit.last_sequence

    @contextlib.contextmanager
    def _together(self, db: Db, commit: Commit) -> Iterator[None]:
        """A commit's transaction, unless it is one by itself; sent at once (in a pipeline), unless rows go by COPY."""
        db.doubt = None
        try:
            with contextlib.ExitStack() as stack:
                if not postgres_commit.is_plain(commit):
                    if postgres_commit.is_small(commit):
                        stack.enter_context(db.pipeline())
                    stack.enter_context(db.transaction())
                yield
        except errors.DivisionByZero:
            raise refusal(db, self._name, self._journal, self.fence, commit.first_sequence - 1) from None
        except errors.InvalidArgumentForPowerFunction:
            raise JournalWithdrawn(f"{self._name}: a request was taken back while it was carried out") from None
        except errors.UniqueViolation as error:
            if not postgres_claims.is_conflict(error):
                raise
            raise postgres_claims.conflict(db, self._name, self._journal, commit) from None
        if db.doubt is not None:  # such as a wait for the synchronous standby that somebody ended
            raise JournalUnsure(f"{self._name} warned of this commit: {db.doubt}")

    def _catch_up(self) -> int:
        """After a commit that failed, which may have come through all the same, or a lease that was put right."""
        with contextlib.suppress(JournalError), self._line.use() as db:
            fence, last = read(db, self._name, self._journal)
            self._last = last if fence == self.fence else self._last
        return self._last

    def _commits(self, after: int) -> Iterator[tuple[int, list[Event]]]:
        """Over a connection of its own, so that all is read as of one moment, however long it takes."""
        sql = (
            "SELECT first_sequence, last_sequence, schema, crc, body FROM commits WHERE journal = %s"
            " AND last_sequence > %s AND first_sequence >= coalesce((SELECT max(first_sequence) FROM commits"
            " WHERE journal = %s AND first_sequence <= %s), 0) ORDER BY first_sequence"
        )
        with postgres_whole.moment(self._url, self._name, SILENCE_S) as db:
            for row in postgres_whole.streamed(db, sql, (self._journal, after, self._journal, after)):
                yield row[0], self._events(decode_events, *row)

    def _events(
        self, decode: Callable[[bytes, int], list[T]], first: int, last: int, schema: int, crc: int, body: bytes
    ) -> list[T]:
        if zlib.crc32(body) != crc:
            raise JournalDamaged(f"{self._name}: the commit at sequence {first} is not what was written (checksum)")
        events = decode(body, schema)
        if len(events) != last - first + 1:
            raise JournalDamaged(f"{self._name}: the commit at sequence {first} holds {len(events)} events")
        return events

    def follow(self, after: int) -> list[tuple[int, int, list[Event]]]:
        """Some of the commits after a sequence, in order: first sequence, time, events; empty = there are none yet."""
        rows = postgres_inbox.commits_after(self._line, self._journal, after)
        found = [(row[0], at_ms, self._events(decode_events, *row)) for *row, at_ms in rows]
        if found and found[0][0] != after + 1:
            raise JournalDamaged(f"{self._name}: events {after + 1} to {found[0][0] - 1} are missing")
        if rows:
            self._last = max(self._last, rows[-1][1])
        return found

    def reasons(self) -> list[tuple[str, int, bytes]]:
        """Why the last wave of each queue left tickets waiting, as its owner wrote it: queue, wave, body."""
        return self._line.rows("SELECT queue, wave, body FROM reasons WHERE journal = %s", (self._journal,))

    def read(self, after: int) -> Iterator[tuple[int, Event]]:
        """Every event after a sequence, with its own."""
        expected = None
        for first, events in self._commits(after):
            if expected is not None and first != expected:
                raise JournalDamaged(f"{self._name}: events {expected} to {first - 1} are missing")
            expected = first + len(events)
            for sequence, event in enumerate(events, first):
                if sequence > after:
                    yield sequence, event

    def event(self, sequence: int) -> Event | None:
        """One event, or None where it is not kept."""
        return self._recent.event(sequence, self._commit_with)

    def _commit_with(self, sequence: int) -> tuple[int, list[Part], int] | None:
        found = self._line.rows(
            "SELECT first_sequence, last_sequence, schema, crc, body FROM commits"
            " WHERE journal = %s AND first_sequence <= %s ORDER BY first_sequence DESC LIMIT 1",
            (self._journal, sequence),
        )
        if not found or found[0][1] < sequence:
            return None
        return found[0][0], self._events(split, *found[0]), len(found[0][4])

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a saved state; older ones that nothing needs are dropped."""
        with self._line.transaction() as db:
            alone(db, self._journal)
            last = hold(db, self._name, self._journal, self.fence)
            db.execute(
                "DELETE FROM checkpoint_pieces WHERE journal = %s AND sequence = %s",
                (self._journal, checkpoint.sequence),
            )
            enter(db, self._journal, checkpoint, zlib.crc32(checkpoint.body), last)
        self._recent.after = max(self._recent.after, checkpoint.sequence)

    def save_in_pieces(self, sequence: int, hash: str, bodies: Iterable[bytes]) -> None:
        """Keep a large state while commits go on; may be called from another thread."""
        line = Line(self._url, self._name)
        try:
            write_pieces(line, self._journal, self.fence, Checkpoint(sequence, hash, b""), bodies)
        finally:
            line.close()
        self._recent.after = max(self._recent.after, sequence)

    def checkpoints(self, order: str = "ASC") -> Iterator[Checkpoint]:
        """The saved states, oldest first."""
        return read_checkpoints(self._line, self._journal, order)

    def newest_checkpoint(self) -> Checkpoint | None:
        """The saved state to start from."""
        return next(self.checkpoints("DESC"), None)

    def numbers_of(self, names: list[str]) -> dict[str, int]:
        """The numbers of those players that are known."""
        return dict(self._line.rows("SELECT name, number FROM players WHERE name = ANY(%s::text[])", (names,)))

    def names_of(self, players: list[int]) -> dict[int, str]:
        """The names of those players that have one."""
        return dict(self._line.rows("SELECT number, name FROM players WHERE number = ANY(%s::bigint[])", (players,)))

    def number(self, names: list[str], leaving: Collection[str] = ()) -> dict[str, int] | None:
        """Numbers for new names, where several owners give them out; None = the only owner does, in its commit."""
        return postgres_lanes.number(self._line, names, leaving) if self._shared else None

    def claimed_elsewhere(self, players: Array) -> Array:
        """Those of these players whom proposals or matches of other lanes have."""
        return postgres_claims.elsewhere(self._line, self._journal, players) if self._shared else NONE

    def settle_claims(self, players: Array) -> None:
        """Say at the beginning of an ownership whom this lane's proposals and matches have: nobody else."""
        if self._shared:
            postgres_claims.settle(self._line, self._journal, self.fence, players)

    def last_player(self) -> int:
        """The highest player number given out, to erased players too."""
        known = "(SELECT coalesce(max(number), 0) FROM players), (SELECT coalesce(max(number), 0) FROM erased)"
        return int(self._line.rows(f"SELECT greatest({known})")[0][0])

    def attributes_of(self, ticket: int) -> dict[str, Any]:
        """The attributes that a ticket brought."""
        return self._record("SELECT body FROM attributes WHERE journal = %s AND ticket = %s", ticket) or {}

    def finished_ticket(self, ticket: int) -> dict[str, Any] | None:
        """The record of a ticket that has left the state."""
        return self._record("SELECT body FROM tickets WHERE journal = %s AND ticket = %s", ticket)

    def recent_tickets(self, limit: int, before: int | None = None) -> list[tuple[int, dict[str, Any]]]:
        """Those of the tickets that have left the state which joined last, newest first."""
        sql = "SELECT ticket, body FROM tickets WHERE journal = %s AND ticket < %s ORDER BY ticket DESC LIMIT %s"
        return self._numbered(sql, (self._journal, LAST if before is None else before, limit))

    def finished_match(self, match: int) -> dict[str, Any] | None:
        """The record of a match that has left the state."""
        return self._record("SELECT body FROM matches WHERE journal = %s AND match = %s", match)

    def audit(self, after: int, limit: int) -> list[tuple[int, dict[str, Any]]]:
        """Operators' actions after a sequence, oldest first."""
        sql = "SELECT sequence, body FROM audit WHERE journal = %s AND sequence > %s ORDER BY sequence LIMIT %s"
        return self._numbered(sql, (self._journal, after, limit))

    def openings(self, queue: str) -> list[Opening]:
        """The rules that a queue has had, oldest first."""
        return postgres_bodies.openings(self._line, self._journal, queue)

    def traces(self, player: int) -> Traces:
        """The finished tickets and matches that a player is in; slow, and any thread may ask."""
        return postgres_whole.traces(self._url, self._name, self._journal, player)

    def letter(self, match: int) -> Letter | None:
        """The request for a match's game server."""
        return next(iter(postgres_bodies.letters(self._line, self._journal, "match = %s", match)), None)

    def letters(self, status: str) -> list[Letter]:
        """All such requests that stand like this, oldest match first."""
        return postgres_bodies.letters(self._line, self._journal, "status = %s", status)

    def _record(self, sql: str, number: int) -> dict[str, Any] | None:
        found = self._line.rows(sql, (self._journal, number))
        return decoded(self._name, "a record", found[0][0], dict[str, Any]) if found else None

    def _numbered(self, sql: str, values: tuple[Any, ...]) -> list[tuple[int, dict[str, Any]]]:
        return [(n, decoded(self._name, "a record", body, dict[str, Any])) for n, body in self._line.rows(sql, values)]

    def archive(self, target: Path) -> int:
        """Move the commits that the kept checkpoints have behind them into a file; returns how many events went."""
        origin = postgres_whole.Origin(self._url, self._line, self._journal, lambda: self.oldest)
        return postgres_whole.archive(origin, target)

    def prune(self, before_ms: int) -> Pruned:
        """Drop the records of finished tickets and matches from before a moment."""
        return postgres_whole.prune_rows(self._line, self._journal, before_ms)

    def snapshot(self) -> contextlib.AbstractContextManager[Whole]:
        """All tables as of one moment."""
        return postgres_whole.snapshot(self._url, self._name, self._journal)

    def fill(self, last: int, rows: Callable[[Table], Iterator[tuple[Any, ...]]]) -> None:
        """Take all tables of another journal, at once; only a new journal does."""
        with self._line.transaction() as db, db.patient():
            hold(db, self._name, self._journal, self.fence)
            postgres_whole.fill(db, self._name, self._journal, last, rows)
        self._last = last

    def size(self) -> int:
        """About how many bytes it takes up, in all journals of the database."""
        return postgres_whole.size(self._line)

    def damage(self) -> list[str]:
        """PostgreSQL's own checksums speak up when a page is read; there is nothing to ask beforehand."""
        return []

    @contextlib.contextmanager
    def reader(self) -> Iterator["PostgresJournal"]:
        """A look at the same journal for a thread that does not own it."""
        with PostgresJournal(self._url, self._name, journal=self._journal, read_only=True) as reading:
            yield reading

    def close(self) -> None:
        """Give the lease back and end the connections."""
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None
        self._line.close()

    def __enter__(self) -> "PostgresJournal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
