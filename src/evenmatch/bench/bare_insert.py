"""The yardstick of a cluster's bench: the rows that the journal got, put into empty tables by batched INSERTs alone.

Rows that stay: `players`, `tickets`, `matches` and `commits`, read back from a database that the bench has filled and
put into tables of the same columns, types and primary keys in a schema of their own. A transaction has the rows of as
many players as a batch of joins: an INSERT a table, of all its rows at once, and the share of the commits' bodies that
these players have; they are sent together (pipeline), and the transaction waits for the disk as the journal's does.
Nothing is decided, nobody is asked, nothing goes to and fro between processes: no inbox, no outcomes, no leases. Rows
are made ready before the time runs.
"""

import threading
import time
from typing import Any, Final, TypeAlias

import psycopg

from .cluster_load import BATCH

_TABLES: Final = {
    "players": ("number", "name"),
    "tickets": ("journal", "ticket", "body"),
    "matches": ("journal", "match", "body"),
}
_TYPES: Final = {"number": "bigint", "ticket": "bigint", "match": "bigint", "journal": "smallint"}
_SCHEMA: Final = "bare"

Batch: TypeAlias = list[tuple[bytes, list[Any]]]
"""Statements with their columns, for one transaction."""


def bare_insert_per_s(db: str, players_most: int, connections: int) -> tuple[float, dict[str, Any]]:
    """Players a second, over so many connections at once; and what was put in."""
    with psycopg.connect(db, autocommit=True) as there:
        there.execute(f"DROP SCHEMA IF EXISTS {_SCHEMA} CASCADE".encode())
        there.execute(f"CREATE SCHEMA {_SCHEMA}".encode())
        for table in (*_TABLES, "commits"):
            there.execute(f"CREATE TABLE {_SCHEMA}.{table} (LIKE evenmatch.{table} INCLUDING ALL)".encode())
        batches, about = _batches(there, players_most)
        there.execute("CHECKPOINT")
        shares = [batches[place::connections] for place in range(connections)]
        lines = [psycopg.connect(db, autocommit=True) for _ in shares]
        try:
            threads = [
                threading.Thread(target=_insert, args=pair, daemon=True) for pair in zip(lines, shares, strict=True)
            ]
            started_s = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            seconds = time.perf_counter() - started_s
        finally:
            for line in lines:
                line.close()
        there.execute(f"DROP SCHEMA {_SCHEMA} CASCADE".encode())
    return about["players"] / seconds, about | {"seconds": round(seconds, 3), "connections": connections}


def _insert(line: "psycopg.Connection[Any]", batches: list[Batch]) -> None:
    line.execute("SET synchronous_commit = on")
    for batch in batches:
        with line.pipeline(), line.transaction():
            for statement, columns in batch:
                line.execute(statement, columns)


def _batches(db: "psycopg.Connection[Any]", players_most: int) -> tuple[list[Batch], dict[str, Any]]:
    rows: dict[str, list[Any]] = {}
    for table, columns in _TABLES.items():
        key = columns[-2] if table != "players" else "number"
        most = players_most // 2 if table == "matches" else players_most
        asked = f"SELECT {', '.join(columns)} FROM evenmatch.{table} ORDER BY {key} LIMIT {most}"
        rows[table] = db.execute(asked.encode()).fetchall()
    players = len(rows["players"]) // BATCH * BATCH
    whole = db.execute("SELECT count(*), sum(length(body)) FROM evenmatch.commits").fetchone()
    counted = db.execute("SELECT count(*) FROM evenmatch.players").fetchone()
    assert whole is not None
    assert counted is not None
    share = int(whole[1]) * BATCH // int(counted[0])
    bodies = b"".join(row[0] for row in db.execute("SELECT body FROM evenmatch.commits").fetchall())
    made: list[Batch] = []
    for number in range(players // BATCH):
        batch: Batch = []
        for table, columns in _TABLES.items():
            first, last = (len(rows[table]) * edge // (players // BATCH) for edge in (number, number + 1))
            if last > first:
                batch.append((_statement(table, columns), _columns(rows[table][first:last])))
        one = f"INSERT INTO {_SCHEMA}.commits (journal, first_sequence, last_sequence, at_ms, schema, fence, crc, body)"
        one += " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
        batch.append(
            (one.encode(), [1, number + 1, number + 1, 0, 1, 1, 0, bodies[number * share : (number + 1) * share]])
        )
        made.append(batch)
    about = {"players": players, "rows": {table: len(found) for table, found in rows.items()} | {"commits": len(made)}}
    return made, about | {"bytes_of_events_per_player": round(share / BATCH, 1)}


def _statement(table: str, columns: tuple[str, ...]) -> bytes:
    arrays = ", ".join(f"%b::{_TYPES.get(column, 'text')}[]" for column in columns)
    return f"INSERT INTO {_SCHEMA}.{table} ({', '.join(columns)}) SELECT * FROM unnest({arrays})".encode()


def _columns(rows: list[Any]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
