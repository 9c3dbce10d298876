"""A running match asks for players: what may be asked, who joins, and when it is over.

    asked ──a wave chooses (backfill_choice)──> invited ──all of the party accept──> in the match
      │  ^                                         │
      │  └───────declined, lapsed, taken out───────┘
      └──withdrawn, expired, or the match ended: open no longer

An invitation is a proposal of one ticket, so the ready check, cool-downs and everything else about proposals hold for
it as they are; only its end is another: the ticket joins the match. A team has as many places as it was made with.
Whoever is named as having left is free at once (I11), counts as a leaver, and is never invited to that match again.
"""

import numpy as np

from evenmatch.domain import backfill_events as bev
from evenmatch.domain import commands as cmd
from evenmatch.domain.arrays import NO_PAIRS, Array, numbers
from evenmatch.domain.events import Event, MatchesEnded, ProposalsFailed
from evenmatch.domain.ids import match_id
from evenmatch.domain.queue import milliseconds
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.ticket import Cause

from .backfill_choice import Chosen
from .cooldowns import penalties
from .crew import Crew, crew_of
from .decision import NOTHING, Decision
from .starting import without_blame
from .state import NEVER, OPEN, OVER, RUNNING, QueueState, State

_KEY_REUSED = Refusal(
    Reasons.KEY_REUSED, "this Idempotency-Key came with another body before: repeat that body, or use a new key"
)


def running(state: State, match: int) -> tuple[QueueState, int] | Refusal:
    """The queue and slot of a match that runs."""
    found = state.find_proposal(match)
    if found is None and not state.had_proposal(match):
        return Refusal(Reasons.UNKNOWN_MATCH, f"no match is called {match_id(match)}")
    standing = OVER if found is None else int(found[0].proposals.standing[found[1]])
    if found is not None and standing == RUNNING:
        return found
    told = f"{match_id(match)} does not run"
    if found is not None and standing == OVER and not found[0].spec.match.runs_s:
        told += f": in {found[0].spec.name} a match is over the moment it is made; give the queue a match.runs_s"
    return Refusal(Reasons.MATCH_NOT_RUNNING, told)


def ask(state: State, command: cmd.AskBackfill, now_ms: int) -> Decision | Refusal:
    """A match asks for players."""
    known = state.keys.get(command.key) if command.key else None
    if known is not None:
        return NOTHING if known[:2] == (command.match, command.fingerprint) else _KEY_REUSED
    found = running(state, command.match)
    if isinstance(found, Refusal):
        return found
    queue, slot = found
    spec = queue.spec.backfill
    if not spec.enabled:
        return Refusal(Reasons.BACKFILL_OFF, f"{queue.spec.name} fills no places: its backfill.enabled is false")
    crew = crew_of(state, queue, slot)
    wrong = _wrong_places(queue, command, crew)
    if wrong is not None:
        return wrong
    gone = numbers([player for _, player in command.places if player])
    tickets = crew.tickets
    return Decision(
        (
            bev.BackfillAsked(
                at_ms=now_ms,
                queue=queue.spec.name,
                match=command.match,
                team=numbers([team for team, _ in command.places]),
                instead_of=numbers([player for _, player in command.places]),
                expires_ms=now_ms + milliseconds(spec.expires_s) if spec.expires_s else 0,
                ticket=tickets,
                previous=queue.tickets.sequence[state.slots_of(tickets)],
                key=_key(command),
                **penalties(queue, gone, np.full(len(gone), int(Cause.DESERTED)), now_ms)._asdict(),
            ),
        )
    )


def _key(command: cmd.AskBackfill) -> Array:
    if not command.key:
        return NO_PAIRS
    return np.array([(command.key >> 64, command.key & 2**64 - 1, command.fingerprint)], np.uint64)


def _wrong_places(queue: QueueState, command: cmd.AskBackfill, crew: Crew) -> Refusal | None:
    """What is wrong with the places that a match asks for."""
    name, teams = match_id(command.match), int(crew.team.max()) + 1
    if not command.places:
        return Refusal(Reasons.NO_FREE_PLACE, "places is empty: name at least one")
    leaving: list[int] = []
    for team, player in command.places:
        if not 0 <= team < teams:
            return Refusal(Reasons.UNKNOWN_TEAM, f"{name} has no team {team}: use 0 to {teams - 1}")
        if player:
            at = np.flatnonzero(crew.player == player)
            if not len(at) or int(crew.team[at[0]]) != team:
                return Refusal(Reasons.NOT_IN_TEAM, f"a player named by instead_of is not in team {team} of {name}")
            if not crew.here[at[0]] or player in leaving:
                return Refusal(Reasons.ALREADY_LEFT, f"a player named by instead_of has left {name} already")
            leaving.append(player)
    found = queue.fillings.by_match.get(command.match)
    late = [] if found is None else [ticket for ticket, _, _ in found.joined]
    for team in dict.fromkeys(team for team, _ in command.places):
        size = int(np.count_nonzero((crew.team == team) & ~np.isin(crew.ticket, late)))
        there = int(np.count_nonzero((crew.team == team) & crew.here & ~np.isin(crew.player, leaving)))
        asked = 0 if found is None else sum(place.team == team and not place.player for place in found.places)
        wanted = sum(place[0] == team for place in command.places)
        if wanted > size - there - asked:
            return Refusal(
                Reasons.NO_FREE_PLACE,
                f"team {team} of {name} has {size} places: {there} are taken, {asked} are asked for already, and "
                f"{wanted} more are wanted; name who left, or ask for fewer",
            )
    return None


