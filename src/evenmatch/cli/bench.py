"""evenmatch bench: measure, side by side with a baseline in the same run."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from evenmatch.bench.waves import MATCHERS, SIZES
from evenmatch.errors import ConfigError
from evenmatch.settings import from_environment

JsonFlag = Annotated[bool, Parameter(name="--json")]


def show(found: dict[str, Any], as_json: bool, title: str, rows: list[tuple[str, str, str]]) -> None:
    """Print what was measured, as JSON or as a table beside its baseline."""
    if as_json:
        print(json.dumps(found, indent=1))
        return
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("measure")
    table.add_column("evenmatch", justify="right")
    table.add_column("baseline", justify="right")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False).print(table)


def engine(*, tickets: int = 100_000, json_output: JsonFlag = False) -> None:
    """Joins a second through the engine in memory, and bytes a waiting ticket.

    Parameters
    ----------
    tickets
        How many tickets join.
    json_output
        Print the numbers as JSON.
    """
    from evenmatch.bench.engine import measure

    with Console(stderr=True).status("joining ..."):
        found = measure(tickets)
    base = found["baseline"]
    rows = [
        (f"joins/s, {batch} a command", f"{rate:,.0f}", f"{base['joins_per_s']:,.0f}" if batch == "1" else "")
        for batch, rate in found["joins_per_s_by_batch"].items()
    ]
    rows.append(("bytes a waiting ticket", f"{found['bytes_per_ticket']:,.0f}", f"{base['bytes_per_ticket']:,.0f}"))
    show(found, json_output, f"engine in memory, {found['tickets']:,} tickets; baseline: {base['what']}", rows)


def service(
    *, requests: int = 40_000, connections: int = 128, batches: int = 2_000, json_output: JsonFlag = False
) -> None:
    """Durable joins a second over real sockets, beside a bare ASGI echo of the same body.

    Parameters
    ----------
    requests
        Joins one by one.
    connections
        Connections that send them.
    batches
        Batches of 100 joins.
    json_output
        Print the numbers as JSON.
    """
    from evenmatch.bench.service import measure

    with Console(stderr=True).status("loading a server process ..."):
        found = measure(requests, connections, batches)
    echo, single, batch = found["echo"], found["single"], found["batch"]
    rows = [
        ("requests/s, one by one", f"{single['per_s']:,.0f}", f"{echo['per_s']:,.0f}"),
        ("  p50 / p99 ms", _latency(single), _latency(echo)),
        ("  processor time a request, us", f"{single['server_cpu_us']:.0f}", f"{echo['server_cpu_us']:.0f}"),
        ("  share of the echo", f"{found['single_to_echo']:.0%}", ""),
        (f"tickets/s, {batch['size']} a request", f"{batch['tickets_per_s']:,.0f}", ""),
        ("  p50 / p99 ms", _latency(batch), ""),
        ("refused", str(single["refused"] + batch["refused"]), str(echo["refused"])),
    ]
    show(found, json_output, f"durable joins, {connections} connections; baseline: bare ASGI echo on uvicorn", rows)


def _latency(found: dict[str, Any]) -> str:
    return f"{found['p50_ms']:.2f} / {found['p99_ms']:.2f}"


def waves(
    *,
    matchers: str = ",".join(MATCHERS),
    sizes: str = ",".join(map(str, SIZES)),
    repeats: int = 3,
    json_output: JsonFlag = False,
) -> None:
    """A wave from end to end over many waiting tickets, phase by phase, and joins answered meanwhile.

    Parameters
    ----------
    matchers
        Matchers to run, with commas between them.
    sizes
        Numbers of waiting tickets, with commas between them.
    repeats
        Waves to run in each case.
    json_output
        Print the numbers as JSON.
    """
    from evenmatch.bench.waves import PHASES, matchers_of, measure, sizes_of

    asked = (matchers_of(matchers), sizes_of(sizes))
    if repeats < 1:
        raise ConfigError(f"--repeats must be 1 or more, not {repeats}")
    with progress() as tell:
        found = measure(*asked, repeats, tell=tell)
    if json_output:
        print(json.dumps(found, indent=1))
        return
    table = Table(title="waves: milliseconds, p50", box=box.SIMPLE_HEAD, title_justify="left")
    phases = [phase for phase in PHASES if phase not in ("total", "longest")]
    last = ("total, p50 / p99", "longest stop", "journal MB", "bytes a ticket", "joins, p50 / p99")
    for column in ("waiting", "matcher", "matches", *phases, *last):
        table.add_column(column, justify="left" if column == "matcher" else "right")
    for case in found["cases"]:
        table.add_row(*_wave_row(case, phases))
    Console(highlight=False, width=None if sys.stdout.isatty() else 150).print(table)
    for case in found["cases"]:
        if "failed" in case:
            print(f"{case['matcher']} with {case['waiting']:,} waiting failed: {case['failed']}", file=sys.stderr)


def _wave_row(case: dict[str, Any], phases: list[str]) -> list[str]:
    named = [f"{case['waiting']:,}", case["matcher"]]
    if "failed" in case:
        return [*named, "failed"]
    times = [f"{case[f'{phase}_ms']['p50']:,.1f}" for phase in phases]
    total = f"{case['total_ms']['p50']:,.1f} / {case['total_ms']['p99']:,.1f}"
    size = [f"{case['journal_bytes'] / 1e6:,.1f}", f"{case['bytes_per_ticket']:,.0f}"]
    longest = f"{case['longest_ms']['p99']:,.1f}"
    return [*named, f"{case['matches']:,}", *times, total, longest, *size, _latency(case["joins"])]


def restart(*, events: int = 1_000_000, json_output: JsonFlag = False) -> None:
    """Time from starting a server process to ready, after so many journal events.

    Parameters
    ----------
    events
        Events in the journal.
    json_output
        Print the numbers as JSON.
    """
    from evenmatch.bench.restart import measure

    with Console(stderr=True).status("writing a journal ...") as status:
        found = measure(events, lambda said: status.update(said))
    rows = [
        ("seconds to ready", f"{found['ready_s']:.2f}", f"{found['empty_ready_s']:.2f}"),
        ("seconds to recover the state", f"{found['recover_s']:.3f}", f"{found['empty_recover_s']:.3f}"),
        ("events after the last checkpoint", f"{found['events_after_checkpoint']:,}", "0"),
        ("events/s of a plain replay", f"{found['replay_per_s']:,.0f}", ""),
        ("waiting tickets after it", f"{found['waiting']:,}", "0"),
        ("journal, MB", f"{found['journal_mb']:.1f}", ""),
    ]
    show(found, json_output, f"restart after {found['events']:,} events; baseline: an empty journal", rows)


def start(*, matchers: str | None = None, repeats: int = 5, json_output: JsonFlag = False) -> None:
    """What a start costs: the program, and each matcher's first wave after its compiled code was loaded.

    Parameters
    ----------
    matchers
        Matchers to run, with commas between them; left out, all of them.
    repeats
        Processes to start for each number.
    json_output
        Print the numbers as JSON.
    """
    from evenmatch.bench.start import measure
    from evenmatch.bench.waves import matchers_of
    from evenmatch.matchers.registry import names

    asked = names() if matchers is None else matchers_of(matchers)
    with progress() as tell:
        found = measure(asked, repeats, tell)
    if json_output:
        print(json.dumps(found, indent=1))
        return
    aims = found["aims_ms"]
    title = f"starts: milliseconds, of {found['repeats']} processes each; {found['waiting']} tickets"
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("measure")
    for column in ("least", "median", "aim"):
        table.add_column(column, justify="right")
    for program in found["programs"]:
        name = program["program"]
        table.add_row(name + ", with numba" * program["numba"], *_least_and_median(program["wall_ms"], aims.get(name)))
    for case in found["matchers"]:
        if "failed" in case:
            table.add_row(f"{case['matcher']}: failed: {case['failed']}")
            continue
        table.add_row(f"{case['matcher']}: loading", *_least_and_median(case["load_ms"]))
        table.add_row("  first wave", *_least_and_median(case["first_ms"], aims["first"]))
        table.add_row("  second wave", *_least_and_median(case["second_ms"]))
    Console(highlight=False).print(table)


def _least_and_median(took_ms: dict[str, float], aim_ms: float | None = None) -> tuple[str, str, str]:
    digits = 0 if took_ms["median"] >= 100 else 2
    return f"{took_ms['least']:,.{digits}f}", f"{took_ms['median']:,.{digits}f}", f"{aim_ms:g}" if aim_ms else ""


def matchers(
    *names: str,
    sizes: str | None = None,
    quick: bool = False,
    threads: int | None = None,
    seed: int = 1,
    limit: float = 120,
    json_output: JsonFlag = False,
    markdown: bool = False,
    report: Path | None = None,
) -> None:
    """The matchers beside others that do the same work, in the same run; status 1 if any result differs.

    Parameters
    ----------
    names
        epgc, ladder, buckets, lom, cinder, even, small, or single rows such as epgc.drain; none = all.
    sizes
        Sizes to run instead of the rows' own, such as 500,5000.
    quick
        Small sizes and few repeats.
    threads
        Threads that our kernels may use; left out, EVENMATCH_THREADS, or as many as there are processors.
    seed
        The seed of the inputs.
    limit
        Seconds after which a size is stopped and shown as far as it came.
    json_output
        Print everything as one JSON document.
    markdown
        Print Markdown tables.
    report
        Write one HTML file with log-log pictures and tables.
    """
    from evenmatch.bench import catalogue, page, shown
    from evenmatch.bench.cell import effort_of
    from evenmatch.bench.matchers import compare
    from evenmatch.pages.page import require_writable

    if json_output and markdown:
        raise ConfigError("--json and --markdown are two ways to print the same: leave one out")
    asked = from_environment(os.environ).threads if threads is None else threads
    effort = effort_of(seed=seed, threads=None if threads is None and not asked else asked, limit_s=limit, quick=quick)
    contests = catalogue.chosen(names, catalogue.sizes_of(sizes) if sizes is not None else None, quick=quick)
    if report is not None:
        page.require_plotly()
        require_writable(report)
    with progress() as tell:
        run = compare(contests, effort, tell)
    if report is not None:
        page.write(report, run)
    if json_output:
        print(msgspec.json.format(msgspec.json.encode(run), indent=1).decode())
    elif markdown:
        print(shown.markdown(run))
    else:
        shown.show(run, Console(highlight=False, width=None if sys.stdout.isatty() else 120))
    if run.wrong:
        raise SystemExit(1)


def even(
    *,
    sizes: str | None = None,
    quick: bool = False,
    threads: int | None = None,
    seed: int = 1,
    limit: float = 120,
    json_output: JsonFlag = False,
) -> None:
    """The matcher even beside its bounds, other solvers and the other matchers; status 1 if any beats it.

    Parameters
    ----------
    sizes
        Sizes to run instead of the rows' own, such as 500,5000.
    quick
        Small sizes and few repeats.
    threads
        Threads that our kernels may use; left out, EVENMATCH_THREADS, or as many as there are processors.
    seed
        The seed of the inputs.
    limit
        Seconds after which a size is stopped and shown as far as it came.
    json_output
        Print everything as one JSON document.
    """
    matchers("even", sizes=sizes, quick=quick, threads=threads, seed=seed, limit=limit, json_output=json_output)


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """Something to tell of progress on standard error: a bar on a terminal, otherwise a line for each step."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda what, done, cells: print(f"{done}/{cells} {what}", file=sys.stderr, flush=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, cells: bar.update(task, description=what, completed=done, total=cells)
