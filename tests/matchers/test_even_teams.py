"""even for teams: bounded overtaking over many waves, and never behind the cheap plans in pools of any size."""

from typing import Any

import msgspec
import numpy as np
import pytest

from evenmatch.bench.contests.even_teams import ROLES, crowd
from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import check_plan, plan_wave
from evenmatch.matchers.even import Even
from evenmatch.matchers.even_pool import Pool
from evenmatch.matchers.even_teams import DRAINED_MAX, START_MAX, cheap_plans
from evenmatch.matchers.even_worth import seat_values
from evenmatch.matchers.registry import build
from evenmatch.numerics.team_field import TeamPool, TeamRules
from tests.reference import teams as reference
from tests.snapshots import snapshot_of


def pool_for(matcher: Even, pool: Pool) -> tuple[TeamPool, Array]:
    """What the plain checker reads, and the places of rows."""
    columns = ("size", "start", "mu", "sigma", "window", "reach", "latency", "role_cost", "met", "level")
    given = {name: getattr(pool, name) for name in columns}
    place = np.full(int(pool.rows.max()) + 1, -1)
    place[pool.rows] = np.arange(len(pool.rows))
    assert matcher.window_policy == "mean"
    return TeamPool(value=np.ones(len(pool.size)), forbidden=pool.apart, **given), place


def passed_over(matcher: Even, snapshot: Snapshot, found: Plan) -> set[int]:
    """Rows that wait though they could sit in the place of later tickets that are not due; by trying all."""
    pool, _ = matcher.pool(snapshot)
    given, place = pool_for(matcher, pool)
    rules = TeamRules(snapshot.format.teams, snapshot.format.size, places=tuple(matcher.roles.values()))
    broken = set()
    for row in np.flatnonzero(found.reasons != Reason.SEATED).tolist():
        ticket = int(place[row])
        for match in found.rosters.tolist():
            members = [int(place[one]) for one in match if one >= 0]
            later = [one for one in members if one > ticket and not pool.level[one]]
            if any(True for _ in reference.could_sit(given, rules, members, ticket, later)):
                broken.add(row)
                break
    return broken


