"""How many pairs of two sides are within their windows, without looking at the pairs.

Problem. A pair is acceptable if its gap is at most the lead's window (rule LEAD), the wider (EITHER) or the narrower
(BOTH) of the two windows. Count the acceptable pairs.

Idea. Both sides are sorted by rating. Whom a player accepts stands in one stretch of the other side, so the pairs that
leads accept are the sum of the stretches' lengths; likewise for followers. A pair that both
accept is a follower in the lead's stretch whose own stretch the lead is in: walk along the leads, keep the followers in
whose stretch the walk is just now, and ask how many of them stand in the lead's stretch (a tree of sums by Fenwick).
What either accepts is the sum of what leads and followers accept, less what both do.

Why it is exact. The gap of two floats, rounded, does not fall as one of them moves away, so a stretch is whole; the
searches compare that gap itself, not a sum of rating and window. Counts are whole numbers.

Complexity. O(n log n) for any windows. Memory: 16 bytes a player for LEAD, 48 otherwise.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import kernel

__all__ = ["BOTH", "EITHER", "LEAD", "acceptable_pairs", "reach"]

LEAD: Final = 0
EITHER: Final = 1
BOTH: Final = 2
_RATING: Final = 0
_WINDOW: Final = 2
_KEPT: Final = 16
"""Windows whose last stretch is kept."""


@kernel()
def reach(own: float, rule: int, side: int) -> tuple[float, float]:
    """The least and the greatest radius that a player with this window allows, whatever the other's window is."""
    theirs = rule == LEAD and side == 1
    return (
        -np.inf if theirs or rule == BOTH else own,
        np.inf if theirs or rule == EITHER else own,
    )


@kernel()
def _search(ratings: Array, rating: float, window: float) -> tuple[int, int]:
    """The stretch of ratings within a window of one."""
    low, high = 0, len(ratings)
    while low < high:
        middle = (low + high) // 2
        if rating - ratings[middle] > window:
            low = middle + 1
        else:
            high = middle
    begin, high = low, len(ratings)
    while low < high:
        middle = (low + high) // 2
        if ratings[middle] - rating > window:
            high = middle
        else:
            low = middle + 1
    return begin, low


@kernel()
def _stretches(members: Array, side: int, count: int, other_count: int) -> tuple[Array, Array]:
    """Where the stretch of those that each player of a side accepts begins, and ends; int64[count] each.

    Ratings rise along the members, and so do the ends of stretches as long as the window is the same. The last stretch
    of each of the first windows that come up is kept, to go on from there; other windows are searched for anew.
    """
    ratings = np.empty(other_count)
    for at in range(other_count):
        ratings[at] = members[1 - side, at, _RATING]
    begin, end = np.empty(count, np.int64), np.empty(count, np.int64)
    windows, last_begin, last_end = np.empty(_KEPT), np.zeros(_KEPT, np.int64), np.zeros(_KEPT, np.int64)
    known = 0
    for at in range(count):
        rating, window = members[side, at, _RATING], members[side, at, _WINDOW]
        kind = 0
        while kind < known and windows[kind] != window:
            kind += 1
        if kind == known and known < _KEPT:
            windows[known] = window
            known += 1
        if kind == _KEPT:
            begin[at], end[at] = _search(ratings, rating, window)
            continue
        low, high = last_begin[kind], last_end[kind]
        while low < other_count and rating - ratings[low] > window:
            low += 1
        while high < other_count and ratings[high] - rating <= window:
            high += 1
        last_begin[kind], last_end[kind] = low, high
        begin[at], end[at] = low, max(low, high)
    return begin, end


@kernel()
def _total(begin: Array, end: Array) -> int:
    total = 0
    for at in range(len(begin)):
        total += end[at] - begin[at]
    return total


@kernel()
def _add(sums: Array, place: int, amount: int) -> None:
    place += 1
    while place < len(sums):
        sums[place] += amount
        place += place & -place


@kernel()
def _sum_before(sums: Array, place: int) -> int:
    total = 0
    while place > 0:
        total += sums[place]
        place -= place & -place
    return total


@kernel()
def _listed(keys: Array, count: int) -> tuple[Array, Array]:
    """The places of keys from 0 to count, key by key, and where each key's places begin."""
    start = np.zeros(count + 2, np.int64)
    for key in keys:
        start[key + 1] += 1
    for key in range(count + 1):
        start[key + 1] += start[key]
    filled, places = start.copy(), np.empty(len(keys), np.int64)
    for place in range(len(keys)):
        places[filled[keys[place]]] = place
        filled[keys[place]] += 1
    return places, start


@kernel()
def _mutual(lead_begin: Array, lead_end: Array, follow_begin: Array, follow_end: Array) -> int:
    """How many pairs are in each other's stretches."""
    entering, enter_start = _listed(follow_begin, len(lead_begin))
    leaving, leave_start = _listed(follow_end, len(lead_begin))
    sums = np.zeros(len(follow_begin) + 1, np.int64)
    total = 0
    for lead in range(len(lead_begin)):
        for at in range(enter_start[lead], enter_start[lead + 1]):
            _add(sums, entering[at], 1)
        for at in range(leave_start[lead], leave_start[lead + 1]):
            _add(sums, leaving[at], -1)
        total += _sum_before(sums, lead_end[lead]) - _sum_before(sums, lead_begin[lead])
    return total


@kernel()
def acceptable_pairs(members: Array, lead_count: int, follow_count: int, rule: int) -> int:
    """How many pairs keep the rule; `members` as in `window_tree`, by rating, leads and followers."""
    leads = 0 * lead_count  # not a constant, of which a compiler would make another version of the function
    begin, end = _stretches(members, leads, lead_count, follow_count)
    by_leads = _total(begin, end)
    if rule == LEAD:
        return by_leads
    follow_begin, follow_end = _stretches(members, leads + 1, follow_count, lead_count)
    by_both = _mutual(begin, end, follow_begin, follow_end)
    return by_both if rule == BOTH else by_leads + _total(follow_begin, follow_end) - by_both
