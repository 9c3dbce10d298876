"""A tree over players sorted by rating that finds somebody's best partner among those who are still free.

Problem. Given a player, find the free member of least score gap * gap - weight * (misses of both), the least place on
equal scores, among those whose gap is within a radius. The radius is the member's own window, raised to `narrow` and
cut to `wide`, which the asking player brings along.

Idea. Members stand in buckets of eight, sorted by rating; a node above knows of the free members below it the lowest
and highest rating, the most misses, the widest window and the least place. From these follows a score that none of them
can be below, so a node whose bound is worse than a score at hand is skipped. The better of two children is looked at
first, and a partner that is known already is the first score to beat.

                 node 1: low, high, misses, window, place
            node 2                          node 3
       node 4      node 5              node 6      node 7        the leaves, one a bucket
     members 0-7    8-15                16-23       24-31        rating, misses, window, place; NaN = taken

Why it is exact. Subtraction, multiplication and addition of floats are monotone: a lesser gap never has the greater
square, nor more misses the greater score, rounding included. So the bound of a node, computed by the expression that
scores a pair, is never above the score of a member; on equal bounds the least place decides whether to look.

Invariants.
  1. Node i has the children 2i and 2i + 1; leaf j is node `leaves + j`; `leaves` is a power of two.
  2. A node without free members has low = inf and high = -inf, an infinite gap to everybody.
  3. What a node says is true of exactly its free members: `remove` sums up again, as far as anything changes.

Complexity. Building O(n) after sorting, removing O(log n), a search O(log n) as a rule. Memory: 32 bytes a member and
16 for nodes.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import kernel
from evenmatch.numerics.sorting import stable_order

__all__ = ["MISSES", "PLACE", "RATING", "WINDOW", "best_member", "members_of", "nodes_of", "remove"]

RATING, MISSES, WINDOW, PLACE = range(4)
"""Columns of a member; nodes have the same, with the lowest rating first and the highest last."""
_HIGH: Final = 4
_WIDTH: Final = 8
"""Columns of a node: one line of the processor's cache."""
_BUCKET: Final = 8


@kernel()
def members_of(rating: Array, misses: Array, window: Array) -> Array:
    """float64[buckets * 8, 4]: the members by (rating, place), and NaN behind them."""
    leaves = 1
    while leaves * _BUCKET < len(rating):
        leaves *= 2
    members = np.full((leaves * _BUCKET, 4), np.nan)
    order = stable_order(rating)
    for at in range(len(order)):
        place = order[at]
        members[at, RATING], members[at, MISSES] = rating[place], misses[place]
        members[at, WINDOW], members[at, PLACE] = window[place], place
    return members


@kernel()
def nodes_of(members: Array) -> Array:
    """float64[2 * leaves, 8]: the nodes over these members."""
    leaves = len(members) // _BUCKET
    nodes = np.empty((2 * leaves, _WIDTH))
    for leaf in range(leaves):
        _sum_up_bucket(members, nodes, leaf, leaves)
    for node in range(leaves - 1, 0, -1):
        _sum_up_children(nodes, node)
    return nodes


@kernel()
def _sum_up_bucket(members: Array, nodes: Array, leaf: int, leaves: int) -> None:
    low, high, misses, window, place = np.inf, -np.inf, 0.0, -np.inf, np.inf
    for at in range(leaf * _BUCKET, leaf * _BUCKET + _BUCKET):
        rating = members[at, RATING]
        if not np.isnan(rating):
            low, high = min(low, rating), max(high, rating)
            misses, window = max(misses, members[at, MISSES]), max(window, members[at, WINDOW])
            place = min(place, members[at, PLACE])
    _write(nodes, leaves + leaf, low, high, misses, window, place)


@kernel()
def _sum_up_children(nodes: Array, node: int) -> bool:
    """Whether anything has changed."""
    left, right = 2 * node, 2 * node + 1
    return _write(
        nodes,
        node,
        min(nodes[left, RATING], nodes[right, RATING]),
        max(nodes[left, _HIGH], nodes[right, _HIGH]),
        max(nodes[left, MISSES], nodes[right, MISSES]),
        max(nodes[left, WINDOW], nodes[right, WINDOW]),
        min(nodes[left, PLACE], nodes[right, PLACE]),
    )


@kernel()
def _write(nodes: Array, node: int, low: float, high: float, misses: float, window: float, place: float) -> bool:
    same = nodes[node, RATING] == low and nodes[node, _HIGH] == high and nodes[node, PLACE] == place
    same = same and nodes[node, MISSES] == misses and nodes[node, WINDOW] == window
    nodes[node, RATING], nodes[node, _HIGH], nodes[node, PLACE] = low, high, place
    nodes[node, MISSES], nodes[node, WINDOW] = misses, window
    return not same


@kernel()
def remove(members: Array, nodes: Array, at: int) -> None:
    """Take a member out of the tree."""
    leaves = len(members) // _BUCKET
    members[at, RATING] = np.nan
    leaf = at // _BUCKET
    _sum_up_bucket(members, nodes, leaf, leaves)
    node = (leaves + leaf) // 2
    while node > 0 and _sum_up_children(nodes, node):
        node //= 2


@kernel()
def _bound(nodes: Array, node: int, rating: float, misses: float, narrow: float, wide: float, weight: float) -> float:
    """No member below this node has a lower score; infinite if none is within its radius."""
    gap: float = max(max(nodes[node, RATING] - rating, rating - nodes[node, _HIGH]), 0.0)
    if gap > min(max(nodes[node, WINDOW], narrow), wide):
        return np.inf
    bound: float = gap * gap - weight * (misses + nodes[node, MISSES])
    return bound


@kernel()
def best_member(
    members: Array,
    nodes: Array,
    rating: float,
    misses: float,
    narrow: float,
    wide: float,
    weight: float,
    score: float,
    place: float,
    best: int,
    stack: Array,
    bounds: Array,
) -> tuple[float, int]:
    """The least score and who has it, if that is better than the one known already; with inf, -1 and -1, none is."""
    leaves = len(members) // _BUCKET
    stack[0], bounds[0] = 1, _bound(nodes, 1, rating, misses, narrow, wide, weight)
    top = 0
    while top >= 0:
        node, bound = stack[top], bounds[top]
        top -= 1
        while bound < score or (bound == score and nodes[node, PLACE] < place):
            if node >= leaves:
                for at in range((node - leaves) * _BUCKET, (node - leaves) * _BUCKET + _BUCKET):
                    gap = abs(rating - members[at, RATING])
                    if gap <= min(max(members[at, WINDOW], narrow), wide):
                        offered = gap * gap - weight * (misses + members[at, MISSES])
                        if offered < score or (offered == score and members[at, PLACE] < place):
                            score, place, best = offered, members[at, PLACE], at
                break
            node *= 2
            other = node + 1
            bound = _bound(nodes, node, rating, misses, narrow, wide, weight)
            behind = _bound(nodes, other, rating, misses, narrow, wide, weight)
            if behind < bound or (behind == bound and nodes[other, PLACE] < nodes[node, PLACE]):
                node, other, bound, behind = other, node, behind, bound
            if behind < score or (behind == score and nodes[other, PLACE] < place):
                top += 1
                stack[top], bounds[top] = other, behind
    return score, best
