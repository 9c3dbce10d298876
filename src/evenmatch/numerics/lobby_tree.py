"""A tree over lobbies that finds the closest acceptable one, or the earliest, without looking at most of the others.

Problem. A lobby is a place in an order, a vector of sorted bucket indices, and a range of ratings. Two lobbies are
acceptable to each other if their gap, the sum of the differences of their indices (Wasserstein-1 of equal sizes), is
at most `limit`, and the similarity of their ranges at least `overlap_min`. Comparing all pairs is quadratic.

Idea. A balanced binary tree. Each node has a box around all its lobbies, and so a lower bound of the gap and an upper
bound of the similarity between the seeker and any of them:

    gap >= sum over players of how far the seeker's index is outside the box
    gap >= how far its sum of indices is outside        (the absolute value of a sum is at most the sum of those)
    gap >= how far "upper half minus lower half" is outside, for the same reason
    similarity <= `similarity_most`, from the least and most of where ranges begin and end

and the earliest place that is still in it. A search goes down to the more promising child first and leaves out every
node that cannot hold anything better than what it has. A node is split at the median of the coordinate in which it is
widest, measured by what matters: indices, sums and differences by the gap that is looked for (`reach`), ends of ranges
by how far they may differ at that `overlap_min`.

Why it is exact. Bounds of gaps are whole numbers. The bound of the similarity is rounded by the same monotone
operations as similarities are (`lobby_ranges`), so it is never below one. Of equal gaps the earlier place wins: a node
with an equal bound is left out only if its earliest place is later than the one found.

Invariants.
  1. Leaves are the last nodes, children of node k are 2k + 1 and 2k + 2, and the lobbies of a node stand in slots next
     to each other.
  2. `earliest[node]` is the least place of its lobbies that are not removed, or `gone` if there is none.
  3. A removed lobby has `gone` for a place in its slot. Boxes are not made smaller: they stay bounds.

Complexity. Building is O(n log n), removing O(log n). Searches take some 50 nodes at 100,000 random lobbies of five,
growing with about n^0.1; a box says little where lobbies have many players and no pattern: such searches go through
most of the tree, and pairing is quadratic again. Memory: 150 bytes a lobby of five.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numba import types

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import (
    FLOAT,
    FLOATS,
    INT32S2,
    INTS,
    OUT_FLOATS2,
    OUT_INT32S,
    OUT_INT32S2,
    OUT_INTS,
    kernel,
)
from evenmatch.numerics.lobby_ranges import Lobbies, similarity, similarity_most

__all__ = ["STACK", "TREE", "Tree", "earliest_acceptable", "grow", "nearest_acceptable", "remove"]

LEAF: Final = 12
"""Lobbies of a leaf, at most."""
STACK: Final = 64
"""Nodes that a search keeps for later: at most one a level, and two at the last."""
SUMS: Final = 2
"""Coordinates beyond the indices: their sum, and upper half minus lower half."""


class Tree(NamedTuple):
    """The arrays of a tree over n lobbies with w = size + SUMS coordinates each."""

    places: Array
    """int64[n], by slot: the lobby's place, or `gone`."""
    slots: Array
    """int64[places], by place: its slot, -1 = was never in the tree. The number of places is called `gone`."""
    leaves: Array
    """int32[n], by slot: the leaf."""
    coordinates: Array
    """int32[n, w], by slot."""
    ranges: Array
    """float64[n, 2], by slot: where the range begins and ends."""
    spans: Array
    """int32[nodes, 2]: first slot and the one after the last."""
    boxes: Array
    """int32[nodes, 2 * w]: the least of each coordinate, then the most."""
    frames: Array
    """float64[nodes, 4]: least and most beginning of a range, least and most end."""
    earliest: Array
    """int64[nodes]: the least place."""


