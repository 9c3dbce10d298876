"""Prices to begin with, from a smaller problem: groups of leaders and members stand for themselves.

Problem. Where prices differ over long ways, as they do with two features, an auction of all members has to carry them
along from leader to leader in small steps. Few leaders far apart would find the same differences in a few steps.

Idea. The leaders of a leaf of the tree become one leader in their middle, neighbouring members in the order of their
tree one member in theirs, as many as the fewer leaders have seats for, and the surplus in proportion. That problem is
made smaller in the same way, until few leaders are left; then each is solved by an auction that begins with the prices
of the next smaller one. A leader begins with the price of the leader that stood for it. Groups and not samples, because
what a sample has too many of somewhere moves prices everywhere.

Why it is exact. Prices to begin with may be any; what they are taken for is decided by `leader_auction` and
`leader_paths`. They are moved so that the least of them is 0, and so do not grow from scale to scale.

Complexity. A problem is a quarter of the next larger one at most, and so is the time and memory it takes. Two crowds
far apart gain nothing: if their sizes do not fit, all prices of one have to rise by the way between them, at every
scale.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import INTS, INTS2, OUT_INTS2, kernel
from evenmatch.numerics.leader_auction import auction, empty_seating
from evenmatch.numerics.leader_lists import empty_lists, fill
from evenmatch.numerics.leader_space import Space
from evenmatch.numerics.profiles import LEAF

__all__ = ["begin_with_coarse_prices", "mean_spread"]

LEAST: Final = 256
"""Fewer leaders begin with no prices."""
SPREAD_MIN: Final = 1 << 38
"""Members differ in cost by the spread of a list; where by nothing or very little, this is assumed."""
FIRST: Final = 4
LAST: Final = 64
"""The eps of a smaller problem begins and ends at these parts of the spread."""
DIVISOR: Final = 8
SLACK: Final = 16
NO_MATRIX: Final = np.empty((0, 0))


def mean_spread(cost: Array) -> int:
    """By how much the leaders of a list differ in cost, int64[m, wanted], on average."""
    return max(SPREAD_MIN, int((cost.max(axis=1) - cost.min(axis=1)).mean()))


def begin_with_coarse_prices(space: Space, unit: float, capacity: int, wanted: int, price: Array) -> None:
    """Write prices of the leaders of a space and of the bench, int64[k + 1], from smaller problems."""
    if len(space.spots) < LEAST:
        return
    coarse, group_of = grouped(space, capacity)
    leaders, members = len(coarse.spots), len(coarse.people)
    seating, lists = empty_seating(leaders, members), empty_lists(members, min(wanted, leaders))
    begin_with_coarse_prices(coarse, unit, capacity, wanted, seating.price)
    fill(NO_MATRIX, unit, coarse, seating.price, lists, fresh=True)
    spread = mean_spread(lists.cost)
    auction(NO_MATRIX, unit, coarse, lists, seating, capacity, spread // FIRST, spread // LAST, DIVISOR, SLACK)
    surplus = members > leaders * capacity
    least = seating.price.min() if surplus else seating.price[:-1].min()
    price[:-1] = seating.price[group_of] - least
    price[-1] = seating.price[-1] - least if surplus else 0


def grouped(space: Space, capacity: int) -> tuple[Space, Array]:
    """The smaller space, and the leader there that each leader stands behind, int64[k]."""
    known, features = space.spots.shape
    leaders = (len(space.low) + 1) // 2
    members = leaders * capacity + (len(space.people) - known * capacity) * leaders // known
    edges = np.array([0, known])
    while len(edges) <= leaders:
        edges = np.sort(np.concatenate((edges, (edges[:-1] + edges[1:]) // 2)))
    spots, people = np.empty((leaders, features), np.int64), np.empty((members, features), np.int64)
    _middles(space.spots, space.charge, edges, spots)
    _middles(space.people, space.charge, np.arange(members + 1) * len(space.people) // members, people)
    leaves = 1
    while leaders > leaves * LEAF:
        leaves *= 2
    low, high = np.empty((2, 2 * leaves - 1, features), np.int64)
    _boxes(spots, low, high)
    smaller = Space(spots, low, high, space.charge, people, np.zeros(len(low), np.int64))
    return smaller, np.repeat(np.arange(leaders), np.diff(edges))


@kernel(INTS2, INTS, INTS, OUT_INTS2)
def _middles(points: Array, charge: Array, edges: Array, middle: Array) -> None:
    """Write the mean of each group of points; of categories, one of them."""
    for group in range(len(middle)):
        first, end = edges[group], edges[group + 1]
        for feature in range(len(charge)):
            middle[group, feature] = points[(first + end) // 2, feature]
            if charge[feature] < 0:
                off = 0
                for place in range(first, end):
                    off += points[place, feature] - middle[group, feature]
                middle[group, feature] += off // (end - first)


@kernel(INTS2, OUT_INTS2, OUT_INTS2)
def _boxes(spots: Array, low: Array, high: Array) -> None:
    """Write the boxes of a tree over leaders in this order."""
    nodes, features = low.shape
    start, stop = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    start[0], stop[0] = 0, len(spots)
    for node in range(nodes):
        first, end = start[node], stop[node]
        for feature in range(features):
            low[node, feature] = spots[first:end, feature].min()
            high[node, feature] = spots[first:end, feature].max()
        if node < nodes // 2:
            middle = (first + end) // 2
            start[2 * node + 1], stop[2 * node + 1] = first, middle
            start[2 * node + 2], stop[2 * node + 2] = middle, end
