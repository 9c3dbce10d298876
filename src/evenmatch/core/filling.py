"""Filling places of running matches. Part of `evolve`: these change the state and are called from there only.

What is kept of a match (`places`) is a value: every event puts another in its place, and the queue's sum of digests
follows. Old journals know no such events, so their hashes stay what they were.
"""

import msgspec
import numpy as np

from evenmatch.domain import backfill_events as bev
from evenmatch.domain.arrays import Array
from evenmatch.domain.ticket import Cause

from .claims import claim, release, release_players, stop_clock
from .cooldowns import write_books
from .crew import crew_of
from .finishing import finish, touch
from .hashing import key_digest
from .notes import value_digest
from .places import Filling, Place
from .state import JOINED, MATCHED, NEVER, OPEN, PROPOSED, QueueState, State

_replace = msgspec.structs.replace


def filling_digest(filling: Filling) -> int:
    """What a match that asked for players adds to its queue's sum."""
    return value_digest("backfill", filling)


def _put(queue: QueueState, filling: Filling) -> None:
    queue.notes_sum -= queue.fillings.digests.get(filling.match, 0)
    queue.fillings.put(filling)
    queue.fillings.digests[filling.match] = filling_digest(filling)
    queue.notes_sum += queue.fillings.digests[filling.match]


def _find(queue: QueueState, match: int) -> Filling:
    return queue.fillings.by_match.get(match) or Filling(match)


def drop_fillings(queue: QueueState, matches: Array) -> None:
    """These matches leave the state."""
    if len(queue.fillings):
        for match in matches.tolist():
            queue.fillings.drop(match)
            queue.notes_sum -= queue.fillings.digests.pop(match, 0)


def backfill_asked(state: State, event: bev.BackfillAsked) -> None:
    """Places are open, and whoever left is free."""
    queue, (slot,) = state.queues[event.queue], state.rows_of(np.array([event.match])).tolist()
    touch(state, queue, state.slots_of(event.ticket))
    queue.changed = state.sequence
    filling, crew = _find(queue, event.match), crew_of(state, queue, slot)
    gone = np.isin(crew.player, event.instead_of[event.instead_of > 0]) & crew.here
    asked = [
        Place(filling.next_place + n, team, player, event.at_ms, event.expires_ms)
        for n, (team, player) in enumerate(zip(event.team.tolist(), event.instead_of.tolist(), strict=True))
    ]
    left = zip(crew.player[gone].tolist(), crew.team[gone].tolist(), strict=True)
    _put(
        queue,
        _replace(
            filling,
            next_place=filling.next_place + len(asked),
            places=(*filling.places, *asked),
            left=(*filling.left, *((player, team, event.at_ms) for player, team in left)),
        ),
    )
    release_players(state, crew.player[gone], crew.ticket[gone])
    write_books(queue, event)
    for high, low, fingerprint in event.key.tolist():
        key = high << 64 | low
        state.keys[key] = (event.match, fingerprint, state.now_ms)
        state.keys_sum += key_digest(key, state.keys[key])


def _taken(filling: Filling, team: int, count: int, **with_: int) -> tuple[Place, ...]:
    """The places of a match, with the first open ones of a team given away."""
    open_ones = [place.number for place in filling.places if place.open and place.team == team][:count]
    assert len(open_ones) == count, f"match {filling.match} has no {count} open places in team {team}"
    return tuple(_replace(place, **with_) if place.number in open_ones else place for place in filling.places)


