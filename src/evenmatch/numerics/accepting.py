"""Many accepts at once: the proposals they are for, and which of them count.

Both loops take a few microseconds for a handful of accepts; the array operations that they stand for took a hundred.
"""

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import INT8S, INTS, INTS2, kernel

__all__ = ["accepts", "asked"]


@kernel(INTS, INTS2)
def asked(slot: Array, roster: Array) -> tuple[Array, Array, Array, Array]:
    """Proposals once each, in ascending order (int64[k]), and the place among them of each one named (int64[n]); their
    tickets, proposal by proposal (int64[m]), and the place of each one's proposal (int64[m]).

    `slot`, int64[n]: rows of `roster`, int64[slots, width], -1 = no ticket.
    """
    order = np.argsort(slot, kind="mergesort")
    once, which = np.empty(len(slot), np.int64), np.empty(len(slot), np.int64)
    ticket = np.empty(len(slot) * roster.shape[1], np.int64)
    seat = np.empty(len(ticket), np.int64)
    proposals, tickets = 0, 0
    for place in order:
        row = slot[place]
        if proposals == 0 or once[proposals - 1] != row:
            once[proposals] = row
            for column in range(roster.shape[1]):
                if roster[row, column] >= 0:
                    ticket[tickets], seat[tickets] = roster[row, column], proposals
                    tickets += 1
            proposals += 1
        which[place] = proposals - 1
    return once[:proposals].copy(), which, ticket[:tickets].copy(), seat[:tickets].copy()


@kernel(INTS, INTS, INTS, INTS, INTS, INTS, INT8S, INTS)
def accepts(
    which: Array,
    player: Array,
    seat: Array,
    start: Array,
    size: Array,
    member: Array,
    accepted: Array,
    pending: Array,
) -> tuple[Array, Array, Array]:
    """bool[n]: which accepts count: of a player who is asked, and has not accepted before; for each proposal, how many
    do (int64[k]) and the place of the last (int64[k], -1 = none).

    `which` and `player`, int64[n]: who accepts what; `seat`, int64[m]: the proposal of each ticket, in ascending order;
    `start` and `size`, int64[m]: its players' rows in `member` and `accepted` (0 = not yet); `pending`, int64[k]:
    players whom each proposal lacks.
    """
    counts = np.zeros(len(which), np.bool_)
    count, last = np.zeros(len(pending), np.int64), np.full(len(pending), -1, np.int64)
    first = np.searchsorted(seat, np.arange(len(pending) + 1))
    most = 0
    for one in range(len(pending)):
        most = max(most, pending[one])
    done = np.empty((len(pending), most), np.int64)
    for place in range(len(which)):
        one = which[place]
        for at in range(first[one], first[one + 1]):
            for row in range(start[at], start[at] + size[at]):
                if member[row] == player[place] and accepted[row] == 0:
                    again = False
                    for before in range(count[one]):
                        again = again or done[one, before] == row
                    if not again and count[one] < pending[one]:
                        done[one, count[one]] = row
                        counts[place] = True
                        count[one] += 1
                        last[one] = place
    return counts, count, last
