"""The ladder's contests: its document's stages, and the proven optimum on a graph, under windows, with both sides open.

Ratings are whole numbers, so that everybody's squares and sums are exact.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from evenmatch.bench.contest import Aim, Contest, Opponent
from evenmatch.bench.contests.graphs import admissible, near_graph, pairs_cost
from evenmatch.bench.contests.waiting import Wave, first_difference, plan_broken, random, side_by_side
from evenmatch.bench.opponents import libraries
from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import plan_wave
from evenmatch.matchers.ladder import Ladder
from evenmatch.numerics.matching import Matching, least_cost_matching
from evenmatch.numerics.matching_proof import broken_proof

__all__ = ["CONTESTS"]

PLAIN, RUSTWORKX, NETWORKX, SCIPY = "plain Python", "rustworkx", "networkx", "scipy, dense"
LEMON_S: Final = {5_000: 0.046, 20_000: 0.48}
"""What LEMON, a C++ library, took on another machine; it is no Python package and can't be run beside us."""


def waiting(size: int, seed: int, *, one_sided: float, population: int | None = None) -> Snapshot:
    """Ratings about 1500, few misses; `one_sided` is the share of those who can play one side only, half of them each.

    `population`: so many active players for each who waits; None = not known.
    """
    chance = random(seed, size)
    first = np.rint(chance.normal(1500, 300, size))
    second = np.rint(first + chance.normal(0, 100, size))
    kind = np.where(chance.random(size) < one_sided, np.arange(size) % 2, 2)
    return Snapshot.from_columns(
        ratings={"bw": np.where(kind == 1, np.nan, first), "sc2": np.where(kind == 0, np.nan, second)},
        misses=np.minimum(chance.geometric(0.6, size) - 1, 8),
        waited_ms=chance.integers(0, 120_000, size),
        format=Format(2, 1),
        active_population=None if population is None else population * size,
    )


def plan(given: Wave) -> Plan:
    """Ours: one wave through the contract."""
    return plan_wave(given.matcher, given.snapshot)


# The document's stages.


def document_wave(size: int, seed: int) -> Wave:
    """Four in five can play one side only."""
    return Wave(Ladder(), waiting(size, seed, one_sided=0.8))


def plain_players(given: Wave) -> list[Any]:
    """The players in canonical order, as plain values."""
    from evenmatch.bench.opponents.ladder import Player

    order, facts = given.snapshot.canonical_order(), given.snapshot.facts
    sides = [[None if np.isnan(r) else int(r) for r in facts[f"ratings.{side}"][order]] for side in ("bw", "sc2")]
    columns = zip(*sides, given.snapshot.misses[order].tolist(), strict=True)
    return [Player(place, *player) for place, player in enumerate(columns)]


def plain_wave(given: list[Any]) -> list[tuple[int, int]]:
    """The stages on plain values."""
    from evenmatch.bench.opponents import ladder

    return ladder.wave(given)


def same_pairs(given: Wave, ours: Plan, theirs: list[tuple[int, int]]) -> str | None:
    """The same pairs in the same order."""
    order = given.snapshot.canonical_order()
    return first_difference("matches", side_by_side(ours), order[np.array(theirs, np.int64).reshape(-1, 2)])


# A given graph.


class Graph(NamedTuple):
    """Edges with whole costs."""

    vertices: int
    first: Array
    second: Array
    cost: Array


def graph(size: int, seed: int) -> Graph:
    """Points on a square, each joined to its 16 nearest; squared distances."""
    return Graph(size, *near_graph(random(seed, size).integers(0, 2_000, (size, 2)), 16))


def matching(given: Graph) -> Matching:
    """Ours: the most pairs, then the least cost."""
    return least_cost_matching(*given)


def in_rustworkx(given: Graph) -> Any:
    return libraries.rustworkx_graph(*given)


def in_networkx(given: Graph) -> Any:
    return libraries.networkx_graph(*given[1:])


