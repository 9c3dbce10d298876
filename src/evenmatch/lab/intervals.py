"""Means over seeds, and how sure they are: 95 % intervals after Student.

An interval ends where its measure does: a share is 0 to 1, the favourite of two wins half of the time or more, and
nothing that is measured here is negative.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

import msgspec

__all__ = ["Interval", "flattened", "over", "room"]

_STUDENT: Final = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""The 97.5 % quantile of Student's distribution with 1, 2, ... 30 degrees of freedom."""
_NORMAL: Final = 1.960
_SHARES: Final = ("never_matched", "starved", "share", "fair_share")
_ENDLESS: Final = "wait_to_match_s."
"""None of these is a wait without an end, and so is the mean."""
_ODDS: Final = ("odds", "true_odds")


class Interval(msgspec.Struct, frozen=True):
    """A mean over seeds; low and high are None where one seed says nothing of chance."""

    mean: float | None
    low: float | None = None
    high: float | None = None
    missing: int = 0
    """Seeds in which there was nothing to measure."""


def room(measure: str) -> tuple[float, float]:
    """The least and the most that a measure can be."""
    table, _, name = measure.rpartition(".")
    if name in _SHARES:
        return 0.0, 1.0
    return (0.5, 1.0) if table in _ODDS else (0.0, math.inf)


def over(values: Sequence[float | None], measure: str = "") -> Interval:
    """The mean of these, one a seed; with the name of what they measure the interval ends where that does."""
    there = [value for value in values if value is not None]
    missing = len(values) - len(there)
    if not there or (missing and measure.startswith(_ENDLESS)):
        return Interval(None, missing=missing)
    mean = math.fsum(there) / len(there)
    if len(there) == 1:
        return Interval(_round(mean), missing=missing)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in there) / (len(there) - 1) / len(there))
    freedom = len(there) - 1
    reach = spread * (_STUDENT[freedom - 1] if freedom <= len(_STUDENT) else _NORMAL)
    least, most = room(measure) if measure else (-math.inf, math.inf)
    # Ends never cross the mean, even where a measure should leave its room.
    low, high = min(mean, max(least, mean - reach)), max(mean, min(most, mean + reach))
    return Interval(_round(mean), _round(low), _round(high), missing)


def flattened(measures: dict[str, Any], within: str = "") -> dict[str, float | None]:
    """The numbers of nested tables under dotted names; lists and words are left out."""
    found: dict[str, float | None] = {}
    for name, value in measures.items():
        if isinstance(value, dict):
            found |= flattened(value, f"{within}{name}.")
        elif value is None or isinstance(value, int | float):
            found[within + name] = value
    return found


def _round(value: float) -> float:
    return float(f"{value:.6g}")
