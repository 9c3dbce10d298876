"""The teams of a match whose tickets are known: the cheapest way to divide them.

Problem. Parties stay whole, teams are full, and imbalance, distribution, premade, role and repeat hang on who is with
whom; spread and latency do not.

Idea, two teams of up to `UNITS_MAX` tickets: all of them. The first ticket is in the first team, and every subset of
the others is a mask of bits; players, ratings and squared party sizes of a mask follow from the mask without its lowest
bit. With the players sorted once, the distance between the teams' ratings is one walk: the gap to the next player times
how many more of one team than of the other are below. Roles are asked last, by rising cost of the rest, and only as
long as that may pay. Ten single players have 126 divisions, judged in a few microseconds.

Idea, otherwise: tickets by size, the largest first and the strongest first among equals, each into the weakest team
that has room, with steps back where the teams can't be filled (`STEPS_MAX` at the most). Then tickets of equal size
change places while that evens the teams' ratings or helps their roles.

That is quick, for a search divides matches by the thousand, and not the best. So the matches of its plan are divided
once more in the end (`deal_again`): in all ways, where these are few for all matches together (a match of 3x2 has 15
for single players, of 4x2 105, of 3x3 280, of 5x2 945; parties have fewer); else tickets of equal size change places
while the true cost falls.

What is promised. The first way finds a cheapest division (its sums are rounded in another order than the cost's, which
is why the cost is taken from `match_terms` at the end). The second finds a division wherever its steps suffice, and
says nothing of the best; `deal_again` finds the best where all ways are tried, and otherwise one that no change of two
places makes better, as far as `DEALT_MAX` goes.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import INT, INT32S2, INTS, OUT_FLOATS, OUT_INT8S2, kernel
from .match_terms import doubt_of, imbalance_of, premade_of
from .team_field import FIELD, Field
from .team_judge import cost_of_match, repeats_of, team_role_cost

__all__ = ["DEALT_MAX", "DIVISIONS_MAX", "UNITS_MAX", "cheapest_division", "deal_again", "split"]

UNITS_MAX: Final = 12
DIVISIONS_MAX: Final = 1_000
"""Divisions of one match that are judged when it is dealt again."""
DEALT_MAX: Final = 60_000
"""The same for all matches of a plan together; some 0.15 s."""
STEPS_MAX: Final = 3000
_ROUNDS: Final = 4
_NO_ROLE: Final = 1e6
"""What a team without its roles counts for while tickets change places."""


@kernel()
def _sorted_players(field: Field, roster: Array) -> tuple[Array, Array]:
    """Ratings of all players, rising, and the place in the roster of each one's ticket."""
    players = field.teams * field.team_size
    rating, owner = np.empty(players), np.empty(players, np.int64)
    filled = 0
    for at in range(len(roster)):
        for player in range(field.start[roster[at]], field.start[roster[at] + 1]):
            slot = filled
            while slot > 0 and rating[slot - 1] > field.mu[player]:
                rating[slot], owner[slot] = rating[slot - 1], owner[slot - 1]
                slot -= 1
            rating[slot], owner[slot] = field.mu[player], at
            filled += 1
    return rating, owner


@kernel()
def _by_mask(mask: int, team_of: Array) -> None:
    team_of[0] = 0
    for at in range(1, len(team_of)):
        team_of[at] = 1 - (mask >> (at - 1) & 1)


@kernel()
def _split_by_masks(field: Field, roster: Array, team_of: Array) -> int:
    """Write the best of all divisions into two teams; how many were judged, 0 = there is none."""
    units, size, players = len(roster), field.team_size, 2 * field.team_size
    rating, owner = _sorted_players(field, roster)
    masks = 1 << (units - 1)
    count, total, square = np.zeros(masks, np.int64), np.zeros(masks), np.zeros(masks, np.int64)
    ratings, squares, variance = 0.0, 0, 0.0
    for at in range(units):
        place = roster[at]
        own = 0.0
        for player in range(field.start[place], field.start[place + 1]):
            own += field.mu[player]
            variance += field.sigma[player] * field.sigma[player]
        ratings += own
        squares += field.size[place] * field.size[place]
        if at == 0:
            count[0], total[0], square[0] = field.size[place], own, field.size[place] * field.size[place]
        else:
            bit = 1 << (at - 1)
            for rest in range(bit):
                count[bit | rest] = count[rest] + field.size[place]
                total[bit | rest] = total[rest] + own
                square[bit | rest] = square[rest] + field.size[place] * field.size[place]
    doubt = doubt_of(variance / (size * size), field.scale)
    weigh_w1 = field.weights[2] * players / (size * field.scale)
    judged, bare, which = 0, np.empty(masks), np.empty(masks, np.int64)
    best = np.inf
    asks = len(field.slots) > 0 or len(field.met) > 0
    for mask in range(masks):
        if count[mask] != size:
            continue
        cost = field.weights[1] * imbalance_of(abs(2 * total[mask] - ratings) / size, doubt, players, field.scale)
        other = squares - square[mask]
        cost += field.weights[4] * premade_of(max(square[mask], other), min(square[mask], other), players, size)
        if cost >= best and not asks:
            continue
        ahead, moved = 0, 0.0
        for at in range(players - 1):
            ahead += 1 if owner[at] == 0 or mask >> (owner[at] - 1) & 1 else -1
            moved += abs(ahead) * (rating[at + 1] - rating[at])
        bare[judged], which[judged] = cost + weigh_w1 * moved, mask
        best = min(best, bare[judged])
        judged += 1
    if judged == 0:
        return 0
    if asks:
        return _with_roles(field, roster, bare[:judged], which[:judged], team_of)
    _by_mask(which[np.argmin(bare[:judged])], team_of)
    return judged


