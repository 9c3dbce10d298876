"""The contests of `even` with matchers that play one kind of format only, and with brute force.

Lobbies of eight beside `epgc`, `lom` and its siblings; full teams of five beside `cinder` and `buckets`; and pools of a
few tickets beside trying everything. Others are judged by the rules of `even`: matches that break them do not count.
Nobody's wait counts here (`wait_value` 0), so that as many seats are compared by cost alone, as is promised.
"""

from functools import cache
from itertools import combinations
from typing import Final

import msgspec
import numpy as np

from evenmatch.bench.contest import Contest, Opponent
from evenmatch.bench.contests.even import Outcome, matcher, never_behind, plan, told, told_outcome
from evenmatch.bench.contests.even_teams import crowd
from evenmatch.bench.contests.waiting import Wave, full_teams, plan_broken, random
from evenmatch.domain.match import Plan
from evenmatch.domain.queue import Format
from evenmatch.matchers.even import Even
from evenmatch.matchers.even_pool import Pool
from evenmatch.numerics.match_terms import UNITS

__all__ = ["CONTESTS", "brute_force"]

LOBBY: Final = 8
TEAM: Final = 5
RATING: Final = [{"name": "rating", "scale": 400}]
"""What `lom` and its siblings go by, since nothing else counts here."""
SHAPES: Final = (Format(2, 1), Format(2, 2), Format(2, 3), Format(1, 4), Format(2, 1))
"""Of the pools of a few tickets, in turn."""
PLAYERS: Final = (6, 12)
"""Players of such a pool, at the least and at the most; so it has no more tickets."""


def lobbies(size: int, seed: int) -> Wave:
    """Single players for lobbies."""
    snapshot = crowd(Format(1, LOBBY), size, seed, shares=(1,))
    ping_ms = np.rint(random(seed + 1, size).uniform(10, 120, size))
    ping_ms.flags.writeable = False
    facts = {**snapshot.facts, "ping_ms": ping_ms}
    return Wave(
        Even(window=400, wait_value=0, outlier_s=1e6, weight_latency=0), msgspec.structs.replace(snapshot, facts=facts)
    )


def teams(size: int, seed: int) -> Wave:
    """Full teams, each rated about alike."""
    chance = random(seed, size)
    rating = np.rint(chance.normal(1500, 200, (size, 1)) + chance.normal(0, 60, (size, TEAM)))
    return Wave(Even(window=300, wait_value=0, outlier_s=1e6), full_teams(rating))


def pools(size: int, seed: int) -> list[Wave]:
    """So many pools of a few tickets."""
    chance = random(seed, size)
    made = []
    for at in range(size):
        form, players = SHAPES[at % len(SHAPES)], int(chance.integers(*PLAYERS, endpoint=True))
        shares = (1,) if form.size == 1 else (60, 40)
        snapshot = crowd(form, players, int(chance.integers(1 << 30)), shares=shares)
        made.append(Wave(Even(window=200, wait_value=0, outlier_s=1e6), snapshot))
    return made


def plans(given: list[Wave]) -> list[Plan]:
    """Ours, pool by pool."""
    return [plan(wave) for wave in given]


def brute_force(given: list[Wave]) -> list[Outcome]:
    """The most seats, then the least cost, of each pool, by trying all plans."""
    return [_best(wave) for wave in given]


def _best(given: Wave) -> Outcome:
    judge, snapshot = given.matcher, given.snapshot
    assert isinstance(judge, Even)
    pool, _ = judge.pool(snapshot)
    form, size = snapshot.format, pool.size.tolist()
    rosters: list[list[int]] = []
    team_of: list[list[int]] = []
    for count in range(1, min(len(size), form.seats) + 1):
        empty = [-1] * (form.seats - count)
        for group in combinations(range(len(size)), count):
            if sum(size[one] for one in group) != form.seats:
                continue
            for mask in range(1 << (count - 1)) if form.teams == 2 else (0,):
                side = [0, *(mask >> at & 1 for at in range(count - 1))]
                if (
                    form.teams == 1
                    or 2 * sum(size[one] for one, at in zip(group, side, strict=True) if at) == form.seats
                ):
                    rosters.append([*group, *empty])
                    team_of.append([*side, *empty])
    if not rosters:
        return Outcome(0, 0.0)
    tickets, shift = np.array(rosters), len(size) * np.arange(len(rosters))[:, None]
    legal, cost = judge.judge_of(_copies(pool, len(rosters)), form)(
        np.where(tickets >= 0, tickets + shift, -1), np.array(team_of)
    )
    price: dict[int, int] = {}
    for good, units, roster in zip(legal.tolist(), np.rint(cost * UNITS).tolist(), rosters, strict=True):
        mask = sum(1 << one for one in roster if one >= 0)
        if good:
            price[mask] = min(int(units), price.get(mask, int(units)))
    by_lowest: dict[int, list[tuple[int, int]]] = {}
    for mask, units in price.items():
        by_lowest.setdefault(mask & -mask, []).append((mask, units))

    @cache
    def best(left: int) -> tuple[int, int]:
        """Matches, and less what they cost in units, of these tickets."""
        if not left:
            return 0, 0
        low = left & -left
        most = best(left ^ low)
        for mask, units in by_lowest.get(low, ()):
            if mask & left == mask:
                matches, saved = best(left ^ mask)
                most = max(most, (matches + 1, saved - units))
        return most

    matches, saved = best((1 << len(size)) - 1)
    return Outcome(matches * form.seats, -saved / UNITS)


