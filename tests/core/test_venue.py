"""Where matches are played: maps by weight, veto and memory; regions by latency, table and chance; channels in turn."""

from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest

from evenmatch.core.map_memory import MapMemory
from evenmatch.core.records import match_record
from evenmatch.core.venue import reach_of
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.match import Reason
from evenmatch.domain.queue import Format, QueueSpec, ReadyCheckSpec, rule_broken
from evenmatch.domain.refusals import Reasons
from evenmatch.domain.ticket import Member, TicketRequest
from evenmatch.domain.venue import VenueSpec

from .stage import VENUE, Stage, member_at


def spec(form: Format = VENUE.format, **venue: Any) -> QueueSpec:
    """The queue, with another venue."""
    return msgspec.structs.replace(VENUE, format=form, venue=VenueSpec(**venue))


def home(player: int, region: str | None = None, vetoed: list[str] | None = None) -> Member:
    traits: dict[str, Any] = {} if region is None else {"region": region}
    return Member(player, traits=traits | ({} if vetoed is None else {"vetoed_maps": vetoed}))


def played(stage: Stage, *members: Member) -> list[dict[str, Any]]:
    """The venues of the matches that these players, a ticket each, are put into by one wave."""
    stage.do(cmd.JoinMany("venue", tuple(TicketRequest((member,)) for member in members)))
    found = []
    for match in stage.wave("venue"):
        record = match_record(stage.engine.state, match)
        assert record is not None
        found.append(record["details"]["venue"])
    return found


# Regions.


def test_the_region_is_the_one_whose_worst_player_is_nearest() -> None:
    stage = Stage(spec(regions=("eu", "us")))
    (venue,) = played(stage, member_at(1, 10, 60), member_at(2, 90, 70))
    assert (venue["region"], venue["why"]) == ("us", {"region": "latency", "worst_ms": 70.0})
    (venue,) = played(stage, member_at(3, 10, 60), member_at(4, 65, 70))
    assert (venue["region"], venue["why"]["worst_ms"]) == ("eu", 65.0)


def test_a_match_that_no_region_is_near_enough_to_is_not_proposed_and_says_so() -> None:
    stage = Stage(VENUE)
    assert played(stage, member_at(1, 20, 120), member_at(2, 120, 20)) == []
    assert stage.engine.reason("venue", 1) is Reason.TOO_FAR
    assert stage.engine.reason("venue", 2) is Reason.TOO_FAR
    (venue,) = played(stage, member_at(3, 20, 120))
    assert venue["region"] == "eu"
    assert stage.players_of(1) == [1, 3], "the third does not wait behind those who can't play each other"
    assert stage.told(2, "status") == "waiting"


def test_everybody_is_within_the_cap_whatever_the_matcher_put_together() -> None:
    stage = Stage(spec(Format(2, 5), regions=("eu", "us"), latency_max_ms=80))
    members = [member_at(n, 20 if n % 2 else 120, 120 if n % 2 else 20) for n in range(1, 41)]
    venues = played(stage, *members)
    assert Counter(venue["region"] for venue in venues) == {"eu": 2, "us": 2}
    for match in range(1, 5):
        assert len({player % 2 for player in stage.players_of(match)}) == 1


def test_regions_that_only_pairs_share_do_not_make_a_match_of_three() -> None:
    keeps = tuple(f"latencies.{region}" for region in "abc")
    lobby = spec(Format(1, 3), regions=("a", "b", "c"), latency_max_ms=50)
    stage = Stage(msgspec.structs.replace(lobby, door=msgspec.structs.replace(lobby.door, keeps=keeps)))
    far = [("latencies.a", "latencies.b"), ("latencies.b", "latencies.c"), ("latencies.a", "latencies.c")]
    assert played(stage, *(Member(n, facts=dict.fromkeys(near, 10.0)) for n, near in enumerate(far, 1))) == []
    assert {stage.engine.reason("venue", ticket) for ticket in (1, 2, 3)} == {Reason.TOO_FAR}


def test_who_moves_away_while_the_matcher_thinks_is_not_proposed() -> None:
    stage = Stage(VENUE)
    stage.do(cmd.JoinMany("venue", tuple(TicketRequest((member_at(n, 20, 120),)) for n in (1, 2))))
    effect = stage.start("venue")
    stage.do(cmd.UpdateTicket(2, (member_at(2, 120, 20),), {}))
    assert stage.finish(effect).events == ()
    assert stage.told(1, "status") == stage.told(2, "status") == "waiting"
    assert stage.engine.reason("venue", 1) is Reason.PLAN_OVERTAKEN


