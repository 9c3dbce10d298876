"""Time from starting a server process to ready, after a long history.

The journal is made by the real engine: players join one by one, send heartbeats and leave, so that most events are
small and there are as many as asked for; checkpoints are saved as often as the server saves them, and the last stretch
before the restart is as long as it can get. The baseline is the same start on an empty journal. How fast a plain replay
without checkpoints would be is measured on the first stretch of the journal.
"""

import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from evenmatch import recovery
from evenmatch.core.engine import Engine
from evenmatch.core.state import State
from evenmatch.domain import commands as cmd
from evenmatch.domain.events import Event
from evenmatch.domain.queue import QueueSpec, TicketSpec, WaveSpec
from evenmatch.domain.ticket import Member, TicketRequest
from evenmatch.settings import Settings
from evenmatch.storage.protocol import Commit
from evenmatch.storage.sqlite import SqliteJournal

_SPEC = QueueSpec("bench", wave=WaveSpec(every_s=86400.0), ticket=TicketSpec(expires_s=86400.0, heartbeat_s=86400.0))
_GROUP = 500
"""Events in one commit."""
_REPLAYED = 20_000
"""Events replayed to know the speed of a plain replay."""


def _history(journal: SqliteJournal, events: int, waiting: int, say: Callable[[str], None]) -> int:
    """Write a history; returns how many events lie after the last checkpoint."""
    engine = Engine(keep_ms=0)
    debt_most = Settings().checkpoint_debt
    group: list[Event] = []
    live: deque[int] = deque()
    player, written, debt, now_ms = 0, 0, 0, 1_000_000
    names: list[tuple[int, str]] = []
    departures = []
    engine_step = engine.step
    group += engine_step(cmd.OpenQueue(_SPEC), now_ms).events
    while written < events or debt < debt_most - 2 * _GROUP:
        while len(group) < _GROUP:
            now_ms += 1
            player += 1
            step = engine_step(cmd.Join("bench", TicketRequest((Member(player, 1500.0 + player % 500),))), now_ms)
            names.append((player, f"player-{player}"))
            live.append(engine.state.next_ticket - 1)
            group += step.events
            group += engine_step(cmd.Heartbeat(np.array([live[0]])), now_ms).events
            if len(live) > waiting:
                group += engine_step(cmd.Leave(live.popleft()), now_ms).events
        tick = engine_step(cmd.Tick(), now_ms)
        group += tick.events
        departures = [row for left in tick.departures for row in left.tickets]
        first = engine.state.sequence - len(group) + 1
        journal.append(Commit(first, now_ms, group, names, [], departures))
        written += len(group)
        debt += len(group)
        group, names = [], []
        if debt >= debt_most:
            journal.save_checkpoint(recovery.checkpoint_of(engine.state))
            debt = 0
            say(f"writing a journal: {written:,} of {events:,} events")
    return debt


def _start(folder: Path, db: Path) -> float:
    """Seconds from starting a server to its first ready answer."""
    config = folder / "queues.toml"
    config.write_text(
        "[queues.bench]\nwave = { every_s = 86400 }\nticket = { expires_s = 86400, heartbeat_s = 86400 }\n"
    )
    command = [sys.executable, "-m", "evenmatch", "serve", "--port", "0", "--config", str(config), "--db", str(db)]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().decode().split(" is at ")[1].split()[0]
            while True:
                try:
                    with urllib.request.urlopen(f"{url}/readyz", timeout=5) as answer:
                        if answer.status == 200:
                            return time.perf_counter() - started
                except urllib.error.URLError:
                    pass
                time.sleep(0.002)
        finally:
            process.kill()
            process.wait()


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(
    events: int = 1_000_000, say: Callable[[str], None] = lambda _: None, waiting: int = 20_000
) -> dict[str, Any]:
    """Run the comparison."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        db, empty = folder / "long.db", folder / "empty.db"
        with SqliteJournal(db) as journal:
            tail = _history(journal, events, waiting, say)
        say("starting servers ...")
        with SqliteJournal(db, read_only=True) as journal:
            recover_s = _timed(lambda: recovery.recover(journal))
            replay_s = _timed(lambda: recovery.replay(journal, State(), _REPLAYED))
            total = journal.last
        with SqliteJournal(empty) as journal:
            empty_recover_s = _timed(lambda: recovery.recover(journal))
        empty_ready = sorted(_start(folder, empty) for _ in range(3))
        ready = sorted(_start(folder, db) for _ in range(3))
        return {
            "events": total,
            "waiting": waiting,
            "events_after_checkpoint": tail,
            "ready_s": round(ready[1], 3),
            "empty_ready_s": round(empty_ready[1], 3),
            "recover_s": round(recover_s, 3),
            "empty_recover_s": round(empty_recover_s, 4),
            "replay_per_s": round(min(_REPLAYED, total) / replay_s, 1),
            "journal_mb": round(db.stat().st_size / 1e6, 1),
        }
