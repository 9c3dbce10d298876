"""even: more cases of the kind that trips matchers up, each small enough to be seen through by hand."""

from itertools import combinations
from typing import Any

import msgspec
import numpy as np
import pytest

from evenmatch import plan
from evenmatch.domain.match import Reason
from evenmatch.domain.queue import Format
from evenmatch.errors import TicketError
from evenmatch.matchers.even import Even
from evenmatch.matchers.explaining import explain_wave
from tests.snapshots import snapshot_of

LONG_MS = 700_000


def test_a_pair_of_extremes_balances_a_pair_of_middling_players() -> None:
    found = Even(window=1000).plan(snapshot_of(Format(2, 2), [[1200], [1400], [1600], [1800]]))
    teams = {tuple(sorted(found.rosters[0, found.team_of[0] == team].tolist())) for team in (0, 1)}
    assert teams == {(0, 3), (1, 2)}
    assert found.match_details[0]["terms"]["imbalance"] == 0


def test_two_premades_meet_each_other_and_not_single_players() -> None:
    parties = [[1500, 1500], [1500], [1500, 1500], [1500], [1500], [1500]]
    found = Even().plan(snapshot_of(Format(2, 2), parties))
    assert {tuple(row[row >= 0].tolist()) for row in found.rosters} == {(0, 2), (1, 3, 4, 5)}
    assert found.cost.tolist() == [0, 0]


@pytest.mark.parametrize("sizes", [[4, 4, 1], [3, 3, 3, 1], [4, 3, 3], [5, 4], [2, 2, 2, 2, 2]])
def test_ten_players_whose_parties_do_not_pack_wait(sizes: list[int]) -> None:
    found = Even().plan(snapshot_of(Format(2, 5), [[1500.0] * size for size in sizes]))
    assert len(found.rosters) == 0
    assert found.details["seats"] == 0


@pytest.mark.parametrize("sizes", [[4, 1, 3, 2], [5, 5], [3, 2, 3, 1, 1], [4, 4, 1, 1], [5, 2, 2, 1]])
def test_ten_players_whose_parties_pack_play(sizes: list[int]) -> None:
    found = Even().plan(snapshot_of(Format(2, 5), [[1500.0] * size for size in sizes]))
    assert len(found.rosters) == 1
    assert found.details["seats"] == found.details["seats_bound"] == 10


def test_one_blocked_pair_costs_no_seat_where_there_is_another_way() -> None:
    snapshot = snapshot_of(Format(2, 1), [[1500], [1500], [1600], [1600]])
    barred = msgspec.structs.replace(snapshot, forbidden=np.array([[0, 1]]))
    found = Even(window=200).plan(barred)
    assert found.details["seats"] == 4
    assert all(sorted(match) != [0, 1] for match in found.rosters.tolist())


def test_everyone_blocks_everyone_in_teams_too() -> None:
    snapshot = snapshot_of(Format(2, 2), [[1500]] * 6)
    pairs = np.array(list(combinations(range(6), 2)))
    found = Even().plan(msgspec.structs.replace(snapshot, forbidden=pairs))
    assert len(found.rosters) == 0
    assert set(found.reasons.tolist()) == {int(Reason.KEPT_APART)}


def test_one_player_too_many_leaves_the_one_who_costs_the_most_and_not_a_long_waiter() -> None:
    ratings = [[1500], [1510], [1590]]
    fresh = Even().plan(snapshot_of(Format(2, 1), ratings))
    assert fresh.rosters.tolist() == [[0, 1]]
    waited = Even().plan(snapshot_of(Format(2, 1), ratings, waited_ms=[0, 0, LONG_MS]))
    assert 2 in waited.rosters[0]


def test_a_small_pool_says_why_a_cheaper_plan_was_not_taken() -> None:
    ratings = [[1500], [1510], [1520], [1500], [1590]]
    fresh = Even().plan(snapshot_of(Format(2, 2), ratings))
    assert (fresh.details["solver"], fresh.details["optimality_gap"]) == ("exact", 0)
    waited = Even().plan(snapshot_of(Format(2, 2), ratings, waited_ms=[0, 0, 0, 0, LONG_MS]))
    assert waited.details["optimality_gap"] == 0
    assert waited.details["cost"] > waited.details["cost_bound"] == fresh.details["cost"]
    assert (
        "All plans were tried: those that cost less leave out somebody who has waited longer."
        in waited.details["words"]
    )


def test_a_newcomer_with_doubtful_rating_makes_no_sure_thing() -> None:
    tickets = [{"id": name, "rating": rating} for name, rating in (("a", 1500), ("b", 1580))]
    sure = plan(tickets, "even").matches[0].details["terms"]["imbalance"]
    doubted = [{**one, "profile": {"sigma": 400}} for one in tickets]
    assert 0 < plan(doubted, "even").matches[0].details["terms"]["imbalance"] < sure


