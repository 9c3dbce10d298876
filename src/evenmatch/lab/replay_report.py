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

from .fits import DEFAULT, FITTED, GIVEN
from .measures import within
from .past import Past
from .plain import counted, named
from .replay import Summary

__all__ = ["ROWS", "Told", "checked", "html", "lasted", "parameters_of", "seconds", "words", "write"]

_HOUR_MIN: Final = 90
_SHORT_S: Final = 10
_FEWER: Final = 0.02
"""So much smaller a share of tickets with a match deserves a word."""


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
    "left out": lambda told: _of_all(told["left_out"], told),
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


class Told(msgspec.Struct, frozen=True):
    """Everything there is to tell."""

    past: Past
    spec: QueueSpec
    """The other rules."""
    origin: str
    """Where their parameters come from: given, fitted or default."""
    then: Summary
    """How it was."""
    same: Summary | None
    """The journal's own rules in the same what-if; None = under its last rules nobody could have joined."""
    now: Summary
    """The other rules."""
    limits: list[str]

    @property
    def columns(self) -> dict[str, Summary]:
        """What is set side by side, with what stands above it."""
        found = {f"{self.past.spec.matcher.name}, as it was": self.then}
        if self.same is not None:
            found["same rules, what if"] = self.same
        other = self.spec.matcher.name
        return found | {f"{'other rules' if other == self.past.spec.matcher.name else other}, what if": self.now}

    @property
    def settings(self) -> list[str]:
        """The parameters of both, and where they come from."""
        own = parameters_of(self.past.spec)
        return [f"{own} (given: the journal's)", f"{parameters_of(self.spec)} ({_ORIGINS[self.origin]})"]


_ORIGINS: Final = {
    GIVEN: "given",
    FITTED: "fitted to the journal's ratings and arrivals",
    DEFAULT: "default: nothing of it hangs on ratings and arrivals alone",
}


def write(path: Path, told: Told, command: str) -> None:
    """Write the page."""
    page.write(path, html(told, command))


def html(told: Told, command: str) -> str:
    """The whole page."""
    past, spec = told.past, told.spec
    plain = [msgspec.to_builtins(one) for one in told.columns.values()]
    head = "".join(f'<th class="number">{escape(title)}</th>' for title in told.columns)
    rows = "".join(
        f"<tr><td>{escape(name)}</td>"
        + "".join(f'<td class="number">{escape(pick(one))}</td>' for one in plain)
        + "</tr>"
        for name, pick in ROWS.items()
    )
    was, other = past.spec.matcher.name, spec.matcher.name
    body = (
        f"<header><h1>What if {escape(other)} had matched {escape(past.spec.name)}?</h1>"
        f'<p class="lead">{number(len(past.wishes))} tickets of {lasted(past)}, as the journal has them, matched '
        f"again by {escape(other)} instead of {escape(was)}.</p>"
        f"{''.join(f'<p>{escape(sentence)}</p>' for sentence in words(told))}</header>"
        f"<table><tr><th></th>{head}</tr>{rows}</table>"
        f"<p>{'<br>'.join(map(escape, told.settings))}</p><p>{escape(checked(told.then))}</p>"
        f"{''.join(page.figure(chart) for chart in _charts(told))}"
        f"<h2>How far to trust it</h2><ul>{''.join(f'<li>{escape(limit)}</li>' for limit in told.limits)}</ul>"
        f"<h2>Run it again</h2><pre class=command>{escape(command)}</pre><p>With evenmatch {__version__}.</p>"
        f"<details><summary>The journal's rules</summary><pre>{escape(_rules(past.spec))}</pre></details>"
        f"<details><summary>The other rules</summary><pre>{escape(_rules(spec))}</pre></details>"
    )
    return page.page(f"What if {other}", body, "pre { overflow-x: auto; } summary { cursor: pointer; }")


def words(told: Told) -> list[str]:
    """What a reader wants to know first: who got a match at all, then waits and fairness, then what compares."""
    now, beside = told.now, told.same or told.then
    other = told.spec.matcher.name
    with_other = "With the other rules" if other == told.past.spec.matcher.name else f"With {other}"
    same = "with the same rules in the same what-if" if told.same else f"with {told.past.spec.matcher.name}, in truth"
    truth = f" (in truth it was {_matched(told.then):.1%})" if told.same else ""
    said = [
        f"{with_other} {_matched(now):.1%} of the tickets would have got a match, "
        f"and {_matched(beside):.1%} {same}{truth}."
    ]
    said += [f"{with_other} {'; '.join(rest)}."] if (rest := _without(now)) else []
    waits = [(one.wait_s["p50"], one.wait_s["p90"], one.fair_share) for one in (now, beside)]
    if any(value is None for one in waits for value in one):
        said.append("One of them made no match at all: of waits and fair matches there is nothing to compare.")
    else:
        (half, nine, fair), (same_half, same_nine, same_fair) = waits
        said.append(
            f"Waits are of those who were proposed a match: half of them within {seconds(half)}, nine in ten within "
            f"{seconds(nine)}; {same}, {seconds(same_half)} and {seconds(same_nine)}. Fair by ratings would have been "
            f"{fair:.0%} of the matches, and {same_fair:.0%} {same}."
        )
        if _matched(beside) - _matched(now) > _FEWER:
            said.append("Who got no match is in none of these numbers: fewer had one, and those are the easier ones.")
    if told.same:
        said.append(
            "Compare the two what-ifs with each other: everybody accepts in both. How it was stands beside them to "
            "show what the what-if itself leaves out."
        )
    return said


def _matched(one: Summary) -> float:
    return one.ends["matched"] / one.tickets if one.tickets else 0.0


def _without(one: Summary) -> list[str]:
    """How it would have ended for those without a match."""
    found = {
        "would have expired": one.ends["expired"],
        "would have given up": one.ends["gave_up"],
        "would have been turned away": sum(one.refused.values()),
        "would still be waiting when the journal ends": one.waiting,
    }
    return [f"{many / one.tickets:.1%} ({counted(many, 'ticket')}) {how}" for how, many in found.items() if many]


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


def _charts(told: Told) -> list[Chart]:
    found = []
    other = told.spec.matcher.name
    pictured = {told.past.spec.matcher.name: told.then, "same, if": told.same, f"{other}, if": told.now}
    for key, title, label, caption in (
        ("waits", "Waits until the first proposal", "wait, s", "The share of those proposed who waited no longer"),
        ("gaps", "Rating gaps", "gap, points", "The share of the matches with no larger gap between the teams' means"),
    ):
        series = []
        for name, one in pictured.items():
            x, y = within(getattr(one, key)) if one is not None else ((), ())
            if x:
                series.append(Series(name, x, y))
        if series:
            found.append(Chart(key, title, f"{caption}, up to 99 %.", "steps", label, "share, %", tuple(series)))
    return found
