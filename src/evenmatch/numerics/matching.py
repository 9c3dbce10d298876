"""Pairs in a general graph: as many as possible, then at the least total cost; exact, with a proof.

Problem. Vertices 0 to count - 1, edges (first, second, cost) with whole costs. Choose edges without a common vertex,
the most that there can be, and among such choices one of least total cost. The graph need not be bipartite, so an
assignment solver would book a vertex twice.

Idea. One number for both wishes: with range = highest cost - lowest, an edge weighs

    w = 2 * (B - (cost - lowest)),    B = range * floor(count / 2) + 1

so that a pair more outweighs any difference in cost, and the heaviest matching is the answer. Its dual has a price
y >= 0 for every vertex and z >= 0 for every blossom (a set of an odd number of vertices), such that for every edge

    slack = y[u] + y[v] + (z of every blossom that holds both) - w  >=  0.

No matching weighs more than the sum of all y and of z * (size - 1) / 2. Where matched edges are tight (slack 0),
blossoms as full as they can be and no vertex both single and priced, both sums are equal: each proves the other.

That is found by `matching_start` and `blossom_search`, in whole numbers of 64 bits: `WEIGHT_MAX` bounds 2 * B, and more
is refused. `GrowingMatching` is for graphs with too many edges to list: solve for some, see from the prices which
others could help, add those, and go on from where it was.

The proof is handed out (`price`, `holder`, `dual`), and `matching_proof` checks it without trusting anything here.

Complexity. In practice n^1.1 to n^1.3 for n vertices with a few edges each: 20,000 with 16 neighbours take a tenth of a
second, 100,000 a second. At worst one search a vertex, each O(edges * log edges).
"""

from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import NONE, Array
from evenmatch.numerics.blossom_search import BUDGET
from evenmatch.numerics.matching_kernels import LOOP, SOUND, add_edges, adjacency, extract, solve, solve_again

__all__ = [
    "WEIGHT_MAX",
    "GrowingMatching",
    "Matching",
    "dual_total",
    "heaviest",
    "heaviest_matching",
    "least_cost_matching",
    "total",
    "weights_of_costs",
]

WEIGHT_MAX: Final = 2**58
"""No weight may be more: prices, slacks and times in a search stay below eight times that."""


class Matching(NamedTuple):
    """The answer, and its proof in the weights of the note above."""

    mate: Array
    """int64[count]: the partner of each vertex, -1 = single."""
    cost: int
    """The total cost of the pairs."""
    bound: int
    """What the proof says any matching of as many pairs costs at least; equal to `cost`."""
    price: Array
    """int64[count]: y of each vertex."""
    holder: Array
    """int64[count + blossoms]: the smallest blossom with z > 0 that holds each vertex, and each blossom, by its number
    from `count` up, which is higher than those of all it holds; -1 = none."""
    dual: Array
    """int64[blossoms]: z of each blossom."""

    @property
    def pairs(self) -> Array:
        """int64[pairs, 2]: the pairs, each and all in ascending order."""
        first = np.flatnonzero(self.mate > np.arange(len(self.mate)))
        return np.column_stack([first, self.mate[first]])

    @property
    def optimality_gap(self) -> int:
        """How far the cost is above the bound: 0."""
        return self.cost - self.bound


def least_cost_matching(count: int, first: Array, second: Array, cost: Array) -> Matching:
    """The most pairs, then the least total cost; `first`, `second`, `cost`: int64[m], an edge each.

    ValueError for a loop, an edge twice, a vertex that is not there, or costs too far apart for 64 bits.
    """
    weight = weights_of_costs(count, cost)
    mate, price, holder, dual = heaviest(count, first, second, weight)
    matched = mate[first] == second
    paid, won = total(cost[matched]), total(weight[matched])
    # Any matching of as many pairs weighs at most the dual, and a weight is that of cost 0 less twice the cost.
    bound = paid - (dual_total(count, price, holder, dual) - won) // 2
    return Matching(mate, paid, bound, price, holder, dual)