def _copies(pool: Pool, times: int) -> Pool:
    """The pool so many times over, so that each of as many matches has tickets of its own to be judged by."""
    players = int(pool.size.sum())
    begins = (pool.start[:-1] + players * np.arange(times)[:, None]).ravel()
    columns = ("rows", "size", "mu", "sigma", "rating", "first", "second", "thin", "window", "waited_ms", "misses")
    several = {name: np.tile(getattr(pool, name), times) for name in (*columns, "level")}
    return pool._replace(
        **several,
        start=np.append(begins, players * times),
        latency=np.tile(pool.latency, (times, 1)),
        role_cost=np.tile(pool.role_cost, (times, 1)),
    )


def same_best(_: list[Wave], ours: list[Plan], theirs: list[Outcome]) -> str | None:
    """As many seats at the same cost in every pool."""
    for at, (made, best) in enumerate(zip(ours, theirs, strict=True)):
        found = Outcome(int(made.details["seats"]), float(made.cost.sum()))
        if found != best:
            return f"pool {at}: {found.seats} seats at {found.cost} against {best.seats} seats at {best.cost}"
    return None


def all_proven(given: list[Wave], ours: list[Plan]) -> str | None:
    """Every plan is a plan, and both its bounds are reached."""
    for wave, made in zip(given, ours, strict=True):
        if (broken := plan_broken(wave, made)) is not None:
            return broken
        if made.details["optimality_gap"] != 0 or made.details["seats"] != made.details["seats_bound"]:
            return f"an optimality gap of {made.details['optimality_gap']} where all was tried"
    return None


def told_all(ours: list[Plan]) -> dict[str, float]:
    """Seats and cost of all pools, beside their bounds."""
    each = [told(made) for made in ours]
    return {name: sum(one[name] for one in each) for name in ("seats", "seats_bound", "cost", "cost_bound")}


def told_best(theirs: list[Outcome]) -> dict[str, float]:
    """The same by brute force."""
    return told_outcome(Outcome(sum(one.seats for one in theirs), sum(one.cost for one in theirs)))


CONTESTS: Final = (
    Contest(
        "even.lobbies",
        "lobbies of eight single players, one wave",
        (300, 1_000, 3_000),
        lobbies,
        plan,
        never_behind,
        (
            matcher("epgc", 3_000, lobby_size=LOBBY),
            matcher("lom", 3_000, session_size=LOBBY, features=RATING),
            matcher("m2l", 3_000, session_size=LOBBY, features=RATING),
            matcher("l2m", 3_000, session_size=LOBBY, features=RATING),
            matcher("first_come", 3_000),
        ),
        quick=(100, 300),
        sound=plan_broken,
        told=told,
    ),
    Contest(
        "even.premade",
        "full teams of five against each other, one wave",
        (100, 300, 1_000),
        teams,
        plan,
        never_behind,
        (
            matcher("cinder", 1_000, mode="best"),
            matcher("cinder", 1_000, mode="first"),
            matcher("buckets", 1_000, bucket=10),
            matcher("first_come", 1_000),
        ),
        unit="teams",
        quick=(50, 100),
        sound=plan_broken,
        told=told,
    ),
    Contest(
        "even.few",
        "pools of 6 to 12 players, one against one, small teams with parties and lobbies; proven",
        (10, 30, 100),
        pools,
        plans,
        same_best,
        (Opponent("brute force", brute_force, 100, told=told_best),),
        unit="pools",
        quick=(5, 10),
        sound=all_proven,
        told=told_all,
    ),
)
