"""Events as a ticket's owner hears of them, live and on resuming.

`mentions` says, for every ticket an event touches, what happened to it and which event touched it before. The live push
and the story that is read back from the journal are both made of it, so they cannot differ.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec
import numpy as np

from evenmatch.domain import backfill_events as bev
from evenmatch.domain import batch_events as many
from evenmatch.domain import events as ev
from evenmatch.domain.arrays import Array
from evenmatch.domain.ids import match_id, proposal_id, ticket_id
from evenmatch.domain.refusals import Refusal
from evenmatch.domain.ticket import Cause

from .views import MatchView, Views, venue_of

TERMINAL = frozenset({"matched", "cancelled", "expired"})
"""After one of these a ticket's story is over; but a match whose game server is still asked for goes on with it, and so
does one that asks for players."""
_OF_MATCHES = frozenset({"starting", "matched", "server", "unserved", "backfill", "filled", "unfilled"})
"""Messages that show the match."""


class Mention(msgspec.Struct, frozen=True, eq=False):
    """Tickets to which the same thing happened."""

    type: str
    tickets: Array
    previous: Array
    proposals: Array | None = None
    """The proposal of each ticket, where there is one."""
    cause: str | None = None


class Told(msgspec.Struct, frozen=True):
    """One message to a ticket's owner, ready to send."""

    ticket: int
    sequence: int
    text: str
    terminal: bool
    kind: str = ""
    """Its type, as it stands in the text."""


def mentions(event: ev.Event) -> Iterator[Mention]:
    """What an event means for the tickets it touches."""
    match event:
        case ev.TicketsJoined():
            count = len(event.size)
            tickets = np.arange(event.first_ticket, event.first_ticket + count)
            yield Mention("queued", tickets, np.zeros(count, np.int64))
        case ev.TicketsGone():
            cause = Cause(event.cause)
            yield Mention(cause.status.word, event.ticket, event.previous, cause=cause.word)
        case ev.WaveFinished():
            filled = event.roster >= 0
            numbers = np.repeat(event.first_proposal + np.arange(len(event.roster)), filled.sum(axis=1))
            kind = "proposed" if event.deadline_ms else "starting" if event.confirm_ms else "matched"
            yield Mention(kind, event.roster[filled], event.previous[filled], numbers)
        case ev.Accepted():
            yield Mention("accepted", event.ticket, event.previous, np.full(len(event.ticket), event.proposal))
        case many.ManyAccepted():
            yield Mention("accepted", event.ticket, event.previous, event.proposal)
        case many.MatchesMade():
            yield Mention("matched", event.ticket, event.previous, event.proposal)
        case ev.MatchStarting():
            yield Mention("starting", event.ticket, event.previous, np.full(len(event.ticket), event.proposal))
        case ev.TicketUpdated():
            yield Mention("updated", np.array([event.ticket]), np.array([event.previous]))
        case ev.MatchMade():
            yield Mention("matched", event.ticket, event.previous, np.full(len(event.ticket), event.proposal))
        case ev.ServerAllocated() | ev.AllocationFailed():
            kind = "server" if isinstance(event, ev.ServerAllocated) else "unserved"
            yield Mention(kind, event.ticket, event.previous, np.full(len(event.ticket), event.match))
        case bev.BackfillAsked():
            yield Mention("backfill", event.ticket, event.previous, np.full(len(event.ticket), event.match))
        case bev.PlacesOffered():
            numbers = event.first_proposal + np.arange(len(event.ticket))
            yield Mention("proposed", event.ticket, event.previous, numbers)
        case bev.MatchFilled():
            yield Mention("matched", np.array([event.ticket]), np.array([event.previous]), np.array([event.match]))
            yield Mention("filled", event.inside, event.inside_previous, np.full(len(event.inside), event.match))
        case bev.BackfillClosed():
            numbers = np.full(len(event.ticket), event.match)
            yield Mention("unfilled", event.ticket, event.previous, numbers, cause=event.cause)
        case ev.ProposalsFailed():
            cause_word = Cause(event.cause).word
            lost = np.isin(event.blamed, event.lost)
            for mask, word in ((~lost, cause_word), (lost, Cause.LOST.word)):
                if mask.any():
                    yield Mention("cancelled", event.blamed[mask], event.blamed_previous[mask], cause=word)
            yield Mention("requeued", event.returned, event.returned_previous, cause=cause_word)


