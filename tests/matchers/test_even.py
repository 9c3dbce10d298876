"""even: the cases that trip others up, its guarantees, and that it is never behind the other matchers."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch import plan
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import check_plan, plan_wave
from evenmatch.matchers.even import Even
from evenmatch.matchers.even_pairs import solve_pairs
from evenmatch.matchers.even_pool import due_levels
from evenmatch.matchers.explaining import explain_wave
from evenmatch.matchers.registry import build
from tests.snapshots import snapshot_of

DUEL = Format(2, 1)
LONG_MS = 700_000


def duel(ratings: Sequence[float], waited_s: Sequence[float] | float = 0.0, **about: Any) -> Snapshot:
    waits = [waited_s] * len(ratings) if isinstance(waited_s, int | float) else waited_s
    made = snapshot_of(
        DUEL,
        [[rating] for rating in ratings],
        waited_ms=[round(1000 * wait) for wait in waits],
        facts=about.pop("facts", None),
    )
    return msgspec.structs.replace(made, **{name: np.array(value) for name, value in about.items()})


def pairs(found: Plan) -> set[tuple[int, ...]]:
    return {tuple(sorted(row for row in match if row >= 0)) for match in found.rosters.tolist()}


def gaps(snapshot: Snapshot, found: Plan) -> list[float]:
    rating = snapshot.facts["rating"]
    return sorted(abs(float(rating[a] - rating[b])) for a, b in found.rosters.tolist())


def test_a_party_of_two_against_two_single_players_of_its_rating_is_even() -> None:
    found = Even().plan(snapshot_of(Format(2, 2), [[1700, 1700], [1700], [1700]]))
    assert len(found.rosters) == 1
    terms = found.match_details[0]["terms"]
    assert terms["imbalance"] == terms["distribution"] == terms["spread"] == 0
    assert found.match_details[0]["gap"] == 0


@pytest.mark.parametrize("form", [Format(2, 1), Format(2, 2), Format(2, 5)], ids=str)
def test_three_equal_teams_give_exactly_one_match(form: Format) -> None:
    found = Even().plan(snapshot_of(form, [[1500.0] * form.size] * 3))
    assert len(found.rosters) == 1
    assert found.details["seats"] == found.details["seats_bound"] == form.seats


def test_a_pair_that_refuses_each_other_blocks_only_groups_that_hold_both() -> None:
    snapshot = duel([1500, 1500, 1500, 1500], forbidden=[[0, 1]])
    found = plan_wave(Even(), snapshot)
    assert len(found.rosters) == 2
    assert (0, 1) not in pairs(found)
    assert found.details["optimality_gap"] == 0
    both = plan_wave(Even(), duel([1500, 1500], forbidden=[[0, 1]]))
    assert both.reasons.tolist() == [Reason.KEPT_APART] * 2


def test_long_waits_are_paired_with_the_best_worst_case() -> None:
    snapshot = duel([2300, 2000, 2100, 2200, 2300, 2400], 700)
    assert gaps(snapshot, Even().plan(snapshot)) == [100, 100, 100]


def test_the_only_opponent_of_an_outlier_is_not_given_to_a_fresh_player_who_has_others() -> None:
    # The outlier at 2200 has waited long; 2000 is its only opponent. 1990 is nearer to 2000, and has 1950 besides.
    snapshot = duel([2200, 2000, 1990, 1950], [200, 50, 0, 0])
    assert pairs(Even(window_policy="older").plan(snapshot)) == {(0, 1), (2, 3)}


def test_one_opponent_for_two_goes_to_the_one_who_is_due() -> None:
    snapshot = duel([1560, 1500, 1490], [90, 5, 0], misses=[11, 1, 0])
    assert pairs(Even().plan(snapshot)) == {(0, 1)}
    assert pairs(Even(overtaken_most=11).plan(snapshot)) == {(1, 2)}


@pytest.mark.parametrize(("sizes", "matches"), [([3, 2], 1), ([3, 3], 0), ([3, 3, 2, 2], 2), ([5], 1), ([4, 3], 0)])
def test_parties_fill_a_five_exactly_or_not_at_all(sizes: list[int], matches: int) -> None:
    found = Even().plan(snapshot_of(Format(1, 5), [[1500.0] * size for size in sizes]))
    assert len(found.rosters) == matches


def test_all_equal_all_full_parties_and_everyone_blocked() -> None:
    equal = Even().plan(duel([1500] * 101))
    assert len(equal.rosters) == 50
    assert equal.details["cost"] == 0
    full = Even().plan(snapshot_of(Format(2, 3), [[1500.0] * 3] * 7))
    assert len(full.rosters) == 3
    everyone = np.array(list(combinations(range(8), 2)))
    nobody = plan_wave(Even(), duel([1500] * 8, forbidden=everyone))
    assert len(nobody.rosters) == 0
    assert nobody.details["seats_bound"] == 0
    assert set(nobody.reasons.tolist()) == {Reason.KEPT_APART}


def test_a_party_of_two_is_a_lobby_of_two() -> None:
    found = Even().plan(snapshot_of(Format(1, 2), [[1500, 1900], [1500], [1510], [1520, 1500], [1490]]))
    assert sorted(len(match) for match in pairs(found)) == [1, 1, 2]
    assert (0,) in pairs(found)
    assert found.details["optimality_gap"] == 0
    assert check_plan(found, snapshot_of(Format(1, 2), [[1500, 1900], [1500], [1510], [1520, 1500], [1490]])) is None


ROLES = {"tank": 1, "healer": 1}


def wanting(*roles: tuple[str, ...]) -> Snapshot:
    """A crowd of single players in 2x2 that want these roles."""
    made = snapshot_of(Format(2, 2), [[1500.0]] * len(roles))
    return msgspec.structs.replace(made, traits={"roles": roles})


def test_roles_are_given_out_and_a_missing_one_is_paid_for_or_keeps_all_waiting() -> None:
    good = Even(roles=ROLES).plan(wanting(("tank",), ("tank",), ("healer",), ("healer",)))
    assert good.match_details[0]["terms"]["role"] == 0
    assert {tuple(sorted(team)) for team in good.matches[0].teams} <= {(0, 2), (0, 3), (1, 2), (1, 3)}
    played = {one["ticket"]: one["roles"] for one in good.match_details[0]["roles"]}
    assert played == {100: ["tank"], 101: ["tank"], 102: ["healer"], 103: ["healer"]}
    missing = wanting(("tank",), ("tank",), ("tank", "healer"), ("tank",))
    paid = Even(roles=ROLES, off_role=1).plan(missing)
    assert paid.match_details[0]["terms"]["role"] == 1.5
    never = Even(roles=ROLES, off_role="never").plan(missing)
    assert len(never.rosters) == 0
    assert never.details["seats_bound"] in (0, 4)
    anybody = Even(roles=ROLES, off_role="never").plan(wanting((), (), (), ("jungler",)))
    assert anybody.match_details[0]["terms"]["role"] == 0


def test_a_match_says_what_each_player_of_a_party_plays() -> None:
    tickets = [
        {
            "id": "duo",
            "players": [
                {"id": "cy", "rating": 1500, "roles": ["healer"]},
                {"id": "di", "rating": 1500, "roles": ["tank"]},
            ],
        },
        {"id": "ann", "rating": 1500, "roles": ["tank"]},
        {"id": "ben", "rating": 1500, "roles": ["tank", "healer"]},
    ]
    match = plan(tickets, "even", format="2x2", roles=ROLES).matches[0]
    played = {one["ticket"]: one["roles"] for one in match.details["roles"]}
    assert played == {"duo": ["healer", "tank"], "ann": ["tank"], "ben": ["healer"]}
    assert match.details["terms"]["role"] == 0.5


@pytest.mark.parametrize("form", [Format(2, 2), Format(3, 2), Format(1, 4), Format(8, 1)], ids=str)
def test_teams_are_never_behind_the_cheap_plans(form: Format) -> None:
    for seed in range(3):
        dice = np.random.default_rng(seed)
        size = dice.choice(np.arange(1, min(form.size, 3) + 1), 60)
        crowd = snapshot_of(form, [list(dice.normal(1500, 100, many)) for many in size], waited_ms=[0] * 60)
        matcher = Even(window_density=1)
        ours = matcher.plan(crowd)
        theirs = build("first_come", {}).plan(crowd)
        legal, cost = matcher.weigh(crowd, theirs)
        assert len(ours.rosters) >= int(legal.sum())
        if len(ours.rosters) == int(legal.sum()):
            assert ours.cost.sum() <= cost[legal].sum()
        assert ours.details["seats"] <= ours.details["seats_bound"]
        assert ours.details["cost"] >= ours.details["cost_bound"]
        assert check_plan(ours, crowd) is None


def test_a_plan_that_breaks_a_rule_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def reckless(pool: Any, **rules: Any) -> Any:
        return solve_pairs(pool._replace(window=np.full(len(pool.rows), np.inf)), **rules)

    monkeypatch.setattr("evenmatch.matchers.even.solve_pairs", reckless)
    with pytest.raises(MatcherError, match="its plan is refused: match 0 breaks the rule 'window'"):
        Even().plan(duel([1500, 1900]))


SIDES = ("attack", "defence")


def test_sides_are_chosen_for_flexible_players_and_told() -> None:
    nan = float("nan")
    facts = {"ratings.attack": [1500, nan, 1600, nan], "ratings.defence": [nan, 1510, 1590, nan]}
    snapshot = duel([0, 0, 0, 0], facts=facts)
    found = Even(sides=SIDES).plan(snapshot)
    assert pairs(found) == {(0, 1)}
    assert found.match_details[0]["sides"] == {"attack": 100, "defence": 101}
    assert found.match_details[0]["gap"] == 10
    assert found.reasons.tolist()[2:] == [Reason.TOO_FEW_PLAYERS, Reason.CANNOT_PLAY_SIDE]
    two = duel([0, 0], facts={"ratings.attack": [1500, 1700], "ratings.defence": [1000, 1505]})
    assert Even(sides=SIDES).plan(two).match_details[0]["sides"] == {"attack": 100, "defence": 101}


def test_windows_grow_and_whose_counts_is_a_policy() -> None:
    def matched(policy: str, waited: list[float], gap: float) -> bool:
        return len(Even(window_policy=policy).plan(duel([1500, 1500 + gap], waited)).rosters) == 1

    assert matched("both", [0, 0], 100)
    assert not matched("both", [300, 0], 101)
    assert matched("mean", [300, 0], 250)
    assert not matched("mean", [300, 0], 251)
    assert matched("older", [300, 0], 400)
    assert not matched("older", [300, 0], 401)
    assert matched("mean", [600, 0], 5000)
    assert matched("older", [600, 0], 5000)
    assert not matched("both", [10_000, 0], 101)


def test_latencies_are_a_cost_and_caps_a_rule() -> None:
    facts = {"latencies.eu": [20, 25, 150, 160], "latencies.us": [150, 160, 20, 25]}
    near = duel([1500, 1500, 1500, 1500], facts=facts)
    assert pairs(Even().plan(near)) == {(0, 1), (2, 3)}
    apart = duel([1500, 1500], facts={"latencies.eu": [20, 150], "latencies.us": [150, 20]})
    assert len(Even(latency_cap_ms=150).plan(apart).rosters) == 1
    capped = Even(latency_cap_ms=149).plan(apart)
    assert capped.reasons.tolist() == [Reason.TOO_FAR] * 2
    reach = msgspec.structs.replace(duel([1500, 1500, 1500]), reach=np.array([1, 2, 3]))
    found = plan_wave(Even(), reach)
    assert len(found.rosters) == 1
    assert check_plan(found, reach) is None
    assert "rounds" in found.details


def test_who_met_lately_meets_again_only_if_nobody_else_is_there() -> None:
    snapshot = duel([1500, 1500, 1510, 1510], met=[[0, 1], [2, 3]])
    found = Even().plan(snapshot)
    assert not pairs(found) & {(0, 1), (2, 3)}
    again = Even().plan(duel([1500, 1500], met=[[0, 1]]))
    assert again.match_details[0]["terms"]["repeat"] == Even().weight_repeat


def overtaken(snapshot: Snapshot, found: Plan, matcher: Even) -> list[tuple[int, int]]:
    """Due tickets that wait, each with a later ticket that is not due and sits where the due one could."""
    waits = snapshot.waited_ms
    due = (snapshot.misses > matcher.overtaken_most) | (waits >= matcher.outlier_s * 1000)
    broken = []
    for row in np.flatnonzero(due & (found.reasons != Reason.SEATED)).tolist():
        acceptable = set(explain_wave(matcher, snapshot, row).acceptable.tolist())
        for a, b in found.rosters.tolist():
            for taker, other in ((a, b), (b, a)):
                if other in acceptable and not due[taker]:
                    broken.append((row, taker))
    return broken


@settings(deadline=None, max_examples=150)
@given(data=st.data(), policy=st.sampled_from(["mean", "older", "both"]))
def test_nobody_later_sits_where_a_due_ticket_could(data: st.DataObject, policy: str) -> None:
    count = data.draw(st.integers(2, 24))
    many: dict[str, Any] = {"min_size": count, "max_size": count}
    snapshot = duel(
        data.draw(st.lists(st.integers(0, 30).map(lambda n: 1000.0 + 20 * n), **many)),
        data.draw(st.lists(st.sampled_from([0, 10, 60, 300, 650]), **many)),
        misses=np.array(data.draw(st.lists(st.sampled_from([0, 3, 11, 40]), **many)), np.int32),
    )
    matcher = Even(window=20, window_policy=policy)
    assert overtaken(snapshot, matcher.plan(snapshot), matcher) == []


def test_earlier_due_tickets_have_higher_levels() -> None:
    assert due_levels(np.array([True, False, True, True])).tolist() == [3, 0, 2, 1]
    many = due_levels(np.ones(1000, bool))
    assert (many.max(), many.min()) == (64, 1)
    assert (np.diff(many) <= 0).all()


@pytest.mark.parametrize("policy", ["mean", "older"])
def test_outliers_play_within_the_stated_wait_though_newcomers_have_narrow_windows(policy: str) -> None:
    """Every second somebody comes; the top and bottom stay alone till their windows have no limit, and no longer."""
    matcher, dice = Even(window_policy=policy, window_density=1, overtaken_most=5), np.random.default_rng(5)
    waiting = [(0, 3900.0, 0), (0, 100.0, 0)]
    longest = {3900.0: 0, 100.0: 0}
    for now in range(1, 640):
        waiting += [(now, float(dice.normal(1500, 150)), 0) for _ in range(2)]
        waiting.sort()
        snapshot = duel(
            [rating for _, rating, _ in waiting],
            [now - since for since, *_ in waiting],
            misses=np.array([misses for *_, misses in waiting], np.int32),
        )
        seated = matcher.plan(snapshot).reasons == Reason.SEATED
        waiting = [(s, r, m + bool(seated.any())) for (s, r, m), gone in zip(waiting, seated, strict=True) if not gone]
        for since, rating, _ in waiting:
            if rating in longest:
                longest[rating] = now - since
    assert max(longest.values()) <= 600
    assert not {rating for _, rating, _ in waiting} & longest.keys()


def test_thin_neighbourhoods_have_wider_windows() -> None:
    crowd = [1500.0 + n for n in range(60)] + [1900.0, 2020.0]
    assert (60, 61) in pairs(Even().plan(duel(crowd)))
    assert (60, 61) not in pairs(Even(window_density=1).plan(duel(crowd)))


def test_hold_leaves_a_poor_match_where_better_ones_are_to_be_expected() -> None:
    busy = [1500.0 + 3 * n for n in range(40)]
    snapshot = duel([1440.0, *busy, 1690.0], [2.0] * 42)
    now, held = Even().plan(snapshot), Even(hold=True).plan(snapshot)
    assert len(now.rosters) == 21
    assert len(held.rosters) < 21
    assert Reason.HELD in held.reasons
    assert held.cost.max() < now.cost.max()
    lonely = Even(hold=True).plan(duel([1500, 1590], [0, 0], misses=np.array([3, 3], np.int32)))
    assert len(lonely.rosters) == 1
    waited = Even(hold=True).plan(duel([1440.0, *busy, 1690.0], [*[2.0] * 41, 500.0]))
    assert waited.reasons[41] == Reason.SEATED


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_it_seats_at_least_as_many_as_the_others_and_where_equal_costs_no_more(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 30))
    ratings = data.draw(st.lists(st.integers(0, 60).map(lambda n: 1000.0 + 10 * n), min_size=count, max_size=count))
    snapshot = duel(ratings, data.draw(st.lists(st.integers(0, 60), min_size=count, max_size=count)))
    matcher = Even()
    ours = matcher.plan(snapshot)
    for name, parameters in (("first_come", {}), ("exact", {}), ("buckets", {"bucket": 20})):
        theirs = build(name, parameters).plan(snapshot)
        legal = [
            match
            for match in theirs.rosters.tolist()
            if match[1] in explain_wave(matcher, snapshot, match[0]).acceptable.tolist()
        ]
        assert len(ours.rosters) >= len(legal)
        if len(ours.rosters) == len(legal):
            each = [matcher.plan(snapshot.take(np.array(match))).cost.sum() for match in legal]
            assert ours.cost.sum() <= sum(each)


def test_details_and_trace_tell_bounds_and_terms_in_words() -> None:
    found = plan(
        [{"id": name, "rating": rating} for name, rating in (("a", 1500), ("b", 1540), ("c", 1900))], "even", trace=True
    )
    assert found.details["seats"] == found.details["seats_bound"] == 2
    assert found.details["bound"] == found.details["cost"] == found.matches[0].cost
    assert found.details["words"].startswith("2 players are seated, and no plan could seat more.")
    assert [step["step"] for step in found.trace] == ["pool", "solve", "match"]
    assert found.trace[2]["tickets"] == ["a", "b"]
    assert found.trace[2]["words"].startswith("It costs 0.2263: 44% since its players differ in rating, ")
    assert found.unmatched[0].reason == "too_few_players"


def test_why_tells_whom_the_window_keeps_away_and_when_time_will_help() -> None:
    told = explain_wave(Even(), duel([1500, 1700, 1560], [0, 40, 0]), 0)
    assert {rule.name: rule.excluded for rule in told.rules} == {"format": 0, "window": 1}
    assert told.acceptable.tolist() == [2]
    far = explain_wave(Even(), duel([1500, 1700], [0, 40]), 0)
    assert far.nearest is not None
    assert (far.nearest.distance, far.nearest.after_ms) == (200, 80_000)
    assert far.unlock == "a window of 200 rating points"
    assert Even().next_change_ms(duel([1500, 1700], [0, 40])) == 1_000_000 + 80_000
    old = explain_wave(Even(), duel([1500, 5000], [0, 560]), 0)
    assert old.soonest is not None
    assert old.soonest.after_ms == 40_000


@settings(deadline=None, max_examples=60)
@given(
    gap=st.integers(1, 900),
    waits=st.tuples(st.integers(0, 700), st.integers(0, 700)),
    policy=st.sampled_from(["mean", "older", "both"]),
)
def test_the_moment_that_is_told_is_the_moment_of_the_match(gap: int, waits: tuple[int, int], policy: str) -> None:
    matcher = Even(window_policy=policy, window_free_s=650)
    snapshot = duel([1500, 1500 + gap], list(waits))
    near = explain_wave(matcher, snapshot, 0).nearest
    assert near is not None
    assert near.acceptable == (len(matcher.plan(snapshot).rosters) == 1)
    assert near.after_ms is not None
    for early, matches in ((1, 0), (0, 1)):
        if near.after_ms or not early:
            later = duel([1500, 1500 + gap], [wait + (near.after_ms - early) / 1000 for wait in waits])
            assert len(matcher.plan(later).rosters) == matches


BAD: list[tuple[dict[str, Any], str]] = [
    ({"window": -1}, "window must be a number from 0"),
    ({"window_policy": "old"}, "window_policy must be 'mean', 'older' or 'both', not 'old': did you mean 'older'?"),
    ({"window_density": 0.5}, "window_density must be a number from 1"),
    ({"rating_scale": 0}, "rating_scale must be a number from 1"),
    ({"weight_spread": "much"}, "weight_spread must be a number"),
    ({"hold": 1}, "hold must be true or false, not 1"),
    ({"sides": ["one"]}, "sides must be the names of two different sides"),
    ({"roles": {"tank": 0}}, "roles.tank must be a whole number from 1"),
    ({"off_role": "none"}, "off_role must be a number from 0 to 1000 or 'never'"),
    ({"overtaken_most": 1.5}, "overtaken_most must be a whole number"),
    ({"work": -1}, "work must be a whole number from 0"),
]


@pytest.mark.parametrize(("parameters", "words"), BAD, ids=[next(iter(parameters)) for parameters, _ in BAD])
def test_bad_parameters_are_told(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(MatcherError, match=f"^even: {words}"):
        build("even", parameters)


def test_what_it_cannot_play_is_told() -> None:
    with pytest.raises(MatcherError, match="where there are sides, not 2x2"):
        Even(sides=SIDES).plan(snapshot_of(Format(2, 2), [[1500]]))
    with pytest.raises(MatcherError, match="has 2 places for roles"):
        Even(roles={"tank": 1, "healer": 1}).plan(snapshot_of(Format(2, 3), [[1500]]))
    with pytest.raises(MatcherError, match="missing side ratings"):
        Even(sides=SIDES).plan(duel([1500, 1500]))
    with pytest.raises(MatcherError, match="ticket 101: rating must be a number"):
        Even().plan(duel([1500, 1e9]))
    far = duel([0, 1e6] * 2000, 700)
    with pytest.raises(MatcherError, match="use a larger rating_scale or smaller weights"):
        Even(rating_scale=1, weight_spread=1000).plan(far)
