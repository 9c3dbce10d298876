"""Applying events: the only code that changes the state.

Every function here follows one fact to all the columns it reaches. Three helpers carry the rules that several facts
share, and each rule stands only there:

- `finish`: a ticket leaves the queue for good; its clock stops and its players are free to join again (I2).
- `claim` and `release`: a proposal or running match takes its players; their tickets in other queues are suspended
  and later resume with the wait they had (I11, I6).
- `_wake`: a ticket whose clock stood still waits on, with all its deadlines moved by the time it stood still (I6).
"""

from typing import Any

import numpy as np

from evenmatch.domain import backfill_events as bev
from evenmatch.domain import batch_events as many
from evenmatch.domain import events as ev
from evenmatch.domain import lane_events as lane
from evenmatch.domain.arrays import Array
from evenmatch.domain.ticket import Cause

from . import lanes
from .allocating import touch_served
from .batches import begin, many_accepted, matches_made
from .claims import add_live, claim, claimed, release, stop_clock, suspend, wake
from .cooldowns import clear_books, write_books
from .filling import backfill_asked, backfill_closed, match_filled, move_expiries, places_offered, release_all, reopen
from .finishing import finish, touch
from .forgetting import forget, forget_keys
from .hashing import key_digest
from .meetings import note_avoided, set_blocks
from .notes import note_details, note_heard, note_lost, note_traits, note_wills, see_active
from .state import (
    CALLED_OFF,
    CANCELLED,
    FAILED,
    MATCHED,
    OPEN,
    OVER,
    PLAYER_COLUMNS,
    PROPOSED,
    RUNNING,
    STARTING,
    WAITING,
    QueueState,
    State,
)
from .tables import run_of, spans
from .updating import write
from .venue import note_played


def evolve(state: State, event: ev.Event) -> None:
    """Apply one event."""
    state.sequence += 1
    state.now_ms = max(state.now_ms, event.at_ms)
    match event:
        case ev.TicketsJoined():
            _joined(state, event)
        case ev.TicketsSeen():
            _seen(state, event)
        case ev.TicketsGone():
            _gone(state, event)
        case ev.WaveFinished():
            _wave_finished(state, event)
        case ev.WaveAbandoned():
            state.queues[event.queue].wave = event.wave
        case ev.Accepted():
            _accepted(state, event)
        case ev.MatchMade():
            _match_made(state, event)
        case many.ManyAccepted():
            many_accepted(state, event)
        case many.MatchesMade():
            matches_made(state, event)
        case ev.ProposalsFailed():
            _proposals_failed(state, event)
        case ev.MatchStarting():
            _match_starting(state, event)
        case ev.MatchesEnded():
            _matches_ended(state, event)
        case ev.ServerAllocated() | ev.AllocationFailed():
            touch_served(state, event)
        case ev.CooldownsEnded():
            clear_books(state.queues[event.queue], event.player)
        case ev.ContactLost():
            note_lost(state.queues[event.queue], event.ticket)
        case ev.TicketUpdated():
            _ticket_updated(state, event)
        case ev.BlocksSet():
            set_blocks(state, event.player, event.blocked)
        case ev.QueueModeSet():
            state.queues[event.queue].mode = event.mode
        case ev.Forgotten():
            forget(state, event)
        case ev.KeysForgotten():
            forget_keys(state, event)
        case lane.NumbersBegin() | lane.ClaimedElsewhere() | lane.ReleasedElsewhere():
            lanes.follow(state, event)
        case ev.QueueOpened():
            _queue_opened(state, event)
        case ev.Resumed():
            _resumed(state, event)
        case bev.BackfillAsked():
            backfill_asked(state, event)
        case bev.PlacesOffered():
            places_offered(state, event)
        case bev.MatchFilled():
            match_filled(state, event)
        case bev.BackfillClosed():
            backfill_closed(state, event)
        case ev.OperatorActed():
            pass  # a note: what the operator's command led to are events of their own
        case ev.ResultReported() | ev.ResultCorrected() | ev.SeasonStarted():
            pass  # results and ratings live in tables of the journal, so that the state stays small


