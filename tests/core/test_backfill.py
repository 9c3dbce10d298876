"""Backfill: a running match asks for players, who are invited and join it, or not."""

from typing import Any

import msgspec
import numpy as np
import pytest

from evenmatch.core.checkpoint import dump, load
from evenmatch.core.engine import Step
from evenmatch.core.evolve import evolve
from evenmatch.core.hashing import state_hash
from evenmatch.core.records import match_record, proposal_record
from evenmatch.core.state import State
from evenmatch.domain import backfill_events as bev
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.backfill import BackfillSpec
from evenmatch.domain.queue import CooldownSpec, Format, MatchSpec, QueueSpec, ReadyCheckSpec, rule_broken
from evenmatch.domain.refusals import Reasons
from evenmatch.domain.ticket import Member, TicketRequest

from .stage import CLAN, KEEP_MS, LONG, QUICK, VENUE, Stage, kinds, member_at, request

TEAMS = msgspec.structs.replace(
    LONG, name="teams", ready_check=ReadyCheckSpec(5.0), match=MatchSpec(runs_s=100.0), backfill=BackfillSpec()
)
"""Two against two, with a ready check, and matches that go on for long."""
AT_ONCE = msgspec.structs.replace(TEAMS, name="at_once", backfill=BackfillSpec(ready_check=False))
"""The same; who fills a place is not asked."""


def rules(spec: QueueSpec = TEAMS, **changes: object) -> QueueSpec:
    """The same queue with other rules of backfill."""
    return msgspec.structs.replace(spec, backfill=msgspec.structs.replace(spec.backfill, **changes))


def running(spec: QueueSpec = TEAMS, players: tuple[int, ...] = (1, 2, 3, 4)) -> tuple[Stage, int]:
    """A stage on which these play a match."""
    stage = Stage(spec)
    for player in players:
        stage.join(spec.name, player)
    (match,) = stage.wave(spec.name)
    if spec.ready_check is not None:
        stage.accept_all(match)
    return stage, match


def teams_of(stage: Stage, match: int) -> list[list[int]]:
    """The players of a match, team by team, with all who ever were in it."""
    record = match_record(stage.engine.state, match)
    assert record is not None
    return [[p["player"] for party in team for p in party["players"]] for team in record["teams"]]


def beat(stage: Stage, after_ms: int = 1_000) -> Step:
    """Tick, and let the waves that this starts come back at once."""
    step = stage.tick(after_ms)
    for effect in step.effects:
        stage.finish(effect)
    return step


def leave(stage: Stage, match: int, team: int, player: int) -> None:
    """A player leaves, and the match asks for another."""
    assert stage.refused(cmd.AskBackfill(match, ((team, player),))) is None


def invitations(stage: Stage) -> dict[int, int]:
    """Invitation -> match, of all queues."""
    return {p: m for queue in stage.engine.state.by_index for p, m in queue.fillings.invited.items()}


def replayed(stage: Stage) -> None:
    """The journal alone, and a checkpoint, give the same state."""
    again = State()
    for event in stage.events:
        evolve(again, event)
    assert state_hash(again) == state_hash(stage.engine.state)
    loaded = load(dump(stage.engine.state))
    assert state_hash(loaded) == state_hash(stage.engine.state)
    assert sorted(loaded.claims.items()) == sorted(stage.engine.state.claims.items())


def test_a_newcomer_is_invited_accepts_and_is_in_the_match() -> None:
    stage, match = running()
    first = teams_of(stage, match)
    gone = first[0][0]
    leave(stage, match, 0, gone)
    ticket = stage.join(TEAMS.name, 9)
    step = beat(stage, 1_000)
    assert kinds(step) == ["PlacesOffered"]
    ((invitation, to),) = invitations(stage).items()
    assert (to, stage.told(ticket, "status"), stage.told(ticket, "proposal")) == (match, "proposed", invitation)
    step = stage.do(cmd.Accept(invitation, 9))
    assert kinds(step) == ["Accepted", "MatchFilled"]
    assert (stage.told(ticket, "status"), stage.told(ticket, "match")) == ("matched", match)
    assert teams_of(stage, match) == [[*first[0], 9], first[1]]
    record = match_record(stage.engine.state, match)
    assert record is not None
    assert record["left"] == [[gone, 0, stage.now_ms - 1_000]]
    assert record["late"] == {str(ticket): stage.now_ms}
    assert stage.engine.state.claims.get(9) == match
    assert match_record(stage.engine.state, invitation) is None, "an invitation is no match of its own"
    replayed(stage)


