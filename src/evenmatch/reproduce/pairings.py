"""Cinder's experiment: the sanction scores of very many random pairings of lobbies.

Problem. 140,000,000 pairings are 1,400,000,000 ratings; one call of `sanction_score` each would take hours.

Idea. A score needs buckets, not ratings, and both buckets (0..29) and scores (at most 5 * 29 = 145) fit in a byte. So:

    1. 16 random bits a player stand for a rating, one of 65,536 evenly spaced on [lcap, ucap]: finer than whole points;
    2. one table, made by `skill_buckets`, turns them into buckets;
    3. five buckets are sorted by a network of nine exchanges, each a minimum and a maximum over a whole block;
    4. the five differences are summed, and the scores counted.

Bytes in blocks that stay in the processor's cache: a few seconds for everything. Blocks have generators of their own,
so the histogram does not depend on how many threads share the work.

Exactness. `one_block` on any block equals `sanction_score` on the same ratings; the chapter checks it in every run.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics import skill_buckets
from evenmatch.numerics.seeds import generator

__all__ = ["LOBBY", "Histogram", "drawn_ratings", "histogram", "one_block"]

LOBBY: Final = 5
LCAP, UCAP, N_BUCKET, W_MIN = 0.0, 30_000.0, 30, 150.0
BLOCK: Final = 100_000
STEPS: Final = 1 << 16
EXCHANGES: Final = ((0, 1), (3, 4), (2, 4), (2, 3), (0, 3), (0, 2), (1, 4), (1, 3), (1, 2))
"""A network that sorts any five values."""
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


def histogram(pairings: int, seed: int, tell: Callable[[int], None]) -> Histogram:
    """The scores of so many random pairings; `tell` hears how many are done."""
    sizes = [min(BLOCK, pairings - start) for start in range(0, pairings, BLOCK)]
    table = bucket_table()

    def counted(block: int) -> Array:
        return np.bincount(one_block(block, sizes[block], seed, table), minlength=SCORES)

    total = np.zeros(SCORES, np.int64)
    done = 0
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for block, count in enumerate(pool.map(counted, range(len(sizes)))):
            total += count
            done += sizes[block]
            tell(done)
    return Histogram(total)


def bucket_table() -> Array:
    """uint8[65536]: the bucket of each of the evenly spaced ratings."""
    edges = skill_buckets.edges(LCAP, UCAP, N_BUCKET, W_MIN)
    return skill_buckets.bucket_of(rating_of(np.arange(STEPS)), edges).astype(np.uint8)


def rating_of(bits: Array) -> Array:
    """The rating that 16 random bits stand for."""
    ratings: Array = LCAP + (bits + 0.5) * ((UCAP - LCAP) / STEPS)
    return ratings


def drawn(block: int, size: int, seed: int) -> Array:
    """uint16[2 * LOBBY, size]: the random bits of a block, a row a player, the first lobby above the second."""
    return generator(seed, 6, block).integers(0, STEPS, (2 * LOBBY, size), dtype=np.uint16)


def drawn_ratings(block: int, size: int, seed: int) -> tuple[Array, Array]:
    """float64[size, LOBBY] each: the same block as ratings of the one lobby and of the other."""
    ratings = rating_of(drawn(block, size, seed))
    return ratings[:LOBBY].T, ratings[LOBBY:].T


def one_block(block: int, size: int, seed: int, table: Array | None = None) -> Array:
    """uint8[size]: the sanction score of each pairing of a block."""
    buckets: Array = (bucket_table() if table is None else table)[drawn(block, size, seed)]
    spare = np.empty(size, np.uint8)
    for lobby in (buckets[:LOBBY], buckets[LOBBY:]):
        for low, high in EXCHANGES:
            np.minimum(lobby[low], lobby[high], out=spare)
            np.maximum(lobby[low], lobby[high], out=lobby[high])
            lobby[low] = spare
    score = np.zeros(size, np.uint8)
    for one, other in zip(buckets[:LOBBY], buckets[LOBBY:], strict=True):
        np.maximum(one, other, out=spare)
        spare -= np.minimum(one, other)
        score += spare
    return score
