"""The sweep: its first match is the cheapest one of its anchor, and each of its rules can be seen at work."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.numerics.team_codes import codes_of
from evenmatch.numerics.team_field import BOTH, TeamPool, TeamRules, field_of
from evenmatch.numerics.team_sweep import FROM_ABOVE, FROM_BELOW, INWARDS, swept
from tests.numerics.team_pools import pool_of
from tests.reference import teams as reference


def matches(
    pool: TeamPool, rules: TeamRules, mode: int = FROM_BELOW, *, skip: float = 1.0, reserve: int = 0, variety: int = 1
) -> list[list[int]]:
    """The matches of a sweep, as places in order of rating."""
    field = field_of(pool, rules)
    codes, seats = codes_of(rules.teams, rules.size, np.unique(field.size).tolist()), rules.teams * rules.size
    rosters = np.full((int(field.size.sum()) // seats, seats), -1, np.int32)
    listed, price = np.arange(len(field.size)), np.zeros(rules.size + 1)
    made, _ = swept(
        *(field, codes.players, codes.step, listed, price, mode, skip, 100, -1, not codes.exact, reserve, variety),
        *(rosters, 0),
    )
    return [[place for place in match if place >= 0] for match in rosters[:made].tolist()]


@st.composite
def lines(draw: st.DrawFn) -> list[list[float]]:
    rated = draw(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 3)), min_size=1, max_size=9))
    return [[1500.0 + rating] * size for rating, size in sorted(rated)]


@settings(deadline=None, max_examples=200)
@given(lines(), st.sampled_from([(2, 2), (2, 3), (1, 4), (3, 2)]), st.sampled_from([0.0, 0.5, 2.0]))
def test_the_first_match_is_the_cheapest_of_its_anchor(
    parties: list[list[float]], form: tuple[int, int], skip: float
) -> None:
    parties = [party for party in parties if len(party) <= form[1]] or [[1500.0]]
    rate, size = [party[0] for party in parties], [len(party) for party in parties]
    found = matches(pool_of(parties), TeamRules(*form), skip=skip)
    anchored = [group for group in found if group[0] == 0]
    cost = reference.group_cost(rate, size, tuple(anchored[0]), math.prod(form), skip) if anchored else math.inf
    assert cost == pytest.approx(reference.cheapest_group(rate, size, *form, skip))


def solos(*ratings: float) -> list[list[float]]:
    return [[rating] for rating in ratings]


def test_it_goes_from_below_from_above_or_from_the_more_extreme_end() -> None:
    pool, rules = pool_of(solos(0, 100, 110, 120, 130)), TeamRules(2, 2)
    assert matches(pool, rules, FROM_BELOW) == [[0, 1, 2, 3]]
    assert matches(pool, rules, FROM_ABOVE) == [[1, 2, 3, 4]]
    assert matches(pool, rules, INWARDS) == [[0, 1, 2, 3]]


def test_an_anchor_without_a_match_is_passed_over() -> None:
    pool = pool_of(solos(0, 100, 110, 120, 130), window=50.0)
    assert matches(pool, TeamRules(2, 2)) == [[1, 2, 3, 4]]


def test_one_wide_window_helps_where_the_mean_counts_and_not_where_the_least_does() -> None:
    pool = pool_of(solos(0, 10, 20, 60), window=[20.0, 20.0, 20.0, 200.0])
    assert matches(pool, TeamRules(2, 2)) == [[0, 1, 2, 3]]
    assert matches(pool, TeamRules(2, 2, policy=BOTH)) == []


def test_regions_must_be_shared_by_all_and_not_only_by_neighbours() -> None:
    pool = pool_of(solos(0, 1, 2, 3, 4), reach=[3, 1, 2, 1, 1])
    assert matches(pool, TeamRules(2, 2), skip=4.0, variety=4) == [[0, 1, 3, 4]]


def test_roles_that_are_over_asked_pass_a_ticket_over() -> None:
    price = [[0.0, np.inf]] * 3 + [[np.inf, 0.0]] * 2
    assert matches(pool_of(solos(0, 1, 2, 3, 4), roles=price), TeamRules(2, 2, places=(1, 1))) == [[0, 2, 3, 4]]


def test_a_reserve_is_left_for_later() -> None:
    pool, rules = pool_of(solos(*range(12))), TeamRules(2, 2)
    assert len(matches(pool, rules)) == 3
    assert len(matches(pool, rules, reserve=4)) == 2


def test_a_format_that_only_counts_players_still_packs() -> None:
    parties = [[1500.0 + at] * size for at, size in enumerate([3, 3, 2, 2, 1, 1] * 20)]
    rules = TeamRules(20, 5)
    for match in matches(pool_of(parties), rules):
        assert sum(len(parties[place]) for place in match) == 100
