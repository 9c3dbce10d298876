"""The best pairs of single players under the rules of a `PairPool`: exact, and proven among all pairs.

Problem. Everybody has a worth, a whole number; a pair weighs twice the worth of both less its cost. Wanted is the
matching of the greatest weight over all pairs that may meet: tens of millions of them at 20,000 players. With the
worths of `worth_of` that is: the most pairs, then the highest levels, then the least cost, strictly in this order.

Idea. Up to `LISTED_MAX` players all pairs are listed. Beyond that the problem is solved for a few pairs of each player,
the core, and prices judge all the others (`pair_pricing`): the underpriced are added, and the search goes on from where
it was, until none is left. Then the prices prove the matching best among all pairs.

The core is the nearest pairs and those that look best at prices guessed from a sample: every third player of each kind,
solved in the same way. Prices less worths are a smooth function of the rating among players of one kind (which sides,
which regions, how wide a window), so the few tell the prices of the many. Guesses cost or save time and nothing else.

Worths. With C no less than any cost, k no less than the number of pairs and L the sum of all levels:

    B = k * C + 1                     one level more outweighs any costs
    A = L * B + 2 * (k + 1) * C + 2   one pair more outweighs any levels and costs
    worth = A / 2 + B * level

The proof. `PairPlan.bound` is the dual: no matching weighs more. It equals the weight found, unless the work allowed
was used up before: then the bound is the prices with all that they may lack (`Judged.short`), and the matching is the
best for the pairs that were looked at. Work is counted in pairs weighed, so that the same pool gives the same answer.
"""

from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import NONE, Array

from .matching import WEIGHT_MAX, GrowingMatching, dual_total, heaviest, total
from .pair_pool import PairPool, all_pairs, costs_of, most_units
from .pair_pricing import ALL, Solution, lines_of, near_pairs, underpriced

__all__ = ["LISTED_MAX", "PairPlan", "best_pairs", "most_pairs", "worth_of"]

LISTED_MAX: Final = 150
"""Players of whom all pairs are listed."""
SAMPLE: Final = 3
"""A sample is one player in so many."""
FEW: Final = 400
"""Players for whom no sample is asked."""
CLASSES: Final = 8
"""Classes of windows that a sample tells apart, at most."""
NEAR: Final = 2
FAR: Final = 6
"""Pairs of the core to ever farther players, where no sample tells which."""
BEST: Final = 24
"""Pairs of the core that look best at the prices of the sample."""
KEPT: Final = 4
"""Underpriced pairs that each player adds in a round, at most."""
SHARES: Final = 8
"""Nobody weighs more than so many shares of the work allowed."""
LOOK_LEAST: Final = 64
"""Everybody may weigh so many pairs, however little work is allowed."""
_ANY: Final = 2**61


class PairPlan(NamedTuple):
    """The best pairs, and the proof."""

    mate: Array
    """int64[n]: the partner of each place, -1 = none."""
    units: int
    """What all pairs cost, in whole units."""
    weight: int
    """What they weigh."""
    bound: int
    """No matching weighs more; equal to `weight` where there was work enough."""
    priced: int
    """Pairs that the solver was given."""
    rounds: int
    """How often all pairs were judged; 0 = all were listed."""
    work: int
    """Pairs that were weighed while judging."""


