"""EPGC: the document's tables, corrected where NOTES.md says so, and agreement with the plain transcription."""

import math
import re
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.match import Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.errors import MatcherError
from evenmatch.matchers import epgc as stages
from evenmatch.matchers.contract import cannot_seat, check_plan
from evenmatch.matchers.epgc import Epgc
from evenmatch.matchers.registry import build
from tests.reference import epgc as reference
from tests.snapshots import in_numbers, snapshot_of, snapshots

# Table I: id, MMR, ping in ms, wait in s.
SAMPLE = [
    (101, 1620, 22, 180),
    (102, 1580, 18, 240),
    (103, 1700, 30, 120),
    (104, 1650, 85, 300),
    (105, 1560, 25, 200),
    (106, 850, 20, 90),
    (107, 2100, 15, 150),
    (108, 1590, 28, 160),
]
GOLD = [player for player in SAMPLE if 1500 <= player[1] < 2000]
PINGS = np.array([player[2] for player in GOLD])
WAITS_S = np.array([player[3] for player in GOLD])
NAMES = ["P1", "P2", "P3", "P4", "P5", "P8"]

PRINTED = {"P1": 306.0, "P2": 300.0, "P3": 229.5, "P4": 6.5, "P5": 313.0, "P8": 268.5}
CHECKED = {"P1": 284.0, "P2": 300.0, "P3": 177.0, "P4": -3.0, "P5": 313.0, "P8": 263.0}

EDGES = {
    ("P2", "P5"): 89.5,
    ("P1", "P5"): 85.5,
    ("P1", "P2"): 84.0,
    ("P5", "P8"): 75.5,
    ("P1", "P8"): 71.0,
    ("P2", "P8"): 65.0,
    ("P3", "P5"): 52.5,
    ("P1", "P3"): 48.0,
    ("P2", "P3"): 42.0,
    ("P1", "P4"): -4.5,
    ("P4", "P8"): -5.5,
    ("P3", "P4"): -22.5,
    # The three that Table II leaves out.
    ("P2", "P4"): 19.5,
    ("P4", "P5"): 10.0,
    ("P3", "P8"): 57.0,
}


def sample(**facts: Any) -> Snapshot:
    return snapshot_of(
        Format(1, 4),
        [[float(mmr)] for _, mmr, _, _ in SAMPLE],
        ticket=[number for number, _, _, _ in SAMPLE],
        waited_ms=[1000 * wait for _, _, _, wait in SAMPLE],
        facts={"ping_ms": [float(ping) for _, _, ping, _ in SAMPLE]} | facts,
    )


def test_the_degrees_of_table_1_are_wrong_in_four_of_six() -> None:
    degrees = dict(zip(NAMES, stages.weighted_degrees(PINGS, WAITS_S).tolist(), strict=True))
    assert degrees == CHECKED
    assert [name for name in NAMES if degrees[name] != PRINTED[name]] == ["P1", "P3", "P4", "P8"]
    assert max(degrees, key=degrees.__getitem__) == max(PRINTED, key=PRINTED.__getitem__) == "P5"


def test_table_2_has_fifteen_edges() -> None:
    graph = stages.build_graph(PINGS, WAITS_S)
    assert len(EDGES) == 15
    for (one, other), weight in EDGES.items():
        i, j = NAMES.index(one), NAMES.index(other)
        assert (graph[i, j], graph[j, i]) == (weight, weight)
    assert graph.diagonal().tolist() == [0.0] * 6
    assert stages.weighted_degrees(PINGS, WAITS_S).tolist() == graph.sum(axis=1).tolist()


def test_table_3_line_by_line() -> None:
    plan = Epgc(lobby_size=4).plan(sample(), trace=True)
    lines = [
        (105, 313.0, {101: 284.0, 102: 300.0, 103: 177.0, 104: -3.0, 105: 313.0, 108: 263.0}),
        (102, 89.5, {101: 85.5, 102: 89.5, 103: 52.5, 104: 10.0, 108: 75.5}),
        (101, 169.5, {101: 169.5, 103: 94.5, 104: 29.5, 108: 140.5}),
        (108, 211.5, {103: 142.5, 104: 25.0, 108: 211.5}),
    ]
    assert plan.trace == tuple(
        {"tier": "Gold", "lobby": 0, "iteration": iteration, "added": added, "score": score, "scores": scores}
        for iteration, (added, score, scores) in enumerate(lines)
    )


