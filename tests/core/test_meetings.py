"""Who must not meet whom: blocks, avoided players and rematches, seen through whole waves."""

import msgspec
import numpy as np

from evenmatch.core.freeze import freeze
from evenmatch.core.meetings import forbidden
from evenmatch.domain import commands as cmd
from evenmatch.domain.queue import Format, MatchSpec

from .stage import DUEL, QUICK, Stage, request

AGAIN = msgspec.structs.replace(QUICK, name="again", match=MatchSpec(rematch_s=20.0))
LIFTED = msgspec.structs.replace(QUICK, name="lifted", match=MatchSpec(rematch_s=20.0, rematch_lift_s=5.0))
TEAMS = msgspec.structs.replace(AGAIN, name="teams", format=Format(2, 2))
LOBBY = msgspec.structs.replace(AGAIN, name="lobby", format=Format(1, 3))


def test_players_who_block_each_other_are_not_matched() -> None:
    stage = Stage(QUICK)
    stage.do(cmd.SetBlocks(1, (2,)))
    stage.join("quick", 2)
    stage.join("quick", 1)
    assert stage.wave("quick") == []
    stage.join("quick", 3)
    assert len(stage.wave("quick")) == 1
    assert stage.told(2, "status") == "waiting", "one of the two had to wait, the later one"


def test_a_block_that_is_taken_back_counts_at_once() -> None:
    stage = Stage(QUICK)
    stage.do(cmd.SetBlocks(1, (2, 1)))
    stage.join("quick", 1)
    stage.join("quick", 2)
    assert stage.wave("quick") == []
    assert stage.do(cmd.SetBlocks(1, (2,))).events == (), "the same again, and nobody can block themselves"
    stage.do(cmd.SetBlocks(1, ()))
    assert len(stage.wave("quick")) == 1


def test_a_block_that_comes_while_the_matcher_thinks_counts() -> None:
    stage = Stage(QUICK)
    stage.join("quick", 1)
    stage.join("quick", 2)
    effect = stage.start("quick")
    stage.do(cmd.SetBlocks(2, (1,)))
    stage.finish(effect)
    assert stage.told(1, "status") == "waiting"
    assert stage.wave("quick") == []


def test_a_ticket_avoids_players_for_as_long_as_it_lives() -> None:
    stage = Stage(QUICK)
    stage.do(cmd.Join("quick", msgspec.structs.replace(request(1), avoid=(2, 7))))
    stage.join("quick", 2)
    assert stage.wave("quick") == []
    stage.do(cmd.Leave(1))
    assert stage.engine.state.queues["quick"].avoids == {}
    stage.join("quick", 1)
    assert len(stage.wave("quick")) == 1


def test_a_party_is_kept_from_whom_one_of_it_blocks() -> None:
    stage = Stage(msgspec.structs.replace(QUICK, name="pairs", format=Format(2, 2)))
    stage.do(cmd.SetBlocks(2, (3,)))
    stage.join("pairs", 1, 2)
    stage.join("pairs", 3, 4)
    assert stage.wave("pairs") == []


def test_nobody_meets_the_same_again_until_some_time_has_passed() -> None:
    stage = Stage(AGAIN)
    for player in (1, 2):
        stage.join("again", player)
    assert stage.wave("again")
    tickets = [stage.join("again", player) for player in (1, 2)]
    assert stage.wave("again") == []
    for _ in range(4):
        stage.do(cmd.Heartbeat(np.array(tickets)))
        assert not stage.tick(4_000).effects, "nothing has changed, so nothing is tried"
    stage.do(cmd.Heartbeat(np.array(tickets)))
    assert len(stage.wave("again", 4_000)) == 1, "time alone has changed it"


def test_a_long_wait_lifts_a_rematch_but_no_block() -> None:
    stage = Stage(LIFTED)
    for player in (1, 2):
        stage.join("lifted", player)
    assert stage.wave("lifted")
    for player in (1, 2):
        stage.join("lifted", player)
    assert stage.wave("lifted") == []
    assert len(stage.wave("lifted", 4_000)) == 1
    stage.do(cmd.SetBlocks(1, (2,)))
    for player in (1, 2):
        stage.join("lifted", player)
    assert stage.wave("lifted") == []
    assert stage.wave("lifted", 10_000) == []


def test_who_may_meet_again_after_a_long_wait_is_told_to_the_matcher() -> None:
    stage = Stage(LIFTED)
    for player in (1, 2):
        stage.join("lifted", player)
    assert stage.wave("lifted")
    for player in (3, 1, 2):
        stage.join("lifted", player)
    queue = stage.engine.state.queues["lifted"]
    for now_ms, apart, met in ((stage.now_ms, 1, 0), (stage.now_ms + 6_000, 0, 1)):
        found = forbidden(stage.engine.state, queue, now_ms)
        assert (len(found.slots), len(found.met)) == (apart, met)
        snapshot = freeze(queue, now_ms, apart=found.slots, met=found.met).snapshot
        assert (len(snapshot.forbidden), len(snapshot.met)) == (apart, met)
    rows = snapshot.met[0]
    assert sorted(snapshot.player[rows].tolist()) == [1, 2]
    assert not snapshot.met.flags.writeable
    taken = snapshot.take(rows[::-1].copy())
    assert taken.met.tolist() == [[1, 0]]


def test_those_of_the_same_team_may_meet_again() -> None:
    stage = Stage(TEAMS)
    for player in (1, 2, 3, 4):
        stage.join("teams", player)
    assert stage.wave("teams")
    for player in (1, 2, 5, 6):
        stage.join("teams", player)
    assert len(stage.wave("teams")) == 1, "1 and 2 were a team"


def test_in_a_lobby_everybody_has_met_everybody() -> None:
    stage = Stage(LOBBY, DUEL)
    for player in (1, 2, 3):
        stage.join("lobby", player)
    assert stage.wave("lobby")
    for player in (1, 2, 4):
        stage.join("lobby", player)
    assert stage.wave("lobby") == []
    stage.join("duel", 1)
    stage.join("duel", 2)
    assert stage.wave("duel"), "another queue has its own rule"
