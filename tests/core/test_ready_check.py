"""The ready check: accept, decline, lapse, and what becomes of everybody."""

import pytest

from evenmatch.core.records import match_record, proposal_record
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.refusals import Reasons

from .stage import CLAN, DUEL, KEEP_MS, QUICK, REGIONS, Stage, heartbeat, kinds


def proposed() -> tuple[Stage, int]:
    """Two tickets in a ready check."""
    stage = Stage(DUEL, QUICK, CLAN)
    stage.join("duel", 1)
    stage.join("duel", 2)
    (proposal,) = stage.wave("duel")
    return stage, proposal


def test_the_last_to_accept_makes_the_match() -> None:
    stage, proposal = proposed()
    assert kinds(stage.do(cmd.Accept(proposal, 1))) == ["Accepted"]
    assert match_record(stage.engine.state, proposal) is None
    assert kinds(stage.do(cmd.Accept(proposal, 2))) == ["Accepted", "MatchMade"]
    assert [stage.told(ticket, "status") for ticket in (1, 2)] == ["matched", "matched"]
    assert [stage.told(ticket, "match") for ticket in (1, 2)] == [proposal, proposal]
    record = match_record(stage.engine.state, proposal)
    assert record is not None
    assert (record["standing"], record["pending"]) == ("over", 0)


def test_each_player_of_a_party_accepts_for_themselves() -> None:
    stage = Stage(REGIONS)
    stage.join("regions", 1, 2, region="eu")
    stage.join("regions", 3, region="eu")
    stage.join("regions", 4, region="eu")
    (proposal,) = stage.wave("regions")
    for pending, player in ((3, 4), (2, 1), (1, 3)):
        (event,) = stage.do(cmd.Accept(proposal, player)).events
        assert isinstance(event, ev.Accepted)
        assert event.pending == pending
    assert kinds(stage.do(cmd.Accept(proposal, 2))) == ["Accepted", "MatchMade"]


def test_a_decline_cancels_the_decliner_and_returns_the_rest_as_they_were() -> None:
    stage, proposal = proposed()
    stage.now_ms += 3_000
    assert kinds(stage.do(cmd.Decline(proposal, 1))) == ["ProposalsFailed"]
    assert (stage.told(1, "status"), stage.told(1, "cause")) == ("cancelled", "declined")
    assert (stage.told(2, "status"), stage.told(2, "waited_ms")) == ("waiting", 1_000)
    stage.now_ms += 500
    assert stage.told(2, "waited_ms") == 1_500


def test_a_party_answers_for_its_members() -> None:
    stage = Stage(REGIONS)
    party = stage.join("regions", 1, 2, region="eu")
    others = [stage.join("regions", player, region="eu") for player in (3, 4)]
    (proposal,) = stage.wave("regions")
    stage.do(cmd.Accept(proposal, 1))
    stage.do(cmd.Decline(proposal, 2))
    assert stage.told(party, "status") == "cancelled"
    assert [stage.told(ticket, "status") for ticket in others] == ["waiting", "waiting"]


def test_who_accepted_may_still_decline() -> None:
    stage, proposal = proposed()
    stage.do(cmd.Accept(proposal, 1))
    assert stage.refused(cmd.Decline(proposal, 1)) is None
    assert stage.told(1, "cause") == "declined"


def test_to_leave_while_proposed_is_to_decline() -> None:
    stage, _ = proposed()
    assert kinds(stage.do(cmd.Leave(1))) == ["ProposalsFailed"]
    assert (stage.told(1, "cause"), stage.told(2, "status")) == ("declined", "waiting")


def test_a_lapse_blames_every_ticket_with_a_silent_player() -> None:
    stage = Stage(REGIONS)
    party = stage.join("regions", 1, 2, region="eu")
    ready = stage.join("regions", 3, region="eu")
    silent = stage.join("regions", 4, region="eu")
    (proposal,) = stage.wave("regions")
    stage.do(cmd.Accept(proposal, 1))
    stage.do(cmd.Accept(proposal, 3))
    assert kinds(stage.tick(4_999)) == []
    assert kinds(stage.tick(1)) == ["ProposalsFailed"]
    assert [stage.told(ticket, "cause") for ticket in (party, ready, silent)] == ["lapsed", None, "lapsed"]
    assert stage.told(ready, "status") == "waiting"


