"""A heap of events by time, for kernels: rows of (time, what), the earliest first.

The caller owns the array int64[capacity, 2] and the number of rows in use, so that a search costs no allocation. Rows
of equal time come out in an order that depends on nothing but the order of the calls.
"""

from typing import Any

from evenmatch.numerics.compiled import kernel

__all__ = ["pop", "push"]


@kernel()
def push(heap: Any, size: int, time: int, what: int) -> int:
    """Add an event and return the new size; there must be room."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if heap[above, 0] <= time:
            break
        heap[at, 0], heap[at, 1] = heap[above, 0], heap[above, 1]
        at = above
    heap[at, 0], heap[at, 1] = time, what
    return size + 1


@kernel()
def pop(heap: Any, size: int) -> int:
    """Remove the first row, heap[0], and return the new size; there must be one."""
    size -= 1
    time, what = heap[size, 0], heap[size, 1]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and heap[below + 1, 0] < heap[below, 0]:
            below += 1
        if heap[below, 0] >= time:
            break
        heap[at, 0], heap[at, 1] = heap[below, 0], heap[below, 1]
        at = below
    heap[at, 0], heap[at, 1] = time, what
    return size
