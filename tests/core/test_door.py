"""What a queue's matcher asks at the door, and what the state keeps for it: facts, traits, details, who is active."""

import math
from typing import Any

import msgspec
import pytest

from evenmatch import config
from evenmatch.core.checkpoint import dump, load
from evenmatch.core.evolve import evolve
from evenmatch.core.freeze import freeze
from evenmatch.core.hashing import state_hash
from evenmatch.core.joining import member_refused
from evenmatch.core.records import match_record
from evenmatch.core.state import QueueState, State
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.queue import Format, MatcherSpec, QueueSpec, ReadyCheckSpec, TicketSpec, WaveSpec
from evenmatch.domain.refusals import Reasons
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.ticket import Member, TicketRequest
from evenmatch.domain.venue import VenueSpec
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import door
from evenmatch.matchers.registry import build
from evenmatch.service.matching import planned
from evenmatch.storage.codec import decode_content, decode_events, encode_content, encode_events

from .stage import KEEP_MS, Stage, heartbeat


def spec(
    name: str, form: Format, /, *, ready: bool = False, expires_s: float = 5_000.0, **parameters: Any
) -> QueueSpec:
    """A queue as a configuration file would open it."""
    return QueueSpec(
        name,
        form,
        MatcherSpec(name, parameters),
        WaveSpec(every_s=1.0, deadline_s=3.0),
        ReadyCheckSpec(timeout_s=5.0) if ready else None,
        TicketSpec(expires_s=expires_s, heartbeat_s=5_000.0),
        door=door(build(name, parameters), form),
    )


LADDER = spec("ladder", Format(2, 1), maps=["Eclipse"], activity_minutes=1)
EPGC = spec("epgc", Format(1, 2), lobby_size=2)
BUCKETS = spec("buckets", Format(2, 2))
CINDER = spec("cinder", Format(2, 2), lcap=0, ucap=3000)
FEATURES = [{"name": "mode", "kind": "categorical"}, {"name": "age"}, {"name": "roles", "kind": "categorical"}]
LOM = spec("lom", Format(1, 2), session_size=2, features=FEATURES)


def who(player: int, traits: dict[str, Any] | None = None, **facts: float) -> Member:
    """A player with ratings for sides."""
    return Member(player, facts={f"ratings.{side}": rating for side, rating in facts.items()}, traits=traits or {})


def alone(member: Member) -> TicketRequest:
    return TicketRequest((member,))


def run_wave(stage: Stage, queue: str, after_ms: int = 1_000) -> cmd.FinishWave:
    """One wave with the queue's own matcher."""
    answer = planned(stage.start(queue, after_ms))
    assert stage.do(answer).refusal is None
    return answer


def queue_of(stage: Stage, name: str) -> QueueState:
    return stage.engine.state.queues[name]


def notes_sum(stage: Stage, name: str) -> int:
    return queue_of(stage, name).notes_sum % 2**128


# -- the door ----------------------------------------------------------------------------------------------------------


def test_a_matcher_says_what_its_door_asks() -> None:
    assert LADDER.door.party_sizes == (1,)
    assert LADDER.door.keeps == ("ratings.bw", "ratings.sc2", "region", "vetoed_maps")
    assert LADDER.door.words == ("region", "vetoed_maps")
    assert LADDER.door.requires == (("ratings.bw", "ratings.sc2"),)
    assert LADDER.door.activity_s == 60
    assert EPGC.door.party_sizes == (1,)
    assert EPGC.door.requires == (("ping_ms",),)
    assert BUCKETS.door.party_sizes == (2,)
    assert CINDER.door.party_sizes == (2,)
    assert LOM.door.words == ("profile.mode", "mode", "profile.roles", "roles")
    assert LOM.door.requires == (("profile.mode", "mode"), ("profile.age", "age"), ("profile.roles", "roles"))
    with pytest.raises(MatcherError, match="2x5"):
        door(build("epgc", {}), Format(2, 5))


EVEN = config.with_door(
    QueueSpec("even", Format(2, 2), MatcherSpec("even", {"roles": {"tank": 1, "healer": 1}, "latency_cap_ms": 80}))
)
PLACED = config.with_door(msgspec.structs.replace(EVEN, venue=VenueSpec(regions=("eu",))))
FULL = {"profile.mode": "fast", "roles": ["tank"]}


