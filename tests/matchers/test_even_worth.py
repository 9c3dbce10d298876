"""even for teams: seats first whatever the weights, no match lost in small pools, and what the bounds speak of."""

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import plan_wave
from evenmatch.matchers.even import Even
from evenmatch.matchers.even_pool import seat_worth
from evenmatch.matchers.even_steps import in_words
from evenmatch.matchers.even_worth import SEAT_LEAST, seat_of, seat_values
from evenmatch.numerics.team_field import TeamPool, TeamRules
from tests.reference import teams as reference
from tests.snapshots import snapshot_of

LOST = [
    (
        Format(2, 4),
        [
            *([1383], [1455], [1495], [1604], [1822], [1151, 1201, 1166], [1492, 1335, 1402], [1709], [1563]),
            *([1285, 1364], [1416, 1389], [1420], [1542], [1388], [1615]),
        ],
        [20, 100, 300, 100, 0, 20, 100, 20, 300, 100, 300, 20, 20, 20, 20],
        2,
    ),
    (
        Format(1, 6),
        [
            *([1281, 1156, 1210], [1446], [1473, 1482, 1431], [1502], [1714], [1283], [1624], [1423], [1507]),
            *([1517], [1372], [1360, 1361], [1722]),
        ],
        [100, 100, 300, 100, 100, 0, 100, 0, 20, 300, 0, 100, 0],
        3,
    ),
]


def waiting(form: Format, parties: list[list[float]], waited_s: list[int]) -> Snapshot:
    """These tickets in canonical order, the longest wait first."""
    order = np.argsort(-np.array(waited_s), kind="stable").tolist()
    return snapshot_of(form, [parties[at] for at in order], waited_ms=[1000 * waited_s[at] for at in order])


@pytest.mark.parametrize(("form", "parties", "waited_s", "most"), LOST)
def test_a_small_pool_of_parties_loses_no_match(
    form: Format, parties: list[list[float]], waited_s: list[int], most: int
) -> None:
    found = Even().plan(waiting(form, parties, waited_s))
    assert len(found.rosters) == most
    assert found.details["seats"] == found.details["seats_bound"] == most * form.seats


