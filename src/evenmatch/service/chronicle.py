"""What happens, for the log: a line for each wave, match, failed ready check, operator's action and letter.

    engine thread: commit ─> committed(events): hand them over ─> a thread: lines_of ─> Lines, many at once

1. Off the hot path. The engine hands over the events that the level asks for; words are made and written elsewhere. Who
   reads the log too slowly holds nobody up: lines are left out, and their number is told.
2. `info` has waves and matches, `debug` every ticket and refusal as well. A large event has 1,000 lines at most.
3. No names and no secrets: tickets, proposals and matches by id, players not at all. A log cannot be erased.
"""

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from evenmatch.domain import backfill_events as bev
from evenmatch.domain import batch_events as many
from evenmatch.domain import events as ev
from evenmatch.domain.ids import match_id, proposal_id, ticket_id
from evenmatch.domain.ticket import Cause

from .log_lines import Lines, line_of, moment

MOST: Final = 1_000
"""Lines of one event."""
_WAITING_MOST: Final = 1_000
"""Commits that may wait to be told of."""
_TOGETHER: Final = 64
_GOODBYE_S: Final = 5.0
_INFO: Final = (
    ev.WaveFinished,
    ev.MatchStarting,
    ev.MatchMade,
    many.MatchesMade,
    ev.ProposalsFailed,
    ev.QueueModeSet,
    ev.ServerAllocated,
    ev.AllocationFailed,
    ev.ResultReported,
    ev.ResultCorrected,
    ev.SeasonStarted,
    ev.OperatorActed,
    bev.BackfillAsked,
    bev.MatchFilled,
    bev.BackfillClosed,
)
_DEBUG: Final = (
    *_INFO,
    ev.TicketsJoined,
    ev.TicketsGone,
    ev.TicketUpdated,
    ev.Accepted,
    many.ManyAccepted,
    ev.ContactLost,
    ev.MatchesEnded,
    bev.PlacesOffered,
)
Told = tuple[str, dict[str, Any]]
_KINDS: Final = {"queues": "queue", "tickets": "ticket", "proposals": "proposal", "matches": "match"}


def lines_of(event: ev.Event, *, debug: bool) -> Iterator[Told]:
    """What an event means, as happenings with their fields."""
    match event:
        case ev.WaveFinished():
            yield from _wave(event, debug=debug)
        case ev.MatchStarting():
            yield "match to start", _match(event.queue, event.proposal, event.ticket)
        case ev.MatchMade():
            yield "match made", _match(event.queue, event.proposal, event.ticket)
        case many.MatchesMade():
            yield from _matches(event)
        case ev.ProposalsFailed():
            fields: dict[str, Any] = {"queue": event.queue, "cause": Cause(event.cause).word}
            fields["proposals"] = [proposal_id(one) for one in event.proposal[:MOST].tolist()]
            fields |= {"blamed": [ticket_id(one) for one in event.blamed[:MOST].tolist()]}
            yield "ready check failed", fields | {"requeued": len(event.returned)}
        case ev.QueueModeSet():
            yield "queue mode", {"queue": event.queue, "mode": event.mode.value}
        case ev.ServerAllocated():
            yield "game server", {"queue": event.queue, "match": match_id(event.match), "attempts": event.attempts}
        case ev.AllocationFailed():
            fields = {"queue": event.queue, "match": match_id(event.match), "attempts": event.attempts}
            yield "letter given up", fields | {"why": event.why}
        case ev.ResultReported():
            yield "result", {"queue": event.queue, "match": match_id(event.match)}
        case ev.ResultCorrected():
            yield "result corrected", {"queue": event.queue, "match": match_id(event.match), "void": event.void}
        case ev.SeasonStarted():
            yield "season", {"queue": event.queue, "ladder": event.ladder, "season": event.season}
        case ev.OperatorActed():
            fields = {"who": event.who, "action": event.action, "subject": event.subject}
            yield "operator", fields | ({"detail": event.detail} if event.detail else {})
        case bev.BackfillAsked():
            yield "places open", {"queue": event.queue, "match": match_id(event.match), "places": len(event.team)}
        case bev.MatchFilled():
            yield "match filled", _match(event.queue, event.match, np.array([event.ticket]))
        case bev.BackfillClosed():
            fields = {"queue": event.queue, "match": match_id(event.match), "places": len(event.place)}
            yield "places closed", fields | {"cause": event.cause}
        case _ if debug:
            yield from _of_tickets(event)


def _wave(event: ev.WaveFinished, *, debug: bool) -> Iterator[Told]:
    told = {"queue": event.queue, "wave": event.wave}
    yield (
        "wave",
        told
        | {
            "waiting": event.waiting,
            "proposals": len(event.roster),
            "dropped": event.dropped,
            "ms": event.at_ms - event.started_ms,
        },
    )
    asked = bool(event.deadline_ms)
    if asked and not debug:
        return  # a proposal is told of when something comes of it
    what = "proposal" if asked else "match to start" if event.confirm_ms else "match made"
    for place, tickets in enumerate(event.roster[:MOST].tolist()):
        number = event.first_proposal + place
        named = {"proposal": proposal_id(number)} if asked else {"match": match_id(number)}
        yield what, told | named | {"tickets": [ticket_id(ticket) for ticket in tickets if ticket >= 0]}
    if len(event.roster) > MOST:
        yield f"more of the kind: {what}", told | {"count": len(event.roster) - MOST}


