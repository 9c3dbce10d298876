"""Matchers by name, and what is said when a name or a parameter is wrong."""

from typing import Any

import pytest

from evenmatch.domain.snapshot import Snapshot
from evenmatch.errors import MatcherError
from evenmatch.matchers.registry import build, in_force, names

KNOWN = ", ".join(names())


def test_every_registered_name_is_the_name_of_its_matcher() -> None:
    assert names() == sorted(names())
    for name in names():
        assert build(name, {}).name == name


def test_parameters_are_stored_unchanged() -> None:
    assert vars(build("exact", {"pool_max": 7})) == {"pool_max": 7}


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("frist_come", {}, f"unknown matcher 'frist_come': did you mean 'first_come'? known: {KNOWN}"),
        ("zzz", {}, f"unknown matcher 'zzz': known: {KNOWN}"),
        ("exact", {"pol_max": 3}, "exact: unknown parameter 'pol_max': did you mean 'pool_max'? known: pool_max"),
        ("exact", {"zzz": 3}, "exact: unknown parameter 'zzz': known: pool_max"),
        ("first_come", {"pool_max": 3}, "first_come: unknown parameter 'pool_max': it takes no parameters"),
        ("exact", {"pool_max": True}, "exact: pool_max must be a whole number from 1 to 14, not True (bool)"),
        ("exact", {"pool_max": 3.0}, "exact: pool_max must be a whole number from 1 to 14, not 3.0 (float)"),
        ("exact", {"pool_max": "3"}, "exact: pool_max must be a whole number from 1 to 14, not '3' (str)"),
        ("exact", {"pool_max": 0}, "exact: pool_max must be a whole number from 1 to 14, not 0"),
        ("exact", {"pool_max": 15}, "exact: pool_max must be a whole number from 1 to 14, not 15"),
    ],
)
def test_a_mistake_is_answered_with_what_would_be_right(name: str, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(MatcherError) as caught:
        build(name, parameters)
    assert str(caught.value) == words


def test_a_default_that_stands_for_something_is_told_as_that() -> None:
    assert in_force("ladder", {})["window_of"] == "lead"
    assert in_force("ladder", {"solver": "optimal"})["window_of"] == "either"
    assert in_force("ladder", {"window_of": "both"})["window_of"] == "both"
    crowd = Snapshot.from_columns(rating=[1500.0, 1600.0], active_population=167)
    assert in_force("ladder", {}, crowd)["active_population"] == 167
    assert in_force("ladder", {})["active_population"] is None, "each wave measures it"
    scales = {one["name"]: one["scale"] for one in in_force("lom", {})["features"]}
    assert scales == {"rating": 400.0, "ping_ms": 50.0}
    assert [one["name"] for one in in_force("lom", {}, crowd)["features"]] == ["rating"], "nobody brought a ping"
