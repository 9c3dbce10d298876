"""The first or last of a row of numbers that is not above a bound, while numbers leave the row.

Idea. A tournament tree: a node knows the least number under it. The first number from some place on that is at most x
is found by climbing, to the right, until a node holds one, and descending to its first; the last before some place
likewise, to the left.

Invariants. A node is the lesser of its two children. Node 1 is the root, leaves begin at `len(tree) // 2`; leaves
without a number, and those whose number has left, are GONE, which is above every bound.

Complexity. O(n) to build, O(log n) a question or a leave; 16 to 32 bytes a number.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import kernel

__all__ = ["GONE", "first_from", "last_before", "leave", "tree_of"]

GONE: Final = 2**62


@kernel()
def tree_of(numbers: Array) -> Array:
    """int64: the tree of int64[n]."""
    leaves = 1
    while leaves < len(numbers):
        leaves *= 2
    tree = np.full(2 * leaves, GONE)
    tree[leaves : leaves + len(numbers)] = numbers
    for node in range(leaves - 1, 0, -1):
        tree[node] = min(tree[2 * node], tree[2 * node + 1])
    return tree


@kernel()
def leave(tree: Array, place: int) -> None:
    """The number at a place leaves."""
    node = len(tree) // 2 + place
    tree[node] = GONE
    node //= 2
    while node:
        least = min(tree[2 * node], tree[2 * node + 1])
        if tree[node] == least:
            break
        tree[node] = least
        node //= 2


@kernel()
def first_from(tree: Array, place: int, bound: int) -> int:
    """The first place from this one on with a number <= bound; -1 if there is none."""
    leaves = len(tree) // 2
    if place >= leaves:
        return -1
    node = leaves + place
    while True:
        while node % 2 == 0:
            node //= 2
        if tree[node] <= bound:
            while node < leaves:
                node *= 2
                if tree[node] > bound:
                    node += 1
            return node - leaves
        node += 1
        if node & -node == node:
            return -1


@kernel()
def last_before(tree: Array, place: int, bound: int) -> int:
    """The last place before this one with a number <= bound; -1 if there is none."""
    leaves = len(tree) // 2
    if place <= 0:
        return -1
    node = leaves + place
    while True:
        node -= 1
        while node > 1 and node % 2:
            node //= 2
        if tree[node] <= bound:
            while node < leaves:
                node = 2 * node + 1
                if tree[node] > bound:
                    node -= 1
            return node - leaves
        if node & -node == node:
            return -1
