"""kill -9 under load: a real server is killed at random instants while players go round, and nothing may be lost.

    server process <── HTTP, WebSockets, server-sent events ── processes of players, by our own client
         │ killed, started again on the same journal             │ come back where they left off
         v                                                       v
      journal ──────────────────> audit <──────────────────── their logs

1. The instants come from a seed; what is being done at them does not.
2. Players never begin anew: a join that was not answered is asked again with its idempotency key, a story goes on
   with `after=`.
3. The audit (`auditor`) shares no rule with the engine. It looks for I1 to I7, I9 and I11, for every join, accept and
   result that was acknowledged, and for every story, whole and in order. I8 is `recovery.verify`; I10 the players ask
   for.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from evenmatch.errors import ConfigError, EvenmatchError, JournalError
from evenmatch.open_files import make_room
from evenmatch.recovery import verify
from evenmatch.storage.places import open_store

from .auditor import audit, read_book
from .book import refuse_used
from .log import Log
from .players import Plan, Progress

_QUEUES: Final = """
[queues.live]
format = {{ teams = 2, size = 1 }}
matcher = {{ name = "buckets", bucket = 1, growth_s = {growth_s}, range_max = 100000 }}
wave = {{ every_s = 0.1 }}
ready_check = {{ timeout_s = 60 }}
ticket = {{ expires_s = 3600, heartbeat_s = 600 }}
match = {{ runs_s = 600 }}

[queues.live.rating]
trust_backend = true
"""
_APART: Final = 10.0
"""Neighbours are about so many buckets apart."""
_ROUNDS_A_S: Final = 30.0
"""About so many players begin a game a second, if everything keeps up."""
_PATIENCE_S: Final = 300.0
"""Longer than anything takes, on a loaded machine too."""
_INSTANT_S: Final = 1.5
"""The server is killed within so long."""


class DrillFailed(EvenmatchError):
    """The drill could not be carried out; that says nothing of what it was to find."""


class Server:
    """A server process that is killed and comes back at the address it had."""

    def __init__(self, folder: Path, players: int, db: str | None = None) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.db = str(folder / "drill.db") if db is None else db
        self.log = folder / "server.log"
        config = folder / "queues.toml"
        config.write_text(_QUEUES.format(growth_s=round(max(0.05, players / _ROUNDS_A_S / _APART), 3)))
        self._command = [sys.executable, "-m", "evenmatch", "serve", "--port", str(port)]
        self._command += ["--config", str(config), "--db", self.db]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("EVENMATCH_")}
        own = {"EVENMATCH_KEEP_S": "5", "EVENMATCH_CHECKPOINT_DEBT": str(max(100, players))}
        own["EVENMATCH_KEYS"] = str(folder / "drill.keys")  # none: keys of the folder it is run in are not its own
        self._environment = kept | own
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Start it; returns how long it took to be ready, in milliseconds."""
        started = time.perf_counter()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.DEVNULL, stderr=log, env=self._environment
            )
        while not self._is_ready():
            if self._process.poll() is not None:
                raise DrillFailed(f"the server ended by itself: {self.log.read_text()[-2000:]}")
            if time.perf_counter() - started > _PATIENCE_S:
                raise DrillFailed(f"the server is not ready after {_PATIENCE_S:g} s: see {self.log}")
            time.sleep(0.02)
        return (time.perf_counter() - started) * 1000

    def _is_ready(self) -> bool:
        with contextlib.suppress(OSError, urllib.error.URLError), urllib.request.urlopen(f"{self.url}/readyz") as said:
            return bool(said.status == 200)
        return False

    def kill(self) -> None:
        """End it at once (SIGKILL)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Stop it where it is (SIGSTOP)."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let it go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def succeed(self) -> float:
        """Start it as soon as the one before it has lost its lease; returns how long it took to be ready."""
        started = time.perf_counter()
        while True:
            before = self.log.stat().st_size if self.log.exists() else 0
            try:
                self.start()
                return (time.perf_counter() - started) * 1000
            except DrillFailed:
                if "is serving" not in self.log.read_text()[before:] or time.perf_counter() - started > _PATIENCE_S:
                    raise

    def ended(self) -> bool:
        """Has it ended by itself, in good time?"""
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE_S)
            return True
        return False


class Crowds:
    """The processes of players."""

    def __init__(self, folder: Path, url: str, players: int, processes: int, seed: int) -> None:
        self._progress = [Progress()] * processes
        self._logs = [folder / f"players-{place}.log" for place in range(processes)]
        self._processes = []
        for place, log in enumerate(self._logs):
            first, last = (players * edge // processes for edge in (place, place + 1))
            plan = Plan(url, first, last - first, players * _APART, seed * 1_000 + place, str(log))
            command = [sys.executable, "-m", "evenmatch.drill.players", msgspec.json.encode(plan).decode()]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self._processes.append(process)
            threading.Thread(target=self._hear, args=(place, process), daemon=True).start()

    def _hear(self, place: int, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        with process.stdout as said:
            for line in said:
                self._progress[place] = msgspec.json.decode(line, type=Progress)

    def progress(self) -> Progress:
        """How far all of them are together."""
        if any(process.poll() for process in self._processes):
            raise DrillFailed("a process of players ended with an error: see above")
        told = list(self._progress)
        return Progress(*(sum(getattr(one, name) for one in told) for name in Progress.__struct_fields__))

    def until(self, reached: Callable[[Progress], bool], what: str) -> None:
        """Wait until they are so far."""
        patience = time.monotonic() + _PATIENCE_S
        while not reached(self.progress()):
            if time.monotonic() > patience:
                raise DrillFailed(f"{what} did not come about within {_PATIENCE_S:g} s: {self.progress()}")
            time.sleep(0.05)

    def stop(self) -> Log:
        """Let everybody leave; what all of them know."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write("stop\n")
            process.stdin.close()
        log = Log()
        for process, path in zip(self._processes, self._logs, strict=True):
            if process.wait(2 * _PATIENCE_S):
                raise DrillFailed("a process of players ended with an error: see above")
            log.add(msgspec.msgpack.decode(path.read_bytes(), type=Log))
        return log

    def kill(self) -> None:
        """End all that still run."""
        for process in self._processes:
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()


