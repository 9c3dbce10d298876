"""Who sits down to play, and when: the same for every matcher that is compared.

A session is a party that comes, plays some matches, and goes. Sessions arrive as a Poisson process whose rate is the
same for a minute; their parties are the next players of the crowd, which begins again with the first when it is
through: after half a day, since everybody comes twice a day on average.
"""

from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.errors import LabError
from evenmatch.numerics.seeds import generator

from . import files
from .population import HOURS, Population

__all__ = ["Traffic", "crowd", "draw", "require_hours"]

MINUTE_MS: Final = 60_000
_ARRIVALS, _PARTIES = 10, 11
COMINGS_A_DAY: Final = 2.0
"""How often a player sits down on a day: an assumption."""
HOURS_MOST: Final = 24.0 * 28


class Traffic(msgspec.Struct, frozen=True, eq=False):
    """Sessions in order of time."""

    at_ms: Array
    """int64[n]"""
    size: Array
    """int64[n]"""
    first: Array
    """int64[n]: the row of the party's first player; the others follow, round the end of the crowd"""

    def __len__(self) -> int:
        return len(self.at_ms)


def crowd(population: Population) -> int:
    """How many players there are."""
    sizes = sum(int(size) * share for size, share in population.parties.items())
    return max(
        4 * population.game.format.seats, int(np.ceil(population.arrivals.sessions_a_day * sizes / COMINGS_A_DAY))
    )


def require_hours(hours: float) -> None:
    """LabError, if nobody could live through so many."""
    if not 0 < hours <= HOURS_MOST:
        raise LabError(f"{hours:g} hours cannot be run: use more than 0 and at most {HOURS_MOST:g}")


def draw(population: Population, folder: Path, seed: int, hours: float) -> Traffic:
    """The sessions of so many hours."""
    require_hours(hours)
    chance = generator(seed, _ARRIVALS)
    minutes = int(np.ceil(hours * 60))
    rates = _rates(population, folder, minutes)
    if not rates.any():
        raise LabError(_silent(population, hours))
    counts = chance.poisson(rates)
    at_ms = np.sort((np.repeat(np.arange(minutes), counts) + chance.random(counts.sum())) * MINUTE_MS).astype(np.int64)
    at_ms = at_ms[at_ms < hours * 60 * MINUTE_MS]
    if not len(at_ms):
        raise LabError(
            f"nobody comes within {hours:g} hours at {population.arrivals.sessions_a_day:g} sessions a day: "
            "give it more hours, or arrivals.sessions_a_day more"
        )
    sizes = np.array([int(size) for size in population.parties])
    shares = np.array(list(population.parties.values()))
    size = generator(seed, _PARTIES).choice(sizes, len(at_ms), p=shares / shares.sum())
    first = (np.cumsum(size) - size) % crowd(population)
    return Traffic(at_ms, size.astype(np.int64), first)


def _silent(population: Population, hours: float) -> str:
    """Why nobody at all can come."""
    given = population.arrivals
    if any(burst.times == 0 for burst in given.bursts) and min(given.curve or (1.0,)) > 0 and not given.file:
        return f"nobody comes within {hours:g} hours: arrivals.bursts with times = 0 cover all of them"
    where = given.file or "arrivals.curve"
    return (
        f"nobody comes within {hours:g} hours from {given.from_h:g} o'clock: {where} has the weight 0 in all of them; "
        "begin at another hour (arrivals.from_h), or give it more hours"
    )


def _rates(population: Population, folder: Path, minutes: int) -> Array:
    """float64[minutes]: sessions expected in each."""
    given = population.arrivals
    curve = np.array(given.curve or (1.0,) * HOURS)
    if given.file:
        curve = files.hours(folder / given.file, given.time_column, given.count_column)
    begin = np.arange(minutes) / 60.0
    hour = (np.floor(begin + given.from_h) % HOURS).astype(np.int64)
    rate: Array = given.sessions_a_day / (HOURS * 60) * curve[hour] / curve.mean()
    for burst in given.bursts:
        rate[(begin >= burst.at_h) & (begin < burst.at_h + burst.lasts_min / 60)] *= burst.times
    if not given.cold_start:
        rate[0] += rate[:60].sum()
    return rate
