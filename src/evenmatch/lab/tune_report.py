"""A search as one page: what was chosen and whether it holds, all that was tried, and everything to run it again."""

from html import escape
from pathlib import Path
from typing import Final

import msgspec
import tomli_w

from evenmatch import __version__
from evenmatch.pages import page
from evenmatch.pages.charts import Chart, Mark, Series

from . import population as populations
from .comparison import QUALITY, SERVED_LEAST, WAIT
from .intervals import Interval
from .plain import counted, named, percent_down, without_none
from .spaces import knobs
from .targets import Target
from .tune import Tried, Tuned, contenders
from .verdict import SEEDS_FEW

__all__ = ["NAMES", "caveats", "front_words", "html", "missed", "shown", "verdict", "write"]

_STYLE: Final = """
tr.chosen td { color: var(--good); font-weight: 600; } pre { overflow-x: auto; background: var(--card); padding: 1rem;
  border-radius: 10px; font-size: .8rem; } details { margin: 1rem 0; } summary { cursor: pointer; font-weight: 600; }
"""
NAMES: Final = {
    "wait_to_match_s.p50": "wait, half within",
    WAIT: "wait, nine in ten within",
    "wait_to_match_s.p99": "wait, 99 % within",
    QUALITY: "fair, 45 to 55 %",
    "never_matched": "never matched",
}
"""What is measured, in words."""


def write(path: Path, found: Tuned, command: str) -> None:
    """Write the page; `command` runs it again."""
    page.write(path, html(found, command))


def html(found: Tuned, command: str) -> str:
    """The whole page."""
    wanted = " and ".join(target.words for target in found.targets)
    body = (
        f"<header><h1>{escape(found.matcher)} tuned for {escape(wanted)}</h1>"
        f'<p class="lead">{found.trials} settings on {escape(found.population)}, {found.hours:g} '
        f"{'hour' if found.hours == 1 else 'hours'} each with {_many(len(found.seeds))}; the one that was chosen again "
        f"with {_many(len(found.held_out))} that the search never saw.</p>{_words(found)}</header>"
        f"{''.join(page.figure(chart) for chart in _front(found))}"
        f"<h2>The front</h2><p>{front_words(found)} The chosen one is in green.</p>{_table(found)}"
        f"<h2>On other seeds</h2>{_checked(found)}"
        f"<h2>For queues.toml</h2><pre>{escape(found.toml)}</pre>{_again(found, command)}"
    )
    return page.page(f"{found.matcher}, tuned", body, _STYLE)


def _words(found: Tuned) -> str:
    met = sum(one.short == 0 for one in contenders(found.tried))
    chosen = found.chosen
    if not met:
        first = f"<b>{escape(missed(found))}</b> The nearest"
    else:
        first = f"{met} of the {found.trials} settings meet the target. The best of them in what was not asked for"
    said = [f"{first}: {_seconds(chosen.wait_s)} until nine in ten are matched, {_percent(chosen.fair_share)} fair."]
    wait, fair = found.checked[WAIT], found.checked[QUALITY]
    said.append(
        f"<b>{escape(verdict(found))}</b> That is on traffic that the search never saw: {_seconds(wait.mean)}, and "
        f"{_percent(fair.mean)} of the matches are fair."
    )
    said += [escape(one) for one in caveats(found)]
    if chosen.fair_share is not None and fair.high is not None and chosen.fair_share > fair.high:
        said.append(
            f"The search saw {_percent(chosen.fair_share)} fair matches with it, which was luck in part: more hours or "
            "seeds make a search less a matter of luck."
        )
    return "".join(f"<p>{sentence}</p>" for sentence in said)


def verdict(found: Tuned) -> str:
    """Whether the target holds on seeds that the search never saw, and whether that can be told."""
    many = _many(len(found.held_out))
    if found.sure:
        return "The target holds there." if found.holds else "The target does not hold there."
    if found.holds:
        return f"The target holds there on average, but that cannot be told with {many}."
    return f"The target does not hold there on average, but that cannot be told with {many}."


def missed(found: Tuned) -> str:
    """That no setting met the target; where some met it by serving few, that is no way to meet it."""
    if not any(one.short == 0 for one in found.tried) or found.few_served:
        return "No setting met the target."
    return f"No setting met the target and served {SERVED_LEAST:.0%} of those who came."


def caveats(found: Tuned) -> list[str]:
    """What else is to be known of it."""
    said = list(found.implied)
    for target in found.targets:
        if target.measure == QUALITY and target.limit > found.ceiling.fair_share:
            said.append(
                f"No matcher can reach more than about {found.ceiling.fair_share:.0%} here, since ratings are off by "
                f"{found.ceiling.rating_error:.0f} points on average: players who are rated alike are not."
            )
    if found.few_served:
        said.append(f"No setting served {SERVED_LEAST:.0%} of those who came, so the front is of all that was tried.")
    elif few := sum(not one.serves_enough for one in found.tried):
        said.append(
            f"{counted(few, 'setting')} that served fewer than {SERVED_LEAST:.0%} of those who came "
            f"{'is' if few == 1 else 'are'} neither on the front nor chosen."
        )
    never = found.checked["never_matched"].mean
    if never is not None and 1.0 - never < SERVED_LEAST:
        said.append(f"It serves {percent_down(1.0 - never)} of those who came, those turned away at the door counted.")
    if len(found.held_out) < SEEDS_FEW:
        many = _many(len(found.held_out))
        said.append(f"{many[0].upper()}{many[1:]} cannot tell chance: use --held-out {SEEDS_FEW} or more.")
    return said


