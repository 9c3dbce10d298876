"""Small queues, where most players wait: one wave of every registered matcher, with its defaults."""

from functools import partial
from typing import Final

import numpy as np

from evenmatch.bench.contest import Aim, Contest
from evenmatch.bench.contests.waiting import Wave, full_teams, plan_broken, random
from evenmatch.domain.match import Plan
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers import registry
from evenmatch.matchers.contract import plan_wave, with_format

__all__ = ["CONTESTS"]

WAITING: Final = 30


def wave(matcher: str, size: int, seed: int) -> Wave:
    """Single players with everything a matcher may read; for cinder, teams of five."""
    chance, built = random(seed, size), registry.build(matcher, {})
    if matcher == "cinder":
        return Wave(built, full_teams(chance.normal(1500, 300, (size, 5))))
    snapshot = Snapshot.from_columns(
        rating=chance.normal(1500, 300, size),
        ping_ms=chance.integers(10, 150, size),
        waited_ms=chance.integers(0, 120_000, size),
        misses=chance.integers(0, 4, size),
        ratings={side: np.rint(chance.normal(1500, 300, size)) for side in ("bw", "sc2")},
    )
    return Wave(built, with_format(built, snapshot))


def plan(given: Wave) -> Plan:
    """Ours."""
    return plan_wave(given.matcher, given.snapshot)


def nobody_to_ask(_: Wave, __: Plan, ___: object) -> str | None:
    """There is no opponent."""
    return None


CONTESTS: Final = tuple(
    Contest(
        f"small.{matcher}",
        f"one wave of {matcher} with its defaults",
        (WAITING,),
        partial(wave, matcher),
        plan,
        nobody_to_ask,
        aims=(Aim("seconds", 0.0002, WAITING),),
        sound=plan_broken,
        unit="tickets",
    )
    for matcher in registry.names()
)
