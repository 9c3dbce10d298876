"""Pairs of players of two sides whose gap keeps a window rule: listed, counted, the nearest of them, the underpriced.

Problem. Everybody has a rating on the first side, on the second, or on both, and a window. Two players may meet if one
plays the first side and the other the second with a gap within the rule: "either" = the wider window, "both" = the
narrower. Of the two ways round the smaller gap counts. At 20,000 players that is tens of millions of pairs.

Idea. `Side` keeps the players of one side sorted by rating, so that all who are within somebody's window there stand
together. A way round, u first and v second, is within u's window or within v's ("either") or both, so looking from each
player of each side over his own window sees every pair, and no more than twice as many in all.

Pricing. `underpriced` compares each pair with prices that `matching` found without it. Players stand in blocks of
`BLOCK` with the least price of each, and a block is passed over if even that, at the least gap to the block, is enough:
a few pairs in a thousand are looked at, yet all are proven.

Costs. The squared gap in whole numbers, int((gap * scale)^2) with `scale` a power of two. It is exact where all ratings
are whole numbers of 1 / scale (`Money.exact`), and at most 2 off otherwise.

Complexity. `count_pairs` looks at every pair, at some hundred millions a second; the others at few.
"""

import math
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import BOOL, FLOAT, FLOATS, INT, INTS, OUT_INTS2, kernel
from evenmatch.numerics.threads import in_parts

__all__ = ["Money", "Side", "all_pairs", "count_pairs", "money_for", "pair_cost", "weigh", "windows_over"]

_WEIGHT_BITS: Final = 57
_FLOAT_BITS: Final = 50


class Side(NamedTuple):
    """The players of one side, by their rating there, then by place."""

    place: Array
    """int64[k]."""
    rating: Array
    """float64[k]: ascending."""
    other: Array
    """float64[k]: their ratings on the other side, NaN = none."""
    window: Array
    """float64[k]."""

    @classmethod
    def of(cls, rating: Array, other: Array, window: Array) -> "Side":
        """Of all players, float64[n] each; those without a rating are left out."""
        place = np.argsort(rating, kind="stable")[: int((rating == rating).sum())]
        return cls(place, rating[place], other[place], window[place])


class Money(NamedTuple):
    """How a gap becomes a whole cost, and a cost a weight: 2 * (most - cost)."""

    scale: float
    exact: bool
    most: int


@kernel(FLOATS)
def _grid(ratings: Any) -> int:
    """The least q such that all ratings are whole multiples of 2^-q; 64 if that is more than 40."""
    finest = 0
    unit = 1.0
    for rating in ratings:
        if rating != rating:
            continue
        while rating * unit != math.floor(rating * unit):
            unit *= 2
            finest += 1
            if finest > 40:
                return 64
    return finest