def test_who_left_is_free_at_once_and_is_not_invited_back() -> None:
    stage, match = running()
    gone = teams_of(stage, match)[1][1]
    leave(stage, match, 1, gone)
    assert stage.engine.state.claims.get(gone) is None
    ticket = stage.join(TEAMS.name, gone)
    assert kinds(beat(stage, 1_000)) == []
    assert stage.told(ticket, "status") == "waiting"
    replayed(stage)


def test_who_left_may_be_in_another_match_when_the_first_one_ends() -> None:
    stage, match = running()
    gone = teams_of(stage, match)[0][0]
    leave(stage, match, 0, gone)
    stage.do(cmd.WithdrawBackfill(match))
    for player in (gone, 6, 7, 8):
        stage.join(TEAMS.name, player)
    (other,) = stage.wave(TEAMS.name)
    assert stage.engine.state.claims.get(gone) == other
    replayed(stage)
    assert stage.refused(cmd.EndMatch(match)) is None
    assert stage.engine.state.claims.get(gone) == other
    assert sorted(stage.engine.state.claims) == sorted((gone, 6, 7, 8))
    replayed(stage)


def test_a_ticket_elsewhere_of_who_left_waits_on_and_of_who_joins_stands_still() -> None:
    stage, match = running()
    stage.do(cmd.OpenQueue(QUICK))
    gone = teams_of(stage, match)[0][0]
    theirs = stage.join(QUICK.name, gone)
    assert stage.told(theirs, "suspended") is True
    leave(stage, match, 0, gone)
    assert stage.told(theirs, "suspended") is False
    stage.do(cmd.Leave(theirs))
    stage.join(TEAMS.name, 9)
    other = stage.join(QUICK.name, 9)
    beat(stage, 1_000)
    (invitation,) = invitations(stage)
    stage.accept_all(invitation)
    assert stage.told(other, "suspended") is True
    stage.do(cmd.EndMatch(match))
    assert stage.told(other, "suspended") is False
    replayed(stage)


def test_a_decline_opens_the_place_again_and_the_next_is_invited() -> None:
    stage, match = running()
    leave(stage, match, 0, teams_of(stage, match)[0][0])
    first, second = stage.join(TEAMS.name, 8), stage.join(TEAMS.name, 9)
    beat(stage, 1_000)
    (invitation,) = invitations(stage)
    stage.do(cmd.Decline(invitation, stage.players_of(invitation)[0]))
    assert sorted((str(stage.told(first, "status")), str(stage.told(second, "status")))) == ["cancelled", "waiting"]
    beat(stage, 1_000)
    (again,) = invitations(stage)
    assert again > invitation
    stage.accept_all(again)
    assert len(teams_of(stage, match)[0]) == 3
    replayed(stage)


def test_an_invitation_that_nobody_answers_lapses() -> None:
    stage, match = running()
    leave(stage, match, 0, teams_of(stage, match)[0][0])
    ticket = stage.join(TEAMS.name, 9)
    beat(stage, 1_000)
    beat(stage, 5_000)
    assert (stage.told(ticket, "status"), stage.told(ticket, "cause")) == ("cancelled", "lapsed")
    assert stage.engine.state.queues[TEAMS.name].fillings.open == 1
    replayed(stage)


