"""Why a ticket waits: counts as a plain transcription has them, and pairs that are matched when they are alone."""

import itertools
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest

from evenmatch.domain.arrays import Array
from evenmatch.domain.explanation import Explanation
from evenmatch.domain.match import Plan
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import plan_wave
from evenmatch.matchers.explaining import explain_wave
from evenmatch.matchers.registry import build, names
from tests.snapshots import sized, snapshot_of

FLAT = ((90.0, 30.0),) * 3
"""Windows that are the same under any pressure, so that two alone have those that they have among others."""


def crowd(seed: int, count: int = 24, size: int = 1, *, flexible: bool = True) -> Snapshot:
    """Parties of all kinds, with ratings, pings, sides and misses."""
    dice = np.random.default_rng(seed)
    rating = dice.integers(1200, 1800, count * size).astype(float)
    plays = dice.integers(0, 3 if flexible else 2, count * size)
    made = snapshot_of(
        Format(2, size),
        [list(map(float, party)) for party in rating.reshape(count, size)],
        waited_ms=dice.integers(0, 200_000, count).tolist(),
        facts={
            "ping_ms": dice.integers(5, 120, count * size).tolist(),
            "ratings.bw": np.where(plays != 1, rating, np.nan).tolist(),
            "ratings.sc2": np.where(plays != 0, rating + dice.integers(-50, 50, count * size), np.nan).tolist(),
        },
    )
    return msgspec.structs.replace(made, misses=dice.integers(0, 4, count).astype(np.int32))


def counts(found: Explanation) -> dict[str, int]:
    return {rule.name: rule.excluded for rule in found.rules}


def alone(matcher: Any, snapshot: Snapshot, row: int, other: int) -> Plan:
    return plan_wave(matcher, snapshot.take(np.array([row, other])))


CASES: list[tuple[str, dict[str, Any], Format, int, dict[str, Any]]] = [
    ("first_come", {}, Format(2, 1), 1, {}),
    ("first_come", {}, Format(2, 3), 3, {}),
    ("exact", {"pool_max": 14}, Format(2, 1), 1, {}),
    ("epgc", {"lobby_size": 2, "boundaries": [1400, 1600]}, Format(1, 2), 1, {}),
    ("buckets", {"bucket": 20}, Format(2, 1), 1, {}),
    ("buckets", {"bucket": 20, "reciprocity": 50, "look": "below", "range_max": 4}, Format(2, 1), 1, {}),
    ("buckets", {"bucket": 20, "reciprocity": 0, "look": "above", "range_max": [8, "1%"]}, Format(2, 3), 3, {}),
    ("cinder", {}, Format(2, 3), 3, {}),
    ("cinder", {"normalize": "mean", "sanction_max": 1.5, "mode": "first"}, Format(2, 3), 3, {}),
    ("even", {}, Format(2, 1), 1, {}),
    ("even", {"window_policy": "older", "latency_cap_ms": 80}, Format(2, 1), 1, {}),
    ("even", {"window_policy": "both"}, Format(1, 2), 1, {}),
    ("even", {"sides": ["bw", "sc2"]}, Format(2, 1), 1, {}),
    ("even", {"window": 30}, Format(2, 3), 3, {}),
    ("lom", {"session_size": 2}, Format(1, 2), 1, {}),
    ("m2l", {"session_size": 2}, Format(1, 2), 1, {}),
    ("l2m", {"session_size": 2}, Format(1, 2), 1, {}),
    ("random", {"session_size": 2}, Format(1, 2), 1, {}),
    ("ladder", {"solver": "optimal", "windows": FLAT}, Format(2, 1), 1, {}),
    ("ladder", {"solver": "optimal", "windows": FLAT, "window_of": "both"}, Format(2, 1), 1, {}),
    ("ladder", {"windows": FLAT, "window_of": "both"}, Format(2, 1), 1, {"flexible": False}),
    ("ladder", {"windows": FLAT, "window_of": "either"}, Format(2, 1), 1, {"flexible": False}),
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("name", "parameters", "form", "size", "kind"), CASES)
def test_two_who_are_acceptable_are_matched_when_they_are_alone(
    name: str, parameters: dict[str, Any], form: Format, size: int, kind: dict[str, Any], seed: int
) -> None:
    matcher = build(name, parameters)
    snapshot = msgspec.structs.replace(crowd(seed, size=size, **kind), format=form)
    some = 0
    for row in range(len(snapshot)):
        found = explain_wave(matcher, snapshot, row)
        acceptable = set(found.acceptable.tolist())
        assert row not in acceptable
        for other in range(len(snapshot)):
            if other in acceptable:
                some += 1
                assert len(alone(matcher, snapshot, row, other).rosters) == 1, (row, other)
            elif other != row and name not in ("ladder", "exact"):
                assert len(alone(matcher, snapshot, row, other).rosters) == 0, (row, other)
    assert some


