"""Who may enter a queue, and how its rules are given."""

import math

import msgspec
import pytest

from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.queue import Format, QueueSpec, TicketSpec
from evenmatch.domain.refusals import Reasons
from evenmatch.domain.ticket import FACT_MAX, Member, TicketRequest

from .model import DAY_MS
from .stage import DUEL, LONG, QUICK, REGIONS, Stage, kinds, request


def test_tickets_are_numbered_in_the_order_they_come() -> None:
    stage = Stage(DUEL, QUICK)
    assert [stage.join("duel", 1), stage.join("quick", 1), stage.join("duel", 2)] == [1, 2, 3]


def test_nobody_joins_a_queue_that_is_not_there() -> None:
    stage = Stage(DUEL)
    assert stage.refused(cmd.Join("dual", request(1))) is Reasons.UNKNOWN_QUEUE
    assert stage.refused(cmd.FinishWave("dual", 1, None)) is Reasons.UNKNOWN_QUEUE


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (TicketRequest(()), Reasons.EMPTY_PARTY),
        (request(1, 2, 3, region="eu"), Reasons.PARTY_TOO_LARGE),
        (request(1, 1, region="eu"), Reasons.PLAYER_TWICE),
        (TicketRequest((Member(1, math.nan),), {"region": "eu"}), Reasons.BAD_RATING),
        (TicketRequest((Member(1, math.inf),), {"region": "eu"}), Reasons.BAD_RATING),
        (TicketRequest((Member(1, -2 * FACT_MAX),), {"region": "eu"}), Reasons.BAD_RATING),
        (TicketRequest((Member(1, ping_ms=-1.0),), {"region": "eu"}), Reasons.BAD_PING),
        (TicketRequest((Member(1, ping_ms=math.inf),), {"region": "eu"}), Reasons.BAD_PING),
        (request(1), Reasons.MISSING_ATTRIBUTE),
    ],
)
def test_a_bad_request_is_refused_with_its_reason_and_writes_nothing(wanted: TicketRequest, reason: Reasons) -> None:
    stage = Stage(REGIONS)
    before = len(stage.events)
    assert stage.joined("regions", wanted) is reason
    assert len(stage.events) == before
    assert stage.joined("regions", request(1, region="eu")) == 1


def test_the_largest_facts_are_let_in() -> None:
    stage = Stage(DUEL)
    assert stage.joined("duel", TicketRequest((Member(1, FACT_MAX, FACT_MAX),))) == 1
    assert stage.joined("duel", TicketRequest((Member(2, -FACT_MAX, 0.0),))) == 2


def test_a_player_has_one_live_ticket_a_queue() -> None:
    stage = Stage(DUEL, QUICK)
    first = stage.join("duel", 1)
    assert stage.joined("duel", request(1)) is Reasons.ALREADY_WAITING
    assert stage.join("quick", 1) == first + 1
    stage.do(cmd.Leave(first))
    assert stage.join("duel", 1) == first + 2


def test_a_player_in_a_ready_check_has_a_live_ticket_still() -> None:
    stage = Stage(DUEL)
    stage.join("duel", 1)
    stage.join("duel", 2)
    stage.wave("duel")
    assert stage.joined("duel", request(1)) is Reasons.ALREADY_WAITING


def test_many_requests_are_judged_in_order_each_on_its_own() -> None:
    stage = Stage(LONG)
    wanted = (request(1, 2), request(2), request(3), request(), request(3, 4), request(4))
    step = stage.do(cmd.JoinMany("long", wanted))
    found = [outcome if isinstance(outcome, int) else outcome.reason for outcome in step.outcomes]
    assert found == [1, Reasons.ALREADY_WAITING, 2, Reasons.EMPTY_PARTY, Reasons.ALREADY_WAITING, 3]
    assert kinds(step) == ["TicketsJoined"]
    assert stage.engine.state.queues["long"].waiting == 3


def test_a_repeated_key_answers_with_the_first_ticket_even_when_that_is_gone() -> None:
    stage = Stage(DUEL)
    keyed = request(1, key=2**127 + 5, fingerprint=7)
    assert stage.joined("duel", keyed) == 1
    assert stage.joined("duel", keyed) == 1
    stage.do(cmd.Leave(1))
    before = len(stage.events)
    assert stage.joined("duel", keyed) == 1
    assert len(stage.events) == before


def test_a_key_with_another_body_is_refused() -> None:
    stage = Stage(DUEL)
    assert stage.joined("duel", request(1, key=5, fingerprint=7)) == 1
    assert stage.joined("duel", request(1, key=5, fingerprint=8)) is Reasons.KEY_REUSED


def test_a_key_works_within_one_command_too() -> None:
    stage = Stage(DUEL)
    wanted = (request(1, key=5, fingerprint=7), request(1, key=5, fingerprint=7), request(2, key=5, fingerprint=8))
    first, again, other = stage.do(cmd.JoinMany("duel", wanted)).outcomes
    assert (first, again) == (1, 1)
    assert not isinstance(other, int)
    assert other.reason is Reasons.KEY_REUSED


def test_the_key_of_a_refused_request_is_not_kept() -> None:
    stage = Stage(DUEL)
    assert stage.joined("duel", request(1, 2, key=5, fingerprint=7)) is Reasons.PARTY_TOO_LARGE
    assert stage.joined("duel", request(1, key=5, fingerprint=8)) == 1


def test_a_key_lives_a_day() -> None:
    stage = Stage(DUEL)
    keyed = request(1, key=5, fingerprint=7)
    assert stage.joined("duel", keyed) == 1
    assert "KeysForgotten" not in kinds(stage.tick(DAY_MS - 1))
    assert stage.joined("duel", keyed) == 1
    assert "KeysForgotten" in kinds(stage.tick(1))
    assert stage.joined("duel", keyed) == 2


