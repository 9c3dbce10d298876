"""Many commands of one kind as one: what each would have led to, told in a few events and worked out in columns.

Problem. An accept, a leave or the end of a match costs the same few dozen small array operations whether it concerns
one ticket or a thousand. Whoever has many at hand (the lab, an embedder) pays for every one.

Idea. The ones that are granted and lead to nothing else are told of together; all others (those to be refused, those of
matches that a game server confirms, invitations) are left to the rules for one command, after the others, in order.

    commands ──plain──> ManyAccepted, MatchesMade │ TicketsGone │ MatchesEnded     one of each a queue
        └─────else────> one by one, as if they had come alone

1. The state is the one to which the commands lead one after the other, but for sequence numbers: what is told of
   together concerns different tickets and matches, and nothing that is left changes what may be told together.
2. A ticket stands in an event once (decision 0005).
3. Of commands that say the same, the first counts; the others are refused as they would be alone.
"""

from typing import NamedTuple

import numpy as np

from evenmatch.domain import commands as cmd
from evenmatch.domain.arrays import NONE, Array, numbers
from evenmatch.domain.batch_events import ManyAccepted, MatchesMade
from evenmatch.domain.events import Event, MatchesEnded, TicketsGone
from evenmatch.domain.queue import milliseconds
from evenmatch.domain.ticket import Cause
from evenmatch.numerics.accepting import accepts, asked

from .claims import release
from .finishing import finish, touch
from .meetings import note_met
from .state import MATCHED, OPEN, OVER, RUNNING, WAITING, QueueState, State

Many = cmd.AcceptMany | cmd.LeaveMany | cmd.EndMatches
_SLOT = 0xFFFFFFFF


class Together(NamedTuple):
    """What can be told of together."""

    events: tuple[Event, ...]
    rest: Array
    """int64[k]: the places of the commands that are left"""
    of: int
    """Commands in all"""


def together(state: State, command: Many, now_ms: int) -> Together:
    """The events of those commands that are granted and lead to nothing else, and the rest."""
    match command:
        case cmd.AcceptMany():
            places = state.proposals_at.find(command.proposals)
        case cmd.LeaveMany():
            places = state.tickets_at.find(command.tickets)
        case cmd.EndMatches():
            places = state.proposals_at.find(command.matches)
    told = np.zeros(len(places), bool)
    events: list[Event] = []
    for queue in state.by_index:
        here = np.flatnonzero(places >> 32 == queue.index)
        if not len(here):
            continue
        slots = places[here] & _SLOT
        sequence = state.sequence + len(events)
        match command:
            case cmd.AcceptMany():
                chosen, found = _accepts(state, queue, command, here, slots, sequence, now_ms)
            case cmd.LeaveMany():
                chosen, found = _leaves(queue, here, slots, now_ms)
            case cmd.EndMatches():
                chosen, found = _ends(queue, here, slots, now_ms)
        told[chosen] = True
        events += found
    return Together(tuple(events), np.flatnonzero(~told), len(told))


def alone(command: Many, place: int) -> cmd.Command:
    """The one command that stands at a place of many."""
    match command:
        case cmd.AcceptMany():
            return cmd.Accept(int(command.proposals[place]), int(command.players[place]))
        case cmd.LeaveMany():
            return cmd.Leave(int(command.tickets[place]))
        case cmd.EndMatches():
            return cmd.EndMatch(int(command.matches[place]))


def _leaves(queue: QueueState, here: Array, slots: Array, now_ms: int) -> tuple[Array, list[Event]]:
    t = queue.tickets
    waits = t.status[slots] == WAITING
    here, slots = _first(here[waits], slots[waits])
    if not len(slots):
        return NONE, []
    return here, [TicketsGone(now_ms, queue.spec.name, Cause.LEFT, t.ticket[slots], t.sequence[slots])]


def _ends(queue: QueueState, here: Array, slots: Array, now_ms: int) -> tuple[Array, list[Event]]:
    p = queue.proposals
    plain = p.standing[slots] == RUNNING
    if len(queue.fillings):
        plain &= ~np.isin(p.proposal[slots], list(queue.fillings.by_match))
    here, slots = _first(here[plain], slots[plain])
    if not len(slots):
        return NONE, []
    return here, [MatchesEnded(now_ms, queue.spec.name, p.proposal[slots])]


