"""A what-if as one page: what was, what would have been, and how far that can be trusted."""

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, Final

import msgspec

from evenmatch import __version__, config
from evenmatch.domain.queue import QueueSpec
from evenmatch.matchers import registry
from evenmatch.pages import page
from evenmatch.pages.charts import Chart, Series, number

from .measures import within
from .past import Past
from .plain import named
from .replay import Summary

__all__ = ["ROWS", "checked", "html", "lasted", "parameters_of", "seconds", "write"]

_HOUR_MIN: Final = 90
_SHORT_S: Final = 10


def _value(form: str, *names: str) -> Callable[[dict[str, Any]], str]:
    def pick(told: dict[str, Any]) -> str:
        value: Any = told
        for name in names:
            value = value[name]
        return "-" if value is None else form.format(value)

    return pick


def seconds(value: float | None) -> str:
    """A wait in words: short ones are told with one decimal."""
    if value is None:
        return "-"
    return f"{value:.1f} s" if value < _SHORT_S else f"{value:,.0f} s"


def _wait(*names: str) -> Callable[[dict[str, Any]], str]:
    return lambda told: seconds(told[names[0]][names[1]])


def _count(*ends: str) -> Callable[[dict[str, Any]], str]:
    """Tickets that ended so, and their share of all."""
    return lambda told: _of_all(sum(told["ends"][end] for end in ends), told)


def _of_all(many: int, told: dict[str, Any]) -> str:
    return f"{many:,} ({many / told['tickets']:.1%})" if many else "0"


ROWS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "tickets": _value("{:,}", "tickets"),
    "matches": _value("{:,}", "matches"),
    "tickets matched": _count("matched"),
    "gave up": _count("gave_up"),
    "expired": _count("expired"),
    "let a ready check fail": _count("blamed"),
    "turned away": lambda told: _of_all(sum(told["refused"].values()), told),
    "passed over": lambda told: _of_all(told["passed_over"], told),
    "still waiting at the end": _count("waiting", "proposed"),
    "never matched, of waits that ended": _value("{:.1%}", "never_matched"),
    "wait to a proposal, half within": _wait("wait_s", "p50"),
    "wait to a proposal, nine in ten": _wait("wait_s", "p90"),
    "wait to a proposal, 99 %": _wait("wait_s", "p99"),
    "gap, in the middle": _value("{:.0f}", "gap", "p50"),
    "gap, nine in ten within": _value("{:.0f}", "gap", "p90"),
    "fair by ratings, 45 to 55 %": _value("{:.1%}", "fair_share"),
}
"""What is set side by side; from `tickets matched` to `still waiting at the end`, everybody is in one row."""


def write(
    path: Path, past: Past, spec: QueueSpec, then: Summary, now: Summary, limits: list[str], command: str
) -> None:
    """Write the page."""
    page.write(path, html(past, spec, then, now, limits, command))


def html(past: Past, spec: QueueSpec, then: Summary, now: Summary, limits: list[str], command: str) -> str:
    """The whole page."""
    told = [msgspec.to_builtins(one) for one in (then, now)]
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="number">{escape(pick(told[0]))}</td>'
        f'<td class="number">{escape(pick(told[1]))}</td></tr>'
        for name, pick in ROWS.items()
    )
    was, other = past.spec.matcher.name, spec.matcher.name
    body = (
        f"<header><h1>What if {escape(other)} had matched {escape(past.spec.name)}?</h1>"
        f'<p class="lead">{number(len(past.wishes))} tickets of {lasted(past)}, as the journal has them, matched '
        f"again by {escape(other)} instead of {escape(was)}.</p>{_words(then, now, was, other)}</header>"
        f'<table><tr><th></th><th class="number">{escape(was)}, as it was</th>'
        f'<th class="number">{escape(other)}, what if</th></tr>{rows}</table>'
        f"<p>{escape(parameters_of(past.spec))}<br>{escape(parameters_of(spec))}</p><p>{escape(checked(then))}</p>"
        f"{''.join(page.figure(chart) for chart in _charts(then, now, was, other))}"
        f"<h2>How far to trust it</h2><ul>{''.join(f'<li>{escape(limit)}</li>' for limit in limits)}</ul>"
        f"<h2>Run it again</h2><pre class=command>{escape(command)}</pre><p>With evenmatch {__version__}.</p>"
        f"<details><summary>The journal's rules</summary><pre>{escape(_rules(past.spec))}</pre></details>"
        f"<details><summary>The other rules</summary><pre>{escape(_rules(spec))}</pre></details>"
    )
    return page.page(f"What if {other}", body, "pre { overflow-x: auto; } summary { cursor: pointer; }")


