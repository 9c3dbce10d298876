"""Skill buckets as their document has them, everybody compared with everybody, in fractions."""

from fractions import Fraction
from math import floor
from typing import NamedTuple


class Ticket(NamedTuple):
    """A ticket, in canonical order among the others."""

    ratings: list[float]
    waited_ms: int


class Rules(NamedTuple):
    """The settings, percentages as whole numbers or fractions."""

    bucket: str | float
    growth_ms: int
    range_max: int | None
    range_percent: Fraction | None
    reciprocity: Fraction
    look: str


def mean(ticket: Ticket) -> float:
    """The mean rating of a party; added up one by one, for `sum` rounds differently from one Python to the next."""
    total = 0.0
    for rating in ticket.ratings:
        total += rating
    return total / len(ticket.ratings)


def bucket(ticket: Ticket, rules: Rules) -> int:
    """The bucket of the mean rating; halves away from zero."""
    rating = Fraction(mean(ticket))
    if rules.bucket == "round":
        nearest = floor(abs(rating) + Fraction(1, 2))
        return nearest if rating >= 0 else -nearest
    if rules.bucket == "floor":
        return floor(rating)
    return floor(rating / Fraction(rules.bucket))


def current_range(ticket: Ticket, rules: Rules, later_ms: int = 0) -> int:
    """One bucket more for each growth period, up to the maximum."""
    reach = (ticket.waited_ms + later_ms) // rules.growth_ms
    if rules.range_max is not None:
        reach = min(reach, rules.range_max)
    if rules.range_percent is not None:
        reach = min(reach, floor(rules.range_percent * abs(Fraction(mean(ticket))) / 100))
    return reach


def may_take(a: Ticket, b: Ticket, rules: Rules, later_ms: int = 0) -> bool:
    """Whether A may take B."""
    distance = abs(bucket(a, rules) - bucket(b, rules))
    if rules.look == "below" and bucket(b, rules) > bucket(a, rules):
        return False
    if rules.look == "above" and bucket(b, rules) < bucket(a, rules):
        return False
    in_range = distance <= current_range(a, rules, later_ms)
    return in_range and 100 * current_range(b, rules, later_ms) >= rules.reciprocity * distance


def check(tickets: list[Ticket], rules: Rules) -> list[tuple[int, int, int]]:
    """The check function: (seeker, partner, distance)."""
    waiting = list(range(len(tickets)))
    matches = []
    for seeker in range(len(tickets)):
        if seeker not in waiting:
            continue
        options = []
        for other in waiting:
            if other != seeker and may_take(tickets[seeker], tickets[other], rules):
                distance = abs(bucket(tickets[seeker], rules) - bucket(tickets[other], rules))
                options.append((distance, other))
        if options:
            distance, partner = min(options)
            matches.append((seeker, partner, distance))
            waiting.remove(seeker)
            waiting.remove(partner)
    return matches


def next_change_in_ms(tickets: list[Ticket], rules: Rules, most_ms: int) -> int | None:
    """The first moment from 1 to `most_ms` at which a ticket may take another that it may not take now."""
    moments = []
    for ticket in tickets:
        grown = ticket.waited_ms // rules.growth_ms
        while True:
            grown += 1
            moment = grown * rules.growth_ms - ticket.waited_ms
            if moment > most_ms:
                break
            moments.append(moment)
    for moment in sorted(set(moments)):
        for a in tickets:
            for b in tickets:
                if a is not b and may_take(a, b, rules, moment) and not may_take(a, b, rules):
                    return moment
    return None
