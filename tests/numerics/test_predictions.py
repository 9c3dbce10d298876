"""Predictions scored before they are learned from, and what leaving does to a rating."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.numerics.predictions import BINS, Predictions, odds_of, scored
from evenmatch.numerics.rating_models import MODELS, RatingModel, Ratings, build_model, model_mistake, rated


def test_a_result_is_scored_by_what_was_known_before_it() -> None:
    before = Predictions(temperature=0.5)
    raw = np.array([0.8, 0.2])
    told = odds_of(before, raw)
    after = scored(before, raw, np.array([1, 0]))
    assert after.log_loss == pytest.approx(-math.log(told[1]))
    assert after.raw_log_loss == pytest.approx(-math.log(0.2))
    assert (after.games, after.right, after.coin_log_loss, after.coin_right) == (1, 0.0, math.log(2), 0.5)
    assert after.temperature < before.temperature  # the favourite lost: less sure from now on
    place = int(told[0] * BINS)
    assert after.bins[place] == (1, told[0], 0.0)


def test_a_shared_win_is_neither_scored_nor_learned_from() -> None:
    before = Predictions(games=3)
    assert scored(before, np.array([0.5, 0.3, 0.2]), np.array([0, 1, 0])) is before


@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=5), st.data())
def test_the_sums_hold_whatever_comes(parts: list[float], data: st.DataObject) -> None:
    raw = np.array(parts) / sum(parts)
    known = Predictions()
    for _ in range(5):
        rank = np.array(data.draw(st.permutations(range(len(parts)))))
        known = scored(known, raw, rank)
    assert known.games == sum(count for count, _, _ in known.bins) == 5
    assert known.right == pytest.approx(sum(won for _, _, won in known.bins))
    assert math.isfinite(known.log_loss)
    assert known.coin_log_loss == pytest.approx(5 * math.log(len(parts)))


@given(st.sampled_from(sorted(MODELS)), st.integers(0, 2**32 - 1))
def test_who_leaves_is_rated_as_the_last_and_nobody_else_is_touched(name: str, seed: int) -> None:
    model: RatingModel = MODELS[name]()
    random = np.random.default_rng(seed)
    start, rank, games = np.array([0, 2, 4, 6]), random.integers(0, 3, 3), random.integers(0, 20, 6)

    def ratings() -> Ratings:
        draw = np.random.default_rng(seed)
        return Ratings(draw.normal(1500, 200, 6), draw.uniform(40, 300, 6), np.full(6, 0.06))

    left = np.array([False, True, False, False, False, False])
    plain = model.updated(ratings(), games, start, rank)
    last = model.updated(ratings(), games, start, np.array([9, rank[1], rank[2]]))
    found = rated(model, ratings(), games, start, rank, left)
    for one, two, three in zip(found, plain, last, strict=True):
        assert one[1] == three[1]
        assert np.delete(one, 1).tolist() == np.delete(two, 1).tolist()


def test_every_model_can_be_built_and_no_parameter_is_beyond_use() -> None:
    for name in MODELS:
        assert model_mistake(name, {}) == ""
        assert build_model(name, {}) == MODELS[name]()
    assert "must be at most 1, not 2" in model_mistake("glicko2", {"volatility": 2})
    assert "must be at most 1e+06" in model_mistake("weng_lin", {"beta": 1e9})
