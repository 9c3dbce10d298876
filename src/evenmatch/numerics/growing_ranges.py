"""Pairs of neighbours on a line whose ranges grow with time.

Problem. Everybody stands in a bucket, a whole number, and reaches min(limit, floor(waited / growth)) buckets far. A may
take B if distance <= reach_A and 100 * reach_B >= reciprocity * distance, reciprocity in percent. In order of waiting,
each takes the nearest it may take. And: when will somebody newly be able to take somebody?

Idea for the pairs. Buckets that hold anyone form a linked line; a search walks it outwards from its own bucket, nearer
side first, and ends beyond its reach. A bucket is a list in order of waiting, and leaves the line when it is empty.

Idea for the moment. At distance d the taker needs a reach of d and the taken one of r = ceil(reciprocity * d / 100); in
x = d * growth - waited and y = r * growth - waited from now they have it, unless a limit forbids it for ever. A pair
becomes acceptable at max(x, y), and is so already where that is <= 0. Over two buckets the least positive max(x, y) is

    min( max(least positive x, least y), max(least positive y, least x) )

since the later of the two is positive and the other only has to be there by then. All buckets at once, for each d.

Invariant. Places are in order of falling wait, so when one place of a bucket has not waited long enough to be taken,
none after it has. Reaches need not fall: limits may differ within a bucket.

Complexity. A seeker costs O(min(2 * reach, buckets that hold anyone)). The moment costs O(n) for each distance, and
distances end where the longest waiter is too far from them to be earlier than what was found.
"""

from fractions import Fraction
from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["Line", "halves_away", "next_acceptable_ms", "range_needed"]

NEVER: Final = 2**62
FEW_BUCKETS: Final = 1000
"""With so few buckets the distances between them are listed; otherwise every distance up to the limit is tried."""


def halves_away(values: Array) -> Array:
    """float64, shape of `values`: the nearest whole numbers, halves away from zero."""
    whole = np.trunc(values)
    # Adding 0.5 and cutting would turn the float below 0.5 into 1; this difference is exact.
    rounded: Array = whole + np.sign(values) * (np.abs(values - whole) >= 0.5)
    return rounded


