"""What `even` says of a plan is true of it: terms that add up, what was held, who goes first."""

from itertools import chain
from typing import Any

import pytest

from evenmatch import plan
from evenmatch.domain.queue import Format
from evenmatch.matchers.even import Even
from tests.snapshots import snapshot_of


def solos(*ratings: float, **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"p{at}", "rating": rating, **more} for at, rating in enumerate(ratings)]


@pytest.mark.parametrize("form", ["2x1", "2x2", "1x4", "4x1"])
def test_the_terms_of_a_match_add_up_to_its_cost(form: str) -> None:
    tickets = solos(1500, 1540, 1570, 1590, 1600, 1610, 1655, 1660, ping_ms=70)
    found = plan(tickets, "even", format=form, weight_spread=0.7, weight_imbalance=3, weight_latency=0.25)
    assert found.matches
    for match in found.matches:
        assert sum(match.details["terms"].values()) == pytest.approx(match.cost, abs=1e-4)


def test_the_terms_in_the_trace_are_those_of_the_matches() -> None:
    found = plan(solos(1500, 1580), "even", format="2x1", trace=True, weight_distribution=0.25)
    told = next(step for step in found.trace if step["step"] == "match")
    assert told["terms"] == found.matches[0].details["terms"]
    assert "2 tickets are looked at" in found.trace[0]["words"]


def test_nothing_is_said_to_be_left_for_later_where_nothing_was_held() -> None:
    apart = plan(solos(1500, 2500), "even", format="2x1", hold=True)
    assert apart.details["seats_bound"] == 0
    assert "later" not in apart.details["words"]
    held = Even(hold=True, seat_value=0.01).plan(snapshot_of(Format(2, 1), [[1500.0], [1590.0]], waited_ms=[1, 1]))
    assert held.details["seats_bound"] == 2
    assert "Poor matches were left for later" in held.details["words"]
    made = plan(solos(1500, 1500, 2500, 3500), "even", format="2x1", hold=True)
    assert made.details["words"].startswith("2 players are seated, and no plan could seat more.")
    assert "later" not in made.details["words"]


def test_with_two_seats_and_roles_a_wait_is_no_part_of_the_objective_either() -> None:
    tickets = solos(1500, 1580, 1580)
    tickets[0]["waited_s"] = 200
    for form, roles in (("2x1", {"x": 1}), ("1x2", {"x": 1, "y": 1})):
        for found in (plan(tickets, "even", format=form), plan(tickets, "even", format=form, roles=roles)):
            assert set(chain(*found.matches[0].teams)) == {"p1", "p2"}, (form, found.parameters["roles"])
            assert found.details["cost"] == found.details["cost_bound"] == 0


def test_who_goes_first_by_missed_waves_is_not_said_to_have_waited() -> None:
    tickets = solos(1500, 1500)
    tickets[0]["misses"] = 20
    words = plan(tickets, "even", format="2x1").details["words"]
    assert words.endswith(" 1 ticket goes first, by wait or missed waves; it is seated.")


def test_waits_are_not_spoken_of_where_nobody_has_waited() -> None:
    tickets = [{"id": str(at), "rating": 1500 + 7 * at, "roles": ["tank", "damage"]} for at in range(20)]
    words = plan(tickets, "even", format="2x5", roles={"tank": 1, "damage": 3, "healer": 1}).details["words"]
    assert " The best plan there is gains " in words
    assert "waits counted" not in words


def test_a_role_named_second_costs_also_where_others_are_never_played() -> None:
    tickets = [{"id": name, "rating": 1500, "roles": ["tank", "healer"]} for name in ("a", "b")]
    for off_role in (1, "never"):
        found = plan(tickets, "even", format="1x2", roles={"tank": 1, "healer": 1}, off_role=off_role)
        assert found.matches[0].details["terms"]["role"] == 0.5


def test_who_is_left_among_too_few_is_not_told_that_nobody_is_acceptable() -> None:
    found = plan(solos(1500, 1500, 1500, 1500, 1500, 1510, 2500, 2510), "even", format="8x1")
    assert {one.reason for one in found.unmatched} == {"no_opponent_in_window"}
    assert {one.detail for one in found.unmatched} == {"too few whom it could play are left within the window"}