def _queue_opened(state: State, event: ev.QueueOpened) -> None:
    queue = state.queues.get(event.spec.name)
    if queue is None:
        queue = state.open(event.spec)
    else:
        queue.spec = event.spec
        queue.version += 1
        seats = event.spec.format.seats
        queue.proposals.widen(("roster", "team_of"), seats, -1)
        queue.next_expiry_ms = 0
    queue.changed = state.sequence


def _joined(state: State, event: ev.TicketsJoined) -> None:
    queue = state.queues[event.queue]
    t, now = queue.tickets, state.now_ms
    count = len(event.size)
    at: Any
    rows_at: Any
    tickets: Any
    size: Any
    start: Any
    group: Any
    codes = [_group_code(queue, group) for group in event.groups]
    if count == 1:  # one ticket is the most frequent event of all: plain numbers spare most of its cost
        length = int(event.size[0])
        tickets, size, group = event.first_ticket, length, codes[0]
        at = queue.ticket_slots.take_one(t)
        start = queue.player_blocks.take_one(queue.players, length)
        rows_at = slice(start, start + length)
        owners = np.full(length, event.first_ticket)
        state.tickets_at[event.first_ticket] = at | queue.index << 32
    else:
        tickets, size = np.arange(event.first_ticket, event.first_ticket + count), event.size.astype(np.int64)
        group = np.array(codes)[event.group] if len(event.group) else codes[0]
        slots = queue.ticket_slots.take(t, count)
        start = queue.player_blocks.take(queue.players, size)
        at, rows_at = run_of(slots), run_of(spans(start, size))
        owners = tickets if len(event.player) == count else np.repeat(tickets, size)
        state.tickets_at.put(tickets, slots | queue.index << 32)

    queue.players.player[rows_at] = event.player
    queue.players.accepted[rows_at] = 0
    for name, values in event.facts.items():
        if not hasattr(queue.players, name):
            queue.players.add_column(name, "f8", np.nan)
        getattr(queue.players, name)[rows_at] = values
    for name in queue.players.names:
        if name not in event.facts and name not in PLAYER_COLUMNS:  # nobody brings it; the rows may be used ones
            getattr(queue.players, name)[rows_at] = np.nan

    t.ticket[at] = tickets
    t.status[at] = WAITING
    t.cause[at] = 0
    t.returned[at] = 0
    t.suspended[at] = 0
    t.size[at] = size
    t.group[at] = group
    t.misses[at] = 0
    t.start[at] = start
    t.since_ms[at] = t.joined_ms[at] = t.seen_ms[at] = now
    t.waited_ms[at] = 0
    t.expires_ms[at] = now + queue.ticket_ms
    t.finished_ms[at] = 0
    t.proposal[at] = -1
    t.sequence[at] = t.woke[at] = state.sequence
    t.dirty[at] = True
    note_wills(queue, event.first_ticket, at, event.will)

    state.next_ticket = event.first_ticket + count
    queue.waiting += count
    queue.changed = state.sequence
    queue.next_expiry_ms = min(queue.next_expiry_ms, now + min(queue.ticket_ms, queue.heartbeat_ms))
    add_live(state, event.player, owners)
    if event.traits:
        rows = np.arange(queue.players.capacity)[rows_at].tolist()
        for name, brought in event.traits.items():
            note_traits(queue, name, rows, owners.tolist(), brought)
    if len(event.avoid):
        note_avoided(queue, event.first_ticket, event.avoid)
    if queue.spec.door.activity_s:
        see_active(queue, event.player, now)
    if state.claims or state.elsewhere:
        for ticket in owners[claimed(state, event.player)].tolist():
            suspend(state, ticket)
    if len(event.keys):
        for place, (high, low, fingerprint) in enumerate(event.keys.tolist()):
            if high or low:
                key = high << 64 | low
                state.keys[key] = (event.first_ticket + place, fingerprint, now)
                state.keys_sum += key_digest(key, state.keys[key])


