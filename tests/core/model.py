"""The plain twin of the core: what tickets, proposals and players do, in dictionaries, as slowly as one likes.

Time is counted, not compared: every clock is a number of milliseconds that grows while it runs, so that the model has
no deadline to move and no clock to set back. `settle` lets the clocks run up to a moment; it is called when an event is
written, for the engine knows no other moments, and what lies between the last of them and a restart is downtime.
"""

from dataclasses import dataclass, field

from evenmatch.domain.queue import QueueSpec, milliseconds
from evenmatch.domain.refusals import Reasons
from evenmatch.domain.ticket import TicketRequest

from . import model_places as places
from .model_places import Place

BUSY = ("open", "starting", "running")
DAY_MS = 24 * 3600 * 1000


@dataclass
class Ticket:
    """One party's wish to play."""

    number: int
    queue: str
    players: tuple[int, ...]
    group: tuple[tuple[str, object], ...]
    joined_ms: int
    may_stay_ms: int
    status: str = "waiting"
    cause: str | None = None
    waited_ms: int = 0
    stayed_ms: int = 0
    """As waited_ms, without downtime."""
    unheard_ms: int = 0
    misses: int = 0
    returned: bool = False
    proposal: int | None = None
    finished_ms: int = 0
    lost: bool = False
    avoid: tuple[int, ...] = ()
    ratings: tuple[float, ...] = ()
    will: bool | None = None

    @property
    def live(self) -> bool:
        """Not finished yet."""
        return self.status in ("waiting", "proposed")


@dataclass
class Proposal:
    """A proposal, and the match it may become."""

    number: int
    queue: str
    tickets: list[int]
    players: list[int]
    standing: str
    lasts_ms: int
    accepted: set[int] = field(default_factory=set)
    age_ms: int = 0
    """Since it was made, or became a match; without downtime."""
    over_ms: int = 0
    team_of: dict[int, int] = field(default_factory=dict)
    """Ticket -> team."""
    joins: int = 0
    """The match that it invites to; 0 = it is no invitation."""
    places: list[Place] = field(default_factory=list)
    left: set[int] = field(default_factory=set)
    late: list[int] = field(default_factory=list)
    """Tickets that came late."""


@dataclass
class Queue:
    """A queue and the wave that is in flight."""

    spec: QueueSpec
    mode: str = "open"
    books: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    """Player -> every offence that is not forgotten: when, and what."""
    stays_away: dict[int, int] = field(default_factory=dict)
    """Player -> until when."""
    steadfast: set[int] = field(default_factory=set)
    """Tickets of the wave in flight that could be matched all the while."""
    flying_format: object = None


