"""One lane beside others: the engine asks them before it proposes, and tells whom it claimed."""

from typing import Any

import numpy as np
import pytest

from evenmatch.core.checkpoint import dump, load
from evenmatch.core.evolve import evolve
from evenmatch.core.hashing import state_hash
from evenmatch.core.lanes import moved, watch
from evenmatch.core.state import State
from evenmatch.domain import commands as cmd
from evenmatch.domain.arrays import Array, numbers
from evenmatch.domain.queue import QueueSpec

from .invariants import check_columns
from .stage import CLAN, DUEL, Stage, kinds
from .test_backfill import AT_ONCE, TEAMS, running


class Others:
    """What other lanes say, and what they were asked."""

    def __init__(self, *have: int) -> None:
        self.have, self.asked = set(have), list[list[int]]()

    def __call__(self, players: Array) -> Array:
        self.asked.append(players.tolist())
        return numbers(sorted(self.have & set(players.tolist())))


def test_a_plan_with_a_player_whom_others_have_does_not_hold_and_the_ticket_is_suspended() -> None:
    stage, others = Stage(DUEL), Others(2)
    tickets = [stage.join("duel", player) for player in (1, 2, 3, 4)]
    effect = stage.start("duel")
    stage.engine.ask_others = others
    step = stage.finish(effect)
    assert kinds(step) == ["ClaimedElsewhere", "WaveFinished"]
    assert [sorted(asked) for asked in others.asked] == [[1, 2, 3, 4]]
    assert [stage.told(ticket, "status") for ticket in tickets] == ["waiting", "waiting", "proposed", "proposed"]
    assert [stage.told(ticket, "suspended") for ticket in tickets] == [False, True, False, False]
    check_columns(stage.engine.state)


def test_who_is_released_elsewhere_resumes_with_the_wait_kept() -> None:
    stage = Stage(DUEL)
    ticket = stage.join("duel", 1)
    stage.tick(2_000)
    stage.do(cmd.ClaimedElsewhere(numbers([1, 1, 7])))
    assert kinds(stage.do(cmd.ClaimedElsewhere(numbers([1, 7])))) == []  # known already
    stage.tick(10_000)
    assert (stage.told(ticket, "suspended"), stage.told(ticket, "waited_ms")) == (True, 2_000)
    late = stage.join("duel", 7)
    assert stage.told(late, "suspended")
    stage.do(cmd.ReleasedElsewhere(numbers([1, 7, 9])))
    assert not stage.told(late, "suspended")
    stage.tick(500)
    assert (stage.told(ticket, "suspended"), stage.told(ticket, "waited_ms")) == (False, 2_500)
    assert not stage.engine.state.elsewhere


def test_who_is_in_a_proposal_here_is_not_noted_as_elsewhere() -> None:
    stage = Stage(DUEL)
    stage.join("duel", 1)
    stage.join("duel", 2)
    stage.wave("duel")
    assert kinds(stage.do(cmd.ClaimedElsewhere(numbers([1, 2])))) == []


@pytest.mark.parametrize("spec", [TEAMS, AT_ONCE])
def test_nobody_is_invited_to_a_running_match_whom_others_have(spec: QueueSpec) -> None:
    stage, match = running(spec)
    stage.do(cmd.AskBackfill(match, ((0, 1),)))
    others = stage.engine.ask_others = Others(11, 12)
    tickets = [stage.join(spec.name, player) for player in (11, 12, 13)]
    step = stage.tick(1_000)
    assert kinds(step)[:2] == ["ClaimedElsewhere", "ClaimedElsewhere"]  # the best one, then the next
    assert others.asked == [[11], [12], [13]]
    assert [stage.told(ticket, "suspended") for ticket in tickets] == [True, True, False]
    assert stage.told(tickets[2], "status") == ("proposed" if spec is TEAMS else "matched")
    check_columns(stage.engine.state)


def test_checkpoint_and_replay_know_who_is_elsewhere() -> None:
    stage = Stage(DUEL, CLAN)
    state = stage.engine.state
    plain = state_hash(state)
    stage.join("duel", 1)
    before = state_hash(state)
    (event,) = stage.do(cmd.ClaimedElsewhere(numbers([1, 2]))).events
    assert state_hash(state) != before != plain
    again = load(dump(state))
    assert (state_hash(again), list(again.elsewhere)) == (state_hash(state), [1, 2])
    check_columns(again)
    with pytest.raises(AssertionError):
        evolve(again, event)
    other = State()
    assert not other.elsewhere


def test_what_was_claimed_and_released_is_told_once_and_only_to_who_asks() -> None:
    stage = Stage(CLAN)
    for player in (1, 2, 3, 4):
        stage.join("clan", player)
    assert stage.engine.state.movements is None
    assert [column.tolist() for column in moved(stage.engine.state)] == [[], []]
    watch(stage.engine.state)
    one, other = stage.wave("clan")
    stage.do(cmd.Decline(one, 1))
    claimed, released = moved(stage.engine.state)
    assert (claimed.tolist(), released.tolist()) == (sorted(stage.players_of(other)), [])
    assert [column.tolist() for column in moved(stage.engine.state)] == [[], []]
    stage.do(cmd.Decline(other, 3))
    assert moved(stage.engine.state).released.tolist() == sorted(claimed.tolist())


def test_who_is_released_and_claimed_again_is_in_neither() -> None:
    def told(*movements: tuple[bool, list[int]]) -> list[Any]:
        state = State()
        state.movements = [(claimed, np.array(players, np.int64)) for claimed, players in movements]
        return [column.tolist() for column in moved(state)]

    assert told((True, [3, 1]), (False, [1])) == [[3], []]
    assert told((False, [3, 1]), (True, [1])) == [[], [3]]
    assert told((False, [1]), (True, [1]), (False, [1]), (True, [2])) == [[2], [1]]
