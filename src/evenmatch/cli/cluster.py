"""evenmatch cluster: the processes that share a database, the lanes they own, and whether all is well.

It reads what the processes have written down and changes nothing. What a process says of itself (lanes, sockets, how
far it has followed) is up to two seconds old; leases and inboxes are as of now.
"""

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evenmatch.errors import ConfigError
from evenmatch.settings import from_environment
from evenmatch.storage.places import in_database, shown

if TYPE_CHECKING:
    from evenmatch.storage.postgres_nodes import Cluster, LaneRow, NodeRow

_LATE_S: Final = 5.0
"""A request that waits for longer is taken back; a follower that is further behind answers with the past."""
_WIDE: Final = 120
"""Columns of a terminal that all columns of the tables need."""
SERVE: Final = ("all", "api")
OWN: Final = ("all", "worker")


class About(msgspec.Struct, frozen=True):
    """What a node says of itself; another version may leave something out."""

    version: str = ""
    address: str = ""
    owns: list[int] = []
    follows: dict[int, int] = {}
    """Lane -> the sequence it has read."""
    behind_s: dict[int, float] = {}
    sockets: int = 0
    ready: bool = False
    trouble: str = ""
    """What keeps it from being ready, where it is known."""


def status(*, db: str | None = None, json_output: Annotated[bool, Parameter(name="--json")] = False) -> None:
    """Show the processes of a cluster and its lanes; status 1 if something is wrong.

    Parameters
    ----------
    db
        The database: postgresql://user@host/database. Default: EVENMATCH_DB.
    json_output
        Print it as JSON.
    """
    place = from_environment(os.environ).db if db is None else db
    if not in_database(place):
        raise ConfigError(
            f"{place} is a file, which one server has for itself: name the cluster's database with "
            "--db postgresql://user@host/database"
        )
    try:
        from evenmatch.storage.postgres_nodes import read_cluster
    except ImportError as error:
        raise ConfigError(
            f"a cluster needs psycopg, which cannot be loaded ({error}): pip install 'evenmatch[postgres]'"
        ) from error
    found = told(read_cluster(place, shown(place)), shown(place))
    if json_output:
        print(json.dumps(found, indent=1))
    else:
        show(found, Console(highlight=False, width=None if _measured() else _WIDE))
    if not found["healthy"]:
        raise SystemExit(1)


def _measured() -> bool:
    """Is it known how wide the lines may be? Whoever reads a file or a pipe has room."""
    return sys.stdout.isatty() or "COLUMNS" in os.environ


# -- how it stands -----------------------------------------------------------------------------------------------------


def told(cluster: "Cluster", place: str) -> dict[str, Any]:
    """What is shown, in plain values: the verdict in words, nodes and lanes."""
    abouts = {row.node: _about(row) for row in cluster.nodes}
    lanes = [_lane(row, cluster.nodes, abouts) for row in cluster.lanes]
    names = {row.journal: row.name for row in cluster.lanes}
    nodes = [_node(row, abouts[row.node], names) for row in cluster.nodes]
    wrong = _wrong(cluster, nodes, lanes)
    alive = [node for node in nodes if node["alive"]]
    fine = "all lanes have owners, and clients are served"
    if not alive:
        fine = "one server that is alone owns the journal and serves its clients"
    return {
        "database": place,
        "cluster": cluster.name,
        "healthy": not wrong,
        "verdict": "; ".join(wrong) or fine,
        "notes": _notes(nodes),
        "nodes": nodes,
        "lanes": lanes,
    }


def _about(row: "NodeRow") -> About:
    try:
        return msgspec.convert(row.about, About, strict=False)
    except msgspec.ValidationError:
        return About()


def _node(row: "NodeRow", about: About, names: dict[int, str]) -> dict[str, Any]:
    return {
        "name": row.name,
        "role": row.role,
        "version": about.version,
        "address": about.address,
        "up_s": round(row.up_s, 1),
        "seen_s": round(row.seen_s, 1),
        "alive": row.alive,
        "ready": row.alive and about.ready,
        "trouble": about.trouble if row.alive else "",
        "lanes": [names.get(lane, str(lane)) for lane in about.owns] if row.alive else [],
        "sockets": about.sockets if row.alive else 0,
    }


def _lane(row: "LaneRow", nodes: "list[NodeRow]", abouts: dict[str, About]) -> dict[str, Any]:
    owner = next((node.name for node in nodes if node.called == row.owner), row.owner)
    followers = [
        {
            "node": node.name,
            "sequence": about.follows[row.journal],
            "behind": max(0, row.last - about.follows[row.journal]),
            "behind_s": about.behind_s.get(row.journal),
        }
        for node in nodes
        if node.alive and row.journal in (about := abouts[node.node]).follows
    ]
    return {
        "name": row.name,
        "number": row.journal,
        "owner": None if row.free else owner,
        "fence": row.fence,
        "sequence": row.last,
        "lease_left_s": round(row.left_s, 1),
        "inbox": row.inbox,
        "inbox_oldest_s": round(row.inbox_s, 3),
        "followers": followers,
    }


