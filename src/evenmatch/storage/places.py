"""Where a journal is: the one place that chooses between the stores, by what `--db` says.

evenmatch.db, /var/lib/...           a file: SQLite
postgresql://user@host:5432/name     a database: PostgreSQL, with the extra evenmatch[postgres]
"""

from pathlib import Path
from typing import Final

from evenmatch.errors import ConfigError

from .protocol import Store
from .showing import SCHEME, is_words, shown
from .sqlite import SqliteJournal

__all__ = ["CLUSTER", "MAIN", "folder_of", "in_database", "lanes_at", "open_store", "shown"]

CLUSTER: Final = "evenmatch"
"""Whose database it is, where nothing else is said."""
MAIN: Final = "main"
"""The lane that every journal has."""
_POSTGRES: Final = ("postgresql", "postgres")


def in_database(place: str) -> bool:
    """Is a journal's place a database? A ConfigError where it is neither that nor a file."""
    scheme = SCHEME.match(place)
    if scheme is None and not is_words(place):
        return False
    if scheme is None or scheme[1] not in _POSTGRES or not place.startswith(f"{scheme[1]}://"):
        raise ConfigError(
            f"{shown(place)} is not a place for a journal: use a file, or postgresql://user@host:5432/database"
        )
    return True


def folder_of(place: str) -> Path:
    """Where a server keeps what lies beside its journal, keys and backups: with a database, where it was started."""
    return Path() if in_database(place) else Path(place).parent


def lanes_at(place: str) -> list[str]:
    """The lanes of the journal at a place, by name; a file has one."""
    if not in_database(place):
        return [MAIN]
    from .postgres_lanes import lanes
    from .postgres_line import Line

    line = Line(place, shown(place))
    try:
        return [lane.name for lane in lanes(line)]
    finally:
        line.close()


def open_store(
    place: str, *, cluster: str = CLUSTER, lane: str = MAIN, read_only: bool = False, own: bool = True
) -> Store:
    """Open the journal at a place; `read_only` to look at it, `own=False` to work on it beside its owner.

    `lane`: which of the journals that a database may hold.
    """
    if not in_database(place):
        if lane != MAIN:
            raise ConfigError(f"{place} is a file, which has no lanes, and so no lane {lane!r}: leave it out")
        return SqliteJournal(Path(place), read_only=read_only, own=own)
    try:
        from .postgres_opening import open_lane
    except ImportError as error:
        raise ConfigError(
            f"a journal in PostgreSQL needs psycopg, which cannot be loaded ({error}): "
            "pip install 'evenmatch[postgres]'"
        ) from error
    return open_lane(place, shown(place), lane, cluster=cluster, read_only=read_only, own=own)
