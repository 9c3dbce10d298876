"""Plans of teams: legal, as good as brute force where that can be asked, and the cases that trip others up."""

import numpy as np
import pytest
from hypothesis import given, settings

from evenmatch.numerics import threads
from evenmatch.numerics.match_terms import UNITS
from evenmatch.numerics.team_field import BOTH, MEAN, OLDER, TeamPool, TeamRules
from evenmatch.numerics.team_plan import TeamPlan, searched_plan, team_plan
from tests.numerics.team_pools import SEAT, crowd, pool_of, small_pools
from tests.reference import teams as reference


def teams_of(plan: TeamPlan, match: int, teams: int) -> list[tuple[int, ...]]:
    row = list(zip(plan.rosters[match].tolist(), plan.team_of[match].tolist(), strict=True))
    return [tuple(ticket for ticket, side in row if side == team) for team in range(teams)]


def assert_sound(pool: TeamPool, rules: TeamRules, plan: TeamPlan) -> None:
    """Every rule kept, every cost true, nothing on the wrong side of a bound."""
    seated = plan.rosters[plan.rosters >= 0]
    assert len(np.unique(seated)) == len(seated)
    assert ((plan.rosters >= 0) == (plan.team_of >= 0)).all()
    for match in range(len(plan.cost)):
        teams = teams_of(plan, match, rules.teams)
        assert [int(pool.size[list(team)].sum()) for team in teams] == [rules.size] * rules.teams
        assert reference.legal(pool, rules, tuple(sorted(one for team in teams for one in team)))
        if rules.size <= 6:
            assert plan.cost[match] == pytest.approx(reference.cost(pool, rules, teams), abs=2 / UNITS)
    assert int(pool.size[seated].sum()) <= plan.seats_bound
    assert plan.cost_bound <= plan.cost.sum() + 1e-9


@settings(deadline=None, max_examples=150)
@given(small_pools())
def test_a_few_tickets_get_the_best_plan_there_is(drawn: tuple[TeamPool, TeamRules]) -> None:
    pool, rules = drawn
    plan = team_plan(pool, rules)
    assert_sound(pool, rules, plan)
    worth, most, least = reference.best(pool, rules)
    rounding = 2 * max(1, most) / UNITS
    assert reference.worth(pool, plan.rosters, plan.cost) == pytest.approx(worth, abs=rounding)
    assert plan.seats_bound == most * rules.teams * rules.size
    assert plan.cost_bound == pytest.approx(least[len(plan.cost)], abs=rounding)


@settings(deadline=None, max_examples=150)
@given(small_pools())
def test_the_search_is_sound_and_never_above_the_best(drawn: tuple[TeamPool, TeamRules]) -> None:
    pool, rules = drawn
    plan = searched_plan(pool, rules)
    assert_sound(pool, rules, plan)
    worth, most, _ = reference.best(pool, rules)
    assert reference.worth(pool, plan.rosters, plan.cost) <= worth + 2 * max(1, most) / UNITS


SHAPES = [(2, 2, (70, 30)), (2, 3, (70, 20, 10)), (3, 2, (60, 40)), (2, 4, (50, 20, 20, 10)), (1, 5, (40, 30, 20, 10))]


@pytest.mark.parametrize(("teams", "size", "shares"), SHAPES)
def test_on_twelve_tickets_the_search_loses_little(teams: int, size: int, shares: tuple[float, ...]) -> None:
    matches, best_matches, found, best = 0, 0, 0.0, 0.0
    for seed in range(40):
        pool = crowd(12, size, shares=shares, seed=seed, window=(200.0, 600.0))
        rules = TeamRules(teams, size)
        exact, searched = team_plan(pool, rules), searched_plan(pool, rules)
        assert_sound(pool, rules, searched)
        assert reference.worth(pool, searched.rosters, searched.cost) <= (
            reference.worth(pool, exact.rosters, exact.cost) + 1e-6
        )
        matches, best_matches = matches + len(searched.cost), best_matches + len(exact.cost)
        if len(searched.cost) == len(exact.cost):
            found, best = found + searched.cost.sum(), best + exact.cost.sum()
    assert matches >= 0.97 * best_matches
    assert found <= 1.1 * best


CROWDS = [
    ((2, 4), {}),
    ((2, 5), {"regions": 4}),
    ((2, 5), {"roles": 5}),
    ((2, 5), {"roles": 5, "regions": 3}),
    ((3, 3), {"shares": (50, 30, 20)}),
    ((4, 4), {}),
    ((8, 1), {"shares": (1,)}),
    ((1, 30), {}),
    ((6, 5), {}),
    ((2, 9), {}),
]


