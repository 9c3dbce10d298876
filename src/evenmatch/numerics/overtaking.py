"""Who was passed over although their turn came first.

Problem. A wave seats some tickets and leaves others. Which of those left had waited longer than somebody who was
seated, and could have taken that place?

Idea. A could have taken B's place if they are of one size and one group, and the match would have been no less even:
A's strength is no farther from the mean of the other tickets of the match than B's is. So each seat is an interval of
strength, and a ticket that was left is passed over if it lies in the interval of a seat whose holder came later. Where
teams are sides, strength is that on the side of the seat, and NaN where a ticket can't play it.

Complexity. Tickets left times seats, at worst; the seats of those who came last are looked at first, and the search
ends with the first that fits or with the first whose holder came earlier.
"""

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import FLOATS, FLOATS2, INTS, OUT_BOOLS, kernel

__all__ = ["passed_over"]


def passed_over(
    strength: Array, size: Array, group: Array, turn: Array, left: Array, seat: Array, team: Array, centre: Array
) -> Array:
    """bool[left]: was each of the rows `left` passed over?

    `strength` is float64[teams, n]; size, group and turn (0 = first) are int64[n]. `seat`, `team` and `centre` are of
    those seated: their rows, teams, and the mean strength of the others in their match.
    """
    found = np.zeros(len(left), np.bool_)
    latest = np.argsort(-turn[seat], kind="stable")
    seat, team, centre = seat[latest], team[latest], centre[latest]
    room = np.abs(strength[team, seat] - centre)
    _passed_over(
        np.ascontiguousarray(strength, np.float64),
        np.ascontiguousarray(size, np.int64),
        np.ascontiguousarray(group, np.int64),
        turn,
        left,
        seat,
        team,
        np.ascontiguousarray(centre),
        np.ascontiguousarray(room),
        found,
    )
    return found


@kernel(FLOATS2, INTS, INTS, INTS, INTS, INTS, INTS, FLOATS, FLOATS, OUT_BOOLS)
def _passed_over(
    strength: Array,
    size: Array,
    group: Array,
    turn: Array,
    left: Array,
    seat: Array,
    team: Array,
    centre: Array,
    room: Array,
    found: Array,
) -> None:
    for place in range(len(left)):
        row = left[place]
        for k in range(len(seat)):
            other = seat[k]
            if turn[other] < turn[row]:
                break
            if size[other] != size[row] or group[other] != group[row]:
                continue
            if abs(strength[team[k], row] - centre[k]) <= room[k]:
                found[place] = True
                break
