"""One wave over a list of tickets, without a server: what `evenmatch plan` and `em.plan` do.

tickets (dictionaries, JSON, CSV) -> snapshot -> matcher.plan -> an `Outcome` in the caller's own ids
"""

import inspect
import math
import re
import time
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from evenmatch.domain.match import Plan, Reason, in_names
from evenmatch.domain.queue import SEATS_MAX, TEAMS_MAX, Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.ticket import SIGMA
from evenmatch.domain.words import not_known
from evenmatch.errors import MatcherError, TicketError
from evenmatch.matchers.contract import Matcher, cannot_seat, own_format, plan_wave
from evenmatch.matchers.parameters import whole_number
from evenmatch.matchers.registry import DEFAULT, build
from evenmatch.numerics.quality import evenness, match_quality, rating_totals, team_means
from evenmatch.tickets import TicketInput, brings, parse, to_snapshot

SEED_MAX: Final = 2**63 - 1
_FORMAT: Final = re.compile(r"([0-9]{1,3})x([0-9]{1,3})", re.ASCII)


class MatchOutcome(msgspec.Struct, frozen=True):
    """One suggested match."""

    teams: list[list[str]]
    """Ticket ids, in order of selection."""
    cost: float
    """Lower is better; what it measures is the matcher's own."""
    quality: float | None
    """Predicted evenness, 0 to 1; None where there is one team only."""
    details: dict[str, Any]


class Waiting(msgspec.Struct, frozen=True):
    """A ticket that is in no match, and why."""

    ticket: str
    reason: str
    detail: str


class Outcome(msgspec.Struct, frozen=True):
    """What a matcher makes of some tickets."""

    matcher: str
    parameters: dict[str, Any]
    seed: int
    matches: list[MatchOutcome]
    unmatched: list[Waiting]
    details: dict[str, Any]
    trace: list[dict[str, Any]]
    elapsed_ms: float

    def __len__(self) -> int:
        return len(self.matches)


def read_format(given: object) -> Format:
    """A format such as 2x5: two teams of five."""
    form = given if isinstance(given, Format) else None
    if isinstance(given, str) and (found := _FORMAT.fullmatch(given)):
        form = Format(int(found[1]), int(found[2]))
    if form is None or not 1 <= form.teams <= TEAMS_MAX or form.size < 1 or not 2 <= form.seats <= SEATS_MAX:
        shown = str(form) if isinstance(given, Format) else repr(given)
        raise TicketError(
            f"{shown} is not a format: write TEAMSxSIZE, such as '2x5', with 1 to {TEAMS_MAX} teams and 2 to "
            f"{SEATS_MAX} seats"
        )
    return form


def plan(
    tickets: Iterable[Any],
    matcher: str | Matcher = DEFAULT,
    *,
    format: Format | str | None = None,
    seed: int = 0,
    trace: bool = False,
    **parameters: Any,
) -> Outcome:
    """Run one wave of a matcher over tickets.

    `tickets` are dictionaries {"id", "players": [{"id", "rating", ...}], "waited_s", "misses"}; for one player, the
    player's fields may stand on the ticket. `avoid`, on a ticket or a player, names players of other tickets who must
    not be in the same match. `matcher` is a name with its parameters as keywords, or a matcher made before. Raises
    MatcherError or TicketError (both ValueErrors) with words on what is wrong.
    """
    whole_number("plan", "seed", seed, least=0, most=SEED_MAX)
    if isinstance(matcher, str):
        chosen = build(matcher, parameters)
    elif parameters:
        raise MatcherError(f"{matcher.name} is made already: give {', '.join(parameters)} to its constructor")
    else:
        chosen = matcher
    form = own_format(chosen) if format is None else read_format(format)
    found = parse(tickets)
    if all(cannot_seat(chosen, form, party) is not None for party in range(1, form.size + 1)):
        raise MatcherError(f"{chosen.name}: {cannot_seat(chosen, form, 1)}")
    for ticket in found:
        wrong = cannot_seat(chosen, form, len(ticket.players)) or _lacks(chosen, ticket)
        if wrong is not None:
            raise MatcherError(f"{chosen.name}: ticket {ticket.id!r}: {wrong}")
        if (misused := _misuses(chosen, ticket)) is not None:
            raise TicketError(f"{chosen.name}: ticket {ticket.id!r}: {misused}")
    return _run(chosen, found, form, seed, trace)


