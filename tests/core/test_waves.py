"""When a queue is tried, what a wave changes, and what becomes of bad, late and overtaken plans."""

import msgspec
import numpy as np
import pytest

from evenmatch.core.engine import Step
from evenmatch.core.hashing import state_hash
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.effects import RunMatcher
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import DoorSpec, Format
from evenmatch.domain.refusals import Reasons
from evenmatch.domain.ticket import Member, TicketRequest

from .bad_plans import BAD_PLANS
from .stage import DUEL, LONG, QUICK, REGIONS, Stage, first_come, kinds


def answer(effect: RunMatcher, **more: object) -> cmd.FinishWave:
    command: cmd.FinishWave = msgspec.structs.replace(
        cmd.FinishWave(effect.spec.name, effect.wave, first_come(effect)), **more
    )
    return command


def waves(step: Step) -> list[tuple[str, int]]:
    return [(effect.spec.name, effect.wave) for effect in step.effects]


def test_an_empty_queue_is_not_tried() -> None:
    stage = Stage(DUEL)
    assert waves(stage.tick(1_000)) == []


def test_a_join_makes_a_wave_due() -> None:
    stage = Stage(DUEL)
    stage.join("duel", 1)
    assert waves(stage.tick()) == [("duel", 1)]


def test_at_most_one_wave_of_a_queue_is_in_flight() -> None:
    stage = Stage(DUEL, QUICK)
    stage.join("duel", 1)
    stage.tick()
    stage.join("duel", 2)
    stage.join("quick", 2)
    assert waves(stage.tick(1_000)) == [("quick", 1)]


def test_waves_keep_their_distance() -> None:
    stage = Stage(DUEL)
    stage.join("duel", 1)
    stage.finish(stage.start("duel", 0))
    stage.join("duel", 2)
    assert waves(stage.tick(999)) == []
    assert waves(stage.tick(1)) == [("duel", 2)]


def test_a_wave_that_changes_nothing_writes_nothing() -> None:
    stage = Stage(DUEL)
    stage.join("duel", 1)
    effect = stage.start("duel")
    before = state_hash(stage.engine.state)
    assert stage.finish(effect).events == ()
    assert state_hash(stage.engine.state) == before
    assert stage.told(1, "misses") == 0


def test_a_queue_in_which_nothing_changed_is_not_tried_again() -> None:
    stage = Stage(DUEL, QUICK)
    stage.join("duel", 1)
    stage.finish(stage.start("duel"))
    stage.join("quick", 2)
    stage.do(cmd.Heartbeat(np.array([1])))
    assert [name for name, _ in waves(stage.tick(5_000))] == ["quick"]


def test_a_queue_is_tried_again_when_time_alone_changes_the_answer() -> None:
    stage = Stage(DUEL)
    stage.join("duel", 1)
    effect = stage.start("duel")
    stage.do(answer(effect, next_change_ms=stage.now_ms + 4_000))
    assert waves(stage.tick(3_999)) == []
    assert waves(stage.tick(1)) == [("duel", 2)]
    stage.finish(stage.effects[-1])
    assert waves(stage.tick(5_000)) == [], "the second answer did not name a time"


def test_a_matcher_that_reads_misses_is_run_every_wave_while_anyone_waits() -> None:
    stage = Stage(DUEL)
    ticket = stage.join("duel", 1)
    for wave in (1, 2, 3):
        step = stage.finish(stage.start("duel"), reads_misses=True)
        assert kinds(step) == ["WaveFinished"]
        assert stage.told(ticket, "misses") == wave
    stage.do(cmd.Leave(ticket))
    assert waves(stage.tick(1_000)) == []


def test_a_queue_whose_tickets_are_all_suspended_starts_no_wave() -> None:
    stage = Stage(LONG, QUICK)
    for player in (1, 2, 3, 4):
        stage.join("long", player)
    stage.wave("long")
    stage.join("quick", 1)
    assert waves(stage.tick(1_000)) == []
    assert waves(stage.tick(6_000)) == [("quick", 1)], "the match is over"


