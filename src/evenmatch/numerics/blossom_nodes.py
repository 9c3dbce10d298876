"""The table of nodes on which `blossom_search` works: vertices, and the blossoms made of them.

A node is a vertex (numbers 0 to count - 1) or a blossom (from count up): an odd cycle of nodes, joined by tight edges.
A node is on top if no blossom holds it. The table is int64[nodes, 16], one row a node, so that what an edge's far end
is asked for lies together in memory:

    PRICE       of a vertex its price, of a blossom what all its vertices' prices are still to be raised by: the price
                of a vertex is the sum over itself and all that hold it. So a whole blossom is repriced at once.
    HOLDER      the blossom that directly holds the node, -1 = none, on top
    LABEL       OUTSIDE the tree, OUTER or INNER: the sign with which time lowers prices
    SINCE       when it was labelled
    BASE        of a node on top: the one vertex that is not matched inside it
    MATE        of a vertex: its partner, SINGLE, or HALF (see `matching_start`)
    AGE         of a blossom's number: how many blossoms that had it were opened (the same column)
    EARLIEST    of a vertex: when the earliest edge from the tree becomes tight, if SEEN is this search
    DUAL        of a blossom: its z (the same column)
    SEEN, LISTED    the search that last wrote EARLIEST, that last put the node on the list of labelled ones
    ENTRY_FROM, ENTRY_TO    of an inner node: the edge by which it came in, (vertex of its parent, its own vertex)
    JUMP, SUM   of a node that is held (the same columns): age and number of a blossom above it, and the sum of PRICE
                strictly between the two; a jump is void if that blossom was opened since
    CHILD       of a blossom: a node of its cycle; of a vertex -1
    NEXT, LINK_FROM, LINK_TO    of a node in a blossom: the next of the cycle, and the edge to it, own vertex first
    MARK        the contraction that last passed here

Matched edges inside a blossom are not kept: they follow from its base, and are written down when it is opened. Thus an
augmentation changes the base of a blossom, however deep it is, in one step.

Jumps are the compressed ways of a union-find: blossoms nest thousands deep in graphs without geometry, and every look
at an edge asks for the top. Sums in them stay right, since PRICE of a held node changes only when its holder is opened.
"""

from typing import Any, Final

import numpy as np

from evenmatch.numerics.compiled import kernel

PRICE, HOLDER, LABEL, SINCE, BASE, MATE, EARLIEST, SEEN = range(8)
LISTED, ENTRY_FROM, ENTRY_TO, CHILD, NEXT, LINK_FROM, LINK_TO, MARK = range(8, 16)
COLUMNS: Final = 16
AGE: Final = MATE
DUAL: Final = EARLIEST
JUMP: Final = ENTRY_FROM
SUM: Final = ENTRY_TO
_AGES: Final = 1 << 32

OUTSIDE: Final = 0
OUTER: Final = 1
INNER: Final = -1

SINGLE: Final = -1
HALF: Final = -2


@kernel()
def new_nodes(count: int) -> Any:
    """The table of `count` single vertices without a price, with room for all the blossoms that they can form."""
    nodes = np.zeros((count + count // 2 + 1, COLUMNS), np.int64)
    for node in range(len(nodes)):
        nodes[node, HOLDER] = -1
        nodes[node, CHILD] = -1
        nodes[node, BASE] = node
    nodes[:count, MATE] = SINGLE
    return nodes


@kernel()
def hold(nodes: Any, node: int, blossom: int) -> None:
    """Put a node into a blossom."""
    nodes[node, HOLDER] = blossom
    nodes[node, JUMP], nodes[node, SUM] = nodes[blossom, AGE] * _AGES + blossom, 0


@kernel()
def _jump(nodes: Any, node: int) -> int:
    """The blossom to which a held node's jump leads, which is made anew if it is void."""
    above = nodes[node, JUMP] % _AGES
    if nodes[above, AGE] != nodes[node, JUMP] // _AGES:
        above = nodes[node, HOLDER]
        hold(nodes, node, above)
    return int(above)


@kernel()
def climb(nodes: Any, node: int) -> Any:
    """The node on top that holds a node, and the sum of PRICE over both and all between; ways are halved."""
    price = nodes[node, PRICE]
    if nodes[node, HOLDER] < 0:
        return node, price
    while True:
        above = _jump(nodes, node)
        if nodes[above, HOLDER] >= 0:
            beyond = _jump(nodes, above)
            nodes[node, JUMP] = nodes[above, JUMP]
            nodes[node, SUM] += nodes[above, PRICE] + nodes[above, SUM]
            above = beyond
        price += nodes[node, SUM] + nodes[above, PRICE]
        if nodes[above, HOLDER] < 0:
            return above, price
        node = above


@kernel()
def top_of(nodes: Any, node: int) -> int:
    """The node on top that holds a node."""
    if nodes[node, HOLDER] < 0:
        return node
    top, _ = climb(nodes, node)
    return int(top)


@kernel()
def price_of(nodes: Any, vertex: int) -> int:
    """The price of a vertex, but for what time has done to its node on top since that was labelled."""
    _, price = climb(nodes, vertex)
    return int(price)


@kernel()
def first_vertex(nodes: Any, node: int) -> int:
    """The first of a node's vertices."""
    while nodes[node, CHILD] >= 0:
        node = nodes[node, CHILD]
    return node


@kernel()
def next_vertex(nodes: Any, vertex: int, whole: int) -> int:
    """The vertex that follows in a node, -1 after the last."""
    node = vertex
    while node != whole:
        holder, following = nodes[node, HOLDER], nodes[node, NEXT]
        if following != nodes[holder, CHILD]:
            return int(first_vertex(nodes, following))
        node = holder
    return -1


@kernel()
def open_blossom(nodes: Any, blossom: int, with_base: int, cycle: Any) -> int:
    """Take a blossom on top apart: its nodes come to the top, priced and matched to each other.

    `with_base` is the one of them that holds the base. `cycle` receives them in order, beginning with that one, then
    partner by partner; their number is returned.
    """
    nodes[with_base, BASE] = nodes[blossom, BASE]
    size, node = 0, with_base
    while nodes[node, HOLDER] == blossom:
        nodes[node, HOLDER] = -1
        nodes[node, PRICE] += nodes[blossom, PRICE]
        cycle[size] = node
        size += 1
        node = nodes[node, NEXT]
    for at in range(1, size, 2):
        one, other = cycle[at], cycle[at + 1]
        x, y = nodes[one, LINK_FROM], nodes[one, LINK_TO]
        nodes[one, BASE], nodes[other, BASE] = x, y
        nodes[x, MATE], nodes[y, MATE] = y, x
    nodes[blossom, CHILD] = -1
    nodes[blossom, PRICE] = 0
    nodes[blossom, AGE] += 1
    return size
