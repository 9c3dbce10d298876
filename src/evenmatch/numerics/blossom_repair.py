"""Prices put right where new edges broke them, so that `blossom_search` can go on from where it was.

An edge that weighs more than its price gets one of its ends raised by what is missing: all slacks are 0 or more again,
and only that vertex may have to leave its partner. A blossom that holds it must be opened first. Its z goes to the
prices of its vertices, half of it to each: edges between two of them keep their slack to the unit, edges to others gain
some, and only the edge that leaves its base may cease to be tight. So every edge costs at most a few new roots.
"""

from typing import Any

import numpy as np

from evenmatch.numerics.blossom_nodes import (
    BASE,
    DUAL,
    HOLDER,
    MARK,
    MATE,
    PRICE,
    SINGLE,
    open_blossom,
    price_of,
    top_of,
)
from evenmatch.numerics.blossom_tree import MARKS, SPARES
from evenmatch.numerics.compiled import kernel

__all__ = ["repair"]


@kernel()
def repair(nodes: Any, spare: Any, now: Any, first: Any, second: Any, weight: Any) -> None:
    """Make the state valid for these edges too."""
    cycle = np.empty(len(nodes), np.int64)
    for at in range(len(first)):
        u, v = first[at], second[at]
        missing = weight[at] - price_of(nodes, u) - price_of(nodes, v)
        if missing > 0:
            missing -= _shared(nodes, now, u, v)
        if missing > 0:
            vertex = v if _rank(nodes, v) < _rank(nodes, u) else u
            _raise(nodes, spare, now, cycle, vertex, missing)


@kernel()
def _shared(nodes: Any, now: Any, u: int, v: int) -> int:
    """The sum of z over the blossoms that hold both."""
    if top_of(nodes, u) != top_of(nodes, v):
        return 0
    now[MARKS] += 1
    node = nodes[u, HOLDER]
    while node >= 0:
        nodes[node, MARK] = now[MARKS]
        node = nodes[node, HOLDER]
    shared, node = 0, nodes[v, HOLDER]
    while node >= 0:
        if nodes[node, MARK] == now[MARKS]:
            shared += nodes[node, DUAL]
        node = nodes[node, HOLDER]
    return shared


@kernel()
def _rank(nodes: Any, vertex: int) -> int:
    """How much is lost by raising a vertex: 0 = nothing, it is single and in no blossom."""
    if nodes[vertex, HOLDER] >= 0:
        return 2
    return 0 if nodes[vertex, MATE] == SINGLE else 1


@kernel()
def _part(nodes: Any, vertex: int) -> None:
    """Part a vertex that is the base of its node on top from its partner."""
    mate = nodes[vertex, MATE]
    if mate >= 0:
        nodes[vertex, MATE] = nodes[mate, MATE] = SINGLE


@kernel()
def _raise(nodes: Any, spare: Any, now: Any, cycle: Any, vertex: int, by: int) -> None:
    """Raise the price of a vertex, which is single and in no blossom after that."""
    while nodes[vertex, HOLDER] >= 0:
        blossom = top_of(nodes, vertex)
        if nodes[blossom, DUAL] > 0:
            nodes[blossom, PRICE] += nodes[blossom, DUAL] // 2
            _part(nodes, nodes[blossom, BASE])
        with_base = nodes[blossom, BASE]
        while nodes[with_base, HOLDER] != blossom:
            with_base = nodes[with_base, HOLDER]
        open_blossom(nodes, blossom, with_base, cycle)
        spare[now[SPARES]] = blossom
        now[SPARES] += 1
    nodes[vertex, PRICE] += by
    _part(nodes, vertex)
