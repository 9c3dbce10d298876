"""What the world is asked to do once the events are durable."""

import msgspec

from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.snapshot import Snapshot


class RunMatcher(msgspec.Struct, frozen=True, eq=False):
    """Run a queue's matcher on a copy of its columns and answer with `FinishWave`."""

    spec: QueueSpec
    wave: int
    seed: int
    snapshot: Snapshot
    deadline_ms: int
