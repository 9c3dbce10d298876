"""A real PostgreSQL for the tests, started by them (`bench/postgres.py`).

EVENMATCH_TEST_POSTGRES names a server that runs already instead: the URL of a user who may create databases.
"""

import contextlib
import functools
import itertools
import os
import time
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import psycopg

from evenmatch.bench import postgres
from evenmatch.bench.postgres import Server as Server
from evenmatch.bench.postgres import renamed as renamed

OURS: Final = "EVENMATCH_TEST_POSTGRES"
_PATIENCE_S: Final = 60.0
_numbers = itertools.count(1)


@contextlib.contextmanager
def running(primary: Server | None = None, room_mb: int | None = None) -> Iterator[Server]:
    """A server of one's own, a standby of another, or one with a small disk; gone afterwards."""
    # The machine is not switched off in a test.
    with postgres.running(primary, room_mb, {"fsync": "off", "max_connections": "50"}) as server:
        yield server


@functools.cache
def _shared() -> str:
    given = os.environ.get(OURS, "").strip()
    if given:
        return given
    stack = contextlib.ExitStack()
    server = stack.enter_context(running())
    _at_the_end.push(stack)
    return server.url


_at_the_end = contextlib.ExitStack()


@functools.cache
def kept() -> str:
    """The URL of a database that tests use one after the other, as the last call of `cleared` left it."""
    return _at_the_end.enter_context(database())


def cleared() -> str:
    """The URL of a database that is used again and again, emptied: quicker than a new one."""
    bare(kept(), "SET client_min_messages = warning", "DROP SCHEMA IF EXISTS evenmatch CASCADE")
    return kept()


def close() -> None:
    """End the server that the tests of this process share."""
    _at_the_end.close()
    _shared.cache_clear()
    kept.cache_clear()


def port_of(url: str) -> int:
    """The port that a URL leads to."""
    return urlsplit(url).port or 5432


def at_port(url: str, port: int) -> str:
    """The same URL by way of this machine's own port."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{parts.netloc.rpartition('@')[0]}@127.0.0.1:{port}"))


def as_user(url: str, user: str, password: str) -> str:
    """The same URL for another user."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{user}:{password}@{parts.hostname}:{parts.port or 5432}"))


def bare(url: str, *statements: str) -> list[Any]:
    """Do something to a database behind the journal's back; the rows of the last statement."""
    with psycopg.connect(url, autocommit=True) as db:
        rows: list[Any] = []
        for statement in statements:
            done = db.execute(statement.encode())
            rows = done.fetchall() if done.description else []
        return rows


@contextlib.contextmanager
def database(on: str | None = None) -> Iterator[str]:
    """The URL of a new database, on the shared server or another; gone afterwards."""
    server = _shared() if on is None else on
    with postgres.database(server, f"evenmatch_test_{os.getpid()}_{next(_numbers)}") as url:
        yield url


def both(primary: Server, standby: Server, name: str) -> str:
    """The URL of a database that is on whichever of two servers can be written to."""
    hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
    return f"postgresql://owner:{primary.password}@{hosts}/{name}?target_session_attrs=read-write"


def wait_for_standby(primary: Server) -> None:
    """From now on, a commit on the primary is done when its standby has it."""
    bare(primary.url, "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
    until = time.monotonic() + _PATIENCE_S
    while bare(primary.url, "SELECT sync_state FROM pg_stat_replication") != [("sync",)]:
        assert time.monotonic() < until, "the standby does not follow"
        time.sleep(0.02)


def promote(standby: Server) -> None:
    """Make a standby the primary."""
    assert bare(standby.url, "SELECT pg_promote(true, 60)") == [(True,)]
