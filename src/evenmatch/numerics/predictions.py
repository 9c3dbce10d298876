"""A queue's predictions, kept as running numbers: what calibration has learned, and how good they were.

Every result is first scored by the odds that were known before it, then learned from (`calibration`). Nothing is
refitted and no match is kept: the sums below are all that a report needs. A shared win is neither scored nor learned
from. Log-loss is that of the odds given to the winner; a coin's is the logarithm of the number of teams.
"""

import math
from typing import Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array

from .calibration import Calibration, calibrated, learned

__all__ = ["BINS", "Predictions", "odds_of", "scored"]

BINS: Final = 10
_LEAST: Final = 1e-15


class Predictions(msgspec.Struct, frozen=True):
    """What is known of a queue's predictions."""

    temperature: float = 1.0
    information: float = 1.0
    games: int = 0
    """Results with a winner."""
    log_loss: float = 0.0
    """Sum over them, of the calibrated odds."""
    raw_log_loss: float = 0.0
    """The same of the odds as the model says them."""
    coin_log_loss: float = 0.0
    right: float = 0.0
    """Favourites that won; a match without a favourite counts by chance."""
    coin_right: float = 0.0
    bins: tuple[tuple[int, float, float], ...] = ((0, 0.0, 0.0),) * BINS
    """Results by the favourite's odds, a tenth each: how many, the sum of what was said, how many the favourite won."""

    @property
    def calibration(self) -> Calibration:
        """As `calibration` knows it."""
        return Calibration(self.temperature, self.information, self.games)


def odds_of(predictions: Predictions, raw: Array) -> Array:
    """float64[teams]: the model's odds as they are told, with the sum 1."""
    return calibrated(raw, predictions.calibration)


def scored(before: Predictions, raw: Array, rank: Array) -> Predictions:
    """The predictions after one more result; `raw`, float64[teams]: the model's odds; `rank`: lower finished better."""
    first = np.flatnonzero(rank == rank.min())
    if len(first) != 1:
        return before
    told, teams = odds_of(before, raw), len(rank)
    best, favoured = float(told.max()), np.flatnonzero(told == told.max())
    right = float(first[0] in favoured) / len(favoured)
    place = min(int(best * BINS), BINS - 1)
    bins = list(before.bins)
    count, said, won = bins[place]
    bins[place] = (count + 1, said + best, won + right)
    after = learned(raw, rank, before.calibration)
    return Predictions(
        temperature=after.temperature,
        information=after.information,
        games=before.games + 1,
        log_loss=before.log_loss - math.log(max(float(told[first[0]]), _LEAST)),
        raw_log_loss=before.raw_log_loss - math.log(max(float(raw[first[0]]), _LEAST)),
        coin_log_loss=before.coin_log_loss + math.log(teams),
        right=before.right + right,
        coin_right=before.coin_right + 1.0 / teams,
        bins=tuple(bins),
    )
