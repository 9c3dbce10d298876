"""Where the blossom search begins: prices and pairs that are right nearly everywhere, found without any blossom.

Problem. As in `matching`: prices y >= 0 such that every edge's slack y[u] + y[v] - w is 0 or more, matched edges tight.
Each vertex that is single and still priced costs `blossom_search` a search, so leave few of them.

Idea, in three steps.

    greedy      y = half the best weight of the vertex's edges. Each single vertex is lowered to its tightest edge, and
                matched where the far end is single too.
    fractions   The same problem with halves allowed: an odd cycle may be taken as edges of one half each. Now it needs
                no blossoms: from each priced single vertex a tree grows in order of time (Dijkstra), outer vertices
                falling and inner ones rising, until it meets a single vertex, or a half cycle (which is opened there),
                or itself (an odd cycle, which becomes a half one), or an outer price is 0 (that vertex stays single).
    opening     Of each half cycle one vertex becomes single, the others are matched along it: all its edges are tight.

Why it is exact. Every step keeps slacks >= 0 and matched edges tight, which is all that `blossom_search` assumes. The
fractional optimum is a good start since blossoms are rare: a few vertices in a hundred stay single.

Whole numbers. Weights are even; tight edges join prices of equal parity, so all of a tree has one parity and half the
slack between two outer vertices is whole.

Complexity. A search touches its tree only; in practice a few dozen vertices. At worst O(edges * log) for each.
"""

from typing import Any

import numpy as np

from evenmatch.numerics.blossom_nodes import (
    EARLIEST,
    ENTRY_FROM,
    HALF,
    INNER,
    LABEL,
    MARK,
    MATE,
    NEXT,
    OUTER,
    OUTSIDE,
    PRICE,
    SEEN,
    SINCE,
    SINGLE,
)
from evenmatch.numerics.compiled import kernel
from evenmatch.numerics.event_heap import pop, push

__all__ = ["half_matching", "match_greedily", "open_halves"]


