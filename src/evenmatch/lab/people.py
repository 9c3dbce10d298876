"""The players of a population, drawn: how good they are, what is believed of them, and where they are.

Player numbers are 1, 2, 3, ...; row r is player r + 1. One seed gives one crowd, whichever matcher it meets.
"""

from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.errors import LabError
from evenmatch.numerics.rating_models import Ratings, build_model
from evenmatch.numerics.seeds import generator

from . import files
from .population import Population
from .servers import regions_of

__all__ = ["People", "draw"]

_SKILL, _BELIEF, _PLACE, _SIDES, _PROFILE = range(5)
"""Each has chances of its own, so that a change of one leaves the others as they were."""
_RATING_ROOM: Final = 5e5
"""Ratings that the engine takes for sure."""
_PING_LEAST, _PING_MOST = 1.0, 2_000.0


class People(msgspec.Struct, frozen=True, eq=False):
    """Columns, a row a player."""

    skill: Array
    """float64[n]: how good they are; the matchmaker never sees it"""
    ratings: Ratings
    """What is believed of them at the start"""
    games: Array
    """int64[n]: results before the run; 0 = a newcomer"""
    region: Array
    """int64[n], into `regions`"""
    regions: tuple[str, ...]
    latency: Array
    """float64[n, regions]: ping to each"""
    sides: Array
    """float64[n, 2]: how much better than usual they are on each side, NaN = they cannot play it"""
    profile: dict[str, list[str]]
    """Feature -> a word a player"""

    def __len__(self) -> int:
        return len(self.skill)

    @property
    def ping(self) -> Array:
        """float64[n]: to the own region."""
        own: Array = self.latency[np.arange(len(self)), self.region]
        return own


def draw(population: Population, folder: Path, seed: int, count: int) -> People:
    """So many players."""
    skill = _skills(population, folder, seed, count)
    ratings, games = _beliefs(population, folder, seed, skill)
    region, latency = _places(population, folder, seed, count)
    return People(
        skill=skill,
        ratings=ratings,
        games=games,
        region=region,
        regions=tuple(population.regions.shares),
        latency=latency,
        sides=_sided(population, seed, count),
        profile=_profiles(population, seed, count),
    )


def _skills(population: Population, folder: Path, seed: int, count: int) -> Array:
    given, chance = population.skill, generator(seed, _SKILL)
    if given.kind == "csv":
        found = chance.choice(files.column(folder / given.file, given.column), count)
    elif given.kind == "normal":
        found = chance.normal(given.mean, given.spread, count)
    else:
        width = np.log1p((given.spread / given.mean) ** 2)
        found = chance.lognormal(np.log(given.mean) - width / 2, np.sqrt(width), count)
    kept: Array = np.clip(found, -_RATING_ROOM, _RATING_ROOM)
    return kept


def _start(population: Population, folder: Path) -> float:
    """Where newcomers begin: a game's ratings are centred on its players, whatever a model's own scale is."""
    given = population.skill
    if population.ratings.start is not None:
        return population.ratings.start
    return float(files.column(folder / given.file, given.column).mean()) if given.kind == "csv" else given.mean


def _beliefs(population: Population, folder: Path, seed: int, skill: Array) -> tuple[Ratings, Array]:
    """Newcomers are where everybody starts; others are about where they belong, and surer."""
    given, chance, count = population.ratings, generator(seed, _BELIEF), len(skill)
    _, sigma, volatility = build_model(given.model, given.parameters).newcomer
    mu = np.clip(_start(population, folder), -_RATING_ROOM, _RATING_ROOM)
    new = chance.random(count) < given.newcomers
    believed = np.where(new, mu, skill + chance.normal(0.0, 1.0, count) * given.error)
    unsure = np.where(new, sigma, min(sigma, given.error) if sigma else 0.0)
    return Ratings(believed, unsure, np.full(count, volatility)), np.where(new, 0, 20)


def _places(population: Population, folder: Path, seed: int, count: int) -> tuple[Array, Array]:
    given, chance = population.regions, generator(seed, _PLACE)
    names, shares = list(given.shares), np.array(list(given.shares.values()))
    region = chance.choice(len(names), count, p=shares / shares.sum())
    if given.file:
        times = files.matrix(folder / given.file)
        if len(times) < len(names):
            raise LabError(f"{folder / given.file}: {len(times)} rows are too few for {len(names)} regions")
        return region, _measured(times, region, shares, chance)
    far = np.array([[_far(population, one, other) for other in names] for one in names])
    near = given.near_ms * np.exp(chance.normal(0.0, given.near_spread, count))
    wobble = np.exp(chance.normal(0.0, 0.1, (count, len(names))))
    return region, np.clip((near[:, None] + far[region]) * wobble, _PING_LEAST, _PING_MOST)


def _far(population: Population, one: str, other: str) -> float:
    table = population.regions.far_ms
    if one == other:
        return 0.0
    return table.get(one, {}).get(other, table.get(other, {}).get(one, population.regions.far_else_ms))


def _measured(times: Array, region: Array, shares: Array, chance: np.random.Generator) -> Array:
    """Everybody lives at a row of the matrix; the region with the largest share is where most rows are."""
    away = ~np.eye(len(times), dtype=bool)
    known = np.where(np.isnan(times), np.nanmedian(times[away]), times)
    np.fill_diagonal(known, _PING_LEAST)
    rows, whose = regions_of(known, len(shares))
    servers = np.empty(len(shares), np.int64)
    home = np.empty(len(region), np.int64)
    for place, where in enumerate(np.argsort(-shares, kind="stable").tolist()):
        servers[where] = rows[place]
        mine = region == where
        home[mine] = chance.choice(np.flatnonzero(whose == place), int(mine.sum()))
    return np.clip(known[home][:, servers], _PING_LEAST, _PING_MOST)


def _sided(population: Population, seed: int, count: int) -> Array:
    given, chance = population.sides, generator(seed, _SIDES)
    differ = chance.normal(0.0, given.difference, count) / 2
    which = chance.random(count)
    found = np.stack([differ, -differ], axis=1)
    half = (1.0 - given.both) / 2
    found[(which >= given.both) & (which < given.both + half), 1] = np.nan
    found[which >= given.both + half, 0] = np.nan
    alone = np.isnan(found).any(axis=1)
    found[alone] = np.where(np.isnan(found[alone]), np.nan, 0.0)
    return found


def _profiles(population: Population, seed: int, count: int) -> dict[str, list[Any]]:
    found = {}
    for place, (feature, shares) in enumerate(population.profile.items()):
        words, weights = list(shares), np.array(list(shares.values()))
        drawn = generator(seed, _PROFILE, place).choice(len(words), count, p=weights / weights.sum())
        found[feature] = [words[code] for code in drawn.tolist()]
    return found
