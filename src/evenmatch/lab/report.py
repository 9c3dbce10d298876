"""A comparison as one page: what was found in words, then tables, pictures, and everything needed to run it again."""

from html import escape
from pathlib import Path
from typing import Any, Final

import msgspec
import tomli_w

from evenmatch.pages import page
from evenmatch.pages.charts import Chart, Series, number

from .comparison import COLUMNS, QUALITY, WAIT, Comparison, Row

__all__ = ["html", "write"]

_PARTS: Final = {
    "skill": ("Waits by skill", "the weakest tenth to the strongest"),
    "party": ("Waits by party size", "players in the party"),
    "region": ("Waits by region", "region"),
    "hour": ("Waits by hour", "hour of the run"),
}
_PICTURED: Final = 4
"""Series that one picture can hold."""
_STYLE: Final = """
td.front { color: var(--good); font-weight: 600; } pre { overflow-x: auto; background: var(--card); padding: 1rem;
  border-radius: 10px; font-size: .8rem; } details { margin: 1rem 0; } summary { cursor: pointer; font-weight: 600; }
td .range { color: var(--soft); font-size: .78rem; display: block; }
"""


def write(path: Path, found: Comparison, command: str) -> None:
    """Write the page; `command` runs it again."""
    page.write(path, html(found, command))


def html(found: Comparison, command: str) -> str:
    """The whole page."""
    many = "one seed" if found.seeds == 1 else f"{found.seeds} seeds"
    body = (
        f"<header><h1>Matchers on {escape(found.called)}</h1>"
        f'<p class="lead">{escape(found.population.title)}: {number(found.hours)} hours of it, {many}, the same '
        f"traffic for all.</p>{_words(found)}</header>"
        f"{''.join(page.figure(chart) for chart in _front(found))}"
        f"<h2>Side by side</h2>{_table(found)}{_not_played(found)}"
        f"<h2>Who pays</h2><p>The same measures for parts of the crowd: a good average can hide those at the edge.</p>"
        f"{''.join(page.figure(chart) for chart in _parts(found))}"
        f"<h2>How they spread</h2>{''.join(page.figure(chart) for chart in _spreads(found))}"
        f"{_meanings()}{_again(found, command)}"
    )
    return page.page(f"Matchers on {found.called}", body, _STYLE)


def _words(found: Comparison) -> str:
    """What a reader wants to know first."""
    rows = [row for row in found.rows if row.mean("wait_s.p50") is not None]
    if not rows:
        return "<p>Nobody was matched.</p>"
    said = []
    quick = min(rows, key=lambda row: _or(row.mean(WAIT), float("inf")))
    fair = max(rows, key=lambda row: _or(row.mean(QUALITY), -1.0))
    said.append(
        f"<b>{escape(fair.name)}</b> makes the fairest matches: {_percent(fair.mean(QUALITY))} have odds of 45 to "
        f"55 %, half of the players wait no longer than {_seconds(fair.mean('wait_s.p50'))}, and "
        f"{_percent(fair.mean('never_matched'))} are never matched."
    )
    if quick is not fair:
        said.append(
            f"<b>{escape(quick.name)}</b> is the quickest: nine in ten play within {_seconds(quick.mean(WAIT))}, and "
            f"{_percent(quick.mean(QUALITY))} of its matches are fair."
        )
    between = [name for name in found.front if name not in (quick.name, fair.name)]
    if between:
        listed = ", ".join(f"<b>{escape(name)}</b>" for name in between)
        said.append(f"In between, no other beats {listed} in both.")
    beaten = [row.name for row in rows if row.name not in found.front]
    if beaten:
        said.append(
            f"Whatever else counts, something here is both quicker and fairer than {escape(', '.join(beaten))}."
        )
    if found.seeds == 1:
        said.append("One seed says nothing of chance: small differences may be none.")
    return "".join(f"<p>{sentence}</p>" for sentence in said)


def _front(found: Comparison) -> list[Chart]:
    points = [(row.name, row.mean(WAIT), row.mean(QUALITY)) for row in found.rows]
    known = [(name, wait, 100 * fair) for name, wait, fair in points if wait is not None and fair is not None]
    if not known:
        return []
    front = [point for point in known if point[0] in found.front]
    others = [point for point in known if point[0] not in found.front]
    series = [_named("on the front", front)] + ([_named("beaten in both", others)] if others else [])
    missing = [name for name, wait, _ in points if wait is None]
    more = f" Not shown, for fewer than nine in ten were matched: {', '.join(missing)}." if missing else ""
    return [
        Chart(
            name="front",
            title="Wait against quality",
            caption="The wait within which nine in ten are matched, those who gave up counted as far as they waited; "
            "and the share of matches in which the favourite wins 55 % at most, by true skill. Up and left is better."
            + more,
            kind="points",
            x_label="wait, s (90 %)",
            y_label="fair matches, %",
            series=tuple(series),
        )
    ]


def _named(name: str, points: list[tuple[str, float, float]]) -> Series:
    return Series(name, tuple(p[1] for p in points), tuple(p[2] for p in points), names=tuple(p[0] for p in points))


