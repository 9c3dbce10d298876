"""The contests of `even` for pairs: a given graph, true windows, sides with flexible players, and the other matchers.

Ratings are whole numbers and costs whole units, so that everybody's sums are exact. What another matcher plans is
judged by the rules of `even`: matches that break them do not count.
"""

from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from evenmatch.bench.contest import Aim, Contest, Opponent
from evenmatch.bench.contests import ladder
from evenmatch.bench.contests.graphs import pairs_cost
from evenmatch.bench.contests.ladder import Graph, Solved
from evenmatch.bench.contests.waiting import Wave, plan_broken, random
from evenmatch.bench.opponents import libraries
from evenmatch.domain.arrays import NONE
from evenmatch.domain.match import Plan
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import plan_wave
from evenmatch.matchers.even import Even
from evenmatch.matchers.registry import build
from evenmatch.numerics.match_terms import UNITS
from evenmatch.numerics.pair_pool import all_pairs, pool_of

__all__ = ["CONTESTS", "Outcome", "matcher", "never_behind", "plan", "told", "told_outcome"]

RUSTWORKX, NETWORKX, GREEDY = "rustworkx", "networkx", "cheapest pair first"
SIDES: Final = ("attack", "defence")


class Outcome(NamedTuple):
    """What somebody else's plan reaches under the rules of `even`."""

    seats: int
    cost: float


def waiting(size: int, seed: int) -> Snapshot:
    """Ratings about 1500; most came within two minutes, one in a hundred has waited beyond all windows."""
    chance = random(seed, size)
    waited_s = np.where(chance.random(size) < 0.01, 700, chance.integers(0, 120, size))
    return Snapshot.from_columns(
        rating=np.rint(chance.normal(1500, 300, size)), waited_ms=1000 * waited_s, format=Format(2, 1)
    )


def windows_wave(size: int, seed: int) -> Wave:
    """Everybody may play everybody within the windows; nobody goes first."""
    return Wave(Even(outlier_s=1e6), waiting(size, seed))


def sides_wave(size: int, seed: int) -> Wave:
    """A third plays the first side, a third the second, a third either."""
    snapshot, chance = waiting(size, seed), random(seed + 1, size)
    kind, first = chance.integers(0, 3, size), snapshot.facts["rating"]
    second = np.rint(first + chance.normal(0, 60, size))
    rated = {SIDES[0]: np.where(kind == 1, np.nan, first), SIDES[1]: np.where(kind == 0, np.nan, second)}
    return Wave(
        Even(sides=SIDES, outlier_s=1e6),
        Snapshot.from_columns(ratings=rated, waited_ms=snapshot.waited_ms, format=Format(2, 1)),
    )


def plan(given: Wave) -> Plan:
    """Ours: one wave through the contract."""
    return plan_wave(given.matcher, given.snapshot)


def edges_of(given: Wave) -> Graph:
    """All pairs that may meet, by place in canonical order, and their costs in units."""
    matcher, snapshot = given.matcher, given.snapshot
    assert isinstance(matcher, Even)
    pool, _ = matcher.pool(snapshot)
    made = pool_of(
        pool.first,
        pool.first if pool.second is pool.first else pool.second,
        pool.window,
        sigma=pool.sigma,
        latency=pool.latency,
        reach=NONE,
        apart=pool.apart,
        met=pool.met,
        weights=matcher.weights,
        policy=matcher.rule.policy,
        scale=matcher.rating_scale,
    )
    return Graph(len(pool.rows), *all_pairs(made))


def in_rustworkx(given: Wave) -> Solved:
    """All pairs that may meet as a graph."""
    edges = edges_of(given)
    return Solved(libraries.rustworkx_graph(*edges), edges)


def in_networkx(given: Wave) -> Solved:
    """All pairs that may meet as a graph."""
    edges = edges_of(given)
    return Solved(libraries.networkx_graph(*edges[1:]), edges)


def same_optimum(_: Wave, ours: Plan, theirs: tuple[int, int]) -> str | None:
    """As many matches at the same total cost."""
    found = len(ours.cost), round(float(ours.cost.sum()) * UNITS)
    if found == theirs:
        return None
    return f"{found[0]:,} pairs at {found[1]:,} units against {theirs[0]:,} pairs at {theirs[1]:,} units"


def told(ours: Plan) -> dict[str, float]:
    """Seats and cost of our plan, beside their bounds."""
    return {name: ours.details[name] for name in ("seats", "seats_bound", "cost", "cost_bound")}


def told_outcome(theirs: Outcome) -> dict[str, float]:
    """Seats and cost of another plan."""
    return theirs._asdict()


def told_pairs(theirs: tuple[int, int]) -> dict[str, float]:
    """The same of pairs and their cost in units."""
    return {"seats": 2 * theirs[0], "cost": theirs[1] / UNITS}


