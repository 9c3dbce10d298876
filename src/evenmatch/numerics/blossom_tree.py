"""The steps of a search in `blossom_search`: how its tree grows, contracts and expands, and what it notes for later.

`now` is the state of the search: its time, its earliest known end, how many events and labelled nodes there are, and
counts of what was done. An event is (time, what), where `what` is a vertex and one of its edges, vertex * HALVES +
edge, or minus a blossom that may be expanded then.

What a node has become since it was labelled is booked by `settle` when its label changes. A vertex that becomes outer
looks at all its edges, once in a search (`_scan`); vertices that drop out of the tree when a blossom expands look back
at the edges from it (`_look_back`).
"""

from typing import Any, Final

from evenmatch.numerics.blossom_nodes import (
    BASE,
    CHILD,
    DUAL,
    EARLIEST,
    ENTRY_FROM,
    ENTRY_TO,
    HOLDER,
    INNER,
    LABEL,
    LINK_FROM,
    LINK_TO,
    LISTED,
    MARK,
    MATE,
    NEXT,
    OUTER,
    OUTSIDE,
    PRICE,
    SEEN,
    SINCE,
    climb,
    first_vertex,
    hold,
    next_vertex,
    open_blossom,
    price_of,
    top_of,
)
from evenmatch.numerics.compiled import kernel
from evenmatch.numerics.event_heap import push

(TIME, END, END_OUTER, END_SINGLE, EVENTS, LISTED_COUNT, SEARCH, SCANNED, SPARES, MARKS, FULL) = range(11)
"""Places in `now`, the state of the search that is going on, and of the numbers that it hands out."""
(SEARCHES, STOPPED, CONTRACTED, EXPANDED, VERTICES) = TALLY = range(11, 16)
"""Places in `now` that count what was done."""
NOW: Final = 16
HALVES: Final = 1 << 32


@kernel()
def settle(nodes: Any, now: Any, node: int) -> None:
    """Book what the time since a node was labelled did to its prices."""
    change = nodes[node, LABEL] * (now[TIME] - nodes[node, SINCE])
    nodes[node, PRICE] -= change
    if nodes[node, CHILD] >= 0:
        nodes[node, DUAL] += 2 * change
    nodes[node, SINCE] = now[TIME]


@kernel()
def _mark(nodes: Any, now: Any, listed: Any, node: int, label: int) -> None:
    nodes[node, LABEL], nodes[node, SINCE] = label, now[TIME]
    if nodes[node, LISTED] != now[SEARCH]:
        nodes[node, LISTED] = now[SEARCH]
        listed[now[LISTED_COUNT]] = node
        now[LISTED_COUNT] += 1


@kernel()
def make_outer(nodes: Any, start: Any, edges: Any, now: Any, listed: Any, heap: Any, node: int) -> None:
    _mark(nodes, now, listed, node, OUTER)
    _scan_all(nodes, start, edges, now, heap, node)


