"""Who is in an open proposal or running match, over all lanes of a database (I11): one row a player.

    claims: player (primary key), journal

1. The rows of a lane are written in the same transaction as the events that claim and release, so they say at every
   moment what its state says. A player whom another lane has makes the whole commit fail: who writes first has the
   player. Rows go in by number, so that two who want the same players wait for each other and do not lock each other
   out.
2. A lane that was the only one wrote no rows. Until its next owner has (`settle`), no other lane can begin
   (`lanes.settled`).
"""

from typing import Any

import numpy as np
from psycopg import errors

from evenmatch.domain.arrays import Array, numbers
from evenmatch.errors import JournalConflict, JournalDamaged, JournalUnavailable

from .postgres_lease import hold
from .postgres_line import Db, Line
from .postgres_sheaf import HELD, Sheaf
from .protocol import Commit

_SHOWN = 5


def write(sheaf: Sheaf, journal: int, commit: Commit) -> None:
    """Note whom a commit claims and releases; nobody is in both (`core.lanes.moved`)."""
    if commit.released is not None and len(commit.released):
        gone = f"DELETE FROM claims WHERE {HELD} AND journal = %s AND player = ANY(%s::bigint[])"
        sheaf.put("released", gone, (journal, commit.released.tolist()))
    if commit.claimed is not None and len(commit.claimed):
        rows = f"SELECT player, %s FROM unnest(%s::bigint[]) AS given (player) WHERE {HELD} ORDER BY player"
        players = np.sort(commit.claimed).tolist()
        sheaf.put("claimed", f"INSERT INTO claims (player, journal) {rows}", (journal, players))


def is_conflict(error: errors.UniqueViolation) -> bool:
    """Did a commit fail because another lane has a player of it?"""
    return error.diag.table_name == "claims"


def conflict(db: Db, name: str, journal: int, commit: Commit) -> JournalConflict:
    """What to say of it."""
    wanted = numbers([]) if commit.claimed is None else commit.claimed
    many = len(_elsewhere(db, journal, wanted))
    return JournalConflict(
        f"{name}: of {len(wanted)} players whom this commit claims, other lanes have {many or 'had some'}"
    )


def elsewhere(line: Line, journal: int, players: Array) -> Array:
    """Those of these players whom other lanes have."""
    with line.use() as db:
        return _elsewhere(db, journal, players)


def _elsewhere(db: Db, journal: int, players: Array) -> Array:
    had = "SELECT player FROM claims WHERE player = ANY(%s::bigint[]) AND journal <> %s ORDER BY player"
    return numbers([row[0] for row in db.execute(had, (players.tolist(), journal)).fetchall()])


def settle(line: Line, journal: int, fence: int, players: Array) -> None:
    """Let the rows of a lane be these, at the beginning of an ownership."""
    with line.transaction() as db:
        hold(db, line.name, journal, fence)
        silent = "SELECT name FROM lanes WHERE NOT settled AND journal <> %s ORDER BY journal"
        waits: list[Any] = db.execute(silent, (journal,)).fetchall()
        if waits:
            raise JournalUnavailable(
                f"{line.name}: the lane {waits[0][0]} was alone so far, and has not said yet whom its matches have: "
                "it needs an owner first"
            )
        had = _elsewhere(db, journal, players)
        if len(had):
            raise JournalDamaged(
                f"{line.name}: {len(had)} players are in matches of this lane and claimed by others, such as "
                f"{', '.join(map(str, had[:_SHOWN].tolist()))}. Somebody edited the table claims: restore a backup"
            )
        db.execute("DELETE FROM claims WHERE journal = %s AND player <> ALL(%s::bigint[])", (journal, players.tolist()))
        db.execute(
            "INSERT INTO claims (player, journal) SELECT player, %s FROM unnest(%s::bigint[]) AS given (player)"
            " ORDER BY player ON CONFLICT (player) DO NOTHING",
            (journal, players.tolist()),
        )
        db.execute("UPDATE lanes SET settled = true WHERE journal = %s AND NOT settled", (journal,))
