"""The lab's benchmark: both sides run, and say what they did."""

import json

import pytest

from evenmatch.cli import app
from evenmatch.errors import ConfigError


def test_both_run_and_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    app(["bench", "lab", "--sizes", "2000,4000", "--hours", "0.3", "--json"], result_action="return_value")
    found = json.loads(capsys.readouterr().out)
    for one in found["sizes"]:
        assert one["evenmatch"]["player_hours"] == pytest.approx(one["simpy"]["player_hours"], rel=0.5)
        assert one["ratio"] > 0
    assert set(found["growth"]) == {"evenmatch", "simpy"}
    app(["bench", "lab", "--sizes", "2000", "--hours", "0.2"], result_action="return_value")
    assert "as fast as the bare model" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--sizes", "many"], ["--sizes", "0"], ["--hours", "0"]])
def test_what_is_no_number_is_refused(arguments: list[str]) -> None:
    with pytest.raises(ConfigError):
        app(["bench", "lab", *arguments], result_action="return_value")
