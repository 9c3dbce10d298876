"""Due tickets take the places of later ones: bounded overtaking for teams.

Problem. Some tickets are due, each with a level, the higher the sooner. A plan that was searched for by value and cost
may have left one of them though it could sit where a ticket of a lower level sits. Mend it, and lose no seat.

Rule. A ticket could take the place of others if they are in one match, have as many players together as it has, and the
match with it instead of them keeps the rules and can be divided into full teams. Whenever a due ticket could take the
place of tickets that all have lower levels, it does. Of the places that are found first, nearest in rating, the one
that is worth the most is taken.

Why it ends. Each step seats a ticket for others of lower levels: the numbers of players seated at each level, the
highest first, only rise in the order of a dictionary. When nothing is left to do, no due ticket waits that could take
such a place: that is the promise, whatever the plan was before.

What is not tried: sets of several tickets in a match of more than `SET_TICKETS` (single tickets always are), and
divisions that `team_split` does not find (of two teams of up to 12 tickets, and where there are no roles, it finds
one in general). Work is limited; whoever asks is told whether it sufficed.

Complexity. Due tickets that wait times matches, in which a place is asked in some tens of nanoseconds, and divided
only if windows, regions and roles allow it.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import INT, INTS, OUT_FLOATS, OUT_INT8S2, OUT_INT32S2, OUT_INTS, kernel
from .team_draft import Draft, middles, put, replaced
from .team_field import FIELD, Field
from .team_judge import holds
from .team_regroup import MATCH_WORK
from .team_split import split

__all__ = ["SET_TICKETS", "TURN_WORK", "give_turns"]

SET_TICKETS: Final = 12
TURN_WORK: Final = 10_000_000
"""Places that are asked, and divisions judged, at the most; a second or two."""
_OPTIONS: Final = 6
"""Places that a ticket may choose from."""
_OVER: Final = -9187201950435737472


@kernel()
def _roles_fit(field: Field, roster: Array) -> bool:
    """Whether no set of roles is asked for by more players than it has places, as far as roles can't be exchanged."""
    for word in range(field.words.shape[1]):
        total = field.bias[word]
        for place in roster:
            if field.off[place] < np.inf:
                return True
            total += field.words[place, word]
        if total & _OVER:
            return False
    return True


@kernel()
def _instead(field: Field, roster: Array, chosen: int, entering: int, trial: Array) -> tuple[int, float]:
    """Write a roster with a ticket for a set of others; how many tickets it has, and the value of those who leave."""
    if len(roster) > SET_TICKETS:
        replaced(roster, roster[chosen], entering, trial)
        return len(roster), field.value[roster[chosen]]
    count, waiting, value = 0, True, 0.0
    for at in range(len(roster)):
        if waiting and entering < roster[at]:
            trial[count] = entering
            count += 1
            waiting = False
        if chosen >> at & 1:
            value += field.value[roster[at]]
        else:
            trial[count] = roster[at]
            count += 1
    if waiting:
        trial[count] = entering
        count += 1
    return count, value


@kernel()
def _later(field: Field, level: Array, roster: Array, due: int, masks: Array) -> int:
    """Write the sets of tickets, as masks, that a due ticket is as large as and before; how many there are.

    In matches of more tickets than a mask has bits, a set is one ticket, written as its place in the roster.
    """
    size, units, found = field.size[due], len(roster), 0
    if units > SET_TICKETS:
        for at in range(units):
            if field.size[roster[at]] == size and level[roster[at]] < level[due]:
                masks[found] = at
                found += 1
        return found
    free = 0
    for at in range(units):
        if field.size[roster[at]] <= size and level[roster[at]] < level[due]:
            free |= 1 << at
    mask = free
    while mask:
        players = 0
        for at in range(units):
            if mask >> at & 1:
                players += field.size[roster[at]]
        if players == size:
            masks[found] = mask
            found += 1
        mask = (mask - 1) & free
    return found


@kernel(FIELD, INTS, OUT_INT32S2, OUT_INT8S2, OUT_INTS, OUT_FLOATS, OUT_INTS, INT)
def give_turns(
    field: Field,
    level: Array,
    rosters: Array,
    team_of: Array,
    units: Array,
    cost: Array,
    match_of: Array,
    work: int,
) -> tuple[int, bool]:
    """Let due tickets (level above 0, by place) take places in these matches; how often, and whether all was asked."""
    draft = Draft(rosters, team_of, units, cost, match_of)
    seats, moves, done = field.teams * field.team_size, 0, 0
    trial, team = np.empty(seats + 1, np.int32), np.empty(seats, np.int8)
    best_roster, best_team = np.empty(seats, np.int32), np.empty(seats, np.int8)
    masks = np.empty(max(1 << SET_TICKETS, seats), np.int64)
    rows, middle = middles(field, draft, len(units))
    changed = True
    while changed:
        changed = False
        waiting = np.flatnonzero((match_of < 0) & (level > 0))
        for due in waiting[np.argsort(field.elder[waiting])]:
            if field.size[due] > field.team_size or field.reach[due] == 0:
                continue
            above = np.searchsorted(middle, field.rate[due])
            below = above - 1
            options, best, best_row, best_count, best_cost = 0, -np.inf, -1, 0, 0.0
            while options < _OPTIONS and (below >= 0 or above < len(rows)):
                if done > work:
                    return moves, False
                if above == len(rows) or (
                    below >= 0 and field.rate[due] - middle[below] <= middle[above] - field.rate[due]
                ):
                    row, below = rows[below], below - 1
                else:
                    row, above = rows[above], above + 1
                roster = rosters[row, : units[row]]
                sets = _later(field, level, roster, due, masks)
                done += 1 + sets
                for at in range(sets):
                    count, value = _instead(field, roster, masks[at], due, trial)
                    done += 1
                    if not holds(field, trial[:count]) or not _roles_fit(field, trial[:count]):
                        continue
                    price, looked = split(field, trial[:count], team[:count])
                    done += looked + MATCH_WORK
                    if price == np.inf:
                        continue
                    options += 1
                    worth = field.value[due] - value + cost[row] - price
                    if worth > best:
                        best, best_row, best_count, best_cost = worth, row, count, price
                        best_roster[:count], best_team[:count] = trial[:count], team[:count]
            if best_row >= 0:
                for place in rosters[best_row, : units[best_row]]:
                    match_of[place] = -1
                put(draft, best_row, best_roster[:best_count], best_team[:best_count], best_cost)
                moves, changed = moves + 1, True
    return moves, True
