"""The terms of a match: the kernel is its twin, and each term says what its name says."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.arrays import NONE, Array
from evenmatch.numerics.match_terms import TERMS, UNITS, Weights, plan_costs, plan_terms
from tests.reference.match_terms import Ticket
from tests.reference.match_terms import terms as reference


def fillings(size: int) -> st.SearchStrategy[list[int]]:
    """Party sizes that make a team."""

    @st.composite
    def parts(draw: st.DrawFn) -> list[int]:
        left, found = size, []
        while left:
            found.append(draw(st.integers(1, left)))
            left -= found[-1]
        return found

    return parts()


@st.composite
def matches(draw: st.DrawFn) -> tuple[list[list[Ticket]], list[int]]:
    count, size, regions = draw(st.integers(1, 4)), draw(st.integers(1, 5)), draw(st.integers(0, 3))
    rating = st.floats(0, 3000)
    player = st.tuples(rating, st.floats(0, 400))
    latency = st.lists(st.floats(0, 1500), min_size=regions, max_size=regions)
    teams = [
        [(draw(st.lists(player, min_size=party, max_size=party)), draw(latency)) for party in draw(fillings(size))]
        for _ in range(count)
    ]
    reach = [
        draw(st.integers(0, 2**regions - 1)) | draw(st.integers(0, 2**regions - 1)) for team in teams for _ in team
    ]
    return teams, reach


def found(teams: list[list[Ticket]], reach: list[int], scale: float = 400.0) -> Array:
    tickets = [ticket for team in teams for ticket in team]
    size = [len(players) for players, _ in tickets]
    players: Array = np.array([player for party, _ in tickets for player in party]).reshape(-1, 2)
    terms: Array = plan_terms(
        np.arange(len(tickets))[None],
        np.array([[at for at, team in enumerate(teams) for _ in team]]),
        start=np.cumsum([0, *size]),
        mu=players[:, 0],
        sigma=players[:, 1],
        latency=np.array([latency for _, latency in tickets]).reshape(len(tickets), -1),
        reach=np.array(reach, np.int64),
        teams=len(teams),
        size=sum(len(players) for players, _ in teams[0]),
        scale=scale,
    )[0]
    return terms


@settings(deadline=None, max_examples=200)
@given(drawn=matches(), scale=st.sampled_from([400.0, 150.0, 1000.0]))
def test_terms_are_those_of_the_twin(drawn: tuple[list[list[Ticket]], list[int]], scale: float) -> None:
    teams, reach = drawn
    shared = -1
    for bits in reach:
        shared &= bits
    expected = reference(teams, scale, [region for region in range(3) if shared >> region & 1])
    assert found(teams, reach, scale) == pytest.approx([expected[name] for name in TERMS], abs=1e-9)


def solo(*ratings: float, sigma: float = 0.0) -> list[Ticket]:
    return [([(mu, sigma)], []) for mu in ratings]


def party(*ratings: float) -> list[Ticket]:
    return [([(mu, 0.0) for mu in ratings], [])]


def named(teams: list[list[Ticket]]) -> dict[str, float]:
    return dict(zip(TERMS, found(teams, [], 400.0).tolist(), strict=True))


def test_a_party_of_two_against_two_single_players_of_its_rating_is_even() -> None:
    told = named([party(1700, 1700), solo(1700, 1700)])
    assert told["spread"] == told["imbalance"] == told["distribution"] == 0
    assert told["premade"] == 4 * (4 - 2) / 4


def test_equal_means_do_not_hide_teams_that_are_unlike() -> None:
    told = named([solo(1000, 2000), solo(1500, 1500)])
    assert told["imbalance"] == 0
    assert told["distribution"] == 4 * 500 / 400
    assert told["spread"] == 1000 / 400


def test_doubt_makes_a_gap_less_lopsided() -> None:
    sure, unsure = (named([solo(1700, sigma=s), solo(1500, sigma=s)])["imbalance"] for s in (0.0, 350.0))
    assert unsure < 0.8 * sure


def test_two_fair_matches_cost_less_than_a_perfect_and_a_bad_one() -> None:
    fair, perfect, bad = (named([solo(1500), solo(1500 + gap)])["imbalance"] for gap in (100, 0, 200))
    assert 2 * fair < perfect + bad


def test_costs_are_whole_parts_of_one_in_so_many_and_weigh_every_term() -> None:
    terms = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0.1, 0, 0, 0, 0, 0, 0]])
    costs = plan_costs(terms, Weights(1, 10, 100, 1e3, 1e4, 1e5, 1e6))
    assert costs[0] == 7654321
    assert costs[1] * UNITS == round(0.1 * UNITS)


def test_a_pair_that_met_lately_counts_as_opponents_and_in_a_lobby() -> None:
    about: dict[str, Any] = {
        "start": np.arange(5),
        "mu": np.full(4, 1500.0),
        "sigma": np.zeros(4),
        "latency": np.empty((4, 0)),
        "reach": NONE,
        "scale": 400.0,
        "met": np.array([[0, 1], [0, 2], [1, 3]]),
    }
    rosters = np.array([[0, 1, 2, 3]])
    teams = plan_terms(rosters, np.array([[0, 0, 1, 1]]), teams=2, size=2, **about)
    lobby = plan_terms(rosters, np.array([[0, 0, 0, 0]]), teams=1, size=4, **about)
    assert (teams[0, -1], lobby[0, -1]) == (2, 3)
