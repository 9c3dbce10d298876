"""Cool-downs: who gets one, for how long, and how it is forgiven."""

import msgspec
import numpy as np
import pytest

from evenmatch.domain import commands as cmd
from evenmatch.domain.queue import CooldownSpec, Format, MatchSpec, QueueSpec, ReadyCheckSpec, rule_broken
from evenmatch.domain.refusals import Reasons, Refusal

from .stage import STRICT, Stage, request

SPEC = CooldownSpec(decline_s=30, lapse_s=60, lost_s=15, growth=2, most_s=100, forgive_s=300)
RANKED = msgspec.structs.replace(STRICT, name="ranked", cooldown=SPEC, match=MatchSpec())
PARTIES = msgspec.structs.replace(RANKED, name="parties", format=Format(2, 2))


def fail_once(stage: Stage, player: int, other: int) -> None:
    """A player declines a match with another one, who leaves afterwards."""
    stage.join("ranked", player)
    waiting = stage.join("ranked", other)
    (proposal,) = stage.wave("ranked")
    stage.do(cmd.Decline(proposal, player))
    stage.do(cmd.Leave(waiting))


def away_s(stage: Stage, player: int) -> float:
    """How long a player still has to stay away."""
    book = stage.engine.state.queues["ranked"].books.get(player)
    return 0 if book is None else max(0, book.until_ms - stage.now_ms) / 1000


def test_a_decliner_has_to_wait_and_is_told_how_long() -> None:
    stage = Stage(RANKED)
    fail_once(stage, 1, 2)
    (refusal,) = stage.do(cmd.Join("ranked", request(1))).outcomes
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.retry_s) == (Reasons.COOLING_DOWN, 30)
    assert "again in 30 s" in refusal.detail
    assert "declined" in refusal.detail
    assert isinstance(stage.joined("ranked", request(2)), int), "the innocent may join"
    stage.now_ms += 30_000
    assert isinstance(stage.joined("ranked", request(1)), int)


def test_it_grows_with_every_offence_up_to_a_limit() -> None:
    stage = Stage(RANKED)
    found = []
    for other in range(2, 6):
        fail_once(stage, 1, other)
        found.append(away_s(stage, 1))
        stage.now_ms += round(away_s(stage, 1) * 1000)
    assert found == [30, 60, 100, 100]


def test_time_without_an_offence_takes_one_off_the_books() -> None:
    stage = Stage(RANKED)
    for other in (2, 3):
        fail_once(stage, 1, other)
        stage.now_ms += 60_000
    stage.now_ms += 240_000  # 300 s since the last one
    fail_once(stage, 1, 4)
    assert away_s(stage, 1) == 60, "one of two offences still counts"
    stage.now_ms += 2 * 300_000
    stage.tick()
    assert stage.engine.state.queues["ranked"].books == {}, "all is forgiven, and forgotten"


def test_a_lapse_costs_more_than_a_lost_connection() -> None:
    stage = Stage(RANKED)
    tickets = [stage.join("ranked", player) for player in (1, 2)]
    stage.wave("ranked")
    stage.do(cmd.LoseContact(np.array([tickets[1]])))
    stage.tick(5_000)
    assert (away_s(stage, 1), away_s(stage, 2)) == (60, 15)
    assert [stage.told(ticket, "cause") for ticket in tickets] == ["lapsed", "lost"]


def test_who_comes_back_in_time_is_not_lost() -> None:
    stage = Stage(RANKED)
    tickets = [stage.join("ranked", player) for player in (1, 2)]
    stage.wave("ranked")
    stage.do(cmd.LoseContact(np.array(tickets)))
    stage.do(cmd.Heartbeat(np.array(tickets)))
    stage.tick(5_000)
    assert [stage.told(ticket, "cause") for ticket in tickets] == ["lapsed", "lapsed"]


def test_of_a_party_only_the_silent_are_to_blame() -> None:
    stage = Stage(PARTIES)
    party = stage.join("parties", 1, 2)
    stage.join("parties", 3, 4)
    (proposal,) = stage.wave("parties")
    for player in (1, 3, 4):
        stage.do(cmd.Accept(proposal, player))
    stage.tick(5_000)
    assert stage.told(party, "cause") == "lapsed"
    assert sorted(stage.engine.state.queues["parties"].books) == [2]


def test_an_operator_lifts_it_and_clears_the_books() -> None:
    stage = Stage(RANKED)
    fail_once(stage, 1, 2)
    assert stage.refused(cmd.LiftCooldown(1, "nowhere")) is Reasons.UNKNOWN_QUEUE
    assert stage.refused(cmd.LiftCooldown(1, "ranked")) is None
    assert isinstance(stage.joined("ranked", request(1)), int)
    stage.do(cmd.Leave(3))
    fail_once(stage, 1, 5)
    assert away_s(stage, 1) == 30, "the next one counts as the first"


def test_without_a_policy_nobody_has_to_wait() -> None:
    stage = Stage(msgspec.structs.replace(RANKED, cooldown=None))
    fail_once(stage, 1, 2)
    assert isinstance(stage.joined("ranked", request(1)), int)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"growth": 0.5}, "cooldown.growth"),
        ({"growth": float("nan")}, "cooldown.growth"),
        ({"decline_s": -1.0}, "cooldown.decline_s"),
        ({"forgive_s": 0.0}, "cooldown.forgive_s"),
        ({"most_s": float("inf")}, "cooldown.most_s"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(changes: dict[str, float], key: str) -> None:
    spec = QueueSpec("x", ready_check=ReadyCheckSpec(), cooldown=msgspec.structs.replace(SPEC, **changes))
    broken = rule_broken(spec)
    assert broken is not None
    assert broken[0] == key


def test_a_cooldown_needs_a_ready_check() -> None:
    broken = rule_broken(QueueSpec("x", cooldown=SPEC))
    assert broken is not None
    assert broken[0] == "cooldown"


def test_an_offence_at_the_moment_the_last_one_is_forgiven_still_counts() -> None:
    stage = Stage(RANKED)
    fail_once(stage, 1, 2)
    first_ms = stage.now_ms
    stage.now_ms = first_ms + 300_000 - 5_000 - 1_000
    stage.join("ranked", 1)
    stage.join("ranked", 2)
    stage.wave("ranked")
    stage.tick(5_000)  # the ready check lapses, and the decline is forgiven, in one tick
    assert stage.now_ms == first_ms + 300_000
    assert away_s(stage, 1) == 60


@pytest.mark.parametrize(
    ("accepted", "leaver", "blamed"),
    [
        ((1,), 2, [2]),  # it is known who leaves
        ((2,), 2, [2]),  # also if that one had accepted before
        ((1,), 0, [2]),  # not known: who has not accepted
        ((), 0, [1, 2]),
        ((1, 2), 0, [1]),  # everybody had: who leads the party
        ((1,), 3, [2]),  # nobody of this party
    ],
)
def test_of_a_party_that_leaves_only_those_who_are_to_blame_have_to_wait(
    accepted: tuple[int, ...], leaver: int, blamed: list[int]
) -> None:
    stage = Stage(PARTIES)
    party = stage.join("parties", 1, 2)
    stage.join("parties", 3, 4)
    (proposal,) = stage.wave("parties")
    for player in accepted:
        stage.do(cmd.Accept(proposal, player))
    stage.do(cmd.Leave(party, leaver))
    assert sorted(stage.engine.state.queues["parties"].books) == blamed
