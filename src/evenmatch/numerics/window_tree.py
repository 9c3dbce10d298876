"""Trees over the players of two sides, sorted by rating, that find somebody's best partner among those still free.

Problem. Given a player, find the free member of the other side with the least score gap * gap - weight * (misses of
both), the least place on equal scores, among those whose gap is within a radius. The radius is the member's window,
raised to `narrow` and cut to `wide`, which the asking player brings along.

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

Complexity. Building O(n) after sorting, removing O(log n), a search O(log n) as a rule; no bound is proven for it.
Memory: 48 bytes a member.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import kernel
from evenmatch.numerics.sorting import stable_order

__all__ = ["MISSES", "PLACE", "RATING", "WINDOW", "best_in_tree", "empty_members", "nodes_of", "remove", "seat_members"]

RATING, MISSES, WINDOW, PLACE = range(4)
"""Columns of a member; nodes have the same, with the lowest rating first and the highest last."""
_HIGH: Final = 4
_WIDTH: Final = 8
"""Columns of a node: one line of the processor's cache."""
_BUCKET: Final = 8


@kernel()
def empty_members(count: int) -> Array:
    """float64[2, at least count, 4]: room for the members of two sides."""
    leaves = 1
    while leaves * _BUCKET < count:
        leaves *= 2
    return np.empty((2, leaves * _BUCKET, 4))


@kernel()
def seat_members(members: Array, side: int, rating: Array, misses: Array, window: Array) -> None:
    """Write the members of a side by (rating, place), and NaN behind them."""
    order = stable_order(rating)
    for at in range(len(order)):
        place = order[at]
        members[side, at, RATING], members[side, at, MISSES] = rating[place], misses[place]
        members[side, at, WINDOW], members[side, at, PLACE] = window[place], place
    for at in range(len(order), members.shape[1]):
        members[side, at, RATING] = members[side, at, MISSES] = np.nan
        members[side, at, WINDOW] = members[side, at, PLACE] = np.nan


@kernel()
def nodes_of(members: Array) -> Array:
    """float64[2, 2 * leaves, 8]: the nodes over the members of both sides."""
    leaves = members.shape[1] // _BUCKET
    nodes = np.empty((2, 2 * leaves, _WIDTH))
    for side in range(2):
        for leaf in range(leaves):
            _sum_up_bucket(members, nodes, side, leaf, leaves)
        for node in range(leaves - 1, 0, -1):
            _sum_up_children(nodes, side, node)
    return nodes


@kernel()
def _sum_up_bucket(members: Array, nodes: Array, side: int, leaf: int, leaves: int) -> None:
    low, high, misses, window, place = np.inf, -np.inf, 0.0, -np.inf, np.inf
    for at in range(leaf * _BUCKET, leaf * _BUCKET + _BUCKET):
        rating = members[side, at, RATING]
        if not np.isnan(rating):
            low, high = min(low, rating), max(high, rating)
            misses, window = max(misses, members[side, at, MISSES]), max(window, members[side, at, WINDOW])
            place = min(place, members[side, at, PLACE])
    _write(nodes, side, leaves + leaf, low, high, misses, window, place)


@kernel()
def _sum_up_children(nodes: Array, side: int, node: int) -> bool:
    """Whether anything has changed."""
    left, right = 2 * node, 2 * node + 1
    return _write(
        nodes,
        side,
        node,
        min(nodes[side, left, RATING], nodes[side, right, RATING]),
        max(nodes[side, left, _HIGH], nodes[side, right, _HIGH]),
        max(nodes[side, left, MISSES], nodes[side, right, MISSES]),
        max(nodes[side, left, WINDOW], nodes[side, right, WINDOW]),
        min(nodes[side, left, PLACE], nodes[side, right, PLACE]),
    )


@kernel()
def _write(
    nodes: Array, side: int, node: int, low: float, high: float, misses: float, window: float, place: float
) -> bool:
    same = nodes[side, node, RATING] == low and nodes[side, node, _HIGH] == high and nodes[side, node, PLACE] == place
    same = same and nodes[side, node, MISSES] == misses and nodes[side, node, WINDOW] == window
    nodes[side, node, RATING], nodes[side, node, _HIGH], nodes[side, node, PLACE] = low, high, place
    nodes[side, node, MISSES], nodes[side, node, WINDOW] = misses, window
    return not same


@kernel()
def remove(members: Array, nodes: Array, side: int, at: int) -> None:
    """Take a member out of its tree."""
    leaves = members.shape[1] // _BUCKET
    members[side, at, RATING] = np.nan
    leaf = at // _BUCKET
    _sum_up_bucket(members, nodes, side, leaf, leaves)
    node = (leaves + leaf) // 2
    while node > 0 and _sum_up_children(nodes, side, node):
        node //= 2


@kernel()
def _bound(
    nodes: Array, side: int, node: int, rating: float, misses: float, narrow: float, wide: float, weight: float
) -> float:
    """No member below this node has a lower score; infinite if none is within its radius."""
    gap: float = max(max(nodes[side, node, RATING] - rating, rating - nodes[side, node, _HIGH]), 0.0)
    if gap > min(max(nodes[side, node, WINDOW], narrow), wide):
        return np.inf
    bound: float = gap * gap - weight * (misses + nodes[side, node, MISSES])
    return bound


@kernel()
def best_in_tree(
    members: Array,
    nodes: Array,
    side: int,
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
    """The least score on a side and who has it, or what is known already: `score`, `place`, `best` (inf, -1, -1)."""
    leaves = members.shape[1] // _BUCKET
    stack[0], bounds[0] = 1, _bound(nodes, side, 1, rating, misses, narrow, wide, weight)
    top = 0
    while top >= 0:
        node, bound = stack[top], bounds[top]
        top -= 1
        while bound < score or (bound == score and nodes[side, node, PLACE] < place):
            if node >= leaves:
                for at in range((node - leaves) * _BUCKET, (node - leaves) * _BUCKET + _BUCKET):
                    gap = abs(rating - members[side, at, RATING])
                    if gap <= min(max(members[side, at, WINDOW], narrow), wide):
                        offered = gap * gap - weight * (misses + members[side, at, MISSES])
                        if offered < score or (offered == score and members[side, at, PLACE] < place):
                            score, place, best = offered, members[side, at, PLACE], at
                break
            node *= 2
            other = node + 1
            bound = _bound(nodes, side, node, rating, misses, narrow, wide, weight)
            behind = _bound(nodes, side, other, rating, misses, narrow, wide, weight)
            if behind < bound or (behind == bound and nodes[side, other, PLACE] < nodes[side, node, PLACE]):
                node, other, bound, behind = other, node, behind, bound
            if behind < score or (behind == score and nodes[side, other, PLACE] < place):
                top += 1
                stack[top], bounds[top] = other, behind
    return score, best
