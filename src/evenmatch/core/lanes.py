"""One lane beside others: where its numbers begin, and which of its players the others have (I11).

A player may wait in queues of several lanes, each with an engine of its own. Who is in a proposal or running match of
another lane is suspended here, as if another queue of this engine had claimed the player (`claims`). The others are not
in this state, so whoever drives the engine asks them, and what they say is recorded as events:

    before a match is proposed    which of its players do others have?   -> ClaimedElsewhere, and it no longer holds
    from time to time             do they have them still?               -> ReleasedElsewhere

What is asked can be out of date a moment later. That two lanes claim a player at the same time is settled where both
write it down; for that, the engine tells what it claimed and released (`watch`, `moved`).
"""

from typing import NamedTuple

import numpy as np

from evenmatch.domain import lane_events as lane
from evenmatch.domain.arrays import NONE, Array

from .claims import resume, suspend
from .decision import NOTHING, Decision
from .notes import value_digest
from .state import State


class Moved(NamedTuple):
    """Players who were claimed or released since the last time somebody asked, each in one of them at most."""

    claimed: Array
    released: Array


def watch(state: State) -> None:
    """Note from now on who is claimed and released."""
    state.movements = []


def moved(state: State) -> Moved:
    """What was noted, and begin anew. Who was claimed and released again is in neither."""
    movements = state.movements or []
    if not movements:
        return Moved(NONE, NONE)
    state.movements = []
    players = np.concatenate([some for _, some in movements])
    claims = np.repeat([claimed for claimed, _ in movements], [len(some) for _, some in movements])
    who, first = np.unique(players, return_index=True)
    _, last = np.unique(players[::-1], return_index=True)
    begun, ended = claims[first], claims[::-1][last]
    return Moved(who[begun & ended], who[~begun & ~ended])


def claimed(state: State, players: Array, now_ms: int) -> Decision:
    """Others have these."""
    fresh = [one for one in np.unique(players).tolist() if one not in state.elsewhere and one not in state.claims]
    return Decision((lane.ClaimedElsewhere(now_ms, np.array(fresh, np.int64)),)) if fresh else NOTHING


def released(state: State, players: Array, now_ms: int) -> Decision:
    """Others have these no longer."""
    known = [one for one in np.unique(players).tolist() if one in state.elsewhere]
    return Decision((lane.ReleasedElsewhere(now_ms, np.array(known, np.int64)),)) if known else NOTHING


# Part of evolve.


def follow(state: State, event: lane.LaneEvent) -> None:
    """Apply an event of this kind."""
    match event:
        case lane.NumbersBegin():
            assert state.sequence == 1, "numbers begin with the journal"
            state.begin_numbers(event.ticket, event.proposal)
        case lane.ClaimedElsewhere():
            for player in event.player.tolist():
                note_elsewhere(state, player)
                for ticket in state.live_tickets(player):
                    suspend(state, ticket)
        case lane.ReleasedElsewhere():
            for player in event.player.tolist():
                del state.elsewhere[player]
                state.elsewhere_sum -= value_digest("elsewhere", player)
                for ticket in state.live_tickets(player):
                    resume(state, ticket)


def note_elsewhere(state: State, player: int) -> None:
    """Remember that others have a player."""
    assert player not in state.elsewhere
    state.elsewhere[player] = None
    state.elsewhere_sum += value_digest("elsewhere", player)
