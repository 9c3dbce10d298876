"""What a journal tells of a queue: who joined when and with what, how it ended for them, and whom they played.

Only what other rules could have used is taken: joins, changes of waiting tickets, and the moments at which people left.
"""

from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.domain import batch_events as many
from evenmatch.domain import events as ev
from evenmatch.domain.arrays import Array
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.ticket import FACTS, Cause, Member, TicketRequest
from evenmatch.errors import LabError
from evenmatch.storage.protocol import Journal

from .log import End

__all__ = ["Past", "Story", "Wish", "read"]

_ENDS: Final = {int(Cause.LEFT): End.GAVE_UP, int(Cause.OPERATOR): End.GAVE_UP}


class Wish(msgspec.Struct, frozen=True):
    """A ticket as it joined."""

    at_ms: int
    ticket: int
    request: TicketRequest


class Story:
    """How it went for tickets, and the matches that were made; the same for what was and for what would have been."""

    def __init__(self) -> None:
        self.joined_ms: dict[int, int] = {}
        self.offered_ms: dict[int, int] = {}
        """When a ticket was first proposed a match."""
        self.ended_ms: dict[int, int] = {}
        self.end: dict[int, End] = {}
        self.rating: dict[int, float] = {}
        """The mean of a ticket's players."""
        self.size: dict[int, int] = {}
        self.matches: list[tuple[int, float]] = []
        """When each was made, and the gap between the mean ratings of its strongest and weakest team."""

    def join(self, ticket: int, at_ms: int, members: tuple[Member, ...]) -> None:
        """A ticket begins to wait."""
        self.joined_ms[ticket] = at_ms
        self.end[ticket] = End.WAITING
        self.rating[ticket] = sum(member.rating for member in members) / len(members)
        self.size[ticket] = len(members)

    def offer(self, tickets: Array, at_ms: int) -> None:
        """A proposal: its tickets are in a ready check."""
        for ticket in tickets.tolist():
            if ticket in self.end:
                self.offered_ms.setdefault(ticket, at_ms)
                self.end[ticket] = End.PROPOSED

    def wait_on(self, tickets: Array) -> None:
        """The ready check of these failed through others."""
        for ticket in tickets.tolist():
            if ticket in self.end:
                self.end[ticket] = End.WAITING

    def leave(self, ticket: int, at_ms: int, how: End) -> None:
        """A ticket waits no more."""
        if ticket in self.end:
            self.end[ticket], self.ended_ms[ticket] = how, at_ms

    def made(self, tickets: Array, teams: Array, at_ms: int) -> None:
        """A match."""
        strength: dict[int, list[float]] = {}
        self.offer(tickets, at_ms)
        for ticket, team in zip(tickets.tolist(), teams.tolist(), strict=True):
            self.leave(ticket, at_ms, End.MATCHED)
            if ticket in self.rating:
                strength.setdefault(team, []).extend([self.rating[ticket]] * self.size[ticket])
        means = [sum(ratings) / len(ratings) for ratings in strength.values()]
        if len(means) == 1:  # a lobby: how far apart its players are
            means = next(iter(strength.values()))
        self.matches.append((at_ms, max(means) - min(means) if means else 0.0))


class Past(msgspec.Struct, frozen=True, eq=False):
    """A queue's past."""

    spec: QueueSpec
    """Its rules at the end."""
    wishes: list[Wish]
    departures: list[tuple[int, int]]
    """When a ticket left of itself: moment, ticket"""
    story: Story
    first_ms: int
    last_ms: int
    changes: int
    """How often its rules changed meanwhile."""


def read(journal: Journal, queue: str | None) -> Past:
    """The past of a queue; where there is only one that anybody joined, it need not be named."""
    chosen = _Reader(queue if queue is not None else _only(journal))
    for _, event in journal.read(journal.oldest - 1):
        chosen.take(event)
    return chosen.past()


def _only(journal: Journal) -> str:
    joined = {event.queue for _, event in journal.read(journal.oldest - 1) if isinstance(event, ev.TicketsJoined)}
    if len(joined) != 1:
        known = ", ".join(sorted(joined)) or "none"
        raise LabError(f"say which queue with --queue: the journal has joins of {known}")
    return joined.pop()


