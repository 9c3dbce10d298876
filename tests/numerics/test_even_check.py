"""The judge of plans: a good plan passes, and every rule can fail."""

from typing import Any

import numpy as np
import pytest

from evenmatch.domain.arrays import NO_PAIRS, NONE
from evenmatch.numerics.even_check import breaches, first_of


def judged(**changes: Any) -> tuple[str, int] | None:
    """Two matches of 2x2: places 0, 1, 2 (a party of two) and 3 to 6."""
    given: dict[str, Any] = {
        "rosters": np.array([[0, 1, 2, -1], [3, 4, 5, 6]]),
        "team_of": np.array([[0, 1, 1, -1], [0, 0, 1, 1]]),
        "teams": 2,
        "size": 2,
        "party": np.array([2, 1, 1, 1, 1, 1, 1, 1]),
        "rating": np.array([1500.0, 1550, 1600, 1500, 1500, 1500, 1500, 1500]),
        "first": np.full(8, np.nan),
        "second": np.full(8, np.nan),
        "sided": False,
        "window": np.full(8, 100.0),
        "policy": 0,
        "latency": np.full((8, 2), 50.0),
        "latency_cap": 60.0,
        "reach": NONE,
        "apart": NO_PAIRS,
        "role": np.zeros(2),
        "cost": np.array([1.0, 2.0]),
        "true_cost": np.array([1.0, 2.0]),
    }
    return first_of(breaches(**(given | changes)))


def test_a_good_plan_passes() -> None:
    assert judged() is None
    assert judged(rosters=np.empty((0, 4), int), team_of=np.empty((0, 4), int)) is None


def edited(array: list[Any], at: Any, value: Any) -> Any:
    changed = np.array(array)
    changed[at] = value
    return changed


ROSTERS, TEAMS = [[0, 1, 2, -1], [3, 4, 5, 6]], [[0, 1, 1, -1], [0, 0, 1, 1]]
WRONG: list[tuple[dict[str, Any], str, int]] = [
    ({"rosters": edited(ROSTERS, (1, 0), 2)}, "once", 1),
    ({"rosters": edited(ROSTERS, (1, 0), 99)}, "once", 1),
    ({"team_of": edited(TEAMS, (1, 0), 1)}, "teams", 1),
    ({"team_of": edited(TEAMS, (0, 0), 2)}, "teams", 0),
    ({"sided": True}, "side", 0),
    ({"apart": np.array([[0, 7], [1, 3], [4, 6]])}, "apart", 1),
    ({"reach": np.array([1, 2, 3, 1, 1, 1, 1, 1])}, "region", 0),
    ({"latency": edited(np.full((8, 2), 50.0).tolist(), 5, 61.0)}, "latency", 1),
    ({"window": edited([100.0] * 8, 0, 99.0)}, "window", 0),
    ({"rating": edited([1500.0] * 8, 4, 1601.0)}, "window", 1),
    ({"window": edited([101.0] * 8, 0, 99.0), "policy": 1}, "window", 0),
    ({"window": edited([101.0] * 8, 2, 99.0), "policy": 2}, "window", 0),
    ({"role": np.array([0.0, np.inf])}, "role", 1),
    ({"cost": np.array([1.0, 2.5])}, "cost", 1),
]


@pytest.mark.parametrize(("changes", "rule", "match"), WRONG)
def test_a_bad_plan_is_found_out(changes: dict[str, Any], rule: str, match: int) -> None:
    assert judged(**changes) == (rule, match)


def test_the_older_window_is_that_of_the_earliest_place() -> None:
    assert judged(window=edited([50.0] * 8, 0, 100.0), policy=1) is None
    assert judged(window=edited([0.0] * 8, 0, np.inf)) is None
