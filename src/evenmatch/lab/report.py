"""A comparison as one page: what was found in words, then tables, pictures, and everything needed to run it again."""

from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any, Final

import msgspec
import tomli_w

from evenmatch import __version__
from evenmatch.pages import page
from evenmatch.pages.charts import Chart, Series, number

from .comparison import COLUMNS, QUALITY, SERVED_LEAST, WAIT, Comparison, Row
from .measures import within
from .plain import without_none
from .population import notes
from .verdict import dealt, sentences

__all__ = ["html", "write"]

_NINE: Final = "The wait within which nine in ten of those matched were matched; the mean over seeds."
_FAIR: Final = "The share of their matches in which favourites win 55 % at most, by true skill; the mean over seeds."
_NEVER: Final = "Of those who were let in and whose wait ended, the share that gave up or expired; the mean over seeds."
_EXTRA: Final = "By how much the region that was chosen is farther than the nearest one; the mean over seats and seeds."
_PARTS: Final = {
    "skill": ("by skill", "skill, from the weakest tenth of the players (1) to the strongest (10)"),
    "party": ("by party size", "players in the party"),
    "region": ("by region", "region"),
    "hour": ("by hour", "hour that begins at"),
}
_TOLD: Final[dict[str, tuple[str, str, str, Callable[[dict[str, Any]], float | None], float]]] = {
    "wait": (
        "Waits of those matched",
        "wait, s (90 % of those matched)",
        _NINE,
        lambda part: part["wait_s"]["p90"],
        1.0,
    ),
    "fair": ("Fair matches", "fair matches, %", _FAIR, lambda part: part["fair_share"], 100.0),
    "never": ("Never matched", "never matched, %", _NEVER, lambda part: part["never_matched"], 100.0),
    "extra": ("Latency", "extra latency, ms", _EXTRA, lambda part: part["latency_extra_ms"]["mean"], 1.0),
}
"""Name -> title, what stands at the axis, caption, the measure of a part of the crowd, and its unit."""
_MORE: Final = {
    "tickets": ("tickets", "{:.0f}"),
    "starved": ("starved", "{:.1%}"),
    "wait_s.p50": ("of those matched: wait p50 s", "{:.1f}"),
    "wait_s.p90": ("p90 s", "{:.1f}"),
    "wait_s.p99": ("p99 s", "{:.1f}"),
    "longest_wait_s": ("longest wait s", "{:.0f}"),
    "odds.fair_share": ("fair by ratings", "{:.1%}"),
    "gap.p90": ("gap p90", "{:.0f}"),
    "latency_extra_ms.p90": ("extra ms p90", "{:.1f}"),
    "overtaking.most": ("overtaken most", "{:.0f}"),
    "rating_error.played.start": ("rating error at the start", "{:.0f}"),
    "rating_error.played.end": ("rating error at the end", "{:.0f}"),
    "rating_error.newcomers.0": ("newcomers' error, no match yet", "{:.0f}"),
    "rating_error.newcomers.3-5": ("newcomers' error, 3-5 matches", "{:.0f}"),
    "rating_error.newcomers.6-10": ("newcomers' error, 6-10 matches", "{:.0f}"),
}
"""The columns of the second table, as those of the first."""
_PICTURED: Final = 4
"""Series that one picture can hold."""
_STYLE: Final = """
td.front { color: var(--good); font-weight: 600; } pre { overflow-x: auto; background: var(--card); padding: 1rem;
  border-radius: 10px; font-size: .8rem; } details { margin: 1rem 0; } summary { cursor: pointer; font-weight: 600; }
td.front, td:first-child { white-space: nowrap; } table.narrow { width: auto; }
.scroll td:first-child { position: sticky; left: 0; background: var(--page); }
td .range { white-space: nowrap; color: var(--soft); font-size: .72rem; display: block; }
"""


def write(path: Path, found: Comparison, command: str) -> None:
    """Write the page; `command` runs it again."""
    page.write(path, html(found, command))


