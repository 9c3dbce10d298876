"""The moment when somebody on the line may newly take somebody, if nobody comes or goes (see `growing_ranges`).

Problem. At distance d the taker needs a range of d and the taken one of r = needed(d). In x = d * growth - waited and
y = r * growth - waited from now they have it, unless a limit forbids it for ever. A pair becomes acceptable at
max(x, y), and is so already where that is <= 0. Asked is the least positive one over all pairs: a million tickets make
10^12 of them, and the answer is wanted after every wave.

Idea. Over takers in one bucket and taken ones in another the least positive max(x, y) is

    min( max(least positive x, least y), max(least positive y, least x) )

since the later of the two is positive and the other only has to be there by then. Pairs of buckets are gone through by
ascending distance, skipping distances at which no two buckets are, and three things end the search:
  - nothing changes before some range grows, so a moment that early cannot be bettered;
  - at a distance of d nothing is sooner than d * growth - the longest wait, nor at any greater distance;
  - no limit reaches as far as d.

What is promised. The moment is exact, unless the search is given up after its allowance of steps, which only queues
whose ranges span many thousands of pairs of buckets use up. Then the answer is the sooner of what was found and
what is left could be: never later than the true moment, so that no wave is missed; at worst one is run for nothing.

Complexity. O(n) to sort by bucket, then mostly a few buckets are looked at: among many tickets some range is about to
grow, and somebody is near. At worst O(PATIENCE * n).
"""

from fractions import Fraction
from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import BOOL, INT, INT32S, INTS, kernel
from .growing_ranges import by_bucket, ranges_needed

__all__ = ["next_acceptable_ms"]

NEVER: Final = 2**62
PATIENCE: Final = 100
STEPS_LEAST: Final = 1_000_000
"""Steps of a search: PATIENCE for each ticket, and no fewer than STEPS_LEAST."""


def next_acceptable_ms(
    bucket: Array,
    waited_ms: Array,
    limit: Array,
    *,
    growth_ms: int,
    reciprocity: Fraction,
    look: str,
    steps: int | None = None,
) -> int | None:
    """In how many ms, more than 0, somebody may newly take somebody; None = never.

    `bucket` and `waited_ms`, int64[n], `limit`, int32[n], in any order; `look`: both, below or above; `steps`: the
    allowance, for tests.
    """
    if len(bucket) < 2:
        return None
    allowed = max(STEPS_LEAST, PATIENCE * len(bucket)) if steps is None else steps
    needed = ranges_needed(reciprocity, int(limit.max()))
    slots = by_bucket(bucket)
    moment = _soonest(slots, bucket, waited_ms, limit, needed, growth_ms, look != "above", look != "below", allowed)
    return None if moment == NEVER else int(moment)


@kernel()
def _growing(waited_ms: Array, limit: Array, growth_ms: int) -> tuple[int, int]:
    """In how many ms the first range grows, NEVER = none will; and the longest wait."""
    first, longest = NEVER, waited_ms[0]
    for row in range(len(waited_ms)):
        longest = max(longest, waited_ms[row])
        if first > 1 and waited_ms[row] < limit[row] * growth_ms:
            first = min(first, growth_ms - waited_ms[row] % growth_ms)
    return first, longest


@kernel()
def _buckets(slots: Array, bucket: Array) -> tuple[Array, Array]:
    """The buckets that hold anyone, int64[b], ascending, and the first slot of each, int64[b + 1]."""
    held, start = np.empty(len(slots), np.int64), np.empty(len(slots) + 1, np.int64)
    count = 0
    for slot in range(len(slots)):
        if count == 0 or bucket[slots[slot]] != held[count - 1]:
            held[count], start[count] = bucket[slots[slot]], slot
            count += 1
    start[count] = len(slots)
    return held[:count], start[: count + 1]


@kernel()
def _least(members: Array, waited_ms: Array, limit: Array, reach: int, growth_ms: int) -> tuple[int, int]:
    """Of those who may ever reach so far, the least moment when one does, and the least positive one."""
    least = positive = NEVER
    for row in members:
        if limit[row] >= reach:
            moment = reach * growth_ms - waited_ms[row]
            least = min(least, moment)
            if moment > 0:
                positive = min(positive, moment)
    return least, positive


@kernel()
def _between(
    takers: Array, taken: Array, waited_ms: Array, limit: Array, distance: int, needed: int, growth_ms: int
) -> int:
    """The least positive moment at which one of the takers may take one of the others."""
    least, positive = _least(takers, waited_ms, limit, distance, growth_ms)
    other_least, other_positive = _least(taken, waited_ms, limit, needed, growth_ms)
    return min(max(positive, other_least), max(least, other_positive))


@kernel(INT32S, INTS, INTS, INT32S, INTS, INT, BOOL, BOOL, INT)
def _soonest(
    slots: Array,
    bucket: Array,
    waited_ms: Array,
    limit: Array,
    needed: Array,
    growth_ms: int,
    below: bool,
    above: bool,
    steps: int,
) -> int:
    first, longest = _growing(waited_ms, limit, growth_ms)
    if first == NEVER:
        return NEVER
    held, start = _buckets(slots, bucket)
    soonest, distance = NEVER, 1
    while distance < len(needed) and soonest > first and distance * growth_ms - longest < soonest:
        if steps < 0:
            return min(soonest, max(first, distance * growth_ms - longest))
        following = NEVER
        high = 0
        for low in range(len(held)):
            while high < len(held) and held[high] - held[low] < distance:
                high += 1
            if high == len(held):
                break
            after = high
            if held[high] - held[low] == distance:
                after += 1
                lows, highs = slots[start[low] : start[low + 1]], slots[start[high] : start[high + 1]]
                steps -= 2 * (len(lows) + len(highs))
                if below:
                    moment = _between(highs, lows, waited_ms, limit, distance, needed[distance], growth_ms)
                    soonest = min(soonest, moment)
                if above:
                    moment = _between(lows, highs, waited_ms, limit, distance, needed[distance], growth_ms)
                    soonest = min(soonest, moment)
                if soonest <= first:
                    return soonest
            if after < len(held):
                following = min(following, held[after] - held[low])
        steps -= len(held)
        distance = following
    return soonest