@pytest.mark.parametrize(
    ("queue", "wanted", "reason"),
    [
        (EPGC, TicketRequest((Member(1, ping_ms=1.0), Member(2, ping_ms=1.0))), Reasons.PARTY_UNSUPPORTED),
        (EPGC, alone(Member(1)), Reasons.MISSING_FACT),
        (EPGC, alone(Member(1, ping_ms=5.0)), None),
        (BUCKETS, alone(Member(1)), Reasons.PARTY_UNSUPPORTED),
        (BUCKETS, TicketRequest((Member(1), Member(2))), None),
        (CINDER, alone(Member(1)), Reasons.PARTY_UNSUPPORTED),
        (CINDER, TicketRequest((Member(1), Member(2), Member(3))), Reasons.PARTY_UNSUPPORTED),
        (LADDER, alone(Member(1)), Reasons.MISSING_FACT),
        (LADDER, alone(who(1, bw=math.nan)), Reasons.BAD_FACT),
        (LADDER, alone(who(1, bw=math.inf)), Reasons.BAD_FACT),
        (LADDER, alone(who(1, sc2=2e6)), Reasons.BAD_FACT),
        (LADDER, alone(who(1, zerg=1500.0)), Reasons.MISSING_FACT),
        (LADDER, alone(who(1, zerg=math.inf, bw=1.0)), None),
        (LOM, alone(Member(1, facts={"profile.age": 3.0}, traits=FULL)), None),
        (LOM, alone(Member(1, traits=FULL)), Reasons.MISSING_FACT),
        (LOM, alone(Member(1, facts={"profile.age": 3.0})), Reasons.MISSING_FACT),
        (LOM, alone(Member(1, traits=FULL | {"profile.age": "old"})), Reasons.BAD_FACT),
        (LOM, alone(Member(1, facts={"profile.age": 3.0, "profile.mode": 1.0}, traits=FULL)), Reasons.BAD_FACT),
        (EVEN, alone(Member(1, traits={"roles": ["tank", "healer"]})), None),
        (EVEN, alone(Member(1, traits={"roles": ["Tank"]})), Reasons.BAD_FACT),
        (EVEN, alone(Member(1, traits={"roles": ["tank", "wizard"]})), Reasons.BAD_FACT),
        (EVEN, alone(Member(1, ping_ms=20.0)), None),
        (EVEN, alone(Member(1, facts={"latencies.eu": 20.0})), Reasons.BAD_FACT),
        (PLACED, alone(Member(1, facts={"latencies.eu": 20.0})), None),
    ],
)
def test_what_the_matcher_cannot_use_is_refused_at_the_door(
    queue: QueueSpec, wanted: TicketRequest, reason: Reasons | None
) -> None:
    stage = Stage(queue)
    before = len(stage.events)
    found = stage.joined(queue.name, wanted)
    assert found == (1 if reason is None else reason)
    assert len(stage.events) == before + (reason is None)


def test_the_refusal_of_a_role_names_the_nearest_that_the_queue_has() -> None:
    stage = Stage(EVEN)
    wrong = member_refused(queue_of(stage, "even"), Member(1, traits={"roles": ["HEALR"]}))
    assert wrong is not None
    assert wrong.detail == "roles: 'HEALR' is not known: did you mean 'healer'? Known: tank, healer"


def test_who_brings_a_role_that_new_rules_do_not_have_does_not_stay() -> None:
    stage = Stage(EVEN)
    tank = stage.joined("even", alone(Member(1, traits={"roles": ["tank"]})))
    other = stage.joined("even", alone(Member(2)))
    assert isinstance(tank, int)
    assert isinstance(other, int)
    new = MatcherSpec("even", {"roles": {"guard": 1, "healer": 1}})
    stage.do(cmd.OpenQueue(config.with_door(msgspec.structs.replace(EVEN, matcher=new))))
    assert (stage.told(tank, "cause"), stage.told(other, "status")) == ("rules_changed", "waiting")


# -- what is kept ------------------------------------------------------------------------------------------------------


def test_only_what_the_matcher_reads_is_kept() -> None:
    stage = Stage(LADDER, EPGC)
    member = who(1, {"region": "eu", "roles": ["x"], "vetoed_maps": ["Eclipse"]}, bw=1500.0, zerg=1.0)
    stage.joined("ladder", alone(member))
    assert stage.told(1, "players") == [
        {
            "player": 1,
            "rating": 1500.0,
            "ping_ms": None,
            "ratings.bw": 1500.0,
            "region": "eu",
            "vetoed_maps": ["Eclipse"],
        }
    ]
    stage.joined("epgc", alone(msgspec.structs.replace(member, ping_ms=3.0)))
    assert stage.told(2, "players") == [{"player": 1, "rating": 1500.0, "ping_ms": 3.0}]


