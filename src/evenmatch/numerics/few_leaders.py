"""The transportation problem of a few leaders and members, in one call: every cost written down.

Problem. Where 27 members wait for 3 leaders, trees, lists and an auction (`transport`) take longer to be set up than
the problem takes to be solved.

Idea. All costs are calculated, on the grid of whole numbers that a space would have (`leader_space`): a table. Members
are seated one after the other along shortest paths, as in `leader_paths`, the bench being one more leader that costs
nothing and has a seat for each surplus member. Prices rise as there, so nobody on a seat has a better leader.

Why it is exact. Costs are int64 and so are prices; a price stays below the largest cost times the leaders on a path.
The proof is that of `transport`: prices u and v <= 0 with u_i + v_j <= cost_ij everywhere, with equality for all pairs
that sit together and v = 0 for who is left over. `few_broken` tests it on the table and trusts nothing of the search.

Complexity. O(m k (k + capacity) k) at worst, for k leaders and m members; memory 8 k m bytes. Meant for k * m <= FEW;
larger problems go to `transport`.
"""

import math
from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import BOOLS, FLOATS, FLOATS2, INT, INTS, INTS2, OUT_INTS, OUT_INTS2, kernel
from evenmatch.numerics.leader_space import BITS, EXPONENT_MAX, FAR

__all__ = ["FEW", "few_broken", "few_costs", "seat_few"]

FEW: Final = 512
"""Pairs of a leader and a member, at most."""


@kernel(FLOATS2, BOOLS, FLOATS, FLOATS, INTS, INTS, OUT_INTS2)
def few_costs(
    points: Array, categorical: Array, factor: Array, scale: Array, leaders: Array, members: Array, cost: Array
) -> None:
    """Write what each leader costs each member in grid steps, int64[k, m]; they are rows of the points."""
    features = len(factor)
    unit, bottom, largest = np.empty(features), np.empty(features), 0.0
    for feature in range(features):
        least = most = points[leaders[0], feature]
        for rows in (leaders, members):
            for row in rows:
                least, most = min(least, points[row, feature]), max(most, points[row, feature])
        bottom[feature] = least
        unit[feature] = factor[feature] if categorical[feature] else factor[feature] / scale[feature]
        largest += unit[feature] if categorical[feature] else unit[feature] * (most - least)
    exponent = min(BITS - math.frexp(largest)[1], EXPONENT_MAX)
    cost[:] = 0
    for feature in range(features):
        steps = math.ldexp(unit[feature], exponent)
        for i in range(len(leaders)):
            here = points[leaders[i], feature]
            spot = np.int64(np.rint((here - bottom[feature]) * steps))
            for j in range(len(members)):
                there = points[members[j], feature]
                if categorical[feature]:
                    cost[i, j] += np.int64(np.rint(steps)) if here != there else 0
                else:
                    cost[i, j] += abs(spot - np.int64(np.rint((there - bottom[feature]) * steps)))


@kernel()
def _pays(cost: Array, leader: int, member: int, price: Array) -> int:
    """Cost + price; the bench costs nothing."""
    return int(price[leader]) + (int(cost[leader, member]) if leader < len(cost) else 0)


@kernel()
def _write_prices(cost: Array, capacity: int, leader_of: Array, price: Array, u: Array, v: Array) -> None:
    leaders, members = cost.shape
    level = int(price[leaders])
    if members == leaders * capacity:
        level = -FAR
        for member in range(members):
            level = max(level, _pays(cost, leader_of[member], member, price))
    for member in range(members):
        v[member] = _pays(cost, leader_of[member], member, price) - level
        if leader_of[member] == leaders:
            leader_of[member] = -1
    for leader in range(leaders):
        u[leader] = level - price[leader]


@kernel(INTS2, INT, OUT_INTS, OUT_INTS, OUT_INTS)
def seat_few(cost: Array, capacity: int, leader_of: Array, u: Array, v: Array) -> None:
    """Write the leader of each member in an optimum, -1 = left over, and the prices that prove it."""
    leaders, members = cost.shape
    price, taken = np.zeros(leaders + 1, np.int64), np.zeros(leaders + 1, np.int64)
    length, via = np.empty(leaders + 1, np.int64), np.empty(leaders + 1, np.int64)
    settled = np.empty(leaders + 1, np.bool_)
    for member in range(members):
        settled[:] = False
        for leader in range(leaders + 1):
            length[leader], via[leader] = _pays(cost, leader, member, price), member
        if members == leaders * capacity:
            length[leaders] = FAR
        while True:
            last = -1
            for leader in range(leaders + 1):
                if not settled[leader] and (last < 0 or length[leader] < length[last]):
                    last = leader
            if taken[last] < (capacity if last < leaders else members - leaders * capacity):
                break
            settled[last] = True
            for mover in range(member):
                if leader_of[mover] == last:
                    so_far = length[last] - _pays(cost, last, mover, price)
                    for leader in range(leaders + 1):
                        reached = so_far + _pays(cost, leader, mover, price)
                        if not settled[leader] and reached < length[leader]:
                            length[leader], via[leader] = reached, mover
        for leader in range(leaders + 1):
            if settled[leader]:
                price[leader] += length[last] - length[leader]
        taken[last] += 1
        while True:
            mover = via[last]
            last, leader_of[mover] = leader_of[mover], last
            if mover == member:
                break
    _write_prices(cost, capacity, leader_of, price, u, v)


@kernel(INTS2, INT, INTS, INTS, INTS)
def few_broken(cost: Array, capacity: int, leader_of: Array, u: Array, v: Array) -> bool:
    """Is any condition of optimality broken?"""
    leaders, members = cost.shape
    taken, broken = np.zeros(leaders, np.int64), False
    for member in range(members):
        leader = leader_of[member]
        broken |= v[member] > 0
        if leader < 0:
            broken |= v[member] != 0
        else:
            taken[leader] += 1
            broken |= cost[leader, member] != u[leader] + v[member]
        for other in range(leaders):
            broken |= cost[other, member] < u[other] + v[member]
    return broken or (taken != capacity).any()
