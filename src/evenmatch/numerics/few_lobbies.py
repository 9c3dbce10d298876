"""Pairs of a few lobbies, by comparing all with all.

Problem. That of `lobby_pairs`, for so few lobbies that growing a tree takes longer than looking at every pair.

Idea. A square of gaps, with one too wide for any limit where a pair is not acceptable. In the mode "best" each lobby
knows the closest of those behind it, the earliest of several. The least of these gaps is a pair; whoever had one of the
two in mind looks along its row again. In the mode "first" each free lobby takes the first acceptable one of its row.

Why it is exact. Rows are looked through in order and a lesser gap only replaces what was found, in rows and among them:
so the pair taken is the least by gap, then by its earlier lobby, then by its later one, as the rule has it. Gaps and
overlaps are computed by the expressions that the tree's kernels use.

Complexity. O(n^2 * players) for the square, and O(n) for each row that is looked through again: some 10 microseconds
for thirty lobbies of five. Memory: 8 bytes a pair.
"""

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import BOOL, FLOAT, FLOATS, INT, INT32S2, OUT_FLOATS, OUT_INTS, OUT_INTS2, kernel
from evenmatch.numerics.lobby_ranges import similarity

__all__ = ["few_pairs"]


@kernel()
def _square(low: Array, high: Array, buckets: Array, limit: int, overlap_min: float) -> Array:
    """int64[n, n]: the gap of each lobby to those behind it, limit + 1 where they are not acceptable to each other."""
    count, size = buckets.shape
    square = np.empty((count, count), np.int64)
    for one in range(count):
        for other in range(one + 1, count):
            gap = 0
            for player in range(size):
                gap += abs(buckets[one, player] - buckets[other, player])
            if gap > limit or similarity(low[one], high[one], low[other], high[other]) < overlap_min:
                gap = limit + 1
            square[one, other] = gap
    return square


@kernel()
def _closest(square: Array, free: Array, one: int, limit: int) -> tuple[int, int]:
    """The least gap of a lobby to a free one behind it, and which that is; limit + 1 if there is none."""
    least, partner = limit + 1, -1
    for other in range(one + 1, len(free)):
        if free[other] and square[one, other] < least:
            least, partner = square[one, other], other
    return least, partner


@kernel()
def _take_best(square: Array, limit: int, places: Array, gaps: Array) -> int:
    """Write the pairs by least gap; how many there are."""
    count, made = len(square), 0
    free = np.ones(count, np.bool_)
    leasts, partners = np.empty(count, np.int64), np.empty(count, np.int64)
    for one in range(count):
        leasts[one], partners[one] = _closest(square, free, one, limit)
    while True:
        first, gap = -1, limit + 1
        for one in range(count):
            if free[one] and leasts[one] < gap:
                first, gap = one, leasts[one]
        if first < 0:
            return made
        places[made, 0], places[made, 1], gaps[made] = first, partners[first], gap
        free[first] = free[partners[first]] = False
        made += 1
        for one in range(count):
            if free[one] and partners[one] >= 0 and not free[partners[one]]:
                leasts[one], partners[one] = _closest(square, free, one, limit)


@kernel()
def _take_first(square: Array, limit: int, places: Array, gaps: Array) -> int:
    """Write the pairs of each lobby with the first acceptable one; how many there are."""
    count, made = len(square), 0
    free = np.ones(count, np.bool_)
    for one in range(count):
        for other in range(one + 1, count):
            if free[one] and free[other] and square[one, other] <= limit:
                places[made, 0], places[made, 1], gaps[made] = one, other, square[one, other]
                free[one] = free[other] = False
                made += 1
    return made


@kernel(FLOATS, FLOATS, INT32S2, INT, FLOAT, BOOL, OUT_INTS2, OUT_INTS, OUT_FLOATS)
def few_pairs(
    low: Array,
    high: Array,
    buckets: Array,
    limit: int,
    overlap_min: float,
    best: bool,
    places: Array,
    gaps: Array,
    overlaps: Array,
) -> int:
    """How many pairs there are; they are written to the last three, in order of selection: by gap, or each first."""
    square = _square(low, high, buckets, limit, overlap_min)
    made = _take_best(square, limit, places, gaps) if best else _take_first(square, limit, places, gaps)
    for pair in range(made):
        one, other = places[pair]
        overlaps[pair] = similarity(low[one], high[one], low[other], high[other])
    return made
