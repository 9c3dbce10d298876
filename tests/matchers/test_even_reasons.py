"""even: who waits is told what really keeps it, alone and as part of a whole match, and what would help."""

from typing import Any

import msgspec
import numpy as np
import pytest

from evenmatch import plan
from evenmatch.domain.match import Reason
from evenmatch.domain.queue import Format
from evenmatch.matchers.contract import plan_wave
from evenmatch.matchers.even import Even
from evenmatch.matchers.explaining import explain_wave
from tests.snapshots import snapshot_of

LOBBY = Format(1, 3)


def reasons(tickets: list[dict[str, Any]], form: str, **parameters: Any) -> dict[str, str]:
    found = plan(tickets, "even", format=form, **parameters)
    return {one.ticket: one.reason for one in found.unmatched}


def test_neighbours_who_are_no_match_as_a_whole_are_told_of_windows_and_not_of_a_better_plan() -> None:
    snapshot = snapshot_of(LOBBY, [[1500], [1590], [1680]], waited_ms=[0, 0, 0])
    assert Even().plan(snapshot).reasons.tolist() == [Reason.NO_OPPONENT_IN_WINDOW] * 3


@pytest.mark.parametrize("policy", ["mean", "older", "both"])
@pytest.mark.parametrize("row", range(3))
def test_why_tells_when_time_alone_makes_a_match_of_more_than_two(row: int, policy: str) -> None:
    waits = [20_000, 10_000, 0]
    matcher = Even(window_policy=policy)
    snapshot = snapshot_of(LOBBY, [[1500], [1590], [1680]], waited_ms=waits)
    told = explain_wave(matcher, snapshot, row)
    assert told.unlock == "windows that let a match span 180 rating points"
    assert told.unlock_ms is not None
    for early, matches in ((1, 0), (0, 1)):
        later = [wait + told.unlock_ms - early for wait in waits]
        assert len(matcher.plan(snapshot_of(LOBBY, [[1500], [1590], [1680]], waited_ms=later)).rosters) == matches


def test_two_others_who_must_not_meet_are_a_rule_that_is_told() -> None:
    four = snapshot_of(Format(2, 2), [[1500.0]] * 4)
    apart = msgspec.structs.replace(four, forbidden=np.array([[0, 1]]))
    assert plan_wave(Even(), apart).reasons.tolist() == [Reason.KEPT_APART] * 4
    told = explain_wave(Even(), apart, 2)
    assert {rule.name: rule.excluded for rule in told.rules}["others_apart"] == 1
    assert told.unlock is not None
    assert "1 more player" in told.unlock
    assert "block" in told.unlock
    fifth = msgspec.structs.replace(snapshot_of(Format(2, 2), [[1500.0]] * 5), forbidden=np.array([[0, 1]]))
    assert explain_wave(Even(), fifth, 2).unlock is None


@pytest.mark.parametrize(("form", "count"), [("2x1", 3), ("2x2", 5), ("1x2", 3), ("1x3", 4)])
def test_one_too_many_is_told_the_same_in_every_format(form: str, count: int) -> None:
    tickets: list[dict[str, Any]] = [{"id": str(at), "rating": 1500} for at in range(count)]
    assert list(reasons(tickets, form).values()) == ["too_few_players"]


@pytest.mark.parametrize("form", ["2x1", "2x2", "1x3"])
def test_who_is_left_with_too_few_is_told_so_and_not_of_windows(form: str) -> None:
    seats = Format(int(form[0]), int(form[2])).seats
    tickets: list[dict[str, Any]] = [{"id": str(at), "rating": 1500} for at in range(seats)]
    assert reasons([*tickets, {"id": "far", "rating": 2500}], form) == {"far": "too_few_players"}
    others = [{"id": f"far {at}", "rating": 2500 + 1000 * at} for at in range(seats)]
    assert set(reasons([*tickets, *others], form).values()) == {"no_opponent_in_window"}


def test_one_side_alone_is_told_that_the_other_side_is_missing() -> None:
    tickets: list[dict[str, Any]] = [{"id": str(at), "ratings": {"a": 1500}} for at in range(2)]
    assert set(reasons(tickets, "2x1", sides=["a", "b"]).values()) == {"side_missing"}
    far = [*tickets, {"id": "far", "ratings": {"b": 2500}}]
    assert set(reasons(far, "2x1", sides=["a", "b"]).values()) == {"no_opponent_in_window"}
    flexible = [tickets[0], {"id": "both", "ratings": {"a": 1500, "b": 1500}}]
    assert not reasons(flexible, "2x1", sides=["a", "b"])


