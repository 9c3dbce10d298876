"""Work split over threads, for kernels that release the interpreter's lock.

Parts write to places of their own, so the answer is the same with any number of threads; one is always possible.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numba

__all__ = ["count", "in_parts", "use"]

_count = int(vars(numba.config)["NUMBA_NUM_THREADS"])


def count() -> int:
    """Threads that a kernel may use: at first as many as the process may use processors."""
    return _count


def use(threads: int) -> None:
    """Let kernels use this many threads at most, from the next call on."""
    global _count
    assert threads >= 1
    _count = threads


def in_parts(total: int, work: Callable[[int, int], None], *, least: int) -> None:
    """Call `work(first, end)` on consecutive parts of 0..total, together; no part is made smaller than `least`."""
    parts = max(1, min(_count, total // max(1, least)))
    if parts == 1:
        work(0, total)
        return
    edges = [total * part // parts for part in range(parts + 1)]
    with ThreadPoolExecutor(parts - 1) as pool:
        others = [pool.submit(work, edges[part], edges[part + 1]) for part in range(1, parts)]
        work(edges[0], edges[1])
        for other in others:
            other.result()
