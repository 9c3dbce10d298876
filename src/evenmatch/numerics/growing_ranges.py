"""Pairs of neighbours on a line whose ranges grow with time.

Problem. Everybody stands in a bucket, a whole number, and reaches min(limit, floor(waited / growth)) buckets far. A may
take B if distance <= reach_A and 100 * reach_B >= reciprocity * distance, reciprocity in percent. In order of waiting,
each takes the nearest it may take, the earliest of several.

Idea. Places 0, 1, ... are in order of waiting. Sorted by bucket, then place, they become slots; buckets that hold
anyone form a linked line. Seekers come by place:

  1. An equal is the next free slot of the seeker's own bucket.
  2. Otherwise the walk goes outwards along the line, nearer side first, and ends beyond the reach. Of each bucket it
     asks the slots from the first free one on, until one is willing or none after it can be.
  3. After PATIENCE questions the walk is given up for two trees (`first_below`). A free slot in bucket b that would be
     taken from as far as w is willing for a seeker at x above it if -(b + w) <= -x, below it if b - w <= x. So the
     nearest willing slot above is the first slot after the seeker's bucket with a number <= x; below, the last slot
     with a number <= -x tells the bucket, and the first such slot of that bucket is the answer. The trees are made when
     first needed and kept up to date from then on. Ordinary queues never need them.

Invariants.
  1. A seeker is the first free slot of its bucket: an earlier one that were free would have taken this one.
  2. Waits fall along the slots of a bucket, so where one has not waited long enough to be taken, none after it has.
     Reaches need not fall: limits may differ within a bucket.
  3. A bucket leaves the line with its last free slot, and no slot before `head` of a bucket is free.

The line, its records and the parts into which it may be cut are made by `bucket_line`.

Complexity. A seeker costs O(PATIENCE + log n) in the worst case, and O(min(2 * reach, PATIENCE)) mostly. Memory: 60
bytes a place and 64 a bucket, and up to 80 a place more with the trees.
"""

from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

from . import threads
from .bucket_line import (
    BUCKET,
    END,
    FAR,
    FREE,
    GROWN,
    HEAD,
    HIGHER,
    INDEX,
    LIMIT,
    LOWER,
    NOBODY,
    PLACE,
    START,
    TAKEN,
    laid_out,
)
from .compiled import BOOL, INT, INT32S, INTS, OUT_INT32S, OUT_INT32S2, OUT_INTS2, kernel
from .first_below import GONE, first_from, last_before, leave, tree_of

__all__ = ["pairs", "ranges_needed"]

GIVEN_UP: Final = -2
PATIENCE: Final = 64
"""Slots that a walk asks before the trees are asked instead."""
PARTS_LEAST: Final = 8
"""Parts that are worth a thread of their own."""


