"""The most matches that a few dozen tickets can make, found exactly, as far as the work allowed suffices.

Problem. Sweeps decide match by match, and in a small pool one choice made too early costs a whole match. Whether
another plan has one more is a question of packing: which sets of tickets may be matches, and how many of them have no
ticket in common.

Idea. Two stages, over sets of tickets as masks of bits.
  1. List the matches by their lowest ticket (places are in order of rating). Others join in rising order as long as
     their sizes can still become full teams (`team_codes`), a region is left that all reach, and the range is no wider
     than the windows can allow.
  2. Russian dolls. Solve the tickets from place i on, for falling i. One ticket more makes one match more or none, so
     the only question is whether there is a match with i in it and as many others as before beside it. A search for
     these takes the lowest free ticket, seats it in each of its matches in turn, and then leaves it. It turns back
     where the dolls already solved, or the players left, allow too few, and never asks the same set of free tickets
     twice (as far as `MEMORY` goes).

Windows make matches local, so a free ticket has few matches and the dolls inside are close to the truth.

What is promised. The matches that are written keep the rules and share no ticket. Where all matches were listed and no
search was broken off, there is no plan with more. Otherwise `high` says what is not ruled out, or the list was cut and
nothing is.

Complexity. Exponential at the worst; every step is counted, and work ends it.
"""

from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import BOOL, FLOATS, INT, INT32S2, INTS, OUT_INTS, kernel
from .team_bounds import spans
from .team_codes import Codes
from .team_field import FIELD, MEAN, Field
from .team_judge import are_apart, holds
from .team_split import split

__all__ = ["MATCHES_MAX", "PACKED_MAX", "STEPS_A_UNIT", "Packed", "list_matches", "pack", "packed"]

PACKED_MAX: Final = 60
"""Tickets that a mask has bits for."""
MATCHES_MAX: Final = 60_000
"""Matches that are listed at the most."""
MEMORY: Final = 1 << 16
"""Sets of free tickets that are remembered as hopeless."""
STEPS_A_UNIT: Final = 16
"""Steps here, each a mask that is looked at, that count as a unit of work."""
_MASKS_A_STEP: Final = 4
_MORE: Final = 1.001
"""Windows are taken as so much wider until a match is full and judged, whatever the order of adding rounds."""


@kernel(FIELD, INTS, INT32S2, INTS, FLOATS, BOOL, INT, OUT_INTS, OUT_INTS)
def list_matches(
    field: Field,
    players: Array,
    step: Array,
    usable: Array,
    span: Array,
    check: bool,
    work: int,
    masks: Array,
    first: Array,
) -> tuple[bool, int]:
    """List the matches of these tickets (places, rising) as masks over them; whether these are all, and steps.

    `players` and `step` are those of `Codes`; `span`, float64[n], is the widest match of each place; `check`: sizes do
    not tell whether a match can be divided. Matches whose lowest ticket is the i-th are `masks[first[i] : first[i+1]]`.
    """
    count, seats = len(usable), field.teams * field.team_size
    share = len(masks) // max(1, count)
    widest = 0.0
    for place in usable:
        widest = max(widest, field.window[place])
    path, code, common = np.empty(seats, np.int64), np.empty(seats, np.int64), np.empty(seats, np.int64)
    total, after = np.empty(seats), np.empty(seats, np.int64)
    roster, team = np.empty(seats, np.int32), np.empty(seats, np.int8)
    listed, steps, whole = 0, 0, True
    for anchor in range(count):
        first[anchor] = listed
        lowest = usable[anchor]
        code[0] = step[0, field.size[lowest]]
        if code[0] < 0:
            continue
        path[0], common[0], after[0] = anchor, field.reach[lowest], anchor + 1
        total[0] = field.window[lowest] * field.size[lowest]
        depth = 0
        while depth >= 0:
            if steps > work or listed - first[anchor] >= share:
                whole = False
                break
            steps += 1
            if players[code[depth]] == seats:
                mask = 0
                for at in range(depth + 1):
                    roster[at] = usable[path[at]]
                    mask |= 1 << path[at]
                fits = holds(field, roster[: depth + 1])
                if fits and check:
                    price, looked = split(field, roster[: depth + 1], team[: depth + 1])
                    fits = price < np.inf
                    steps += looked * STEPS_A_UNIT
                if fits:
                    masks[listed] = mask
                    listed += 1
                depth -= 1
                continue
            other = after[depth]
            if other == count or field.rate[usable[other]] - field.rate[lowest] > span[lowest]:
                depth -= 1
                continue
            after[depth] = other + 1
            place = usable[other]
            joined = step[code[depth], field.size[place]]
            reach = common[depth] & field.reach[place]
            range_ = field.rate[place] - field.rate[lowest]
            if joined < 0 or reach == 0 or range_ > span[place]:
                continue
            windows = total[depth] + field.window[place] * field.size[place]
            if field.policy == MEAN and range_ * seats > (windows + widest * (seats - players[joined])) * _MORE:
                continue
            apart = False
            if field.apart_start[place + 1] > field.apart_start[place]:
                for at in range(depth + 1):
                    apart |= are_apart(field, place, usable[path[at]])
            if apart:
                continue
            depth += 1
            path[depth], code[depth], common[depth], total[depth] = other, joined, reach, windows
            after[depth] = other + 1
    first[count] = listed
    return whole, steps


