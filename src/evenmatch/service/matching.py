"""Running matchers away from the event loop and the engine thread.

Small queues are planned in a thread: starting costs microseconds. A large queue (or one whose spec says `isolate`) is
planned by a worker process, which can be killed: if its plan is late, or it dies, another takes its place and the wave
is given up (`worker`). Whatever happens to a matcher, its wave comes back as a `FinishWave`, with a plan or with what
went wrong.

A process takes a second to start and to read its compiled code, so it is started while its queue is half as large as
it must be; until it is there, waves are planned in a thread.

What needs no state is done here, too: the snapshot of a large queue is copied when it is first asked for, and a plan is
looked at before it goes to the engine.

Each queue has one plan under way at most: a matcher that does not come back costs its own queue its waves, and nobody
else anything.
"""

import threading
import time
from collections.abc import Callable, Iterable

import structlog

from evenmatch.core.engine import Engine
from evenmatch.domain.commands import FinishWave
from evenmatch.domain.effects import RunMatcher
from evenmatch.domain.queue import QueueSpec
from evenmatch.matchers.contract import plan_wave, wave_next_change_ms
from evenmatch.matchers.registry import build

from .mailbox import WaveOrder
from .worker import Worker

log = structlog.get_logger("evenmatch.matching")

LARGE = 20_000
"""Tickets from which on a wave is planned in a worker process."""
_PARTING_S = 1.0
"""So long a plan under way has to notice that the server stops, and to tidy up."""


class MatcherRoom:
    """Where matchers run."""

    def __init__(self) -> None:
        self.waved: Callable[[str, float], None] = lambda _queue, _seconds: None
        """Told how long each plan took."""
        self._planning: dict[str, threading.Lock] = {}
        """Queue -> held while its matcher is at work."""
        self._workers: dict[str, Worker] = {}
        self._closing = threading.Event()

    def prepare(self, specs: Iterable[QueueSpec]) -> None:
        """Start the workers of queues that ask for one."""
        for spec in specs:
            if spec.wave.isolate:
                self.worker(spec.name).warm(spec.matcher)

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
        try:
            answer = self.worker(queue).plan(effect) if self._apart(effect) else planned(effect)
            engine.prepare(answer)
        except Exception as error:
            log.warning("matcher failed", queue=queue, wave=effect.wave, error=repr(error))
            answer = FinishWave(queue, effect.wave, None, f"{type(error).__name__}: {error}")
        self._planning[queue].release()
        if not self._closing.is_set():
            self.waved(queue, time.perf_counter() - started)
            put(WaveOrder(answer, engine))

    def _apart(self, effect: RunMatcher) -> bool:
        """Is this wave for a worker process?"""
        isolate, waiting = effect.spec.wave.isolate, len(effect.snapshot)
        if isolate is not None:
            return isolate
        if waiting < LARGE // 2 or self._closing.is_set():
            return False
        worker = self.worker(effect.spec.name)
        if not worker.started:
            worker.warm(effect.spec.matcher)
        return waiting >= LARGE and worker.ready

    def worker(self, queue: str) -> Worker:
        """The worker of a queue, started or not."""
        return self._workers.setdefault(queue, Worker(queue, planned))

    def close(self) -> None:
        """End all workers; plans under way are lost, which costs nothing."""
        self._closing.set()
        for worker in list(self._workers.values()):  # a wave may begin meanwhile
            worker.kill()
        for planning in list(self._planning.values()):
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
