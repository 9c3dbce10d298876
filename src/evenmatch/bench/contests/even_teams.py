"""The contests of `even` for teams: parties, roles and regions, beside a greedy rule under the same rules.

The greedy rule is that of `first_come` over the tickets in order of rating, again and again over those who are left;
matches that break a rule of `even` do not count.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from evenmatch.bench.contest import Aim, Contest, Opponent
from evenmatch.bench.contests.even import Outcome, matcher, never_behind, plan, told, told_outcome
from evenmatch.bench.contests.waiting import Wave, plan_broken, random
from evenmatch.domain.match import Plan
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.even import Even
from evenmatch.matchers.even_teams import cheap_plans

__all__ = ["CONTESTS", "ROLES", "by_rating", "crowd", "nearly_all"]

GREEDY: Final = "first come, by rating"
ROLES: Final = {"tank": 1, "healer": 1, "damage": 1, "support": 1, "scout": 1}
SHARES: Final = (70, 20, 6, 4)
"""Tickets of one, two, three and four players, in a hundred."""
REGIONS: Final = (40, 25, 15, 10, 6, 4)
"""Where players are, in a hundred."""
SHARE_LEAST: Final = 0.995
"""Of the seats that the bound allows, from `SURE` players on."""
SURE: Final = 3_000


def crowd(
    form: Format,
    players: int,
    seed: int,
    *,
    shares: Sequence[float] = SHARES,
    regions: int = 0,
    roles: Sequence[str] = (),
    waits_s: tuple[float, float] = (0.0, 300.0),
) -> Snapshot:
    """So many players in parties: ratings about 1500, a party's near each other; regions on a map; two roles each."""
    chance = random(seed, players)
    share = np.array(shares[: form.size], float)
    drawn = chance.choice(len(share), players, p=share / share.sum()) + 1
    size = drawn[: int(np.searchsorted(np.cumsum(drawn), players)) + 1]
    size[-1] -= size.sum() - players
    count = len(size)
    centre = np.repeat(chance.normal(1500, 300, count), size)
    near = np.where(np.repeat(size, size) > 1, chance.normal(0, 60, players), 0.0)
    facts: dict[str, Any] = {"rating": np.rint(centre + near), "ping_ms": np.full(players, np.nan)}
    if regions:
        where, lived_in = chance.random((regions, 2)), np.array(REGIONS[:regions], float)
        home = chance.choice(regions, count, p=lived_in / lived_in.sum())
        spot = where[home] + chance.normal(0, 0.05, (count, 2))
        for region in range(regions):
            ms = 10 + 180 * np.hypot(*(spot - where[region]).T)
            facts[f"latencies.region{region}"] = np.repeat(np.rint(ms), size)
    traits: dict[str, Any] = {}
    if roles:
        liked = chance.integers(0, len(roles), (players, 2)).tolist()
        traits["roles"] = tuple((roles[one], roles[other]) if one != other else (roles[one],) for one, other in liked)
    columns: dict[str, Any] = {
        "ticket": np.arange(1, count + 1),
        "waited_ms": (1000 * chance.uniform(*waits_s, count)).astype(np.int64),
        "misses": np.zeros(count, np.int32),
        "returned": np.zeros(count, bool),
        "group": np.zeros(count, np.int32),
        "player_start": np.r_[0, np.cumsum(size)],
        "player": np.arange(players),
    }
    for column in (*columns.values(), *facts.values()):
        column.flags.writeable = False
    return Snapshot(format=form, now_ms=0, facts=facts, traits=traits, **columns)


def fours(size: int, seed: int) -> Wave:
    """Four against four, parties."""
    return Wave(Even(), crowd(Format(2, 4), size, seed))


def fives(size: int, seed: int) -> Wave:
    """Five against five, parties, two liked roles each, six regions of which those within 120 ms count."""
    snapshot = crowd(Format(2, 5), size, seed, regions=6, roles=tuple(ROLES))
    return Wave(Even(roles=ROLES, latency_cap_ms=120), snapshot)


def by_rating(given: Wave) -> tuple[int, float]:
    """The greedy rule: matches and their cost."""
    judge, snapshot = given.matcher, given.snapshot
    assert isinstance(judge, Even)
    pool, _ = judge.pool(snapshot)
    made = cheap_plans(snapshot, pool, judge.judge_of(pool, snapshot.format))[1]
    return len(made[2]), float(made[2].sum())


def greedy(given: Wave) -> Outcome:
    """The greedy rule."""
    matches, cost = by_rating(given)
    return Outcome(matches * given.snapshot.format.seats, cost)


def nearly_all(given: Wave, ours: Plan) -> str | None:
    """The plan is a plan, and seats nearly all that the bound allows."""
    if (broken := plan_broken(given, ours)) is not None:
        return broken
    seats, bound = int(ours.details["seats"]), int(ours.details["seats_bound"])
    if len(given.snapshot.player) >= SURE and seats < SHARE_LEAST * bound:
        return f"{seats:,} of {bound:,} seats"
    return None


CONTESTS: Final = (
    Contest(
        "even.fours",
        "4v4, parties 70/20/6/4 %, one wave; 99.5 % of the seats that the bound allows",
        (300, 3_000, 30_000),
        fours,
        plan,
        never_behind,
        (Opponent(GREEDY, greedy, 3_000, agree=never_behind, told=told_outcome), matcher("first_come", 3_000)),
        (Aim("seconds", 0.05, 3_000), Aim("growth", 1.2)),
        quick=(100, 300),
        sound=nearly_all,
        told=told,
    ),
    Contest(
        "even.fives",
        "5v5, parties, roles, six regions, one wave; 99.5 % of the seats that the bound allows",
        (1_000, 10_000, 100_000),
        fives,
        plan,
        never_behind,
        (Opponent(GREEDY, greedy, 10_000, agree=never_behind, told=told_outcome), matcher("first_come", 10_000)),
        (Aim("seconds", 0.25, 10_000), Aim("seconds", 1.5, 100_000), Aim("growth", 1.2)),
        quick=(100, 300),
        sound=nearly_all,
        told=told,
    ),
)
