"""The picture of those who wait: its scale, who is counted, and what each matcher lets be seen."""

from typing import Any

import msgspec
import numpy as np
import pytest

from evenmatch.domain.ids import ticket_id
from evenmatch.domain.queue import Format, MatcherSpec, QueueSpec
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.cinder import overlap
from evenmatch.matchers.contract import plan_wave
from evenmatch.matchers.registry import build
from evenmatch.service.picture import Group, Picture, Seat, picture_of

from .test_watch import many


def pictured(matcher: str, snapshot: Snapshot, seed: int = 0, **parameters: Any) -> Picture:
    spec = QueueSpec("one", snapshot.format, matcher=MatcherSpec(matcher, parameters))
    return picture_of(spec, snapshot, snapshot.now_ms, [], 0, seed)


def test_one_who_is_far_from_all_others_does_not_set_the_scale_and_is_counted_in_words() -> None:
    rating, waited_ms = np.append(np.linspace(1400, 1600, 60), 9000.0), np.append(np.arange(60) * 500, 7_200_000)
    for times in (1, 20):
        columns: dict[str, Any] = {"rating": np.repeat(rating, times), "waited_ms": np.repeat(waited_ms, times)}
        snapshot = msgspec.structs.replace(Snapshot.from_columns(**columns), format=Format(2, 1))
        picture = pictured("even", snapshot)
        if times > 1:  # twenty of a thousand and more are no longer one who is far
            assert picture.binned
        else:
            assert picture.scale is not None
            assert (picture.scale.low, picture.scale.high, picture.scale.longest_s) == (1400.0, 1600.0, 29.5)
            assert (picture.scale.below, picture.scale.above, picture.scale.longer) == (0, 1, 1)
            assert "1 ticket further right, up to 9,000 points; 1 ticket longer, up to 2.0 h" in picture.beyond
    assert pictured("even", msgspec.structs.replace(many(500), format=Format(2, 1))).beyond == ""


def test_many_who_came_together_are_counted_by_rating() -> None:
    chance = np.random.default_rng(3)
    columns: dict[str, Any] = {
        "rating": chance.normal(1500, 200, 10_000),
        "waited_ms": 60_000 + chance.integers(0, 4_000, 10_000),
    }
    picture = pictured("even", msgspec.structs.replace(Snapshot.from_columns(**columns), format=Format(2, 1)))
    assert picture.by_count
    assert picture.bin is not None
    assert sum(picture.count) == 10_000
    assert len(set(picture.rating)) == len(picture.rating), "each column is one entry, where all are of one band"
    assert max(picture.count) > 3 * min(picture.count)
    assert not pictured("even", msgspec.structs.replace(many(10_000), format=Format(2, 1))).by_count


@pytest.mark.parametrize("matcher", ["lom", "l2m", "m2l"])
def test_who_would_lead_is_seen_before_the_wave_and_is_who_leads_in_it(matcher: str) -> None:
    columns: dict[str, Any] = {
        "rating": np.linspace(1000, 2000, 23),
        "ping_ms": np.full(23, 30.0),
        "waited_ms": np.arange(23) * 100,
    }
    snapshot = msgspec.structs.replace(Snapshot.from_columns(**columns), format=Format(1, 5))
    picture = pictured(matcher, snapshot, seed=11, session_size=5)
    assert picture.bands == ["member", "leader"]
    led = {picture.ticket[row] for row in np.flatnonzero(picture.band).tolist()}
    plan = plan_wave(build(matcher, {"session_size": 5}), snapshot, seed=11)
    assert led == {ticket_id(int(snapshot.ticket[row])) for row in plan.rosters[:, 0]}
    assert "diamonds lead, one for each 5 players" in picture.words
    few = pictured(matcher, snapshot.take(np.arange(4)), session_size=5)
    assert not any(few.band)
    assert "Nobody leads yet: a session takes 5 players." in few.words


def test_a_lobbys_range_tells_how_far_it_overlaps_with_the_one_that_shares_most() -> None:
    snapshot = msgspec.structs.replace(
        Snapshot.from_columns(rating=np.array([1500.0, 1540.0, 2900.0]), waited_ms=np.array([3000, 2000, 1000])),
        format=Format(2, 1),
    )
    picture = pictured("cinder", snapshot)
    expected = overlap([1500.0], [1540.0], 0, 3000, 30)
    assert picture.overlap == [round(expected, 3), round(expected, 3), 0.0]
    assert (picture.shared_low[0], picture.shared_high[0]) == (1440.0, 1600.0)
    assert picture.shared_low[2] is None
    assert [one.overlap for one in picture.oldest] == picture.overlap


def test_a_proposal_of_epgc_keeps_its_tiers() -> None:
    seats = [Seat(f"t-{at}", 0, rating, 1.0, 30.0) for at, rating in enumerate((100.0, 5000.0))]
    spec = QueueSpec("one", Format(1, 2), matcher=MatcherSpec("epgc", {"lobby_size": 2}))
    snapshot = Snapshot.from_columns(rating=np.array([1500.0]), ping_ms=np.array([20.0]), waited_ms=np.array([0]))
    picture = picture_of(spec, msgspec.structs.replace(snapshot, format=Format(1, 2)), 0, [Group("p-1", 1.0, seats)], 0)
    assert [seat.band for seat in picture.groups[0].seats] == [0, len(picture.bands) - 1]


def test_nobody_is_left_out_of_a_scale_that_would_hardly_be_narrower() -> None:
    rating = np.append(np.linspace(1400, 1900, 20), 2050.0)
    snapshot = Snapshot.from_columns(rating=rating, waited_ms=np.append(np.arange(20) * 450, 24_000))
    picture = pictured("even", msgspec.structs.replace(snapshot, format=Format(2, 1)))
    assert picture.scale is not None
    assert picture.scale.high == 2050.0
    assert picture.scale.above == 0


def test_ranges_are_told_as_they_are_however_narrow_the_crowd_is() -> None:
    for rating in ([1555.0], [1555.0, 1571.0]):
        snapshot = Snapshot.from_columns(rating=np.array(rating), waited_ms=np.full(len(rating), 2_000))
        picture = pictured("even", msgspec.structs.replace(snapshot, format=Format(2, 2)))
        assert picture.low == [one.low for one in picture.oldest]
        assert picture.high == [one.high for one in picture.oldest]
        assert all(high - low > 150 for low, high in zip(picture.low, picture.high, strict=True))


def test_in_a_mean_over_many_ranges_one_without_end_ends_beyond_the_crowd() -> None:
    columns: dict[str, Any] = {"rating": np.linspace(1400, 1600, 900), "waited_ms": np.arange(900) * 100}
    snapshot = msgspec.structs.replace(Snapshot.from_columns(**columns), format=Format(2, 1))
    picture = pictured("even", snapshot, window=50, window_growth=1, window_free_s=45)
    assert picture.binned
    assert min(picture.low) == 1200.0
    assert max(picture.high) == 1800.0
