"""Rows of PostgreSQL's tables whose bodies are JSON, read back as what they are."""

from evenmatch.domain.queue import QueueSpec

from . import tables
from .openings import Opening
from .outbox import Letter
from .postgres_ledger import decoded
from .postgres_line import Line


def openings(line: Line, journal: int, queue: str) -> list[Opening]:
    """The rules that a queue has had, oldest first."""
    names = ", ".join(tables.VERSIONS.columns)
    found = line.rows(
        f"SELECT {names} FROM queue_versions WHERE journal = %s AND queue = %s ORDER BY version", (journal, queue)
    )
    return [
        Opening(row[0], row[1], row[2], row[3], row[4], decoded(line.name, "a queue's rules", row[5], QueueSpec))
        for row in found
    ]


def letters(line: Line, journal: int, which: str, value: object) -> list[Letter]:
    """Requests for game servers, oldest match first; `which` is a condition with one value."""
    sql = f"SELECT body FROM outbox WHERE journal = %s AND {which} ORDER BY match"
    return [decoded(line.name, "the outbox", body, Letter) for (body,) in line.rows(sql, (journal, value))]
