"""Two single players: may they meet, and what does their match cost?

Problem. The exact solver for one against one asks both of very many pairs. The answers must be those of `match_terms`
and of the window rule (`matchers/even_parameters`), to the bit.

Idea. `PairPool` holds a place for every player, in canonical order. Everybody has a rating on the first side, on the
second, or on both (NaN = can't play it); without sides both are the same. Of the two ways round the smaller gap counts,
since a smaller gap keeps every window rule that a wider one keeps, and costs no more.

`least_units` is what a pair of this gap costs at least: all that depends on the gap alone, at the highest doubt there
is. It grows with the gap, so a whole range of ratings can be judged by its nearest end. One unit is taken off, in case
the machine's hyperbolic tangent is not quite monotonic.

Lists of places that must not meet, or met lately, are kept a row a player, sorted.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import FLOAT, INT, INTS, OUT_FLOATS, OUT_FLOATS2, OUT_INTS, bundle, kernel
from .match_terms import UNITS, Weights, doubt_of, imbalance_of, latency_of, units_of

__all__ = [
    "ACCEPTABLE",
    "KEPT_APART",
    "OUT_OF_WINDOW",
    "POOL",
    "TOO_FAR",
    "PairPool",
    "all_pairs",
    "costs_of",
    "gap_between",
    "least_units",
    "may_meet",
    "most_units",
    "pool_of",
    "units_between",
    "why_alone",
]

MEAN, OLDER, BOTH = range(3)
"""Whose window counts: the mean of both, that of the earlier place, the narrower."""
OUT_OF_WINDOW, TOO_FAR, KEPT_APART, ACCEPTABLE = range(4)
"""What keeps everybody from a place, the last that applies."""
PLAYERS: Final = 2
_ANYWHERE: Final = -1


class PairPool(NamedTuple):
    """Single players by place, in canonical order, and the rules between them."""

    first: Array
    """float64[n]"""
    second: Array
    window: Array
    variance: Array
    """float64[n]: sigma squared."""
    latency: Array
    """float64[n, regions]: milliseconds; inf = not told; no regions = nobody tells any."""
    reach: Array
    """int64[n]: regions as bits; two must share one."""
    apart_start: Array
    """int64[n + 1]"""
    apart: Array
    """int64: the places that each must not meet, ascending, from `apart_start` on."""
    met_start: Array
    met: Array
    """int64: the places that each met lately."""
    weights: Array
    """float64[7]"""
    policy: int
    scale: float
    variance_most: float
    """No two players have more together."""


POOL: Final = bundle(
    PairPool,
    *(OUT_FLOATS, OUT_FLOATS, OUT_FLOATS, OUT_FLOATS, OUT_FLOATS2, OUT_INTS, OUT_INTS, OUT_INTS, OUT_INTS, OUT_INTS),
    *(OUT_FLOATS, INT, FLOAT, FLOAT),
)
"""Its arrays are copies of its own: a bundle can't be both of frozen arrays and of others."""


def pool_of(
    first: Array,
    second: Array,
    window: Array,
    *,
    sigma: Array,
    latency: Array,
    reach: Array,
    apart: Array,
    met: Array,
    weights: Weights,
    policy: int,
    scale: float,
) -> PairPool:
    """A pool from columns by place, and pairs of places int64[k, 2]; `reach` may be empty."""
    count = len(first)
    one = np.array(first, np.float64, order="C")
    variance = np.array(sigma, np.float64, order="C") ** 2
    return PairPool(
        one,
        one if second is first else np.array(second, np.float64, order="C"),
        np.array(window, np.float64, order="C"),
        variance,
        np.array(latency, np.float64, order="C"),
        np.array(reach, np.int64, order="C") if len(reach) else np.full(count, _ANYWHERE, np.int64),
        *_rows_of(apart, count),
        *_rows_of(met, count),
        weights.array,
        policy,
        float(scale),
        2.0 * float(variance.max(initial=0.0)),
    )


def _rows_of(pairs: Array, count: int) -> tuple[Array, Array]:
    """A row for each place with those it is paired with, both ways round."""
    both = np.concatenate([pairs, pairs[:, ::-1]]) if len(pairs) else np.empty((0, 2), np.int64)
    keys = np.unique(both[:, 0] * max(count, 1) + both[:, 1])
    start = np.searchsorted(keys, np.arange(count + 1) * max(count, 1)).astype(np.int64)
    return start, (keys % max(count, 1)).astype(np.int64)


@kernel()
def _listed(start: Any, places: Any, u: int, v: int) -> bool:
    """Whether v stands in the row of u."""
    low, high = start[u], start[u + 1]
    while low < high:
        middle = (low + high) >> 1
        if places[middle] < v:
            low = middle + 1
        else:
            high = middle
    return bool(low < start[u + 1] and places[low] == v)


@kernel()
def gap_between(pool: Any, u: int, v: int) -> float:
    """The smaller gap of the two ways round; NaN if there is none."""
    one, other = abs(pool.first[u] - pool.second[v]), abs(pool.second[u] - pool.first[v])
    return float(one) if one <= other or other != other else float(other)


