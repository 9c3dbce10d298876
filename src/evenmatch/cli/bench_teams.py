"""evenmatch bench teams: plans of teams beside their bounds and a greedy rule."""

import json
from typing import Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evenmatch.cli.bench import JsonFlag, progress


def teams(
    *, repeats: int = 3, seed: int = 1, largest: int = 100_000, greedy: int = 10_000, json_output: JsonFlag = False
) -> None:
    """Teams by `even`: seats and cost beside their bounds, time and memory, beside a greedy rule in the same run.

    Parameters
    ----------
    repeats
        Waves that are timed for each case.
    seed
        The seed of the waiting players.
    largest
        Leave out cases with more players than this.
    greedy
        Leave out the greedy rule, which takes its time, in cases with more players than this.
    json_output
        Print the numbers as JSON.
    """
    from evenmatch.bench.even_teams import measure

    with progress() as tell:
        found = measure(repeats, seed, largest, greedy, tell)
    if json_output:
        print(json.dumps(found, indent=1))
        return
    console = Console(highlight=False)
    console.print("one wave of even over waiting parties; greedy: the rule of first_come in order of rating\n")
    for case in found["cases"]:
        console.print(block(case))


def block(case: dict[str, Any]) -> Group:
    """A case for a terminal of 80 columns: its name on a line of its own, then even, greedy and bound."""
    theirs = case.get("greedy", {})
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for column in ("seats", "of the bound", "cost a player", "ms", "cpu ms", "MB"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, each in (("even", case), ("greedy", theirs)):
        if each:
            measured = (each["ms"], each["cpu_ms"], each.get("megabytes"))
            cells = (_number(each["seats"], 0), _percent(each["share"]), _number(each["cost"]))
            table.add_row(name, *cells, *(_number(one, 1) for one in measured))
    table.add_row("bound", _number(case["seats_bound"], 0), "", _number(case["cost_bound"]))
    return Group(Text(f"{case['name']}: {case['players']:,} players", style="bold"), Padding(table, (0, 0, 1, 2)))


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.2f} %"


def _number(value: float | None, digits: int = 3) -> str:
    return "" if value is None else f"{value:,.{digits}f}"
