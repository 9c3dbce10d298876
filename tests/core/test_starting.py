"""Matches that the game server has to confirm, and what operators may do."""

import msgspec

from evenmatch.core.records import match_record, ticket_record
from evenmatch.domain import commands as cmd
from evenmatch.domain.queue import Mode
from evenmatch.domain.refusals import Reasons
from evenmatch.domain.ticket import Member

from .stage import CLAN, DUEL, QUICK, REGIONS, SERVED, STRICT, Stage, kinds, request


def starting() -> tuple[Stage, int]:
    """A match that everybody accepted, and that waits for its game server."""
    stage = Stage(STRICT, QUICK)
    stage.join("strict", 1)
    stage.join("strict", 2)
    (proposal,) = stage.wave("strict")
    stage.do(cmd.Accept(proposal, 1))
    assert kinds(stage.do(cmd.Accept(proposal, 2))) == ["Accepted", "MatchStarting"]
    return stage, proposal


def test_a_match_is_made_when_the_game_server_confirms() -> None:
    stage, match = starting()
    record = match_record(stage.engine.state, match)
    assert record is not None
    assert record["standing"] == "starting"
    assert stage.told(1, "status") == "proposed"
    stage.now_ms += 3_000
    assert kinds(stage.do(cmd.ConfirmStart(match))) == ["MatchMade"]
    assert stage.told(1, "status") == "matched"
    record = match_record(stage.engine.state, match)
    assert record is not None
    assert record["standing"] == "running"
    assert stage.refused(cmd.ConfirmStart(match)) is Reasons.MATCH_NOT_STARTING
    assert stage.refused(cmd.ConfirmStart(99)) is Reasons.UNKNOWN_MATCH


def test_everybody_waits_again_as_before_when_it_cannot_start() -> None:
    stage, match = starting()
    stage.now_ms += 2_000
    assert kinds(stage.do(cmd.FailStart(match))) == ["ProposalsFailed"]
    for ticket in (1, 2):
        assert (stage.told(ticket, "status"), stage.told(ticket, "waited_ms")) == ("waiting", 1_000)
    assert stage.engine.state.queues["strict"].books == {}, "nobody is to blame"
    assert stage.wave("strict"), "they are matched again"


def test_a_start_that_nobody_confirms_is_given_up() -> None:
    stage, match = starting()
    stage.tick(3_999)
    assert stage.told(1, "status") == "proposed"
    stage.tick(1)
    assert (stage.told(1, "status"), stage.told(2, "status")) == ("waiting", "waiting")
    assert match_record(stage.engine.state, match) is None


def test_nobody_can_back_out_of_a_match_that_starts() -> None:
    stage, match = starting()
    assert stage.refused(cmd.Decline(match, 1)) is Reasons.ALREADY_MATCHED
    assert stage.refused(cmd.Leave(1)) is Reasons.MATCH_STARTING
    assert stage.refused(cmd.Accept(match, 1)) is Reasons.ALREADY_ACCEPTED


def test_players_of_a_match_that_starts_are_claimed() -> None:
    stage, match = starting()
    other = stage.join("quick", 1)
    assert stage.told(other, "suspended")
    stage.do(cmd.FailStart(match))
    assert not stage.told(other, "suspended")


def test_without_a_ready_check_the_wave_leads_to_the_start() -> None:
    stage = Stage(SERVED)
    stage.join("served", 1)
    stage.join("served", 2)
    (match,) = stage.wave("served")
    assert stage.told(1, "status") == "proposed"
    stage.do(cmd.ConfirmStart(match))
    assert stage.told(1, "status") == "matched"


def test_downtime_does_not_count_against_the_game_server() -> None:
    stage, match = starting()
    stage.restart(60_000)
    stage.tick(3_999)
    assert stage.refused(cmd.ConfirmStart(match)) is None


def test_a_paused_queue_runs_no_wave_and_goes_on_afterwards() -> None:
    stage = Stage(QUICK)
    stage.do(cmd.SetMode("quick", Mode.PAUSED))
    stage.join("quick", 1)
    stage.join("quick", 2)
    assert not stage.tick(5_000).effects
    assert stage.do(cmd.SetMode("quick", Mode.PAUSED)).events == ()
    stage.do(cmd.SetMode("quick", Mode.OPEN))
    assert stage.wave("quick")
    assert stage.refused(cmd.SetMode("nowhere", Mode.OPEN)) is Reasons.UNKNOWN_QUEUE


