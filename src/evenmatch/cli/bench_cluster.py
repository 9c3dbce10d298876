"""evenmatch bench cluster: several processes on one PostgreSQL, beside SQLite and bare INSERTs."""

import signal
import sys
from typing import Any

from evenmatch.cli.bench import JsonFlag, progress, show
from evenmatch.errors import ConfigError


def cluster(
    *, seconds: float = 5.0, workers: str = "1,2,4", db: str | None = None, json_output: JsonFlag = False
) -> None:
    """Players matched a second with 1, 2 and 4 workers and with SQLite, an owner killed under load, and bare INSERTs.

    Parameters
    ----------
    seconds
        How long to measure each.
    workers
        Numbers of worker processes, with commas between them; an owner is killed among the most.
    db
        The URL of a user who may create databases, on a PostgreSQL that runs already. Default: one is started.
    json_output
        Print the numbers as JSON.
    """
    try:
        from evenmatch.bench.cluster import measure
    except ImportError as error:
        raise ConfigError(f"this needs psycopg ({error}): pip install 'evenmatch[postgres]'") from error
    try:
        asked = tuple(int(one) for one in workers.split(","))
    except ValueError:
        raise ConfigError(f"--workers {workers!r} are no numbers: write them as 1,2,4") from None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as with Ctrl-C, what was started is ended
    with progress() as tell:
        found = measure(seconds, db, asked, tell)
    bare = f"{found['bare_insert_per_s']:,.0f}"
    rows = []
    for count, one in found["workers"].items():
        rows.append((f"players matched a second, {count} workers", f"{one['matched_per_s']:,.0f}", bare))
        rows.append(("  single join beside 1,000/s, p50 / p99 ms", _latency(one), ""))
    rows += [
        ("  as fast as bare INSERTs, at best", f"{found['bare_ratio']:.2f}x", ""),
        ("  as those over one connection", f"{found['bare_ratio_one_connection']:.2f}x", ""),
        ("players matched a second, SQLite", f"{found['sqlite']['matched_per_s']:,.0f}", ""),
        ("  single join beside 1,000/s, p50 / p99 ms", _latency(found["sqlite"]), ""),
        ("takeover after SIGKILL, s", f"{found['takeover_s']:.2f}", ""),
        ("lost / doubled", f"{found['lost']} / {found['doubled']}", ""),
    ]
    title = (
        f"a cluster, {seconds:g} s each; baseline: bare INSERTs of the same rows, {found['bare_insert']['connections']}"
    )
    show(found, json_output, f"{title} connections", rows)
    if found["lost"] or found["doubled"]:
        raise SystemExit(1)


def _latency(found: dict[str, Any]) -> str:
    if found["join_p99_ms"] is None:
        return "none"
    alone, steady, full = (
        f"{found[f'{k}_p50_ms']:.0f} / {found[f'{k}_p99_ms']:.0f}" for k in ("quiet", "join", "full")
    )
    return f"{steady}; alone {alone}, under full load {full}"
