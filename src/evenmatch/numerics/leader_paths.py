"""Shortest augmenting paths: a nearly optimal seating made optimal.

Problem. After the auction most members sit with a leader of the least cost + price, the others nearly so. All of them
shall, without a tolerance.

Idea. First prices are raised: of leaders with whom a member would rather sit, until it would not. Where the seating is
optimal already this ends, and nothing is left to do; that is so in particular where many costs are equal. Where it is
not, prices would go round in circles for ever, and it is given up after some sweeps. Whoever is not content then gets
up, and one after the other is seated again along a shortest path: the member takes a seat of a leader, whose member
moves on to another leader, and so on to a leader with an empty seat:

    free member --> leader a, member of a --> leader b, ..., member of y --> leader z, who has an empty seat

A leader is reached at the least of what the path has cost so far, plus cost + price there, less what the moving member
pays now. All members on their seats are content, so no step is shorter than 0, and Dijkstra's search over the leaders
is right. Afterwards the price of each leader on the way rises to the length of the path: everybody is still content.

Beyond the lists. A member on the way may move to a leader outside of its list, but not for less than its horizon. So
the horizon stands in the heap too, as an event; when it comes up, the member looks for leaders beyond who are not
settled yet, the next few in the tree or all of the matrix. Leaders come before events of the same length: then each
look finds new ones, and the search is that of the complete graph.

Complexity. A search settles some leaders and looks at `capacity` lists for each; few in general, all at worst.
"""

from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import FLOAT, FLOATS2, INT, kernel
from evenmatch.numerics.leader_auction import SEATING, Seating, refill
from evenmatch.numerics.leader_lists import LISTS, Lists, whole
from evenmatch.numerics.leader_space import FAR, SPACE, Space, closest, renew_node_prices, steps_apart

__all__ = ["make_content"]

SWEEPS: Final = 4


class Search(NamedTuple):
    """What is reached: leaders by number, then the horizons of members, by their number after that."""

    heap: Array
    """int64[k + 1 + m]: the least length first, of equal ones the lowest number."""
    place: Array
    """int64[k + 1 + m]: where in the heap each is, -1 = not any more."""
    length: Array
    """int64[k + 1 + m]."""
    via: Array
    """int64[k + 1 + m]: the member who moves there."""
    stamp: Array
    """int64[k + 1 + m]: the last search that reached it."""
    settled: Array
    """int64[k + 1]: the last search that settled each leader."""
    route: Array
    """int64[k + 1]: the leaders that were passed, in order."""


@kernel()
def _raise_prices(
    matrix: Array, unit: float, space: Space, lists: Lists, seating: Seating, capacity: int, visits: int
) -> None:
    """Raise the prices of whom members would rather sit with, leader by leader, for as many visits at most."""
    price, taken, held, own, _ = seating
    list_leader, list_cost, horizon = lists
    leaders = len(price) - 1
    queue, waiting = np.arange(leaders + 1), np.ones(leaders + 1, np.bool_)
    head, size = 0, leaders + 1
    while size and visits:
        leader = queue[head]
        head = (head + 1) % (leaders + 1)
        size -= 1
        visits -= 1
        waiting[leader] = False
        for seat in range(leader * capacity, leader * capacity + taken[leader]):
            member = held[seat]
            pays = own[member] + price[leader]
            while True:
                for at in range(list_leader.shape[1]):
                    other = list_leader[member, at]
                    if list_cost[member, at] + price[other] < pays:
                        price[other] = pays - list_cost[member, at]
                        size = _join(queue, waiting, head, size, other)
                if horizon[member] >= pays:
                    break
                refill(matrix, unit, space, lists, member, price)
            if taken[leaders] and price[leaders] < pays:
                price[leaders] = pays
                size = _join(queue, waiting, head, size, leaders)


@kernel()
def _join(queue: Array, waiting: Array, head: int, size: int, leader: int) -> int:
    """Put a leader at the end of a ring, if it is not in it; returns the size."""
    if waiting[leader]:
        return size
    waiting[leader] = True
    queue[(head + size) % len(queue)] = leader
    return size + 1