def test_the_lobby_of_the_document() -> None:
    snapshot = sample()
    plan = Epgc(lobby_size=4).plan(snapshot)
    assert in_numbers(plan, snapshot)[0] == [([(105, 0), (102, 0), (101, 0), (108, 0)], -470.5)]
    assert plan.match_details == ({"tier": "Gold", "weight": 470.5},)
    assert plan.details == {"bound": None, "optimality_gap": None}
    left = snapshot.ticket[plan.reasons == Reason.TIER_TOO_SMALL].tolist()
    assert left == [103, 104, 106, 107]
    assert plan.trace == ()


def test_the_lobby_of_the_document_is_the_best_of_fifteen() -> None:
    weights = sorted(
        (stages.lobby_weight(PINGS[list(chosen)], WAITS_S[list(chosen)]), chosen)
        for chosen in combinations(range(6), 4)
    )
    assert len(weights) == 15
    assert weights[-1] == (470.5, (0, 1, 4, 5))
    assert weights[-2][0] == 401.5


@pytest.mark.parametrize(
    ("seed", "weight"), [("P1", 470.5), ("P2", 470.5), ("P3", 389.5), ("P4", 284.0), ("P5", 470.5), ("P8", 470.5)]
)
def test_a_poor_seed_costs_more_than_a_fifth(seed: str, weight: float) -> None:
    lobby = stages.find_lobby(PINGS, WAITS_S, 4, seed=NAMES.index(seed))
    assert NAMES[lobby[0]] == seed
    assert stages.lobby_weight(PINGS[lobby], WAITS_S[lobby]) == weight


def test_the_drain_goes_on_until_a_tier_holds_too_few() -> None:
    lobbies = stages.drain(PINGS, WAITS_S, 2)
    assert [[NAMES[row] for row in lobby] for lobby in lobbies] == [["P5", "P2"], ["P8", "P1"], ["P4", "P3"]]
    assert stages.drain(PINGS, WAITS_S, 4).tolist() == [stages.find_lobby(PINGS, WAITS_S, 4).tolist()]
    assert stages.drain([], [], 4).shape == (0, 4)
    assert stages.drain([1.0], [0.0], 4).shape == (0, 4)


def test_tiers_are_half_open_and_served_from_the_lowest() -> None:
    ratings = [999.99, 1000, 1499.99, 1500, 1999.99, 2000, 2499.99, 2500, 9999, -5]
    assert stages.classify(ratings).tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4, 0]
    assert stages.classify(ratings, []).tolist() == [0] * 10
    snapshot = snapshot_of(
        Format(1, 2),
        [[2500], [2500], [1500], [999], [1500], [999]],
        facts={"ping_ms": [5.0] * 6},
    )
    plan = Epgc(lobby_size=2).plan(snapshot)
    assert plan.rosters.tolist() == [[3, 5], [2, 4], [0, 1]]
    assert [about["tier"] for about in plan.match_details] == ["Bronze", "Gold", "Diamond"]


def test_tiers_with_other_boundaries_are_called_by_their_ratings() -> None:
    assert stages.tier_names([1000.0, 1500.0, 2000.0, 2500.0]) == ["Bronze", "Silver", "Gold", "Platinum", "Diamond"]
    assert stages.tier_names([10, 12.5]) == ["below 10", "10 to 12.5", "12.5 and above"]
    assert stages.tier_names([]) == ["all"]


def test_the_tolerance_relation_is_not_transitive_but_tiers_are() -> None:
    a, b, c = stages.classify([1000, 1050, 1100]).tolist()
    assert a == b == c
    assert abs(1000 - 1100) > 75 >= abs(1000 - 1050)


def test_everybody_equal_goes_in_canonical_order() -> None:
    snapshot = snapshot_of(
        Format(1, 3),
        [[1500.0]] * 7,
        ticket=[6, 5, 4, 3, 2, 1, 0],
        waited_ms=[10] * 7,
        returned=[False, False, True, False, False, False, False],
        facts={"ping_ms": [20.0] * 7},
    )
    plan = Epgc(lobby_size=3).plan(snapshot)
    assert snapshot.ticket[plan.rosters].tolist() == [[4, 0, 1], [2, 3, 5]]


def test_pings_are_rounded_at_the_door_and_waits_are_exact() -> None:
    assert stages.weighted_degrees([20.4, 19.6], [1, 1]).tolist() == [0.5, 0.5]
    assert stages.weighted_degrees([10, 20], [0.001, 7]).tolist() == [-14.9995, -14.9995]
    assert stages.weighted_degrees([], []).tolist() == []
    assert stages.weighted_degrees([10], [5]).tolist() == [0.0]


