"""The slow twins of the team search: every question answered by trying all there is, over lists and sets."""

import math
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import combinations, pairwise, permutations

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.match_terms import TERMS, UNITS
from evenmatch.numerics.team_field import BOTH, MEAN, TeamPool, TeamRules
from tests.reference.match_terms import terms


@cache
def fills(team: int, sizes: tuple[int, ...], teams: int) -> bool:
    """Whether parties of these sizes, none left over, fill so many teams."""
    if not teams:
        return not sizes
    return any(
        sum(sizes[at] for at in chosen) == team
        and fills(team, tuple(size for at, size in enumerate(sizes) if at not in chosen), teams - 1)
        for count in range(1, len(sizes) + 1)
        for chosen in combinations(range(len(sizes)), count)
    )


def completable(team: int, teams: int, sizes: tuple[int, ...]) -> set[tuple[int, ...]]:
    """The sorted multisets of sizes that can be completed to a full match."""
    full: set[tuple[int, ...]] = set()

    def grow(chosen: tuple[int, ...]) -> None:
        if sum(chosen) == team * teams:
            if fills(team, chosen, teams):
                full.add(chosen)
            return
        for size in sizes:
            if size >= (chosen[-1] if chosen else 0) and sum(chosen) + size <= team * teams:
                grow((*chosen, size))

    grow(())
    return {part for match in full for count in range(len(match) + 1) for part in combinations(match, count)}


def role_cost(price: list[list[float]], slots: list[int]) -> float:
    """The cheapest of all ways to give the places of a team to its players."""
    return min(sum(price[player][slot] for player, slot in enumerate(given)) for given in permutations(slots))


def divisions(pool: TeamPool, rules: TeamRules, group: tuple[int, ...]) -> Iterator[list[tuple[int, ...]]]:
    """Every way to make full teams of these tickets; teams in the order of their first tickets."""
    if not group:
        yield []
        return
    first, rest = group[0], group[1:]
    for count in range(len(rest) + 1):
        for others in combinations(rest, count):
            team = (first, *others)
            if sum(int(pool.size[one]) for one in team) == rules.size:
                left = tuple(one for one in rest if one not in others)
                for more in divisions(pool, rules, left):
                    yield [team, *more]


def cost(pool: TeamPool, rules: TeamRules, teams: list[tuple[int, ...]]) -> float:
    """What a match costs; inf = its roles can't be given out."""
    group = [one for team in teams for one in team]
    regions = range(pool.latency.shape[1])
    shared = [r for r in regions if all(not len(pool.reach) or int(pool.reach[one]) >> r & 1 for one in group)]

    def players(ticket: int) -> range:
        return range(int(pool.start[ticket]), int(pool.start[ticket + 1]))

    tickets = [
        [
            ([(float(pool.mu[p]), float(pool.sigma[p])) for p in players(one)], pool.latency[one].tolist())
            for one in team
        ]
        for team in teams
    ]
    side = {one: at for at, team in enumerate(teams) for one in team}
    met = {tuple(sorted(pair)) for pair in pool.met.tolist()}
    again = sum(one in side and other in side and (rules.teams == 1 or side[one] != side[other]) for one, other in met)
    found = terms(tickets, rules.rating_scale, shared, again)
    slots = [role for role, places in enumerate(rules.places) for _ in range(places)]
    if slots:
        found["role"] = sum(
            role_cost([pool.role_cost[p].tolist() for one in team for p in players(one)], slots) for team in teams
        )
    total = sum(weight * found[name] for name, weight in zip(TERMS, rules.weights, strict=True))
    return total if total == math.inf else math.floor(total * UNITS + 0.5) / UNITS


def legal(pool: TeamPool, rules: TeamRules, group: tuple[int, ...]) -> bool:
    """Whether these tickets may be one match: windows, regions, and those to be kept apart."""
    rating = [float(pool.mu[pool.start[one] : pool.start[one + 1]].mean()) for one in group]
    window = [float(pool.window[one]) for one in group]
    size = [int(pool.size[one]) for one in group]
    if rules.policy == MEAN:
        limit = sum(w * s for w, s in zip(window, size, strict=True)) / sum(size)
    else:
        limit = min(window) if rules.policy == BOTH else window[group.index(min(group))]
    shared = -1
    for one in group:
        shared &= int(pool.reach[one]) if len(pool.reach) else -1
    apart = {frozenset(pair) for pair in pool.forbidden.tolist()}
    return (
        max(rating) - min(rating) <= limit + 1e-9
        and shared != 0
        and not any(frozenset(pair) in apart for pair in combinations(group, 2))
    )


def could_sit(
    pool: TeamPool, rules: TeamRules, match: list[int], ticket: int, later: list[int]
) -> Iterator[tuple[int, ...]]:
    """Sets of the tickets `later` of a match in whose place a ticket could sit."""
    for count in range(1, len(later) + 1):
        for leaving in combinations(later, count):
            if sum(int(pool.size[one]) for one in leaving) != int(pool.size[ticket]):
                continue
            group = tuple(sorted({*match, ticket} - {*leaving}))
            ways = divisions(pool, rules, group) if legal(pool, rules, group) else iter(())
            if any(cost(pool, rules, teams) < math.inf for teams in ways):
                yield leaving


