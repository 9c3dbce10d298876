"""Which pairs of single players matter: some near ones of each, and all that prices without them have wrong.

`pair_pool` says who may meet and at what cost; `matching` has the prices. A pair weighs 2 * (worth of both - cost), so
with rest = price - 2 * worth its slack is the rest of both, twice the cost, and the duals of blossoms that hold both. A
pair whose slack is 0 or more can't improve a matching.

Where to look. Whatever the policy, a pair that keeps the window rule has a gap within the wider window of both. So who
looks from every player over the player's own window, in order of rating, sees every pair; the rules themselves are
asked of each. With sides one looks from either side onto the other.

`underpriced` passes over a block of `BLOCK` players if the least rest in it, at the least gap to it and the least cost
of such a gap, is enough; so all pairs are judged though few are looked at. Latency, doubt and repeats only ever make a
pair dearer than that, or leave it as it is, and are weighed exactly for the pairs that are looked at.

Where very many have the same rating, very many pairs are almost tight, and to weigh them all takes too long. So every
player weighs at most so many; of what is farther away only the blocks are judged, and the most that a pair there could
be underpriced is noted. Whoever's price is raised by as much, or by the worst pair found, has no underpriced pair
left: the sum of these raises is what the prices may be short of a proof (`Judged.short`).
"""

from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

from .acceptable_pairs import windows_over
from .compiled import FLOAT, FLOATS, INT, INTS, INTS2, OUT_INTS, OUT_INTS2, kernel
from .match_terms import UNITS
from .pair_pool import POOL, PairPool, gap_between, least_units, may_meet, units_between
from .threads import in_parts
from .window_pricing import blossom_chains, distinct_pairs, shared_dual

__all__ = ["ALL", "Judged", "Line", "lines_of", "near_pairs", "underpriced"]

BLOCK: Final = 64
ALL: Final = 2**62
"""More pairs than anybody has."""
WALK: Final = 48
"""How many players a search for near ones passes for each that it wants, at most."""

Solution = tuple[Array, Array, Array, Array]
"""`mate`, `price`, `holder` and `dual` as in `Matching`."""


class Line(NamedTuple):
    """One look: players in order of rating, and those whom they look at, in order of rating too."""

    place: Array
    rating: Array
    far_place: Array
    far_rating: Array
    low: Array
    """int64: where the window of each begins among the far ones."""
    high: Array


def lines_of(pool: PairPool) -> list[Line]:
    """From everybody to everybody; with sides, from each side to the other."""
    lines = []
    ways = ((pool.first, pool.second), (pool.second, pool.first))
    for mine, far in ways if pool.first is not pool.second else ways[:1]:
        place, far_place = _sorted(mine), _sorted(far)
        if len(place) and len(far_place):
            rating, far_rating = mine[place], far[far_place]
            low, high = windows_over(rating, pool.window[place], far_rating)
            lines.append(Line(place, rating, far_place, far_rating, low, high))
    return lines


def _sorted(rating: Array) -> Array:
    place: Array = np.argsort(rating, kind="stable")[: int((rating == rating).sum())]
    return place


@kernel(POOL, INTS, FLOATS, INTS, FLOATS, INTS, INTS, INT, INT, OUT_INTS2)
def _near(
    pool: Any,
    place: Any,
    rating: Any,
    far_place: Any,
    far_rating: Any,
    low: Any,
    high: Any,
    near: int,
    column: int,
    chosen: Any,
) -> None:
    """For each player of a line: some whom it may meet, the nearest below and above, then ever farther."""
    middle, above, run, each = 0, 0, 0, chosen.shape[1] // 4
    for at in range(len(place)):
        while middle < len(far_place) and far_rating[middle] < rating[at]:
            middle += 1
        while above < len(far_place) and far_rating[above] <= rating[at]:
            above += 1
        if rating[at] != rating[run]:
            run = at
        # Those of one rating begin at different ones of the same rating, or they would all choose the same few.
        begin = middle + min(at - run, above - middle)
        for step in (-1, 1):
            to = begin if step > 0 else begin - 1
            found, passed, apart = 0, 0, 1.0
            # Steps grow from somewhere between one and two, so that neighbours see different distances.
            stretch = 1.5 + (at * 0.6180339887498949) % 1.0
            while found < each and passed < WALK * each and low[at] <= to < high[at]:
                u, v = place[at], far_place[to]
                passed += 1
                if u != v and may_meet(pool, u, v, gap_between(pool, u, v)):
                    chosen[u, column + found + (each if step > 0 else 0)] = v
                    found += 1
                if found >= near:
                    apart *= stretch
                to += step * int(apart)


