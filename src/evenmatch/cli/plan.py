"""evenmatch plan: one wave over a file of tickets, with no server."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evenmatch import config, planning
from evenmatch import tickets as ticket_files
from evenmatch.cli.parameters import parameters_of
from evenmatch.domain.queue import QueueSpec
from evenmatch.errors import ConfigError, TicketError
from evenmatch.matchers import registry
from evenmatch.numerics.threads import use
from evenmatch.settings import from_environment

NAMED_MAX = 16
"""So many parameters of a matcher are all shown."""


def plan(
    *,
    tickets: Annotated[str, Parameter(allow_leading_hyphen=True)],
    matcher: str | None = None,
    param: Annotated[list[str] | None, Parameter(name="--param", negative=())] = None,
    format: str | None = None,
    queue: str | None = None,
    seed: int = 0,
    json: bool = False,
    trace: bool = False,
) -> None:
    """Run one wave over a file of tickets.

    Parameters
    ----------
    tickets
        A JSON array or a CSV of tickets; - reads standard input.
    matcher
        The matcher's name. Default: even.
    param
        A parameter of the matcher, NAME=VALUE; may be given several times.
    format
        TEAMSxSIZE, such as 2x5.
    queue
        queues.toml:NAME takes matcher, parameters and format from a queue.
    seed
        The seed of the wave.
    json
        Print the result as JSON.
    trace
        Tell the matcher's steps.
    """
    if allowed := from_environment(os.environ).threads:
        use(allowed)
    spec = None if queue is None else _queue(queue)
    if spec is not None and (matcher is not None or param):
        raise ConfigError("--queue brings the matcher and its parameters: leave out --matcher and --param")
    name = spec.matcher.name if spec else matcher or registry.DEFAULT
    parameters = dict(spec.matcher.parameters) if spec else parameters_of(param or [], "lobby_size=4")
    form = str(spec.format) if format is None and spec is not None else format
    if spec is not None and format is not None and format != str(spec.format):
        raise ConfigError(f"--format {format} disagrees with {queue}, which plays {spec.format}")
    outcome = planning.plan(_read(tickets), name, format=form, seed=seed, trace=trace, **parameters)
    if json:
        sys.stdout.write(msgspec.json.encode(outcome).decode() + "\n")
    else:
        _show(outcome)


def _read(source: str) -> list[ticket_files.TicketInput]:
    try:
        if source == "-":
            return ticket_files.read(sys.stdin.buffer.read(), "standard input")
        return ticket_files.read(Path(source).read_bytes(), source)
    except OSError as error:
        raise TicketError(f"{source} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TicketError(f"{source} is not UTF-8 text: {error.reason} at byte {error.start}") from error


def _queue(where: str) -> QueueSpec:
    path, colon, name = where.rpartition(":")
    if not colon or not path:
        raise ConfigError(f"--queue {where!r}: write FILE:QUEUE, such as queues.toml:duel")
    specs = {spec.name: spec for spec in config.load(Path(path))}
    if name not in specs:
        raise ConfigError(f"{path} has no queue {name!r}; it has {', '.join(sorted(specs))}")
    return specs[name]


def _show(outcome: planning.Outcome) -> None:
    console = Console(highlight=False)
    console.print(Text(f"{_setting(outcome)}, seed {outcome.seed}"))
    if outcome.matches:
        console.print(_matches(outcome))
    if outcome.unmatched:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for title in ("waits on", "reason", ""):
            table.add_column(title, overflow="fold")
        for one in outcome.unmatched:
            table.add_row(Text(_visible(one.ticket)), one.reason, one.detail)
        console.print(table)
    for step in outcome.trace:
        rows = {key: value for key, value in step.items() if _is_table(value)}
        words = f"  {step['words']}" if "words" in step else ""
        line = "  ".join(
            f"{key}={_told(key, value)}" for key, value in step.items() if key != "words" and key not in rows
        )
        console.print(Text(_visible(f"  {line}{words}")))
        for key, table in rows.items():
            for row in table:
                cells = ", ".join(f"{name} {_short(value)}" for name, value in row.items() if value is not None)
                console.print(Text(_visible(f"    {key}: {cells}")))
    seated = sum(len(team) for match in outcome.matches for team in match.teams)
    console.print(
        f"{len(outcome.matches)} match{'es' * (len(outcome.matches) != 1)}, {seated} tickets seated, "
        f"{len(outcome.unmatched)} waiting, {outcome.elapsed_ms:.2f} ms"
    )
    told = {key: value for key, value in outcome.details.items() if value is not None and not isinstance(value, dict)}
    words = told.pop("words", None)
    if told:
        console.print(Text(", ".join(f"{key} {_short(value)}" for key, value in told.items())))
    if words is not None:
        console.print(Text(words))


def _setting(outcome: planning.Outcome) -> str:
    """The matcher and its parameters; of very many only those that are not as by default."""
    given, rest = outcome.parameters, ""
    if len(given) > NAMED_MAX:
        usual = registry.defaults(outcome.matcher)
        given = {name: value for name, value in given.items() if value != usual[name]}
        rest = "others as by default" if given else "all parameters as by default"
    named = ", ".join(filter(None, [*(f"{name}={value!r}" for name, value in given.items()), rest]))
    return f"{outcome.matcher}({named})"


def _matches(outcome: planning.Outcome) -> Table:
    keys = list(dict.fromkeys(key for match in outcome.matches for key in match.details if key != "sides"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("match", "teams", "cost", "quality", *keys):
        table.add_column(title, overflow="fold")
    for number, match in enumerate(outcome.matches, 1):
        teams = _visible(" vs ".join(", ".join(team) for team in match.teams))
        even = "" if match.quality is None else f"{match.quality:.0%}"
        table.add_row(
            str(number), Text(teams), _short(match.cost), even, *(Text(_short(match.details.get(key))) for key in keys)
        )
    return table


def _short(value: Any) -> str:
    if isinstance(value, dict):
        found = {key: one for key, one in value.items() if one}  # such as the terms of a match
        return ", ".join(f"{key} {one:.3g}" if isinstance(one, float) else f"{key} {one}" for key, one in found.items())
    if isinstance(value, list) and value and all(isinstance(one, dict) and "roles" in one for one in value):
        return _visible("; ".join(f"{one['ticket']}: {', '.join(one['roles'])}" for one in value))
    return _visible("" if value is None else f"{value:g}" if isinstance(value, float) else str(value))


def _visible(text: str) -> str:
    """A caller's text without what would steer the terminal: such characters are spelt out."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def _is_table(value: Any) -> bool:
    """Is it a list of rows, such as the drafts of `even`?"""
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _told(key: str, value: Any) -> str:
    """A value of the trace; of the terms of a match those that are not 0."""
    return f"({_short(value)})" if key == "terms" else str(value)
