"""The processes of a cluster, as the database knows them: who is there, who owns which lane, and what waits.

By the database's clock only. A node that was not seen for `GONE_S` counts as gone; its lanes are free when its leases
are, which is another matter (`postgres_lease`).
"""

from typing import Any, Final

import msgspec

from evenmatch.errors import JournalUnavailable

from .postgres_line import Line, called
from .postgres_schema import look

GONE_S: Final = 6
_FORGOTTEN_S: Final = 3_600
"""A node that was gone for so long is not shown any more."""


class NodeRow(msgspec.Struct, frozen=True):
    """A process."""

    node: str
    name: str
    role: str
    up_s: float
    seen_s: float
    """How long ago it was seen."""
    about: dict[str, Any]

    @property
    def alive(self) -> bool:
        """Was it seen lately?"""
        return self.seen_s < GONE_S

    @property
    def called(self) -> str:
        """What it is called as the holder of a lease."""
        host, _, process = self.name.rpartition(":")
        return called(host, process)


class LaneRow(msgspec.Struct, frozen=True):
    """A lane, and how it stands."""

    journal: int
    name: str
    owner: str
    """Who holds its lease; empty = nobody."""
    fence: int
    """The number of the last ownership; -1 = somebody has deleted the lease."""
    last: int
    """The last sequence written."""
    free: bool
    """Can its lease be taken now?"""
    left_s: float
    """How long the lease still runs."""
    inbox: int
    """Requests that wait for its owner."""
    inbox_s: float
    """For how long the oldest of them has waited."""
    over_s: float | None = None
    """How long ago the lease of a free lane ran out, below 0 where its owner's session ended first; None = it was given
    back, or never taken."""
    left: bool = False
    """It is free, and whoever had it did not give it back: it died, or was cut off."""


class Cluster(msgspec.Struct, frozen=True):
    """All of it at one moment."""

    name: str
    nodes: list[NodeRow]
    lanes: list[LaneRow]


def announce(line: Line, node: str, name: str, role: str, about: dict[str, Any]) -> None:
    """Say that a node is there, and how it is."""
    with line.transaction() as db:
        db.execute("SET LOCAL synchronous_commit = off")
        db.execute(
            "INSERT INTO nodes (node, name, role, about) VALUES (%s, %s, %s, %s) ON CONFLICT (node)"
            " DO UPDATE SET seen = clock_timestamp(), about = excluded.about",
            (node, name, role, msgspec.json.encode(about).decode()),
        )


def leave(line: Line, node: str) -> None:
    """A node goes on purpose."""
    with line.use() as db:
        db.execute("DELETE FROM nodes WHERE node = %s", (node,))


def nodes(line: Line) -> list[NodeRow]:
    """All that were seen within the hour, the oldest first."""
    rows = line.rows(
        "SELECT node, name, role, extract(epoch FROM clock_timestamp() - started)::float8,"
        " extract(epoch FROM clock_timestamp() - seen)::float8, about FROM nodes"
        " WHERE seen > clock_timestamp() - make_interval(secs => %s) ORDER BY started, node",
        (_FORGOTTEN_S,),
    )
    return [
        NodeRow(node.hex, name, role, up_s, seen_s, _about(about)) for node, name, role, up_s, seen_s, about in rows
    ]


def _about(text: str) -> dict[str, Any]:
    """What a node said of itself; nothing where somebody edited it, for it is not worth stopping others."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}


def lanes(line: Line) -> list[LaneRow]:
    """All lanes."""
    rows = line.rows(
        "SELECT lanes.journal, lanes.name, CASE WHEN free THEN '' ELSE coalesce(holder, '') END, coalesce(fence, -1),"
        " coalesce(last, 0), coalesce(free, true),"
        " CASE WHEN coalesce(free, true) THEN 0 ELSE extract(epoch FROM until - clock_timestamp())::float8 END,"
        " (SELECT count(*) FROM inbox WHERE inbox.journal = lanes.journal),"
        " coalesce((SELECT extract(epoch FROM clock_timestamp() - min(made)) FROM inbox"
        "  WHERE inbox.journal = lanes.journal), 0)::float8,"
        " CASE WHEN free AND isfinite(until) THEN extract(epoch FROM clock_timestamp() - until)::float8 END,"
        " coalesce(free AND holder <> '', false)"
        " FROM lanes LEFT JOIN (SELECT *, until <= clock_timestamp() OR NOT EXISTS (SELECT 1 FROM pg_stat_activity"
        "  WHERE pid = leases.backend AND coalesce(backend_start, leases.since) = leases.since) AS free FROM leases)"
        " AS leases USING (journal) ORDER BY 1"
    )
    return [LaneRow(*row) for row in rows]


def read_cluster(url: str, name: str) -> Cluster:
    """Look at a cluster from outside; nothing is changed, not even tables of an older version."""
    line = Line(url, name)
    try:
        with line.use() as db:
            db.execute("SET default_transaction_read_only = on")
            if db.execute("SELECT pg_is_in_recovery()").fetchone() == (True,):  # it does not know who is connected
                raise JournalUnavailable(f"{name} is a standby, which cannot tell who owns what: name the primary")
            look(db, name)
            found = db.execute("SELECT name FROM cluster").fetchone()
        return Cluster("" if found is None else str(found[0]), nodes(line), lanes(line))
    finally:
        line.close()