def near_pairs(pool: PairPool, lines: list[Line], near: int, far: int) -> tuple[Array, Array]:
    """Everybody with about `near` nearest players below and above, and `far` farther ones."""
    chosen = np.full((len(pool.first), 4 * (near + far)), -1, np.int64)
    for column, line in zip((0, 2 * (near + far)), lines, strict=False):
        _near(pool, *line, near, column, chosen)
    one, other = distinct_pairs(chosen)
    return one, other


@kernel(INT, INTS, INTS)
def depths(count: int, holder: Any, dual: Any) -> Any:
    """int64[count]: the duals of the largest blossom, the largest in it, and so on, as far as they hold each vertex.

    Such blossoms are nested, so those that hold two vertices have the lesser of both sums.
    """
    nodes = len(holder)
    size = np.ones(nodes, np.int64)
    for node in range(nodes):
        if holder[node] >= 0:
            size[holder[node]] += size[node]
    heavy, largest = -1, np.full(nodes, -1, np.int64)
    for node in range(count, nodes):
        above = holder[node]
        if above < 0:
            if heavy < 0 or size[node] > size[heavy]:
                heavy = node
        elif largest[above] < 0 or size[node] > size[largest[above]]:
            largest[above] = node
    chosen, total = np.full(nodes, -1, np.int64), 0
    while heavy >= 0:
        total += dual[heavy - count]
        chosen[heavy] = total
        heavy = largest[heavy]
    depth = np.zeros(nodes, np.int64)
    for node in range(nodes - 1, -1, -1):
        if chosen[node] >= 0:
            depth[node] = chosen[node]
        elif holder[node] >= 0:
            depth[node] = depth[holder[node]]
    return depth[:count].copy()


@kernel()
def _look(
    pool: Any,
    u: int,
    mine: float,
    own: int,
    first: int,
    last: int,
    far_place: Any,
    far_rating: Any,
    rest: Any,
    depth: Any,
    holder: Any,
    head: Any,
    sums: Any,
    slope: float,
    limit: int,
    found: Any,
    slacks: Any,
    size: int,
    worst: int,
    below: int,
    weighed: int,
) -> Any:
    """Look at each player of a block: how many are kept now, where the worst of them is, and what is below it.

    And how many pairs were weighed, `weighed` before.
    """
    count = len(rest)
    for to in range(first, last):
        v = far_place[to]
        known = own + rest[v] + min(depth[u], depth[v]) - below
        # Most pairs are done with by the part of the cost that takes no more than a multiplication.
        if known + 2 * int(slope * abs(far_rating[to] - mine) + 0.499) >= 0 or v == u:
            continue
        weighed += 1
        gap = gap_between(pool, u, v)
        cost = units_between(pool, u, v, gap)
        if known + 2 * cost >= 0 or not may_meet(pool, u, v, gap):
            continue
        slack = own + rest[v] + 2 * cost + shared_dual(holder, head, sums, count, u, v)
        if slack >= below:
            continue
        spot = worst
        if size < len(found):
            spot = size
            size += 1
        found[spot], slacks[spot] = v, slack
        if size == len(found):
            worst = int(slacks.argmax())
            below = min(limit, slacks[worst])
    return size, worst, below, weighed