def html(found: Comparison, command: str) -> str:
    """The whole page."""
    many = "one seed" if found.seeds == 1 else f"{found.seeds} seeds"
    lasts = "one hour" if found.hours == 1 else f"{number(found.hours)} hours"
    name = Path(found.called).stem if found.called.endswith(".toml") else found.called
    body = (
        f"<header><h1>Matchers on {escape(name)}</h1>"
        f'<p class="lead">{escape(found.population.title)}: {lasts} of it, {many}, the same '
        f"traffic for all.</p>{_words(found)}</header>"
        f"{''.join(page.figure(chart) for chart in _front(found))}"
        f"<h2>Side by side</h2>{_table(found, COLUMNS)}{_settings(found)}{_doors(found)}{_not_played(found)}"
        "<h2>Who pays</h2><p>The same measures for parts of the crowd: a good average can hide those at the edge."
        f"{_of(found)}</p>"
        f"{''.join(page.figure(chart) for chart in _parts(found))}"
        f"<h2>How they spread</h2>{''.join(page.figure(chart) for chart in _spreads(found))}"
        f"<h2>More of it</h2>{_table(found, _MORE)}{_spent(found)}"
        f"{_meanings()}{_again(found, command)}"
    )
    return page.page(f"Matchers on {name}", body, _STYLE)


def _words(found: Comparison) -> str:
    """What a reader wants to know first."""
    said = sentences(found, lambda name: f"<b>{escape(name)}</b>")
    return "".join(f"<p>{sentence}</p>" for sentence in said)


def _front(found: Comparison) -> list[Chart]:
    points = [(row.name, row.mean(WAIT), row.mean(QUALITY)) for row in found.rows]
    known = [(name, wait, 100 * fair) for name, wait, fair in points if wait is not None and fair is not None]
    if not known:
        return []
    front = [point for point in known if point[0] in found.front]
    contending = [row.name for row in found.contenders]
    others = [point for point in known if point[0] not in found.front and point[0] in contending]
    few = [
        (f"{row.name} ({row.warning.removesuffix(' of those who came')})", wait, fair)
        for row in found.rows
        for name, wait, fair in known
        if row.name == name and name not in contending
    ]
    told = (("on the front", front), ("beaten on average", others), ("serves too few of those who came", few))
    series = [_named(name, points) for name, points in told if points]
    missing = [name for name, wait, _ in points if wait is None]
    more = f" Not shown, for too few were matched to tell that wait: {', '.join(missing)}." if missing else ""
    return [
        Chart(
            name="front",
            title="Wait against quality",
            caption="The wait within which nine in ten are matched, those who gave up counted as far as they waited, "
            "those turned away at the door not; and the share of matches in which the favourite wins 55 % at most, by "
            "true skill. Up and left is better." + more,
            kind="points",
            x_label="wait, s (90 %)",
            y_label="fair matches, %",
            series=tuple(series),
        )
    ]


def _named(name: str, points: list[tuple[str, float, float]]) -> Series:
    names = tuple(p[0] for p in points)
    joined = name == "on the front"
    return Series(name, tuple(p[1] for p in points), tuple(p[2] for p in points), names=names, joined=joined)


def _table(found: Comparison, columns: Mapping[str, tuple[str, str]]) -> str:
    columns = {name: one for name, one in columns.items() if any(row.mean(name) is not None for row in found.rows)}
    head = "<th></th>" + "".join(f'<th class="number">{escape(title)}</th>' for title, _ in columns.values())
    lines = []
    for row in found.rows:
        on_front = row.name in found.front
        cells = "".join(f'<td class="number">{_cell(row, name, form)}</td>' for name, (_, form) in columns.items())
        lines.append(f"<tr><td{' class=front' if on_front else ''}>{escape(row.name)}{_warned(row)}</td>{cells}</tr>")
    note = "" if found.seeds == 1 else " Below each mean: its 95 % interval over the seeds, cut where its measure ends."
    return (
        f'<div class="scroll"><table><tr>{head}</tr>{"".join(lines)}</table></div>'
        f'<p class="soft">Those in green are on the front.{note}</p>'
    )


