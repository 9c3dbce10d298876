"""Cases run side by side: in processes of this machine, or on a cluster. What is done is kept, so that nothing is lost.

Each result is a file of its own, written whole or not at all, under a name that stands for the case and the program:
another population, another rule or another version finds nothing there and runs anew.
"""

import contextlib
import logging
import multiprocessing
import os
import signal
from asyncio import CancelledError
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Final

import msgspec

from evenmatch.errors import LabError

from .runs import Case, Found, program, run

__all__ = ["Stopped", "run_all"]

_LOOK_S: Final = 0.2
_done: Any = None
"""In a process of the pool: the share of every case that is done, in memory that all share."""


class Stopped(Exception):
    """The run was interrupted; so many cases of all are kept."""

    def __init__(self, done: int, cases: int, keep: Path | None) -> None:
        super().__init__(f"{done} of {cases} cases are done")
        self.done, self.cases, self.keep = done, cases, keep


def run_all(
    cases: Sequence[Case],
    keep: Path | None,
    workers: int | None,
    dask: str | None,
    progress: Callable[[list[float]], None],
) -> list[Found]:
    """What comes of each case, in their order."""
    if workers is not None and workers < 1:
        raise LabError(f"{workers} processes cannot run anything: use 1 or more")
    found: dict[int, Found] = {}
    if keep is not None:
        if keep.exists() and not keep.is_dir():
            raise LabError(f"{keep} is a file: results are kept in a folder, so name one, or one that is not there yet")
        try:
            keep.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LabError(f"{keep}: results cannot be kept there: {error.strerror}") from None
        for place, case in enumerate(cases):
            one = _read(keep, case)
            if one is not None:
                found[place] = one
    shares = [1.0 if place in found else 0.0 for place in range(len(cases))]
    progress(shares)
    todo = [place for place in range(len(cases)) if place not in found]
    try:
        if dask is not None:
            _on_cluster(dask, cases, todo, keep, found, shares, progress)
        elif workers == 1 or len(todo) == 1:
            for place in todo:
                _here(cases, place, keep, found, shares, progress)
        elif todo:
            _in_processes(cases, todo, keep, found, shares, progress, min(len(todo), workers or os.cpu_count() or 1))
    except BrokenProcessPool:
        raise LabError(
            f"a process ended before its run did ({len(found)} of {len(cases)} runs are done): for want of memory, if "
            "it was killed: use fewer workers; or because a script calls this outside of `if __name__ == '__main__':`"
        ) from None
    except KeyboardInterrupt:
        raise Stopped(len(found), len(cases), keep) from None
    return [found[place] for place in range(len(cases))]


def _path(keep: Path, case: Case) -> Path:
    return keep / f"{case.name.replace('/', '_')}-{case.seed}-{case.digest}.json"


def _read(keep: Path, case: Case) -> Found | None:
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(_path(keep, case).read_bytes(), type=Found)
    return None


def _keep(keep: Path | None, case: Case, found: Found) -> None:
    if keep is None:
        return
    path = _path(keep, case)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_bytes(msgspec.json.encode(found))
    part.replace(path)


def _here(
    cases: Sequence[Case],
    place: int,
    keep: Path | None,
    found: dict[int, Found],
    shares: list[float],
    progress: Callable[[list[float]], None],
) -> None:
    def tell(share: float) -> None:
        shares[place] = share
        progress(shares)

    found[place] = run(cases[place], tell)
    _keep(keep, cases[place], found[place])


def _begin(done: Any) -> None:
    """In a fresh process of the pool. The terminal's Ctrl-C is for the one who gathers."""
    global _done
    _done = done
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run_placed(case: Case, place: int) -> Found:
    def tell(share: float) -> None:
        _done[place] = share

    return run(case, tell)


def _in_processes(
    cases: Sequence[Case],
    todo: Sequence[int],
    keep: Path | None,
    found: dict[int, Found],
    shares: list[float],
    progress: Callable[[list[float]], None],
    workers: int,
) -> None:
    context = multiprocessing.get_context("spawn")
    done: Any = context.Array("d", len(cases), lock=False)
    pool = ProcessPoolExecutor(workers, context, _begin, (done,))
    try:
        waiting: dict[Future[Found], int] = {pool.submit(_run_placed, cases[place], place): place for place in todo}
        while waiting:
            for ready in wait(waiting, _LOOK_S, FIRST_COMPLETED).done:
                place = waiting.pop(ready)
                found[place] = ready.result()
                _keep(keep, cases[place], found[place])
            for place in todo:
                shares[place] = 1.0 if place in found else min(0.999, float(done[place]))
            progress(shares)
    finally:
        for process in list((pool._processes or {}).values()) if len(found) < len(cases) else ():
            process.terminate()  # what they are at would be thrown away
        pool.shutdown(wait=True, cancel_futures=True)


def _on_cluster(
    address: str,
    cases: Sequence[Case],
    todo: Sequence[int],
    keep: Path | None,
    found: dict[int, Found],
    shares: list[float],
    progress: Callable[[list[float]], None],
) -> None:
    try:
        from distributed import Client, as_completed  # type: ignore[import-not-found]
    except ImportError:
        raise LabError("a cluster needs Dask: install evenmatch[dask]") from None
    for name in list(logging.root.manager.loggerDict):
        if name.startswith(("distributed", "tornado")):  # what fails is told once, in our words
            logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise LabError(f"no Dask scheduler answers at {address}: {error}") from None
    with client:
        places: dict[str, int] = {}
        futures = []
        for place in todo:
            future = client.submit(run_there, cases[place], program(), pure=False)
            places[future.key] = place
            futures.append(future)
        for future in as_completed(futures):
            place = places[future.key]
            try:
                found[place] = future.result()
            except LabError:
                raise
            except (Exception, CancelledError) as error:
                why = (str(error).splitlines() or [""])[0]
                raise LabError(
                    f"the cluster failed ({len(found)} of {len(cases)} runs are done): {type(error).__name__}: {why} "
                    "It must run, with this very evenmatch on all of it; the same command goes on from what is kept."
                ) from None
            _keep(keep, cases[place], found[place])
            shares[place] = 1.0
            progress(shares)


def run_there(case: Case, wanted: str) -> Found:
    """On a machine of a cluster: live through a case, if it is with the program that was asked for."""
    if program() != wanted:
        raise LabError("a machine of the cluster has another evenmatch than this one: install the same on all of it")
    return run(case)
