"""The crash drill, small: a server is killed under load, and the audit finds all that was acknowledged; or says what
is missing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evenmatch.drill.crash import crash
from evenmatch.errors import ConfigError


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_players_lose_nothing_when_the_server_is_killed_under_load(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "evenmatch", "drill", "crash", "--json", "--folder", str(tmp_path / "drill")]
    asked = ["--players", "60", "--kills", "3", "--seed", "7", "--processes", "2"]
    done = subprocess.run([*command, *asked], capture_output=True, text=True, timeout=850)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["faults"] == []
    assert found["owners"] > 1
    assert len(found["ready_ms"]) == 4
    assert found["stories_followed"] == found["joins_acknowledged"] >= 60
    assert sum(found["tickets"].values()) == found["joins_acknowledged"]
    assert found["tickets"]["matched"] == 2 * found["results_acknowledged"] > 0
    assert (tmp_path / "drill" / "drill.db").exists()


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", range(3))
def test_many_more_lose_nothing_either(tmp_path: Path, seed: int) -> None:
    assert crash(tmp_path, players=200, kills=10, seed=seed, processes=2)["faults"] == []


@pytest.mark.parametrize(("players", "kills", "processes"), [(1, 1, 1), (4, -1, 1), (4, 1, 3), (4, 1, 0)])
def test_a_drill_that_cannot_be_is_refused(tmp_path: Path, players: int, kills: int, processes: int) -> None:
    with pytest.raises(ConfigError, match="at least 2 players"):
        crash(tmp_path, players, kills, 0, processes)
    assert list(tmp_path.iterdir()) == []


def test_more_players_than_files_may_be_open_are_refused_with_what_would_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ulimit -n"):
        crash(tmp_path, 2**40, 1)