def _warned(row: Row) -> str:
    return f'<span class="range">{escape(row.warning)}</span>' if row.warning else ""


def _cell(row: Row, name: str, form: str) -> str:
    one = row.measures.get(name)
    if one is None or one.mean is None:
        return "-"
    shown = escape(form.format(one.mean))
    if one.low is None or one.high is None:
        return shown
    ends = "–".join(form.format(end).rstrip("%") for end in (one.low, one.high))
    return f'{shown}<span class="range">{ends}</span>'


def _spent(found: Comparison) -> str:
    """What waves cost on the machine that ran this: the one thing here that is not the same every time."""
    lines = []
    for row in found.rows:
        waves = [one["wave_ms"] for one in row.timing if one["wave_ms"]["mean"] is not None]
        if waves:
            means = [sum(wave[key] for wave in waves) / len(waves) for key in ("mean", "p99")]
            cells = "".join(f'<td class="number">{mean:.2f}</td>' for mean in means)
            lines.append(f"<tr><td>{escape(row.name)}</td>{cells}</tr>")
    return (
        "<h3>Time that a wave takes</h3><p>Matcher and engine, in milliseconds of processor time, on the machine that "
        "ran this; all other numbers are the same everywhere.</p>"
        '<table class="narrow"><tr><th></th><th class="number">mean ms</th><th class="number">p99 ms</th></tr>'
        f"{''.join(lines)}</table>"
    )


def _settings(found: Comparison) -> str:
    """Which parameters ran, and where they come from."""
    lines = "".join(f"<tr><td>{escape(row.name)}</td><td>{escape(row.setting)}</td></tr>" for row in found.rows)
    return (
        "<h3>With which parameters</h3><p>Given: by the population or the file of queues. Fitted: to the ratings and "
        "arrivals of this population, which says nothing of the matcher. Default: the matcher's own; nothing of it is "
        "fitted. Whatever is not named has its default.</p>"
        f'<table class="narrow"><tr><th>matcher</th><th>parameters</th></tr>{lines}</table>'
        f"{''.join(f'<p>{escape(words)}</p>' for words in dealt(found))}"
    )


def _doors(found: Comparison) -> str:
    """Who was turned away, and so counts as never matched."""
    lines = []
    for row in found.rows:
        share, reasons = row.turned_away
        if reasons:
            lines.append(f"<li>{escape(row.name)}: {share:.1%} ({escape(', '.join(reasons))})</li>")
    return f"<h3>Turned away at the door</h3><ul>{''.join(lines)}</ul>" if lines else ""


def _not_played(found: Comparison) -> str:
    if not found.not_played:
        return ""
    lines = "".join(f"<tr><td>{escape(one.name)}</td><td>{escape(one.why)}</td></tr>" for one in found.not_played)
    return f"<h3>Not applicable</h3><table><tr><th>matcher</th><th>why</th></tr>{lines}</table>"


def _of(found: Comparison) -> str:
    left = len([row for row in found.rows if row.mean("wait_s.p50") is not None]) - len(_chosen(found))
    return f" Pictures show {_PICTURED}, those on the front first; --json has all." if left else ""


def _chosen(found: Comparison) -> list[Row]:
    """Those that a picture shows: the front first."""
    played = [row for row in found.rows if row.mean("wait_s.p50") is not None]
    ordered = [row for row in played if row.name in found.front] + [r for r in played if r.name not in found.front]
    return ordered[:_PICTURED]


def _parts(found: Comparison) -> list[Chart]:
    return [chart for part in _PARTS for told in _TOLD for chart in _part(found, part, told)]