@pytest.mark.parametrize(
    "weights",
    [
        {"rating_scale": 1, "weight_spread": 1000},
        {"rating_scale": 1, "weight_distribution": 1000},
        {"wait_value": 1000},
        {"weight_imbalance": 1000, "rating_scale": 1},
    ],
)
@pytest.mark.parametrize(("form", "count"), [(Format(2, 2), 12), (Format(2, 4), 40), (Format(2, 5), 434)])
def test_seats_come_first_whatever_the_weights(weights: dict[str, Any], form: Format, count: int) -> None:
    """Half at 1400 and half at 1600: with an odd number of matches one of them is mixed, and dear."""
    ratings = [[1400.0], [1600.0]] * (count // 2)
    found = Even(**weights).plan(snapshot_of(form, ratings, waited_ms=[700_000] * count))
    assert found.details["seats"] == found.details["seats_bound"] == count // form.seats * form.seats
    assert found.details["due_left"] == count % form.seats


def test_a_seat_counts_for_more_than_costs_can_and_by_default_for_what_it_always_did() -> None:
    snapshot = snapshot_of(Format(2, 2), [[1400.0], [1600.0]] * 4)
    usual, dear = Even(), Even(rating_scale=1, weight_spread=1000)
    for matcher in (usual, dear):
        pool, _ = matcher.pool(snapshot)
        seat = seat_of(pool, matcher.weights, matcher.rating_scale, 4, matcher.wait_value)
        worst = matcher._judged(pool, snapshot.format, np.array([[0, 1, 2, 3]]), np.array([[0, 0, 1, 1]]))[1]
        assert 4 * seat > 16 * worst[0]
        assert (seat == SEAT_LEAST) == (matcher is usual)


def best_of(matcher: Even, snapshot: Snapshot) -> tuple[float, float]:
    """The least objective of any plan, by trying all (seats first without hold), and the least cost of as many."""
    pool, _ = matcher.pool(snapshot)
    form = snapshot.format
    seat = seat_of(pool, matcher.weights, matcher.rating_scale, form.seats, matcher.wait_value)
    worth = seat_worth(pool, matcher._hold, matcher.weights, matcher.rating_scale) if matcher.hold else None
    value = seat_values(pool, matcher.wait_value, worth, seat)
    columns = ("size", "start", "mu", "sigma", "window", "reach", "latency", "role_cost")
    given_ = TeamPool(value=value, **{name: getattr(pool, name) for name in columns})
    best, most, least = reference.best(given_, TeamRules(form.teams, form.size))
    return -best if matcher.hold else most * form.seats * seat - best, least[most]


SMALL = st.lists(
    st.tuples(st.lists(st.integers(1400, 1600), min_size=1, max_size=2), st.sampled_from([0, 50, 300, 599])),
    min_size=2,
    max_size=7,
)


@settings(deadline=None, max_examples=80)
@given(SMALL, st.sampled_from([(2, 2), (3, 1), (1, 4)]), st.booleans())
def test_where_all_is_tried_the_gap_is_nothing_and_the_bound_is_the_truth(
    drawn: list[tuple[list[int], int]], shape: tuple[int, int], hold: bool
) -> None:
    form = Format(*shape)
    parties = [[float(mu) for mu in party[: form.size]] for party, _ in drawn]
    snapshot, matcher = waiting(form, parties, [wait for _, wait in drawn]), Even(hold=hold)
    told = matcher.plan(snapshot).details
    objective, least = best_of(matcher, snapshot)
    assert (told["solver"], told["optimality_gap"]) == ("exact", 0)
    assert told["bound"] == told["objective"] == pytest.approx(objective, abs=1e-3)
    if not hold:
        assert told["seats"] == told["seats_bound"]
        assert told["cost_bound"] == pytest.approx(least, abs=1e-3)
        assert ("costs less" in told["words"]) == (told["cost"] <= told["cost_bound"]) or not told["seats"]


def crowd_of(count: int, seed: int) -> Snapshot:
    dice = np.random.default_rng(seed)
    parties = [list(np.rint(dice.normal(1500, 200) + dice.normal(0, 30, dice.integers(1, 3)))) for _ in range(count)]
    return waiting(Format(2, 3), parties, dice.integers(0, 300, count).tolist())


@pytest.mark.parametrize("count", [30, 300])
def test_bounds_of_larger_pools_are_about_the_objective_with_hold_too(count: int) -> None:
    for seed in (1, 2):
        off, on = (Even(hold=hold).plan(crowd_of(count, seed)).details for hold in (False, True))
        for told in (off, on):
            assert told["cost_bound"] <= told["cost"] + 1e-9
            if told["optimality_gap"] is not None:
                assert told["bound"] == pytest.approx(told["objective"] - told["optimality_gap"])
        assert (off["optimality_gap"] is None) == (off["seats"] < off["seats_bound"])
        assert on["optimality_gap"] is not None


def test_a_gap_is_not_told_where_more_might_be_seated() -> None:
    found = Even(work=0, window=20, window_growth=0, window_density=1).plan(crowd_of(100, 5)).details
    assert found["seats"] < found["seats_bound"]
    assert (found["optimality_gap"], found["bound"]) == (None, None)
    assert found["cost_bound"] > 0


def test_pairs_with_hold_have_a_bound_too() -> None:
    dice = np.random.default_rng(3)
    snapshot = snapshot_of(Format(2, 1), [[mu] for mu in np.rint(dice.normal(1500, 200, 40))])
    told = Even(hold=True).plan(snapshot).details
    assert told["optimality_gap"] == 0
    assert told["bound"] == told["objective"] < told["cost"]
    assert told["cost_bound"] is None


@pytest.mark.parametrize("form", [Format(2, 1), Format(2, 5)])
def test_sides_and_roles_together_are_refused_in_words(form: Format) -> None:
    matcher = Even(sides=("attack", "defence"), roles={"tank": 1})
    why = matcher.cannot_seat(form, 1)
    assert why is not None
    assert "sides or roles, not both" in why
    rated = {"ratings.attack": [1500.0] * 4, "ratings.defence": [1500.0] * 4}
    with pytest.raises(MatcherError, match="sides or roles, not both"):
        matcher.plan(snapshot_of(form, [[1500.0]] * 4, facts=rated))


@pytest.mark.parametrize("count", [8, 13, 30, 300])
def test_every_step_of_a_trace_is_put_in_words(count: int) -> None:
    for seed in (1, 2, 3):
        steps = Even(window=60).plan(crowd_of(count, seed), trace=True).trace
        assert all(step["words"].endswith(".") for step in steps)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (
            {"step": "exact", "tickets": 1, "matches": 0},
            "Exact: all plans of 1 ticket were tried; the best has no match.",
        ),
        (
            {"step": "pack", "matches": 1, "seats": 16, "work": 3},
            "Pack: the most matches were looked for exactly, and 1 match more found; at most 16 could be seated.",
        ),
        ({"step": "turns", "moves": 2, "whole": True}, "Turns: 2 times one who goes first took the place of others."),
    ],
)
def test_steps_say_what_they_did(step: dict[str, Any], words: str) -> None:
    assert in_words(step, 8)["words"] == words


