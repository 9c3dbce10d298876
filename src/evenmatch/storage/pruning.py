"""Old records taken out of the read tables, for good: finished tickets and matches from before a moment.

Events, checkpoints, results and ratings stay: replay, the state hash and leaderboards are as before. What goes with a
ticket's record is its attributes; with a match's, the request for its game server, where that is done with. Numbers are
given out in order of time, so the old ones stand first. They go in small transactions, between which the owner commits.
"""

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import msgspec

from evenmatch.errors import JournalDamaged

_AT_ONCE: Final = 1_000
_KEYS: Final = {"tickets": "ticket", "matches": "match"}


class Pruned(msgspec.Struct, frozen=True):
    """How many records went."""

    tickets: int
    matches: int


class _Age(msgspec.Struct):
    """When a record begins: a ticket joined, a match was made."""

    joined_ms: int | None = None
    made_ms: int | None = None


def prune(
    name: str,
    before_ms: int,
    page: Callable[[str, str, int, int], list[tuple[int, str]]],
    drop: Callable[[str, list[int]], None],
) -> Pruned:
    """Drop what is older.

    `page` gives numbers and bodies of a table by its key: those after a number, so many. `drop` takes some of them out.
    """
    gone = {}
    for table, key in _KEYS.items():
        after, count = 0, 0
        while found := page(table, key, after, _AT_ONCE):
            after = found[-1][0]
            old = [number for number, body in found if _begun_ms(name, table, number, body) < before_ms]
            if old:
                drop(table, old)
            count += len(old)
            if len(old) < len(found):
                break
        gone[table] = count
    return Pruned(**gone)


def _begun_ms(name: str, table: str, number: int, body: str) -> int:
    try:
        age = msgspec.json.decode(body, type=_Age)
    except (msgspec.DecodeError, TypeError) as error:
        raise JournalDamaged(f"{name} is damaged: record {number} of {table} cannot be read ({error})") from error
    begun = age.joined_ms if table == "tickets" else age.made_ms
    if begun is None:
        raise JournalDamaged(f"{name} is damaged: record {number} of {table} does not say when it began")
    return begun


def prune_file(
    db: sqlite3.Connection,
    path: Path,
    transaction: Callable[[], AbstractContextManager[sqlite3.Connection]],
    before_ms: int,
) -> Pruned:
    """Drop old records of a journal in a file."""

    def page(table: str, key: str, after: int, most: int) -> list[tuple[int, str]]:
        sql = f"SELECT {key}, body FROM {table} WHERE {key} > ? ORDER BY {key} LIMIT ?"
        return db.execute(sql, (after, most)).fetchall()

    def drop(table: str, numbers: list[int]) -> None:
        each = [(number,) for number in numbers]
        with transaction() as inside:
            inside.executemany(f"DELETE FROM {table} WHERE {_KEYS[table]} = ?", each)
            if table == "tickets":
                inside.executemany("DELETE FROM attributes WHERE ticket = ?", each)
            else:
                inside.executemany("DELETE FROM outbox WHERE match = ? AND status IN ('done', 'dropped')", each)

    return prune(str(path), before_ms, page, drop)
