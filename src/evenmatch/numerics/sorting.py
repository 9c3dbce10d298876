"""The stable order of many numbers.

Problem. Kernels need a sort that is stable, quick for thirty numbers and for a million, and at home in compiled code.

Idea. Numbers become keys, whole and from zero up, that rise with them. Where all numbers are whole, as most ratings and
misses are, a key is how far the number is from the least. Otherwise it is the bits of the float, with the sign bit set
on those from zero up and all bits flipped on those below. Keys are sorted by counting: some eleven bits at a time, the
lowest first, each time stably, from the lowest bit in which any two differ to the highest; whole points of a rating
need one such pass. Few numbers are sorted by insertion, which is stable too and needs no counts.

Why it is exact. Whole floats below 2^53 become integers without rounding. No two different numbers share their bits,
except the two zeros, which adding 0.0 makes one. There must be no NaN.

Complexity. O(n) for each group of bits, of which there are six at most; groups in which all numbers agree are skipped.
Memory: 32 bytes a number for the time of the call.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import FLOATS, kernel

__all__ = ["stable_order"]

_FEW: Final = 100
"""Up to so many numbers, insertion is quicker than counting."""
_BITS: Final = 11
"""Bits in a group, at most."""
_WHOLE_MAX: Final = 2.0**52
"""Numbers beyond are not looked at as whole ones."""


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
def _keys(values: Array) -> Array:
    """uint64[n], which rise with the values."""
    least, whole = np.inf, True
    for value in values:
        least = min(least, value)
        whole &= (np.floor(value) == value) & (abs(value) < _WHOLE_MAX)
    keys = np.empty(len(values), np.uint64)
    if whole:
        for place in range(len(values)):
            keys[place] = np.uint64(np.int64(values[place] - least))
        return keys
    bits, top = (values + 0.0).view(np.uint64), np.uint64(1) << np.uint64(63)
    for place in range(len(values)):
        keys[place] = bits[place] ^ (top if bits[place] < top else ~np.uint64(0))
    return keys


@kernel()
def _differing(keys: Array) -> tuple[int, int]:
    """The lowest bit in which any two keys differ, and the one behind the highest; equal if all keys are."""
    differ = np.uint64(0)
    for key in keys:
        differ |= key ^ keys[0]
    low, high = 0, 64
    while low < high and not (differ >> np.uint64(low)) & np.uint64(1):
        low += 1
    while high > low and not (differ >> np.uint64(high - 1)) & np.uint64(1):
        high -= 1
    return low, high


@kernel()
def _counts(keys: Array, low: int, groups: int, bits: int) -> Array:
    """int64[groups, 2^bits]: how many keys have each value of each group of bits, from bit `low` on."""
    counts = np.zeros((groups, 1 << bits), np.int64)
    mask = np.uint64((1 << bits) - 1)
    for group in range(groups):
        shift = np.uint64(low + group * bits)
        for key in keys:
            counts[group, np.int64((key >> shift) & mask)] += 1
    return counts


@kernel()
def _by_counting(values: Array) -> Array:
    total = len(values)
    keys, order = _keys(values), np.arange(total)
    low, high = _differing(keys)
    if low == high:
        return order
    groups = -((low - high) // _BITS)
    bits = -((low - high) // groups)
    other_keys, other_order = np.empty_like(keys), np.empty_like(order)
    counts = _counts(keys, low, groups, bits)
    mask = np.uint64((1 << bits) - 1)
    for group in range(groups):
        shift = np.uint64(low + group * bits)
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
