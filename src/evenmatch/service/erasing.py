"""All that is known of one player, handed out; and a player forgotten.

Events, checkpoints, records and ratings know players by number, and stay. What goes is the name, which stands in one
table; the attributes of the player's tickets, which are words that somebody else chose; live tickets, blocks of and by
the player, and cool-downs. From then on the number is shown as #n, and whoever comes with the name is somebody new.

Finished tickets and matches are looked for in whole tables, so that is done aside of the engine thread. Whatever
finishes meanwhile is still in the state when the engine thread looks again.
"""

import asyncio
from typing import Any

import msgspec
import numpy as np

from evenmatch.core.state import FREE, MATCHED, State
from evenmatch.domain import commands as cmd
from evenmatch.domain.ids import match_id, ticket_id
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.errors import JournalError
from evenmatch.storage.erasing import Erasure, Traces

from . import result_views, wire
from .access import Caller
from .group import Group, unavailable
from .handlers import Answer, problem, without_server
from .operators import AUDIT_MOST, AuditEntry, audit_entries, noted
from .play import CooldownView, player_view
from .result_views import ChangeView as RatingChangeView
from .result_views import RatingView, ResultView
from .runner import Runner
from .tasks import carry_out, look_up, note
from .views import MatchView, TicketView, Views

_AT_ONCE = 100
"""Tickets or matches that are shown between two groups of orders."""
_ALL = 2**31


class ExportView(msgspec.Struct, frozen=True):
    """All that is known of a player."""

    id: str
    number: int
    """What the journal knows the player by."""
    tickets: list[TicketView]
    matches: list[MatchView]
    results: list[ResultView]
    ratings: list[RatingView]
    history: list[RatingChangeView]
    blocks: list[str]
    cooldowns: list[CooldownView]
    audit: list[AuditEntry]
    """What operators did to the player, and to the player's tickets and matches."""


class ExportAnswer(msgspec.Struct, frozen=True):
    """All that is known of a player."""

    export: ExportView


class ErasedView(msgspec.Struct, frozen=True):
    """A player who was forgotten."""

    shown_as: str
    """How answers name the player from now on."""
    tickets_cancelled: int
    attributes_removed: int
    """Tickets whose attributes were removed, as far as they had any."""
    blocks_removed: int
    """Block lists that changed: the player's own, and those that named the player."""


class ErasedAnswer(msgspec.Struct, frozen=True):
    """A player who was forgotten."""

    erased: ErasedView


def _unknown(name: str) -> Refusal:
    return Refusal(Reasons.UNKNOWN_PLAYER, f"nobody called {name[:128]!r} was ever seen here")


def in_state(state: State, player: int) -> Traces:
    """The tickets and matches in the state that a player is in, finished ones too."""
    tickets: list[int] = []
    matches: list[int] = []
    for queue in state.by_index:
        t = queue.tickets
        if not (queue.players.player[: queue.players.used] == player).any():
            continue
        slots = np.flatnonzero(t.status != FREE)
        if not len(slots):
            continue
        rows = queue.player_rows(slots)
        own = np.repeat(slots, t.size[slots])[queue.players.player[rows] == player]
        tickets += t.ticket[own].tolist()
        matches += t.proposal[own[t.status[own] == MATCHED]].tolist()
    return Traces(sorted(tickets), sorted(matches))


async def _found(runner: Runner, name: str) -> tuple[int, Traces] | Answer:
    """A player's number, and all tickets and matches of the player."""

    def ask(views: Views, _: int) -> tuple[int, Traces] | Refusal:
        number = views.directory.known([name]).get(name)
        return _unknown(name) if number is None else (number, in_state(views.engine.state, number))

    found = await look_up(runner, ask)
    if isinstance(found, Answer):
        return found
    number, live = found
    try:
        kept = await asyncio.to_thread(runner.journal.traces, number)
    except JournalError as error:
        return problem(wire.problem_of(unavailable(error)))
    tickets = sorted({*live.tickets, *kept.tickets})
    return number, Traces(tickets, sorted({*live.matches, *kept.matches}))


# -- export ------------------------------------------------------------------------------------------------------------


