"""The doors between Python and the kernels of exact matching: a graph in, prices, pairs and blossoms out.

`adjacency` makes the graph that the kernels walk on, `solve` runs the start (`matching_start`) and the searches
(`blossom_search`), `solve_again` the searches alone, from a state that is valid but not finished, and `extract` writes
the answer down.
"""

from typing import Any, Final

import numpy as np

from evenmatch.numerics.blossom_nodes import BASE, CHILD, DUAL, HOLDER, MATE, NEXT, PRICE, new_nodes, open_blossom
from evenmatch.numerics.blossom_repair import repair
from evenmatch.numerics.blossom_search import search_all
from evenmatch.numerics.blossom_tree import NOW, SPARES
from evenmatch.numerics.compiled import INT, INTS, INTS2, OUT_INTS, OUT_INTS2, kernel
from evenmatch.numerics.matching_start import half_matching, match_greedily, open_halves

__all__ = ["LOOP", "SOUND", "TWICE", "add_edges", "adjacency", "extract", "solve", "solve_again"]

SOUND: Final = 0
LOOP: Final = 1
TWICE: Final = 2
"""What `adjacency` found: a simple graph, an edge that does not join two vertices, or an edge that is given twice."""


@kernel()
def _last_between(first: Any, second: Any, u: int, v: int) -> int:
    at = len(first) - 1
    while not ((first[at] == u and second[at] == v) or (first[at] == v and second[at] == u)):
        at -= 1
    return at


@kernel(INT, INTS, INTS, INTS)
def adjacency(count: int, first: Any, second: Any, weight: Any) -> Any:
    """Edges by vertex: int64[count + 1] where each vertex's begin, and int64[2 m, 2] far ends and weights.

    Third, what is wrong with the graph, and fourth, an edge that shows it.
    """
    start = np.zeros(count + 1, np.int64)
    edges = np.empty((2 * len(first), 2), np.int64)
    for at in range(len(first)):
        u, v = first[at], second[at]
        if u == v or min(u, v) < 0 or max(u, v) >= count:
            return start, edges, LOOP, at
        start[u] += 1
        start[v] += 1
    total = 0
    for vertex in range(count + 1):
        total += start[vertex]
        start[vertex] = total
    for at in range(len(first) - 1, -1, -1):
        u, v = first[at], second[at]
        start[u] -= 1
        edges[start[u], 0], edges[start[u], 1] = v, weight[at]
        start[v] -= 1
        edges[start[v], 0], edges[start[v], 1] = u, weight[at]
    near = np.full(count, -1, np.int64)
    for vertex in range(count):
        for at in range(start[vertex], start[vertex + 1]):
            if near[edges[at, 0]] == vertex:
                return start, edges, TWICE, _last_between(first, second, vertex, edges[at, 0])
            near[edges[at, 0]] = vertex
    return start, edges, SOUND, -1


@kernel(INTS, INTS2, INTS, INT)
def solve(start: Any, edges: Any, guess: Any, budget: int) -> Any:
    """The heaviest matching of a graph: the table of nodes, spare numbers of blossoms, and the state of the search."""
    count = len(start) - 1
    nodes = new_nodes(count)
    now = np.zeros(NOW, np.int64)
    spare = np.arange(len(nodes) - 1, count - 1, -1)
    now[SPARES] = len(spare)
    match_greedily(nodes, start, edges, guess)
    half_matching(nodes, start, edges)
    open_halves(nodes, count)
    search_all(nodes, start, edges, spare, now, budget)
    return nodes, spare, now


@kernel(OUT_INTS2, OUT_INTS, OUT_INTS, INTS, INTS2, INT)
def solve_again(nodes: Any, spare: Any, now: Any, start: Any, edges: Any, budget: int) -> None:
    """Go on from a state in which all slacks are 0 or more and matched edges tight."""
    search_all(nodes, start, edges, spare, now, budget)


@kernel(OUT_INTS2, OUT_INTS, OUT_INTS, INTS, INTS, INTS)
def add_edges(nodes: Any, spare: Any, now: Any, first: Any, second: Any, weight: Any) -> None:
    """Make a state valid for more edges."""
    repair(nodes, spare, now, first, second, weight)


@kernel()
def _survey(nodes: Any, count: int) -> Any:
    """What one walk through all blossoms tells.

    The price of each vertex; the places of vertices and, of each blossom, of its first vertex, such that those of a
    blossom stand together; all blossoms, holders first; and room for a number of each node.
    """
    prices, place = np.empty(count, np.int64), np.empty(len(nodes), np.int64)
    total = np.empty(len(nodes), np.int64)
    outermost_first, blossoms, places = np.empty(len(nodes) - count, np.int64), 0, 0
    for top in range(len(nodes)):
        if nodes[top, HOLDER] >= 0 or (top >= count and nodes[top, CHILD] < 0):
            continue
        node = top
        while True:
            place[node] = places
            total[node] = nodes[node, PRICE]
            if node != top:
                total[node] += total[nodes[node, HOLDER]]
            if nodes[node, CHILD] >= 0:
                outermost_first[blossoms] = node
                blossoms += 1
                node = nodes[node, CHILD]
                continue
            prices[node] = total[node]
            places += 1
            while node != top and nodes[node, NEXT] == nodes[nodes[node, HOLDER], CHILD]:
                node = nodes[node, HOLDER]
            if node == top:
                break
            node = nodes[node, NEXT]
    return prices, place, outermost_first[:blossoms], total


@kernel()
def _open_all(nodes: Any, place: Any, outermost_first: Any) -> None:
    """Open blossoms, holders first; the node with the base is the one that begins last before the base's place."""
    cycle = np.empty(len(nodes), np.int64)
    for blossom in outermost_first:
        base = place[nodes[blossom, BASE]]
        with_base = node = nodes[blossom, CHILD]
        while True:
            if place[with_base] < place[node] <= base:
                with_base = node
            node = nodes[node, NEXT]
            if node == nodes[blossom, CHILD]:
                break
        open_blossom(nodes, blossom, with_base, cycle)


@kernel(OUT_INTS2, INT)
def extract(nodes: Any, count: int) -> Any:
    """(mates, prices, holders, duals) of `Matching`; the blossoms in the table are opened by that."""
    prices, place, outermost_first, number = _survey(nodes, count)
    kept = 0
    for node in outermost_first:
        kept += nodes[node, DUAL] > 0
    # Those with a dual get numbers from the end, so that a holder's is higher than those it holds.
    holders, duals = np.full(count + kept, -1, np.int64), np.empty(kept, np.int64)
    for node in outermost_first:
        holder = nodes[node, HOLDER]
        number[node] = number[holder] if holder >= 0 else -1
        if nodes[node, DUAL] > 0:
            kept -= 1
            holders[count + kept], duals[kept] = number[node], nodes[node, DUAL]
            number[node] = count + kept
    for vertex in range(count):
        if nodes[vertex, HOLDER] >= 0:
            holders[vertex] = number[nodes[vertex, HOLDER]]
    _open_all(nodes, place, outermost_first)
    return nodes[:count, MATE].copy(), prices, holders, duals
