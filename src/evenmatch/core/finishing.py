"""A ticket's story goes on, or is over. Part of `evolve`: these change the state and are called from there only."""

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.ticket import Cause

from .claims import drop_live, stop_clock
from .meetings import drop_avoided
from .notes import drop_wills, note_heard
from .state import WAITING, QueueState, State


def touch(state: State, queue: QueueState, slots: Array) -> None:
    """The event of now is the last of these tickets' stories."""
    queue.tickets.sequence[slots] = state.sequence
    queue.tickets.dirty[slots] = True
    queue.changed = state.sequence


def finish(state: State, queue: QueueState, slots: Array, status: int, cause: Cause) -> None:
    """These tickets leave the queue for good; their clocks stop and their players are free to join again (I2)."""
    t = queue.tickets
    stop_clock(state, queue, slots)
    queue.waiting -= int(np.count_nonzero(t.status[slots] == WAITING))
    t.status[slots] = status
    t.cause[slots] = cause
    t.finished_ms[slots] = state.now_ms
    queue.next_forget_ms = min(queue.next_forget_ms, state.now_ms)
    drop_live(state, queue, slots)
    note_heard(queue, t.ticket[slots])
    drop_avoided(queue, t.ticket[slots])
    drop_wills(queue, slots)
