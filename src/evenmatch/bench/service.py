"""Durable joins a second over real sockets, beside a bare ASGI echo of the same body on the same uvicorn.

Every join is a new player, is journalled with an fsync before it is answered, and comes over a keep-alive connection to
a server process of its own. The echo server reads the body and sends it back: what is left when nothing is decided and
nothing is kept. Both are loaded by the same client, one after the other. The client is Python too and shares the
machine, so what the server spends of its processor on a request is told beside the rates.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil

from . import load

_ECHO = """
import asyncio, socket, sys, uvicorn, uvloop
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = (await receive()).get("body", b"")
    await send({"type": "http.response.start", "status": 201, "headers": [
        (b"content-length", str(len(body)).encode()), (b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": body})
sock = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(f"http://127.0.0.1:{sock.getsockname()[1]}", flush=True)
config = uvicorn.Config(app, http="httptools", loop="uvloop", lifespan="off", log_config=None, access_log=False,
    server_header=False, date_header=False, proxy_headers=False)
with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
    runner.run(uvicorn.Server(config).serve(sockets=[sock]))
"""

_QUEUES = """
[queues.bench]
format = { teams = 2, size = 1 }
wave = { every_s = 86400 }
"""


class _Server(msgspec.Struct, frozen=True):
    port: int
    pid: int

    def load(self, requests: list[bytes], connections: int, status: int) -> dict[str, Any]:
        """Load the server; beside what the client saw, how much processor time the server spent on a request."""
        before = _cpu_s(self.pid)
        found = load.run(self.port, requests, connections, status)
        cpu_us = (_cpu_s(self.pid) - before) / len(requests) * 1e6
        return {**msgspec.structs.asdict(found), "server_cpu_us": round(cpu_us, 1)}


def _cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


@contextmanager
def _server(*command: str) -> Iterator[_Server]:
    """A server process."""
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline().decode()
            if not first:
                raise RuntimeError("the server under test did not start")
            yield _Server(int(first.split("http://", 1)[1].split()[0].rsplit(":", 1)[1]), process.pid)
        finally:
            process.terminate()
            process.wait()


def _single(first: int, count: int) -> list[bytes]:
    return [
        load.post(
            "/v1/queues/bench/tickets",
            msgspec.json.encode({"players": [{"id": f"player-{first + n}", "rating": 1500 + n % 500}]}),
        )
        for n in range(count)
    ]


def _batched(first: int, batches: int, size: int) -> list[bytes]:
    return [
        load.post(
            "/v1/queues/bench/tickets:batch",
            msgspec.json.encode(
                {
                    "tickets": [
                        {"players": [{"id": f"player-{first + b * size + n}", "rating": 1500}]} for n in range(size)
                    ]
                }
            ),
        )
        for b in range(batches)
    ]


def measure(requests: int = 40_000, connections: int = 128, batches: int = 2_000, batch: int = 100) -> dict[str, Any]:
    """Run the comparison."""
    single = _single(0, requests)
    with _server("-c", _ECHO) as server:
        server.load(single[:5_000], connections, 201)  # warm up
        echo = server.load(single, connections, 201)
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "queues.toml"
        config.write_text(_QUEUES)
        arguments = ["-m", "evenmatch", "serve", "--port", "0", "--config", str(config), "--db"]
        with _server(*arguments, str(Path(folder) / "single.db")) as server:
            server.load(_single(10_000_000, 5_000), connections, 201)
            joins = server.load(single, connections, 201)
        with _server(*arguments, str(Path(folder) / "batch.db")) as server:
            server.load(_batched(20_000_000, 20, batch), 8, 200)
            many = server.load(_batched(0, batches, batch), 8, 200)
    return {
        "connections": connections,
        "echo": echo,
        "single": joins,
        "single_to_echo": round(joins["per_s"] / echo["per_s"], 3),
        "batch": many | {"size": batch, "tickets_per_s": round(many["per_s"] * batch, 1)},
    }
