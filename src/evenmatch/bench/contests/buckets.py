"""The contests of skill buckets: one check over a crowd and over a thin queue, and a check that need not be run."""

from typing import Final, NamedTuple

import numpy as np

from evenmatch.bench.contest import Aim, Contest, Opponent
from evenmatch.bench.contests.waiting import Wave, first_difference, plan_broken, random, side_by_side
from evenmatch.core.engine import Engine
from evenmatch.domain import commands as cmd
from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan
from evenmatch.domain.queue import Format, MatcherSpec, QueueSpec
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.ticket import Member, TicketRequest
from evenmatch.matchers.buckets import Buckets, bucket_of
from evenmatch.matchers.contract import plan_wave, wave_next_change_ms

__all__ = ["CONTESTS"]

PLAIN: Final = "plain Python"
GROWTH_MS, RANGE_MAX = 20_000, 10
FULL_TURN: Final = 100_000
"""How many join by one command."""


def crowd(size: int, seed: int) -> Wave:
    """Ratings about 1500: many in every bucket."""
    return _wave(random(seed, size).normal(1500, 300, size), size, seed)


def thin(size: int, seed: int) -> Wave:
    """As many buckets as tickets: neighbours have to be looked for."""
    return _wave(random(seed, size).uniform(-0.5 * size, 0.5 * size, size), size, seed)


def _wave(rating: Array, size: int, seed: int) -> Wave:
    waited = random(seed, size + 1).integers(0, 240_000, size)
    return Wave(Buckets(), Snapshot.from_columns(rating=rating, waited_ms=waited, format=Format(2, 1)))


def check(given: Wave) -> Plan:
    """Ours: one wave through the contract."""
    return plan_wave(given.matcher, given.snapshot)


def plain_columns(given: Wave) -> tuple[list[int], list[int]]:
    """Buckets and ranges in canonical order, as lists."""
    snapshot, order = given.snapshot, given.snapshot.canonical_order()
    reach = np.minimum(snapshot.waited_ms // GROWTH_MS, RANGE_MAX)
    return bucket_of(snapshot.facts["rating"])[order].tolist(), reach[order].tolist()


def plain_check(given: tuple[list[int], list[int]]) -> list[tuple[int, int]]:
    """The check on lists."""
    from evenmatch.bench.opponents import buckets

    return buckets.check(*given)


def same_pairs(given: Wave, ours: Plan, theirs: list[tuple[int, int]]) -> str | None:
    """The same pairs in the same order."""
    order = given.snapshot.canonical_order()
    return first_difference("matches", side_by_side(ours), order[np.array(theirs, np.int64).reshape(-1, 2)])


class Idle(NamedTuple):
    """An engine whose last wave found nothing, at a moment when nobody's range has grown since."""

    engine: Engine
    now_ms: int
    waiting: int


def idle(size: int, seed: int) -> Idle:  # noqa: ARG001 nothing is random
    """Everybody alone in a bucket and with a range of 0."""
    spec = QueueSpec("idle", format=Format(2, 1), matcher=MatcherSpec("buckets"))
    engine = Engine()
    engine.step(cmd.OpenQueue(spec), 0)
    for begin in range(0, size, FULL_TURN):
        requests = [
            TicketRequest((Member(n + 1, n - size / 2, 30.0),)) for n in range(begin, min(begin + FULL_TURN, size))
        ]
        engine.step(cmd.JoinMany("idle", tuple(requests)), 1)
    (wave,) = engine.step(cmd.Tick(), 1).effects
    matcher = Buckets()
    plan, change = plan_wave(matcher, wave.snapshot), wave_next_change_ms(matcher, wave.snapshot)
    engine.step(cmd.FinishWave("idle", wave.wave, plan, next_change_ms=change), 2)
    return Idle(engine, 10_000, size)


def tick(given: Idle) -> int:
    """Ours: how many waves a tick starts; the queue's beat is due, but nothing can have changed."""
    return len(given.engine.step(cmd.Tick(), given.now_ms).effects)


def idle_columns(given: Idle) -> tuple[list[int], list[int]]:
    """Buckets and ranges as lists."""
    return [place - given.waiting // 2 for place in range(given.waiting)], [0] * given.waiting


def nothing_found(_: Idle, ours: int, theirs: list[tuple[int, int]]) -> str | None:
    """No wave was run, and there was nothing to find."""
    return None if not ours and not theirs else f"{ours} waves were run, and there were {len(theirs)} matches to find"


CONTESTS: Final = (
    Contest(
        "buckets.check",
        "one check over a crowd, many in every bucket",
        (1_000, 10_000, 100_000, 1_000_000),
        crowd,
        check,
        same_pairs,
        (Opponent(PLAIN, plain_check, 1_000_000, prepare=plain_columns),),
        (Aim("seconds", 0.1, 1_000_000),),
        sound=plan_broken,
        unit="tickets",
    ),
    Contest(
        "buckets.thin",
        "one check over a thin queue, as many buckets as tickets",
        (1_000, 10_000, 100_000, 1_000_000),
        thin,
        check,
        same_pairs,
        (Opponent(PLAIN, plain_check, 1_000_000, prepare=plain_columns),),
        (Aim("seconds", 0.1, 1_000_000),),
        sound=plan_broken,
        unit="tickets",
    ),
    Contest(
        "buckets.idle",
        "a tick of the engine when no range has grown: the check is not run at all",
        (1_000, 10_000, 100_000),
        idle,
        tick,
        nothing_found,
        (Opponent(PLAIN, plain_check, 1_000_000, prepare=idle_columns),),
        unit="tickets",
    ),
)
