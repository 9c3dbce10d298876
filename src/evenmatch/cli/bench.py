"""evenmatch bench: measure, side by side with a baseline in the same run."""

import json
from typing import Annotated, Any

from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.table import Table

JsonFlag = Annotated[bool, Parameter(name="--json")]


def _show(found: dict[str, Any], as_json: bool, title: str, rows: list[tuple[str, str, str]]) -> None:
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
    _show(found, json_output, f"engine in memory, {found['tickets']:,} tickets; baseline: {base['what']}", rows)


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
    _show(found, json_output, f"durable joins, {connections} connections; baseline: bare ASGI echo on uvicorn", rows)


def _latency(found: dict[str, Any]) -> str:
    return f"{found['p50_ms']:.2f} / {found['p99_ms']:.2f}"


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
    _show(found, json_output, f"restart after {found['events']:,} events; baseline: an empty journal", rows)
