"""Deciding: a command and the state as it is become events, or a refusal. Nothing changes here.

The rules of each kind of command stand in a file of their own: joining, updating, ready_check, starting, allocating,
deadlines, operating, vetting; here they are only told apart. `FinishWave` is decided by the engine, which alone knows
the wave in flight, and so are many commands in one (`batches`).
"""

from collections.abc import Collection

import msgspec
import numpy as np

from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.arrays import NONE, Array, numbers
from evenmatch.domain.ids import match_id, ticket_id
from evenmatch.domain.lane_events import NumbersBegin
from evenmatch.domain.queue import QueueSpec, rule_broken
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.ticket import Cause, Status
from evenmatch.numerics.rating_models import model_mistake

from . import allocating, backfill, deadlines, joining, lanes, operating, ready_check, results, starting, updating
from .decision import NOTHING, Decision
from .state import OPEN, PROPOSED, RUNNING, STARTING, WAITING, QueueState, State


def decide(
    state: State, command: cmd.Command, now_ms: int, *, keep_ms: int = 60_000, held: Collection[str] = ()
) -> Decision | Refusal:
    """What a command leads to at this moment.

    `keep_ms`: how long finished tickets stay in the state; `held`: queues of which none may leave it now.
    """
    match command:
        case cmd.Join(queue, request):
            return joining.join(state, queue, (request,), now_ms)
        case cmd.JoinMany(queue, requests):
            return joining.join(state, queue, requests, now_ms)
        case cmd.Tick():
            return Decision(deadlines.tick(state, now_ms, keep_ms, held))
        case cmd.Heartbeat():
            return _heartbeat(state, command, now_ms)
        case cmd.Leave(ticket, player):
            return _leave(state, ticket, player, now_ms)
        case cmd.Accept(proposal, player):
            return ready_check.accept(state, proposal, player, now_ms)
        case cmd.Decline(proposal, player):
            return ready_check.decline(state, proposal, player, now_ms)
        case cmd.ConfirmStart(match):
            return starting.confirm(state, match, now_ms)
        case cmd.FailStart(match):
            return starting.fail(state, match, now_ms)
        case cmd.LoseContact(tickets):
            return _lose_contact(state, tickets, now_ms)
        case cmd.UpdateTicket():
            return updating.update(state, command, now_ms)
        case cmd.SetBlocks(player, blocked):
            return _set_blocks(state, player, blocked, now_ms)
        case cmd.SetMode(queue, mode):
            return operating.set_mode(state, queue, mode, now_ms)
        case cmd.CancelTicket(ticket):
            return operating.cancel_ticket(state, ticket, now_ms)
        case cmd.CancelMatch(match):
            return operating.cancel_match(state, match, now_ms)
        case cmd.LiftCooldown(player, queue):
            return operating.lift_cooldown(state, player, queue, now_ms)
        case cmd.AskBackfill():
            return backfill.ask(state, command, now_ms)
        case cmd.WithdrawBackfill(match):
            return backfill.withdraw(state, match, now_ms)
        case cmd.EndMatch(match):
            return _end_match(state, match, now_ms)
        case cmd.GiveServer():
            return allocating.give(state, command, now_ms)
        case cmd.GiveUpServer():
            return allocating.give_up(state, command, now_ms)
        case cmd.NoteAction(who, action, subject, detail):
            return Decision((ev.OperatorActed(now_ms, who, action, subject, detail),))
        case cmd.ReportResult(result):
            return results.report(state, result, now_ms)
        case cmd.CorrectResult(pieces):
            return Decision(tuple(msgspec.structs.replace(piece, at_ms=now_ms) for piece in pieces))
        case cmd.StartSeason(season):
            return Decision((msgspec.structs.replace(season, at_ms=now_ms),))
        case cmd.BeginNumbers(ticket, proposal):
            assert state.sequence == 0, "numbers begin with the journal"
            return Decision((NumbersBegin(now_ms, ticket, proposal),))
        case cmd.ClaimedElsewhere(players):
            return lanes.claimed(state, players, now_ms)
        case cmd.ReleasedElsewhere(players):
            return lanes.released(state, players, now_ms)
        case cmd.OpenQueue():
            return _open_queue(state, command, now_ms)
        case cmd.Resume():
            return _resume(state, now_ms)
        case cmd.AcceptMany() | cmd.LeaveMany() | cmd.EndMatches():
            raise TypeError(f"{type(command).__name__} is decided by the engine, one part after the other")
        case cmd.FinishWave():
            raise TypeError("FinishWave is decided by the engine, which knows the wave in flight")