def test_a_player_without_a_rating_counts_as_average() -> None:
    snapshot = snapshot_of(Format(1, 2), [[math.nan], [1500.0]], facts={"ping_ms": [1.0, 1.0]})
    assert Epgc(lobby_size=2).plan(snapshot).match_details[0]["tier"] == "Gold"


coarse = st.integers(0, 6).map(lambda step: 10.0 * step)


CUTS: list[list[float]] = [[1000, 1500, 2000, 2500], [], [1700], [0.5, 1699.5]]


@st.composite
def tickets(draw: st.DrawFn, size: int) -> Snapshot:
    ping = draw(st.sampled_from([coarse, st.floats(0, 300), st.integers(0, 3).map(float)]))
    wait = draw(st.sampled_from([st.integers(0, 3).map(lambda step: 1000 * step), st.integers(0, 600_000)]))
    rating = draw(st.sampled_from([st.floats(0, 3000), st.just(1700.0)]))
    return draw(
        snapshots(
            formats=[Format(1, size)],
            parties={Format(1, size): [1]},
            rating=rating,
            facts={"ping_ms": ping},
            waited_ms=wait,
        )
    )


@settings(max_examples=100, deadline=None)
@given(
    data=st.data(), size=st.integers(2, 6), alpha=st.sampled_from([0, 0.1, 1.5, 3]), beta=st.sampled_from([0, 0.1, 0.5])
)
def test_it_agrees_with_the_plain_transcription(data: st.DataObject, size: int, alpha: float, beta: float) -> None:
    snapshot = data.draw(tickets(size))
    boundaries: list[float] = data.draw(st.sampled_from(CUTS))
    order = snapshot.canonical_order().tolist()
    players = [
        reference.Player(snapshot.facts["rating"][r], snapshot.facts["ping_ms"][r], int(snapshot.waited_ms[r]))
        for r in order
    ]
    expected = reference.epgc(players, size, alpha, beta, [float(edge) for edge in boundaries])
    matcher = Epgc(lobby_size=size, alpha=alpha, beta=beta, boundaries=boundaries)
    plan = matcher.plan(snapshot, trace=True)
    assert check_plan(plan, snapshot) is None
    assert plan.rosters.tolist() == [[order[added] for added, _ in log] for _, log, _ in expected]
    labels = stages.tier_names(boundaries)
    assert [about["tier"] for about in plan.match_details] == [labels[tier] for tier, _, _ in expected]
    assert [about["weight"] for about in plan.match_details] == [weight for _, _, weight in expected]
    assert plan.cost.tolist() == [-weight for _, _, weight in expected]
    numbers = snapshot.ticket[order].tolist()
    lines = [line for _, log, _ in expected for line in log]
    assert [(step["added"], step["scores"]) for step in plan.trace] == [
        (numbers[added], {numbers[player]: score for player, score in scores.items()}) for added, scores in lines
    ]


@settings(max_examples=100, deadline=None)
@given(data=st.data(), size=st.integers(1, 5))
def test_a_lobby_from_any_seed_agrees_with_the_plain_transcription(data: st.DataObject, size: int) -> None:
    count = data.draw(st.integers(size, 12))
    pings = data.draw(st.lists(coarse, min_size=count, max_size=count))
    waits = sorted(data.draw(st.lists(st.integers(0, 5), min_size=count, max_size=count)), reverse=True)
    seed = data.draw(st.integers(0, count - 1))
    players = [reference.Player(0.0, ping, 1000 * wait) for ping, wait in zip(pings, waits, strict=True)]
    graph = reference.build_graph(players, list(range(count)))
    log = reference.find_lobby(graph, size, 1.5, 0.5, seed)
    assert stages.find_lobby(pings, waits, size, seed=seed).tolist() == [added for added, _ in log]


def test_it_says_what_it_cannot_seat() -> None:
    matcher = Epgc(lobby_size=4)
    assert cannot_seat(matcher, Format(1, 4), 1) is None
    assert cannot_seat(matcher, Format(1, 4), 2) == "only single players can be seated, not a party of 2"
    assert cannot_seat(matcher, Format(2, 2), 1) == "lobby_size=4 plays the format 1x4, not 2x2"
    with pytest.raises(MatcherError, match=r"^epgc: ticket 101: only single players can be seated, not a party of 2$"):
        matcher.plan(snapshot_of(Format(1, 4), [[1], [1, 1]]))
    with pytest.raises(MatcherError, match=r"^epgc: lobby_size=4 plays the format 1x4, not 2x5$"):
        matcher.plan(snapshot_of(Format(2, 5), []))