_named_tuple: Any = types.NamedTuple
TREE: Final = _named_tuple(
    (OUT_INTS, OUT_INTS, OUT_INT32S, OUT_INT32S2, OUT_FLOATS2, OUT_INT32S2, OUT_INT32S2, OUT_FLOATS2, OUT_INTS), Tree
)


def grow(lobbies: Lobbies, chosen: Array, reach: int, overlap_min: float) -> Tree:
    """A tree over the lobbies at the chosen places, int64[n], ascending, at least one.

    `reach` is the gap that searches are likely to look for; it changes their speed only.
    """
    count, size = len(chosen), lobbies.buckets.shape[1]
    width = size + SUMS
    nodes = 2 * (1 << max(0, (count - 1) // LEAF).bit_length()) - 1
    tree = Tree(
        places=np.empty(count, np.int64),
        slots=np.full(len(lobbies.low), -1),
        leaves=np.empty(count, np.int32),
        coordinates=np.empty((count, width), np.int32),
        ranges=np.empty((count, 2)),
        spans=np.empty((nodes, 2), np.int32),
        boxes=np.empty((nodes, 2 * width), np.int32),
        frames=np.empty((nodes, 4)),
        earliest=np.empty(nodes, np.int64),
    )
    _grow(tree, chosen, lobbies.buckets, lobbies.low, lobbies.high, float(max(reach, 1)), overlap_min)
    return tree


@kernel()
def _locate(indices: Array, coordinates: Array) -> None:
    """Sorted indices, their sum, and upper half minus lower half, without the middle one of an odd number."""
    size = len(indices)
    coordinates[:size] = indices
    coordinates[size] = indices.sum()
    coordinates[size + 1] = indices[size - size // 2 :].sum() - indices[: size // 2].sum()


@kernel()
def _enclose(tree: Tree, node: int, members: Array, coordinates: Array, ranges: Array) -> None:
    """The box of a node."""
    width = coordinates.shape[1]
    box, frame = tree.boxes[node], tree.frames[node]
    for which in range(width):
        least = most = coordinates[members[0], which]
        for member in members:
            value = coordinates[member, which]
            least, most = min(least, value), max(most, value)
        box[which], box[width + which] = least, most
    for which in range(2):
        lowest = highest = ranges[members[0], which]
        for member in members:
            end = ranges[member, which]
            lowest, highest = min(lowest, end), max(highest, end)
        frame[2 * which], frame[2 * which + 1] = lowest, highest


@kernel()
def _widest(tree: Tree, node: int, per_point: float) -> int:
    """The coordinate in which a node is widest; the two after the last are those of the range."""
    width = tree.coordinates.shape[1]
    box, frame = tree.boxes[node], tree.frames[node]
    widest, chosen = 0.0, 0
    for which in range(width):
        if box[width + which] - box[which] > widest:
            widest, chosen = float(box[width + which] - box[which]), which
    for which in range(2):
        if (frame[2 * which + 1] - frame[2 * which]) * per_point > widest:
            widest, chosen = (frame[2 * which + 1] - frame[2 * which]) * per_point, width + which
    return chosen


@kernel()
def _order_by(which: int, members: Array, coordinates: Array, ranges: Array, keys: Array) -> None:
    """The value of a coordinate as the key of each member."""
    width = coordinates.shape[1]
    for member in members:
        keys[member] = coordinates[member, which] if which < width else ranges[member, which - width]


@kernel()
def _select(keys: Array, order: Array, first: int, end: int, middle: int) -> None:
    """Put those with the least keys before `middle` (Hoare's selection; equal keys are parted evenly)."""
    left, right = first, end - 1
    while left < right:
        pivot = keys[order[(left + right) >> 1]]
        low, high = left, right
        while low <= high:
            while keys[order[low]] < pivot:
                low += 1
            while keys[order[high]] > pivot:
                high -= 1
            if low <= high:
                order[low], order[high] = order[high], order[low]
                low += 1
                high -= 1
        if middle <= high:
            right = high
        elif middle >= low:
            left = low
        else:
            break


@kernel(TREE, INTS, INT32S2, FLOATS, FLOATS, FLOAT, FLOAT)
def _grow(tree: Tree, chosen: Array, buckets: Array, low: Array, high: Array, reach: float, overlap_min: float) -> None:
    count = len(chosen)
    coordinates = np.empty(tree.coordinates.shape, np.int32)
    ranges = np.empty((count, 2))
    wide = 0.0
    for at in range(count):
        _locate(buckets[chosen[at]], coordinates[at])
        ranges[at, 0], ranges[at, 1] = low[chosen[at]], high[chosen[at]]
        wide += ranges[at, 1] - ranges[at, 0]
    # Ranges of this width may differ by (1 - m) / m of it; that counts as much as a gap of `reach`.
    per_point = reach * overlap_min / ((1.0 - overlap_min + 1e-9) * (wide / count + 1e-9))
    order, keys = np.arange(count), np.empty(count)
    first_leaf = len(tree.spans) // 2
    tree.spans[0, 0], tree.spans[0, 1] = 0, count
    for node in range(len(tree.spans)):
        first, end = tree.spans[node, 0], tree.spans[node, 1]
        _enclose(tree, node, order[first:end], coordinates, ranges)
        tree.earliest[node] = chosen[order[first:end].min()]
        if node < first_leaf:
            middle = (first + end) // 2
            _order_by(_widest(tree, node, per_point), order[first:end], coordinates, ranges, keys)
            _select(keys, order, first, end, middle)
            tree.spans[2 * node + 1, 0], tree.spans[2 * node + 1, 1] = first, middle
            tree.spans[2 * node + 2, 0], tree.spans[2 * node + 2, 1] = middle, end
        else:
            tree.leaves[first:end] = node
    for slot in range(count):
        tree.places[slot] = chosen[order[slot]]
        tree.slots[tree.places[slot]] = slot
        tree.coordinates[slot] = coordinates[order[slot]]
        tree.ranges[slot] = ranges[order[slot]]


@kernel()
def remove(tree: Tree, place: int) -> None:
    """Take a lobby out of all further searches."""
    gone = len(tree.slots)
    slot = tree.slots[place]
    node = tree.leaves[slot]
    tree.places[slot] = gone
    earliest = gone
    for at in range(tree.spans[node, 0], tree.spans[node, 1]):
        earliest = min(earliest, tree.places[at])
    while tree.earliest[node] != earliest:
        tree.earliest[node] = earliest
        if node == 0:
            break
        node = (node - 1) // 2
        earliest = min(tree.earliest[2 * node + 1], tree.earliest[2 * node + 2])


@kernel()
def _outside(boxes: Array, node: int, which: int, width: int, value: int) -> int:
    """How far a value is outside the box of a node in one coordinate; not positive if it is inside."""
    return max(boxes[node, which] - value, value - boxes[node, width + which])


@kernel()
def _least_gap(boxes: Array, node: int, coordinates: Array, seeker: int) -> int:
    """A lower bound of the gap between the lobby in a slot and any lobby of a node."""
    width = coordinates.shape[1]
    size = width - SUMS
    total = 0
    for which in range(size):
        total += max(_outside(boxes, node, which, width, coordinates[seeker, which]), 0)
    by_sum = _outside(boxes, node, size, width, coordinates[seeker, size])
    by_halves = _outside(boxes, node, size + 1, width, coordinates[seeker, size + 1])
    return max(total, by_sum, by_halves)


@kernel()
def _may_overlap(frames: Array, node: int, low: float, high: float, overlap_min: float) -> bool:
    """Some lobby of a node may be similar enough to a range."""
    return (
        overlap_min <= 0.0
        or similarity_most(low, high, frames[node, 0], frames[node, 1], frames[node, 2], frames[node, 3]) >= overlap_min
    )


@kernel()
def _gap(coordinates: Array, one: int, other: int) -> int:
    total = 0
    for which in range(coordinates.shape[1] - SUMS):
        total += abs(coordinates[one, which] - coordinates[other, which])
    return total


@kernel()
def _overlaps(ranges: Array, other: int, low: float, high: float, overlap_min: float) -> bool:
    return overlap_min <= 0.0 or similarity(low, high, ranges[other, 0], ranges[other, 1]) >= overlap_min


@kernel()
def nearest_acceptable(tree: Tree, place: int, limit: int, overlap_min: float, stack: Array) -> tuple[int, int]:
    """Gap and place of the acceptable lobby with the least gap, the earliest of several; `gone` if there is none.

    `stack` is int64[2, STACK], to be used freely.
    """
    gone, first_leaf = len(tree.slots), len(tree.spans) // 2
    seeker = tree.slots[place]
    low, high = tree.ranges[seeker, 0], tree.ranges[seeker, 1]
    best, found = limit, gone
    stack[0, 0], stack[1, 0] = 0, 0
    waiting = 1
    while waiting:
        waiting -= 1
        node, least = stack[0, waiting], stack[1, waiting]
        if least > best or (least == best and tree.earliest[node] >= found):
            continue
        if node >= first_leaf:
            for slot in range(tree.spans[node, 0], tree.spans[node, 1]):
                other = tree.places[slot]
                if other == gone or slot == seeker:
                    continue
                gap = _gap(tree.coordinates, seeker, slot)
                if (gap < best or (gap == best and other < found)) and _overlaps(
                    tree.ranges, slot, low, high, overlap_min
                ):
                    best, found = gap, other
            continue
        near, far = 2 * node + 1, 2 * node + 2
        near_least, far_least = (
            _least_gap(tree.boxes, near, tree.coordinates, seeker),
            _least_gap(tree.boxes, far, tree.coordinates, seeker),
        )
        if far_least < near_least or (far_least == near_least and tree.earliest[far] < tree.earliest[near]):
            near, far, near_least, far_least = far, near, far_least, near_least
        if far_least <= best and tree.earliest[far] < gone and _may_overlap(tree.frames, far, low, high, overlap_min):
            stack[0, waiting], stack[1, waiting] = far, far_least
            waiting += 1
        if (
            near_least <= best
            and tree.earliest[near] < gone
            and _may_overlap(tree.frames, near, low, high, overlap_min)
        ):
            stack[0, waiting], stack[1, waiting] = near, near_least
            waiting += 1
    return best, found


@kernel()
def earliest_acceptable(tree: Tree, place: int, limit: int, overlap_min: float, stack: Array) -> tuple[int, int]:
    """Gap and place of the earliest acceptable lobby; `gone` if there is none. The seeker must be removed before."""
    gone, first_leaf = len(tree.slots), len(tree.spans) // 2
    seeker = tree.slots[place]
    low, high = tree.ranges[seeker, 0], tree.ranges[seeker, 1]
    best, found = limit, gone
    stack[0, 0] = 0
    waiting = 1
    while waiting:
        waiting -= 1
        node = stack[0, waiting]
        if (
            tree.earliest[node] >= found
            or _least_gap(tree.boxes, node, tree.coordinates, seeker) > limit
            or not _may_overlap(tree.frames, node, low, high, overlap_min)
        ):
            continue
        if node >= first_leaf:
            for slot in range(tree.spans[node, 0], tree.spans[node, 1]):
                if tree.places[slot] < found:
                    gap = _gap(tree.coordinates, seeker, slot)
                    if gap <= limit and _overlaps(tree.ranges, slot, low, high, overlap_min):
                        best, found = gap, tree.places[slot]
            continue
        near, far = 2 * node + 1, 2 * node + 2
        if tree.earliest[far] < tree.earliest[near]:
            near, far = far, near
        stack[0, waiting], stack[0, waiting + 1] = far, near
        waiting += 2
    return best, found
