"""Predicted evenness, and the means and costs under it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.domain.queue import Format
from evenmatch.matchers.cost import match_cost
from evenmatch.numerics.quality import (
    evenness,
    match_quality,
    rating_totals,
    squared_gap,
    team_means,
    win_probability,
)
from tests.snapshots import snapshot_of

GAPS = st.floats(-3000, 3000)


@given(GAPS)
def test_the_win_probability_is_the_elo_curve(gap: float) -> None:
    assert float(win_probability(gap)) == pytest.approx(1 / (1 + 10 ** (-gap / 400)), abs=1e-12)


@given(GAPS)
def test_evenness_is_one_minus_the_distance_from_a_coin_toss(gap: float) -> None:
    assert float(evenness(gap)) == pytest.approx(1 - abs(2 / (1 + 10 ** (-gap / 400)) - 1), abs=1e-12)
    assert evenness(gap) == evenness(-gap)


def test_evenness_is_one_for_equals_and_survives_absurd_gaps() -> None:
    assert evenness(np.array([0.0, 1e300, -1e300])).tolist() == [1.0, 0.0, 0.0]
    assert win_probability(np.array([-1e9, 0.0, 1e9])).tolist() == [0.0, 0.5, 1.0]


def test_team_means_weigh_players_not_parties() -> None:
    snapshot = snapshot_of(Format(2, 3), [[1000, 2000], [1500], [1200, 1200, 1200]])
    rosters, team_of = np.array([[0, 2, 1, -1]]), np.array([[0, 1, 0, -1]])
    means = team_means(rosters, team_of, rating_totals(snapshot), snapshot.size, 2)
    assert means.tolist() == [[1500.0, 1200.0]]
    assert squared_gap(means).tolist() == [90000.0]
    assert match_quality(means).tolist() == [float(evenness(300.0))]


def test_a_match_of_one_team_has_no_quality_and_costs_its_spread() -> None:
    snapshot = snapshot_of(Format(1, 3), [[1000, 2000], [1400], [1100], [1000], [1350]])
    rosters, team_of = np.array([[0, 1, -1], [2, 3, 4]]), np.array([[0, 0, -1], [0, 0, 0]])
    assert np.isnan(match_quality(team_means(rosters, team_of, rating_totals(snapshot), snapshot.size, 1))).all()
    assert match_cost(snapshot, rosters, team_of).tolist() == [10000.0, 122500.0]


def test_a_player_without_a_rating_counts_as_average() -> None:
    snapshot = snapshot_of(Format(2, 1), [[math.nan], [1600]])
    assert match_cost(snapshot, np.array([[0, 1]]), np.array([[0, 1]])).tolist() == [10000.0]


def test_nothing_in_nothing_out() -> None:
    nothing = np.empty((0, 4), np.int32)
    assert team_means(nothing, nothing, np.empty(0), np.empty(0), 2).shape == (0, 2)
    assert match_quality(np.empty((0, 2))).shape == (0,)
    assert match_cost(snapshot_of(Format(2, 1), []), nothing, nothing).shape == (0,)