def heaviest_matching(count: int, first: Array, second: Array, weight: Array) -> Matching:
    """The matching of the greatest total weight, however many pairs that takes; its cost is minus that weight.

    Prices prove it as above, with w = 2 * weight.
    """
    if len(weight) and 2 * max(abs(int(weight.max())), abs(int(weight.min()))) > WEIGHT_MAX:
        raise ValueError(f"a weight is beyond {WEIGHT_MAX // 2}")
    mate, price, holder, dual = heaviest(count, first, second, 2 * weight)
    won = total(weight[mate[first] == second])
    return Matching(mate, -won, -(dual_total(count, price, holder, dual) // 2), price, holder, dual)


def weights_of_costs(count: int, cost: Array) -> Array:
    """int64[m]: w of the note above; ValueError where that is too much for 64 bits."""
    if not len(cost):
        return np.empty(0, np.int64)
    lowest, highest = int(cost.min()), int(cost.max())
    most = (highest - lowest) * (count // 2) + 1
    if 2 * most > WEIGHT_MAX:
        raise ValueError(f"costs from {lowest} to {highest} are too far apart for {count} vertices")
    weight: Array = 2 * (most - (cost - lowest))
    return weight


def heaviest(count: int, first: Array, second: Array, weight: Array) -> tuple[Array, Array, Array, Array]:
    """`mate`, `price`, `holder` and `dual` of `Matching` for even weights of at most `WEIGHT_MAX`."""
    start, edges, fault, at = adjacency(count, first, second, weight)
    if fault != SOUND:
        if fault == LOOP:
            raise ValueError(f"edge {first[at]}-{second[at]} does not join two different vertices of 0 to {count - 1}")
        raise ValueError(f"edge {first[at]}-{second[at]} is given twice")
    nodes, _, _ = solve(start, edges, NONE, BUDGET)
    mate, price, holder, dual = extract(nodes, count)
    return mate, price, holder, dual


class GrowingMatching:
    """The heaviest matching of a graph that grows: every solution begins where the one before ended."""

    def __init__(self, count: int, first: Array, second: Array, weight: Array, guess: Array = NONE) -> None:
        """`weight`, int64[m]: even, at most `WEIGHT_MAX`; the edges must be a simple graph.

        `guess`, int64[count]: prices from a like graph, 0 or more; good ones save time, bad ones cost some.
        """
        self.count = count
        self.first, self.second, self.weight = first, second, weight
        start, edges, fault, _ = adjacency(count, first, second, weight)
        assert fault == SOUND
        self._nodes, self._spare, self._now = solve(start, edges, guess, BUDGET)

    def add(self, first: Array, second: Array, weight: Array) -> None:
        """Add edges that the graph does not have yet, and solve."""
        add_edges(self._nodes, self._spare, self._now, first, second, weight)
        self.first = np.concatenate([self.first, first])
        self.second = np.concatenate([self.second, second])
        self.weight = np.concatenate([self.weight, weight])
        start, edges, fault, _ = adjacency(self.count, self.first, self.second, self.weight)
        assert fault == SOUND
        solve_again(self._nodes, self._spare, self._now, start, edges, BUDGET)

    def solution(self) -> tuple[Array, Array, Array, Array]:
        """`mate`, `price`, `holder` and `dual` of the present graph, as in `Matching`."""
        mate, price, holder, dual = extract(self._nodes.copy(), self.count)
        return mate, price, holder, dual


def total(numbers: Array) -> int:
    """The exact sum of an int64 array, however large."""
    return (int((numbers >> 32).sum()) << 32) + int((numbers & 0xFFFFFFFF).sum())


def blossom_sizes(count: int, holder: Array) -> Array:
    """int64[blossoms]: how many vertices each holds."""
    sizes = np.zeros(len(holder) + 1, np.int64)
    sizes[:count] = 1
    np.add.at(sizes, holder[:count], 1)
    for blossom in range(count, len(holder)):
        sizes[holder[blossom]] += sizes[blossom]
    return sizes[count:-1]


def dual_total(count: int, price: Array, holder: Array, dual: Array) -> int:
    """The sum of all y, and of z * (size - 1) / 2."""
    sizes = blossom_sizes(count, holder)
    full: int = sum([z * (size // 2) for z, size in zip(dual.tolist(), sizes.tolist(), strict=True)])
    return total(price) + full
