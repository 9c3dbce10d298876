"""Who was passed over although their turn came first.

Problem. A wave seats some tickets and leaves others. Which of those left had waited longer than somebody who was
seated, and could have taken that place?

Idea. A could have taken B's place if they are of one size and one group, nobody else in the match is forbidden to meet
A, and the match would have been no less even and no farther away: A's strength is no farther from the mean of the other
tickets of the match than B's is, and some region is as near to the worst of them with A as the best one is with B. So
each seat is an interval of strength, and a ticket that was left is passed over if it lies in the interval of a seat
whose holder came later. Where teams are sides, strength is that on the side of the seat, and NaN where a ticket can't
play it.

Complexity. Tickets left times seats, at worst; the seats of those who came last are looked at first, and the search
ends with the first that fits or with the first whose holder came earlier.
"""

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import FLOATS, FLOATS2, INTS, OUT_BOOLS, kernel

__all__ = ["passed_over"]


def passed_over(
    strength: Array,
    size: Array,
    group: Array,
    turn: Array,
    left: Array,
    rosters: Array,
    team_of: Array,
    latency: Array,
    forbidden: Array,
) -> Array:
    """bool[left]: was each of the rows `left` passed over?

    `strength` is float64[teams, n]; size, group and turn (0 = first) are int64[n]; `rosters` and `team_of`, int64[k,
    width], are a plan's, -1 = no ticket; `latency`, float64[n, regions], is inf where a ticket can't play, and without
    regions nothing is far; `forbidden`, int64[p, 2], are rows that must not be in one match.
    """
    found = np.zeros(len(left), np.bool_)
    seated = rosters >= 0
    team = np.where(seated, team_of, 0)
    weight = np.where(seated, size[rosters], 0)
    mine = np.where(seated, strength[team, rosters], 0.0) * weight
    others = np.maximum(weight.sum(axis=1, keepdims=True) - weight, 1)
    centre = ((mine.sum(axis=1, keepdims=True) - mine) / others)[seated]
    match, seat, team = np.nonzero(seated)[0], rosters[seated], team[seated]
    apart = _of_others(latency, rosters, seated)
    near = np.maximum(apart, latency[seat]).min(axis=1, initial=np.inf)
    latest = np.argsort(-turn[seat], kind="stable")
    seat, team, centre = seat[latest], team[latest], centre[latest]
    plays = np.full(len(size), -1)
    plays[rosters[seated]] = match
    foes = np.concatenate((forbidden, forbidden[:, ::-1]))
    foes = foes[np.argsort(foes[:, 0], kind="stable")]
    _passed_over(
        np.ascontiguousarray(strength, np.float64),
        np.ascontiguousarray(size, np.int64),
        np.ascontiguousarray(group, np.int64),
        turn,
        left,
        seat,
        team,
        np.ascontiguousarray(centre),
        np.abs(strength[team, seat] - centre),
        np.ascontiguousarray(latency, np.float64),
        np.ascontiguousarray(apart[latest]),
        near[latest],
        plays,
        np.searchsorted(foes[:, 0], np.arange(len(size) + 1)),
        np.ascontiguousarray(foes[:, 1]),
        found,
    )
    return found


def _of_others(latency: Array, rosters: Array, seated: Array) -> Array:
    """float64[seats, regions]: the worst latency of the others in each seat's match."""
    told = np.where(seated[:, :, None], latency[rosters], 0.0)
    if not told.shape[2] or told.shape[1] < 2:
        return np.zeros((int(seated.sum()), told.shape[2]))
    second, first = np.moveaxis(np.sort(told, axis=1)[:, -2:], 1, 0)
    others: Array = np.where(told == first[:, None], second[:, None], first[:, None])[seated]
    return others


@kernel(
    *(FLOATS2, INTS, INTS, INTS, INTS, INTS, INTS, FLOATS, FLOATS, FLOATS2, FLOATS2, FLOATS, INTS, INTS, INTS),
    OUT_BOOLS,
)
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
    latency: Array,
    apart: Array,
    near: Array,
    plays: Array,
    first_foe: Array,
    foes: Array,
    found: Array,
) -> None:
    regions = latency.shape[1]
    for place in range(len(left)):
        row = left[place]
        for k in range(len(seat)):
            other = seat[k]
            if turn[other] < turn[row]:
                break
            if size[other] != size[row] or group[other] != group[row]:
                continue
            if not abs(strength[team[k], row] - centre[k]) <= room[k]:
                continue
            far = regions > 0
            for region in range(regions):
                if max(latency[row, region], apart[k, region]) <= near[k]:
                    far = False
            for at in range(first_foe[row], first_foe[row + 1]):
                if plays[foes[at]] == plays[other] and foes[at] != other:
                    far = True
            if not far:
                found[place] = True
                break
