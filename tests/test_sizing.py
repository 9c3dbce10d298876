"""docs/sizing.md: its tables are what its formulas give."""

import re
from math import ceil
from pathlib import Path
from typing import Final

import pytest

PAGE: Final = (Path(__file__).parents[1] / "docs" / "sizing.md").read_text("utf-8")
WAVE_S: Final = {1_000: 0.0, 100_000: 0.134, 1_000_000: 1.6}
EVERY_S: Final = 5.0


def rows(head: str) -> list[list[str]]:
    """The cells of a table, by how its first line begins."""
    lines = PAGE[PAGE.index(head) :].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def numbers(cell: str) -> list[float]:
    """The numbers in a cell: the least, and with a spare."""
    return [float(one.replace(",", "")) for one in re.findall(r"[0-9][0-9,.]*", cell)]


def factors(name: str) -> list[float]:
    """The milliseconds in a formula."""
    (line,) = re.findall(rf"^    {name} += (.*)$", PAGE, re.MULTILINE)
    return [float(one) / 1000 for one in re.findall(r"([0-9.]+) ms", line)]


def cores(name: str, commits: float, requests: float, joins: float = 0.0) -> float:
    return sum(each * cost for each, cost in zip((commits, requests, joins), factors(name), strict=False))


def follow(requests: float, lanes: float) -> float:
    return cores("follow", min(requests, 30 * lanes), requests)


@pytest.mark.parametrize("row", rows("| waiting | joins/s | requests/s |"), ids=lambda row: str(row[0]))
def test_the_table_of_players_with_websockets_is_what_the_formulas_give(row: list[str]) -> None:
    waiting, joins, requests, lanes = (numbers(cell)[0] for cell in row[:4])
    assert joins == round(waiting / 60)
    assert requests == round(waiting / 60 * 2.5)
    commits = min(requests, 30 * lanes)
    workers = ceil((cores("worker cores", commits, requests) + WAVE_S[int(waiting)] / EVERY_S) / 0.5)
    assert numbers(row[4])[0] == workers
    left = 0.5 - follow(requests, lanes)
    api = ceil(cores("served cores", commits, requests, joins) / left) if left > 0 else 0
    assert numbers(row[5])[:1] == ([api] if api else [])
    assert numbers(row[6])[0] == round(cores("PostgreSQL", commits, requests), 1)
    if api:
        spare = [numbers(cell)[-1] for cell in row[4:6]]
        assert numbers(row[7])[-1] == spare[1] * (3 + lanes) + spare[0] * 3 + lanes * 4


def test_what_following_a_million_costs_is_told_as_it_is() -> None:
    told = re.findall(r"takes ([0-9.]+)\s+cores of a process .* With eight lanes it is ([0-9.]+),", PAGE, re.DOTALL)
    assert told == [(f"{follow(41_667, 16):.2f}", f"{follow(41_667, 8):.2f}")]


@pytest.mark.parametrize("row", rows("| waiting | joins/s | lanes |"), ids=lambda row: str(row[0]))
def test_the_table_of_batches_is_what_their_measured_costs_give(row: list[str]) -> None:
    waiting, joins = numbers(row[0])[0], numbers(row[1])[0]
    (measured,) = (each for each in rows("| joins a second |") if "batches" in each[0])
    worker, api, following, database = (float(cell) * 1e-6 * joins for cell in measured[3:])
    assert joins == round(waiting / 60)
    assert numbers(row[3])[0] == ceil((worker + WAVE_S[int(waiting)] / EVERY_S) / 0.5)
    assert numbers(row[4])[0] == ceil((api - following) / (0.5 - following))
    assert numbers(row[5])[0] == max(0.1, round(database, 1))


def test_the_most_that_two_cores_allow_is_what_a_player_costs() -> None:
    ((cost, most),) = re.findall(r"About ([0-9]+) us of processor time a\s+player on two cores allow ([0-9,]+)", PAGE)
    (row,) = (each for each in rows("| | matched a second") if each[0] == "2 workers")
    assert float(cost) == sum(numbers(row[5]))
    assert numbers(most)[0] == round(2e6 / float(cost), -3)
