"""Where every ticket stands on the line of buckets, and how far it may look: three columns in one pass.

What is not a matter of course is in `exact_steps`: no rounding decides on a bucket or a range. A pass in Python's
arrays would read and write each column a dozen times; this one reads ratings and waits once, in any order asked for.

Complexity. O(1) a ticket, O(n) in all; 16 bytes a ticket.
"""

from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import BOOL, FLOAT, FLOATS, INT, INTS, OUT_INT32S, OUT_INTS, kernel
from .exact_steps import EXACT_MAX, shares, step_down, step_near, step_share
from .threads import in_parts

__all__ = ["Standing", "standing"]

FINE: Final = -1
PART_LEAST: Final = 65_536
"""Rows that are worth a thread."""


class Standing(NamedTuple):
    """The columns, and the first row that can't stand anywhere."""

    bucket: Array
    """int64[n]"""
    grown: Array
    """int32[n]: one for each growth period waited, not above the widest limit there is."""
    limit: Array
    """int32[n]: the widest range ever."""
    unrated: int
    """The first row whose rating has no bucket; -1 = none."""
    early: int
    """The first row that has waited less than nothing; -1 = none."""


def standing(
    order: Array,
    rating: Array,
    waited_ms: Array,
    *,
    width: float | None,
    growth_ms: int,
    limit: int,
    share: Fraction | None,
) -> Standing:
    """The columns of the rows in this order, from float64[n] and int64[n].

    `width`: of a bucket, None = the nearest whole number; `share`: of the rating as a limit too, None = not.
    """
    count = len(order)
    bucket, grown, limits = np.empty(count, np.int64), np.empty(count, np.int32), np.empty(count, np.int32)
    exact = share is not None and max(share.numerator, share.denominator) < EXACT_MAX
    top, bottom = (float(share.numerator), float(share.denominator)) if share is not None and exact else (-1.0, 1.0)
    near, step = width is None, 1.0 if width is None else float(width)
    found: list[tuple[int, int]] = []

    def stand(first: int, end: int) -> None:
        part = slice(first, end)
        rule = near, step, growth_ms, limit, top, bottom
        found.append(_stand(order[part], rating, waited_ms, *rule, bucket[part], grown[part], limits[part]))

    in_parts(count, stand, least=PART_LEAST)
    unrated = min((row for row, _ in found if row != FINE), default=FINE)
    early = min((row for _, row in found if row != FINE), default=FINE)
    if share is not None and not exact and unrated == FINE:
        limits[:] = shares(rating[order], share, limit)
    return Standing(bucket, grown, limits, unrated, early)


@kernel(INTS, FLOATS, INTS, BOOL, FLOAT, INT, INT, FLOAT, FLOAT, OUT_INTS, OUT_INT32S, OUT_INT32S)
def _stand(
    order: Array,
    rating: Array,
    waited_ms: Array,
    near: bool,
    width: float,
    growth_ms: int,
    most: int,
    top: float,
    bottom: float,
    bucket: Array,
    grown: Array,
    limit: Array,
) -> tuple[int, int]:
    """Write the columns; the first row without a bucket and the first with a wait below 0, -1 = none."""
    beyond = EXACT_MAX * min(width, 1.0)
    unrated = early = FINE
    for place in range(len(order)):
        row = order[place]
        if not abs(rating[row]) < beyond:
            unrated = row if unrated == FINE else min(row, unrated)
            continue
        if waited_ms[row] < 0:
            early = row if early == FINE else min(row, early)
        bucket[place] = step_near(rating[row]) if near else step_down(rating[row], width)
        limit[place] = most if top < 0.0 else step_share(rating[row], top, bottom, most)
        grown[place] = min(waited_ms[row] // growth_ms, most)
    return unrated, early