def lasted(past: Past) -> str:
    """How long the journal's players were there, in words."""
    minutes = (past.last_ms - past.first_ms) / 60_000
    return f"{minutes:.1f} minutes" if minutes < _HOUR_MIN else f"{minutes / 60:.1f} hours"


def parameters_of(spec: QueueSpec) -> str:
    """What a matcher ran with, in words: what was given, and what is left to its defaults."""
    given = spec.matcher.parameters
    known = registry.defaults(spec.matcher.name)
    own = named(given)
    rest = named({name: value for name, value in known.items() if name not in given})
    told = "; ".join([own, *([f"by default {rest}"] if rest else [])] if own else [f"by default {rest}"])
    return f"{spec.matcher.name}, a wave every {spec.wave.every_s:g} s: " + (told if own or rest else "no parameters")


def checked(then: Summary) -> str:
    """What ready checks added in truth, which no what-if has; nothing where they added nothing."""
    if then.to_match_s["p50"] is None or then.to_match_s == then.wait_s:
        return ""
    half, nine = seconds(then.to_match_s["p50"]), seconds(then.to_match_s["p90"])
    return f"In truth there were ready checks: half had their match within {half}, nine in ten within {nine}."


def _rules(spec: QueueSpec) -> str:
    """A queue's rules, without the address of its game servers."""
    return config.to_toml([msgspec.structs.replace(spec, allocate=None)])


def _words(then: Summary, now: Summary, was: str, other: str) -> str:
    if now.wait_s["p50"] is None or then.wait_s["p50"] is None or now.fair_share is None or then.fair_share is None:
        return "<p>One of them made no match at all.</p>"
    wait = "longer" if now.wait_s["p50"] > then.wait_s["p50"] else "no longer"
    fair = "more" if now.fair_share > then.fair_share else "no more"
    return (
        f"<p>Half of those who were proposed a match would have waited {wait} for it: {seconds(now.wait_s['p50'])} "
        f"with {escape(other)}, {seconds(then.wait_s['p50'])} with {escape(was)}. And {fair} of the matches would have "
        f"been fair by ratings: {now.fair_share:.0%} instead of {then.fair_share:.0%}.</p>{_left(now, then)}"
    )


def _left(now: Summary, then: Summary) -> str:
    if now.waiting <= then.waiting:
        return ""
    return (
        f"<p>When the journal ends, {now.waiting:,} tickets would still be waiting, and not {then.waiting:,}: "
        "the numbers are those of the others.</p>"
    )


def _charts(then: Summary, now: Summary, was: str, other: str) -> list[Chart]:
    found = []
    for key, title, label, caption in (
        ("waits", "Waits until the first proposal", "wait, s", "The share of those proposed who waited no longer"),
        ("gaps", "Rating gaps", "gap, points", "The share of the matches with no larger gap between the teams' means"),
    ):
        series = []
        for name, told in ((was, getattr(then, key)), (f"{other}, if", getattr(now, key))):
            x, y = within(told)
            if x:
                series.append(Series(name, x, y))
        if series:
            found.append(Chart(key, title, f"{caption}, up to 99 %.", "steps", label, "share, %", tuple(series)))
    return found