@kernel()
def _least(lists: Lists, member: int, price: Array, surplus: bool) -> int:
    """The least cost + price in a list or on the bench."""
    leader, cost = lists.leader, lists.cost
    least = price[len(price) - 1] if surplus else FAR
    for look in range(leader.shape[1]):
        least = min(least, cost[member, look] + price[leader[member, look]])
    return least


@kernel()
def _let_get_up(
    matrix: Array,
    unit: float,
    space: Space,
    lists: Lists,
    seating: Seating,
    capacity: int,
    seat_of: Array,
    free: Array,
) -> int:
    """Take the seats of those who have a better leader; writes where all others sit."""
    price, taken, held, own, leader_of = seating
    surplus = len(held) > (len(price) - 1) * capacity
    discontent = 0
    for leader in range(len(price)):
        first, kept = leader * capacity, 0
        for at in range(first, first + taken[leader]):
            member = held[at]
            least = _least(lists, member, price, surplus)
            if least > lists.horizon[member]:
                refill(matrix, unit, space, lists, member, price)
                least = _least(lists, member, price, surplus)
            if own[member] + price[leader] > least:
                free[discontent] = member
                discontent += 1
                leader_of[member] = -1
            else:
                held[first + kept], seat_of[member], leader_of[member] = member, first + kept, leader
                kept += 1
        taken[leader] = kept
    return discontent


@kernel()
def _shortest_path(
    matrix: Array,
    unit: float,
    space: Space,
    lists: Lists,
    seating: Seating,
    capacity: int,
    member: int,
    search: Search,
    this: int,
) -> tuple[int, int]:
    """Find the way from a free member to an empty seat; returns how many leaders are passed, and the last leader."""
    price, taken, held, own, _ = seating
    list_leader, list_cost, horizon = lists
    heap, place, length, via, stamp, settled, route = search
    leaders, wanted = len(price) - 1, list_leader.shape[1]
    surplus = len(held) - leaders * capacity
    upper, size, passed, item = FAR, 0, 0, -1
    seat, end, so_far = 0, 1, 0
    while True:
        while seat < end:
            if item >= 0:
                member = held[seat]
                so_far = length[item] - own[member] - price[item]
            for at in range(wanted):
                leader = int(list_leader[member, at])
                reached = so_far + list_cost[member, at] + price[leader]
                if reached < upper:
                    size = _reach(heap, place, length, via, stamp, this, size, leader, reached, member)
                    if taken[leader] < capacity:
                        upper = reached
            reached = so_far + price[leaders]
            if surplus and reached < upper:
                size = _reach(heap, place, length, via, stamp, this, size, leaders, reached, member)
                if taken[leaders] < surplus:
                    upper = reached
            if horizon[member] < FAR and so_far + horizon[member] < upper:
                reached = so_far + horizon[member]
                size = _reach(heap, place, length, via, stamp, this, size, leaders + 1 + member, reached, member)
            seat += 1
        item = heap[0]
        size = _drop_first(heap, place, length, size)
        if item > leaders:
            size, upper = _look_beyond(matrix, unit, space, wanted, seating, capacity, item, search, this, size, upper)
            continue
        settled[item] = this
        if taken[item] < (capacity if item < leaders else surplus):
            return passed, item
        route[passed] = item
        passed += 1
        seat, end = item * capacity, item * capacity + taken[item]


@kernel()
def _look_beyond(
    matrix: Array,
    unit: float,
    space: Space,
    wanted: int,
    seating: Seating,
    capacity: int,
    item: int,
    search: Search,
    this: int,
    size: int,
    upper: int,
) -> tuple[int, int]:
    """Reach leaders that are not in the list of the member whose horizon came up; returns size and upper."""
    price, taken, _, own, leader_of = seating
    heap, place, length, via, stamp, settled, _ = search
    leaders = len(price) - 1
    member = item - leaders - 1
    holder = leader_of[member]
    so_far = length[holder] - own[member] - price[holder] if holder >= 0 else 0
    in_space = len(space.spots) > 0
    found, value = np.empty((1, wanted), np.int64), np.empty((1, wanted), np.int64)
    looks = closest(space, space.people, member, price, settled, this, found, value) if in_space else leaders
    for look in range(looks):
        leader = found[0, look] if in_space else look
        reached = so_far + (value[0, look] if in_space else whole(matrix[leader, member], unit) + price[leader])
        if reached < upper and settled[leader] != this:
            size = _reach(heap, place, length, via, stamp, this, size, leader, reached, member)
            if taken[leader] < capacity:
                upper = reached
    if in_space and looks == wanted and so_far + value[0, wanted - 1] < upper:
        stamp[item] = -1
        size = _reach(heap, place, length, via, stamp, this, size, item, so_far + value[0, wanted - 1], member)
    return size, upper


