"""All of a journal in PostgreSQL: streamed as of one moment, moved to an archive, copied, or filled as a copy."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from evenmatch.errors import JournalError

from . import archives
from . import postgres_rows as postgres
from .erasing import Traces
from .memory import CHECKPOINTS_KEPT
from .postgres_checkpoints import alone
from .postgres_ledger import decoded
from .postgres_line import LONG_S, SCHEMA_NAME, Db, Line
from .protocol import Whole
from .pruning import Pruned, prune
from .sqlite import SqliteJournal
from .tables import COMMITS, TABLES, Table

_AT_ONCE: Final = 100
"""Rows that are fetched together: a large wave's row has megabytes."""


@contextlib.contextmanager
def moment(url: str, name: str, silence_s: float = LONG_S) -> Iterator[Db]:
    """A connection of its own that reads as of one moment, however long that takes."""
    line = Line(url, name, silence_s=silence_s)
    try:
        with line.transaction() as db:
            db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            db.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            yield db
    finally:
        line.close()


def streamed(db: Db, sql: str, values: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """What a statement finds, a few rows at a time."""
    with db.cursor("rows") as cursor:
        cursor.itersize = _AT_ONCE
        cursor.execute(sql.encode(), values)
        yield from cursor


@contextlib.contextmanager
def snapshot(url: str, name: str, journal: int) -> Iterator[Whole]:
    """All tables as of one moment."""
    with moment(url, name) as db:
        row = db.execute("SELECT last FROM leases WHERE journal = %s", (journal,)).fetchone()
        assert row is not None
        yield Whole(row[0], lambda table: _rows(db, table, journal))


def _rows(db: Db, table: Table, journal: int) -> Iterator[tuple[Any, ...]]:
    sql = f"SELECT {', '.join(table.columns)} FROM {table.name}"
    sql += "" if table.shared else " WHERE journal = %s"
    return streamed(db, f"{sql} ORDER BY {', '.join(table.key)}", () if table.shared else (journal,))


def fill(db: Db, name: str, journal: int, last: int, rows: Callable[[Table], Iterator[tuple[Any, ...]]]) -> None:
    """Put the rows of all tables into an empty journal by COPY, in its owner's transaction."""
    db.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    for table in TABLES:
        if db.execute(f"SELECT 1 FROM {table.name} LIMIT 1".encode()).fetchone():
            raise JournalError(f"{name} has a journal already: name an empty database, nothing is overwritten")
        postgres.copy(db, journal, table, rows(table))
    db.execute("UPDATE leases SET last = %s WHERE journal = %s", (last, journal))


def size(line: Line) -> int:
    """About how many bytes our tables take up."""
    kinds = "relnamespace = to_regnamespace(%s) AND relkind = 'r'"
    found = line.rows(
        f"SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class WHERE {kinds}", (SCHEMA_NAME,)
    )
    return int(found[0][0])


def traces(url: str, name: str, journal: int, player: int) -> Traces:
    """The finished tickets and matches that a player is in: whole tables are read."""
    found: list[list[int]] = []
    with moment(url, name) as db:
        for table, key, where in (("tickets", "ticket", "players"), ("matches", "match", "teams")):
            sql = f"SELECT {key}, body FROM {table} WHERE journal = %s AND strpos(body, %s) > 0 ORDER BY {key}"
            named = streamed(db, sql, (journal, f'"player":{player}'))
            bodies = ((number, decoded(name, "a record", body, dict[str, Any])) for number, body in named)
            found.append([number for number, body in bodies if player in _players(body[where])])
    return Traces(*found)


def _players(value: Any) -> set[int]:
    """The player numbers in a record's players or teams."""
    if isinstance(value, dict):
        return {value["player"]} if "player" in value else _players(value.get("players", []))
    return {player for inner in value for player in _players(inner)} if isinstance(value, list) else set()


class Origin:
    """A journal that commits are moved out of."""

    def __init__(self, url: str, line: Line, journal: int, oldest: Callable[[], int]) -> None:
        self.url, self.line, self.name, self.journal, self._oldest = url, line, line.name, journal, oldest

    @property
    def oldest(self) -> int:
        """The first sequence that is still kept."""
        return self._oldest()

    def ends(self, start: int, begun: int, upto: int) -> list[archives.Ends]:
        """The commits that begin at one sequence or later and at another or before, and end in time."""
        return self.line.rows(
            "SELECT first_sequence, last_sequence, crc FROM commits WHERE journal = %s"
            " AND first_sequence BETWEEN %s AND %s AND last_sequence <= %s ORDER BY 1",
            (self.journal, start, begun, upto),
        )

    def raw(self, after: int, upto: int) -> Iterator[tuple[Any, ...]]:
        """Commits as they stand in the table, those beyond a sequence and up to one."""
        names = ", ".join(COMMITS.columns)
        sql = (
            f"SELECT {names} FROM commits WHERE journal = %s AND first_sequence > %s AND last_sequence <= %s ORDER BY 1"
        )
        with moment(self.url, self.name) as db:
            yield from streamed(db, sql, (self.journal, after, upto))


def archive(origin: Origin, target: Path) -> int:
    """Move the commits that the kept checkpoints have behind them into a file; returns how many events went."""
    line, journal = origin.line, origin.journal
    newest = "SELECT sequence FROM checkpoints WHERE journal = %s ORDER BY 1 DESC LIMIT %s"
    while True:
        kept = [row[0] for row in line.rows(newest, (journal, CHECKPOINTS_KEPT))]
        if not kept:
            return 0
        with SqliteJournal(target) as other:
            archives.keep(origin, other, min(kept))
        gone = _drop_commits(line, journal, min(kept))
        if gone is not None:
            return gone


def _drop_commits(line: Line, journal: int, base: int) -> int | None:
    """Drop the commits up to a checkpoint, how many events they had; None where the owner has dropped the checkpoint.

    The lease is not held: commits go on meanwhile, and nobody writes so far back.
    """
    with line.transaction() as db, db.patient():
        alone(db, journal)
        known = "SELECT 1 FROM checkpoints WHERE journal = %s AND sequence = %s"
        if not db.execute(known, (journal, base)).fetchone():
            return None
        gone = db.execute(
            "WITH gone AS (DELETE FROM commits WHERE journal = %s AND last_sequence <= %s"
            " RETURNING last_sequence - first_sequence + 1 AS events) SELECT coalesce(sum(events), 0) FROM gone",
            (journal, base),
        ).fetchone()
        db.execute("DELETE FROM checkpoints WHERE journal = %s AND sequence < %s", (journal, base))
    return int(gone[0]) if gone else 0


def prune_rows(line: Line, journal: int, before_ms: int) -> Pruned:
    """Drop the records of finished tickets and matches from before a moment."""

    def page(table: str, key: str, after: int, most: int) -> list[tuple[int, str]]:
        sql = f"SELECT {key}, body FROM {table} WHERE journal = %s AND {key} > %s ORDER BY {key} LIMIT %s"
        return line.rows(sql, (journal, after, most))

    def drop(table: str, numbers: list[int]) -> None:
        which = "journal = %s AND {} = ANY(%s::bigint[])"
        with line.transaction() as db:
            key = "ticket" if table == "tickets" else "match"
            db.execute(f"DELETE FROM {table} WHERE {which.format(key)}".encode(), (journal, numbers))
            if table == "tickets":
                db.execute(f"DELETE FROM attributes WHERE {which.format('ticket')}".encode(), (journal, numbers))
            else:
                done = f"DELETE FROM outbox WHERE {which.format('match')} AND status IN ('done', 'dropped')"
                db.execute(done.encode(), (journal, numbers))

    return prune(line.name, before_ms, page, drop)