def test_the_search_is_told_by_what_it_brought() -> None:
    found = Even().plan(crowd_of(40, 2), trace=True)
    kinds = [step["step"] for step in found.trace]
    assert kinds.count("drafts") == kinds.count("improve") == 1
    drafts, better = (next(step for step in found.trace if step["step"] == kind) for kind in ("drafts", "improve"))
    assert sum(row["times"] for row in drafts["tried"]) == drafts["plans"]
    assert (better["tried"][0]["seats"], better["tried"][0]["behind"]) == (found.details["seats"], 0.0)
    assert better["tried"][0]["cost"] == pytest.approx(found.details["cost"], abs=1e-3)
    assert f"seats {found.details['seats']} players at a cost of " in better["words"]
    assert not {"sweep", "divide", "bench"} & set(kinds)


def test_the_same_pool_gives_the_same_plan() -> None:
    def plan() -> Plan:
        return Even().plan(crowd_of(20, 7))

    one, other = plan(), plan()
    assert np.array_equal(one.rosters, other.rosters)
    assert one.details == other.details


@pytest.mark.parametrize("seed", range(3))
def test_a_few_tickets_more_are_tried_too_where_that_is_little_work(seed: int) -> None:
    dice = np.random.default_rng(seed)
    parties = [list(np.rint(dice.normal(1500, 200) + dice.normal(0, 30, dice.integers(1, 3)))) for _ in range(13)]
    snapshot, matcher = waiting(Format(2, 2), parties, dice.integers(0, 300, 13).tolist()), Even()
    told = matcher.plan(snapshot).details
    objective, least = best_of(matcher, snapshot)
    assert (told["solver"], told["optimality_gap"]) == ("exact", 0)
    assert told["objective"] == pytest.approx(objective, abs=1e-3)
    assert told["cost_bound"] == pytest.approx(least, abs=1e-3)
    assert Even(work=0).plan(snapshot).details["solver"] != "exact"


def test_what_would_be_too_much_to_try_is_searched() -> None:
    snapshot = waiting(Format(3, 3), [[1500.0 + at] for at in range(16)], [0] * 16)
    told = Even().plan(snapshot).details
    assert (told["solver"] in ("teams", "cheap"), told["seats"]) == (True, 9)


@pytest.mark.parametrize("apart", [False, True])
def test_whole_teams_against_whole_teams_are_proven_best(apart: bool) -> None:
    dice = np.random.default_rng(7)
    parties = [list(np.rint(dice.normal(1500, 100) + dice.normal(0, 60, 2))) for _ in range(13)]
    snapshot = waiting(Format(2, 2), parties, dice.integers(0, 300, 13).tolist())
    if apart:
        snapshot = msgspec.structs.replace(snapshot, forbidden=np.array([[0, 1], [2, 3], [5, 9]]))
    matcher = Even()
    told = plan_wave(matcher, snapshot)
    assert (told.details["solver"], told.details["optimality_gap"]) == ("whole_teams", 0)
    assert told.details["seats"] == told.details["seats_bound"]
    if not apart:
        objective, least = best_of(matcher, snapshot)
        assert told.details["objective"] == pytest.approx(objective, abs=1e-3)
        assert told.details["cost_bound"] == pytest.approx(least, abs=1e-3)


def test_a_due_team_takes_its_turn_among_whole_teams() -> None:
    dice = np.random.default_rng(9)
    parties = [[2000.0, 2000.0], *([float(1500 + at)] * 2 for at in dice.integers(0, 300, 20))]
    told = Even().plan(waiting(Format(2, 2), parties, [700, *[0] * 20]))
    assert told.reasons[0] == Reason.SEATED
    assert told.details["due_left"] == 0