def test_a_suspended_ticket_is_not_in_the_snapshot() -> None:
    stage = Stage(LONG, QUICK)
    for player in (1, 2, 3, 4):
        stage.join("long", player)
    stage.wave("long")
    stage.join("quick", 1)
    free = stage.join("quick", 9)
    assert stage.start("quick").snapshot.ticket.tolist() == [free]


def test_the_snapshot_is_a_copy_that_nobody_can_write() -> None:
    stage = Stage(DUEL)
    stage.join("duel", 1)
    snapshot = stage.start("duel").snapshot
    for column in (snapshot.ticket, snapshot.waited_ms, snapshot.player, snapshot.facts["rating"]):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 5
    stage.do(cmd.Leave(1))
    stage.join("duel", 2)
    assert snapshot.ticket.tolist() == [1]


def test_misses_rise_for_who_was_there_all_the_time_and_is_left() -> None:
    stage = Stage(QUICK, LONG)
    tickets = [stage.join("quick", player) for player in (1, 2, 3)]
    effect = stage.start("quick")
    late = stage.join("quick", 4)
    stage.finish(effect)
    assert [stage.told(ticket, "misses") for ticket in (*tickets, late)] == [0, 0, 1, 0]


def test_who_was_suspended_while_the_matcher_thought_has_no_miss() -> None:
    stage = Stage(DUEL, QUICK)
    away = stage.join("quick", 1)
    for player in (3, 4):
        stage.join("quick", player)
    stage.join("duel", 1)
    stage.join("duel", 2)
    stage.tick(1_000)
    duel, quick = sorted(stage.effects, key=lambda effect: effect.spec.name)
    stage.finish(duel)
    stage.do(cmd.Decline(1, 2))
    assert stage.told(away, "suspended") is False
    reasons = np.array([Reason.TOO_FEW_PLAYERS, Reason.SEATED, Reason.SEATED], np.int8)
    plan = Plan(np.array([[1, 2]], np.int32), np.array([[0, 1]], np.int8), np.zeros(1), reasons)
    assert kinds(stage.finish(quick, plan)) == ["WaveFinished"]
    assert stage.told(away, "misses") == 0


def test_a_wave_without_a_ready_check_makes_matches() -> None:
    stage = Stage(QUICK)
    stage.join("quick", 1)
    stage.join("quick", 2)
    (match,) = stage.wave("quick")
    assert [stage.told(ticket, "status") for ticket in (1, 2)] == ["matched", "matched"]
    assert stage.refused(cmd.EndMatch(match)) is Reasons.MATCH_OVER
    assert stage.join("quick", 1) == 3, "the player is free at once"


def test_a_plan_comes_back_once() -> None:
    stage = Stage(DUEL)
    stage.join("duel", 1)
    effect = stage.start("duel")
    stage.finish(effect)
    assert stage.refused(answer(effect)) is Reasons.WAVE_CLOSED
    assert stage.refused(answer(effect, wave=99)) is Reasons.WAVE_CLOSED


def test_a_wave_whose_plan_does_not_come_is_closed_by_a_tick() -> None:
    stage = Stage(DUEL)
    stage.join("duel", 1)
    stage.join("duel", 2)
    late = stage.start("duel")
    assert kinds(stage.tick(2_999)) == []
    step = stage.tick(1)
    assert kinds(step) == ["WaveAbandoned"]
    assert waves(step) == [("duel", 2)], "and the queue is tried again"
    assert stage.refused(answer(late)) is Reasons.WAVE_CLOSED
    assert [stage.told(ticket, "misses") for ticket in (1, 2)] == [0, 0]
    assert len(stage.finish(step.effects[0]).events) == 1


