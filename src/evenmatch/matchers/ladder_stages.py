"""Stages 1 to 6 of the ladder's wave, each a function that stands alone; `ladder` has the whole and the why.

Players are given as columns in canonical order, so a player is a place 0, 1, ... in them, and "the earlier" is the
lower place. A side's rating is NaN for a player who can't play that side.

    1 partition           who can play the first side only, the second only, both, neither
    2 equalize            which side each flexible player is on
    3 pressure, category, window
    4 filter_by_priority  as many of the larger side as the smaller has
    5 find_matches        all acceptable pairs by score, greedily
    6 refine              neighbouring matches exchange opponents where that makes both together more even

Whose side is whose. Stages 5 and 6 speak of a leading side and a following one (`lead_is_first`: the smaller leads).

How stage 5 avoids listing all pairs. Every lead offers its best follower in a heap. If the one that comes up is still
free, no pair can be better, since every other lead's best is worse and free followers only become fewer; otherwise the
lead looks again and goes back into the heap. That is the document's sorted list, read in the same order, in O(n)
memory.

Exactness. Shares and thresholds are meant as written: 0.2 is a fifth, not the float next to it, so stage 3 compares
fractions. Whether two means differ by more than the threshold is decided exactly too, wherever floats could be wrong.

Complexity. Stage 2 and 4 O(n log n), 5 O(n^2) by vectors of the followers, 6 O(n) a pass.
"""

import heapq
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple, overload

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.errors import MatcherError

__all__ = [
    "CATEGORIES",
    "POPULATION_SCALES",
    "THRESHOLDS",
    "WINDOWS",
    "Equalized",
    "Found",
    "Partition",
    "Refined",
    "Side",
    "category",
    "equalize",
    "exact_pressure",
    "filter_by_priority",
    "find_matches",
    "lead_is_first",
    "partition",
    "pressure",
    "refine",
    "scores",
    "stronger_side",
    "window",
    "window_rule",
]

POPULATION_SCALES: Final = ((10, 1.2), (25, 1.0), ("inf", 0.8))
"""(population up to, scale), ascending; the last is for all above."""
THRESHOLDS: Final = (0.20, 0.10)
"""The least pressure that is HIGH, and MODERATE."""
WINDOWS: Final = ((75, 25), (100, 35), (125, 45))
"""(base, growth a miss) under HIGH, MODERATE and LOW pressure."""
CATEGORIES: Final = ("HIGH", "MODERATE", "LOW")


class Side(NamedTuple):
    """The players on one side, in canonical order."""

    rating: Array
    """float64[n]: their ratings on that side."""
    misses: Array
    """float64[n]: waves lived through unmatched."""
    window: Array
    """float64[n]: the widest gap that each accepts now."""

    def take(self, places: Array) -> "Side":
        """The players at these places."""
        return Side(self.rating[places], self.misses[places], self.window[places])


class Partition(NamedTuple):
    """Stage 1: int64 places, ascending."""

    first_only: Array
    second_only: Array
    both: Array
    neither: Array


def partition(first: Array, second: Array) -> Partition:
    """Stage 1: who can play which side; `first` and `second`, float64[n], are the ratings there, NaN = can't."""
    plays_first, plays_second = ~np.isnan(first), ~np.isnan(second)
    return Partition(
        np.flatnonzero(plays_first & ~plays_second),
        np.flatnonzero(plays_second & ~plays_first),
        np.flatnonzero(plays_first & plays_second),
        np.flatnonzero(~(plays_first | plays_second)),
    )


class Equalized(NamedTuple):
    """Stage 2: int64 places on each side, ascending, and the place that step 5 moved, -1 = none."""

    first: Array
    second: Array
    moved: int