def _open_queue(state: State, command: cmd.OpenQueue, now_ms: int) -> Decision | Refusal:
    # A spec made by hand may hold 20 where the journal gives back 20.0: take it as the journal will have it.
    try:
        spec = msgspec.convert(msgspec.to_builtins(command.spec), QueueSpec)
    except msgspec.ValidationError as error:
        return Refusal(Reasons.BAD_SPEC, str(error))
    broken = rule_broken(spec)
    if broken is not None:
        return Refusal(Reasons.BAD_SPEC, f"{broken[0]}: {broken[1]}")
    wrong = "" if spec.rating is None else model_mistake(spec.rating.model, spec.rating.parameters)
    if wrong:
        return Refusal(Reasons.BAD_SPEC, f"rating: {wrong}")
    queue = state.queues.get(spec.name)
    if queue is not None and queue.spec == spec and not command.anew:
        return NOTHING
    opened = ev.QueueOpened(now_ms, spec, command.source, 1 if queue is None else queue.version + 1)
    unfit = NONE if queue is None or queue.spec == spec else _unfit(queue, spec)
    if not len(unfit):
        return Decision((opened,))
    assert queue is not None
    t = queue.tickets
    return Decision(
        (opened, ev.TicketsGone(now_ms, spec.name, Cause.RULES_CHANGED, t.ticket[unfit], t.sequence[unfit]))
    )


def _unfit(queue: QueueState, spec: QueueSpec) -> Array:
    """The slots of waiting tickets that could not have joined under these rules, by ticket.

    Which tickets may meet is settled when they join, so new attributes to share leave nobody who may stay.
    """
    t = queue.tickets
    slots = np.flatnonzero(t.status == WAITING)
    slots = slots[np.argsort(t.ticket[slots])]
    if sorted(spec.require_equal) != sorted(queue.spec.require_equal):
        return slots
    size = t.size[slots]
    unfit = size > spec.format.size
    if spec.party.full_team:
        unfit |= size != spec.format.size
    if spec.door.party_sizes is not None:
        unfit |= ~np.isin(size, spec.door.party_sizes)
    for group in spec.door.requires:
        unfit |= ~_all_bring(queue, slots, group)
    for name, known in (spec.door.choices or {}).items():
        unfit |= _any_strange(queue, slots, name, known)
    return slots[unfit]


def _any_strange(queue: QueueState, slots: Array, name: str, known: tuple[str, ...]) -> Array:
    """bool[n]: does a player of a ticket bring a word that is none of those known?"""
    brought = queue.traits.get(name)
    if not brought or not len(slots):
        return np.zeros(len(slots), bool)
    rows = queue.player_rows(slots).tolist()
    strange = np.array([joining.first_strange(brought.get(row), known) is not None for row in rows])
    size = queue.tickets.size[slots].astype(np.int64)
    anyone: Array = np.logical_or.reduceat(strange, np.cumsum(size) - size)
    return anyone


def _all_bring(queue: QueueState, slots: Array, group: tuple[str, ...]) -> Array:
    """bool[n]: do all players of a ticket bring one of these facts or traits?"""
    if not len(slots):
        return np.ones(0, bool)
    rows = queue.player_rows(slots)
    brings = np.full(len(rows), "rating" in group)
    for name in group:
        if hasattr(queue.players, name):
            brings |= ~np.isnan(getattr(queue.players, name)[rows])
        if name in queue.traits:
            brings |= np.array([row in queue.traits[name] for row in rows.tolist()])
    size = queue.tickets.size[slots].astype(np.int64)
    everyone: Array = np.logical_and.reduceat(brings, np.cumsum(size) - size)
    return everyone


