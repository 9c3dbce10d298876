"""What one process serves, lane by lane, where it is told of as a whole: readiness, metrics and the dashboard's stream.

An `App` serves its own lane alone, as lane 1. Where `Lanes` stands in front of several, the first one's routes tell of
all of them.
"""

from collections.abc import Callable

import msgspec
from prometheus_client import CollectorRegistry

from . import metrics_together
from .runner import Runner
from .sockets import Hub
from .views import QueueView, Views


class Served(msgspec.Struct, frozen=True, eq=False):
    """One lane: who runs it, and who listens to it."""

    runner: Runner
    hub: Hub

    @property
    def ready(self) -> bool:
        """Can orders be carried out?"""
        return self.runner.ready and self.runner.journal.reachable and not self.runner.full()


class ServedLanes(dict[int, Served]):
    """By the lane's number; lanes may come while the server runs."""

    beside: Callable[[], CollectorRegistry] | None = None
    """Numbers of the process that are no lane's."""
    held_up: Callable[[], list[str]] = list
    """What keeps the process from being ready that is no matter of these lanes."""


def not_ready(served: ServedLanes) -> list[int]:
    """The lanes in which orders cannot be carried out now."""
    return [lane for lane, one in sorted(served.items()) if not one.ready]


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
