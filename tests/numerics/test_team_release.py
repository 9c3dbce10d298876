"""A match more by releasing seated tickets: where roles are missing it is found, and nobody loses a seat."""

import pytest

from evenmatch.numerics.team_plan import TeamRules, team_plan
from tests.numerics.team_pools import crowd
from tests.numerics.test_team_plan import assert_sound


def moves_of(steps: tuple[dict[str, object], ...], name: str) -> int:
    return sum(int(step["moves"]) for step in steps if step["step"] == name)  # type: ignore[call-overload]


@pytest.mark.parametrize("about", [{"roles": 5}, {"roles": 5, "regions": 3}], ids=["roles", "roles and regions"])
def test_where_roles_are_missing_it_makes_matches_more(about: dict[str, int]) -> None:
    made, seats, bound = 0, 0, 0
    for seed in range(4):
        pool = crowd(600, 5, seed=seed, window=(150.0, 400.0), **about)  # type: ignore[arg-type]
        rules = TeamRules(2, 5, places=(1,) * 5, work=150_000)
        plan = team_plan(pool, rules)
        assert_sound(pool, rules, plan)
        made += moves_of(plan.steps, "release")
        seats, bound = seats + 10 * len(plan.cost), bound + plan.seats_bound
    assert made > 0
    assert seats >= 0.97 * bound


def test_nobody_loses_a_seat_by_it() -> None:
    """With the budget of the sweeps alone and with more: whoever is released is seated again, so seats only rise."""
    pool = crowd(600, 5, seed=2, window=(150.0, 400.0), roles=5)
    rules = TeamRules(2, 5, places=(1,) * 5, work=0)
    before, after = team_plan(pool, rules), team_plan(pool, rules._replace(work=150_000))
    assert moves_of(after.steps, "release") > 0
    assert len(after.cost) >= len(before.cost) + moves_of(after.steps, "release")
