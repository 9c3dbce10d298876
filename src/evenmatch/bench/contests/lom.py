"""LOM's contests: members to leaders at the least total weight, from a matrix, and from profiles too many for one.

All weights, and coordinates over their scales, are multiples of 2^-20, so that every sum is exact and totals can be
compared for equality.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from evenmatch.bench.contest import Aim, Contest, Opponent
from evenmatch.bench.contests.waiting import Wave, plan_broken, random
from evenmatch.bench.opponents import libraries
from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.association import DEFAULT
from evenmatch.matchers.contract import plan_wave
from evenmatch.matchers.lom import Lom, assign

__all__ = ["CONTESTS"]

SESSION: Final = 10
UNIT: Final = 2.0**-20
NEAR: Final = 20
POT, ORTOOLS, SPARSE = "POT", "OR-tools", "OR-tools, 20 nearest, unproven"


def points(size: int, seed: int) -> Array:
    """float64[n, 3]: profiles in a cube, in multiples of the unit; a whole number of sessions."""
    return random(seed, size).integers(0, 2**20, (max(size // SESSION, 1) * SESSION, 3)) * UNIT


def split(profile: Array) -> tuple[Array, Array]:
    """The first tenth leads."""
    leaders = len(profile) // SESSION
    return profile[:leaders], profile[leaders:]


def distances(profile: Array) -> Array:
    """float64[leaders, members]: L1, exact."""
    leaders, members = split(profile)
    weights = np.zeros((len(leaders), len(members)))
    for one, other in zip(leaders.T, members.T, strict=True):
        weights += np.abs(one[:, None] - other)
    return weights


# A matrix of weights.


def from_profiles(size: int, seed: int) -> Array:
    """Distances of 3-D profiles."""
    return distances(points(size, seed))


def from_chance(size: int, seed: int) -> Array:
    """Independent weights."""
    leaders = max(size // SESSION, 1)
    return random(seed, size).integers(0, 2**20, (leaders, leaders * (SESSION - 1))) * UNIT


def assigned(weights: Array) -> tuple[Array, float]:
    """Ours: the leader of each member, and the total, proven."""
    return assign(weights, SESSION)


def by_pot(weights: Array) -> float:
    return libraries.pot_total(weights, SESSION - 1)


class Arcs(NamedTuple):
    """All leaders and members as arcs with whole costs."""

    leader: Array
    member: Array
    cost: Array
    leaders: int
    members: int


def arcs(weights: Array) -> Arcs:
    leader, member = np.indices(weights.shape).reshape(2, -1)
    return Arcs(leader, member, np.rint(weights.ravel() / UNIT).astype(np.int64), *weights.shape)


def by_ortools(given: Arcs) -> float:
    return libraries.ortools_total(*given, SESSION - 1) * UNIT


def same_total(weights: Array, ours: tuple[Array, float], theirs: float) -> str | None:
    """Sessions are full, the total is that of the assignment, and it is theirs."""
    leader_of, total = ours
    if (np.bincount(leader_of, minlength=len(weights)) != SESSION - 1).any():
        return "a session is not full"
    if total != math.fsum(weights[leader_of, np.arange(len(leader_of))].tolist()):
        return f"the total is not that of the sessions: {total}"
    return _equal(total, theirs)


def _equal(ours: float, theirs: float) -> str | None:
    # POT adds floats up in its own order and works with tolerances: a billionth is equal.
    return None if math.isclose(ours, theirs, rel_tol=1e-9) else f"a total of {ours:.9g} against {theirs:.9g}"


# Profiles.


def sessions(size: int, seed: int) -> Wave:
    """A wave over 3-D profiles."""
    profile = points(size, seed)
    features = [{"name": f"x{dimension}"} for dimension in range(3)]
    matcher = Lom(session_size=SESSION, leaders="first", features=features)
    return Wave(matcher, Snapshot.from_columns(profile=profile, format=Format(1, SESSION)))


def ratings_and_pings(size: int, seed: int) -> Wave:
    """A wave over ratings and pings, what counts where no features are declared."""
    rng, count = random(seed, size), max(size // SESSION, 1) * SESSION
    rating, ping_ms = (
        np.rint(values / feature.scale / UNIT) * UNIT * feature.scale
        for feature, values in zip(DEFAULT, (rng.normal(1500, 400, count), rng.uniform(10, 150, count)), strict=True)
    )
    matcher = Lom(session_size=SESSION, leaders="first")
    return Wave(matcher, Snapshot.from_columns(rating=rating, ping_ms=ping_ms, format=Format(1, SESSION)))


def plan(given: Wave) -> Plan:
    """Ours: one wave through the contract."""
    return plan_wave(given.matcher, given.snapshot)


def profiles(given: Wave) -> Array:
    return np.stack([given.snapshot.facts[f"profile.x{dimension}"] for dimension in range(3)], axis=1)


def dense(given: Wave) -> Array:
    return distances(profiles(given))


def scaled(given: Wave) -> Array:
    """float64[n, 2]: ratings and pings over their scales."""
    return np.stack([given.snapshot.facts[feature.name] / feature.scale for feature in DEFAULT], axis=1)


def scaled_dense(given: Wave) -> Array:
    return distances(scaled(given))


def by_near(profile: Array) -> float:
    """Unproven: a sparse graph of near leaders."""
    return libraries.ortools_near(*split(profile), NEAR, UNIT, SESSION - 1)


def plan_total(_: Wave, ours: Plan, theirs: float) -> str | None:
    """The same total."""
    return _equal(float(ours.cost.sum()), theirs)


def not_above(_: Wave, ours: Plan, theirs: float) -> str | None:
    """No more than what a solver found that knows near leaders only."""
    total = float(ours.cost.sum())
    return None if total <= theirs * (1 + 1e-9) else f"a total of {total:.9g}, but {theirs:.9g} was found"


def unproven(given: Wave, ours: Plan) -> str | None:
    """The plan is a plan, and its bound is reached."""
    if (broken := plan_broken(given, ours)) is not None:
        return broken
    gap = ours.details["optimality_gap"]
    return None if gap is not None and gap <= 1e-9 * max(1.0, float(ours.cost.sum())) else f"the gap is {gap}"


AIMS: Final = (Aim("ratio", 1.0, 500, POT), Aim("ratio", 25.0, 10_000, POT))
DENSE: Final = (
    Opponent(POT, by_pot, 10_000, ("ot",)),
    Opponent(ORTOOLS, by_ortools, 10_000, ("ortools",), arcs),
)
SIZES: Final = (100, 500, 2_000, 10_000)

CONTESTS: Final = (
    Contest(
        "lom.profiles",
        f"sessions of {SESSION}, weights given: distances of 3-D profiles; proven",
        SIZES,
        from_profiles,
        assigned,
        same_total,
        DENSE,
        AIMS,
    ),
    Contest(
        "lom.random",
        f"sessions of {SESSION}, weights given: independent random numbers; proven",
        SIZES,
        from_chance,
        assigned,
        same_total,
        DENSE,
        AIMS,
    ),
    Contest(
        "lom.large",
        f"sessions of {SESSION} from 3-D profiles, one wave; proven",
        (1_000, 10_000, 100_000),
        sessions,
        plan,
        plan_total,
        (
            Opponent(SPARSE, by_near, 100_000, ("ortools", "scipy"), profiles, not_above),
            Opponent(POT, by_pot, 10_000, ("ot",), dense),
        ),
        (Aim("seconds", 1.5, 100_000), Aim("megabytes", 400, 100_000)),
        quick=(500, 2_000),
        sound=unproven,
    ),
    Contest(
        "lom.default",
        f"sessions of {SESSION} from rating and ping, lom's own features, one wave; proven",
        (1_000, 10_000, 100_000),
        ratings_and_pings,
        plan,
        plan_total,
        (
            Opponent(SPARSE, by_near, 100_000, ("ortools", "scipy"), scaled, not_above),
            Opponent(POT, by_pot, 10_000, ("ot",), scaled_dense),
        ),
        (Aim("seconds", 3.0, 100_000), Aim("megabytes", 400, 100_000)),
        quick=(500, 2_000),
        sound=unproven,
    ),
)
