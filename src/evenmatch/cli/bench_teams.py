"""evenmatch bench teams: plans of teams beside their bounds and a greedy rule."""

import json

from rich import box
from rich.console import Console
from rich.table import Table

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
    title = "one wave of even over waiting parties; greedy: the rule of first_come in order of rating"
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("case")
    for column in (
        "players",
        "of the seats bound",
        "greedy",
        "cost a player",
        "greedy",
        "bound",
        "ms",
        "cpu ms",
        "greedy",
        "MB",
    ):
        table.add_column(column, justify="right")
    for case in found["cases"]:
        theirs = case.get("greedy", {})
        table.add_row(
            case["name"],
            f"{case['players']:,}",
            *(_percent(each.get("share")) for each in (case, theirs)),
            *(_number(each) for each in (case["cost"], theirs.get("cost"), case["cost_bound"])),
            *(_number(each, 0) for each in (case["ms"], case["cpu_ms"], theirs.get("cpu_ms"), case["megabytes"])),
        )
    Console(highlight=False).print(table)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.2f} %"


def _number(value: float | None, digits: int = 3) -> str:
    return "" if value is None else f"{value:,.{digits}f}"
