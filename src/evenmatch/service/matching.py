"""Running matchers away from the event loop and the engine thread.

Small queues are planned in a thread: starting costs microseconds. A large queue (or one whose spec says `isolate`) is
planned in a worker process that gets the snapshot's columns through shared memory; if its plan is late, or the worker
dies, the worker is killed and another takes its place, and the wave is given up. Whatever happens to a matcher, its
wave comes back as a `FinishWave`, with a plan or with what went wrong.

Each queue has one plan under way at most: a matcher that does not come back costs its own queue its waves, and nobody
else anything.
"""

import multiprocessing
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import msgspec
import numpy as np
import structlog

from evenmatch.core.engine import Engine
from evenmatch.domain.arrays import Array
from evenmatch.domain.commands import FinishWave
from evenmatch.domain.effects import RunMatcher
from evenmatch.domain.match import Plan
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import plan_wave, wave_next_change_ms
from evenmatch.matchers.registry import build

from .mailbox import WaveOrder

log = structlog.get_logger("evenmatch.matching")

LARGE = 20_000
"""Tickets from which on a wave is planned in a worker process."""
_PARTING_S = 1.0
"""So long a plan under way has to notice that the server stops, and to tidy up."""
_COLUMNS = ("ticket", "waited_ms", "misses", "returned", "group", "player_start", "player")


class MatcherRoom:
    """Where matchers run."""

    def __init__(self) -> None:
        self.waved: Callable[[str, float], None] = lambda _queue, _seconds: None
        """Told how long each plan took."""
        self._planning: dict[str, threading.Lock] = {}
        """Queue -> held while its matcher is at work."""
        self._workers: dict[str, Worker] = {}
        self._closing = threading.Event()

    def run(self, effect: RunMatcher, engine: Engine, put: Callable[[WaveOrder], None]) -> None:
        """Plan a wave and put its result into the mailbox. A thread that hangs does not keep the process alive."""
        queue = effect.spec.name
        if not self._planning.setdefault(queue, threading.Lock()).acquire(blocking=False):
            failed = FinishWave(queue, effect.wave, None, "the matcher is still at work on an earlier wave")
            put(WaveOrder(failed, engine))
            return
        threading.Thread(target=self._run, args=(effect, engine, put), name=f"matcher-{queue}", daemon=True).start()

    def _run(self, effect: RunMatcher, engine: Engine, put: Callable[[WaveOrder], None]) -> None:
        queue, started = effect.spec.name, time.perf_counter()
        isolate = effect.spec.wave.isolate
        try:
            if len(effect.snapshot) >= LARGE if isolate is None else isolate:
                answer = self._worker(queue).plan(effect)
            else:
                answer = planned(effect)
        except Exception as error:
            log.warning("matcher failed", queue=queue, wave=effect.wave, error=repr(error))
            answer = FinishWave(queue, effect.wave, None, f"{type(error).__name__}: {error}")
        self._planning[queue].release()
        if not self._closing.is_set():
            self.waved(queue, time.perf_counter() - started)
            put(WaveOrder(answer, engine))

    def _worker(self, queue: str) -> "Worker":
        return self._workers.setdefault(queue, Worker(queue))

    def close(self) -> None:
        """End all workers; plans under way are lost, which costs nothing."""
        self._closing.set()
        for worker in self._workers.values():
            worker.kill()
        for planning in self._planning.values():
            planning.acquire(timeout=_PARTING_S)


def planned(effect: RunMatcher) -> FinishWave:
    """Run a wave's matcher here and now."""
    spec = effect.spec.matcher
    matcher = build(spec.name, spec.parameters)
    return FinishWave(
        queue=effect.spec.name,
        wave=effect.wave,
        plan=plan_wave(matcher, effect.snapshot, seed=effect.seed),
        reads_misses=matcher.reads_misses,
        next_change_ms=wave_next_change_ms(matcher, effect.snapshot),
    )


class Worker:
    """A process that plans the waves of one queue."""

    def __init__(self, queue: str) -> None:
        self.queue = queue
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def plan(self, effect: RunMatcher) -> FinishWave:
        """Send a wave to the worker and wait for its plan, but not beyond the wave's deadline."""
        process, pipe = self._start()
        columns: dict[str, Array] = {name: getattr(effect.snapshot, name) for name in _COLUMNS}
        columns |= {f"fact:{name}": column for name, column in effect.snapshot.facts.items()}
        memory = SharedMemory(create=True, size=max(1, sum(column.nbytes for column in columns.values())))
        try:
            layout, offset = [], 0
            assert memory.buf is not None
            for name, column in columns.items():
                memory.buf[offset : offset + column.nbytes] = column.tobytes()
                layout.append((name, column.dtype.str, len(column), offset))
                offset += column.nbytes
            bare = msgspec.structs.replace(effect, snapshot=None)
            snapshot = effect.snapshot
            rest = {
                "format": snapshot.format,
                "now_ms": snapshot.now_ms,
                "traits": snapshot.traits,
                "active_population": snapshot.active_population,
                "first_match": snapshot.first_match,
            }
            pipe.send((bare, rest, memory.name, layout))
            patience_s = (effect.deadline_ms - effect.snapshot.now_ms) / 1000
            if not pipe.poll(patience_s):
                raise TimeoutError(f"no plan within {patience_s:g} s; its worker was killed")
            answer = pipe.recv()
        except (TimeoutError, EOFError, OSError) as error:
            exit_code = process.exitcode
            self.kill()
            if isinstance(error, TimeoutError):
                raise
            raise RuntimeError(f"the worker process died (exit code {exit_code})") from error
        finally:
            memory.close()
            memory.unlink()
        if isinstance(answer, str):
            raise RuntimeError(answer)
        plan = Plan(**answer["plan"])
        return FinishWave(self.queue, effect.wave, plan, "", answer["reads_misses"], answer["next_change_ms"])

    def _start(self) -> tuple[BaseProcess, Connection]:
        if self._process is None or self._pipe is None or not self._process.is_alive():
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,), name=f"matcher-{self.queue}", daemon=True)
            self._process.start()
            theirs.close()
        return self._process, self._pipe

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None


def _serve(pipe: Connection) -> None:
    """The worker process: plan what comes until the pipe closes."""
    while True:
        try:
            effect, rest, name, layout = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            pipe.send(_planned_apart(effect, rest, name, layout))
        except Exception as error:
            pipe.send(f"{type(error).__name__}: {error}")


def _planned_apart(effect: RunMatcher, rest: dict[str, Any], name: str, layout: list[Any]) -> dict[str, Any]:
    memory = SharedMemory(name=name)
    try:
        assert memory.buf is not None
        columns = {
            column: np.frombuffer(memory.buf, dtype, count, offset).copy() for column, dtype, count, offset in layout
        }
    finally:
        memory.close()
    facts = {column.removeprefix("fact:"): columns.pop(column) for column in list(columns) if ":" in column}
    for column in (*columns.values(), *facts.values()):
        column.flags.writeable = False
    fields: dict[str, Any] = {**columns, **rest}
    snapshot = Snapshot(facts=facts, **fields)
    answer = planned(msgspec.structs.replace(effect, snapshot=snapshot))
    assert answer.plan is not None
    return {
        "plan": msgspec.structs.asdict(answer.plan),
        "reads_misses": answer.reads_misses,
        "next_change_ms": answer.next_change_ms,
    }