def equalize(parts: Partition, first: Array, second: Array, *, balance_threshold: float = 50) -> Equalized:
    """Stage 2: put each flexible player on one side, so that counts are as equal as can be, then means.

    Those who are better on the first side go there first. Counts are the hard rule: step 5 moves the most neutral
    flexible player from the stronger side to the weaker only where the difference in counts does not grow.
    """
    both = parts.both
    bias = first[both] - second[both]
    both = both[np.lexsort((both, bias))]
    short = len(parts.second_only) - len(parts.first_only)  # how many the first side is short of
    rest = max(len(both) - abs(short), 0)
    # Beyond the shortage the second side takes one from the front, the first one from the back, and so on.
    to_first = min(max(short, 0), len(both)) + rest // 2
    second_flexible, first_flexible = both[: len(both) - to_first], both[len(both) - to_first :]
    moved = -1
    on_first, on_second = np.append(parts.first_only, first_flexible), np.append(parts.second_only, second_flexible)
    stronger = stronger_side(first[on_first], second[on_second], balance_threshold)
    surplus = len(on_first) - len(on_second)
    movable = first_flexible if stronger > 0 else second_flexible
    if stronger * surplus > 0 and len(movable):
        moved = int(movable[np.lexsort((movable, np.abs(first[movable] - second[movable])))[0]])
        if stronger > 0:
            on_first, on_second = on_first[on_first != moved], np.append(on_second, moved)
        else:
            on_first, on_second = np.append(on_first, moved), on_second[on_second != moved]
    return Equalized(np.sort(on_first), np.sort(on_second), moved)


def stronger_side(first: Array, second: Array, threshold: float) -> int:
    """1 or -1 if the first or the second mean is higher by more than the threshold, 0 otherwise or if one is empty."""
    if not len(first) or not len(second):
        return 0
    difference = math.fsum(first.tolist()) / len(first) - math.fsum(second.tolist()) / len(second)
    if abs(abs(difference) - threshold) < 1e-6:
        means = [sum(map(Fraction, side.tolist()), Fraction(0)) / len(side) for side in (first, second)]
        beyond = abs(means[0] - means[1]) > Fraction(threshold)
    else:
        beyond = abs(difference) > threshold
    return (1 if difference > 0 else -1) if beyond else 0


def _as_written(value: float | Fraction) -> Fraction:
    """The fraction that a person means by a number: 0.2 is a fifth."""
    return value if isinstance(value, Fraction) else Fraction(str(float(value)))


def exact_pressure(
    queue_size: int,
    active_population: int,
    population_scales: Sequence[tuple[float | str, float]] = POPULATION_SCALES,
) -> Fraction:
    """Stage 3: min(1, scale * queue_size / active_population), exactly; an empty population is under full pressure."""
    if queue_size < 0 or active_population < 0:
        raise MatcherError(f"queue_size and active_population must be 0 or more: {queue_size}, {active_population}")
    scale = next(scale for most, scale in population_scales if active_population <= float(most))
    if not active_population:
        return Fraction(queue_size > 0)
    return min(Fraction(1), _as_written(scale) * queue_size / active_population)


def pressure(
    queue_size: int,
    active_population: int,
    population_scales: Sequence[tuple[float | str, float]] = POPULATION_SCALES,
) -> float:
    """Stage 3: how much of the active population waits, scaled, 0 to 1: `pressure(15, 30)` is 0.4."""
    return float(exact_pressure(queue_size, active_population, population_scales))


def category(pressure: float | Fraction, thresholds: Sequence[float] = THRESHOLDS) -> str:
    """Stage 3: HIGH, MODERATE or LOW."""
    if not 0 <= pressure <= 1:
        raise MatcherError(f"pressure must be a number from 0 to 1, not {pressure}")
    level = _as_written(pressure)
    return CATEGORIES[sum([level < _as_written(threshold) for threshold in thresholds])]


@overload
def window(
    misses: float,
    pressure: float | Fraction,
    *,
    thresholds: Sequence[float] = ...,
    windows: Sequence[Sequence[float]] = ...,
) -> float: ...
@overload
def window(
    misses: Array,
    pressure: float | Fraction,
    *,
    thresholds: Sequence[float] = ...,
    windows: Sequence[Sequence[float]] = ...,
) -> Array: ...
def window(
    misses: float | Array,
    pressure: float | Fraction,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    windows: Sequence[Sequence[float]] = WINDOWS,
) -> float | Array:
    """Stage 3: the widest gap accepted: base + misses * growth, both by the category of the pressure."""
    if np.any(np.asarray(misses) < 0):
        raise MatcherError("misses must be 0 or more")
    base, growth = windows[CATEGORIES.index(category(pressure, thresholds))]
    widest: float | Array = base + misses * growth
    return widest


def lead_is_first(first_count: int, second_count: int) -> bool:
    """Which side leads: the smaller one, the first-named on equal counts."""
    return first_count <= second_count


