"""What the world is asked to do once the events are durable."""

from collections.abc import Callable

import msgspec

from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.snapshot import Snapshot


class RunMatcher(msgspec.Struct, frozen=True, eq=False):
    """Run a queue's matcher on a copy of its columns and answer with `FinishWave`."""

    spec: QueueSpec
    wave: int
    seed: int
    take: Callable[[], Snapshot]
    """Gives the copy. A large one is made when it is asked for, in the thread that asks; it is of the moment of the
    wave all the same."""
    deadline_ms: int

    @property
    def snapshot(self) -> Snapshot:
        """The copy."""
        return self.take()
