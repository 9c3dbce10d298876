"""The best plan by listing every plan there is, in whole numbers and fractions."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import TypeAlias

from evenmatch.domain.queue import Format

Party: TypeAlias = list[int]
"""Ratings of the players."""
Match: TypeAlias = tuple[tuple[int, int], ...]
"""(ticket, team), by ticket."""


def mean(ratings: list[int]) -> Fraction:
    """The exact mean."""
    return Fraction(sum(ratings), len(ratings))


def cost(match: Match, parties: list[Party], form: Format) -> Fraction:
    """The squared gap between strongest and weakest team, or party if there is one team."""
    if form.teams == 1:
        means = [mean(parties[ticket]) for ticket, _ in match]
    else:
        means = [
            mean([rating for ticket, team in match if team == wanted for rating in parties[ticket]])
            for wanted in range(form.teams)
        ]
    return (max(means) - min(means)) ** 2


def all_matches(parties: list[Party], form: Format) -> Iterator[Match]:
    """Every match with every division into teams, by companions and then by teams in order of preference."""
    tickets = range(len(parties))
    sets = [chosen for count in range(1, len(parties) + 1) for chosen in combinations(tickets, count)]
    for chosen in sorted(sets):
        for teams in product(range(form.teams), repeat=len(chosen)):
            filled = [0] * form.teams
            for ticket, team in zip(chosen, teams, strict=True):
                filled[team] += len(parties[ticket])
            if filled == [form.size] * form.teams:
                yield tuple(zip(chosen, teams, strict=True))


def all_plans(matches: list[Match], tickets: tuple[int, ...]) -> Iterator[list[Match]]:
    """Every plan over these tickets; plans that seat the earliest ticket come first."""
    if not tickets:
        yield []
        return
    for match in matches:
        members = {ticket for ticket, _ in match}
        if match[0][0] == tickets[0] and members <= set(tickets):
            rest = tuple(ticket for ticket in tickets if ticket not in members)
            for plan in all_plans(matches, rest):
                yield [match, *plan]
    yield from all_plans(matches, tickets[1:])


def exact(parties: list[Party], form: Format) -> tuple[list[Match], Fraction, list[bool]]:
    """The best plan, its cost, and for each ticket whether any match at all can have it."""
    matches = list(all_matches(parties, form))
    price = {match: cost(match, parties, form) for match in matches}
    # Teams are alike, so one cheapest division of each set is enough: the first in order of preference.
    cheapest: dict[tuple[int, ...], Match] = {}
    for match in matches:
        chosen = tuple(ticket for ticket, _ in match)
        if chosen not in cheapest or price[match] < price[cheapest[chosen]]:
            cheapest[chosen] = match
    best: list[Match] = []
    best_rank: tuple[int, Fraction] | None = None
    for plan in all_plans(list(cheapest.values()), tuple(range(len(parties)))):
        rank = -len(plan), sum((price[match] for match in plan), Fraction(0))
        if best_rank is None or rank < best_rank:
            best, best_rank = plan, rank
    playable = {ticket for match in matches for ticket, _ in match}
    total = sum((price[match] for match in best), Fraction(0))
    return best, total, [ticket in playable for ticket in range(len(parties))]
