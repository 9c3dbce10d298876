"""One case of `bench waves`, in a process of its own: python -m evenmatch.bench.wave_case '{"matcher": ...}'

First the engine alone is driven through waves by a clock in hand, a phase after the other. Then an engine thread is
started on the journal that this left, as a server would, with the queue full again; while it runs a wave over all
tickets, others join one by one.
"""

import asyncio
import functools
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import structlog

from evenmatch.core import engine as engine_module
from evenmatch.core import waves as waves_module
from evenmatch.core.engine import Engine
from evenmatch.core.evolve import evolve
from evenmatch.core.hashing import settle
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.arrays import Array
from evenmatch.domain.queue import Format, MatcherSpec, QueueSpec, TicketSpec, WaveSpec
from evenmatch.matchers.contract import door, own_format
from evenmatch.matchers.registry import build
from evenmatch.numerics.seeds import generator
from evenmatch.recovery import checkpoint_in_pieces
from evenmatch.service.bodies import Player, TicketBody
from evenmatch.service.mailbox import Joined, JoinEntry, JoinOrder
from evenmatch.service.matching import LARGE, MatcherRoom, planned
from evenmatch.service.owner import Owner
from evenmatch.settings import Settings
from evenmatch.storage.codec import encode_events
from evenmatch.storage.protocol import Commit
from evenmatch.storage.sqlite import SqliteJournal

from .waves import PHASES

_PARAMETERS: Final[dict[str, dict[str, Any]]] = {
    "buckets": {"bucket": 25},
    "ladder": {"sides": ["bw", "sc2"]},
    "epgc": {"lobby_size": 10},
    "lom": {"session_size": 10},
}
_PARTY: Final = {"cinder": 5}
"""Players in a ticket, where it is not one."""
_FORMATS: Final = {"cinder": Format(2, 5)}
_SPREAD_MS: Final = 60_000
"""The tickets of a full queue came one after the other within so long."""
_BATCH: Final = 10_000
_JOIN_EVERY_S: Final = 0.002


def _spec(matcher: str) -> QueueSpec:
    parameters = _PARAMETERS.get(matcher, {})
    made = build(matcher, parameters)
    form = _FORMATS.get(matcher, own_format(made))
    return QueueSpec(
        "bench",
        form,
        MatcherSpec(matcher, parameters),
        wave=WaveSpec(every_s=3600.0, deadline_s=3600.0),
        ticket=TicketSpec(expires_s=86_400.0, heartbeat_s=86_400.0),
        door=door(made, form),
    )