def test_a_matcher_that_fails_is_recorded_and_tried_again() -> None:
    stage = Stage(DUEL)
    stage.join("duel", 1)
    (event,) = stage.do(answer(stage.start("duel"), plan=None, failure="it fell over")).events
    assert isinstance(event, ev.WaveAbandoned)
    assert event.why == "it fell over"
    assert waves(stage.tick(1_000)) == [("duel", 2)]


def test_every_wave_has_its_own_number_and_seed_also_when_it_writes_nothing() -> None:
    stage = Stage(DUEL)
    seeds = []
    for player in (1, 2, 3):
        stage.join("duel", player)
        effect = stage.start("duel")
        seeds.append(effect.seed)
        assert effect.wave == player
        stage.do(answer(effect, plan=None))
    assert len(set(seeds)) == 3


def test_a_proposal_with_a_ticket_that_left_is_dropped_and_the_others_are_kept() -> None:
    stage = Stage(DUEL)
    tickets = [stage.join("duel", player) for player in (1, 2, 3, 4)]
    effect = stage.start("duel")
    stage.do(cmd.Leave(tickets[0]))
    (event,) = stage.finish(effect).events
    assert isinstance(event, ev.WaveFinished)
    assert (event.dropped, event.roster.tolist()) == (1, [tickets[2:]])
    assert [stage.told(ticket, "status") for ticket in tickets] == ["cancelled", "waiting", "proposed", "proposed"]
    assert stage.told(tickets[1], "misses") == 1
    assert stage.engine.reasons("duel") == (1, dict.fromkeys(tickets[:2], Reason.PLAN_OVERTAKEN))
    assert waves(stage.tick(1_000)) == [("duel", 2)]


def test_an_overtaken_plan_is_tried_again_although_nothing_else_changes() -> None:
    stage = Stage(DUEL)
    for player in (1, 2):
        stage.join("duel", player)
    effect = stage.start("duel")
    stage.do(cmd.Leave(1))
    assert stage.finish(effect).events == ()
    assert waves(stage.tick(1_000)) == [("duel", 2)]


def test_a_slot_that_went_to_another_ticket_is_not_mistaken_for_the_first() -> None:
    stage = Stage(msgspec.structs.replace(DUEL, wave=msgspec.structs.replace(DUEL.wave, deadline_s=600.0)))
    for player in (1, 2):
        stage.join("duel", player)
    effect = stage.start("duel")
    stage.do(cmd.Leave(1))
    stage.tick(10_000)
    assert not stage.is_in_state(1)
    taker = stage.join("duel", 3)
    assert stage.engine.state.slots_of(np.array([taker])).tolist() == [0]
    assert stage.finish(effect).events == ()
    assert stage.told(taker, "status") == "waiting"


def test_a_player_is_proposed_by_the_first_plan_only() -> None:
    """I11."""
    stage = Stage(DUEL, REGIONS)
    for player in (1, 2):
        stage.join("duel", player)
    for player in (1, 3, 4, 5):
        stage.join("regions", player, region="eu")
    stage.tick(1_000)
    assert kinds(stage.finish(stage.effects[0])) == ["WaveFinished"]
    assert kinds(stage.finish(stage.effects[1])) == []
    assert stage.engine.state.claims == {1: 1, 2: 1}


def test_a_plan_for_another_format_does_not_hold() -> None:
    """I5: the rules at the moment it is made."""
    stage = Stage(DUEL)
    for player in (1, 2):
        stage.join("duel", player)
    effect = stage.start("duel")
    stage.do(cmd.OpenQueue(msgspec.structs.replace(DUEL, format=Format(2, 2))))
    assert stage.finish(effect).events == ()
    assert [stage.told(ticket, "status") for ticket in (1, 2)] == ["waiting", "waiting"]
    assert waves(stage.tick(1_000)) == [("duel", 2)]


