"""What one process serves, lane by lane, where it is told of as a whole: readiness, metrics and the dashboard's stream.

An `App` serves its own lane alone, as lane 1. Where `Lanes` stands in front of several, the first one's routes tell of
all of them.
"""

from collections.abc import Callable, Iterable

import msgspec
from prometheus_client import CollectorRegistry

from . import metrics_together
from .group import in_words
from .runner import Runner
from .sockets import Hub
from .views import QueueView, Views

Why = tuple[str, str]
"""A lane by its name, empty = the process, and why it is not ready."""


class Served(msgspec.Struct, frozen=True, eq=False):
    """One lane: who runs it, and who listens to it."""

    runner: Runner
    hub: Hub

    @property
    def why(self) -> str:
        """Why orders cannot be carried out, in words for anybody; empty = they can."""
        return why_not(self.runner)


class ServedLanes(dict[int, Served]):
    """By the lane's number; lanes may come while the server runs."""

    beside: Callable[[], CollectorRegistry] | None = None
    """Numbers of the process that are no lane's."""
    held_up: Callable[[], list[Why]] | None = None
    """What keeps a process of a cluster from being ready beside these lanes; None = it is alone."""

    def not_ready(self) -> list[int]:
        """The lanes in which orders cannot be carried out now."""
        return [lane for lane, one in sorted(self.items()) if one.why]

    def hindrances(self) -> list[Why]:
        """Why orders cannot be carried out now, in all that is served; none = they can."""
        named = self.held_up is not None or len(self) > 1
        lanes = [(one.runner.journal.lane_name if named else "", one.why) for _, one in sorted(self.items())]
        return ([] if self.held_up is None else self.held_up()) + [why for why in lanes if why[1]]


def why_not(runner: Runner) -> str:
    """Why a lane's orders cannot be carried out, in words for anybody; empty = they can."""
    if runner.stopping:
        return "stopping"
    if not runner.ready:
        return runner.trouble or "the journal is being read"
    fault = runner.journal.fault
    if fault is not None:
        return in_words(fault)
    return "the mailbox is full" if runner.full() else ""


def in_one_line(found: Iterable[Why]) -> str:
    """What holds for several lanes is said once, and what holds for the process of no lane."""
    lanes: dict[str, list[str]] = {}
    for lane, why in dict.fromkeys(found):
        lanes.setdefault(why, []).append(lane)
    return "; ".join(
        why if "" in named else f"lane{'s' * (len(named) > 1)} {', '.join(named)}: {why}"
        for why, named in lanes.items()
    )


async def metrics_of(served: ServedLanes) -> bytes:
    """All numbers as Prometheus reads them: those of all lanes together."""
    lanes = list(served.values())
    for one in lanes:
        runner = one.runner
        found = None if runner.full() else await runner.ask(_queues)
        runner.metrics.refresh(found if isinstance(found, list) else [], runner.depth, one.hub.open, runner.ready)
    own = [] if served.beside is None else [served.beside()]
    return metrics_together.text([*(one.runner.metrics.registry for one in lanes), *own])


def _queues(views: Views, now_ms: int) -> list[QueueView]:
    return views.queues(now_ms)
