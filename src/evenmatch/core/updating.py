"""A waiting ticket changes what it brings: ratings, pings, traits, attributes. Its time in the queue goes on.

`update` decides; `write` is part of evolve and is called from there only. The event holds all facts and traits of the
ticket's players as they are from now on, so that applying it asks nobody what they were.
"""

import math

import numpy as np

from evenmatch.domain import commands as cmd
from evenmatch.domain.arrays import Array
from evenmatch.domain.events import TicketUpdated
from evenmatch.domain.ids import ticket_id
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.ticket import FACTS, Status, TicketRequest

from .decision import Decision
from .joining import group_of, member_refused, unknown_ticket
from .notes import drop_traits, note_traits
from .state import PLAYER_COLUMNS, WAITING, QueueState, State


def update(state: State, command: cmd.UpdateTicket, now_ms: int) -> Decision | Refusal:
    """Judge what a ticket is to bring from now on."""
    found = state.find_ticket(command.ticket)
    if found is None:
        return unknown_ticket(state, command.ticket)
    queue, slot = found
    t = queue.tickets
    if t.status[slot] != WAITING:
        word = Status(int(t.status[slot])).word
        return Refusal(Reasons.NOT_WAITING, f"{ticket_id(command.ticket)} is {word}: only a waiting ticket changes")
    assert [m.player for m in command.members] == queue.players.player[queue.player_rows(np.array([slot]))].tolist()
    for member in command.members:
        refusal = member_refused(queue, member)
        if refusal is not None:
            return refusal
    group = group_of(queue, TicketRequest(command.members, command.attributes))
    if isinstance(group, Refusal):
        return group
    members, keeps = command.members, queue.spec.door.keeps
    facts = {name: np.array([getattr(member, name) for member in members], np.float64) for name in FACTS}
    for name in keeps:
        if any(name in member.facts for member in members):
            facts[name] = np.array([member.facts.get(name, math.nan) for member in members])
    traits = {
        name: [member.traits.get(name) for member in members]
        for name in keeps
        if any(name in member.traits for member in members)
    }
    event = TicketUpdated(
        now_ms, queue.spec.name, command.ticket, int(t.sequence[slot]), facts=facts, group=group, traits=traits
    )
    return Decision((event,))


def write(queue: QueueState, slots: Array, event: TicketUpdated, group: int) -> None:
    """Write what a ticket brings from now on."""
    queue.tickets.group[slots] = group
    rows = queue.player_rows(slots)
    for name, values in event.facts.items():
        if not hasattr(queue.players, name):
            queue.players.add_column(name, "f8", np.nan)
        getattr(queue.players, name)[rows] = values
    for name in queue.players.names:
        if name not in event.facts and name not in PLAYER_COLUMNS:
            getattr(queue.players, name)[rows] = np.nan
    drop_traits(queue, rows.tolist())
    for name, brought in event.traits.items():
        note_traits(queue, name, rows.tolist(), [event.ticket] * len(rows), brought)