@kernel()
def _with_roles(field: Field, roster: Array, bare: Array, which: Array, team_of: Array) -> int:
    """Write the best division, asking for roles and repeats by rising cost of the rest; how many were judged, 0 = none.

    Whoever plays the role that is cheapest for it costs that much in any division, so the search ends where the rest
    and this cost more than the best.
    """
    least = 0.0
    if len(field.slots):
        for place in roster:
            for player in range(field.start[place], field.start[place + 1]):
                least += field.weights[5] * field.role_cost[player].min()
    trial, best, judged = np.empty(len(roster), np.int8), np.inf, 0
    for at in np.argsort(bare, kind="mergesort"):
        if bare[at] + least >= best:
            break
        judged += 1
        _by_mask(which[at], trial)
        cost = bare[at] + field.weights[6] * repeats_of(field, roster, trial)
        for team in range(2):
            if cost < best:
                cost += field.weights[5] * team_role_cost(field, roster, trial, team)
        if cost < best:
            best = cost
            team_of[:] = trial
    return judged if best < np.inf else 0


@kernel()
def cheapest_division(field: Field, roster: Array, best_team: Array, tried: Array) -> float:
    """Write the teams of the cheapest division; its cost, inf = none fills the teams. `tried`[0] counts divisions."""
    units, teams = len(roster), field.teams
    team, room = np.full(units, np.int8(-1)), np.full(teams, field.team_size)
    begun = np.zeros(units + 1, np.int64)
    best, at = np.inf, 0
    while at >= 0:
        if at == units:
            tried[0] += 1
            cost = cost_of_match(field, roster, team)
            if cost < best:
                best = cost
                best_team[:] = team
            at -= 1
        size = field.size[roster[at]]
        if team[at] >= 0:
            room[team[at]] += size
        team[at] += 1
        while team[at] < teams and team[at] <= begun[at] and room[team[at]] < size:
            team[at] += 1
        if team[at] >= teams or team[at] > begun[at]:
            team[at] = -1
            at -= 1
            continue
        room[team[at]] -= size
        at += 1
        begun[at] = max(begun[at - 1], team[at - 1] + 1)
    return best


@kernel()
def _few_divisions(teams: int, size: int, most: int) -> bool:
    """Can so many teams of this size be divided in no more ways than this, single players all?"""
    ways, left = 1.0, teams * size
    while left:
        # The first who is left, and whoever joins: C(left - 1, size - 1).
        for at in range(1, size):
            ways *= (left - at) / at
        left -= size
    return ways <= most


@kernel()
def _packed(field: Field, roster: Array, total: Array, team_of: Array) -> int:
    """Write a division into full teams, fairly even; steps taken, 0 = none was found."""
    units, teams = len(roster), field.teams
    key = np.empty(units)
    for at in range(units):
        key[at] = -field.size[roster[at]] * 1e9 - total[at]
    order = np.argsort(key, kind="mergesort")
    mean = total.sum() / (teams * field.team_size)
    room, strength = np.full(teams, field.team_size), np.zeros(teams)
    tried, chosen = np.zeros((units, teams), np.bool_), np.full(units, -1)
    depth, steps = 0, 0
    while 0 <= depth < units:
        steps += 1
        if steps > STEPS_MAX + units:
            return 0
        at = order[depth]
        size = field.size[roster[at]]
        if chosen[depth] >= 0:
            room[chosen[depth]] += size
            strength[chosen[depth]] -= total[at] - mean * size
            chosen[depth] = -1
        team, weakest = -1, np.inf
        for one in range(teams):
            if not tried[depth, one] and room[one] >= size and strength[one] - room[one] * 1e-9 < weakest:
                team, weakest = one, strength[one] - room[one] * 1e-9
        if team < 0:
            depth -= 1
            continue
        for one in range(teams):
            tried[depth, one] |= room[one] == room[team]
        chosen[depth] = team
        room[team] -= size
        strength[team] += total[at] - mean * size
        depth += 1
        if depth < units:
            tried[depth] = False
    if depth < 0:
        return 0
    for depth in range(units):
        team_of[order[depth]] = chosen[depth]
    return steps


