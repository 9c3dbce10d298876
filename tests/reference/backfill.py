"""Who is invited to running matches, as plainly as it can be said: one team after the other, one ticket at a time.

Everything is a dictionary or a list; nothing is shared with the program but the words of `core/backfill_choice.py`.
"""

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Waiting:
    """A ticket that waits."""

    ticket: int
    players: list[int]
    ratings: list[float]
    group: str
    waited_ms: int
    returned: bool = False
    will: bool | None = None
    avoid: tuple[int, ...] = ()
    latency_ms: list[float | None] = field(default_factory=list)
    """To the match's region, of each player; None = brings no latencies."""


@dataclass
class Asking:
    """A match with open places: its players with team and rating, and when each open place was asked for."""

    match: int
    group: str
    players: dict[int, tuple[int, float]]
    """Player -> team and rating, of those who are in it."""
    left: set[int]
    places: list[tuple[int, int]]
    """(team, when asked) of each open place"""
    invited: set[int] = field(default_factory=set)


def choose(
    rules: dict[str, Any], blocks: dict[int, set[int]], tickets: list[Waiting], matches: list[Asking], now_ms: int
) -> list[tuple[int, int, int]]:
    """(match, team, ticket) in the order they are invited."""
    teams = sorted(
        {
            (min(asked for other, asked in match.places if other == team), match.match, team)
            for match in matches
            for team, _ in match.places
        }
    )
    free = list(tickets)
    chosen = []
    for asked_ms, number, team in teams:
        match = next(match for match in matches if match.match == number)
        left = sum(other == team for other, _ in match.places)
        passed: list[Waiting] = []
        while left:
            fitting = [
                ticket
                for ticket in free
                if ticket not in passed
                and _may(rules, ticket, match, left)
                and _near(rules, ticket, match, team, asked_ms, now_ms)
            ]
            if not fitting:
                break
            best = min(fitting, key=lambda ticket: _worth(rules, ticket, match, team))
            if not _gets_on(blocks, best, match):
                passed.append(best)
                continue
            free.remove(best)
            match.invited |= set(best.players)
            left -= len(best.players)
            chosen.append((number, team, best.ticket))
    return chosen


def _may(rules: dict[str, Any], ticket: Waiting, match: Asking, left: int) -> bool:
    if ticket.will is False or (rules["asks"] and ticket.will is None):
        return False
    if any(ms is not None and ms > rules["latency_max_ms"] for ms in ticket.latency_ms):
        return False
    return ticket.group == match.group and len(ticket.players) <= left


def _gap(ticket: Waiting, match: Asking, team: int) -> float:
    there = [rating for other, rating in match.players.values() if other == team]
    there = there or [rating for _, rating in match.players.values()]
    if not there:
        return 0.0
    return abs(math.fsum(ticket.ratings) / len(ticket.ratings) - math.fsum(there) / len(there))


def _near(rules: dict[str, Any], ticket: Waiting, match: Asking, team: int, asked_ms: int, now_ms: int) -> bool:
    if not rules["window"]:
        return True
    seconds = (now_ms - asked_ms) / 1000.0 + ticket.waited_ms / 1000.0
    return _gap(ticket, match, team) <= float(rules["window"] + rules["grows"] * seconds)


def _worth(rules: dict[str, Any], ticket: Waiting, match: Asking, team: int) -> tuple[float, int, bool, int]:
    worth = _gap(ticket, match, team) - rules["grows"] * (ticket.waited_ms / 1000.0)
    return worth, -ticket.waited_ms, not ticket.returned, ticket.ticket


def _gets_on(blocks: dict[int, set[int]], ticket: Waiting, match: Asking) -> bool:
    inside = set(match.players) | match.invited
    if set(ticket.avoid) & inside or set(ticket.players) & match.left:
        return False
    return not any(
        theirs in blocks.get(own, set()) or own in blocks.get(theirs, set())
        for own in ticket.players
        for theirs in inside
    )