def test_who_brings_no_latency_can_play_anywhere_and_who_brings_some_only_there() -> None:
    stage = Stage(VENUE)
    only_eu = Member(2, facts={"latencies.eu": 20.0})
    (venue,) = played(stage, Member(1), only_eu)
    assert (venue["region"], venue["why"]["worst_ms"]) == ("eu", 20.0)
    assert played(stage, Member(3, facts={"latencies.us": 20.0}), Member(4, facts={"latencies.eu": 20.0})) == []


def test_the_table_of_pairs_counts_for_those_who_say_only_where_they_are() -> None:
    table = {"oce": {"us": "us", "eu": "as"}, "eu": {"us": "us"}}
    stage = Stage(spec(regions=("eu", "us", "as"), pairs=table))
    for one, other, region in (("oce", "us", "us"), ("eu", "oce", "as"), ("us", "eu", "us"), ("eu", "eu", "eu")):
        player = stage.engine.state.next_ticket
        (venue,) = played(stage, home(player, one), home(player + 1, other))
        assert (venue["region"], venue["why"]["region"]) == (region, "pairs")
        assert venue["why"]["worst_ms"] is None


def test_most_pairs_of_a_team_game_decide() -> None:
    stage = Stage(spec(Format(2, 2), regions=("eu", "us"), pairs={"eu": {"us": "us"}}))
    (venue,) = played(stage, *(home(n, region) for n, region in enumerate(("eu", "eu", "eu", "us"), 1)))
    assert venue["region"] in ("eu", "us")
    assert venue["why"]["region"] == "pairs"
    (venue,) = played(stage, *(home(n, "eu") for n in range(11, 15)))
    assert venue["region"] == "eu"


def test_where_nothing_is_known_chance_decides_among_all() -> None:
    stage = Stage(spec(regions=("eu", "us", "as")))
    venues = played(stage, *(home(n, "nowhere") for n in range(1, 401)))
    count = Counter(venue["region"] for venue in venues)
    assert {venue["why"]["region"] for venue in venues} == {"chance"}
    assert all(40 < count[region] < 100 for region in ("eu", "us", "as")), count


# Maps.


def test_maps_are_drawn_by_weight() -> None:
    stage = Stage(spec(maps={"often": 3.0, "seldom": 1.0}))
    venues = played(stage, *(Member(n) for n in range(1, 2001)))
    count = Counter(venue["map"] for venue in venues)
    assert 690 < count["often"] < 810
    assert venues[0]["why"] == {"map": "drawn", "vetoes": 0}


def test_nobody_plays_a_map_that_was_vetoed_while_there_is_another() -> None:
    stage = Stage(spec(maps={"a": 1.0, "b": 1.0, "c": 1.0}))
    members = [home(n, vetoed=["a", "a", "unknown"] if n % 2 else ["b"]) for n in range(1, 101)]
    assert {venue["map"] for venue in played(stage, *members)} == {"c"}


def test_where_all_are_vetoed_the_least_vetoed_is_played_and_that_is_said() -> None:
    stage = Stage(spec(Format(1, 3), maps={"a": 1.0, "b": 1.0}))
    (venue,) = played(stage, home(1, vetoed=["a", "b"]), home(2, vetoed=["a"]), home(3, vetoed=["a"]))
    assert (venue["map"], venue["why"]) == ("b", {"map": "least_vetoed", "vetoes": 1})


def test_players_do_not_see_the_same_map_again_while_they_remember_it() -> None:
    stage = Stage(spec(maps={"a": 1.0, "b": 1.0, "c": 1.0}, map_memory=2, seen_factor=0.001))
    seen = [played(stage, Member(1), Member(2))[0]["map"] for _ in range(12)]
    again = [seen[n] in seen[max(0, n - 2) : n] for n in range(12)]
    assert sum(again) == 0, seen
    assert set(seen) == {"a", "b", "c"}


def test_a_map_is_remembered_once_it_is_played_and_not_when_the_ready_check_fails() -> None:
    checked = msgspec.structs.replace(
        spec(maps={"a": 1.0, "b": 1.0}, map_memory=3), ready_check=ReadyCheckSpec(timeout_s=5.0)
    )
    stage = Stage(checked)
    stage.do(cmd.JoinMany("venue", tuple(TicketRequest((Member(n),)) for n in (1, 2))))
    (proposal,) = stage.wave("venue")
    assert len(stage.engine.state.queues["venue"].map_memory) == 0
    stage.accept_all(proposal)
    memory = stage.engine.state.queues["venue"].map_memory
    record = match_record(stage.engine.state, proposal)
    assert record is not None
    assert [memory.names[code] for code in memory.find(np.array([1, 2]))[:, 0]] == [
        record["details"]["venue"]["map"]
    ] * 2