def money_for(count: int, first: Array, second: Array, widest: float) -> Money:
    """The finest costs that fit for gaps up to `widest`."""
    pairs = max(count // 2, 1)
    grid = max(_grid(first), _grid(second))
    if not widest:
        return Money(1.0, True, 1)
    if grid <= 40 and 2 * (math.log2(widest) + grid) + math.log2(pairs) < _WEIGHT_BITS - 1:
        scale = 2.0**grid
        return Money(scale, True, int(widest * scale) ** 2 * pairs + 1)
    bits = min(_WEIGHT_BITS - 1 - math.log2(pairs), _FLOAT_BITS)
    scale = 2.0 ** math.floor(bits / 2 - math.log2(widest))
    return Money(scale, False, (int((widest * scale) ** 2) + 1) * pairs + 1)


@kernel()
def pair_cost(gap: float, scale: float, exact: bool) -> int:
    """The squared gap as a whole number."""
    units = gap * scale
    if exact:
        whole = int(units)
        return whole * whole
    return int(units * units)


@kernel()
def _gap(first: Any, second: Any, u: int, v: int) -> float:
    """The smaller gap of the two ways round; NaN if there is none."""
    one, other = abs(first[u] - second[v]), abs(second[u] - first[v])
    return float(one) if one <= other or other != other else float(other)


@kernel()
def _rule(either: bool, one: float, other: float) -> float:
    return max(one, other) if either else min(one, other)


@kernel(FLOATS, FLOATS, FLOATS, BOOL)
def all_pairs(first: Any, second: Any, window: Any, either: bool) -> Any:
    """All pairs in ascending order, for few players: (earlier, later, gap)."""
    count = len(first)
    earlier, later = np.empty(count * (count - 1) // 2, np.int64), np.empty(count * (count - 1) // 2, np.int64)
    gaps = np.empty(len(earlier))
    found = 0
    for u in range(count):
        for v in range(u + 1, count):
            gap = _gap(first, second, u, v)
            if gap <= _rule(either, window[u], window[v]):
                earlier[found], later[found], gaps[found] = u, v, gap
                found += 1
    return earlier[:found].copy(), later[:found].copy(), gaps[:found].copy()


@kernel(FLOATS, FLOATS, INTS, INTS, FLOAT, BOOL, INT)
def weigh(first: Any, second: Any, u: Any, v: Any, scale: float, exact: bool, most: int) -> Any:
    """int64: the weight of each pair of places."""
    weight = np.empty(len(u), np.int64)
    for at in range(len(u)):
        weight[at] = 2 * (most - pair_cost(_gap(first, second, u[at], v[at]), scale, exact))
    return weight


@kernel(FLOATS, FLOATS, FLOATS)
def windows_over(rating: Any, window: Any, far: Any) -> Any:
    """Where on the far side (ascending) each player's window begins and ends: all there with |gap| <= window."""
    low, high = np.empty(len(rating), np.int64), np.empty(len(rating), np.int64)
    for at in range(len(rating)):
        # Differences are asked for as the gaps are, since a rounded rating + window may say otherwise.
        begin, end = 0, len(far)
        while begin < end:
            middle = (begin + end) >> 1
            if rating[at] - far[middle] <= window[at]:
                end = middle
            else:
                begin = middle + 1
        low[at] = begin
        end = len(far)
        while begin < end:
            middle = (begin + end) >> 1
            if far[middle] - rating[at] > window[at]:
                end = middle
            else:
                begin = middle + 1
        high[at] = begin
    return low, high


@kernel(FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, INTS, INTS, BOOL, BOOL, OUT_INTS2, INT, INT)
def _count(
    rating: Any,
    other: Any,
    window: Any,
    far_rating: Any,
    far_other: Any,
    far_window: Any,
    low: Any,
    high: Any,
    either: bool,
    again: bool,
    found: Any,
    begin: int,
    end: int,
) -> None:
    """For each player of a side: ways round within his window; those that count, and of these also the other way round.

    Only those count `again` that are not within the far window.
    """
    for at in range(begin, end):
        mine, own, reach = rating[at], other[at], window[at]
        ways = counted = returns = 0
        for to in range(low[at], high[at]):
            far_reach = far_window[to]
            within = abs(far_rating[to] - mine) <= far_reach
            counts = not within if again else (either or within)
            ways += either or within
            counted += counts
            returns += counts and abs(far_other[to] - own) <= (
                max(reach, far_reach) if either else min(reach, far_reach)
            )
        if abs(own - mine) <= reach:
            # Nobody meets himself.
            ways -= 1
            counted -= not again
            returns -= not again
        found[at, 0], found[at, 1], found[at, 2] = ways, counted, returns


def count_pairs(first: Side, second: Side, count: int, *, either: bool) -> tuple[int, Array]:
    """How many pairs keep the window rule, and bool[count]: who of all players is in one of them."""
    sides, seen = (first, second), []
    has_one = np.zeros(count, bool)
    for again, (side, far) in enumerate((sides, sides[::-1])):
        low, high = windows_over(side.rating, side.window, far.rating)
        found = np.empty((len(side.place), 3), np.int64)

        given: Any = (
            *(side.rating, side.other, side.window, far.rating, far.other, far.window),
            *(low, high, either, bool(again) and either, found),
        )
        in_parts(len(side.place), partial(_count, *given), least=1000)
        has_one[side.place[found[:, 0] > 0]] = True
        seen.append(found[:, 1:].sum(axis=0))
        if either:
            begins, ends = (np.bincount(edge, minlength=len(far.place) + 1) for edge in (low, high))
            covered = np.cumsum(begins - ends)[:-1]
            covered -= np.abs(far.rating - far.other) <= far.window
            has_one[far.place[covered > 0]] = True
    ways, returns = (seen[0] + seen[1]).tolist() if either else seen[0].tolist()
    return ways - returns // 2, has_one