@pytest.mark.parametrize("policy", [MEAN, OLDER, BOTH])
@pytest.mark.parametrize(("form", "about"), CROWDS)
def test_every_format_and_rule_gives_a_sound_plan(form: tuple[int, int], about: dict[str, object], policy: int) -> None:
    pool = crowd(240, form[1], **about)  # type: ignore[arg-type]
    places = (1,) * 5 if "roles" in about else ()
    rules = TeamRules(*form, policy=policy, places=places, work=100_000)
    plan = team_plan(pool, rules)
    assert_sound(pool, rules, plan)
    assert int(pool.size[plan.rosters[plan.rosters >= 0]].sum()) >= 0.7 * plan.seats_bound


@pytest.mark.parametrize("work", [0, 1_000, 50_000])
def test_the_same_pool_and_budget_give_the_same_plan_and_any_budget_a_sound_one(work: int) -> None:
    pool, rules = crowd(400, 4, regions=3), TeamRules(2, 4, work=work)
    one, other = team_plan(pool, rules), team_plan(pool, rules)
    assert_sound(pool, rules, one)
    assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("rosters", "team_of", "cost"))
    assert len(one.cost) > 0


def test_it_is_never_behind_a_plan_that_it_starts_from() -> None:
    pool, rules = crowd(300, 4), TeamRules(2, 4, work=0)
    better = team_plan(pool, rules._replace(work=2_000_000))
    assert reference.worth(pool, better.rosters, better.cost) > reference.worth(pool, *_bare(team_plan(pool, rules)))
    again = team_plan(pool, rules, better.rosters)
    assert_sound(pool, rules, again)
    assert reference.worth(pool, *_bare(again)) >= reference.worth(pool, *_bare(better)) - 1e-6


def test_matches_of_a_start_that_break_a_rule_are_left_out() -> None:
    pool, rules = pool_of([[1000.0], [3000.0]] * 10, window=100.0), TeamRules(2, 1)
    start = np.array([[0, 1], [2, 4], [6, 19], [0, 2]])
    plan = searched_plan(pool, rules, start)
    assert_sound(pool, rules, plan)
    assert len(plan.cost) == 10


def _bare(plan: TeamPlan) -> tuple[np.ndarray, np.ndarray]:
    return plan.rosters, plan.cost


# Cases that trip others up.