def never_behind(_: Wave, ours: Plan, theirs: Outcome) -> str | None:
    """Ours seats at least as many, and where it seats as many costs no more."""
    mine = Outcome(int(ours.details["seats"]), float(ours.cost.sum()))
    if (-mine.seats, mine.cost) <= (-theirs.seats, theirs.cost):
        return None
    return f"{mine.seats:,} seats at {mine.cost:,.3f} against {theirs.seats:,} seats at {theirs.cost:,.3f}"


def greedy(edges: Graph) -> Outcome:
    """The cheapest pair first, and so on."""
    order = np.argsort(edges.cost, kind="stable")
    free = np.ones(edges.vertices, bool)
    pairs, cost = 0, 0
    columns = (column[order].tolist() for column in (edges.first, edges.second, edges.cost))
    for u, v, price in zip(*columns, strict=True):
        if free[u] and free[v]:
            free[u] = free[v] = False
            pairs, cost = pairs + 1, cost + price
    return Outcome(2 * pairs, cost / UNITS)


def by_matcher(given: Wave, *, name: str, parameters: dict[str, Any]) -> Outcome:
    """What another matcher reaches under the rules of `even`."""
    judge, snapshot = given.matcher, given.snapshot
    assert isinstance(judge, Even)
    made = plan_wave(build(name, parameters), snapshot)
    legal, cost = judge.weigh(snapshot, made)
    return Outcome(int(legal.sum()) * snapshot.format.seats, float(cost[legal].sum()))


def matcher(name: str, largest: int, **parameters: Any) -> Opponent:
    """Another matcher as an opponent, which may be behind but not ahead."""
    said = name + "".join(f", {value}" for value in parameters.values() if isinstance(value, str))
    run = partial(by_matcher, name=name, parameters=parameters)
    return Opponent(said, run, largest, agree=never_behind, told=told_outcome)


def unproven(given: Wave, ours: Plan) -> str | None:
    """The plan is a plan, and both its bounds are reached."""
    if (broken := plan_broken(given, ours)) is not None:
        return broken
    told = ours.details
    if told["optimality_gap"] != 0 or told["seats"] != told["seats_bound"]:
        return f"{told['seats']} of {told['seats_bound']} seats, with an optimality gap of {told['optimality_gap']}"
    return None


def best_pairs(given: Solved) -> tuple[int, int]:
    """rustworkx: the most pairs, then the least cost."""
    return pairs_cost(libraries.rustworkx_pairs(given.graph), *given.edges)


def networkx_pairs(given: Solved) -> tuple[int, int]:
    """networkx: the same."""
    return pairs_cost(libraries.networkx_pairs(given.graph), *given.edges)


CONTESTS: Final = (
    Contest(
        "even.graph",
        "most pairs, then least cost, on a given graph: 2-D, 16 nearest; the proof checked",
        (1_000, 5_000, 20_000),
        ladder.graph,
        ladder.matching,
        ladder.same_cost,
        (Opponent(RUSTWORKX, libraries.rustworkx_pairs, 1_000, ("rustworkx",), ladder.in_rustworkx),),
        (Aim("seconds", 0.1, 20_000), Aim("growth", 1.3)),
        quick=(100, 500),
        sound=ladder.proof_broken,
    ),
    Contest(
        "even.windows",
        "one against one under true windows, one wave; proven over all pairs that may meet",
        (300, 1_000, 5_000, 20_000),
        windows_wave,
        plan,
        same_optimum,
        (
            Opponent(RUSTWORKX, best_pairs, 1_000, ("rustworkx",), in_rustworkx, told=told_pairs),
            Opponent(NETWORKX, networkx_pairs, 100, ("networkx",), in_networkx, told=told_pairs),
            Opponent(GREEDY, greedy, 5_000, prepare=edges_of, agree=never_behind, told=told_outcome),
            matcher("first_come", 20_000),
            matcher("buckets", 20_000, bucket=10),
        ),
        (Aim("seconds", 5.0, 20_000), Aim("growth", 1.4)),
        quick=(100, 300),
        sound=unproven,
        told=told,
    ),
    Contest(
        "even.sides",
        "side against side, a third of all flexible, one wave; proven",
        (300, 1_000, 5_000, 20_000),
        sides_wave,
        plan,
        same_optimum,
        (
            Opponent(RUSTWORKX, best_pairs, 1_000, ("rustworkx",), in_rustworkx, told=told_pairs),
            matcher("ladder", 20_000, sides=SIDES),
            matcher("ladder", 5_000, sides=SIDES, solver="optimal"),
        ),
        (Aim("seconds", 5.0, 20_000),),
        quick=(100, 300),
        sound=unproven,
        told=told,
    ),
)
