"""The load of connected players, tiny: everybody goes round, nobody is refused, and the numbers are there."""

import json
import subprocess
import sys

import pytest

from evenmatch.bench.live import measure
from evenmatch.errors import ConfigError


@pytest.mark.slow
def test_players_go_from_join_to_result_and_round_again() -> None:
    command = [sys.executable, "-m", "evenmatch", "bench", "live", "--json"]
    asked = ["--players", "12", "--seconds", "4", "--processes", "2"]
    done = subprocess.run([*command, *asked], capture_output=True, text=True, check=True, timeout=280)
    found = json.loads(done.stdout)
    assert (found["players"], found["processes"]) == (12, 2)
    assert found["refused"] == {}
    assert found["joins"] > 0
    assert found["matches"] > 0
    assert found["results"] > 0
    for where in (found, found["echo"]):
        for measure_ in ("join_ms", "push_ms"):
            assert 0 <= where[measure_]["p50"] <= where[measure_]["p99"] <= where[measure_]["most"]
        assert 0 < where["connected"]["most"] <= 12
        assert where["server_cpu"] >= 0
        assert where["clients_cpu"] > 0
    assert found["echo"]["refused"] == {}


@pytest.mark.parametrize(
    ("players", "seconds", "processes", "rate"),
    [(1, 1.0, 1, 9.0), (4, 0.0, 1, 9.0), (4, 1.0, 3, 9.0), (4, 1.0, 0, 9.0), (4, 1.0, 1, 0.0), (4, 1.0, 1, -1.0)],
)
def test_a_load_that_cannot_be_is_refused(players: int, seconds: float, processes: int, rate: float) -> None:
    with pytest.raises(ConfigError, match="at least 2 players"):
        measure(players, seconds, processes, rate)


def test_more_players_than_files_may_be_open_are_refused_with_what_would_do() -> None:
    with pytest.raises(ConfigError, match="ulimit -n"):
        measure(2**40)
