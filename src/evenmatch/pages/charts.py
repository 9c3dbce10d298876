"""Charts as inline SVG: lines, steps, columns over numbers, bars side by side over names, and points with names.

A chart is a value; `svg` draws it. Colours, fonts and line widths are CSS classes of the page it stands in (`STYLE`),
so that one drawing serves light and dark. Every point carries its numbers as a `<title>`, which browsers show on
hover; series differ by the shape of their points too, not by colour alone.
"""

import math
from collections.abc import Sequence
from html import escape
from typing import Final

import msgspec

__all__ = ["STYLE", "Chart", "Mark", "Series", "number", "svg"]

WIDTH: Final = 720
HEIGHT: Final = 340
LEFT, TOP, BOTTOM = 62, 40, 52
_AWAY: Final = 6
"""A name that stands so far from its point has a line to it."""
_LEAST: Final = 1e-9
"""Ticks nearer to each other than this could not be told apart."""

STYLE: Final = """
svg.chart { width: 100%; height: auto; display: block; font: 12px system-ui, sans-serif; }
svg.chart text { fill: var(--soft); }
svg.chart .name { fill: var(--ink); paint-order: stroke; stroke: var(--card); stroke-width: 4px; }
svg.chart .grid { stroke: var(--line); stroke-width: 1; }
svg.chart .axis { stroke: var(--soft); stroke-width: 1; }
svg.chart .path { fill: none; stroke-width: 2; stroke-linejoin: round; }
svg.chart .leader { stroke: var(--soft); stroke-width: 1; }
svg.chart .mark { stroke: var(--ink); stroke-width: 1.2; stroke-dasharray: 4 3; }
svg.chart .band { fill: var(--ink); opacity: .08; }
svg.chart .point { stroke: var(--page); stroke-width: 1.5; }
svg.chart .s0 { stroke: var(--s0); } svg.chart .f0 { fill: var(--s0); }
svg.chart .s1 { stroke: var(--s1); } svg.chart .f1 { fill: var(--s1); }
svg.chart .s2 { stroke: var(--s2); } svg.chart .f2 { fill: var(--s2); }
svg.chart .s3 { stroke: var(--s3); } svg.chart .f3 { fill: var(--s3); }
@media (max-width: 36rem) { figure { overflow-x: auto; } svg.chart { min-width: 34rem; } }
svg.chart rect.f0:hover, svg.chart rect.f1:hover, svg.chart rect.f2:hover { opacity: .75; }
"""


class Series(msgspec.Struct, frozen=True):
    """Points with a name."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    names: tuple[str, ...] = ()
    """Of the points, where each has its own."""
    joined: bool = False
    """Points with names: draw a line through them, from left to right."""


class Mark(msgspec.Struct, frozen=True):
    """A value of x worth pointing at, or a band from one to another."""

    at: float
    text: str
    to: float | None = None


class Chart(msgspec.Struct, frozen=True):
    """One picture."""

    name: str
    """Its id in the page."""
    title: str
    caption: str
    kind: str
    """lines, steps, columns, bars, or points that have names of their own."""
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    marks: tuple[Mark, ...] = ()
    categories: tuple[str, ...] = ()
    """What stands under the bars; their x are 0, 1, 2, ..."""
    log_y: bool = False


class _Frame:
    """From values to places on the paper."""

    def __init__(self, chart: Chart) -> None:
        named_at_the_end = chart.kind in ("lines", "steps")
        self.right = WIDTH - (88 if named_at_the_end else 20)
        """Where the plot ends; beyond it there is room for names."""
        xs = [x for series in chart.series for x in series.x]
        ys = [y for series in chart.series for y in series.y]
        self.log_y = chart.log_y
        if chart.kind == "bars":
            self.x_low, self.x_high = -0.5, len(chart.categories) - 0.5
        elif chart.kind == "columns":
            half = _apiece(xs) / 2
            self.x_low, self.x_high = min(xs) - half, max(xs) + half
        elif chart.kind == "points":
            around = _axis(max(xs))
            self.x_low, self.x_high = around[0], around[-1]
        else:
            self.x_low, self.x_high = min(xs), max(xs)
        self.alone = self.x_low if self.x_low == self.x_high else None
        """The only value of x, where there is but one: it stands in the middle."""
        if self.alone is not None:
            self.x_low, self.x_high = self.alone - 0.5, self.alone + 0.5
        if chart.log_y:
            self.y_ticks = [10.0**power for power in range(_decade(min(ys)), _decade(max(ys)) + 2)]
        else:
            self.y_ticks = _axis(max(ys))
        self.y_low, self.y_high = self.y_ticks[0], self.y_ticks[-1]

    def x(self, value: float) -> float:
        share = (value - self.x_low) / (self.x_high - self.x_low)
        return LEFT + share * (self.right - LEFT)

    def shows(self, value: float) -> bool:
        """Is this x within the plot, give or take the rounding of floats?"""
        slack = 1e-6 * (self.x_high - self.x_low)
        return self.x_low - slack <= value <= self.x_high + slack

    def y(self, value: float) -> float:
        low, high = self.y_low, self.y_high
        if self.log_y:
            low, high, value = math.log10(low), math.log10(high), math.log10(max(value, low))
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)


def svg(chart: Chart) -> str:
    """The chart as an SVG element."""
    frame = _Frame(chart)
    drawn = {"lines": _lines, "steps": _lines, "columns": _columns, "bars": _bars, "points": _points}[chart.kind](
        chart, frame
    )
    parts = [*_bands(chart, frame), *_axes(chart, frame), *drawn, *_marks(chart, frame), *_legend(chart)]
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{chart.name}-title">'
        f'<title id="{chart.name}-title">{escape(chart.title)}</title>{"".join(parts)}</svg>'
    )


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round values from at or below `low` to at or above `high`."""
    rough = (high - low) / most
    if rough < _LEAST:
        rough = 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(place * step, 10) for place in range(first, last + 1)]


