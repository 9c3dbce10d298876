"""Connections to PostgreSQL: made anew when they break, with errors in our words and no password in any of them.

1. Nothing is waited for without end: a database that was asked and stays silent is given up, its connection ended here,
   whatever the network says of it. `statement_timeout` would not do: a commit that it ends while it waits for a
   synchronous standby is called done.
2. A connection that cannot be made is not tried again at once; whoever asks meanwhile gets the same answer.
3. A server that was left behind when a standby took its place is not used again, though it answers.
"""

import contextlib
import difflib
import logging
import os
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, Final

import psycopg
from psycopg import errors

from evenmatch.errors import JournalDamaged, JournalError, JournalForeign, JournalUnavailable

from .showing import HIDDEN, shown

SILENCE_S: Final = 8.0
"""A database that was asked something and says nothing for so long is given up."""
LONG_S: Final = 600.0
"""The same for work on whole tables: migrations, copies, archives."""
SCHEMA_NAME: Final = "evenmatch"
"""The schema, in PostgreSQL's sense, that our tables are in."""
_PATIENCE: Final[dict[str, Any]] = {
    "connect_timeout": 3,
    "tcp_user_timeout": 8_000,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
}
"""A network that was cut is noticed within eight seconds; what the URL says of these counts instead."""
_ENCODE: Final = (
    "In a password, write @ as %40, / as %2F, ? as %3F, # as %23, & as %26, = as %3D, % as %25 and a space as %20"
)
_UNKNOWN: Final = re.compile(r'query parameter: "([^"]+)"')
"""What libpq says of a parameter that it does not know."""
_AGAIN_S: Final = 0.5
"""A connection that could not be made is tried again after so long."""
_SESSION: Final = (
    f"SET search_path = {SCHEMA_NAME}, pg_catalog;"
    "SET lock_timeout = '5s'; SET idle_in_transaction_session_timeout = '10s'"
)
"""A writer that was stopped in the middle of a transaction does not hold its rows for ever."""
_ABOUT: Final = (
    "SELECT current_setting('synchronous_commit'), current_setting('server_encoding'), current_setting('search_path'),"
    " pg_backend_pid()"
)
_WHERE: Final = (
    "SELECT (SELECT system_identifier FROM pg_control_system()), CASE WHEN pg_is_in_recovery() THEN 0"
    " ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer END"
)
_timelines: dict[tuple[str, int], int] = {}
"""A URL, and the system it leads to -> the highest timeline seen there. A standby that becomes the primary begins a new
one; a server on an older one was left behind."""
logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what it has to say, our errors say


