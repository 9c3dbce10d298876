"""What time alone brings about, in a fixed order within a tick:

1. tickets that have been in the queue too long, or whose client is unheard of, expire;
2. ready checks whose time is over lapse, and so do matches whose start nobody confirmed;
3. matches whose running time is over free their players; places of matches that nobody took in time are closed;
4. finished tickets and proposals leave the state for the read table, a bounded number a tick;
5. offences that are forgiven leave the books;
6. idempotency keys older than a day leave the state.

One event tells of a bounded number, the lowest first; the rest follows with the next ticks. Every queue remembers the
earliest moment at which each of these can be due, so that a tick with nothing to do costs a few comparisons however
many tickets wait.
"""

from collections.abc import Collection

import numpy as np

from evenmatch.domain.arrays import NONE, Array
from evenmatch.domain.events import Event, Forgotten, KeysForgotten, TicketsGone
from evenmatch.domain.ticket import Cause

from . import backfill
from .cooldowns import forgiven
from .ready_check import lapse
from .starting import given_up
from .state import CALLED_OFF, CANCELLED, EXPIRED, FAILED, JOINED, NEVER, OVER, RUNNING, WAITING, QueueState, State
from .tables import lowest

KEYS_LIVE_MS = 24 * 3600 * 1000
AT_ONCE = 16_384
"""Tickets that one event of a kind tells of at most; whoever joins waits for it."""
_BLOCK = 65_536
"""Tickets that are looked at together: what is worked out of so many stays in the processor's cache."""
_FORGET_MOST = 1_000
"""Tickets a tick; the read table takes them one row each, and whoever joins waits for it."""


def tick(state: State, now_ms: int, keep_ms: int, held: Collection[str] = ()) -> tuple[Event, ...]:
    """The events that are due at this moment; queues that are held forget nothing."""
    events: list[Event] = []
    for queue in state.by_index:
        guilty: list[int] = []
        if now_ms >= queue.next_expiry_ms:
            events += _expired(queue, now_ms)
        if now_ms >= queue.next_lapse_ms:
            queue.next_lapse_ms = NEVER
            for over in (lapse, given_up):
                failed, next_ms = over(state, queue, now_ms, _matches_at_once(queue))
                queue.next_lapse_ms = min(queue.next_lapse_ms, NEVER if next_ms is None else next_ms)
                if failed is not None:
                    events.append(failed)
                    guilty += failed.offender.tolist()
        ending = NONE
        if now_ms >= queue.next_end_ms:
            ending = _ended(queue, now_ms)
            events += backfill.ended(state, queue, ending, now_ms, ticking=True) if len(ending) else ()
        if now_ms >= queue.fillings.next_expiry_ms:
            closed, queue.fillings.next_expiry_ms = backfill.expired(state, queue, now_ms, ending)
            events += closed
        if now_ms >= queue.next_forget_ms + keep_ms and queue.spec.name not in held:
            events += _forgotten(queue, now_ms, keep_ms)
        if now_ms >= queue.next_forgive_ms:
            ended, queue.next_forgive_ms = forgiven(queue, now_ms, guilty)
            if ended is not None:
                events.append(ended)
    if state.keys:
        events += _old_keys(state, now_ms)
    return tuple(events)


def _matches_at_once(queue: QueueState) -> int:
    return max(1, AT_ONCE // queue.spec.format.seats)


def _expired(queue: QueueState, now_ms: int) -> list[Event]:
    t, heartbeat_ms = queue.tickets, queue.heartbeat_ms
    due, next_ms = [], NEVER
    for first in range(0, t.used, _BLOCK):
        rows = slice(first, min(first + _BLOCK, t.used))
        until = t.seen_ms[rows] + heartbeat_ms
        np.minimum(until, t.expires_ms[rows], out=until, where=t.suspended[rows] == 0)
        until[t.status[rows] != WAITING] = NEVER
        earliest = int(until.min())
        if earliest <= now_ms:
            due.append(first + np.flatnonzero(until <= now_ms))
            earliest = int(until.min(where=until > now_ms, initial=NEVER))
        next_ms = min(next_ms, earliest)
    queue.next_expiry_ms = next_ms
    if not due:
        return []
    over = np.concatenate(due)
    unheard = t.seen_ms[over] + heartbeat_ms <= now_ms
    events: list[Event] = []
    for cause, slots in ((Cause.UNHEARD, over[unheard]), (Cause.TOO_LONG, over[~unheard])):
        if len(slots):
            if len(slots) > AT_ONCE:
                queue.next_expiry_ms = now_ms
            slots = lowest(slots, t.ticket[slots], AT_ONCE)
            events.append(TicketsGone(now_ms, queue.spec.name, cause, t.ticket[slots], t.sequence[slots]))
    return events


def _ended(queue: QueueState, now_ms: int) -> Array:
    """The matches whose running time is over, some of them at most."""
    p = queue.proposals
    running = p.standing == RUNNING
    later = p.ends_ms[running & (p.ends_ms > now_ms)]
    queue.next_end_ms = int(later.min()) if len(later) else NEVER
    numbers = p.proposal[running & (p.ends_ms <= now_ms)]
    due = lowest(numbers, numbers, _matches_at_once(queue))
    if len(due) < len(numbers):
        queue.next_end_ms = now_ms
    return due


def _forgotten(queue: QueueState, now_ms: int, keep_ms: int) -> list[Event]:
    """Tickets that ended without a match go one by one; those of a match go together with it."""
    t, p = queue.tickets, queue.proposals
    before = now_ms - keep_ms
    status, finished_ms = t.status[: t.used], t.finished_ms[: t.used]
    standing, over_ms = p.standing[: p.used], p.over_ms[: p.used]
    unmatched = (status == CANCELLED) | (status == EXPIRED)
    over = (standing == OVER) | (standing == FAILED) | (standing == CALLED_OFF) | (standing == JOINED)
    gone = np.flatnonzero(unmatched & (finished_ms <= before))
    done = np.flatnonzero(over & (over_ms <= before))
    most = max(1, _FORGET_MOST // p.roster.shape[1])
    if len(gone) <= _FORGET_MOST and len(done) <= most:
        later = (finished_ms[unmatched & (finished_ms > before)], over_ms[over & (over_ms > before)])
        queue.next_forget_ms = min((int(times.min()) for times in later if len(times)), default=NEVER)
    gone, done = lowest(gone, t.ticket[gone], _FORGET_MOST), lowest(done, p.proposal[done], most)
    matches = done[(p.standing[done] != FAILED) & (p.standing[done] != JOINED)]
    roster = p.roster[matches]
    late = queue.fillings.all_joined(p.proposal[matches]) if len(queue.fillings) else NONE
    tickets = np.concatenate((t.ticket[gone], roster[roster >= 0], late))
    if not len(tickets) and not len(done):
        return []
    return [Forgotten(now_ms, queue.spec.name, tickets, p.proposal[done])]


def _old_keys(state: State, now_ms: int) -> list[Event]:
    count = 0
    for _, _, when in state.keys.values():
        if when > now_ms - KEYS_LIVE_MS or count == _FORGET_MOST:
            break
        count += 1
    return [KeysForgotten(now_ms, count)] if count else []