def filter_by_priority(lead: Array, follow: Array, misses: Array) -> tuple[Array, Array]:
    """Stage 4: both sides, the larger one cut to the size of the smaller: most misses, then the earlier; ascending."""
    kept = min(len(lead), len(follow))
    longest = [np.sort(side[np.lexsort((side, -misses[side]))[:kept]]) for side in (lead, follow)]
    return longest[0], longest[1]


def window_rule(window_of: str, lead_window: Array, follow_window: Array) -> Array:
    """The widest gap that a pair may have: the lead's window, or the wider ("either") or narrower ("both") one."""
    if window_of == "lead":
        return np.broadcast_to(lead_window, np.broadcast_shapes(np.shape(lead_window), np.shape(follow_window)))
    widest: Array = (np.maximum if window_of == "either" else np.minimum)(lead_window, follow_window)
    return widest


def scores(lead: Side, follow: Side, *, window_of: str = "lead", wait_coefficient: float = 20) -> Array:
    """float64: gap^2 - wait_coefficient * (sum of misses), infinite where the gap is too wide; sides broadcast."""
    gap = np.abs(lead.rating - follow.rating)
    score = gap * gap - wait_coefficient * (lead.misses + follow.misses)
    return np.where(gap <= window_rule(window_of, lead.window, follow.window), score, np.inf)


class Found(NamedTuple):
    """Stage 5: places on either side, pair by pair in order of selection, and how many pairs were acceptable."""

    lead: Array
    follow: Array
    candidates: int


def find_matches(lead: Side, follow: Side, *, window_of: str = "lead", wait_coefficient: float = 20) -> Found:
    """Stage 5: the acceptable pair of least score, then of those without its players, and so on.

    Equal scores go by the lead's place, then by the follower's.
    """
    free = np.ones(len(follow.rating), bool)

    def offers(place: int) -> Array:
        alone = lead.take(np.array([place]))
        score = scores(alone, follow, window_of=window_of, wait_coefficient=wait_coefficient)
        score[~free] = np.inf
        return score

    candidates = 0
    heap: list[tuple[float, int, int]] = []
    for place in range(len(lead.rating)):
        score = offers(place)
        acceptable = int(np.isfinite(score).sum())
        candidates += acceptable
        if acceptable:
            heap.append((float(score.min()), place, int(score.argmin())))
    heapq.heapify(heap)
    pairs: list[tuple[int, int]] = []
    while heap:
        _, place, best = heap[0]
        if free[best]:
            pairs.append((place, best))
            free[best] = False
            heapq.heappop(heap)
        elif np.isfinite(score := offers(place)).any():
            heapq.heapreplace(heap, (float(score.min()), place, int(score.argmin())))
        else:
            heapq.heappop(heap)
    chosen = np.array(pairs, np.int64).reshape(-1, 2)
    return Found(chosen[:, 0], chosen[:, 1], candidates)


class Refined(NamedTuple):
    """Stage 6: the follower of each match, exchanges made, and passes run (the last one may have made none)."""

    follow: Array
    swaps: int
    passes: int


def refine(lead: Side, follow: Side, *, window_of: str = "lead", passes: int = 2) -> Refined:
    """Stage 6: `lead` and `follow` hold match i at place i; neighbours exchange followers to lower the squared gaps.

    An exchange must lower the sum of both squared gaps, and both new pairs must keep the window rule.
    """
    order = list(range(len(lead.rating)))
    leads, follows = lead.rating.tolist(), follow.rating.tolist()

    def accepted(gap: float, lead_place: int, follow_place: int) -> bool:
        return bool(gap <= window_rule(window_of, lead.window[lead_place], follow.window[follow_place]))

    swaps = run = 0
    for _ in range(passes):
        swapped = 0
        for at in range(len(order) - 1):
            here, there = order[at], order[at + 1]
            old = abs(leads[at] - follows[here]), abs(leads[at + 1] - follows[there])
            new = abs(leads[at] - follows[there]), abs(leads[at + 1] - follows[here])
            lower = new[0] * new[0] + new[1] * new[1] < old[0] * old[0] + old[1] * old[1]
            if lower and accepted(new[0], at, there) and accepted(new[1], at + 1, here):
                order[at], order[at + 1] = there, here
                swapped += 1
        run += 1
        swaps += swapped
        if not swapped:
            break
    return Refined(np.array(order, np.int64), swaps, run)
