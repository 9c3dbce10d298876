"""Odds that mean what they say: a temperature learned from results, one result at a time.

Problem. A rating model that takes players for independent is too sure of itself where teams play together, and says
0.9 where 0.7 of such matches are won. Whoever accepts matches by predicted odds needs the truth.

Idea. The logit of the model's odds is multiplied by one number, the temperature t, which never changes who is the
favourite. It is learned as a match is rated, by one Newton step on the logistic loss with all information so far:

    q = 1 / (1 + exp(-t x)),  x = logit of the model's odds
    information += x^2 q (1 - q)          t += (result - q) x / information

so the prediction of a match has seen only what came before it. Older information fades by `FADE` a result: a game's
temperature drifts as ratings settle. No single result moves t by more than a fifth: a walkover that was lost, by a
mistaken rating perhaps, must not undo what hundreds of matches have taught. More than two teams: logits are taken for
each team against the rest.

State. Two numbers a queue, kept with its ratings; nothing is refitted.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["Calibration", "calibrated", "learned"]

FADE: Final = 0.995
LEAST: Final = 0.05
MOST: Final = 0.2
"""The share of itself by which a temperature may change with one result."""
_NEAR: Final = 1e-9


class Calibration(NamedTuple):
    """What has been learned so far."""

    temperature: float = 1.0
    information: float = 1.0
    results: int = 0


def logits(odds: Array) -> Array:
    """float64: how sure the odds are, on the scale where 0 is even."""
    bounded = np.clip(odds, _NEAR, 1.0 - _NEAR)
    sure: Array = np.log(bounded / (1.0 - bounded))
    return sure


def calibrated(odds: Array, calibration: Calibration) -> Array:
    """float64[teams]: the odds at the temperature learned, with the sum 1."""
    flat = 1.0 / (1.0 + np.exp(-calibration.temperature * logits(odds)))
    shares: Array = flat / flat.sum()
    return shares


def learned(odds: Array, rank: Array, before: Calibration) -> Calibration:
    """The calibration after one result; `rank`, int64[teams]: lower finished better. A shared win teaches nothing."""
    won = rank == rank.min()
    if won.sum() != 1:
        return before
    sure = logits(odds)[won][0] if len(odds) == 2 else logits(odds)
    result = np.ones(1) if len(odds) == 2 else won.astype(float)
    expected = 1.0 / (1.0 + np.exp(-before.temperature * np.atleast_1d(sure)))
    information = before.information * FADE + float((np.square(sure) * expected * (1.0 - expected)).sum())
    step = float(((result - expected) * sure).sum()) / information
    most = MOST * before.temperature
    temperature = max(LEAST, before.temperature + min(most, max(-most, step)))
    assert math.isfinite(temperature)
    return Calibration(temperature, information, before.results + 1)
