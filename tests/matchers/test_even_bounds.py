"""even: what is said of bounds is true where turns come before cost, held against all plans that there are."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch import plan


def matchings(places: tuple[int, ...], costs: dict[tuple[int, int], float]) -> Iterator[list[tuple[int, int]]]:
    """All ways to make pairs, none of them left out."""
    if not places:
        yield []
        return
    first, rest = places[0], places[1:]
    yield from matchings(rest, costs)
    for other in rest:
        if (first, other) in costs:
            for more in matchings(tuple(place for place in rest if place != other), costs):
                yield [(first, other), *more]


def least_cost(tickets: list[dict[str, Any]], seats: int, **parameters: Any) -> float:
    """What a plan with so many seats costs at the least, whoever waits; every pair is asked by itself."""
    costs: dict[tuple[int, int], float] = {}
    for one in range(len(tickets)):
        for other in range(one + 1, len(tickets)):
            alone = plan([tickets[one], tickets[other]], matcher="even", format="2x1", **parameters)
            if alone.matches:
                costs[one, other] = alone.matches[0].cost
    return min(
        sum(costs[pair] for pair in pairs)
        for pairs in matchings(tuple(range(len(tickets))), costs)
        if 2 * len(pairs) == seats
    )


def test_a_turn_that_costs_more_is_not_called_the_least_cost() -> None:
    tickets = [
        {"id": "out", "rating": 2500, "waited_s": 600},
        {"id": "only", "rating": 2350},
        {"id": "fresh", "rating": 2340},
    ]
    details = plan(tickets, matcher="even", format="2x1").details
    assert details["cost_bound"] == pytest.approx(least_cost(tickets, 2))
    assert details["cost_bound"] < details["cost"]
    assert details["optimality_gap"] == 0
    assert "no plan that seats as many costs less" not in details["words"]
    assert "those that cost less pass over one who goes first" in details["words"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1000, 2200), st.sampled_from([0, 50, 300, 600, 700])), min_size=2, max_size=6),
    st.booleans(),
)
def test_no_plan_of_pairs_with_as_many_seats_costs_less_than_the_bound(
    drawn: list[tuple[int, int]], sided: bool
) -> None:
    tickets = [
        {"id": f"t{at}", "waited_s": waited}
        | ({"ratings": {"a": rating} if at % 3 else {"a": rating, "b": rating}} if sided else {"rating": rating})
        for at, (rating, waited) in enumerate(drawn)
    ]
    parameters: dict[str, Any] = {"sides": ["a", "b"]} if sided else {}
    details = plan(tickets, matcher="even", format="2x1", **parameters).details
    least = least_cost(tickets, details["seats"], **parameters)
    assert details["cost_bound"] == pytest.approx(least, abs=1e-9)
    assert details["optimality_gap"] == 0


def test_turns_that_cost_nothing_leave_the_proof_as_it_is() -> None:
    tickets = [{"id": f"t{at}", "rating": 1500 + 10 * at, "waited_s": 600 if at < 3 else 0} for at in range(8)]
    details = plan(tickets, matcher="even", format="2x1").details
    assert details["cost"] == details["cost_bound"]
    assert details["optimality_gap"] == 0
    assert "no plan that seats as many costs less" in details["words"]
