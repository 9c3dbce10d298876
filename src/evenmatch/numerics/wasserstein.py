"""How far two samples on a line are apart: the Wasserstein-1 (Kantorovich) distance, the work of moving one onto the
other.

Idea. On a line the cheapest move keeps the order, so the distance is the integral over q from 0 to 1 of
|F^-1(q) - G^-1(q)|, the gap between equal quantiles. Both quantile functions are steps, at multiples of 1/a and of 1/b
for samples of a and b values; with q counted in units of 1 / (a * b) all steps are whole numbers, so only values and
a final division are rounded. Samples of equal size n: the sum of the gaps between sorted values, divided by n.

Complexity. Sorting, then linear in a + b.
"""

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["distance", "work"]


def work(one: Array, other: Array) -> tuple[float, int]:
    """The total gap between equal quantiles of two samples, number[a] and number[b], and over how many it was taken."""
    u, v = np.sort(one), np.sort(other)
    quantiles = np.union1d(np.arange(len(u) + 1) * len(v), np.arange(len(v) + 1) * len(u))
    starts, widths = quantiles[:-1], np.diff(quantiles)
    gaps = np.abs(u[starts // len(v)] - v[starts // len(u)])
    return float((widths * gaps).sum()), len(u) * len(v)


def distance(one: Array, other: Array) -> float:
    """W1 between two samples, neither empty: the mean gap between equal quantiles."""
    total, parts = work(one, other)
    return total / parts