def _wrong(cluster: "Cluster", nodes: list[dict[str, Any]], lanes: list[dict[str, Any]]) -> list[str]:
    """What is wrong, in words."""
    found = [_unowned(row) for row in cluster.lanes if row.free]
    alive = [node for node in nodes if node["alive"]]
    if not any(node["role"] in OWN for node in alive) and (alive or found):
        found.append("nobody owns queues: start a process with --role worker or all")
    if not any(node["role"] in SERVE for node in alive) and (alive or found):
        found.append("nobody serves clients: start a process with --role api or all")
    for node in alive:
        if not node["ready"]:
            found.append(f"{node['name']} is not ready" + (f" ({node['trouble']})" if node["trouble"] else ""))
    seen_s = {node["name"]: node["seen_s"] for node in nodes if not node["alive"]}
    found += [
        f"the owner of lane {lane['name']}, {lane['owner']}, was not seen for {_span(seen_s[lane['owner']])}"
        for lane in lanes
        if lane["owner"] in seen_s
    ]
    for lane in lanes:
        if lane["inbox_oldest_s"] > _LATE_S:
            found.append(f"a request for lane {lane['name']} has waited for {_span(lane['inbox_oldest_s'])}")
        for follower in lane["followers"]:
            if (follower["behind_s"] or 0.0) > _LATE_S:
                late = f"{_span(follower['behind_s'])} behind lane {lane['name']}"
                found.append(f"{follower['node']} is {late}")
    return found


def _unowned(row: "LaneRow") -> str:
    if row.fence < 0:
        return (
            f"lane {row.name} has no lease: somebody has deleted its row in the table leases; restore it from a backup"
        )
    if row.journal > 1 and not row.fence:
        return f"lane {row.name} has never had an owner: start a worker whose queues.toml has queues in it"
    if row.over_s is None:
        return f"lane {row.name} has {'no owner: the last one gave it back' if row.fence else 'never had an owner'}"
    if row.over_s < 0:
        return f"lane {row.name} has no owner: the last one's connection ended"
    return f"lane {row.name} has had no owner for {_span(row.over_s)} or longer"


def _notes(nodes: list[dict[str, Any]]) -> list[str]:
    """What is worth knowing, though nothing is wrong with it."""
    found = [
        f"{node['name']} was not seen for {_span(node['seen_s'])}; it is shown for an hour"
        for node in nodes
        if not node["alive"]
    ]
    versions = sorted({node["version"] for node in nodes if node["alive"]})
    if len(versions) > 1:
        found.append(f"several versions side by side: {', '.join(versions)}")
    return found


# -- for people --------------------------------------------------------------------------------------------------------


def show(found: dict[str, Any], console: Console) -> None:
    """Print tables that can be read without colours; in a narrow terminal they have fewer columns."""
    wide = console.width >= _WIDE
    head = Text.assemble(("cluster ", "bold"), (found["cluster"], "bold"), f" on {found['database']}")
    console.print(head, soft_wrap=True)
    console.print(_table(_NODES, [_node_cells(node) for node in found["nodes"]], wide))
    console.print(_table(_LANES, [_lane_cells(lane) for lane in found["lanes"]], wide))
    style = "green" if found["healthy"] else "bold red"
    console.print(Text(("" if found["healthy"] else "NOT WELL: ") + found["verdict"], style))
    for note in found["notes"]:
        console.print(Text(f"note: {note}"))


_NODES: Final = {
    "node": True,
    "role": True,
    "version": False,
    "address": False,
    "up": True,
    "seen": True,
    "state": True,
    "lanes": True,
    "sockets": True,
}
_LANES: Final = {
    "lane": True,
    "owner": True,
    "fence": True,
    "lease": True,
    "sequence": False,
    "inbox": True,
    "oldest": False,
    "behind": True,
    "furthest": False,
}
"""Heading -> is it shown in a narrow terminal too?"""
_LEFT: Final = ("node", "role", "version", "address", "state", "lanes", "lane", "owner", "furthest")
_CUT: Final = ("node", "address", "lanes", "lane", "owner", "furthest")
"""What may be cut where there is no room."""


def _table(headings: dict[str, bool], rows: list[dict[str, Text | str]], wide: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown_too = [heading for heading, always in headings.items() if wide or always]
    for heading in shown_too:
        justify: Any = "left" if heading in _LEFT else "right"
        if heading in _CUT:
            table.add_column(heading, justify=justify, no_wrap=True, overflow="ellipsis")
        else:
            least = max([len(heading), *(len(row[heading]) for row in rows)])
            table.add_column(heading, justify=justify, no_wrap=True, min_width=least)
    for row in rows:
        table.add_row(*(row[heading] for heading in shown_too))
    return table


def _node_cells(node: dict[str, Any]) -> dict[str, Text | str]:
    state = Text("gone", "red") if not node["alive"] else Text("ready", "green")
    if node["alive"] and not node["ready"]:
        state = Text("not ready", "bold red")
    return {
        "node": node["name"],
        "role": node["role"],
        "version": node["version"] or "-",
        "address": node["address"].removeprefix("http://") or "-",
        "up": _span(node["up_s"]),
        "seen": _span(node["seen_s"]),
        "state": state,
        "lanes": ", ".join(node["lanes"]) or "-",
        "sockets": f"{node['sockets']:,}",
    }


def _lane_cells(lane: dict[str, Any]) -> dict[str, Text | str]:
    furthest = max(lane["followers"], key=lambda one: (one["behind_s"] or 0.0, one["behind"]), default=None)
    return {
        "lane": lane["name"],
        "owner": Text("nobody", "bold red") if lane["owner"] is None else lane["owner"],
        "fence": str(lane["fence"]),
        "lease": _span(lane["lease_left_s"]) if lane["owner"] is not None else "-",
        "sequence": f"{lane['sequence']:,}",
        "inbox": f"{lane['inbox']:,}",
        "oldest": _span(lane["inbox_oldest_s"]) if lane["inbox"] else "-",
        "behind": "-" if furthest is None or furthest["behind_s"] is None else _span(furthest["behind_s"]),
        "furthest": "-" if furthest is None else furthest["node"],
    }


def _span(seconds: float) -> str:
    """A time for people, short enough for a column."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 7_200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.0f} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} d"
