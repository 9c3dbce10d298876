"""Leaders and members on a line: where one number is all that counts, the seating can be read off their order.

Problem. With one numeric feature, say rating, costs are |x - y|. Prices then rise or fall over the whole line, which
short lists and small bids are slow to find.

Idea. Members who sit, and seats, both in order of their coordinate, belong together one by one. If s members are
surplus, a table over (members passed, members left out) says whom to leave out. The prices follow from the flow: F(x)
is the number of seated members up to x, less the seats up to x. Where F > 0 members go to the right, and what they pay
falls by as much as the way gets shorter; where F < 0 it rises; where F = 0 it may do anything between. Nobody may pay
more than those on the bench. The largest such function of x is found by a sweep to the right and one to the left.

Why it is exact. The table is made of floats and might leave out a wrong member among nearly equal ones. So this is only
where `leader_paths` begins, and with a right table there is nothing left to do.

Complexity. O(n log n + m s); memory m (s + 1) bytes.

Source: C. Villani, "Topics in Optimal Transportation" (2003), section 2.2.
"""

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import INT, INTS, INTS2, kernel
from evenmatch.numerics.leader_auction import SEATING, Seating
from evenmatch.numerics.leader_space import FAR, Space

__all__ = ["on_a_line", "seat_on_line"]


def on_a_line(space: Space) -> bool:
    """Is one number all that counts?"""
    return len(space.charge) == 1 and bool(space.charge[0] < 0)


def seat_on_line(space: Space, seating: Seating, capacity: int) -> None:
    """Seat all members, and find prices at which they are content."""
    order = np.argsort(np.concatenate((space.people[:, 0], space.spots[:, 0])), kind="stable")
    _seat(order, space.people, space.spots, capacity, seating)


@kernel()
def _leave_out(x: Array, y: Array, capacity: int, surplus: int) -> Array:
    """bool[m]: who of the members at x, ascending, is left out, with leaders at y, ascending."""
    members, seats = len(x), len(y) * capacity
    left_out = np.zeros((members, surplus + 1), np.bool_)
    cost = np.full(surplus + 1, np.inf)
    cost[0] = 0.0
    for member in range(members):
        for out in range(min(surplus, member + 1), -1, -1):
            seat = member - out
            sitting = cost[out] + abs(x[member] - y[seat // capacity]) if 0 <= seat < seats else np.inf
            standing = cost[out - 1] if out else np.inf
            left_out[member, out] = standing < sitting
            cost[out] = min(sitting, standing)
    answer = np.zeros(members, np.bool_)
    out = surplus
    for member in range(members - 1, -1, -1):
        answer[member] = left_out[member, out]
        out -= left_out[member, out]
    return answer


@kernel()
def _find_prices(order: Array, at: Array, flow: Array, members: int, price: Array) -> None:
    """Write the largest prices that go with a flow; flow[i] passes from at[i] to at[i + 1]."""
    pays = np.empty(len(order), np.int64)
    for i in range(len(order)):
        pays[i] = 0 if order[i] < members else FAR
        if i:
            way = at[i] - at[i - 1]
            pays[i] = min(pays[i], pays[i - 1] + (-way if flow[i - 1] > 0 else way))
    for i in range(len(order) - 2, -1, -1):
        way = at[i + 1] - at[i]
        pays[i] = min(pays[i], pays[i + 1] + (-way if flow[i] < 0 else way))
    for i in range(len(order)):
        if order[i] >= members:
            price[order[i] - members] = pays[i]


@kernel(INTS, INTS2, INTS2, INT, SEATING)
def _seat(order: Array, people: Array, spots: Array, capacity: int, seating: Seating) -> None:
    price, taken, held, own, _ = seating
    members, leaders = len(people), len(spots)
    surplus = members - leaders * capacity
    by_member, by_leader = order[order < members], order[order >= members] - members
    out = _leave_out(people[by_member, 0], spots[by_leader, 0], capacity, surplus)
    seat, bench, passed, running = 0, leaders * capacity, 0, 0
    at, flow = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    for i in range(len(order)):
        if order[i] >= members:
            at[i] = spots[order[i] - members, 0]
            running -= capacity
        else:
            member = order[i]
            at[i] = people[member, 0]
            if out[passed]:
                held[bench], own[member] = member, 0
                bench += 1
            else:
                leader = by_leader[seat // capacity]
                held[leader * capacity + seat % capacity] = member
                own[member] = abs(spots[leader, 0] - people[member, 0])
                seat += 1
                running += 1
            passed += 1
        flow[i] = running
    taken[:leaders], taken[leaders] = capacity, surplus
    _find_prices(order, at, flow, members, price)
    price[leaders] = 0
