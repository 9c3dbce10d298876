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

Complexity. Building is O(n log n), removing O(log n). A search looks at some 50 nodes among 100,000 random lobbies of
five. A box says little of lobbies with many players and no pattern: there a search goes through much of the tree, and
pairing is nearly quadratic (10,000 random lobbies of fifty: a third of a second). Memory: 160 bytes a lobby of five.
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
    bundle,
    inlined,
    kernel,
)
from evenmatch.numerics.lobby_ranges import Lobbies, similarity, similarity_most

__all__ = ["STACK", "TREE", "Tree", "earliest_acceptable", "grow", "nearest_acceptable", "remove"]

LEAF: Final = 32
"""Lobbies of a leaf, at most."""
STACK: Final = 64
"""Nodes that a search keeps for later: at most one a level, and two at the last."""
SUMS: Final = 2
"""Coordinates beyond the indices: their sum, and upper half minus lower half."""
LANES: Final = 8
"""Indices are filled up with zeros to a multiple of this, which one instruction takes at once."""


class Tree(NamedTuple):
    """The arrays of a tree over n lobbies; w is their size, rounded up to a multiple of LANES."""

    places: Array
    """int64[n], by slot: the lobby's place, or `gone`."""
    slots: Array
    """int64[places], by place: its slot, -1 = was never in the tree. The number of places is called `gone`."""
    leaves: Array
    """int32[n], by slot: the leaf."""
    indices: Array
    """int32[n, w], by slot: sorted bucket indices, then zeros."""
    sums: Array
    """int32[n, SUMS], by slot: the sum of the indices, and upper half minus lower half."""
    ranges: Array
    """float64[n, 2], by slot: where the range begins and ends."""
    spans: Array
    """int32[nodes, 2]: first slot and the one after the last."""
    boxes: Array
    """int32[nodes, 2, w]: the least of each index, and the most."""
    sum_boxes: Array
    """int32[nodes, 2, SUMS]: the least of each sum, and the most."""
    frames: Array
    """float64[nodes, 4]: least and most beginning of a range, least and most end."""
    earliest: Array
    """int64[nodes]: the least place."""


_OUT_INT32S3: Any = types.Array(types.int32, 3, "C")
TREE: Final = bundle(
    Tree,
    *(OUT_INTS, OUT_INTS, OUT_INT32S, OUT_INT32S2, OUT_INT32S2, OUT_FLOATS2),
    *(OUT_INT32S2, _OUT_INT32S3, _OUT_INT32S3, OUT_FLOATS2, OUT_INTS),
)


