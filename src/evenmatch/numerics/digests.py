"""Digests of rows, a column after the other.

Problem. The state hash and the digest of a snapshot stand for a million rows of some twenty columns. As array
expressions every column takes eight passes over memory.

Idea. One pass a column: each row's digest takes in the column's 64 bits and is mixed by two multiplications and three
shifts (the finisher of splitmix64), so that a changed bit changes half of the digest's bits, and equal values in
different columns do not cancel out. Everything is modulo 2^64.

Why it is exact. Integers only, the same on every machine; rows do not meet, so their order does not matter.

Complexity. Linear, no memory of its own; falls back to nothing.
"""

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import INT, INTS, OUT_INTS, kernel

__all__ = ["fold"]


@kernel(OUT_INTS, INTS, INT)
def fold(digest: Array, bits: Array, lane: int) -> None:
    """Take a column's bits, int64[n], into the digests, int64[n], in place."""
    salt = np.uint64(lane)
    for row in range(len(digest)):
        x = (np.uint64(digest[row]) ^ np.uint64(bits[row])) + salt
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        digest[row] = np.int64(x ^ (x >> np.uint64(31)))