def _axis(high: float) -> list[float]:
    """Round values from 0 to at or above `high`; an axis has two ends, even where all values are 0."""
    found = ticks(0.0, high)
    return found if len(found) > 1 else [0.0, 1.0]


def number(value: float) -> str:
    """A number as a person writes it."""
    if isinstance(value, int) or value == int(value):
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def _decade(value: float) -> int:
    return math.floor(math.log10(value))


def _text(x: float, y: float, words: str, anchor: str = "middle", extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(words)}</text>'


def _axes(chart: Chart, frame: _Frame) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, frame.right
    parts = []
    for value in frame.y_ticks:
        y = frame.y(value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 8, y + 4, number(value), "end"))
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>')
    if chart.kind == "bars":
        named = [(float(place), words) for place, words in enumerate(chart.categories)]
    elif frame.alone is not None:
        named = [(frame.alone, number(frame.alone))]
    else:
        named = [(value, number(value)) for value in ticks(frame.x_low, frame.x_high, 8) if frame.shows(value)]
    parts += [_text(frame.x(value), bottom + 18, words) for value, words in named]
    parts.append(_text((LEFT + right) / 2, HEIGHT - 10, chart.x_label))
    middle = (TOP + bottom) / 2
    parts.append(_text(16, middle, chart.y_label, extra=f' transform="rotate(-90 16 {middle:.1f})"'))
    return parts


def _lines(chart: Chart, frame: _Frame) -> list[str]:
    parts = []
    for place, series in enumerate(chart.series):
        points = [(frame.x(x), frame.y(y)) for x, y in zip(series.x, series.y, strict=True)]
        if chart.kind == "steps":
            path = f"M{points[0][0]:.1f} {points[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:])
        else:
            path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(f'<path class="path s{place}" d="{path}"/>')
        if chart.kind == "lines":
            for (x, y), at, value in zip(points, series.x, series.y, strict=True):
                told = f"<title>{escape(series.name)}, {number(at)}: {number(value)}</title>"
                parts.append(_point(place, x, y, told))
    ends = sorted((frame.y(series.y[-1]), series.name) for series in chart.series)
    for y, (_, name) in zip(_apart([y for y, _ in ends]), ends, strict=True):
        parts.append(_text(frame.right + 12, y + 4, name, "start", ' class="name"'))
    return parts


def _apart(heights: list[float], least: float = 14) -> list[float]:
    """Ascending heights moved so far that no two names cover each other or the numbers below the axis."""
    above = -math.inf
    for place, y in enumerate(heights):
        heights[place] = above = max(y, above + least)
    below = HEIGHT - BOTTOM + least - 6
    for place in reversed(range(len(heights))):
        heights[place] = below = min(heights[place], below - least)
    return heights


def _point(place: int, x: float, y: float, told: str = "") -> str:
    """A point of the shape of its series: disc, square, diamond or triangle."""
    if place == 0:
        return f'<circle class="point f0" cx="{x:.1f}" cy="{y:.1f}" r="5">{told}</circle>'
    shapes = {
        1: f"M{x - 4.5:.1f} {y - 4.5:.1f}h9v9h-9z",
        2: f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z",
        3: f"M{x:.1f} {y - 6:.1f}l6 10.5h-12z",
    }
    return f'<path class="point f{place}" d="{shapes[place]}">{told}</path>'


