"""How wide a range of ratings each ticket accepts: growing with its wait, and wider where few others are near.

The rule is written down in `matchers/even_parameters`; here it is in columns. How thin a neighbourhood is: the distance
to the so-many-th nearest other ticket. Among tickets sorted by rating, the k nearest of a place and the place itself
stand together, so the distance is the least, over the k + 1 runs of k + 1 tickets that hold the place, of the farther
end's distance.

Complexity. One sort, and k + 1 passes.
"""

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["nth_nearest", "thinness", "windows_of"]


def nth_nearest(rating: Array, nth: int) -> Array:
    """float64[n]: how far away the `nth` nearest other rating is; there must be more than `nth`."""
    order = np.argsort(rating, kind="stable")
    ordered = rating[order]
    count = len(rating)
    nearest = np.full(count, np.inf)
    for below in range(nth + 1):
        at = np.arange(below, count - nth + below)
        farther = np.maximum(ordered[at] - ordered[at - below], ordered[at - below + nth] - ordered[at])
        nearest[at] = np.minimum(nearest[at], farther)
    distance = np.empty(count)
    distance[order] = nearest
    return distance


def thinness(rating: Array, *, nth: int, least: int, most: float) -> Array:
    """float64[n]: how many times as thin as usual it is round each rating, from 1 to `most`.

    With fewer than `least` tickets it is 1 everywhere; so it is where most tickets have the same rating.
    """
    if len(rating) < max(least, nth + 1) or most <= 1.0:
        return np.ones(len(rating))
    distance = nth_nearest(rating, nth)
    usual = float(np.median(distance))
    if usual <= 0.0:
        return np.ones(len(rating))
    thin: Array = (distance / usual).clip(1.0, most)
    return thin


def windows_of(waited_ms: Array, thin: Array, *, window: float, growth: float, free_s: float) -> Array:
    """float64[n]: the window of each ticket, inf = no limit."""
    widest: Array = (window + growth * (waited_ms / 1000.0)) * thin
    widest[waited_ms >= free_s * 1000.0] = np.inf
    return widest