def test_only_the_old_keys_are_forgotten() -> None:
    stage = Stage(DUEL)
    stage.joined("duel", request(1, key=5))
    stage.now_ms += 1_000
    stage.joined("duel", request(2, key=6))
    stage.tick(DAY_MS - 1_000)
    assert set(stage.engine.state.keys) == {6}


def test_the_same_rules_again_change_nothing() -> None:
    stage = Stage(DUEL)
    assert kinds(stage.do(cmd.OpenQueue(DUEL))) == []
    whole = msgspec.structs.replace(DUEL, ticket=TicketSpec(expires_s=30, heartbeat_s=20))
    assert kinds(stage.do(cmd.OpenQueue(whole))) == []


def test_new_rules_are_an_event_and_count_as_a_version() -> None:
    stage = Stage(DUEL)
    assert kinds(stage.do(cmd.OpenQueue(msgspec.structs.replace(DUEL, ready_check=None)))) == ["QueueOpened"]
    assert stage.engine.state.queues["duel"].version == 2


@pytest.mark.parametrize(
    "spec",
    [
        QueueSpec("Duel"),
        QueueSpec("duel", Format(1, 1)),
        QueueSpec("duel", Format(0, 1)),
        QueueSpec("duel", Format(101, 1)),
        QueueSpec("duel", Format(2, 101)),
        QueueSpec("duel", ticket=TicketSpec(expires_s=math.nan)),
        QueueSpec("duel", ticket=TicketSpec(heartbeat_s=0.0)),
        QueueSpec("duel", require_equal=("region", "region")),
        QueueSpec("duel", require_equal=("",)),
        QueueSpec("duel", Format("two", 1)),  # type: ignore[arg-type]
    ],
)
def test_rules_that_cannot_be_used_are_refused(spec: QueueSpec) -> None:
    stage = Stage()
    assert stage.refused(cmd.OpenQueue(spec)) is Reasons.BAD_SPEC
    assert stage.events == []


def test_a_ticket_keeps_the_stay_that_it_came_with_when_the_rules_change() -> None:
    stage = Stage(DUEL)
    old = stage.join("duel", 1)
    spec = msgspec.structs.replace(DUEL, ticket=TicketSpec(expires_s=5.0, heartbeat_s=20.0))
    stage.do(cmd.OpenQueue(spec))
    new = stage.join("duel", 2)
    stage.tick(5_000)
    assert (stage.told(old, "status"), stage.told(new, "status")) == ("waiting", "expired")


def test_a_changed_heartbeat_holds_for_everybody_at_once() -> None:
    stage = Stage(DUEL)
    old = stage.join("duel", 1)
    stage.do(cmd.OpenQueue(msgspec.structs.replace(DUEL, ticket=TicketSpec(expires_s=30.0, heartbeat_s=2.0))))
    stage.tick(2_000)
    assert stage.told(old, "cause") == "unheard"


def test_tickets_of_one_required_attribute_never_meet_those_of_another() -> None:
    stage = Stage(REGIONS)
    stage.join("regions", 1, 2, region="same")
    stage.do(cmd.OpenQueue(msgspec.structs.replace(REGIONS, require_equal=("mode",))))
    stage.joined("regions", TicketRequest((Member(3), Member(4)), {"mode": "same"}))
    assert stage.wave("regions") == []


def test_the_order_in_which_attributes_are_required_does_not_matter() -> None:
    stage = Stage(msgspec.structs.replace(REGIONS, require_equal=("mode", "region")))
    wanted = TicketRequest((Member(1), Member(2)), {"mode": "a", "region": "eu"})
    stage.joined("regions", wanted)
    stage.do(cmd.OpenQueue(msgspec.structs.replace(REGIONS, require_equal=("region", "mode"))))
    stage.joined("regions", TicketRequest((Member(3), Member(4)), {"region": "eu", "mode": "a"}))
    assert len(stage.wave("regions")) == 1


def test_groups_without_tickets_are_dropped_once_there_are_many() -> None:
    stage = Stage(REGIONS)
    for player in range(1, 301):
        stage.join("regions", player, region=f"r{player}")
    queue = stage.engine.state.queues["regions"]
    assert len(queue.groups) == 300
    stays = stage.join("regions", 1000, region="r7")
    stage.now_ms += 15_000
    stage.do(cmd.Leave(stays))
    stage.join("regions", 1001, region="r7")
    stage.tick(5_000)
    stage.tick(10_000)
    assert set(queue.groups) == {'{"region":"r7"}'}
    codes = dict(queue.groups)
    stage.join("regions", 1002, region="r8")
    assert queue.groups['{"region":"r8"}'] > max(codes.values()), "a code is never given twice"


def test_a_join_event_from_before_a_fact_was_known_leaves_that_fact_open() -> None:
    from evenmatch.core.evolve import evolve

    stage = Stage(DUEL)
    number = stage.joined("duel", TicketRequest((Member(1, ping_ms=33.0),)))
    assert isinstance(number, int)
    stage.do(cmd.Leave(number))
    stage.tick(10_000)
    assert not stage.is_in_state(number)
    stage.join("duel", 2)
    joined = stage.events[-1]
    assert isinstance(joined, ev.TicketsJoined)
    stage.do(cmd.Leave(2))
    stage.tick(10_000)
    old = msgspec.structs.replace(joined, at_ms=stage.now_ms, first_ticket=3, facts={"rating": joined.facts["rating"]})
    evolve(stage.engine.state, old)
    assert stage.told(3, "players") == [{"player": 2, "rating": 1502.0, "ping_ms": None}]
