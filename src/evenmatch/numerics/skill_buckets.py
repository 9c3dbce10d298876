"""Skill buckets: narrow where most players are, in the middle, and wide at both ends (Cinder, equation 3.1).

Idea. n buckets share the range from lcap to ucap. Each gets `w_min`; what is left is shared out in proportion to how
far the normal density at the bucket's position stays below its peak:

    W_i = w_min + (phi(0) - phi(x_i)) * (range - n * w_min) / sum_j (phi(0) - phi(x_j)),   x_i = -3 + 6 (i - 1/2) / n

Symmetry. Widths are summed up from the lower end to the middle only; the upper half is its mirror image. So both ends
are exact, and two ratings equally far from the middle are always in mirrored buckets. One bucket is the whole range:
the formula has nothing to share by there.
"""

import math
from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["bucket_of", "edges"]

ROUNDING: Final = 1e-12
"""n * w_min may exceed the range by this part of it: three times 0.1 is not quite 0.3 in floats."""


def edges(lcap: float, ucap: float, n_bucket: int, w_min: float) -> Array:
    """float64[n_bucket + 1]: the ascending edges, the first lcap, the last ucap; ValueError if they cannot fit."""
    total = ucap - lcap
    spare = total - n_bucket * w_min
    if spare < -ROUNDING * total:
        raise ValueError(f"{n_bucket} buckets of at least {w_min:g} need {n_bucket * w_min:g}, the range is {total:g}")
    positions = [-3 + 6 * (bucket - 0.5) / n_bucket for bucket in range(1, n_bucket + 1)]
    below_peak = [_density(0.0) - _density(position) for position in positions]
    share = max(spare, 0.0) / sum(below_peak) if n_bucket > 1 else 0.0
    offsets = [0.0]
    for dip in below_peak[: n_bucket // 2]:
        # Where buckets may be empty, rounding must not carry the lower half beyond the middle.
        offsets.append(min(offsets[-1] + w_min + dip * share, total / 2))
    lower = [lcap + offset for offset in offsets]
    upper = [ucap - offset for offset in reversed(offsets)]
    if n_bucket % 2 == 0:
        lower[-1:] = []
        upper[0] = lcap + total / 2
    return np.array(lower + upper)


def bucket_of(ratings: Array, bucket_edges: Array) -> Array:
    """int64, shape of `ratings`: the bucket of each, from 0; bucket i holds [e_i, e_i+1), the outer ones all beyond."""
    return np.searchsorted(bucket_edges[1:-1], ratings, side="right")


def _density(position: float) -> float:
    """The standard normal density."""
    return math.exp(-position * position / 2) / math.sqrt(2 * math.pi)
