"""Very many connected players on one machine, going from join to result and round again, beside a bare echo.

Players are coroutines in a few client processes; each has a WebSocket of its own while it is in the queue, and requests
go over keep-alive connections that a process shares among its players, as a game's backend would. They have ratings and
wait until somebody close enough comes (`buckets`, with ranges that grow), so that nearly all of them are connected at
any moment and games begin all the time.

- join: from the moment that a player wants to join, a wait for a free connection included, to its answer; the join is
  on disk by then.
- push: from the moment that the engine decided to the moment that the client has the message; the commit is in it. The
  engine's moment has whole milliseconds.
- memory: what the server process grew by while the players joined and connected, a ticket and its WebSocket each.
- the echo: a bare ASGI application on the same uvicorn, with as many WebSockets, a request and four messages a round,
  at the rate of joins that the server has just had. It decides and keeps nothing, and its WebSockets stay open.

Clients and server share the machine: what either spends of its processors is told.
"""

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import psutil

from evenmatch.errors import ConfigError
from evenmatch.open_files import make_room

from .live_clients import Account, Plan
from .machine import machine

_ECHO = """
import asyncio, socket, uvicorn, uvloop
async def app(scope, receive, send):
    if scope["type"] == "http":
        body = (await receive()).get("body", b"")
        await send({"type": "http.response.start", "status": 201, "headers": [
            (b"content-length", str(len(body)).encode()), (b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": body})
    elif scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": message["text"]})
sock = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(f"http://127.0.0.1:{sock.getsockname()[1]}", flush=True)
config = uvicorn.Config(app, http="httptools", loop="uvloop", lifespan="off", log_config=None, access_log=False,
    server_header=False, date_header=False, proxy_headers=False, ws_per_message_deflate=False)
with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
    runner.run(uvicorn.Server(config).serve(sockets=[sock]))
"""

_QUEUES = """
[queues.live]
format = {{ teams = 2, size = 1 }}
matcher = {{ name = "buckets", bucket = 1, growth_s = {growth_s}, range_max = 100000 }}
wave = {{ every_s = {every_s} }}
ready_check = {{ timeout_s = 120 }}
ticket = {{ expires_s = 3600, heartbeat_s = 600 }}
match = {{ runs_s = 600 }}

[queues.live.rating]
trust_backend = true
"""
_APART: Final = 10.0
"""Neighbours are about so many buckets apart."""
_SETTLES_S: Final = 60.0
"""So long a server is waited for that still reads compiled code after its start."""
_WAVE_S: Final = 0.25
"""Waves are frequent, so that players do not all answer at the same moments."""
_CONNECTIONS: Final = 512
"""Keep-alive connections of all client processes together."""


@contextmanager
def _server(*command: str) -> Iterator[tuple[int, psutil.Process]]:
    """A server process: its port, and the process."""
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline().decode()
            if not first:
                raise RuntimeError("the server under test did not start")
            yield int(first.split("http://", 1)[1].split()[0].rsplit(":", 1)[1]), psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait()


