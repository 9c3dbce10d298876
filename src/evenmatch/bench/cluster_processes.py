"""The server processes of a cluster's bench: started together, asked who owns what, killed, and ended whatever happens.

Lanes: as many as the largest number of workers, a queue in each, so that the load is the same however many share it.
"""

import contextlib
import math
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import psutil

from evenmatch.errors import EvenmatchError
from evenmatch.storage.places import shown
from evenmatch.storage.postgres_nodes import Cluster, read_cluster

LANES: Final = 4
QUEUES: Final = tuple(f"q{number}" for number in range(1, LANES + 1))
_PATIENCE_S: Final = 60.0
_SETTINGS: Final = {"EVENMATCH_KEEP_S": "1", "PYTHONUNBUFFERED": "1"}
"""Finished tickets and matches leave for their tables soon, so that writing those rows is part of what is measured."""
_QUEUE: Final = """
[queues.{name}]
format = {{ teams = 2, size = 1 }}
matcher = {{ name = "first_come" }}
wave = {{ every_s = 0.1 }}
ticket = {{ expires_s = 600, heartbeat_s = 600 }}
"""


class BenchFailed(EvenmatchError):
    """The bench could not be carried out; that says nothing of what it was to find."""


def write_queues(folder: Path) -> Path:
    """The queues file: the first queue in the lane main, each of the others in one of its own."""
    path = folder / "queues.toml"
    lanes = "".join(f'lane-{name} = ["{name}"]\n' for name in QUEUES[1:])
    path.write_text("".join(_QUEUE.format(name=name) for name in QUEUES) + "\n[lanes]\n" + lanes)
    return path


def lane_of_queue(queue: str) -> str:
    """The lane that has a queue."""
    return "main" if queue == QUEUES[0] else f"lane-{queue}"


class Process:
    """A server process."""

    def __init__(self, folder: Path, name: str, config: Path, db: str, role: str | None) -> None:
        self.name, self.role = name, role
        self._log = folder / f"{name}.log"
        command = [sys.executable, "-m", "evenmatch", "serve", "--port", "0", "--log", "json", "--log-level", "warning"]
        command += ["--config", str(config), "--db", db] + ([] if role is None else ["--role", role])
        environment = {key: value for key, value in os.environ.items() if not key.startswith("EVENMATCH_")}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, env=environment | _SETTINGS, cwd=folder
            )
        self.pid = self._process.pid
        self.port = 0

    def wait_for_address(self) -> None:
        """Wait until it says where it listens."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            line = self._process.stdout.readline().decode() if selector.select(_PATIENCE_S) else ""
        if "http://" not in line:
            raise BenchFailed(f"{self.name} did not start: {self.said()}")
        self.port = int(line.split("http://", 1)[1].split()[0].rsplit(":", 1)[1])

    def said(self) -> str:
        """The end of its log."""
        return self._log.read_text(errors="replace")[-2_000:]

    @property
    def runs(self) -> bool:
        """Is it there?"""
        return self._process.poll() is None

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._ended()

    def stop(self) -> None:
        """Tell it to end."""
        self._process.terminate()

    def wait(self) -> None:
        """Wait until it has ended; one that does not is killed."""
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._ended()

    def _ended(self) -> None:
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def cpu_s(self) -> float:
        """Processor time that it and its children have used."""
        with contextlib.suppress(psutil.NoSuchProcess):
            own = psutil.Process(self.pid)
            return sum(_cpu_s(one) for one in (own, *own.children(recursive=True)))
        return 0.0


def _cpu_s(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0


def children_cpu_s(pid: int) -> float:
    """Processor time of a process and its children: PostgreSQL's sessions last as long as the servers' connections."""
    own = psutil.Process(pid)
    return sum(_cpu_s(one) for one in (own, *own.children(recursive=True)))


@contextlib.contextmanager
def processes(
    folder: Path, db: str, workers: int, tell: Callable[[str], None]
) -> Iterator[tuple[Process, list[Process]]]:
    """An api process and its workers (no worker: one plain server), ready and with the lanes shared out."""
    config = write_queues(folder)
    started: list[Process] = []
    try:
        for number in range(workers):
            started.append(Process(folder, f"worker {number + 1}", config, db, "worker"))
            if not number:
                started[0].wait_for_address()  # one makes the tables and lanes
        for worker in started[1:]:
            worker.wait_for_address()
        tell("the api process" if workers else "one server")
        started.append(Process(folder, "api" if workers else "server", config, db, "api" if workers else None))
        api = started[-1]
        api.wait_for_address()
        if workers:
            until(lambda: _shared_out(read(db), workers), "lanes that are shared out", started)
        yield api, started[:-1]
    finally:
        for process in reversed(started):
            if process.runs:
                process.stop()
        for process in reversed(started):
            process.wait()


def read(db: str) -> Cluster:
    """The cluster as its database knows it."""
    return read_cluster(db, shown(db))


def _shared_out(cluster: Cluster, workers: int) -> bool:
    owners = [lane.owner for lane in cluster.lanes if not lane.free]
    alive = [node for node in cluster.nodes if node.alive and node.about.get("ready")]
    most = max((owners.count(owner) for owner in owners), default=0)
    return len(owners) == LANES and len(alive) == workers + 1 and most == math.ceil(LANES / workers)


def until(look: Callable[[], bool], what: str, started: list[Process]) -> None:
    """Wait for something."""
    patience_s = time.monotonic() + _PATIENCE_S
    while not look():
        for process in started:
            if not process.runs:
                raise BenchFailed(f"{process.name} ended by itself: {process.said()}")
        if time.monotonic() > patience_s:
            raise BenchFailed(f"{what} did not come within {_PATIENCE_S:g} s")
        time.sleep(0.1)