def range_needed(distance: int, reciprocity: Fraction) -> int:
    """The least range of the other that satisfies 100 * range >= reciprocity * distance."""
    return -(-reciprocity.numerator * distance // (100 * reciprocity.denominator))


class Line:
    """The buckets of one search, and who in them is still free."""

    def __init__(self, bucket: Array, grown: Array, limit: Array, reciprocity: Fraction, look: str) -> None:
        """int64[n] columns by place, in order of falling `grown`; `look` is both, below or above."""
        held, of = np.unique(bucket, return_inverse=True)
        by_bucket = np.argsort(of, kind="stable")
        edges = np.cumsum(np.bincount(of, minlength=len(held)))[:-1]
        self.held: list[int] = held.tolist()
        self.of: list[int] = of.tolist()
        self.members: list[list[int]] = [part.tolist() for part in np.split(by_bucket, edges)]
        """The places in each bucket, the earliest first."""
        self.begin = [0] * len(held)
        """Where the first free place of each bucket may be: all before it are taken."""
        self.count = [len(places) for places in self.members]
        self.lower = list(range(-1, len(held) - 1))
        self.higher = [*range(1, len(held)), -1][: len(held)]
        self.free = [True] * len(of)
        self.grown: list[int] = grown.tolist()
        self.limit: list[int] = limit.tolist()
        self.reciprocity = reciprocity
        self.look = look

    def pairs(self) -> list[tuple[int, int, int]]:
        """(seeker, partner, distance) in the order of the seekers."""
        found = []
        for seeker in range(len(self.free)):
            if self.free[seeker] and (nearest := self.nearest(seeker)) is not None:
                found.append((seeker, *nearest))
                self.take(seeker)
                self.take(nearest[0])
        return found

    def nearest(self, seeker: int) -> tuple[int, int] | None:
        """The nearest free place that the seeker may take, the earliest of several, and its distance; or None."""
        home = self.of[seeker]
        if (equal := self.first(home, 0, seeker)) is not None:
            return equal, 0
        reach = min(self.grown[seeker], self.limit[seeker])
        lower = self.lower[home] if self.look != "above" else -1
        higher = self.higher[home] if self.look != "below" else -1
        here = self.held[home]
        while lower >= 0 or higher >= 0:
            below = here - self.held[lower] if lower >= 0 else NEVER
            above = self.held[higher] - here if higher >= 0 else NEVER
            distance = min(below, above)
            if distance > reach:
                return None
            needed = range_needed(distance, self.reciprocity)
            ready = []
            if below == distance:
                ready.append(self.first(lower, needed, seeker))
                lower = self.lower[lower]
            if above == distance:
                ready.append(self.first(higher, needed, seeker))
                higher = self.higher[higher]
            partners = [place for place in ready if place is not None]
            if partners:
                return min(partners), distance
        return None

    def first(self, index: int, needed: int, seeker: int) -> int | None:
        """The earliest free place of a bucket, other than the seeker's, whose range is as needed; or None."""
        members = self.members[index]
        begin = self.begin[index]
        while begin < len(members) and not self.free[members[begin]]:
            begin += 1
        self.begin[index] = begin
        for at in range(begin, len(members)):
            place = members[at]
            if self.grown[place] < needed:
                return None
            if self.free[place] and place != seeker and self.limit[place] >= needed:
                return place
        return None

    def take(self, place: int) -> None:
        """A place is free no more; a bucket without free places leaves the line."""
        self.free[place] = False
        index = self.of[place]
        self.count[index] -= 1
        if not self.count[index]:
            lower, higher = self.lower[index], self.higher[index]
            if lower >= 0:
                self.higher[lower] = higher
            if higher >= 0:
                self.lower[higher] = lower


def next_acceptable_ms(
    bucket: Array, waited_ms: Array, limit: Array, *, growth_ms: int, reciprocity: Fraction, look: str
) -> int | None:
    """In how many ms, more than 0, somebody may newly take somebody; None = never. int64[n] columns, in any order."""
    if len(bucket) < 2:
        return None
    order = np.argsort(bucket, kind="stable")
    waited, limit = waited_ms[order], limit[order]
    held, start = np.unique(bucket[order], return_index=True)
    soonest, longest = NEVER, int(waited.max())
    for distance in _distances(held, int(limit.max())):
        if distance * growth_ms - longest >= soonest or soonest == 1:  # no moment is sooner than 1
            break
        needed = range_needed(distance, reciprocity)
        x = np.where(limit >= distance, distance * growth_ms - waited, NEVER)
        y = np.where(limit >= needed, needed * growth_ms - waited, NEVER)
        takers, taken = _least(x, start), _least(y, start)
        at = np.searchsorted(held, held + distance)
        low = np.flatnonzero((at < len(held)) & (held[np.minimum(at, len(held) - 1)] == held + distance))
        high = at[low]
        if look != "above":
            soonest = min(soonest, _soonest(takers[:, high], taken[:, low]))
        if look != "below":
            soonest = min(soonest, _soonest(takers[:, low], taken[:, high]))
    return None if soonest == NEVER else soonest


def _distances(held: Array, limit: int) -> list[int] | range:
    """The distances above 0 that occur between buckets, or may occur, ascending."""
    most = min(limit, int(held[-1] - held[0]))
    if len(held) > FEW_BUCKETS:
        return range(1, most + 1)
    apart = np.unique(held[:, None] - held)
    return [int(distance) for distance in apart[(apart > 0) & (apart <= most)]]


def _least(moments: Array, start: Array) -> Array:
    """int64[2, buckets]: the least moment of each bucket, and the least positive one."""
    positive = np.where(moments > 0, moments, NEVER)
    return np.stack([np.minimum.reduceat(moments, start), np.minimum.reduceat(positive, start)])


def _soonest(takers: Array, taken: Array) -> int:
    """The least positive max of a taker's and a taken one's moment, over pairs of buckets."""
    first = np.maximum(takers[1], taken[0]).min(initial=NEVER)
    second = np.maximum(takers[0], taken[1]).min(initial=NEVER)
    return int(min(first, second))
