"""`bench start` runs, and its JSON has everything that its documentation names."""

import json

import pytest

from evenmatch.bench.start import AIMS_MS, PROGRAMS, measure
from evenmatch.cli import app
from evenmatch.errors import ConfigError, MatcherError

TIMES = {"least", "median"}


def test_a_small_run_tells_everything(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        app(["bench", "start", "--matchers", "first_come", "--repeats", "2", "--json"])
    assert not done.value.code
    found = json.loads(capsys.readouterr().out)
    assert (found["repeats"], found["waiting"], found["aims_ms"]) == (2, 30, AIMS_MS)
    assert [program["program"] for program in found["programs"]] == list(PROGRAMS)
    for program in found["programs"]:
        assert set(program["wall_ms"]) == TIMES
        assert not program["numba"]
    (case,) = found["matchers"]
    assert case["matcher"] == "first_come"
    for phase in ("load", "first", "second"):
        assert 0 < case[f"{phase}_ms"]["least"] <= case[f"{phase}_ms"]["median"]


def test_a_matcher_that_fails_says_so_and_stops_nobody() -> None:
    (case,) = measure(["nobody"], 1)["matchers"]
    assert set(case) == {"matcher", "failed"}
    assert "nobody" in case["failed"]


def test_names_and_numbers_are_read_with_care() -> None:
    with pytest.raises(ConfigError, match="--repeats must be 1 or more, not 0"):
        measure([], 0)
    with pytest.raises(MatcherError, match="no matcher is called 'ladders'"):
        app(["bench", "start", "--matchers", "ladders"])
