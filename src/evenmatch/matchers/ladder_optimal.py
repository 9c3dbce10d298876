"""The ladder's other solver: as many matches as there can be, then the least total squared gap, proven.

Problem. The document fixes a side for every flexible player before it looks for opponents, filters by priority before
it looks at windows, and takes pairs greedily; each of these can cost matches. Here a flexible player is on whichever
side suits, so any two of them may meet: the graph of acceptable pairs is not bipartite.

Idea. Two tickets may meet if one can play the first side and the other the second, within the window rule ("either":
the wider of both windows, "both": the narrower; no side leads). Of the two ways round, the smaller gap counts; on equal
gaps the earlier ticket plays the first side. If the wider way round is acceptable, so is the smaller, so nothing is
lost. Up to `LISTED_MAX` tickets all pairs are listed for `numerics.matching`; beyond that `numerics.window_matching`
solves for a few of them and proves that no other would help.

Exactness. A gap is a float and therefore a whole number of some power of a half. Where all squares fit in 64 bits, as
with whole ratings, costs are exact. Otherwise they are rounded to as much as fits, and `numerics.near_ties` decides
with numbers of any size between plans that rounding can't tell apart. Only if more than `OPEN_MAX` pairs are then
still in question (thousands of players with almost equal gaps) the rounded optimum stands, and the optimality gap says
what that may cost at most: a millionth part of a squared point for each match.

Complexity. That of `numerics.matching` on some twenty pairs for each ticket, several times over, and a look at each
acceptable pair to count them. Slowest where one side is so short that most matches need the widest gaps.
"""

from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.acceptable_pairs import Money, Side, all_pairs, count_pairs, money_for, weigh
from evenmatch.numerics.matching import heaviest
from evenmatch.numerics.matching_proof import shared_duals
from evenmatch.numerics.near_ties import resolve
from evenmatch.numerics.window_matching import match_in_windows
from evenmatch.numerics.window_pricing import underpriced

__all__ = ["LISTED_MAX", "OPEN_MAX", "Optimum", "best_pairs"]

LISTED_MAX: Final = 150
"""Tickets of which all pairs are listed."""
OPEN_MAX: Final = 20_000
"""Pairs that are decided with numbers of any size, at most."""
_ERROR: Final = 2
"""How far a rounded cost may be off."""
_TIES: Final = 64


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


class _Solved(NamedTuple):
    """The best pairs by whole costs, and the pairs in question where these are rounded."""

    mate: Array
    price: Array
    money: Money
    has_opponent: Array
    candidates: int
    near_first: Array
    near_second: Array
    all_near: bool


def best_pairs(first: Array, second: Array, widest: Array, *, window_of: str = "either") -> Optimum:
    """The most matches, then the least total squared gap, over places in canonical order.

    `first`, `second` and `widest`, float64[n]: ratings on each side, NaN = can't play it, and windows.
    """
    solve = _listed if len(first) <= LISTED_MAX else _priced
    solved = solve(first, second, widest, window_of == "either")
    mate = solved.mate
    exact = solved.money.exact
    if not exact and solved.all_near:
        must = solved.price > _tolerance(mate)
        decided = resolve(
            *(solved.near_first, solved.near_second, must),
            lambda u, v: _squares(_gaps(first, second, u, v))[0],
            most=OPEN_MAX,
        )
        if decided is not None:
            assert (decided >= 0).sum() == (mate >= 0).sum()
            mate, exact = decided, True
    earlier = np.flatnonzero(mate > np.arange(len(mate)))
    later = mate[earlier]
    gap = _gaps(first, second, earlier, later)
    # Not "one way <= other way", which is false where the other way round can't be played.
    earlier_first = np.abs(first[earlier] - second[later]) == gap
    squares, unit = _squares(gap)
    total = sum(squares) / unit
    slack = 0.0 if exact else min(total, 2 * _ERROR * len(gap) / solved.money.scale**2)
    return Optimum(
        first=np.where(earlier_first, earlier, later),
        second=np.where(earlier_first, later, earlier),
        has_opponent=solved.has_opponent,
        candidates=solved.candidates,
        bound=total - slack,
        optimality_gap=slack,
    )


def _listed(first: Array, second: Array, widest: Array, either: bool) -> _Solved:
    count = len(first)
    u, v, gap = all_pairs(first, second, widest, either)
    money = money_for(count, first, second, float(gap.max(initial=0)))
    weight = weigh(first, second, u, v, *money)
    mate, price, holder, dual = heaviest(count, u, v, weight)
    has_opponent = np.zeros(count, bool)
    has_opponent[u] = True
    has_opponent[v] = True
    if money.exact:
        return _Solved(mate, price, money, has_opponent, len(u), u, v, True)
    slack = price[u] + price[v] - weight
    if len(dual):
        slack += shared_duals(count, holder, dual, u, v)
    near = slack <= _tolerance(mate)
    return _Solved(mate, price, money, has_opponent, len(u), u[near], v[near], True)


def _priced(first: Array, second: Array, widest: Array, either: bool) -> _Solved:
    count = len(first)
    sides = Side.of(first, second, widest), Side.of(second, first, widest)
    money = money_for(count, first, second, _widest_gap(sides, float(widest.max())))
    solution = match_in_windows(first, second, widest, money, either=either)
    candidates, has_opponent = count_pairs(*sides, count, either=either)
    near = np.empty(0, np.int64), np.empty(0, np.int64), True
    if not money.exact:
        limit = _tolerance(solution[0]) + 1
        near = underpriced(*sides, money, solution, either=either, limit=limit, keep=_TIES)
    return _Solved(solution[0], solution[1], money, has_opponent, candidates, *near)


def _widest_gap(sides: tuple[Side, Side], widest: float) -> float:
    """A gap that no acceptable pair exceeds."""
    ends = [side.rating[end] for side in sides if len(side.rating) for end in (0, -1)]
    return min(widest, float(max(ends) - min(ends))) if ends else 0.0


def _tolerance(mate: Array) -> int:
    """No pair of a truly best plan has a slack above this, and nobody whom it leaves single a price."""
    return 4 * _ERROR * (int((mate >= 0).sum()) // 2)


def _gaps(first: Array, second: Array, u: Array, v: Array) -> Array:
    """float64: the smaller gap of the two ways round."""
    gap: Array = np.fmin(np.abs(first[u] - second[v]), np.abs(second[u] - first[v]))
    return gap


def _squares(gap: Array) -> tuple[list[int], int]:
    """The squared gaps as whole numbers of one unit, and how many units are 1."""
    ratios = [each.as_integer_ratio() for each in gap.tolist()]
    unit = max([below for _, below in ratios], default=1)
    return [(above * (unit // below)) ** 2 for above, below in ratios], unit**2