def test_a_lapse_may_blame_everybody() -> None:
    stage, _ = proposed()
    stage.tick(5_000)
    assert [stage.told(ticket, "status") for ticket in (1, 2)] == ["cancelled", "cancelled"]


def test_several_ready_checks_lapse_in_one_event() -> None:
    stage = Stage(DUEL)
    for player in range(1, 7):
        stage.join("duel", player)
    proposals = stage.wave("duel")
    for proposal in proposals:
        stage.do(cmd.Accept(proposal, stage.players_of(proposal)[0]))
    (event,) = stage.tick(5_000).events
    assert isinstance(event, ev.ProposalsFailed)
    assert event.proposal.tolist() == proposals
    assert (len(event.blamed), len(event.returned)) == (3, 3)


def test_a_returned_ticket_goes_before_its_equals() -> None:
    """I6."""
    stage = Stage(DUEL)
    tickets = [stage.join("duel", player) for player in (1, 2, 3)]
    (proposal,) = stage.wave("duel")
    stage.do(cmd.Decline(proposal, 1))
    late = stage.join("duel", 4)
    assert stage.order("duel") == [tickets[1], tickets[2], late], "the same wait: who was returned goes first"
    stage.now_ms += 1_000
    assert stage.told(tickets[1], "waited_ms") == stage.told(tickets[2], "waited_ms")


def test_a_longer_wait_goes_before_a_return() -> None:
    stage = Stage(DUEL)
    stage.join("duel", 1)
    stage.join("duel", 2)
    (proposal,) = stage.wave("duel")
    waits = stage.join("duel", 3)
    stage.now_ms += 3_000
    stage.do(cmd.Decline(proposal, 1))
    assert stage.order("duel") == [waits, 2]


def test_a_returned_ticket_keeps_its_misses() -> None:
    stage = Stage(DUEL)
    lone = stage.join("duel", 1)
    stage.finish(stage.start("duel"), reads_misses=True)
    assert stage.told(lone, "misses") == 1
    stage.join("duel", 2)
    (proposal,) = stage.wave("duel")
    stage.do(cmd.Decline(proposal, 2))
    assert (stage.told(lone, "misses"), stage.told(lone, "status")) == (1, "waiting")


def test_the_time_of_a_ready_check_moves_the_deadlines_of_who_returns() -> None:
    stage, proposal = proposed()
    stage.now_ms += 4_000
    stage.do(cmd.Decline(proposal, 1))
    stage.now_ms += 28_999 - 10_000
    stage.do(heartbeat(2))
    stage.tick(10_000)
    assert stage.told(2, "status") == "waiting"
    stage.tick(1)
    assert (stage.told(2, "cause"), stage.told(2, "waited_ms")) == ("too_long", 30_000)


def test_a_heartbeat_is_not_missed_in_a_ready_check() -> None:
    stage, proposal = proposed()
    stage.now_ms += 4_000
    stage.do(cmd.Decline(proposal, 1))
    stage.tick(18_999)
    assert stage.told(2, "status") == "waiting"
    stage.tick(1)
    assert stage.told(2, "cause") == "unheard"


def test_a_heartbeat_in_a_ready_check_gives_no_credit_beyond_its_end() -> None:
    stage, proposal = proposed()
    stage.now_ms += 4_000
    stage.do(heartbeat(2))
    stage.do(cmd.Decline(proposal, 1))
    stage.tick(19_999)
    assert stage.told(2, "status") == "waiting"
    stage.tick(1)
    assert stage.told(2, "cause") == "unheard"


@pytest.mark.parametrize("answer", [cmd.Accept, cmd.Decline])
def test_an_answer_to_nothing_is_refused(answer: type[cmd.Accept] | type[cmd.Decline]) -> None:
    stage, proposal = proposed()
    assert stage.refused(answer(proposal + 1, 1)) is Reasons.UNKNOWN_PROPOSAL
    assert stage.refused(answer(0, 1)) is Reasons.UNKNOWN_PROPOSAL
    assert stage.refused(answer(proposal, 3)) is Reasons.NOT_A_MEMBER
    stage.do(cmd.Decline(proposal, 1))
    assert stage.refused(answer(proposal, 2)) is Reasons.PROPOSAL_OVER
    stage.tick(KEEP_MS)
    assert proposal_record(stage.engine.state, proposal) is None
    assert stage.refused(answer(proposal, 2)) is Reasons.PROPOSAL_OVER