def _points(chart: Chart, frame: _Frame) -> list[str]:
    """Points with their names; names that would cover something are moved, with a line to their point."""
    parts, placed = [], []
    for place, series in reversed(list(enumerate(chart.series))):  # the first lies on top
        if series.joined and len(series.x) > 1:
            ends = sorted((frame.x(x), frame.y(y)) for x, y in zip(series.x, series.y, strict=True))
            parts.append(f'<path class="path s{place}" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in ends)}"/>')
        for at, value, name in zip(series.x, series.y, series.names, strict=True):
            x, y = frame.x(at), frame.y(value)
            parts.append(_point(place, x, y, f"<title>{escape(name)}: {number(at)}, {number(value)}</title>"))
            placed.append((y, x, name))
    placed.sort()
    taken = [(y + 4, x - 6, x + 6) for y, x, _ in placed]
    for y, x, name in placed:
        if not name:
            continue
        wide = 7.0 * len(name)
        before = x + 10 + wide > frame.right + 10
        left = x - 10 - wide if before else x + 10
        down = _free(y + 4, left, left + wide, taken)
        taken.append((down, left, left + wide))
        side = -1 if before else 1
        if abs(down - y - 4) > _AWAY:
            parts.append(f'<path class="leader" d="M{x + 4 * side:.1f} {y:.1f}L{x + 9 * side:.1f} {down - 4:.1f}"/>')
        parts.append(_text(x + 10 * side, down, name, "end" if before else "start", ' class="name"'))
    return parts


def _free(down: float, left: float, right: float, taken: list[tuple[float, float, float]]) -> float:
    """The nearest height, below or above, at which a name covers nothing and stays within the plot."""

    def covers(at: float) -> bool:
        return any(abs(at - other) < 13 and left < end and begin < right for other, begin, end in taken)

    tried = [down + step * way for step in range(0, HEIGHT, 4) for way in (1, -1)]
    within = [at for at in tried if TOP + 8 <= at <= HEIGHT - BOTTOM - 2 or at == down]
    return next((at for at in within if not covers(at)), down)


def _columns(chart: Chart, frame: _Frame) -> list[str]:
    series = chart.series[0]
    bottom = HEIGHT - BOTTOM
    wide = frame.x(_apiece(series.x)) - frame.x(0.0)
    gap = 1.0 if wide > 6 else 0.4
    return [
        f'<rect class="f0" x="{frame.x(x) - wide / 2 + gap / 2:.2f}" y="{frame.y(y):.1f}" '
        f'width="{wide - gap:.2f}" height="{bottom - frame.y(y):.1f}"><title>{number(x)}: {number(y)}</title></rect>'
        for x, y in zip(series.x, series.y, strict=True)
    ]


def _apiece(xs: Sequence[float]) -> float:
    """How wide a column is."""
    return xs[1] - xs[0] if len(xs) > 1 else 1.0


def _bars(chart: Chart, frame: _Frame) -> list[str]:
    bottom = HEIGHT - BOTTOM
    wide = (frame.x(1) - frame.x(0)) * 0.7 / len(chart.series)
    parts = []
    for place, series in enumerate(chart.series):
        for x, y in zip(series.x, series.y, strict=True):
            left = frame.x(x) + (place - len(chart.series) / 2) * wide
            told = f"<title>{escape(series.name)}, {escape(chart.categories[int(x)])}: {number(y)}</title>"
            parts.append(
                f'<rect class="f{place}" x="{left + 1:.1f}" y="{frame.y(y):.1f}" width="{wide - 2:.1f}" '
                f'height="{bottom - frame.y(y):.1f}" rx="2">{told}</rect>'
            )
            parts.append(_text(left + wide / 2, frame.y(y) - 5, f"{y:.3g}"))
    return parts


def _bands(chart: Chart, frame: _Frame) -> list[str]:
    return [
        f'<rect class="band" x="{frame.x(mark.at):.1f}" y="{TOP}" '
        f'width="{frame.x(mark.to) - frame.x(mark.at):.1f}" height="{HEIGHT - TOP - BOTTOM}"/>'
        for mark in chart.marks
        if mark.to is not None
    ]


def _marks(chart: Chart, frame: _Frame) -> list[str]:
    """Marks with their words, each a line lower than the one before, so that none covers another."""
    parts = []
    for place, mark in enumerate(chart.marks):
        x, y = frame.x(mark.at), TOP + 12 + 16 * place
        if mark.to is not None:
            parts.append(_text(x - 6, y, mark.text, "end", ' class="name"'))
            continue
        parts.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 12}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(_text(x + 6, y, mark.text, "start", ' class="name"'))
    return parts


def _legend(chart: Chart) -> list[str]:
    """The names of the series, where there is more than one."""
    if len(chart.series) < 2:
        return []
    parts, x = [], float(LEFT)
    for place, series in enumerate(chart.series):
        if chart.kind in ("lines", "points"):
            parts.append(_point(place, x + 6, 18))
        else:
            parts.append(f'<rect class="f{place}" x="{x}" y="12" width="12" height="12" rx="2"/>')
        parts.append(_text(x + 18, 22, series.name, "start", ' class="name"'))
        x += 36 + 7 * len(series.name)
    return parts