def _group_code(queue: QueueState, group: str) -> int:
    code = queue.groups.get(group)
    if code is None:
        code = queue.groups[group] = queue.next_group
        queue.next_group += 1
    return code


def _seen(state: State, event: ev.TicketsSeen) -> None:
    queue = state.queues[event.queue]
    slots = state.slots_of(event.ticket)
    queue.tickets.seen_ms[slots] = state.now_ms
    note_heard(queue, event.ticket)
    queue.tickets.dirty[slots] = True
    if queue.spec.door.activity_s:
        see_active(queue, queue.players.player[queue.player_rows(slots)], state.now_ms)


def _ticket_updated(state: State, event: ev.TicketUpdated) -> None:
    queue = state.queues[event.queue]
    slots = state.slots_of(np.array([event.ticket]))
    touch(state, queue, slots)
    write(queue, slots, event, _group_code(queue, event.group))


def _gone(state: State, event: ev.TicketsGone) -> None:
    queue = state.queues[event.queue]
    slots = state.slots_of(event.ticket)
    cause = Cause(event.cause)
    touch(state, queue, slots)
    finish(state, queue, slots, cause.status, cause)


def _wave_finished(state: State, event: ev.WaveFinished) -> None:
    queue = state.queues[event.queue]
    t = queue.tickets
    filled = event.roster >= 0
    slots = state.slots_of(event.roster[filled])
    touch(state, queue, slots)
    _count_wave(queue, event, len(slots))
    if len(event.roster):
        row = np.repeat(np.arange(len(filled)), np.count_nonzero(filled, axis=1))
        t.proposal[slots] = event.first_proposal + row
        _propose(state, queue, event, np.bincount(row, t.size[slots], len(filled)))
        note_details(queue, event.first_proposal, event.details)
        slots.sort()  # neighbours in memory: several times faster to write to
        queue.players.accepted[queue.player_rows(slots)] = 0
        if event.deadline_ms or event.confirm_ms:
            stop_clock(state, queue, slots)
            t.status[slots] = PROPOSED
            queue.waiting -= len(slots)
            queue.next_lapse_ms = min(queue.next_lapse_ms, event.deadline_ms or event.confirm_ms)
            claim(state, queue, slots)
        else:
            finish(state, queue, slots, MATCHED, Cause.NONE)
            note_played(state, queue, event.first_proposal + np.arange(len(event.roster)))
            if event.ends_ms:
                queue.next_end_ms = min(queue.next_end_ms, event.ends_ms)
                claim(state, queue, slots)
    if not event.more:
        used = slice(0, t.used)
        waits = (t.status[used] == WAITING) & (t.suspended[used] == 0)
        missed = np.flatnonzero(waits & (t.woke[used] <= event.snapshot_sequence))
        t.misses[missed] += 1
        t.dirty[missed] = True


def _count_wave(queue: QueueState, event: ev.WaveFinished, seated: int) -> None:
    """Note the queue's last wave; a wave in several events is counted up."""
    goes_on = queue.last_wave.get("number") == event.wave
    before = queue.last_wave if goes_on else {"proposals": 0, "seated": 0, "dropped": 0}
    queue.wave = event.wave
    queue.last_wave = {
        "number": event.wave,
        "started_ms": event.started_ms,
        "finished_ms": event.at_ms,
        "waiting": event.waiting,
        "proposals": before["proposals"] + len(event.roster),
        "seated": before["seated"] + seated,
        "dropped": before["dropped"] + event.dropped,
    }


