"""Several journals in one database: a lane each, with an owner, a sequence and a lease of its own.

    lanes: journal (its number, 1 = main), name, settled (see `postgres_claims.py`)

1. What belongs to no journal is shared by all of them: players and their numbers, ratings. While there is one lane
   only, its owner gives out player numbers by itself; from the second on, the table does (`number`).
2. Who owns the only lane must learn that it is not alone any more. So whoever makes the second takes the first one's
   lease away: its owner is replaced, by itself or another, and whoever owns it then knows.
3. Programs that do not know of lanes are kept away from then on.
"""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from evenmatch.domain.ids import LANES_MOST, QUEUE_NAME
from evenmatch.errors import ConfigError, JournalError

from .postgres_line import Db, Line

_LOCK: Final = 0x65766D33  # "evm3": one process makes a lane, or gives out player numbers, at a time
_MAKING, _NUMBERING = 1, 2
"""The lock's second number: what for. Both stand in migrations/0004_numbering.sql too."""
_MIGRATION: Final = 3
"""The one that brought lanes."""


class Lane(NamedTuple):
    """A journal of the database."""

    journal: int
    name: str


def lanes(source: Db | Line) -> list[Lane]:
    """The lanes of a database, by number."""
    if isinstance(source, Line):
        with source.use() as db:
            return lanes(db)
    return [Lane(*row) for row in source.execute("SELECT journal, name FROM lanes ORDER BY journal").fetchall()]


def find_lane(source: Db | Line, place: str, name: str) -> Lane:
    """The lane with this name; a ConfigError says which there are."""
    known = lanes(source)
    for lane in known:
        if lane.name == name:
            return lane
    raise ConfigError(f"{place} has no lane {name!r}: use {', '.join(lane.name for lane in known)}")


def make_lane(line: Line, name: str) -> Lane:
    """The lane with this name, made where there is none; the tables are there already."""
    return make_lanes(line, [name])[0]


def make_lanes(line: Line, names: Sequence[str]) -> list[Lane]:
    """The lanes with these names. What is missing is made at once: nobody sees some of them without the others."""
    for name in names:
        if not QUEUE_NAME.fullmatch(name):
            raise ConfigError(
                f"{name[:80]!r} is no name for a lane: use a to z, 0 to 9, - and _, at most 63, beginning with a "
                "letter or digit"
            )
    with line.transaction() as db:
        db.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_LOCK, _MAKING))
        known = {lane.name: lane for lane in lanes(db)}
        for name in names:
            if name not in known:
                known[name] = _make(db, list(known.values()), name, line.name)
    return [known[name] for name in names]


def _make(db: Db, known: list[Lane], name: str, place: str) -> Lane:
    made = Lane(max(lane.journal for lane in known) + 1, name)
    if made.journal > LANES_MOST:
        raise JournalError(f"{place} has {LANES_MOST} lanes already, and cannot have {name!r} too")
    db.execute("INSERT INTO lanes (journal, name) VALUES (%s, %s)", made)
    db.execute("INSERT INTO leases (journal) VALUES (%s)", (made.journal,))
    if len(known) == 1:
        _end_solitude(db, known[0], name)
    return made


def _end_solitude(db: Db, only: Lane, name: str) -> None:
    db.execute(
        "UPDATE leases SET fence = fence + 1, until = '-infinity', backend = 0, holder = %s WHERE journal = %s",
        (f"whoever made the lane {name}", only.journal),
    )
    wrote = "(SELECT last > 0 FROM leases WHERE leases.journal = lanes.journal)"
    db.execute(f"UPDATE lanes SET settled = false WHERE journal = %s AND {wrote}".encode(), (only.journal,))
    db.execute("UPDATE migrations SET needs = greatest(needs, number) WHERE number = %s", (_MIGRATION,))


def number(line: Line, names: list[str], leaving: Collection[str]) -> dict[str, int]:
    """The numbers of these players; whoever has none gets one, at once, whatever becomes of the commit to come.

    Those of `leaving` lose their numbers with it: the new ones are set aside, and it has to bring their names.
    It need not wait for the disk: a commit that speaks of a number stands behind it in the database's own log.
    """
    if any("\0" in name for name in names):
        raise JournalError("a name with a NUL character cannot be kept")
    anew = [name for name in dict.fromkeys(names) if name in leaving]
    staying = sorted({*names} - {*anew})
    found = dict(line.rows("SELECT name, number FROM numbered(%b::text[])", (staying,))) if staying else {}
    return found | (_aside(line, anew) if anew else {})


def _aside(line: Line, names: list[str]) -> dict[str, int]:
    """New numbers that are set aside, for names that are to come with a commit."""
    last = "greatest((SELECT coalesce(max(number), 0) FROM players), (SELECT coalesce(max(number), 0) FROM erased))"
    with line.transaction() as db:
        db.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_LOCK, _NUMBERING))
        rows = db.execute(
            f"INSERT INTO erased (number, at_ms) SELECT {last} + one, 0 FROM generate_series(1, %s) AS one"
            " RETURNING number".encode(),
            (len(names),),
        ).fetchall()
    return dict(zip(names, (row[0] for row in rows), strict=True))