def test_a_matcher_sees_facts_and_traits_of_each_player() -> None:
    stage = Stage(LADDER)
    stage.joined("ladder", alone(who(1, {"region": "eu"}, bw=1500.0)))
    stage.joined("ladder", alone(who(2, {"vetoed_maps": ["Eclipse", "Polypoid"]}, sc2=1600.0)))
    stage.joined("ladder", alone(who(3, bw=1.0, sc2=2.0)))
    snapshot = freeze(queue_of(stage, "ladder"), stage.now_ms).snapshot
    assert snapshot.traits == {
        "region": ("eu", None, None),
        "vetoed_maps": (None, ("Eclipse", "Polypoid"), None),
    }
    assert snapshot.facts["ratings.bw"].tolist() == pytest.approx([1500, math.nan, 1], nan_ok=True)
    assert snapshot.facts["ratings.sc2"].tolist() == pytest.approx([math.nan, 1600, 2], nan_ok=True)


def two_in_the_ladder(*, ready: bool = False) -> Stage:
    stage = Stage(spec("ladder", Format(2, 1), ready=ready, maps=["Eclipse"], activity_minutes=1))
    stage.joined("ladder", alone(who(1, {"region": "eu", "vetoed_maps": ["Eclipse"]}, bw=1500.0)))
    stage.joined("ladder", alone(who(2, {"region": "us"}, sc2=1510.0)))
    return stage


def test_a_match_keeps_what_its_matcher_says_of_it() -> None:
    stage = two_in_the_ladder()
    run_wave(stage, "ladder")
    record = match_record(stage.engine.state, 1)
    assert record is not None
    assert record["details"] == {
        "sides": {"bw": 1, "sc2": 2},
        "gap": 10.0,
        "score": 100.0,
        "map": "Eclipse",
        "server": None,
        "channel": "scevo01",
    }


def test_traits_and_details_are_forgotten_with_their_tickets() -> None:
    stage = two_in_the_ladder()
    assert notes_sum(stage, "ladder") != 0
    run_wave(stage, "ladder")
    stays = stage.joined("ladder", alone(who(3, {"region": "eu"}, bw=1.0)))
    stage.tick(KEEP_MS)
    assert not stage.is_in_state(1)
    queue = queue_of(stage, "ladder")
    assert {name: len(kept) for name, kept in queue.traits.items() if kept} == {"region": 1}
    assert queue.details == []
    assert isinstance(stays, int)
    stage.do(cmd.Leave(stays))
    stage.tick(KEEP_MS)
    assert not any(queue.traits.values())
    assert notes_sum(stage, "ladder") == 0


def test_a_failed_proposal_is_forgotten_with_its_details_while_its_tickets_wait_on() -> None:
    stage = two_in_the_ladder(ready=True)
    run_wave(stage, "ladder")
    assert stage.refused(cmd.Decline(1, 1)) is None
    stage.tick(KEEP_MS + 1_000)
    queue = queue_of(stage, "ladder")
    assert queue.details == []
    assert stage.told(2, "status") == "waiting"
    assert [len(kept) for kept in queue.traits.values() if kept] == [1]


def test_a_row_that_is_used_again_has_nothing_of_its_last_player() -> None:
    stage = two_in_the_ladder()
    run_wave(stage, "ladder")
    stage.tick(KEEP_MS)
    new = stage.joined("ladder", alone(who(7, sc2=1.0)))
    assert isinstance(new, int)
    assert stage.told(new, "players") == [
        {"player": 7, "rating": 1500.0, "ping_ms": None, "ratings.bw": None, "ratings.sc2": 1.0}
    ]
    assert freeze(queue_of(stage, "ladder"), stage.now_ms).snapshot.traits == {}


# -- who is active -----------------------------------------------------------------------------------------------------