def _propose(state: State, queue: QueueState, event: ev.WaveFinished, players: Array) -> None:
    """Enter the proposals of a wave, with so many players each."""
    p = queue.proposals
    count, width = event.roster.shape
    numbers = np.arange(event.first_proposal, event.first_proposal + count)
    slots = queue.proposal_slots.take(p, count)
    rows = run_of(slots)
    p.proposal[rows] = numbers
    waits = OPEN if event.deadline_ms else STARTING if event.confirm_ms else 0
    p.standing[rows] = waits or (RUNNING if event.ends_ms else OVER)
    p.pending[rows] = players
    p.wave[rows] = event.wave
    p.made_ms[rows] = state.now_ms
    p.deadline_ms[rows] = event.deadline_ms or event.confirm_ms
    p.ends_ms[rows] = event.ends_ms
    p.over_ms[rows] = 0 if waits else state.now_ms
    p.cost[rows] = event.cost
    p.quality[rows] = event.quality
    p.roster[rows] = p.team_of[rows] = -1
    p.roster[rows, :width] = event.roster
    p.team_of[rows, :width] = event.team_of
    state.proposals_at.put(numbers, slots | queue.index << 32)
    state.next_proposal = event.first_proposal + count


def _accepted(state: State, event: ev.Accepted) -> None:
    queue, slot = _proposal_place(state, event.proposal)
    slots = state.slots_of(event.ticket)
    rows = queue.player_rows(slots)
    queue.players.accepted[rows[queue.players.player[rows] == event.player]] = 1
    queue.proposals.pending[slot] = event.pending
    queue.tickets.sequence[slots] = state.sequence
    queue.tickets.dirty[slots] = True


def _proposal_place(state: State, proposal: int) -> tuple[QueueState, int]:
    found = state.find_proposal(proposal)
    assert found is not None, f"proposal {proposal} is not in the state"
    return found


def _match_starting(state: State, event: ev.MatchStarting) -> None:
    queue, slot = _proposal_place(state, event.proposal)
    touch(state, queue, state.slots_of(event.ticket))
    queue.proposals.standing[slot] = STARTING
    queue.proposals.deadline_ms[slot] = event.deadline_ms
    queue.next_lapse_ms = min(queue.next_lapse_ms, event.deadline_ms)


def _match_made(state: State, event: ev.MatchMade) -> None:
    queue, slot = _proposal_place(state, event.proposal)
    slots = state.slots_of(event.ticket)
    touch(state, queue, slots)
    finish(state, queue, slots, MATCHED, Cause.NONE)
    note_played(state, queue, np.array([event.proposal]))
    begin(state, queue, slots, np.array([slot]), event.ends_ms)


def _proposals_failed(state: State, event: ev.ProposalsFailed) -> None:
    queue = state.queues[event.queue]
    t = queue.tickets
    rows = state.rows_of(event.proposal)
    queue.proposals.standing[rows] = FAILED
    queue.proposals.over_ms[rows] = state.now_ms
    queue.next_forget_ms = min(queue.next_forget_ms, state.now_ms)
    blamed, returned = state.slots_of(event.blamed), state.slots_of(event.returned)
    both = np.concatenate((blamed, returned))
    t.proposal[both] = -1
    touch(state, queue, both)
    finish(state, queue, blamed, CANCELLED, Cause(event.cause))
    if len(event.lost):
        t.cause[state.slots_of(event.lost)] = Cause.LOST
    write_books(queue, event)
    t.status[returned] = WAITING
    t.returned[returned] = 1
    queue.waiting += len(returned)
    wake(state, queue, returned, seen=True)
    release(state, queue, both)
    reopen(queue, event.proposal)


def _matches_ended(state: State, event: ev.MatchesEnded) -> None:
    queue = state.queues[event.queue]
    rows = state.rows_of(event.proposal)
    queue.proposals.standing[rows] = CALLED_OFF if event.cancelled else OVER
    release_all(state, queue, rows)
    queue.next_forget_ms = 0


def _resumed(state: State, event: ev.Resumed) -> None:
    away = event.downtime_ms
    for queue in state.by_index:
        t, p = queue.tickets, queue.proposals
        waiting = t.status == WAITING
        t.seen_ms[waiting] += away
        t.expires_ms[waiting & (t.suspended == 0)] += away
        t.dirty[waiting] = True
        p.deadline_ms[(p.standing == OPEN) | (p.standing == STARTING)] += away
        p.ends_ms[p.standing == RUNNING] += away
        move_expiries(queue, away)
        queue.next_expiry_ms = queue.next_lapse_ms = queue.next_end_ms = 0
