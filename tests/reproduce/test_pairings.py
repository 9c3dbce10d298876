"""The experiment's kernel: score by score, draw by draw, and against the exact distribution."""

from itertools import islice

import numpy as np
import pytest

from evenmatch.domain.arrays import Array
from evenmatch.matchers import cinder
from evenmatch.numerics import random_pairings, skill_buckets, threads
from evenmatch.reproduce import pairings
from tests.reference import cinder as reference

BOUNDS = reference.edges(0.0, 30_000.0, 30, 150.0)


def test_scores_and_overlaps_are_those_of_the_transcription() -> None:
    one, other, scores, overlaps = pairings.first_pairings(3, 1_500, 9)
    assert one.shape == other.shape == (1_500, 5)
    assert len(np.unique([one, other])) == 15_000
    for a, b, score, overlap in zip(one.tolist(), other.tolist(), scores.tolist(), overlaps.tolist(), strict=True):
        assert score == reference.sanction_score(a, b, BOUNDS, "sum")
        assert overlap == reference.overlap(a, b, 0.0, 30_000.0, 30)


def test_what_is_counted_is_what_is_told() -> None:
    scale = random_pairings.scale_of(0.0, 30_000.0, 30, 150.0)
    for count in (1, 255, 256, 257, 3_000):
        _, scores, overlaps = random_pairings.sample(random_pairings.start(5, 6, 2), scale, count)
        for least, kept in ((None, scores), (0.2, scores[overlaps >= 0.2]), (0.0, scores)):
            counted = random_pairings.tally(random_pairings.start(5, 6, 2), scale, count, least)
            assert counted.tolist() == np.bincount(kept, minlength=146).tolist()


def test_buckets_are_right_on_both_sides_of_every_edge() -> None:
    scale = random_pairings.scale_of(0.0, 30_000.0, 30, 150.0)
    edges = skill_buckets.edges(0.0, 30_000.0, 30, 150.0)
    at = np.rint(edges / scale.step).astype(np.int64)[:, None] + np.arange(-3, 4)
    bits = np.clip(np.concatenate((at.ravel(), np.arange(1 << 12) << 20, (np.arange(1 << 12) << 20) - 1)), 0, 2**32 - 1)
    found = (scale.table[bits >> 22] + bits) >> 32
    assert found.tolist() == skill_buckets.bucket_of(scale.lcap + (bits + 0.5) * scale.step, edges).tolist()


def test_buckets_that_do_not_fit_the_table_are_refused() -> None:
    with pytest.raises(ValueError, match="buckets must be at most 52"):
        random_pairings.scale_of(0.0, 30_000.0, 53, 150.0)
    with pytest.raises(ValueError, match="each wider than 1/1024 of the range"):
        random_pairings.scale_of(0.0, 30_000.0, 30, 0.0)


def test_the_generators_are_xoshiro256() -> None:
    assert list(islice(reference.xoshiro256([1, 2, 3, 4]), 5)) == [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
        9228616714210784205,
    ]
    scale = random_pairings.scale_of(0.0, 30_000.0, 30, 150.0)
    state = random_pairings.start(1, 6, 0)
    lanes = [reference.xoshiro256(words) for words in state.view(np.uint64).T.tolist()]
    drawn = np.array([[next(lane) for lane in lanes] for _ in range(10)], np.uint64).view(np.uint32)
    ratings, _, _ = random_pairings.sample(state, scale, 512)
    expected = drawn.reshape(2, 5, 2, 256).transpose(0, 3, 2, 1).reshape(512, 10)
    assert ratings.tolist() == ((expected + 0.5) * scale.step).tolist()


def chi_square(found: Array, chance: Array) -> float:
    """How many standard deviations the statistic is above what chance alone gives; rare scores are taken together."""
    wanted = chance * found.sum()
    group = (np.cumsum(wanted) // 50).astype(np.int64)
    seen, due = np.bincount(group, found), np.bincount(group, wanted)
    seen, due = seen[due > 0], due[due > 0]
    freedom = len(seen) - 1
    return float(((((seen - due) ** 2) / due).sum() - freedom) / (2 * freedom) ** 0.5)


def test_scores_have_the_exact_distribution() -> None:
    chance = np.array(reference.score_distribution(BOUNDS, 5))
    assert chance.sum() == pytest.approx(1)
    for seed in (1, 2):
        found = pairings.histogram(8_000_000, seed, lambda _: None).frequency
        assert abs(chi_square(found, chance)) < 4
    tilted = chance * (1 + 0.004 * np.sign(np.arange(146) - 27.5))
    assert chi_square(found, tilted / tilted.sum()) > 5


def test_the_filter_keeps_the_distribution_of_plain_sampling() -> None:
    rng = np.random.default_rng(15)
    one, other = (np.sort(rng.uniform(0, 30_000, (400_000, 5)), axis=1) for _ in range(2))
    edges = cinder.bucket_edges(0, 30_000, 30, 150)
    scores = np.abs(skill_buckets.bucket_of(one, edges) - skill_buckets.bucket_of(other, edges)).sum(axis=1)
    mean, deviation = (
        [how(lobby, axis=1) for lobby in (one, other)]
        for how in (np.mean, lambda x, axis: np.maximum(x.std(axis), 1000))
    )
    low, high = ([m + sign * d for m, d in zip(mean, deviation, strict=True)] for sign in (-1, 1))
    similar = np.maximum(np.minimum(*high) - np.maximum(*low), 0) / (np.maximum(*high) - np.minimum(*low))
    plain = np.bincount(scores[similar >= 0.2], minlength=146)
    found = pairings.histogram(8_000_000, 3, lambda _: None, overlap_min=0.2).frequency
    assert found.sum() / 8_000_000 == pytest.approx(plain.sum() / 400_000, abs=4 * 0.5 / 400_000**0.5)
    assert abs(chi_square(plain, found / found.sum())) < 4


def test_threads_and_size_do_not_change_what_is_drawn() -> None:
    before = threads.count()
    counted = []
    for number in (1, 2, 5):
        threads.use(number)
        counted.append(pairings.histogram(2_600_000, 4, lambda _: None).frequency.tolist())
    threads.use(before)
    assert counted[0] == counted[1] == counted[2]
    assert sum(counted[0]) == 2_600_000
    told: list[int] = []
    less, more = (pairings.histogram(count, 4, told.append).frequency for count in (8_000_000, 8_300_000))
    assert told == [8_000_000, 8_000_000, 8_300_000]
    assert (less <= more).all()


def test_parts_and_generators_have_nothing_in_common() -> None:
    states = np.concatenate([random_pairings.start(0, 6, part).T for part in range(20)])
    assert len(np.unique(states, axis=0)) == 20 * 256
    ratings = np.concatenate([pairings.first_pairings(part, 2_000, 0)[0] for part in range(2)], axis=1)
    together = np.corrcoef(ratings.T)
    assert np.abs(together[~np.eye(10, dtype=bool)]).max() < 4.5 / 2_000**0.5
