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

How stage 5 avoids listing all pairs. The document's sorted list takes exactly the pairs that are best for both of their
players among those who are free; `numerics.window_pairs` finds them by walking from best to best, and counts the list
without making it. The other stages are kernels too: `two_sides` (1, 2, 4) and `exchanges` (6).

Exactness. Shares and thresholds are meant as written: 0.2 is a fifth, not the float next to it, so stage 3 compares
fractions. Whether two means differ by more than the threshold is decided exactly too, wherever floats could be wrong.

Complexity. Stage 5 about O(n log n), all others O(n), 6 for each pass.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple, overload

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.errors import MatcherError
from evenmatch.numerics.exact_sums import exact_sum, whole_sum
from evenmatch.numerics.exchanges import exchanged
from evenmatch.numerics.two_sides import divided, longest_waiting, most_neutral, shared_out
from evenmatch.numerics.window_pairs import RULES, window_pairs

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
_FULL: Final = Fraction(1)


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


def _column(values: Array) -> Array:
    """As kernels take it."""
    return np.ascontiguousarray(values, np.float64)


class Partition(NamedTuple):
    """Stage 1: int64 places, ascending."""

    first_only: Array
    second_only: Array
    both: Array
    neither: Array


def partition(first: Array, second: Array) -> Partition:
    """Stage 1: who can play which side; `first` and `second`, float64[n], are the ratings there, NaN = can't."""
    places, first_end, second_end, both_end = divided(_column(first), _column(second))
    return Partition(places[:first_end], places[first_end:second_end], places[second_end:both_end], places[both_end:])


class Equalized(NamedTuple):
    """Stage 2: int64 places on each side, ascending, the place that step 5 moved, -1 = none, and the means."""

    first: Array
    second: Array
    moved: int
    means: tuple[float | None, float | None]
    """Of the first side and of the second; None = nobody is there."""


def equalize(parts: Partition, first: Array, second: Array, *, balance_threshold: float = 50) -> Equalized:
    """Stage 2: put each flexible player on one side, so that counts are as equal as can be, then means.

    Those who are better on the first side go there first. Counts are the hard rule: step 5 moves the most neutral
    flexible player from the stronger side to the weaker only where the difference in counts does not grow.
    """
    places, count = shared_out(*parts[:3], first, second)
    on_first, on_second = places[:count], places[count:]
    totals = Total.of(first, on_first), Total.of(second, on_second)
    surplus = len(on_first) - len(on_second)
    stronger = _stronger(*totals, balance_threshold) if surplus else 0
    moved = -1
    if stronger * surplus > 0:
        movable = np.zeros(len(first), bool)
        movable[on_first if stronger > 0 else on_second] = True
        moved = int(most_neutral(parts.both[movable[parts.both]], first, second))
    if moved >= 0:
        if stronger > 0:
            on_first, on_second = on_first[on_first != moved], np.sort(np.append(on_second, moved))
        else:
            on_first, on_second = np.sort(np.append(on_first, moved)), on_second[on_second != moved]
        totals = Total.of(first, on_first), Total.of(second, on_second)
    return Equalized(on_first, on_second, moved, (totals[0].mean, totals[1].mean))


class Total(NamedTuple):
    """A sum of ratings, exactly."""

    parts: list[float]
    """Numbers whose sum it is."""
    players: int

    @classmethod
    def of(cls, ratings: Array, places: Array) -> "Total":
        """The sum of the ratings at these places."""
        total, exact = whole_sum(ratings, places)
        return cls([total] if exact else exact_sum(ratings, places).tolist(), len(places))

    @property
    def mean(self) -> float | None:
        """The mean, whatever the order of the ratings; None if there are none."""
        return math.fsum(self.parts) / self.players if self.players else None

    @property
    def exact_mean(self) -> Fraction:
        """The mean without rounding."""
        return sum(map(Fraction, self.parts), Fraction(0)) / self.players


def stronger_side(first: Array, second: Array, threshold: float) -> int:
    """1 or -1 if the first or the second mean is higher by more than the threshold, 0 otherwise or if one is empty."""
    return _stronger(Total.of(first, np.arange(len(first))), Total.of(second, np.arange(len(second))), threshold)


def _stronger(first: Total, second: Total, threshold: float) -> int:
    if first.mean is None or second.mean is None:
        return 0
    difference = first.mean - second.mean
    if abs(abs(difference) - threshold) < 1e-6:
        beyond = abs(first.exact_mean - second.exact_mean) > Fraction(threshold)
    else:
        beyond = abs(difference) > threshold
    return (1 if difference > 0 else -1) if beyond else 0


@lru_cache(maxsize=1000)
def _written(value: float) -> Fraction:
    return Fraction(str(value))


def _as_written(value: float | Fraction) -> Fraction:
    """The fraction that a person means by a number: 0.2 is a fifth."""
    return value if isinstance(value, Fraction) else _written(float(value))


def exact_pressure(
    queue_size: int,
    active_population: int,
    population_scales: Sequence[tuple[float | str, float]] = POPULATION_SCALES,
) -> Fraction:
    """Stage 3: min(1, scale * queue_size / active_population), exactly; an empty population is under full pressure."""
    if queue_size < 0 or active_population < 0:
        raise MatcherError(f"queue_size and active_population must be 0 or more: {queue_size}, {active_population}")
    scale = _as_written(next(scale for most, scale in population_scales if active_population <= float(most)))
    above, below = scale.numerator * queue_size, scale.denominator * active_population
    return _FULL if above >= below and above else Fraction(above, below or 1)


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
    above, below = _as_written(pressure).as_integer_ratio()
    least = [_as_written(threshold).as_integer_ratio() for threshold in thresholds]
    return CATEGORIES[sum([above * unit < share * below for share, unit in least])]


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
    """Stage 4: both sides, ascending, the larger one cut to the size of the smaller: most misses, then the earlier."""
    size = min(len(lead), len(follow))
    misses = _column(misses)
    lead, follow = (side if len(side) == size else longest_waiting(side, misses, size) for side in (lead, follow))
    return lead, follow


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
    leads, follows = map(_column, lead), map(_column, follow)
    return Found(*window_pairs(RULES[window_of], float(wait_coefficient), *leads, *follows))


class Refined(NamedTuple):
    """Stage 6: the follower of each match, exchanges made, and passes run (the last one may have made none)."""

    follow: Array
    swaps: int
    passes: int


def refine(lead: Side, follow: Side, *, window_of: str = "lead", passes: int = 2) -> Refined:
    """Stage 6: `lead` and `follow` hold match i at place i; neighbours exchange followers to lower the squared gaps.

    An exchange must lower the sum of both squared gaps, and both new pairs must keep the window rule.
    """
    columns = map(_column, (lead.rating, lead.window, follow.rating, follow.window))
    return Refined(*exchanged(RULES[window_of], passes, *columns))
