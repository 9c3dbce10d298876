"""Who is in a match now: those it was made of and those who joined it late, less those who left."""

from typing import NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

from .state import QueueState, State


class Crew(NamedTuple):
    """The players of a match, ticket by ticket: columns of one length."""

    player: Array
    ticket: Array
    team: Array
    row: Array
    """Where each stands among the queue's players."""
    here: Array
    """bool: has not left"""

    @property
    def tickets(self) -> Array:
        """int64: the tickets of which somebody is still there, in order."""
        _, first = np.unique(self.ticket[self.here], return_index=True)
        found: Array = self.ticket[self.here][np.sort(first)]
        return found


def crew_of(state: State, queue: QueueState, slot: int) -> Crew:
    """The players of the match in this slot."""
    tickets, team_of = queue.roster(slot)
    slots = state.slots_of(tickets)
    size = queue.tickets.size[slots].astype(np.int64)
    row = queue.player_rows(slots)
    player = queue.players.player[row]
    found = queue.fillings.by_match.get(int(queue.proposals.proposal[slot]))
    left = [] if found is None else [gone for gone, _, _ in found.left]
    return Crew(
        player, np.repeat(tickets, size), np.repeat(team_of.astype(np.int64), size), row, ~np.isin(player, left)
    )
