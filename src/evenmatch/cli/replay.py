"""evenmatch replay: prove a journal, or ask what another algorithm would have done with its players."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evenmatch import config, recovery
from evenmatch.domain.queue import MatcherSpec, QueueSpec
from evenmatch.errors import ConfigError, LabError
from evenmatch.lab import past as pasts
from evenmatch.lab import replay_report
from evenmatch.lab.queues import fitted
from evenmatch.lab.replay import LIMITS, Summary, summary, what_if
from evenmatch.matchers import registry
from evenmatch.pages.page import require_writable
from evenmatch.storage.sqlite import SqliteJournal


def replay(
    journal: Path,
    /,
    *,
    with_: Annotated[Path | None, Parameter(name="--with")] = None,
    matcher: str | None = None,
    queue: str | None = None,
    report: Path | None = None,
    json: bool = False,
) -> None:
    """Prove that a journal gives its state again; or run its players through other rules, side by side.

    Parameters
    ----------
    journal
        A server's journal; a running server is not disturbed.
    with_
        A file of queues: the rules to try. Of several, the one with the name of the journal's queue.
    matcher
        Another matcher, with its defaults, and otherwise the rules of the journal's queue.
    queue
        The queue of the journal; where only one was joined it may be left out.
    report
        Write a page with words, tables and pictures; it needs nothing else.
    json
        Print the numbers as JSON.
    """
    if with_ is not None and matcher is not None:
        raise LabError("give --with or --matcher, not both")
    if with_ is None and matcher is None:
        if queue is not None or report is not None:
            raise LabError("--queue and --report are for a comparison: say with what, by --with FILE or --matcher NAME")
        _prove(journal, json)
        return
    if report is not None:
        require_writable(report)
    with SqliteJournal(journal, read_only=True) as opened, Console(stderr=True).status("reading the journal ..."):
        past = pasts.read(opened, queue)
        whole = opened.oldest == 1
    spec = _rules(past, with_, matcher)
    with Console(stderr=True).status("running its players through the other rules ..."):
        then, now = summary(past.story), what_if(past, spec)
    limits = [*LIMITS, *_further(past, whole, now)]
    found = {
        "queue": past.spec.name,
        "hours": round((past.last_ms - past.first_ms) / 3_600_000, 3),
        "journal": {**_ran(past.spec), **msgspec.to_builtins(then)},
        "what_if": {**_ran(spec), **msgspec.to_builtins(now)},
        "limits": limits,
    }
    if report is not None:
        replay_report.write(report, past, spec, then, now, limits, shlex.join(["evenmatch", *sys.argv[1:]]))
    if json:
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    else:
        told = [replay_report.parameters_of(one) for one in (past.spec, spec)]
        _show(found, replay_report.lasted(past), [*told, replay_report.checked(then)])


def _ran(spec: QueueSpec) -> dict[str, Any]:
    return {"matcher": spec.matcher.name, "parameters": spec.matcher.parameters, "every_s": spec.wave.every_s}


def _prove(path: Path, json: bool) -> None:
    with SqliteJournal(path, read_only=True) as journal, Console(stderr=True).status("replaying ..."):
        found = recovery.verify(journal)
    if json:
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
        return
    print(f"{path}: {found.events} events, {found.checkpoints} checkpoints proved")
    print(f"state hash {found.hash}")


def _rules(past: pasts.Past, with_: Path | None, matcher: str | None) -> QueueSpec:
    if with_ is not None:
        specs = {spec.name: spec for spec in config.load(with_)}
        if len(specs) > 1 and past.spec.name not in specs:
            raise LabError(f"{with_} has several queues, and none is called {past.spec.name}: {', '.join(specs)}")
        return specs.get(past.spec.name) or next(iter(specs.values()))
    assert matcher is not None
    if matcher not in registry.MATCHERS:
        raise LabError(f"there is no matcher {matcher!r}: use {', '.join(registry.names())}")
    form, parameters = fitted(matcher, past.spec.format)
    spec = msgspec.structs.replace(past.spec, format=form, matcher=MatcherSpec(matcher, parameters))
    try:
        return config.parse(config.to_toml([spec]), past.spec.name)[0]
    except ConfigError as error:
        raise LabError(f"{matcher} cannot play {past.spec.name}: {str(error).partition(': ')[2]}") from None


def _further(past: pasts.Past, whole: bool, now: Summary) -> list[str]:
    """What else must be known of this very answer."""
    found = []
    if not whole:
        found.append("the journal's oldest events are archived: what was before them is not in it")
    if past.changes:
        found.append(f"the queue's rules changed {past.changes} times meanwhile; the other rules held throughout")
    if now.refused:
        why = "; ".join(f"{said} ({count} tickets)" for said, count in now.refused.items())
        found.append(f"the other rules would have turned some away: {why}")
    return found


def _show(found: dict[str, Any], lasted: str, said: list[str]) -> None:
    console = Console(highlight=False)
    console.print(f"{found['queue']}, {lasted}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    then, now = found["journal"], found["what_if"]
    table.add_column(f"{then['matcher']}, as it was", justify="right")
    table.add_column(f"{now['matcher']}, what if", justify="right")
    for name, pick in replay_report.ROWS.items():
        table.add_row(name, pick(then), pick(now))
    console.print(table)
    for words in filter(None, said):
        console.print(Text(words))
    console.print("A what-if has limits:")
    for limit in found["limits"]:
        console.print(f"- {limit}")