def _lacks(matcher: Matcher, ticket: TicketInput) -> str | None:
    """What a ticket does not bring that its matcher needs; the same is asked at the door of a live queue."""
    for group in getattr(matcher, "requires", ()):
        for player in ticket.players:
            if not any(brings(player, name) for name in group):
                return f"player {player.id!r} brings no {' or '.join(group)}"
    return None


def _misuses(matcher: Matcher, ticket: TicketInput) -> str | None:
    """What a ticket brings that its matcher can't use; the same is asked at the door of a live queue."""
    for name, known in getattr(matcher, "choices", {}).items():
        for player in ticket.players:
            for word in getattr(player, name):
                if word not in known:
                    return f"player {player.id!r}: {name}: {not_known(word, known)}"
    if SIGMA in getattr(matcher, "keeps", ()):
        for player in ticket.players:
            sigma = player.profile.get(SIGMA.partition(".")[2])
            if isinstance(sigma, str) or (sigma is not None and sigma < 0):
                return f"player {player.id!r}: {SIGMA} is {sigma!r}: use 0 (the rating is sure) or a number above"
    return None


def _run(matcher: Matcher, tickets: list[TicketInput], form: Format, seed: int, trace: bool) -> Outcome:
    snapshot = to_snapshot(tickets, form)
    ids = sorted(ticket.id for ticket in tickets)
    started = time.perf_counter()
    try:
        made = plan_wave(matcher, snapshot, seed=seed, trace=trace)
    except MatcherError as error:
        raise MatcherError(_with_ids(str(error), ids)) from error
    elapsed_ms = (time.perf_counter() - started) * 1000
    names = [ids[number] for number in snapshot.ticket.tolist()]

    def name_of(number: int) -> str:
        return ids[number] if 0 <= number < len(ids) else str(number)

    details = [in_names(one, name_of) for one in made.match_details or ({},) * len(made.rosters)]
    quality = _quality(snapshot, made)
    return Outcome(
        matcher=matcher.name,
        parameters=parameters_of(matcher),
        seed=seed,
        matches=[
            MatchOutcome(_teams(seating.teams, names, form), seating.cost, even, detail)
            for seating, even, detail in zip(made.matches, quality, details, strict=True)
        ],
        unmatched=[
            Waiting(names[row], Reason(code).word, Reason(code).text)
            for row, code in ((row, int(made.reasons[row])) for row in snapshot.canonical_order().tolist())
            if code != Reason.SEATED
        ],
        details={"bound": None, "optimality_gap": None} | in_names(made.details, name_of),
        trace=[in_names(step, name_of) for step in made.trace],
        elapsed_ms=elapsed_ms,
    )


def _teams(teams: tuple[tuple[int, ...], ...], names: list[str], form: Format) -> list[list[str]]:
    return [[names[row] for row in team] for team in teams] + [[] for _ in range(form.teams - len(teams))]


def _quality(snapshot: Snapshot, made: Plan) -> list[float | None]:
    """How even each match is expected to be: by the gap that a matcher tells, else by the teams' mean ratings."""
    if made.match_details and all("gap" in one for one in made.match_details):
        return [float(evenness(one["gap"])) for one in made.match_details]
    means = team_means(made.rosters, made.team_of, rating_totals(snapshot), snapshot.size, snapshot.format.teams)
    return [None if math.isnan(value) else value for value in match_quality(means).tolist()]


def parameters_of(matcher: Matcher) -> dict[str, Any]:
    """A matcher's parameters, the defaults included."""
    return {name: getattr(matcher, name) for name in inspect.signature(type(matcher)).parameters}


def _with_ids(message: str, ids: list[str]) -> str:
    """A matcher's complaint, with the caller's ids for ticket numbers."""
    return re.sub(
        r"\bticket (\d+)\b", lambda m: f"ticket {ids[int(m[1])]!r}" if int(m[1]) < len(ids) else m[0], message
    )