def test_without_a_ready_check_newcomers_join_at_once() -> None:
    stage, match = running(AT_ONCE)
    gone = [team[0] for team in teams_of(stage, match)]
    assert stage.refused(cmd.AskBackfill(match, ((0, gone[0]), (1, gone[1])))) is None
    stage.join(AT_ONCE.name, 8)
    stage.join(AT_ONCE.name, 9)
    assert kinds(beat(stage, 1_000)) == ["MatchFilled", "MatchFilled"]
    assert sorted(player for team in teams_of(stage, match) for player in team) == [1, 2, 3, 4, 8, 9]
    assert sorted(stage.engine.state.claims) == sorted({1, 2, 3, 4, 8, 9} - set(gone))
    stage.do(cmd.EndMatch(match))
    assert not stage.engine.state.claims
    replayed(stage)


def test_a_party_comes_whole_or_not_at_all() -> None:
    stage, match = running(AT_ONCE)
    team = teams_of(stage, match)[0]
    pair = stage.join(AT_ONCE.name, 8, 9)
    assert stage.refused(cmd.AskBackfill(match, ((0, team[0]),))) is None
    assert kinds(beat(stage, 1_000)) == []
    assert stage.refused(cmd.AskBackfill(match, ((0, team[1]),))) is None
    assert kinds(beat(stage, 1_000)) == ["MatchFilled"]
    assert stage.told(pair, "match") == match
    replayed(stage)


@pytest.mark.parametrize("who", ["blocks", "is_blocked", "avoids", "invited"])
def test_nobody_is_invited_to_whom_they_must_not_meet(who: str) -> None:
    stage, match = running()
    team = teams_of(stage, match)
    stays = team[1][0]
    if who == "blocks":
        stage.do(cmd.SetBlocks(9, (stays,)))
    if who == "is_blocked":
        stage.do(cmd.SetBlocks(stays, (9,)))
    leave(stage, match, 0, team[0][0])
    if who == "invited":
        leave(stage, match, 1, team[1][1])
        stage.do(cmd.SetBlocks(9, (8,)))
        stage.join(TEAMS.name, 8)
    avoid = (stays,) if who == "avoids" else ()
    stage.do(cmd.Join(TEAMS.name, msgspec.structs.replace(request(9), avoid=avoid)))
    beat(stage, 1_000)
    assert len(invitations(stage)) == (who == "invited")


def test_the_window_is_of_the_team_and_grows_with_both_waits() -> None:
    stage, match = running(rules(AT_ONCE, window=100.0, grows=10.0))
    team = teams_of(stage, match)[0]
    leave(stage, match, 0, team[0])
    stage.do(cmd.Join(AT_ONCE.name, TicketRequest((Member(9, 1500.0 + team[1] + 160.0),))))
    assert kinds(beat(stage, 1_000)) == []
    assert kinds(beat(stage, 1_000)) == []
    assert kinds(beat(stage, 1_000)) == ["MatchFilled"], "100 + 10 * (3 + 3) reaches 160"


def test_the_nearest_goes_first_and_a_second_of_waiting_counts_for_as_much_as_it_widens() -> None:
    spec = rules(AT_ONCE, window=0.0, grows=10.0)
    for waits_ms, expected in ((4_000, 9), (24_000, 8)):
        stage, match = running(spec)
        team = teams_of(stage, match)[0]
        patient = stage.do(cmd.Join(spec.name, TicketRequest((Member(8, 1500.0 + team[1] + 200.0),)))).outcomes[0]
        stage.now_ms += waits_ms // 2
        stage.do(cmd.Heartbeat(np.array([patient])))
        stage.now_ms += waits_ms // 2
        leave(stage, match, 0, team[0])
        stage.do(cmd.Join(spec.name, TicketRequest((Member(9, 1500.0 + team[1]),))))
        beat(stage, 0)
        assert teams_of(stage, match)[0][-1] == expected, waits_ms


def test_tickets_say_whether_they_may_be_asked() -> None:
    for asks, will, invited in ((False, None, 1), (False, False, 0), (True, None, 0), (True, True, 1)):
        stage, match = running(rules(asks=asks))
        leave(stage, match, 0, teams_of(stage, match)[0][0])
        stage.do(cmd.Join(TEAMS.name, msgspec.structs.replace(request(9), backfill=will)))
        beat(stage, 1_000)
        assert len(invitations(stage)) == invited
        replayed(stage)


