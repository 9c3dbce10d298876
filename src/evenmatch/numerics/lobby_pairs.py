"""Pairs of lobbies, closest first or earliest first, without comparing all with all.

Problem. Lobbies stand in canonical order. Two of them are acceptable to each other by gap and overlap (`lobby_tree`).

    best     again and again the acceptable pair of free lobbies with the least gap; of several, the one whose earlier
             lobby is earliest, then whose later lobby is earliest
    first    each free lobby in order takes the earliest free one that is acceptable

First. A seeker leaves the tree before it looks, and never comes back: acceptable is symmetric, so a later seeker would
not take whom no one was acceptable to. The tree holds later lobbies only. Mostly one of the next few lobbies will do:
these are looked at one by one, and the tree is asked only if none of them did.

Best. Each lobby knows a partner: at the time it looked, the closest acceptable, the earliest of several. A heap holds
(gap to the partner, place). The lobby with the least entry is taken out:

    its partner is free       the two are a pair
    its partner is gone       it looks again: at the same gap the two are a pair, otherwise it goes back with the
                              greater gap; if nobody is acceptable it leaves, and no one will miss it

Why that is exact. Lobbies only ever leave, so an entry is a lower bound of what its lobby can still have, and a partner
who is still free is still the best. Let (gap, i) be the least entry and j the partner who is found at that gap. A pair
with a lesser gap would have put both its lobbies further up. A pair of equal gap with an earlier lobby a < i: the entry
of a was at most (gap, a), so a was taken out before i, and either left with a partner or had none at this gap. So i is
the earlier of the least pair, and j, the earliest at this gap, the later.

Why it is fast where many are equal. An entry names one lobby, not a pair, and a lobby that finds a new partner at the
same gap leaves at once: among n equal lobbies n / 2 searches are made, though all had the same partner in mind.

Rounds. A tree of which most are gone makes searches long. So, when half of its lobbies have left, a new one is grown
of the rest, and all who lost their partner look again: these searches are independent and shared among threads.

Invariants.
  1. A lobby is free exactly if it is in the tree, and then `partners` holds whom it found last.
  2. Pairs are written in the order they are made, gaps never falling (best) or earlier lobbies rising (first).

A few lobbies need none of this: `few_lobbies` compares all with all.

Complexity. `first`: one search a seeker. `best`: a search a lobby, and one whenever its partner was taken and it comes
to the top: 1.2 searches a lobby at random. See `lobby_tree` for what a search costs, and where it gets slow.
"""

from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics import threads
from evenmatch.numerics.compiled import FLOAT, FLOATS, INT, INT32S2, OUT_FLOATS, OUT_INTS, OUT_INTS2, kernel
from evenmatch.numerics.few_lobbies import few_pairs
from evenmatch.numerics.lobby_ranges import Lobbies, similarity
from evenmatch.numerics.lobby_tree import STACK, TREE, Tree, earliest_acceptable, grow, nearest_acceptable, remove

__all__ = ["Pairs", "best_pairs", "first_pairs"]

FEW: Final = 48
"""So few lobbies are compared all with all (`few_lobbies`)."""
AHEAD: Final = 32
"""Places after a seeker that `first` looks at before it asks the tree."""
ROUND_LEAST: Final = 1000
"""With fewer lobbies than this no new tree is grown."""
SEARCHES_LEAST: Final = 1000
"""Searches that are worth a thread."""


class Pairs(NamedTuple):
    """Pairs in order of selection."""

    places: Array
    """int64[k, 2]: the earlier lobby and the later."""
    gaps: Array
    """int64[k]: the sum of the differences of sorted indices."""
    overlaps: Array
    """float64[k]: the similarity of the ranges."""


