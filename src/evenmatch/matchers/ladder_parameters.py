"""Judging the ladder's parameters that are lists and tables, in words that a person editing queues.toml can act on."""

import math
from collections.abc import Mapping
from typing import Final

from evenmatch.errors import MatcherError
from evenmatch.matchers.ladder_stages import CATEGORIES
from evenmatch.matchers.parameters import number, whole_number

__all__ = [
    "judge_population_scales",
    "judge_prefix",
    "judge_region_servers",
    "judge_sides",
    "judge_thresholds",
    "judge_windows",
    "names_listed",
]

_NAME: Final = "ladder"
_POINTS_MAX: Final = 1e6
_POPULATION_MAX: Final = 10**9


def judge_sides(value: object) -> None:
    """Two different names."""
    names_listed("sides", value)
    if len(value) != 2:  # type: ignore[arg-type]  # a list, as was just judged
        raise MatcherError(f"{_NAME}: sides must be two names, not {value!r}")


def names_listed(parameter: str, value: object) -> None:
    """A list of different names that are not empty."""
    if not isinstance(value, list | tuple):
        raise MatcherError(f"{_NAME}: {parameter} must be a list of names, not {value!r} ({type(value).__name__})")
    for place, name in enumerate(value):
        if not isinstance(name, str) or not name:
            raise MatcherError(f"{_NAME}: {parameter} must be a list of names, not one with {name!r}")
        if name in value[:place]:
            raise MatcherError(f"{_NAME}: {parameter} has {name!r} twice")


def judge_population_scales(value: object) -> None:
    """Rows of [population up to, scale], ascending; the last one is for "inf"."""
    rows = _rows("population_scales", value, "[population, scale]")
    if not rows:
        raise MatcherError(f"{_NAME}: population_scales must be a list of rows [population, scale], not empty")
    before = -1
    for place, (most, scale) in enumerate(rows):
        if scale == 0:
            raise MatcherError(f"{_NAME}: population_scales must have scales above 0, not {scale}")
        number(_NAME, f"the scale in row {place + 1} of population_scales", scale, least=0, most=1000)
        last = place == len(rows) - 1
        if (most == "inf" or most == math.inf) != last:
            raise MatcherError(f'{_NAME}: population_scales must have "inf" as the population of its last row only')
        if not last:
            about = f"the population in row {place + 1} of population_scales"
            before = whole_number(_NAME, about, most, least=before + 1, most=_POPULATION_MAX)


def judge_thresholds(value: object) -> None:
    """The least pressure that is HIGH, then MODERATE."""
    wanted = f"{_NAME}: thresholds must be [HIGH, MODERATE], two numbers from 0 to 1, the higher first"
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise MatcherError(f"{wanted}, not {value!r}")
    for word, threshold in zip(CATEGORIES, value, strict=False):
        number(_NAME, f"the {word} one of thresholds", threshold, least=0, most=1)
    if not value[0] > value[1]:
        raise MatcherError(f"{wanted}, not {value!r}")


def judge_windows(value: object) -> None:
    """A row [base, growth] for HIGH, MODERATE and LOW pressure."""
    rows = _rows("windows", value, "[base, growth]")
    if len(rows) != len(CATEGORIES):
        raise MatcherError(f"{_NAME}: windows must have three rows, for HIGH, MODERATE and LOW, not {len(rows)}")
    for word, (base, growth) in zip(CATEGORIES, rows, strict=True):
        number(_NAME, f"the {word} base of windows", base, least=0, most=_POINTS_MAX)
        number(_NAME, f"the {word} growth of windows", growth, least=0, most=_POINTS_MAX)


def judge_region_servers(value: object) -> None:
    """A table region -> region -> server that says the same whichever way round."""
    shape = f"{_NAME}: region_servers must be a table region -> region -> server"
    if not isinstance(value, Mapping):
        raise MatcherError(f"{shape}, not {value!r} ({type(value).__name__})")
    for region, row in value.items():
        if not isinstance(row, Mapping):
            raise MatcherError(f"{shape}: {region!r} has {row!r} ({type(row).__name__}) instead of a table")
        for other, server in row.items():
            if not isinstance(server, str) or not server:
                raise MatcherError(f"{shape}: {region!r} and {other!r} have {server!r} instead of a server's name")
            back = value.get(other, {})
            if isinstance(back, Mapping) and back.get(region, server) != server:
                raise MatcherError(
                    f"{_NAME}: region_servers has two servers for {region!r} and {other!r}: "
                    f"{server!r} and {back[region]!r}"
                )


def judge_prefix(value: object) -> None:
    """Any string."""
    if not isinstance(value, str):
        raise MatcherError(f"{_NAME}: channel_prefix must be a string, not {value!r} ({type(value).__name__})")


def _rows(parameter: str, value: object, shape: str) -> list[tuple[object, object]]:
    wanted = f"{_NAME}: {parameter} must be a list of rows {shape}"
    if not isinstance(value, list | tuple):
        raise MatcherError(f"{wanted}, not {value!r} ({type(value).__name__})")
    rows = []
    for row in value:
        if not isinstance(row, list | tuple) or len(row) != 2:
            raise MatcherError(f"{wanted}, not one with {row!r}")
        rows.append((row[0], row[1]))
    return rows
