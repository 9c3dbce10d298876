"""Who plays which role: the cheapest way to give the places of a team to its players.

Problem. A team has a place for each role (or several), every player has a price for each role, and some roles a player
can't play at all. The prices of the best assignment, added up, are the term `role` of a match.

Idea. Players enter one after the other, each by a shortest path of exchanges (the Hungarian method): the potentials of
players and places keep all reduced prices from falling below zero, so the nearest free place ends the search. A price
of inf is an edge that is not there; when no free place can be reached, the team can't be given its roles.

Why correct. After each player the assignment is cheapest for those that entered: tight edges only, and no reduced price
below zero. The total is added up from prices at the end, in the order of the players.

Complexity. O(size^3) a team, below a microsecond for five.
"""

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import FLOATS2, INT, INT8S2, INT32S2, INTS, OUT_FLOATS, OUT_INTS, kernel

__all__ = ["plan_role_costs", "plan_roles", "role_seats"]


@kernel()
def role_seats(price: Array, players: Array, slots: Array, seat_of: Array) -> float:
    """The least total price, inf = some role stays empty; writes the place of each of `players`, rows of `price`."""
    count = len(slots)
    of_player, of_slot = np.zeros(count), np.zeros(count + 1)
    holder = np.full(count + 1, -1)
    back, least, done = np.empty(count + 1, np.int64), np.empty(count + 1), np.empty(count + 1, np.bool_)
    for entering in range(count):
        holder[count] = entering
        at = count
        least[:] = np.inf
        done[:] = False
        while holder[at] >= 0:
            done[at] = True
            player, nearest, step = holder[at], -1, np.inf
            for slot in range(count):
                if done[slot]:
                    continue
                through = price[players[player], slots[slot]] - of_player[player] - of_slot[slot]
                if through < least[slot]:
                    least[slot], back[slot] = through, at
                if least[slot] < step:
                    step, nearest = least[slot], slot
            if nearest < 0:
                return np.inf
            for slot in range(count + 1):
                if done[slot]:
                    of_player[holder[slot]] += step
                    of_slot[slot] -= step
                elif slot < count:
                    least[slot] -= step
            at = nearest
        while at != count:
            holder[at] = holder[back[at]]
            at = back[at]
    for slot in range(count):
        seat_of[holder[slot]] = slot
    total = 0.0
    for player in range(count):
        total += price[players[player], slots[seat_of[player]]]
    return total


@kernel(INT32S2, INT8S2, INTS, FLOATS2, INTS, INT, OUT_FLOATS, OUT_INTS)
def _plan_roles(
    rosters: Array, team_of: Array, start: Array, price: Array, slots: Array, teams: int, costs: Array, role_of: Array
) -> None:
    size = len(slots)
    players, seat_of = np.empty(size, np.int64), np.empty(size, np.int64)
    for match in range(len(rosters)):
        costs[match] = 0.0
        for team in range(teams):
            filled = 0
            for place in range(rosters.shape[1]):
                if team_of[match, place] == team:
                    row = rosters[match, place]
                    for player in range(start[row], start[row + 1]):
                        players[filled] = player
                        filled += 1
            cost = role_seats(price, players, slots, seat_of)
            costs[match] += cost
            if cost < np.inf:
                for player in range(size):
                    role_of[players[player]] = slots[seat_of[player]]


def plan_role_costs(rosters: Array, team_of: Array, start: Array, price: Array, places: Array, teams: int) -> Array:
    """float64[k]: what the roles of each match of a plan cost at the least; inf = a team can't be given its roles."""
    return plan_roles(rosters, team_of, start, price, places, teams)[0]


def plan_roles(
    rosters: Array, team_of: Array, start: Array, price: Array, places: Array, teams: int
) -> tuple[Array, Array]:
    """The same; and int64[m]: the role that each player of the plan has for that, -1 = none.

    `rosters` and `team_of` are those of a plan of full teams; `start`, int64[n + 1]: where the players of each row
    begin; `price`, float64[m, roles]; `places`, int[roles]: players of each role in a team, none = no roles.
    """
    costs, role_of = np.zeros(len(rosters)), np.full(len(price), -1)
    if len(places):
        _plan_roles(
            np.ascontiguousarray(rosters, np.int32),
            np.ascontiguousarray(team_of, np.int8),
            np.ascontiguousarray(start, np.int64),
            np.ascontiguousarray(price, np.float64),
            np.repeat(np.arange(len(places)), places),
            *(teams, costs, role_of),
        )
    return costs, role_of
