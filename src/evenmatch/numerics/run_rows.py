"""The rows of many runs of neighbours, one run after the other: the players of many parties."""

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import INTS, kernel

__all__ = ["run_rows"]


@kernel(INTS, INTS)
def run_rows(start: Array, size: Array) -> Array:
    """int64[sum of size]: start, start + 1, ... of each run."""
    rows = np.empty(size.sum(), np.int64)
    at = 0
    for run in range(len(start)):
        for place in range(size[run]):
            rows[at] = start[run] + place
            at += 1
    return rows