@kernel()
def _move_up(
    matrix: Array, unit: float, space: Space, seating: Seating, capacity: int, seat_of: Array, via: Array, leader: int
) -> None:
    """Seat everybody on a path, from its end: each takes the seat that the one after it has left."""
    _, taken, held, own, leader_of = seating
    seat = leader * capacity + taken[leader]
    taken[leader] += 1
    while leader >= 0:
        member = via[leader]
        before, left = leader_of[member], seat_of[member]
        held[seat], seat_of[member], leader_of[member] = member, seat, leader
        if leader == len(taken) - 1:
            own[member] = 0
        elif len(space.spots):
            own[member] = steps_apart(space.spots, leader, space.people, member, space.charge)
        else:
            own[member] = whole(matrix[leader, member], unit)
        leader, seat = before, left


@kernel()
def _reach(
    heap: Array,
    place: Array,
    lengths: Array,
    via: Array,
    stamp: Array,
    this: int,
    size: int,
    item: int,
    length: int,
    member: int,
) -> int:
    """Note a way to a leader or horizon, if it is the shortest so far; returns the size of the heap."""
    if stamp[item] != this:
        stamp[item] = this
        at = size
        size += 1
    elif place[item] >= 0 and length < lengths[item]:
        at = place[item]
    else:
        return size
    lengths[item], via[item] = length, member
    while at > 0:
        parent = (at - 1) // 2
        above = heap[parent]
        if lengths[above] < length or (lengths[above] == length and above < item):
            break
        heap[at], place[above] = above, at
        at = parent
    heap[at], place[item] = item, at
    return size


@kernel()
def _drop_first(heap: Array, place: Array, lengths: Array, size: int) -> int:
    """Take the nearest item out of the heap; returns its size."""
    place[heap[0]] = -1
    size -= 1
    item, at = heap[size], 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        below = heap[child]
        if child + 1 < size:
            other = heap[child + 1]
            if lengths[other] < lengths[below] or (lengths[other] == lengths[below] and other < below):
                child, below = child + 1, other
        if lengths[item] < lengths[below] or (lengths[item] == lengths[below] and item < below):
            break
        heap[at], place[below] = below, at
        at = child
    if size:
        heap[at], place[item] = item, at
    return size


@kernel(FLOATS2, FLOAT, SPACE, LISTS, SEATING, INT)
def make_content(matrix: Array, unit: float, space: Space, lists: Lists, seating: Seating, capacity: int) -> int:
    """Make a seating of all members optimal; returns how many had to get up."""
    members, leaders = len(seating.held), len(seating.price) - 1
    seat_of, free = np.empty(members, np.int64), np.empty(members, np.int64)
    if len(space.spots):
        renew_node_prices(seating.price, space)
    _raise_prices(matrix, unit, space, lists, seating, capacity, SWEEPS * (leaders + 1))
    discontent = _let_get_up(matrix, unit, space, lists, seating, capacity, seat_of, free)
    if not discontent:
        return 0
    items = leaders + 1 + members
    heap, place = np.empty(items, np.int64), np.empty(items, np.int64)
    length, via = np.empty(items, np.int64), np.empty(items, np.int64)
    stamp, settled = np.full(items, -1, np.int64), np.full(leaders + 1, -1, np.int64)
    route = np.empty(leaders + 1, np.int64)
    search = Search(heap, place, length, via, stamp, settled, route)
    price = seating.price
    for this in range(discontent):
        member = free[this]
        passed, last = _shortest_path(matrix, unit, space, lists, seating, capacity, member, search, this)
        _move_up(matrix, unit, space, seating, capacity, seat_of, via, last)
        for at in range(passed):
            price[route[at]] += length[last] - length[route[at]]
    return discontent
