"""An independent auditor: what clients were told, held against what the journal says.

It reads two things only: the clients' own log (`Log`), and the journal's rows, decoded (`Book`). It shares no rule with
the engine: it neither imports `core` nor asks the server, but keeps a plain account of its own, one ticket at a time,
and writes down every way in which the two stories, or the story and the rules (I1-I11), do not fit.

I8 (replay) is what `evenmatch journal verify` proves. I10 (reasons) is not in the journal: clients ask for them.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from evenmatch.domain import backfill_events as bev
from evenmatch.domain import batch_events as many
from evenmatch.domain import events as ev
from evenmatch.domain import lane_events as lane
from evenmatch.domain.arrays import Array
from evenmatch.domain.events import Event
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.ticket import Cause

from .book import LIVE, Book, Proposal, Row, Ticket, read_book
from .comparing import compare
from .late import hear_of_backfill
from .log import Joined, Log, Seen, Told
from .together import hear_of_many

__all__ = ["Audit", "Book", "Joined", "Log", "Row", "Seen", "Told", "audit", "number", "read_book"]


class Audit:
    """The account of one journal, and everything that is wrong with it."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.queues: dict[str, QueueSpec] = {}
        self.tickets: dict[int, Ticket] = {}
        self.proposals: dict[int, Proposal] = {}
        self.claims: dict[int, int] = {}
        self.elsewhere: set[int] = set()
        """Players whom other lanes have."""
        self.first_ticket = self.first_proposal = 1
        self.live: dict[int, set[int]] = {}
        """player -> unfinished tickets"""
        self.sequence = 0
        self.now_ms = 0
        self.names: dict[int, str] = {}
        self.running: dict[str, dict[int, Ticket]] = {}
        """queue -> tickets whose clock runs"""
        self.results: dict[int, list[int]] = {}

    def fault(self, what: str) -> None:
        self.faults.append(f"at {self.sequence}: {what}")

    # -- the journal by itself

    def read(self, book: Book) -> None:
        """Follow a journal from its beginning."""
        self.names = book.names
        fence = 0
        for row in book.rows:
            if row.fence < fence:
                self.fault(f"I9: owner {row.fence} wrote after owner {fence}")
            fence = max(fence, row.fence)
            if row.first != self.sequence + 1 or row.last != row.first + len(row.events) - 1:
                self.fault(f"the commit {row.first} to {row.last} with {len(row.events)} events leaves a gap")
            self.sequence = row.first - 1
            for event in row.events:
                self.hear(event)
        if unnamed := {p for t in self.tickets.values() for p in t.players} - set(book.names):
            self.fault(f"players {sorted(unnamed)} have no names")

    def hear(self, event: Event) -> None:
        """The next event."""
        self.sequence += 1
        if event.at_ms < self.now_ms:
            self.fault("time runs backwards")
        self.now_ms = max(self.now_ms, event.at_ms)
        self._apply(event)

    def _apply(self, event: Event) -> None:
        match event:
            case ev.QueueOpened():
                self.queues[event.spec.name] = event.spec
            case ev.TicketsJoined():
                self._joined(event)
            case ev.TicketsSeen():
                for number in event.ticket.tolist():
                    self._find(number, event.queue, *LIVE)
            case ev.TicketsGone():
                cause = Cause(event.cause)
                for number, previous in zip(event.ticket.tolist(), event.previous.tolist(), strict=True):
                    ticket = self._touched(number, previous, event.queue, "waiting")
                    if ticket is not None:
                        self._end(ticket, "cancelled" if cause is Cause.LEFT else "expired", cause.word)
            case ev.WaveFinished():
                self._wave(event)
            case ev.Accepted():
                self._accepted(event)
            case ev.MatchMade():
                self.make(event)
            case many.ManyAccepted() | many.MatchesMade():
                hear_of_many(self, event)
            case ev.ProposalsFailed():
                self._failed(event)
            case ev.MatchesEnded():
                for number in event.proposal.tolist():
                    proposal = self._proposal(number, event.queue, "running")
                    if proposal is not None:
                        proposal.standing = "over"
                        self._release(proposal)
            case lane.NumbersBegin():
                self.first_ticket, self.first_proposal = event.ticket, event.proposal
            case lane.ClaimedElsewhere() | lane.ReleasedElsewhere():
                self._elsewhere(event)
            case bev.BackfillAsked() | bev.PlacesOffered() | bev.MatchFilled() | bev.BackfillClosed():
                hear_of_backfill(self, event)
            case ev.ResultReported():
                if event.match in self.results:
                    self.fault(f"match {event.match} has a second result")
                self._proposal(event.match, event.queue, "running", "over")
                self.results[event.match] = (event.rank + 1).tolist()
            case ev.Forgotten():
                for number in event.ticket.tolist():
                    ticket = self._find(number, event.queue, "matched", "cancelled", "expired")
                    if ticket is not None:
                        ticket.forgotten = True
                for number in event.proposal.tolist():
                    self._proposal(number, event.queue, "over", "failed", "joined")

    def _find(self, number: int, queue: str, *allowed: str) -> Ticket | None:
        ticket = self.tickets.get(number)
        if ticket is None:
            self.fault(f"I4: ticket {number} never joined")
            return None
        if ticket.queue != queue or ticket.forgotten:
            self.fault(f"ticket {number} of {ticket.queue} is touched in {queue}, forgotten: {ticket.forgotten}")
        if ticket.status not in allowed:
            self.fault(f"I1/I4: ticket {number} is {ticket.status}, which does not lead here")
            return None
        return ticket

    def _touched(self, number: int, previous: int, queue: str, *allowed: str) -> Ticket | None:
        """A ticket to which something happens that its owner is told."""
        ticket = self._find(number, queue, *allowed)
        if ticket is not None:
            if ticket.last != previous:
                self.fault(
                    f"the story of ticket {number} goes back to {previous}, but its last event was {ticket.last}"
                )
            ticket.last = self.sequence
        return ticket

    def _proposal(self, number: int, queue: str, *allowed: str) -> Proposal | None:
        proposal = self.proposals.get(number)
        if proposal is None or proposal.queue != queue or proposal.standing not in allowed:
            self.fault(f"I1: proposal {number} is {proposal and proposal.standing}, not {'/'.join(allowed)} in {queue}")
            return None
        return proposal

    def _joined(self, event: ev.TicketsJoined) -> None:
        spec = self.queues[event.queue]
        players = event.player.tolist()
        for place, size in enumerate(event.size.tolist()):
            number = event.first_ticket + place
            party, players = tuple(players[:size]), players[size:]
            if number != self.first_ticket + len(self.tickets):
                self.fault(f"I4: ticket {number} joins after ticket {len(self.tickets)}")
            if not 1 <= size <= spec.format.size or len(set(party)) != size:
                self.fault(f"I5: ticket {number} has the party {party} in {spec.format}")
            group = event.groups[event.group[place] if len(event.group) else 0]
            at_ms = event.at_ms
            ticket = Ticket(number, event.queue, party, group, at_ms, self.sequence, self.sequence, at_ms)
            ticket.story.append((self.sequence, "queued"))
            self.tickets[number] = ticket
            self.running.setdefault(event.queue, {})[number] = ticket
            for player in party:
                others = self.live.setdefault(player, set())
                if any(self.tickets[other].queue == event.queue for other in others - {number}):
                    self.fault(f"I2: player {player} has two live tickets in {event.queue}")
                others.add(number)
            self._set_clock(ticket)
        if players:
            self.fault("players are left over")

    def _wave(self, event: ev.WaveFinished) -> None:
        spec = self.queues[event.queue]
        seated = set(event.roster[event.roster >= 0].tolist())
        if len(seated) != int((event.roster >= 0).sum()):
            self.fault(f"I1: a ticket is seated twice in wave {event.wave}")
        for other in self.running.get(event.queue, {}).values():
            if other.number not in seated:
                other.misses += other.woke <= event.snapshot_sequence
        for place, roster in enumerate(event.roster.tolist()):
            number = event.first_proposal + place
            previous = dict(zip(roster, event.previous[place].tolist(), strict=True))
            teams: dict[int, int] = {}
            found = []
            for ticket_number, team in zip(roster, event.team_of[place].tolist(), strict=True):
                if ticket_number < 0:
                    continue
                ticket = self._touched(ticket_number, previous[ticket_number], event.queue, "waiting")
                if ticket is not None:
                    teams[team] = teams.get(team, 0) + len(ticket.players)
                    found.append(ticket)
            self._propose(event, spec, number, found, teams)

    def _propose(
        self, event: ev.WaveFinished, spec: QueueSpec, number: int, found: list[Ticket], teams: dict[int, int]
    ) -> None:
        if number in self.proposals or number != self.first_proposal + len(self.proposals):
            self.fault(f"I1: proposal {number} after {len(self.proposals)} proposals")
        if teams != dict.fromkeys(range(spec.format.teams), spec.format.size):
            self.fault(f"I3/I5: proposal {number} has teams of {teams}, not {spec.format}")
        if len({ticket.group for ticket in found}) > 1:
            self.fault(f"I5: proposal {number} mixes what require_equal keeps apart")
        standing = "open" if event.deadline_ms else "running" if event.ends_ms else "over"
        proposal = Proposal(number, event.queue, tuple(ticket.number for ticket in found), standing)
        self.proposals[number] = proposal
        for ticket in found:
            for player in ticket.players:
                if player in self.claims or player in self.elsewhere:
                    other = self.claims.get(player, "another lane")
                    self.fault(f"I11: player {player} is in proposal {number} and in {other}")
            self._stop_clock(ticket)
            ticket.proposal = number
            ticket.when_proposed[number] = (ticket.waited_ms, ticket.misses)
            if standing == "open":
                ticket.status = "proposed"
                ticket.story.append((self.sequence, "proposed"))
            else:
                self._match(ticket)
        if standing != "over":
            self._claim(proposal)

    def _match(self, ticket: Ticket) -> None:
        ticket.matches += 1
        if ticket.matches > 1:
            self.fault(f"I1: ticket {ticket.number} is in {ticket.matches} matches")
        self._end(ticket, "matched", "")

    def _accepted(self, event: ev.Accepted) -> None:
        self.accept(event.proposal, event.queue, event.player)
        self.pend(event.proposal, event.queue, {event.pending}, event.ticket, event.previous)

    def accept(self, number: int, queue: str, player: int) -> None:
        """A player of a proposal has accepted."""
        proposal = self._proposal(number, queue, "open")
        if proposal is None:
            return
        if player not in self._members(proposal) or player in proposal.accepted:
            self.fault(f"player {player} cannot accept proposal {number}")
        proposal.accepted.add(player)

    def pend(self, number: int, queue: str, pending: set[int], tickets: Array, previous: Array) -> None:
        """So many of its players have not, and its tickets hear of it."""
        proposal = self.proposals.get(number)
        if proposal is None or proposal.standing != "open":
            return
        if pending != {len(self._members(proposal) - proposal.accepted)}:
            told = ", ".join(map(str, sorted(pending)))
            self.fault(f"{told} players are pending in proposal {number}, says the journal")
        self._all_touched(queue, tickets, previous, proposal)
        for ticket in proposal.tickets:
            self.tickets[ticket].story.append((self.sequence, "accepted"))

    def make(self, event: ev.MatchMade) -> None:
        """A proposal is a match."""
        proposal = self._proposal(event.proposal, event.queue, "open")
        if proposal is None:
            return
        if self._members(proposal) - proposal.accepted:
            self.fault(f"proposal {event.proposal} is a match, but not all have accepted")
        for ticket in self._all_touched(event.queue, event.ticket, event.previous, proposal):
            self._match(ticket)
        proposal.standing = "running" if event.ends_ms else "over"
        if not event.ends_ms:
            self._release(proposal)

    def _all_touched(self, queue: str, tickets: Array, previous: Array, proposal: Proposal) -> list[Ticket]:
        if tuple(tickets.tolist()) != proposal.tickets:
            self.fault(f"I3: proposal {proposal.number} has other tickets than it was made with")
        told = zip(tickets.tolist(), previous.tolist(), strict=True)
        found = [self._touched(number, before, queue, "proposed") for number, before in told]
        return [ticket for ticket in found if ticket is not None]

    def _failed(self, event: ev.ProposalsFailed) -> None:
        failed = [self._proposal(number, event.queue, "open") for number in event.proposal.tolist()]
        proposals = [proposal for proposal in failed if proposal is not None]
        concerned = Counter(number for proposal in proposals for number in proposal.tickets)
        if concerned != Counter(event.blamed.tolist() + event.returned.tolist()):
            self.fault("I4: a failed proposal loses or gains a ticket")
        cause = Cause(event.cause).word
        for proposal in proposals:
            blamed = [number for number in proposal.tickets if number in event.blamed]
            silent = [n for n in proposal.tickets if set(self.tickets[n].players) - proposal.accepted]
            if (cause == "declined" and len(blamed) != 1) or (cause == "lapsed" and blamed != silent):
                self.fault(f"I6: proposal {proposal.number} has {cause}; {blamed} are blamed, {silent} were silent")
            proposal.standing = "failed"
            if cause == "declined" and blamed:
                proposal.decliner = blamed[0]
        for number, previous in zip(event.blamed.tolist(), event.blamed_previous.tolist(), strict=True):
            ticket = self._touched(number, previous, event.queue, "proposed")
            if ticket is not None:
                ticket.proposal = None
                self._end(ticket, "cancelled", cause)
        for number, previous in zip(event.returned.tolist(), event.returned_previous.tolist(), strict=True):
            ticket = self._touched(number, previous, event.queue, "proposed")
            if ticket is not None:
                ticket.status, ticket.proposal = "waiting", None
                ticket.story.append((self.sequence, "requeued"))
        for proposal in proposals:
            self._release(proposal)

    def _end(self, ticket: Ticket, status: str, cause: str) -> None:
        self._stop_clock(ticket)
        ticket.status, ticket.cause = status, cause
        ticket.story.append((self.sequence, status))
        for player in ticket.players:
            self.live[player].discard(ticket.number)

    def _members(self, proposal: Proposal) -> set[int]:
        return {p for number in proposal.tickets for p in self.tickets[number].players} - proposal.left

    def _claim(self, proposal: Proposal) -> None:
        for player in self._members(proposal):
            self.claims[player] = proposal.number
        self._set_clocks(self._members(proposal))

    def _release(self, proposal: Proposal) -> None:
        for player in self._members(proposal):
            if self.claims.pop(player, None) != proposal.number:
                self.fault(f"I11: player {player} was not claimed by {proposal.number}")
        self._set_clocks(self._members(proposal))

    def _elsewhere(self, event: lane.ClaimedElsewhere | lane.ReleasedElsewhere) -> None:
        """Other lanes have these players, or have them no longer."""
        players = event.player.tolist()
        if isinstance(event, lane.ClaimedElsewhere):
            for player in self.claims.keys() & set(players):
                self.fault(f"I11: another lane has player {player}, and so has {self.claims[player]}")
            self.elsewhere.update(players)
        else:
            self.elsewhere.difference_update(players)
        self._set_clocks(players)

    def _set_clocks(self, players: Iterable[int]) -> None:
        for player in players:
            for number in self.live.get(player, ()):
                self._set_clock(self.tickets[number])

    def _set_clock(self, ticket: Ticket) -> None:
        """A clock runs while its ticket waits and nothing else claims a player of it (I6, I11)."""
        had = any(player in self.claims or player in self.elsewhere for player in ticket.players)
        runs = ticket.status == "waiting" and not had
        if runs and not ticket.running:
            ticket.running, ticket.since_ms, ticket.woke = True, self.now_ms, self.sequence
            self.running[ticket.queue][ticket.number] = ticket
        elif not runs:
            self._stop_clock(ticket)

    def _stop_clock(self, ticket: Ticket) -> None:
        if ticket.running:
            ticket.running = False
            del self.running[ticket.queue][ticket.number]
            ticket.waited_ms += self.now_ms - ticket.since_ms

    def counts(self) -> dict[str, int]:
        """How many tickets there are of each status: together, all that joined (I4)."""
        return dict(Counter(ticket.status for ticket in self.tickets.values()))


def audit(book: Book, log: Log) -> Audit:
    """Everything that is wrong with a journal, by itself and in the light of what clients know."""
    found = Audit()
    found.read(book)
    compare(found, log)
    return found


def number(name: str | dict[str, Any] | None) -> int | None:
    """The number in a public id, or in an object that has one."""
    text = name["id"] if isinstance(name, dict) else name
    return None if text is None else int(text.split("-")[1])