def all_matches(pool: TeamPool, rules: TeamRules) -> dict[tuple[int, ...], float]:
    """Every group of tickets that may be a match, and its least cost."""
    found = {}
    for count in range(1, min(len(pool.size), rules.teams * rules.size) + 1):
        for group in combinations(range(len(pool.size)), count):
            if sum(int(pool.size[one]) for one in group) != rules.teams * rules.size or not legal(pool, rules, group):
                continue
            least = min((cost(pool, rules, teams) for teams in divisions(pool, rules, group)), default=math.inf)
            if least < math.inf:
                found[group] = least
    return found


def best(pool: TeamPool, rules: TeamRules) -> tuple[float, int, dict[int, float]]:
    """The most value less cost of any plan; the most matches of any; and the least cost of every number of matches."""
    matches = all_matches(pool, rules)
    least: dict[int, float] = {0: 0.0}

    @cache
    def solve(left: frozenset[int]) -> tuple[float, dict[int, float]]:
        if not left:
            return 0.0, {0: 0.0}
        first = min(left)
        worth, costs = solve(left - {first})
        costs = dict(costs)
        for group, price in matches.items():
            if first in group and left.issuperset(group):
                more, rest = solve(left - set(group))
                worth = max(worth, more + sum(float(pool.value[one]) for one in group) - price)
                for count, total in rest.items():
                    costs[count + 1] = min(costs.get(count + 1, math.inf), total + price)
        return worth, costs

    worth, least = solve(frozenset(range(len(pool.size))))
    return worth, max(least), least


def most_groups(rate: list[float], deadline: list[float], seats: int) -> int:
    """The most groups of so many single players, each within the deadline of its lowest; by trying all."""

    @cache
    def solve(left: frozenset[int]) -> int:
        if len(left) < seats:
            return 0
        low = min(left)
        most = solve(left - {low})
        for others in combinations(sorted(left - {low}), seats - 1):
            if all(rate[one] <= deadline[low] for one in others):
                most = max(most, 1 + solve(left - {low, *others}))
        return most

    return solve(frozenset(range(len(rate))))


def least_spread(rating: list[float], seats: int, groups: int) -> float:
    """The least sum of distances to medians of so many groups; by trying all."""

    @cache
    def solve(left: frozenset[int], groups: int) -> float:
        if not groups:
            return 0.0
        if len(left) < seats * groups:
            return math.inf
        low = min(left)
        least = solve(left - {low}, groups)
        for others in combinations(sorted(left - {low}), seats - 1):
            group = sorted(rating[one] for one in (low, *others))
            spread = sum(abs(one - float(np.median(group))) for one in group)
            least = min(least, spread + solve(left - {low, *others}, groups - 1))
        return least

    return solve(frozenset(range(len(rating))), groups)


def most_teams(team: int, sizes: list[int]) -> int:
    """The most full teams of whole parties; by trying all."""

    @cache
    def solve(left: tuple[int, ...]) -> int:
        if sum(left) < team:
            return 0
        most = solve(left[1:])
        for count in range(len(left)):
            for others in {tuple(sorted(each)) for each in combinations(left[1:], count)}:
                if left[0] + sum(others) == team:
                    rest = Counter(left[1:]) - Counter(others)
                    most = max(most, 1 + solve(tuple(sorted(rest.elements(), reverse=True))))
        return most

    return solve(tuple(sorted(sizes, reverse=True)))


def worth(pool: TeamPool, rosters: Array, costs: Array) -> float:
    """The value that a plan seats, less its cost."""
    return float(pool.value[rosters[rosters >= 0]].sum() - costs.sum())


def group_cost(rate: list[float], size: list[int], group: tuple[int, ...], seats: int, skip: float) -> float:
    """What a sweep from below counts for a group: its spread by gaps, and the players it passes over on the way."""
    players = [rate[one] for one in group for _ in range(size[one])]
    spread = sum(
        (after - before) * min(below, seats - below) for below, (before, after) in enumerate(pairwise(players), 1)
    )
    passed = sum(size[one] for one in range(group[0], group[-1]) if one not in group)
    return spread + skip * usual_gap(rate, size, group[0], seats) * passed


def usual_gap(rate: list[float], size: list[int], anchor: int, seats: int) -> float:
    """The mean gap between the players next to an anchor, as many as a match has, or as there are."""
    at, players = anchor, 0
    while players < seats and at + 1 < len(rate):
        players += size[at]
        at += 1
    return (rate[at] - rate[anchor]) / max(1, players)


def cheapest_group(rate: list[float], size: list[int], teams: int, team: int, skip: float) -> float:
    """The least that a sweep from below can count for a match with the lowest ticket; inf = there is none."""
    groups = (
        (0, *others)
        for count in range(len(rate))
        for others in combinations(range(1, len(rate)), count)
        if size[0] + sum(size[one] for one in others) == teams * team
    )
    packed = (group for group in groups if fills(team, tuple(sorted(size[one] for one in group)), teams))
    return min((group_cost(rate, size, group, teams * team, skip) for group in packed), default=math.inf)
