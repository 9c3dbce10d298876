"""Leaders and members on one grid of whole numbers, and the leaders that cost a member least at given prices.

Problem. The transportation solver asks again and again: which leaders have the least cost + price for this member? It
compares sums of costs and prices for equality, so it has to calculate exactly; and there may be 10,000 leaders.

Idea. Coordinates are put on a grid once: whole multiples of a power of two, `step`, in which the largest cost is below
2^BITS. The cost of a pair is then a sum of differences of int64 numbers, exact, and its distance from the float weight
is no more than that weight's own rounding: a few units in 2^53. A tree over the leaders (`profiles`) also keeps the
least price of each node; a node is passed over if the way to its box, plus that price, is too dear. Prices only rise,
so an old least price is still a bound; it is renewed now and then.

Ties. Nodes that are equally dear are entered in an order that depends on the member: otherwise all members would find
the same few of many leaders who stand at one place.

Complexity. About log k boxes and a few leaves for a handful of leaders in few dimensions; all of them at worst.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import BOOLS, FLOATS, FLOATS2, OUT_INTS, OUT_INTS2, bundle, kernel
from evenmatch.numerics.profiles import Profiles, Tree

__all__ = [
    "BITS",
    "FAR",
    "NOWHERE",
    "SPACE",
    "Space",
    "closest",
    "insert",
    "on_grid",
    "renew_node_prices",
    "steps_apart",
    "within",
]

BITS: Final = 54
"""The largest cost has this many bits at most; prices need a few more (`transport`)."""
FAR: Final = 1 << 62
"""More than any cost, price or length of a path."""
EXPONENT_MAX: Final = 900
"""A step is never smaller than 2 to the minus this: any finer one, times a factor, might not be a float."""
DEPTH: Final = 64
"""No tree is deeper."""


class Space(NamedTuple):
    """Leaders in a tree, and members, in grid steps."""

    spots: Array
    """int64[k, f]: the leaders, in the order of the tree."""
    low: Array
    """int64[nodes, f]."""
    high: Array
    """int64[nodes, f]."""
    charge: Array
    """int64[f]: what another category costs, -1 = a numeric feature."""
    people: Array
    """int64[m, f]: the members."""
    node_price: Array
    """int64[nodes]: no leader of a node has a smaller price."""


SPACE: Final = bundle(Space, OUT_INTS2, OUT_INTS2, OUT_INTS2, OUT_INTS, OUT_INTS2, OUT_INTS)

_NO_ROW, _NO_NUMBER = np.empty((0, 0), np.int64), np.empty(0, np.int64)
NOWHERE: Final = Space(_NO_ROW, _NO_ROW, _NO_ROW, _NO_NUMBER, _NO_ROW, _NO_NUMBER)
"""The space of those whose costs are a matrix."""


def on_grid(profiles: Profiles, leaders: Tree, members: Array) -> tuple[Space, float]:
    """The space of a tree of leaders and of members, float64[m, f], and what one step is worth."""
    nodes, features = leaders.low.shape
    spots, people = np.empty(leaders.points.shape, np.int64), np.empty(members.shape, np.int64)
    low, high = np.empty((2, nodes, features), np.int64)
    charge, node_price = np.empty(features, np.int64), np.zeros(nodes, np.int64)
    space = Space(spots, low, high, charge, people, node_price)
    exponent = _to_steps(leaders.points, leaders.low, leaders.high, members, *profiles[1:], space)
    return space, math.ldexp(1.0, -exponent)


@kernel()
def steps_apart(spots: Array, place: int, people: Array, member: int, charge: Array) -> int:
    """What a leader costs a member."""
    steps = 0
    for feature in range(len(charge)):
        if charge[feature] < 0:
            steps += abs(spots[place, feature] - people[member, feature])
        elif spots[place, feature] != people[member, feature]:
            steps += charge[feature]
    return steps


@kernel()
def steps_from_box(low: Array, high: Array, node: int, people: Array, member: int, charge: Array) -> int:
    """The least that a leader in the box of a node can cost a member."""
    steps = 0
    for feature in range(len(charge)):
        value = people[member, feature]
        if charge[feature] < 0:
            steps += max(0, max(low[node, feature] - value, value - high[node, feature]))
        elif value < low[node, feature] or value > high[node, feature]:
            steps += charge[feature]
    return steps


@kernel()
def _coordinates(points: Array, bottom: Array, unit: Array, steps: Array) -> None:
    for row in range(len(points)):
        for feature in range(len(unit)):
            steps[row, feature] = np.rint((points[row, feature] - bottom[feature]) * unit[feature])


@kernel()
def renew_node_prices(price: Array, space: Space) -> None:
    """Find the least price of each node again."""
    node_price = space.node_price
    nodes = len(node_price)
    start, stop = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    start[0], stop[0] = 0, len(space.spots)
    for node in range(nodes):
        first, end = start[node], stop[node]
        if node < nodes // 2:
            middle = (first + end) // 2
            start[2 * node + 1], stop[2 * node + 1] = first, middle
            start[2 * node + 2], stop[2 * node + 2] = middle, end
        else:
            node_price[node] = price[first:end].min()
    for node in range(nodes // 2 - 1, -1, -1):
        node_price[node] = min(node_price[2 * node + 1], node_price[2 * node + 2])


@kernel()
def insert(leaders: Array, values: Array, row: int, count: int, leader: int, value: int) -> None:
    """Put a leader into its place by value, behind its equals, among `count` in a row; the one at `count` is lost."""
    at = count
    while at > 0 and values[row, at - 1] > value:
        values[row, at], leaders[row, at] = values[row, at - 1], leaders[row, at - 1]
        at -= 1
    values[row, at], leaders[row, at] = value, leader


@kernel()
def closest(
    space: Space, people: Array, member: int, price: Array, shut: Array, now: int, leaders: Array, values: Array
) -> int:
    """Find as many leaders of the least cost + price as `leaders`, [1, wanted], has room for; returns how many.

    Leaders with shut == now don't count. `values` gets their cost + price, ascending.
    """
    spots, low, high, charge, node_price = space.spots, space.low, space.high, space.charge, space.node_price
    inner, wanted = len(low) // 2, leaders.shape[1]
    stack, bounds = np.empty((DEPTH, 3), np.int64), np.empty(DEPTH, np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, len(spots)
    bounds[0], top = -FAR, 1
    found, worst = 0, FAR
    while top:
        top -= 1
        if bounds[top] >= worst:
            continue
        node, first, end = stack[top, 0], stack[top, 1], stack[top, 2]
        while node < inner:
            middle = (first + end) // 2
            left, right = 2 * node + 1, 2 * node + 2
            one = steps_from_box(low, high, left, people, member, charge) + node_price[left]
            two = steps_from_box(low, high, right, people, member, charge) + node_price[right]
            if one < two or (one == two and (member >> (node & 7)) & 1):
                if two < worst:
                    bounds[top], stack[top, 0], stack[top, 1], stack[top, 2] = two, right, middle, end
                    top += 1
                node, end = left, middle
            else:
                if one < worst:
                    bounds[top], stack[top, 0], stack[top, 1], stack[top, 2] = one, left, first, middle
                    top += 1
                node, first = right, middle
        for place in range(first, end):
            value = steps_apart(spots, place, people, member, charge) + price[place]
            if value < worst and shut[place] != now:
                found = min(found + 1, wanted)
                insert(leaders, values, 0, found - 1, place, value)
                if found == wanted:
                    worst = values[0, wanted - 1]
    return found


@kernel()
def within(space: Space, people: Array, member: int, price: Array, limit: int, leaders: Array, values: Array) -> int:
    """Find all leaders of cost + price up to `limit`, in no order; returns how many, -1 = too many for the room."""
    spots, low, high, charge, node_price = space.spots, space.low, space.high, space.charge, space.node_price
    inner = len(low) // 2
    stack = np.empty((DEPTH, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, len(spots)
    found, top = 0, 1
    while top:
        top -= 1
        node, first, end = stack[top, 0], stack[top, 1], stack[top, 2]
        if steps_from_box(low, high, node, people, member, charge) + node_price[node] > limit:
            continue
        if node < inner:
            middle = (first + end) // 2
            stack[top, 0], stack[top, 2] = 2 * node + 1, middle
            stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = 2 * node + 2, middle, end
            top += 2
            continue
        for place in range(first, end):
            value = steps_apart(spots, place, people, member, charge) + price[place]
            if value <= limit:
                if found == len(leaders):
                    return -1
                leaders[found], values[found] = place, value
                found += 1
    return found


@kernel(FLOATS2, FLOATS2, FLOATS2, FLOATS2, BOOLS, FLOATS, FLOATS, SPACE)
def _to_steps(
    points: Array,
    low: Array,
    high: Array,
    members: Array,
    categorical: Array,
    factor: Array,
    scale: Array,
    space: Space,
) -> int:
    """Write the coordinates of a space; a step is 2 to the minus what is returned."""
    features = len(factor)
    bottom, unit = np.empty(features), np.empty(features)
    largest = 0.0
    for feature in range(features):
        least, most = low[0, feature], high[0, feature]
        for member in range(len(members)):
            least = min(least, members[member, feature])
            most = max(most, members[member, feature])
        bottom[feature] = least
        unit[feature] = factor[feature] if categorical[feature] else factor[feature] / scale[feature]
        largest += unit[feature] if categorical[feature] else unit[feature] * (most - least)
    exponent = min(BITS - math.frexp(largest)[1], EXPONENT_MAX)
    for feature in range(features):
        unit[feature] = math.ldexp(unit[feature], exponent)
        space.charge[feature] = -1
        if categorical[feature]:
            space.charge[feature] = np.rint(unit[feature])
            bottom[feature], unit[feature] = 0.0, 1.0
    _coordinates(points, bottom, unit, space.spots)
    _coordinates(low, bottom, unit, space.low)
    _coordinates(high, bottom, unit, space.high)
    _coordinates(members, bottom, unit, space.people)
    return exponent
