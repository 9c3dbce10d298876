"""The most matches of a small pool: what is listed is all there is, and as many are found as by trying everything."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from evenmatch.numerics.team_bounds import seats_bound, spans
from evenmatch.numerics.team_codes import Codes, codes_of
from evenmatch.numerics.team_field import Field, TeamPool, TeamRules, field_of
from evenmatch.numerics.team_pack import MATCHES_MAX, list_matches, pack, packed
from evenmatch.numerics.team_plan import searched_plan
from tests.numerics.team_pools import crowd, pool_of, small_pools
from tests.reference import teams as reference

MUCH = 10**6


def parts(pool: TeamPool, rules: TeamRules) -> tuple[Field, Codes, bool]:
    """The field, its codes, and whether sizes do not tell if a match can be divided."""
    field = field_of(pool, rules)
    codes = codes_of(rules.teams, rules.size, np.unique(field.size).tolist())
    return field, codes, not codes.exact or not np.isfinite(field.off).all()


@settings(deadline=None, max_examples=150)
@given(small_pools())
def test_all_matches_are_listed_and_the_most_are_found(drawn: tuple[TeamPool, TeamRules]) -> None:
    pool, rules = drawn
    field, codes, check = parts(pool, rules)
    bound = seats_bound(field)
    true = {
        group
        for group in reference.all_matches(pool, rules)
        if all(bound.usable[np.flatnonzero(field.elder == one)[0]] for one in group)
    }
    (places,) = np.nonzero(bound.usable)
    masks, first = np.zeros(MATCHES_MAX, np.int64), np.zeros(len(places) + 1, np.int64)
    span = spans(field, bound.usable)
    whole, _ = list_matches(field, codes.players, codes.step, places, span, True, MUCH, masks, first)
    listed = [
        tuple(sorted(field.elder[places[[at for at in range(len(places)) if mask >> at & 1]]].tolist()))
        for mask in masks[: first[-1]].tolist()
    ]
    assert whole
    assert sorted(listed) == sorted(true)
    _, most, _ = reference.best(pool, rules)
    found = packed(field, codes, bound.usable, len(pool.size), check, MUCH)
    assert len(found.rosters) == found.most == most
    for match in found.rosters:
        assert tuple(sorted(field.elder[match[match >= 0]].tolist())) in true


def most_apart(masks: list[int]) -> int:
    """The most masks without a common bit, by trying all."""

    @cache
    def solve(at: int, used: int) -> int:
        if at == len(masks):
            return 0
        without = solve(at + 1, used)
        return max(without, 1 + solve(at + 1, used | masks[at])) if not masks[at] & used else without

    return solve(0, 0)


@pytest.mark.parametrize("seed", range(40))
def test_any_sets_are_packed_as_well_as_can_be(seed: int) -> None:
    dice = np.random.default_rng(seed)
    count, seats = int(dice.integers(6, 16)), int(dice.integers(2, 5))
    sets = [sum(1 << int(at) for at in dice.choice(count, seats, replace=False)) for _ in range(14)]
    by_lowest = sorted(set(sets), key=lambda mask: (mask & -mask, mask))
    first = [sum((mask & -mask) < 1 << at for mask in by_lowest) for at in range(count + 1)]
    chosen = np.zeros(count + 1, np.int64)
    ones = np.ones(count, np.int64)
    given_ = np.array(by_lowest, np.int64), np.array(first, np.int64), ones
    most = most_apart(by_lowest)
    made, high, steps = pack(*given_, seats, count, MUCH, chosen)
    assert made == high == most
    masks = chosen[:made].tolist()
    assert set(masks) <= set(by_lowest)
    assert not any(one & other for one, other in combinations(masks, 2))
    few, at_most, _ = pack(*given_, seats, count, steps // 3, chosen)
    assert few <= most <= at_most
    assert pack(*given_, seats, 1, MUCH, chosen)[:2] == (1, 1)


def test_a_list_that_is_cut_proves_nothing_and_work_bounds_all() -> None:
    pool, rules = crowd(40, 4, shares=(90, 10)), TeamRules(2, 4)
    field, codes, check = parts(pool, rules)
    usable = seats_bound(field).usable
    found = packed(field, codes, usable, 10, check, 2_000)
    assert found.most is None
    assert found.work <= 4_000
    none = packed(field, codes, usable, 10, check, 0)
    assert (len(none.rosters), none.most) == (0, None)


def test_a_match_that_sweeps_lose_is_found_where_seats_come_first() -> None:
    parties = [[1281, 1156, 1210], [1446], [1473, 1482, 1431], [1502], [1714], [1283], [1624], [1423], [1507], [1517]]
    parties += [[1372], [1360, 1361], [1722]]
    window = [200, 200, 400, 200, 200, 100, 200, 100, 120, 400, 100, 200, 100]
    pool, rules = pool_of(parties, window=window), TeamRules(1, 6, work=150_000)
    assert len(searched_plan(pool, rules).cost) == 2
    plan = searched_plan(pool, rules, seats_first=True)
    assert len(plan.cost) == 3
    assert plan.seats_bound == 18
    assert [step["matches"] for step in plan.steps if step["step"] == "pack"] == [1]
    assert np.array_equal(plan.rosters, searched_plan(pool, rules, seats_first=True).rosters)


def test_of_small_pools_nearly_all_are_solved_for_seats() -> None:
    open_, lost = 0, 0
    for seed in range(60):
        pool = crowd(12, 3, shares=(50, 25, 25), seed=seed, window=(150.0, 500.0))
        rules = TeamRules(2, 3)
        plan = searched_plan(pool, rules, seats_first=True)
        _, most, _ = reference.best(pool, rules)
        lost += most - len(plan.cost)
        open_ += len(plan.cost) * 6 < plan.seats_bound
    assert (lost, open_) == (0, 0)
