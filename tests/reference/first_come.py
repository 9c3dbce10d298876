"""First come, first served, as plainly as it can be said."""

from functools import cache

from evenmatch.domain.match import Reason
from evenmatch.domain.queue import Format


@cache
def can_fill(rooms: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    """Whether some of the parties fill all rooms exactly: each party in turn stays out or goes anywhere."""
    if not any(rooms):
        return True
    if not sizes:
        return False
    first, rest = sizes[0], sizes[1:]
    if can_fill(rooms, rest):
        return True
    return any(
        can_fill(tuple(sorted((*rooms[:team], room - first, *rooms[team + 1 :]))), rest)
        for team, room in enumerate(rooms)
        if room >= first
    )


def match_of(anchor: int, waiting: list[int], size: dict[int, int], form: Format) -> list[tuple[int, int]] | None:
    """The match of an anchor as (ticket, team) in order of selection, or None if there is none."""
    rooms = [form.size] * form.teams
    match: list[tuple[int, int]] = []
    for ticket in [anchor, *[other for other in waiting if other != anchor]]:
        for team in range(form.teams):
            after = rooms.copy()
            after[team] -= size[ticket]
            chosen = [ticket, *[seated for seated, _ in match]]
            others = sorted(size[other] for other in waiting if other not in chosen)
            if after[team] >= 0 and can_fill(tuple(sorted(after)), tuple(others)):
                match.append((ticket, team))
                rooms = after
                break
        else:
            if ticket == anchor:
                return None
    return match


def first_come(sizes: list[int], form: Format) -> tuple[list[list[tuple[int, int]]], list[Reason]]:
    """Matches and reasons for tickets 0, 1, ... in canonical order."""
    size = dict(enumerate(sizes))
    waiting = [ticket for ticket in size if size[ticket] <= form.size]
    matches = []
    reasons = [Reason.PARTY_TOO_LARGE] * len(sizes)
    found = True
    while found:
        found = False
        for anchor in waiting:
            match = match_of(anchor, waiting, size, form)
            if match is not None:
                matches.append(match)
                for ticket, _ in match:
                    waiting.remove(ticket)
                    reasons[ticket] = Reason.SEATED
                found = True
                break
    few = sum(size[ticket] for ticket in waiting) < form.seats
    for ticket in waiting:
        reasons[ticket] = Reason.TOO_FEW_PLAYERS if few else Reason.NO_FITTING_PARTIES
    return matches, reasons