@kernel()
def _best_ms(pool: Any, u: int, v: int) -> float:
    """The worse latency of both in the region that is best for them; inf = no region, 0 = nobody tells any."""
    regions = pool.latency.shape[1]
    if regions == 0:
        return 0.0
    best, shared = np.inf, pool.reach[u] & pool.reach[v]
    for region in range(regions):
        if (shared >> region) & 1:
            best = min(best, max(0.0, pool.latency[u, region], pool.latency[v, region]))
    return float(best)


@kernel()
def _within(pool: Any, u: int, v: int, gap: float) -> bool:
    """Whether the gap of two places keeps the window rule."""
    if pool.policy == MEAN:
        window = 0.5 * (pool.window[u] + pool.window[v])
    elif pool.policy == OLDER:
        window = pool.window[min(u, v)]
    else:
        window = min(pool.window[u], pool.window[v])
    return bool(gap <= window)


@kernel()
def may_meet(pool: Any, u: int, v: int, gap: float) -> bool:
    """Whether two different places keep all rules between two, at their gap."""
    if (pool.reach[u] & pool.reach[v]) == 0 or not _within(pool, u, v, gap):
        return False
    return not _listed(pool.apart_start, pool.apart, u, v)


@kernel(POOL, INTS)
def why_alone(pool: Any, places: Any) -> Any:
    """int64: what keeps everybody from each of these places; `ACCEPTABLE` = it may meet somebody."""
    why = np.empty(len(places), np.int64)
    for at in range(len(places)):
        u = places[at]
        why[at] = OUT_OF_WINDOW
        for v in range(len(pool.first)):
            if v == u or not _within(pool, u, v, gap_between(pool, u, v)):
                continue
            if _listed(pool.apart_start, pool.apart, u, v):
                why[at] = max(why[at], KEPT_APART)
            elif (pool.reach[u] & pool.reach[v]) == 0:
                why[at] = max(why[at], TOO_FAR)
            else:
                why[at] = ACCEPTABLE
                break
    return why


@kernel()
def _of_gap(pool: Any, gap: float, variance: float) -> float:
    """The part of the cost that hangs on the gap: terms are added in the order of `TERMS`."""
    total = 0.0 + pool.weights[0] * (gap / pool.scale)
    total += pool.weights[1] * imbalance_of(gap, doubt_of(variance, pool.scale), PLAYERS, pool.scale)
    return float(total + pool.weights[2] * (PLAYERS * gap / pool.scale))


@kernel()
def units_between(pool: Any, u: int, v: int, gap: float) -> int:
    """What the match of two places costs, in whole units."""
    total = _of_gap(pool, gap, pool.variance[u] + pool.variance[v])
    total += pool.weights[3] * latency_of(_best_ms(pool, u, v), PLAYERS)
    if _listed(pool.met_start, pool.met, u, v):
        total += pool.weights[6]
    return units_of(total)


@kernel()
def least_units(pool: Any, gap: float) -> int:
    """What any match of two with this gap or a wider one costs at least."""
    return max(units_of(_of_gap(pool, gap, pool.variance_most)) - 1, 0)


@kernel(POOL)
def all_pairs(pool: Any) -> Any:
    """All pairs that may meet, in ascending order, and what they cost, int64 each; for few players."""
    count = len(pool.first)
    earlier, later = np.empty(count * (count - 1) // 2, np.int64), np.empty(count * (count - 1) // 2, np.int64)
    cost, found = np.empty(len(earlier), np.int64), 0
    for u in range(count):
        for v in range(u + 1, count):
            gap = gap_between(pool, u, v)
            if may_meet(pool, u, v, gap):
                earlier[found], later[found], cost[found] = u, v, units_between(pool, u, v, gap)
                found += 1
    return earlier[:found].copy(), later[:found].copy(), cost[:found].copy()


@kernel(POOL, INTS, INTS)
def costs_of(pool: Any, u: Any, v: Any) -> Any:
    """int64: what the match of each pair costs."""
    cost = np.empty(len(u), np.int64)
    for at in range(len(u)):
        cost[at] = units_between(pool, u[at], v[at], gap_between(pool, u[at], v[at]))
    return cost


def most_units(pool: PairPool) -> int:
    """No pair that may meet costs more."""
    ratings = np.concatenate([pool.first, pool.second])
    ratings = ratings[ratings == ratings]
    if not len(ratings):
        return 0
    gap = min(float(ratings.max() - ratings.min()), float(pool.window.max()))
    known = pool.latency[np.isfinite(pool.latency)]
    slowest = 1000.0 if known.size < pool.latency.size else min(1000.0, float(known.max(initial=0.0)))
    spread, imbalance, distribution, latency, _, _, repeat = pool.weights.tolist()
    total = (spread + PLAYERS * distribution) * gap / pool.scale + PLAYERS * imbalance
    total += latency * PLAYERS * slowest / 100.0 + (repeat if len(pool.met) else 0.0)
    return math.ceil(float(total) * UNITS) + 1
