"""A process that plans the waves of one queue, and can be killed.

    server                                          worker
    columns ──copied once──> shared memory ──seen as they are──> Snapshot ─> matcher
    Plan <──copied once── its other end <──copied once── arrays of the plan

The columns of a snapshot go through shared memory, and so do the arrays of its plan, in a place that the server leaves
for them; what is small goes through a pipe. A plan that is larger than expected goes through the pipe too. The worker
holds on to nothing: memory is the server's, and is gone when the plan is there or the worker is killed.
"""

import contextlib
import multiprocessing
import pickle
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.commands import FinishWave
from evenmatch.domain.effects import RunMatcher
from evenmatch.domain.queue import MatcherSpec
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.registry import build
from evenmatch.numerics import threads

_COLUMNS: Final = ("ticket", "waited_ms", "misses", "returned", "group", "player_start", "player", "reach")
_ANSWER_BYTES: Final = 40
"""Room for the plan, a ticket."""
_ALIGNED: Final = 64
_START_S: Final = 60.0

Planner = Callable[[RunMatcher], FinishWave]


class Worker:
    """The server's side of it. One thread plans, another may kill."""

    def __init__(self, queue: str, planner: Planner) -> None:
        """`planner` is a function that the worker process can import."""
        self.queue = queue
        self._planner = planner
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._talking = threading.Lock()
        self.started = False
        """It has been told to start once."""
        self.ready = False
        """It has been there once. From then on it is relied upon: whatever made it die must not run elsewhere."""

    def warm(self, matcher: MatcherSpec) -> None:
        """Start the process and let it read the matcher's code, without waiting for it."""
        self.started = True
        threading.Thread(target=self._warm, args=(matcher,), name=f"warming-{self.queue}", daemon=True).start()

    def _warm(self, matcher: MatcherSpec) -> None:
        with self._talking, contextlib.suppress(EOFError, OSError):
            _, pipe = self._start()
            pipe.send(matcher)
            self.ready = bool(pipe.recv())

    def plan(self, effect: RunMatcher) -> FinishWave:
        """Send a wave to the worker and wait for its plan, but not beyond the wave's deadline."""
        with self._talking:
            process = None
            try:
                process, pipe = self._start()
                with _shared(effect.snapshot) as (memory, layout, end):
                    pipe.send((_bare(effect), memory.name, layout, end))
                    patience_s = (effect.deadline_ms - effect.snapshot.now_ms) / 1000
                    if not pipe.poll(patience_s):
                        raise TimeoutError(f"no plan within {patience_s:g} s; its worker was killed")
                    answer = pipe.recv()
                    if not isinstance(answer, str):
                        answer = _unpacked(memory, *answer)
            except (TimeoutError, EOFError, OSError) as error:
                exit_code = None if process is None else process.exitcode
                self.kill()
                if isinstance(error, TimeoutError):
                    raise
                raise RuntimeError(f"the worker process died (exit code {exit_code})") from error
        if isinstance(answer, str):
            raise RuntimeError(answer)
        assert isinstance(answer, FinishWave)
        return answer

    def _start(self) -> tuple[BaseProcess, Connection]:
        self.started = True
        process, pipe = self._process, self._pipe
        if process is None or pipe is None or not process.is_alive():
            context = multiprocessing.get_context("spawn")
            pipe, theirs = context.Pipe()
            given = (theirs, self._planner, threads.count())
            process = context.Process(target=_serve, args=given, name=f"matcher-{self.queue}", daemon=True)
            self._process, self._pipe = process, pipe
            process.start()
            theirs.close()
            if not pipe.poll(_START_S):  # reading its code is not the matcher's fault, and has its own time
                raise TimeoutError(f"a worker did not start within {_START_S:g} s")
            pipe.recv()
        return process, pipe

    def kill(self) -> None:
        """End the process at once."""
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None
        if process is not None and process.pid is not None:
            process.kill()
            process.join()
        if pipe is not None:
            pipe.close()


# -- through shared memory ---------------------------------------------------------------------------------------------


