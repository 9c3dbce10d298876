"""Cinder's contests: its experiment of very many random pairings, and lobby against lobby in both modes."""

from typing import Final, NamedTuple

import numpy as np

from evenmatch.bench.contest import Aim, Contest, Opponent
from evenmatch.bench.contests.waiting import Wave, first_difference, full_teams, plan_broken, random, side_by_side
from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.cinder import Cinder
from evenmatch.matchers.contract import plan_wave
from evenmatch.numerics import skill_buckets
from evenmatch.reproduce import pairings

__all__ = ["CONTESTS"]

PLAIN, NUMPY, ALL_PAIRS = "plain Python", "numpy", "all pairs, numpy"
LCAP, UCAP, N_BUCKET, W_MIN, OVERLAP_MIN, SANCTION_MAX = 0.0, 3000.0, 30, 20.0, 0.2, 17
"""The matcher's defaults."""


class Drawn(NamedTuple):
    """So many pairings, drawn from this seed."""

    pairings: int
    seed: int


def drawn(size: int, seed: int) -> Drawn:
    return Drawn(size, seed)


def histogram(given: Drawn) -> Array:
    """Ours: how often each score comes up."""
    return pairings.histogram(given.pairings, given.seed, lambda _: None).frequency


def plain_histogram(given: Drawn) -> list[int]:
    """The same pairings, rating by rating."""
    from evenmatch.bench.opponents.cinder import plain_scores

    edges = skill_buckets.edges(pairings.LCAP, pairings.UCAP, pairings.N_BUCKET, pairings.W_MIN).tolist()
    counts = [0] * pairings.SCORES
    for part, size in parts(given):
        one, other, _, _ = pairings.first_pairings(part, size, given.seed)
        for score in plain_scores(one.tolist(), other.tolist(), edges):
            counts[score] += 1
    return counts


def numpy_histogram(given: Drawn) -> Array:
    """The same pairings, by numpy's own searching and sorting."""
    return _numpy_histogram(given, 0.0)


def filtered_histogram(given: Drawn) -> Array:
    """Ours: how often each score comes up among pairings that overlap enough."""
    return pairings.histogram(given.pairings, given.seed, lambda _: None, overlap_min=OVERLAP_MIN).frequency


def numpy_filtered_histogram(given: Drawn) -> Array:
    """The same pairings, by numpy."""
    return _numpy_histogram(given, OVERLAP_MIN)


def _numpy_histogram(given: Drawn, overlap_min: float) -> Array:
    from evenmatch.bench.opponents.cinder import numpy_overlaps, numpy_scores

    caps = pairings.LCAP, pairings.UCAP, pairings.N_BUCKET
    edges = skill_buckets.edges(*caps, pairings.W_MIN)
    counts = np.zeros(pairings.SCORES, np.int64)
    for part, size in parts(given):
        one, other, _, _ = pairings.first_pairings(part, size, given.seed)
        scores = numpy_scores(one, other, edges)
        if overlap_min:
            scores = scores[numpy_overlaps(one, other, *caps) >= overlap_min]
        counts += np.bincount(scores, minlength=pairings.SCORES)
    return counts


def parts(given: Drawn) -> list[tuple[int, int]]:
    """The parts that pairings are drawn in, and their sizes."""
    starts = range(0, given.pairings, pairings.PART)
    return [(part, min(pairings.PART, given.pairings - start)) for part, start in enumerate(starts)]


def same_histogram(_: Drawn, ours: Array, theirs: list[int] | Array) -> str | None:
    """Every score as often."""
    if (wrong := ours != np.asarray(theirs)).any():
        score = int(wrong.argmax())
        return f"score {score} came up {ours[score]:,} times against {theirs[score]:,}"
    return None


def all_counted(given: Drawn, ours: Array) -> str | None:
    """No pairing is lost."""
    counted = int(ours.sum())
    return None if counted == given.pairings else f"{counted:,} pairings were counted"


