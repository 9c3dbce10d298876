"""Rating models: published numbers, laws they keep, and what calibration learns."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.domain.arrays import Array
from evenmatch.numerics import elo, glicko2, weng_lin
from evenmatch.numerics.calibration import Calibration, calibrated, learned
from evenmatch.numerics.rating_models import MODELS, Glicko2, RatingModel, Ratings, WengLin

NEW = (25.0, 25 / 3)
PUBLISHED = [
    # teams, ranks, new (mu, sigma) of every player, odds: as PlackettLuce() of openskill 6.2 gives them
    (
        [[NEW], [NEW]],
        [0, 1],
        [(27.635389493140497, 8.06590141354368), (22.364610506859503, 8.06590141354368)],
        [0.5, 0.5],
    ),
    ([[NEW], [NEW]], [0, 0], [(25.0, 8.06590141354368)] * 2, [0.5, 0.5]),
    (
        [[NEW]] * 4,
        [0, 1, 1, 2],
        [
            (27.795252672501135, 8.263571791259416),
            *[(24.689416369722096, 8.17961798837266)] * 2,
            (22.825914588054673, 8.17961798837266),
        ],
        [0.25] * 4,
    ),
    (
        [[(29.182, 4.782), NEW], [(32.0, 3.0), (21.0, 6.0), (18.5, 2.0)]],
        [1, 0],
        [
            (28.814291420466652, 4.744824163961846),
            (23.883564371474883, 8.13157304396452),
            (32.14478722229748, 2.9943526636156146),
            (21.578813991991073, 5.946003196286523),
            (18.56441189457644, 1.9997175605682245),
        ],
        [0.09590104343204336, 0.9040989565679567],
    ),
]

SIZES = st.lists(st.integers(1, 4), min_size=2, max_size=4)


def starts(sizes: list[int]) -> Array:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


@pytest.mark.parametrize(("teams", "ranks", "after", "odds"), PUBLISHED)
def test_weng_lin_gives_the_published_numbers(
    teams: list[list[tuple[float, float]]], ranks: list[int], after: list[tuple[float, float]], odds: list[float]
) -> None:
    mu, sigma = np.array([player for team in teams for player in team]).T.copy()
    start = starts([len(team) for team in teams])
    found = weng_lin.updated(mu, sigma, start, np.array(ranks), 25 / 6, 25 / 300, 1e-4)
    assert np.column_stack(found) == pytest.approx(np.array(after), rel=1e-12)
    assert weng_lin.odds(mu, sigma, start, 25 / 6) == pytest.approx(np.array(odds), rel=1e-9)


def test_glicko2_gives_the_numbers_of_its_papers_example() -> None:
    found = glicko2.after_periods(
        1500.0,
        200.0,
        0.06,
        np.array([1400.0, 1550.0, 1700.0]),
        np.array([30.0, 100.0, 300.0]),
        np.array([1.0, 0.0, 0.0]),
        0.5,
    )
    # The paper prints 1464.06, 151.52 and 0.05999, having rounded on the way.
    assert found == pytest.approx((1464.06, 151.52, 0.05999), rel=1.1e-4)
    assert found[0] == pytest.approx(1464.06, abs=0.01)


def test_elo_gives_the_textbooks_numbers() -> None:
    start, k = starts([1, 1]), np.array([32.0, 32.0])
    assert elo.odds(np.array([1900.0, 1500.0]), start, 400.0).tolist() == pytest.approx([10 / 11, 1 / 11])
    found = elo.updated(np.array([2400.0, 2000.0]), k, start, np.array([0, 1]), 400.0)
    assert found.tolist() == pytest.approx([2400 + 32 / 11, 2000 - 32 / 11])
    drawn = elo.updated(np.array([1500.0, 1500.0]), k, start, np.array([3, 3]), 400.0)
    assert drawn.tolist() == [1500.0, 1500.0]


@given(st.sampled_from(sorted(MODELS)), SIZES, st.integers(0, 2**32 - 1))
def test_every_model_keeps_its_laws(name: str, sizes: list[int], seed: int) -> None:
    model: RatingModel = MODELS[name]()
    start, count = starts(sizes), sum(sizes)
    random = np.random.default_rng(seed)
    ratings = Ratings(random.normal(1500, 300, count), random.uniform(30, 350, count), np.full(count, 0.06))
    rank, games = random.integers(0, len(sizes), len(sizes)), random.integers(0, 30, count)
    odds = model.odds(ratings, start)
    assert odds.sum() == pytest.approx(1.0)
    assert (odds > 0).all()
    after = model.updated(ratings, games, start, rank)
    assert all(np.isfinite(column).all() for column in after)
    teams = [slice(start[team], start[team + 1]) for team in range(len(sizes))]
    best = [team for team in range(len(sizes)) if rank[team] == rank.min()]
    if len(best) == 1:
        assert (after.mu[teams[best[0]]] >= ratings.mu[teams[best[0]]]).all()
    away = model.away(after, np.full(count, 20.0))
    assert (away.sigma >= after.sigma).all()
    assert (away.sigma <= np.maximum(model.newcomer[1], after.sigma)).all()


@given(st.sampled_from(sorted(MODELS)), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_the_order_of_teams_and_of_players_does_not_matter(name: str, size: int, seed: int) -> None:
    model: RatingModel = MODELS[name]()
    start, count = starts([size, size]), 2 * size
    random = np.random.default_rng(seed)
    ratings = Ratings(random.normal(1500, 300, count), random.uniform(30, 350, count), np.full(count, 0.06))
    rank, games = np.array([0, 1]), random.integers(0, 30, count)
    turned = np.arange(count)[::-1]
    after = model.updated(ratings, games, start, rank)
    other = model.updated(ratings.take(turned), games[turned], start, rank[::-1].copy())
    for one, two in zip(after, other.take(turned), strict=True):
        assert one == pytest.approx(two, rel=1e-12)


@given(st.sampled_from(sorted(MODELS)), SIZES, st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_many_matches_of_one_shape_are_rated_as_one_by_one(
    name: str, sizes: list[int], matches: int, seed: int
) -> None:
    model: RatingModel = MODELS[name]()
    start, seats = starts(sizes), sum(sizes)
    random = np.random.default_rng(seed)
    count = matches * seats
    ratings = Ratings(
        random.normal(1500, 300, count), random.uniform(30, 350, count), random.uniform(0.05, 0.07, count)
    )
    rank, games = random.integers(0, len(sizes), (matches, len(sizes))), random.integers(0, 30, count)
    found = model.updated_many(ratings, games, start, rank)
    for match in range(matches):
        own = np.arange(match * seats, (match + 1) * seats)
        alone = model.updated(ratings.take(own), games[own], start, rank[match])
        assert [column.tolist() for column in found.take(own)] == [column.tolist() for column in alone], "to the bit"


def test_huge_gaps_overflow_nothing() -> None:
    start = starts([1, 1])
    for name in MODELS:
        model: RatingModel = MODELS[name]()
        ratings = Ratings(np.array([1e6, -1e6]), np.array([50.0, 50.0]), np.array([0.06, 0.06]))
        upset = model.updated(ratings, np.zeros(2, np.int64), start, np.array([1, 0]))
        assert all(np.isfinite(column).all() for column in upset), name


@given(st.floats(0.02, 0.98), st.floats(0.1, 3.0))
def test_calibration_never_changes_the_favourite(chance: float, temperature: float) -> None:
    odds = calibrated(np.array([chance, 1 - chance]), Calibration(temperature))
    assert odds.sum() == pytest.approx(1.0)
    assert (odds[0] > 0.5) == (chance > 0.5) or math.isclose(chance, 0.5)


@pytest.mark.parametrize("truth", [0.3, 1.0, 2.0])
def test_calibration_finds_the_temperature_that_results_are_drawn_with(truth: float) -> None:
    random = np.random.default_rng(7)
    calibration = Calibration()
    for _ in range(4_000):
        sure = random.normal(0, 2)
        odds = np.array([1 / (1 + math.exp(-sure)), 1 / (1 + math.exp(sure))])
        won = random.random() < 1 / (1 + math.exp(-truth * sure))
        calibration = learned(odds, np.array([0, 1]) if won else np.array([1, 0]), calibration)
    assert calibration.temperature == pytest.approx(truth, rel=0.25)
    assert calibration.results == 4_000


def test_one_upset_does_not_undo_what_was_learned() -> None:
    before = Calibration(1.7, 30.0, 140)
    after = learned(np.array([1 - 1e-12, 1e-12]), np.array([1, 0]), before)
    assert after.temperature == pytest.approx(1.7 * 0.8)
    assert learned(np.array([0.9, 0.1]), np.array([1, 0]), Calibration()).temperature >= 0.8


def test_a_draw_teaches_calibration_nothing() -> None:
    assert learned(np.array([0.7, 0.3]), np.array([0, 0]), Calibration()) == Calibration()


def test_away_is_bounded_by_a_newcomers_doubt() -> None:
    ratings = Ratings(np.array([1500.0]), np.array([60.0]), np.array([0.06]))
    assert Glicko2().away(ratings, np.array([1e9])).sigma[0] == 350.0
    assert WengLin(drift_a_day=10.0).away(ratings, np.array([9.0])).sigma[0] == pytest.approx(math.sqrt(4500))