def _bare(effect: RunMatcher) -> tuple[RunMatcher, dict[str, Any]]:
    """The wave without its columns, and what else there is in its snapshot."""
    snapshot = effect.snapshot
    names = [name for name in snapshot.__struct_fields__ if name not in (*_COLUMNS, "facts")]
    return msgspec.structs.replace(effect, take=None), {name: getattr(snapshot, name) for name in names}


@contextlib.contextmanager
def _shared(snapshot: Snapshot) -> Any:
    """The columns of a snapshot in shared memory, where they are in it, and where the room for the plan begins."""
    columns: dict[str, Array] = {name: getattr(snapshot, name) for name in _COLUMNS}
    columns |= {f"fact:{name}": column for name, column in snapshot.facts.items()}
    layout, end = [], 0
    for name, column in columns.items():
        layout.append((name, column.dtype.str, len(column), end))
        end += -(-column.nbytes // _ALIGNED) * _ALIGNED
    memory = SharedMemory(create=True, size=end + _ANSWER_BYTES * len(snapshot) + 65_536)
    try:
        for (_, dtype, count, offset), column in zip(layout, columns.values(), strict=True):
            _view(memory, dtype, count, offset)[:] = column
        yield memory, layout, end
    finally:
        memory.close()
        memory.unlink()


def _view(memory: SharedMemory, dtype: str, count: int, offset: int) -> Array:
    assert memory.buf is not None
    return np.frombuffer(memory.buf, dtype, count, offset)


def _packed(memory: SharedMemory, answer: FinishWave, end: int) -> tuple[bytes, list[tuple[int, int]]]:
    """An answer as bytes, with its arrays in shared memory from `end` on: the place and length of each."""
    buffers: list[pickle.PickleBuffer] = []
    content = pickle.dumps(answer, protocol=5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    if end + sum(len(one) + _ALIGNED for one in raw) > memory.size:
        return pickle.dumps(answer, protocol=5), []
    places = []
    for one in raw:
        _view(memory, "u1", len(one), end)[:] = np.frombuffer(one, np.uint8)
        places.append((end, len(one)))
        end += -(-len(one) // _ALIGNED) * _ALIGNED
    return content, places


def _unpacked(memory: SharedMemory, content: bytes, places: list[tuple[int, int]]) -> Any:
    arrays = [_view(memory, "u1", count, offset).copy() for offset, count in places]
    return pickle.loads(content, buffers=arrays)


# -- the worker process ------------------------------------------------------------------------------------------------


def _serve(pipe: Connection, planner: Planner, most_threads: int) -> None:
    """Plan what comes until the pipe closes."""
    threads.use(most_threads)
    with contextlib.suppress(OSError):  # the server may be gone already
        pipe.send(True)
    seen: list[SharedMemory] = []
    while True:
        try:
            asked = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            if isinstance(asked, MatcherSpec):
                build(asked.name, asked.parameters)
                pipe.send(True)
                continue
            (effect, rest), name, layout, end = asked
            seen.append(SharedMemory(name=name))
            pipe.send(_packed(seen[-1], planner(_whole(effect, rest, seen[-1], layout)), end))
        except Exception as error:
            pipe.send(f"{type(error).__name__}: {error}")
        seen = [memory for memory in seen if not _closed(memory)]


def _whole(effect: RunMatcher, rest: dict[str, Any], memory: SharedMemory, layout: list[Any]) -> RunMatcher:
    """The wave with its snapshot, whose columns are what stands in shared memory."""
    columns = {name: _view(memory, dtype, count, offset) for name, dtype, count, offset in layout}
    for column in (*columns.values(), *rest.values()):
        if isinstance(column, np.ndarray):
            column.flags.writeable = False
    facts = {name.removeprefix("fact:"): columns.pop(name) for name in list(columns) if ":" in name}
    fields: dict[str, Any] = {**columns, **rest}
    snapshot = Snapshot(facts=facts, **fields)
    return msgspec.structs.replace(effect, take=lambda: snapshot)


def _closed(memory: SharedMemory) -> bool:
    """Let go of shared memory, unless somebody still holds a column: then the next time."""
    try:
        memory.close()
    except BufferError:
        return False
    return True