def test_a_queue_can_be_given_larger_and_smaller_formats_with_proposals_open() -> None:
    stage = Stage(DUEL)
    for player in range(1, 5):
        stage.join("duel", player)
    stage.wave("duel")
    stage.do(cmd.OpenQueue(msgspec.structs.replace(DUEL, format=Format(2, 4))))
    for player in range(10, 18):
        stage.join("duel", player)
    (large,) = stage.wave("duel")
    stage.do(cmd.OpenQueue(DUEL))
    for player in (20, 21):
        stage.join("duel", player)
    (small,) = stage.wave("duel")
    assert (len(stage.players_of(large)), stage.players_of(small)) == (8, [20, 21])
    stage.accept_all(large)


def test_a_party_that_no_longer_fits_has_to_go() -> None:
    stage = Stage(LONG)
    party = stage.join("long", 1, 2)
    stage.do(cmd.OpenQueue(msgspec.structs.replace(LONG, format=Format(2, 1))))
    for player in (3, 4):
        stage.join("long", player)
    assert len(stage.wave("long")) == 1
    assert (stage.told(party, "status"), stage.told(party, "cause")) == ("cancelled", "rules_changed")


def test_tickets_that_wait_go_when_other_attributes_must_be_shared() -> None:
    stage = Stage(LONG)
    before = [stage.join("long", player) for player in (1, 2, 3)]
    stage.do(cmd.OpenQueue(msgspec.structs.replace(LONG, require_equal=("region",))))
    assert {stage.told(ticket, "cause") for ticket in before} == {"rules_changed"}
    assert stage.order("long") == []


@pytest.mark.parametrize("how", sorted(BAD_PLANS))
def test_a_bad_plan_is_refused_whole(how: str) -> None:
    stage = Stage(REGIONS)
    for player in (1, 2, 3, 4):
        stage.join("regions", player, region="eu")
    for player in (5, 6):
        stage.join("regions", player, region="us")
    effect = stage.start("regions")
    bad = BAD_PLANS[how](effect.snapshot, first_come(effect))
    assert bad is not None
    before = [stage.told(ticket, "status") for ticket in range(1, 7)]
    step = stage.finish(effect, bad)
    assert step.refusal is not None
    assert step.refusal.reason is Reasons.BAD_PLAN
    assert kinds(step) == ["WaveAbandoned"]
    assert [stage.told(ticket, "status") for ticket in range(1, 7)] == before
    assert stage.engine.reasons("regions") == (0, {})
    assert len(stage.wave("regions")) == 1, "the next wave is none the worse"


def test_a_plan_of_wider_whole_numbers_is_as_good() -> None:
    stage = Stage(DUEL)
    for player in (1, 2):
        stage.join("duel", player)
    effect = stage.start("duel")
    plan = first_come(effect)
    wide = msgspec.structs.replace(
        plan,
        rosters=plan.rosters.astype(np.int64),
        team_of=plan.team_of.astype(np.int64),
        reasons=plan.reasons.astype(np.int64),
        cost=np.zeros(1, np.int64),
    )
    assert kinds(stage.finish(effect, wide)) == ["WaveFinished"]


def test_every_unmatched_ticket_has_a_reason() -> None:
    """I10."""
    stage = Stage(DUEL)
    for player in (1, 2, 3):
        stage.join("duel", player)
    stage.wave("duel")
    assert stage.engine.reasons("duel") == (1, {3: Reason.TOO_FEW_PLAYERS})


def test_time_never_runs_backwards() -> None:
    stage = Stage(DUEL)
    with pytest.raises(AssertionError, match="backwards"):
        stage.engine.step(cmd.Tick(), stage.now_ms - 1)


def test_tickets_that_lack_what_a_new_matcher_needs_have_to_go() -> None:
    stage = Stage(LONG)
    bare = stage.join("long", 1)
    pinged = stage.joined("long", TicketRequest((Member(2, 1500.0, 30.0),)))
    door = DoorSpec(party_sizes=(1,), requires=(("ping_ms",),))
    stage.do(cmd.OpenQueue(msgspec.structs.replace(LONG, door=door)))
    assert (stage.told(bare, "cause"), list(stage.order("long"))) == ("rules_changed", [pinged])
