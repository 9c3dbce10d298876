"""The best division of a few tickets into teams, and the best choice of matches among all that can be made.

Problem. A pool of at most some fourteen tickets, in order of preference, each a party of some size and total rating.
Wanted is, for every set of tickets that makes exactly one match, the division into teams whose mean ratings are least
apart; and then the plan of most matches, of those the cheapest, of those the first. A match costs the square of how far
its teams are apart, or its parties where there is one team: the expressions are those of the matchers' `cost`.

Idea. Sets are bit masks in which the earliest ticket has the highest bit, so that descending masks are sets in order of
preference.
  1. A set is divided by depth-first search in order of tickets. Teams are alike, so a team is opened only when all
     before it have a ticket; a branch whose full teams already are as far apart as the best division's is left.
  2. best(tickets that remain), by ascending mask: leave the earliest ticket, or seat it in any set that begins with it
     and is among them. What remains after either is a lesser mask, which is solved already. Most masks can't remain at
     all, since what is gone below the earliest ticket went with one before it; those are marked off first. Where all
     tickets are single players, any of them make a match: as long as they do without a rest, none is left.

Why correct. In every plan the earliest remaining ticket is either left or in one match, which begins with it, so stage
2 meets every plan exactly once. A full team never changes, so in stage 1 the gap between full teams never shrinks.
Options are tried in order of preference and replaced only by strictly better ones, which is the rule for ties.

Complexity. 2^pool masks, each with the sets that begin with its earliest ticket; divisions as many as a match can have.
Memory: some 30 bytes a mask, and the sets.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import FLOATS, INT, INTS, kernel

__all__ = ["best_plan"]

NOTHING: Final = -2
LEAVE: Final = -1


@kernel()
def _divide(
    size: Array,
    total: Array,
    count: int,
    team_size: int,
    rooms: Array,
    totals: Array,
    chosen: Array,
    before: Array,
    low: Array,
    high: Array,
    best: Array,
) -> float:
    """Write the best team of each of the first `count` tickets; the gap between teams, inf: no division fills them.

    `rooms` and `totals` have an element a team, the four after them one a ticket and one more, all to be used freely.
    """
    teams = len(rooms)
    rooms[:], totals[:], chosen[0], low[0], high[0] = team_size, 0.0, -1, np.inf, -np.inf
    best_gap = np.inf
    ticket = 0
    while ticket >= 0:
        if ticket == count:
            best[:count] = chosen[:count]
            best_gap = high[count] - low[count]
            ticket -= 1
        team, last = chosen[ticket], False
        if team >= 0:
            rooms[team] += size[ticket]
            totals[team] = before[ticket]
            last = rooms[team] == team_size
        seated = False
        while not seated and not last and team + 1 < teams:
            team += 1
            room = rooms[team]
            if size[ticket] <= room:
                total_after = totals[team] + total[ticket]
                lower, upper = low[ticket], high[ticket]
                if room == size[ticket]:
                    mean = total_after / team_size
                    lower, upper = min(lower, mean), max(upper, mean)
                seated = upper - lower < best_gap
            last = room == team_size
        if seated:
            before[ticket], chosen[ticket] = totals[team], team
            totals[team] = total_after
            rooms[team] -= size[ticket]
            ticket += 1
            low[ticket], high[ticket], chosen[ticket] = lower, upper, -1
        else:
            ticket -= 1
    return best_gap


@kernel()
def _spread(size: Array, total: Array, count: int) -> float:
    """How far apart the mean ratings of the first `count` parties are."""
    low, high = np.inf, -np.inf
    for ticket in range(count):
        mean = total[ticket] / size[ticket]
        low, high = min(low, mean), max(high, mean)
    return high - low


@kernel()
def _players(size: Array) -> Array:
    """int64[2^pool]: the players in each set."""
    pool = len(size)
    players = np.zeros(1 << pool, np.int64)
    for place in range(pool - 1, -1, -1):
        bit = 1 << (pool - 1 - place)
        players[bit : 2 * bit] = players[:bit] + size[place]
    return players


@kernel()
def _divisions(
    size: Array, total: Array, players: Array, teams: int, team_size: int
) -> tuple[Array, Array, Array, Array]:
    """The sets that make a match, in order of preference: masks, int64[k]; costs; places and teams, [k, pool]."""
    pool = len(size)
    count = (players == teams * team_size).sum()
    masks, cost = np.empty(count, np.int64), np.empty(count)
    places, team_of = np.full((count, pool), np.int32(-1)), np.full((count, pool), np.int8(-1))
    sizes, ratings, found = np.empty(pool, np.int64), np.empty(pool), 0
    rooms, totals, chosen = np.empty(teams, np.int64), np.empty(teams), np.empty(pool + 1, np.int64)
    before, low, high = np.empty(pool + 1), np.empty(pool + 1), np.empty(pool + 1)
    for mask in range(len(players) - 1, -1, -1):
        if players[mask] != teams * team_size:
            continue
        members = 0
        for place in range(pool):
            if mask >> (pool - 1 - place) & 1:
                places[found, members], sizes[members], ratings[members] = place, size[place], total[place]
                members += 1
        gap = _divide(sizes, ratings, members, team_size, rooms, totals, chosen, before, low, high, team_of[found])
        if gap < np.inf:
            if teams == 1:
                gap = _spread(sizes, ratings, members)
            masks[found], cost[found] = mask, gap * gap
            found += 1
        else:
            team_of[found] = places[found] = -1
    return masks[:found], cost[:found], places[:found], team_of[:found]


@kernel()
def _chosen(choice: Array, masks: Array, count: int) -> Array:
    """Follow the choices from the whole pool on."""
    found = np.empty(count, np.int64)
    remaining, number = len(choice) - 1, 0
    while number < count:
        if choice[remaining] == LEAVE:
            bit = 1
            while 2 * bit <= remaining:
                bit *= 2
            remaining ^= bit
        else:
            found[number] = choice[remaining]
            remaining ^= masks[found[number]]
            number += 1
    return found


@kernel()
def _beginnings(masks: Array, pool: int) -> Array:
    """int64[pool + 1]: the sets whose earliest ticket has bit e are those from element e + 1 up to element e."""
    begin = np.empty(pool + 1, np.int64)
    begin[0] = at = len(masks)
    for bit in range(pool):
        while at > 0 and masks[at - 1] < 2 << bit:
            at -= 1
        begin[bit + 1] = at
    return begin


@kernel()
def _may_leave(players: Array, remaining: int, seats: int, solo: bool) -> bool:
    """Not where single players fill their matches without a rest: to leave one would be to lose a match."""
    return not solo or players[remaining] % seats != 0


@kernel()
def _reached(players: Array, masks: Array, begin: Array, seats: int, solo: bool) -> Array:
    """bool[2^pool]: the tickets that may remain at some time, and are enough for a match."""
    reached = np.zeros(len(players), np.bool_)
    reached[-1] = players[-1] >= seats
    for earliest in range(len(begin) - 2, -1, -1):
        for remaining in range((2 << earliest) - 1, (1 << earliest) - 1, -1):
            if reached[remaining]:
                if _may_leave(players, remaining, seats, solo):
                    rest = remaining ^ 1 << earliest
                    reached[rest] = players[rest] >= seats
                for index in range(begin[earliest + 1], begin[earliest]):
                    if masks[index] & remaining == masks[index]:
                        rest = remaining ^ masks[index]
                        reached[rest] = players[rest] >= seats
    return reached


@kernel()
def _best_sets(players: Array, pool: int, masks: Array, cost: Array, seats: int) -> Array:
    """int64: the indices of the sets that are the matches of the best plan, in the order of their earliest tickets."""
    begin, solo = _beginnings(masks, pool), players[-1] == pool
    reached = _reached(players, masks, begin, seats, solo)
    matches, least = np.zeros(len(players), np.int64), np.zeros(len(players))
    choice = np.full(len(players), NOTHING)
    for earliest in range(pool):
        for remaining in range(1 << earliest, 2 << earliest):
            if not reached[remaining]:
                continue
            most, cheapest, chosen = 0, 0.0, NOTHING
            for index in range(begin[earliest + 1], begin[earliest]):
                if masks[index] & remaining == masks[index]:
                    rest = remaining ^ masks[index]
                    price = least[rest] + cost[index]
                    if matches[rest] + 1 > most or (matches[rest] + 1 == most and price < cheapest):
                        most, cheapest, chosen = matches[rest] + 1, price, index
            rest = remaining ^ 1 << earliest
            if _may_leave(players, remaining, seats, solo) and (
                matches[rest] > most or (matches[rest] == most and least[rest] < cheapest)
            ):
                most, cheapest, chosen = matches[rest], least[rest], LEAVE
            matches[remaining], least[remaining], choice[remaining] = most, cheapest, chosen
    return _chosen(choice, masks, matches[-1])


@kernel(INTS, FLOATS, INT, INT)
def best_plan(size: Array, total: Array, teams: int, team_size: int) -> tuple[Array, Array, Array, int]:
    """The matches in the order of their earliest tickets: places and teams, int32 and int8[k, pool], -1 = none; costs.

    `size`, int64[pool], and `total`, float64[pool]: players and their ratings added up, a ticket each. The last answer
    has the bits of all tickets that could be in some match.
    """
    players = _players(size)
    masks, cost, places, team_of = _divisions(size, total, players, teams, team_size)
    playable = 0
    for mask in masks:
        playable |= mask
    matches = _best_sets(players, len(size), masks, cost, teams * team_size)
    return places[matches], team_of[matches], cost[matches], playable
