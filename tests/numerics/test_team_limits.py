"""The closer bound: never below what is possible, by trying all and by a public solver; and where it says more."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.numerics.team_bounds import seats_bound
from evenmatch.numerics.team_field import TeamPool, TeamRules, field_of
from evenmatch.numerics.team_limits import closer_bound, local_deadlines
from evenmatch.numerics.team_plan import searched_plan, team_plan
from tests.numerics.team_pools import crowd, pool_of, small_pools
from tests.numerics.test_team_plan import assert_sound
from tests.reference import teams as reference


def closer(pool: TeamPool, rules: TeamRules) -> int:
    field = field_of(pool, rules)
    return closer_bound(field, seats_bound(field))


def most_matches(pool: TeamPool, rules: TeamRules) -> int:
    """As many matches as there can be: all that are legal, and HiGHS to choose among them."""
    optimize, sparse = pytest.importorskip("scipy.optimize"), pytest.importorskip("scipy.sparse")
    matches = list(reference.all_matches(pool, rules))
    if not matches:
        return 0
    held = sparse.lil_matrix((len(pool.size), len(matches)))
    for at, match in enumerate(matches):
        held[list(match), at] = 1
    once = optimize.LinearConstraint(held.tocsr(), -np.inf, 1)
    found = optimize.milp(-np.ones(len(matches)), constraints=once, integrality=np.ones(len(matches)), bounds=(0, 1))
    assert found.success
    return int(-found.fun + 0.5)


@settings(deadline=None, max_examples=150)
@given(small_pools())
def test_no_plan_seats_more_than_the_closer_bound(drawn: tuple[TeamPool, TeamRules]) -> None:
    pool, rules = drawn
    field = field_of(pool, rules)
    first = seats_bound(field)
    _, most, _ = reference.best(pool, rules)
    assert most * rules.teams * rules.size <= closer_bound(field, first) <= first.seats


KINDS = [
    ("windows", (2, 2), {"shares": (70, 30), "window": (60.0, 300.0)}),
    ("regions", (2, 2), {"shares": (70, 30), "regions": 3, "window": (200.0, 600.0)}),
    ("roles", (2, 2), {"shares": (80, 20), "roles": 2, "window": (200.0, 600.0)}),
    ("threes", (2, 3), {"shares": (40, 20, 40), "window": (200.0, 600.0)}),
    ("lobbies", (1, 5), {"shares": (50, 30, 20), "window": (100.0, 500.0)}),
]


@pytest.mark.parametrize(("form", "about"), [kind[1:] for kind in KINDS], ids=[kind[0] for kind in KINDS])
def test_plan_and_bound_close_in_on_what_a_public_solver_proves(
    form: tuple[int, int], about: dict[str, object]
) -> None:
    reached, possible, allowed = 0, 0, 0
    for seed in range(6):
        pool = crowd(18, form[1], seed=seed, **about)  # type: ignore[arg-type]
        rules = TeamRules(*form, places=(1, 1) if "roles" in about else ())
        plan = searched_plan(pool, rules)
        assert_sound(pool, rules, plan)
        most = most_matches(pool, rules)
        assert len(plan.cost) <= most <= plan.seats_bound // (form[0] * form[1])
        reached, possible = reached + len(plan.cost), possible + most
        allowed += plan.seats_bound // (form[0] * form[1])
    assert reached >= 0.95 * possible, (reached, possible, allowed)


def test_a_region_by_itself_and_all_others_bound_more_than_all_together() -> None:
    # Seven reach the first region, eleven the others: one match of four and two, though 17 players would be four.
    pool = pool_of([[1500.0]] * 17, reach=[1] * 6 + [3] + [6] * 8 + [4] * 2)
    rules = TeamRules(2, 2)
    assert seats_bound(field_of(pool, rules)).seats == 16
    assert closer(pool, rules) == 12 == 4 * len(team_plan(pool, rules).cost)
    joined = pool_of([[1500.0]] * 18, reach=[1] * 6 + [3] * 2 + [6] * 8 + [4] * 2)
    assert closer(joined, rules) == 16 == 4 * len(team_plan(joined, rules).cost)


def test_only_windows_near_a_ticket_count() -> None:
    # The widest windows are far away: those at the bottom can't use them.
    ratings = [1000.0, 1200.0, 1210.0, 1220.0, *(3000.0 + at for at in range(8))]
    windows = [150.0] * 4 + [2000.0] * 8
    pool = pool_of([[mu] for mu in ratings], window=windows)
    field = field_of(pool, TeamRules(2, 2))
    assert seats_bound(field).seats == 12
    assert closer_bound(field, seats_bound(field)) == 8
    assert len(team_plan(pool, TeamRules(2, 2)).cost) == 2


def test_regions_that_nobody_shares_are_bounded_one_by_one_where_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    # In each region the lowest is alone, and all three of them together would still be one too few.
    ratings = [1000.0, 1200.0, 1210.0, 1220.0, *(3000.0 + at for at in range(8))]
    pool = pool_of(
        [[mu] for _ in range(3) for mu in ratings],
        window=([150.0] * 4 + [2000.0] * 8) * 3,
        reach=[1 << region for region in range(3) for _ in ratings],
    )
    rules = TeamRules(2, 2)
    monkeypatch.setattr("evenmatch.numerics.team_limits.ROWS_MOST", len(pool.size) * 7)
    assert closer(pool, rules) == 3 * 8 == 4 * len(team_plan(pool, rules).cost)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 20), st.integers(1, 2)), min_size=1, max_size=9),
    st.integers(2, 5),
)
def test_a_deadline_is_never_earlier_than_a_match_can_reach(tickets: list[tuple[int, int, int]], seats: int) -> None:
    tickets.sort()
    rate, window = (np.array([float(one[at]) for one in tickets]) for at in (0, 1))
    size = np.array([one[2] for one in tickets])
    deadline = np.full(len(rate), 1000.0)
    edge = np.unique(window)
    local_deadlines(rate, size, window, np.searchsorted(edge, window), edge, seats, deadline)
    assert (np.diff(deadline) >= 0).all()
    for low in range(len(rate)):
        for mask in range(1 << (len(rate) - low - 1)):
            group = [low, *(low + 1 + at for at in range(len(rate) - low - 1) if mask >> at & 1)]
            if size[group].sum() == seats and np.ptp(rate[group]) <= (window * size)[group].sum() / seats:
                assert rate[group].max() <= deadline[low] + 1e-9
