"""The greedy ways to deal members out to leaders: who picks first is served best.

Problem. k leaders with `capacity` seats each, m members, a weight for each pair. Either members pick in turn, each the
open leader of the least weight, or leaders do, each the `capacity` free members of the least weights. Of equal weights
the earlier is picked. Weights are a matrix, or distances between profiles, and then there may be 10,000 times 90,000.

Idea. Matrix: look at all that are still open or free, in blocks that fit the cache. Profiles: a tree (`profiles`) over
those who are picked from, with the count of open or free ones in each node. A node without any is passed over; so is
one whose box is farther than the worst pick, or as far while its earliest is later. Of two equally near boxes the one
with the earlier is entered first.

Why it is exact. Boxes bound distances without an error (`profiles`), and ties are settled by number, never by the
order in which the tree is searched.

Complexity. O(k m) for a matrix. For profiles of few features about O(log) a pick while most are open; the last picks
are far, and look at more. Memory O(n).
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import BOOLS, FLOATS, FLOATS2, INTS, OUT_INTS2, kernel
from evenmatch.numerics.profiles import Profiles, apart, apart_from_box, tree_of

__all__ = ["leaders_pick_by_matrix", "leaders_pick_by_profile", "members_pick_by_matrix", "members_pick_by_profile"]

BLOCK: Final = 64
DEPTH: Final = 64


def members_pick_by_matrix(weights: Array, capacity: int) -> Array:
    """int64[k, capacity]: the members of each leader in order of picking; weights[k, m], members pick."""
    picked = np.empty((len(weights), capacity), np.int64)
    if capacity:
        _members_pick_by_matrix(weights, picked)
    return picked


def leaders_pick_by_matrix(weights: Array, capacity: int) -> Array:
    """int64[k, capacity]: the members of each leader, the closest first; weights[k, m], leaders pick."""
    picked = np.empty((len(weights), capacity), np.int64)
    if capacity:
        _leaders_pick_by_matrix(weights, picked)
    return picked


def members_pick_by_profile(profiles: Profiles, leaders: Array, members: Array, capacity: int) -> Array:
    """int64[k, capacity]: places in `members`, in order of picking; members pick."""
    picked = np.empty((len(leaders), capacity), np.int64)
    if picked.size:
        tree = tree_of(profiles.take(leaders))
        _members_pick_by_profile(*tree, *profiles, members, picked)
    return picked


def leaders_pick_by_profile(profiles: Profiles, leaders: Array, members: Array, capacity: int) -> Array:
    """int64[k, capacity]: places in `members`, the closest first; leaders pick."""
    picked = np.empty((len(leaders), capacity), np.int64)
    if picked.size:
        tree = tree_of(profiles.take(members))
        _leaders_pick_by_profile(*tree, *profiles, leaders, picked)
    return picked


@kernel()
def _count_nodes(order: Array, left: Array, earliest: Array) -> None:
    """Write how many points each node of a tree has, and the lowest number of them."""
    nodes = len(left)
    start, stop = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    start[0], stop[0] = 0, len(order)
    for node in range(nodes):
        first, end = start[node], stop[node]
        left[node] = end - first
        earliest[node] = order[first:end].min()
        if node < nodes // 2:
            middle = (first + end) // 2
            start[2 * node + 1], stop[2 * node + 1] = first, middle
            start[2 * node + 2], stop[2 * node + 2] = middle, end


@kernel()
def _take_out(left: Array, count: int, place: int) -> None:
    """Count one less in every node that holds a place."""
    node, first, end = 0, 0, count
    while True:
        left[node] -= 1
        if node >= len(left) // 2:
            return
        middle = (first + end) // 2
        if place < middle:
            node, end = 2 * node + 1, middle
        else:
            node, first = 2 * node + 2, middle


@kernel()
def _worse(weight: float, number: int, than: float, than_number: int) -> bool:
    return weight > than or (weight == than and number > than_number)


@kernel()
def _keep(weights: Array, numbers: Array, places: Array, count: int, weight: float, number: int, place: int) -> None:
    """Add a pick to a heap with the worst first; in a full heap it takes the place of the worst."""
    if count < len(weights):
        at = count
        while at > 0 and _worse(weight, number, weights[(at - 1) // 2], numbers[(at - 1) // 2]):
            up = (at - 1) // 2
            weights[at], numbers[at], places[at] = weights[up], numbers[up], places[up]
            at = up
    else:
        at = _sink(weights, numbers, places, count, weight, number)
    weights[at], numbers[at], places[at] = weight, number, place


@kernel()
def _sink(weights: Array, numbers: Array, places: Array, count: int, weight: float, number: int) -> int:
    """Make room in a heap for what comes in at its top; returns where."""
    at = 0
    while 2 * at + 1 < count:
        child = 2 * at + 1
        if child + 1 < count and _worse(weights[child + 1], numbers[child + 1], weights[child], numbers[child]):
            child += 1
        if not _worse(weights[child], numbers[child], weight, number):
            break
        weights[at], numbers[at], places[at] = weights[child], numbers[child], places[child]
        at = child
    return at


@kernel()
def _best_last(weights: Array, numbers: Array, places: Array) -> None:
    """Turn a full heap into a row from the best to the worst."""
    for count in range(len(weights) - 1, 0, -1):
        weight, number, place = weights[count], numbers[count], places[count]
        worst, worst_number, worst_place = weights[0], numbers[0], places[0]
        at = _sink(weights, numbers, places, count, weight, number)
        weights[at], numbers[at], places[at] = weight, number, place
        weights[count], numbers[count], places[count] = worst, worst_number, worst_place


@kernel()
def _search(
    order: Array,
    points: Array,
    low: Array,
    high: Array,
    left: Array,
    earliest: Array,
    taken: Array,
    people: Array,
    person: int,
    categorical: Array,
    factor: Array,
    scale: Array,
    weights: Array,
    numbers: Array,
    places: Array,
) -> None:
    """Fill a heap with the nearest points that are not taken; there must be enough."""
    inner, wanted = len(low) // 2, len(weights)
    stack, bounds = np.empty((DEPTH, 3), np.int64), np.empty(DEPTH)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, len(points)
    bounds[0], top, found = 0.0, 1, 0
    while top:
        top -= 1
        node, first, end = stack[top, 0], stack[top, 1], stack[top, 2]
        if left[node] == 0 or (found == wanted and _worse(bounds[top], earliest[node], weights[0], numbers[0])):
            continue
        if node < inner:
            middle, one, two = (first + end) // 2, 2 * node + 1, 2 * node + 2
            to_one = apart_from_box(low, high, one, people, person, categorical, factor, scale)
            to_two = apart_from_box(low, high, two, people, person, categorical, factor, scale)
            near = 1 if _worse(to_two, earliest[two], to_one, earliest[one]) else 0
            # The nearer one is put on the stack last and looked at first.
            at = top + near
            bounds[at], stack[at, 0], stack[at, 1], stack[at, 2] = to_one, one, first, middle
            at = top + 1 - near
            bounds[at], stack[at, 0], stack[at, 1], stack[at, 2] = to_two, two, middle, end
            top += 2
            continue
        for place in range(first, end):
            if taken[place]:
                continue
            weight = apart(points, place, people, person, categorical, factor, scale)
            if found < wanted or _worse(weights[0], numbers[0], weight, order[place]):
                _keep(weights, numbers, places, found, weight, order[place], place)
                found = min(found + 1, wanted)


@kernel(INTS, FLOATS2, FLOATS2, FLOATS2, FLOATS2, BOOLS, FLOATS, FLOATS, INTS, OUT_INTS2)
def _members_pick_by_profile(
    order: Array,
    points: Array,
    low: Array,
    high: Array,
    people: Array,
    categorical: Array,
    factor: Array,
    scale: Array,
    members: Array,
    picked: Array,
) -> None:
    leaders, capacity = picked.shape
    left, earliest = np.empty(len(low), np.int64), np.empty(len(low), np.int64)
    _count_nodes(order, left, earliest)
    full, count = np.zeros(leaders, np.bool_), np.zeros(leaders, np.int64)
    weight, number, place = np.empty(1), np.empty(1, np.int64), np.empty(1, np.int64)
    for turn in range(leaders * capacity):
        _search(
            order, points, low, high, left, earliest, full, people, members[turn],
            categorical, factor, scale, weight, number, place,
        )  # fmt: skip
        leader = number[0]
        picked[leader, count[leader]] = turn
        count[leader] += 1
        if count[leader] == capacity:
            full[place[0]] = True
            _take_out(left, leaders, place[0])


@kernel(INTS, FLOATS2, FLOATS2, FLOATS2, FLOATS2, BOOLS, FLOATS, FLOATS, INTS, OUT_INTS2)
def _leaders_pick_by_profile(
    order: Array,
    points: Array,
    low: Array,
    high: Array,
    people: Array,
    categorical: Array,
    factor: Array,
    scale: Array,
    leaders: Array,
    picked: Array,
) -> None:
    capacity = picked.shape[1]
    left, earliest = np.empty(len(low), np.int64), np.empty(len(low), np.int64)
    _count_nodes(order, left, earliest)
    taken = np.zeros(len(points), np.bool_)
    weights, numbers, places = np.empty(capacity), np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    for turn in range(len(leaders)):
        _search(
            order, points, low, high, left, earliest, taken, people, leaders[turn],
            categorical, factor, scale, weights, numbers, places,
        )  # fmt: skip
        _best_last(weights, numbers, places)
        for at in range(capacity):
            picked[turn, at] = numbers[at]
            taken[places[at]] = True
            _take_out(left, len(points), places[at])


@kernel(FLOATS2, OUT_INTS2)
def _members_pick_by_matrix(weights: Array, picked: Array) -> None:
    leaders, capacity = picked.shape
    open_leaders, count = np.arange(leaders), np.zeros(leaders, np.int64)
    still_open = leaders
    block = np.empty((BLOCK, leaders))
    for turn in range(leaders * capacity):
        at = turn % BLOCK
        if at == 0:
            for leader in range(leaders):
                for other in range(min(BLOCK, leaders * capacity - turn)):
                    block[other, leader] = weights[leader, turn + other]
        best = 0
        for look in range(1, still_open):
            if block[at, open_leaders[look]] < block[at, open_leaders[best]]:
                best = look
        leader = open_leaders[best]
        picked[leader, count[leader]] = turn
        count[leader] += 1
        if count[leader] == capacity:
            still_open -= 1
            for look in range(best, still_open):
                open_leaders[look] = open_leaders[look + 1]


@kernel(FLOATS2, OUT_INTS2)
def _leaders_pick_by_matrix(weights: Array, picked: Array) -> None:
    capacity = picked.shape[1]
    free = np.arange(weights.shape[1])
    taken = np.zeros(len(free), np.bool_)
    best, numbers, places = np.empty(capacity), np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    still_free = len(free)
    for leader in range(len(weights)):
        for look in range(still_free):
            weight = weights[leader, free[look]]
            if look < capacity or _worse(best[0], numbers[0], weight, free[look]):
                _keep(best, numbers, places, min(look, capacity), weight, free[look], look)
        _best_last(best, numbers, places)
        for at in range(capacity):
            picked[leader, at] = numbers[at]
            taken[numbers[at]] = True
        kept = 0
        for look in range(still_free):
            free[kept] = free[look]
            kept += not taken[free[look]]
        still_free = kept
