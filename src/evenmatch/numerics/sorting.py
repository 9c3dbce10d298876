"""The stable order of many numbers.

Problem. Kernels need a sort that is stable, quick for thirty numbers and for a million, and at home in compiled code.

Idea. The bits of a float, with the sign bit set on those from zero up and all bits flipped on those below, rise with
the number. Whole numbers that size are sorted by counting: eleven bits at a time, the lowest first, each time stably.
Few numbers are sorted by insertion, which is stable too and needs no counts.

Why it is exact. No two different numbers share such bits, except the two zeros, which adding 0.0 makes one. There must
be no NaN.

Complexity. O(n) for each of six groups of bits; groups in which all numbers agree are skipped. Memory: 32 bytes a
number for the time of the call.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import FLOATS, kernel

__all__ = ["stable_order"]

_FEW: Final = 100
"""Up to so many numbers, insertion is quicker than counting."""
_BITS: Final = 11
_GROUPS: Final = 6


@kernel()
def _by_insertion(values: Array) -> Array:
    order = np.empty(len(values), np.int64)
    for place in range(len(values)):
        value, at = values[place], place
        while at > 0 and values[order[at - 1]] > value:
            order[at] = order[at - 1]
            at -= 1
        order[at] = place
    return order


@kernel()
def _rising_bits(values: Array) -> Array:
    bits = (values + 0.0).view(np.uint64)
    top = np.uint64(1) << np.uint64(63)
    for place in range(len(bits)):
        bits[place] = bits[place] ^ (top if bits[place] < top else ~np.uint64(0))
    return bits


@kernel()
def _counts(keys: Array) -> Array:
    """int64[groups, 2^bits]: how many keys have each value of each group of bits."""
    counts = np.zeros((_GROUPS, 1 << _BITS), np.int64)
    mask = np.uint64((1 << _BITS) - 1)
    for key in keys:
        for group in range(_GROUPS):
            counts[group, np.int64((key >> np.uint64(group * _BITS)) & mask)] += 1
    return counts


@kernel()
def _by_counting(values: Array) -> Array:
    total = len(values)
    keys, order = _rising_bits(values), np.arange(total)
    other_keys, other_order = np.empty_like(keys), np.empty_like(order)
    counts = _counts(keys)
    mask = np.uint64((1 << _BITS) - 1)
    for group in range(_GROUPS):
        shift = np.uint64(group * _BITS)
        starts = counts[group]
        if starts[np.int64((keys[0] >> shift) & mask)] == total:
            continue
        before = 0
        for digit in range(len(starts)):
            starts[digit], before = before, before + starts[digit]
        for place in range(total):
            key = keys[place]
            value = np.int64((key >> shift) & mask)
            other_keys[starts[value]] = key
            other_order[starts[value]] = order[place]
            starts[value] += 1
        keys, other_keys, order, other_order = other_keys, keys, other_order, order
    return order


@kernel(FLOATS)
def stable_order(values: Array) -> Array:
    """int64[n]: the places of float64[n] in ascending order of their values, equal ones in the order they stand."""
    return _by_insertion(values) if len(values) <= _FEW else _by_counting(values)
