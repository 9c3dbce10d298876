"""What operators ask for, and how it is noted: an action of theirs and its entry in the audit are one commit."""

from typing import Any

import msgspec

from evenmatch.domain import commands as cmd
from evenmatch.domain.ids import MATCH_PREFIX, TICKET_PREFIX, number_of
from evenmatch.domain.refusals import Reasons, Refusal

from . import wire
from .access import Caller
from .bodies import ModeBody, WhyBody
from .group import Group
from .handlers import Answer, command, problem, turned_away, unknown
from .mailbox import Unavailable
from .runner import Runner
from .tasks import carry_out, note
from .views import Views

AUDIT_MOST = 1_000
"""Entries in one answer."""
WHY_MOST = 1_000
"""Characters of a reason that are kept."""
_SEQUENCE_MOST = 2**63 - 1


class AuditEntry(msgspec.Struct, frozen=True):
    """One thing that an operator did."""

    sequence: int
    """Of its event in the journal."""
    at_ms: int
    who: str
    """The key's name and id."""
    action: str
    subject: str
    detail: str
    lane: int | msgspec.UnsetType = msgspec.UNSET
    """Whose sequence it is, where the server has several lanes."""


class AuditAnswer(msgspec.Struct, frozen=True):
    """A stretch of the audit, oldest first."""

    entries: list[AuditEntry]
    after: int | str
    """Go on from here; a text where the server has several lanes."""


def noted(caller: Caller | None, action: str, subject: str, detail: str = "") -> cmd.NoteAction | None:
    """The entry for an action, if it is an operator who acts."""
    if caller is None or caller.role != "operator":
        return None
    return cmd.NoteAction(caller.who, action, subject, detail)


def because(why: str, what: str) -> str:
    """What is noted of an action that says by itself what it does: first why, if that was said."""
    return (f"{why[:WHY_MOST]}; {what}" if why and what else why or what)[:WHY_MOST]


async def end_match(runner: Runner, match: str, caller: Caller | None) -> Answer:
    """POST /v1/matches/{id}/end"""
    number = number_of(MATCH_PREFIX, match)
    if number is None:
        return unknown(Reasons.UNKNOWN_MATCH, "match", match)
    refused = await command(runner, lambda _: cmd.EndMatch(number), audit=noted(caller, "end_match", match))
    return refused or Answer(204)


async def cancel(
    runner: Runner, name: str, why: WhyBody | wire.Problem, caller: Caller | None, *, match: bool
) -> Answer:
    """POST /v1/tickets/{id}/cancel and /v1/matches/{id}/cancel"""
    if isinstance(why, wire.Problem):
        return problem(why)
    number = number_of(MATCH_PREFIX if match else TICKET_PREFIX, name)
    if number is None:
        reason, kind = (Reasons.UNKNOWN_MATCH, "match") if match else (Reasons.UNKNOWN_TICKET, "ticket")
        return unknown(reason, kind, name)
    order = cmd.CancelMatch(number) if match else cmd.CancelTicket(number)
    entry = noted(caller, "cancel_match" if match else "cancel_ticket", name, why.why[:WHY_MOST])
    return await command(runner, lambda _: order, audit=entry) or Answer(204)


async def set_mode(runner: Runner, queue: str, body: ModeBody | wire.Problem, caller: Caller | None) -> Answer:
    """PUT /v1/queues/{queue}/mode"""
    if isinstance(body, wire.Problem):
        return problem(body)
    entry = noted(caller, f"set_mode {body.mode}", queue, body.why[:WHY_MOST])
    return await command(runner, lambda _: cmd.SetMode(queue, body.mode), audit=entry) or Answer(204)


async def lift_cooldown(
    runner: Runner, player: str, queue: str | None, why: str | None, caller: Caller | None
) -> Answer:
    """DELETE /v1/players/{id}/cooldowns"""

    def lift(group: Group) -> Refusal | None:
        number = runner.directory.known([player]).get(player)
        if number is None:
            return Refusal(Reasons.UNKNOWN_PLAYER, f"nobody called {player[:128]!r} was ever seen here")
        refusal = group.take(runner.engine.step(cmd.LiftCooldown(number, queue or ""), group.now_ms)).refusal
        if refusal is None:
            note(group, noted(caller, "lift_cooldown", f"#{number}", because(why or "", queue or "")))
        return refusal

    return await carry_out(runner, lift) or Answer(204)


async def audit(runner: Runner, after: str | None, limit: str | None) -> Answer:
    """GET /v1/audit"""
    start = _whole("after", after, 0, 0, _SEQUENCE_MOST)
    most = _whole("limit", limit, 100, 1, AUDIT_MOST)
    if isinstance(start, wire.Problem):
        return problem(start)
    if isinstance(most, wire.Problem):
        return problem(most)
    busy = turned_away(runner)
    if busy is not None:
        return busy
    entries = await runner.ask(lambda views, _: audit_entries(views, views.journal.audit(start, most)))
    if isinstance(entries, Unavailable):
        return problem(wire.problem_of(entries))
    last = entries[-1].sequence if entries else start
    return Answer(200, msgspec.json.encode({"entries": entries, "after": last}))


def audit_entries(views: Views, rows: list[tuple[int, dict[str, Any]]]) -> list[AuditEntry]:
    """Actions as they are shown: the journal knows players by number, for names can be erased."""
    numbers = {f"#{number}": number for _, row in rows if (number := _player_number(row["subject"]))}
    names = views.directory.names(list(numbers.values()))
    shown = {subject: names[number] for subject, number in numbers.items()}
    return [AuditEntry(at, **row | {"subject": shown.get(row["subject"], row["subject"])}) for at, row in rows]


def _player_number(subject: str) -> int:
    digits = subject[1:]
    known = subject.startswith("#") and digits.isascii() and digits.isdigit() and len(digits) < 19
    return int(digits) if known else 0


def _whole(name: str, text: str | None, default: int, least: int, most: int) -> int | wire.Problem:
    if text is None:
        return default
    if text.isascii() and text.isdigit() and len(text) <= 19 and least <= int(text) <= most:
        return int(text)
    return wire.WireReasons.MALFORMED.problem(f"{name} must be a whole number from {least} to {most}")
