"""Statements that go to the database as one: a transaction by itself, in one message each way.

    WITH moved AS (UPDATE leases ...), lease AS (SELECT ... FROM moved), a AS (INSERT ...), b AS ... SELECT checks

A commit is a handful of small statements. In a pipeline each of them costs driver and server nearly as much as all of
them in one, and an owner makes hundreds of commits a second.

1. All of it sees the tables as they were before, so no statement may build on what another one writes, but by its name.
2. In which order they are carried out is the server's to choose. What must come first is therefore asked for by each of
   the others (`HELD`): nobody touches a row before it is known to own the lease.
3. A check is an expression that fails in the database where something is wrong, and all is undone.
"""

from collections.abc import Sequence
from typing import Any, Final

from .postgres_line import Db

HELD: Final = "(SELECT held FROM lease)"
"""A condition of every statement of a commit: the owner has moved its lease (`postgres_lease.move`)."""


class Sheaf:
    """Statements that were gathered so far."""

    def __init__(self) -> None:
        self._named: list[str] = []
        self._values: list[Any] = []
        self._checks: list[str] = []

    def put(self, name: str, statement: str, values: Sequence[Any] = ()) -> None:
        """Add a statement; others may ask for what it returns by its name."""
        self._named.append(f"{name} AS ({statement})")
        self._values += values

    def check(self, expression: str) -> None:
        """Add an expression that fails where something is wrong."""
        self._checks.append(expression)

    def send(self, db: Db) -> None:
        """Have all of them carried out."""
        db.execute(f"WITH {', '.join(self._named)} SELECT {', '.join(self._checks)}".encode(), self._values)
