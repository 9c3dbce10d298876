"""The report: one HTML file with everything in it, in words first, then pictures, then every line.

It stands alone (`pages/page.py`).
"""

from html import escape
from pathlib import Path
from typing import Final

from evenmatch.pages import page
from evenmatch.pages.charts import number
from evenmatch.pages.page import require_writable
from evenmatch.reproduce.line import AGREES, DIFFERS, DOCUMENT_WRONG, Chapter, Line

__all__ = ["html", "require_writable", "write"]

WORDS: Final = {AGREES: "agrees", DOCUMENT_WRONG: "document wrong", DIFFERS: "differs"}
SIGNS: Final = {AGREES: "✓", DOCUMENT_WRONG: "✎", DIFFERS: "✗"}

STYLE: Final = """
ul.findings { padding-left: 1.2rem; max-width: 46rem; } ul.findings li { margin: .6rem 0; }
td.what { font-family: ui-monospace, "Cascadia Mono", Menlo, monospace; font-size: .82rem; overflow-wrap: anywhere; }
td.value { font-variant-numeric: tabular-nums; } td.because { color: var(--soft); }
table.lines { table-layout: fixed; } table.lines col.c0 { width: 19%; } table.lines col.c1 { width: 15%; }
table.lines col.c2 { width: 19%; } table.lines col.c3 { width: 17%; }
.verdict { white-space: nowrap; font-weight: 600; } .agrees { color: var(--good); }
.document_wrong { color: var(--wrong); } .differs { color: var(--bad); }
details { border: 1px solid var(--line); border-radius: 8px; margin: .6rem 0; padding: 0 1rem; }
details[open] { padding-bottom: .6rem; } summary { cursor: pointer; padding: .55rem 0; font-weight: 600; }
summary .soft { font-weight: 400; }
@media (max-width: 40rem) { table.lines { min-width: 44rem; } }
@media print { details { break-inside: avoid; } }
"""


def write(path: Path, chapters: list[Chapter]) -> None:
    """Write the report."""
    page.write(path, html(chapters))


def html(chapters: list[Chapter]) -> str:
    """The whole page."""
    body = "".join([_summary(chapters), *(_chapter(chapter) for chapter in chapters)])
    return page.page("The documents, run again", body, STYLE)


def _summary(chapters: list[Chapter]) -> str:
    lines = [line for chapter in chapters for line in chapter.lines]
    agrees, wrong, differs = (sum(line.verdict == verdict for line in lines) for verdict in WORDS)
    rest = (
        "Nothing remains unexplained."
        if not differs
        else f"{_count(differs, 'line remains', 'lines remain')} unexplained."
    )
    documents = "one document" if len(chapters) == 1 else f"{len(chapters)} documents"
    rows = "".join(
        f'<tr><td><a href="#{chapter.name}">{escape(chapter.title)}</a></td>'
        f'<td class="number">{len(chapter.lines)}</td>'
        + "".join(f'<td class="number">{chapter.count(verdict)}</td>' for verdict in WORDS)
        + "</tr>"
        for chapter in chapters
    )
    heads = "".join(f'<th class="number">{words}</th>' for words in ("lines", *WORDS.values()))
    findings = "".join(
        f"<li><strong>{chapter.name}</strong> {escape(' '.join(chapter.summary))}</li>" for chapter in chapters
    )
    return (
        "<header><h1>The documents, run again</h1>"
        f'<p class="lead">evenmatch has run every table, example, claim and experiment of {documents} again: '
        f"{_count(len(lines), 'printed number or claim', 'printed numbers and claims')}. {agrees} agree. "
        f"{_count(wrong, 'is wrong in the document', 'are wrong in the documents')}, with the reason beside each. "
        f'{rest}</p><ul class="findings">{findings}</ul>'
        f'<div class="scroll"><table><thead><tr><th>document</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        '<p class="soft">What hangs on a machine, a sample or lost inputs is judged by direction or order of '
        "magnitude, and says so. Everything in the column “evenmatch” was computed in this run.</p></header>"
    )


def _count(how_many: int, one: str, many: str = "") -> str:
    return f"{how_many} {one if how_many == 1 else many or one + 's'}"


def _chapter(chapter: Chapter) -> str:
    """A document: pictures, then what is wrong in it, then every line, folded up."""
    pictures = "".join(page.figure(chart) for chart in chapter.charts)
    odd = [line for line in chapter.lines if line.verdict != AGREES]
    wrong = f"<h3>Where the document is wrong</h3>{_table(odd, chapter.name)}" if odd else ""
    counted = f"{chapter.count(AGREES)} of {len(chapter.lines)} agree"
    tables = "".join(_section(chapter, key, heading) for key, heading in chapter.sections.items())
    return (
        f'<section id="{chapter.name}"><h2>{escape(chapter.title)}</h2>{pictures}{wrong}'
        f'<h3 class="every">Every line <span class="soft">{counted}</span></h3>{tables}</section>'
    )


def _section(chapter: Chapter, key: str, heading: str) -> str:
    before = f"{chapter.name}.{key}"
    lines = [line for line in chapter.lines if line.id.startswith(f"{before}.")]
    told = ", ".join(
        f'<span class="{verdict}">{count} {WORDS[verdict]}</span>'
        for verdict in (DOCUMENT_WRONG, DIFFERS)
        if (count := sum(line.verdict == verdict for line in lines))
    )
    opened = " open" if any(line.verdict == DIFFERS for line in lines) else ""
    return (
        f'<details{opened}><summary>{escape(heading)} <span class="soft">{_count(len(lines), "line")}, '
        f"{told or 'all agree'}</span></summary>{_table(lines, before)}</details>"
    )


def _table(lines: list[Line], before: str) -> str:
    """Lines as a table, their ids without what stands before."""
    rows = "".join(_row(line, line.id.removeprefix(f"{before}.")) for line in lines)
    columns = "".join(f'<col class="c{place}">' for place in range(5))
    return (
        f'<div class="scroll"><table class="lines"><colgroup>{columns}</colgroup><thead><tr><th>what</th>'
        "<th>document</th><th>evenmatch</th><th>verdict</th><th>because</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(line: Line, what: str) -> str:
    return (
        f'<tr><td class="what">{escape(what)}</td><td class="value">{escape(shown(line.document))}</td>'
        f'<td class="value">{escape(shown(line.ours))}</td>'
        f'<td class="verdict {line.verdict}">{SIGNS[line.verdict]} {WORDS[line.verdict]}</td>'
        f'<td class="because">{escape(line.because)}</td></tr>'
    )


def shown(value: float | str) -> str:
    """A value as a person reads it."""
    return value if isinstance(value, str) else number(value)
