"""Cinder's experiment: the sanction scores of very many random pairings of lobbies.

Problem. 140,000,000 pairings are 1,400,000,000 ratings; one call of `sanction_score` each would take hours.

Idea. `numerics/random_pairings` draws and scores a part of them at a time. Parts have generators of their own, so the
histogram does not depend on how many threads share the work; they are done in rounds, so that progress can be told.

Exactness. `first_pairings` tells the ratings of the first pairings of a part, with the scores that were counted; the
chapter scores them again by `sanction_score` in every run.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics import random_pairings, threads
from evenmatch.numerics.random_pairings import LOBBY

__all__ = ["LOBBY", "Histogram", "first_pairings", "histogram"]

LCAP, UCAP, N_BUCKET, W_MIN = 0.0, 30_000.0, 30, 150.0
PART: Final = 500_000
ROUND: Final = 16
"""Parts that are done before progress is told."""
SALT: Final = 6
SCORES: Final = LOBBY * (N_BUCKET - 1) + 1


class Histogram(NamedTuple):
    """How often each score came up."""

    frequency: Array
    """int64[scores]: pairings with the score 0, 1, 2, ..."""

    @property
    def pairings(self) -> int:
        return int(self.frequency.sum())

    @property
    def mode(self) -> int:
        return int(self.frequency.argmax())

    @property
    def mean(self) -> float:
        return float(self._moment(0.0, 1))

    @property
    def deviation(self) -> float:
        return float(self._moment(self.mean, 2) ** 0.5)

    @property
    def skewness(self) -> float:
        return float(self._moment(self.mean, 3) / self.deviation**3)

    def up_to(self, score: int) -> float:
        """The share of pairings with this score or less."""
        return float(self.frequency[: score + 1].sum() / self.pairings)

    def quantile(self, share: float) -> int:
        """The least score that at least this share of pairings does not exceed."""
        return int(np.searchsorted(np.cumsum(self.frequency), share * self.pairings))

    def _moment(self, about: float, power: int) -> float:
        scores = np.arange(len(self.frequency))
        return float((self.frequency * (scores - about) ** power).sum() / self.pairings)


def histogram(pairings: int, seed: int, tell: Callable[[int], None], *, overlap_min: float | None = None) -> Histogram:
    """The scores of so many random pairings; `tell` hears how many are done.

    With `overlap_min` every pairing also goes through Cinder's first stage, and only those that pass are counted.
    """
    scale = random_pairings.scale_of(LCAP, UCAP, N_BUCKET, W_MIN)
    sizes = [min(PART, pairings - start) for start in range(0, pairings, PART)]
    total = np.zeros(SCORES, np.int64)
    done = 0
    for begin in range(0, len(sizes), ROUND):
        counted = np.zeros((len(sizes[begin : begin + ROUND]), SCORES), np.int64)

        def count(first: int, end: int, begin: int = begin, counted: Array = counted) -> None:
            for part in range(first, end):
                state = random_pairings.start(seed, SALT, begin + part)
                counted[part] = random_pairings.tally(state, scale, sizes[begin + part], overlap_min)

        threads.in_parts(len(counted), count, least=1)
        total += counted.sum(axis=0)
        done += sum(sizes[begin : begin + ROUND])
        tell(done)
    return Histogram(total)


def first_pairings(part: int, count: int, seed: int) -> tuple[Array, Array, Array, Array]:
    """The first pairings of a part, as `histogram` has them.

    float64[count, LOBBY] twice, the ratings of the one lobby and of the other; int64[count], scores; float64[count],
    overlaps.
    """
    scale = random_pairings.scale_of(LCAP, UCAP, N_BUCKET, W_MIN)
    ratings, scores, overlaps = random_pairings.sample(random_pairings.start(seed, SALT, part), scale, count)
    return ratings[:, :LOBBY], ratings[:, LOBBY:], scores, overlaps
