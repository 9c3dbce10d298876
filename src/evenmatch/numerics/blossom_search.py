"""Prices, pairs and blossoms, improved search by search until no vertex is both single and priced.

The dual that the prices belong to stands in `matching`, the table of nodes in `blossom_nodes`. Every slack is 0 or
more, matched edges are tight (slack 0), blossoms are as full as they can be; that stays so from beginning to end.

One search for each priced single vertex, the root. An alternating tree grows from it along tight edges: nodes at even
distance are outer, at odd distance inner. `TIME` flows: outer prices fall and inner ones rise by one a unit (outer
blossoms gain 2, inner ones lose 2), which keeps the tree tight. What happens next is the earliest of

    grow      an edge from an outer vertex to one outside the tree is tight: its node is inner, that one's mate outer
    contract  an edge between two outer nodes is tight: the odd cycle becomes one node, a blossom, outer as a whole
    expand    an inner blossom's z is 0: it is opened, the even way through it stays in the tree
    end       an edge to another single vertex is tight, or an outer vertex's price is 0: the way from the root is
              flipped, and the root is matched (in the second case at the expense of a vertex that may be single)

Why one search suffices for a root. Ends never undo one another: single vertices without a price stay allowed, and every
search leaves one priced single vertex fewer.

Lazy prices. A node in the tree remembers since when; `settle` books what the time since then did, for a blossom in one
step. Events are judged when their time comes: a stale one is known by its slack not being 0. What can't come before the
earliest known end is not even noted, and a vertex outside the tree keeps only its earliest edge.

Budgets. A search that has looked at more vertices than its budget stops where it is, which is a valid state, and is
tried again in a later round with a larger budget. Without that, one early search can build a giant nested blossom where
others would have found short ways. When searches that stopped have looked at more vertices than there are, one runs
without limit, so that hopeless roots (the leaves of a star) do not cost a round each.

Complexity. O(edges * log edges) a search at worst; a few dozen vertices in practice. Memory: 200 bytes a vertex, 16 a
directed edge, and the events, for which room is doubled when a search needs it.

Sources: Edmonds 1965 (blossoms, the dual), Galil 1986 (survey; searches by time), Applegate and Cook 1993 (the
fractional start).
"""

from typing import Any, Final

import numpy as np

from evenmatch.numerics.blossom_nodes import (
    BASE,
    DUAL,
    ENTRY_FROM,
    ENTRY_TO,
    INNER,
    LABEL,
    MATE,
    OUTER,
    OUTSIDE,
    SINCE,
    SINGLE,
    climb,
    price_of,
    top_of,
)
from evenmatch.numerics.blossom_tree import (
    END,
    END_OUTER,
    END_SINGLE,
    EVENTS,
    FULL,
    HALVES,
    LISTED_COUNT,
    SCANNED,
    SEARCH,
    SEARCHES,
    STOPPED,
    TIME,
    VERTICES,
    contract,
    expand,
    make_inner,
    make_outer,
    settle,
)
from evenmatch.numerics.compiled import kernel
from evenmatch.numerics.event_heap import pop

__all__ = ["BUDGET", "search_all"]

BUDGET: Final = 32
"""Vertices that a search may look at in the first round; twice as many in the next, and so on."""


@kernel()
def search_all(nodes: Any, start: Any, edges: Any, spare: Any, now: Any, budget: int) -> None:
    """Search from every priced single vertex; `spare` holds now[SPARES] numbers that no blossom has."""
    count = len(start) - 1
    listed, cycle = np.empty(len(nodes), np.int64), np.empty(len(nodes), np.int64)
    heap = np.empty((1024 + count, 2), np.int64)
    waiting, left = np.empty(count, np.int64), 0
    for vertex in range(count):
        if _is_root(nodes, vertex):
            waiting[left] = vertex
            left += 1
    wasted = 0
    while left:
        again = 0
        for at in range(left):
            root = waiting[at]
            if not _is_root(nodes, root):
                continue
            unlimited = wasted > count
            _search(nodes, start, edges, spare, now, listed, cycle, heap, root, HALVES if unlimited else budget)
            if unlimited:
                wasted = 0
            if now[FULL]:
                heap = np.empty((2 * len(heap), 2), np.int64)
            if _is_root(nodes, root):
                waiting[again] = root
                again += 1
                wasted += now[SCANNED]
        left = again
        budget = min(2 * budget, HALVES)


