"""The journal in one SQLite file: the default, for one machine.

A group of commands is one transaction with one row of events: WAL, synchronous FULL, so a commit costs one fsync and a
handful of statements however many commands are in it; rows for the side tables go in by one statement each.

Who may write is settled twice. A lock file keeps a second server from opening the journal at all; the fence, checked
inside every commit, turns away an owner that was replaced while it slept (I9). Readers (`read_only`) need neither.

A file that is not ours, is damaged, or was written by a newer evenmatch is refused and left as it is.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TextIO, TypeVar

import msgspec

from evenmatch.domain.events import Event
from evenmatch.errors import JournalDamaged, JournalError, JournalForeign, JournalNewer

from . import alone, archives, outbox, pieces, sqlite_ledger, sqlite_whole
from .audit import AUDIT_TABLE, audited
from .codec import SCHEMA, decode_events, encode_events
from .erasing import ERASED_TABLE, Traces, erase, last_number, overwriting, traces_in
from .files import check_file, take_lock
from .memory import CHECKPOINTS_KEPT
from .openings import OPENINGS_TABLE, Opening, read_openings, write_openings
from .protocol import Checkpoint, Commit, Whole
from .pruning import Pruned, prune_file
from .recent import Part, Recent, split
from .sqlite_ledger import SqliteLedger
from .tables import LAST, Table
from .transactions import connect, crc32, fenced, owner, said_clearly, whole

APPLICATION_ID: Final = 0x65766D31  # "evm1"
T = TypeVar("T")


class SqliteJournal:
    """One ownership of a journal file; with `read_only`, a look at it."""

    lane, lane_name, shared = 1, "main", False
    ahead_s = 0.0  # time is this machine's
    number, claimed_elsewhere = alone.number, alone.claimed_elsewhere
    settle_claims, expect_commits = alone.settle_claims, alone.expect_commits

    def __init__(self, path: Path, *, read_only: bool = False, own: bool = True) -> None:
        """`own=False`: work on a journal beside its owner, without taking it over (see `archive`)."""
        own = own and not read_only
        self.path = path
        self._fence, self._recent = 0, Recent()
        self._lock: TextIO | None = None
        check_file(path, read_only=not own)
        with said_clearly(path):
            if own:
                self._lock = take_lock(path)
            try:
                mode = "ro" if read_only else "rwc" if own else "rw"
                self._db = connect(path, mode)
            except BaseException:
                self._unlock()
                raise
            self.ledger = SqliteLedger(self._db, path)
            """Results and ratings, to read."""
            try:
                self._open(own)
            except BaseException:
                self.close()
                raise

    def _open(self, own: bool) -> None:
        db = self._db
        application = db.execute("PRAGMA application_id").fetchone()[0]
        tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if own and not application and not tables:
            sqlite_whole.create(db, APPLICATION_ID)
        elif application != APPLICATION_ID:
            raise JournalForeign(f"{self.path} is an SQLite file, but not an evenmatch journal; choose another --db")
        schema = db.execute("PRAGMA user_version").fetchone()[0]
        if schema > SCHEMA:
            raise JournalNewer(
                f"{self.path} was written by a newer evenmatch (schema {schema}, known here up to {SCHEMA}): upgrade"
            )
        # All is read before anything is written, so that a file that cannot be read is left as it is.
        row = db.execute("SELECT last_sequence FROM commits ORDER BY first_sequence DESC LIMIT 1").fetchone()
        saved = db.execute("SELECT max(sequence) FROM checkpoints").fetchone()[0]
        self._last = whole(self.path, row[0] if row else (saved or 0))
        self._recent.after = saved or 0
        self._fence = owner(self._db, self.path)
        if own:
            sqlite_whole.check_tail(db, self.path, self.newest_checkpoint())
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            for table in (AUDIT_TABLE, OPENINGS_TABLE, ERASED_TABLE):
                db.execute(table)
            sqlite_ledger.create(db)
            outbox.create(db)
            if schema < SCHEMA:
                db.execute(f"PRAGMA user_version = {SCHEMA}")  # an older evenmatch could not read what we add
            db.execute("UPDATE owner SET fence = fence + 1")
            self._fence = owner(self._db, self.path)

    @property
    def name(self) -> str:
        """What it is called in messages: its path."""
        return str(self.path)

    @property
    def place(self) -> str:
        """Where it can be opened."""
        return str(self.path)

    def when_lost(self, call: Callable[[str], None]) -> None:
        """Nobody takes a locked file over; who replaces the owner all the same is noticed by the next commit."""

    @property
    def fault(self) -> JournalError | None:
        """A file has none, as far as anybody knows before trying."""
        return None

    @property
    def fence(self) -> int:
        """The number of this ownership."""
        return self._fence

    @property
    def oldest(self) -> int:
        """The first sequence that is still kept."""
        with said_clearly(self.path):
            row = self._db.execute("SELECT min(first_sequence) FROM commits").fetchone()
        return int(row[0]) if row[0] is not None else self._last + 1

    @property
    def last(self) -> int:
        """The last sequence written."""
        return self._last

    def _transaction(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        """A fenced transaction, undone on any failure."""
        return fenced(self._db, self.path, self._fence)

    def append(self, commit: Commit) -> None:
        """Make a commit durable."""
        if commit.first_sequence != self._last + 1:
            raise JournalError(f"a commit must start at {self._last + 1}, not {commit.first_sequence}")
        if any("\0" in name for _, name in commit.names):  # SQLite's JSON would cut it off there
            raise JournalError("a name with a NUL character cannot be kept")
        body = encode_events(commit.events)
        with overwriting(self._db, self.path, bool(commit.erasures)), self._transaction() as db:
            if commit.events:
                db.execute(
                    "INSERT INTO commits VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (commit.first_sequence, commit.last_sequence, commit.at_ms, SCHEMA, self._fence, crc32(body), body),
                )
            if commit.erasures:
                erase(db, commit.erasures, commit.at_ms)
            for sql, rows in (
                ("INSERT INTO players", commit.names),
                ("INSERT OR REPLACE INTO attributes", commit.attributes),
                ("INSERT OR REPLACE INTO tickets", commit.tickets),
                ("INSERT OR REPLACE INTO matches", commit.matches),
                ("INSERT INTO audit", commit.actions()),
            ):
                if rows:
                    db.execute(
                        f"{sql} SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?)",
                        (msgspec.json.encode(rows).decode(),),
                    )
            if commit.entries is not None:
                sqlite_ledger.write(db, commit.entries)
            write_openings(db, commit.openings())
            outbox.write(db, commit.letters)
        self._last = commit.last_sequence

    def _commits(self, after: int) -> Iterator[tuple[int, list[Event]]]:
        with said_clearly(self.path):
            rows = self._db.execute(
                "SELECT first_sequence, last_sequence, schema, crc, body FROM commits"
                " WHERE last_sequence > ? AND first_sequence >= coalesce("
                "   (SELECT max(first_sequence) FROM commits WHERE first_sequence <= ?), 0) ORDER BY first_sequence",
                (after, after),
            )
            for row in rows:
                yield row[0], self._events(decode_events, *row)

    def _events(
        self, decode: Callable[[bytes, int], list[T]], first: int, last: int, schema: int, crc: int, body: bytes
    ) -> list[T]:
        if crc32(body) != crc:
            raise JournalDamaged(f"{self.path}: the commit at sequence {first} is not what was written (checksum)")
        events = decode(body, whole(self.path, schema))
        if len(events) != whole(self.path, last) - first + 1:
            raise JournalDamaged(f"{self.path}: the commit at sequence {first} holds {len(events)} events")
        return events

    def read(self, after: int) -> Iterator[tuple[int, Event]]:
        """Every event after a sequence, with its own."""
        expected = None
        for first, events in self._commits(after):
            if expected is not None and first != expected:
                raise JournalDamaged(f"{self.path}: events {expected} to {first - 1} are missing")
            expected = first + len(events)
            for sequence, event in enumerate(events, first):
                if sequence > after:
                    yield sequence, event

    def event(self, sequence: int) -> Event | None:
        """One event, or None where it is not kept."""
        return self._recent.event(sequence, self._commit_with)

    def _commit_with(self, sequence: int) -> tuple[int, list[Part], int] | None:
        with said_clearly(self.path):
            row = self._db.execute(
                "SELECT first_sequence, last_sequence, schema, crc, body FROM commits"
                " WHERE first_sequence <= ? ORDER BY first_sequence DESC LIMIT 1",
                (sequence,),
            ).fetchone()
        if row is None or whole(self.path, row[1]) < sequence:
            return None
        return int(row[0]), self._events(split, *row), len(row[4])

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a saved state; older ones that nothing needs are dropped."""
        with self._transaction() as db:
            pieces.forget(db, checkpoint.sequence)
            self._enter(db, checkpoint, crc32(checkpoint.body))

    def save_in_pieces(self, sequence: int, hash: str, bodies: Iterable[bytes]) -> None:
        """Keep a large state while commits go on; may be called from another thread."""
        row = Checkpoint(sequence, hash, b"")
        pieces.write(self.path, self._fence, sequence, bodies, lambda db, crc: self._enter(db, row, crc))

    def _enter(self, db: sqlite3.Connection, checkpoint: Checkpoint, crc: int) -> None:
        self._recent.after = max(self._recent.after, checkpoint.sequence)
        pieces.enter(db, checkpoint, crc, self._last)

    def checkpoints(self, order: str = "ASC") -> Iterator[Checkpoint]:
        """The saved states, oldest first."""
        return pieces.read(self._db, self.path, order)

    def newest_checkpoint(self) -> Checkpoint | None:
        """The saved state to start from."""
        return next(self.checkpoints("DESC LIMIT 1"), None)

    def numbers_of(self, names: list[str]) -> dict[str, int]:
        """The numbers of those players that are known."""
        return self._looked_up("SELECT name, number FROM players WHERE name", names)

    def names_of(self, players: list[int]) -> dict[int, str]:
        """The names of those players that have one."""
        return self._looked_up("SELECT number, name FROM players WHERE number", players)

    def _looked_up(self, sql: str, values: list[Any]) -> dict[Any, Any]:
        given = msgspec.json.encode(values).decode()
        with said_clearly(self.path):
            return dict(self._db.execute(f"{sql} IN (SELECT value FROM json_each(?))", (given,)))

    def last_player(self) -> int:
        """The highest player number given out, to erased players too."""
        with said_clearly(self.path):
            return last_number(self._db)

    def attributes_of(self, ticket: int) -> dict[str, Any]:
        """The attributes that a ticket brought."""
        return self._record("SELECT body FROM attributes WHERE ticket = ?", ticket) or {}

    def finished_ticket(self, ticket: int) -> dict[str, Any] | None:
        """The record of a ticket that has left the state."""
        return self._record("SELECT body FROM tickets WHERE ticket = ?", ticket)

    def recent_tickets(self, limit: int, before: int | None = None) -> list[tuple[int, dict[str, Any]]]:
        """Those of the tickets that have left the state which joined last, newest first."""
        sql = "SELECT ticket, body FROM tickets WHERE ticket < ? ORDER BY ticket DESC LIMIT ?"
        with said_clearly(self.path):
            rows = self._db.execute(sql, (LAST if before is None else before, limit)).fetchall()
        return [(number, self._decoded(body)) for number, body in rows]

    def finished_match(self, match: int) -> dict[str, Any] | None:
        """The record of a match that has left the state."""
        return self._record("SELECT body FROM matches WHERE match = ?", match)

    def audit(self, after: int, limit: int) -> list[tuple[int, dict[str, Any]]]:
        """Operators' actions after a sequence, oldest first."""
        return audited(self._db, self.path, after, limit)

    def openings(self, queue: str) -> list[Opening]:
        """The rules that a queue has had, oldest first."""
        return read_openings(self._db, self.path, queue)

    def traces(self, player: int) -> Traces:
        """The finished tickets and matches that a player is in; slow, and any thread may ask."""
        return traces_in(self.path, player)

    def letter(self, match: int) -> outbox.Letter | None:
        """The request for a match's game server."""
        return outbox.letter(self._db, self.path, match)

    def letters(self, status: str) -> list[outbox.Letter]:
        """All such requests that stand like this, oldest match first."""
        return outbox.letters(self._db, self.path, status)

    def _record(self, sql: str, number: int) -> dict[str, Any] | None:
        with said_clearly(self.path):
            row = self._db.execute(sql, (number,)).fetchone()
        return None if row is None else self._decoded(row[0])

    def _decoded(self, body: Any) -> dict[str, Any]:
        try:
            return msgspec.json.decode(body, type=dict[str, Any])
        except (msgspec.DecodeError, TypeError) as error:
            raise JournalDamaged(f"{self.path} is damaged: a record cannot be read ({error})") from error

    def archive(self, target: Path) -> int:
        """Move the commits that the kept checkpoints have behind them into another file; returns how many events went.

        Safe while a server runs, for it never reads that far back to recover; safe to repeat after a crash, for
        nothing is dropped here that is not there.
        """
        if target.resolve() == self.path.resolve():
            raise JournalError(f"{target} cannot be its own archive: name another file")
        newest = "SELECT min(sequence) FROM (SELECT sequence FROM checkpoints ORDER BY sequence DESC LIMIT ?)"
        while True:
            with said_clearly(self.path):
                base = self._db.execute(newest, (CHECKPOINTS_KEPT,)).fetchone()[0]
            if base is None:
                return 0
            with SqliteJournal(target) as other, said_clearly(target):
                archives.keep(self, other, base)
            with self._transaction() as db:
                if db.execute("SELECT 1 FROM checkpoints WHERE sequence = ?", (base,)).fetchone() is None:
                    continue  # its owner has dropped it meanwhile, for newer ones
                events = "SELECT sum(last_sequence - first_sequence + 1) FROM commits WHERE last_sequence <= ?"
                gone = int(db.execute(events, (base,)).fetchone()[0] or 0)
                db.execute("DELETE FROM commits WHERE last_sequence <= ?", (base,))
                db.execute("DELETE FROM checkpoints WHERE sequence < ?", (base,))
            return gone

    def prune(self, before_ms: int) -> Pruned:
        """Drop the records of finished tickets and matches from before a moment."""
        return prune_file(self._db, self.path, self._transaction, before_ms)

    def ends(self, start: int, begun: int, upto: int) -> list[archives.Ends]:
        """The commits that begin at one sequence or later and at another or before, and end in time."""
        sql = "SELECT first_sequence, last_sequence, crc FROM commits WHERE first_sequence BETWEEN ? AND ?"
        return self._db.execute(f"{sql} AND last_sequence <= ? ORDER BY 1", (start, begun, upto)).fetchall()

    def raw(self, after: int, upto: int) -> Iterator[tuple[Any, ...]]:
        """Commits as they stand in the table, those beyond a sequence and up to one."""
        sql = "SELECT * FROM commits WHERE first_sequence > ? AND last_sequence <= ? ORDER BY 1"
        return iter(self._db.execute(sql, (after, upto)))

    def take(self, rows: list[tuple[Any, ...]], begins_at: int) -> None:
        """Put commits of another journal into this one, which is an archive and may be empty yet."""
        self._last = self._last or begins_at - 1
        with self._transaction() as db:
            db.executemany("INSERT INTO commits VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def snapshot(self) -> contextlib.AbstractContextManager[Whole]:
        """All tables as of one moment."""
        return sqlite_whole.snapshot(self.path)

    def fill(self, last: int, rows: Callable[[Table], Iterator[tuple[Any, ...]]]) -> None:
        """Take all tables of another journal, at once; only a new journal does."""
        with self._transaction() as db:
            sqlite_whole.fill(db, rows)
        self._last, self._fence = last, owner(self._db, self.path)

    def size(self) -> int:
        """About how many bytes it takes up."""
        return sqlite_whole.size(self.path)

    def damage(self) -> list[str]:
        """What SQLite itself finds wrong with the file; empty = nothing."""
        return sqlite_whole.damage(self._db, self.path)

    @contextlib.contextmanager
    def reader(self) -> Iterator["SqliteJournal"]:
        """A look at the same file for a thread that does not own it."""
        with SqliteJournal(self.path, read_only=True) as reading:
            yield reading

    def close(self) -> None:
        """Let go of the file."""
        with contextlib.suppress(sqlite3.Error):
            self._db.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> "SqliteJournal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
