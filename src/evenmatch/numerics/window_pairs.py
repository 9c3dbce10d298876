"""Pairs of two sides by least score, greedily, each within its window.

Problem. A lead and a follower have a rating, misses and a window each; places are their positions in the columns given.
A pair is acceptable if its gap |lead - follower| keeps the window rule: the lead's window, the wider or the narrower of
both. Its score is gap * gap - weight * (misses of both). Take the acceptable pair of least score, then of those without
its two players, and so on; equal scores go by the lead's place, then by the follower's.

Idea. No two pairs are equal in that order, so the greedy pairs are exactly those which are best for both of their
players among all that are free, again and again: it does not matter in which order such mutual bests are taken. Walk
from a player to the best partner, on to that one's best partner, and so on. Every step is a better pair than the last,
so the walk ends at a mutual best. Take it, step back behind it, and walk on. In the end the pairs are sorted by score:
that is the order in which they would have been selected.

The best partner of a player is found among the few classes of equal misses and window that there are in most queues
(`window_classes`, which has its own loop of the walk: a step takes less time there than a call), or else in a tree
(`window_tree`). Walks start by falling misses, so that players who are looked for most leave first.

Why it is exact. All comparisons are of scores as computed by the one expression above, ties included; only what cannot
win by these very floats is passed over. A player who finds nobody has nobody left for good, since free players only
become fewer.

Complexity. A step of a walk adds a player to it, takes a pair, or ends one player, so there are fewer than 2 steps a
player whatever the queue is. A step is O(classes), or as a rule O(log n) in the tree: queues of all different misses,
of equal ratings and of leads at one point were measured, and all are nearly linear. Memory: about 200 bytes a player
for the time of the call.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import FLOAT, FLOATS, INT, kernel
from evenmatch.numerics.sorting import stable_order
from evenmatch.numerics.window_classes import CLASSES_MAX, class_of_members, walks_in_classes
from evenmatch.numerics.window_counts import BOTH, EITHER, LEAD, acceptable_pairs, reach
from evenmatch.numerics.window_tree import (
    MISSES,
    PLACE,
    RATING,
    WINDOW,
    best_in_tree,
    empty_members,
    nodes_of,
    remove,
    seat_members,
)

__all__ = ["RULES", "window_pairs"]

RULES: Final = {"lead": LEAD, "either": EITHER, "both": BOTH}
"""Whose window a gap must keep, as kernels spell it."""
_LEADS, _FOLLOWS = range(2)
"""Sides of members."""


@kernel()
def _by_falling_misses(members: Array, lead_count: int, follow_count: int) -> Array:
    """int64: all players, leads counted from 0 and followers after them; by rating where misses are equal."""
    misses = np.empty(lead_count + follow_count)
    for at in range(len(misses)):
        side = _LEADS if at < lead_count else _FOLLOWS
        misses[at] = -members[side, at - side * lead_count, MISSES]
    return stable_order(misses)


@kernel()
def _walks_in_tree(members: Array, lead_count: int, follow_count: int, rule: int, weight: float) -> tuple[Array, Array]:
    """The follower's place for each lead's place, -1 = none, and the score."""
    nodes, starts = nodes_of(members), _by_falling_misses(members, lead_count, follow_count)
    partner, scores = np.full(lead_count, -1, np.int64), np.zeros(lead_count)
    taken = np.zeros((2, max(lead_count, follow_count)), np.bool_)
    walk, known_scores = np.empty(len(starts) + 1, np.int64), np.empty(len(starts) + 1)
    stack, bounds = np.empty(64, np.int64), np.empty(64)
    for start in starts:
        first_side = _LEADS if start < lead_count else _FOLLOWS
        walk[0] = start if first_side == _LEADS else start - lead_count
        length = 0 if taken[first_side, walk[0]] else 1
        while length > 0:
            side = (first_side + length - 1) % 2
            other, at = 1 - side, walk[length - 1]
            before, score, place = -1, np.inf, -1.0
            if length > 1:
                before, score = walk[length - 2], known_scores[length - 2]
                place = members[other, before, PLACE]
            rating, misses = members[side, at, RATING], members[side, at, MISSES]
            narrow, wide = reach(members[side, at, WINDOW], rule, side)
            score, best = best_in_tree(
                *(members, nodes, other, rating, misses, narrow, wide, weight),
                *(score, place, before, stack, bounds),
            )
            if best >= 0 and best != before:
                known_scores[length - 1], walk[length] = score, best
                length += 1
                continue
            if best >= 0:
                lead, follow = (at, best) if side == _LEADS else (best, at)
                lead_place = np.int64(members[_LEADS, lead, PLACE])
                partner[lead_place], scores[lead_place] = np.int64(members[_FOLLOWS, follow, PLACE]), score
            for _ in range(2 if best >= 0 else 1):
                taken[side, at] = True
                remove(members, nodes, side, at)
                side, at = other, best
            length = max(length - 2, 0)
    return partner, scores


@kernel()
def _walks(members: Array, lead_count: int, follow_count: int, rule: int, weight: float) -> tuple[Array, Array]:
    """The same, by classes where there are few."""
    counts, most = (lead_count, follow_count), max(lead_count, follow_count)
    of, first, known = np.empty((2, most), np.int64), np.empty((2, CLASSES_MAX + 1), np.int64), np.empty(2, np.int64)
    for side in range(2):
        known[side] = class_of_members(members, side, counts[side], of, first)
    if max(known[_LEADS], known[_FOLLOWS]) <= CLASSES_MAX:
        return walks_in_classes(members, counts, of, first, known, rule, weight)
    return _walks_in_tree(members, lead_count, follow_count, rule, weight)


@kernel()
def _by_score(partner: Array, scores: Array) -> tuple[Array, Array]:
    """Leads that have a partner by (score, place), and their partners."""
    matched, score, count = np.empty(len(partner), np.int64), np.empty(len(partner)), 0
    for lead in range(len(partner)):
        if partner[lead] >= 0:
            matched[count], score[count] = lead, scores[lead]
            count += 1
    leads, follows = stable_order(score[:count]), np.empty(count, np.int64)
    for pair in range(count):
        leads[pair] = matched[leads[pair]]
        follows[pair] = partner[leads[pair]]
    return leads, follows


@kernel(INT, FLOAT, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS)
def window_pairs(
    rule: int,
    weight: float,
    lead_rating: Array,
    lead_misses: Array,
    lead_window: Array,
    follow_rating: Array,
    follow_misses: Array,
    follow_window: Array,
) -> tuple[Array, Array, int]:
    """int64[k] places of lead and follower, pair by pair in order of selection, and how many pairs are acceptable."""
    lead_count, follow_count = len(lead_rating), len(follow_rating)
    members = empty_members(max(lead_count, follow_count))
    for side in range(2):
        if side == _LEADS:
            seat_members(members, side, lead_rating, lead_misses, lead_window)
        else:
            seat_members(members, side, follow_rating, follow_misses, follow_window)
    acceptable = acceptable_pairs(members, lead_count, follow_count, rule)
    partner, scores = _walks(members, lead_count, follow_count, rule, weight)
    lead, follow = _by_score(partner, scores)
    return lead, follow, acceptable