def _leave(state: State, ticket: int, player: int, now_ms: int) -> Decision | Refusal:
    found = state.find_ticket(ticket)
    if found is None:
        return joining.unknown_ticket(state, ticket)
    queue, slot = found
    t = queue.tickets
    status = Status(int(t.status[slot]))
    if status is Status.PROPOSED:
        at = state.find_proposal(int(t.proposal[slot]))
        if at is not None and queue.proposals.standing[at[1]] == STARTING:
            return Refusal(
                Reasons.MATCH_STARTING,
                f"{ticket_id(ticket)} is in {match_id(int(t.proposal[slot]))}, which is to start: it cannot be left",
            )
        return ready_check.withdraw(state, queue, slot, player, now_ms)
    if status is Status.MATCHED:
        return Refusal(
            Reasons.ALREADY_MATCHED, f"{ticket_id(ticket)} is in {match_id(int(t.proposal[slot]))}: a match stays made"
        )
    if status is not Status.WAITING:
        return Refusal(Reasons.TICKET_GONE, f"{ticket_id(ticket)} is {status.word} already")
    slots = np.array([slot])
    return Decision((ev.TicketsGone(now_ms, queue.spec.name, Cause.LEFT, t.ticket[slots], t.sequence[slots]),))


def _heartbeat(state: State, command: cmd.Heartbeat, now_ms: int) -> Decision | Refusal:
    heard: dict[str, list[int]] = {}
    for ticket in command.tickets.tolist():
        found = state.find_ticket(ticket)
        status = Status.FREE if found is None else Status(int(found[0].tickets.status[found[1]]))
        if found is not None and status in (Status.WAITING, Status.PROPOSED):
            if found[0].tickets.seen_ms[found[1]] != now_ms or ticket in found[0].lost:  # else nothing to add
                heard.setdefault(found[0].spec.name, []).append(ticket)
        elif command.strict:
            if found is None:
                return joining.unknown_ticket(state, ticket)
            return Refusal(Reasons.TICKET_GONE, f"{ticket_id(ticket)} is {status.word}")
    return Decision(tuple(ev.TicketsSeen(now_ms, queue, np.array(tickets)) for queue, tickets in heard.items()))


def _lose_contact(state: State, tickets: Array, now_ms: int) -> Decision:
    lost: dict[str, list[int]] = {}
    for ticket in tickets.tolist():
        found = state.find_ticket(ticket)
        live = found is not None and found[0].tickets.status[found[1]] in (WAITING, PROPOSED)
        if found is not None and live and ticket not in found[0].lost:
            lost.setdefault(found[0].spec.name, []).append(ticket)
    return Decision(tuple(ev.ContactLost(now_ms, queue, np.array(gone)) for queue, gone in lost.items()))


def _set_blocks(state: State, player: int, blocked: tuple[int, ...], now_ms: int) -> Decision:
    wanted = tuple(sorted(set(blocked) - {player}))
    if state.blocks.get(player, ()) == wanted:
        return NOTHING
    return Decision((ev.BlocksSet(now_ms, player, numbers(wanted)),))


def _end_match(state: State, match: int, now_ms: int) -> Decision | Refusal:
    found = state.find_proposal(match)
    standing = 0 if found is None else int(found[0].proposals.standing[found[1]])
    if found is not None and standing == RUNNING:
        return Decision(backfill.ended(state, found[0], np.array([match]), now_ms))
    if standing == STARTING:
        said = "its game server says started or failed first"
        return Refusal(Reasons.MATCH_STARTING, f"{match_id(match)} is to start: {said}")
    if standing == OPEN:
        return Refusal(Reasons.MATCH_NOT_MADE, f"{match_id(match)} is still a proposal: not all have accepted")
    if state.had_proposal(match):
        return Refusal(Reasons.MATCH_OVER, f"{match_id(match)} is not running")
    return Refusal(Reasons.UNKNOWN_MATCH, f"no match is called {match_id(match)}")


def _resume(state: State, now_ms: int) -> Decision:
    downtime_ms = now_ms - state.now_ms
    if downtime_ms <= 0 or not (state.live or state.claims):
        return NOTHING
    return Decision((ev.Resumed(now_ms, downtime_ms),))
