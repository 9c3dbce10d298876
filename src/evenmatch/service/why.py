"""Why a ticket waits, for people: a look in the engine thread, the counting in another.

    question ─> engine thread: the ticket, and a snapshot of its queue ─> a thread: matchers/explaining ─> the answer

1. Nobody waits for an explanation but who asked: at most one is worked out at a time, away from engine and event loop,
   and when too many are asked for, more are turned away.
2. The engine copies the columns of a queue, and a large one not every time (`copies`); `as_of_ms` says how old the
   numbers are. A ticket that is not in the copy yet is told when to ask again.
3. Other tickets are counted and measured, never named: who waits learns nothing about whom.
"""

import asyncio
from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.core.backfill_choice import Chances, chances
from evenmatch.core.state import NEVER
from evenmatch.domain.explanation import Explanation, Near
from evenmatch.domain.ids import TICKET_PREFIX, number_of
from evenmatch.domain.match import Reason
from evenmatch.domain.queue import Mode, QueueSpec
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.snapshot import Snapshot
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import Matcher, wave_ranges
from evenmatch.matchers.explaining import explain_wave
from evenmatch.matchers.registry import build

from . import wire
from .handlers import Answer, problem, unknown
from .mailbox import Unavailable
from .plan_words import ALL
from .runner import Runner
from .spans import span
from .views import MatchView, TicketView, Views
from .waiting import WITHOUT_END
from .wave_words import next_wave

_ASKED_MOST: Final = 256
_encode = msgspec.json.Encoder().encode
_NOBODY: Final = {
    one.word
    for one in (
        Reason.NO_OPPONENT_IN_WINDOW,
        Reason.NOBODY_IN_RANGE,
        Reason.NO_FAIR_OPPONENT,
        Reason.KEPT_APART,
        Reason.TOO_FAR,
    )
}
"""Reasons by which nobody could meet the ticket."""
_CAUSES: Final = {
    "left": "its player left the queue",
    "declined": "one of its players declined a proposal",
    "lapsed": "one of its players did not answer a ready check in time",
    "too_long": "it was in the queue for as long as the queue allows",
    "unheard": "its client was not heard of for as long as the queue allows",
    "rules_changed": "the queue was given rules that it does not meet",
    "lost": "one of its players did not answer a ready check, and the connection was lost",
    "start_failed": "the game server said that the match could not start",
    "not_confirmed": "the game server did not say in time that the match has started",
    "operator": "an operator ended it",
    "not_needed": "the match that it was invited to needs nobody any more",
}


class RuleView(msgspec.Struct, frozen=True):
    """A rule, and how many of the others it keeps away from this ticket."""

    name: str
    words: str
    excluded: int
    """Each rule by itself: a ticket that breaks two is counted by both."""


class NearView(msgspec.Struct, frozen=True):
    """Another ticket, by how far away it is."""

    distance: float
    unit: str
    """rating points, buckets, ms of ping, sanction score or association weight"""
    acceptable: bool
    """The two could be matched now."""
    reach_s: float | None
    """Seconds until they could, if both just wait; 0 = now, null = waiting alone does not help."""


class PlacesView(msgspec.Struct, frozen=True):
    """How the ticket stands to running matches of its queue that ask for players."""

    teams: int
    """Teams with open places."""
    fits: int
    """Those of them that would take it now."""
    willing: bool
    """It may be asked."""
    reach_s: float | None = None
    """Seconds until time alone lets it fit another; null = waiting alone does not help."""


class WindowView(msgspec.Struct, frozen=True):
    """Which ratings a ticket takes, now and when it came: where its matcher has windows or ranges."""

    low: float | None
    """null = without end"""
    high: float | None
    first_low: float | None
    """The same for a ticket like it that has not waited yet, by the rules and the others of now."""
    first_high: float | None


class WhyView(msgspec.Struct, frozen=True):
    """Where a ticket stands and, if it waits, why."""

    ticket: str
    queue: str
    status: str
    """waiting, proposed, matched, cancelled or expired"""
    words: str
    """All of it in a few sentences."""
    reason: str | None = None
    """Why the last wave left it waiting."""
    reason_words: str | None = None
    as_of_ms: int | None = None
    """The moment that all below is of; null = it does not wait, or was not looked at yet."""
    waiting: int | None = None
    """Other tickets that wait in the queue."""
    acceptable: int | None = None
    """Those of them that no rule keeps away."""
    rules: list[RuleView] = []
    nearest: NearView | None = None
    """The closest of all whom it may meet, now or later."""
    soonest: NearView | None = None
    """Who will be acceptable first."""
    unlock: str | None = None
    """What would make a match possible; null = nothing more is needed than the next wave."""
    window: WindowView | None = None
    """null = its matcher has none"""
    places: PlacesView | None = None
    """Of running matches that ask for players; null = there are none."""
    plan: str | None = None
    """What the plan of the last wave, or of the wave that its match is of, reached and how far from the best that can
    be at most, in words; null = its matcher does not say, or it was before the server started."""


