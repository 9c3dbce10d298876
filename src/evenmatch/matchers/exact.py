"""The best plan there is, for tiny pools: the yardstick that other matchers are measured against in tests.

Problem. Among a few tickets find the plan that seats the most players, and of those the one of least total cost
(`cost.match_cost`). Of plans equal in both, the earliest ticket decides: seated before left, then with the companions
that come first in canonical order, then in the teams that come first; and so on with the next ticket.

Idea. The pool is the first `pool_max` tickets in canonical order that fit into a team at all. Sets of tickets are bit
masks in which the earliest ticket has the highest bit, so that descending masks are sets in order of preference.

    1. every set with exactly `seats` players: its best division into teams, by depth-first search in canonical order.
       Teams are alike, so a team is opened only when all before it have a ticket; a branch whose teams already are
       as far apart as the best division's is left.
    2. best(tickets that remain), remembered by mask: leave the earliest ticket, or seat it in any set of stage 1 that
       begins with it and is among them.

Why correct. Stage 2 meets every plan exactly once, since in every plan the earliest remaining ticket is either left or
in one match, which begins with it. A full team never changes, so in stage 1 the gap between full teams never shrinks.
Options are tried in order of preference and replaced only by strictly better ones, which is the rule for ties.

Complexity. At most 2^pool sets and remainders. With 12 tickets the worst formats (3x3, 5x2) try some 60,000 divisions;
2x1, 2x2 and 2x5 take milliseconds to tens of them.
"""

import math
from typing import ClassVar, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import plan_from_matches, with_format
from evenmatch.matchers.cost import match_cost
from evenmatch.matchers.parameters import whole_number
from evenmatch.numerics.quality import rating_totals

__all__ = ["Exact"]


class Exact:
    """The best plan over the longest waiting tickets; see the note above."""

    name: ClassVar[str] = "exact"
    reads_misses: ClassVar[bool] = False

    def __init__(self, *, pool_max: int = 12) -> None:
        """`pool_max`: how many tickets are looked at, 1 to 14; time grows about threefold with each."""
        self.pool_max = whole_number("exact", "pool_max", pool_max, least=1, most=14)

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:  # noqa: ARG002 nothing is random
        """The matches in the order of their earliest tickets."""
        snapshot = with_format(self, snapshot)
        order = snapshot.canonical_order()
        order = order[snapshot.size[order] <= snapshot.format.size]
        pool = order[: self.pool_max]
        sets = best_divisions(snapshot, pool)
        matches = best_matches(sets, snapshot.size[pool].tolist(), snapshot.format.seats)
        left = np.full(len(snapshot), Reason.PARTY_TOO_LARGE, np.int8)
        left[order] = Reason.BEYOND_POOL
        left[pool] = reasons_in_pool(sets, snapshot.size[pool].tolist(), snapshot.format.seats)
        chosen = [members(mask, len(pool)) for mask in matches]
        cost = np.array([sets[mask].cost for mask in matches], np.float64)
        steps = [
            {"tickets": snapshot.ticket[pool[places]].tolist(), "cost": float(price)}
            for places, price in zip(chosen, cost, strict=True)
        ]
        return plan_from_matches(
            snapshot,
            rows=pool[np.array([place for places in chosen for place in places], np.int64)],
            teams=np.array([team for mask in matches for team in sets[mask].teams], np.int8),
            tickets=np.array([len(places) for places in chosen], np.int64),
            left=left,
            cost=cost,
            details={"bound": float(cost.sum()), "optimality_gap": 0.0},
            trace=tuple(steps) if trace else (),
        )


class Division(NamedTuple):
    """How a set of tickets is best divided into teams."""

    teams: tuple[int, ...]
    """The team of each ticket, in canonical order."""
    cost: float