class _Queue:
    """An engine with one queue, its journal, and a clock in hand."""

    def __init__(self, spec: QueueSpec, path: Path, now_ms: int) -> None:
        self.spec = spec
        self.engine = Engine()
        self.journal = SqliteJournal(path)
        self.now_ms = now_ms
        self.players = 0
        self.party = _PARTY.get(spec.matcher.name, 1)
        self._chance = generator(1)
        self.commit(list(self.engine.step(cmd.OpenQueue(spec), self.now_ms).events))

    def commit(self, events: list[ev.Event], names: list[tuple[int, str]] | None = None) -> None:
        first = self.engine.state.sequence - len(events) + 1
        self.journal.append(Commit(first, self.now_ms, events, names or []))

    def apply(self, event: ev.Event) -> None:
        """Enter an event that the bench made up, as the engine would."""
        evolve(self.engine.state, event)
        self.commit([event])

    def fill(self, waiting: int) -> None:
        """Let those who were matched leave the state, and others come until so many tickets wait."""
        self._forget()
        queue = self.engine.state.queues["bench"]
        missing = waiting - queue.waiting
        batches = -(-missing // _BATCH)
        for batch in range(batches):
            self.now_ms += _SPREAD_MS // batches
            self.apply(self._joined(min(_BATCH, missing - batch * _BATCH)))
        name = f"the last of {self.players}"
        self.journal.append(Commit(self.engine.state.sequence + 1, self.now_ms, [], [(self.players, name)]))

    def _joined(self, count: int) -> ev.TicketsJoined:
        players = count * self.party
        first = self.players + 1
        self.players += players
        return ev.TicketsJoined(
            at_ms=self.now_ms,
            queue="bench",
            first_ticket=self.engine.state.next_ticket,
            size=np.full(count, self.party, np.int16),
            player=np.arange(first, first + players),
            facts=self._facts(players),
            groups=("{}",),
            group=np.empty(0, np.int32),
            keys=np.empty((0, 3), np.uint64),
        )

    def _facts(self, players: int) -> dict[str, Array]:
        chance = self._chance
        rating = np.clip(np.round(chance.normal(1500.0, 300.0, players)), 0.0, 3000.0)
        facts = {"rating": rating, "ping_ms": np.round(chance.gamma(3.0, 20.0, players))}
        if self.spec.matcher.name == "ladder":
            left = chance.random(players) < 0.5
            facts["ratings.bw"] = np.where(left, rating, np.nan)
            facts["ratings.sc2"] = np.where(left, np.nan, rating)
        return facts

    def _forget(self) -> None:
        p = self.engine.state.queues["bench"].proposals
        rows = np.flatnonzero(p.standing)
        roster = p.roster[rows]
        if len(rows):
            self.apply(ev.Forgotten(self.now_ms, "bench", roster[roster >= 0], p.proposal[rows]))


class _Clock:
    """How long functions took, by the name of the phase."""

    def __init__(self) -> None:
        self.spent_ms = dict.fromkeys(PHASES, 0.0)

    def timed(self, phase: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            started = time.perf_counter()
            try:
                return work(*given)
            finally:
                self.spent_ms[phase] += (time.perf_counter() - started) * 1000

        return run

    @contextmanager
    def watching(self, *places: tuple[Any, str, str]) -> Iterator[None]:
        """Time functions of modules, each given as (module, name, phase)."""
        kept = [(module, name, getattr(module, name)) for module, name, _ in places]
        for module, name, phase in places:
            setattr(module, name, self.timed(phase, getattr(module, name)))
        try:
            yield
        finally:
            for module, name, work in kept:
                setattr(module, name, work)


def _wave(queue: _Queue) -> tuple[dict[str, float], dict[str, int]]:
    """One wave over a full queue: milliseconds by phase, and what came of it."""
    clock = _Clock()
    engine = queue.engine
    engine.timetable("bench").next_wave_ms = 0  # the beat is slow, so that no other wave comes between
    with clock.watching((waves_module, "freeze", "copy"), (engine_module, "evolve", "event")):
        (effect,) = engine.step(cmd.Tick(), queue.now_ms).effects
        longest = clock.spent_ms["copy"]
        command: cmd.FinishWave | None = clock.timed("plan", planned)(effect)
        clock.timed("plan", engine.prepare)(command)
        told = {"matches": 0, "events": 0, "journal_bytes": 0}
        while command is not None:
            part = time.perf_counter()
            step = clock.timed("vetting", engine.step)(command, queue.now_ms)
            assert step.refusal is None, step.refusal
            clock.timed("journal", queue.commit)(list(step.events))
            longest = max(longest, (time.perf_counter() - part) * 1000)
            told["events"] += len(step.events)
            told["journal_bytes"] += len(encode_events(list(step.events)))
            told["matches"] += sum(len(event.roster) for event in step.events)
            command = step.rest
    clock.spent_ms["vetting"] -= clock.spent_ms["event"]  # which is a part of the step
    clock.spent_ms["total"] = sum(clock.spent_ms.values())
    clock.spent_ms["longest"] = longest
    return clock.spent_ms, told


def _quantiles(values: list[float]) -> dict[str, float]:
    return {"p50": round(float(np.quantile(values, 0.5)), 3), "p99": round(float(np.quantile(values, 0.99)), 3)}


async def _joins(spec: QueueSpec, path: Path, waiting: int, at_least_s: float) -> dict[str, Any]:
    """Latencies of joins while an engine thread runs a wave over all that waits."""
    journal = SqliteJournal(path)
    room = MatcherRoom()
    if waiting >= LARGE:  # as in a queue that has grown, its worker is there
        worker = room.worker(spec.name)
        worker.warm(spec.matcher)
        while not worker.ready:
            await asyncio.sleep(0.01)
    runner = Owner(journal, [spec], Settings(), room.run)
    loop = asyncio.get_running_loop()
    took: list[float] = []
    replies: list[Any] = []
    runner.start(loop)
    started = sent = time.perf_counter()
    timetable = runner.engine.timetable("bench")
    while time.perf_counter() - started < at_least_s or not timetable.wave or timetable.flight is not None:
        sent += _JOIN_EVERY_S
        await asyncio.sleep(max(0.0, sent - time.perf_counter()))
        reply = runner.reply()
        reply.add_done_callback(functools.partial(_note, took, sent))
        replies.append(reply)
        runner.put(JoinOrder("bench", [_entry(spec, len(replies))], reply))
    answers = await asyncio.gather(*replies)
    await asyncio.to_thread(room.close)
    await runner.stop()
    journal.close()
    ms = np.array(took) * 1000
    found = {
        f"{name}_ms": round(float(np.quantile(ms, q)), 3) for name, q in (("p50", 0.5), ("p99", 0.99), ("most", 1))
    }
    refused = sum(not isinstance(answer, Joined) or not isinstance(answer.outcomes[0], tuple) for answer in answers)
    return {"count": len(took), "refused": refused} | found


def _note(took: list[float], due: float, _: object) -> None:
    took.append(time.perf_counter() - due)


def _entry(spec: QueueSpec, number: int) -> JoinEntry:
    party = _PARTY.get(spec.matcher.name, 1)
    sides = {("bw", "sc2")[number % 2]: 1500.0} if spec.matcher.name == "ladder" else msgspec.UNSET
    players = [Player(f"new {number}.{place}", 1500.0, 40.0, sides) for place in range(party)]
    return JoinEntry(TicketBody(players), 0, 0)


def _peak() -> int:
    """Bytes of memory that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def run(matcher: str, waiting: int, repeats: int, joins_s: float) -> dict[str, Any]:
    """The numbers of one case."""
    spec = _spec(matcher)
    now_ms = int(time.time() * 1000) - (repeats + 2) * _SPREAD_MS
    with tempfile.TemporaryDirectory() as folder:
        small = _Queue(spec, Path(folder) / "small.db", now_ms)
        small.fill(min(waiting, 200))
        _wave(small)  # reads all code, compiled parts too
        small.journal.close()
        base = _peak()
        queue = _Queue(spec, Path(folder) / "waves.db", now_ms)
        waves: list[dict[str, float]] = []
        told: dict[str, int] = {}
        for _ in range(repeats):
            queue.fill(waiting)
            spent, told = _wave(queue)
            waves.append(spent)
        queue.fill(waiting)
        while not settle(queue.engine.state, _BATCH):  # as the engine thread does, between other things
            continue
        started = time.perf_counter()
        saved = checkpoint_in_pieces(queue.engine.state)
        checkpoint_ms = (time.perf_counter() - started) * 1000
        queue.journal.save_in_pieces(*saved)
        del saved
        peak = _peak()
        queue.journal.close()
        path = queue.journal.path
        del queue
        joins = asyncio.run(_joins(spec, path, waiting, joins_s))
    return {
        **told,
        **{f"{phase}_ms": _quantiles([spent[phase] for spent in waves]) for phase in PHASES},
        "checkpoint_ms": round(checkpoint_ms, 1),
        "bytes_per_ticket": round((peak - base) / waiting, 1),
        "joins": joins,
    }


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    print(json.dumps(run(**json.loads(sys.argv[1]))))