def test_the_memory_is_bounded_and_the_latest_stay() -> None:
    memory = MapMemory(most=10)
    for n in range(30):
        memory.note(np.array([2 * n, 2 * n + 1]), ["x", "y"], np.array([0, 1]), 3, n)
    assert len(memory) <= 10
    assert memory.find(np.array([58, 59, 0])).tolist() == [[0, -1, -1], [1, -1, -1], [-1, -1, -1]]
    memory.note(np.array([58]), ["z"], np.array([0]), 2, 31)
    assert memory.find(np.array([58])).tolist() == [[2, 0]]
    other = MapMemory()
    other.load(memory.dump())
    assert other.find(np.array([58, 59])).tolist() == memory.find(np.array([58, 59])).tolist()


# Channels, chance, the door.


def test_channels_go_round() -> None:
    stage = Stage(spec(channels=3, channel_prefix="em"))
    assert [venue["channel"] for venue in played(stage, *map(Member, range(1, 9)))] == ["em01", "em02", "em03", "em01"]


def test_the_same_wave_and_number_choose_the_same_whatever_the_parts() -> None:
    def chosen(part: int) -> list[dict[str, Any]]:
        stage = Stage(spec(maps={"a": 1.0, "b": 2.0}, regions=("eu", "us"), channels=7))
        stage.engine.part = part
        stage.do(cmd.JoinMany("venue", tuple(TicketRequest((Member(n),)) for n in range(1, 61))))
        step = stage.finish(stage.start("venue"))
        while step.rest is not None:
            step = stage.do(step.rest)
        told = [event.details for event in stage.events if isinstance(event, ev.WaveFinished)]
        return [row["venue"] | {"why": row["venue"]["why"]["region"]} for table in told for row in table]

    assert len(chosen(1 << 14)) == 30
    assert chosen(1 << 14) == chosen(8)


def test_a_latency_that_is_none_is_refused() -> None:
    stage = Stage(VENUE)
    assert stage.joined("venue", TicketRequest((member_at(1, -1, 20),))) is Reasons.BAD_PING
    assert stage.joined("venue", TicketRequest((member_at(1, 1e9, 20),))) is Reasons.BAD_FACT
    assert stage.joined("venue", TicketRequest((Member(1, facts={"latencies.mars": -5.0}),))) == 1, "nobody reads it"


def test_without_a_cap_or_without_latencies_there_is_nothing_to_keep() -> None:
    venue = VenueSpec(regions=("eu", "us"), latency_max_ms=80)
    start = np.array([0, 1])
    assert len(reach_of(VenueSpec(regions=("eu",)), {"latencies.eu": np.array([1.0, 900.0])}, start)) == 0
    assert len(reach_of(venue, {"rating": np.zeros(2)}, start)) == 0
    both = {"latencies.eu": np.array([10.0, 900.0, np.nan]), "latencies.us": np.array([90.0, 70.0, np.nan])}
    assert reach_of(venue, both, np.array([0, 1, 2])).tolist() == [1, 2, 3]
    assert reach_of(venue, both, np.array([0, 2])).tolist() == [0, 3], "a party is as far as each of it"


@pytest.mark.parametrize(
    ("venue", "key"),
    [
        (VenueSpec(), "venue"),
        (VenueSpec(maps={"a": 0.0}), "venue.maps"),
        (VenueSpec(maps={"": 1.0}), "venue.maps"),
        (VenueSpec(maps={"a": float("nan")}), "venue.maps"),
        (VenueSpec(maps={"a": 1.0}, map_memory=21), "venue.map_memory"),
        (VenueSpec(maps={"a": 1.0}, seen_factor=0.0), "venue.seen_factor"),
        (VenueSpec(regions=("eu", "eu")), "venue.regions"),
        (VenueSpec(regions=("e.u",)), "venue.regions"),
        (VenueSpec(channels=1, latency_max_ms=5), "venue.latency_max_ms"),
        (VenueSpec(regions=("eu",), latency_max_ms=-1), "venue.latency_max_ms"),
        (VenueSpec(channels=-1, maps={"a": 1.0}), "venue.channels"),
        (VenueSpec(regions=("eu",), pairs={"eu": {"us": "us"}}), "venue.pairs"),
        (VenueSpec(regions=("eu", "us"), pairs={"eu": {"us": "us"}, "us": {"eu": "eu"}}), "venue.pairs"),
    ],
)
def test_a_venue_that_makes_no_sense_is_refused(venue: VenueSpec, key: str) -> None:
    broken = rule_broken(QueueSpec("venue", venue=venue))
    assert broken is not None
    assert broken[0] == key
