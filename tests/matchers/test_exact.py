"""The yardstick, against the listing of every plan."""

import numpy as np
import pytest
from hypothesis import given, settings

from evenmatch.domain.match import Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import check_plan
from evenmatch.matchers.cost import match_cost
from evenmatch.matchers.exact import Exact
from evenmatch.matchers.first_come import FirstCome
from tests.reference.exact import exact
from tests.snapshots import FORMATS, in_numbers, sized, snapshot_of, snapshots

# Ratings are multiples of 60, so that means over up to five players, and sums of their squares, are exact in float64.
SMALL = [form for form in FORMATS if form.seats <= 6] + [Format(2, 4), Format(2, 5)]


@settings(max_examples=250, deadline=None)
@given(snapshots(tickets_max=7, formats=SMALL, oversize=False))
def test_it_agrees_with_the_listing_of_every_plan(snapshot: Snapshot) -> None:
    ordered = snapshot.take(snapshot.canonical_order())
    start = ordered.player_start
    ratings = ordered.facts["rating"].astype(int).tolist()
    parties = [ratings[start[row] : start[row + 1]] for row in range(len(ordered))]
    matches, cost, playable = exact(parties, snapshot.format)
    plan = Exact().plan(ordered)
    found, _ = in_numbers(plan, ordered)
    numbered = [[(int(ordered.ticket[row]), team) for row, team in match] for match in matches]
    assert [match for match, _ in found] == numbered
    assert plan.details == {"bound": float(cost), "optimality_gap": 0.0}
    for row, reason in enumerate(plan.reasons.tolist()):
        if reason != Reason.SEATED:
            few = ordered.size.sum() < snapshot.format.seats
            able = Reason.LESS_EVEN if playable[row] else Reason.NO_FITTING_PARTIES
            assert reason == (Reason.TOO_FEW_PLAYERS if few else able)


@settings(max_examples=60, deadline=None)
@given(snapshots(tickets_max=9))
def test_its_costs_are_the_shared_ones_and_nobody_seats_more_or_evener(snapshot: Snapshot) -> None:
    best, other = Exact().plan(snapshot), FirstCome().plan(snapshot)
    assert best.cost.tolist() == match_cost(snapshot, best.rosters, best.team_of).tolist()
    assert len(best.rosters) >= len(other.rosters)
    if len(best.rosters) == len(other.rosters):
        assert best.cost.sum() <= other.cost.sum() + 1e-6


def test_it_pairs_neighbours_and_leaves_the_one_in_the_way() -> None:
    snapshot = snapshot_of(Format(2, 1), [[1000], [2000], [1500], [1010], [2020]])
    plan = Exact().plan(snapshot, trace=True)
    assert [[seat[0] for seat in match] for match, _ in in_numbers(plan, snapshot)[0]] == [[100, 103], [101, 104]]
    assert plan.reasons.tolist() == [0, 0, Reason.LESS_EVEN, 0, 0]
    assert plan.details == {"bound": 500.0, "optimality_gap": 0.0}
    assert plan.trace == ({"tickets": [100, 103], "cost": 100.0}, {"tickets": [101, 104], "cost": 400.0})


def test_it_looks_at_the_longest_waiting_only_and_parties_too_large_take_no_place() -> None:
    plan = Exact(pool_max=2).plan(sized(Format(2, 1), [2, 1, 1, 1, 2]))
    too_large, beyond = Reason.PARTY_TOO_LARGE, Reason.BEYOND_POOL
    assert plan.reasons.tolist() == [too_large, 0, 0, beyond, too_large]


def test_parties_that_make_no_team_have_no_fitting_company() -> None:
    plan = Exact().plan(sized(Format(2, 5), [4, 5, 5, 3]))
    assert plan.reasons.tolist() == [Reason.NO_FITTING_PARTIES, 0, 0, Reason.NO_FITTING_PARTIES]


@pytest.mark.parametrize("form", [Format(2, 1), Format(2, 2), Format(2, 5), Format(3, 3), Format(5, 2)])
def test_a_full_pool_is_solved(form: Format) -> None:
    rng = np.random.default_rng(5)
    for largest in (1, 2):
        parties = [rng.normal(1500, 300, min(form.size, 1 + row % largest)).tolist() for row in range(12)]
        snapshot = snapshot_of(form, parties)
        assert check_plan(Exact().plan(snapshot), snapshot) is None
