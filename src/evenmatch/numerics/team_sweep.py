"""Matches one after the other, from the extremes of the ratings inwards.

Problem. Choose groups of tickets that fill T teams of S, each group close together, so that few are left over.

Idea. Tickets stand in order of rating. The anchor is the most extreme one that is free: it has the fewest to play with,
and whoever is left over in the end is left in the dense middle, where the next wave or another sweep finds a match. A
knapsack over the codes of `team_codes` runs from the anchor inwards: for every composition of party sizes it knows the
cheapest group so far. Spread, a sum of distances to the median, is a sum over the gaps between neighbours: a gap with i
players on one side and N - i on the other counts min(i, N - i) times. So it grows gap by gap and needs no median.
Whoever is passed over counts `skip` times the usual gap, for each player. The first full group that costs no more than
any unfinished one is the match: unfinished ones only get dearer (but for parties of a size that is in surplus).

    anchor                   codes after each ticket, 2x2
    1400 ·                   {1}
    1410 ··  (party of 2)    {1} {12}
    1415 ·                   {1} {11} {12} {112} full: spread 10*1 + 5*1, and nobody passed over

Along with its cost a group carries what the rules need: the sum of its windows (or its eldest, or the least), the
regions that all of it reach, and Hall's counts of roles; a ticket whose roles are over-asked counts `off` more, or is
not taken. A group that breaks a rule is not made. Only the cheapest group of a composition is kept (or of some that
differ in regions and roles: `variety`), so a dearer one with wider windows may be lost: where an anchor finds nothing,
it tries again with the rule of windows asked of full matches only.

`price` says what taking a party of each size costs: where a size is scarce, its price makes groups that need it less
go first (`team_bounds` has the prices).

Complexity. O(tickets looked at * codes) an anchor, and an anchor looks at `ahead` tickets at the most.
"""

from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import BOOL, FLOAT, FLOATS, INT, INT32S2, INTS, OUT_INT32S2, kernel
from .team_field import BOTH, FIELD, MEAN, Field
from .team_judge import HAIR, are_apart, holds
from .team_split import split

__all__ = ["FROM_ABOVE", "FROM_BELOW", "INWARDS", "Desk", "Way", "new_desk", "seek", "sweep", "swept"]

FROM_BELOW, FROM_ABOVE, INWARDS = range(3)
_OVER: Final = -9187201950435737472
"""The highest bit of each byte."""
_TRIES: Final = 4


class Desk(NamedTuple):
    """Room to work in, made once."""

    cost: Array
    node: Array
    acc: Array
    """Sum of windows, weighted by players; or the window that counts."""
    eldest: Array
    common: Array
    hall: Array
    place: Array
    back: Array
    roster: Array
    team: Array
    barred: Array
    extra: Array
    """float64[n]: what taking a ticket costs beside its price, in rating points."""


class Way(NamedTuple):
    """How to sweep."""

    mode: int
    skip: float
    """What a player who is passed over counts for, in usual gaps."""
    ahead: int
    """Tickets that an anchor looks at."""
    region: int
    """Regions as bits: matches are made for these; -1 = all."""
    check: bool
    """Ask of every match whether it can be divided into teams."""
    reserve: int
    """Stop while so many players are left."""
    variety: int
    """Groups of one composition that are kept, if their regions or roles differ."""


@kernel()
def new_desk(field: Field, labels: int, ahead: int) -> Desk:
    """Room for so many labels and tickets looked at."""
    words, seats = field.words.shape[1], field.teams * field.team_size
    return Desk(
        np.empty(labels),
        np.empty(labels, np.int64),
        np.empty(labels),
        np.empty(labels, np.int64),
        np.empty(labels, np.int64),
        np.empty((labels, words), np.int64),
        np.empty(ahead * labels + 1, np.int32),
        np.empty(ahead * labels + 1, np.int32),
        np.empty(seats, np.int32),
        np.empty(seats, np.int8),
        np.empty(_TRIES, np.int64),
        np.zeros(len(field.size)),
    )


@kernel()
def _path_apart(field: Field, desk: Desk, node: int, place: int) -> bool:
    """Whether a ticket must not meet one of a group."""
    while node >= 0:
        if are_apart(field, place, desk.place[node]):
            return True
        node = desk.back[node]
    return False