@lru_cache(maxsize=4)
def ranges_needed(reciprocity: Fraction, most: int) -> Array:
    """int64[most + 1]: for each distance the least range of the other with 100 * range >= reciprocity * distance."""
    top, bottom = reciprocity.numerator, 100 * reciprocity.denominator
    # Python's own whole numbers where products would not fit.
    distances = np.arange(most + 1, dtype=np.int64 if max(bottom, top * most) < 2**62 else object)
    needed: Array = (-(-top * distances // bottom)).astype(np.int64)
    needed.flags.writeable = False
    return needed


def pairs(bucket: Array, grown: Array, limit: Array, needed: Array, look: str, patience: int = PATIENCE) -> Array:
    """int64[k, 3]: seeker, partner and their distance, in the order of the seekers.

    `bucket`, int64[n], `grown` and `limit`, int32[n], by place; a range is the lesser of the two, and `grown` must not
    rise. `needed`: `ranges_needed` up to the highest limit at least. `look`: both, below or above.
    """
    slots, line, in_turn, begin, end = laid_out(bucket, grown, limit)
    partner_of = np.full(len(bucket), NOBODY, np.int32)

    def sweep(first: int, last: int) -> None:
        for part in range(first, last):
            turns, room = in_turn[begin[part] : end[part]], slots[: begin[part + 1]]
            _sweep(begin[part], turns, room, line, needed, look != "above", look != "below", patience, partner_of)

    threads.in_parts(len(end), sweep, least=PARTS_LEAST)
    found = np.empty((len(bucket) // 2, 3), np.int64)
    return found[: _gather(partner_of, bucket, found)]


@kernel()
def _willing(slots: Array, line: Array, index: int, needed: int, patience: int) -> tuple[int, int]:
    """The first slot of a bucket that may be taken by one who needs such a range of it, and the patience left."""
    slot = line[index, HEAD]
    while slots[slot, PLACE] == TAKEN:
        slot += 1
    line[index, HEAD] = slot
    while slot < line[index, END] and slots[slot, GROWN] >= needed and patience > 0:
        if slots[slot, LIMIT] >= needed and slots[slot, PLACE] != TAKEN:
            return slot, patience
        slot += 1
        patience -= 1
    return NOBODY, patience - 1


@kernel()
def _walk(
    slots: Array, line: Array, needed: Array, home: int, reach: int, below: bool, above: bool, patience: int
) -> int:
    """The nearest slot outside a bucket that a seeker of this reach may take; NOBODY, or GIVEN_UP."""
    lower = line[home, LOWER] if below else NOBODY
    higher = line[home, HIGHER] if above else NOBODY
    here = line[home, BUCKET]
    while True:
        down = here - line[lower, BUCKET] if lower >= 0 else FAR
        up = line[higher, BUCKET] - here if higher >= 0 else FAR
        distance = min(down, up)
        if distance > reach:
            return NOBODY
        nearest = other = NOBODY
        if down == distance:
            nearest, patience = _willing(slots, line, lower, needed[distance], patience)
            lower = line[lower, LOWER]
        if up == distance:
            other, patience = _willing(slots, line, higher, needed[distance], patience)
            higher = line[higher, HIGHER]
        if patience <= 0:
            return GIVEN_UP
        if nearest == NOBODY or (other != NOBODY and slots[other, PLACE] < slots[nearest, PLACE]):
            nearest = other
        if nearest != NOBODY:
            return nearest


@kernel()
def _trees(origin: int, slots: Array, line: Array, needed: Array) -> tuple[Array, Array]:
    """The trees that say, by slot from `origin` on, who may be taken from above, and who from below."""
    farthest = np.empty(needed[-1] + 1, np.int64)
    distance = 0
    for reach in range(len(farthest)):
        while distance < len(needed) and needed[distance] <= reach:
            distance += 1
        farthest[reach] = distance - 1
    from_above, from_below = np.full(len(slots) - origin, GONE), np.full(len(slots) - origin, GONE)
    for slot in range(origin, len(slots)):
        if slots[slot, PLACE] != TAKEN:
            here = line[slots[slot, INDEX], BUCKET]
            willing = farthest[min(slots[slot, GROWN], slots[slot, LIMIT], len(farthest) - 1)]
            from_above[slot - origin], from_below[slot - origin] = -(here + willing), here - willing
    return tree_of(from_above), tree_of(from_below)


@kernel()
def _ask(
    origin: int,
    slots: Array,
    line: Array,
    from_above: Array,
    from_below: Array,
    home: int,
    reach: int,
    below: bool,
    above: bool,
) -> int:
    """What `_walk` would find with any patience, from the trees."""
    here = line[home, BUCKET]
    lower = higher = NOBODY
    down = up = FAR
    if below:
        lower = last_before(from_above, line[home, START] - origin, -here)
    if lower >= 0:
        index = slots[origin + lower, INDEX]
        down = here - line[index, BUCKET]
        lower = origin + first_from(from_above, line[index, START] - origin, -here)
    if above:
        higher = first_from(from_below, line[home, END] - origin, here)
    if higher >= 0:
        higher += origin
        up = line[slots[higher, INDEX], BUCKET] - here
    if min(down, up) > reach:
        return NOBODY
    if down == up:
        return lower if slots[lower, PLACE] < slots[higher, PLACE] else higher
    return lower if down < up else higher


@kernel()
def _take(slots: Array, line: Array, slot: int) -> None:
    """A slot is free no more; a bucket without free slots leaves the line."""
    slots[slot, PLACE] = TAKEN
    index = slots[slot, INDEX]
    line[index, FREE] -= 1
    if line[index, FREE] == 0:
        lower, higher = line[index, LOWER], line[index, HIGHER]
        if lower >= 0:
            line[lower, HIGHER] = higher
        if higher >= 0:
            line[higher, LOWER] = lower


@kernel(INT, INT32S, OUT_INT32S2, OUT_INTS2, INTS, BOOL, BOOL, INT, OUT_INT32S)
def _sweep(
    origin: int,
    seekers: Array,
    slots: Array,
    line: Array,
    needed: Array,
    below: bool,
    above: bool,
    patience: int,
    partner_of: Array,
) -> None:
    """Let the slots of a part, from `origin` on, seek in this order; write for each seeker's place the partner's."""
    from_above = from_below = np.empty(0, np.int64)
    for own in seekers:
        if slots[own, PLACE] == TAKEN:
            continue
        home = slots[own, INDEX]
        if line[home, FREE] > 1:
            other = own + 1
            while slots[other, PLACE] == TAKEN:
                other += 1
            line[home, HEAD] = other + 1
        else:
            reach = min(slots[own, GROWN], slots[own, LIMIT])
            other = _walk(slots, line, needed, home, reach, below, above, patience)
            if other == GIVEN_UP:
                if not len(from_above):
                    from_above, from_below = _trees(origin, slots, line, needed)
                other = _ask(origin, slots, line, from_above, from_below, home, reach, below, above)
        if other == NOBODY:
            continue
        partner_of[slots[own, PLACE]] = slots[other, PLACE]
        _take(slots, line, own)
        _take(slots, line, other)
        if len(from_above):
            leave(from_above, own - origin)
            leave(from_below, own - origin)
            leave(from_above, other - origin)
            leave(from_below, other - origin)


@kernel(INT32S, INTS, OUT_INTS2)
def _gather(partner_of: Array, bucket: Array, found: Array) -> int:
    """Write seeker, partner and distance by the seeker's place; how many there are."""
    matches = 0
    for seeker in range(len(partner_of)):
        partner = partner_of[seeker]
        if partner != NOBODY:
            found[matches, 0], found[matches, 1] = seeker, partner
            found[matches, 2] = abs(bucket[seeker] - bucket[partner])
            matches += 1
    return matches