def crash(
    folder: Path,
    players: int = 60,
    kills: int = 3,
    seed: int = 0,
    processes: int = 1,
    tell: Callable[[str], None] = lambda _: None,
    db: str | None = None,
) -> dict[str, Any]:
    """Carry the drill out in a folder of its own, or with its journal in an empty database (`db`).

    Returns what was seen, and under `faults` all that is wrong.
    """
    if players < 2 or kills < 0 or not 1 <= processes <= players // 2:
        raise ConfigError(
            f"{players} players, {kills} kills, {processes} processes: "
            "give at least 2 players, 0 kills or more, and at least 2 players a process"
        )
    make_room(players)
    if db is not None:
        refuse_used(db)
    chance = Random(seed)
    server = Server(folder, players, db)
    started, ready_ms = time.monotonic(), [server.start()]
    crowds = Crowds(folder, server.url, players, processes, seed)
    watched: list[int] = []
    try:
        tell(f"{players:,} players join")
        crowds.until(lambda now: now.joins >= players, "a join of every player")
        for place in range(kills + 1):
            before = crowds.progress().results
            more = max(2, players // 50)
            crowds.until(lambda now, wanted=before + more: now.results >= wanted, "more results")  # type: ignore[misc]
            if place == kills:
                break
            time.sleep(chance.uniform(0, _INSTANT_S))  # the instant is what is being tried
            watched.append(crowds.progress().watching)
            tell(f"kill {place + 1} of {kills}: {watched[-1]:,} follow their tickets")
            server.kill()
            ready_ms.append(server.start())
        tell("everybody leaves")
        log = crowds.stop()
    finally:
        crowds.kill()
        server.kill()
    tell("audit")
    return {
        "players": players,
        "kills": kills,
        "seed": seed,
        "processes": processes,
        "seconds": round(time.monotonic() - started, 1),
        "watching_when_killed": watched,
        "ready_ms": [round(ms) for ms in ready_ms],
        **audited(server.db, log),
    }


def audited(db: str, log: Log) -> dict[str, Any]:
    """What the audit of a journal finds, and under `faults` all that is wrong."""
    book = read_book(db)
    found = audit(book, log)
    faults = list(found.faults)
    events = 0
    try:
        with open_store(db, read_only=True) as journal:
            events = verify(journal).events
    except JournalError as error:
        faults.append(f"I8: {error}")
    if not faults and events != found.sequence:
        faults.append(f"I8: {events} events were replayed, of {found.sequence}")
    return {
        "events": found.sequence,
        "owners": len({row.fence for row in book.rows}),
        "joins_acknowledged": len(log.joined),
        "results_acknowledged": len({match for match, _ in log.results}),
        "accepts_acknowledged": len(log.accepted),
        "stories_followed": len(log.stories),
        "messages_heard": len(log.told),
        "tickets": found.counts(),
        "faults": faults,
    }
