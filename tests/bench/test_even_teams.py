"""`evenmatch bench teams`: every case is told whole, within its bounds and not behind the greedy rule."""

import json
import subprocess
import sys
from io import StringIO

import pytest
from rich.console import Console

from evenmatch.bench.contests.even_teams import ROLES, crowd
from evenmatch.bench.even_teams import CASES, measure
from evenmatch.cli.bench_teams import block
from evenmatch.domain.queue import Format


@pytest.fixture(scope="module")
def found() -> dict:  # type: ignore[type-arg]
    command = [sys.executable, "-m", "evenmatch", "bench", "teams", "--largest", "1000", "--repeats", "1", "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    told: dict = json.loads(ran.stdout)  # type: ignore[type-arg]
    return told


def test_every_case_of_the_size_is_told(found: dict) -> None:  # type: ignore[type-arg]
    assert [case["name"] for case in found["cases"]] == [case.name for case in CASES if case.players <= 1000]
    assert found["repeats"] == 1
    assert found["machine"]["cores"] >= 1


def test_no_case_is_beyond_its_bounds_or_behind_the_greedy_rule(found: dict) -> None:  # type: ignore[type-arg]
    for case in found["cases"]:
        assert case["seats"] <= case["seats_bound"] <= case["players"]
        assert case["cost_bound"] <= case["cost"]
        assert case["greedy"]["seats"] <= case["seats"], case["name"]


def test_the_greedy_rule_can_be_left_out() -> None:
    cases = measure(1, largest=1_000, greedy_largest=0)["cases"]
    assert cases
    assert not any("greedy" in case for case in cases)


def test_a_crowd_has_as_many_players_as_it_was_told_and_hangs_on_the_seed() -> None:
    one, other = (crowd(Format(2, 5), 500, seed, regions=3, roles=tuple(ROLES)) for seed in (1, 2))
    assert len(one.player) == len(other.player) == one.player_start[-1] == 500
    assert one.facts["rating"].tolist() != other.facts["rating"].tolist()
    assert (one.size <= 5).all()
    assert sum(name.startswith("latencies.") for name in one.facts) == 3


def test_a_case_is_readable_on_eighty_columns() -> None:
    numbers = {"seats": 99_990, "share": 0.9999, "cost": 0.1234, "ms": 1234.5, "cpu_ms": 2345.6}
    case = {"name": "5v5, windows from 20 to 1,000, the least counts", "players": 100_000, **numbers}
    case |= {"seats_bound": 100_000, "cost_bound": 0.05, "megabytes": 73.5, "greedy": numbers}
    console = Console(width=80, record=True, file=StringIO())
    console.print(block(case))
    told = console.export_text()
    assert "\u2026" not in told
    assert told.startswith("5v5, windows from 20 to 1,000, the least counts: 100,000 players")
    assert [line.split()[0] for line in told.splitlines()[2:5]] == ["even", "greedy", "bound"]
