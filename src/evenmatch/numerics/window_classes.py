"""Players of two sides in a few classes of equal misses and window, to find somebody's best partner quickly.

Problem. The same as that of `window_tree`: the free member of the other side with the least score
gap * gap - weight * (misses of both), the least place on equal scores, among those whose gap is within a radius.

Idea. Within a class the misses and the radius are the same for all, so the best are the nearest free ones on either
side of a rating. Classes are looked at by falling misses, until not even a gap of 0 could beat the score at hand. A
class is a row of slots by rating, with an empty slot at each end; a taken slot points on to its neighbour, and whoever
follows pointers shortens them, so that the next free slot is a step or two away.

    slots    -   1400   1450   1450   1520   -    1390   1610   -         "-" is an empty slot, with NaN for a rating
                 class 0: 3 misses                class 1: 2 misses

Why it is exact. Rounding is monotone, so scores do not fall as gaps grow or misses become fewer. Different gaps may
have equal scores, though: the search goes on outwards as long as scores are equal, and takes the least place. Of
members with equal ratings only the first that is free can win; the others are passed over at one step.

Invariants.
  1. A free slot is its own neighbour right and left; a taken slot's pointers lead towards the next free one, never past
     it. Empty slots are never taken.
  2. Slots of a class are by (rating, place), so the first free one of equal ratings has the least place.
  3. `begin[side, at, c]` is the first slot of the other side's class c that is not rated below the member `at`.

Complexity. A search is O(classes), with amortised constant steps in each; removing is O(1). Memory: 50 bytes a member,
and 4 for each class, which is why there may be `CLASSES_MAX` at most: beyond, `window_tree` serves.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import kernel
from evenmatch.numerics.sorting import stable_order
from evenmatch.numerics.window_tree import MISSES, PLACE, RATING, WINDOW

__all__ = ["CLASSES_MAX", "KIND_MISSES", "begins", "best_in_classes", "class_of_members", "seat_classes", "take_slot"]

CLASSES_MAX: Final = 16

_RIGHT, _LEFT, _BEHIND, _BEFORE = range(4)
"""Columns of `links`, int32[2, slots, 4], all of them slots: the slot itself if it is free, otherwise one further right
or left; the one behind all with the same rating in its class, and the one before them."""
_MEMBER, _PLACE = range(2)
"""Columns of `who`, int64[2, slots, 2]: the member, counted by rating, and its place."""
KIND_MISSES, _KIND_WINDOW, _KIND_START = range(3)
"""Columns of `kinds`, float64[2, CLASSES_MAX + 1, 3], by falling misses: those, the window, and the class's first slot.
What is beyond a side's last class has -1 misses."""


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
def seat_classes(
    members: Array,
    side: int,
    count: int,
    of: Array,
    first: Array,
    known: int,
    kinds: Array,
    ratings: Array,
    links: Array,
    who: Array,
    slots: Array,
) -> None:
    """Write a side's classes, as `class_of_members` tells them apart, and each member's slot into int64 `slots`."""
    misses, sizes, filled = np.empty(known), np.zeros(known, np.int64), np.empty(known, np.int64)
    for kind in range(known):
        misses[kind] = -members[side, first[side, kind], MISSES]
    for at in range(count):
        sizes[of[side, at]] += 1
    slot = 1
    for rank, kind in enumerate(stable_order(misses)):
        filled[kind] = slot
        kinds[side, rank, KIND_MISSES], kinds[side, rank, _KIND_START] = -misses[kind], slot
        kinds[side, rank, _KIND_WINDOW] = members[side, first[side, kind], WINDOW]
        slot += sizes[kind] + 1
    for at in range(count):
        slot = filled[of[side, at]]
        filled[of[side, at]] += 1
        slots[side, at], ratings[side, slot] = slot, members[side, at, RATING]
        who[side, slot, _MEMBER], who[side, slot, _PLACE] = at, np.int64(members[side, at, PLACE])
    _link(ratings, links, side)


@kernel()
def _link(ratings: Array, links: Array, side: int) -> None:
    """Write the links of a side's slots, all of them free."""
    total = ratings.shape[1]
    for slot in range(total):
        links[side, slot, _RIGHT] = links[side, slot, _LEFT] = slot
        links[side, slot, _BEFORE] = slot - 1
        if slot > 0 and ratings[side, slot] == ratings[side, slot - 1]:
            links[side, slot, _BEFORE] = links[side, slot - 1, _BEFORE]
    for slot in range(total - 1, -1, -1):
        links[side, slot, _BEHIND] = slot + 1
        if slot + 1 < total and ratings[side, slot] == ratings[side, slot + 1]:
            links[side, slot, _BEHIND] = links[side, slot + 1, _BEHIND]


@kernel()
def begins(members: Array, side: int, count: int, kinds: Array, ratings: Array, begin: Array) -> None:
    """Write `begin` for the members of a side."""
    other = 1 - side
    slots = np.empty(CLASSES_MAX, np.int64)
    known = 0
    while kinds[other, known, KIND_MISSES] >= 0:
        slots[known] = np.int64(kinds[other, known, _KIND_START])
        known += 1
    for at in range(count):
        for kind in range(known):
            slot = slots[kind]
            while ratings[other, slot] < members[side, at, RATING]:
                slot += 1
            slots[kind] = slot
            begin[side, at, kind] = slot


@kernel()
def take_slot(links: Array, side: int, slot: int) -> None:
    """Take a member out."""
    links[side, slot, _RIGHT], links[side, slot, _LEFT] = slot + 1, slot - 1


@kernel()
def _free(links: Array, side: int, way: int, slot: int) -> int:
    """The next free slot that pointers lead to, or the empty one at the end."""
    while links[side, slot, way] != slot:
        links[side, slot, way] = links[side, links[side, slot, way], way]
        slot = links[side, slot, way]
    return slot


@kernel()
def best_in_classes(
    kinds: Array,
    ratings: Array,
    links: Array,
    who: Array,
    begin: Array,
    side: int,
    kind: int,
    at: int,
    rating: float,
    misses: float,
    narrow: float,
    wide: float,
    weight: float,
    score: float,
    place: float,
    best: int,
) -> tuple[float, int]:
    """The least score on a side, from class `kind` on, for member `at` of the other, or what is known already."""
    less = weight * (misses + kinds[side, kind, KIND_MISSES])
    while (kinds[side, kind, KIND_MISSES] >= 0) & (0.0 - less <= score):
        radius = min(max(kinds[side, kind, _KIND_WINDOW], narrow), wide)
        for way in range(2):
            slot = _free(links, side, way, begin[1 - side, at, kind] - way)
            gap = abs(rating - ratings[side, slot])
            while (gap <= radius) & (gap * gap - less <= score):
                head = _free(links, side, _RIGHT, links[side, slot, _BEFORE] + 1)
                if gap * gap - less < score or who[side, head, _PLACE] < place:
                    score, place, best = gap * gap - less, float(who[side, head, _PLACE]), who[side, head, _MEMBER]
                slot = _free(links, side, way, links[side, slot, _BEHIND + way])
                gap = abs(rating - ratings[side, slot])
        kind += 1
        less = weight * (misses + kinds[side, kind, KIND_MISSES])
    return score, best