def test_first_takes_before_the_wave_and_last_takes_what_it_leaves() -> None:
    for priority in ("first", "last"):
        stage, match = running(rules(priority=priority))
        leave(stage, match, 0, teams_of(stage, match)[0][0])
        tickets = [stage.join(TEAMS.name, player) for player in (6, 7, 8, 9)]
        effect = stage.start(TEAMS.name)
        assert len(effect.snapshot) == (3 if priority == "first" else 4)
        step = stage.finish(effect)
        assert kinds(step) == ([] if priority == "first" else ["WaveFinished"])
        more = stage.join(TEAMS.name, 10)
        stage.finish(stage.start(TEAMS.name))
        told = [stage.told(ticket, "status") for ticket in (*tickets, more)]
        assert len(invitations(stage)) == 1
        assert told.count("proposed") == 5


def test_only_the_group_of_the_match_is_invited() -> None:
    spec = msgspec.structs.replace(TEAMS, require_equal=("region",))
    stage = Stage(spec)
    for player in (1, 2, 3, 4):
        stage.join(spec.name, player, region="eu")
    (match,) = stage.wave(spec.name)
    stage.accept_all(match)
    leave(stage, match, 0, teams_of(stage, match)[0][0])
    stage.join(spec.name, 8, region="us")
    beat(stage, 1_000)
    assert not invitations(stage)
    stage.join(spec.name, 9, region="eu")
    beat(stage, 1_000)
    (invitation,) = invitations(stage)
    assert stage.players_of(invitation) == [9]


def test_only_who_is_near_enough_to_the_region_of_the_match_is_invited() -> None:
    spec = msgspec.structs.replace(VENUE, match=MatchSpec(runs_s=50.0), backfill=BackfillSpec(window=0.0))
    stage = Stage(spec)
    for player in (1, 2):
        stage.do(cmd.Join(spec.name, TicketRequest((member_at(player, 20.0, 120.0),))))
    (match,) = stage.wave(spec.name)
    leave(stage, match, 0, teams_of(stage, match)[0][0])
    far, near = (
        stage.do(cmd.Join(spec.name, TicketRequest((member_at(player, eu_ms, 150.0 - eu_ms),)))).outcomes[0]
        for player, eu_ms in ((8, 90.0), (9, 80.0))
    )
    assert kinds(beat(stage, 1_000)) == ["MatchFilled"]
    assert isinstance(far, int)
    assert isinstance(near, int)
    assert (stage.told(far, "status"), stage.told(near, "match")) == ("waiting", match)


def test_what_cannot_be_asked_is_refused() -> None:
    stage, match = running()
    stage.do(cmd.OpenQueue(CLAN))
    teams = teams_of(stage, match)
    (one, two), other = teams[0], teams[1][0]

    def ask(*places: tuple[int, int], of: int = match) -> Reasons | None:
        return stage.refused(cmd.AskBackfill(of, places))

    assert ask((0, one), of=99) is Reasons.UNKNOWN_MATCH
    assert ask((2, 0)) is Reasons.UNKNOWN_TEAM
    assert ask((-1, 0)) is Reasons.UNKNOWN_TEAM
    assert ask() is Reasons.NO_FREE_PLACE
    assert ask((0, 0)) is Reasons.NO_FREE_PLACE
    assert ask((0, other)) is Reasons.NOT_IN_TEAM
    assert ask((0, 77)) is Reasons.NOT_IN_TEAM
    assert ask((0, one), (0, one)) is Reasons.ALREADY_LEFT
    assert ask((0, one), (0, 0)) is Reasons.NO_FREE_PLACE
    assert ask((0, one)) is None
    assert ask((0, one)) is Reasons.ALREADY_LEFT
    assert ask((0, 0)) is Reasons.NO_FREE_PLACE, "its place is asked for already"
    assert stage.refused(cmd.WithdrawBackfill(match)) is None
    assert ask((0, 0)) is None, "the place is free again"
    stage.join(CLAN.name, 11)
    stage.join(CLAN.name, 12)
    (proposal,) = stage.wave(CLAN.name)
    assert ask((0, 11), of=proposal) is Reasons.MATCH_NOT_RUNNING
    stage.do(cmd.EndMatch(match))
    assert ask((0, two)) is Reasons.MATCH_NOT_RUNNING
    assert stage.refused(cmd.WithdrawBackfill(match)) is Reasons.MATCH_NOT_RUNNING
    assert stage.refused(cmd.WithdrawBackfill(99)) is Reasons.UNKNOWN_MATCH


