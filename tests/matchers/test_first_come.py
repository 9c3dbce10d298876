"""First come, first served, against its plain twin, and at sizes where a slow search would be noticed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers import fitting
from evenmatch.matchers.contract import check_plan
from evenmatch.matchers.first_come import Drain, FirstCome, blocks
from evenmatch.matchers.fitting import Fitter
from tests.reference.first_come import can_fill, first_come
from tests.snapshots import in_numbers, sized, snapshots


def seatings(plan: Plan, snapshot: Snapshot) -> list[list[tuple[int, int]]]:
    """The matches as (place in canonical order, team)."""
    place = np.argsort(snapshot.canonical_order())
    numbered = {int(number): int(place[row]) for row, number in enumerate(snapshot.ticket)}
    return [[(numbered[ticket], team) for ticket, team in match] for match, _ in in_numbers(plan, snapshot)[0]]


@settings(max_examples=300, deadline=None)
@given(snapshots(tickets_max=14))
def test_it_agrees_with_its_plain_twin(snapshot: Snapshot) -> None:
    order = snapshot.canonical_order()
    matches, reasons = first_come(snapshot.size[order].tolist(), snapshot.format)
    plan = FirstCome().plan(snapshot)
    assert seatings(plan, snapshot) == matches
    assert plan.reasons[order].tolist() == reasons
    assert plan.details == {}


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from([2, 3, 4, 5, 7]), max_size=16),
    st.sampled_from([Format(2, 7), Format(3, 5), Format(1, 12)]),
)
def test_it_agrees_with_its_plain_twin_where_solos_are_missing(sizes: list[int], form: Format) -> None:
    snapshot = sized(form, sizes)
    matches, reasons = first_come(sizes, form)
    plan = FirstCome().plan(snapshot)
    assert seatings(plan, snapshot) == matches
    assert plan.reasons.tolist() == reasons


@given(st.integers(1, 6), st.integers(0, 60), st.integers(1, 4), st.integers(1, 6))
def test_the_fast_path_for_equal_sizes_is_the_general_path(size: int, count: int, teams: int, team_size: int) -> None:
    form = Format(teams, max(size, team_size))
    places, team_of, tickets = Drain(np.full(count, size), form).run()
    fast_team_of, fast_tickets = blocks(size, count, form)
    assert places.tolist() == list(range(len(fast_team_of)))
    assert (team_of.tolist(), tickets.tolist()) == (fast_team_of.tolist(), fast_tickets.tolist())


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=3),
    st.dictionaries(st.integers(1, 7), st.integers(0, 5), min_size=1, max_size=4),
)
def test_the_fitting_search_agrees_with_trying_everything(rooms: list[int], parties: dict[int, int]) -> None:
    sizes = sorted(parties, reverse=True)
    counts = [parties[size] for size in sizes]
    filling = Fitter(sizes).fill(rooms, counts)
    everyone = tuple(size for size in sizes for _ in range(parties[size]))
    assert (filling is not None) == can_fill(tuple(sorted(rooms)), everyone)
    if filling is not None:
        assert [sum(n * size for n, size in zip(used, sizes, strict=True)) for used in filling] == rooms
        assert all(sum(used) <= count for used, count in zip(zip(*filling, strict=True), counts, strict=True))


def test_threes_alone_make_no_five_but_three_and_two_do() -> None:
    assert FirstCome().plan(sized(Format(1, 5), [3, 3, 3])).reasons.tolist() == [Reason.NO_FITTING_PARTIES] * 3
    snapshot = sized(Format(1, 5), [3, 3, 1, 2])
    plan = FirstCome().plan(snapshot, trace=True)
    assert seatings(plan, snapshot) == [[(0, 0), (3, 0)]]
    assert plan.trace == ({"anchor": 100, "tickets": [100, 103]},)


def test_an_old_ticket_that_cannot_play_does_not_hold_up_the_others() -> None:
    snapshot = sized(Format(2, 5), [4, 5, 5, 6])
    plan = FirstCome().plan(snapshot)
    assert seatings(plan, snapshot) == [[(1, 0), (2, 1)]]
    assert plan.reasons.tolist() == [Reason.TOO_FEW_PLAYERS, 0, 0, Reason.PARTY_TOO_LARGE]


def test_solos_fill_the_first_team_first() -> None:
    snapshot = sized(Format(2, 2), [1] * 5)
    assert seatings(FirstCome().plan(snapshot), snapshot) == [[(0, 0), (1, 0), (2, 1), (3, 1)]]


def test_a_ticket_passed_over_anchors_the_next_match() -> None:
    snapshot = sized(Format(2, 3), [2, 2, 2, 1, 1, 1, 1, 2])
    plan = FirstCome().plan(snapshot, trace=True)
    assert [step["anchor"] for step in plan.trace] == [100, 102]
    assert plan.trace[0]["tickets"] == [100, 101, 103, 104]


@pytest.mark.parametrize(
    ("form", "least", "most", "count"),
    [
        (Format(2, 5), 2, 5, 20_000),
        (Format(3, 4), 1, 4, 20_000),
        (Format(10, 3), 1, 3, 20_000),
        (Format(10, 20), 3, 9, 5_000),
        (Format(20, 10), 3, 8, 5_000),
        (Format(100, 2), 1, 2, 20_000),
        (Format(1, 100), 30, 100, 5_000),
        (Format(2, 100), 1, 100, 5_000),
        (Format(2, 100), 7, 60, 5_000),
    ],
)
def test_any_mix_of_parties_is_planned_in_full(form: Format, least: int, most: int, count: int) -> None:
    rng = np.random.default_rng(7)
    snapshot = sized(form, rng.integers(least, most + 1, count).tolist())
    plan = FirstCome().plan(snapshot)
    assert check_plan(plan, snapshot) is None
    assert plan.details == {}


def test_a_search_that_would_take_for_ever_is_given_up_and_told() -> None:
    # Many sizes, few of each, and hardly more players than seats: only trying almost everything can tell.
    form = Format(10, 20)
    sizes = [13, 11, 9, 8, 7, 6] * 3 + [19, 17, 16, 3] * 2 + [12, 10, 5]
    rng = np.random.default_rng(3)
    gave_up = 0
    for _ in range(20):
        snapshot = sized(form, rng.permutation(sizes).tolist())
        plan = FirstCome().plan(snapshot)
        assert check_plan(plan, snapshot) is None
        gave_up += plan.details.get("searches_given_up", 0)
    assert gave_up > 0


def tight_parties(rng: np.random.Generator, form: Format) -> list[int]:
    """Sizes of parties that fill one match exactly, and of two more, in any order."""
    sizes = rng.integers(1, form.size + 1, 2).tolist()
    for _ in range(form.teams):
        room = form.size
        while room:
            sizes.append(int(rng.integers(1, room + 1)))
            room -= sizes[-1]
    return [int(size) for size in rng.permutation(sizes)]


@pytest.mark.parametrize("form", [Format(4, 9), Format(6, 7), Format(9, 5), Format(20, 3)], ids=str)
def test_matches_are_whole_however_soon_searches_are_given_up(form: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    for allowance in ("STEPS_MAX", "STEPS_SHARED", "STEPS_LEAST"):
        monkeypatch.setattr(fitting, allowance, 0)
    rng = np.random.default_rng(11)
    gave_up = 0
    for _ in range(150):
        snapshot = sized(form, tight_parties(rng, form))
        plan = FirstCome().plan(snapshot)
        assert check_plan(plan, snapshot) is None
        gave_up += plan.details.get("searches_given_up", 0)
    assert gave_up > 0


def test_a_million_solos_are_matched_by_one_reshape() -> None:
    count = 1_000_000
    rng = np.random.default_rng(1)
    snapshot = Snapshot(
        format=Format(2, 5),
        now_ms=0,
        ticket=rng.permutation(count),
        waited_ms=rng.integers(0, 600_000, count),
        misses=np.zeros(count, np.int32),
        returned=np.zeros(count, bool),
        group=np.zeros(count, np.int32),
        player_start=np.arange(count + 1),
        player=np.arange(count),
        facts={"rating": rng.normal(1500, 300, count)},
    )
    plan = FirstCome().plan(snapshot)
    assert check_plan(plan, snapshot) is None
    assert len(plan.rosters) == 100_000
