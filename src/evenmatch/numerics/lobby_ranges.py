"""Where the ratings of a lobby lie: its non-outlier range, the overlap of two ranges, and its sorted skill buckets.

A lobby's range is mean - sigma to mean + sigma of its clipped ratings, with sigma that of the population, and not less
than a given width (Cinder, equation 2.1). Two ranges are compared by their Ruzicka similarity as indicator functions:
length of overlap / length of union (equation 2.3).

Exactness. Ratings are sorted before they are added up, one after the other, so the order of players in a lobby changes
nothing, not even rounding. These are the only expressions for ranges and similarities; every kernel calls them.

Monotone. Differences and quotients are rounded monotonely, so `similarity` of computed bounds is a bound of every
computed similarity: what a search leaves out by `similarity_most` would have been turned down by `similarity` itself.

Complexity. Sorting by insertion, then linear: for lobbies of s players O(s^2) at worst, s log2(buckets) for buckets.
"""

import math
from typing import NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import FLOAT, FLOATS, INT, INTS, OUT_FLOATS, OUT_INT32S2, kernel

__all__ = ["Lobbies", "measure", "range_of_sum", "similarities", "similarity", "similarity_most"]


@kernel()
def range_of_sum(mean: float, squares: float, size: int, least_sigma: float) -> tuple[float, float]:
    """The range from a mean and the sum of squared deviations from it."""
    sigma = max(math.sqrt(squares / size), least_sigma)
    return mean - sigma, mean + sigma


@kernel()
def similarity(low: float, high: float, other_low: float, other_high: float) -> float:
    """Length of overlap / length of union; ranges that only touch have none."""
    shared = min(high, other_high) - max(low, other_low)
    union = max(high, other_high) - min(low, other_low)
    return shared / union if shared > 0.0 else 0.0


@kernel()
def similarity_most(
    low: float, high: float, least_low: float, most_low: float, least_high: float, most_high: float
) -> float:
    """The highest similarity that a range can have to one which begins and ends within these bounds."""
    shared = min(high, most_high) - max(low, least_low)
    union = max(high, least_high) - min(low, most_low)
    return shared / union if shared > 0.0 else 0.0


@kernel()
def _sort(ratings: Array) -> None:
    for at in range(1, len(ratings)):
        moving, hole = ratings[at], at
        while hole > 0 and ratings[hole - 1] > moving:
            ratings[hole] = ratings[hole - 1]
            hole -= 1
        ratings[hole] = moving


@kernel()
def _bucket(rating: float, edges: Array) -> int:
    """The bucket of a rating, as `skill_buckets.bucket_of` has it: inner edges that are not above it."""
    least, most = 0, len(edges) - 2
    while least < most:
        middle = (least + most) >> 1
        if edges[middle + 1] <= rating:
            least = middle + 1
        else:
            most = middle
    return least


@kernel(FLOATS, INTS, INT, FLOAT, FLOAT, FLOAT, FLOATS, OUT_FLOATS, OUT_FLOATS, OUT_INT32S2)
def _measure(
    rating: Array,
    rows: Array,
    size: int,
    lcap: float,
    ucap: float,
    least_sigma: float,
    edges: Array,
    low: Array,
    high: Array,
    buckets: Array,
) -> int:
    ratings = np.empty(size)
    for place in range(len(rows)):
        begin = rows[place] * size
        for player in range(size):
            ratings[player] = rating[begin + player]
            if not math.isfinite(ratings[player]):
                return place
        _sort(ratings)
        total = 0.0
        for player in range(size):
            buckets[place, player] = _bucket(ratings[player], edges)
            ratings[player] = min(max(ratings[player], lcap), ucap)
            total += ratings[player]
        mean = total / size
        squares = 0.0
        for player in range(size):
            squares += (ratings[player] - mean) * (ratings[player] - mean)
        low[place], high[place] = range_of_sum(mean, squares, size, least_sigma)
    return -1


@kernel(FLOATS, FLOATS, FLOATS, FLOATS, OUT_FLOATS)
def _similarities(low: Array, high: Array, other_low: Array, other_high: Array, found: Array) -> None:
    for place in range(len(found)):
        found[place] = similarity(low[place], high[place], other_low[place], other_high[place])


class Lobbies(NamedTuple):
    """What is known of each lobby, in the order it was asked for."""

    low: Array
    """float64[n]: where the non-outlier range begins."""
    high: Array
    """float64[n]: where it ends."""
    buckets: Array
    """int32[n, size]: sorted bucket indices."""
    unrated: int
    """The first lobby with a rating that is not finite; -1 = none. From it on nothing is known."""


def measure(rating: Array, rows: Array, size: int, lcap: float, ucap: float, edges: Array) -> Lobbies:
    """Ranges and buckets of the lobbies in these rows; row r holds the players from r * size on.

    `rating` is float64[players], `edges` float64[buckets + 1].
    """
    count = len(rows)
    low, high, buckets = np.empty(count), np.empty(count), np.empty((count, size), np.int32)
    least_sigma = (ucap - lcap) / (len(edges) - 1)
    unrated = _measure(rating, rows, size, lcap, ucap, least_sigma, edges, low, high, buckets)
    return Lobbies(low, high, buckets, unrated)


def similarities(low: Array, high: Array, other_low: Array, other_high: Array) -> Array:
    """float64[n]: the similarity of each range to the other of the same place."""
    found = np.empty(len(low))
    _similarities(low, high, other_low, other_high, found)
    return found