@kernel(
    *(POOL, INTS, FLOATS, INTS, FLOATS, INTS, INTS, INTS2, INTS, INTS),
    *(INTS, INTS, INTS, FLOAT, INT, OUT_INTS2, OUT_INTS2, INT, OUT_INTS, OUT_INTS, INT, INT),
)
def _underpriced(
    pool: Any,
    place: Any,
    rating: Any,
    far_place: Any,
    far_rating: Any,
    low: Any,
    high: Any,
    least: Any,
    rest: Any,
    depth: Any,
    holder: Any,
    head: Any,
    sums: Any,
    slope: float,
    limit: int,
    found: Any,
    slacks: Any,
    most: int,
    short: Any,
    work: Any,
    begin: int,
    end: int,
) -> None:
    """The places with the least slack below the limit for each player of a line from `begin` to `end`.

    Pairs have at least the lesser `depth` of both beyond their rest; `least` is the least rest of each block, and the
    least rest and depth together. Each player weighs about `most` pairs; `short` is the most that one of the others
    can be below 0, `work` how many were weighed.
    """
    lowest = (least[0].min(), least[1].min())
    for at in range(begin, end):
        u, mine, size = place[at], rating[at], 0
        own, below, worst, deep = rest[u], limit, 0, depth[u]
        weighed, lacking = 0, 0
        # From the nearest block downwards, then upwards, so that what is farther has the harder limit.
        nearest, above = low[at], high[at]
        while nearest < above:
            middle = (nearest + above) >> 1
            if far_rating[middle] < mine:
                nearest = middle + 1
            else:
                above = middle
        for step in (-1, 1):
            block = nearest // BLOCK + max(step, 0)
            while low[at] < (block + 1) * BLOCK and block * BLOCK < high[at]:
                first, last = max(low[at], block * BLOCK), min(high[at], (block + 1) * BLOCK)
                gap = max(far_rating[first] - mine, mine - far_rating[last - 1], 0.0)
                enough = own + 2 * least_units(pool, gap) - below
                if enough + min(lowest[0] + deep, lowest[1]) >= 0:
                    break
                there = min(least[0, block] + deep, least[1, block])
                if enough + there < 0:
                    if weighed < most:
                        size, worst, below, weighed = _look(
                            *(pool, u, mine, own, first, last, far_place, far_rating, rest, depth),
                            *(holder, head, sums, slope, limit, found[at], slacks[at], size, worst, below, weighed),  # type: ignore[arg-type]
                        )
                    else:
                        lacking = max(lacking, -(enough + below + there))
                block += step
        found[at, size:] = -1
        short[at], work[at] = lacking, weighed


class Judged(NamedTuple):
    """Pairs that are underpriced, each once, earlier place first, in ascending order."""

    first: Array
    second: Array
    short: int
    """So much the sum of all prices lacks, at the most, for a proof; 0 = nobody is underpriced."""
    work: int
    """Pairs that were weighed."""


def underpriced(
    pool: PairPool,
    lines: list[Line],
    worth: Array,
    solution: Solution,
    *,
    limit: int = 0,
    keep: int,
    most: int = ALL,
) -> Judged:
    """All pairs whose slack is below the limit, or for each player of each line the `keep` of least slack.

    Each player weighs about `most` pairs at the most.
    """
    _, price, holder, dual = solution
    count = len(price)
    rest = price - 2 * worth
    head, sums, _, _ = blossom_chains(count, holder, dual)
    depth = depths(count, holder, dual)
    slope = float((pool.weights[0] + 2 * pool.weights[2]) / pool.scale * UNITS)
    keys, work, short = [np.empty(0, np.int64)], 0, np.zeros(count, np.int64)
    for line in lines:
        blocks = np.arange(0, len(line.far_place), BLOCK)
        seen = rest[line.far_place]
        least = np.stack([np.minimum.reduceat(each, blocks) for each in (seen, seen + depth[line.far_place])])
        found = np.empty((len(line.place), keep), np.int64)
        slacks = np.empty((len(line.place), keep), np.int64)
        lacking, weighed = np.empty(len(line.place), np.int64), np.empty(len(line.place), np.int64)
        given: Any = (
            *(pool, *line, least, rest, depth, holder, head, sums, slope, limit, found, slacks),
            *(most, lacking, weighed),
        )
        in_parts(len(line.place), partial(_underpriced, *given), least=1000)
        work += int(weighed.sum())
        slacks[found < 0] = 0
        short[line.place] = np.maximum(short[line.place], np.maximum(lacking, -slacks.min(axis=1)))
        at, column = np.nonzero(found >= 0)
        u, v = line.place[at], found[at, column]
        keys.append(np.minimum(u, v) * count + np.maximum(u, v))
    together = np.unique(np.concatenate(keys))
    return Judged(together // count, together % count, int(short.sum()), work)