def grow(lobbies: Lobbies, chosen: Array, reach: int, overlap_min: float) -> Tree:
    """A tree over the lobbies at the chosen places, int64[n], ascending, at least one.

    `reach` is the gap that searches are likely to look for; it changes their speed only.
    """
    count = len(chosen)
    width = -(-lobbies.buckets.shape[1] // LANES) * LANES
    nodes = 2 * (1 << ((count - 1) // LEAF).bit_length()) - 1
    tree = Tree(
        places=np.empty(count, np.int64),
        slots=np.full(len(lobbies.low), -1),
        leaves=np.empty(count, np.int32),
        indices=np.empty((count, width), np.int32),
        sums=np.empty((count, SUMS), np.int32),
        ranges=np.empty((count, 2)),
        spans=np.empty((nodes, 2), np.int32),
        boxes=np.empty((nodes, 2, width), np.int32),
        sum_boxes=np.empty((nodes, 2, SUMS), np.int32),
        frames=np.empty((nodes, 4)),
        earliest=np.empty(nodes, np.int64),
    )
    _grow(tree, chosen, lobbies.buckets, lobbies.low, lobbies.high, float(max(reach, 1)), overlap_min)
    return tree


@kernel()
def _enclose(members: Array, values: Array, box: Array) -> None:
    """Least and most of each column of `values` over some rows, to the two rows of `box`."""
    for which in range(values.shape[1]):
        least = most = values[members[0], which]
        for member in members:
            least, most = min(least, values[member, which]), max(most, values[member, which])
        box[0, which], box[1, which] = least, most


@kernel()
def _widest(box: Array) -> tuple[float, int]:
    """How wide a box is, and in which column."""
    widest, chosen = 0.0, 0
    for which in range(box.shape[1]):
        if box[1, which] - box[0, which] > widest:
            widest, chosen = float(box[1, which] - box[0, which]), which
    return widest, chosen


@kernel()
def _set_keys(members: Array, values: Array, which: int, keys: Array) -> None:
    """A column of `values` as the keys of some rows."""
    for member in members:
        keys[member] = values[member, which]


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
    count, size = len(chosen), buckets.shape[1]
    indices, sums, ranges = np.zeros_like(tree.indices), np.zeros_like(tree.sums), np.empty((count, 2))
    frame = np.empty((2, 2))
    wide = 0.0
    for at in range(count):
        place = chosen[at]
        for player in range(size):
            indices[at, player] = buckets[place, player]
            sums[at, 0] += buckets[place, player]
            # Neither half has the middle one of an odd number.
            sums[at, 1] += buckets[place, player] * (int(player >= size - size // 2) - int(player < size // 2))
        ranges[at, 0], ranges[at, 1] = low[place], high[place]
        wide += high[place] - low[place]
    # Ranges of this width may differ by (1 - m) / m of it; that counts as much as a gap of `reach`.
    per_point = reach * overlap_min / ((1.0 - overlap_min + 1e-9) * (wide / count + 1e-9))
    order, keys = np.arange(count), np.empty(count)
    first_leaf = len(tree.spans) // 2
    tree.spans[0, 0], tree.spans[0, 1] = 0, count
    for node in range(len(tree.spans)):
        first, end = tree.spans[node, 0], tree.spans[node, 1]
        members = order[first:end]
        _enclose(members, indices, tree.boxes[node])
        _enclose(members, sums, tree.sum_boxes[node])
        _enclose(members, ranges, frame)
        tree.frames[node] = frame.T.copy().reshape(4)
        tree.earliest[node] = chosen[members.min()]
        if node >= first_leaf:
            tree.leaves[first:end] = node
            continue
        by_index, index = _widest(tree.boxes[node])
        by_sum, sum_ = _widest(tree.sum_boxes[node])
        by_end, end_of_range = _widest(frame)
        if by_end * per_point > max(by_index, by_sum):
            _set_keys(members, ranges, end_of_range, keys)
        elif by_sum > by_index:
            _set_keys(members, sums, sum_, keys)
        else:
            _set_keys(members, indices, index, keys)
        middle = (first + end) // 2
        _select(keys, order, first, end, middle)
        tree.spans[2 * node + 1, 0], tree.spans[2 * node + 1, 1] = first, middle
        tree.spans[2 * node + 2, 0], tree.spans[2 * node + 2, 1] = middle, end
    for slot in range(count):
        tree.places[slot] = chosen[order[slot]]
        tree.slots[tree.places[slot]] = slot
        tree.indices[slot] = indices[order[slot]]
        tree.sums[slot] = sums[order[slot]]
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


@inlined
def _least_gap(boxes: Array, sum_boxes: Array, node: int, indices: Array, sums: Array, seeker: int) -> int:
    """A lower bound of the gap between the lobby in a slot and any lobby of a node."""
    total = 0
    for first in range(0, indices.shape[1], LANES):
        part: Any = np.int32(0)
        for lane in range(LANES):
            value = indices[seeker, first + lane]
            below = np.int32(boxes[node, 0, first + lane] - value)
            above = np.int32(value - boxes[node, 1, first + lane])
            part = np.int32(part + max(below, above, np.int32(0)))
        total += part
    for which in range(SUMS):
        total = max(total, sum_boxes[node, 0, which] - sums[seeker, which])
        total = max(total, sums[seeker, which] - sum_boxes[node, 1, which])
    return total


@inlined
def _may_overlap(frames: Array, node: int, low: float, high: float, overlap_min: float) -> bool:
    """Some lobby of a node may be similar enough to a range."""
    return (
        overlap_min <= 0.0
        or similarity_most(low, high, frames[node, 0], frames[node, 1], frames[node, 2], frames[node, 3]) >= overlap_min
    )


@inlined
def _gap(indices: Array, one: int, other: int) -> int:
    total = 0
    for first in range(0, indices.shape[1], LANES):
        part: Any = np.int32(0)
        for lane in range(LANES):
            apart = np.int32(indices[one, first + lane] - indices[other, first + lane])
            part = np.int32(part + max(apart, np.int32(-apart)))
        total += part
    return total


@inlined
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
    indices, sums, boxes, sum_boxes = tree.indices, tree.sums, tree.boxes, tree.sum_boxes
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
                gap = _gap(indices, seeker, slot)
                if (gap < best or (gap == best and other < found)) and _overlaps(
                    tree.ranges, slot, low, high, overlap_min
                ):
                    best, found = gap, other
            continue
        near, far = 2 * node + 1, 2 * node + 2
        near_least, far_least = (
            _least_gap(boxes, sum_boxes, near, indices, sums, seeker),
            _least_gap(boxes, sum_boxes, far, indices, sums, seeker),
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
    indices, sums, boxes, sum_boxes = tree.indices, tree.sums, tree.boxes, tree.sum_boxes
    best, found = limit, gone
    stack[0, 0] = 0
    waiting = 1
    while waiting:
        waiting -= 1
        node = stack[0, waiting]
        if (
            tree.earliest[node] >= found
            or _least_gap(boxes, sum_boxes, node, indices, sums, seeker) > limit
            or not _may_overlap(tree.frames, node, low, high, overlap_min)
        ):
            continue
        if node >= first_leaf:
            for slot in range(tree.spans[node, 0], tree.spans[node, 1]):
                if tree.places[slot] < found:
                    gap = _gap(indices, seeker, slot)
                    if gap <= limit and _overlaps(tree.ranges, slot, low, high, overlap_min):
                        best, found = gap, tree.places[slot]
            continue
        near, far = 2 * node + 1, 2 * node + 2
        if tree.earliest[far] < tree.earliest[near]:
            near, far = far, near
        stack[0, waiting], stack[0, waiting + 1] = far, near
        waiting += 2
    return best, found
