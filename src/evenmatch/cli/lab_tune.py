"""evenmatch lab tune: parameters that meet a target, found on simulated players."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from evenmatch.cli.lab import INTERRUPTED, RESULTS
from evenmatch.errors import EvenmatchError
from evenmatch.lab import tune_report
from evenmatch.lab.pool import Stopped
from evenmatch.lab.tune import Tried, Tuned
from evenmatch.lab.tune import tune as search
from evenmatch.pages.page import require_writable

MISSED = 1


def tune(
    *,
    matcher: str,
    target: Annotated[list[str], Parameter(negative=())],
    population: str = "duel-small",
    trials: int = 40,
    hours: float = 1.0,
    seeds: int = 2,
    held_out: int = 3,
    json: bool = False,
    report: Path | None = None,
    results: Path = RESULTS,
    workers: int | None = None,
) -> None:
    """Search a matcher's parameters until a target is met, and check them on traffic the search never saw.

    Parameters
    ----------
    matcher
        The matcher to tune.
    target
        What is wanted: "p90 wait 60 s" or "90 % of matches within 45-55 %"; may be given several times.
    population
        Who plays: a preset, or a TOML file.
    trials
        How many settings are tried.
    hours
        How much virtual time each run has.
    seeds
        How many runs each setting has.
    held_out
        How many runs, with other seeds, check the one that is chosen.
    json
        Print everything as JSON.
    report
        Write a page with words, tables and a picture of all that was tried; it needs nothing else.
    results
        The folder that keeps what is done; what is there is not done again.
    workers
        Processes to use; left out: as many as there are processors.
    """
    if report is not None:
        require_writable(report)
    share = TextColumn("{task.percentage:>3.0f} %")
    columns = (TextColumn("tuning"), BarColumn(), share, TimeElapsedColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=1.0)
        try:
            found = search(
                matcher,
                target,
                population,
                trials=trials,
                hours=hours,
                seeds=seeds,
                held_out=held_out,
                keep=results,
                workers=workers,
                progress=lambda share: progress.update(task, completed=share),
            )
        except EvenmatchError:
            progress.update(task, visible=False)  # what is said next is all there is to say
            raise
        except Stopped:
            progress.stop()
            told = f"evenmatch: stopped; what is done is kept in {results}. The same command goes on from there."
            print(told, file=sys.stderr)
            raise SystemExit(INTERRUPTED) from None
    if report is not None:
        tune_report.write(report, found, shlex.join(["evenmatch", *sys.argv[1:]]))
    if json:
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    else:
        _show(found)
    if not (found.met and found.holds):
        raise SystemExit(MISSED)


def _show(found: Tuned) -> None:
    console = Console(highlight=False)
    wanted = " and ".join(target.words for target in found.targets)
    console.print(Text(f"{found.matcher} on {found.population}: {wanted}; {found.trials} settings tried"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("wait p90 s", "fair", "wave s", "parameters"):
        table.add_column(title, justify="left" if title == "parameters" else "right")
    for one in found.front:
        chosen = one == found.chosen
        table.add_row(*_cells(one), style="green" if chosen else "")
    console.print("the front: nothing that was tried beats these in both")
    console.print(table)
    if not found.met:
        console.print(Text("No setting met the target; the nearest:", style="yellow"))
    else:
        console.print("chosen:")
    console.print(Text("  " + "  ".join(_cells(found.chosen))))
    seeds = "one seed" if len(found.held_out) == 1 else f"{len(found.held_out)} seeds"
    console.print(f"on {seeds} that the search never saw:")
    for name, mean in found.checked.items():
        console.print(Text(f"  {tune_report.NAMES.get(name, name):<24}  {tune_report.shown(name, mean)}"))
    console.print(Text(tune_report.verdict(found), style="" if found.holds and found.sure else "yellow"))
    if not found.sure:
        console.print("The exit status goes by the average.")
    for caveat in tune_report.caveats(found):
        console.print(Text(caveat, style="yellow"))
    for note in found.notes:
        console.print(Text(note, style="dim"))
    console.print("\nFor queues.toml:\n")
    print(found.toml, end="")


def _cells(one: Tried) -> list[str]:
    wait = "-" if one.wait_s is None else f"{one.wait_s:.0f}"
    fair = "-" if one.fair_share is None else f"{one.fair_share:.1%}"
    return [wait, fair, f"{one.every_s:g}", ", ".join(f"{name}={value}" for name, value in one.parameters.items())]