@pytest.mark.parametrize(("named", "nearest"), [("Tank", "'tank'"), ("HEALR", "'healer'"), ("juggler", None)])
@pytest.mark.parametrize("off_role", [1, "never"])
def test_a_role_that_the_queue_does_not_have_is_refused(named: str, nearest: str | None, off_role: object) -> None:
    tickets: list[dict[str, Any]] = [{"id": str(n), "rating": 1500} for n in range(4)]
    tickets[2]["roles"] = ["healer", named]
    with pytest.raises(TicketError, match=f"ticket '2': player '2': roles: '{named}' is not known") as caught:
        plan(tickets, "even", format="2x2", roles={"tank": 1, "healer": 1}, off_role=off_role)
    assert (f"did you mean {nearest}?" in str(caught.value)) == (nearest is not None)
    assert "tank, healer" in str(caught.value)


def test_who_names_no_role_plays_any_at_no_cost() -> None:
    tickets = [{"id": str(n), "rating": 1500} for n in range(4)]
    found = plan(tickets, "even", format="2x2", roles={"tank": 1, "healer": 1}, off_role="never")
    assert found.matches[0].details["terms"]["role"] == 0


def test_nobody_and_one_ticket_are_no_match_and_no_mistake() -> None:
    for count in (0, 1):
        found = Even().plan(snapshot_of(Format(2, 5), [[1500.0]] * count), trace=True)
        assert len(found.rosters) == 0
        assert found.details["seats_bound"] == 0
        assert found.details["optimality_gap"] == 0
        assert found.details["words"] == "Nobody is seated; no plan could seat anybody."


def test_the_far_end_of_the_scale_plays_within_itself() -> None:
    found = Even().plan(snapshot_of(Format(2, 1), [[-900_000], [-899_990], [900_000], [899_995]]))
    assert {tuple(sorted(match)) for match in found.rosters.tolist()} == {(0, 1), (2, 3)}


def test_words_of_a_match_tell_what_it_costs_and_what_for() -> None:
    tickets: list[dict[str, Any]] = [{"id": "x", "players": [{"id": name, "rating": 1700} for name in "ab"]}]
    tickets += [{"id": name, "rating": 1700} for name in ("c", "d")]
    words = plan(tickets, "even", format="2x2", trace=True).trace[-1]["words"]
    assert words == "It costs 0.5: 100% since the parties of the teams differ in size."
    words = plan(tickets[1:], "even", trace=True).trace[-1]["words"]
    assert words == "It costs nothing: all that counts is as it should be."


def test_who_is_left_over_is_told_what_is_the_matter() -> None:
    def left(form: Format, parties: list[list[float]], **about: Any) -> set[Reason]:
        made = snapshot_of(form, parties)
        made = msgspec.structs.replace(made, **about)
        return {Reason(code) for code in Even().plan(made).reasons.tolist() if code}

    assert left(Format(2, 5), [[1500.0] * 5] * 3) == {Reason.TOO_FEW_PLAYERS}
    assert left(Format(2, 5), [[1500.0]] * 25) == {Reason.TOO_FEW_PLAYERS}
    assert left(Format(2, 5), [[1500.0] * 3] * 6) == {Reason.NO_FITTING_PARTIES}
    assert left(Format(2, 2), [[1500.0]] * 4, forbidden=np.array([[0, 1]])) == {Reason.KEPT_APART}
    assert left(Format(2, 2), [[1500.0]] * 3 + [[3000.0]]) == {Reason.NO_OPPONENT_IN_WINDOW}


def test_a_role_that_nobody_plays_is_named() -> None:
    tickets = [{"id": str(n), "rating": 1500, "roles": ["tank"]} for n in range(6)]
    found = plan(tickets, "even", format="2x2", roles={"tank": 1, "healer": 1}, off_role="never")
    assert {one.reason for one in found.unmatched} == {"role_missing"}
    made = msgspec.structs.replace(snapshot_of(Format(2, 2), [[1500.0]] * 6), traits={"roles": (("tank",),) * 6})
    matcher = Even(roles={"tank": 1, "healer": 1}, off_role="never")
    assert explain_wave(matcher, made, 0).unlock == "2 more players for healer"


def test_who_is_near_no_region_is_told_that_only_a_nearer_one_helps() -> None:
    facts = {"latencies.eu": [70.0, 20.0, 30.0], "latencies.us": [80.0, 90.0, 90.0]}
    made = snapshot_of(Format(2, 1), [[1500.0]] * 3, facts=facts)
    assert explain_wave(Even(latency_cap_ms=60), made, 0).unlock == "a region within 60 ms for all its players"
    assert explain_wave(Even(latency_cap_ms=60), made, 1).unlock is None
