"""evenmatch lab: matchers tried on simulated players."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from evenmatch.errors import EvenmatchError, LabError
from evenmatch.lab import report as pages
from evenmatch.lab.comparing import Progress as Heard
from evenmatch.lab.comparing import Stopped
from evenmatch.lab.comparing import compare as run_comparison
from evenmatch.lab.comparison import COLUMNS, SERVED_LEAST, WAIT, Comparison, Row
from evenmatch.lab.population import notes
from evenmatch.lab.verdict import dealt, sentences
from evenmatch.pages.page import require_writable

RESULTS = Path("evenmatch-lab")
INTERRUPTED = 130
_SHOWN = {
    "matches/h": ("matches_an_hour",),
    "no match": ("never_matched",),
    "wait p50/90/99 s": ("wait_to_match_s.p50", WAIT, "wait_to_match_s.p99"),
    "fair": ("true_odds.fair_share",),
    "worst": ("true_odds.worst",),
    "passed": ("overtaking.share",),
}
"""What a terminal has room for; the report and --json have the rest."""
_LEGEND = (
    "no match: gave up, expired, or turned away at the door; wait: within which 50, 90 and 99 % are matched, those who "
    "gave up counted as far as they waited (-: too few ever are to tell); fair: the favourite wins 55 % at most, "
    "by true skill; worst: how often it wins in the least even hundredth; passed: left waiting though one that came "
    "later had a place in which they would have fitted as well; *: none that serves enough is both quicker (wait p90) "
    f"and fairer, on average; !: serves fewer than {100 * SERVED_LEAST:.0f} % of those who came"
)


def compare(
    *,
    population: str = "duel-small",
    matchers: str = "",
    queues: str = "",
    hours: float = 4.0,
    seeds: int = 3,
    step: float = 1.0,
    json: bool = False,
    report: Path | None = None,
    results: Path = RESULTS,
    workers: int | None = None,
    dask: Annotated[str | None, Parameter(name="--dask")] = None,
) -> None:
    """Run matchers on the same simulated traffic, and set waits and quality side by side.

    Parameters
    ----------
    population
        Who plays: duel-small, duel-large, team5-small, team5-large, or a TOML file.
    matchers
        Matchers to compare, with commas between them; left out: all of them.
    queues
        Files of queues to compare instead, with commas between them.
    hours
        How much virtual time is run.
    seeds
        How many runs of each, with seeds 1, 2, ...
    step
        Seconds between the moments of virtual time: larger is faster, and rounds waits by as much.
    json
        Print everything as JSON.
    report
        Write a page with words, tables and pictures; it needs nothing else.
    results
        The folder that keeps what is done; what is there is not done again.
    workers
        Processes to use; left out: as many as there are processors.
    dask
        The address of a Dask scheduler to use instead.
    """
    if report is not None:
        require_writable(report)
    if matchers and queues:
        raise LabError("give --matchers or --queues, not both: the rules of a queue name its matcher")
    with _progress() as heard:
        try:
            found = run_comparison(
                population,
                matchers=_listed(matchers),
                queues=_listed(queues),
                hours=hours,
                seeds=seeds,
                step_s=step,
                keep=results,
                workers=workers,
                dask=dask,
                progress=heard,
            )
        except Stopped as stopped:
            print(
                f"evenmatch: stopped; {stopped.done} of {stopped.cases} runs are kept in {results}. "
                "The same command goes on from there.",
                file=sys.stderr,
            )
            raise SystemExit(INTERRUPTED) from None
    if json:
        sys.stdout.write(msgspec.json.encode(found.to_dict() | {"verdict": sentences(found)}).decode() + "\n")
    else:
        _show(found)
    if report is not None:  # after the table, which is not lost if this should fail
        pages.write(report, found, _command())


def _listed(text: str) -> list[str] | None:
    return [part.strip() for part in text.split(",") if part.strip()] if text else None


def _command() -> str:
    return shlex.join(["evenmatch", *sys.argv[1:]])


@contextmanager
def _progress() -> Iterator[Heard]:
    """A bar with the time that is left, on standard error, where that is a terminal."""
    columns: tuple[ProgressColumn, ...] = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
    )
    columns = (*columns, TimeElapsedColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("simulating", total=1.0)

        def heard(shares: list[float]) -> None:
            done = sum(share >= 1.0 for share in shares)
            whole = sum(shares) / len(shares) if shares else 1.0
            progress.update(task, completed=whole, description=f"{done} of {len(shares)} runs")

        try:
            yield heard
        except EvenmatchError:
            progress.update(task, visible=False)  # what is said next is all there is to say
            raise
    if progress.disable:
        print(progress.tasks[0].description, file=sys.stderr)  # a log has use for how it ended only


def _show(found: Comparison) -> None:
    console = Console(highlight=False)
    many = "1 seed" if found.seeds == 1 else f"{found.seeds} seeds"
    console.print(Text(f"{found.called}: {found.population.title}; {found.hours:g} h, {many}"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("matcher", no_wrap=True)
    for title in _SHOWN:
        table.add_column(title, justify="right", no_wrap=True)
    for row in found.rows:
        on_front = row.name in found.front
        cells = ["/".join(_cell(row, name) for name in names) for names in _SHOWN.values()]
        mark = " *" if on_front else "" if row.serves_enough else " !"
        style = "green" if on_front else "" if row.serves_enough else "yellow"
        table.add_row(Text(row.name + mark, style=style), *cells)
    console.print(table)
    for sentence in sentences(found):
        console.print(Text(sentence))
    console.print(f"\n{_LEGEND}")
    console.print("parameters: given, fitted to the population, or the matcher's default")
    for row in found.rows:
        console.print(Text(f"  {row.name}: {row.setting}"))
    for row in found.rows:
        share, reasons = row.turned_away
        if reasons:
            console.print(Text(f"{row.name} turned {share:.1%} away at the door: {', '.join(reasons)}", style="yellow"))
    for note in (*dealt(found), *notes(found.population, found.hours)):
        console.print(Text(note))
    for one in found.not_played:
        console.print(Text(f"{one.name} is not applicable: {one.why}", style="yellow"))


def _cell(row: Row, measure: str) -> str:
    value = row.mean(measure)
    if value is None:
        return "-"
    return f"{value:.1%}" if COLUMNS[measure][1].endswith("%}") else f"{value:.0f}"
