"""A whole journal from one store into another, as of one moment, and proved row by row.

The source is read in one transaction, so its server may go on writing. The copy is written in one transaction, so it is
whole or not there. Then its tables are read again and held against what was read from the source: the same rows, table
by table, to the last bit. What the rows mean is not asked here; `recovery` proves the state hash.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from evenmatch.errors import JournalDamaged

from .protocol import Store
from .tables import TABLES

_encode = msgspec.msgpack.Encoder().encode


class Copied(msgspec.Struct, frozen=True):
    """What was copied."""

    last: int
    """The last sequence in it."""
    rows: dict[str, int]
    """Table -> how many."""


class _Digest:
    """Counts and digests rows as they go by."""

    def __init__(self) -> None:
        self.rows = 0
        self._sum = hashlib.sha256()

    def passing(self, rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        for row in rows:
            self.rows += 1
            self._sum.update(_encode(row))
            yield row

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Digest) and (self.rows, self._sum.digest()) == (other.rows, other._sum.digest())

    __hash__ = None  # type: ignore[assignment]


def copy(source: Store, target: Store) -> Copied:
    """Copy everything into a journal that is new; its owner calls."""
    sent = {table.name: _Digest() for table in TABLES}
    with source.snapshot() as there:
        target.fill(there.last, lambda table: sent[table.name].passing(there.rows(table)))
        last = there.last
    with target.snapshot() as here:
        for table in TABLES:
            found = _Digest()
            for _ in found.passing(here.rows(table)):
                pass
            if found != sent[table.name]:
                raise JournalDamaged(f"{target.name}: the table {table.name} is not what {source.name} has")
    return Copied(last, {name: digest.rows for name, digest in sent.items()})
