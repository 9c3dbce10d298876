"""What time alone brings about: tickets expire, finished things leave, a restart moves every deadline."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.core import deadlines
from evenmatch.core.records import match_record
from evenmatch.core.state import NEVER, QueueState, State
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.queue import Format, QueueSpec
from evenmatch.domain.refusals import Reasons
from evenmatch.domain.ticket import Cause, Status

from .stage import CLAN, DUEL, KEEP_MS, LONG, QUICK, T0, Stage, heartbeat, kinds


def test_a_ticket_expires_when_it_has_waited_too_long() -> None:
    stage = Stage(DUEL)
    ticket = stage.join("duel", 1)
    stage.now_ms += 19_000
    stage.do(heartbeat(ticket))
    stage.tick(10_999)
    assert stage.told(ticket, "status") == "waiting"
    (event,) = stage.tick(1).events
    assert isinstance(event, ev.TicketsGone)
    assert (stage.told(ticket, "status"), stage.told(ticket, "cause")) == ("expired", "too_long")
    assert stage.told(ticket, "waited_ms") == 30_000


def test_a_ticket_expires_when_its_client_is_unheard_of() -> None:
    stage = Stage(DUEL)
    ticket = stage.join("duel", 1)
    stage.tick(19_999)
    assert stage.told(ticket, "status") == "waiting"
    stage.tick(1)
    assert (stage.told(ticket, "status"), stage.told(ticket, "cause")) == ("expired", "unheard")


def test_a_heartbeat_keeps_a_ticket() -> None:
    stage = Stage(DUEL)
    ticket = stage.join("duel", 1)
    stage.now_ms += 19_999
    assert kinds(stage.do(heartbeat(ticket))) == ["TicketsSeen"]
    stage.tick(5_000)
    assert stage.told(ticket, "status") == "waiting"


def test_a_heartbeat_passes_over_tickets_that_are_not_live_unless_it_is_strict() -> None:
    stage = Stage(DUEL, QUICK)
    here, other, gone = stage.join("duel", 1), stage.join("quick", 1), stage.join("duel", 2)
    stage.do(cmd.Leave(gone))
    assert kinds(stage.do(heartbeat(gone, here))) == []  # heard of in this very moment, by joining
    stage.tick(1)
    assert kinds(stage.do(heartbeat(gone, 99))) == []
    events = stage.do(heartbeat(gone, here, 99, other)).events
    assert [event.ticket.tolist() for event in events if isinstance(event, ev.TicketsSeen)] == [[here], [other]]
    assert stage.refused(heartbeat(here, gone, strict=True)) is Reasons.TICKET_GONE
    assert stage.refused(heartbeat(here, 99, strict=True)) is Reasons.UNKNOWN_TICKET


def test_who_left_is_gone_and_who_never_came_is_unknown() -> None:
    stage = Stage(DUEL)
    ticket = stage.join("duel", 1)
    assert stage.refused(cmd.Leave(ticket + 1)) is Reasons.UNKNOWN_TICKET
    assert stage.refused(cmd.Leave(0)) is Reasons.UNKNOWN_TICKET
    stage.do(cmd.Leave(ticket))
    assert stage.refused(cmd.Leave(ticket)) is Reasons.TICKET_GONE
    stage.tick(KEEP_MS)
    assert not stage.is_in_state(ticket)
    assert stage.refused(cmd.Leave(ticket)) is Reasons.TICKET_GONE
    assert stage.refused(heartbeat(ticket, strict=True)) is Reasons.TICKET_GONE


def test_a_suspended_ticket_does_not_age_but_must_be_heard_of() -> None:
    stage = Stage(CLAN, QUICK)
    stage.join("clan", 1)
    stage.join("clan", 2)
    aged, unheard = stage.join("quick", 1), stage.join("quick", 2)
    stage.tick(0)
    stage.finish(next(effect for effect in stage.effects if effect.spec.name == "clan"))
    stage.accept_all(1)
    for _ in range(40):
        stage.now_ms += 1_000
        stage.do(heartbeat(aged))
        if stage.now_ms - T0 < 6_000:
            stage.tick()
    state = stage.engine.state
    assert state.queues["quick"].tickets.suspended[:2].tolist() == [1, 1]
    stage.tick()
    assert stage.told(unheard, "cause") == "unheard"
    assert (stage.told(aged, "status"), stage.told(aged, "waited_ms")) == ("waiting", 0)


def test_finished_tickets_leave_with_their_records() -> None:
    stage = Stage(DUEL)
    ticket = stage.join("duel", 7)
    stage.now_ms += 1_500
    stage.do(cmd.Leave(ticket))
    assert stage.tick(KEEP_MS - 1).departures == ()
    step = stage.tick(1)
    assert kinds(step) == ["Forgotten"]
    (departed,) = step.departures
    ((number, record),) = departed.tickets
    assert number == ticket
    assert (record["status"], record["cause"], record["waited_ms"]) == ("cancelled", "left", 1_500)
    assert record["players"] == [{"player": 7, "rating": 1507.0, "ping_ms": None}]
    assert departed.matches == []
    assert stage.tick(KEEP_MS).events == ()


def test_the_tickets_of_a_match_leave_together_with_it() -> None:
    stage = Stage(QUICK)
    tickets = [stage.join("quick", player) for player in (1, 2)]
    (match,) = stage.wave("quick")
    record = match_record(stage.engine.state, match)
    (departed,) = stage.tick(KEEP_MS).departures
    assert [number for number, _ in departed.tickets] == tickets
    assert departed.matches == [(match, record)]
    assert match_record(stage.engine.state, match) is None


def test_a_running_match_stays_in_the_state_until_it_is_over() -> None:
    stage = Stage(LONG, keep_ms=1_000)
    for player in (1, 2, 3, 4):
        stage.join("long", player)
    (match,) = stage.wave("long")
    stage.tick(6_999)
    assert match_record(stage.engine.state, match) is not None
    assert kinds(stage.tick(1)) == ["MatchesEnded"]
    assert kinds(stage.tick(0)) == ["Forgotten"]


def test_a_failed_proposal_leaves_without_a_record() -> None:
    stage = Stage(DUEL)
    stage.join("duel", 1)
    stage.join("duel", 2)
    (proposal,) = stage.wave("duel")
    stage.do(cmd.Decline(proposal, 1))
    (departed,) = stage.tick(KEEP_MS).departures
    assert [number for number, _ in departed.tickets] == [1]
    assert departed.matches == []
    assert stage.engine.state.find_proposal(proposal) is None
    assert stage.told(2, "status") == "waiting"


def test_slots_are_used_again() -> None:
    stage = Stage(QUICK)
    for _ in range(30):
        for player in range(1, 11):
            stage.join("quick", player)
        stage.wave("quick")
        stage.tick(KEEP_MS)
        stage.tick(KEEP_MS)
    queue = stage.engine.state.queues["quick"]
    assert (queue.tickets.used, queue.players.used, queue.proposals.used) == (10, 10, 5)


def test_many_finished_tickets_leave_a_bounded_number_a_tick() -> None:
    from .stage import request

    stage = Stage(QUICK)
    stage.do(cmd.JoinMany("quick", tuple(request(player) for player in range(1, 2_202))))
    stage.tick(20_000)
    steps = [stage.tick(KEEP_MS), stage.tick(0), stage.tick(0), stage.tick(0)]
    left = [sum(len(departed.tickets) for departed in step.departures) for step in steps]
    assert left == [1_000, 1_000, 201, 0]


@pytest.mark.parametrize("spec", [DUEL, CLAN, LONG])
def test_what_many_wait_for_comes_to_a_bounded_number_a_tick(spec: QueueSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    seats = spec.format.seats
    monkeypatch.setattr(deadlines, "AT_ONCE", 3 * seats)
    stage = Stage(spec)
    for player in range(1, 8 * seats + 1):
        stage.join(spec.name, player)
    stage.finish(stage.start(spec.name))
    if spec is CLAN:
        for proposal in range(1, 9):
            stage.accept_all(proposal)
    stage.tick(7_000)
    events = [*stage.events[-1:], *(event for _ in range(3) for event in stage.tick(0).events)]
    ended = [e.proposal.tolist() for e in events if isinstance(e, ev.ProposalsFailed | ev.MatchesEnded)]
    assert ended == [[1, 2, 3], [4, 5, 6], [7, 8]]


def test_tickets_expire_a_bounded_number_a_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "AT_ONCE", 3)
    stage = Stage(msgspec.structs.replace(QUICK, format=Format(8, 1)))
    for player in range(1, 6):
        stage.join("quick", player)
    stage.tick(20_000)
    stage.tick(0)
    gone = [event.ticket.tolist() for event in stage.events if isinstance(event, ev.TicketsGone)]
    assert gone == [[1, 2, 3], [4, 5]]
    assert not stage.tick(0).events


def test_a_restart_moves_every_deadline_by_the_downtime() -> None:
    stage = Stage(DUEL, CLAN, QUICK)
    for queue in ("duel", "clan"):
        stage.join(queue, 1 if queue == "duel" else 3)
        stage.join(queue, 2 if queue == "duel" else 4)
    waits = stage.join("quick", 5)
    stage.tick(1_000)
    for effect in stage.effects:
        stage.finish(effect) if effect.spec.name != "quick" else None
    stage.accept_all(2)
    hour = 3_600_000
    (event,) = stage.restart(hour).events
    assert isinstance(event, ev.Resumed)
    assert event.downtime_ms == hour
    assert stage.told(waits, "waited_ms") == hour + 1_000, "downtime is waiting"
    assert kinds(stage.tick(4_999)) == []
    assert kinds(stage.tick(1)) == ["ProposalsFailed"]
    assert kinds(stage.tick(1_999)) == []
    assert kinds(stage.tick(1)) == ["MatchesEnded"]
    stage.do(heartbeat(waits))
    stage.tick(15_000)
    stage.do(heartbeat(waits))
    stage.tick(6_999)
    assert stage.told(waits, "status") == "waiting"
    stage.tick(1)
    assert stage.told(waits, "cause") == "too_long"


def test_the_heartbeat_of_who_waited_through_a_restart_is_moved_too() -> None:
    stage = Stage(DUEL)
    ticket = stage.join("duel", 1)
    stage.restart(3_600_000)
    stage.tick(19_999)
    assert stage.told(ticket, "status") == "waiting"
    stage.tick(1)
    assert stage.told(ticket, "cause") == "unheard"


def test_a_returned_ticket_does_not_lose_its_heartbeat_to_downtime() -> None:
    stage = Stage(DUEL)
    stage.join("duel", 1)
    stage.join("duel", 2)
    (proposal,) = stage.wave("duel")
    stage.restart(3_600_000)
    stage.do(cmd.Decline(proposal, 1))
    assert stage.told(2, "waited_ms") == 1_000
    stage.tick(18_999)
    assert stage.told(2, "status") == "waiting"
    stage.tick(1)
    assert stage.told(2, "cause") == "unheard"


def test_a_restart_with_nobody_there_writes_nothing() -> None:
    stage = Stage(DUEL)
    assert kinds(stage.restart(5_000)) == []
    ticket = stage.join("duel", 1)
    assert kinds(stage.restart(0)) == []
    stage.do(cmd.Leave(ticket))
    assert kinds(stage.restart(5_000)) == []


def test_a_tick_with_nothing_due_writes_nothing() -> None:
    stage = Stage(DUEL, QUICK)
    stage.join("duel", 1)
    for _ in range(5):
        assert stage.tick(100).events == ()


def test_tickets_expire_in_the_order_of_their_numbers() -> None:
    stage = Stage(DUEL)
    tickets = [stage.join("duel", player) for player in range(1, 8)]
    stage.do(cmd.Leave(tickets[2]))
    stage.tick(KEEP_MS)
    late = stage.join("duel", 99)
    assert stage.engine.state.slots_of(np.array([late])).tolist() == [2], "a used slot"
    event = stage.tick(20_000).events[0]
    assert isinstance(event, ev.TicketsGone)
    assert event.ticket.tolist() == [1, 2, 4, 5, 6, 7, late]


def _expired_plainly(queue: QueueState, now_ms: int) -> tuple[list[int], list[int], int]:
    """Who is unheard of, who has been there too long, and when that is next the case, ticket by ticket."""
    t = queue.tickets
    unheard, too_long, later = [], [], [NEVER]
    for slot in np.flatnonzero(t.status == Status.WAITING).tolist():
        heard_until = int(t.seen_ms[slot]) + queue.heartbeat_ms
        stays_until = NEVER if t.suspended[slot] else int(t.expires_ms[slot])
        if heard_until <= now_ms:
            unheard.append(int(t.ticket[slot]))
        elif stays_until <= now_ms:
            too_long.append(int(t.ticket[slot]))
        else:
            later.append(min(heard_until, stays_until))
    return sorted(unheard), sorted(too_long), min(later)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 5), st.booleans()), max_size=40),
    st.sampled_from([1, 3, 7, 1_000]),
)
def test_who_expires_is_found_block_by_block(rows: list[tuple[int, int, int, bool]], block: int) -> None:
    queue = State().open(DUEL)
    t = queue.tickets
    t.extend(len(rows))
    now_ms = T0
    for slot, (unheard_s, there_s, status, suspended) in enumerate(rows):
        t.ticket[slot], t.status[slot], t.suspended[slot] = 100 - slot, status, suspended
        t.seen_ms[slot] = now_ms - unheard_s * 1_000
        t.expires_ms[slot] = now_ms + 30_000 - there_s * 1_000
    unheard, too_long, next_ms = _expired_plainly(queue, now_ms)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deadlines, "_BLOCK", block)
        events = deadlines._expired(queue, now_ms)
    found = {event.cause: event.ticket.tolist() for event in events if isinstance(event, ev.TicketsGone)}
    assert found.get(int(Cause.UNHEARD), []) == unheard
    assert found.get(int(Cause.TOO_LONG), []) == too_long
    assert queue.next_expiry_ms == next_ms
