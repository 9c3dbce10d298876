"""A wave's columns, from rows into canonical order and from pairs of places back into rows.

Problem. The stages of a wave between two sides work on places in canonical order; a snapshot and a plan have rows. Each
of these steps is a handful of gathers, which cost a small queue more in calls than in work.

Idea. One scan each way writes all columns at once.

Why it is exact. Values are copied, and computed by the expressions of the slow twin: a window is
base + misses * growth, a score gap * gap - weight * (misses of both).

Complexity. O(n), no memory but the answers.
"""

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import FLOAT, FLOATS, INT8S, INT32S, INTS, kernel

__all__ = ["first_beyond", "in_canonical_order", "paired", "seated"]


@kernel(FLOATS, FLOAT)
def first_beyond(values: Array, most: float) -> int:
    """The first place of a value that is further from 0 than `most`, -1 = none is; NaN is none."""
    for place in range(len(values)):
        if abs(values[place]) > most:
            return place
    return -1


@kernel(INTS, FLOATS, FLOATS, INT32S, FLOAT, FLOAT)
def in_canonical_order(
    order: Array, first: Array, second: Array, misses: Array, base: float, growth: float
) -> tuple[Array, Array, Array, Array, bool]:
    """Ratings on both sides, misses and windows at each place of `order`, which holds rows; and if misses are sound."""
    total, sound = len(order), True
    firsts, seconds, missed, windows = np.empty(total), np.empty(total), np.empty(total), np.empty(total)
    for place in range(total):
        row = order[place]
        firsts[place], seconds[place] = first[row], second[row]
        missed[place] = misses[row]
        windows[place] = base + missed[place] * growth
        sound = sound and misses[row] >= 0
    return firsts, seconds, missed, windows, sound


@kernel(INTS, INTS, FLOATS, FLOATS, FLOATS, FLOAT)
def paired(
    one: Array, other: Array, first: Array, second: Array, misses: Array, weight: float
) -> tuple[Array, Array, Array, float, float]:
    """Gap, squared gap and score of pairs of places, `one` on the first side; the least and the greatest gap."""
    pairs, least, greatest = len(one), np.inf, 0.0
    gaps, squares, scores = np.empty(pairs), np.empty(pairs), np.empty(pairs)
    for pair in range(pairs):
        gap = abs(first[one[pair]] - second[other[pair]])
        gaps[pair], squares[pair] = gap, gap * gap
        least, greatest = min(least, gap), max(greatest, gap)
        scores[pair] = gap * gap - weight * (misses[one[pair]] + misses[other[pair]])
    return gaps, squares, scores, least, greatest


@kernel(INTS, INTS, INTS, INT8S)
def seated(order: Array, one: Array, other: Array, left: Array) -> tuple[Array, Array, Array]:
    """int32[pairs, 2] rows, int8[pairs, 2] teams, int8[n] reasons of rows: `left` by place, 0 for all in a pair."""
    pairs = len(one)
    rosters, teams = np.empty((pairs, 2), np.int32), np.empty((pairs, 2), np.int8)
    reasons = np.empty(len(order), np.int8)
    for place in range(len(order)):
        reasons[order[place]] = left[place]
    for pair in range(pairs):
        rosters[pair, 0], rosters[pair, 1] = order[one[pair]], order[other[pair]]
        teams[pair, 0], teams[pair, 1] = 0, 1
        reasons[rosters[pair, 0]] = 0
        reasons[rosters[pair, 1]] = 0
    return rosters, teams, reasons
