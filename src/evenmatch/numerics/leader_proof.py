"""The proof that a seating is optimal: no pair of all there are costs less than its prices say.

Prices u of leaders and v of members with u_i + v_j <= cost_ij for every pair bound every solution from below. Here all
pairs are tested, those too that the search never looked at. In a matrix each is: as a float with a margin first, and
exactly where that is not clear. In a space a group of members asks the tree, at its centre, for all leaders that might
be too cheap for any of them, and tests these; whoever the tree passes over is too far from the whole group. The search
is not trusted in anything, only the grid and the boxes of the tree.

Complexity. A pass over the matrix, or about a microsecond a member. Threads share rows or groups.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics import threads
from evenmatch.numerics.compiled import FLOAT, FLOATS2, INT, INTS, kernel
from evenmatch.numerics.leader_lists import GROUP, MARGIN, find_centre, renew, whole
from evenmatch.numerics.leader_space import FAR, SPACE, Space, steps_apart, within

__all__ = ["FREE_PRICE", "HOLDS", "NOT_FULL", "PAIR_DEARER", "POSITIVE", "a_pair_costs_less", "solution_broken"]

HOLDS: Final = 0
NOT_FULL: Final = 1
POSITIVE: Final = 2
FREE_PRICE: Final = 3
PAIR_DEARER: Final = 4

CHUNK = 256


def a_pair_costs_less(matrix: Array, unit: float, space: Space, u: Array, v: Array) -> bool:
    """Does any pair of a leader and a member cost less than u + v, int64[k] and int64[m] steps?"""
    broken: list[bool] = []
    if len(space.spots):
        renew(-u, space)
        groups = -(-len(v) // GROUP)
        threads.in_parts(
            groups,
            lambda first, end: broken.append(_less_in_space(space, u, v, first * GROUP, min(end * GROUP, len(v)))),
            least=256,
        )
    else:
        threads.in_parts(
            len(matrix),
            lambda first, end: broken.append(_less_in_matrix(matrix, unit, u, v, first, end)),
            least=1 + (1 << 20) // max(1, len(v)),
        )
    return any(broken)


@kernel(FLOATS2, FLOAT, INTS, INTS, INT, INT)
def _less_in_matrix(matrix: Array, unit: float, u: Array, v: Array, first: int, end: int) -> bool:
    limit = v + MARGIN
    for row in range(first, end):
        price = float(u[row])
        for begin in range(0, len(v), CHUNK):
            stop = min(begin + CHUNK, len(v))
            unclear = 0
            for column in range(begin, stop):
                unclear += matrix[row, column] * unit - price < limit[column]
            if unclear:
                for column in range(begin, stop):
                    if whole(matrix[row, column], unit) - u[row] < v[column]:
                        return True
    return False


@kernel(SPACE, INTS, INTS, INT, INT)
def _less_in_space(space: Space, u: Array, v: Array, first: int, end: int) -> bool:
    people, charge = space.people, space.charge
    near, value = np.empty(len(space.spots), np.int64), np.empty(len(space.spots), np.int64)
    centre = np.empty((1, len(charge)), np.int64)
    price = -u
    for begin in range(first, end, GROUP):
        stop = min(begin + GROUP, end)
        find_centre(space, begin, stop, centre)
        limit = -FAR
        for member in range(begin, stop):
            limit = max(limit, v[member] + steps_apart(centre, 0, people, member, charge))
        count = within(space, centre, 0, price, limit - 1, near, value)
        for member in range(begin, stop):
            for at in range(count):
                if steps_apart(space.spots, near[at], people, member, charge) + price[near[at]] < v[member]:
                    return True
    return False


@kernel(FLOATS2, FLOAT, SPACE, INTS, INTS, INT, INTS, INTS, INTS)
def solution_broken(
    matrix: Array,
    unit: float,
    space: Space,
    rows: Array,
    columns: Array,
    capacity: int,
    row_of: Array,
    u: Array,
    v: Array,
) -> int:
    """The first condition that a solution and its prices break, all but that of the pairs, or HOLDS."""
    place_of, taken = np.empty(len(rows), np.int64), np.zeros(len(rows), np.int64)
    for place in range(len(rows)):
        place_of[rows[place]] = place
    positive, free_price, dearer = False, False, False
    for place in range(len(columns)):
        column = columns[place]
        row = row_of[column]
        positive |= v[column] > 0
        if row < 0:
            free_price |= v[column] != 0
            continue
        taken[row] += 1
        if len(space.spots):
            cost = steps_apart(space.spots, place_of[row], space.people, place, space.charge)
        else:
            cost = whole(matrix[row, column], unit)
        dearer |= cost != u[row] + v[column]
    if (taken != capacity).any():
        return NOT_FULL
    if positive:
        return POSITIVE
    if free_price:
        return FREE_PRICE
    return PAIR_DEARER if dearer else HOLDS
