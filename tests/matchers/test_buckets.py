"""Buckets: the document's cycles, corrected where NOTES.md says so, and agreement with the plain transcription."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.errors import MatcherError
from evenmatch.matchers.buckets import Buckets, bucket_of, range_limit
from evenmatch.matchers.contract import cannot_seat, check_plan, next_change_ms
from evenmatch.matchers.registry import build
from evenmatch.numerics import growing_moments, growing_ranges, threads
from evenmatch.numerics.bucket_line import slots_of
from evenmatch.numerics.growing_ranges import pairs, ranges_needed
from tests.reference import buckets as reference
from tests.snapshots import in_numbers, snapshot_of, snapshots

ONE_ON_ONE = Format(2, 1)


def waiting(*rated_and_waited_s: tuple[float, float], now_ms: int = 1_000_000) -> Snapshot:
    """Single players, tickets 100, 101, ..., each a rating and a wait in seconds."""
    return snapshot_of(
        ONE_ON_ONE,
        [[rating] for rating, _ in rated_and_waited_s],
        waited_ms=[round(1000 * waited) for _, waited in rated_and_waited_s],
        now_ms=now_ms,
    )


def matched(snapshot: Snapshot, **parameters: Any) -> list[list[int]]:
    return snapshot.ticket[Buckets(**parameters).plan(snapshot).rosters].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("moment_s", "ranges", "match"),
    [
        (20, (1, 0), False),
        (40, (2, 1), False),
        (60, (3, 2), False),
        (79.999, (3, 2), False),
        (80, (4, 3), True),
    ],
)
def test_the_cycles_of_the_document(moment_s: float, ranges: tuple[int, int], match: bool) -> None:
    # The document matches them in the fourth cycle: at 60 s Pawn reaches Grunt, but Grunt doesn't reach Pawn.
    snapshot = waiting((20, moment_s), (17, moment_s - 20))
    assert tuple((snapshot.waited_ms // 20_000).tolist()) == ranges
    plan = Buckets().plan(snapshot, trace=True)
    assert len(plan.rosters) == match
    if match:
        assert in_numbers(plan, snapshot)[0] == [([(100, 0), (101, 1)], 3.0)]
        assert plan.match_details == ({"distance": 3},)
        assert plan.trace == ({"tickets": [100, 101], "buckets": [20, 17], "ranges": [4, 3]},)
    else:
        assert plan.reasons.tolist() == [Reason.NOBODY_IN_RANGE] * 2
        assert Buckets().next_change_ms(snapshot) == 1_000_000 + 80_000 - round(1000 * moment_s)


def test_a_pawn_alone_never_changes() -> None:
    assert Buckets().next_change_ms(waiting((20, 0))) is None
    assert Buckets().next_change_ms(snapshot_of(ONE_ON_ONE, [])) is None


def test_halves_are_rounded_away_from_zero() -> None:
    ratings = [16.5, -16.5, 17.5, 16.49, -16.49, 0.5, -0.5, 0.49999999999999994, 0.0, -0.2]
    assert bucket_of(ratings).tolist() == [17, -17, 18, 16, -16, 1, -1, 0, 0, 0]


def test_buckets_by_floor_and_by_width() -> None:
    assert bucket_of([16.5, -16.5, 17.0], "floor").tolist() == [16, -17, 17]
    assert bucket_of([0, 49.9, 50, 149, -1], 50).tolist() == [0, 0, 1, 2, -1]
    assert bucket_of([0.3, 0.7], 0.1).tolist() == [2, 6]  # 0.1 is a little more than a tenth


def test_the_maximum_of_a_range() -> None:
    assert range_limit([15, -1500], 10).tolist() == [10, 10]
    assert range_limit([14.9, 15, -15, 24.99, 25, 0], "20%").tolist() == [2, 3, 3, 4, 5, 0]
    assert range_limit([15, 1500], [10, "20%"]).tolist() == [3, 10]
    assert range_limit([15, 1500], ["20%", 10]).tolist() == [3, 10]
    assert range_limit([100, 1000], "0.57%").tolist() == [0, 5]
    assert range_limit([10_000.0], "0.57%").tolist() == [57]


def test_a_range_stops_at_its_maximum() -> None:
    assert matched(waiting((30, 10_000), (20, 10_000))) == [[100, 101]]
    far = waiting((31, 10_000), (20, 10_000))
    assert matched(far) == []
    assert Buckets().next_change_ms(far) is None
    assert matched(far, range_max=11) == [[100, 101]]
    # 20 % of 20 is 4 buckets: the lower rating's range is the smaller.
    assert matched(waiting((24, 10_000), (20, 10_000)), range_max="20%") == [[100, 101]]
    assert matched(waiting((25, 10_000), (20, 10_000)), range_max="20%") == []
    assert matched(waiting((25, 10_000), (20, 10_000)), range_max="20%", reciprocity=80) == [[100, 101]]


@pytest.mark.parametrize(
    ("reciprocity", "partner_waited_s"), [(100, 80), (75, 60), (50, 40), (49.9, 40), (25, 20), (0, 0)]
)
def test_the_other_ones_range_must_reach_as_far_as_reciprocity_asks(reciprocity: float, partner_waited_s: int) -> None:
    assert matched(waiting((20, 200), (16, partner_waited_s)), reciprocity=reciprocity) == [[100, 101]]
    if partner_waited_s:
        assert matched(waiting((20, 200), (16, partner_waited_s - 0.001)), reciprocity=reciprocity) == []


def test_reciprocity_is_taken_as_it_is_written() -> None:
    # As a float 33.1 is a little more than written, so that 331 would not be enough for a distance of 1000.
    snapshot = waiting((2000, 1000 * 20), (1000, 331 * 20))
    assert matched(snapshot, reciprocity=33.1, range_max=1000) == [[100, 101]]


def test_a_seeker_takes_the_nearest_and_the_earlier_of_two_equally_near() -> None:
    assert matched(waiting((20, 100), (23, 90), (18, 80), (21, 70))) == [[100, 103]]
    assert matched(waiting((20, 100), (22, 90), (18, 80))) == [[100, 101]]
    assert matched(waiting((20, 100), (18, 90), (22, 80))) == [[100, 101]]
    assert matched(waiting((20, 100), (20, 50), (20, 80))) == [[100, 102]]


def test_looking_below_or_above_only() -> None:
    # With no reciprocity the one who has waited longer reaches the other, and not the other way round.
    old_above, old_below = waiting((20, 100), (18, 0)), waiting((18, 100), (20, 0))
    for look, above, below in [("both", True, True), ("below", True, False), ("above", False, True)]:
        assert bool(matched(old_above, reciprocity=0, look=look)) == above
        assert bool(matched(old_below, reciprocity=0, look=look)) == below
        assert matched(waiting((20, 0), (20, 0)), look=look) == [[100, 101]]
    # The younger one seeks once it reaches far enough, and then is the first team.
    assert Buckets(reciprocity=0, look="below").next_change_ms(old_below) == 1_040_000
    assert matched(waiting((18, 140), (20, 40)), reciprocity=0, look="below") == [[101, 100]]


def test_a_seeker_that_found_nobody_can_still_be_taken() -> None:
    assert matched(waiting((18, 100), (20, 60), (25, 0)), reciprocity=0, look="below") == [[101, 100]]


def test_parties_of_a_whole_team_meet_by_their_mean_rating() -> None:
    snapshot = snapshot_of(Format(2, 2), [[10, 23], [17, 17], [40, 40]], waited_ms=[0, 0, 0])
    plan = Buckets().plan(snapshot)
    assert plan.rosters.tolist() == [[0, 1]]
    assert plan.team_of.tolist() == [[0, 1]]
    assert check_plan(plan, snapshot) is None


def test_it_says_what_it_cannot_seat() -> None:
    matcher = Buckets()
    assert cannot_seat(matcher, Format(2, 3), 3) is None
    assert cannot_seat(matcher, Format(2, 3), 2) == "a ticket fills a whole team, 3 in 2x3, not 2"
    assert cannot_seat(matcher, Format(3, 2), 2) == "two teams are needed, as in 2x2, not 3x2"
    with pytest.raises(MatcherError, match=r"^buckets: ticket 101: a ticket fills a whole team, 2 in 2x2, not 1$"):
        matcher.plan(snapshot_of(Format(2, 2), [[1, 1], [1]]))
    with pytest.raises(MatcherError, match=r"^buckets: two teams are needed, as in 2x5, not 1x5$"):
        matcher.plan(snapshot_of(Format(1, 5), []))


def test_bad_facts_are_named() -> None:
    with pytest.raises(MatcherError, match=r"^buckets: ticket 101 has a rating of inf: no bucket$"):
        Buckets().plan(waiting((1, 1), (math.inf, 1)))
    with pytest.raises(MatcherError, match=r"^buckets: ticket 101 has waited -1000 ms$"):
        Buckets().plan(waiting((1, 1), (1, -1)))


def test_a_player_without_a_rating_counts_as_average() -> None:
    assert matched(waiting((math.nan, 0), (1500, 0))) == [[100, 101]]


rules = st.fixed_dictionaries(
    {
        "bucket": st.sampled_from(["round", "floor", 2, 0.7]),
        "growth_s": st.sampled_from([20, 0.5, 7]),
        "range_max": st.sampled_from([10, 0, 3, "20%", "33.3%", [4, "10%"]]),
        "reciprocity": st.sampled_from([100, 50, 0, 75, 33.3]),
        "look": st.sampled_from(["both", "below", "above"]),
    }
)


def as_written(parameters: dict[str, Any]) -> reference.Rules:
    """The same settings, for the transcription."""
    parts = parameters["range_max"] if isinstance(parameters["range_max"], list) else [parameters["range_max"]]
    return reference.Rules(
        parameters["bucket"],
        round(1000 * parameters["growth_s"]),
        next((part for part in parts if isinstance(part, int)), None),
        next((Fraction(part.rstrip("%")) for part in parts if isinstance(part, str)), None),
        Fraction(str(parameters["reciprocity"])),
        parameters["look"],
    )


@st.composite
def queues(draw: st.DrawFn, tickets_max: int) -> Snapshot:
    form = draw(st.sampled_from([Format(2, 1), Format(2, 1), Format(2, 2), Format(2, 3)]))
    wait = draw(st.sampled_from([st.integers(0, 8).map(lambda step: 5000 * step), st.integers(0, 300_000)]))
    rating = draw(st.sampled_from([st.integers(-60, 60).map(lambda half: half / 2), st.floats(-40, 40)]))
    return draw(
        snapshots(tickets_max=tickets_max, formats=[form], parties={form: [form.size]}, rating=rating, waited_ms=wait)
    )


def in_order(snapshot: Snapshot) -> tuple[list[int], list[reference.Ticket]]:
    order = snapshot.canonical_order().tolist()
    start = snapshot.player_start.tolist()
    ratings = snapshot.facts["rating"].tolist()
    return order, [
        reference.Ticket(ratings[start[row] : start[row + 1]], int(snapshot.waited_ms[row])) for row in order
    ]


@settings(max_examples=120, deadline=None)
@given(snapshot=queues(30), parameters=rules)
def test_it_agrees_with_the_plain_transcription(snapshot: Snapshot, parameters: dict[str, Any]) -> None:
    order, tickets = in_order(snapshot)
    expected = reference.check(tickets, as_written(parameters))
    plan = Buckets(**parameters).plan(snapshot)
    assert check_plan(plan, snapshot) is None
    assert plan.rosters.tolist() == [[order[seeker], order[partner]] for seeker, partner, _ in expected]
    assert plan.cost.tolist() == [distance for _, _, distance in expected]
    assert [about["distance"] for about in plan.match_details] == plan.cost.tolist()


@settings(max_examples=120, deadline=None)
@given(snapshot=queues(6), parameters=rules)
def test_the_next_change_is_the_first_moment_when_somebody_may_newly_take_somebody(
    snapshot: Snapshot, parameters: dict[str, Any]
) -> None:
    _, tickets = in_order(snapshot)
    as_rules = as_written(parameters)
    # No range is ever needed that is wider than the widest distance, so nothing changes after this.
    apart = [abs(reference.bucket(a, as_rules) - reference.bucket(b, as_rules)) for a in tickets for b in tickets]
    widest = min(max(apart, default=0), as_rules.range_max or 20)
    expected = reference.next_change_in_ms(tickets, as_rules, as_rules.growth_ms * widest)
    moment = next_change_ms(Buckets(**parameters), snapshot)
    assert moment == (None if expected is None else snapshot.now_ms + expected)


@settings(max_examples=60, deadline=None)
@given(snapshot=queues(12), parameters=rules)
def test_nothing_changes_before_the_next_change(snapshot: Snapshot, parameters: dict[str, Any]) -> None:
    matcher = Buckets(**parameters)
    moment = matcher.next_change_ms(snapshot)
    after_ms = 10**7 if moment is None else moment - snapshot.now_ms - 1
    assert after_ms >= 0
    columns = {name: getattr(snapshot, name) for name in Snapshot.__struct_fields__}
    later = Snapshot(**(columns | {"waited_ms": snapshot.waited_ms + after_ms, "now_ms": snapshot.now_ms + after_ms}))
    assert in_numbers(matcher.plan(later), later) == in_numbers(matcher.plan(snapshot), snapshot)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"bucket": "rond"}, "buckets: bucket must be 'round' or 'floor', not 'rond': did you mean 'round'?"),
        ({"bucket": 0}, "buckets: bucket must be a number from 0.001 to 1e+06, not 0"),
        ({"bucket": math.nan}, "buckets: bucket must be a number from 0.001 to 1e+06, not nan"),
        ({"bucket": True}, "buckets: bucket must be a number from 0.001 to 1e+06, not True (bool)"),
        ({"growth_s": 0}, "buckets: growth_s must be a number from 0.001 to 2.592e+06, not 0"),
        ({"growth_s": "20"}, "buckets: growth_s must be a number from 0.001 to 2.592e+06, not '20' (str)"),
        ({"range_max": -1}, "buckets: range_max must be a whole number from 0 to 1000000, not -1"),
        ({"range_max": 1.5}, "buckets: range_max must be a whole number from 0 to 1000000, not 1.5 (float)"),
        ({"range_max": True}, "buckets: range_max must be a whole number from 0 to 1000000, not True (bool)"),
        (
            {"range_max": "20"},
            "buckets: range_max in quotes must be a percentage from 0% to 1000%, such as '20%', not '20'",
        ),
        (
            {"range_max": "-5%"},
            "buckets: range_max in quotes must be a percentage from 0% to 1000%, such as '20%', not '-5%'",
        ),
        (
            {"range_max": "1001%"},
            "buckets: range_max in quotes must be a percentage from 0% to 1000%, such as '20%', not '1001%'",
        ),
        (
            {"range_max": [10]},
            "buckets: range_max as a list must be a whole number and a percentage, such as [10, '20%'], not [10]",
        ),
        (
            {"range_max": [10, 20]},
            "buckets: range_max as a list must be a whole number and a percentage, such as [10, '20%'], not [10, 20]",
        ),
        ({"reciprocity": 101}, "buckets: reciprocity must be a number from 0 to 100, not 101"),
        ({"reciprocity": -0.1}, "buckets: reciprocity must be a number from 0 to 100, not -0.1"),
        ({"reciprocity": math.nan}, "buckets: reciprocity must be a number from 0 to 100, not nan"),
        ({"look": "abve"}, "buckets: look must be 'both', 'below' or 'above', not 'abve': did you mean 'above'?"),
        ({"look": 1}, "buckets: look must be 'both', 'below' or 'above', not 1 (int)"),
        (
            {"growth": 20},
            "buckets: unknown parameter 'growth': did you mean 'growth_s'? "
            "known: bucket, growth_s, range_max, reciprocity, look",
        ),
    ],
)
def test_a_parameter_that_cannot_be_used_is_named(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(MatcherError) as caught:
        build("buckets", parameters)
    assert str(caught.value) == words


def test_parameters_are_stored_unchanged() -> None:
    parameters = {"bucket": 50, "growth_s": 1, "range_max": [10, "20%"], "reciprocity": 50, "look": "below"}
    assert vars(Buckets(**parameters)) == parameters  # type: ignore[arg-type]


def line_of(rng: np.random.Generator, count: int, spread: int, wait_s: int) -> Snapshot:
    """Single players in any order; small numbers make many ties."""
    return Snapshot.from_columns(
        rating=rng.integers(0, spread, count) * 1.0,
        waited_ms=1000 * rng.integers(0, wait_s, count),
        ids=[f"{place:06d}" for place in rng.permutation(count).tolist()],
        format=ONE_ON_ONE,
    )


@pytest.mark.parametrize("spread", [10, 1_000, 50_000, 10**6])
@pytest.mark.parametrize("look", ["both", "below", "above"])
def test_large_plans_are_maximal_and_keep_the_rules(spread: int, look: str) -> None:
    snapshot = line_of(np.random.default_rng(spread), 50_000, spread, 400)
    plan = Buckets(range_max=[9, "1%"], reciprocity=60, look=look).plan(snapshot)
    assert check_plan(plan, snapshot) is None
    bucket = bucket_of(snapshot.facts["rating"])
    reach = np.minimum(range_limit(snapshot.facts["rating"], [9, "1%"]), snapshot.waited_ms // 20_000)

    def may_take(a: Array, b: Array) -> Array:
        distance = np.abs(bucket[a] - bucket[b])
        right_side = {"both": True, "below": bucket[b] <= bucket[a], "above": bucket[b] >= bucket[a]}[look]
        allowed: Array = (distance <= reach[a]) & (100 * reach[b] >= 60 * distance) & right_side
        return allowed

    seeker, partner = plan.rosters.T
    assert may_take(seeker, partner).all()
    assert plan.cost.tolist() == np.abs(bucket[seeker] - bucket[partner]).tolist()
    left = np.flatnonzero(plan.reasons)
    left = left[np.argsort(bucket[left])]
    for away in range(1, 20):
        assert not may_take(left[away:], left[:-away]).any()
        assert not may_take(left[:-away], left[away:]).any()


@settings(max_examples=150, deadline=None)
@given(data=st.data(), patience=st.integers(1, 5))
def test_the_trees_find_what_the_walk_finds(data: st.DataObject, patience: int) -> None:
    count, most = data.draw(st.integers(0, 40)), data.draw(st.integers(0, 60))
    column = {"min_size": count, "max_size": count}
    bucket = np.array(data.draw(st.lists(st.integers(-30, 30), **column)), np.int64)  # type: ignore[arg-type]
    grown = np.array(sorted(data.draw(st.lists(st.integers(0, 60), **column)), reverse=True), np.int32)  # type: ignore[arg-type]
    limit = np.array(data.draw(st.lists(st.integers(0, most), **column)), np.int32)  # type: ignore[arg-type]
    reciprocity = data.draw(st.sampled_from([Fraction(0), Fraction(50), Fraction("33.3"), Fraction(100)]))
    look = data.draw(st.sampled_from(["both", "below", "above"]))
    needed = ranges_needed(reciprocity, most)
    by_walking = pairs(bucket, grown, limit, needed, look, patience=10**6)
    assert pairs(bucket, grown, limit, needed, look, patience=patience).tolist() == by_walking.tolist()


def test_the_trees_find_what_the_walk_finds_on_a_long_line() -> None:
    rng = np.random.default_rng(4)
    count = 4_000
    bucket, limit = rng.integers(0, 40_000, count), rng.integers(0, 30_000, count).astype(np.int32)
    grown = np.sort(np.where(rng.random(count) < 0.5, rng.integers(0, 30_000, count), 0))[::-1].astype(np.int32)
    needed = ranges_needed(Fraction(80), 30_000)
    for look in ("both", "below", "above"):
        by_walking = pairs(bucket, grown, limit, needed, look, patience=10**6)
        assert pairs(bucket, grown, limit, needed, look, patience=3).tolist() == by_walking.tolist()
        assert pairs(bucket, grown, limit, needed, look).tolist() == by_walking.tolist()


@pytest.mark.parametrize("threads_used", [1, 2])
def test_a_line_in_many_parts_is_swept_as_one(threads_used: int) -> None:
    rng = np.random.default_rng(6)
    count = 120_000
    # Thirty stretches far apart, some of them crowded, and many who stand alone.
    bucket = np.where(
        rng.random(count) < 0.2, 10_000 * rng.integers(0, 10**6, count), 10**7 * rng.integers(0, 30, count)
    )
    bucket += np.where(bucket % 10**7 == 0, rng.integers(0, 6_000, count), 0)
    grown = np.sort(rng.integers(0, 40, count))[::-1].astype(np.int32)
    limit = rng.integers(0, 40, count).astype(np.int32)
    needed = ranges_needed(Fraction(90), 40)
    before = threads.count()
    try:
        threads.use(threads_used)
        by_walking = pairs(bucket, grown, limit, needed, "both", patience=10**6)
        by_trees = pairs(bucket, grown, limit, needed, "both", patience=2)
    finally:
        threads.use(before)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing_ranges, "PARTS_LEAST", 10**6)
        together = pairs(bucket, grown, limit, needed, "both")
    assert (by_walking == together).all()
    assert (by_trees == together).all()
    assert len(set(together[:, :2].ravel().tolist())) == 2 * len(together)


@pytest.mark.parametrize("apart", [1, 7, 2**12, 2**50])
def test_places_are_sorted_by_bucket_however_far_apart(apart: int) -> None:
    rng = np.random.default_rng(apart)
    for count in (0, 1, 2, 5_000):
        bucket = apart * rng.integers(-4, 5, count)
        assert np.argsort(slots_of(bucket)).tolist() == np.argsort(bucket, kind="stable").tolist()


def test_ranges_needed_are_exact_for_any_percentage() -> None:
    for percent in ("100", "0", "33.3", "99.99999999999999", "1e-16", "33.33333333333333"):
        needed = ranges_needed(Fraction(percent), 2_000)
        assert needed.tolist() == [math.ceil(Fraction(percent) * distance / 100) for distance in range(2_001)]


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(st.floats(-1e6, 1e6), st.integers(-10_000, 10_000).map(lambda tenth: tenth / 10), st.floats(-1, 1)),
    st.sampled_from(["round", "floor", 0.1, 0.7, 3, 50, 1e-3, 1e6, 1 / 3]),
    st.sampled_from(["20%", "33.3%", "0.57%", "1000%", "0%", "99.9%", "33.333333333333333333%", "0.1%"]),
)
def test_no_rounding_decides_on_a_bucket_or_a_range(rating: float, bucket: str | float, range_max: str) -> None:
    rules = reference.Rules(bucket, 1, 10**6, Fraction(range_max.rstrip("%")), Fraction(0), "both")
    ticket = reference.Ticket([rating], 10**9)
    assert bucket_of([rating], bucket).tolist() == [reference.bucket(ticket, rules)]
    assert range_limit([rating], [10**6, range_max]).tolist() == [reference.current_range(ticket, rules)]


@settings(max_examples=150, deadline=None)
@given(snapshot=queues(20), parameters=rules, steps=st.integers(-1, 60))
def test_a_search_given_up_names_no_later_moment(snapshot: Snapshot, parameters: dict[str, Any], steps: int) -> None:
    matcher = Buckets(**parameters)
    true = matcher.next_change_ms(snapshot)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing_moments, "STEPS_LEAST", steps)
        patch.setattr(growing_moments, "PATIENCE", 0)
        early = matcher.next_change_ms(snapshot)
    if true is not None:
        assert early is not None
        assert snapshot.now_ms < early <= true


@pytest.mark.parametrize("spread", [30, 3_000, 10**6])
def test_the_next_change_of_many_is_the_first_over_all_pairs(spread: int) -> None:
    snapshot = line_of(np.random.default_rng(spread), 1_500, spread, 1_000)
    bucket = bucket_of(snapshot.facts["rating"])
    for range_max, reciprocity in ((10, 100), (40, 30), (10**6, 100)):
        matcher = Buckets(range_max=range_max, reciprocity=reciprocity, growth_s=7)
        distance = np.abs(bucket[:, None] - bucket)
        needed = -(-reciprocity * distance // 100)
        moments = np.maximum(distance * 7000 - snapshot.waited_ms[:, None], needed * 7000 - snapshot.waited_ms)
        newly = moments[(moments > 0) & (distance > 0) & (distance <= range_max)]
        assert matcher.next_change_ms(snapshot) == (int(newly.min()) if len(newly) else None)


def test_many_tickets_are_planned_without_comparing_everybody() -> None:
    count = 20_000
    rng = np.random.default_rng(3)
    snapshot = snapshot_of(
        ONE_ON_ONE,
        rng.normal(25, 8, (count, 1)).tolist(),
        waited_ms=rng.integers(0, 300_000, count).tolist(),
    )
    plan = Buckets().plan(snapshot)
    assert check_plan(plan, snapshot) is None
    assert (plan.reasons != 0).sum() < 40