class WhyAnswer(msgspec.Struct, frozen=True):
    """Why a ticket waits."""

    why: WhyView


class Look(msgspec.Struct, frozen=True, eq=False):
    """What the engine thread found."""

    view: TicketView
    now_ms: int
    spec: QueueSpec | None = None
    mode: Mode = Mode.OPEN
    snapshot: Snapshot | None = None
    row: int = -1
    """Of the ticket in the snapshot; -1 = it is not in it."""
    suspended: int = 0
    """Tickets that wait, but not now."""
    again_ms: int = 0
    """When the queue will be copied again."""
    plan: str | None = None
    """What the matcher said of its plan."""
    chances: Chances | None = None
    """With running matches that ask for players; None = none does."""
    next_wave: str | None = None
    """When it is due, in a sentence."""


class Why:
    """Answers why tickets wait."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._one = asyncio.Semaphore(1)
        self._asked = 0

    async def answer(self, ticket: str) -> Answer:
        """GET /v1/tickets/{id}/why"""
        number = number_of(TICKET_PREFIX, ticket)
        if number is None:
            return unknown(Reasons.UNKNOWN_TICKET, "ticket", ticket)
        if self.runner.full() or self._asked >= _ASKED_MOST:
            self.runner.metrics.refused_busy += 1
            return problem(wire.STOPPING if self.runner.stopping else wire.BUSY)
        self._asked += 1
        try:
            async with self._one:
                found: Look | Refusal | Unavailable = await self.runner.ask(
                    lambda views, now_ms: self.look(views, number, now_ms)
                )
                if isinstance(found, Refusal | Unavailable):
                    return problem(wire.problem_of(found))
                view = await asyncio.to_thread(explained, found) if found.row >= 0 else told(found)
        finally:
            self._asked -= 1
        return Answer(200, _encode(WhyAnswer(view)))

    def look(self, views: Views, number: int, now_ms: int) -> Look | Refusal:
        """The ticket, and its queue if it can be matched; in the engine thread."""
        view = views.ticket(number, now_ms)
        if isinstance(view, Refusal):
            return view
        queue = views.engine.state.queues.get(view.queue)
        if queue is None or view.status != "waiting" or view.suspended:
            match = view.match
            made = None if match is None else self.runner.plan_words.of(match.queue, match.wave)
            return Look(view, now_ms, plan=made)
        copy = self.runner.copies.of(views.engine, queue, now_ms)
        rows = np.flatnonzero(copy.snapshot.ticket == number)
        row = int(rows[0]) if len(rows) else -1
        found = views.engine.state.find_ticket(number)
        asked = None
        if queue.fillings.open and queue.spec.backfill.enabled and found is not None:
            asked = chances(views.engine.state, queue, found[1], now_ms)
        group = int(copy.snapshot.group[row]) if row >= 0 else ALL
        said = self.runner.plan_words.of(view.queue, group=group) if view.reason is not None else None
        return Look(
            *(view, now_ms, queue.spec, queue.mode, copy.snapshot, row, copy.suspended, copy.until_ms, said, asked),
            next_wave=next_wave(views.engine, queue, now_ms),
        )


def explained(look: Look) -> WhyView:
    """Why a ticket of a snapshot waits; takes a pass over the snapshot for every rule."""
    assert look.spec is not None
    assert look.snapshot is not None
    spec, snapshot = look.spec, look.snapshot
    try:
        matcher = build(spec.matcher.name, spec.matcher.parameters)
        found = explain_wave(matcher, snapshot, look.row)
    except MatcherError as error:
        return told(look, f"The matcher cannot plan for this queue: {error}.")
    rules = [RuleView(rule.name, rule.words, rule.excluded) for rule in found.rules]
    if look.suspended:
        words = "one of its players is in another proposal, or in a match that runs"
        rules.insert(0, RuleView("suspended", words, look.suspended))
    age_ms = look.now_ms - snapshot.now_ms
    others, fitting = len(snapshot) - 1 + look.suspended, len(found.acceptable)
    soonest = _near(found.soonest, age_ms, spec)
    unlock = _unlock(look, found, soonest)
    words = f"Of {others:,} other{'s' * (others != 1)} that wait{'s' * (others == 1)}, {fitting:,} could meet it now."
    if unlock is not None and look.mode is not Mode.PAUSED:
        players = int(snapshot.size[[look.row, *found.acceptable]].sum())
        enough = " That is not enough for a match." if fitting else ""
        if fitting and players >= spec.format.seats:
            enough = " No match of them keeps all rules yet."
        words += f"{enough} What would help: {unlock}."
    return msgspec.structs.replace(
        told(look, words, fitting),
        as_of_ms=snapshot.now_ms,
        waiting=others,
        acceptable=fitting,
        rules=rules,
        nearest=_near(found.nearest, age_ms, spec),
        soonest=soonest,
        unlock=unlock,
        window=_window(matcher, snapshot, look.row),
    )


def _window(matcher: Matcher, snapshot: Snapshot, row: int) -> WindowView | None:
    """What a ticket takes now, and what it would if it had just come."""
    fresh = (np.arange(len(snapshot)) != row).astype(np.int64)
    newcomer = msgspec.structs.replace(
        snapshot, waited_ms=snapshot.waited_ms * fresh, misses=snapshot.misses * fresh.astype(snapshot.misses.dtype)
    )
    ends: list[float | None] = []
    for one in (snapshot, newcomer):
        ranges = wave_ranges(matcher, one)
        if ranges is None:
            return None
        for end in ranges:
            value = float(end[row])
            if np.isnan(value):
                return None
            ends.append(round(value, 1) if abs(value) < WITHOUT_END else None)
    return WindowView(*ends)


def _near(near: Near | None, age_ms: int, spec: QueueSpec) -> NearView | None:
    if near is None:
        return None
    reach_s = 0.0 if near.acceptable else None
    if reach_s is None and near.after_waves is not None:
        reach_s = near.after_waves * spec.wave.every_s
    elif reach_s is None and near.after_ms is not None:
        reach_s = max(0.0, (near.after_ms - age_ms) / 1000)
    return NearView(near.distance, near.unit, near.acceptable, reach_s)


def _unlock(look: Look, found: Explanation, soonest: NearView | None) -> str | None:
    if look.mode is Mode.PAUSED:
        return "the queue is paused: an operator must open it again"
    if found.unlock is not None and found.unlock_ms is not None and look.snapshot is not None:
        left_ms = max(0, found.unlock_ms - (look.now_ms - look.snapshot.now_ms))
        return f"{found.unlock}: in {left_ms / 1000:.3g} s"
    if found.unlock is None or soonest is None or soonest.acceptable or soonest.reach_s is None:
        return found.unlock
    return f"{found.unlock}: in {span(soonest.reach_s * 1000)}"


def told(look: Look, more: str = "", fitting: int = 0) -> WhyView:
    """Where a ticket stands, without a look at the others; `fitting`: so many of them could meet it now."""
    view = look.view
    words = _words(view, look.mode, fitting)
    if look.spec is not None and look.row < 0 and not more:
        more = f"It came after the last look at this large queue: ask again in {span(look.again_ms - look.now_ms)}."
    if look.next_wave is not None:
        more = f"{more} {look.next_wave}".strip()
    reason = None if view.reason is None else Reason[view.reason.upper()]
    return WhyView(
        ticket=view.id,
        queue=view.queue,
        status=view.status,
        words=f"{words} {more}".strip() + (f" {_of_plan(view)}: {look.plan}" if look.plan else ""),
        plan=look.plan,
        reason=view.reason,
        reason_words=None if reason is None else reason.text,
        places=_places(look),
    )


def _of_plan(view: TicketView) -> str:
    return "The plan that its match is of" if view.match is not None else "The last wave's plan"


def _places(look: Look) -> PlacesView | None:
    asked = look.chances
    if asked is None or not asked.teams:
        return None
    reach_s = None if asked.next_ms == NEVER else max(0.0, (asked.next_ms - look.now_ms) / 1000)
    return PlacesView(asked.teams, asked.fits, asked.willing, reach_s)


def _words(view: TicketView, mode: Mode, fitting: int) -> str:
    """Where a ticket stands; of a ticket that waits one cause, the one that holds now."""
    waited = f"It has waited for {span(view.waited_ms)}"
    if view.suspended:
        return (
            f"{waited}, and its clock stands still: one of its players is in another proposal, or in a match that runs."
            " It waits on when that is over."
        )
    if view.status == "waiting" and mode is Mode.PAUSED:
        return f"{waited}. The queue is paused: no wave runs until an operator opens it again."
    if view.status == "waiting":
        if fitting and view.reason in _NOBODY:
            return f"{waited}."  # when the last wave ran nobody was there, and by now somebody is
        if view.reason is None:
            since = "came back to the queue, or the server started" if view.misses else "came, or came back"
            return f"{waited}. No wave has looked at it since it {since}."
        return f"{waited}. The last wave left it: {Reason[view.reason.upper()].text}."
    if view.proposal is not None:
        pending: Any = view.proposal.pending
        if pending:
            return f"It is in proposal {view.proposal.id}, which awaits {pending} answer{'s' * (pending > 1)}."
        return f"It is in proposal {view.proposal.id}, and the game server is to confirm that the match has started."
    if view.match is not None:
        return f"It is in match {view.match.id}, which is {view.match.standing}.{_cost(view.match)}"
    return f"It is {view.status}: {_CAUSES.get(view.cause or '', view.cause or 'nobody knows why')}."


def _cost(match: MatchView) -> str:
    """What the match costs, where its matcher tells the terms of that."""
    terms = match.details.get("terms")
    if not isinstance(terms, dict):
        return ""
    named = ", ".join(f"{name} {value:.3g}" for name, value in terms.items() if value)
    gap = match.details.get("gap")
    apart = "" if gap is None else f" Its teams are {gap:.4g} points apart."
    made = f"the sum of {named}" if named else "for all that counts is as it should be"
    return f" Its cost is {match.cost:.4g}, {made}.{apart}"
