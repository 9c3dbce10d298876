"""The inbox in PostgreSQL: many nodes ask, the owner of a lane answers in its own commit.

    node ── INSERT inbox (a group at a time) ── NOTIFY ──> owner
    node <── NOTIFY ── outcomes <── the owner's commit: DELETE inbox + INSERT outcomes + events

1. A request that is lost with the database before it was carried out changed nothing; so putting it in waits for no
   disk. What waits for the disk, and for a synchronous standby, is the commit that carries it out.
2. A node that has waited long enough takes its request back. If it is gone by then, it was carried out, and the outcome
   says how it went. An owner that carries out a request which was taken back meanwhile fails with its commit, and does
   the others again.
3. NOTIFY carries nothing but the number of a lane, is sent once for a group, and whoever misses it looks by itself
   soon. It takes a lock of all databases while its transaction ends, so it is never part of a commit of events.
"""

import contextlib
import time
from collections.abc import Collection, Sequence
from typing import Any, Final
from uuid import UUID

import psycopg

from evenmatch.errors import JournalError

from .inbox import Outcome, Request
from .postgres_line import Db, Line, connect, said_clearly
from .postgres_sheaf import HELD, Sheaf

ASKED: Final = "evenmatch_asked"
"""Somebody has put requests into the inbox of a lane."""
MOVED: Final = "evenmatch_moved"
"""A lane's journal has gone on, or it has answered."""
_NO_DISK: Final = "set_config('synchronous_commit', 'off', true)"
"""Where this is asked for in a statement, its transaction does not wait for the disk."""
_AT_ONCE: Final = 1_000
_KEPT_S: Final = 600
"""Answers that nobody fetched are dropped after so long."""


def settle(sheaf: Sheaf, journal: int, sequence: int, outcomes: Sequence[Outcome]) -> None:
    """In a commit: take its requests from the inbox and leave their answers.

    Where one of them is not there any more the transaction is stopped in the database, as by `move` of the lease, but
    by an error of another kind.
    """
    if not outcomes:
        return
    answers = [UUID(hex=o.id) for o in outcomes], [o.body for o in outcomes]
    sheaf.put("answers", "SELECT * FROM unnest(%b::uuid[], %b::bytea[]) AS given (id, body)", answers)
    gone = f"DELETE FROM inbox WHERE {HELD} AND journal = %s AND id IN (SELECT id FROM answers) RETURNING id, node"
    sheaf.put("done", gone, (journal,))
    sheaf.put(
        "told",
        "INSERT INTO outcomes (id, journal, node, sequence, body)"
        " SELECT id, %s, node, %s, body FROM done JOIN answers USING (id) RETURNING 1",
        (journal, sequence),
    )
    sheaf.check("sqrt((SELECT count(*) FROM told) - (SELECT count(*) FROM answers))")


def waiting(line: Line, journal: int, known: Collection[str] = ()) -> list[Request]:
    """What waits for the owner of a lane, in order, but for what it knows of already."""
    rows = line.rows(
        "SELECT id, body FROM inbox WHERE journal = %s AND id <> ALL(%b::uuid[])"
        " AND NOT EXISTS (SELECT 1 FROM outcomes WHERE outcomes.id = inbox.id) ORDER BY number LIMIT %s",
        (journal, [UUID(hex=one) for one in known], _AT_ONCE),
        binary=True,
    )
    return [Request(found.hex, body) for found, body in rows]


def commits_after(line: Line, journal: int, after: int) -> list[tuple[Any, ...]]:
    """The next rows of a journal, not many, for a large wave's has megabytes: sequences, schema, crc, body, time."""
    return line.rows(
        "SELECT first_sequence, last_sequence, schema, crc, body, at_ms FROM commits"
        " WHERE journal = %s AND first_sequence > %s ORDER BY first_sequence LIMIT 100",
        (journal, after),
        binary=True,
    )


def tell_reasons(line: Line, journal: int, told: Sequence[tuple[str, int, bytes]]) -> None:
    """Write down why the last waves of queues left tickets waiting: queue, wave, body."""
    with line.transaction() as db:
        db.execute("SET LOCAL synchronous_commit = off")
        for row in told:
            db.execute(
                "INSERT INTO reasons (journal, queue, wave, body) VALUES (%s, %s, %s, %s)"
                " ON CONFLICT (journal, queue) DO UPDATE SET wave = excluded.wave, body = excluded.body",
                (journal, *row),
            )


def sweep(line: Line) -> None:
    """Drop answers, and requests of nodes, that nobody will fetch any more."""
    with line.transaction() as db:
        db.execute("SET LOCAL synchronous_commit = off")
        for table in ("outcomes", "inbox"):
            old = f"DELETE FROM {table} WHERE made < clock_timestamp() - make_interval(secs => %s)"
            db.execute(old.encode(), (_KEPT_S,))