def _first(here: Array, slots: Array) -> tuple[Array, Array]:
    """Without those that were named before."""
    if len(slots) < 2:
        return here, slots
    _, first = np.unique(slots, return_index=True)
    first.sort()
    return here[first], slots[first]


# -- accepting ---------------------------------------------------------------------------------------------------------


def _accepts(
    state: State, queue: QueueState, command: cmd.AcceptMany, here: Array, slots: Array, sequence: int, now_ms: int
) -> tuple[Array, list[Event]]:
    """Those who are asked and have time left; the matches that lack nobody after them are made."""
    p, spec = queue.proposals, queue.spec
    if spec.match.confirm_s or (spec.venue is not None and spec.venue.map_memory):
        return NONE, []  # what a player remembers hangs on the order of events
    plain = (p.standing[slots] == OPEN) & (p.deadline_ms[slots] > now_ms)
    if queue.fillings.invited:
        plain &= ~np.isin(p.proposal[slots], list(queue.fillings.invited))
    here, slots = here[plain], slots[plain]
    if not len(here):
        return NONE, []
    proposals, which, tickets, seat = asked(slots, p.roster)
    t, rows = queue.tickets, state.slots_of(tickets)
    player, pending = command.players[here].astype(np.int64), p.pending[proposals].astype(np.int64)
    parties = t.start[rows], t.size[rows].astype(np.int64), queue.players.player, queue.players.accepted
    counts, count, last = accepts(which, player, seat, *parties, pending)
    if not counts.any():
        return NONE, []
    if not count.all():
        heard = count[seat] > 0
        tickets, seat, rows = tickets[heard], seat[heard], rows[heard]
    left = (pending - count)[seat]
    accepted = ManyAccepted(
        at_ms=now_ms,
        queue=spec.name,
        player=player[counts],
        accepts=p.proposal[slots[counts]],
        ticket=tickets,
        previous=t.sequence[rows],
        proposal=p.proposal[proposals[seat]],
        pending=left,
    )
    here = here[counts]
    made = (left == 0).nonzero()[0]
    if not len(made):
        return here, [accepted]
    order = made[last[seat[made]].argsort(kind="stable")]
    runs_ms = milliseconds(spec.match.runs_s)
    return here, [
        accepted,
        MatchesMade(
            at_ms=now_ms,
            queue=spec.name,
            ends_ms=now_ms + runs_ms if runs_ms else 0,
            ticket=tickets[order],
            previous=np.full(len(order), sequence + 1),
            proposal=accepted.proposal[order],
        ),
    ]


# Part of evolve.


def many_accepted(state: State, event: ManyAccepted) -> None:
    """Players have accepted."""
    queue = state.queues[event.queue]
    t, p = queue.tickets, queue.proposals
    slots = state.slots_of(event.ticket)
    rows = queue.player_rows(slots)
    owner = event.proposal if len(rows) == len(slots) else np.repeat(event.proposal, t.size[slots])
    players = queue.players.player[rows]
    order = np.argsort(players)  # each stands there once (I11)
    found = order[np.minimum(np.searchsorted(players, event.player, sorter=order), len(players) - 1)]
    fits = (players[found] == event.player) & (owner[found] == event.accepts)
    queue.players.accepted[rows[found[fits]]] = 1
    p.pending[state.rows_of(event.proposal)] = event.pending
    t.sequence[slots] = state.sequence
    t.dirty[slots] = True


def matches_made(state: State, event: MatchesMade) -> None:
    """Proposals have become matches."""
    queue = state.queues[event.queue]
    slots, rows = state.slots_of(event.ticket), state.rows_of(event.proposal)
    touch(state, queue, slots)
    finish(state, queue, slots, MATCHED, Cause.NONE)
    if queue.spec.match.rematch_s:
        note_met(state, queue, numbers(list(dict.fromkeys(event.proposal.tolist()))))
    begin(state, queue, slots, rows, event.ends_ms)


def begin(state: State, queue: QueueState, slots: Array, rows: Array, ends_ms: int) -> None:
    """Matches (these rows, of these tickets) run, or are over at once where nobody says how long they take."""
    p = queue.proposals
    p.over_ms[rows] = state.now_ms
    p.ends_ms[rows] = ends_ms
    if ends_ms:
        p.standing[rows] = RUNNING
        queue.next_end_ms = min(queue.next_end_ms, ends_ms)
    else:
        p.standing[rows] = OVER
        release(state, queue, slots)
