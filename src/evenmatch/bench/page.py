"""The benchmark as one HTML file with everything in it: a picture for each contest, then its numbers."""

import math
from collections.abc import Sequence
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from evenmatch.bench.contest import duration
from evenmatch.bench.found import Found, Run
from evenmatch.bench.matchers import OURS
from evenmatch.bench.shown import HEADS, WORDS, growth_told, lines, machine_told, noise_told
from evenmatch.errors import ConfigError
from evenmatch.pages import page

__all__ = ["html", "require_plotly", "write"]

STYLE: Final = """
body { max-width: 68rem; } h2 { font-size: 1.25rem; margin: 3rem 0 .25rem; } p { max-width: 50rem; }
figure { margin: 1rem 0; padding: .75rem; } td.number, th.number { white-space: nowrap; }
tr.wrong td { color: var(--bad); font-weight: 600; }
.met { color: var(--good); font-weight: 600; } .not-met { color: var(--wrong); font-weight: 600; }
.not-measured { color: var(--soft); } ul { padding-left: 1.2rem; }
"""

PAINT: Final = """
function paint() {
  const css = getComputedStyle(document.documentElement), colour = name => css.getPropertyValue(name).trim();
  for (const plot of document.querySelectorAll(".plotly-graph-div")) {
    const axis = { color: colour("--soft"), gridcolor: colour("--line"), linecolor: colour("--line") };
    const layout = { "font.color": colour("--ink"), "legend.font.color": colour("--ink") };
    for (const [name, value] of Object.entries(axis)) {
      layout["xaxis." + name] = value; layout["yaxis." + name] = value;
    }
    Plotly.relayout(plot, layout);
    plot.data.forEach((_, place) => Plotly.restyle(plot, {
      "line.color": colour("--s" + place % 4), "marker.color": colour("--s" + place % 4) }, [place]));
  }
}
window.addEventListener("load", paint);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
"""

SHAPES: Final = ("circle", "square", "diamond", "triangle-up")


def require_plotly() -> None:
    """Raise ConfigError if the picture could not be drawn."""
    if find_spec("plotly") is None:
        raise ConfigError("--report draws with plotly, which is not installed: pip install evenmatch[bench]")


def write(path: Path, run: Run) -> None:
    """Write the page."""
    page.write(path, html(run))


def html(run: Run) -> str:
    """The whole page; it loads nothing."""
    require_plotly()
    plotted = [contest.name for contest in run.contests if _drawable(contest)]
    sections = "".join(_section(contest, contest.name in plotted[:1]) for contest in run.contests)
    verdict = "Results differ: see the rows in red." if run.wrong else "All results that were compared agree."
    body = (
        "<h1>The matchers beside others</h1>"
        f"<p>Every size ran in a process of its own: evenmatch, then its opponents, on the same input. {verdict} Times "
        "are medians; what counts is the ratio within a row, and how time grows along a line.</p>"
        f'<p class="soft">{escape(machine_told(run))}.</p><p class="not-met">{escape(noise_told(run))}</p>{sections}'
        f"<script>{PAINT}</script>"
    )
    return page.page("The matchers beside others", body, STYLE)


def _drawable(contest: Found) -> bool:
    return sum(row.ours is not None for row in contest.rows) > 1


def _section(contest: Found, with_library: bool) -> str:
    picture = ""
    if _drawable(contest):
        caption = f"Growth: {growth_told(contest)}."
        picture = f"<figure>{_picture(contest, with_library)}<figcaption>{escape(caption)}</figcaption></figure>"
    aims = "".join(
        f"<li>{escape(aim.aim)}: {escape(aim.measured)}, "
        f'<span class="{aim.verdict.replace(" ", "-")}">{aim.verdict}</span></li>'
        for aim in contest.aims
    )
    return (
        f'<section id="{contest.name}"><h2>{escape(contest.name)}</h2><p>{escape(contest.what)}.</p>{picture}'
        f"{_table(contest)}" + (f"<p>Aims:</p><ul>{aims}</ul>" if aims else "") + "</section>"
    )


def _table(contest: Found) -> str:
    words = [head in WORDS for head in HEADS]
    kinds = ["" if word else ' class="number"' for word in words]
    heads = "".join(
        f"<th{kind}>{escape(head)}</th>" for kind, head in zip(kinds, (contest.unit, *HEADS[1:]), strict=True)
    )
    rows = "".join(
        ('<tr class="wrong">' if wrong else "<tr>")
        + "".join(f"<td{kind}>{escape(cell)}</td>" for kind, cell in zip(kinds, cells, strict=True))
        + "</tr>"
        for row in contest.rows
        for cells, wrong in lines(row)
    )
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'


def _picture(contest: Found, with_library: bool) -> str:
    """Seconds by size, both axes logarithmic, a line for everybody."""
    graphs: Any = import_module("plotly.graph_objects")
    figure, series = graphs.Figure(), _series(contest)
    for place, (name, points) in enumerate(series.items()):
        figure.add_scatter(
            x=[size for size, _ in points],
            y=[seconds for _, seconds in points],
            name=name,
            mode="lines+markers",
            line={"width": 3 if name == OURS else 2},
            marker={"size": 9, "symbol": SHAPES[place % len(SHAPES)]},
            hovertemplate=f"%{{x:,}} {contest.unit}: %{{y:.3~s}}s<extra>{escape(name)}</extra>",
        )
    sizes = sorted({size for points in series.values() for size, _ in points})
    decades = _decades([seconds for points in series.values() for _, seconds in points])
    figure.update_xaxes(type="log", title=f"{contest.unit}, log", **_ticks(sizes, [f"{size:,}" for size in sizes]))
    figure.update_yaxes(type="log", title="median time, log", **_ticks(decades, [_round(value) for value in decades]))
    figure.update_layout(
        height=380,
        margin={"l": 80, "r": 20, "t": 20, "b": 50},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": "#7f858c", "family": "system-ui, sans-serif"},
        legend={"orientation": "h", "y": 1.12},
        showlegend=True,
        template="none",
    )
    options = {"displaylogo": False, "responsive": True, "displayModeBar": False}
    drawn: str = figure.to_html(
        full_html=False, include_plotlyjs=with_library, config=options, div_id=f"plot-{contest.name.replace('.', '-')}"
    )
    return drawn


def _ticks(values: Sequence[float], words: list[str]) -> dict[str, Any]:
    return {"tickvals": list(values), "ticktext": words, "showline": True}


def _decades(seconds: list[float]) -> list[float]:
    """Powers of ten that hold all of these between them."""
    low, high = math.floor(math.log10(min(seconds))), math.ceil(math.log10(max(seconds)))
    return [10.0**power for power in range(low, high + 1)]


def _round(seconds: float) -> str:
    """A power of ten in the unit that suits it."""
    return duration(seconds).replace(".00", "").replace(".0", "")


def _series(contest: Found) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {OURS: []}
    for row in contest.rows:
        if row.ours is not None:
            found[OURS].append((row.size, row.ours.median_s))
        for answer in row.opponents:
            if answer.timing is not None:
                found.setdefault(answer.opponent, []).append((row.size, answer.timing.median_s))
    return found
