"""Pairs of two sides by least score, greedily, each within its window.

Problem. A lead and a follower have a rating, misses and a window each; places are their positions in the columns given.
A pair is acceptable if its gap |lead - follower| keeps the window rule: the lead's window, the wider or the narrower of
both. Its score is gap * gap - weight * (misses of both). Take the acceptable pair of least score, then of those without
its two players, and so on; equal scores go by the lead's place, then by the follower's.

Idea. No two pairs are equal in that order, so the greedy pairs are exactly those which are best for both of their
players among all that are free, again and again: it does not matter in which order such mutual bests are taken. Walk
from a lead to its best follower, on to that one's best lead, and so on. Every step is a better pair than the last, so
the walk ends at a mutual best. Take it, step back behind it, and walk on. In the end the pairs are sorted by score:
that is the order in which they would have been selected.

The best partner of a player is found in a tree over the other side, sorted by rating (`window_tree`).

Why it is exact. All comparisons are of scores as computed by the one expression above, ties included; the tree skips
only what cannot win by these very floats. A lead that finds nobody has nobody left for good, since free players only
become fewer.

Complexity. A step of a walk adds a player to it, takes a pair, or ends a lead, so there are fewer than 3 steps a player
whatever the queue is; a step costs O(log n) as a rule. No bound is proven for the tree's search, but queues of equal
ratings, equal misses, different misses for all, and leads at one point have been measured: all are nearly linear.
Memory: about 150 bytes a player for the time of the call. Nothing falls back.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import FLOAT, FLOATS, INT, kernel
from evenmatch.numerics.sorting import stable_order
from evenmatch.numerics.window_counts import BOTH, EITHER, LEAD, acceptable_pairs
from evenmatch.numerics.window_tree import MISSES, PLACE, RATING, WINDOW, best_member, members_of, nodes_of, remove

__all__ = ["RULES", "window_pairs"]

RULES: Final = {"lead": LEAD, "either": EITHER, "both": BOTH}
"""Whose window a gap must keep, as kernels spell it."""


@kernel()
def _reach(own: float, rule: int, leads: bool) -> tuple[float, float]:
    """The least and the greatest radius that a player with this window allows, whatever the other's window is."""
    theirs = rule == LEAD and not leads
    return (
        -np.inf if theirs or rule == BOTH else own,
        np.inf if theirs or rule == EITHER else own,
    )


@kernel()
def _walks(leads: Array, follows: Array, lead_count: int, rule: int, weight: float) -> tuple[Array, Array]:
    """The follower's place for each lead's place, -1 = none, and the score; `leads` and `follows` are members."""
    lead_nodes, follow_nodes = nodes_of(leads), nodes_of(follows)
    partner, scores = np.full(lead_count, -1, np.int64), np.zeros(lead_count)
    walk, links = np.empty(len(leads) + len(follows) + 1, np.int64), np.empty(len(leads) + len(follows) + 1)
    stack, bounds = np.empty(64, np.int64), np.empty(64)
    for start in range(lead_count):
        if np.isnan(leads[start, RATING]):
            continue
        walk[0] = start
        length = 1
        while length > 0:
            at, is_lead = walk[length - 1], length % 2 == 1
            own, others, nodes = (leads, follows, follow_nodes) if is_lead else (follows, leads, lead_nodes)
            before, score, place = -1, np.inf, -1.0
            if length > 1:
                before, score = walk[length - 2], links[length - 2]
                place = others[before, PLACE]
            narrow, wide = _reach(own[at, WINDOW], rule, is_lead)
            score, best = best_member(
                others,
                nodes,
                own[at, RATING],
                own[at, MISSES],
                narrow,
                wide,
                weight,
                score,
                place,
                before,
                stack,
                bounds,
            )
            if best < 0:
                length = 0
            elif best != before:
                links[length - 1], walk[length] = score, best
                length += 1
            else:
                lead, follow = (at, best) if is_lead else (best, at)
                lead_place = np.int64(leads[lead, PLACE])
                partner[lead_place], scores[lead_place] = np.int64(follows[follow, PLACE]), score
                remove(leads, lead_nodes, lead)
                remove(follows, follow_nodes, follow)
                length -= 2
    return partner, scores


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
    leads = members_of(lead_rating, lead_misses, lead_window)
    follows = members_of(follow_rating, follow_misses, follow_window)
    acceptable = acceptable_pairs(leads, follows, len(lead_rating), len(follow_rating), rule)
    partner, scores = _walks(leads, follows, len(lead_rating), rule, weight)
    matched = np.flatnonzero(partner >= 0)
    lead = matched[stable_order(scores[matched])]
    return lead, partner[lead], acceptable
