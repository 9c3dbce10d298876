"""Rows into PostgreSQL's tables, many at once.

Few rows go in by one statement, which replaces what is there; their columns are sent in binary, for as text each value
is escaped, which takes ten times as long. Many go in by COPY, seven times as fast, which replaces
nothing: it stands behind a savepoint, and where a row is there already the slower way is gone after all. Rows of a
journal are new almost always.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from psycopg import errors

from .postgres_line import Db
from .postgres_sheaf import HELD, Sheaf
from .tables import Table

COPIED_FROM: Final = 200
"""So many rows go in by COPY."""


def write(db: Db, journal: int, table: Table, rows: Sequence[Sequence[Any]], *, replace: bool = True) -> None:
    """Put rows into a table, in a transaction; of one key the last counts. `replace=False`: new ones only."""
    if not rows:
        return
    if len(rows) >= COPIED_FROM:
        try:
            with db.transaction():
                copy(db, journal, table, rows)
            return
        except errors.UniqueViolation:
            if not replace:
                raise
    statement, values = _insertion(journal, table, rows, replace)
    db.execute(statement.encode(), values)


def copy(db: Db, journal: int, table: Table, rows: Iterable[Sequence[Any]]) -> None:
    """Put new rows into a table by COPY."""
    names = [*([] if table.shared else ["journal"]), *table.columns]
    types = [*([] if table.shared else ["smallint"]), *table.columns.values()]
    own = () if table.shared else (journal,)
    statement = f"COPY {table.name} ({', '.join(names)}) FROM STDIN (FORMAT BINARY)"
    with db.cursor() as cursor, cursor.copy(statement.encode()) as target:
        target.set_types(types)
        for row in rows:
            target.write_row((*own, *row))


def put(sheaf: Sheaf, journal: int, table: Table, rows: Sequence[Sequence[Any]], *, replace: bool = True) -> None:
    """The same for a few rows, in a commit's sheaf."""
    if rows:
        sheaf.put(f"in_{table.name}", *_insertion(journal, table, rows, replace, f" WHERE {HELD}"))


def _insertion(
    journal: int, table: Table, rows: Sequence[Sequence[Any]], replace: bool, where: str = ""
) -> tuple[str, list[list[Any]]]:
    """A statement that puts rows into a table, and its values, a list a column."""
    places = [list(table.columns).index(name) for name in table.key]
    if replace:
        rows = list({tuple(row[place] for place in places): row for row in rows}.values())
    names = ", ".join(table.columns)
    arrays = ", ".join(f"%b::{kind}[]" for kind in table.columns.values())
    own, key = ("", ", ".join(table.key)) if table.shared else ("journal, ", ", ".join(("journal", *table.key)))
    statement = f"INSERT INTO {table.name} ({own}{names}) SELECT {journal if own else ''}{', ' if own else ''}{names}"
    statement += f" FROM unnest({arrays}) AS given ({names}){where}"
    if replace:
        rest = ", ".join(f"{name} = excluded.{name}" for name in table.columns if name not in table.key)
        statement += f" ON CONFLICT ({key}) DO UPDATE SET {rest}"
    return statement, [list(column) for column in zip(*rows, strict=True)]
