"""An auction of seats: members bid for leaders until everybody has one, and prices are nearly right.

Problem. m members, k leaders with `capacity` seats each, and one more leader without a place: the bench, whose seats
are for the surplus members and cost nothing. So all seats are taken in the end, by all members: a balanced problem, in
which any prices prove a solution with which every member is content.

Idea. A member bids for the leader of the least cost + price, as much as it takes to make that leader as dear as the
second best, and eps more. A leader's seats are alike and go to its highest bids; its price is the lowest of them once
all are taken. Whoever is overbid bids again. Then nobody is discontent by more than eps. A round begins with the prices
that the last one left, empty seats and a smaller eps: `divisor` times smaller, down to `eps_last`.

Renewed bids. A bid says up to what price a member would stay, as it was when the bid was made; where the other leaders
have become dearer since, it would stay longer. So the lowest bid is made anew before its seat is lost, and the one who
leaves is the one whom it costs least at the prices of now. Without that, members push each other about in steps of eps
for as long as it takes the right one to be overbid.

Lists. Members look at their lists only (`leader_lists`). When the best there is more than `slack` times eps beyond the
horizon, the list is filled again at the prices of now. So a member may overlook a better leader, but not by much more
than it may be discontent anyway; and lists that are too short for those who have them do not stay so.

Why it ends. Bids raise prices by eps at least. Where a round takes more bids than we have patience for, prices have a
long way to go in small steps: eps is made four times as large then, and the round goes on. When eps is not getting
smaller any more, the auction stops. What it leaves is good enough to begin with, and made exact by `leader_paths`.

Complexity. About 4 bids a member in a round, and five times as many renewed ones, of `wanted` additions each.

Source: D. P. Bertsekas, D. A. Castanon, "The auction algorithm for the transportation problem" (1989).
"""

from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import FLOAT, FLOATS2, INT, OUT_INTS, bundle, kernel
from evenmatch.numerics.leader_lists import GROUP, LISTS, Lists, closest_in_matrix, fill_groups
from evenmatch.numerics.leader_space import BITS, FAR, SPACE, Space, renew_node_prices

__all__ = ["SEATING", "Seating", "auction", "empty_seating", "refill"]

FIRST_PATIENCE: Final = 12
PATIENCE: Final = 64
"""Bids a member in a round, before eps is made larger; less in the first round, which has to find the right scale."""
RENEWED: Final = 1024
"""From so many members on, bids are renewed; fewer are done with sooner than that pays."""
EPS_MAX: Final = 1 << BITS
"""As much as the largest cost."""


class Seating(NamedTuple):
    """Who sits with whom, at what prices; the bench is the last leader."""

    price: Array
    """int64[k + 1]."""
    taken: Array
    """int64[k + 1]: seats taken."""
    held: Array
    """int64[m]: who sits on each seat; those of leader i begin at i * capacity."""
    own: Array
    """int64[m]: what each member's leader costs it."""
    leader_of: Array
    """int64[m], -1 = nobody; only `leader_paths` keeps it."""


SEATING: Final = bundle(Seating, OUT_INTS, OUT_INTS, OUT_INTS, OUT_INTS, OUT_INTS)


def empty_seating(leaders: int, members: int) -> Seating:
    """Empty seats at no price."""
    price, taken = np.zeros((2, leaders + 1), np.int64)
    held, own, leader_of = np.full((3, members), -1, np.int64)
    return Seating(price, taken, held, own, leader_of)