def best_divisions(snapshot: Snapshot, pool: Array) -> dict[int, Division]:
    """The best division of every set of exactly a match's players that can be divided, in order of preference."""
    count, form = len(pool), snapshot.format
    size = snapshot.size[pool].tolist()
    total = rating_totals(snapshot)[pool].tolist()
    players = np.array([0])
    for players_of_next in reversed(size):
        players = np.concatenate([players, players + players_of_next])
    divided: dict[int, tuple[int, ...]] = {}
    for mask in np.flatnonzero(players == form.seats)[::-1].tolist():
        places = members(mask, count)
        teams = divide([size[place] for place in places], [total[place] for place in places], form)
        if teams is not None:
            divided[mask] = teams
    rosters = np.full((len(divided), count), -1)
    team_of = np.full((len(divided), count), -1)
    for match, (mask, teams) in enumerate(divided.items()):
        rosters[match, : len(teams)] = pool[members(mask, count)]
        team_of[match, : len(teams)] = teams
    costs = match_cost(snapshot, rosters, team_of).tolist()
    return {mask: Division(teams, cost) for (mask, teams), cost in zip(divided.items(), costs, strict=True)}


def divide(size: list[int], total: list[float], form: Format) -> tuple[int, ...] | None:
    """The team of each ticket such that the teams' mean ratings are least apart, or None if no division is full."""
    rooms, totals = [form.size] * form.teams, [0.0] * form.teams
    teams = [0] * len(size)
    best: tuple[int, ...] | None = None
    best_gap = math.inf

    def seat(ticket: int, low: float, high: float) -> None:
        nonlocal best, best_gap
        if ticket == len(size):
            best, best_gap = tuple(teams), high - low
            return
        for team, room in enumerate(rooms):
            if size[ticket] <= room:
                before = totals[team]
                rooms[team], totals[team], teams[ticket] = room - size[ticket], before + total[ticket], team
                mean = totals[team] / form.size
                lower, upper = (low, high) if rooms[team] else (min(low, mean), max(high, mean))
                if upper - lower < best_gap:
                    seat(ticket + 1, lower, upper)
                rooms[team], totals[team] = room, before
            if room == form.size:
                return

    seat(0, math.inf, -math.inf)
    return best


def best_matches(sets: dict[int, Division], size: list[int], seats: int) -> list[int]:
    """The sets that are the matches of the best plan, in the order of their earliest tickets."""
    beginning: list[list[int]] = [[] for _ in size]
    for mask in sets:
        beginning[mask.bit_length() - 1].append(mask)
    by_bit = size[::-1]
    known: dict[int, tuple[int, float, list[int]]] = {0: (0, 0.0, [])}

    def best(remaining: int) -> tuple[int, float, list[int]]:
        """Matches, total cost and sets of the best plan over the tickets that remain."""
        if remaining in known:
            return known[remaining]
        earliest = remaining.bit_length() - 1
        found = 0, 0.0, list[int]()
        if sum([players for bit, players in enumerate(by_bit) if remaining >> bit & 1]) >= seats:
            options = [mask for mask in beginning[earliest] if mask & remaining == mask]
            for mask in options:
                matches, cost, rest = best(remaining ^ mask)
                cost += sets[mask].cost
                if matches + 1 > found[0] or (matches + 1 == found[0] and cost < found[1]):
                    found = matches + 1, cost, [mask, *rest]
            without = best(remaining ^ (1 << earliest))
            if without[0] > found[0] or (without[0] == found[0] and without[1] < found[1]):
                found = without
        known[remaining] = found
        return found

    return best((1 << len(size)) - 1)[2]


def members(mask: int, pool: int) -> list[int]:
    """The places in a set, in canonical order."""
    return [place for place in range(pool) if mask >> pool - 1 - place & 1]


def reasons_in_pool(sets: dict[int, Division], size: list[int], seats: int) -> Array:
    """int8[pool]: why each ticket would be in no match. One that could play stood in a better plan's way."""
    if sum(size) < seats:
        return np.full(len(size), Reason.TOO_FEW_PLAYERS, np.int8)
    playable = 0
    for mask in sets:
        playable |= mask
    able = [playable >> len(size) - 1 - place & 1 for place in range(len(size))]
    return np.where(able, Reason.LESS_EVEN, Reason.NO_FITTING_PARTIES).astype(np.int8)
