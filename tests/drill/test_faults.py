"""The drill of faults, small: servers and their way to the database fail under load, and the audit finds everything."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evenmatch.drill.faults import KINDS, faults
from evenmatch.errors import ConfigError
from tests import postgres

NOWHERE = "postgresql://somebody@127.0.0.1:1/nowhere"


@pytest.mark.timeout(600)
def test_players_lose_nothing_when_connections_are_cut_and_servers_killed_or_paused_under_load(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "evenmatch", "drill", "faults", "--json", "--folder", str(tmp_path / "drill")]
    asked = ["--players", "40", "--faults", "4", "--kinds", "cut,lose,kill,pause", "--seed", "5"]
    done = subprocess.run([*command, *asked, "--db", postgres.cleared()], capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["faults"] == []
    assert sorted(one["kind"] for one in found["done"]) == ["cut", "kill", "lose", "pause"]
    assert found["owners"] == 2
    assert found["stories_followed"] == found["joins_acknowledged"] >= 40


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_server_that_is_replaced_in_its_sleep_or_left_without_answers_loses_nothing(tmp_path: Path) -> None:
    found = faults(tmp_path, postgres.cleared(), players=20, faults=2, seed=3, kinds=("replace", "silence"))
    assert found["faults"] == []
    assert found["owners"] == 2


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("seed", range(3))
def test_many_more_lose_nothing_either(tmp_path: Path, seed: int) -> None:
    found = faults(tmp_path, postgres.cleared(), players=200, faults=24, seed=seed, processes=2)
    assert found["faults"] == []
    assert {one["kind"] for one in found["done"]} == set(KINDS)


@pytest.mark.parametrize(
    ("db", "how", "said"),
    [
        (NOWHERE, {"players": 1}, "at least 2 players"),
        (NOWHERE, {"faults": -1}, "0 faults or more"),
        (NOWHERE, {"processes": 31}, "at least 2 players a process"),
        (NOWHERE, {"kinds": ["flood"]}, "flood is not a kind of fault: use kill"),
        (NOWHERE, {"kinds": []}, "nothing is not a kind of fault"),
        ("some.db", {}, "is not a database"),
        ("postgresql:///nowhere", {}, "must name one host"),
        ("postgresql://u:s3cret@a:1,b:2/d", {}, "must name one host"),
    ],
)
def test_a_drill_that_cannot_be_is_refused(tmp_path: Path, db: str, how: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as found:
        faults(tmp_path, db, **how)  # type: ignore[arg-type]
    assert "s3cret" not in str(found.value)
    assert list(tmp_path.iterdir()) == []
