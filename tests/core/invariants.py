"""The invariants of ARCHITECTURE.md, checked twice over: in the state's columns, and in the events alone."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from evenmatch.core.hashing import recomputed_sums, state_hash
from evenmatch.core.places import Filling, Place
from evenmatch.core.state import CALLED_OFF, OPEN, OVER, RUNNING, STARTING, QueueState, State
from evenmatch.domain import backfill_events as bev
from evenmatch.domain import batch_events as many
from evenmatch.domain import events as ev
from evenmatch.domain import lane_events as lane
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.ticket import Status

LIVE = (Status.WAITING, Status.PROPOSED)


def check_columns(state: State) -> None:
    """I1, I2, I3, I5, I11 and the kept sums, row by row."""
    live: dict[int, list[int]] = {}
    claims: dict[int, int] = {}
    tickets_at: dict[int, int] = {}
    proposals_at: dict[int, int] = {}
    for queue in state.by_index:
        rows = {int(queue.tickets.ticket[s]): s for s in np.flatnonzero(queue.tickets.status).tolist()}
        tickets_at.update({ticket: slot | queue.index << 32 for ticket, slot in rows.items()})
        _check_queue(queue, rows, live, claims, proposals_at)
    assert tickets_at == state.tickets_at
    assert proposals_at == state.proposals_at
    assert {player: tuple(sorted(tickets)) for player, tickets in live.items()} == {
        player: state.live_tickets(player) for player in state.live
    }
    assert set(state.several) == {player for player, tickets in live.items() if len(tickets) > 1}
    assert claims == state.claims
    assert claims.keys().isdisjoint(state.elsewhere), "I11: a player is in two lanes"
    for queue in state.by_index:
        for slot in np.flatnonzero(queue.tickets.status == Status.WAITING).tolist():
            claimed = sum(player in claims or player in state.elsewhere for player in _players(queue, slot))
            assert queue.tickets.suspended[slot] == claimed, "I11: a ticket is suspended once for each claimed player"
    state_hash(state)
    assert (state.tickets_sum_high % 2**64, state.tickets_sum_low % 2**64) == recomputed_sums(state)


def _players(queue: QueueState, slot: int) -> list[int]:
    players: list[int] = queue.players.player[queue.player_rows(np.array([slot]))].tolist()
    return players


def _check_queue(
    queue: QueueState,
    rows: dict[int, int],
    live: dict[int, list[int]],
    claims: dict[int, int],
    proposals_at: dict[int, int],
) -> None:
    t, p = queue.tickets, queue.proposals
    here: Counter[int] = Counter()
    for ticket, slot in rows.items():
        if Status(int(t.status[slot])) in LIVE:
            for player in _players(queue, slot):
                live.setdefault(player, []).append(ticket)
                here[player] += 1
    assert not here or max(here.values()) == 1, "I2: a player has two live tickets in one queue"
    assert queue.waiting == int((t.status == Status.WAITING).sum())
    seated: Counter[int] = Counter()
    for slot in np.flatnonzero(p.standing).tolist():
        number, standing = int(p.proposal[slot]), int(p.standing[slot])
        proposals_at[number] = slot | queue.index << 32
        if standing not in (OPEN, STARTING, RUNNING, OVER, CALLED_OFF):
            continue
        tickets, teams = queue.roster(slot)
        players: Counter[int] = Counter()
        pending = 0
        filling = queue.fillings.by_match.get(number)
        late = [ticket for ticket, _, _ in filling.joined] if filling else []
        left = [player for player, _, _ in filling.left] if filling else []
        for ticket, team in zip(tickets.tolist(), teams.tolist(), strict=True):
            seated[ticket] += 1
            assert t.proposal[rows[ticket]] == number
            assert t.status[rows[ticket]] == (Status.PROPOSED if standing in (OPEN, STARTING) else Status.MATCHED)
            players[team] += 0 if ticket in late else int(t.size[rows[ticket]])
            party = queue.player_rows(np.array([rows[ticket]]))
            pending += int((queue.players.accepted[party] == 0).sum())
            if standing in (OPEN, STARTING, RUNNING):
                for player in _players(queue, rows[ticket]):
                    if player not in left:
                        assert player not in claims, "I11: a player is in two proposals or matches"
                        claims[player] = number
        assert len(set(players.values())) == 1, "I5: the teams are not of one size"
        assert standing != OPEN or p.pending[slot] == pending
        if filling is not None:
            _check_filling(state_places(filling), players, late, left, tickets.tolist(), teams.tolist(), queue, rows)
    assert not seated or max(seated.values()) == 1, "I1: a ticket is in two proposals"
    for ticket, slot in rows.items():
        if t.status[slot] in (Status.PROPOSED, Status.MATCHED):
            assert seated[ticket] == 1, "I1: a ticket is in a proposal that there is not"


def state_places(filling: Filling) -> list[Place]:
    """The places of a match; each has one number, one standing and, if filled, one player."""
    numbers = [place.number for place in filling.places]
    assert len(set(numbers)) == len(numbers)
    assert max(numbers, default=0) < filling.next_place
    taken = [place.player for place in filling.places if place.player]
    assert len(set(taken)) == len(taken), "a player fills two places"
    return list(filling.places)


def _check_filling(
    places: list[Place],
    sizes: Counter[int],
    late: list[int],
    left: list[int],
    tickets: list[int],
    teams: list[int],
    queue: QueueState,
    rows: dict[int, int],
) -> None:
    """No team has more players and open places than it was made with, and every place is filled at most once."""
    there: Counter[int] = Counter()
    for ticket, team in zip(tickets, teams, strict=True):
        there[team] += sum(player not in left for player in _players(queue, rows[ticket]))
    for team, size in sizes.items():
        wanted = sum(place.team == team and not place.player for place in places)
        assert there[team] + wanted <= size, "I5: a team has more places than it was made with"
    came = [player for ticket in late for player in _players(queue, rows[ticket])]
    assert sorted(place.player for place in places if place.player) == sorted(came)
    for place in places:
        if place.invited:
            assert queue.tickets.status[rows[place.ticket]] == Status.PROPOSED
            assert queue.tickets.proposal[rows[place.ticket]] == place.proposal
            assert place.proposal in queue.fillings.invited


@dataclass
class _Told:
    """What the events say of one ticket."""

    queue: str
    players: list[int]
    group: str
    status: str = "waiting"
    sequence: int = 0
    proposal: int = 0


@dataclass
class Story:
    """What the journal tells, and nothing else; every broken invariant is an AssertionError."""

    tickets: dict[int, _Told] = field(default_factory=dict)
    rosters: dict[int, list[int]] = field(default_factory=dict)
    specs: dict[str, QueueSpec] = field(default_factory=dict)
    claims: dict[int, int] = field(default_factory=dict)
    elsewhere: set[int] = field(default_factory=set)
    matched: Counter[int] = field(default_factory=Counter)
    forgotten: set[int] = field(default_factory=set)
    invited: dict[int, int] = field(default_factory=dict)
    """Invitation -> match."""
    left: dict[int, set[int]] = field(default_factory=dict)
    """Match -> who left it."""
    sequence: int = 0

    def hear(self, event: ev.Event) -> None:
        """One event more."""
        self.sequence += 1
        match event:
            case ev.QueueOpened():
                self.specs[event.spec.name] = event.spec
            case ev.TicketsJoined():
                self._joined(event)
            case ev.TicketsGone():
                for ticket in self._follow(event.ticket.tolist(), event.previous.tolist()):
                    assert ticket.status == "waiting", "I4: a ticket is gone that did not wait"
                    ticket.status = "gone"
            case ev.WaveFinished():
                self._wave(event)
            case ev.Accepted():
                self._follow(event.ticket.tolist(), event.previous.tolist())
            case many.ManyAccepted():
                self._follow(event.ticket.tolist(), event.previous.tolist())
                for proposal in set(event.accepts.tolist()):
                    assert self.rosters[proposal] == event.ticket[event.proposal == proposal].tolist()
            case many.MatchesMade():
                self._follow(event.ticket.tolist(), event.previous.tolist())
                for proposal in dict.fromkeys(event.proposal.tolist()):
                    assert self.rosters[proposal] == event.ticket[event.proposal == proposal].tolist()
                    self._match(proposal, runs=event.ends_ms > 0)
            case ev.MatchStarting():
                assert self.rosters[event.proposal] == event.ticket.tolist()
                self._follow(event.ticket.tolist(), event.previous.tolist())
            case ev.TicketUpdated():
                (ticket,) = self._follow([event.ticket], [event.previous])
                assert ticket.status == "waiting", "a ticket changed that did not wait"
                ticket.group = event.group
            case ev.MatchMade():
                assert self.rosters[event.proposal] == event.ticket.tolist()
                self._follow(event.ticket.tolist(), event.previous.tolist())
                self._match(event.proposal, runs=event.ends_ms > 0)
            case ev.ProposalsFailed():
                self._failed(event)
            case ev.ServerAllocated() | ev.AllocationFailed():
                assert event.ticket.tolist() in ([], self.rosters[event.match])
                self._follow(event.ticket.tolist(), event.previous.tolist())
            case ev.MatchesEnded():
                for proposal in event.proposal.tolist():
                    self._release(proposal)
            case lane.ClaimedElsewhere():
                assert not self.elsewhere & set(event.player.tolist())
                assert not self.claims.keys() & set(event.player.tolist()), "I11: a player is in two lanes"
                self.elsewhere.update(event.player.tolist())
            case lane.ReleasedElsewhere():
                assert self.elsewhere.issuperset(event.player.tolist())
                self.elsewhere.difference_update(event.player.tolist())
            case bev.BackfillAsked():
                self._asked(event)
            case bev.PlacesOffered():
                self._offered(event)
            case bev.MatchFilled():
                self._filled(event)
            case bev.BackfillClosed():
                self._follow(event.ticket.tolist(), event.previous.tolist())
            case ev.Forgotten():
                for number in event.ticket.tolist():
                    assert self.tickets[number].status in ("gone", "matched"), "I4: a live ticket was forgotten"
                    assert number not in self.forgotten
                    self.forgotten.add(number)
        self._count()

    def _joined(self, event: ev.TicketsJoined) -> None:
        players = iter(event.player.tolist())
        for row, size in enumerate(event.size.tolist()):
            party = [next(players) for _ in range(size)]
            for player in party:
                assert not any(
                    t.queue == event.queue and t.status in ("waiting", "proposed") and player in t.players
                    for t in self.tickets.values()
                ), "I2: a player joined a queue twice"
            group = event.groups[int(event.group[row]) if len(event.group) else 0]
            self.tickets[event.first_ticket + row] = _Told(event.queue, party, group, sequence=self.sequence)
        assert next(players, None) is None

    def _follow(self, tickets: list[int], previous: list[int]) -> list[_Told]:
        """Go on with the stories of these tickets: each link must hold."""
        assert len(set(tickets)) == len(tickets)
        for number, before in zip(tickets, previous, strict=True):
            assert self.tickets[number].sequence == before, "a ticket's story has a gap"
            self.tickets[number].sequence = self.sequence
        return [self.tickets[number] for number in tickets]

    def _wave(self, event: ev.WaveFinished) -> None:
        filled = event.roster >= 0
        self._follow(event.roster[filled].tolist(), event.previous[filled].tolist())
        form = self.specs[event.queue].format
        for row, roster in enumerate(event.roster):
            number = event.first_proposal + row
            tickets = [self.tickets[n] for n in roster[roster >= 0].tolist()]
            teams: Counter[int] = Counter()
            for ticket, team in zip(tickets, event.team_of[row][roster >= 0].tolist(), strict=True):
                assert ticket.status == "waiting", "I1: a ticket was proposed that did not wait"
                ticket.status, ticket.proposal = "proposed", number
                teams[team] += len(ticket.players)
                for player in ticket.players:
                    assert player not in self.claims, "I11: a player was proposed twice"
                    assert player not in self.elsewhere, "I11: a player was proposed whom another lane has"
                    self.claims[player] = number
            assert teams == dict.fromkeys(range(form.teams), form.size), "I5: a match breaks the format"
            assert len({ticket.group for ticket in tickets}) == 1, "I5: a match mixes groups"
            self.rosters[number] = roster[roster >= 0].tolist()
            if not event.deadline_ms and not event.confirm_ms:
                self._match(number, runs=event.ends_ms > 0)

    def _asked(self, event: bev.BackfillAsked) -> None:
        self._follow(event.ticket.tolist(), event.previous.tolist())
        for player in event.instead_of[event.instead_of > 0].tolist():
            assert self.claims.pop(player) == event.match, "I11: somebody left a match who was not in it"
            self.left.setdefault(event.match, set()).add(player)

    def _offered(self, event: bev.PlacesOffered) -> None:
        told = self._follow(event.ticket.tolist(), event.previous.tolist())
        for row, (number, ticket) in enumerate(zip(event.ticket.tolist(), told, strict=True)):
            proposal, match = event.first_proposal + row, int(event.match[row])
            self._into(ticket, match)
            ticket.status, ticket.proposal = "proposed", proposal
            self.rosters[proposal] = [number]
            self.invited[proposal] = match
            for player in ticket.players:
                assert player not in self.claims, "I11: a player was invited twice"
                assert player not in self.elsewhere, "I11: a player was invited whom another lane has"
                self.claims[player] = proposal

    def _into(self, ticket: _Told, match: int) -> None:
        assert ticket.status == "waiting", "I1: a ticket was invited that did not wait"
        assert ticket.group == self.tickets[self.rosters[match][0]].group, "I5: a match mixes groups"
        assert not self.left.get(match, set()) & set(ticket.players), "who left comes back"

    def _filled(self, event: bev.MatchFilled) -> None:
        self._follow(event.inside.tolist(), event.inside_previous.tolist())
        (ticket,) = self._follow([event.ticket], [event.previous])
        if event.proposal:
            assert self.invited.pop(event.proposal) == event.match
            assert ticket.status == "proposed"
        else:
            self._into(ticket, event.match)
        for player in ticket.players:
            assert self.claims.get(player, 0) == event.proposal, "I11: a player joined a match from elsewhere"
            self.claims[player] = event.match
        self.rosters[event.match].append(event.ticket)
        ticket.status = "matched"
        self.matched[event.ticket] += 1
        assert self.matched[event.ticket] == 1, "I1: a ticket was matched twice"

    def _match(self, proposal: int, *, runs: bool) -> None:
        for number in self.rosters[proposal]:
            assert self.tickets[number].status == "proposed"
            self.tickets[number].status = "matched"
            self.matched[number] += 1
            assert self.matched[number] == 1, "I1: a ticket was matched twice"
        if not runs:
            self._release(proposal)

    def _failed(self, event: ev.ProposalsFailed) -> None:
        blamed = self._follow(event.blamed.tolist(), event.blamed_previous.tolist())
        returned = self._follow(event.returned.tolist(), event.returned_previous.tolist())
        rosters = [number for proposal in event.proposal.tolist() for number in self.rosters[proposal]]
        assert sorted(rosters) == sorted(event.blamed.tolist() + event.returned.tolist()), "I4: a ticket was lost"
        for ticket in (*blamed, *returned):
            assert ticket.status == "proposed"
            assert ticket.proposal in event.proposal.tolist()
        for ticket in blamed:
            ticket.status = "gone"
        for ticket in returned:
            ticket.status = "waiting"
        for proposal in event.proposal.tolist():
            self._release(proposal)

    def _release(self, proposal: int) -> None:
        for number in self.rosters[proposal]:
            for player in self.tickets[number].players:
                if player not in self.left.get(proposal, ()):
                    assert self.claims.pop(player) == proposal

    def _count(self) -> None:
        count = Counter(ticket.status for ticket in self.tickets.values())
        alive = count["waiting"] + count["proposed"]
        assert count["matched"] + alive + count["gone"] == len(self.tickets), "I4: a ticket disappeared"