@kernel()
def _role_or_much(field: Field, roster: Array, team_of: Array, team: int) -> float:
    cost: float = field.weights[5] * team_role_cost(field, roster, team_of, team)
    return min(cost, _NO_ROLE)


@kernel()
def _exchange(field: Field, roster: Array, total: Array, team_of: Array) -> int:
    """Let tickets of equal size change places while it evens the teams or helps their roles; pairs looked at."""
    units, teams = len(roster), field.teams
    strength, role = np.zeros(teams), np.zeros(teams)
    for at in range(units):
        strength[team_of[at]] += total[at]
    for team in range(teams):
        role[team] = _role_or_much(field, roster, team_of, team)
    slope = 1.151292546497023 / (field.scale * field.team_size)
    weigh = field.weights[1] * teams * field.team_size * slope * slope
    looked = 0
    for _ in range(_ROUNDS):
        better = False
        for one in range(units):
            for other in range(one):
                mine, its = team_of[one], team_of[other]
                if mine == its or field.size[roster[one]] != field.size[roster[other]]:
                    continue
                looked += 1
                moved = total[one] - total[other]
                gain = weigh * 2.0 * moved * (strength[mine] - strength[its] - moved)
                if len(field.slots) == 0 and gain <= 1e-12:
                    continue
                team_of[one], team_of[other] = its, mine
                role_mine, role_its = 0.0, 0.0
                if len(field.slots):
                    role_mine = _role_or_much(field, roster, team_of, mine)
                    role_its = _role_or_much(field, roster, team_of, its)
                    gain += role[mine] + role[its] - role_mine - role_its
                if gain > 1e-12:
                    role[mine], role[its] = role_mine, role_its
                    strength[mine] -= moved
                    strength[its] += moved
                    better = True
                else:
                    team_of[one], team_of[other] = mine, its
        if not better:
            break
    return looked


@kernel()
def split(field: Field, roster: Array, team_of: Array) -> tuple[float, int]:
    """Write the teams of a match, int8[tickets]; its cost, inf = it can't be divided, and how much was looked at."""
    units = len(roster)
    if field.teams == 1:
        team_of[:] = 0
        return cost_of_match(field, roster, team_of), 1
    if field.team_size == 1:
        for at in range(units):
            team_of[at] = at
        return cost_of_match(field, roster, team_of), units
    if field.teams == 2 and units <= UNITS_MAX:
        looked = _split_by_masks(field, roster, team_of)
        return (cost_of_match(field, roster, team_of), looked) if looked else (np.inf, 1 << (units - 1))
    total = np.zeros(units)
    for at in range(units):
        for player in range(field.start[roster[at]], field.start[roster[at] + 1]):
            total[at] += field.mu[player]
    looked = _packed(field, roster, total, team_of)
    if looked == 0:
        return np.inf, STEPS_MAX
    looked += _exchange(field, roster, total, team_of)
    return cost_of_match(field, roster, team_of), looked


@kernel()
def _climbed(field: Field, roster: Array, team_of: Array, cost: float, most: int) -> tuple[float, int]:
    """Let tickets of equal size change places while the match costs less; its cost then, and divisions judged."""
    judged, better = 0, True
    while better and judged < most:
        better = False
        for one in range(len(roster)):
            for other in range(one):
                mine, its = team_of[one], team_of[other]
                if judged >= most or mine == its or field.size[roster[one]] != field.size[roster[other]]:
                    continue
                team_of[one], team_of[other] = its, mine
                price = cost_of_match(field, roster, team_of)
                judged += 1
                if price < cost:
                    cost, better = price, True
                else:
                    team_of[one], team_of[other] = mine, its
    return cost, judged


@kernel(FIELD, INT32S2, OUT_INT8S2, INTS, OUT_FLOATS, INT, INT, INT)
def deal_again(
    field: Field, rosters: Array, team_of: Array, units: Array, cost: Array, first: int, end: int, most: int
) -> int:
    """Divide the matches of these rows as cheaply as `most` divisions of each allow, none dearer; how many it took.

    `units`: tickets of each match. No match's divisions hang on how rows are shared out among threads.
    """
    if field.teams == 1 or field.team_size == 1:
        return 0
    few, judged, tried = _few_divisions(field.teams, field.team_size, most), 0, np.zeros(1, np.int64)
    for row in range(first, end):
        count = units[row]
        if field.teams == 2 and count <= UNITS_MAX:
            continue
        roster, trial = rosters[row, :count], team_of[row, :count].copy()
        if few:
            tried[0] = 0
            price = cheapest_division(field, roster, trial, tried)
            judged += tried[0]
        else:
            price, looked = _climbed(field, roster, trial, cost[row], most)
            judged += looked
        if price < cost[row]:
            cost[row] = price
            team_of[row, :count] = trial
    return judged