@kernel()
def _round(
    matrix: Array,
    unit: float,
    space: Space,
    lists: Lists,
    seating: Seating,
    capacity: int,
    eps: int,
    slack: int,
    patience: int,
    queue: Array,
    bid: Array,
) -> tuple[int, int]:
    """Seat all members anew; returns the eps that it took, and how many lists had to be filled again."""
    price, taken, held, own, _ = seating
    list_leader, list_cost, horizon = lists
    members, leaders = len(held), len(price) - 1
    surplus = members - leaders * capacity
    refilled, bids = 0, 0
    taken[:] = 0
    for at in range(members):
        queue[at] = members - 1 - at
    waiting = members
    while waiting:
        waiting -= 1
        member = queue[waiting]
        best, second, cost, chosen = _best_two(list_leader, list_cost, member, price, surplus)
        if best - slack * eps > horizon[member]:
            if refilled % (1 + leaders // 1024) == 0 and len(space.spots):
                renew_node_prices(price, space)
            refilled += 1
            refill(matrix, unit, space, lists, member, price)
            best, second, cost, chosen = _best_two(list_leader, list_cost, member, price, surplus)
        second = min(second, max(best, horizon[member]))
        offer = price[chosen] + eps + (second - best if second < FAR else 0)
        own[member] = cost
        first = chosen * capacity
        room = capacity if chosen < leaders else surplus
        if taken[chosen] < room:
            _take_empty_seat(bid, held, first, taken[chosen], offer, member)
            taken[chosen] += 1
        else:
            if members >= RENEWED:
                _renew_lowest(lists, seating, surplus, eps, bid, chosen, first, room, offer)
            if bid[first] < offer:
                queue[waiting] = held[first]
                _take_cheapest_seat(bid, held, first, room, offer, member)
            else:
                queue[waiting] = member
            waiting += 1
        if taken[chosen] == room:
            price[chosen] = min(bid[first], offer)
        bids += 1
        if bids == patience:
            bids, eps = 0, min(4 * eps, EPS_MAX)
    return eps, refilled


@kernel()
def _best_two(
    list_leader: Array, list_cost: Array, member: int, price: Array, surplus: int
) -> tuple[int, int, int, int]:
    """The two least values of cost + price in a list or on the bench, and cost and leader of the least."""
    best, second, cost, chosen = FAR, FAR, 0, -1
    if surplus:
        chosen = len(price) - 1
        best = price[chosen]
    for at in range(list_leader.shape[1]):
        value = list_cost[member, at] + price[list_leader[member, at]]
        if value < second:
            if value < best:
                second = best
                best, cost, chosen = value, list_cost[member, at], int(list_leader[member, at])
            else:
                second = value
    return best, second, cost, chosen


@kernel()
def _renew_lowest(
    lists: Lists,
    seating: Seating,
    surplus: int,
    eps: int,
    bid: Array,
    leader: int,
    first: int,
    room: int,
    offer: int,
) -> None:
    """Make the lowest bid for a leader anew, until it is one of now or not below the offer."""
    price, _, held, own, _ = seating
    list_leader, list_cost, horizon = lists
    while bid[first] < offer:
        member = held[first]
        least = max(horizon[member], own[member] + price[leader])
        if surplus and leader < len(price) - 1:
            least = min(least, price[len(price) - 1])
        for at in range(list_leader.shape[1]):
            other = list_leader[member, at]
            if other != leader:
                least = min(least, list_cost[member, at] + price[other])
        renewed = least - own[member] + eps
        if renewed <= bid[first]:
            return
        _take_cheapest_seat(bid, held, first, room, renewed, member)


@kernel()
def refill(matrix: Array, unit: float, space: Space, lists: Lists, member: int, price: Array) -> None:
    """Fill a list again at the prices of now; in a space, those of the whole group, which will need it soon."""
    if len(space.spots):
        first = member // GROUP * GROUP
        fill_groups(space, price, first, min(first + GROUP, len(space.people)), lists)
        return
    wanted = lists.leader.shape[1]
    leaders, values = np.empty((1, wanted), np.int64), np.empty((1, wanted), np.int64)
    closest_in_matrix(matrix, unit, member, price, leaders, values)
    for at in range(wanted):
        lists.leader[member, at] = leaders[0, at]
        lists.cost[member, at] = values[0, at] - price[leaders[0, at]]
    lists.horizon[member] = values[0, wanted - 1]


@kernel()
def _take_empty_seat(bid: Array, held: Array, first: int, count: int, offer: int, member: int) -> None:
    """Add a bid to a leader's seats, a heap with the lowest bid first."""
    at = count
    while at > 0 and bid[first + (at - 1) // 2] > offer:
        parent = (at - 1) // 2
        bid[first + at], held[first + at] = bid[first + parent], held[first + parent]
        at = parent
    bid[first + at], held[first + at] = offer, member


@kernel()
def _take_cheapest_seat(bid: Array, held: Array, first: int, room: int, offer: int, member: int) -> None:
    """Put a bid in the place of the lowest."""
    at = 0
    while 2 * at + 1 < room:
        child = 2 * at + 1
        if child + 1 < room and bid[first + child + 1] < bid[first + child]:
            child += 1
        if bid[first + child] >= offer:
            break
        bid[first + at], held[first + at] = bid[first + child], held[first + child]
        at = child
    bid[first + at], held[first + at] = offer, member


@kernel(FLOATS2, FLOAT, SPACE, LISTS, SEATING, INT, INT, INT, INT, INT)
def auction(
    matrix: Array,
    unit: float,
    space: Space,
    lists: Lists,
    seating: Seating,
    capacity: int,
    eps: int,
    eps_last: int,
    divisor: int,
    slack: int,
) -> tuple[int, int]:
    """Seat all members, with an eps that ends at `eps_last`, if that goes.

    Returns the eps that it ended with, and how many lists had to be filled again in the last round.
    """
    members = len(seating.held)
    queue, bid = np.empty(members, np.int64), np.empty(members, np.int64)
    before, patience = FAR, FIRST_PATIENCE * members
    while True:
        eps, refilled = _round(matrix, unit, space, lists, seating, capacity, eps, slack, patience, queue, bid)
        if eps <= eps_last or eps > before // 2:
            return eps, refilled
        before, eps, patience = eps, max(eps // divisor, eps_last), PATIENCE * members
