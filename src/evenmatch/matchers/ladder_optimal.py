"""The ladder's other solver: as many matches as there can be, then the least total squared gap, proven.

Problem. The document fixes a side for every flexible player before it looks for opponents, filters by priority before
it looks at windows, and takes pairs greedily; each of these can cost matches. Here a flexible player is on whichever
side suits, so any two of them may meet: the graph of acceptable pairs is not bipartite.

Idea. An edge for every two tickets of which one can play the first side and the other the second, within the window
rule ("either": the wider of both windows, "both": the narrower; no side leads). Of the two ways round, the smaller gap
counts; on equal gaps the earlier ticket plays the first side. If the wider way round is acceptable, so is the smaller,
so nothing is lost. `numerics.matching` does the rest.

Exactness. A gap is a float and therefore a whole number of some power of a half. All gaps are counted in the smallest
such unit that occurs, so squares and sums are whole numbers and nothing is rounded, however odd the ratings are.

Complexity. All pairs once, by vectors; then that of `numerics.matching`.
"""

from typing import NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.matchers.ladder_stages import window_rule
from evenmatch.numerics.matching import least_cost_matching

__all__ = ["Optimum", "acceptable_pairs", "best_pairs"]


class Optimum(NamedTuple):
    """The best pairs, by their earlier ticket, and what is proven of them."""

    first: Array
    """int64[k]: the place that plays the first side."""
    second: Array
    """int64[k]: the place that plays the second side."""
    has_opponent: Array
    """bool[n]: somebody acceptable is there, taken or not."""
    candidates: int
    """How many pairs are acceptable."""
    bound: float
    """No plan with as many matches has a lower total of squared gaps."""
    optimality_gap: float
    """How far this plan's total is above that."""


class Pairs(NamedTuple):
    """Acceptable pairs, earlier place first, by (earlier, later)."""

    earlier: Array
    later: Array
    gap: Array
    earlier_first: Array
    """bool: the earlier ticket plays the first side."""


def acceptable_pairs(first: Array, second: Array, widest: Array, *, window_of: str = "either") -> Pairs:
    """All pairs within the window rule; `first`, `second` and `widest`, float64[n]: ratings on each side, windows."""
    found = []
    for place in range(len(first) - 1):
        others = slice(place + 1, None)
        one_way, other_way = np.abs(first[place] - second[others]), np.abs(second[place] - first[others])
        gap = np.fmin(one_way, other_way)  # NaN only where neither way round can be played
        near = np.flatnonzero(gap <= window_rule(window_of, widest[place], widest[others]))
        # Not "one_way <= other_way", which is false where the other way round can't be played.
        found.append((np.full(len(near), place), near + place + 1, gap[near], one_way[near] == gap[near]))
    if not found:
        nothing = np.empty(0, np.int64)
        return Pairs(nothing, nothing, np.empty(0), np.empty(0, bool))
    earlier, later, gap, earlier_first = (np.concatenate(column) for column in zip(*found, strict=True))
    return Pairs(earlier, later, gap, earlier_first)


def best_pairs(first: Array, second: Array, widest: Array, *, window_of: str = "either") -> Optimum:
    """The most matches, then the least total squared gap, over places in canonical order."""
    pairs = acceptable_pairs(first, second, widest, window_of=window_of)
    ratios = [gap.as_integer_ratio() for gap in pairs.gap.tolist()]
    unit = max([below for _, below in ratios], default=1)
    costs = [(above * (unit // below)) ** 2 for above, below in ratios]
    edges = list(zip(pairs.earlier.tolist(), pairs.later.tolist(), costs, strict=True))
    best = least_cost_matching(len(first), edges)
    mate = np.array(best.mate, np.int64)
    chosen = mate[pairs.earlier] == pairs.later
    earlier, later, earlier_first = pairs.earlier[chosen], pairs.later[chosen], pairs.earlier_first[chosen]
    has_opponent = np.zeros(len(first), bool)
    has_opponent[pairs.earlier] = True
    has_opponent[pairs.later] = True
    return Optimum(
        first=np.where(earlier_first, earlier, later),
        second=np.where(earlier_first, later, earlier),
        has_opponent=has_opponent,
        candidates=len(edges),
        bound=best.bound / unit**2,
        optimality_gap=(best.cost - best.bound) / unit**2,
    )