def _front(found: Tuned) -> list[Chart]:
    """All that was tried: wait against quality."""
    known = [one for one in found.tried if one.wait_s is not None and one.fair_share is not None]
    if not known:
        return []
    able = contenders(known)
    others = [one for one in able if one not in found.front and one != found.chosen]
    few = [one for one in known if one not in able and one != found.chosen]
    front = [one for one in found.front if one != found.chosen]
    series = [
        _series("chosen", [found.chosen] if found.chosen in known else [], ["chosen"]),
        _series("on the front", front, [str(found.front.index(one) + 1) for one in front]),
        _series("tried", others, [""] * len(others)),
        _series("serves too few of those who came", few, [""] * len(few)),
    ]
    far = max(one.wait_s or 0.0 for one in known)
    marks = [
        Mark(target.limit, target.words) for target in found.targets if target.measure == WAIT and target.limit <= far
    ]
    missing = found.trials - len(known)
    which = "1 more is not shown, for with it" if missing == 1 else f"{missing} more are not shown, for with them"
    more = f" {which} fewer than nine in ten were matched." if missing else ""
    return [
        Chart(
            name="front",
            title="All that was tried",
            caption="The wait within which nine in ten are matched, those who gave up counted as far as they waited; "
            "and the share of matches in which the favourite wins 55 % at most, by true skill. Up and left is better; "
            "numbers are those of the table below." + more,
            kind="points",
            x_label="wait, s (90 %)",
            y_label="fair matches, %",
            series=tuple(one for one in series if one.x),
            marks=tuple(marks),
        )
    ]


def _series(name: str, points: list[Tried], names: list[str]) -> Series:
    waits, fair = (tuple(values) for values in zip(*map(_place, points), strict=True)) if points else ((), ())
    return Series(name, waits, fair, names=tuple(names[: len(points)]))


def _place(one: Tried) -> tuple[float, float]:
    return one.wait_s or 0.0, 100.0 * (one.fair_share or 0.0)


def front_words(found: Tuned) -> str:
    """What the front is, or why there is none."""
    if found.front:
        return "Nothing that was tried beats these in both."
    return "There is no front: with no setting were nine in ten matched, so there is no such wait to compare."


def _table(found: Tuned) -> str:
    rows = list(found.front) if found.chosen in found.front else [*found.front, found.chosen]
    lines = []
    for place, one in enumerate(rows, 1):
        own = named(one.parameters) or "none"
        number = str(place) if one in found.front else "-"
        cells = "".join(
            f'<td class="number">{escape(text)}</td>'
            for text in (
                *(number, _seconds(one.wait_s), _percent(one.fair_share), _percent(one.served)),
                f"{one.every_s:g} s",
            )
        )
        lines.append(f"<tr{' class=chosen' if one == found.chosen else ''}>{cells}<td>{escape(own)}</td></tr>")
    head = "".join(f'<th class="number">{name}</th>' for name in ("", "wait, 90 %", "fair", "matched", "a wave every"))
    return f'<div class="scroll"><table><tr>{head}<th>parameters</th></tr>{"".join(lines)}</table></div>'


def _checked(found: Tuned) -> str:
    wanted = {target.measure: target for target in found.targets}
    lines = []
    for name, one in found.checked.items():
        target = wanted.get(name)
        asked = "" if target is None else f"{_met(target, one, len(found.held_out))}: {target.words}"
        lines.append(
            f"<tr><td>{escape(NAMES.get(name, name))}</td><td>{escape(shown(name, one))}</td>"
            f"<td>{escape(asked)}</td></tr>"
        )
    seeds = f"{found.held_out[0]} to {found.held_out[-1]}" if len(found.held_out) > 1 else str(found.held_out[0])
    head = f"<tr><th></th><th>seeds {seeds}</th><th>target</th></tr>"
    return f"<table>{head}{''.join(lines)}</table>"


def _met(target: Target, one: Interval, seeds: int) -> str:
    met = "met" if target.short(one.mean) == 0 else "missed"
    return met if target.surely(one, seeds) is not None else f"{met} on average"


def shown(name: str, one: Interval) -> str:
    """A measure with its unit and its interval."""
    form = _seconds if name.startswith("wait") else _percent
    if one.mean is None:
        return "-"
    if one.low is None or one.high is None:
        return form(one.mean)
    return f"{form(one.mean)} ({form(one.low)} to {form(one.high)})"


def _again(found: Tuned, command: str) -> str:
    given, _ = populations.load(found.population)
    space = "".join(
        f'<tr><td>{escape(name)}</td><td class="number">{knob.low:g}</td><td class="number">{knob.high:g}</td></tr>'
        for name, knob in knobs(found.matcher).items()
    )
    return (
        f"<h2>Run it again</h2><pre class=command>{escape(command)}</pre>"
        "<p>The search is optuna's TPE with seed 1. The same program, "
        f"evenmatch {__version__}, gives the same numbers.</p>"
        f"{''.join(f'<p>{escape(note)}</p>' for note in found.notes)}"
        '<details><summary>What was searched</summary><table><tr><th></th><th class="number">from</th>'
        f'<th class="number">to</th></tr>{space}</table></details>'
        "<details><summary>The population</summary>"
        f"<pre>{escape(tomli_w.dumps(without_none(msgspec.to_builtins(given))))}</pre></details>"
    )


def _many(seeds: int) -> str:
    return "one seed" if seeds == 1 else f"{seeds} seeds"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f} s"