@kernel()
def _is_root(nodes: Any, vertex: int) -> bool:
    return (
        nodes[top_of(nodes, vertex), BASE] == vertex and nodes[vertex, MATE] == SINGLE and price_of(nodes, vertex) > 0
    )


@kernel()
def _search(
    nodes: Any,
    start: Any,
    edges: Any,
    spare: Any,
    now: Any,
    listed: Any,
    cycle: Any,
    heap: Any,
    root: int,
    budget: int,
) -> None:
    """One search: afterwards the root is matched, or a vertex without a price is single in its place, or it stopped."""
    now[SEARCH] += 1
    now[TIME] = now[EVENTS] = now[LISTED_COUNT] = now[SCANNED] = now[FULL] = 0
    now[END], now[END_OUTER], now[END_SINGLE] = price_of(nodes, root), root, -1
    make_outer(nodes, start, edges, now, listed, heap, top_of(nodes, root))
    stopped = False
    while now[EVENTS] and heap[0, 0] < now[END]:
        if now[SCANNED] > budget or now[FULL]:
            stopped = True
            break
        time, what = heap[0, 0], heap[0, 1]
        now[TIME] = time
        now[EVENTS] = pop(heap, now[EVENTS])
        if what < 0:
            # Since it was noted, a blossom may have been swallowed by another one.
            if nodes[-what, LABEL] == INNER and nodes[-what, DUAL] == 2 * (time - nodes[-what, SINCE]):
                expand(nodes, start, edges, spare, now, listed, cycle, heap, -what)
            continue
        u, at = what // HALVES, what % HALVES
        v = edges[at, 0]
        (one, price), (other, far) = climb(nodes, u), climb(nodes, v)
        if nodes[one, LABEL] != OUTER:
            u, v, one, other = v, u, other, one
        label = nodes[other, LABEL]
        if one == other or label == INNER:
            continue
        prices = price + far - time + nodes[one, SINCE]
        if label == OUTER:
            prices -= time - nodes[other, SINCE]
        if prices != edges[at, 1]:
            continue
        if label == OUTER:
            contract(nodes, start, edges, spare, now, listed, heap, u, v)
        else:
            make_inner(nodes, now, listed, heap, other, u, v)
            mate = nodes[nodes[other, BASE], MATE]
            make_outer(nodes, start, edges, now, listed, heap, top_of(nodes, mate))
    if not stopped:
        now[TIME] = now[END]
    for at in range(now[LISTED_COUNT]):
        settle(nodes, now, listed[at])
        nodes[listed[at], LABEL] = OUTSIDE
    now[SEARCHES] += 1
    now[VERTICES] += now[SCANNED]
    if stopped:
        now[STOPPED] += 1
        return
    outer, single = now[END_OUTER], now[END_SINGLE]
    _flip(nodes, outer, single)
    if single >= 0:
        nodes[top_of(nodes, single), BASE] = single
        nodes[single, MATE] = outer


@kernel()
def _flip(nodes: Any, outer: int, partner: int) -> None:
    """Match an outer vertex anew (-1 = leave it single), and change the way from it to the root accordingly."""
    while True:
        node = top_of(nodes, outer)
        former = nodes[nodes[node, BASE], MATE]
        nodes[node, BASE] = outer
        nodes[outer, MATE] = partner
        if former < 0:
            return
        inner = top_of(nodes, former)
        partner, outer = nodes[inner, ENTRY_TO], nodes[inner, ENTRY_FROM]
        nodes[inner, BASE] = partner
        nodes[partner, MATE] = outer
