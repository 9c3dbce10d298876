"""Pairs in a general graph: as many as possible, then at the least total cost; exact, with a proof.

Problem. Vertices 0 to count - 1, edges (u, v, cost) with whole costs of any size. Choose edges without a common vertex,
the most that there can be, and among such choices one of least total cost. The graph need not be bipartite, so an
assignment solver would book a vertex twice.

Idea. One number for both wishes: with range = highest cost - lowest, an edge weighs

    w = 2 * (B - (cost - lowest)),    B = range * floor(count / 2) + 1

so that a pair more outweighs any difference in cost, and the heaviest matching is the answer. Its dual has a price
y >= 0 for every vertex and z >= 0 for every blossom (a set of an odd number of vertices), such that for every edge

    slack = y[u] + y[v] + (z of every blossom that holds both) - w  >=  0.

No matching weighs more than the sum of all y and of z * (size - 1) / 2. Where matched edges are tight (slack 0),
blossoms as full as they can be and no vertex both single and priced, both sums are equal: each proves the other.

That is found by `blossoms`, one search for each vertex that the start leaves single.

The proof is handed out (`prices`, `blossoms`), and `broken_proof` checks it without trusting anything else here.

Complexity. At most one search a vertex, each O(edges * log edges) and in practice far less, since the start (prices of
half the best weight, lowered to the tightest edge, matched where free) leaves few single. 200 vertices, every pair an
edge: some tenths of a second.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from evenmatch.numerics.blossoms import Blossoms

__all__ = ["Edge", "Matching", "broken_proof", "least_cost_matching"]

Edge: TypeAlias = tuple[int, int, int]
"""(vertex, vertex, cost)."""


class Matching(NamedTuple):
    """The answer, and its proof in the weights of the note above."""

    mate: list[int]
    """The partner of each vertex, -1 = single."""
    cost: int
    """The total cost of the pairs."""
    bound: int
    """What the proof says any matching of as many pairs costs at least; equal to `cost`."""
    prices: list[int]
    """y of each vertex."""
    blossoms: list[tuple[list[int], int]]
    """The vertices and z of every blossom with z > 0."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs, each and all in ascending order."""
        return [(vertex, other) for vertex, other in enumerate(self.mate) if vertex < other]


def least_cost_matching(count: int, edges: Sequence[Edge]) -> Matching:
    """The most pairs, then the least total cost; ValueError for a loop, an edge twice or a vertex that is not there."""
    _require_simple(count, edges)
    weights = _weights(count, edges)
    search = Blossoms(count, [(u, v, weight) for (u, v, _), weight in zip(edges, weights, strict=True)])
    search.solve()
    blossoms = [
        (sorted(search.members[node]), search.z[node])
        for node in range(count, len(search.z))
        if search.cycle[node] and search.z[node]
    ]
    mate = search.mate
    cost = sum([cost for u, v, cost in edges if mate[u] == v])
    return Matching(mate, cost, _bound(count, edges, mate, search.price, blossoms), search.price, blossoms)


def broken_proof(count: int, edges: Sequence[Edge], matching: Matching) -> str | None:
    """What is wrong with a matching or with the proof that it is the best, in words, or None."""
    mate, prices, blossoms = matching.mate, matching.prices, matching.blossoms
    cost_of = {(min(u, v), max(u, v)): cost for u, v, cost in edges}
    if len(mate) != count or any(o >= count or (o >= 0 and mate[o] != v) for v, o in enumerate(mate)):
        return "mates are not mutual"
    if any(pair not in cost_of for pair in matching.pairs):
        return "a pair is no edge"
    if matching.cost != sum([cost_of[pair] for pair in matching.pairs]):
        return "the cost is not that of the pairs"
    if len(prices) != count or min(prices, default=0) < 0 or any(z < 0 for _, z in blossoms):
        return "a price is negative"
    shared: dict[tuple[int, int], int] = {}
    for members, z in blossoms:
        if len(members) % 2 == 0 or len(set(members)) != len(members):
            return "a blossom is not an odd set"
        for place, u in enumerate(members):
            for v in members[place + 1 :]:
                pair = min(u, v), max(u, v)
                shared[pair] = shared.get(pair, 0) + z
    for (u, v, _), weight in zip(edges, _weights(count, edges), strict=True):
        if prices[u] + prices[v] + shared.get((min(u, v), max(u, v)), 0) < weight:
            return f"edge {u}-{v} weighs more than its price"
    if matching.bound != _bound(count, edges, mate, prices, blossoms) or matching.bound < matching.cost:
        return "the bound does not reach the cost"
    return None


def _require_simple(count: int, edges: Sequence[Edge]) -> None:
    seen = set()
    for u, v, _ in edges:
        pair = min(u, v), max(u, v)
        if not 0 <= pair[0] < pair[1] < count:
            raise ValueError(f"edge {u}-{v} does not join two different vertices of 0 to {count - 1}")
        if pair in seen:
            raise ValueError(f"edge {u}-{v} is given twice")
        seen.add(pair)


def _most(count: int, edges: Sequence[Edge]) -> tuple[int, int]:
    """The lowest cost, and B of the note above."""
    costs = [cost for _, _, cost in edges]
    lowest = min(costs, default=0)
    return lowest, (max(costs, default=0) - lowest) * (count // 2) + 1


def _weights(count: int, edges: Sequence[Edge]) -> list[int]:
    lowest, most = _most(count, edges)
    return [2 * (most - (cost - lowest)) for _, _, cost in edges]


def _bound(
    count: int, edges: Sequence[Edge], mate: list[int], prices: list[int], blossoms: list[tuple[list[int], int]]
) -> int:
    """The least cost that the prices allow to as many pairs as there are: pairs * 2 (B + lowest) - 2 cost <= sum."""
    lowest, most = _most(count, edges)
    pairs = sum([other >= 0 for other in mate]) // 2
    total = sum(prices) + sum([z * (len(members) // 2) for members, z in blossoms])
    return pairs * (most + lowest) - total // 2
