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
from evenmatch.domain.queue import QueueSpec
from evenmatch.errors import LabError
from evenmatch.lab import past as pasts
from evenmatch.lab import replay_report
from evenmatch.lab.fits import GIVEN
from evenmatch.lab.past_fits import fitted_to_past
from evenmatch.lab.plain import counted
from evenmatch.lab.replay import LIMITS, Summary, summary, what_if
from evenmatch.lab.replay_report import Told
from evenmatch.matchers import registry
from evenmatch.pages.page import require_writable
from evenmatch.storage.places import MAIN, open_store, shown


def replay(
    journal: str,
    /,
    *,
    with_: Annotated[Path | None, Parameter(name="--with")] = None,
    matcher: str | None = None,
    queue: str | None = None,
    lane: str = MAIN,
    report: Path | None = None,
    json: bool = False,
) -> None:
    """Prove that a journal gives its state again; or run its players through other rules, side by side.

    Parameters
    ----------
    journal
        A server's journal: its file, or postgresql://...; a running server is not disturbed.
    with_
        A file of queues: the rules to try. Of several, the one with the name of the journal's queue.
    matcher
        Another matcher, fitted to the journal's ratings and arrivals; otherwise the rules of the journal's queue.
    queue
        The queue of the journal; where only one was joined it may be left out.
    lane
        Which lane of a database that has several.
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
        _prove(journal, lane, json)
        return
    if report is not None:
        require_writable(report)
    with (
        open_store(journal, lane=lane, read_only=True) as opened,
        Console(stderr=True).status("proving the journal ..."),
    ):
        recovery.verify(opened)
        past = pasts.read(opened, queue)
        whole = opened.oldest == 1
    spec, origin = _rules(past, with_, matcher)
    with Console(stderr=True).status("running its players through the other rules ..."):
        now, same = what_if(past, spec), _same(past)
    limits = [*LIMITS, *_further(past, whole, now, same)]
    told = Told(past, spec, origin, summary(past.story), same, now, limits)
    if json:
        sys.stdout.write(msgspec.json.encode(_plain(told)).decode() + "\n")
    else:
        _show(told)
    if report is not None:
        replay_report.write(report, told, shlex.join(["evenmatch", *sys.argv[1:]]))


def _plain(told: Told) -> dict[str, Any]:
    past = told.past
    return {
        "queue": past.spec.name,
        "hours": round((past.last_ms - past.first_ms) / 3_600_000, 3),
        "words": replay_report.words(told),
        "journal": {**_ran(past.spec, GIVEN), **msgspec.to_builtins(told.then)},
        "same_rules": None if told.same is None else {**_ran(past.spec, GIVEN), **msgspec.to_builtins(told.same)},
        "what_if": {**_ran(told.spec, told.origin), **msgspec.to_builtins(told.now)},
        "limits": told.limits,
    }


def _same(past: pasts.Past) -> Summary | None:
    """The journal's own rules in a what-if; none, where they changed so that nobody could have joined."""
    try:
        return what_if(past, past.spec)
    except LabError:
        return None


def _ran(spec: QueueSpec, origin: str) -> dict[str, Any]:
    return {
        "matcher": spec.matcher.name,
        "parameters": spec.matcher.parameters,
        "parameters_from": origin,
        "every_s": spec.wave.every_s,
    }


def _prove(path: str, lane: str, json: bool) -> None:
    with open_store(path, lane=lane, read_only=True) as journal, Console(stderr=True).status("replaying ..."):
        found = recovery.verify(journal)
    if json:
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
        return
    print(f"{shown(path)}: {counted(found.events, 'event')}, {counted(found.checkpoints, 'checkpoint')} proved")
    print(f"state hash {found.hash}")


def _rules(past: pasts.Past, with_: Path | None, matcher: str | None) -> tuple[QueueSpec, str]:
    """The rules to try, and where their parameters come from."""
    if with_ is not None:
        specs = {spec.name: spec for spec in config.load(with_)}
        if len(specs) > 1 and past.spec.name not in specs:
            raise LabError(f"{with_} has several queues, and none is called {past.spec.name}: {', '.join(specs)}")
        return specs.get(past.spec.name) or next(iter(specs.values())), GIVEN
    assert matcher is not None
    if matcher not in registry.MATCHERS:
        raise LabError(f"there is no matcher {matcher!r}: use {', '.join(registry.names())}")
    return fitted_to_past(past, matcher)


def _further(past: pasts.Past, whole: bool, now: Summary, same: Summary | None) -> list[str]:
    """What else must be known of this very answer."""
    found = []
    if not whole:
        found.append("the journal's oldest events are archived: what was before them is not in it")
    if past.changes:
        often = counted(past.changes, "time")
        found.append(f"the queue's rules changed {often} meanwhile; in a what-if the last of them hold throughout")
    if same is None:
        found.append("under the journal's last rules nobody of it could have joined: they have no what-if")
    if now.refused:
        why = "; ".join(f"{said} ({counted(count, 'ticket')})" for said, count in now.refused.items())
        found.append(f"the other rules would have turned some away: {why}")
    return found


def _show(told: Told) -> None:
    console = Console(highlight=False)
    console.print(Text(f"{told.past.spec.name}, {replay_report.lasted(told.past)}"))
    for sentence in replay_report.words(told):
        console.print(Text(sentence))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for title in told.columns:
        table.add_column(Text(title), justify="right")
    plain = [msgspec.to_builtins(one) for one in told.columns.values()]
    for name, pick in replay_report.ROWS.items():
        table.add_row(name, *(pick(one) for one in plain))
    console.print(table)
    for words in filter(None, [*told.settings, replay_report.checked(told.then)]):
        console.print(Text(words))
    console.print("A what-if has limits:")
    for limit in told.limits:
        console.print(Text(f"- {limit}"))