def _part(found: Comparison, part: str, told: str) -> list[Chart]:
    """One measure for the parts of the crowd, or nothing where there is only one part."""
    rows = _chosen(found)
    names = [one["name"] for one in rows[0].runs[0]["by"][part]] if rows else []
    if len(names) < 2 or (part in ("region", "hour") and told == "fair") or (part != "region" and told == "extra"):
        return []
    (by, label), (title, y_label, caption, pick, unit) = _PARTS[part], _TOLD[told]
    first = 1.0 if part == "skill" else 0.0
    lines = len(names) > _PICTURED * 2
    series = []
    for row in rows:
        means = [_over(row, part, place, pick) for place in range(len(names))]
        known = [(first * lines + place, unit * value) for place, value in enumerate(means) if value is not None]
        if known:
            series.append(Series(row.name, tuple(x for x, _ in known), tuple(y for _, y in known)))
    if not any(y for one in series for y in one.y):
        return []
    return [
        Chart(
            name=f"{told}-by-{part}",
            title=f"{title} {by}",
            caption=caption,
            kind="lines" if lines else "bars",
            x_label="hour of the run" if lines and part == "hour" else label,
            y_label=y_label,
            series=tuple(series),
            categories=() if lines else tuple(names),
        )
    ]


def _over(row: Row, part: str, place: int, pick: Callable[[dict[str, Any]], float | None]) -> float | None:
    there = [value for run in row.runs if (value := pick(run["by"][part][place])) is not None]
    return sum(there) / len(there) if there else None


def _spreads(found: Comparison) -> list[Chart]:
    charts = []
    for measure, title, label, caption, unit in (
        ("true_odds", "How often favourites win", "the favourite wins, %", "of the matches are no less even", 100.0),
        ("wait_s", "Waits of those matched", "wait, s", "of those matched waited no longer", 1.0),
        ("gap", "Rating gaps", "gap, points", "of the matches have no larger gap, as the matcher sees it", 1.0),
    ):
        series = []
        for row in _chosen(found):
            x, y = within(row.runs[0]["histograms"][measure], 100.0 if measure == "true_odds" else 99.0)
            if x:
                series.append(Series(row.name, tuple(unit * value for value in x), y))
        if series:
            charts.append(
                Chart(
                    name=f"spread-{measure}",
                    title=title,
                    caption=f"Of seed 1: so many {caption}.",
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
        "wait": "within which half, nine in ten and 99 in 100 are matched, those who gave up counted as far as they "
        "waited; - where too few are ever matched to tell. The p90 is the wait of the front",
        "serves": "the share that was matched, of those who came and whose wait has ended, those turned away at the "
        f"door counted; who serves fewer than {100 * SERVED_LEAST:.0f} % is neither on the front nor called best, "
        "unless all are such",
        "fair 45-55 %": "matches in which the favourite wins 55 % at most, by true skill, which no matcher sees",
        "worst 1 %": "how often the favourite wins in the least even hundredth of the matches",
        "gap": "between the mean ratings of the strongest and the weakest team, as the matcher sees them",
        "extra ms": "latency to the server that is best for the worst off, less that to one's own best",
        "overtaken": "tickets that were left waiting in a wave although one that came later had a place in which they "
        "would have fitted as well",
        "starved": "tickets that were overtaken and then gave up or expired",
        "rating error": "how far ratings are from true skill, on average, of those who played, before and after; of "
        "newcomers, by the number of matches they have had",
    }
    lines = "".join(f"<tr><td>{escape(name)}</td><td>{escape(words)}</td></tr>" for name, words in said.items())
    return f"<h2>What the words mean</h2><table>{lines}</table>"


def _again(found: Comparison, command: str) -> str:
    plain = tomli_w.dumps(without_none(msgspec.to_builtins(found.population)))
    rules = tomli_w.dumps({"queues": {row.name: without_none(row.queue) for row in found.rows}})
    return (
        f"<h2>Run it again</h2><pre class=command>{escape(command)}</pre>"
        f"<p>Seeds 1 to {found.seeds}, moments {number(found.step_s)} s apart. "
        f"The same program, evenmatch {__version__}, gives the same numbers.</p>"
        f"{''.join(f'<p>{escape(note)}</p>' for note in notes(found.population, found.hours))}"
        f"<details><summary>The population</summary><pre>{escape(plain)}</pre></details>"
        f"<details><summary>The queues</summary><pre>{escape(rules)}</pre></details>"
    )
