"""A cluster under load: players matched a second with 1, 2 and 4 workers and with SQLite, and an owner that is killed.

    load (this process) ── HTTP ──> api process ── inbox ──> PostgreSQL <── lanes ── worker processes
    the same load ───────── HTTP ──> one plain server on a SQLite file

1. Real server processes on a real PostgreSQL that waits for the disk (fsync is as it is by default). Four queues, 1v1,
   no ready check, `first_come`, so that matching is not what is measured. Ten single joins a second in each queue,
   whose latency is told: alone (quiet_p99_ms), beside a thousand players a second that join in batches of 100
   (join_p99_ms), and beside as many batches as are taken, which is all that the machine has (full_p99_ms).
2. matched_per_s: tickets in matches whose commits became durable within the time of full load, read from the journal.
3. takeover_s: from SIGKILL of an owner under load to the first join acknowledged in a lane it owned, of those sent
   after the kill. lost: tickets that were acknowledged, before or after it, and that the journal does not have.
   doubled: tickets in two matches, and players with two tickets though requests were repeated.
4. bare_insert_per_s: `bare_insert`, in the same run on the same server; the faster of one connection and of four.

Everything shares the machine, the load too: what each spends of the processors a matched player is told.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.errors import ConfigError
from evenmatch.storage.places import in_database, shown

from . import cluster_journal as journals
from . import postgres
from .bare_insert import bare_insert_per_s
from .cluster_load import Load
from .cluster_processes import LANES, QUEUES, Process, children_cpu_s, lane_of_queue, processes, read, until
from .machine import machine

WORKERS: Final = (1, 2, 4)
_WARM_S: Final = 2.0
_QUIET_S: Final = 3.0
_AFTER_S: Final = 2.0
"""The load goes on for so long after a takeover."""
_BARE_PLAYERS: Final = 20_000
Tell = Callable[[str, int, int], None]


def measure(
    seconds: float = 5.0,
    db: str | None = None,
    workers: tuple[int, ...] = WORKERS,
    tell: Tell = lambda *_: None,
) -> dict[str, Any]:
    """Run all of it; `db`: the URL of a user who may create databases, on a server that runs already."""
    if not 0.5 <= seconds <= 60 or not set(workers) <= set(WORKERS) or max(workers, default=0) < 2:
        raise ConfigError(
            f"{seconds:g} seconds, workers {', '.join(map(str, workers)) or 'none'}: give 0.5 to 60 seconds, and some "
            f"of {', '.join(map(str, WORKERS))} workers, 2 or 4 among them: who is killed is replaced by another"
        )
    if db is not None and not in_database(db):
        raise ConfigError(f"{db} is not a database: use postgresql://user@host:5432/database")
    steps = iter(range(1, len(workers) + 3))

    def step(what: str) -> None:
        tell(what, next(steps), len(workers) + 2)

    started_s, load_before = time.perf_counter(), os.getloadavg()
    found: dict[str, Any] = {"workers": {}}
    with tempfile.TemporaryDirectory(prefix="evenmatch-bench-") as name, _server(db) as (url, pid):
        folder = Path(name)
        for count in sorted(workers):
            last = count == max(workers)
            step(f"{count} worker{'s' * (count > 1)}" + ", and an owner is killed" * last)
            with postgres.database(url, f"evenmatch_bench_{os.getpid()}_{count}") as place:
                with processes(_made(folder / str(count)), place, count, lambda _: None) as (api, others):
                    load = Load(api.port, QUEUES, f"w{count}")
                    with _loading(load):
                        found["workers"][str(count)] = _measured(load, place, api, others, seconds, pid)
                        killed = _kill(load, place, api, others) if last else {}
                if last:
                    found |= killed | _audited(load, place)
                    step("bare INSERTs")
                    bare = [bare_insert_per_s(place, _BARE_PLAYERS, connections) for connections in (1, LANES)]
        step("SQLite")
        place = str(_made(folder / "sqlite") / "bench.db")
        with processes(folder / "sqlite", place, 0, lambda _: None) as (api, others):
            load = Load(api.port, QUEUES, "s")
            with _loading(load):
                found["sqlite"] = _measured(load, place, api, others, seconds, None)
    best = max(bare, key=lambda one: one[0])
    matched = max(one["matched_per_s"] for one in found["workers"].values())
    return found | {
        "bare_insert_per_s": round(best[0], 1),
        "bare_insert": best[1] | {"per_s": {str(one["connections"]): round(rate, 1) for rate, one in bare}},
        "bare_ratio": round(matched / best[0], 3),
        "bare_ratio_one_connection": round(matched / bare[0][0], 3),
        "seconds": seconds,
        "took_s": round(time.perf_counter() - started_s, 1),
        "load_average": {"before": round(load_before[0], 2), "after": round(os.getloadavg()[0], 2)},
        "machine": machine(1),
    }


@contextlib.contextmanager
def _server(db: str | None) -> Iterator[tuple[str, int | None]]:
    """A PostgreSQL to use: its URL, and its process where it is our own."""
    if db is not None:
        yield db, None
        return
    with postgres.running() as server:
        yield server.url, server.process


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@contextlib.contextmanager
def _loading(load: Load) -> Iterator[None]:
    load.start()
    try:
        yield
    finally:
        load.stop()


def _measured(
    load: Load, place: str, api: Process, workers: list[Process], seconds: float, database: int | None
) -> dict[str, Any]:
    """What comes out in a while, once it runs."""
    until(lambda: load.joined(0, float("inf")) > 0, "a join", [api, *workers])
    time.sleep(_WARM_S)
    quiet_s = time.perf_counter()
    time.sleep(_QUIET_S)
    quiet_ms = load.latencies_ms(quiet_s, time.perf_counter())
    load.steady()
    time.sleep(_WARM_S)
    steady_s = time.perf_counter()
    time.sleep(seconds)
    steady_ms = load.latencies_ms(steady_s, time.perf_counter())
    load.full()
    time.sleep(_WARM_S)
    groups: dict[str, list[Process]] = {"api": [api], "workers": workers} if workers else {"server": [api]}

    def spent() -> dict[str, float]:
        found = {name: sum(one.cpu_s() for one in group) for name, group in groups.items()}
        own = {} if database is None else {"postgres": children_cpu_s(database)}
        return found | own | {"load": time.process_time()}

    before, cpu_s, from_s = journals.ends(place), spent(), time.perf_counter()
    time.sleep(seconds)
    to_s, after, cpu_after_s = time.perf_counter(), journals.ends(place), spent()
    matched = journals.matched_between(place, before, after)
    latencies_ms = load.latencies_ms(from_s, to_s)
    if not matched or not len(latencies_ms) or not len(quiet_ms) or not len(steady_ms):
        return {"matched_per_s": 0.0, "join_p99_ms": None, "quiet_p99_ms": None, "refused": dict(load.refused)}
    return {
        "matched_per_s": round(matched / (to_s - from_s), 1),
        "joined_per_s": round(load.joined(from_s, to_s) / (to_s - from_s), 1),
        **_percentiles("join", steady_ms),
        **_percentiles("quiet", quiet_ms),
        **_percentiles("full", latencies_ms),
        "single_joins": {"quiet": len(quiet_ms), "steady": len(steady_ms), "full": len(latencies_ms)},
        "players": matched,
        "cpu_us_per_player": {
            name: round((cpu_after_s[name] - began_s) / matched * 1e6, 1) for name, began_s in cpu_s.items()
        },
        "connections": _connections(place, groups),
        "refused": dict(load.refused),
    }


def _percentiles(name: str, latencies_ms: Array) -> dict[str, float]:
    return {f"{name}_p{share}_ms": round(float(np.percentile(latencies_ms, share)), 1) for share in (50, 99)}


def _connections(place: str, groups: dict[str, list[Process]]) -> dict[str, float]:
    """Sessions in the database that each process has, on average."""
    if not in_database(place):
        return {}
    named = postgres.sessions(place)
    return {
        name: sum(count for session, count in named.items() if any(session.endswith(f" {p.pid}") for p in group))
        / len(group)
        for name, group in groups.items()
    }


def _kill(load: Load, place: str, api: Process, workers: list[Process]) -> dict[str, Any]:
    """Kill an owner under load, and wait for a join in a lane that it owned."""
    victim = Random(0).choice(workers)
    cluster = read(place)
    name = next(node.called for node in cluster.nodes if node.name.endswith(f":{victim.pid}"))
    lanes = {lane.name for lane in cluster.lanes if lane.owner == name}
    queues = {queue for queue in QUEUES if lane_of_queue(queue) in lanes}
    assert queues, f"{victim.name} owns nothing in {shown(place)}"
    killed_s = time.perf_counter()
    victim.kill()

    def firsts() -> dict[str, float]:
        seen: dict[str, float] = {}
        for one in list(load.answered):
            if one.sent_s > killed_s and one.queue in queues:
                seen.setdefault(one.queue, one.answered_s - killed_s)
        return seen

    others = [one for one in (api, *workers) if one is not victim]
    until(lambda: firsts().keys() == queues, "a takeover", others)
    time.sleep(_AFTER_S)
    seen = firsts()
    return {
        "takeover_s": round(min(seen.values()), 3),
        "takeover_all_s": round(max(seen.values()), 3),
        "lanes_taken_over": sorted(lanes),
    }


def _audited(load: Load, place: str) -> dict[str, Any]:
    """Hold what was acknowledged against the journal."""
    account, acknowledged = journals.Account(place), load.tickets()
    return {
        "lost": len(acknowledged - account.tickets),
        "doubled": account.doubled,
        "acknowledged": len(acknowledged),
        "repeated": sum(one.tries > 1 for one in load.answered),
        "matched": account.matched,
    }