def withdraw(state: State, match: int, now_ms: int) -> Decision | Refusal:
    """A match asks for nobody any more; whoever was invited waits on."""
    found = running(state, match)
    if isinstance(found, Refusal):
        return found
    events: list[Event] = [*_called_off(state, found[0], [match], NEVER, now_ms)]
    closed = _closed(state, *found, "withdrawn", now_ms)
    return Decision((*events, *closed))


def _called_off(
    state: State, queue: QueueState, matches: list[int], due_ms: int, now_ms: int
) -> tuple[ProposalsFailed, ...]:
    """The invitations to these matches fail without blame; those whose time is over at `due_ms` lapse by themselves."""
    p = queue.proposals
    asked = numbers([proposal for proposal, match in queue.fillings.invited.items() if match in matches])
    rows = np.sort(state.rows_of(asked))
    rows = rows[(p.standing[rows] == OPEN) & ((p.deadline_ms[rows] > now_ms) | (due_ms == NEVER))]
    return (without_blame(state, queue, rows, Cause.NOT_NEEDED, now_ms),) if len(rows) else ()


def _closed(
    state: State, queue: QueueState, slot: int, cause: str, now_ms: int, due_ms: int = NEVER
) -> tuple[bev.BackfillClosed, ...]:
    """The places of a match that are not filled are closed; with `due_ms`, the open ones whose time is over by then."""
    match = int(queue.proposals.proposal[slot])
    found = queue.fillings.by_match.get(match)
    places = [] if found is None else [place for place in found.places if not place.player]
    if due_ms != NEVER:
        places = [place for place in places if place.open and 0 < place.expires_ms <= due_ms]
    if not places:
        return ()
    tickets = crew_of(state, queue, slot).tickets
    previous = queue.tickets.sequence[state.slots_of(tickets)]
    closed = numbers([place.number for place in places])
    return (bev.BackfillClosed(now_ms, queue.spec.name, match, cause, closed, tickets, previous),)


def ended(
    state: State, queue: QueueState, matches: Array, now_ms: int, *, cancelled: bool = False, ticking: bool = False
) -> tuple[Event, ...]:
    """Matches are over: so is what they asked for, and whoever was invited waits on.

    `ticking`: invitations whose time is over lapse in the same tick, and are left to that.
    """
    over = MatchesEnded(now_ms, queue.spec.name, matches, cancelled)
    if not len(queue.fillings):
        return (over,)
    asked = [match for match in matches.tolist() if match in queue.fillings.by_match]
    events: list[Event] = [*_called_off(state, queue, asked, now_ms if ticking else NEVER, now_ms)]
    for slot in state.rows_of(numbers(asked)).tolist():
        events += _closed(state, queue, slot, "ended", now_ms)
    return (*events, over)


def expired(state: State, queue: QueueState, now_ms: int, ending: Array) -> tuple[list[Event], int]:
    """The places that nobody has taken in time, and when the next will be; matches that end anyway are left out."""
    events: list[Event] = []
    next_ms, gone = NEVER, ending.tolist()
    for match, found in sorted(queue.fillings.by_match.items()):
        times = [place.expires_ms for place in found.places if not place.player and place.expires_ms]
        next_ms = min((next_ms, *(time for time in times if time > now_ms)))
        if match not in gone and times and min(times) <= now_ms:
            (slot,) = state.rows_of(numbers([match])).tolist()
            events += _closed(state, queue, slot, "lapsed", now_ms, now_ms)
    return events, next_ms


# -- inviting ----------------------------------------------------------------------------------------------------------


def offered(state: State, queue: QueueState, chosen: list[Chosen], timeout_ms: int, now_ms: int) -> bev.PlacesOffered:
    """Tickets are invited, with so much time to answer."""
    match, team, slots = (numbers([one[column] for one in chosen]) for column in range(3))
    t = queue.tickets
    return bev.PlacesOffered(
        at_ms=now_ms,
        queue=queue.spec.name,
        first_proposal=state.next_proposal,
        match=match,
        team=team,
        ticket=t.ticket[slots],
        previous=t.sequence[slots],
        deadline_ms=now_ms + timeout_ms,
    )


def filled(state: State, queue: QueueState, chosen: Chosen, now_ms: int) -> bev.MatchFilled:
    """A ticket joins a match without being asked."""
    t = queue.tickets
    return _joins(
        state, queue, chosen.match, chosen.team, int(t.ticket[chosen.slot]), int(t.sequence[chosen.slot]), 0, now_ms
    )


def still_asked(state: State, queue: QueueState, proposal: int) -> bool:
    """Does the match that a proposal invites to still run? True of a proposal that is no invitation."""
    match = queue.fillings.invited.get(proposal)
    return match is None or not isinstance(running(state, match), Refusal)


def joins_match(state: State, queue: QueueState, slot: int, previous: int, now_ms: int) -> bev.MatchFilled:
    """The last player of an invitation has accepted; `previous` is the sequence of the event that says so."""
    proposal = int(queue.proposals.proposal[slot])
    tickets, team_of = queue.roster(slot)
    match, team = queue.fillings.invited[proposal], int(team_of[0])
    return _joins(state, queue, match, team, int(tickets[0]), previous, proposal, now_ms)


def _joins(
    state: State, queue: QueueState, match: int, team: int, ticket: int, previous: int, proposal: int, now_ms: int
) -> bev.MatchFilled:
    (row,) = state.rows_of(np.array([match])).tolist()
    inside = crew_of(state, queue, row).tickets
    links = queue.tickets.sequence[state.slots_of(inside)]
    return bev.MatchFilled(now_ms, queue.spec.name, match, team, ticket, previous, proposal, inside, links)
