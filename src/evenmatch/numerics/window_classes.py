"""Pairs that are best for both, found by walks among players in a few classes of equal misses and window.

Problem. That of `window_pairs`, where walks and their exactness are explained. A step of a walk wants the free member
of the other side with the least score gap * gap - weight * (misses of both), the least place on equal scores, among
those whose gap is within a radius.

Idea. Within a class the misses and the radius are the same for all, so the best are the nearest free ones on either
side of a rating. Classes are looked at by falling misses, until not even a gap of 0 could beat the score at hand. A
class is a row of slots by rating, with an empty slot at each end; a taken slot points on to its neighbour, and whoever
follows pointers shortens them, so that the next free slot is a step or two away. A slot stands for its player in all
columns, the slots of followers behind those of leads, so that a step touches few arrays, all of them plain.

    slots    -   1400   1450   1450   1520   -    1390   1610   -         "-" is an empty slot, with NaN for a rating
                 class 0: 3 misses                class 1: 2 misses

Walks start class by class, by falling misses: once all players with so many misses have been matched or found alone,
nobody needs to look at their classes any more. From whom a walk starts changes nothing in the pairs.

Why it is exact. Rounding is monotone, so scores do not fall as gaps grow or misses become fewer. Different gaps may
have equal scores, though: the search goes on outwards as long as scores are equal, and takes the least place. Of
members with equal ratings only the first that is free can win; the others are passed over at one step.

Invariants.
  1. A free slot is its own neighbour right and left; a taken slot's pointers lead towards the next free one, never past
     it. Empty slots are never taken.
  2. Slots of a class are by (rating, place), so the first free one of equal ratings has the least place.
  3. `begin[slot, c]` is the first slot of the other side's class c that is not rated below the slot's player.

Complexity. A search is O(classes), with amortised constant steps in each; removing is O(1). Memory: 70 bytes a member,
and 4 for each class, which is why there may be `CLASSES_MAX` at most: beyond, `window_tree` serves.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import inlined, kernel
from evenmatch.numerics.sorting import stable_order
from evenmatch.numerics.window_counts import reach
from evenmatch.numerics.window_tree import MISSES, PLACE, RATING, WINDOW

__all__ = ["CLASSES_MAX", "class_of_members", "walks_in_classes"]

CLASSES_MAX: Final = 16
_KINDS: Final = CLASSES_MAX + 1
"""Room for the classes of a side and one that is none, with -1 misses. Kinds are counted over both sides: those of
followers from here on."""
_LEADS, _FOLLOWS = range(2)
_LINKS: Final = 4
_RIGHT, _LEFT, _BEHIND, _BEFORE = range(_LINKS)
"""Columns of `links`, int32[slots * 4], all of them slots: the slot itself if it is free, otherwise one further right
or left; the one behind all with the same rating in its class, and the one before them."""


@kernel()
def class_of_members(members: Array, side: int, count: int, of: Array, first: Array) -> int:
    """Write each member's class into `of` and the first member of each class into `first`; how many classes there are.

    One more than `CLASSES_MAX` stands for any number beyond it.
    """
    known = 0
    for at in range(count):
        kind = 0
        while kind < known and (
            members[side, first[side, kind], MISSES] != members[side, at, MISSES]
            or members[side, first[side, kind], WINDOW] != members[side, at, WINDOW]
        ):
            kind += 1
        if kind == known:
            first[side, known] = at
            known += 1
            if known > CLASSES_MAX:
                break
        of[side, at] = kind
    return known


@kernel()
def _seat(
    members: Array,
    side: int,
    count: int,
    of: Array,
    first: Array,
    known: int,
    slot: int,
    misses: Array,
    windows: Array,
    starts: Array,
    kind_of: Array,
    ratings: Array,
    places: Array,
) -> Array:
    """Write a side's classes and slots, of which `slot` is the first; int32[count]: the slot of each member."""
    fewer, sizes, filled = np.empty(known), np.zeros(known, np.int64), np.empty(known, np.int64)
    rank_of, slots = np.empty(known, np.int64), np.empty(count, np.int32)
    for kind in range(known):
        fewer[kind] = -members[side, first[side, kind], MISSES]
    for at in range(count):
        sizes[of[side, at]] += 1
    slot += 1
    order = stable_order(fewer)
    for rank in range(known):
        kind, to = order[rank], side * _KINDS + rank
        filled[kind], rank_of[kind] = slot, to
        misses[to], windows[to], starts[to] = -fewer[kind], members[side, first[side, kind], WINDOW], slot
        slot += sizes[kind] + 1
    starts[side * _KINDS + known] = slot
    for at in range(count):
        kind = of[side, at]
        slot = filled[kind]
        filled[kind] += 1
        slots[at], kind_of[slot], ratings[slot] = slot, rank_of[kind], members[side, at, RATING]
        places[slot] = np.int64(members[side, at, PLACE])
    return slots


@kernel()
def _link(ratings: Array) -> Array:
    """The links of all slots, all of them free."""
    total = len(ratings)
    links = np.empty(_LINKS * total, np.int32)
    for slot in range(total):
        same = slot > 0 and ratings[slot] == ratings[slot - 1]
        links[_LINKS * slot + _RIGHT] = links[_LINKS * slot + _LEFT] = slot
        links[_LINKS * slot + _BEFORE] = links[_LINKS * (slot - 1) + _BEFORE] if same else slot - 1
    for slot in range(total - 1, -1, -1):
        same = slot + 1 < total and ratings[slot] == ratings[slot + 1]
        links[_LINKS * slot + _BEHIND] = links[_LINKS * (slot + 1) + _BEHIND] if same else slot + 1
    return links


