"""What a run of the matchers' benchmark found: values only, as `--json` prints them."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

__all__ = ["SIZES_LEAST", "Answer", "Found", "Growth", "Reached", "Row", "Run", "Timing", "fitted_growth"]

SIZES_LEAST: Final = 3
"""A growth fitted over fewer sizes says little."""


class Timing(msgspec.Struct, frozen=True):
    """How long one way of doing the work took at one size, and how much memory."""

    median_s: float
    least_s: float
    runs: int
    peak_mb: float | None
    """Memory that the process took in addition while it worked, at the most; None = not known on this system."""


class Answer(msgspec.Struct, frozen=True):
    """An opponent at one size."""

    opponent: str
    timing: Timing | None
    ratio: float | None
    """Its median divided by ours."""
    agrees: bool | None
    """Whether its result is ours; None = it was not run."""
    says: str = ""
    """What differs, or why it was not run."""
    plan: dict[str, float] | None = None
    """Seats and cost of its plan, by our rules; None = it has none to tell."""


class Row(msgspec.Struct, frozen=True):
    """One size of a contest."""

    size: int
    ours: Timing | None
    opponents: tuple[Answer, ...]
    sound: bool | None = None
    """Whether our result stands by itself; None = nothing is asked of it, or it was not had in time."""
    says: str = ""
    """What is wrong with our result, or why there is none."""
    plan: dict[str, float] | None = None
    """Of our plan: seats and cost, and the bounds on both; None = there is nothing of the kind."""

    @property
    def wrong(self) -> bool:
        """Our result does not stand, or somebody's is another."""
        return self.sound is False or any(answer.agrees is False for answer in self.opponents)


class Growth(msgspec.Struct, frozen=True):
    """How time grows with size: as size to the power of `exponent`."""

    who: str
    exponent: float | None
    """None = there are not two different sizes."""
    sizes: int


class Reached(msgspec.Struct, frozen=True):
    """An aim and what was measured."""

    aim: str
    measured: str
    verdict: str
    """"met", "not met" or "not measured"."""


class Found(msgspec.Struct, frozen=True):
    """A contest and everything that was found."""

    name: str
    what: str
    unit: str
    rows: tuple[Row, ...]
    growth: tuple[Growth, ...]
    aims: tuple[Reached, ...]


class Run(msgspec.Struct, frozen=True):
    """A whole run."""

    machine: dict[str, str | int]
    seed: int
    contests: tuple[Found, ...]

    @property
    def wrong(self) -> bool:
        """Something is wrong in a row."""
        return any(row.wrong for contest in self.contests for row in contest.rows)

    @property
    def timings(self) -> list[Timing]:
        """All that was measured."""
        rows = [row for contest in self.contests for row in contest.rows]
        found = [row.ours for row in rows] + [answer.timing for row in rows for answer in row.opponents]
        return [timing for timing in found if timing is not None]


def fitted_growth(who: str, points: Iterable[tuple[int, float]]) -> Growth:
    """The slope of the least squares line through (log size, log seconds)."""
    given = [(math.log(size), math.log(seconds)) for size, seconds in points if seconds > 0]
    sizes = len({x for x, _ in given})
    if sizes < 2:
        return Growth(who, None, sizes)
    middle_x, middle_y = (_mean(column) for column in zip(*given, strict=True))
    above = sum((x - middle_x) * (y - middle_y) for x, y in given)
    return Growth(who, above / sum((x - middle_x) ** 2 for x, _ in given), sizes)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
