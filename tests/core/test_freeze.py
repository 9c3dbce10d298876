"""A snapshot is of the moment at which its wave started, whenever its columns are read."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.core.freeze import freeze
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.effects import RunMatcher
from evenmatch.domain.snapshot import Snapshot

from .bad_plans import BAD_PLANS
from .stage import DUEL, LONG, QUICK, Stage, first_come
from .walk import MOVES, Move, Walk

_MEANWHILE = ("leave", "leave", "tick", "join", "crowd", "decline", "accept_all", "end", "seen")
MEANWHILE = st.lists(st.tuples(st.sampled_from(_MEANWHILE), st.integers(0, 40), st.integers(0, 40)), max_size=20)
"""Moves that take less time than a matcher has."""


def same(one: Snapshot, other: Snapshot) -> None:
    for name in Snapshot.__struct_fields__:
        ours, theirs = getattr(one, name), getattr(other, name)
        if isinstance(ours, np.ndarray):
            assert ours.dtype == theirs.dtype, name
            assert not ours.flags.writeable
            ours, theirs = ours.tolist(), theirs.tolist()
        if name == "facts":
            ours, theirs = ([(n, c.tobytes()) for n, c in facts.items()] for facts in (ours, theirs))
        assert ours == theirs, name


@given(MOVES, MEANWHILE, st.sampled_from([0, 60_000]))
def test_whatever_happens_before_a_snapshot_is_read_does_not_reach_it(
    before: list[Move], after: list[Move], keep_ms: int
) -> None:
    walk = Walk([move for move in before if move[0] != "open"])
    stage = walk.stage
    stage.engine.large, stage.engine.keep_ms = 0, keep_ms
    started: list[tuple[RunMatcher, Snapshot, list[int]]] = []
    for effect in stage.tick(1_000).effects:
        queue = stage.engine.state.queues[effect.spec.name]
        twin = freeze(queue, stage.now_ms, stage.engine.state.next_proposal)
        assert not twin.held
        started.append((effect, twin.snapshot, twin.slots.tolist()))
    for kind, a, b in after:
        walk._move(kind, a, b)
    for effect, snapshot, slots in started:
        flight = stage.engine.timetable(effect.spec.name).flight
        if flight is not None and flight.wave == effect.wave:
            same(effect.snapshot, snapshot)
            assert flight.frozen.slots.tolist() == slots


def test_a_slot_is_not_used_again_before_the_snapshot_is_read() -> None:
    stage = Stage(QUICK, keep_ms=0)
    stage.engine.large = 0
    stage.join("quick", 1)
    stage.join("quick", 2)
    effect = stage.start("quick")
    stage.do(cmd.Leave(1))
    stage.tick(10)
    assert stage.is_in_state(1)
    stage.join("quick", 3)
    assert effect.snapshot.player.tolist() == [1, 2]
    stage.tick(10)
    assert not stage.is_in_state(1)


def test_a_wave_that_is_given_up_holds_nothing_back() -> None:
    stage = Stage(QUICK, keep_ms=0)
    stage.engine.large = 0
    stage.join("quick", 1)
    stage.start("quick")
    stage.do(cmd.Leave(1))
    stage.tick(3_000)
    stage.tick(10)
    assert not stage.is_in_state(1)


def test_a_wait_that_stood_still_meanwhile_is_what_it_was() -> None:
    stage = Stage(LONG, QUICK)
    stage.engine.large = 0
    stage.join("quick", 1)
    for player in (1, 2, 3, 4):
        stage.join("long", player)
    waves = {effect.spec.name: effect for effect in stage.tick(1_000).effects}
    stage.finish(waves["long"])
    stage.now_ms += 1_500
    stage.do(cmd.EndMatch(1))
    assert stage.told(1, "waited_ms") == 1_000
    assert waves["quick"].snapshot.waited_ms.tolist() == [1_000]


@pytest.mark.parametrize("prepared", [False, True])
def test_a_plan_that_was_looked_at_ahead_comes_to_the_same(prepared: bool) -> None:
    stages = [Stage(DUEL), Stage(DUEL)]
    for stage, ahead in zip(stages, (False, prepared), strict=True):
        for player in range(1, 8):
            stage.join("duel", player)
        effect = stage.start("duel")
        answer = cmd.FinishWave("duel", effect.wave, first_come(effect))
        if ahead:
            stage.engine.prepare(answer)
        stage.do(cmd.Leave(1))
        stage.do(answer)
    ours, theirs = (stage.events[-1] for stage in stages)
    assert isinstance(ours, ev.WaveFinished)
    assert isinstance(theirs, ev.WaveFinished)
    assert (ours.digest, ours.dropped) == (theirs.digest, theirs.dropped)
    assert ours.roster.tolist() == theirs.roster.tolist()
    assert ours.quality.tolist() == theirs.quality.tolist()


@pytest.mark.parametrize("how", sorted(BAD_PLANS))
def test_a_bad_plan_is_refused_also_when_it_was_looked_at_ahead(how: str) -> None:
    stage = Stage(DUEL)
    for player in range(1, 6):
        stage.join("duel", player)
    effect = stage.start("duel")
    bad = BAD_PLANS[how](effect.snapshot, first_come(effect))
    if bad is None:  # it takes several groups
        return
    answer = cmd.FinishWave("duel", effect.wave, bad)
    stage.engine.prepare(answer)
    step = stage.do(answer)
    assert step.refusal is not None
    assert [type(event) for event in step.events] == [ev.WaveAbandoned]


def test_only_the_plan_itself_counts_as_looked_at() -> None:
    stage = Stage(DUEL)
    stage.join("duel", 1)
    stage.join("duel", 2)
    effect = stage.start("duel")
    plan = first_come(effect)
    bad = BAD_PLANS[sorted(BAD_PLANS)[0]](effect.snapshot, plan)
    stage.engine.prepare(cmd.FinishWave("duel", effect.wave, plan))
    assert bad is not None
    assert stage.do(cmd.FinishWave("duel", effect.wave, bad)).refusal is not None
    for other in (cmd.FinishWave("nowhere", 1, plan), cmd.FinishWave("duel", 9, plan), cmd.FinishWave("duel", 1, None)):
        stage.engine.prepare(other)
