"""Who may write a journal in PostgreSQL: a lease with a fence number, by the database's clock only (I9).

    leases: journal, fence, last, holder, backend + since (a session), until

1. A lease can be taken when it has run out, or when the session that kept it is gone. Taking it raises the fence.
2. Every commit moves `last` in the same transaction, and only from where its writer believes it to be, under the
   writer's fence. So one that was replaced, or that missed a commit of its own which came through late, writes nothing.
3. A thread of the owner renews the lease over a connection of its own, and hears first when another has taken over.
   While it cannot renew, the owner is not ready; nobody else has to believe a clock but the database's.
4. Where a standby has become the primary, the owner takes its lease anew, under a higher fence: what was written there
   is told from what a primary that was left behind may still hold.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

from psycopg import errors

from evenmatch.errors import JournalBusy, JournalDamaged, JournalEdited, JournalError, JournalStale, JournalUnavailable

from .postgres_line import Db, Line, called, refused_pooler
from .postgres_sheaf import HELD, Sheaf

LEASE_S: Final = 10
"""A lease that nobody renews runs out after so long."""
_RENEWED_EVERY_S: Final = 2.0
_RETRY_S: Final = 0.25
_SILENCE_S: Final = 6.0
"""A database that leaves the keeper without an answer for so long is in trouble. Longer than a lock is waited for: a
large commit holds the lease, and a keeper that hung up meanwhile would leave it free to others."""
_MINE: Final = (
    "holder = %s, backend = pg_backend_pid(), until = clock_timestamp() + make_interval(secs => %s),"
    " since = (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())"
)
_FREE: Final = (
    "(until <= clock_timestamp() OR NOT EXISTS (SELECT 1 FROM pg_stat_activity"
    " WHERE pid = leases.backend AND coalesce(backend_start, leases.since) = leases.since))"
)
"""Sessions of other users do not tell when they began: they count as the one that is meant."""
_SLEEPER: Final = (
    "SELECT pid FROM leases JOIN pg_locks ON locktype = 'transactionid' AND granted AND transactionid = leases.xmax"
    " JOIN pg_stat_activity USING (pid)"
    " WHERE journal = %s AND until <= clock_timestamp() AND wait_event = 'ClientRead' AND usename = current_user"
)
"""Whose transaction has the row of a lease that ran out, and waits for what its client has to say."""
_SEEN_ASLEEP: Final = 8
_SEEN_EVERY_S: Final = 0.15


def take(db: Db, name: str, journal: int) -> tuple[int, int]:
    """Become the owner: the fence, and the last sequence written. JournalBusy where there is one."""
    for again in (True, False):
        try:
            with db.transaction():
                return _taken(db, name, journal)
        except errors.LockNotAvailable:
            if not again or not _sleeper_ended(db, journal):
                break
    raise JournalBusy(
        f"another evenmatch is serving {name}, and has its lease in a transaction; stop it first, or give this one its "
        "own database with --db (should it be gone, its lease runs out soon)"
    )


def _sleeper_ended(db: Db, journal: int) -> bool:
    """End the session of an owner that was stopped in the middle of a commit and has lost its lease meanwhile.

    PostgreSQL does so by itself where it waits for the next statement, but not within one, nor in a pipeline. Whoever
    only takes long is seen at work: the server does not wait for its client each time that it is asked.
    """
    for _ in range(_SEEN_ASLEEP):
        sleepers = db.execute(_SLEEPER.encode(), (journal,)).fetchall()
        if not sleepers:
            return False
        time.sleep(_SEEN_EVERY_S)
    for (pid,) in sleepers:
        db.execute("SELECT pg_terminate_backend(%s)", (pid,))
    return True


def _taken(db: Db, name: str, journal: int) -> tuple[int, int]:
    row = db.execute("SELECT last FROM leases WHERE journal = %s FOR UPDATE", (journal,)).fetchone()
    if row is None:
        raise _missing(name, journal)
    _refuse_edited(db, name, journal, row[0])
    fence = "greatest(fence, (SELECT coalesce(max(fence), 0) FROM commits WHERE journal = leases.journal)) + 1"
    taken = db.execute(
        f"UPDATE leases SET fence = {fence}, {_MINE} WHERE journal = %s AND {_FREE} RETURNING fence, last".encode(),
        (called(), LEASE_S, journal),
    ).fetchone()
    if taken is not None:
        return int(taken[0]), int(taken[1])
    held = db.execute(
        "SELECT holder, ceil(extract(epoch FROM until - clock_timestamp())) FROM leases WHERE journal = %s",
        (journal,),
    ).fetchone()
    assert held is not None
    raise JournalBusy(
        f"{held[0] or 'another evenmatch'} is serving {name}; stop it first, or give this one its own database with "
        f"--db (should it be gone, its lease runs out in {held[1]} s)"
    )


def _refuse_edited(db: Db, name: str, journal: int, last: int) -> None:
    """The lease must end where the commits do."""
    row = db.execute(
        "SELECT coalesce((SELECT last_sequence FROM commits WHERE journal = %s ORDER BY first_sequence DESC LIMIT 1),"
        " (SELECT max(sequence) FROM checkpoints WHERE journal = %s), 0)",
        (journal, journal),
    ).fetchone()
    if row is None or row[0] != last:
        raise JournalEdited(
            name,
            f"the lease says that the journal ends at {last}, but it ends at {row[0] if row else 0}. "
            "Somebody edited one of them: put it right, or restore a backup; it was left as it is",
        )


def move(sheaf: Sheaf, journal: int, fence: int, before: int, last: int) -> None:
    """The first thing in every commit: go on from `before` to `last`, as the owner with this fence.

    Whoever may not is stopped in the database, by a division by zero; `refusal` says why afterwards.
    """
    sheaf.put(
        "moved",
        "UPDATE leases SET last = %s, until = greatest(until, clock_timestamp() + make_interval(secs => %s))"
        " WHERE journal = %s AND fence = %s AND last = %s RETURNING 1",
        (last, LEASE_S, journal, fence, before),
    )
    sheaf.put("lease", "SELECT 1 / count(*) = 1 AS held FROM moved")
    sheaf.check(HELD)


def read(db: Db, name: str, journal: int) -> tuple[int, int]:
    """The fence, and the last sequence written."""
    row = db.execute("SELECT fence, last FROM leases WHERE journal = %s", (journal,)).fetchone()
    if row is None:
        raise _missing(name, journal)
    return int(row[0]), int(row[1])


def _missing(name: str, journal: int) -> JournalDamaged:
    return JournalEdited(name, f"the lease of journal {journal} is missing. Restore it from a backup")


def proven(db: Db, name: str, journal: int, fence: int) -> int:
    """The last sequence written; raises where no commit of the owner with this fence could follow it."""
    with db.transaction():
        present = hold(db, name, journal, fence)
        _refuse_edited(db, name, journal, present)
    return present


def refusal(db: Db, name: str, journal: int, fence: int, before: int) -> JournalError:
    """Why `move` was refused."""
    try:
        present = proven(db, name, journal, fence)
    except JournalError as error:
        return error
    return JournalUnavailable(f"{name} ends at {present}, not at {before}: a commit that seemed lost came through")


def hold(db: Db, name: str, journal: int, fence: int) -> int:
    """Keep others from taking over until this transaction ends; the last sequence written."""
    row = db.execute("SELECT fence, last, holder FROM leases WHERE journal = %s FOR SHARE", (journal,)).fetchone()
    if row is None:
        raise _missing(name, journal)
    if row[0] != fence:
        who = row[2] or "which has given it back since"
        raise JournalStale(f"owner {row[0]} ({who}) has taken {name} over from owner {fence}")
    return int(row[1])


class Keeper:
    """Renews a lease for as long as its owner lives."""

    def __init__(self, url: str, name: str, journal: int) -> None:
        self._name, self._journal = name, journal
        self._turn = threading.Lock()
        self._line = Line(url, name, self.confirm, _SILENCE_S)
        try:
            with self._line.use() as db:
                self.fence, self.last = take(db, name, journal)
                self._timeline = db.timeline
        except BaseException:
            self._line.close()
            raise
        self._trouble: JournalError | None = None
        """Why the lease could not be renewed the last time."""
        self._renewed_s = time.monotonic()
        self.lost: Callable[[str], None] = lambda _: None
        """Called once, from the keeper's thread, when another owner has taken over."""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._work, name="lease", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        pause = _RENEWED_EVERY_S
        while not self._ending.wait(pause):
            asked_s = time.monotonic()
            try:
                self._renew()
                self._trouble, pause, self._renewed_s = None, _RENEWED_EVERY_S, asked_s
            except JournalStale as error:
                self._trouble = error
                self.lost(str(error))
                return
            except JournalError as error:
                self._trouble, pause = error, _RETRY_S

    @property
    def fault(self) -> JournalError | None:
        """Why the lease was not renewed the last time, or lately: a database that hangs does not even say no."""
        if self._trouble is None and time.monotonic() - self._renewed_s >= LEASE_S:
            return JournalUnavailable(f"{self._name} gives no answer: the lease could not be renewed")
        return self._trouble

    def confirm(self, db: Db) -> int:
        """Over a new connection, from any thread: still the owner? Returns the last sequence written."""
        with self._turn:
            with db.transaction():
                if db.timeline == self._timeline:
                    return hold(db, self._name, self._journal, self.fence)
                # An attempt whose answer was lost has raised the fence already, and still says that it is ours.
                taken = db.execute(
                    "UPDATE leases SET fence = %s WHERE journal = %s AND fence IN (%s, %s) AND holder = %s"
                    " RETURNING last",
                    (self.fence + 1, self._journal, self.fence, self.fence + 1, called()),
                ).fetchone()
                if taken is None:
                    return hold(db, self._name, self._journal, self.fence)
            self.fence, self._timeline = self.fence + 1, db.timeline
            return int(taken[0])

    def _renew(self) -> None:
        with self._line.transaction() as db:
            renewed = db.execute(
                f"UPDATE leases SET {_MINE} WHERE journal = %s AND fence = %s RETURNING backend".encode(),
                (called(), LEASE_S, self._journal, self.fence),
            ).fetchone()
            if renewed is None:
                hold(db, self._name, self._journal, self.fence)
            elif renewed[0] != db.backend:
                raise refused_pooler(self._name)

    def close(self) -> None:
        """Give the lease back."""
        self._ending.set()
        self._thread.join()
        try:
            with self._line.use() as db:
                db.execute(
                    "UPDATE leases SET until = '-infinity', holder = '', backend = 0 WHERE journal = %s AND fence = %s",
                    (self._journal, self.fence),
                )
        except JournalError:
            pass  # it runs out by itself
        self._line.close()
