"""One HTML file: no script, no font, no picture from elsewhere. Light or dark by the reader's own setting."""

from html import escape
from pathlib import Path
from typing import Final

from evenmatch.errors import ConfigError

from .charts import STYLE as CHART_STYLE
from .charts import Chart, svg

__all__ = ["STYLE", "figure", "page", "require_writable", "write"]

STYLE: Final = """
:root { color-scheme: light dark; --page: #fdfdfb; --card: #f4f4f0; --ink: #1b1c1e; --soft: #5c6066; --line: #dedfda;
  --good: #1a7f4b; --wrong: #9a5b00; --bad: #c02b2b;
  --s0: #2a78d6; --s1: #e0662c; --s2: #12906a; --s3: #6a4fc4; }
@media (prefers-color-scheme: dark) { :root { --page: #17181a; --card: #202225; --ink: #ececea; --soft: #a4a8ae;
  --line: #363a3f; --good: #56c48a; --wrong: #e3a548; --bad: #f07a72;
  --s0: #5a9cec; --s1: #ef8a55; --s2: #35b98c; --s3: #a08cf0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 62rem; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .75rem; } h2 { font-size: 1.4rem; margin: 3.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; } figure h3 { margin-top: 0; } h3 .soft { font-weight: 400; }
p { margin: .5rem 0; max-width: 46rem; } a { color: var(--s0); }
.lead { font-size: 1.12rem; } .soft { color: var(--soft); }
figure { margin: 1.5rem 0; padding: 1.1rem 1.2rem; background: var(--card); border-radius: 10px; }
figcaption { color: var(--soft); font-size: .88rem; margin-top: .5rem; max-width: 46rem; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th { text-align: left; font-weight: 600; color: var(--soft); border-bottom: 1px solid var(--line); }
th, td { padding: .35rem .8rem .35rem 0; vertical-align: top; } td { border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; } pre.command { white-space: pre-wrap; overflow-wrap: anywhere; }
@media print { body { max-width: none; padding: 0; } figure { break-inside: avoid; } }
"""


def page(title: str, body: str, style: str = "") -> str:
    """A whole page; `style` adds to ours."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{style}{CHART_STYLE}</style></head>"
        f"<body>{body}</body></html>\n"
    )


def figure(chart: Chart) -> str:
    """A chart with its title and caption."""
    return (
        f"<figure><h3>{escape(chart.title)}</h3>{svg(chart)}<figcaption>{escape(chart.caption)}</figcaption></figure>"
    )


def require_writable(path: Path) -> None:
    """Raise ConfigError now if a page could not be written later; what is there already stays as it is."""
    try:
        there = path.exists()
        with path.open("ab"):
            pass
        if not there:
            path.unlink()
    except OSError as error:
        raise ConfigError(f"the report cannot be written to {path}: {error.strerror}") from error


def write(path: Path, text: str) -> None:
    """Write a page."""
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(f"the report cannot be written to {path}: {error.strerror}") from error
