"""The parts of a cluster's process, put together: what `wiring` is to a server that is alone."""

import contextlib
from collections.abc import Callable, Mapping

import structlog

from evenmatch.domain.lanes import MAIN
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.shards import Split
from evenmatch.errors import ConfigError
from evenmatch.service.app import App
from evenmatch.service.chronicle import Chronicle
from evenmatch.service.follower import Follower
from evenmatch.service.forwarding import Forwarder
from evenmatch.service.log_lines import Lines
from evenmatch.service.node import Node
from evenmatch.service.node_app import NodeApp
from evenmatch.service.tenure import Tenure
from evenmatch.settings import Settings
from evenmatch.storage import postgres_lanes
from evenmatch.storage.places import in_database, shown
from evenmatch.storage.postgres import PostgresJournal
from evenmatch.storage.postgres_line import Line
from evenmatch.storage.postgres_nodes import LaneRow
from evenmatch.storage.postgres_schema import prepare
from evenmatch.storage.postgres_shards import declare

log = structlog.get_logger("evenmatch.node")


def make_node(
    settings: Settings,
    specs: tuple[QueueSpec, ...],
    lanes: Mapping[str, str],
    splits: Mapping[str, Split],
    lines: Lines,
    version: str,
) -> tuple[Node, NodeApp]:
    """A process of a cluster, by its settings' role; tables and lanes are made or brought up to date first.

    `lanes`: queue -> its lane, for those that are not in main; `splits`: queue -> how it is split.
    """
    if not in_database(settings.db):
        raise ConfigError(
            f"--role {settings.role} is for several processes on one database: name it with --db postgresql://..., "
            "or leave --role out"
        )
    place = settings.db, shown(settings.db)
    with contextlib.closing(Line(*place)) as line:
        with line.use() as db, db.patient():
            prepare(db, place[1], settings.cluster)
        if settings.role != "api":
            _make_lanes(line, specs, lanes)
            _declare(line, specs, splits)

    def follow(row: LaneRow) -> Follower:
        return Follower(PostgresJournal(*place, journal=row.journal, read_only=True), row.journal, settings)

    def serve(follower: Follower, forwarder: Forwarder) -> App:
        return App(follower, None, settings, version, forward=forwarder.to(follower))

    def take(row: LaneRow, lost: Callable[[str], None]) -> Tenure:
        journal = PostgresJournal(*place, journal=row.journal, cluster=settings.cluster)
        try:
            own = [spec for spec in specs if lanes.get(spec.name, MAIN) == row.name]
            tenure = Tenure(journal, row.journal, own, settings, version, lost)
        except BaseException:
            journal.close()
            raise
        tenure.owner.chronicle = Chronicle(lines)
        tenure.room.prepare(queue.spec for queue in tenure.owner.engine.state.by_index)
        return tenure

    named = {lanes.get(spec.name, MAIN) for spec in specs}
    node = Node(settings.role, settings, place, follow=follow, serve=serve, take=take, named=named, version=version)
    return node, NodeApp(node)


def _declare(line: Line, specs: tuple[QueueSpec, ...], splits: Mapping[str, Split]) -> None:
    """Tell all nodes how queues are split."""
    for queue, (was, will) in declare(line, splits, [spec.name for spec in specs]).items():
        said = log.warning if was else log.info
        said("the split of a queue has changed; tickets stay where they are", queue=queue, was=was, now=will)


def _make_lanes(line: Line, specs: tuple[QueueSpec, ...], lanes: Mapping[str, str]) -> None:
    """Make the lanes that the queues ask for; a queue stays in the lane where it was opened."""
    known = {lane.journal: lane.name for lane in postgres_lanes.lanes(line)}
    where = dict(line.rows("SELECT DISTINCT queue, journal FROM queue_versions"))
    for spec in specs:
        wanted = lanes.get(spec.name, MAIN)
        found = known.get(where[spec.name]) if spec.name in where else wanted
        if found != wanted:
            raise ConfigError(
                f"the queue {spec.name} is in the lane {found}, and its tickets and matches with it: "
                f"it cannot go to {wanted}. Leave it there, or open a queue of another name in {wanted}"
            )
    postgres_lanes.make_lanes(line, sorted({lanes.get(spec.name, MAIN) for spec in specs} - {*known.values()}))