def _settled(server: psutil.Process) -> int:
    """Bytes that a server holds once it has loaded all it loads after its start, and so does next to nothing."""
    quiet, until_s = 0, time.monotonic() + _SETTLES_S
    while quiet < 3 and time.monotonic() < until_s:
        spent_s = _cpu_s(server)
        time.sleep(0.5)
        quiet = quiet + 1 if _cpu_s(server) - spent_s < 0.1 else 0
    return int(server.memory_info().rss)


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _load(port: int, server: psutil.Process, plan: Plan, processes: int) -> dict[str, Any]:
    """Load a server with players from several processes."""
    before = _settled(server)
    with ExitStack() as stack:
        crowds = []
        for place in range(processes):
            first, last = (plan.players * edge // processes for edge in (place, place + 1))
            own = msgspec.structs.replace(
                plan, port=port, first=first, players=last - first, connections=max(1, plan.connections // processes)
            )
            command = [sys.executable, "-m", "evenmatch.bench.live_clients", msgspec.json.encode(own).decode()]
            crowd = stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            stack.callback(crowd.kill)
            crowds.append(crowd)
        for crowd in crowds:
            assert crowd.stdout is not None
            if crowd.stdout.readline().strip() != "ready":
                raise RuntimeError("a process of players ended before it was connected")
        time.sleep(1)
        grown = server.memory_info().rss - before
        cpu_s, started = _cpu_s(server), time.perf_counter()
        for crowd in crowds:
            assert crowd.stdin is not None
            crowd.stdin.write("go\n")
            crowd.stdin.flush()
        accounts = []
        for crowd in crowds:
            assert crowd.stdout is not None
            accounts.append(msgspec.json.decode(crowd.stdout.readline(), type=Account))
        seconds = time.perf_counter() - started
        return _told(accounts, plan, grown, _cpu_s(server) - cpu_s, seconds)


def _told(accounts: list[Account], plan: Plan, grown: int, server_cpu_s: float, seconds: float) -> dict[str, Any]:
    refused: Counter[str] = Counter()
    for account in accounts:
        refused.update(account.refused)
    joins = sum(account.joins for account in accounts)
    found: dict[str, Any] = {
        "joins": joins,
        "joins_per_s": round(joins / plan.seconds, 1),
        "join_ms": _spread([ms for account in accounts for ms in account.join_ms]),
        "push_ms": _spread([ms for account in accounts for ms in account.push_ms]),
        "connected": {
            "least": sum(account.connected_least for account in accounts),
            "most": sum(account.connected_most for account in accounts),
        },
        "memory_per_player_kb": round(grown / 1000 / plan.players, 1),
        "refused": dict(refused),
        "reconnected": sum(account.retried for account in accounts),
        "server_cpu_ms_per_join": round(server_cpu_s * 1000 / max(1, joins), 2),
        "server_cpu": round(server_cpu_s / seconds, 2),
        "clients_cpu": round(sum(account.cpu_s for account in accounts) / plan.seconds, 2),
    }
    if not plan.echo:
        for name in ("accepts", "matches", "results"):
            found[name] = sum(getattr(account, name) for account in accounts)
    return found


def _spread(values_ms: list[float]) -> dict[str, float | None]:
    if not values_ms:
        return {"count": 0, "p50": None, "p99": None, "most": None}
    p50, p99, most = np.percentile(np.array(values_ms), [50, 99, 100])
    return {"count": len(values_ms), "p50": round(p50, 2), "p99": round(p99, 2), "most": round(most, 2)}


def measure(
    players: int = 5_000,
    seconds: float = 20.0,
    processes: int = 2,
    rate: float = 100.0,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Run the comparison; `rate`: about so many join a second, if everything keeps up."""
    if players < 2 or not 0 < seconds <= 3_600 or not 1 <= processes <= players // 2 or not 0 < rate <= 1e6:
        raise ConfigError(
            f"{players} players, {seconds:g} seconds, {processes} processes, a rate of {rate:g}: "
            "give at least 2 players, up to 3600 seconds, at least 2 players a process, and a rate above 0"
        )
    make_room(players)
    wait_s = max(0.5, players / rate)
    plan = Plan(0, 0, players, seconds, players * _APART, wait_s, _CONNECTIONS)
    tell(f"{players:,} players at the server")
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "queues.toml"
        config.write_text(
            _QUEUES.format(growth_s=round(2 * wait_s / _APART, 3), every_s=round(min(_WAVE_S, wait_s / 5), 3))
        )
        arguments = ["-m", "evenmatch", "serve", "--port", "0", "--config", str(config)]
        with _server(*arguments, "--db", str(Path(folder) / "live.db")) as (port, process):
            found = _load(port, process, plan, processes)
    tell(f"{players:,} players at a bare echo")
    pause_s = players / max(1.0, found["joins_per_s"])
    with _server("-c", _ECHO) as (port, process):
        echo = _load(port, process, msgspec.structs.replace(plan, echo=True, pause_s=pause_s), processes)
    return {
        "players": players,
        "seconds": seconds,
        "processes": processes,
        "rate": rate,
        **found,
        "echo": echo,
        "machine": machine(1),
    }
