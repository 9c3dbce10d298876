"""Players as points: how far apart two of them are, and a tree that finds the near ones.

Problem. A player is a row of numbers, one a feature; a category is a number too, its code. Two players are as far apart
as the sum over features says, and the answer must be the same float everywhere:

    numeric       factor * |a - b| / scale
    categorical   factor * (a != b)

Idea. A k-d tree: a node halves its points along the feature in which they are spread widest, and keeps the least box
that holds them. Nodes are numbered as in a heap (children 2i + 1 and 2i + 2), points stand in the order of the leaves,
so a node's points are a range that halving finds again, and nothing else needs to be stored.

Why a box bounds exactly. The distance to a box is calculated like that to a point, from the gap to the box's side.
Subtracting, multiplying, dividing and adding floats never turn a larger number into a smaller result: so no point of
the box is nearer, not even by a rounding.

Complexity. O(n log n) to grow, for n points; two boxes for every LEAF of them. Points that are all alike are halved
like others.
"""

from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import BOOLS, FLOATS, FLOATS2, INTS, OUT_FLOATS, OUT_FLOATS2, OUT_INTS, kernel

__all__ = ["Profiles", "Tree", "apart", "apart_from_box", "pair_weights", "tree_of"]

LEAF: Final = 8
"""A leaf holds this many points at most, and more than half as many, but for a tree that is one leaf."""


class Profiles(NamedTuple):
    """Players and what their features count."""

    points: Array
    """float64[n, f]: a row a player."""
    categorical: Array
    """bool[f]."""
    factor: Array
    """float64[f], none negative."""
    scale: Array
    """float64[f], all positive; not read for categories."""

    def take(self, rows: Array) -> "Profiles":
        """These players only, in the order given."""
        return self._replace(points=self.points[rows])


class Tree(NamedTuple):
    """A k-d tree over points."""

    order: Array
    """int64[n]: the row of each point, in the order of the leaves."""
    points: Array
    """float64[n, f]: the points in that order."""
    low: Array
    """float64[nodes, f]: the lower sides of the boxes."""
    high: Array
    """float64[nodes, f]: the upper sides."""


def tree_of(profiles: Profiles) -> Tree:
    """The tree over all these players; there must be one."""
    count, features = profiles.points.shape
    leaves = 1
    while count > leaves * LEAF:
        leaves *= 2
    order = np.arange(count)
    low, high = np.empty((2, 2 * leaves - 1, features))
    _grow(*profiles, order, low, high)
    return Tree(order, profiles.points[order], low, high)


@kernel()
def apart(one: Array, a: int, other: Array, b: int, categorical: Array, factor: Array, scale: Array) -> float:
    """The distance of row `a` of `one` and row `b` of `other`."""
    weight = 0.0
    for feature in range(len(factor)):
        if not categorical[feature]:
            weight += factor[feature] * abs(one[a, feature] - other[b, feature]) / scale[feature]
        elif one[a, feature] != other[b, feature]:
            weight += factor[feature]
    return weight


@kernel()
def apart_from_box(
    low: Array, high: Array, node: int, other: Array, b: int, categorical: Array, factor: Array, scale: Array
) -> float:
    """The least distance that row `b` of `other` can have from a point in the box of a node."""
    weight = 0.0
    for feature in range(len(factor)):
        value = other[b, feature]
        if not categorical[feature]:
            gap = max(0.0, max(low[node, feature] - value, value - high[node, feature]))
            weight += factor[feature] * gap / scale[feature]
        elif value < low[node, feature] or value > high[node, feature]:
            weight += factor[feature]
    return weight


@kernel()
def _box_side(
    points: Array, order: Array, first: int, end: int, feature: int, low: Array, high: Array, node: int
) -> float:
    """Write the box of a node in one feature; returns its width."""
    least = most = points[order[first], feature]
    for place in range(first + 1, end):
        value = points[order[place], feature]
        least = min(least, value)
        most = max(most, value)
    low[node, feature], high[node, feature] = least, most
    return float(most - least)


@kernel()
def _halve(points: Array, order: Array, feature: int, low: int, high: int, middle: int) -> None:
    """Move the smaller values of places low..high before `middle` and the larger ones behind it (Hoare's FIND)."""
    while low < high:
        pivot = points[order[(low + high) // 2], feature]
        left, right = low, high
        while left <= right:
            while points[order[left], feature] < pivot:
                left += 1
            while points[order[right], feature] > pivot:
                right -= 1
            if left <= right:
                order[left], order[right] = order[right], order[left]
                left += 1
                right -= 1
        if middle <= right:
            high = right
        elif middle >= left:
            low = left
        else:
            return


@kernel(FLOATS2, BOOLS, FLOATS, FLOATS, INTS, INTS, OUT_FLOATS)
def pair_weights(
    points: Array, categorical: Array, factor: Array, scale: Array, ones: Array, others: Array, weights: Array
) -> None:
    """Write the distance of each of `others`; they are dealt to `ones` in equal shares, one after the other."""
    share = len(others) // max(1, len(ones))
    for at in range(len(others)):
        weights[at] = apart(points, ones[at // share], points, others[at], categorical, factor, scale)


@kernel(FLOATS2, BOOLS, FLOATS, FLOATS, OUT_INTS, OUT_FLOATS2, OUT_FLOATS2)
def _grow(
    points: Array, categorical: Array, factor: Array, scale: Array, order: Array, low: Array, high: Array
) -> None:
    """Put `order` into the order of the leaves, and write the boxes."""
    nodes = len(low)
    start, stop = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    start[0], stop[0] = 0, len(points)
    for node in range(nodes):
        first, end = start[node], stop[node]
        widest, along = 0.0, -1
        for feature in range(len(factor)):
            width = _box_side(points, order, first, end, feature, low, high, node)
            width = (
                factor[feature] * (width > 0.0) if categorical[feature] else factor[feature] * width / scale[feature]
            )
            if width > widest:
                widest, along = width, feature
        if node < nodes // 2:
            middle = (first + end) // 2
            if along >= 0:
                _halve(points, order, along, first, end - 1, middle)
            start[2 * node + 1], stop[2 * node + 1] = first, middle
            start[2 * node + 2], stop[2 * node + 2] = middle, end