def places_offered(state: State, event: bev.PlacesOffered) -> None:
    """Tickets are invited: each has a proposal of its own, which claims its players."""
    queue, p = state.queues[event.queue], state.queues[event.queue].proposals
    t, slots = queue.tickets, state.slots_of(event.ticket)
    touch(state, queue, slots)
    numbers = np.arange(event.first_proposal, event.first_proposal + len(slots))
    rows = queue.proposal_slots.take(p, len(slots))
    t.proposal[slots] = p.proposal[rows] = numbers
    p.standing[rows] = OPEN
    p.pending[rows] = t.size[slots]
    p.wave[rows] = queue.wave
    p.made_ms[rows] = state.now_ms
    p.deadline_ms[rows] = event.deadline_ms
    p.ends_ms[rows] = p.over_ms[rows] = 0
    p.cost[rows] = 0.0
    p.quality[rows] = np.nan
    p.roster[rows] = p.team_of[rows] = -1
    p.roster[rows, 0] = event.ticket
    p.team_of[rows, 0] = event.team
    state.proposals_at.put(numbers, rows | queue.index << 32)
    state.next_proposal = event.first_proposal + len(slots)
    queue.players.accepted[queue.player_rows(slots)] = 0
    stop_clock(state, queue, slots)
    t.status[slots] = PROPOSED
    queue.waiting -= len(slots)
    queue.next_lapse_ms = min(queue.next_lapse_ms, event.deadline_ms)
    claim(state, queue, slots)
    columns = (event.match, event.team, event.ticket, numbers, t.size[slots])
    for match, team, ticket, proposal, size in zip(*(column.tolist() for column in columns), strict=True):
        filling = _find(queue, match)
        _put(queue, _replace(filling, places=_taken(filling, team, size, ticket=ticket, proposal=proposal)))


def match_filled(state: State, event: bev.MatchFilled) -> None:
    """A ticket is in a running match, and its places are filled."""
    queue, p = state.queues[event.queue], state.queues[event.queue].proposals
    t, slots = queue.tickets, state.slots_of(np.array([event.ticket]))
    touch(state, queue, state.slots_of(event.inside))
    touch(state, queue, slots)
    players = queue.players.player[queue.player_rows(slots)]
    t.proposal[slots] = event.match
    finish(state, queue, slots, MATCHED, Cause.NONE)
    filling = _find(queue, event.match)
    if event.proposal:
        (row,) = state.rows_of(np.array([event.proposal])).tolist()
        p.standing[row], p.pending[row], p.over_ms[row] = JOINED, 0, state.now_ms
        state.claims.put(players, np.full(len(players), event.match))
    else:
        queue.players.accepted[queue.player_rows(slots)] = 0
        claim(state, queue, slots)
        filling = _replace(filling, places=_taken(filling, event.team, len(players), ticket=event.ticket))
    waiting = iter(players.tolist())
    places = tuple(
        _replace(place, player=next(waiting), filled_ms=event.at_ms)
        if place.ticket == event.ticket and not place.player
        else place
        for place in filling.places
    )
    joined = (*filling.joined, (event.ticket, event.team, event.at_ms))
    _put(queue, _replace(filling, places=places, joined=joined))


def reopen(queue: QueueState, proposals: Array) -> None:
    """The places of these proposals are open again, of those that are invitations."""
    if queue.fillings.invited:
        for proposal in proposals.tolist():
            match = queue.fillings.invited.get(proposal)
            if match is not None:
                filling = queue.fillings.by_match[match]
                places = tuple(
                    _replace(place, ticket=0, proposal=0) if place.proposal == proposal else place
                    for place in filling.places
                )
                _put(queue, _replace(filling, places=places))


def backfill_closed(state: State, event: bev.BackfillClosed) -> None:
    """These places are asked for no longer."""
    queue, filling = state.queues[event.queue], _find(state.queues[event.queue], event.match)
    touch(state, queue, state.slots_of(event.ticket))
    closed = event.place.tolist()
    _put(queue, _replace(filling, places=tuple(place for place in filling.places if place.number not in closed)))


def release_all(state: State, queue: QueueState, rows: Array) -> None:
    """These matches are over: they let go of whoever is still in them."""
    asked = np.isin(queue.proposals.proposal[rows], list(queue.fillings.by_match))
    roster = queue.proposals.roster[rows[~asked]]
    release(state, queue, state.slots_of(roster[roster >= 0]))
    for row in rows[asked].tolist():
        crew = crew_of(state, queue, row)
        release_players(state, crew.player[crew.here], crew.ticket[crew.here])


def move_expiries(queue: QueueState, away_ms: int) -> None:
    """The engine was away for so long."""
    for filling in queue.fillings.moved(away_ms):
        _put(queue, filling)
    queue.fillings.next_expiry_ms = 0 if len(queue.fillings) else NEVER
