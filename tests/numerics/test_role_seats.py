"""Roles of a team: as cheap as the cheapest of all ways to give them out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.numerics.role_seats import plan_role_costs, plan_roles
from tests.reference import teams as reference

PRICE = st.sampled_from([0.0, 0.25, 1.0, 3.0, np.inf])


@settings(deadline=None, max_examples=300)
@given(st.lists(st.lists(PRICE, min_size=3, max_size=3), min_size=1, max_size=5), st.integers(0, 20))
def test_roles_are_given_out_at_the_least_price(price: list[list[float]], mix: int) -> None:
    size = len(price)
    slots = sorted((mix * (at + 1) + at) % 3 for at in range(size))
    places = np.bincount(slots, minlength=3)
    rosters, team_of = np.arange(size)[None], np.zeros((1, size))
    (found,), role_of = plan_roles(rosters, team_of, np.arange(size + 1), np.array(price), places, 1)
    assert found == pytest.approx(reference.role_cost(price, slots))
    if found < np.inf:
        assert sorted(role_of.tolist()) == slots
        assert found == sum(price[player][role] for player, role in enumerate(role_of.tolist()))
    else:
        assert set(role_of.tolist()) == {-1}


def test_every_team_has_roles_of_its_own() -> None:
    price = np.array([[0.0, 9.0], [0.0, 9.0], [9.0, 0.0], [9.0, 0.0]])
    start, places = np.arange(5), np.array([1, 1])
    mixed = plan_role_costs(np.arange(4)[None], np.array([[0, 1, 0, 1]]), start, price, places, 2)
    alike = plan_role_costs(np.arange(4)[None], np.array([[0, 0, 1, 1]]), start, price, places, 2)
    assert (mixed.tolist(), alike.tolist()) == ([0.0], [18.0])


def test_without_roles_nothing_is_asked() -> None:
    assert plan_role_costs(np.arange(2)[None], np.zeros((1, 2)), np.arange(3), np.empty((2, 0)), np.array([]), 1) == 0
