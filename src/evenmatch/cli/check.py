"""`evenmatch check queues.toml`: read the file as the server would, and say what stands in it or what is wrong."""

import sys
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evenmatch import config
from evenmatch.domain.queue import MatcherSpec, QueueSpec
from evenmatch.errors import ConfigError

__all__ = ["check"]


def check(path: Path) -> None:
    """Look a queues file over: show its queues, or everything that is wrong with it.

    Parameters
    ----------
    path
        The file, such as queues.toml.
    """
    try:
        specs = config.load(path)
    except ConfigError as problem:
        mistakes = str(problem)
        count = len(mistakes.splitlines())
        print(f"{mistakes}\n{count} mistake{'s' if count != 1 else ''}", file=sys.stderr)
        raise SystemExit(2) from None
    console = Console(highlight=False)
    console.print(_table(specs))
    for split in config.shards_of(path).values():
        console.print(Text(str(split)))
    for spec in specs:
        for remark in config.remarks(spec):
            console.print(Text(f"note: {spec.name}: {remark}"))
    console.print(f"{len(specs)} queue{'s' if len(specs) != 1 else ''}, no mistakes")


def _table(specs: tuple[QueueSpec, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for title in ("queue", "format", "matcher", "wave every", "ready check", "ticket life", "unheard"):
        table.add_column(title, overflow="fold")
    for spec in specs:
        ready_check = f"{spec.ready_check.timeout_s:g} s" if spec.ready_check else "none"
        cells = (
            spec.name,
            str(spec.format),
            _matcher(spec.matcher),
            f"{spec.wave.every_s:g} s",
            ready_check,
            f"{spec.ticket.expires_s:g} s",
            f"{spec.ticket.heartbeat_s:g} s",
        )
        table.add_row(*map(Text, cells))  # as Text, brackets in a parameter are not taken for markup
    return table


def _matcher(matcher: MatcherSpec) -> str:
    parameters = ", ".join(f"{name}={value!r}" for name, value in matcher.parameters.items())
    return f"{matcher.name} ({parameters})" if parameters else matcher.name