@kernel()
def _begins(
    slots: Array, others: Array, first_kind: int, begin: Array, starts: Array, kinds: Array, ratings: Array
) -> None:
    """Write `begin` for the members of a side; its slots and the other side's are given by rating.

    Going along both, the next slot of each class is kept, and written down for every member that is met.
    """
    width, passed = begin.shape[1], 0
    coming = np.empty(width, np.int32)
    for kind in range(width):
        coming[kind] = starts[first_kind + kind]
    for slot in slots:
        while passed < len(others) and ratings[others[passed]] < ratings[slot]:
            coming[kinds[others[passed]] - first_kind] += 1
            passed += 1
        for kind in range(width):
            begin[slot, kind] = coming[kind]


@inlined
def _free(links: Array, way: int, slot: int) -> int:
    """The next free slot that pointers lead to, or the empty one at the end."""
    on = links[_LINKS * slot + way]
    while on != slot:
        slot_after = links[_LINKS * on + way]
        links[_LINKS * slot + way] = slot_after
        slot = slot_after
        on = links[_LINKS * slot + way]
    return slot


@kernel()
def walks_in_classes(
    members: Array, counts: tuple[int, int], of: Array, first: Array, known: Array, rule: int, weight: float
) -> tuple[Array, Array]:
    """The follower's place for each lead's place, -1 = none, and the score; classes as `class_of_members` has them."""
    behind_leads = counts[_LEADS] + known[_LEADS] + 1
    total = behind_leads + counts[_FOLLOWS] + known[_FOLLOWS] + 1
    misses, windows, starts = np.full(2 * _KINDS, -1.0), np.full(2 * _KINDS, -1.0), np.zeros(2 * _KINDS, np.int64)
    kind_of, ratings, places = np.zeros(total, np.int32), np.full(total, np.nan), np.zeros(total, np.int64)
    begin = np.empty((total, max(known[_LEADS], known[_FOLLOWS])), np.int32)
    columns = (misses, windows, starts, kind_of, ratings, places)
    leads = _seat(members, _LEADS, counts[_LEADS], of, first, known[_LEADS], 0, *columns)
    follows = _seat(members, _FOLLOWS, counts[_FOLLOWS], of, first, known[_FOLLOWS], behind_leads, *columns)
    links = _link(ratings)
    _begins(leads, follows, _KINDS, begin, starts, kind_of, ratings)
    _begins(follows, leads, 0, begin, starts, kind_of, ratings)

    partner, scores = np.full(counts[_LEADS], -1, np.int64), np.zeros(counts[_LEADS])
    walk, known_scores = np.empty(total + 1, np.int64), np.empty(total + 1)
    from_kinds = np.array([0, _KINDS])
    while misses[from_kinds[_LEADS]] >= 0 or misses[from_kinds[_FOLLOWS]] >= 0:
        # All of the class with most misses; nobody after them will look at it.
        first_side = _LEADS if misses[from_kinds[_LEADS]] >= misses[from_kinds[_FOLLOWS]] else _FOLLOWS
        start_kind = from_kinds[first_side]
        for start in range(starts[start_kind], starts[start_kind + 1] - 1):
            length = 1 if links[_LINKS * start] == start else 0
            walk[0] = start
            while length > 0:
                at = walk[length - 1]
                side = _LEADS if at < behind_leads else _FOLLOWS
                before, score, place = -1, np.inf, -1
                if length > 1:
                    before, score = walk[length - 2], known_scores[length - 2]
                    place = places[before]
                best = before
                rating, own = ratings[at], kind_of[at]
                narrow, wide = reach(windows[own], rule, side)
                kind, first_kind = from_kinds[1 - side], (1 - side) * _KINDS
                less = weight * (misses[own] + misses[kind])
                while (misses[kind] >= 0) & (0.0 - less <= score):
                    radius = min(max(windows[kind], narrow), wide)
                    near = begin[at, kind - first_kind]
                    # Going right, a free slot is the first of its rating.
                    slot = _free(links, _RIGHT, near)
                    gap = abs(rating - ratings[slot])
                    while (gap <= radius) & (gap * gap - less <= score):
                        if gap * gap - less < score or places[slot] < place:
                            score, place, best = gap * gap - less, places[slot], slot
                        slot = _free(links, _RIGHT, links[_LINKS * slot + _BEHIND])
                        gap = abs(rating - ratings[slot])
                    slot = _free(links, _LEFT, near - 1)
                    gap = abs(rating - ratings[slot])
                    while (gap <= radius) & (gap * gap - less <= score):
                        head = _free(links, _RIGHT, links[_LINKS * slot + _BEFORE] + 1)
                        if gap * gap - less < score or places[head] < place:
                            score, place, best = gap * gap - less, places[head], head
                        slot = _free(links, _LEFT, links[_LINKS * slot + _BEFORE])
                        gap = abs(rating - ratings[slot])
                    kind += 1
                    less = weight * (misses[own] + misses[kind])
                if best >= 0 and best != before:
                    known_scores[length - 1], walk[length] = score, best
                    length += 1
                    continue
                if best >= 0:
                    lead, follow = (at, best) if side == _LEADS else (best, at)
                    partner[places[lead]], scores[places[lead]] = places[follow], score
                    links[_LINKS * best + _RIGHT], links[_LINKS * best + _LEFT] = best + 1, best - 1
                links[_LINKS * at + _RIGHT], links[_LINKS * at + _LEFT] = at + 1, at - 1
                length = max(length - 2, 0)
        from_kinds[first_side] += 1
    return partner, scores
