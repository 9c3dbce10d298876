"""The judge of `matching`: is this a matching, and do its prices prove that there is none better?

It shares nothing with the solver but the weights of the note in `matching`, and works on whole columns: hundreds of
thousands of edges in a fraction of a second. What it checks is what weak duality needs: pairs are edges, prices and
duals are 0 or more, blossoms are odd sets (each vertex names the smallest that holds it, each blossom the next, so that
they nest), every edge is covered by its prices, and the sum of prices is the weight of the pairs.
"""

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.matching import Matching, total, weights_of_costs

__all__ = ["broken_proof", "shared_duals"]


def broken_proof(count: int, first: Array, second: Array, cost: Array, matching: Matching) -> str | None:
    """What is wrong with a matching or with the proof that it is the best, in words, or None."""
    mate, price, holder, dual = matching.mate, matching.price, matching.holder, matching.dual
    vertices = np.arange(count)
    if len(mate) != count or (mate < -1).any() or (mate >= count).any():
        return "mates are not mutual"
    paired = mate >= 0
    if (mate[mate[paired]] != vertices[paired]).any() or (mate[paired] == vertices[paired]).any():
        return "mates are not mutual"
    matched = mate[first] == second
    if len(np.unique(np.minimum(first, second)[matched])) != int(paired.sum()) // 2:
        return "a pair is no edge"
    if matching.cost != total(cost[matched]):
        return "the cost is not that of the pairs"
    if len(price) != count or (price < 0).any() or (dual < 0).any():
        return "a price is negative"
    sizes = _sizes(count, holder, dual)
    if sizes is None or (sizes % 2 == 0).any():
        return "a blossom is not an odd set"
    weight = weights_of_costs(count, cost)
    covered = price[first] + price[second] + shared_duals(count, holder, dual, first, second)
    if (covered < weight).any():
        at = int((covered < weight).argmax())
        return f"edge {first[at]}-{second[at]} weighs more than its price"
    proven = total(price) + sum([z * (size // 2) for z, size in zip(dual.tolist(), sizes.tolist(), strict=True)])
    if matching.bound != matching.cost or proven != total(weight[matched]):
        return "the bound does not reach the cost"
    return None


def _sizes(count: int, holder: Array, dual: Array) -> Array | None:
    """int64[blossoms]: how many vertices each holds; None if they do not nest."""
    if len(holder) != count + len(dual) or (holder >= len(holder)).any() or (holder < -1).any():
        return None
    held = holder >= 0
    if (holder[held] <= np.maximum(np.arange(len(holder))[held], count - 1)).any():
        return None
    sizes = np.bincount(holder[:count][held[:count]] - count, minlength=len(dual)).tolist()
    for blossom, above in enumerate(holder[count:].tolist()):
        if above >= 0:
            sizes[above - count] += sizes[blossom]
    return np.array(sizes, np.int64)


def shared_duals(count: int, holder: Array, dual: Array, first: Array, second: Array) -> Array:
    """int64, shape of `first`: the sum of z over the blossoms that hold both ends of each edge.

    Ways up are taken chain by chain: a chain goes from a node to the largest that it holds directly, so that few chains
    lie between a vertex and the top, however deep blossoms nest.
    """
    heads, sums = _chains(count, holder, dual)
    one, other = first.copy(), second.copy()
    apart = np.flatnonzero(heads[one] != heads[other])
    while len(apart):
        # A holder's number is the higher one, so what holds both is not in the chain with the lower head.
        lower = heads[one[apart]] < heads[other[apart]]
        for ends, places in ((one, apart[lower]), (other, apart[~lower])):
            above = holder[heads[ends[places]]]
            # The last of `heads` and `sums` stands for nothing, which is above all.
            ends[places] = np.where(above >= 0, above, len(holder))
        apart = apart[heads[one[apart]] != heads[other[apart]]]
    return sums[np.maximum(one, other)]


def _chains(count: int, holder: Array, dual: Array) -> tuple[Array, Array]:
    """int64[nodes + 1] each: the top of each node's chain, and the sum of z over it and all that hold it."""
    above, sums = holder.tolist(), [0] * count + dual.tolist() + [0]
    sizes, largest, heads = [1] * len(above), [-1] * len(above), list(range(len(above) + 1))
    held = [node for node, over in enumerate(above) if over >= 0]
    for node in held:
        over = above[node]
        sizes[over] += sizes[node]
        if largest[over] < 0 or sizes[node] > sizes[largest[over]]:
            largest[over] = node
    for node in reversed(held):
        over = above[node]
        sums[node] += sums[over]
        if largest[over] == node:
            heads[node] = heads[over]
    return np.array(heads, np.int64), np.array(sums, np.int64)