def _matches(event: many.MatchesMade) -> Iterator[Told]:
    matches = np.unique(event.proposal)
    for match in matches[:MOST].tolist():
        yield "match made", _match(event.queue, match, event.ticket[event.proposal == match])
    if len(matches) > MOST:
        yield "more of the kind: match made", {"queue": event.queue, "count": len(matches) - MOST}


def _match(queue: str, proposal: int, tickets: Any) -> dict[str, Any]:
    return {"queue": queue, "match": match_id(proposal), "tickets": [ticket_id(one) for one in tickets.tolist()]}


def _of_tickets(event: ev.Event) -> Iterator[Told]:
    """The lines that a ticket at a time has."""
    match event:
        case ev.TicketsJoined():
            for place, size in enumerate(event.size[:MOST].tolist()):
                yield "join", {"queue": event.queue, "ticket": ticket_id(event.first_ticket + place), "players": size}
            if len(event.size) > MOST:
                yield "more of the kind: join", {"queue": event.queue, "count": len(event.size) - MOST}
        case ev.TicketsGone():
            cause = Cause(event.cause).word
            for ticket in event.ticket[:MOST].tolist():
                yield "gone", {"queue": event.queue, "ticket": ticket_id(ticket), "cause": cause}
            if len(event.ticket) > MOST:
                yield "more of the kind: gone", {"queue": event.queue, "count": len(event.ticket) - MOST}
        case ev.TicketUpdated():
            yield "ticket changed", {"queue": event.queue, "ticket": ticket_id(event.ticket)}
        case ev.Accepted():
            named = {"queue": event.queue, "proposal": proposal_id(event.proposal)}
            yield "accepted", named | {"pending": event.pending}
        case many.ManyAccepted():
            asked, first = np.unique(event.proposal, return_index=True)
            for proposal, place in zip(asked[:MOST].tolist(), first[:MOST].tolist(), strict=True):
                named = {"queue": event.queue, "proposal": proposal_id(proposal)}
                yield "accepted", named | {"pending": int(event.pending[place])}
            if len(asked) > MOST:
                yield "more of the kind: accepted", {"queue": event.queue, "count": len(asked) - MOST}
        case ev.ContactLost():
            yield (
                "contact lost",
                {"queue": event.queue, "tickets": [ticket_id(t) for t in event.ticket[:MOST].tolist()]},
            )
        case bev.PlacesOffered():
            invited = zip(event.ticket[:MOST].tolist(), event.match[:MOST].tolist(), strict=True)
            for place, (ticket, match) in enumerate(invited):
                named = {"proposal": proposal_id(event.first_proposal + place), "match": match_id(match)}
                yield "invited", {"queue": event.queue, "ticket": ticket_id(ticket)} | named
        case ev.MatchesEnded():
            matches = [match_id(one) for one in event.proposal[:MOST].tolist()]
            yield "matches over", {"queue": event.queue, "matches": matches, "cancelled": event.cancelled}


class Chronicle:
    """Tells the log of one server."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self._debug = lines.level <= logging.DEBUG
        self._told = _DEBUG if self._debug else _INFO if lines.level <= logging.INFO else ()
        self._waiting: queue.Queue[tuple[int, Sequence[ev.Event], str] | None] = queue.Queue(_WAITING_MOST)
        self._left_out = 0
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def committed(self, first: int, events: Sequence[ev.Event]) -> None:
        """Tell of events that are durable; `first` is the sequence of the first. Never waits."""
        if self._told and any(isinstance(event, self._told) for event in events):
            self._hand((first, events, ""))

    def refused(self, method: str, path: str, status: int, reason: str) -> None:
        """Tell of a request that was refused, at debug; of its path only what names no player."""
        if not self._debug:
            return
        parts = path.split("/")
        fields: dict[str, Any] = {"method": method, "status": status, "reason": reason}
        if len(parts) > 3 and parts[2] in _KINDS:
            fields[_KINDS[parts[2]]] = parts[3][:64]
        now = moment(time.time_ns() // 1_000_000)
        self._hand((0, (), line_of(self.lines.form, now, "debug", "refused", fields) + "\n"))

    def _hand(self, told: tuple[int, Sequence[ev.Event], str]) -> None:
        try:
            self._waiting.put_nowait(told)
        except queue.Full:
            self._left_out += 1

    def close(self) -> None:
        """Write what waits."""
        with contextlib.suppress(queue.Full):
            self._waiting.put(None, timeout=_GOODBYE_S)
            self._thread.join(_GOODBYE_S)

    def _write(self) -> None:
        over = False
        while not over:
            waiting = [self._waiting.get()]
            with contextlib.suppress(queue.Empty):
                while len(waiting) < _TOGETHER:
                    waiting.append(self._waiting.get_nowait())
            over = None in waiting
            text = "".join(self._lines(*told) for told in waiting if told is not None)
            left_out, self._left_out = self._left_out, 0
            if left_out:
                now = moment(time.time_ns() // 1_000_000)
                text += line_of(self.lines.form, now, "warning", "log too slow", {"commits": left_out}) + "\n"
            with contextlib.suppress(OSError, ValueError):  # whoever read it is gone: nobody else must be
                self.lines.write(text)

    def _lines(self, first: int, events: Sequence[ev.Event], ready: str) -> str:
        found = [ready]
        for sequence, event in enumerate(events, first):
            if isinstance(event, self._told):
                level = "info" if isinstance(event, _INFO) else "debug"
                at = moment(event.at_ms)
                for what, fields in lines_of(event, debug=self._debug):
                    shown = "debug" if what == "proposal" else level
                    found.append(line_of(self.lines.form, at, shown, what, {"sequence": sequence, **fields}) + "\n")
        return "".join(found)