@kernel()
def _slot(keys: Array, free: int) -> int:
    """Where a set is remembered, or would be; -1 = no room near its place."""
    mixed = free * -7046029254386353131
    at = (mixed ^ (mixed >> 29)) & (len(keys) - 1)
    for _ in range(16):
        if keys[at] == free or keys[at] == 0:
            return at
        at = (at + 1) & (len(keys) - 1)
    return -1


@kernel(INTS, INTS, INTS, INT, INT, INT, OUT_INTS)
def pack(
    masks: Array, first: Array, size: Array, seats: int, most: int, work: int, chosen: Array
) -> tuple[int, int, int]:
    """Write the masks of the most matches without a common ticket; how many, how many there can be at the most, steps.

    `masks` and `first` as `list_matches` has them, `size` of each ticket; `most` matches are enough.
    """
    count = len(size)
    low, high = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    keys, fails = np.zeros(MEMORY, np.int64), np.zeros(MEMORY, np.int64)
    free, need, taken = np.zeros(count + 2, np.int64), np.zeros(count + 2, np.int64), np.zeros(count + 2, np.int64)
    lowest, onward = np.zeros(count + 2, np.int64), np.zeros(count + 2, np.int64)
    steps = 0
    for anchor in range(count - 1, -1, -1):
        low[anchor], high[anchor] = low[anchor + 1], high[anchor + 1]
        if low[anchor] >= most:
            continue
        rest = 0
        for other in range(anchor + 1, count):
            rest |= 1 << other
        limit = steps + max(0, work - steps) // (anchor + 1)
        found, broken, depth = False, False, -1
        for one in range(first[anchor], first[anchor + 1]):
            # A frame: the free tickets, how many matches they must make, the lowest, and its next match to try.
            depth = 0
            free[0], need[0], taken[0], onward[0] = rest & ~masks[one], low[anchor + 1], masks[one], -1
            while depth >= 0:
                steps += 1
                if need[depth] == 0:
                    found = True
                    break
                if steps > limit:
                    broken = True
                    break
                now = free[depth]
                if onward[depth] == -1:
                    lowest[depth], players = -1, 0
                    for place in range(anchor + 1, count):
                        if now >> place & 1:
                            if lowest[depth] < 0:
                                lowest[depth] = place
                            players += size[place]
                    hopeless = players < need[depth] * seats or high[lowest[depth]] < need[depth]
                    if not hopeless:
                        slot = _slot(keys, now)
                        hopeless = slot >= 0 and keys[slot] == now and fails[slot] <= need[depth]
                    if hopeless:
                        depth -= 1
                        continue
                    onward[depth] = first[lowest[depth]]
                at, end = onward[depth], first[lowest[depth] + 1]
                while at < end and masks[at] & ~now:
                    at += 1
                steps += max(0, at - onward[depth]) // _MASKS_A_STEP
                onward[depth] = at + 1
                if at <= end:
                    taken[depth + 1] = masks[at] if at < end else 0
                    need[depth + 1] = need[depth] - (at < end)
                    free[depth + 1] = now & ~(taken[depth + 1] if at < end else 1 << lowest[depth])
                    onward[depth + 1] = -1
                    depth += 1
                    continue
                slot = _slot(keys, now)
                if slot >= 0:
                    fails[slot] = min(fails[slot], need[depth]) if keys[slot] == now else need[depth]
                    keys[slot] = now
                depth -= 1
            if found or broken:
                break
        if found:
            made = 0
            for at in range(depth + 1):
                if taken[at]:
                    chosen[made] = taken[at]
                    made += 1
            low[anchor], high[anchor] = made, high[anchor + 1] + 1
        elif broken:
            high[anchor] = high[anchor + 1] + 1
    return low[0], max(low[0], min(high[0], most)), steps


class Packed(NamedTuple):
    """The most matches that were found, not divided into teams."""

    rosters: Array
    """int32[k, seats], rising places, -1 = empty."""
    most: int | None
    """No plan has more matches; None = that is not known."""
    work: int


def packed(field: Field, codes: Codes, usable: Array, most: int, check: bool, work: int) -> Packed:
    """The most matches of these tickets (bool[n], up to `PACKED_MAX`), `most` at the most, by this much work.

    `check`: sizes do not tell whether a match can be divided.
    """
    seats = field.teams * field.team_size
    (places,) = np.nonzero(usable)
    masks, first = np.zeros(MATCHES_MAX, np.int64), np.zeros(len(places) + 1, np.int64)
    span = spans(field, usable)
    whole, listed = list_matches(
        *(field, codes.players, codes.step, places, span, check, work * STEPS_A_UNIT // 2, masks, first)
    )
    chosen = np.zeros(len(places) + 1, np.int64)
    made, high, steps = pack(
        *(masks, first, field.size[places], seats, most, work * STEPS_A_UNIT - listed, chosen),
    )
    rosters = np.full((made, seats), -1, np.int32)
    for match, mask in enumerate(chosen[:made].tolist()):
        members = [place for at, place in enumerate(places.tolist()) if mask >> at & 1]
        rosters[match, : len(members)] = members
    return Packed(rosters, int(high) if whole else None, int(listed + steps) // STEPS_A_UNIT)