def _message(
    views: Views,
    event: ev.Event,
    sequence: int,
    mention: Mention,
    place: int,
    seen: dict[int, MatchView | Refusal] | None = None,
) -> Told:
    """`seen`: matches that were looked up for other tickets of the same event."""
    ticket = int(mention.tickets[place])
    content: dict[str, Any] = {
        "sequence": sequence,
        "type": mention.type,
        "ticket": ticket_id(ticket),
        "queue": getattr(event, "queue", None),
        "at_ms": event.at_ms,
    }
    if mention.cause is not None:
        content["cause"] = mention.cause
    number = None if mention.proposals is None else int(mention.proposals[place])
    if isinstance(event, ev.Accepted):
        content["proposal"] = {"id": proposal_id(event.proposal)}
        content["player"] = views.directory.names([event.player])[event.player]
        content["pending"] = event.pending
    elif isinstance(event, many.ManyAccepted) and number is not None:
        content["proposal"] = {"id": proposal_id(number)}
        last = int(event.player[event.accepts == number][-1])
        content["player"] = views.directory.names([last])[last]
        content["pending"] = int(event.pending[place])
    elif isinstance(event, ev.WaveFinished) and event.deadline_ms and number is not None:
        content["proposal"] = {
            "id": proposal_id(number),
            "deadline_ms": event.deadline_ms,
            "timeout_ms": event.deadline_ms - event.at_ms,
        }
        details = event.details[number - event.first_proposal] if len(event.details) else {}
        if venue := venue_of(details):
            content["proposal"]["venue"] = venue
    elif isinstance(event, bev.PlacesOffered) and number is not None:
        content["proposal"] = {
            "id": proposal_id(number),
            "deadline_ms": event.deadline_ms,
            "timeout_ms": event.deadline_ms - event.at_ms,
            "joins": match_id(int(event.match[place])),
        }
        if venue := views.venue(int(event.match[place])):
            content["proposal"]["venue"] = venue
    terminal = mention.type in TERMINAL
    if mention.type in _OF_MATCHES and number is not None:
        match = None if seen is None else seen.get(number)
        if match is None:
            match = views.match(number)
            if seen is not None:
                seen[number] = match
        content["match"] = None if isinstance(match, Refusal) else match
        goes_on = not isinstance(match, Refusal) and views.goes_on(match.queue, number)
        if mention.type == "matched":
            terminal = not goes_on
        elif mention.type not in ("starting", "backfill"):
            terminal = not isinstance(match, Refusal) and match.standing != "starting" and not goes_on
    if isinstance(event, bev.BackfillAsked):
        gone = [player for player in event.instead_of.tolist() if player]
        names = views.directory.names(gone)
        content["left"] = [names[player] for player in gone]
    if isinstance(event, bev.MatchFilled):
        content["joined"] = ticket_id(event.ticket)
    if isinstance(event, ev.ServerAllocated):
        content["server"] = {"address": event.address, "port": event.port, "token": event.token}
    return Told(ticket, sequence, msgspec.json.encode(content).decode(), terminal, mention.type)


def live(views: Views, first: int, events: Iterable[ev.Event], listening: Collection[int]) -> list[Told]:
    """The messages of fresh events, from a sequence on, to those tickets whose owners are listening."""
    told: list[Told] = []
    if not listening:
        return told
    for sequence, event in enumerate(events, first):
        seen: dict[int, MatchView | Refusal] = {}
        for mention in mentions(event):
            for place, ticket in enumerate(mention.tickets.tolist()):
                if ticket in listening:
                    told.append(_message(views, event, sequence, mention, place, seen))
    return told


def heard_by(player: str | None, message: Told) -> Told:
    """A message as who listens may hear it: a player is not told where others are (`discretion`)."""
    if player is None or '"teams":' not in message.text:
        return message
    content = msgspec.json.decode(message.text)
    for team in (content.get("match") or {}).get("teams", ()):
        for ticket in team["tickets"]:
            for one in ticket["players"]:
                if one["id"] != player:
                    one.pop("latencies", None)
                    one.pop("region", None)
                    one["ping_ms"] = None
    return msgspec.structs.replace(message, text=msgspec.json.encode(content).decode())


class Story(msgspec.Struct, frozen=True):
    """A ticket's messages, oldest first, and the sequence of its last event whether told or not."""

    told: list[Told]
    last: int
    over: bool
    """The ticket is finished: nothing will follow."""


class TooOld(msgspec.Struct, frozen=True):
    """The journal no longer keeps what came right after the sequence asked for."""

    oldest: int


def story(views: Views, ticket: int, after: int | None, now_ms: int) -> Story | Refusal | TooOld:
    """A ticket's messages after a sequence (None = all that are kept), oldest first."""
    found = views.progress(ticket, now_ms)
    if isinstance(found, Refusal):
        return found
    last, over = found
    sequence = last
    told: list[Told] = []
    while sequence > (after or 0):
        event = views.journal.event(sequence)
        if event is None:
            if after is None:
                break
            return TooOld(views.journal.oldest)
        for mention in mentions(event):
            places = np.flatnonzero(mention.tickets == ticket)
            if len(places):
                told.append(_message(views, event, sequence, mention, int(places[0])))
                sequence = int(mention.previous[places[0]])
                break
        else:
            raise AssertionError(f"event {sequence} does not mention ticket {ticket}")
    told.reverse()
    told[:-1] = [msgspec.structs.replace(message, terminal=False) for message in told[:-1]]
    return Story(told, last, over)
