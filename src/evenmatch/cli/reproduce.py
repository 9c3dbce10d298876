"""evenmatch reproduce: the documents run again, theirs beside ours."""

import sys
from pathlib import Path

import msgspec
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from evenmatch.reproduce import report as pages
from evenmatch.reproduce.line import AGREES, DIFFERS, DOCUMENT_WRONG, PAIRINGS, Chapter, Effort
from evenmatch.reproduce.run import chosen, run

_COLOURS = {AGREES: "green", DOCUMENT_WRONG: "yellow", DIFFERS: "bold red"}


def reproduce(document: str, /, *, json: bool = False, report: Path | None = None, pairings: int = PAIRINGS) -> None:
    """Run every table, example, claim and experiment of a document again; status 1 if anything differs.

    Parameters
    ----------
    document
        epgc, ladder, buckets, lom, cinder, or all.
    json
        Print the lines as JSON.
    report
        Write one HTML file with words, pictures and tables.
    pairings
        Lobby pairings of Cinder's experiment; fewer are quicker.
    """
    documents = chosen(document)
    if report is not None:
        pages.require_writable(report)
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=console.is_terminal,
    ) as progress:
        chapters = run(documents, Effort(pairings=pairings, tell=_Teller(progress)))
    if report is not None:
        pages.write(report, chapters)
    if json:
        lines = [line for chapter in chapters for line in chapter.lines]
        sys.stdout.write(msgspec.json.encode({"lines": lines}).decode() + "\n")
    else:
        _show(chapters, report)
    if any(chapter.count(DIFFERS) for chapter in chapters):
        raise SystemExit(1)


class _Teller:
    """One bar for each thing that is done."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.bars: dict[str, TaskID] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        if what not in self.bars:
            self.bars[what] = self.progress.add_task(what, total=total)
        self.progress.update(self.bars[what], completed=done)


def _show(chapters: list[Chapter], report: Path | None) -> None:
    console = Console(highlight=False)
    for chapter in chapters:
        table = Table(title=chapter.title, box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
        table.add_column("what", overflow="fold", ratio=3)
        table.add_column("document", overflow="fold", ratio=2)
        table.add_column("evenmatch", overflow="fold", ratio=3)
        table.add_column("verdict", no_wrap=True)
        table.add_column("because", overflow="fold", ratio=5)
        for line in chapter.lines:
            table.add_row(
                Text(line.id),
                Text(pages.shown(line.document)),
                Text(pages.shown(line.ours)),
                Text(line.verdict, style=_COLOURS[line.verdict]),
                Text(line.because),
            )
        console.print(table)
    totals = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    totals.add_column("document")
    for verdict in ("lines", *_COLOURS):
        totals.add_column(verdict, justify="right")
    for chapter in chapters:
        totals.add_row(chapter.name, str(len(chapter.lines)), *(str(chapter.count(verdict)) for verdict in _COLOURS))
    console.print(totals)
    if report is not None:
        console.print(Text(f"report: {report}"))
