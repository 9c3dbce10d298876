"""Checkpoints in PostgreSQL: small ones in one row, large ones in pieces, each a transaction of its own.

As in `pieces.py`: a large checkpoint counts from the moment when its row, with an empty body, is entered; until then
commits go on between its pieces. Pieces that a crash left without a row do not count and are dropped by the next one.
"""

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from evenmatch.errors import JournalDamaged

from . import postgres_rows as rows
from . import tables
from .codec import SCHEMA
from .memory import CHECKPOINTS_KEPT
from .postgres_lease import hold
from .postgres_line import Db, Line
from .protocol import Checkpoint

_LOCK: Final = 0x65766D32  # "evm2"


def alone(db: Db, journal: int) -> None:
    """Until this transaction ends, nobody else enters checkpoints or takes away what they stand on.

    To be asked for before the lease, for commits wait behind whoever holds that.
    """
    db.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_LOCK, journal))


def enter(db: Db, journal: int, checkpoint: Checkpoint, crc: int, last: int) -> None:
    """Enter a checkpoint's row; older ones that nothing needs are dropped. `last`: the last sequence written."""
    row = checkpoint.sequence, checkpoint.hash, SCHEMA, crc, checkpoint.body
    rows.write(db, journal, tables.CHECKPOINTS, [row])
    db.execute(
        "DELETE FROM checkpoints WHERE journal = %s AND sequence <> -1 +"
        " coalesce((SELECT min(first_sequence) FROM commits WHERE journal = %s), %s) AND sequence NOT IN"
        " (SELECT sequence FROM checkpoints WHERE journal = %s ORDER BY sequence DESC LIMIT %s)",
        (journal, journal, last + 1, journal, CHECKPOINTS_KEPT),
    )


def write_pieces(line: Line, journal: int, fence: int, checkpoint: Checkpoint, bodies: Iterable[bytes]) -> None:
    """Write a large checkpoint. Nothing is done where there is one of that sequence: one sequence, one state."""
    _drop_orphans(line, journal, fence)
    with line.transaction() as db:
        hold(db, line.name, journal, fence)
        known = "SELECT 1 FROM checkpoints WHERE journal = %s AND sequence = %s"
        if db.execute(known, (journal, checkpoint.sequence)).fetchone():
            return
    crc = 0
    for number, body in enumerate(bodies):
        crc = zlib.crc32(body, crc)
        with line.transaction() as db:
            db.execute("SET LOCAL synchronous_commit = off")  # a piece need not be durable before its checkpoint is
            hold(db, line.name, journal, fence)
            rows.write(db, journal, tables.PIECES, [(checkpoint.sequence, number, body)], replace=False)
    with line.transaction() as db:
        alone(db, journal)
        last = hold(db, line.name, journal, fence)
        enter(db, journal, checkpoint, crc, last)
    _drop_orphans(line, journal, fence)


def _drop_orphans(line: Line, journal: int, fence: int) -> None:
    with line.transaction() as db:
        hold(db, line.name, journal, fence)
        db.execute(
            "DELETE FROM checkpoint_pieces AS piece WHERE journal = %s AND NOT EXISTS"
            " (SELECT 1 FROM checkpoints WHERE journal = piece.journal AND sequence = piece.sequence)",
            (journal,),
        )


def read_checkpoints(line: Line, journal: int, order: str) -> Iterator[Checkpoint]:
    """The saved states in an order, such as ASC; each is read when it is asked for."""
    for (sequence,) in line.rows(f"SELECT sequence FROM checkpoints WHERE journal = %s ORDER BY 1 {order}", (journal,)):
        values = journal, sequence
        with line.transaction() as db:
            db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            saved = "SELECT hash, crc, body FROM checkpoints WHERE journal = %s AND sequence = %s"
            found = db.execute(saved, values).fetchone()
            if found is None:  # dropped since
                continue
            digest, crc, body = found
            if body == b"":
                pieces = "SELECT body FROM checkpoint_pieces WHERE journal = %s AND sequence = %s ORDER BY piece"
                body = b"".join(piece for (piece,) in db.execute(pieces, values).fetchall())
        if zlib.crc32(body) != crc:
            raise JournalDamaged(f"{line.name}: the checkpoint at {sequence} is not what was written (checksum)")
        yield Checkpoint(sequence, digest, body)
