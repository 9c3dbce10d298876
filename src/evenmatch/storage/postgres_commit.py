"""What one commit writes into PostgreSQL's tables, after the lease has moved.

Most commits are a few rows, and one statement (`postgres_sheaf.py`). One with many rows, which go by COPY, with ratings
or with players that are erased is a transaction of several, of which that statement is the first.
"""

import zlib
from typing import Any

import msgspec

from evenmatch.errors import JournalError

from . import postgres_claims, postgres_inbox, postgres_ledger, tables
from . import postgres_rows as rows
from .codec import SCHEMA, encode_events
from .erasing import Erasure
from .ledger import Entries
from .postgres_lease import move
from .postgres_line import Db
from .postgres_sheaf import Sheaf
from .protocol import Commit
from .tables import Table

_encode = msgspec.json.Encoder().encode


def write(db: Db, journal: int, fence: int, commit: Commit) -> None:
    """Write a commit: mostly by one statement, else in the transaction that goes on."""
    sheaf = Sheaf()
    move(sheaf, journal, fence, commit.first_sequence - 1, commit.last_sequence)
    if commit.events:
        body = encode_events(commit.events)
        row = commit.first_sequence, commit.last_sequence, commit.at_ms, SCHEMA, fence, zlib.crc32(body), body
        rows.put(sheaf, journal, tables.COMMITS, [row], replace=False)
    postgres_claims.write(sheaf, journal, commit)
    postgres_inbox.settle(sheaf, journal, commit.last_sequence, commit.outcomes)
    beside = _beside(commit)
    if is_plain(commit):
        for table, found, replace in beside:
            rows.put(sheaf, journal, table, found, replace=replace)
        sheaf.send(db)
        return
    sheaf.send(db)
    _erase(db, journal, commit.erasures, commit.at_ms)
    for table, found, replace in beside:
        rows.write(db, journal, table, found, replace=replace)
    if commit.entries is not None:
        postgres_ledger.write(db, journal, commit.entries)


def _beside(commit: Commit) -> list[tuple[Table, list[Any], bool]]:
    """The rows of the side tables: the table, its rows, and whether they replace others."""
    found: list[tuple[Table, list[Any], bool]] = [(tables.PLAYERS, commit.names, False)]
    for table, records in (
        (tables.ATTRIBUTES, commit.attributes),
        (tables.TICKETS, commit.tickets),
        (tables.MATCHES, commit.matches),
        (tables.AUDIT, commit.actions()),
    ):
        found.append((table, [(number, _encode(record).decode()) for number, record in records], True))
    versions = [
        (o.queue, o.version, o.sequence, o.at_ms, o.source, _encode(o.spec).decode()) for o in commit.openings()
    ]
    letters = [(letter.match, letter.status, _encode(letter).decode()) for letter in commit.letters]
    return [*found, (tables.VERSIONS, versions, True), (tables.OUTBOX, letters, True)]


def refuse_nul(commit: Commit) -> None:
    """PostgreSQL's texts have no NUL."""
    if any("\0" in name for _, name in commit.names):
        raise JournalError("a name with a NUL character cannot be kept")


def is_plain(commit: Commit) -> bool:
    """Can it be one statement?"""
    return is_small(commit) and commit.entries is None and not commit.erasures


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
