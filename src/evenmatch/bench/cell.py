"""One contest at one size, in a process of its own: loaded, run once for memory and agreement, then timed.

A fresh process, because memory that an earlier contest gave back to the allocator would hide what this one needs. Our
way and the opponents' run one after the other in the same process, so they meet the same machine. What is done is told
at once, so that a process which has to be stopped leaves what it found until then.
"""

import multiprocessing
import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from evenmatch.bench.contest import Contest, Opponent
from evenmatch.bench.found import Answer, Row, Timing
from evenmatch.bench.memory import with_peak_mb
from evenmatch.errors import ConfigError

__all__ = ["Effort", "effort_of", "in_own_process", "measured"]

RUNS_LEAST: Final = 3
RUNS_MOST: Final = 2000
NOT_INSTALLED: Final = "not installed (pip install evenmatch[bench])"
Tell: TypeAlias = Callable[[Any], None]


class Effort(NamedTuple):
    """How much is put into a measurement."""

    seed: int = 1
    threads: int = 1
    each_s: float = 1.0
    """A call is timed again and again for about so long, but at least three times."""
    limit_s: float = 120.0
    """A process that takes longer is stopped."""


def effort_of(*, seed: int, threads: int | None, limit_s: float, quick: bool) -> Effort:
    """The effort that was asked for; raises ConfigError for what makes no sense."""
    from evenmatch.numerics import threads as kernels

    threads = kernels.count() if threads is None else threads
    if seed < 0:
        raise ConfigError(f"--seed must be 0 or more, not {seed}")
    if threads < 1:
        raise ConfigError(f"--threads must be 1 or more, not {threads}")
    if not limit_s > 0:
        raise ConfigError(f"--limit must be more than 0 seconds, not {limit_s:g}")
    return Effort(seed, threads, 0.1 if quick else 1.0, limit_s)


def in_own_process(contest: Contest, size: int, effort: Effort) -> Row:
    """The row of one size, measured by a fresh process that is stopped at the limit."""
    spawning = multiprocessing.get_context("spawn")
    receiver, sender = spawning.Pipe(duplex=False)
    process = spawning.Process(target=_work, args=(sender, contest, size, effort), daemon=True)
    process.start()
    sender.close()
    row, end, why = Row(size, None, ()), time.monotonic() + effort.limit_s, f"stopped after {effort.limit_s:g} s"
    try:
        while receiver.poll(max(0.0, end - time.monotonic())):
            if (told := receiver.recv()) is None:
                why = ""
                break
            row = told
    except EOFError:
        process.join()
        why = f"the process ended with {process.exitcode}"
    finally:
        process.kill()
        process.join()
    return _completed(row, contest, why)


def _work(sender: Connection, contest: Contest, size: int, effort: Effort) -> None:
    from evenmatch.numerics import threads

    threads.use(effort.threads)
    try:
        measured(contest, size, effort, sender.send)
        sender.send(None)
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def _completed(row: Row, contest: Contest, why: str) -> Row:
    """The row with a word on everything that is missing from it because the process ended early."""
    if not why:
        return row
    if row.ours is None:
        return msgspec.structs.replace(row, says=row.says or why)
    missing = tuple(
        Answer(opponent.name, None, None, None, why) for opponent in contest.opponents[len(row.opponents) :]
    )
    return msgspec.structs.replace(row, opponents=row.opponents + missing)


def measured(contest: Contest, size: int, effort: Effort, tell: Tell = lambda _: None) -> Row:
    """The row of one size; `tell` hears of the row as far as it is complete, after each part."""
    try:
        given = contest.make(size, effort.seed)
        contest.ours(contest.make(min(contest.tiny, size), effort.seed))
        result, ours = _timed(lambda: contest.ours(given), effort)
        broken = contest.sound(given, result) if contest.sound else None
        plan = contest.told(result) if contest.told else None
    except Exception as problem:
        row = Row(size, None, (), sound=False, says=f"failed: {_words(problem)}")
        tell(row)
        return row
    row = Row(size, ours, (), sound=broken is None if contest.sound else None, says=broken or "", plan=plan)
    tell(row)
    for opponent in contest.opponents:
        answer = _answer(contest, opponent, size, given, result, ours, effort)
        row = msgspec.structs.replace(row, opponents=(*row.opponents, answer))
        tell(row)
    return row


def _answer(
    contest: Contest, opponent: Opponent, size: int, given: Any, result: Any, ours: Timing, effort: Effort
) -> Answer:
    name = opponent.name
    if size > opponent.largest:
        return Answer(name, None, None, None, f"not run beyond {opponent.largest:,}")
    if any(find_spec(module) is None for module in opponent.needs):
        return Answer(name, None, None, None, NOT_INSTALLED)
    try:
        opponent.run(opponent.prepare(contest.make(min(contest.tiny, size), effort.seed)))
        prepared = opponent.prepare(given)
        theirs, timing = _timed(lambda: opponent.run(prepared), effort)
        differs = (opponent.agree or contest.agree)(given, result, theirs)
        plan = opponent.told(theirs) if opponent.told else None
    except Exception as problem:
        return Answer(name, None, None, False, f"failed: {_words(problem)}")
    return Answer(name, timing, timing.median_s / ours.median_s, differs is None, differs or "", plan)


def _timed(work: Callable[[], Any], effort: Effort) -> tuple[Any, Timing]:
    """What a call returns and how long it takes; the first call is for the result and the memory only."""
    result, peak_mb = with_peak_mb(work)
    took: list[float] = []
    end = time.perf_counter() + effort.each_s
    while len(took) < RUNS_LEAST or (len(took) < RUNS_MOST and time.perf_counter() < end):
        started = time.perf_counter()
        again = work()
        took.append(time.perf_counter() - started)
        del again
    return result, Timing(statistics.median(took), min(took), len(took), peak_mb)


def _words(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