@kernel()
def match_greedily(nodes: Any, start: Any, edges: Any, guess: Any) -> None:
    """The first step; `guess`, int64[count] or nothing: prices that may be wrong, to begin with instead."""
    count = len(start) - 1
    for u in range(count):
        price = guess[u] if len(guess) else 0
        for at in range(start[u], start[u + 1]):
            v, weight = edges[at, 0], edges[at, 1]
            # One end pays what the other is not guessed to pay, or each end half of its best.
            price = max(price, weight - guess[v] if len(guess) else weight // 2)
        nodes[u, PRICE] = price
    for u in range(count):
        if nodes[u, MATE] != SINGLE:
            continue
        price = 0
        for at in range(start[u], start[u + 1]):
            price = max(price, edges[at, 1] - nodes[edges[at, 0], PRICE])
        nodes[u, PRICE] = price
        for at in range(start[u], start[u + 1]):
            v = edges[at, 0]
            if nodes[v, MATE] == SINGLE and price + nodes[v, PRICE] == edges[at, 1]:
                nodes[u, MATE], nodes[v, MATE] = v, u
                break


@kernel()
def half_matching(nodes: Any, start: Any, edges: Any) -> None:
    """The second step."""
    count = len(start) - 1
    # Every directed edge is pushed at most once in a search.
    heap = np.empty((len(edges) + 1, 2), np.int64)
    tree = np.empty(count, np.int64)
    search = 0
    for root in range(count):
        if nodes[root, MATE] == SINGLE and nodes[root, PRICE] > 0:
            search += 1
            _search(nodes, start, edges, heap, tree, root, search)
    for vertex in range(count):
        nodes[vertex, SEEN] = 0
        nodes[vertex, MARK] = 0


@kernel()
def _search(nodes: Any, start: Any, edges: Any, heap: Any, tree: Any, root: int, search: int) -> None:
    """Match the root, put it on a half cycle, or leave a vertex without a price single in its place."""
    tree[0] = root
    size, events, time = 1, 0, 0
    end, end_outer, end_other = nodes[root, PRICE], root, -1
    nodes[root, LABEL], nodes[root, SINCE] = OUTER, 0
    u = root
    while True:
        price = nodes[u, PRICE]
        if time + price < end:
            end, end_outer, end_other = time + price, u, -1
        for at in range(start[u], start[u + 1]):
            v = edges[at, 0]
            label = nodes[v, LABEL]
            if label == INNER:
                continue
            when = time + price + nodes[v, PRICE] - edges[at, 1]
            if label == OUTER:
                when = (when + nodes[v, SINCE]) // 2
                if when < end:
                    end, end_outer, end_other = when, u, v
            elif when < end:
                if nodes[v, MATE] < 0:
                    end, end_outer, end_other = when, u, v
                elif nodes[v, SEEN] != search or when < nodes[v, EARLIEST]:
                    nodes[v, SEEN], nodes[v, EARLIEST], nodes[v, ENTRY_FROM] = search, when, u
                    events = push(heap, events, when, v)
        while events > 0 and nodes[heap[0, 1], LABEL] != OUTSIDE:
            events = pop(heap, events)
        if events == 0 or heap[0, 0] >= end:
            break
        time, v = heap[0, 0], heap[0, 1]
        events = pop(heap, events)
        u = nodes[v, MATE]
        nodes[v, LABEL], nodes[v, SINCE] = INNER, time
        nodes[u, LABEL], nodes[u, SINCE] = OUTER, time
        tree[size], tree[size + 1] = v, u
        size += 2
    meets_itself = end_other >= 0 and nodes[end_other, LABEL] == OUTER
    for at in range(size):
        v = tree[at]
        nodes[v, PRICE] -= nodes[v, LABEL] * (end - nodes[v, SINCE])
        nodes[v, LABEL] = OUTSIDE
    if meets_itself:
        _make_half(nodes, end_outer, end_other, search)
        return
    if end_other >= 0:
        _open_half(nodes, end_other)
        nodes[end_other, MATE] = end_outer
    _flip(nodes, end_outer, end_other)


@kernel()
def _flip(nodes: Any, outer: int, partner: int) -> None:
    """Match an outer vertex anew (-1 = leave it single), and change the way from it to the root accordingly."""
    while True:
        former = nodes[outer, MATE]
        nodes[outer, MATE] = partner
        if former < 0:
            return
        partner, outer = former, nodes[former, ENTRY_FROM]
        nodes[partner, MATE] = outer


@kernel()
def _make_half(nodes: Any, u: int, v: int, search: int) -> None:
    """Make a half cycle of the edge u-v and the ways from both to where they meet; flip the way from there."""
    joint = u
    nodes[joint, MARK] = search
    while nodes[joint, MATE] >= 0:
        joint = nodes[nodes[joint, MATE], ENTRY_FROM]
        nodes[joint, MARK] = search
    joint = v
    while nodes[joint, MARK] != search:
        joint = nodes[nodes[joint, MATE], ENTRY_FROM]
    above = nodes[joint, MATE]
    # Up from v to the joint, and from u to the joint the other way round.
    vertex = v
    while vertex != joint:
        inner = nodes[vertex, MATE]
        outer = nodes[inner, ENTRY_FROM]
        nodes[vertex, NEXT], nodes[inner, NEXT] = inner, outer
        nodes[vertex, MATE] = nodes[inner, MATE] = HALF
        vertex = outer
    vertex = u
    while vertex != joint:
        inner = nodes[vertex, MATE]
        outer = nodes[inner, ENTRY_FROM]
        nodes[inner, NEXT], nodes[outer, NEXT] = vertex, inner
        nodes[vertex, MATE] = nodes[inner, MATE] = HALF
        vertex = outer
    nodes[u, NEXT] = v
    nodes[joint, MATE] = HALF
    if above >= 0:
        outer = nodes[above, ENTRY_FROM]
        nodes[above, MATE] = outer
        _flip(nodes, outer, above)


@kernel()
def _open_half(nodes: Any, vertex: int) -> None:
    """Make a vertex of a half cycle single, if it is one, and match the others along the cycle."""
    if nodes[vertex, MATE] != HALF:
        return
    one = nodes[vertex, NEXT]
    nodes[vertex, MATE] = SINGLE
    while one != vertex:
        other = nodes[one, NEXT]
        nodes[one, MATE], nodes[other, MATE] = other, one
        one = nodes[other, NEXT]


@kernel()
def open_halves(nodes: Any, count: int) -> None:
    """The third step: of each half cycle the vertex of least price, the last of several, becomes single."""
    for vertex in range(count):
        if nodes[vertex, MATE] == HALF:
            least, other = vertex, nodes[vertex, NEXT]
            while other != vertex:
                difference = nodes[other, PRICE] - nodes[least, PRICE]
                if difference < 0 or (difference == 0 and other > least):
                    least = other
                other = nodes[other, NEXT]
            _open_half(nodes, least)
