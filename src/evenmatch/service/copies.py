"""Copies of queues as a matcher would see them, for those who look: why a ticket waits, and the dashboard's picture.

Copying the columns of a large queue takes the engine thread a while, so a copy is used again for a time that grows with
the queue, whoever asks.
"""

from typing import Final

import msgspec
import numpy as np

from evenmatch.core.engine import Engine
from evenmatch.core.freeze import freeze
from evenmatch.core.meetings import forbidden
from evenmatch.core.state import WAITING, QueueState
from evenmatch.domain.snapshot import Snapshot

SMALL: Final = 2_000
"""Queues with fewer tickets are copied for every question."""
_MS_PER_TICKET: Final = 0.05
"""A copy serves so long for each ticket in it: a queue of 100,000 is copied every 5 s at most."""


class Copy(msgspec.Struct, frozen=True, eq=False):
    """A queue at one moment."""

    engine: Engine
    snapshot: Snapshot
    suspended: int
    """Tickets that wait, but not now."""
    until_ms: int
    """When the queue will be copied again."""


class Copies:
    """The last copy of each large queue; of the engine thread."""

    def __init__(self) -> None:
        self._by_queue: dict[str, Copy] = {}

    def of(self, engine: Engine, queue: QueueState, now_ms: int) -> Copy:
        """The queue's columns, fresh or lately copied."""
        name, large = queue.spec.name, queue.waiting >= SMALL
        copy = self._by_queue.get(name)
        if large and copy is not None and copy.engine is engine and now_ms < copy.until_ms:
            return copy
        apart = forbidden(engine.state, queue, now_ms)
        frozen = freeze(queue, now_ms, engine.state.next_proposal, queue.waiting + 1, apart.slots, apart.met)
        t = queue.tickets
        suspended = int(np.count_nonzero((t.status[: t.used] == WAITING) & (t.suspended[: t.used] != 0)))
        copy = Copy(engine, frozen.snapshot, suspended, now_ms + round(queue.waiting * _MS_PER_TICKET))
        if large:
            self._by_queue[name] = copy
        else:
            self._by_queue.pop(name, None)
        return copy