async def export_player(runner: Runner, name: str, caller: Caller | None) -> Answer:
    """GET /v1/players/{id}/export"""
    found = await _found(runner, name)
    if isinstance(found, Answer):
        return found
    number, traces = found
    told: dict[str, list[Any]] = {"tickets": [], "matches": [], "results": []}
    looks = (
        ("tickets", traces.tickets, lambda views, one, now_ms: without_server(views.ticket(one, now_ms))),
        ("matches", traces.matches, lambda views, one, _: without_server(views.match(one))),
        ("results", traces.matches, lambda views, one, _: result_views.result_of(views, one)),
    )
    for kind, numbers, look in looks:
        for first in range(0, len(numbers), _AT_ONCE):
            some = numbers[first : first + _AT_ONCE]
            shown = await look_up(
                runner, lambda v, now_ms, some=some, look=look: [look(v, one, now_ms) for one in some]
            )
            if isinstance(shown, Answer):
                return shown
            told[kind] += [one for one in shown if not isinstance(one, Refusal)]
    subjects = {f"#{number}", name, *map(ticket_id, traces.tickets), *map(match_id, traces.matches)}
    audit = await _audit(runner, subjects)
    if isinstance(audit, Answer):
        return audit

    def finish(group: Group) -> ExportView | Refusal:
        views = group.runner.views
        player = player_view(views, name)
        ratings = result_views.ratings_of_player(views, name)
        history = result_views.history_of_player(views, name, None, _ALL)
        for part in (player, ratings, history):
            if isinstance(part, Refusal):
                return part
        note(group, noted(caller, "export_player", f"#{number}"))
        return ExportView(
            id=name,
            number=number,
            ratings=ratings.ratings,  # type: ignore[union-attr]
            history=history.history,  # type: ignore[union-attr]
            blocks=player.blocks,  # type: ignore[union-attr]
            cooldowns=player.cooldowns,  # type: ignore[union-attr]
            audit=audit,
            **told,
        )

    view = await carry_out(runner, finish)
    return view if isinstance(view, Answer) else Answer(200, msgspec.json.encode(ExportAnswer(view)))


async def _audit(runner: Runner, subjects: set[str]) -> list[AuditEntry] | Answer:
    entries: list[AuditEntry] = []
    after = 0
    while True:
        found = await look_up(runner, lambda views, _, after=after: views.journal.audit(after, AUDIT_MOST))
        if isinstance(found, Answer):
            return found
        if not found:
            return entries
        after = found[-1][0]
        about = [row for row in found if row[1]["subject"] in subjects]
        if about:
            shown = await look_up(runner, lambda views, _, about=about: audit_entries(views, about))
            if isinstance(shown, Answer):
                return shown
            entries += shown


# -- erase -------------------------------------------------------------------------------------------------------------


async def erase_player(runner: Runner, name: str, kept: str | None, caller: Caller | None) -> Answer:
    """DELETE /v1/players/{id}; `kept`: "keep" leaves the name."""
    if kept not in (None, "keep"):
        return problem(wire.WireReasons.MALFORMED.problem("name must be keep, or left out"))
    found = await _found(runner, name)
    if isinstance(found, Answer):
        return found
    number, traces = found
    view = await carry_out(runner, lambda group: _erase(group, name, number, traces.tickets, caller, kept is None))
    return view if isinstance(view, Answer) else Answer(200, msgspec.json.encode(ErasedAnswer(view)))


def _erase(
    group: Group, name: str, number: int, tickets: list[int], caller: Caller | None, by_name: bool
) -> ErasedView | Refusal:
    """Forget a player, also by name or not; in the engine thread, all in one commit."""
    engine, directory = group.runner.engine, group.runner.directory
    if directory.known([name]).get(name) != number:  # somebody else was faster
        return _unknown(name)
    state = engine.state
    live = state.live_tickets(number)
    for ticket in live:
        step = group.take(engine.step(cmd.CancelTicket(ticket), group.now_ms))
        assert step.refusal is None, step.refusal
    naming = [(who, blocked) for who, blocked in state.blocks.items() if number in blocked or who == number]
    for who, blocked in naming:
        kept = () if who == number else tuple(other for other in blocked if other != number)
        group.take(engine.step(cmd.SetBlocks(who, kept), group.now_ms))
    group.take(engine.step(cmd.LiftCooldown(number), group.now_ms))
    note(group, noted(caller, "erase_player", f"#{number}", "" if by_name else "all but the name"))
    gone = sorted({*tickets, *in_state(state, number).tickets})
    group.attributes = [row for row in group.attributes if row[0] not in gone]
    if by_name:
        group.erasures.append(Erasure(number, gone))
        directory.forget(name, number)
    else:
        group.attributes += [(ticket, {}) for ticket in gone]
    return ErasedView(f"#{number}", len(live), len(gone), len(naming))