def first_pairs(lobbies: Lobbies, limit: int, overlap_min: float) -> Pairs:
    """Each lobby in order with the earliest free one that has at most this gap and at least this overlap."""
    count = len(lobbies.low)
    pairs = _room_for(count // 2)
    if count <= FEW:
        return _filled(pairs, few_pairs(*lobbies[:3], limit, overlap_min, False, *pairs))
    tree = grow(lobbies, np.arange(count), limit, overlap_min)
    return _filled(pairs, _take_first(tree, *lobbies[:3], limit, overlap_min, *pairs))


def best_pairs(lobbies: Lobbies, limit: int, overlap_min: float) -> Pairs:
    """Repeatedly the pair with the least gap, of those with at most this gap and at least this overlap."""
    count, size = lobbies.buckets.shape
    pairs = _room_for(count // 2)
    if count <= FEW:
        return _filled(pairs, few_pairs(*lobbies[:3], limit, overlap_min, True, *pairs))
    gaps, partners = np.empty(count, np.int64), np.full(count, count)
    free = np.arange(count)
    made = 0
    while len(free) > 1:
        tree = grow(lobbies, free, min(limit, size), overlap_min)
        _look_all(tree, limit, overlap_min, gaps, partners)
        made = _take_best(tree, limit, overlap_min, gaps, partners, made, *pairs)
        free = np.sort(tree.places[tree.places < count])
    return _filled(pairs, made)


def _look_all(tree: Tree, limit: int, overlap_min: float, gaps: Array, partners: Array) -> None:
    """A partner for everyone in the tree whose partner is gone."""

    def look(first: int, end: int) -> None:
        _look(tree, limit, overlap_min, first, end, gaps, partners)

    threads.in_parts(len(tree.places), look, least=SEARCHES_LEAST)


def _room_for(count: int) -> Pairs:
    return Pairs(np.empty((count, 2), np.int64), np.empty(count, np.int64), np.empty(count))


def _filled(pairs: Pairs, made: int) -> Pairs:
    return Pairs(pairs.places[:made], pairs.gaps[:made], pairs.overlaps[:made])


@kernel()
def _is_free(tree: Tree, place: int) -> bool:
    """The place names a lobby of the tree that was not removed; the length of `slots` names none."""
    return place < len(tree.slots) and tree.slots[place] >= 0 and tree.places[tree.slots[place]] == place


@kernel()
def _write(
    tree: Tree, place: int, partner: int, gap: int, made: int, places: Array, gaps: Array, overlaps: Array
) -> None:
    one, other = tree.ranges[tree.slots[place]], tree.ranges[tree.slots[partner]]
    places[made, 0], places[made, 1], gaps[made] = place, partner, gap
    overlaps[made] = similarity(one[0], one[1], other[0], other[1])


@kernel()
def _one_of_the_next(
    tree: Tree, low: Array, high: Array, buckets: Array, place: int, limit: int, overlap_min: float
) -> tuple[int, int]:
    """Gap and place of the earliest acceptable lobby, if it is among the next few; the number of places if not."""
    gone = len(tree.slots)
    for other in range(place + 1, min(place + 1 + AHEAD, gone)):
        if not _is_free(tree, other):
            continue
        gap = 0
        for player in range(buckets.shape[1]):
            gap += abs(buckets[place, player] - buckets[other, player])
        if gap <= limit and similarity(low[place], high[place], low[other], high[other]) >= overlap_min:
            return gap, other
    return limit, gone


@kernel(TREE, FLOATS, FLOATS, INT32S2, INT, FLOAT, OUT_INTS2, OUT_INTS, OUT_FLOATS)
def _take_first(
    tree: Tree,
    low: Array,
    high: Array,
    buckets: Array,
    limit: int,
    overlap_min: float,
    places: Array,
    gaps: Array,
    overlaps: Array,
) -> int:
    """How many pairs were made; they are written to the last three, in order."""
    gone = len(tree.slots)
    stack = np.empty((2, STACK), np.int64)
    made = 0
    for place in range(gone):
        if not _is_free(tree, place):
            continue
        remove(tree, place)
        gap, partner = _one_of_the_next(tree, low, high, buckets, place, limit, overlap_min)
        if partner == gone:
            gap, partner = earliest_acceptable(tree, place, limit, overlap_min, stack)
        if partner < gone:
            _write(tree, place, partner, gap, made, places, gaps, overlaps)
            remove(tree, partner)
            made += 1
    return made


@kernel(TREE, INT, FLOAT, INT, INT, OUT_INTS, OUT_INTS)
def _look(
    tree: Tree,
    limit: int,
    overlap_min: float,
    first: int,
    end: int,
    least_gaps: Array,
    partners: Array,
) -> None:
    """A partner for the lobbies of these slots whose partner is gone."""
    stack = np.empty((2, STACK), np.int64)
    for slot in range(first, end):
        place = tree.places[slot]
        if not _is_free(tree, partners[place]):
            least_gaps[place], partners[place] = nearest_acceptable(tree, place, limit, overlap_min, stack)


@kernel()
def _sink(heap: Array, length: int) -> None:
    """Move the top entry down to where it belongs."""
    entry, at, below = heap[0], 0, 1
    while below < length:
        if below + 1 < length and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= entry:
            break
        heap[at] = heap[below]
        at, below = below, 2 * below + 1
    heap[at] = entry


@kernel(TREE, INT, FLOAT, OUT_INTS, OUT_INTS, INT, OUT_INTS2, OUT_INTS, OUT_FLOATS)
def _take_best(
    tree: Tree,
    limit: int,
    overlap_min: float,
    least_gaps: Array,
    partners: Array,
    made: int,
    places: Array,
    gaps: Array,
    overlaps: Array,
) -> int:
    """How many pairs there are with those made now; stops where nobody is left, or half of many."""
    gone, left = len(tree.slots), len(tree.places)
    enough = left // 2 if left >= ROUND_LEAST else 0
    stack = np.empty((2, STACK), np.int64)
    heap = np.empty(left, np.int64)
    length = 0
    for place in np.sort(tree.places):
        if partners[place] < gone:
            heap[length] = least_gaps[place] * gone + place
            length += 1
        else:
            remove(tree, place)
    heap[:length].sort()  # a sorted array is a heap
    left = length
    while length and left > enough:
        gap, place = divmod(heap[0], gone)
        partner = partners[place]
        if _is_free(tree, place) and not _is_free(tree, partner):
            new_gap, partner = nearest_acceptable(tree, place, limit, overlap_min, stack)
            if partner < gone and new_gap > gap:
                least_gaps[place], partners[place] = new_gap, partner
                heap[0] = new_gap * gone + place
                _sink(heap, length)
                continue
        length -= 1
        heap[0] = heap[length]
        _sink(heap, length)
        if not _is_free(tree, place):
            continue
        if partner < gone:
            _write(tree, place, partner, gap, made, places, gaps, overlaps)
            remove(tree, partner)
            made += 1
            left -= 1
        remove(tree, place)
        left -= 1
    return made
