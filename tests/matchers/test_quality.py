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


@given(st.data())
def test_means_and_gaps_are_those_of_adding_up_by_hand(data: st.DataObject) -> None:
    teams, matches, width = (data.draw(st.integers(1, 4)), data.draw(st.integers(0, 5)), data.draw(st.integers(0, 6)))
    rating, size = data.draw(st.lists(st.floats(-1e6, 1e6), min_size=9, max_size=9)), [1, 2, 3] * 3
    places = st.lists(st.integers(-1, 8), min_size=matches * width, max_size=matches * width)
    rosters = np.array(data.draw(places), np.int32).reshape(matches, width)
    team_of = np.where(rosters < 0, -1, rosters % teams).astype(np.int8)
    expected = []
    for roster in rosters.tolist():
        total, players = [0.0] * teams, [0] * teams
        for row in roster:
            if row >= 0:
                total[row % teams] += rating[row]
                players[row % teams] += size[row]
        expected.append([t / p if p else math.nan for t, p in zip(total, players, strict=True)])
    means = team_means(rosters, team_of, np.array(rating), np.array(size), teams)
    assert means.tobytes() == np.array(expected).reshape(matches, teams).tobytes()
    known = [[mean for mean in row if not math.isnan(mean)] for row in expected]
    gaps = [(max(row) - min(row)) ** 2 if row else math.nan for row in known]
    assert np.array_equal(squared_gap(means), np.array(gaps), equal_nan=True)
