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
  - at a distance of d or more nothing is sooner than d * growth - the longest wait, for the taker, nor sooner than
    needed(d) * growth - the longest wait of those whose ranges still grow, since one of the two grows at that moment;
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

from .bucket_line import slots_of
from .compiled import BOOL, INT, INT32S, INTS, kernel
from .growing_ranges import ranges_needed

__all__ = ["next_acceptable_ms"]

NEVER: Final = 2**62
PATIENCE: Final = 100
STEPS_LEAST: Final = 10_000_000
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
    moment = _soonest(
        slots_of(bucket), bucket, waited_ms, limit, needed, growth_ms, look != "above", look != "below", allowed
    )
    return None if moment == NEVER else int(moment)


@kernel()
def _growing(waited_ms: Array, limit: Array, growth_ms: int) -> tuple[int, int, int]:
    """In how many ms the first range grows, NEVER = none will; the longest wait, and that of those who still grow."""
    first, longest, longest_growing = NEVER, 0, 0
    for row in range(len(waited_ms)):
        longest = max(longest, waited_ms[row])
        if waited_ms[row] < limit[row] * growth_ms:
            longest_growing = max(longest_growing, waited_ms[row])
            if first > 1:
                first = min(first, growth_ms - waited_ms[row] % growth_ms)
    return first, longest, longest_growing


@kernel()
def _by_slot(slot_of: Array, bucket: Array, waited_ms: Array, limit: Array) -> tuple[Array, Array, Array, Array]:
    """Waits and limits by slot, int64[n]; buckets that hold anyone, int64[b], and their first slots, int64[b + 1]."""
    count = len(slot_of)
    bucket_at, wait, most = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    for row in range(count):
        slot = slot_of[row]
        bucket_at[slot], wait[slot], most[slot] = bucket[row], waited_ms[row], limit[row]
    start = np.empty(count + 1, np.int64)
    buckets = 0
    for slot in range(count):
        if slot == 0 or bucket_at[slot] != bucket_at[buckets - 1]:
            # The buckets are written over the slots that were read already.
            bucket_at[buckets], start[buckets] = bucket_at[slot], slot
            buckets += 1
    start[buckets] = count
    return wait, most, bucket_at[:buckets], start[: buckets + 1]


@kernel()
def _least(wait: Array, most: Array, first: int, end: int, reach: int, growth_ms: int) -> tuple[int, int]:
    """Of those slots who may ever reach so far, the least moment when one does, and the least positive one."""
    least = positive = NEVER
    for slot in range(first, end):
        if most[slot] >= reach:
            moment = reach * growth_ms - wait[slot]
            least = min(least, moment)
            if moment > 0:
                positive = min(positive, moment)
    return least, positive


@kernel()
def _between(
    wait: Array, most: Array, start: Array, takers: int, taken: int, distance: int, needed: int, growth_ms: int
) -> int:
    """The least positive moment at which somebody in one bucket may take somebody in another."""
    least, positive = _least(wait, most, start[takers], start[takers + 1], distance, growth_ms)
    other_least, other_positive = _least(wait, most, start[taken], start[taken + 1], needed, growth_ms)
    return min(max(positive, other_least), max(least, other_positive))


@kernel(INT32S, INTS, INTS, INT32S, INTS, INT, BOOL, BOOL, INT)
def _soonest(
    slot_of: Array,
    bucket: Array,
    waited_ms: Array,
    limit: Array,
    needed: Array,
    growth_ms: int,
    below: bool,
    above: bool,
    steps: int,
) -> int:
    first, longest, longest_growing = _growing(waited_ms, limit, growth_ms)
    if first == NEVER:
        return NEVER
    wait, most, held, start = _by_slot(slot_of, bucket, waited_ms, limit)
    soonest: int = NEVER
    distance = 1
    while distance < len(needed) and soonest > first:
        bound: int = max(distance * growth_ms - longest, needed[distance] * growth_ms - longest_growing)
        if bound >= soonest:
            break
        if steps < 0:
            return min(soonest, max(first, bound))
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
                steps -= 2 * (start[low + 1] - start[low] + start[high + 1] - start[high])
                if below:
                    moment = _between(wait, most, start, high, low, distance, needed[distance], growth_ms)
                    soonest = min(soonest, moment)
                if above:
                    moment = _between(wait, most, start, low, high, distance, needed[distance], growth_ms)
                    soonest = min(soonest, moment)
                if soonest <= first:
                    return soonest
            if after < len(held):
                following = min(following, held[after] - held[low])
        steps -= len(held)
        distance = following
    return soonest
