"""Matchers that misbehave, to be put into the registry's table by a test."""

import threading
from typing import ClassVar

import msgspec
import numpy as np

from evenmatch.domain.match import Plan
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.first_come import FirstCome

TABLE = {name.lower(): f"{__name__}:{name}" for name in ("Raises", "Hangs", "Cheats")}


class Raises:
    """Raises as long as it is told to, then matches as `first_come` does."""

    name: ClassVar[str] = "raises"
    reads_misses: ClassVar[bool] = False
    times: ClassVar[int] = 0

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:
        if len(snapshot) >= 2 and Raises.times > 0:
            Raises.times -= 1
            raise ZeroDivisionError("a matcher's mistake")
        return FirstCome().plan(snapshot, seed=seed, trace=trace)


class Hangs:
    """Does not come back before it is let go."""

    name: ClassVar[str] = "hangs"
    reads_misses: ClassVar[bool] = False
    let_go: ClassVar[threading.Event] = threading.Event()
    called: ClassVar[int] = 0

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:
        if len(snapshot) >= 2:
            Hangs.called += 1
            Hangs.let_go.wait(120)
        return FirstCome().plan(snapshot, seed=seed, trace=trace)


class Cheats:
    """Seats the first ticket twice."""

    name: ClassVar[str] = "cheats"
    reads_misses: ClassVar[bool] = False
    honest: ClassVar[bool] = False

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:
        plan = FirstCome().plan(snapshot, seed=seed, trace=trace)
        if Cheats.honest or not len(plan.rosters):
            return plan
        return msgspec.structs.replace(plan, rosters=np.zeros_like(plan.rosters))