# Lobby against lobby.


def best_wave(size: int, seed: int) -> Wave:
    return Wave(Cinder(mode="best"), lobbies(size, seed))


def first_wave(size: int, seed: int) -> Wave:
    return Wave(Cinder(mode="first"), lobbies(size, seed))


def lobbies(size: int, seed: int) -> Snapshot:
    """Lobbies of five: their means differ, and their players round the mean."""
    chance = random(seed, size)
    return full_teams(chance.normal(1500, 350, (size, 1)) + chance.normal(0, 250, (size, 5)))


def plan(given: Wave) -> Plan:
    """Ours: one wave through the contract."""
    return plan_wave(given.matcher, given.snapshot)


class Judged(NamedTuple):
    """What both stages need of each lobby."""

    low: Array
    high: Array
    buckets: Array
    """int64[n, 5]: sorted."""


def judged(given: Wave) -> Judged:
    """Ranges and buckets of all lobbies."""
    from evenmatch.bench.opponents.cinder import ranges

    rating = np.sort(given.snapshot.facts["rating"].reshape(-1, 5), axis=1)
    edges = skill_buckets.edges(LCAP, UCAP, N_BUCKET, W_MIN)
    return Judged(*ranges(rating, LCAP, UCAP, N_BUCKET), skill_buckets.bucket_of(rating, edges))


def all_pairs_best(given: Judged) -> list[tuple[int, int]]:
    from evenmatch.bench.opponents import cinder

    return cinder.all_pairs_best(*given, OVERLAP_MIN, SANCTION_MAX)


def all_pairs_first(given: Judged) -> list[tuple[int, int]]:
    from evenmatch.bench.opponents import cinder

    return cinder.all_pairs_first(*given, OVERLAP_MIN, SANCTION_MAX)


def same_pairs(_: Wave, ours: Plan, theirs: list[tuple[int, int]]) -> str | None:
    """The same pairs in the same order; rows are in canonical order already."""
    return first_difference("matches", side_by_side(ours), theirs)


CONTESTS: Final = (
    Contest(
        "cinder.pairings",
        "fresh random pairings of lobbies of five, histogram of their scores",
        (100_000, 1_000_000, 14_000_000, 140_000_000),
        drawn,
        histogram,
        same_histogram,
        (Opponent(NUMPY, numpy_histogram, 1_000_000), Opponent(PLAIN, plain_histogram, 100_000)),
        (Aim("seconds", 1.5, 140_000_000),),
        sound=all_counted,
        quick=(10_000, 100_000),
        unit="pairings",
    ),
    Contest(
        "cinder.filtered",
        "the same with the overlap filter: only pairings that pass it are counted",
        (100_000, 1_000_000, 14_000_000, 140_000_000),
        drawn,
        filtered_histogram,
        same_histogram,
        (Opponent(NUMPY, numpy_filtered_histogram, 1_000_000),),
        (Aim("seconds", 4.0, 140_000_000),),
        quick=(10_000, 100_000),
        unit="pairings",
    ),
    Contest(
        "cinder.best",
        "lobbies of five, mode best: the least score of all free pairs, again and again",
        (300, 1_000, 10_000, 100_000),
        best_wave,
        plan,
        same_pairs,
        (Opponent(ALL_PAIRS, all_pairs_best, 1_000, prepare=judged),),
        (Aim("growth", 1.9),),
        sound=plan_broken,
        unit="lobbies",
    ),
    Contest(
        "cinder.first",
        "lobbies of five, mode first: the first acceptable one",
        (300, 3_000, 20_000, 100_000),
        first_wave,
        plan,
        same_pairs,
        (Opponent(ALL_PAIRS, all_pairs_first, 3_000, prepare=judged),),
        (Aim("growth", 1.9),),
        sound=plan_broken,
        quick=(300, 1_000),
        unit="lobbies",
    ),
)