@pytest.mark.parametrize(
    ("ping", "words"),
    [
        (math.nan, "epgc: ticket 103 has no ping_ms: 0 to 1e+06 ms are needed"),
        (-1.0, "epgc: ticket 103 has a ping_ms of -1: 0 to 1e+06 ms are needed"),
        (math.inf, "epgc: ticket 103 has a ping_ms of inf: 0 to 1e+06 ms are needed"),
    ],
)
def test_a_ticket_without_a_usable_ping_is_named(ping: float, words: str) -> None:
    pings = [float(player[2]) for player in SAMPLE]
    pings[2] = ping
    with pytest.raises(MatcherError) as caught:
        Epgc(lobby_size=4).plan(sample(ping_ms=pings))
    assert str(caught.value) == words


def test_a_negative_wait_is_named() -> None:
    snapshot = snapshot_of(Format(1, 2), [[1], [1]], waited_ms=[3, -4], facts={"ping_ms": [1.0, 1.0]})
    with pytest.raises(MatcherError, match=r"^epgc: ticket 101 has waited -4 ms$"):
        Epgc(lobby_size=2).plan(snapshot)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"lobby_size": 0}, "epgc: lobby_size must be a whole number from 2 to 100, not 0"),
        ({"lobby_size": 4.0}, "epgc: lobby_size must be a whole number from 2 to 100, not 4.0 (float)"),
        ({"lobby_size": True}, "epgc: lobby_size must be a whole number from 2 to 100, not True (bool)"),
        ({"beta": -0.5}, "epgc: beta must be a number from 0 to 1e+06, not -0.5"),
        ({"beta": math.nan}, "epgc: beta must be a number from 0 to 1e+06, not nan"),
        ({"alpha": -1}, "epgc: alpha must be a number from 0 to 1e+06, not -1"),
        ({"alpha": math.inf}, "epgc: alpha must be a number from 0 to 1e+06, not inf"),
        ({"alpha": "1.5"}, "epgc: alpha must be a number from 0 to 1e+06, not '1.5' (str)"),
        ({"alpha": False}, "epgc: alpha must be a number from 0 to 1e+06, not False (bool)"),
        ({"boundaries": 1000}, "epgc: boundaries must be a list of ascending numbers, not 1000 (int)"),
        ({"boundaries": [1000, 900]}, "epgc: boundaries must ascend, but 900 follows 1000"),
        ({"boundaries": [1000, 1000]}, "epgc: boundaries must ascend, but 1000 follows 1000"),
        ({"boundaries": [math.nan]}, "epgc: boundaries[0] must be a number from -1e+06 to 1e+06, not nan"),
        ({"boundaries": [1, "2"]}, "epgc: boundaries[1] must be a number from -1e+06 to 1e+06, not '2' (str)"),
        (
            {"lobbysize": 4},
            "epgc: unknown parameter 'lobbysize': did you mean 'lobby_size'? "
            "known: lobby_size, alpha, beta, boundaries",
        ),
    ],
)
def test_a_parameter_that_cannot_be_used_is_named(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(MatcherError) as caught:
        build("epgc", parameters)
    assert str(caught.value) == words


def test_parameters_are_stored_unchanged() -> None:
    given_boundaries = [1, 2.5]
    matcher = Epgc(lobby_size=4, alpha=3, beta=1, boundaries=given_boundaries)
    assert vars(matcher) == {"lobby_size": 4, "alpha": 3, "beta": 1, "boundaries": [1, 2.5]}
    assert matcher.boundaries is given_boundaries


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: stages.weighted_degrees([1, 2], [1]), "epgc: waited_s has shape (1,)"),
        (lambda: stages.weighted_degrees([[1]], [1]), "epgc: ping_ms has shape (1, 1)"),
        (lambda: stages.weighted_degrees([1, -2], [1, 1]), "epgc: ping_ms[1] is -2: 0 to 1e+06 is needed"),
        (lambda: stages.weighted_degrees([1, 2], [math.nan, 1]), "epgc: waited_s[0] is nan: 0 to 1e+09 is needed"),
        (lambda: stages.weighted_degrees([1], [1], beta=-1), "epgc: beta must be a number from 0"),
        (lambda: stages.find_lobby([1], [1], 2), "find_lobby: lobby_size must be a whole number from 1 to 1, not 2"),
        (lambda: stages.find_lobby([1], [1], 1, seed=1), "find_lobby: seed must be a whole number from 0 to 0, not 1"),
        (lambda: stages.drain([1], [1], 0), "drain: lobby_size must be a whole number from 1 to 100, not 0"),
        (lambda: stages.classify([1, math.nan]), "epgc: rating[1] is NaN: it is in no tier"),
    ],
)
def test_bad_columns_are_named(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(words)}"):
        call()
