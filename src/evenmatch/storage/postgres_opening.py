"""Opening the journal of a lane by its name."""

from .places import MAIN
from .postgres import PostgresJournal
from .postgres_lanes import find_lane
from .postgres_line import Line
from .postgres_schema import look, prepare


def open_lane(url: str, name: str, lane: str, *, cluster: str, read_only: bool, own: bool) -> PostgresJournal:
    """Open the journal of a lane; the main one is there always, others must have been made."""
    if lane == MAIN:
        return PostgresJournal(url, name, cluster=cluster, read_only=read_only, own=own)
    line = Line(url, name)
    try:
        with line.use() as db:
            if own and not read_only:
                with db.patient():
                    prepare(db, name, cluster)
            else:
                look(db, name)
            found = find_lane(db, name, lane)
    finally:
        line.close()
    called = f"{name} (lane {lane})"
    return PostgresJournal(url, called, cluster=cluster, journal=found.journal, read_only=read_only, own=own)