def test_a_queue_may_fill_no_places() -> None:
    stage, match = running(rules(enabled=False))
    assert stage.refused(cmd.AskBackfill(match, ((0, teams_of(stage, match)[0][0]),))) is Reasons.BACKFILL_OFF


def test_a_queue_whose_matches_do_not_run_cannot_be_asked() -> None:
    stage, match = running(QUICK, (1, 2))
    step = stage.do(cmd.AskBackfill(match, ((0, 1),)))
    assert step.refusal is not None
    assert step.refusal.reason is Reasons.MATCH_NOT_RUNNING
    assert "runs_s" in step.refusal.detail


def test_the_same_key_asks_once() -> None:
    stage, match = running()
    gone = teams_of(stage, match)[0][0]
    command = cmd.AskBackfill(match, ((0, gone),), key=2**100 + 7, fingerprint=5)
    assert kinds(stage.do(command)) == ["BackfillAsked"]
    assert kinds(stage.do(command)) == []
    assert stage.refused(msgspec.structs.replace(command, fingerprint=6)) is Reasons.KEY_REUSED
    replayed(stage)


@pytest.mark.parametrize("how", ["end", "cancel", "runs_out", "withdraw", "result"])
def test_when_the_match_needs_nobody_any_more_the_invited_wait_on_as_before(how: str) -> None:
    stage, match = running(rules())
    leave(stage, match, 0, teams_of(stage, match)[0][0])
    stage.now_ms += 96_000 if how == "runs_out" else 0
    ticket = stage.join(TEAMS.name, 9)
    beat(stage, 1_000)
    assert stage.told(ticket, "status") == "proposed"
    waited = stage.told(ticket, "waited_ms")
    none = np.empty((0, 3))
    commands: dict[str, cmd.Command] = {
        "end": cmd.EndMatch(match),
        "cancel": cmd.CancelMatch(match),
        "withdraw": cmd.WithdrawBackfill(match),
        "runs_out": cmd.Tick(),
        "result": cmd.ReportResult(
            ev.ResultReported(0, TEAMS.name, match, "", np.arange(2), *(np.empty(0, np.int64),) * 3, none, none)
        ),
    }
    stage.now_ms += 3_000
    step = stage.do(commands[how])
    expected = ["ProposalsFailed", "BackfillClosed", "MatchesEnded"]
    assert kinds(step) == (["ResultReported"] if how == "result" else []) + expected[: 2 if how == "withdraw" else 3]
    assert (stage.told(ticket, "status"), stage.told(ticket, "waited_ms")) == ("waiting", waited)
    assert not stage.engine.state.queues[TEAMS.name].fillings.open
    replayed(stage)


def test_a_lapse_and_the_end_of_the_match_in_one_tick() -> None:
    stage, match = running(rules())
    leave(stage, match, 0, teams_of(stage, match)[0][0])
    ticket = stage.join(TEAMS.name, 9)
    stage.now_ms += 98_000
    stage.do(cmd.Heartbeat(np.array([ticket])))
    beat(stage, 0)
    beat(stage, 10_000)
    replayed(stage)
    assert not invitations(stage)


def test_places_that_nobody_takes_are_given_up_and_downtime_does_not_count() -> None:
    stage, match = running(rules(expires_s=10.0))
    leave(stage, match, 0, teams_of(stage, match)[0][0])
    beat(stage, 4_000)
    stage.restart(60_000)
    assert kinds(beat(stage, 9_999)) == [], "the engine was away since the last thing that happened"
    assert kinds(beat(stage, 1)) == ["BackfillClosed"]
    assert stage.engine.state.queues[TEAMS.name].fillings.open == 0
    replayed(stage)


