"""A large wave is recorded in parts: several events, and other things may happen between them."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.core.engine import Engine
from evenmatch.core.evolve import evolve
from evenmatch.core.hashing import state_hash
from evenmatch.core.records import proposal_record, ticket_record
from evenmatch.core.state import State
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.match import Reason
from evenmatch.domain.queue import Format, QueueSpec
from evenmatch.domain.refusals import Reasons
from evenmatch.storage.codec import decode_events, encode_events

from .invariants import Story, check_columns
from .stage import DUEL, QUICK, Stage, first_come


def staged(spec: QueueSpec, tickets: int, part: int) -> tuple[Stage, cmd.FinishWave]:
    """A stage with a wave that is back, and its answer."""
    stage = Stage(spec)
    stage.engine.part = part * spec.format.seats
    for player in range(1, tickets + 1):
        stage.join(spec.name, player)
    effect = stage.start(spec.name)
    return stage, cmd.FinishWave(spec.name, effect.wave, first_come(effect), reads_misses=True)


def recorded(stage: Stage, answer: cmd.FinishWave) -> list[ev.WaveFinished]:
    """All parts, one after the other."""
    events: list[ev.WaveFinished] = []
    rest: cmd.FinishWave | None = answer
    while rest is not None:
        step = stage.do(rest)
        assert step.refusal is None
        events += [event for event in step.events if isinstance(event, ev.WaveFinished)]
        rest = step.rest
    return events


def told(stage: Stage, tickets: int) -> list[object]:
    """What is known of tickets and proposals, but for the events that told of them."""
    state = stage.engine.state
    records = [ticket_record(state, number, stage.now_ms) for number in range(1, tickets + 1)]
    proposals = [proposal_record(state, number) for number in range(1, state.next_proposal)]
    without = [record and {key: value for key, value in record.items() if key != "sequence"} for record in records]
    (queue,) = state.by_index
    return [without, proposals, queue.last_wave, queue.waiting, stage.engine.reasons(queue.spec.name)]


@given(st.integers(0, 12), st.integers(1, 8), st.sampled_from([DUEL, QUICK]))
def test_a_wave_in_parts_comes_to_the_same_as_a_whole_one(tickets: int, part: int, spec: QueueSpec) -> None:
    stage, answer = staged(spec, tickets + 1, part)
    events = recorded(stage, answer)
    whole, other = staged(spec, tickets + 1, 1_000)
    (event,) = recorded(whole, other)
    assert told(stage, tickets + 1) == told(whole, tickets + 1)
    assert [one.more for one in events] == [True] * (len(events) - 1) + [False]
    assert np.concatenate([one.roster for one in events]).tolist() == event.roster.tolist()
    assert len(events) == max(1, -(-len(event.roster) // part))
    check_columns(stage.engine.state)


@given(st.integers(2, 10), st.lists(st.integers(1, 10), max_size=4), st.booleans())
def test_what_happens_between_parts_counts(pairs: int, leave: list[int], join: bool) -> None:
    stage, answer = staged(DUEL, 2 * pairs, 2)
    step = stage.do(answer)
    for number in leave:
        stage.do(cmd.Leave(number))
    if join:
        stage.join("duel", 1_000)
    while step.rest is not None:
        step = stage.do(step.rest)
    check_columns(stage.engine.state)
    story = Story()
    replayed = State()
    for event in decode_events(encode_events(stage.events)):
        story.hear(event)
        evolve(replayed, event)
    assert state_hash(replayed) == state_hash(stage.engine.state)
    _, reasons = stage.engine.reasons("duel")
    for number in range(1, 2 * pairs + 1):
        if stage.told(number, "status") == "waiting" and not stage.told(number, "misses"):
            continue
        if stage.told(number, "status") == "waiting":
            assert reasons[number] is Reason.PLAN_OVERTAKEN
    if join:
        assert stage.told(2 * pairs + 1, "misses") == 0, "who came between was not in the snapshot"


def test_a_ticket_that_comes_back_between_parts_has_not_missed_the_wave() -> None:
    stage, answer = staged(DUEL, 4, 1)
    step = stage.do(answer)
    assert stage.refused(cmd.Decline(1, 1)) is None
    assert step.rest is not None
    stage.do(step.rest)
    assert (stage.told(2, "status"), stage.told(2, "misses")) == ("waiting", 0)


def test_a_wave_whose_plan_is_back_is_not_given_up_and_takes_no_other_plan() -> None:
    stage, answer = staged(DUEL, 6, 1)
    step = stage.do(answer)
    assert step.rest is not None
    assert not stage.tick(4_000).effects
    assert stage.engine.timetable("duel").flight is not None
    for wrong in (answer, cmd.FinishWave("duel", answer.wave, None), cmd.FinishWave("duel", answer.wave, answer.plan)):
        assert stage.refused(wrong) is Reasons.WAVE_CLOSED
    recorded(stage, step.rest)
    assert stage.engine.timetable("duel").flight is None
    assert [stage.told(number, "status") for number in range(1, 7)] == ["proposed"] * 6


def test_a_restart_between_parts_forgets_the_rest() -> None:
    stage, answer = staged(QUICK, 6, 2)
    step = stage.do(answer)
    assert step.rest is not None
    stage.restart(1_000)
    assert stage.refused(step.rest) is Reasons.WAVE_CLOSED
    assert [stage.told(number, "status") for number in range(1, 7)] == ["matched"] * 4 + ["waiting"] * 2
    assert len(stage.wave("quick")) == 1


def test_another_format_between_parts_drops_the_rest() -> None:
    stage, answer = staged(QUICK, 6, 1)
    step = stage.do(answer)
    assert step.rest is not None
    stage.do(cmd.OpenQueue(msgspec.structs.replace(QUICK, format=Format(3, 1))))
    (last,) = recorded(stage, step.rest)
    assert (len(last.roster), last.dropped, last.more) == (0, 2, False)
    assert stage.engine.state.queues["quick"].last_wave["dropped"] == 2


@pytest.mark.parametrize("part", [1, 2, 7])
def test_an_engine_is_made_with_its_part(part: int) -> None:
    assert Engine(part=part).part == part