class Db(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is given up when the database stays silent."""

    silence_s: float = SILENCE_S
    timeline: int = 0
    """Which one the server is on; 0 = it is a standby."""
    backend: int = 0
    """The session's process, by the server's own account."""
    doubt: str | None = None
    """What the server warned of: a commit with a warning may not be where it should be."""

    def wait(self, gen: Generator[Any, Any, Any], *given: Any, **more: Any) -> Any:
        """As in psycopg, but not for ever."""
        return super().wait(self._bounded(gen), *given, **more)

    def _bounded(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Hand on what goes to and fro; where nothing does for too long, end the connection."""
        try:
            wanted = next(gen)
            heard_s = time.monotonic()
            while True:
                ready = yield wanted
                now_s = time.monotonic()
                if ready:
                    heard_s = now_s
                elif now_s - heard_s > self.silence_s:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(f"no answer for {self.silence_s:g} s")
                wanted = gen.send(ready)
        except StopIteration as ended:
            return ended.value

    @contextlib.contextmanager
    def patient(self) -> Iterator[None]:
        """Wait longer within, for work on whole tables."""
        before, self.silence_s = self.silence_s, max(self.silence_s, LONG_S)
        try:
            yield
        finally:
            self.silence_s = before

    def noticed(self, notice: psycopg.errors.Diagnostic) -> None:
        """Remember a warning."""
        if notice.severity_nonlocalized == "WARNING":
            self.doubt = notice.message_primary


def called(host: str | None = None, process: str | None = None) -> str:
    """What a process, this one if none is given, is called among the sessions of the database."""
    return f"evenmatch on {host or socket.gethostname()}, process {process or os.getpid()}"


@contextlib.contextmanager
def said_clearly(name: str) -> Iterator[None]:
    """Turn PostgreSQL's errors into ours."""
    try:
        yield
    except psycopg.Error as error:
        raise _ours(name, error) from error


def _ours(name: str, error: psycopg.Error) -> JournalError:
    said = _first_line(error)
    if isinstance(error, errors.InsufficientPrivilege):
        return JournalUnavailable(f"{name}: the user has too few rights ({said}). Let it own the schema {SCHEMA_NAME}")
    if isinstance(error, errors.UndefinedTable):
        return JournalDamaged(
            f"{name} lacks a table ({said}): restore it from a backup. Should it be there after all, a pooler in "
            "between takes away what is set on a connection: let it work by session"
        )
    if isinstance(error, errors.UndefinedColumn | errors.DataCorrupted | errors.IndexCorrupted):
        return JournalDamaged(f"{name} is damaged: {said}. Restore it from a backup; it was left as it is")
    if isinstance(error, errors.DiskFull):
        return JournalUnavailable(f"the disk under {name} is full ({said}); free some space")
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return JournalUnavailable(f"{name} is read only, a standby perhaps ({said}): name the primary")
    if isinstance(error, psycopg.IntegrityError):
        return JournalError(f"{name} does not take what it has already: {said}")
    if isinstance(error, errors.UntranslatableCharacter | errors.CharacterNotInRepertoire):
        return JournalError(f"{name} cannot keep a character: {said}")
    return JournalUnavailable(f"{name} cannot be used: {said}")


def _first_line(error: psycopg.Error) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _without_quotes(said: str, seen: str) -> str:
    """What libpq says of a URL that it cannot read; it quotes pieces of it, of which those in `seen` may be told."""
    return re.sub(r'"(.*)"', lambda quoted: quoted[0] if quoted[1] in seen else f'"{HIDDEN}"', said)


def _unread(name: str, said: str) -> str:
    """What is wrong with a URL that libpq cannot read, by what it says of it."""
    unknown = _UNKNOWN.search(said)
    if unknown is not None and unknown[1] == HIDDEN:
        said = "libpq does not know a parameter; its name may be a piece of a password and is not shown"
    if unknown is None or unknown[1] == HIDDEN:
        return f"{name} is not a URL of PostgreSQL ({said}): use postgresql://user@host:5432/database. {_ENCODE}"
    known = [option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults()]
    near = difflib.get_close_matches(unknown[1], known, 1, 0.75)
    hint = f"did you mean {near[0]}?" if near else "leave it out"
    return f"{name} has a parameter that libpq does not know, {unknown[1]}: {hint}"


def _read_as_shown(url: str) -> bool:
    """Does libpq see the same host, user and so on in a URL as those who read what is shown of it?"""
    try:
        given, seen = (psycopg.conninfo.conninfo_to_dict(each) for each in (url, shown(url)))
    except psycopg.ProgrammingError:
        return False
    return all(given.get(each) == seen.get(each) for each in ("host", "hostaddr", "port", "user", "dbname"))


def connect(url: str, name: str, silence_s: float = SILENCE_S) -> Db:
    """A connection; every statement by itself is a transaction of its own."""
    try:
        given = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        said = _without_quotes(_first_line(error), shown(url))
        raise JournalUnavailable(_unread(name, said)) from None
    if "," in str(given.get("host") or ""):  # of several, the one that can be written to: a standby may lag behind
        given.setdefault("target_session_attrs", "read-write")
    try:
        db = Db.connect(**{**_PATIENCE, "application_name": called(), **given}, client_encoding="UTF8", autocommit=True)
    except psycopg.Error as error:
        said = "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
        if not _read_as_shown(url):  # it may name a piece of the password as the host
            said = f"what PostgreSQL says of it may hold the password and is not shown. {_ENCODE}"
        raise JournalUnavailable(f"{name} cannot be reached: {said}") from None
    db.silence_s = min(silence_s, SILENCE_S)
    try:
        with said_clearly(name):
            _begin(db, url, name)
    except BaseException:
        db.close()
        raise
    db.silence_s = silence_s
    db.add_notice_handler(db.noticed)
    return db


def _begin(db: Db, url: str, name: str) -> None:
    """Set the session up, and see that it is one we can work with."""
    db.execute(_SESSION.encode())
    row = db.execute(_ABOUT).fetchone()
    assert row is not None
    durability, encoding, path, db.backend = row
    if encoding != "UTF8":
        raise JournalForeign(f"{name} has the encoding {encoding}: make a database with ENCODING 'UTF8'")
    if SCHEMA_NAME not in path:
        raise refused_pooler(name)
    if durability in ("off", "local"):  # whoever configured it so for other programs did not mean the journal
        db.execute("SET synchronous_commit = on")
    _refuse_left_behind(db, url, name)


def _refuse_left_behind(db: Db, url: str, name: str) -> None:
    try:
        row = db.execute(_WHERE).fetchone()
    except (errors.FeatureNotSupported, errors.InsufficientPrivilege, errors.UndefinedFunction):
        return  # a service that is not quite PostgreSQL: it has to keep its old primaries away by itself
    assert row is not None
    system, db.timeline = row
    known = _timelines.get((url, system), 0)
    if 0 < db.timeline < known:
        raise JournalUnavailable(
            f"{name} leads to a server that was left behind: it is on timeline {db.timeline}, and a standby went on "
            f"from it to {known}. Stop it, or make it a standby of the other"
        )
    _timelines[url, system] = max(known, db.timeline)


def ahead_s(db: Db) -> float:
    """How far the database's clock is ahead of this machine's."""
    before_s = time.time()
    row = db.execute("SELECT extract(epoch FROM clock_timestamp())").fetchone()
    after_s = time.time()
    return float(row[0]) - (before_s + after_s) / 2 if row else 0.0


def refused_pooler(name: str) -> JournalUnavailable:
    """What is said of a pooler that changes sessions under us."""
    return JournalUnavailable(
        f"{name}: a pooler in between gives every transaction another session. Let it work by session "
        "(pool_mode = session), or name the database itself"
    )


def _hung_up(db: Db) -> bool:
    """Did the server end a connection while nobody used it? It says nothing unasked, unless it hangs up."""
    waiting = select.poll()
    if not db.closed:
        waiting.register(db.fileno(), select.POLLIN)
    if waiting.poll(0):
        with contextlib.suppress(psycopg.Error):
            db.execute("SELECT 1")
    return db.closed  # broken ones are closed too


class Line:
    """A connection that is made anew when it broke. Threads may share it; one uses it at a time."""

    def __init__(
        self, url: str, name: str, begun: Callable[[Db], object] = lambda _: None, silence_s: float = SILENCE_S
    ) -> None:
        """`begun` is called with every new connection but the first."""
        self._url, self.name, self._begun, self._silence_s = url, name, begun, silence_s
        self._failed: tuple[float, str] = 0.0, ""
        """Until when, and why, no connection can be made."""
        self._lock = threading.RLock()
        self.broken = False
        """The last use found the connection broken, or broke it; what it asked for may have been done all the same."""
        self._db: Db | None = connect(url, name, silence_s)

    @contextlib.contextmanager
    def use(self) -> Iterator[Db]:
        """The connection, for one thing."""
        with self._lock:
            self.broken = False
            db = self._open()
            try:
                with said_clearly(self.name):
                    yield db
            finally:
                if db.closed or db.broken:
                    self.broken = True
                    self.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Db]:
        """A transaction, undone on any failure."""
        with self.use() as db, db.transaction():
            yield db

    def rows(self, statement: str, values: tuple[Any, ...] = (), *, binary: bool = False) -> list[Any]:
        """All that a statement finds; `binary` for long bodies, which as text are twice as long."""
        with self.use() as db:
            return db.execute(statement.encode(), values, binary=binary).fetchall()

    def _open(self) -> Db:
        if self._db is not None and _hung_up(self._db):
            self.close()
        if self._db is None:
            until_s, why = self._failed
            if time.monotonic() < until_s:
                raise JournalUnavailable(why)
            try:
                self._db = self._anew()
            except JournalUnavailable as error:
                self._failed = time.monotonic() + _AGAIN_S, str(error)
                raise
        return self._db

    def _anew(self) -> Db:
        db = connect(self._url, self.name, self._silence_s)
        try:
            with said_clearly(self.name):
                self._begun(db)
        except BaseException:
            db.close()
            raise
        return db

    def close(self) -> None:
        """End the connection; the next use makes a new one."""
        with self._lock:
            if self._db is not None:
                with contextlib.suppress(psycopg.Error):
                    self._db.close()
                self._db = None