def test_every_matcher_explains() -> None:
    for name in names():
        assert hasattr(build(name, {}), "explain"), name


Twin = Callable[[Snapshot, int, int], dict[str, bool]]
"""Which rules keep two rows apart, one pair at a time."""


def epgc_twin(snapshot: Snapshot, row: int, other: int) -> dict[str, bool]:
    def tier(place: int) -> int:
        return sum(snapshot.facts["rating"][place] >= edge for edge in (1400, 1600))

    return {"tier": tier(row) != tier(other)}


def buckets_twin(snapshot: Snapshot, row: int, other: int) -> dict[str, bool]:
    bucket = [int(rating // 20) for rating in snapshot.facts["rating"]]
    reach = [min(4, int(wait) // 20_000) for wait in snapshot.waited_ms]
    distance = abs(bucket[row] - bucket[other])
    seekers = [(a, b) for a, b in ((row, other), (other, row)) if bucket[a] >= bucket[b]]
    reached = [(a, b) for a, b in seekers if distance <= reach[a]]
    taken = [(a, b) for a, b in reached if 2 * reach[b] >= distance]
    return {"range": not reached, "reciprocity": bool(reached) and not taken}


def optimal_twin(snapshot: Snapshot, row: int, other: int) -> dict[str, bool]:
    bw, sc2 = snapshot.facts["ratings.bw"], snapshot.facts["ratings.sc2"]
    gaps = [abs(bw[a] - sc2[b]) for a, b in ((row, other), (other, row)) if not np.isnan(bw[a] - sc2[b])]
    widest = 90.0 + 30.0 * max(snapshot.misses[row], snapshot.misses[other])
    return {"side": not gaps, "window": bool(gaps) and min(gaps) > widest}


def cinder_twin(snapshot: Snapshot, row: int, other: int) -> dict[str, bool]:
    from evenmatch.matchers.cinder import bucket_edges, overlap, sanction_score

    one, two = snapshot.facts["rating"].reshape(-1, 3)[[row, other]]
    score = sanction_score(one, two, bucket_edges(0, 3000, 30, 20))
    return {"overlap": overlap(one, two, 0, 3000, 30) < 0.2, "sanction": score > 10}


TWINS: list[tuple[str, dict[str, Any], Format, int, Twin]] = [
    ("epgc", {"lobby_size": 2, "boundaries": [1400, 1600]}, Format(1, 2), 1, epgc_twin),
    (
        "buckets",
        {"bucket": 20, "reciprocity": 50, "look": "below", "range_max": 4},
        Format(2, 1),
        1,
        buckets_twin,
    ),
    ("ladder", {"solver": "optimal", "windows": FLAT}, Format(2, 1), 1, optimal_twin),
    ("cinder", {"sanction_max": 10}, Format(2, 3), 3, cinder_twin),
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("name", "parameters", "form", "size", "twin"), TWINS)
def test_rules_count_as_a_plain_transcription_does(
    name: str, parameters: dict[str, Any], form: Format, size: int, twin: Twin, seed: int
) -> None:
    matcher = build(name, parameters)
    plain = msgspec.structs.replace(crowd(seed, size=size), format=form)
    dice = np.random.default_rng(seed)
    group = dice.integers(0, 2, len(plain)).astype(np.int32)
    pairs = np.unique(np.sort(dice.integers(0, len(plain), (30, 2)), axis=1), axis=0)
    snapshot = msgspec.structs.replace(plain, group=group, forbidden=pairs[pairs[:, 0] < pairs[:, 1]])
    apart = set(map(tuple, snapshot.forbidden.tolist()))
    for row in range(len(snapshot)):
        found = explain_wave(matcher, snapshot, row)
        mates = [other for other in range(len(snapshot)) if group[other] == group[row] and other != row]
        kept = [other for other in mates if (min(row, other), max(row, other)) in apart]
        told = {other: twin(snapshot, row, other) for other in mates}
        expected = {rule: sum(judged[rule] for judged in told.values()) for rule in twin(snapshot, 0, 1)}
        if len(mates) + 1 < len(snapshot):
            expected["group"] = len(snapshot) - len(mates) - 1
        if kept:
            expected["kept_apart"] = len(kept)
        assert counts(found) == expected
        free = [other for other in mates if other not in kept and not any(told[other].values())]
        assert found.acceptable.tolist() == free


def test_the_ladder_of_the_document_counts_sides_priority_and_windows() -> None:
    nan = float("nan")
    snapshot = Snapshot.from_columns(
        ratings={"bw": [1500, 1900, nan, nan, nan, nan], "sc2": [nan, nan, 1520, 1600, 1510, 1700]},
        waited_ms=[6000, 5000, 4000, 3000, 2000, 1000],
        misses=[0, 0, 2, 1, 0, 0],
    )
    ladder = build("ladder", {"windows": FLAT})
    found = explain_wave(ladder, snapshot, 0)
    # sc2 is larger and keeps two: those with misses. Of the four, 1600 and 1700 are beyond the window of 90.
    assert counts(found) == {"side": 1, "priority": 2, "window": 2}
    assert found.acceptable.tolist() == [2]
    assert found.nearest is not None
    assert (found.nearest.distance, found.nearest.acceptable) == (20.0, True)
    assert found.unlock is None
    behind = explain_wave(ladder, snapshot, 4)
    assert counts(behind) == {"side": 3, "priority": 2, "window": 1}
    assert behind.unlock == "1 more player of bw"
    far = explain_wave(ladder, snapshot, 1)
    assert far.soonest is not None
    assert (far.soonest.distance, far.soonest.after_waves) == (300.0, 7)
    assert far.unlock == "a window of 300 rating points"


def later(snapshot: Snapshot, after_ms: int = 0, waves: int = 0) -> Snapshot:
    return msgspec.structs.replace(
        snapshot, waited_ms=snapshot.waited_ms + after_ms, misses=(snapshot.misses + waves).astype(np.int32)
    )


def test_time_brings_the_soonest_when_it_was_said_and_not_before() -> None:
    buckets, ladder = build("buckets", {"bucket": 20}), build("ladder", {"solver": "optimal", "windows": FLAT})
    crowds = [crowd(seed, count=6) for seed in range(12)]
    told = [0, 0]
    for snapshot, row in itertools.product(crowds, range(6)):
        soon = explain_wave(buckets, snapshot, row).soonest
        if soon is not None and not soon.acceptable:
            assert soon.after_ms is not None
            told[0] += 1
            assert len(explain_wave(buckets, later(snapshot, soon.after_ms), row).acceptable)
            assert not len(explain_wave(buckets, later(snapshot, soon.after_ms - 1), row).acceptable)
        soon = explain_wave(ladder, snapshot, row).soonest
        if soon is not None and not soon.acceptable:
            assert soon.after_waves is not None
            told[1] += 1
            assert len(explain_wave(ladder, later(snapshot, waves=soon.after_waves), row).acceptable)
            assert not len(explain_wave(ladder, later(snapshot, waves=soon.after_waves - 1), row).acceptable)
    assert min(told) > 0


def test_what_is_missing_is_told() -> None:
    first_come = build("first_come", {})
    assert explain_wave(first_come, sized(Format(2, 1), [1]), 0).unlock == "1 more single player"
    threes = explain_wave(first_come, sized(Format(1, 5), [3, 3, 1]), 0)
    assert counts(threes) == {"format": 1, "parties": 1}
    assert threes.unlock == "1 more single player"
    assert explain_wave(first_come, sized(Format(2, 2), [2, 1, 1]), 0).unlock is None
    too_large = explain_wave(first_come, sized(Format(2, 2), [3, 1, 1]), 0)
    assert counts(too_large) == {"format": 2}
    assert too_large.unlock == "a party of at most 2"
    exact = build("exact", {"pool_max": 2})
    waits = explain_wave(exact, sized(Format(2, 1), [1, 1, 1]), 2)
    assert counts(waits) == {"format": 0, "pool": 2, "parties": 0}
    assert waits.unlock == "those who wait longer must be matched, or leave, first"
    epgc = build("epgc", {"lobby_size": 4})
    silver = Snapshot.from_columns(rating=[1200, 1300, 1700], ping_ms=[10, 30, 20])
    assert explain_wave(epgc, silver, 0).unlock == "2 more players of tier Silver"
    assert explain_wave(build("lom", {"session_size": 5}), silver, 0).unlock == "2 more players"
    assert explain_wave(build("buckets", {}), Snapshot.from_columns(rating=[20]), 0).unlock == "1 more player"


def test_the_documents_pawn_and_grunt() -> None:
    pawn_and_grunt = Snapshot.from_columns(rating=[20, 17], waited_ms=[60_000, 40_000])
    found = explain_wave(build("buckets", {}), pawn_and_grunt, 0)
    assert counts(found) == {"range": 0, "reciprocity": 1}
    assert found.soonest is not None
    assert (found.soonest.distance, found.soonest.after_ms) == (3.0, 20_000)
    assert found.unlock == "a range of 3 buckets of the other ticket, which reaches less far now"
    assert explain_wave(build("buckets", {}), pawn_and_grunt, 1).unlock == "a range of 3 buckets"


class Plain:
    """A matcher that does not explain."""

    name: ClassVar[str] = "plain"
    reads_misses: ClassVar[bool] = False

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:
        raise NotImplementedError(snapshot, seed, trace)


def test_a_matcher_that_does_not_explain_gets_the_rules_of_the_format() -> None:
    found = explain_wave(Plain(), sized(Format(2, 2), [1, 3, 1]), 0)
    assert counts(found) == {"format": 1}
    assert found.acceptable.tolist() == [2]
    assert found.unlock == "2 more players"


def test_the_latency_cap_is_counted_and_keeps_away() -> None:
    snapshot = Snapshot.from_columns(rating=[1500, 1500, 1560, 1500], waited_ms=[400_000] * 4)
    far = msgspec.structs.replace(snapshot, reach=np.array([0b01, 0b10, 0b11, 0]))
    found = explain_wave(build("buckets", {"bucket": 20}), far, 0)
    assert counts(found) == {"latency_cap": 2, "range": 0, "reciprocity": 0}
    assert found.acceptable.tolist() == [2]
    assert found.nearest is not None
    assert found.nearest.distance == 3.0
    assert found.unlock is None
    nowhere = explain_wave(build("buckets", {"bucket": 20}), far, 3)
    assert (counts(nowhere)["latency_cap"], nowhere.acceptable.tolist()) == (3, [])
    assert nowhere.unlock == "a region within the latency cap for all its players"
    both = msgspec.structs.replace(far, forbidden=np.array([[0, 1], [0, 2]]))
    found = explain_wave(build("first_come", {}), both, 0)
    assert (counts(found)["latency_cap"], counts(found)["kept_apart"]) == (2, 2)
    assert found.acceptable.tolist() == []
    assert found.unlock == (
        "a nearer region, within the latency cap for both, or an end of the block, avoidance or pause after a match "
        "that keeps others apart from it, or 1 more single player"
    )


def test_nearest_leaves_out_whom_it_must_not_meet() -> None:
    snapshot = Snapshot.from_columns(rating=[1500, 1500, 1560], waited_ms=[400_000] * 3)
    blocked: Array = np.array([[0, 1]])
    found = explain_wave(build("buckets", {"bucket": 20}), msgspec.structs.replace(snapshot, forbidden=blocked), 0)
    assert counts(found)["kept_apart"] == 1
    assert found.acceptable.tolist() == [2]
    assert found.nearest is not None
    assert found.nearest.distance == 3.0
