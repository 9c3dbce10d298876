"""Sums of many floats without rounding.

Problem. A mean must not depend on the order of its values, and two means must be compared exactly.

Idea. As long as all values are whole and their sizes add up to less than 2^53, as with ratings in whole points, floats
add up without rounding (`whole_sum`). Otherwise a sum is kept as a few floats that do not overlap in their bits
(Shewchuk's expansion, which is what `math.fsum` keeps as well). A new value is added to each in turn; what addition
rounds off is itself a float and stays.

Why it is exact. Of two floats the sum and what was rounded off it are both floats, found without error if the larger
one comes first. `math.fsum` of the few that are left is the exact sum, rounded once: the same float that `math.fsum`
makes of all values. There must be no infinities and no NaN.

Complexity. O(n), with two or three additions a value for values of like size. Memory: a few floats.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import FLOATS, INTS, kernel

__all__ = ["exact_sum", "whole_sum"]

_PARTS_MAX: Final = 64
"""More parts than a sum of finite floats can have: they do not overlap, and a float has exponents for 40 of them."""


_WHOLE_MAX: Final = 2.0**53


@kernel(FLOATS, INTS)
def whole_sum(values: Array, places: Array) -> tuple[float, bool]:
    """The sum of the values at these places, and whether nothing of it can have been rounded off."""
    total, size, whole = 0.0, 0.0, True
    for place in places:
        value = values[place]
        whole &= np.floor(value) == value
        total += value
        size += abs(value)
    return total, whole and size < _WHOLE_MAX


@kernel(FLOATS, INTS)
def exact_sum(values: Array, places: Array) -> Array:
    """float64[few]: numbers whose sum is that of the values at these places, exactly."""
    parts = np.empty(_PARTS_MAX)
    count = 0
    for place in places:
        value = values[place]
        kept = 0
        for at in range(count):
            part = parts[at]
            if abs(value) < abs(part):
                value, part = part, value
            total = value + part
            rest = part - (total - value)
            if rest != 0.0:
                parts[kept] = rest
                kept += 1
            value = total
        parts[kept] = value
        count = kept + 1
    return parts[:count].copy()