class _Reader:
    def __init__(self, queue: str) -> None:
        self.queue = queue
        self.spec: QueueSpec | None = None
        self.wishes: list[Wish] = []
        self.departures: list[tuple[int, int]] = []
        self.story = Story()
        self.changes = -1
        self.first_ms = self.last_ms = 0
        self._proposals: dict[int, tuple[Array, Array]] = {}

    def take(self, event: ev.Event) -> None:
        if isinstance(event, ev.QueueOpened):
            if event.spec.name == self.queue:
                self.spec, self.changes = event.spec, self.changes + 1
            return
        if getattr(event, "queue", None) != self.queue:
            return
        self.last_ms = event.at_ms
        match event:
            case ev.TicketsJoined():
                self.first_ms = self.first_ms or event.at_ms
                for wish in _wishes(event):
                    self.wishes.append(wish)
                    self.story.join(wish.ticket, wish.at_ms, wish.request.members)
            case ev.TicketsGone():
                how = _ENDS.get(event.cause, End.EXPIRED)
                for ticket in event.ticket.tolist():
                    self.story.leave(ticket, event.at_ms, how)
                    if how == End.GAVE_UP:
                        self.departures.append((event.at_ms, ticket))
            case ev.WaveFinished():
                for place, (roster, teams) in enumerate(zip(event.roster, event.team_of, strict=True)):
                    seated = roster >= 0
                    if event.deadline_ms or event.confirm_ms:
                        self._proposals[event.first_proposal + place] = roster[seated], teams[seated]
                        self.story.offer(roster[seated], event.at_ms)
                    else:
                        self.story.made(roster[seated], teams[seated], event.at_ms)
            case ev.MatchMade():
                if event.proposal in self._proposals:
                    self.story.made(*self._proposals.pop(event.proposal), event.at_ms)
            case many.MatchesMade():
                for proposal in dict.fromkeys(event.proposal.tolist()):
                    if proposal in self._proposals:
                        self.story.made(*self._proposals.pop(proposal), event.at_ms)
            case ev.ProposalsFailed():
                self.story.wait_on(event.returned)
                for ticket in event.blamed.tolist():
                    self.story.leave(ticket, event.at_ms, End.BLAMED)
            case _:
                pass

    def past(self) -> Past:
        if self.spec is None or not self.wishes:
            raise LabError(f"nobody joined the queue {self.queue!r} in this journal: there is nothing to replay")
        return Past(
            self.spec, self.wishes, self.departures, self.story, self.first_ms, self.last_ms, max(0, self.changes)
        )


def _wishes(event: ev.TicketsJoined) -> list[Wish]:
    """The tickets of one event, as requests that can be made again."""
    shared = [_attributes(group) for group in event.groups]
    avoided: dict[int, list[int]] = {}
    for place, player in event.avoid.tolist():
        avoided.setdefault(place, []).append(player)
    found, first = [], 0
    facts = {name: column.tolist() for name, column in event.facts.items()}
    for place, size in enumerate(event.size.tolist()):
        members = tuple(_member(int(event.player[row]), row, facts, event.traits) for row in range(first, first + size))
        first += size
        group = int(event.group[place]) if len(event.group) else 0
        request = TicketRequest(
            members, attributes=shared[group] if shared else {}, avoid=tuple(avoided.get(place, ()))
        )
        found.append(Wish(event.at_ms, event.first_ticket + place, request))
    return found


def _member(player: int, row: int, facts: dict[str, list[float]], traits: dict[str, list[Any]]) -> Member:
    there = {name: column[row] for name, column in facts.items() if not np.isnan(column[row])}
    own = {name: there.pop(name) for name in FACTS if name in there}
    told = {name: column[row] for name, column in traits.items() if column[row] is not None}
    return Member(player, facts=there, traits=told, **own)


def _attributes(group: str) -> dict[str, Any]:
    """What the tickets of a group share."""
    found = msgspec.json.decode(group) if group else {}
    return found if isinstance(found, dict) else {}