@pytest.mark.parametrize(
    ("form", "parties"), [(Format(2, 2), (1, 1, 2)), (Format(3, 1), (1,)), (Format(2, 3), (1, 2, 3))], ids=str
)
@pytest.mark.parametrize("most", [0, 3])
def test_a_ticket_is_passed_over_no_more_often_than_is_stated(
    form: Format, parties: tuple[int, ...], most: int
) -> None:
    """Waves of newcomers: whoever has been passed over more than K times never is again by one who is not due."""
    dice = np.random.default_rng(form.seats + most)
    matcher = Even(overtaken_most=most, window=40, window_growth=2, window_density=1)
    waiting: list[dict[str, Any]] = []
    passes: dict[int, int] = {}
    number = 0
    for wave in range(40):
        for _ in range(int(dice.integers(1, 2 * form.seats // len(parties) + 1))):
            size = int(dice.choice(parties))
            ratings = list(np.rint(dice.normal(1500, 90) + dice.normal(0, 20, size)))
            waiting.append({"ticket": number, "since": wave, "ratings": ratings, "misses": 0})
            number += 1
        snapshot = snapshot_of(
            form,
            [one["ratings"] for one in waiting],
            ticket=[one["ticket"] for one in waiting],
            waited_ms=[5000 * (wave - one["since"]) for one in waiting],
        )
        misses = np.array([one["misses"] for one in waiting], np.int32)
        snapshot = msgspec.structs.replace(snapshot, misses=misses)
        found = matcher.plan(snapshot)
        assert check_plan(found, snapshot) is None
        due = misses > most
        for row in passed_over(matcher, snapshot, found):
            assert not due[row], (wave, waiting[row])
            passes[waiting[row]["ticket"]] = passes.get(waiting[row]["ticket"], 0) + 1
        seated = found.reasons == Reason.SEATED
        waiting = [one for one, gone in zip(waiting, seated, strict=True) if not gone]
        for one in waiting:
            one["misses"] += int(seated.any())
    assert max(passes.values(), default=0) <= most + 1
    assert number - len(waiting) > number / 2


CROWDS: list[tuple[Format, int, dict[str, Any], dict[str, Any]]] = [
    (Format(2, 2), 800, {}, {}),
    (Format(2, 4), 1_000, {}, {}),
    (Format(2, 4), 1_200, {"shares": (30, 10, 60)}, {}),
    (Format(2, 5), 900, {"regions": 4}, {"latency_cap_ms": 100}),
    (Format(2, 5), 900, {"roles": tuple(ROLES)}, {"roles": ROLES, "off_role": "never"}),
    (Format(2, 5), 900, {"waits_s": (0, 700)}, {"window": 20, "window_policy": "both"}),
    (Format(3, 3), 900, {"shares": (60, 30, 10)}, {"window_policy": "older"}),
    (Format(8, 1), 600, {"shares": (1,)}, {}),
    (Format(1, 30), 700, {}, {"window": 400}),
    (Format(6, 5), 900, {}, {"window": 300}),
    (Format(2, 2), 3_000, {}, {}),
    (Format(1, 30), 3_000, {}, {"window": 400}),
    (Format(1, 100), 3_000, {}, {}),
]


@pytest.mark.parametrize(
    ("form", "players", "about", "parameters"), CROWDS, ids=[f"{c[0]} {at}" for at, c in enumerate(CROWDS)]
)
def test_in_larger_pools_too_it_is_never_behind_the_cheap_plans(
    form: Format, players: int, about: dict[str, Any], parameters: dict[str, Any]
) -> None:
    for seed in (11, 12):
        snapshot, matcher = crowd(form, players, seed, **about), Even(**parameters)
        assert START_MAX < len(snapshot) <= DRAINED_MAX
        ours = matcher.plan(snapshot)
        pool, _ = matcher.pool(snapshot)
        value = seat_values(pool, matcher.wait_value)
        place = np.empty(len(snapshot), np.int64)
        place[pool.rows] = np.arange(len(pool.rows))
        worth = value[place[ours.rosters[ours.rosters >= 0]]].sum() - ours.cost.sum()
        for rosters, _, cost in cheap_plans(snapshot, pool, matcher.judge_of(pool, form)):
            assert len(ours.rosters) >= len(cost)
            assert worth >= value[rosters[rosters >= 0]].sum() - cost.sum() - 1e-6
            if len(cost) * form.seats == players:
                assert ours.cost.sum() <= cost.sum() + 1e-6


@pytest.mark.parametrize("form", [Format(2, 4), Format(2, 5), Format(4, 3), Format(1, 8)], ids=str)
def test_it_is_never_behind_first_come_where_some_must_not_meet(form: Format) -> None:
    matcher, behind = Even(window=100_000), []
    for seed in range(40):
        dice = np.random.default_rng(seed)
        count = int(dice.integers(13, 32))
        sizes = np.where(dice.random(count) < 0.5, 1, dice.integers(1, min(form.size, 5) + 1, count))
        parties = [list(np.rint(dice.normal(1500, 30 * (seed % 2), size))) for size in sizes]
        pairs = dice.integers(0, count, (int(dice.integers(1, 12)), 2))
        snapshot = msgspec.structs.replace(
            snapshot_of(form, parties, waited_ms=[0] * count),
            forbidden=np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0),
        )
        ours, theirs = plan_wave(matcher, snapshot), plan_wave(build("first_come", {}), snapshot)
        legal, cost = matcher.weigh(snapshot, theirs)
        assert len(ours.rosters) >= int(legal.sum())
        if len(ours.rosters) == int(legal.sum()) and ours.cost.sum() > cost[legal].sum() + 1e-6:
            behind.append((seed, float(ours.cost.sum()), float(cost[legal].sum())))
    assert not behind