def test_nobody_accepts_twice() -> None:
    stage, proposal = proposed()
    stage.do(cmd.Accept(proposal, 1))
    assert stage.refused(cmd.Accept(proposal, 1)) is Reasons.ALREADY_ACCEPTED


def test_a_match_stays_made() -> None:
    stage, proposal = proposed()
    stage.accept_all(proposal)
    assert stage.refused(cmd.Accept(proposal, 1)) is Reasons.ALREADY_ACCEPTED
    assert stage.refused(cmd.Decline(proposal, 1)) is Reasons.ALREADY_MATCHED
    assert stage.refused(cmd.Leave(1)) is Reasons.ALREADY_MATCHED


def test_nobody_accepts_after_the_deadline_even_before_the_tick() -> None:
    stage, proposal = proposed()
    stage.now_ms += 5_000
    assert stage.refused(cmd.Accept(proposal, 1)) is Reasons.PROPOSAL_OVER


def test_a_proposal_suspends_the_other_tickets_of_its_players_until_it_fails() -> None:
    """I11."""
    stage = Stage(DUEL, QUICK)
    stage.join("duel", 1)
    stage.join("duel", 2)
    other = stage.join("quick", 1)
    stage.tick(1_000)
    stage.finish(stage.effects[-2])
    assert stage.told(other, "suspended") is True
    assert stage.order("quick") == []
    stage.now_ms += 2_000
    assert stage.told(other, "waited_ms") == 1_000
    stage.do(cmd.Decline(1, 2))
    assert stage.told(other, "suspended") is False
    stage.now_ms += 500
    assert stage.told(other, "waited_ms") == 1_500


def test_a_match_that_is_over_at_once_frees_its_players_when_it_is_made() -> None:
    stage, proposal = proposed()
    other = stage.join("quick", 1)
    assert stage.told(other, "suspended") is True
    stage.accept_all(proposal)
    assert stage.told(other, "suspended") is False


def test_a_running_match_holds_its_players_until_it_is_reported_over() -> None:
    stage = Stage(CLAN, QUICK)
    stage.join("clan", 1)
    stage.join("clan", 2)
    (proposal,) = stage.wave("clan")
    other = stage.join("quick", 2)
    stage.accept_all(proposal)
    again = stage.join("clan", 1)
    assert [stage.told(ticket, "suspended") for ticket in (other, again)] == [True, True]
    assert kinds(stage.do(cmd.EndMatch(proposal))) == ["MatchesEnded"]
    assert [stage.told(ticket, "suspended") for ticket in (other, again)] == [False, False]
    assert stage.refused(cmd.EndMatch(proposal)) is Reasons.MATCH_OVER
    assert stage.refused(cmd.EndMatch(proposal + 1)) is Reasons.UNKNOWN_MATCH


def test_a_running_match_ends_by_itself() -> None:
    stage = Stage(CLAN, QUICK)
    stage.join("clan", 1)
    stage.join("clan", 2)
    (proposal,) = stage.wave("clan")
    stage.now_ms += 1_000
    stage.accept_all(proposal)
    other = stage.join("quick", 2)
    stage.tick(6_999)
    assert stage.told(other, "suspended") is True
    assert "MatchesEnded" in kinds(stage.tick(1))
    assert (stage.told(other, "suspended"), stage.told(other, "waited_ms")) == (False, 0)


def test_a_ticket_with_two_claimed_players_waits_for_both() -> None:
    stage = Stage(CLAN, REGIONS)
    for player in (1, 2, 3, 4):
        stage.join("clan", player)
    both = stage.join("regions", 1, 3, region="eu")
    stage.tick(1_000)
    first, second = (event for event in stage.finish(stage.effects[0]).events[0].roster)  # type: ignore[union-attr]
    assert first.tolist() == [1, 2]
    assert second.tolist() == [3, 4]
    assert stage.engine.state.queues["regions"].tickets.suspended[0] == 2
    stage.do(cmd.Decline(1, 2))
    assert stage.told(both, "suspended") is True
    stage.do(cmd.Decline(2, 4))
    assert stage.told(both, "suspended") is False


def test_a_suspended_ticket_may_leave() -> None:
    stage, proposal = proposed()
    other = stage.join("quick", 1)
    stage.do(cmd.Leave(other))
    assert (stage.told(other, "cause"), stage.told(other, "waited_ms")) == ("left", 0)
    stage.do(cmd.Decline(proposal, 2))
    assert stage.told(other, "status") == "cancelled"