@kernel()
def _usual_gap(field: Field, listed: Array, chain: Array, anchor: int, seats: int) -> float:
    """The mean gap between the players next to an anchor, as many as a match has."""
    at, players = anchor, 0
    while players < seats and chain[at] >= 0:
        players += field.size[listed[at]]
        at = chain[at]
    gap: float = abs(field.rate[listed[at]] - field.rate[listed[anchor]]) / max(1, players)
    return gap


@kernel()
def _within(policy: int, range_: float, acc: float, players: int) -> bool:
    return range_ <= (acc / players if policy == MEAN else acc) + HAIR


@kernel()
def _sort_of(common: int, hall: Array, variety: int) -> int:
    """Which of so many sorts a group is of, by its regions and the roles that it asks for."""
    mixed = common
    for word in hall:
        mixed = (mixed ^ word) * 0x2545F4914F6CDD1D
        mixed ^= mixed >> 29
    return (mixed & 0x7FFFFFFF) % variety


@kernel()
def seek(
    field: Field,
    players: Array,
    step: Array,
    desk: Desk,
    listed: Array,
    chain: Array,
    anchor: int,
    price: Array,
    way: Way,
    widest: float,
    strict: bool,
    bars: int,
) -> tuple[int, int]:
    """Write the cheapest match of an anchor to the desk; its tickets, 0 = none, and the labels extended."""
    seats, policy = field.teams * field.team_size, field.policy
    cost, hall, first = desk.cost, desk.hall, listed[anchor]
    cost[:] = np.inf
    variety, fresh = way.variety, np.empty(field.words.shape[1], np.int64)
    code = step[0, field.size[first]]
    if code < 0:
        return 0, 1
    begin = code * variety
    count_words, words = field.words.shape[1], field.words
    usual = _usual_gap(field, listed, chain, anchor, seats)
    gap_usual, dear = way.skip * usual, 2.0 * usual * seats * seats
    cost[begin], desk.node[begin] = price[field.size[first]] * dear, 0
    desk.acc[begin] = field.window[first] * (field.size[first] if policy == MEAN else 1)
    desk.eldest[begin], desk.common[begin] = field.elder[first], field.reach[first] & way.region
    desk.place[0], desk.back[0] = first, -1
    for word in range(count_words):
        hall[begin, word] = field.bias[word] + words[first, word]
    nodes, top, work = 1, begin, 0
    best, best_node = np.inf, -1
    if players[code] == seats:
        best, best_node = cost[begin], 0
    at, before = chain[anchor], field.rate[first]
    for _ in range(way.ahead - 1):
        if at < 0 or best_node == 0:
            break
        place = listed[at]
        range_ = abs(field.rate[place] - field.rate[first])
        if range_ > widest:
            break
        at = chain[at]
        barred = False
        for bar in range(bars):
            barred |= desk.barred[bar] == place
        if barred:
            continue
        size, gap = field.size[place], abs(field.rate[place] - before)
        before = field.rate[place]
        entry = price[size] * dear + desk.extra[place]
        skipped, loner = gap_usual * size, field.apart_start[place + 1] == field.apart_start[place]
        least = np.inf
        for label in range(top, -1, -1):
            if cost[label] == np.inf:
                continue
            work += 1
            code = label // variety
            own = cost[label] + gap * min(players[code], seats - players[code])
            after = step[code, size]
            fuller = players[code] + size
            cost[label] = own + skipped
            if cost[label] >= best:
                cost[label] = np.inf
            else:
                least = min(least, cost[label])
            if after < 0:
                continue
            taken = own + entry
            full = fuller == seats
            after *= variety
            if taken >= (best if full or variety > 1 else min(best, cost[after])):
                continue
            common = desk.common[label] & field.reach[place]
            acc, eldest = desk.acc[label], desk.eldest[label]
            if policy == MEAN:
                acc += field.window[place] * size
            elif policy == BOTH:
                acc = min(acc, field.window[place])
            elif field.elder[place] < eldest:
                acc, eldest = field.window[place], field.elder[place]
            if common == 0 or ((strict or full) and not _within(policy, range_, acc, fuller)):
                continue
            over = 0
            for word in range(count_words):
                fresh[word] = hall[label, word] + words[place, word]
                over |= fresh[word]
            if over & _OVER:
                taken += field.off[place]
                fresh[:] = hall[label]
            if variety > 1:
                after += _sort_of(common, fresh, variety)
            if taken >= (best if full else min(best, cost[after])):
                continue
            if not loner and _path_apart(field, desk, desk.node[label], place):
                continue
            desk.place[nodes], desk.back[nodes] = place, desk.node[label]
            if full:
                best, best_node = taken, nodes
            else:
                cost[after], desk.node[after], desk.acc[after] = taken, nodes, acc
                desk.eldest[after], desk.common[after] = eldest, common
                hall[after] = fresh
                top = max(top, after)
                least = min(least, taken)
            nodes += 1
        if best <= least:
            break
    if best_node < 0:
        return 0, work
    units, node = 0, best_node
    while node >= 0:
        desk.roster[units] = desk.place[node]
        units += 1
        node = desk.back[node]
    if units > 1 and desk.roster[0] > desk.roster[units - 1]:
        desk.roster[:units] = desk.roster[:units][::-1].copy()
    return units, work