@pytest.mark.parametrize("plan_of", [team_plan, searched_plan])
class TestCases:
    def test_three_and_two_fill_a_five_and_two_threes_do_not(self, plan_of) -> None:  # type: ignore[no-untyped-def]
        rules = TeamRules(2, 5)
        fits = pool_of([[1500.0] * size for size in (3, 2, 3, 2)])
        assert len(plan_of(fits, rules).cost) == 1
        never = plan_of(pool_of([[1500.0] * 3] * 8), rules)
        assert (len(never.cost), never.seats_bound) == (0, 0)

    def test_three_equal_teams_give_exactly_one_match_of_two(self, plan_of) -> None:  # type: ignore[no-untyped-def]
        plan = plan_of(pool_of([[1500.0] * 5] * 3), TeamRules(2, 5))
        assert plan.rosters.tolist() == [[0, 1]]
        assert plan.seats_bound == 10
        assert plan.cost_bound == plan.cost.sum() == 0

    def test_one_missing_role_keeps_everybody_waiting(self, plan_of) -> None:  # type: ignore[no-untyped-def]
        healer_missing = [[0.0, np.inf]] * 12
        pool = pool_of([[1500.0]] * 12, roles=healer_missing)
        assert len(plan_of(pool, TeamRules(2, 2, places=(1, 1))).cost) == 0
        one_healer = pool_of([[1500.0]] * 12, roles=[[np.inf, 0.0], *healer_missing[1:]])
        assert len(plan_of(one_healer, TeamRules(2, 2, places=(1, 1))).cost) == 0
        two_healers = pool_of([[1500.0]] * 12, roles=[[np.inf, 0.0]] * 2 + healer_missing[2:])
        plan = plan_of(two_healers, TeamRules(2, 2, places=(1, 1)))
        assert len(plan.cost) == 1
        assert plan.cost.sum() == 0

    def test_where_everybody_refuses_everybody_nobody_plays(self, plan_of) -> None:  # type: ignore[no-untyped-def]
        everybody = [(one, other) for one in range(12) for other in range(one)]
        plan = plan_of(pool_of([[1500.0]] * 12, forbidden=everybody), TeamRules(2, 2))
        assert len(plan.cost) == 0

    def test_a_pair_that_refuses_each_other_keeps_only_itself_apart(self, plan_of) -> None:  # type: ignore[no-untyped-def]
        plan = plan_of(pool_of([[1500.0]] * 12, forbidden=[(0, 1)]), TeamRules(2, 3))
        assert len(plan.cost) == 2
        assert not any({0, 1} <= set(match) for match in plan.rosters.tolist())

    def test_all_parties_of_full_size_meet_by_rating(self, plan_of) -> None:  # type: ignore[no-untyped-def]
        pool = pool_of([[mu] * 5 for mu in (1900.0, 1000.0, 1600.0, 1300.0, 1905.0, 1010.0, 1590.0, 1310.0)])
        plan = plan_of(pool, TeamRules(2, 5))
        assert plan.rosters.tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]

    def test_equal_ratings_seat_everybody_at_no_cost(self, plan_of) -> None:  # type: ignore[no-untyped-def]
        plan = plan_of(pool_of([[1500.0]] * 12), TeamRules(2, 3))
        assert (len(plan.cost), plan.cost.sum(), plan.cost_bound) == (2, 0.0, 0.0)

    def test_who_has_waited_longer_is_seated_where_not_all_can_be(self, plan_of) -> None:  # type: ignore[no-untyped-def]
        value = [SEAT + 10 * at for at in range(11)]
        plan = plan_of(pool_of([[1500.0]] * 11, value=value), TeamRules(2, 2))
        assert sorted(plan.rosters.ravel().tolist()) == list(range(3, 11))

    def test_a_match_that_costs_more_than_it_seats_is_not_made(self, plan_of) -> None:  # type: ignore[no-untyped-def]
        pool = pool_of([[1000.0], [1000.0], [1000.0], [2000.0]], value=[0.5] * 4)
        assert len(plan_of(pool, TeamRules(2, 1)).cost) == 1

    def test_nobody_and_too_few_are_no_trouble(self, plan_of) -> None:  # type: ignore[no-untyped-def]
        assert len(plan_of(pool_of([]), TeamRules(2, 5)).cost) == 0
        assert len(plan_of(pool_of([[1500.0]] * 3), TeamRules(2, 5)).cost) == 0


def test_a_lobby_has_one_team_and_all_against_all_has_one_player_a_team() -> None:
    lobby = team_plan(pool_of([[1500.0 + at] for at in range(20)]), TeamRules(1, 10))
    assert set(lobby.team_of.ravel().tolist()) == {0}
    everybody = team_plan(pool_of([[1500.0 + at] for at in range(16)]), TeamRules(8, 1))
    assert [sorted(match) for match in everybody.team_of.tolist()] == [list(range(8))] * 2


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (TeamRules(0, 2), "1 to 127 teams of at least one player, not 0x2"),
        (TeamRules(200, 1), "not 200x1"),
        (TeamRules(2, 2, policy=7), "not 7"),
        (TeamRules(2, 2, places=(1, 2)), "a team of 2 needs as many places for roles, not 3"),
        (TeamRules(2, 2, places=(1, 1)), "prices are for 0 roles, and a team has 2"),
    ],
)
@pytest.mark.parametrize("plan_of", [team_plan, searched_plan])
def test_rules_that_make_no_sense_are_refused_in_words(plan_of, rules: TeamRules, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=words):
        plan_of(pool_of([[1500.0]] * 4), rules)


def test_columns_of_the_wrong_length_are_named() -> None:
    pool = pool_of([[1500.0, 1500.0]] * 3)
    with pytest.raises(ValueError, match="window must have 3 rows for 3 tickets of 6 players, not 2"):
        team_plan(pool._replace(window=np.zeros(2)), TeamRules(2, 2))
    with pytest.raises(ValueError, match="mu must have 6 rows"):
        team_plan(pool._replace(mu=np.zeros(3)), TeamRules(2, 2))


def test_threads_change_nothing() -> None:
    pool, rules, before = crowd(6_000, 4), TeamRules(2, 4, work=0), threads.count()
    plans = []
    for count in (1, 3):
        threads.use(count)
        plans.append(team_plan(pool, rules))
    threads.use(before)
    assert len(plans[0].cost) > 1_000
    assert all(np.array_equal(*(getattr(plan, name) for plan in plans)) for name in ("rosters", "team_of", "cost"))
    assert plans[0].steps == plans[1].steps