class Desk:
    """Where a node hands requests in and fetches answers; one thread uses it."""

    def __init__(self, url: str, name: str, node: str) -> None:
        self._node = node
        self._line = Line(url, name)

    def hand_in(self, requests: Sequence[tuple[int, Request]]) -> None:
        """Put requests into the inboxes of lanes: (lane, request). Safe to do again after a failure."""
        sheaf = Sheaf()
        sheaf.put(
            "given",
            "SELECT * FROM unnest(%b::uuid[], %b::smallint[], %b::bytea[])"
            " WITH ORDINALITY AS given (id, journal, body, place)",
            (
                [UUID(hex=request.id) for _, request in requests],
                [lane for lane, _ in requests],
                [request.body for _, request in requests],
            ),
        )
        sheaf.put(
            "asked",
            "INSERT INTO inbox (id, journal, node, body) SELECT id, journal, %s, body FROM given"
            " WHERE NOT EXISTS (SELECT 1 FROM outcomes WHERE outcomes.id = given.id)"
            " ORDER BY place ON CONFLICT (id) DO NOTHING",
            (self._node,),
        )
        lanes = "(SELECT DISTINCT journal FROM given) AS lanes"
        sheaf.put("rung", f"SELECT pg_notify(%s, journal::text) FROM {lanes}", (ASKED,))
        sheaf.check(_NO_DISK)
        sheaf.check("(SELECT count(*) FROM rung)")
        with self._line.use() as db:
            sheaf.send(db)

    def fetch(self, ids: Sequence[str]) -> list[Outcome]:
        """The answers that are there, each of them once."""
        rows = self._line.rows(
            "SELECT id, body, sequence FROM outcomes WHERE node = %s AND id = ANY(%b::uuid[])",
            (self._node, [UUID(hex=one) for one in ids]),
            binary=True,
        )
        return [Outcome(found.hex, body, sequence) for found, body, sequence in rows]

    def drop(self, ids: Sequence[str]) -> None:
        """Answers that were passed on are not needed any more."""
        sheaf = Sheaf()
        known = [UUID(hex=one) for one in ids]
        sheaf.put("gone", "DELETE FROM outcomes WHERE node = %s AND id = ANY(%b::uuid[])", (self._node, known))
        sheaf.check(_NO_DISK)
        with self._line.use() as db:
            sheaf.send(db)

    def take_back(self, ids: Sequence[str]) -> set[str]:
        """Take requests back that were not carried out; those that were taken back."""
        rows = self._line.rows("DELETE FROM inbox WHERE id = ANY(%s::uuid[]) RETURNING id", (list(ids),))
        return {found.hex for (found,) in rows}

    def close(self) -> None:
        """End its connection."""
        self._line.close()


def ring(line: Line, channel: str, lane: int) -> None:
    """Wake whoever listens; failing to is no harm, they look by themselves."""
    with contextlib.suppress(JournalError), line.use() as db:
        db.execute("SELECT pg_notify(%s, %s)", (channel, str(lane)))


class Ear:
    """Hears what was rung on some channels; one thread listens."""

    def __init__(self, url: str, name: str, channels: Sequence[str] = (ASKED, MOVED)) -> None:
        self._url, self._name, self._channels = url, name, channels
        self._db: Db | None = None
        self._again_s = 0.0

    @property
    def hears(self) -> bool:
        """Will it hear of what is rung? Deaf, it learns nothing: whoever relies on it has to look more often."""
        return self._db is not None

    def listen(self, most_s: float) -> set[tuple[str, int]]:
        """Wait for a ring, so long at most: channels and lanes. Deaf for a while where the database is away."""
        if self._db is None and not self._open():
            time.sleep(most_s)
            return set()
        assert self._db is not None
        heard = set()
        try:
            with said_clearly(self._name):
                for note in self._db.notifies(timeout=most_s, stop_after=1):
                    heard.add(_read(note))
                for note in self._db.notifies(timeout=0):
                    heard.add(_read(note))
        except JournalError:
            self.close()
        return {one for one in heard if one[1]}

    def _open(self) -> bool:
        if time.monotonic() < self._again_s:
            return False
        try:
            self._db = connect(self._url, self._name)
            with said_clearly(self._name):
                for channel in self._channels:
                    self._db.execute(f"LISTEN {channel}".encode())
        except JournalError:
            self.close()
            self._again_s = time.monotonic() + 0.5
            return False
        return True

    def close(self) -> None:
        """Stop listening."""
        if self._db is not None:
            with contextlib.suppress(psycopg.Error):
                self._db.close()
            self._db = None


def _read(note: psycopg.Notify) -> tuple[str, int]:
    return note.channel, int(note.payload) if note.payload.isdigit() else 0