def test_who_is_held_is_told_what_would_be_accepted_and_when() -> None:
    waits = [2000] * 12
    ratings = [1500, 1590, *range(1000, 1030, 6), *range(1900, 1930, 6)]
    matcher = Even(hold=True, window_density=1)

    def after(more_ms: int) -> list[int]:
        made = snapshot_of(Format(2, 1), [[rating] for rating in ratings], waited_ms=[w + more_ms for w in waits])
        return [int(reason) for reason in matcher.plan(made).reasons[:2]]

    snapshot = snapshot_of(Format(2, 1), [[rating] for rating in ratings], waited_ms=waits)
    assert after(0) == [Reason.HELD] * 2
    told = explain_wave(matcher, snapshot, 0)
    assert told.unlock is not None
    assert told.unlock.startswith("a match that costs ")
    assert "or a wait until one that costs 0.578 will do" in told.unlock
    assert told.unlock_ms is not None
    assert 0 < told.unlock_ms <= 600_000
    due = msgspec.structs.replace(snapshot, waited_ms=snapshot.waited_ms + 600_000)
    assert explain_wave(matcher, due, 0).unlock is None


def test_a_team_that_is_held_is_told_what_a_players_part_may_cost() -> None:
    made = snapshot_of(Format(2, 2), [[1500], [1590], [1500], [1590]], waited_ms=[1000] * 4)
    told = explain_wave(Even(hold=True, seat_value=0.01), made, 0)
    assert told.unlock == (
        "a match that costs 0.0125 a player or less, 11 more waves that match others and not it, or a wait of 600 s"
    )
    assert told.unlock_ms == 599_000


def test_of_those_whom_a_held_ticket_could_meet_the_cheapest_is_told_and_not_the_nearest() -> None:
    made = snapshot_of(
        Format(2, 1), [[1500], [1510], [1530]], waited_ms=[1000] * 3, facts={"ping_ms": [0.0, 900.0, 0.0]}
    )
    matcher = Even(hold=True, seat_value=0.01, window_density=1)
    alone = Even().plan(made.take(np.array([0, 2]))).cost[0]
    told = explain_wave(matcher, made, 0).unlock
    assert told is not None
    assert f"one that costs {alone:.3g} will do" in told


def test_parties_that_fill_no_team_are_told_how_many_single_players_would_help() -> None:
    told = explain_wave(Even(), snapshot_of(Format(2, 5), [[1500.0] * 3] * 4), 0)
    assert told.unlock == "4 more single players"  # two beside each three
    assert len(told.acceptable) == 3
    single = explain_wave(Even(), snapshot_of(Format(2, 5), [[1500.0]] * 4), 0)
    assert single.unlock == "6 more players"
    enough = snapshot_of(Format(2, 5), [[1500.0] * 3, [1500.0] * 3, [1500.0] * 2, [1500.0] * 2])
    assert explain_wave(Even(), enough, 0).unlock is None


def test_who_is_missing_is_told_with_what_they_must_bring() -> None:
    far = snapshot_of(Format(2, 1), [[1500.0], [1500.0]])
    far = msgspec.structs.replace(far, reach=np.array([1, 2]), regions=("eu", "us"))
    capped = explain_wave(Even(), far, 0).unlock
    assert capped is not None
    assert capped.startswith("a nearer region, within the latency cap for both, or 1 more player")
    groups = snapshot_of(Format(2, 1), [[1500.0], [1500.0]], group=[0, 1])
    assert (
        explain_wave(Even(), groups, 0).unlock == "1 more player, with the same attributes where the queue requires it"
    )
    near = {"latencies.eu": [10.0, 10.0, 10.0, 300.0], "latencies.us": [300.0, 300.0, 300.0, 10.0]}
    four = snapshot_of(Format(2, 2), [[1500.0]] * 4, facts=near)
    four = msgspec.structs.replace(four, regions=("eu", "us"))
    told = [explain_wave(Even(latency_cap_ms=80), four, row).unlock for row in (0, 3)]
    assert told == [f"{many} within 80 ms of a region of its own" for many in ("1 more player", "3 more players")]
