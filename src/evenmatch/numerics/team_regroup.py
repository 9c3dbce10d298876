"""Neighbouring matches swept anew, with those who wait near them.

Problem. A sweep decides match by match. Where it left some who could play, a few matches near them have to be taken
apart and put together otherwise, so that there is one more of them, or the same for less.

Idea. Two to `GROUP_MOST` matches next to each other in rating that share a region, and up to `BENCH_MOST` waiting
tickets next to these, are a small field of their own. It is swept from below, from above and inwards; the best of the
three takes the place of what was there if it is worth more, exactly judged.

Complexity. A sweep of some dozens of tickets, three times, for every place that is tried.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import kernel
from .team_draft import Draft, empty_row, floor_cost, put
from .team_field import Field
from .team_split import split
from .team_sweep import FROM_ABOVE, FROM_BELOW, INWARDS, Desk, Way, sweep

__all__ = ["BENCH_MOST", "GROUP_MOST", "LEAST_GAIN", "MATCH_WORK", "regroup"]

GROUP_MOST: Final = 4
"""Matches that are swept anew together, at the most."""
BENCH_MOST: Final = 24
"""Waiting tickets that take part in that."""
LEAST_GAIN: Final = 1e-6
MATCH_WORK: Final = 8
"""Work that it counts to put a roster together and look at its spread."""


@kernel()
def gather(field: Field, draft: Draft, rows: Array, at: int, most: int, chosen: Array, pool: Array) -> tuple[int, int]:
    """Choose neighbouring matches from one on that share a region with it, and tickets that wait near; both counts."""
    first = rows[at]
    common = -1
    for place in draft.rosters[first, : draft.units[first]]:
        common &= field.reach[place]
    groups, tickets = 0, 0
    low, high = len(field.size), -1
    for near in range(at, min(len(rows), at + 3 * most)):
        row = rows[near]
        count = draft.units[row]
        if count == 0 or groups == most:
            continue
        shared = common
        for place in draft.rosters[row, :count]:
            shared &= field.reach[place]
        if shared == 0:
            continue
        chosen[groups] = row
        groups += 1
        for place in draft.rosters[row, :count]:
            pool[tickets] = place
            tickets += 1
        low, high = min(low, draft.rosters[row, 0]), max(high, draft.rosters[row, count - 1])
    taken, middle = 0, (low + high) // 2
    below, above = middle, middle + 1
    reach_end = 40 * BENCH_MOST
    for _ in range(reach_end):
        if taken == BENCH_MOST:
            break
        for place in (below, above):
            if not 0 <= place < len(field.size) or taken == BENCH_MOST or draft.match_of[place] != -1:
                continue
            if field.reach[place] & common and field.size[place] <= field.team_size:
                pool[tickets] = place
                tickets += 1
                taken += 1
        below, above = below - 1, above + 1
    return groups, tickets


@kernel()
def regroup(
    field: Field,
    players: Array,
    step: Array,
    price: Array,
    draft: Draft,
    made: int,
    desk: Desk,
    aims: Array,
    rows: Array,
    variety: int,
    work: int,
) -> tuple[int, int, int]:
    """Sweep neighbouring matches anew, round each of `aims` (indices of `rows`); rows in use, moves, work."""
    seats = field.teams * field.team_size
    width = draft.rosters.shape[1]
    most_rows = GROUP_MOST + BENCH_MOST
    chosen, pool = np.empty(GROUP_MOST, np.int64), np.empty(GROUP_MOST * seats + BENCH_MOST, np.int64)
    found, teams = np.empty((most_rows + 1, width), np.int32), np.empty((most_rows + 1, width), np.int8)
    costs, counts = np.empty(most_rows + 1), np.empty(most_rows + 1, np.int64)
    best_found, best_teams = found.copy(), teams.copy()
    best_costs, best_counts = costs.copy(), counts.copy()
    moves, done = 0, 0
    for aim in range(len(aims)):
        if done > work:
            break
        if draft.units[rows[aims[aim]]] == 0:
            continue
        for most in range(2, GROUP_MOST + 1):
            if done > work:
                break
            groups, tickets = gather(field, draft, rows, aims[aim], most, chosen, pool)
            if groups < most or tickets > most * seats + BENCH_MOST:
                break
            now = 0.0
            for group in range(groups):
                now -= draft.cost[chosen[group]]
                for place in draft.rosters[chosen[group], : draft.units[chosen[group]]]:
                    now += field.value[place]
            listed = np.sort(pool[:tickets])
            best, best_made = now + LEAST_GAIN, -1
            for trial in range(3):
                if done > work:
                    break
                mode = (FROM_BELOW, FROM_ABOVE, INWARDS)[trial]
                way = Way(mode, 0.5 + trial, tickets, -1, False, 0, variety)
                count, labels = sweep(field, players, step, desk, listed, price, way, found, 0)
                done += labels + tickets
                worth = 0.0
                for match in range(count):
                    counts[match] = 0
                    while counts[match] < width and found[match, counts[match]] >= 0:
                        worth += field.value[found[match, counts[match]]]
                        counts[match] += 1
                    worth -= floor_cost(field, found[match, : counts[match]])
                if worth <= best:
                    continue
                worth = 0.0
                for match in range(count):
                    units = counts[match]
                    costs[match], looked = split(field, found[match, :units], teams[match, :units])
                    done += looked + MATCH_WORK
                    if costs[match] == np.inf:
                        counts[match] = 0
                        continue
                    worth -= costs[match]
                    for place in found[match, :units]:
                        worth += field.value[place]
                if worth > best:
                    best, best_made = worth, count
                    best_found[:], best_teams[:] = found, teams
                    best_costs[:], best_counts[:] = costs, counts
            if best_made >= 0:
                for group in range(groups):
                    row = chosen[group]
                    for place in draft.rosters[row, : draft.units[row]]:
                        draft.match_of[place] = -1
                    draft.rosters[row], draft.team_of[row], draft.units[row], draft.cost[row] = -1, -1, 0, 0.0
                filled = 0
                for match in range(best_made):
                    units = best_counts[match]
                    if units == 0:
                        continue
                    row = chosen[filled] if filled < groups else empty_row(draft)
                    made = max(made, row + 1)
                    put(draft, row, best_found[match, :units], best_teams[match, :units], best_costs[match])
                    filled += 1
                moves += 1
                break
    return made, moves, done