def _table(found: Comparison) -> str:
    head = "<th></th>" + "".join(f'<th class="number">{escape(title)}</th>' for title, _ in COLUMNS.values())
    lines = []
    for row in found.rows:
        on_front = row.name in found.front
        cells = "".join(f'<td class="number">{_cell(row, name, form)}</td>' for name, (_, form) in COLUMNS.items())
        lines.append(f"<tr><td{' class=front' if on_front else ''}>{escape(row.name)}</td>{cells}</tr>")
    note = "" if found.seeds == 1 else " Below each mean: its 95 % interval over the seeds."
    return (
        f'<div class="scroll"><table><tr>{head}</tr>{"".join(lines)}</table></div>'
        f'<p class="soft">Those in green are on the front.{note}</p>'
    )


def _cell(row: Row, name: str, form: str) -> str:
    one = row.measures.get(name)
    if one is None or one.mean is None:
        return "-"
    shown = escape(form.format(one.mean))
    if one.low is None or one.high is None:
        return shown
    return f'{shown}<span class="range">{escape(form.format(one.low))} to {escape(form.format(one.high))}</span>'


def _not_played(found: Comparison) -> str:
    if not found.not_played:
        return ""
    lines = "".join(f"<tr><td>{escape(one.name)}</td><td>{escape(one.why)}</td></tr>" for one in found.not_played)
    return f"<h3>Not applicable</h3><table><tr><th>matcher</th><th>why</th></tr>{lines}</table>"


def _chosen(found: Comparison) -> list[Row]:
    """Those that a picture shows: the front first."""
    played = [row for row in found.rows if row.mean("wait_s.p50") is not None]
    ordered = [row for row in played if row.name in found.front] + [r for r in played if r.name not in found.front]
    return ordered[:_PICTURED]


def _parts(found: Comparison) -> list[Chart]:
    rows = _chosen(found)
    charts = []
    for part, (title, label) in _PARTS.items():
        names = [one["name"] for one in rows[0].runs[0]["by"][part]] if rows else []
        if len(names) < 2:
            continue
        series = []
        for row in rows:
            means = [_over(row, part, place) for place in range(len(names))]
            known = [(float(place), value) for place, value in enumerate(means) if value is not None]
            if known:
                series.append(Series(row.name, tuple(x for x, _ in known), tuple(y for _, y in known)))
        if len(names) > _PICTURED * 2 or part == "hour":
            kind, categories = "lines", ()
        else:
            kind, categories = "bars", tuple(names)
        charts.append(
            Chart(
                name=f"by-{part}",
                title=title,
                caption="The wait within which nine in ten of those matched were matched; the mean over seeds.",
                kind=kind,
                x_label=label if kind == "bars" or part == "hour" else f"{label}, 0 to {len(names) - 1}",
                y_label="wait, s (90 %)",
                series=tuple(series),
                categories=categories,
            )
        )
    return charts


def _over(row: Row, part: str, place: int) -> float | None:
    values = [run["by"][part][place]["wait_s"]["p90"] for run in row.runs]
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def _spreads(found: Comparison) -> list[Chart]:
    charts = []
    for measure, title, label in (
        ("true_odds", "How often favourites win", "the favourite wins, %"),
        ("wait_s", "Waits of those matched", "wait, s"),
    ):
        series = []
        for row in _chosen(found):
            told = row.runs[0]["histograms"][measure]
            total = sum(told["counts"])
            if total:
                scale = 100.0 if measure == "true_odds" else 1.0
                middles = [scale * (a + b) / 2 for a, b in zip(told["edges"], told["edges"][1:], strict=False)]
                series.append(Series(row.name, tuple(middles), tuple(100 * count / total for count in told["counts"])))
        if series:
            charts.append(
                Chart(
                    name=f"spread-{measure}",
                    title=title,
                    caption="The share of all, of seed 1, in each of twenty classes.",
                    kind="steps",
                    x_label=label,
                    y_label="share, %",
                    series=tuple(series),
                )
            )
    return charts


def _meanings() -> str:
    said = {
        "never matched": "of those whose wait ended: gave up, expired, or turned away at the door",
        "fair 45-55 %": "matches in which the favourite wins 55 % at most, by true skill, which no matcher sees",
        "worst 1 %": "how often the favourite wins in the least even hundredth of the matches",
        "gap": "between the mean ratings of the strongest and the weakest team, as the matcher sees them",
        "extra ms": "latency to the server that is best for the worst off, less that to one's own best",
        "overtaken": "tickets that were left waiting in a wave although one that came later had a place in which they "
        "would have fitted as well",
    }
    lines = "".join(f"<tr><td>{escape(name)}</td><td>{escape(words)}</td></tr>" for name, words in said.items())
    return f"<h2>What the words mean</h2><table>{lines}</table>"


def _again(found: Comparison, command: str) -> str:
    plain = tomli_w.dumps(_without_none(msgspec.to_builtins(found.population)))
    rules = tomli_w.dumps({"queues": {row.name: _without_none(row.queue) for row in found.rows}})
    return (
        f"<h2>Run it again</h2><pre>{escape(command)}</pre>"
        f"<p>Seeds 1 to {found.seeds}, moments {number(found.step_s)} s apart. "
        "The same program gives the same numbers.</p>"
        f"<details><summary>The population</summary><pre>{escape(plain)}</pre></details>"
        f"<details><summary>The queues</summary><pre>{escape(rules)}</pre></details>"
    )


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [_without_none(inner) for inner in value]
    return value


def _or(value: float | None, instead: float) -> float:
    return instead if value is None else value


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _seconds(value: float | None) -> str:
    return "an unknown time" if value is None else f"{value:.0f} s"
