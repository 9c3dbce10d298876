"""Columns put in order for `greedy_clique`: tier by tier, in each by falling wait, pings and waits in whole ms.

Everything is sorted by counting: a pass for each ten bits of the largest key, O(n) each, equal keys in the order they
had. Columns with a value that can't be used are left alone, so that the caller can name it.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.ticket import FACT_MAX, RATING_DEFAULT
from evenmatch.numerics.compiled import FLOATS, INTS, OUT_INTS, kernel

__all__ = ["WAIT_MS_MAX", "by_tier", "by_wait", "stable_order"]

WAIT_MS_MAX: Final = 1e12
"""Sums of a million such waits still are int64; sums of a few hundred are exact as floats."""

DIGIT: Final = 10


@kernel()
def stable_order(keys: Array) -> Array:
    """int64[n]: places by rising key, which is 0 or more; equal keys keep their order."""
    order, other = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    begin = np.empty(2**DIGIT + 1, np.int64)
    most = 0
    for place in range(len(keys)):
        order[place] = place
        most = max(most, keys[place])
    shift = 0
    while most >> shift:
        digits = min(most >> shift, 2**DIGIT - 1) + 1
        for digit in range(digits + 1):
            begin[digit] = 0
        for place in range(len(keys)):
            begin[((keys[place] >> shift) & (2**DIGIT - 1)) + 1] += 1
        for digit in range(digits):
            begin[digit + 1] += begin[digit]
        for at in range(len(keys)):
            digit = (keys[order[at]] >> shift) & (2**DIGIT - 1)
            other[begin[digit]] = order[at]
            begin[digit] += 1
        order, other = other, order
        shift += DIGIT
    return order


@kernel()
def tier_of(rating: float, boundaries: Array) -> int:
    """How many boundaries a rating has reached; one without a rating counts as average."""
    rating = RATING_DEFAULT if np.isnan(rating) else rating
    low, high = 0, len(boundaries)
    while low < high:
        middle = (low + high) // 2
        if boundaries[middle] <= rating:
            low = middle + 1
        else:
            high = middle
    return low


@kernel()
def unusable(values: Array, most: float) -> int:
    """The first row whose value is not from 0 to `most`; -1 = there is none."""
    for row in range(len(values)):
        if not 0 <= values[row] <= most:
            return row
    return -1


@kernel(INTS, FLOATS, INTS, FLOATS, FLOATS, OUT_INTS, OUT_INTS, OUT_INTS, OUT_INTS)
def by_tier(
    order: Array, ping_ms: Array, wait_ms: Array, rating: Array, boundaries: Array,
    rows: Array, ping: Array, wait: Array, edges: Array,
) -> bool:  # fmt: skip
    """Lay out rows tier by tier, in `order` within each; tier t has the places edges[t] up to edges[t + 1].

    Without any `rating` everybody is average. The answer is True, or False if a ping or a wait is unusable.
    """
    if unusable(ping_ms, FACT_MAX) >= 0 or unusable(wait_ms, WAIT_MS_MAX) >= 0:
        return False
    tiers = np.empty(len(order), np.int64)
    for tier in range(len(edges)):
        edges[tier] = 0
    for row in range(len(order)):
        tiers[row] = tier_of(rating[row] if len(rating) else np.nan, boundaries)
        edges[tiers[row] + 1] += 1
    for tier in range(1, len(edges)):
        edges[tier] += edges[tier - 1]
    begin = edges.copy()
    for at in range(len(order)):
        row = order[at]
        place = begin[tiers[row]]
        begin[tiers[row]] += 1
        rows[place], ping[place], wait[place] = row, int(np.rint(ping_ms[row])), wait_ms[row]
    return True


@kernel(FLOATS, FLOATS, OUT_INTS, OUT_INTS, OUT_INTS)
def by_wait(ping_ms: Array, waited_s: Array, rows: Array, ping: Array, wait: Array) -> bool:
    """Lay out rows by longer wait, then row. The answer is that of `by_tier`."""
    if unusable(ping_ms, FACT_MAX) >= 0 or unusable(waited_s, WAIT_MS_MAX / 1000.0) >= 0:
        return False
    longest = 0.0
    for row in range(len(waited_s)):
        longest = max(longest, waited_s[row])
    keys = np.empty(len(waited_s), np.int64)
    for row in range(len(waited_s)):
        keys[row] = int(np.rint(longest * 1000.0) - np.rint(waited_s[row] * 1000.0))
    order = stable_order(keys)
    for place in range(len(order)):
        row = order[place]
        rows[place], ping[place], wait[place] = row, int(np.rint(ping_ms[row])), int(np.rint(waited_s[row] * 1000.0))
    return True
