"""Game servers that matches are given, or not, as far as the state knows."""

import numpy as np

from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.refusals import Reasons
from evenmatch.domain.ticket import Cause

from .invariants import Story
from .stage import DUEL, KEEP_MS, QUICK, SERVED, Stage


def given(match: int, queue: str = "quick") -> cmd.GiveServer:
    return cmd.GiveServer(match, queue, "10.0.0.1", 7000, "token", 1)


def given_up(match: int, queue: str = "quick") -> cmd.GiveUpServer:
    return cmd.GiveUpServer(match, queue, "answered with status 503", 5)


def quick() -> Stage:
    stage = Stage(QUICK, SERVED, DUEL)
    stage.join("quick", 1)
    stage.join("quick", 2)
    assert stage.wave("quick") == [1]
    return stage


def test_the_tickets_of_a_match_hear_of_its_server() -> None:
    stage = quick()
    (event,) = stage.do(given(1)).events
    assert isinstance(event, ev.ServerAllocated)
    assert (event.address, event.port, event.token, event.ticket.tolist()) == ("10.0.0.1", 7000, "token", [1, 2])
    assert stage.told(1, "sequence") == stage.engine.state.sequence
    assert stage.told(1, "status") == "matched"


def test_a_match_that_left_the_state_gets_its_server_and_nobody_is_left_to_hear() -> None:
    stage = quick()
    stage.tick(KEEP_MS + 1)
    (event,) = stage.do(given(1)).events
    assert isinstance(event, ev.ServerAllocated)
    assert event.ticket.tolist() == []


def test_a_match_that_is_to_start_and_gets_no_server_returns_everybody() -> None:
    stage = quick()
    stage.join("served", 3)
    stage.join("served", 4)
    (match,) = stage.wave("served")
    failed, returned = stage.do(given_up(match, "served")).events
    assert isinstance(failed, ev.AllocationFailed)
    assert isinstance(returned, ev.ProposalsFailed)
    assert (returned.cause, returned.returned.tolist()) == (Cause.START_FAILED, [3, 4])
    assert stage.told(3, "status") == "waiting"
    assert stage.refused(given(match, "served")) is Reasons.MATCH_OVER


def test_a_match_that_is_made_stays_made_without_a_server() -> None:
    stage = quick()
    (failed,) = stage.do(given_up(1)).events
    assert isinstance(failed, ev.AllocationFailed)
    assert stage.told(1, "status") == "matched"
    assert stage.refused(given(1)) is None, "an operator may have asked once more"


def test_what_is_no_match_gets_no_server() -> None:
    stage = quick()
    assert stage.refused(given(99)) is Reasons.UNKNOWN_MATCH
    stage.join("duel", 5)
    stage.join("duel", 6)
    (proposal,) = stage.wave("duel")
    assert stage.refused(given(proposal, "duel")) is Reasons.MATCH_OVER
    stage.do(cmd.Decline(proposal, 5))
    assert stage.refused(given_up(proposal, "duel")) is Reasons.MATCH_OVER


def test_stories_hold_through_it_all() -> None:
    stage = quick()
    stage.do(given_up(1))
    stage.do(given(1))
    stage.join("served", 3)
    stage.join("served", 4)
    (match,) = stage.wave("served")
    stage.do(given(match, "served"))
    stage.do(cmd.ConfirmStart(match))
    stage.do(cmd.Heartbeat(np.array([1])))
    story = Story()
    for event in stage.events:
        story.hear(event)