@kernel()
def _match_of(
    field: Field,
    players: Array,
    step: Array,
    desk: Desk,
    listed: Array,
    chain: Array,
    anchor: int,
    price: Array,
    way: Way,
    widest: float,
) -> tuple[int, int]:
    """The tickets of an anchor's match, written to the desk, 0 = none; labels extended."""
    work = 0
    for strict in (True, False):
        if not strict and field.policy == BOTH:
            break
        bars = 0
        while bars < _TRIES:
            units, labels = seek(
                *(field, players, step, desk, listed, chain, anchor, price, way, widest, strict, bars),
            )
            work += labels
            if units == 0:
                break
            roster = desk.roster[:units]
            fits = holds(field, roster)
            if fits and way.check:
                price_of, looked = split(field, roster, desk.team[:units])
                fits = price_of < np.inf
                work += looked
            if fits:
                return units, work
            desk.barred[bars] = roster[0] if roster[-1] == listed[anchor] else roster[-1]
            bars += 1
    return 0, work


@kernel()
def sweep(
    field: Field,
    players: Array,
    step: Array,
    desk: Desk,
    listed: Array,
    price: Array,
    way: Way,
    rosters: Array,
    made: int,
) -> tuple[int, int]:
    """Write matches of these tickets (places, rising) from row `made` on, -1 = empty; how many there are then; labels.

    `players` and `step` are those of `Codes`.
    """
    count, seats, work = len(listed), field.teams * field.team_size, 0
    if count == 0:
        return made, work
    onward, backward = np.arange(1, count + 1), np.arange(-1, count - 1)
    onward[-1] = -1
    low, high, left, widest = 0, count - 1, 0, 0.0
    for at in range(count):
        left += field.size[listed[at]]
        widest = max(widest, field.window[listed[at]])
    middle = field.rate[listed[count // 2]]
    while left >= seats + way.reserve:
        below = way.mode == FROM_BELOW or (
            way.mode == INWARDS and middle - field.rate[listed[low]] >= field.rate[listed[high]] - middle
        )
        anchor, chain = (low, onward) if below else (high, backward)
        units, labels = _match_of(field, players, step, desk, listed, chain, anchor, price, way, widest)
        work += labels
        if units:
            rosters[made, :units] = desk.roster[:units]
            rosters[made, units:] = -1
            made += 1
        else:
            units = 1
            desk.roster[0] = listed[anchor]
        at = anchor
        for one in range(units):
            place = desk.roster[one] if below else desk.roster[units - 1 - one]
            while listed[at] != place:
                at = chain[at]
            left -= field.size[place]
            before, after = backward[at], onward[at]
            if before >= 0:
                onward[before] = after
            else:
                low = after
            if after >= 0:
                backward[after] = before
            else:
                high = before
            at = after if below else before
    return made, work


@kernel(FIELD, INTS, INT32S2, INTS, FLOATS, INT, FLOAT, INT, INT, BOOL, INT, INT, OUT_INT32S2, INT)
def swept(
    field: Field,
    players: Array,
    step: Array,
    listed: Array,
    price: Array,
    mode: int,
    skip: float,
    ahead: int,
    region: int,
    check: bool,
    reserve: int,
    variety: int,
    rosters: Array,
    made: int,
) -> tuple[int, int]:
    """`sweep`, for callers that are not compiled."""
    desk = new_desk(field, len(players) * variety, ahead)
    way = Way(mode, skip, ahead, region, check, reserve, variety)
    return sweep(field, players, step, desk, listed, price, way, rosters, made)