def worth_of(level: Array, pool: PairPool, own: Array = NONE) -> Array:
    """int64[n]: the worth of each place, from whole levels, 0 or more.

    With `own`, int64[n], units that each place is worth by itself, a pair more is worth nothing but that: A is 0.
    Levels that do not fit in 64 bits together with the costs are made fewer; where even one does not fit, the earlier
    half of those who have it keeps it, and so on.
    """
    cost, pairs = most_units(pool), len(level) // 2 + 1
    most = int(own.max(initial=0))
    one = pairs * (cost + 2 * most) + 1
    while True:
        levels = int(level.max(initial=0))
        half = 0 if len(own) else int(level.sum()) * one // 2 + (pairs + 1) * cost + 1
        if 4 * (half + most + levels * one) <= WEIGHT_MAX:
            worth: Array = half + one * level
            return worth + own if len(own) else worth
        if not levels:
            raise ValueError(f"costs of up to {cost} units are too much for {len(level)} players")
        if levels > 1:
            level = (level + 1) // 2
        else:
            level = level.copy()
            (having,) = np.nonzero(level)
            level[having[len(having) // 2 :]] = 0


def most_pairs(pool: PairPool, worth: Array, bound: int) -> int:
    """No matching has more pairs, if none weighs more than `bound`; `worth` as `worth_of` makes it without `own`."""
    if len(worth) < 2:
        return 0
    least = 2 * (2 * int(worth.min()) - most_units(pool))
    return min(len(worth) // 2, bound // least)


class _Priced(NamedTuple):
    """What came of solving and judging again and again."""

    solution: Solution
    given: int
    rounds: int
    short: int
    work: int


def best_pairs(pool: PairPool, worth: Array, work: int = ALL) -> PairPlan:
    """The matching of the greatest weight; `worth`, int64[n]; `work`: pairs that may be weighed while judging."""
    if len(worth) <= LISTED_MAX:
        u, v, cost = all_pairs(pool)
        weight = 2 * (worth[u] + worth[v] - cost)
        good = weight > 0
        u, v, cost, weight = u[good], v[good], cost[good], weight[good]
        found = _Priced(heaviest(len(worth), u, v, weight), len(u), 0, 0, 0)
    else:
        found = _priced(pool, worth, work)
    solution, given, rounds, short, spent = found
    mate, price, holder, dual = solution
    earlier = np.flatnonzero(mate > np.arange(len(mate)))
    paid = costs_of(pool, earlier, mate[earlier])
    won = total(2 * (worth[earlier] + worth[mate[earlier]] - paid))
    bound = dual_total(len(worth), price, holder, dual) + short
    return PairPlan(mate, total(paid), won, bound, given, rounds, spent)


def _priced(pool: PairPool, worth: Array, work: int) -> _Priced:
    count, lines, spent = len(worth), lines_of(pool), 0
    guess = NONE
    if count > FEW:
        guess, spent = _guess(pool, worth, work // 4)
    u, v = near_pairs(pool, lines, NEAR, 0 if len(guess) else FAR)
    if len(guess):
        alone = np.full(count, -1, np.int64)
        best = (alone, guess, alone, NONE)
        w, x, _, more = underpriced(pool, lines, worth, best, limit=_ANY, keep=BEST, most=_each(work // 4, count))
        spent += more
        keys = np.unique(np.concatenate([np.minimum(u, v) * count + np.maximum(u, v), w * count + x]))
        u, v = keys // count, keys % count
    weight = _weigh(pool, worth, u, v)
    good = weight > 0
    growing = GrowingMatching(count, u[good], v[good], weight[good], guess)
    rounds = 0
    while True:
        solution = growing.solution()
        rounds += 1
        u, v, short, more = underpriced(
            pool, lines, worth, solution, keep=KEPT, most=_each(max(work - spent, work // 4), count)
        )
        spent += more
        if not len(u) or spent >= work:
            return _Priced(solution, len(growing.first), rounds, short, spent)
        growing.add(u, v, _weigh(pool, worth, u, v))


def _each(work: int, count: int) -> int:
    """How many pairs everybody may weigh: few need more than their share, and they need much more."""
    return max(SHARES * work // count, LOOK_LEAST)


def _weigh(pool: PairPool, worth: Array, u: Array, v: Array) -> Array:
    weight: Array = 2 * (worth[u] + worth[v] - costs_of(pool, u, v))
    return weight


def _guess(pool: PairPool, worth: Array, work: int) -> tuple[Array, int]:
    """int64[n]: the price of everybody, as a sample tells it; and the work that it took."""
    rating = np.where(np.isnan(pool.first), pool.second, pool.first)
    order = np.argsort(rating, kind="stable")
    kind = _kinds(pool)[order]
    groups = [order[kind == each] for each in range(int(kind.max()) + 1)]
    sample = np.sort(np.concatenate([group[1::SAMPLE] for group in groups]))
    (_, price, holder, dual), spent = _solved(_part(pool, sample), worth[sample], work)
    rest = np.empty(len(worth))
    rest[sample] = price + _half_duals(len(sample), holder, dual) - 2 * worth[sample]
    guess = np.zeros(len(worth))
    for group in groups:
        known = group[1::SAMPLE]
        if len(known):
            guess[group] = np.interp(rating[group], rating[known], rest[known]) + 2 * worth[group]
    return guess.clip(0, _ANY).astype(np.int64), spent


def _solved(pool: PairPool, worth: Array, work: int) -> tuple[Solution, int]:
    if len(worth) > LISTED_MAX:
        found = _priced(pool, worth, work)
        return found.solution, found.work
    u, v, cost = all_pairs(pool)
    weight = 2 * (worth[u] + worth[v] - cost)
    good = weight > 0
    return heaviest(len(worth), u[good], v[good], weight[good]), 0


def _kinds(pool: PairPool) -> Array:
    """int64[n]: players of one kind play the same sides in the same regions, with windows of about one width."""
    marks = np.unique(pool.window)
    if len(marks) > CLASSES:
        marks = np.unique(np.quantile(pool.window, np.arange(CLASSES) / CLASSES, method="lower"))
    window = np.searchsorted(marks, pool.window, "right") - 1
    sides = np.isnan(pool.first) + 2 * np.isnan(pool.second)
    _, kind = np.unique(np.column_stack([window, sides, pool.reach]), axis=0, return_inverse=True)
    return kind.ravel()


def _part(pool: PairPool, places: Array) -> PairPool:
    """The pool of these places, ascending; who must not meet, or met, is left out: it only serves a guess."""
    first = pool.first[places]
    second = first if pool.second is pool.first else pool.second[places]
    nobody, none = np.zeros(len(places) + 1, np.int64), np.empty(0, np.int64)
    return pool._replace(
        first=first,
        second=second,
        window=pool.window[places],
        variance=pool.variance[places],
        latency=pool.latency[places],
        reach=pool.reach[places],
        apart_start=nobody,
        apart=none,
        met_start=nobody,
        met=none,
    )


def _half_duals(count: int, holder: Array, dual: Array) -> Array:
    """int64[count]: half of what the blossoms that hold each vertex add to the price of pairs within them."""
    sums = np.append(dual, 0)
    for blossom in range(len(dual) - 1, -1, -1):
        above = int(holder[count + blossom])
        if above >= 0:
            sums[blossom] += sums[above - count]
    return sums[np.where(holder[:count] >= 0, holder[:count] - count, len(dual))] // 2