def test_a_place_that_expired_while_somebody_was_invited_is_given_up_when_they_decline() -> None:
    stage, match = running(rules(expires_s=3.0))
    leave(stage, match, 0, teams_of(stage, match)[0][0])
    stage.join(TEAMS.name, 9)
    beat(stage, 1_000)
    assert kinds(beat(stage, 3_000)) == []
    (invitation,) = invitations(stage)
    stage.do(cmd.Decline(invitation, 9))
    assert kinds(beat(stage, 1)) == ["BackfillClosed"]
    replayed(stage)


def test_a_crash_between_invitation_and_answer_loses_nothing() -> None:
    stage, match = running()
    leave(stage, match, 0, teams_of(stage, match)[0][0])
    ticket = stage.join(TEAMS.name, 9)
    beat(stage, 1_000)
    (invitation,) = invitations(stage)
    stage.engine.state = load(dump(stage.engine.state))
    stage.restart(30_000)
    stage.accept_all(invitation)
    assert stage.told(ticket, "match") == match
    replayed(stage)


def test_leaving_costs_a_cool_down_where_the_queue_says_so() -> None:
    cool = CooldownSpec(growth=2.0, most_s=100.0, forgive_s=1000.0)
    stage, match = running(msgspec.structs.replace(rules(leave_s=10.0), cooldown=cool))
    gone = teams_of(stage, match)[0][0]
    leave(stage, match, 0, gone)
    assert stage.joined(TEAMS.name, request(gone)) is Reasons.COOLING_DOWN
    stage.now_ms += 10_000
    assert isinstance(stage.joined(TEAMS.name, request(gone)), int)
    replayed(stage)


def test_all_of_it_leaves_the_state_with_the_match() -> None:
    stage, match = running()
    leave(stage, match, 0, teams_of(stage, match)[0][0])
    ticket = stage.join(TEAMS.name, 9)
    beat(stage, 1_000)
    (invitation,) = invitations(stage)
    stage.accept_all(invitation)
    stage.do(cmd.EndMatch(match))
    step = beat(stage, KEEP_MS)
    (left,) = step.departures
    assert ticket in [number for number, _ in left.tickets]
    ((number, record),) = left.matches
    assert number == match
    assert record["late"] == {str(ticket): record["late"][str(ticket)]}
    assert not stage.is_in_state(ticket)
    assert proposal_record(stage.engine.state, invitation) is None
    queue = stage.engine.state.queues[TEAMS.name]
    assert (len(queue.fillings), queue.notes_sum, queue.fillings.digests) == (0, 0, {})
    replayed(stage)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"window": -1.0}, "backfill.window"),
        ({"window": float("nan")}, "backfill.window"),
        ({"grows": 1e9}, "backfill.grows"),
        ({"latency_max_ms": -3.0}, "backfill.latency_max_ms"),
        ({"priority": "middle"}, "backfill.priority"),
        ({"rated": "some"}, "backfill.rated"),
        ({"expires_s": -1.0}, "backfill.expires_s"),
        ({"leave_s": float("inf")}, "backfill.leave_s"),
    ],
)
def test_rules_that_cannot_be_used_are_told(changes: dict[str, Any], key: str) -> None:
    broken = rule_broken(rules(**changes))
    assert broken is not None
    assert broken[0] == key
    assert rule_broken(QueueSpec("q", Format(2, 2))) is None


def test_an_event_for_each_ticket_links_the_stories_of_those_inside() -> None:
    stage, match = running(AT_ONCE)
    gone = [team[0] for team in teams_of(stage, match)]
    stage.do(cmd.AskBackfill(match, ((0, gone[0]), (1, gone[1]))))
    stage.join(AT_ONCE.name, 8)
    stage.join(AT_ONCE.name, 9)
    first, second = beat(stage, 1_000).events
    assert isinstance(first, bev.MatchFilled)
    assert isinstance(second, bev.MatchFilled)
    assert set(second.inside.tolist()) == {*first.inside.tolist(), first.ticket}
    assert set(second.inside_previous.tolist()) == {stage.engine.state.sequence - 1}
