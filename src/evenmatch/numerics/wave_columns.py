"""A wave's columns, from rows into canonical order and from pairs of places back into rows.

Problem. The stages of a wave between two sides work on places in canonical order; a snapshot and a plan have rows. Each
of these steps is a handful of gathers, which cost a small queue more in calls than in work.

Idea. One scan each way writes all columns at once. The canonical order is mostly that of one whole number a row: the
time not waited, doubled, and one more unless it returned. A stable sort leaves rows that are equal so in their order,
which is that of their tickets wherever ticket numbers rise along the rows.

Why it is exact. Such numbers are below 2^53, or the order is left to others. Values are copied, and computed by the
expressions of the slow twin: a window is base + misses * growth, a score gap * gap - weight * (misses of both).

Complexity. O(n), with the sorting of `stable_order`; no other memory but the answers.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import (
    BOOLS,
    FLOAT,
    FLOATS,
    INT8S,
    INT32S,
    INTS,
    OUT_FLOATS2,
    OUT_INT8S,
    OUT_INT8S2,
    OUT_INT32S2,
    kernel,
)
from evenmatch.numerics.sorting import stable_order

__all__ = ["canonical_order", "first_beyond", "in_canonical_order", "paired", "seated"]


_WHOLE_MAX: Final = 2.0**53
"""Whole floats below add up without rounding."""
_WAIT_MAX: Final = 1 << 50
"""Waits further apart, in milliseconds, are left to others."""


@kernel(INTS, BOOLS, INTS)
def canonical_order(waited_ms: Array, returned: Array, ticket: Array) -> Array:
    """int64[n]: rows by longer wait, then returned, then ticket; none where it takes more than one number a row."""
    behind = np.empty(len(ticket))
    if len(ticket) == 0:
        return stable_order(behind)
    longest, least, rise = waited_ms[0], waited_ms[0], True
    for row in range(len(ticket)):
        longest, least = max(longest, waited_ms[row]), min(least, waited_ms[row])
        rise &= (row == 0) | (ticket[row - 1] <= ticket[row])
    if not rise or least < -_WAIT_MAX or longest > _WAIT_MAX:
        return np.empty(0, np.int64)
    for row in range(len(ticket)):
        behind[row] = 2 * (longest - waited_ms[row]) + (not returned[row])
    return stable_order(behind)


@kernel(FLOATS, FLOAT)
def first_beyond(values: Array, most: float) -> int:
    """The first place of a value that is further from 0 than `most`, -1 = none is; NaN is none."""
    for place in range(len(values)):
        if abs(values[place]) > most:
            return place
    return -1


@kernel(INTS, FLOATS, FLOATS, INT32S, FLOAT, FLOAT, FLOAT, OUT_FLOATS2)
def in_canonical_order(
    order: Array, first: Array, second: Array, misses: Array, most: float, base: float, growth: float, columns: Array
) -> bool:
    """Write ratings on both sides, misses and windows at each place of `order`, which holds rows, into float64[4, n].

    False if somebody has fewer than no misses, or a rating further from 0 than `most`.
    """
    sound = True
    for place in range(len(order)):
        row = order[place]
        columns[0, place], columns[1, place] = first[row], second[row]
        missed = float(misses[row])
        columns[2, place], columns[3, place] = missed, base + missed * growth
        sound &= (missed >= 0) & (not abs(first[row]) > most) & (not abs(second[row]) > most)
    return sound


@kernel(INTS, INTS, FLOATS, FLOATS, FLOATS, FLOAT, OUT_FLOATS2)
def paired(
    one: Array, other: Array, first: Array, second: Array, misses: Array, weight: float, columns: Array
) -> tuple[float, float, float]:
    """Write gap, squared gap and score of pairs of places, `one` on the first side, into float64[3, pairs].

    The least and the greatest gap, and their sum: NaN if something of it may have been rounded off.
    """
    least, greatest, total, whole = np.inf, 0.0, 0.0, True
    for pair in range(len(one)):
        gap = abs(first[one[pair]] - second[other[pair]])
        columns[0, pair], columns[1, pair] = gap, gap * gap
        least, greatest = min(least, gap), max(greatest, gap)
        total += gap
        whole &= np.floor(gap) == gap
        columns[2, pair] = gap * gap - weight * (misses[one[pair]] + misses[other[pair]])
    return least, greatest, total if whole and total < _WHOLE_MAX else np.nan


@kernel(INTS, INTS, INTS, INT8S, OUT_INT32S2, OUT_INT8S2, OUT_INT8S)
def seated(order: Array, one: Array, other: Array, left: Array, rosters: Array, teams: Array, reasons: Array) -> None:
    """Write rows and teams of pairs, and reasons of rows: `left`, given by place, and 0 for all in a pair."""
    for place in range(len(order)):
        reasons[order[place]] = left[place]
    for pair in range(len(one)):
        rosters[pair, 0], rosters[pair, 1] = order[one[pair]], order[other[pair]]
        teams[pair, 0], teams[pair, 1] = 0, 1
        reasons[rosters[pair, 0]] = 0
        reasons[rosters[pair, 1]] = 0
