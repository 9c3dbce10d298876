"""Judging the arguments of a matcher's constructor, in words that a person editing queues.toml can act on."""

import math
from collections.abc import Sequence
from difflib import get_close_matches

from evenmatch.errors import MatcherError


def whole_number(matcher: str, parameter: str, value: object, *, least: int, most: int) -> int:
    """The value, if it is a whole number from `least` to `most`; raises MatcherError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int):  # True is an int to Python, but not to a reader
        kind = type(value).__name__
        raise MatcherError(
            f"{matcher}: {parameter} must be a whole number from {least} to {most}, not {value!r} ({kind})"
        )
    if not least <= value <= most:
        raise MatcherError(f"{matcher}: {parameter} must be a whole number from {least} to {most}, not {value}")
    return value


def number(matcher: str, parameter: str, value: object, *, least: float, most: float = math.inf) -> float:
    """The value unchanged, if it is a finite number from `least` to `most`; raises MatcherError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        kind = type(value).__name__
        raise MatcherError(f"{matcher}: {parameter} must be a number {_range(least, most)}, not {value!r} ({kind})")
    if not least <= value <= most or value == math.inf:  # the first is true for NaN
        raise MatcherError(f"{matcher}: {parameter} must be a number {_range(least, most)}, not {value}")
    return value


def _range(least: float, most: float) -> str:
    return f"{least:g} or more" if most == math.inf else f"from {least:g} to {most:g}"


def choice(matcher: str, parameter: str, value: object, known: Sequence[str]) -> str:
    """The value, if it is one of the words that are known; raises MatcherError otherwise, naming the nearest."""
    if isinstance(value, str) and value in known:
        return value
    near = get_close_matches(value, known, n=1) if isinstance(value, str) else []
    guess = f": did you mean {near[0]!r}?" if near else ""
    kind = "" if isinstance(value, str) else f" ({type(value).__name__})"
    words = f"{', '.join(map(repr, known[:-1]))} or {known[-1]!r}"
    raise MatcherError(f"{matcher}: {parameter} must be {words}, not {value!r}{kind}{guess}")