@kernel()
def make_inner(nodes: Any, now: Any, listed: Any, heap: Any, node: int, outer: int, vertex: int) -> None:
    _mark(nodes, now, listed, node, INNER)
    nodes[node, ENTRY_FROM], nodes[node, ENTRY_TO] = outer, vertex
    if nodes[node, CHILD] >= 0:
        _note(now, heap, now[TIME] + nodes[node, DUAL] // 2, -node)


@kernel()
def _note(now: Any, heap: Any, time: int, what: int) -> None:
    if time >= now[END]:
        return
    if now[EVENTS] == len(heap):
        now[FULL] = 1
        return
    now[EVENTS] = push(heap, now[EVENTS], time, what)


@kernel()
def _scan_all(nodes: Any, start: Any, edges: Any, now: Any, heap: Any, node: int) -> None:
    """Note what the vertices of a node that has just become outer, or part of an outer one, can lead to."""
    own = top_of(nodes, node)
    vertex = first_vertex(nodes, node)
    while vertex >= 0:
        _scan(nodes, start, edges, now, heap, own, vertex)
        vertex = next_vertex(nodes, vertex, node)


@kernel()
def _scan(nodes: Any, start: Any, edges: Any, now: Any, heap: Any, own: int, u: int) -> None:
    time, price = now[TIME], price_of(nodes, u)
    search = now[SEARCH]
    now[SCANNED] += 1
    if time + price < now[END]:
        now[END], now[END_OUTER], now[END_SINGLE] = time + price, u, -1
    for at in range(start[u], start[u + 1]):
        v = edges[at, 0]
        top, other = climb(nodes, v)
        label = nodes[top, LABEL]
        if label == INNER or top == own:
            continue
        when = time + price + other - edges[at, 1]
        if label == OUTER:
            when = (when + nodes[top, SINCE]) // 2
            if when < now[END]:
                _note(now, heap, when, u * HALVES + at)
        elif when < now[END]:
            if nodes[nodes[top, BASE], MATE] < 0:
                now[END], now[END_OUTER], now[END_SINGLE] = when, u, v
            elif nodes[v, SEEN] != search or when < nodes[v, EARLIEST]:
                nodes[v, SEEN], nodes[v, EARLIEST] = search, when
                _note(now, heap, when, u * HALVES + at)


@kernel()
def _look_back(nodes: Any, start: Any, edges: Any, now: Any, heap: Any, node: int) -> None:
    """Note the earliest edge from the tree to each vertex of a node that has just dropped out of it."""
    v = first_vertex(nodes, node)
    while v >= 0:
        price, earliest, edge = price_of(nodes, v), now[END], -1
        for at in range(start[v], start[v + 1]):
            top, other = climb(nodes, edges[at, 0])
            if nodes[top, LABEL] == OUTER:
                when = nodes[top, SINCE] + other + price - edges[at, 1]
                if when < earliest:
                    earliest, edge = when, at
        nodes[v, SEEN], nodes[v, EARLIEST] = now[SEARCH], earliest
        if edge >= 0:
            _note(now, heap, earliest, v * HALVES + edge)
        v = next_vertex(nodes, v, node)


@kernel()
def _outer_above(nodes: Any, node: int) -> int:
    """The outer node that is next on the way from an outer one to the root, -1 at the root."""
    mate = nodes[nodes[node, BASE], MATE]
    return -1 if mate < 0 else int(top_of(nodes, nodes[top_of(nodes, mate), ENTRY_FROM]))


@kernel()
def _joint(nodes: Any, now: Any, one: int, other: int) -> int:
    """The first outer node that the ways from two outer ones to the root have in common."""
    now[MARKS] += 1
    while True:
        if one >= 0:
            if nodes[one, MARK] == now[MARKS]:
                return one
            nodes[one, MARK] = now[MARKS]
            one = _outer_above(nodes, one)
        one, other = other, one


@kernel()
def contract(nodes: Any, start: Any, edges: Any, spare: Any, now: Any, listed: Any, heap: Any, u: int, v: int) -> None:
    """Make one node of the cycle that the edge u-v closes in the tree."""
    now[CONTRACTED] += 1
    one, other = top_of(nodes, u), top_of(nodes, v)
    joint = _joint(nodes, now, one, other)
    node = other
    while node != joint:
        base = nodes[node, BASE]
        mate = nodes[base, MATE]
        inner = top_of(nodes, mate)
        nodes[node, NEXT], nodes[node, LINK_FROM], nodes[node, LINK_TO] = inner, base, mate
        node = top_of(nodes, nodes[inner, ENTRY_FROM])
        nodes[inner, NEXT] = node
        nodes[inner, LINK_FROM], nodes[inner, LINK_TO] = nodes[inner, ENTRY_TO], nodes[inner, ENTRY_FROM]
    node = one
    while node != joint:
        base = nodes[node, BASE]
        mate = nodes[base, MATE]
        inner = top_of(nodes, mate)
        nodes[inner, NEXT], nodes[inner, LINK_FROM], nodes[inner, LINK_TO] = node, mate, base
        node = top_of(nodes, nodes[inner, ENTRY_FROM])
        nodes[node, NEXT] = inner
        nodes[node, LINK_FROM], nodes[node, LINK_TO] = nodes[inner, ENTRY_FROM], nodes[inner, ENTRY_TO]
    nodes[one, NEXT], nodes[one, LINK_FROM], nodes[one, LINK_TO] = other, u, v
    now[SPARES] -= 1
    blossom = spare[now[SPARES]]
    nodes[blossom, CHILD], nodes[blossom, BASE], nodes[blossom, HOLDER] = joint, nodes[joint, BASE], -1
    nodes[blossom, PRICE] = nodes[blossom, DUAL] = 0
    _mark(nodes, now, listed, blossom, OUTER)
    node = joint
    while nodes[node, HOLDER] < 0:
        settle(nodes, now, node)
        hold(nodes, node, blossom)
        node = nodes[node, NEXT]
    node = joint
    while True:
        label = nodes[node, LABEL]
        nodes[node, LABEL] = OUTSIDE
        if label == INNER:
            _scan_all(nodes, start, edges, now, heap, node)
        node = nodes[node, NEXT]
        if node == joint:
            return


@kernel()
def expand(
    nodes: Any,
    start: Any,
    edges: Any,
    spare: Any,
    now: Any,
    listed: Any,
    cycle: Any,
    heap: Any,
    blossom: int,
) -> None:
    """Open an inner blossom without z; the even way from its entry to its base stays in the tree."""
    now[EXPANDED] += 1
    settle(nodes, now, blossom)
    nodes[blossom, LABEL] = OUTSIDE
    outer, vertex = nodes[blossom, ENTRY_FROM], nodes[blossom, ENTRY_TO]
    with_base = nodes[blossom, BASE]
    while nodes[with_base, HOLDER] != blossom:
        with_base = nodes[with_base, HOLDER]
    size = open_blossom(nodes, blossom, with_base, cycle)
    spare[now[SPARES]] = blossom
    now[SPARES] += 1
    entered, place = top_of(nodes, vertex), 0
    while cycle[place] != entered:
        place += 1
    make_inner(nodes, now, listed, heap, entered, outer, vertex)
    while place:
        # Every node but the base's is matched to a neighbour in the cycle, so the way begins with that one.
        if place % 2:
            between, place = cycle[place + 1], (place + 2) % size
            outer, vertex = nodes[between, LINK_FROM], nodes[between, LINK_TO]
        else:
            between, place = cycle[place - 1], place - 2
            outer, vertex = nodes[cycle[place], LINK_TO], nodes[cycle[place], LINK_FROM]
        _mark(nodes, now, listed, between, OUTER)
        make_inner(nodes, now, listed, heap, cycle[place], outer, vertex)
    for at in range(size):
        if nodes[cycle[at], LABEL] == OUTER:
            _scan_all(nodes, start, edges, now, heap, cycle[at])
    for at in range(size):
        if nodes[cycle[at], LABEL] == OUTSIDE:
            _look_back(nodes, start, edges, now, heap, cycle[at])
