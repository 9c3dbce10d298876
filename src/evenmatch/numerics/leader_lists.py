"""Short lists: for each member the few leaders that cost it least at the prices of the moment.

Problem. A member has a choice of up to 10,000 leaders, and looks at some twenty of them. The solver looks at costs a
hundred times a member; at all of them it can look two or three times at most.

Idea. A list holds the `wanted` leaders of the least cost + price, and a horizon: whoever is not in the list costs at
least as much, at the prices of the moment, and prices only rise. So a choice from the list is the choice from all as
long as it is not beyond the horizon. A list that has all leaders in it has no horizon (FAR).

From a tree: members stand in the order of a tree of their own, so neighbours of the order are neighbours in space. A
group of them asks once, at its centre, with a limit wide enough for each of its members (twice the radius more than the
centre needs), and the members choose from the group's answer, sorted by its value at the centre; a member at distance d
from the centre may stop at a value that is d beyond its own last.

From a matrix: rows are scanned over blocks of members that fit the cache; a float comparison with a margin passes over
almost all pairs, and the few others are looked at exactly. A list that was filled before is sorted anew at the new
prices and then only repaired. Blocks begin at different rows, so that ties do not make all lists alike.

Complexity. A microsecond or two a member from the tree; k comparisons a member from the matrix. Memory: 12 bytes an
entry. Members are independent of each other, so threads share them.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics import threads
from evenmatch.numerics.compiled import (
    BOOL,
    FLOAT,
    FLOATS2,
    INT,
    INTS,
    OUT_INT32S2,
    OUT_INTS,
    OUT_INTS2,
    bundle,
    kernel,
)
from evenmatch.numerics.leader_space import FAR, SPACE, Space, closest, insert, renew_node_prices, steps_apart, within

__all__ = [
    "GROUP",
    "LISTS",
    "Lists",
    "closest_in_matrix",
    "empty_lists",
    "fill",
    "fill_groups",
    "find_centre",
    "renew",
    "whole",
]

GROUP: Final = 16
"""Members who ask the tree together."""
ROOM: Final = 128
"""A group looks at this many leaders for each place in a list; if more are near, its members ask one by one."""
BLOCK: Final = 64
ROUND: Final = 1.5 * 2.0**52
MARGIN: Final = 1024.0
"""More than the rounding of a cost + price below 2^61 as a float."""


class Lists(NamedTuple):
    """The lists of all members."""

    leader: Array
    """int32[m, wanted]."""
    cost: Array
    """int64[m, wanted], in steps; by ascending cost + price when filled."""
    horizon: Array
    """int64[m]: no leader outside the list has a smaller cost + price; FAR = there is none outside."""


LISTS: Final = bundle(Lists, OUT_INT32S2, OUT_INTS2, OUT_INTS)


def empty_lists(members: int, wanted: int) -> Lists:
    """Lists that are still to be filled."""
    leader, cost = np.empty((members, wanted), np.int32), np.empty((members, wanted), np.int64)
    return Lists(leader, cost, np.empty(members, np.int64))


def fill(matrix: Array, unit: float, space: Space, price: Array, lists: Lists, *, fresh: bool) -> None:
    """Fill all lists at these prices; `fresh` = they hold nothing yet."""
    members = len(lists.horizon)
    if len(space.spots):
        renew(price, space)
        _in_parts(members, GROUP, lambda first, end: _fill_from_tree(space, price, first, end, lists))
    else:
        _in_parts(members, BLOCK, lambda first, end: _fill_from_matrix(matrix, unit, price, first, end, fresh, lists))


def _in_parts(members: int, size: int, work: Callable[[int, int], None]) -> None:
    blocks = -(-members // size)
    threads.in_parts(blocks, lambda first, end: work(first * size, min(end * size, members)), least=4096 // size)


@kernel()
def whole(cost: float, unit: float) -> int:
    """A cost in steps, halves to the even one; below 2^51 in absolute value."""
    return int((cost * unit + ROUND) - ROUND)


@kernel()
def find_centre(space: Space, begin: int, stop: int, centre: Array) -> int:
    """Write the middle of some members; returns how far from it they reach."""
    people, charge = space.people, space.charge
    for feature in range(len(charge)):
        least = most = people[begin, feature]
        for member in range(begin + 1, stop):
            least = min(least, people[member, feature])
            most = max(most, people[member, feature])
        centre[0, feature] = (least + most) // 2 if charge[feature] < 0 else people[(begin + stop) // 2, feature]
    radius = 0
    for member in range(begin, stop):
        radius = max(radius, steps_apart(centre, 0, people, member, charge))
    return radius


@kernel()
def _sort(leaders: Array, values: Array, count: int) -> None:
    """Sort by value (Shell's sort)."""
    gap = 1
    while 3 * gap < count:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(gap, count):
            leader, value, at = leaders[place], values[place], place
            while at >= gap and values[at - gap] > value:
                leaders[at], values[at] = leaders[at - gap], values[at - gap]
                at -= gap
            leaders[at], values[at] = leader, value
        gap //= 3


@kernel()
def _choose(
    space: Space,
    member: int,
    price: Array,
    near: Array,
    near_value: Array,
    count: int,
    off: int,
    best: Array,
    value: Array,
) -> None:
    """The best of a group's leaders for one member."""
    spots, people, charge = space.spots, space.people, space.charge
    wanted, found, worst = best.shape[1], 0, FAR
    for look in range(count):
        if near_value[look] - off >= worst:
            return
        place = near[look]
        candidate = steps_apart(spots, place, people, member, charge) + price[place]
        if candidate < worst:
            found = min(found + 1, wanted)
            insert(best, value, 0, found - 1, place, candidate)
            if found == wanted:
                worst = value[0, wanted - 1]


@kernel()
def _write(lists: Lists, member: int, price: Array, best: Array, value: Array, row: int, leaders: int) -> None:
    """The list of one member, from a row of leaders and their cost + price."""
    leader, cost = lists.leader, lists.cost
    wanted = best.shape[1]
    for at in range(wanted):
        leader[member, at] = best[row, at]
        cost[member, at] = value[row, at] - price[best[row, at]]
    lists.horizon[member] = value[row, wanted - 1] if wanted < leaders else FAR


@kernel()
def _sort_lists(lists: Lists, begin: int, size: int, price: Array, best: Array, value: Array) -> None:
    """The entries of some lists by their cost + price of now."""
    for at in range(size):
        for entry in range(lists.leader.shape[1]):
            leader = lists.leader[begin + at, entry]
            insert(best, value, at, entry, leader, lists.cost[begin + at, entry] + price[leader])


@kernel()
def _among(leaders: Array, row: int, leader: int) -> bool:
    found = False
    for at in range(leaders.shape[1]):
        found |= leaders[row, at] == leader
    return found


@kernel()
def closest_in_matrix(matrix: Array, unit: float, member: int, price: Array, best: Array, value: Array) -> None:
    """`closest`, for costs in a matrix."""
    rows, wanted = len(matrix), best.shape[1]
    found, worst = 0, FAR
    row = member * rows // matrix.shape[1]
    for _ in range(rows):
        candidate = whole(matrix[row, member], unit) + price[row]
        if candidate < worst:
            found = min(found + 1, wanted)
            insert(best, value, 0, found - 1, row, candidate)
            if found == wanted:
                worst = value[0, wanted - 1]
        row = row + 1 if row + 1 < rows else 0


@kernel()
def fill_groups(space: Space, price: Array, first: int, end: int, lists: Lists) -> None:
    """Fill the lists of some members, group by group; `first` begins a group."""
    wanted = lists.leader.shape[1]
    shut = np.zeros(len(space.spots), np.int64)
    near, near_value = np.empty(ROOM * wanted, np.int64), np.empty(ROOM * wanted, np.int64)
    best, value = np.empty((1, wanted), np.int64), np.empty((1, wanted), np.int64)
    centre = np.empty((1, len(space.charge)), np.int64)
    for begin in range(first, end, GROUP):
        stop = min(begin + GROUP, end)
        radius = find_centre(space, begin, stop, centre)
        closest(space, centre, 0, price, shut, 1, best, value)
        limit = value[0, wanted - 1] + 2 * radius
        count = within(space, centre, 0, price, limit, near, near_value)
        _sort(near, near_value, count)
        for member in range(begin, stop):
            if count < 0:
                closest(space, space.people, member, price, shut, 1, best, value)
            else:
                off = steps_apart(centre, 0, space.people, member, space.charge)
                _choose(space, member, price, near, near_value, count, off, best, value)
            _write(lists, member, price, best, value, 0, len(space.spots))


@kernel(INTS, SPACE)
def renew(price: Array, space: Space) -> None:
    """Find the least price of each node of the tree."""
    renew_node_prices(price, space)


@kernel(FLOATS2, FLOAT, INTS, INT, INT, BOOL, LISTS)
def _fill_from_matrix(
    matrix: Array, unit: float, price: Array, first: int, end: int, fresh: bool, lists: Lists
) -> None:
    rows, columns = matrix.shape
    wanted = lists.leader.shape[1]
    best, value = np.empty((BLOCK, wanted), np.int64), np.empty((BLOCK, wanted), np.int64)
    worst = np.empty(BLOCK)
    for begin in range(first, end, BLOCK):
        size = min(BLOCK, end - begin)
        best[:], value[:] = -1, FAR
        if not fresh:
            _sort_lists(lists, begin, size, price, best, value)
        for at in range(size):
            worst[at] = value[at, wanted - 1] + MARGIN
        row = begin * rows // columns
        for _ in range(rows):
            raised = float(price[row])
            for at in range(size):
                if matrix[row, begin + at] * unit + raised < worst[at]:
                    candidate = whole(matrix[row, begin + at], unit) + price[row]
                    if candidate < value[at, wanted - 1] and (fresh or not _among(best, at, row)):
                        insert(best, value, at, wanted - 1, row, candidate)
                        worst[at] = value[at, wanted - 1] + MARGIN
            row = row + 1 if row + 1 < rows else 0
        for at in range(size):
            _write(lists, begin + at, price, best, value, at, rows)


@kernel(SPACE, INTS, INT, INT, LISTS)
def _fill_from_tree(space: Space, price: Array, first: int, end: int, lists: Lists) -> None:
    fill_groups(space, price, first, end, lists)