def test_a_draining_queue_matches_on_and_takes_nobody() -> None:
    stage = Stage(QUICK)
    stage.join("quick", 1)
    stage.join("quick", 2)
    stage.do(cmd.SetMode("quick", Mode.DRAINING))
    assert stage.joined("quick", request(3)) is Reasons.QUEUE_DRAINING
    assert stage.wave("quick")


def test_an_operator_cancels_a_waiting_ticket() -> None:
    stage = Stage(QUICK)
    ticket = stage.join("quick", 1)
    assert stage.refused(cmd.CancelTicket(ticket)) is None
    assert (stage.told(ticket, "status"), stage.told(ticket, "cause")) == ("cancelled", "operator")
    assert stage.refused(cmd.CancelTicket(ticket)) is Reasons.NOT_WAITING
    assert stage.refused(cmd.CancelTicket(99)) is Reasons.UNKNOWN_TICKET


def test_a_ticket_cancelled_out_of_a_ready_check_sets_the_others_free() -> None:
    stage = Stage(STRICT)
    stage.join("strict", 1)
    stage.join("strict", 2)
    stage.wave("strict")
    stage.do(cmd.CancelTicket(1))
    assert (stage.told(1, "cause"), stage.told(2, "status")) == ("operator", "waiting")
    assert stage.engine.state.queues["strict"].books == {}


def test_an_operator_cancels_a_match() -> None:
    stage = Stage(CLAN, DUEL)
    stage.join("clan", 1)
    stage.join("clan", 2)
    (match,) = stage.wave("clan")
    for player in (1, 2):
        stage.do(cmd.Accept(match, player))
    assert stage.refused(cmd.CancelMatch(match)) is None
    record = match_record(stage.engine.state, match)
    assert record is not None
    assert record["standing"] == "cancelled"
    assert not stage.engine.state.claims
    assert stage.refused(cmd.CancelMatch(match)) is Reasons.MATCH_OVER
    stage.tick(60_000)
    assert match_record(stage.engine.state, match) is None, "it leaves the state like any other"


def test_a_ticket_changes_and_keeps_its_place() -> None:
    stage = Stage(REGIONS)
    first = stage.join("regions", 1, 2, region="eu")
    stage.now_ms += 5_000
    members = (Member(1, 1234.0, 20.0), Member(2, 1300.0))
    step = stage.do(cmd.UpdateTicket(first, members, {"region": "us"}))
    assert kinds(step) == ["TicketUpdated"]
    assert stage.told(first, "waited_ms") == 5_000
    record = ticket_record(stage.engine.state, first, stage.now_ms)
    assert record is not None
    assert [player["rating"] for player in record["players"]] == [1234.0, 1300.0]
    stage.join("regions", 3, 4, region="eu")
    assert stage.wave("regions") == [], "they no longer share a region"
    stage.join("regions", 5, 6, region="us")
    assert stage.wave("regions")
    assert stage.refused(cmd.UpdateTicket(first, members, {"region": "us"})) is Reasons.NOT_WAITING


def test_an_update_is_judged_like_a_join() -> None:
    stage = Stage(REGIONS)
    ticket = stage.join("regions", 1, region="eu")
    assert stage.refused(cmd.UpdateTicket(ticket, (Member(1, float("nan")),), {"region": "eu"})) is Reasons.BAD_RATING
    assert stage.refused(cmd.UpdateTicket(ticket, (Member(1, ping_ms=-1),), {"region": "eu"})) is Reasons.BAD_PING
    assert stage.refused(cmd.UpdateTicket(ticket, (Member(1),), {})) is Reasons.MISSING_ATTRIBUTE
    assert stage.refused(cmd.UpdateTicket(99, (Member(1),), {})) is Reasons.UNKNOWN_TICKET


def test_new_rules_without_a_cooldown_let_what_was_given_be_served() -> None:
    stage = Stage(STRICT)
    stage.join("strict", 1)
    stage.join("strict", 2)
    (proposal,) = stage.wave("strict")
    stage.do(cmd.Decline(proposal, 1))
    stage.do(cmd.OpenQueue(msgspec.structs.replace(STRICT, cooldown=None)))
    assert stage.joined("strict", request(1)) is Reasons.COOLING_DOWN
    stage.tick(4_000)
    assert isinstance(stage.joined("strict", request(1)), int)