def same_cost(given: Graph, ours: Matching, theirs: list[tuple[int, int]]) -> str | None:
    """As many pairs at the same total cost: between equal optima nothing is promised."""
    return _same_total((int((ours.mate >= 0).sum()) // 2, ours.cost), pairs_cost(theirs, *given))


def proof_broken(given: Graph, ours: Matching) -> str | None:
    """The proof that comes with the answer, checked by itself."""
    return broken_proof(*given, ours)


def _same_total(ours: tuple[int, int], theirs: tuple[int, int]) -> str | None:
    if ours == theirs:
        return None
    return f"{ours[0]:,} pairs at {ours[1]:,} against {theirs[0]:,} pairs at {theirs[1]:,}"


# True windows.


def windows_wave(size: int, seed: int) -> Wave:
    """Everybody can play one side only; low pressure, so windows of 125 points and 45 more a miss."""
    return Wave(Ladder(solver="optimal"), waiting(size, seed, one_sided=1.0, population=20))


def flexible_wave(size: int, seed: int) -> Wave:
    """Everybody can play both sides: any two may meet, either way round."""
    return Wave(Ladder(solver="optimal"), waiting(size, seed, one_sided=0.0, population=20))


def sides_and_windows(given: Wave) -> tuple[Array, Array, Array]:
    """Ratings on either side, NaN where there is none, and windows of low pressure."""
    facts = given.snapshot.facts
    return facts["ratings.bw"], facts["ratings.sc2"], 125.0 + 45.0 * given.snapshot.misses


def dense(given: tuple[Array, Array, Array]) -> tuple[int, int]:
    """Number of pairs and total squared gap by a dense assignment of one side to the other."""
    first, second, widest = given
    ones, others = np.flatnonzero(~np.isnan(first)), np.flatnonzero(~np.isnan(second))
    gap = np.abs(first[ones][:, None] - second[others])
    fits = gap <= np.maximum(widest[ones][:, None], widest[others])
    gap *= gap
    rows, columns = libraries.scipy_pairs(gap, fits)
    return len(rows), int(gap[rows, columns].sum())


class Solved(NamedTuple):
    """A library's graph, and the edges it was made of."""

    graph: Any
    edges: Graph


def windows_in_rustworkx(given: Wave) -> Solved:
    """All admissible pairs as a graph."""
    edges = Graph(len(given.snapshot), *admissible(*sides_and_windows(given)))
    return Solved(libraries.rustworkx_graph(*edges), edges)


def windows_in_networkx(given: Wave) -> Solved:
    """All admissible pairs as a graph."""
    edges = Graph(len(given.snapshot), *admissible(*sides_and_windows(given)))
    return Solved(libraries.networkx_graph(*edges[1:]), edges)


def by_rustworkx(given: Solved) -> tuple[int, int]:
    return pairs_cost(libraries.rustworkx_pairs(given.graph), *given.edges)


def by_networkx(given: Solved) -> tuple[int, int]:
    return pairs_cost(libraries.networkx_pairs(given.graph), *given.edges)


def same_optimum(_: Wave, ours: Plan, theirs: tuple[int, int]) -> str | None:
    """As many matches with the same total of squared gaps."""
    return _same_total((len(ours.cost), int(ours.cost.sum())), theirs)


def unproven(given: Wave, ours: Plan) -> str | None:
    """The plan is a plan, and its bound is reached."""
    if (broken := plan_broken(given, ours)) is not None:
        return broken
    gap = ours.details["optimality_gap"]
    return None if gap == 0 else f"the optimality gap is {gap}"


CONTESTS: Final = (
    Contest(
        "ladder.document",
        "the document's eight stages, one wave",
        (30, 300, 3_000, 30_000, 300_000),
        document_wave,
        plan,
        same_pairs,
        (Opponent(PLAIN, plain_wave, 3_000, prepare=plain_players),),
        (Aim("ratio", 1_000, 3_000, PLAIN), Aim("seconds", 0.5, 300_000)),
        sound=plan_broken,
    ),
    Contest(
        "ladder.graph",
        "most pairs, then least cost, on a given graph: 2-D, 16 nearest; the proof checked",
        (200, 1_000, 5_000, 20_000),
        graph,
        matching,
        same_cost,
        (
            Opponent(RUSTWORKX, libraries.rustworkx_pairs, 5_000, ("rustworkx",), in_rustworkx),
            Opponent(NETWORKX, libraries.networkx_pairs, 200, ("networkx",), in_networkx),
        ),
        tuple(Aim("seconds", seconds, size) for size, seconds in LEMON_S.items()),
        quick=(100, 500),
        sound=proof_broken,
    ),
    Contest(
        "ladder.windows",
        "the optimum under true windows, one side each, one wave; proven",
        (300, 1_000, 3_000, 20_000),
        windows_wave,
        plan,
        same_optimum,
        (
            Opponent(SCIPY, dense, 3_000, ("scipy",), sides_and_windows),
            Opponent(RUSTWORKX, by_rustworkx, 300, ("rustworkx",), windows_in_rustworkx),
        ),
        (Aim("seconds", 5.0, 20_000),),
        quick=(100, 300),
        sound=unproven,
    ),
    Contest(
        "ladder.flexible",
        "the same where everybody plays both sides: not bipartite; proven",
        (100, 300, 3_000),
        flexible_wave,
        plan,
        same_optimum,
        (
            Opponent(RUSTWORKX, by_rustworkx, 300, ("rustworkx",), windows_in_rustworkx),
            Opponent(NETWORKX, by_networkx, 100, ("networkx",), windows_in_networkx),
        ),
        quick=(50, 200),
        sound=unproven,
    ),
)
