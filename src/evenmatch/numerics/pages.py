"""The inner loops of the paged mapping (`core/paged`): many numbers looked up, entered or taken out.

A number's page is `number >> bits`; `directory[page]` is the row of `values` that it owns, -1 = none. Values stand one
higher in there, 0 = no entry. For a handful of numbers, a dozen array operations would cost ten times as much.
"""

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import INT, INTS, OUT_INTS, kernel

__all__ = ["drop", "enter", "find"]


@kernel()
def _row(number: int, directory: Array, bits: int) -> int:
    page = number >> bits
    row: int = directory[page] if 0 <= page < len(directory) else -1
    return row


@kernel(INTS, INTS, INTS, INT)
def find(numbers: Array, directory: Array, values: Array, bits: int) -> Array:
    """int64[n]: the value of each number, -1 = none."""
    found = np.empty(len(numbers), np.int64)
    mask = (1 << bits) - 1
    for place in range(len(numbers)):
        row = _row(numbers[place], directory, bits)
        found[place] = values[row << bits | numbers[place] & mask] - 1 if row >= 0 else -1
    return found


@kernel(INTS, INTS, INTS, OUT_INTS, OUT_INTS, INT)
def enter(numbers: Array, entries: Array, directory: Array, values: Array, filled: Array, bits: int) -> int:
    """Enter numbers, and count those that are new; -1, and nothing is entered, where a page has no row."""
    for number in numbers:
        if _row(number, directory, bits) < 0:
            return -1
    new = 0
    mask = (1 << bits) - 1
    for place in range(len(numbers)):
        row = _row(numbers[place], directory, bits)
        at = row << bits | numbers[place] & mask
        if values[at] == 0:
            filled[row] += 1
            new += 1
        values[at] = entries[place] + 1
    return new


@kernel(INTS, INTS, OUT_INTS, OUT_INTS, INT)
def drop(numbers: Array, directory: Array, values: Array, filled: Array, bits: int) -> tuple[int, Array]:
    """Take numbers out; how many were there, and the rows that are empty now."""
    gone, rows = 0, 0
    emptied = np.empty(len(numbers), np.int64)
    mask = (1 << bits) - 1
    for number in numbers:
        row = _row(number, directory, bits)
        at = row << bits | number & mask
        if row >= 0 and values[at] > 0:
            values[at] = 0
            filled[row] -= 1
            gone += 1
            if filled[row] == 0:
                emptied[rows] = row
                rows += 1
    return gone, emptied[:rows]
