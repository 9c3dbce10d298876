"""How fair matches can be at all: what a matcher would reach to whom everybody came at once.

Whoever matches sees ratings, and ratings err. Two who are rated alike differ in skill all the same: by up to 1.4 times
the error of one. So many players of a population are drawn, put in order of rating and seated with their neighbours,
lobbies are dealt out to teams by rating, and the matches that are fair by true skill are counted. A run can come out a
little above, since ratings learn meanwhile, and a lucky one too.
"""

from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from evenmatch.domain.queue import Format, MatcherSpec, QueueSpec

from . import people
from .measures import FAIR
from .outcomes import Outcomes
from .population import Population

__all__ = ["Ceiling", "ceiling"]

_MANY: Final = 20_000


class Ceiling(msgspec.Struct, frozen=True):
    """The most that can be had."""

    fair_share: float
    """Of the matches, by true skill."""
    rating_error: float
    """How far ratings are off, on average."""


def ceiling(population: Population, folder: Path) -> Ceiling:
    """What such ratings let anybody reach; the folder is where the population's files are."""
    crowd = people.draw(population, folder, 1, _MANY)
    game, believed = population.game, crowd.ratings.mu
    seats = game.format.seats
    ordered = np.argsort(believed, kind="stable")
    rows = ordered[: len(ordered) // seats * seats].reshape(-1, seats)
    lobby = QueueSpec("lobby", Format(1, seats), MatcherSpec("first_come"))
    outcomes = Outcomes(game, lobby, crowd, 1)
    team = outcomes.teams(np.zeros(rows.shape, np.int64), believed[rows])
    odds = outcomes.told(rows, team, believed[rows])["true_odds"]
    error = float(np.abs(believed - crowd.skill).mean())
    return Ceiling(round(float((odds <= FAIR).mean()), 6), round(error, 3))
