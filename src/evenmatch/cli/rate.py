"""evenmatch rate: rate a file of results, and say how good the predictions were."""

import sys
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evenmatch import rating, rating_report, results
from evenmatch.cli.parameters import parameters_of
from evenmatch.errors import RatingError
from evenmatch.pages.page import require_writable

_NAMED_MOST = 5


def rate(
    file: Path,
    /,
    *,
    model: str = "weng_lin",
    param: Annotated[list[str] | None, Parameter(name="--param", negative=())] = None,
    roster1: str = "roster1",
    roster2: str = "roster2",
    score1: str = "score1",
    score2: str = "score2",
    start_time: str = "start_time",
    json: bool = False,
    report: Path | None = None,
) -> None:
    """Rate every match of a CSV in order of time, predicting each before it is rated.

    Parameters
    ----------
    file
        A CSV with a row a match; rosters hold names separated by |.
    model
        weng_lin, elo or glicko2.
    param
        A parameter of the model, NAME=VALUE; may be given several times.
    roster1
        The column of the first team's players.
    roster2
        The column of the second team's players.
    score1
        The column of the first team's score; the higher score wins.
    score2
        The column of the second team's score.
    start_time
        The column of the match's beginning: a date, or seconds.
    json
        Print the result as JSON.
    report
        Write a page with pictures and tables; it needs nothing else.
    """
    if report is not None:
        require_writable(report)
    chosen = rating.build_model(model, parameters_of(param or [], "k=24"))
    columns = results.Columns(roster1, roster2, score1, score2, start_time)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise RatingError(f"{file} cannot be read: {error.strerror}") from error
    outcome = rating.rate(results.read(content, str(file), columns), model, chosen)
    if report is not None:
        rating_report.write(report, outcome, file.name)
    if json:
        sys.stdout.write(msgspec.json.encode(outcome).decode() + "\n")
    else:
        _show(outcome)


def _show(outcome: rating.Outcome) -> None:
    console = Console(highlight=False)
    named = ", ".join(f"{name}={value:g}" for name, value in outcome.parameters.items())
    console.print(Text(f"{outcome.model}({named})"))
    console.print(
        f"{_many(outcome.games, 'match', 'es')} rated ({_many(outcome.draws, 'draw')}), "
        f"{_many(outcome.skipped, 'row')} skipped; the last {outcome.scored} with a winner "
        f"{'is' if outcome.scored == 1 else 'are'} scored"
    )
    for row in outcome.skipped_rows[:_NAMED_MOST]:
        console.print(Text(f"  line {row.line}: {row.why}", style="yellow"))
    if outcome.skipped > _NAMED_MOST:
        console.print(f"  and {outcome.skipped - _NAMED_MOST} more: --json has them all")
    scores = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    scores.add_column("predictions")
    scores.add_column("log-loss", justify="right")
    scores.add_column("favourites that won", justify="right")
    for name, score in {
        "calibrated": rating.Score(outcome.log_loss, outcome.accuracy),
        "as the model says": outcome.uncalibrated,
        **{name.replace("_", ", "): score for name, score in outcome.baselines.items()},
    }.items():
        scores.add_row(name, _number(score.log_loss, "{:.3f}"), _number(score.accuracy, "{:.1%}"))
    console.print(scores)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("favourite's odds", "matches", "said", "won"):
        table.add_column(title, justify="right")
    for one in outcome.calibration:
        table.add_row(f"{one.low:.0%}-{one.high:.0%}", str(one.matches), f"{one.predicted:.1%}", f"{one.won:.1%}")
    console.print(table)
    best = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("player", "rating", "±", "matches"):
        best.add_column(title, justify="left" if title == "player" else "right")
    for standing in outcome.leaders:
        numbers = (f"{standing.rating:.0f}", f"{standing.uncertainty:.0f}", str(standing.matches))
        best.add_row(Text(standing.player), *numbers)
    console.print(best)


def _many(count: int, what: str, more: str = "s") -> str:
    return f"{count} {what if count == 1 else what + more}"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)
