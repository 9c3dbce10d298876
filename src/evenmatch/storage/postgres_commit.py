"""What one commit writes into PostgreSQL's tables, in its transaction and after the lease has moved."""

import zlib

import msgspec

from evenmatch.errors import JournalError

from . import postgres_claims, postgres_ledger, tables
from . import postgres_rows as rows
from .codec import SCHEMA, encode_events
from .erasing import Erasure
from .ledger import Entries
from .postgres_line import Db
from .protocol import Commit

_encode = msgspec.json.Encoder().encode


def write(db: Db, journal: int, fence: int, commit: Commit) -> None:
    """Write the rows of a commit."""
    body = encode_events(commit.events)
    if commit.events:
        row = commit.first_sequence, commit.last_sequence, commit.at_ms, SCHEMA, fence
        rows.write(db, journal, tables.COMMITS, [(*row, zlib.crc32(body), body)], replace=False)
    postgres_claims.write(db, journal, commit)
    _erase(db, journal, commit.erasures, commit.at_ms)
    rows.write(db, journal, tables.PLAYERS, commit.names, replace=False)
    for table, records in (
        (tables.ATTRIBUTES, commit.attributes),
        (tables.TICKETS, commit.tickets),
        (tables.MATCHES, commit.matches),
        (tables.AUDIT, commit.actions()),
    ):
        rows.write(db, journal, table, [(number, _encode(record).decode()) for number, record in records])
    if commit.entries is not None:
        postgres_ledger.write(db, journal, commit.entries)
    given = commit.openings()
    versions = [(o.queue, o.version, o.sequence, o.at_ms, o.source, _encode(o.spec).decode()) for o in given]
    rows.write(db, journal, tables.VERSIONS, versions)
    letters = [(letter.match, letter.status, _encode(letter).decode()) for letter in commit.letters]
    rows.write(db, journal, tables.OUTBOX, letters)


def refuse_nul(commit: Commit) -> None:
    """PostgreSQL's texts have no NUL."""
    if any("\0" in name for _, name in commit.names):
        raise JournalError("a name with a NUL character cannot be kept")


def is_small(commit: Commit) -> bool:
    """Does no table get so many rows that they go by COPY?"""
    entries = commit.entries or Entries()
    players = sum(len(result.player) for result in entries.results)
    most = max(len(commit.names), len(commit.attributes), len(commit.tickets), len(commit.matches), len(commit.events))
    most = max(
        most,
        len(commit.outcomes),
        len(commit.letters),
        len(commit.erasures),
        len(entries.ratings),
        len(entries.results),
        players,
    )
    return most < rows.COPIED_FROM


def _erase(db: Db, journal: int, erasures: list[Erasure], at_ms: int) -> None:
    """Take names and attributes out, in a commit's transaction; PostgreSQL overwrites what is deleted in its time."""
    if not erasures:
        return
    numbers = [row.number for row in erasures]
    gone = [ticket for row in erasures for ticket in row.tickets]
    db.execute("DELETE FROM players WHERE number = ANY(%s::bigint[])", (numbers,))
    rows.write(db, journal, tables.ERASED, [(number, at_ms) for number in numbers])
    db.execute("DELETE FROM attributes WHERE journal = %s AND ticket = ANY(%s::bigint[])", (journal, gone))