def test_players_count_as_active_for_a_while_after_they_were_seen() -> None:
    stage = Stage(LADDER)

    def active() -> int | None:
        return freeze(queue_of(stage, "ladder"), stage.now_ms).snapshot.active_population

    assert active() == 0
    first = stage.joined("ladder", alone(who(1, bw=1.0)))
    stage.tick(30_000)
    second = stage.joined("ladder", alone(who(2, bw=1.0)))
    assert isinstance(first, int)
    assert isinstance(second, int)
    assert active() == 2
    stage.do(cmd.Leave(second))
    assert active() == 2, "whoever left was seen lately all the same"
    stage.tick(29_999)
    assert active() == 2
    stage.tick(1)
    assert active() == 1
    stage.do(heartbeat(first))
    assert active() == 2
    stage.joined("ladder", alone(who(2, bw=1.0)))
    assert active() == 2, "a player counts once"
    stage.tick(60_000)
    assert active() == 0


def test_where_nobody_counts_there_is_no_population() -> None:
    stage = Stage(EPGC)
    stage.joined("epgc", alone(Member(1, ping_ms=1.0)))
    assert freeze(queue_of(stage, "epgc"), stage.now_ms).snapshot.active_population is None
    assert not len(queue_of(stage, "epgc").active)


def test_misses_count_waves() -> None:
    stage = Stage(LADDER)
    stage.joined("ladder", alone(who(1, bw=1500.0)))
    stage.joined("ladder", alone(who(2, sc2=1620.0)))  # the window is 75, 100, 125
    for missed in range(3):
        assert stage.told(1, "misses") == missed
        run_wave(stage, "ladder")
    assert stage.told(1, "status") == "matched"
    assert match_record(stage.engine.state, 1) is not None


# -- the journal -------------------------------------------------------------------------------------------------------


def test_journal_and_checkpoint_give_the_same_state() -> None:
    stage = two_in_the_ladder(ready=True)
    for opened in (LOM, CINDER):
        stage.do(cmd.OpenQueue(opened))
    for player in (11, 12, 13):
        stage.joined("lom", alone(Member(player, facts={"profile.age": float(player)}, traits=FULL)))
    stage.joined("cinder", TicketRequest((Member(21), Member(22))))
    answers = [planned(effect) for effect in stage.tick(1_000).effects]
    for answer in answers:
        stage.do(answer)
    stage.joined("ladder", alone(who(3, {"region": "asia"}, bw=2.0)))
    expected = state_hash(stage.engine.state)
    replayed = State()
    for event in decode_events(encode_events(stage.events)):
        evolve(replayed, event)
    loaded = load(decode_content(encode_content(dump(stage.engine.state))))
    for state in (replayed, loaded):
        assert state_hash(state) == expected
        for name, queue in stage.engine.state.queues.items():
            ours, theirs = (freeze(q, stage.now_ms).snapshot for q in (queue, state.queues[name]))
            assert ours.traits == theirs.traits
            assert ours.active_population == theirs.active_population
            assert [t.details for t in state.queues[name].details] == [list(t.details) for t in queue.details]
            assert {fact: column.tobytes() for fact, column in ours.facts.items()} == {
                fact: column.tobytes() for fact, column in theirs.facts.items()
            }


def test_another_trait_or_detail_is_another_hash() -> None:
    stages = [Stage(LADDER) for _ in range(3)]
    for stage, region in zip(stages, ("eu", "eu", "us"), strict=True):
        stage.joined("ladder", alone(who(1, {"region": region}, bw=1.0)))
    hashes = [state_hash(stage.engine.state) for stage in stages]
    assert hashes[0] == hashes[1] != hashes[2]


def test_lom_lives_with_categories_lists_and_numbers() -> None:
    stage = Stage(LOM)
    for player, mode in enumerate(("a", "b", "a", "b"), 1):
        traits = {"profile.mode": mode, "roles": ["tank"]}
        stage.joined("lom", alone(Member(player, facts={"profile.age": 1.0}, traits=traits)))
    run_wave(stage, "lom")
    finished = [event for event in stage.events if isinstance(event, ev.WaveFinished)]
    assert len(finished[-1].roster) == 2
    records = [match_record(stage.engine.state, number) for number in (1, 2)]
    for record in records:
        assert record is not None
        assert set(record["details"]) == {"leader", "weight"}
        assert record["quality"] is None


def test_channels_go_on_from_the_number_of_the_next_match() -> None:
    snapshot = freeze(State().open(QueueSpec("ladder")), 0, 7).snapshot
    assert snapshot.first_match == 7
    pair = Snapshot.from_columns(ratings={"bw": [1500, math.nan], "sc2": [math.nan, 1510]})
    plan = build("ladder", {}).plan(msgspec.structs.replace(pair, first_match=7))
    assert plan.match_details[0]["channel"] == "scevo07"