class Model:
    """What the engine must agree with."""

    def __init__(self, keep_ms: int, first: int = 1) -> None:
        """`first`: where tickets and proposals are numbered from."""
        self.keep_ms, self.first = keep_ms, first
        self.settled_ms = 0
        self.queues: dict[str, Queue] = {}
        self.tickets: dict[int, Ticket] = {}
        """In the state."""
        self.proposals: dict[int, Proposal] = {}
        self.next_ticket = self.next_proposal = first
        self.keys: dict[int, tuple[int, int, int]] = {}
        self.blocks: dict[int, set[int]] = {}
        self.elsewhere: set[int] = set()
        """Players whom other lanes have."""
        self.met: list[tuple[str, int, dict[int, int]]] = []
        """Queue, when, and the team of each player, of every match that was made."""

    # What is true now.

    def claim(self, player: int) -> int | None:
        """The open proposal or running match that has the player (I11)."""
        claims = [
            p.number
            for p in self.proposals.values()
            if p.standing in BUSY and player in p.players and player not in p.left
        ]
        assert len(claims) <= 1, f"I11: player {player} is in {claims}"
        return claims[0] if claims else None

    def suspended(self, ticket: Ticket) -> bool:
        """Does it wait for a player who is in a proposal or match elsewhere?"""
        had = (self.claim(player) is not None or player in self.elsewhere for player in ticket.players)
        return ticket.status == "waiting" and any(had)

    def matchable(self, ticket: Ticket) -> bool:
        """Can a wave have it?"""
        return ticket.status == "waiting" and not self.suspended(ticket)

    def apart(self, one: Ticket, other: Ticket, now_ms: int) -> bool:
        """Must these two not meet?"""
        for a, b in ((one, other), (other, one)):
            if set(a.avoid) & set(b.players) or any(self.blocks.get(p, set()) & set(b.players) for p in a.players):
                return True
        spec = self.queues[one.queue].spec.match
        lift_ms = milliseconds(spec.rematch_lift_s)
        if lift_ms and max(self.waited_ms(one, now_ms), self.waited_ms(other, now_ms)) >= lift_ms:
            return False
        return any(
            queue == one.queue
            and now_ms - made_ms < milliseconds(spec.rematch_s)
            and any(
                teams.get(p, -1) != teams.get(q, -2) for p in one.players for q in other.players if {p, q} <= set(teams)
            )
            for queue, made_ms, teams in self.met
        )

    def pairs(self, tickets: list[Ticket], now_ms: int) -> list[list[int]]:
        """The places of those who must not meet, in order."""
        return [
            [i, j]
            for i, one in enumerate(tickets)
            for j, other in enumerate(tickets)
            if i < j and self.apart(one, other, now_ms)
        ]

    def live_in(self, queue: str) -> list[Ticket]:
        """A queue's live tickets, by number."""
        return sorted((t for t in self.tickets.values() if t.queue == queue and t.live), key=lambda t: t.number)

    def waited_ms(self, ticket: Ticket, now_ms: int) -> int:
        """How long it has waited at a moment."""
        return ticket.waited_ms + (now_ms - self.settled_ms if self.matchable(ticket) else 0)

    def snapshot(self, queue: str, now_ms: int) -> list[Ticket]:
        """Who can be matched, in canonical order."""
        found = [t for t in self.tickets.values() if t.queue == queue and self.matchable(t)]
        return sorted(found, key=lambda t: (-self.waited_ms(t, now_ms), not t.returned, t.number))

    # Time.

    def settle(self, now_ms: int, *, downtime: bool = False) -> None:
        """Let all clocks run up to now; in downtime only those that count waiting."""
        passed = now_ms - self.settled_ms
        self.settled_ms = now_ms
        for ticket in self.tickets.values():
            if self.matchable(ticket):
                ticket.waited_ms += passed
                ticket.stayed_ms += 0 if downtime else passed
            if ticket.status == "waiting" and not downtime:
                ticket.unheard_ms += passed
        for proposal in self.proposals.values():
            if proposal.standing in BUSY and not downtime:
                proposal.age_ms += passed
            for place in proposal.places:
                place.age_ms += 0 if downtime else passed

    def due(self, now_ms: int) -> tuple[dict[int, str], list[int], list[int], list[int]]:
        """What a tick must end: tickets (and why), ready checks, matches that did not start, matches."""
        since = now_ms - self.settled_ms
        gone = {}
        for ticket in self.tickets.values():
            spec = self.queues[ticket.queue].spec
            if ticket.status == "waiting":
                if ticket.unheard_ms + since >= milliseconds(spec.ticket.heartbeat_s):
                    gone[ticket.number] = "unheard"
                elif self.matchable(ticket) and ticket.stayed_ms + since >= ticket.may_stay_ms:
                    gone[ticket.number] = "too_long"
        late = [p for p in self.proposals.values() if p.age_ms + since >= p.lasts_ms]
        return (
            gone,
            [p.number for p in late if p.standing == "open"],
            [p.number for p in late if p.standing == "starting"],
            [p.number for p in late if p.standing == "running"],
        )

    def tick(self, now_ms: int) -> None:
        """End what is due, and forget what ended a while ago."""
        gone, lapsed, unstarted, ended = self.due(now_ms)
        stale = places.late_places(self, now_ms)
        before = now_ms - self.keep_ms
        old = [
            t.number for t in self.tickets.values() if t.status in ("cancelled", "expired") and t.finished_ms <= before
        ]
        done = ("over", "failed", "cancelled", "joined")
        over = [p for p in self.proposals.values() if p.standing in done and p.over_ms <= before]
        for number in gone:
            self.finish(self.tickets[number], "expired", gone[number], now_ms)
        for number in lapsed:
            proposal = self.proposals[number]
            silent = [t for t in proposal.tickets if not proposal.accepted.issuperset(self.tickets[t].players)]
            self.fail(proposal, silent, "lapsed", now_ms)
            for ticket in (self.tickets[t] for t in silent):
                for player in set(ticket.players) - proposal.accepted:
                    self.blame(proposal.queue, player, "lost" if ticket.lost else "lapsed", now_ms)
                ticket.cause = "lost" if ticket.lost else "lapsed"
        for number in unstarted:
            self.fail(self.proposals[number], [], "not_confirmed", now_ms)
        for number in ended:
            self.end(number, now_ms)
        for number, place in stale:
            self.proposals[number].places = [one for one in self.proposals[number].places if one is not place]
        for number in old:
            del self.tickets[number]
        for proposal in over:
            del self.proposals[proposal.number]
            if proposal.standing not in ("failed", "joined"):
                for number in proposal.tickets:
                    del self.tickets[number]
        self.keys = {key: known for key, known in self.keys.items() if known[2] > now_ms - DAY_MS}

    # Tickets.

    def join(self, queue: str, requests: tuple[TicketRequest, ...], now_ms: int) -> list[int | Reasons] | Reasons:
        """What becomes of each request."""
        if queue not in self.queues:
            return Reasons.UNKNOWN_QUEUE
        return [self._join(queue, request, now_ms) for request in requests]

    def _join(self, queue: str, request: TicketRequest, now_ms: int) -> int | Reasons:
        spec = self.queues[queue].spec
        away = self.queues[queue].stays_away
        players = tuple(member.player for member in request.members)
        if request.key in self.keys:
            ticket, fingerprint, _ = self.keys[request.key]
            return ticket if fingerprint == request.fingerprint else Reasons.KEY_REUSED
        if self.queues[queue].mode == "draining":
            return Reasons.QUEUE_DRAINING
        if not players:
            return Reasons.EMPTY_PARTY
        if len(players) > spec.format.size:
            return Reasons.PARTY_TOO_LARGE
        if len(set(players)) < len(players):
            return Reasons.PLAYER_TWICE
        for player in players:
            if away.get(player, 0) > now_ms:
                return Reasons.COOLING_DOWN
            if any(t.live and t.queue == queue and player in t.players for t in self.tickets.values()):
                return Reasons.ALREADY_WAITING
        if any(name not in request.attributes for name in spec.require_equal):
            return Reasons.MISSING_ATTRIBUTE
        group = tuple((name, request.attributes[name]) for name in sorted(spec.require_equal))
        number = self.next_ticket
        self.next_ticket += 1
        stay_ms = milliseconds(spec.ticket.expires_s)
        ratings = tuple(member.rating for member in request.members)
        self.tickets[number] = Ticket(
            number, queue, players, group, now_ms, stay_ms, avoid=request.avoid, ratings=ratings, will=request.backfill
        )
        if request.key:
            self.keys[request.key] = (number, request.fingerprint, now_ms)
        return number

    def finish(self, ticket: Ticket, status: str, cause: str | None, now_ms: int) -> None:
        """A ticket leaves the queue for good."""
        ticket.status, ticket.cause, ticket.finished_ms = status, cause, now_ms

    def blame(self, queue: str, player: int, cause: str, now_ms: int) -> None:
        """A player let a ready check fail."""
        spec = self.queues[queue].spec.cooldown
        if spec is None:
            return
        book = self.books(queue, player, now_ms)
        base = {"declined": spec.decline_s, "lapsed": spec.lapse_s, "lost": spec.lost_s}[cause]
        away_s = base
        for _ in book:
            away_s = min(away_s * spec.growth, spec.most_s)
        self.queues[queue].books[player] = [*book, (now_ms, cause)]
        self.queues[queue].stays_away[player] = now_ms + milliseconds(min(away_s, spec.most_s))

    def books(self, queue: str, player: int, now_ms: int) -> list[tuple[int, str]]:
        """Offences that count: since the last one, every `forgive_s` has taken the oldest away."""
        spec, book = self.queues[queue].spec.cooldown, self.queues[queue].books.get(player, [])
        if spec is None or not book:
            return []
        return book[(now_ms - book[-1][0]) // milliseconds(spec.forgive_s) :]

    def lift(self, queue: str, player: int) -> Reasons | None:
        """An operator clears the books."""
        if queue and queue not in self.queues:
            return Reasons.UNKNOWN_QUEUE
        for name, found in self.queues.items():
            if queue in ("", name):
                found.books.pop(player, None)
                found.stays_away.pop(player, None)
        return None

    def update(self, number: int, request: TicketRequest) -> Reasons | None:
        """A ticket brings something else."""
        ticket = self.tickets.get(number)
        if ticket is None:
            return self.gone(number)
        if ticket.status != "waiting":
            return Reasons.NOT_WAITING
        required = self.queues[ticket.queue].spec.require_equal
        if any(name not in request.attributes for name in required):
            return Reasons.MISSING_ATTRIBUTE
        ticket.group = tuple((name, request.attributes[name]) for name in sorted(required))
        ticket.ratings = tuple(member.rating for member in request.members)
        return None

    def cancel(self, number: int, now_ms: int) -> Reasons | None:
        """An operator takes a ticket out."""
        ticket = self.tickets.get(number)
        if ticket is None:
            return self.gone(number)
        if not ticket.live:
            return Reasons.NOT_WAITING
        if ticket.proposal is not None and ticket.status == "proposed":
            self.fail(self.proposals[ticket.proposal], [number], "operator", now_ms)
        else:
            self.finish(ticket, "cancelled", "operator", now_ms)
        return None

    def gone(self, number: int) -> Reasons:
        """Why a ticket that is not in the state can't be used."""
        return Reasons.TICKET_GONE if self.first <= number < self.next_ticket else Reasons.UNKNOWN_TICKET

    def reopen(self, name: str, spec: QueueSpec, now_ms: int) -> None:
        """A queue gets new rules: whoever waits and could not have joined under them has to go."""
        regrouped = sorted(spec.require_equal) != sorted(self.queues[name].spec.require_equal)
        for ticket in [t for t in self.tickets.values() if t.queue == name and t.status == "waiting"]:
            if regrouped or len(ticket.players) > spec.format.size:
                self.finish(ticket, "cancelled", "rules_changed", now_ms)
        self.queues[name].spec = spec

    def leave(self, number: int, player: int, now_ms: int) -> Reasons | None:
        """A ticket is withdrawn, by one of its players if it is known by whom."""
        ticket = self.tickets.get(number)
        if ticket is None:
            return self.gone(number)
        if ticket.status == "matched":
            return Reasons.ALREADY_MATCHED
        if ticket.status == "proposed":
            assert ticket.proposal is not None
            if self.proposals[ticket.proposal].standing == "starting":
                return Reasons.MATCH_STARTING
            return self._withdraw(ticket, player, now_ms)
        if ticket.status != "waiting":
            return Reasons.TICKET_GONE
        self.finish(ticket, "cancelled", "left", now_ms)
        return None

    def _withdraw(self, ticket: Ticket, player: int, now_ms: int) -> Reasons | None:
        """Who leaves is to blame; else who has not accepted; else who leads the party."""
        assert ticket.proposal is not None
        proposal = self.proposals[ticket.proposal]
        if proposal.standing != "open":
            return Reasons.ALREADY_MATCHED
        silent = [one for one in ticket.players if one not in proposal.accepted]
        self.fail(proposal, [ticket.number], "declined", now_ms)
        for one in [player] if player in ticket.players else silent or [ticket.players[0]]:
            self.blame(proposal.queue, one, "declined", now_ms)
        return None

    def heartbeat(self, numbers: list[int], *, strict: bool) -> Reasons | None:
        """Clients are there."""
        if strict:
            for number in numbers:
                if number not in self.tickets:
                    return self.gone(number)
                if not self.tickets[number].live:
                    return Reasons.TICKET_GONE
        for number in numbers:
            if number in self.tickets:
                self.tickets[number].unheard_ms = 0
                self.tickets[number].lost = False
        return None

    # Waves.

    def start(self, queue: str, now_ms: int) -> None:
        """A wave sets out."""
        self.queues[queue].steadfast = {ticket.number for ticket in self.snapshot(queue, now_ms)}
        self.queues[queue].flying_format = self.queues[queue].spec.format

    def watch(self) -> None:
        """Note who can't be matched any more, after every command."""
        for queue in self.queues.values():
            queue.steadfast = {n for n in queue.steadfast if n in self.tickets and self.matchable(self.tickets[n])}

    def holds(self, queue: str, roster: list[int]) -> bool:
        """Can these tickets still be proposed, under the rules as they are now (I5)?"""
        here = all(number in self.tickets and self.matchable(self.tickets[number]) for number in roster)
        if not here or self.queues[queue].flying_format != self.queues[queue].spec.format:
            return False
        if len({self.tickets[number].group for number in roster}) > 1:
            return False
        parties = [self.tickets[number].players for number in roster]
        return not any(  # within a party blocks do not matter
            self.blocks.get(player, set()) & set(other)
            for one in parties
            for player in one
            for other in parties
            if other is not one
        )

    def propose(self, queue: str, rosters: list[list[int]], now_ms: int, *, reads_misses: bool) -> list[list[int]]:
        """A plan comes back; the rosters that hold."""
        held = [roster for roster in rosters if self.holds(queue, roster)]
        if held or reads_misses:
            for number in self.queues[queue].steadfast.difference(*held):
                self.tickets[number].misses += 1
        spec = self.queues[queue].spec
        for roster in held:
            proposal = Proposal(
                self.next_proposal,
                queue,
                roster,
                [player for number in roster for player in self.tickets[number].players],
                "open",
                milliseconds(spec.ready_check.timeout_s if spec.ready_check else 0),
            )
            self.proposals[self.next_proposal] = proposal
            self.next_proposal += 1
            for number in roster:
                self.tickets[number].status, self.tickets[number].proposal = "proposed", proposal.number
            if spec.ready_check is None:
                self.start_match(proposal, now_ms)
        return held

    def start_match(self, proposal: Proposal, now_ms: int) -> None:
        """Everybody has accepted."""
        confirm_ms = milliseconds(self.queues[proposal.queue].spec.match.confirm_s)
        if not confirm_ms:
            self.make(proposal, now_ms)
            return
        proposal.standing, proposal.lasts_ms, proposal.age_ms = "starting", confirm_ms, 0

    def confirm(self, number: int, now_ms: int, *, started: bool) -> Reasons | None:
        """The game server speaks."""
        proposal = self.proposals.get(number)
        if proposal is None or proposal.standing != "starting":
            return Reasons.MATCH_NOT_STARTING if self.first <= number < self.next_proposal else Reasons.UNKNOWN_MATCH
        if started:
            self.make(proposal, now_ms)
        else:
            self.fail(proposal, [], "start_failed", now_ms)
        return None

    def cancel_match(self, number: int, now_ms: int) -> Reasons | None:
        """An operator ends a proposal or match."""
        proposal = self.proposals.get(number)
        if proposal is not None and proposal.standing in ("open", "starting"):
            self.fail(proposal, [], "operator", now_ms)
            return None
        if proposal is not None and proposal.standing == "running":
            places.close(self, number, now_ms)
            proposal.standing = "cancelled"
            return None
        return Reasons.MATCH_OVER if self.first <= number < self.next_proposal else Reasons.UNKNOWN_MATCH

    def make(self, proposal: Proposal, now_ms: int) -> None:
        """A proposal becomes a match."""
        proposal.lasts_ms = milliseconds(self.queues[proposal.queue].spec.match.runs_s)
        proposal.standing = "running" if proposal.lasts_ms else "over"
        proposal.age_ms, proposal.over_ms = 0, now_ms
        form = self.queues[proposal.queue].spec.format
        teams = {player: place // form.size for place, player in enumerate(proposal.players)}
        self.met.append((proposal.queue, now_ms, teams))
        for number in proposal.tickets:
            self.finish(self.tickets[number], "matched", None, now_ms)

    def fail(self, proposal: Proposal, blamed: list[int], cause: str, now_ms: int) -> None:
        """A ready check ends without a match."""
        proposal.standing, proposal.over_ms = "failed", now_ms
        if proposal.joins:
            places.reopen(self, proposal)
        for number in proposal.tickets:
            ticket = self.tickets[number]
            ticket.proposal = None
            if number in blamed:
                self.finish(ticket, "cancelled", cause, now_ms)
            else:
                ticket.status, ticket.returned = "waiting", True

    def _open(self, number: int, player: int) -> Proposal | Reasons:
        proposal = self.proposals.get(number)
        if proposal is None:
            return Reasons.PROPOSAL_OVER if self.first <= number < self.next_proposal else Reasons.UNKNOWN_PROPOSAL
        if proposal.standing == "joined":
            return Reasons.ALREADY_MATCHED
        if proposal.standing == "failed":
            return Reasons.PROPOSAL_OVER
        return proposal if player in proposal.players else Reasons.NOT_A_MEMBER

    def accept(self, number: int, player: int, now_ms: int) -> Reasons | None:
        """A player accepts."""
        proposal = self._open(number, player)
        if isinstance(proposal, Reasons):
            return proposal
        if player in proposal.accepted or proposal.standing != "open":
            return Reasons.ALREADY_ACCEPTED
        if proposal.age_ms + now_ms - self.settled_ms >= proposal.lasts_ms:
            return Reasons.PROPOSAL_OVER
        proposal.accepted.add(player)
        if len(proposal.accepted) == len(proposal.players):
            if proposal.joins:
                proposal.standing, proposal.over_ms = "joined", now_ms
                (ticket,) = proposal.tickets
                places.join(self, self.proposals[proposal.joins], proposal.team_of[ticket], ticket, now_ms)
            else:
                self.start_match(proposal, now_ms)
        return None

    def decline(self, number: int, player: int, now_ms: int) -> Reasons | None:
        """A player declines."""
        proposal = self._open(number, player)
        if isinstance(proposal, Reasons):
            return proposal
        if proposal.standing != "open":
            return Reasons.ALREADY_MATCHED
        blamed = [t for t in proposal.tickets if player in self.tickets[t].players]
        self.fail(proposal, blamed, "declined", now_ms)
        self.blame(proposal.queue, player, "declined", now_ms)
        return None

    def end(self, number: int, now_ms: int) -> Reasons | None:
        """A match is over."""
        proposal = self.proposals.get(number)
        if proposal is not None and proposal.standing == "running":
            places.close(self, number, now_ms)
            proposal.standing = "over"
            return None
        if proposal is not None and proposal.standing in ("open", "starting"):
            return Reasons.MATCH_NOT_MADE if proposal.standing == "open" else Reasons.MATCH_STARTING
        return Reasons.MATCH_OVER if self.first <= number < self.next_proposal else Reasons.UNKNOWN_MATCH
