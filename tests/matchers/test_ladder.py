"""The ladder: its document's numbers, its plain transcription, and the best plan there is."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import msgspec
import networkx  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.errors import MatcherError
from evenmatch.matchers import ladder as em_ladder
from evenmatch.matchers.contract import cannot_seat, check_plan
from evenmatch.matchers.ladder import Ladder, Side, channel, create_matches
from evenmatch.matchers.ladder_creation import available_maps
from evenmatch.matchers.ladder_stages import stronger_side
from evenmatch.matchers.registry import build
from tests.reference import ladder as reference
from tests.reference.ladder import Player, Rules
from tests.snapshots import in_numbers, relabelled, snapshot_of

ONE_ON_ONE = Format(2, 1)
QUIET = settings(deadline=None, max_examples=100)


def queue_of(
    players: Sequence[Player],
    *,
    population: int | None = None,
    order: Sequence[int] | None = None,
    sides: tuple[str, str] = ("bw", "sc2"),
) -> Snapshot:
    """The snapshot of these players, who stand in canonical order; ticket 100 is the first. `order` shuffles rows."""
    count = len(players)
    ratings = [[math.nan if r is None else r for r in (p.bw, p.sc2)] for p in players]
    facts = {f"ratings.{side}": [pair[at] for pair in ratings] for at, side in enumerate(sides)}
    plain = snapshot_of(ONE_ON_ONE, [[1500.0]] * count, facts=facts)
    full = msgspec.structs.replace(
        plain,
        misses=np.array([p.misses for p in players], np.int32),
        traits={"vetoed_maps": tuple(p.vetoed for p in players), "region": tuple(p.region for p in players)},
        active_population=population,
    )
    return full if order is None else full.take(np.array(order, np.int64))


def players_of(*rows: tuple[float | None, float | None, int]) -> list[Player]:
    return [Player(place, bw, sc2, misses) for place, (bw, sc2, misses) in enumerate(rows)]


def pairs_of(plan: Plan, snapshot: Snapshot) -> list[tuple[int, int]]:
    """Places of each match, first side first."""
    for roster, team_of in zip(plan.rosters, plan.team_of, strict=True):
        assert (len(roster), team_of.tolist()) == (2, [0, 1])
    return [(one - 100, other - 100) for one, other in snapshot.ticket[plan.rosters].tolist()]


def side(*rows: tuple[float, int, float]) -> Side:
    """Rating, misses and window of each player."""
    columns: Array = np.array(rows, np.float64).reshape(-1, 3)
    return Side(columns[:, 0], columns[:, 1], columns[:, 2])


# The document's numbers.


def test_pressure_is_scaled_by_the_population_and_never_above_one() -> None:
    assert em_ladder.pressure(15, 30) == 0.4
    assert [em_ladder.pressure(1, population) for population in (6, 10, 11, 25, 26)] == [
        0.2,
        0.12,
        1 / 11,
        0.04,
        float(Fraction(8, 260)),
    ]
    assert (em_ladder.pressure(10, 10), em_ladder.pressure(0, 0), em_ladder.pressure(3, 0)) == (1.0, 0.0, 1.0)


def test_pressure_is_compared_as_it_is_written() -> None:
    assert 1.2 * 1 / 6 < 0.2  # what floats would say
    assert em_ladder.category(em_ladder.pressure(1, 6)) == "HIGH"
    plan = Ladder(active_population=6).plan(queue_of(players_of((1500, None, 0))))
    assert (plan.details["pressure"], plan.details["category"]) == (0.2, "HIGH")
    words = [em_ladder.category(p) for p in (1.0, 0.4, 0.2, 0.19999999, 0.1, 0.0999999, 0.0)]
    assert words == ["HIGH", "HIGH", "HIGH", "MODERATE", "MODERATE", "LOW", "LOW"]


def test_windows_grow_with_misses() -> None:
    assert em_ladder.window(5, 0.15) == 275
    assert [em_ladder.window(misses, 0.4) for misses in (0, 1, 4)] == [75, 100, 175]
    assert [em_ladder.window(misses, 0.05) for misses in (0, 2)] == [125, 215]
    assert em_ladder.window(np.array([0, 5]), 0.1).tolist() == [100, 275]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: em_ladder.pressure(-1, 5), "queue_size and active_population must be 0 or more: -1, 5"),
        (lambda: em_ladder.pressure(1, -5), "queue_size and active_population must be 0 or more: 1, -5"),
        (lambda: em_ladder.category(1.5), "pressure must be a number from 0 to 1, not 1.5"),
        (lambda: em_ladder.window(1, math.nan), "pressure must be a number from 0 to 1, not nan"),
        (lambda: em_ladder.window(-1, 0.5), "misses must be 0 or more"),
    ],
)
def test_the_parts_refuse_what_makes_no_sense(call: Any, words: str) -> None:
    with pytest.raises(MatcherError) as caught:
        call()
    assert str(caught.value) == words


def equalized(players: list[Player]) -> tuple[list[int], list[int], int]:
    first, second = (
        np.array([math.nan if r is None else r for r in column], np.float64)
        for column in ([p.bw for p in players], [p.sc2 for p in players])
    )
    got = em_ladder.equalize(em_ladder.partition(first, second), first, second)
    return got.first.tolist(), got.second.tolist(), got.moved


def test_stage_2_example_gives_five_and_five() -> None:
    rows: list[tuple[float | None, float | None, int]] = [(1500, None, 0)] * 2 + [(None, 1500, 0)] * 5
    players = players_of(*rows, (1700, 1500, 0), (1500, 1650, 0), (1500, 1500, 0))
    assert equalized(players) == ([0, 1, 7, 8, 9], [2, 3, 4, 5, 6], -1)


def test_the_walkthrough_gives_seven_and_eight_with_means_at_the_threshold() -> None:
    rows: list[tuple[float | None, float | None, int]] = [(1450, None, 0)] * 3 + [(None, 1550, 0)] * 5
    both = [(1500.0 + bias / 2, 1500.0 - bias / 2, 0) for bias in (-200, -100, -50, 0, 50, 100, 200)]
    players = players_of(*rows, *both)
    first, second, moved = equalized(players)
    assert (len(first), len(second), moved) == (7, 8, -1)
    assert first[3:] == [11, 12, 13, 14]  # biases 0, +50, +100, +200
    plan = Ladder().plan(queue_of(players, population=30))
    told = plan.details
    assert (told["only"], told["both"], told["equalized"]) == ({"bw": 3, "sc2": 5}, 7, {"bw": 7, "sc2": 8})
    assert (told["pressure"], told["category"], told["window_base"], told["window_growth"]) == (0.4, "HIGH", 75, 25)
    assert (told["lead_side"], told["lead_count"], told["follow_count"], told["follow_kept"]) == ("bw", 7, 8, 7)


def test_more_flexible_players_than_needed_and_fewer() -> None:
    assert equalized(players_of((1, None, 0), (1, None, 0), (1, None, 0), (5, 5, 0))) == ([0, 1, 2], [3], -1)
    assert equalized(players_of((None, 1, 0), (None, 1, 0), (5, 5, 0))) == ([2], [0, 1], -1)
    assert equalized([]) == ([], [], -1)


def test_equal_biases_go_by_canonical_order() -> None:
    assert equalized(players_of((5, 5, 0), (5, 5, 0), (5, 5, 0))) == ([2], [0, 1], -1)


def test_the_weaker_side_gets_the_most_neutral_player_only_if_counts_stay_as_equal() -> None:
    # Three flexible: the second side has two of them, and is stronger by more than 50.
    players = players_of((1000, 1400, 0), (1000, 1390, 0), (1000, 1000, 0))
    assert equalized(players) == ([1, 2], [0], 1)
    # The stronger side is the smaller one: moving would make 3 against 1.
    players = players_of((1300, 1000, 0), (None, 1000, 0), (None, 1000, 0))
    assert equalized(players) == ([0], [1, 2], -1)
    # A difference of exactly 50 is acceptable, a hair more is not.
    assert equalized(players_of((1000, 1050, 0), (1000, 1050, 0), (1000, 1050, 0)))[2] == -1
    assert equalized(players_of((1000, 1050, 0), (1000, 1050, 0), (1000, 1050.1, 0)))[2] == 0


def test_means_are_compared_exactly() -> None:
    second, first = np.array([0.0] * 6 + [100]), np.array([0.0] * 6 + [450])
    assert 450 / 7 - 100 / 7 > 50  # what floats would say
    assert stronger_side(first, second, 50) == 0
    assert stronger_side(first + 1e-9, second, 50) == 1
    assert stronger_side(second, first + 1e-9, 50) == -1
    assert stronger_side(first[:0], second, 0) == 0


def test_stage_4_example_makes_no_match_in_that_wave() -> None:
    players = players_of((1500, None, 0), (None, 1700, 10), (None, 1550, 0))
    snapshot = queue_of(players)
    plan = Ladder().plan(snapshot)
    assert len(plan.rosters) == 0
    none = Reason.NO_OPPONENT_IN_WINDOW
    assert plan.reasons.tolist() == [none, none, Reason.FILTERED]
    # Whose window counts makes the difference: the veteran accepts 75 + 10 * 25.
    assert pairs_of(Ladder(window_of="either").plan(snapshot), snapshot) == [(0, 1)]
    assert len(Ladder(window_of="both").plan(snapshot).rosters) == 0


def test_priority_is_misses_then_canonical_order() -> None:
    kept = em_ladder.filter_by_priority(np.array([0, 5]), np.array([1, 2, 3, 4]), np.array([0, 1, 3, 1, 1, 0]))
    assert [places.tolist() for places in kept] == [[0, 5], [1, 2]]
    swapped = em_ladder.filter_by_priority(np.array([1, 2, 3, 4]), np.array([0]), np.array([0, 1, 3, 3, 1]))
    assert [places.tolist() for places in swapped] == [[2], [0]]


def test_the_printed_scores() -> None:
    lead = side((1520, 0, 75), (1480, 2, 75), (1600, 1, 75))
    follow = side((1515, 0, 75), (1485, 2, 75), (1590, 1, 75))
    assert em_ladder.scores(lead, follow).tolist() == [25, -55, 60]
    found = em_ladder.find_matches(lead, follow)
    assert list(zip(found.lead.tolist(), found.follow.tolist(), strict=True)) == [(1, 1), (0, 0), (2, 2)]


def test_refinement_alone_turns_24200_into_200() -> None:
    lead, follow = side((1500, 0, 110), (1600, 0, 110)), side((1610, 0, 0), (1490, 0, 0))
    assert sum((lead.rating - follow.rating) ** 2) == 24_200
    refined = em_ladder.refine(lead, follow)
    assert (refined.follow.tolist(), refined.swaps, refined.passes) == ([1, 0], 1, 2)
    assert sum((lead.rating - follow.rating[refined.follow]) ** 2) == 200
    assert em_ladder.refine(lead, follow, passes=0).follow.tolist() == [0, 1]
    assert em_ladder.refine(lead, follow, window_of="both").swaps == 0


def test_a_swap_must_keep_both_windows() -> None:
    assert em_ladder.refine(side((1500, 0, 9), (1600, 0, 110)), side((1610, 0, 0), (1490, 0, 0))).swaps == 0
    assert em_ladder.refine(side((1500, 0, 110), (1600, 0, 9)), side((1610, 0, 0), (1490, 0, 0))).swaps == 0


def test_end_to_end_2525_becomes_1325() -> None:
    snapshot = queue_of(players_of((1520, None, 0), (1480, None, 0), (None, 1515, 0), (None, 1530, 0)))
    rough = Ladder(refinement_passes=0).plan(snapshot)
    assert (pairs_of(rough, snapshot), rough.cost.tolist()) == ([(0, 2), (1, 3)], [25, 2500])
    plan = Ladder().plan(snapshot, trace=True)
    assert (pairs_of(plan, snapshot), plan.cost.tolist()) == ([(0, 3), (1, 2)], [100, 1225])
    assert plan.match_details[0] == {
        "sides": {"bw": 100, "sc2": 103},
        "gap": 10.0,
        "score": 100.0,
        "map": None,
        "server": None,
        "channel": "scevo01",
    }
    assert plan.details == {
        "queue_size": 4,
        "active_population": 4,
        "only": {"bw": 2, "sc2": 2},
        "both": 0,
        "neither": 0,
        "equalized": {"bw": 2, "sc2": 2},
        "moved": None,
        "mean": {"bw": 1500.0, "sc2": 1522.5},
        "mean_delta": 22.5,
        "pressure": 1.0,
        "category": "HIGH",
        "window_base": 75,
        "window_growth": 25,
        "window_of": "lead",
        "lead_side": "bw",
        "lead_count": 2,
        "follow_count": 2,
        "lead_kept": 2,
        "follow_kept": 2,
        "candidates": 4,
        "swaps": 1,
        "passes": 2,
        "matches": 2,
        "matched": 4,
        "remaining": 0,
        "gap_mean": 22.5,
        "gap_min": 10.0,
        "gap_max": 35.0,
        "bound": None,
        "optimality_gap": None,
    }
    assert [step["stage"] for step in plan.trace] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert plan.trace[4]["best"][0] == {"tickets": [100, 102], "score": 25.0}
    assert plan.trace[5]["matches"] == [{"tickets": [100, 103]}, {"tickets": [101, 102]}]


# Stage 7.


def test_channels_turn_from_one_to_ten() -> None:
    assert [channel(n) for n in (1, 9, 10, 11, 20, 123)] == [
        *("scevo01", "scevo09", "scevo10", "scevo01", "scevo10", "scevo03")
    ]
    assert [channel(n, "room", 3) for n in (1, 2, 3, 4)] == ["room01", "room02", "room03", "room01"]


def test_maps_with_the_fewest_vetoes() -> None:
    maps = ["a", "b", "c"]
    assert available_maps(maps, [], []) == maps
    assert available_maps(maps, ["a"], ["c", "x"]) == ["b"]
    assert available_maps(maps, ["a", "b", "c"], ["b"]) == ["a", "c"]
    assert available_maps(maps, maps, maps) == maps
    assert available_maps([], ["a"], []) == []


def test_servers_come_from_the_table_or_from_the_seed() -> None:
    table = {"eu": {"eu": "Paris", "us": "Iceland"}, "us": {"us": "Texas"}}
    known = [("eu", "us"), ("us", "eu"), ("us", "us")]
    venues = create_matches([((), ())] * 3, known, region_servers=table)
    assert [venue.server for venue in venues] == ["Iceland", "Iceland", "Texas"]
    unknown = [("eu", None), (None, None), ("eu", "mars")] * 20
    drawn = [
        [v.server for v in create_matches([((), ())] * 60, unknown, region_servers=table, seed=s)] for s in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert {*drawn[0]} == {"Iceland", "Paris", "Texas"}


NAMES = st.sampled_from(["north", "south", "east"])
MAPS = ["a", "b", "c", "d"]


@st.composite
def queues(draw: st.DrawFn, *, most: int = 24, step: int = 5) -> list[Player]:
    """Players of both sides and of none, many ties; ratings in halves so that gaps meet windows exactly."""
    rating = st.one_of(st.none(), st.integers(0, 80).map(lambda n: 1400.0 + step * n / 2), st.floats(1300, 1700))
    return [
        Player(
            place,
            draw(rating),
            draw(rating),
            draw(st.integers(0, 4)),
            tuple(draw(st.lists(st.sampled_from(MAPS), max_size=4))),
            draw(st.none() | NAMES),
        )
        for place in range(draw(st.integers(0, most)))
    ]


@QUIET
@given(
    players=queues(),
    population=st.none() | st.integers(1, 300),
    window_of=st.sampled_from(["lead", "either", "both"]),
    coefficient=st.sampled_from([0, 20, 0.1, 500]),
    passes=st.integers(0, 3),
    data=st.data(),
)
def test_the_ladder_is_its_document(
    players: list[Player],
    population: int | None,
    window_of: str,
    coefficient: float,
    passes: int,
    data: st.DataObject,
) -> None:
    rules = Rules(population or len(players), window_of, coefficient, passes)
    wave = reference.ladder(players, rules)
    snapshot = queue_of(players, population=population, order=data.draw(st.permutations(range(len(players)))))
    table = {"north": {"north": "N", "south": "NS"}, "south": {"south": "S"}}
    matcher = Ladder(
        window_of=window_of,
        wait_coefficient=coefficient,
        refinement_passes=passes,
        maps=MAPS,
        region_servers=table,
    )
    plan = matcher.plan(snapshot, seed=7)
    assert check_plan(plan, snapshot) is None
    assert pairs_of(plan, snapshot) == wave.pairs
    assert in_numbers(plan, snapshot)[1] == {100 + place: code for place, code in enumerate(wave.reasons)}
    told = plan.details
    assert (told["equalized"]["bw"], told["equalized"]["sc2"]) == wave.equalized
    assert (told["candidates"], told["swaps"]) == (wave.candidates, wave.swaps)
    venues = reference.create_matches([(players[a], players[b]) for a, b in wave.pairs], MAPS, table, 7)
    assert [(d["map"], d["server"], d["channel"]) for d in plan.match_details] == venues
    for (one, other), details, cost in zip(wave.pairs, plan.match_details, plan.cost.tolist(), strict=True):
        gap = abs(players[one].rating(True) - players[other].rating(False))
        assert (details["gap"], cost) == (gap, gap * gap)
        assert details["score"] == gap * gap - coefficient * (players[one].misses + players[other].misses)


# The best plan there is.


@QUIET
@given(players=queues(most=8, step=20), window_of=st.sampled_from(["either", "both"]))
def test_the_optimum_is_the_best_of_all_plans(players: list[Player], window_of: str) -> None:
    most, least = reference.best_plan(players, Rules(max(len(players), 1), window_of))
    snapshot = queue_of(players)
    plan = Ladder(solver="optimal", window_of=window_of).plan(snapshot)
    assert check_plan(plan, snapshot) is None
    gaps = [abs(players[one].rating(True) - players[other].rating(False)) for one, other in pairs_of(plan, snapshot)]
    assert (len(gaps), sum((Fraction(gap) ** 2 for gap in gaps), Fraction(0))) == (most, least)
    assert plan.details["bound"] == float(least)
    assert plan.details["optimality_gap"] == 0
    assert plan.cost.tolist() == [gap * gap for gap in gaps]


@settings(deadline=None, max_examples=30)
@given(players=queues(most=30))
def test_the_optimum_is_a_public_solvers_and_never_has_fewer_matches_than_the_document(players: list[Player]) -> None:
    rules = Rules(max(len(players), 1), "either", queue_size=len(players))
    graph = networkx.Graph()
    price = {}
    for one in players:
        for other in players[one.place + 1 :]:
            ways = [(a.bw, b.sc2) for a, b in ((one, other), (other, one)) if a.bw is not None and b.sc2 is not None]
            gaps = [abs(x - y) for x, y in ways if rules.accept(one, other, abs(x - y))]
            if gaps:
                price[one.place, other.place] = Fraction(min(gaps)) ** 2
                graph.add_edge(one.place, other.place, weight=-price[one.place, other.place])
    best = networkx.max_weight_matching(graph, maxcardinality=True)
    snapshot = queue_of(players)
    plan = Ladder(solver="optimal").plan(snapshot)
    pairs = pairs_of(plan, snapshot)
    assert len(pairs) == len(best)
    assert sum(price[min(p), max(p)] for p in pairs) == sum(price[min(p), max(p)] for p in best)
    assert len(pairs) >= len(Ladder().plan(snapshot).rosters)
    assert len(pairs) >= len(Ladder(window_of="either").plan(snapshot).rosters)
    for place, code in enumerate(plan.reasons.tolist()):
        degree = graph.degree(place) if place in graph else 0
        if code == Reason.LESS_EVEN:
            assert degree > 0
        elif code == Reason.NO_OPPONENT_IN_WINDOW:
            assert degree == 0


@settings(deadline=None, max_examples=40)
@given(players=queues(most=16, step=20), data=st.data())
def test_the_optimum_depends_neither_on_the_order_of_rows_nor_on_ticket_numbers(
    players: list[Player], data: st.DataObject
) -> None:
    matcher, snapshot = Ladder(solver="optimal", maps=MAPS), queue_of(players)
    shuffled = snapshot.take(np.array(data.draw(st.permutations(range(len(players)))), np.int64))
    plan, other = matcher.plan(snapshot, seed=2), matcher.plan(shuffled, seed=2)
    assert in_numbers(plan, snapshot) == in_numbers(other, shuffled)
    assert (plan.details, plan.match_details) == (other.details, other.match_details)
    assert matcher.plan(relabelled(snapshot, snapshot.ticket * 3 + 1)).rosters.tolist() == plan.rosters.tolist()


def test_flexible_players_meet_each_other_in_the_better_way_round() -> None:
    # Three flexible players: no bipartite solver could tell who sits out.
    snapshot = queue_of(players_of((1500, 1400, 0), (1460, 1450, 0), (1450, 1500, 0)))
    plan = Ladder(solver="optimal").plan(snapshot, trace=True)
    assert (pairs_of(plan, snapshot), plan.cost.tolist()) == ([(0, 2)], [0.0])
    assert plan.reasons.tolist() == [0, Reason.LESS_EVEN, 0]
    assert [step["stage"] for step in plan.trace] == [1, 3, 5, 7, 8]
    assert plan.details["equalized"] is None
    assert plan.details["window_of"] == "either"


def test_ratings_that_floats_cannot_tell_apart_when_squared_are_told_apart() -> None:
    hair = 2.0**-40
    players = players_of((1500, None, 0), (1500 + hair, None, 0), (None, 1500, 0), (None, 1500 + 2 * hair, 0))
    snapshot = queue_of(players)
    plan = Ladder(solver="optimal").plan(snapshot)
    assert pairs_of(plan, snapshot) == [(0, 2), (1, 3)]
    assert plan.details["bound"] == hair**2


def test_two_hundred_players_are_matched_optimally() -> None:
    rng = np.random.default_rng(4)
    ratings = [
        (None if kind == 1 else float(r), None if kind == 0 else float(s))
        for kind, r, s in zip(rng.integers(0, 3, 200), *rng.normal(1500, 200, (2, 200)), strict=True)
    ]
    snapshot = queue_of([Player(at, bw, sc2, int(rng.integers(0, 5))) for at, (bw, sc2) in enumerate(ratings)])
    plan = Ladder(solver="optimal").plan(snapshot)
    assert len(plan.rosters) > len(Ladder().plan(snapshot).rosters)
    assert plan.details["optimality_gap"] == 0


# Edges of the matcher.


def test_nobody_somebody_and_all_equal() -> None:
    for solver in ("document", "optimal"):
        matcher = Ladder(solver=solver)
        nobody = matcher.plan(queue_of([]), trace=True)
        assert (len(nobody.rosters), nobody.details["matches"], nobody.details["gap_mean"]) == (0, 0, None)
        assert matcher.plan(snapshot_of(ONE_ON_ONE, [])).reasons.tolist() == []
        assert matcher.plan(queue_of(players_of((1, 1, 0)))).reasons.tolist() == [Reason.TOO_FEW_PLAYERS]
        assert matcher.plan(queue_of(players_of((None, None, 0)))).reasons.tolist() == [Reason.CANNOT_PLAY_SIDE]
        several = matcher.plan(queue_of(players_of((1, None, 0), (1, None, 9), (None, None, 0))))
        none = Reason.NO_OPPONENT_IN_WINDOW
        assert several.reasons.tolist() == [none, none, Reason.CANNOT_PLAY_SIDE]
        equal = matcher.plan(queue_of(players_of(*[(1500, 1500, 0)] * 7)))
        assert (len(equal.rosters), equal.cost.tolist()) == (3, [0, 0, 0])


def test_the_active_population_is_the_parameter_then_the_snapshots_then_its_tickets() -> None:
    players = players_of((1500, None, 0), (None, 1500, 0))
    populations = [
        Ladder(active_population=50).plan(queue_of(players, population=20)),
        Ladder().plan(queue_of(players, population=20)),
        Ladder().plan(queue_of(players)),
    ]
    assert [plan.details["active_population"] for plan in populations] == [50, 20, 2]
    assert [plan.details["category"] for plan in populations] == ["LOW", "MODERATE", "HIGH"]


def test_sides_may_have_other_names_and_one_may_be_unrated() -> None:
    snapshot = queue_of(players_of((1500, None, 0), (None, 1500, 0)), sides=("red", "blue"))
    plan = Ladder(sides=["blue", "red"]).plan(snapshot)
    assert plan.match_details[0]["sides"] == {"blue": 101, "red": 100}
    assert snapshot.ticket[plan.rosters].tolist() == [[101, 100]]
    other = Ladder(sides=["red", "green"]).plan(snapshot)
    assert other.reasons.tolist() == [Reason.TOO_FEW_PLAYERS, Reason.CANNOT_PLAY_SIDE]


def test_long_lists_in_a_trace_are_cut_and_counted() -> None:
    players = players_of(*[(1500.0, None, 0)] * 150, *[(None, 1500.0, 0)] * 150)
    trace = Ladder().plan(queue_of(players), trace=True).trace
    assert (trace[0]["sets"][0]["count"], len(trace[0]["sets"][0]["tickets"])) == (150, 100)
    assert (trace[4]["candidates"], len(trace[4]["best"]), len(trace[4]["matches"])) == (22_500, 100, 100)


def test_it_says_what_it_cannot_seat() -> None:
    matcher = Ladder()
    assert cannot_seat(matcher, ONE_ON_ONE, 1) is None
    assert cannot_seat(matcher, Format(2, 2), 1) == "plays 2x1 (one against one), not 2x2"
    assert cannot_seat(matcher, ONE_ON_ONE, 2) == "takes single players only, not a party of 2"


@pytest.mark.parametrize(
    ("snapshot", "words"),
    [
        (snapshot_of(Format(2, 2), [[1], [2]]), "ladder: ticket 100: plays 2x1 (one against one), not 2x2"),
        (snapshot_of(ONE_ON_ONE, [[1], [2, 3]]), "ladder: ticket 101: takes single players only, not a party of 2"),
        (
            snapshot_of(ONE_ON_ONE, [[1], [2]]),
            "ladder: missing side ratings: the tickets have neither ratings.bw nor ratings.sc2",
        ),
        (
            queue_of(players_of((1, 1, 0), (1, math.inf, 0))),
            "ladder: ticket 101: ratings.sc2 must be a number from -1e+06 to 1e+06, not inf",
        ),
        (
            queue_of(players_of((-2e6, 1, 0))),
            "ladder: ticket 100: ratings.bw must be a number from -1e+06 to 1e+06, not -2000000.0",
        ),
    ],
)
def test_a_queue_it_cannot_use_is_refused(snapshot: Snapshot, words: str) -> None:
    with pytest.raises(MatcherError) as caught:
        Ladder().plan(snapshot)
    assert str(caught.value) == words


def test_parameters_are_stored_unchanged_and_toml_shapes_are_taken() -> None:
    given_ = {
        "sides": ["a", "b"],
        "active_population": 40,
        "population_scales": [[5, 2], [math.inf, 1]],
        "thresholds": [0.5, 0.25],
        "windows": [[1, 2], [3, 4.5], [5, 6]],
        "balance_threshold": 10,
        "wait_coefficient": 0,
        "refinement_passes": 0,
        "window_of": "both",
        "solver": "optimal",
        "maps": ["x"],
        "region_servers": {"eu": {"eu": "Paris"}},
        "channel_prefix": "room",
        "channel_count": 3,
        "activity_minutes": 5,
    }
    assert vars(build("ladder", given_)) == given_
    assert build("ladder", {}).reads_misses


ROWS = "ladder: windows must be a list of rows [base, growth]"
SCALES = "ladder: population_scales must"
THRESHOLDS = "ladder: thresholds must be [HIGH, MODERATE], two numbers from 0 to 1, the higher first"
SERVERS = "ladder: region_servers must be a table region -> region -> server"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"sides": "bw"}, "ladder: sides must be a list of names, not 'bw' (str)"),
        ({"sides": ["bw"]}, "ladder: sides must be two names, not ['bw']"),
        ({"sides": ["bw", "bw"]}, "ladder: sides has 'bw' twice"),
        ({"sides": ["bw", 2]}, "ladder: sides must be a list of names, not one with 2"),
        ({"sides": ["bw", ""]}, "ladder: sides must be a list of names, not one with ''"),
        ({"active_population": 0}, "ladder: active_population must be a whole number from 1 to 1000000000, not 0"),
        (
            {"active_population": True},
            "ladder: active_population must be a whole number from 1 to 1000000000, not True (bool)",
        ),
        ({"population_scales": 3}, f"{SCALES} be a list of rows [population, scale], not 3 (int)"),
        ({"population_scales": []}, f"{SCALES} be a list of rows [population, scale], not empty"),
        ({"population_scales": [[1]]}, f"{SCALES} be a list of rows [population, scale], not one with [1]"),
        ({"population_scales": [[5, 1]]}, f'{SCALES} have "inf" as the population of its last row only'),
        (
            {"population_scales": [["inf", 1], ["inf", 1]]},
            f'{SCALES} have "inf" as the population of its last row only',
        ),
        ({"population_scales": [["inf", 0]]}, f"{SCALES} have scales above 0, not 0"),
        (
            {"population_scales": [["inf", math.nan]]},
            "ladder: the scale in row 1 of population_scales must be a number from 0 to 1000, not nan",
        ),
        (
            {"population_scales": [[9, 1], [9, 1], ["inf", 1]]},
            "ladder: the population in row 2 of population_scales must be a whole number from 10 to 1000000000, not 9",
        ),
        ({"thresholds": 0.2}, f"{THRESHOLDS}, not 0.2"),
        ({"thresholds": [0.2]}, f"{THRESHOLDS}, not [0.2]"),
        ({"thresholds": [0.1, 0.2]}, f"{THRESHOLDS}, not [0.1, 0.2]"),
        (
            {"thresholds": [0.1, math.nan]},
            "ladder: the MODERATE one of thresholds must be a number from 0 to 1, not nan",
        ),
        ({"windows": "75"}, f"{ROWS}, not '75' (str)"),
        ({"windows": [75, 25]}, f"{ROWS}, not one with 75"),
        ({"windows": [[75, 25]]}, "ladder: windows must have three rows, for HIGH, MODERATE and LOW, not 1"),
        (
            {"windows": [[75, 25], [1, 1], [1, -1]]},
            "ladder: the LOW growth of windows must be a number from 0 to 1e+06, not -1",
        ),
        (
            {"windows": [[75, 25], [math.inf, 1], [1, 1]]},
            "ladder: the MODERATE base of windows must be a number from 0 to 1e+06, not inf",
        ),
        ({"balance_threshold": -1}, "ladder: balance_threshold must be a number 0 or more, not -1"),
        ({"balance_threshold": math.nan}, "ladder: balance_threshold must be a number 0 or more, not nan"),
        ({"wait_coefficient": "x"}, "ladder: wait_coefficient must be a number from 0 to 1e+06, not 'x' (str)"),
        (
            {"refinement_passes": 1.5},
            "ladder: refinement_passes must be a whole number from 0 to 1000, not 1.5 (float)",
        ),
        (
            {"window_of": "leader"},
            "ladder: window_of must be 'lead', 'either' or 'both', not 'leader': did you mean 'lead'?",
        ),
        (
            {"window_of": "lead", "solver": "optimal"},
            "ladder: window_of must be 'either' or 'both' with solver 'optimal': no side leads",
        ),
        (
            {"window_of": "eithr", "solver": "optimal"},
            "ladder: window_of must be 'either' or 'both', not 'eithr': did you mean 'either'?",
        ),
        (
            {"solver": "optimum"},
            "ladder: solver must be 'document' or 'optimal', not 'optimum': did you mean 'optimal'?",
        ),
        ({"maps": "a"}, "ladder: maps must be a list of names, not 'a' (str)"),
        ({"maps": ["a", "a"]}, "ladder: maps has 'a' twice"),
        ({"region_servers": ["eu"]}, f"{SERVERS}, not ['eu'] (list)"),
        ({"region_servers": {"eu": "Paris"}}, f"{SERVERS}: 'eu' has 'Paris' (str) instead of a table"),
        ({"region_servers": {"eu": {"us": 3}}}, f"{SERVERS}: 'eu' and 'us' have 3 instead of a server's name"),
        (
            {"region_servers": {"eu": {"us": "A"}, "us": {"eu": "B"}}},
            "ladder: region_servers has two servers for 'eu' and 'us': 'A' and 'B'",
        ),
        ({"channel_prefix": 3}, "ladder: channel_prefix must be a string, not 3 (int)"),
        ({"channel_count": 0}, "ladder: channel_count must be a whole number from 1 to 1000, not 0"),
        ({"activity_minutes": -5}, "ladder: activity_minutes must be a number 0 or more, not -5"),
        ({"window": 3}, "ladder: unknown parameter 'window': did you mean 'windows'? known: "),
    ],
)
def test_a_wrong_parameter_is_answered_with_what_would_be_right(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(MatcherError) as caught:
        build("ladder", parameters)
    assert str(caught.value).startswith(words)
