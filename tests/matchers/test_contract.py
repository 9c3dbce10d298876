"""One checklist over every registered matcher: registering a matcher tests it."""

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import (
    Matcher,
    cannot_seat,
    check_plan,
    next_change_ms,
    plan_from_matches,
    plan_wave,
    wave_next_change_ms,
)
from evenmatch.matchers.registry import build, names
from tests.snapshots import FORMATS, in_numbers, relabelled, sized, snapshot_of, snapshots

every_matcher = pytest.mark.parametrize("name", names())
brief = settings(max_examples=60, deadline=None)

EXAMPLES: dict[str, dict[str, Any]] = {
    "buckets": {"bucket": 60, "growth_s": 0.001},
    "epgc": {"lobby_size": 4},
    "l2m": {"session_size": 4},
    "lom": {"session_size": 4},
    "m2l": {"session_size": 4},
    "random": {"session_size": 4},
}
"""Parameters for the checklist, where the defaults would match nobody in the snapshots that it draws."""

PINGS = st.integers(0, 9).map(lambda step: 10.0 * step)
SIDE_RATINGS = st.integers(0, 40).map(lambda step: 1000.0 + 25.0 * step)
FACTS: dict[str, dict[str, st.SearchStrategy[float]]] = {
    "epgc": {"ping_ms": PINGS},
    "l2m": {"ping_ms": PINGS},
    "ladder": {"ratings.bw": SIDE_RATINGS | st.just(np.nan), "ratings.sc2": SIDE_RATINGS | st.just(np.nan)},
    "lom": {"ping_ms": PINGS},
    "m2l": {"ping_ms": PINGS},
}
"""The facts that a matcher needs beside the rating."""


def example(name: str) -> Matcher:
    return build(name, EXAMPLES.get(name, {}))


def seatable(name: str) -> dict[Format, list[int]]:
    """The formats that a matcher can play, and the parties that it seats in them."""
    sizes = {
        form: [party for party in range(1, form.size + 2) if cannot_seat(example(name), form, party) is None]
        for form in FORMATS
    }
    return {form: parties for form, parties in sizes.items() if parties}


def drawn(name: str, **wishes: Any) -> st.SearchStrategy[Snapshot]:
    """Any small snapshot that a matcher can use."""
    forms = seatable(name)
    return snapshots(formats=list(forms), parties=forms, facts=FACTS.get(name), **wishes)


def alike(name: str, form: Format, tickets: int) -> Snapshot:
    """Tickets that are all the same to a matcher, of the smallest party that it seats."""
    party = seatable(name)[form][0]
    facts = {fact: [50.0] * (tickets * party) for fact in FACTS.get(name, {})}
    return snapshot_of(form, [[1500.0] * party] * tickets, waited_ms=[5] * tickets, facts=facts)


def column_bytes(snapshot: Snapshot) -> list[bytes]:
    columns = [getattr(snapshot, name) for name in Snapshot.__struct_fields__]
    arrays = [column for column in columns if isinstance(column, np.ndarray)]
    return [array.tobytes() for array in [*arrays, *snapshot.facts.values()]]


@every_matcher
@brief
@given(data=st.data())
def test_tickets_play_once_in_whole_parties_and_full_teams(name: str, data: st.DataObject) -> None:
    snapshot = data.draw(drawn(name))
    plan = example(name).plan(snapshot)
    form = snapshot.format
    seated = [row for match in plan.matches for team in match.teams for row in team]
    assert len(seated) == len(set(seated))
    for match in plan.matches:
        assert [sum(int(snapshot.size[row]) for row in team) for team in match.teams] == [form.size] * form.teams
    assert check_plan(plan, snapshot) is None


@every_matcher
@brief
@given(data=st.data())
def test_every_unmatched_ticket_has_a_reason(name: str, data: st.DataObject) -> None:
    snapshot = data.draw(drawn(name))
    plan = example(name).plan(snapshot)
    seated = set(plan.rosters[plan.rosters >= 0].tolist())
    for row, reason in enumerate(plan.reasons.tolist()):
        assert (Reason(reason) is Reason.SEATED) == (row in seated)
    too_large = snapshot.size > snapshot.format.size
    assert ((plan.reasons == Reason.PARTY_TOO_LARGE) == too_large).all()


@every_matcher
@brief
@given(data=st.data(), seed=st.integers(0, 2**63 - 1))
def test_the_same_seed_gives_the_same_plan_and_leaves_the_snapshot_alone(
    name: str, data: st.DataObject, seed: int
) -> None:
    snapshot = data.draw(drawn(name))
    before = column_bytes(snapshot)
    first = example(name).plan(snapshot, seed=seed)
    again = example(name).plan(snapshot, seed=seed, trace=True)
    for column in ("rosters", "team_of", "cost", "reasons"):
        assert getattr(first, column).tobytes() == getattr(again, column).tobytes()
    assert (first.details, first.match_details) == (again.details, again.match_details)
    assert first.trace == ()
    assert len(again.trace) or not len(again.rosters)
    assert column_bytes(snapshot) == before


@every_matcher
@brief
@given(data=st.data())
def test_the_order_of_the_rows_does_not_matter(name: str, data: st.DataObject) -> None:
    snapshot = data.draw(drawn(name, rating=st.floats(0, 3000)))
    rows = np.array(data.draw(st.permutations(range(len(snapshot)))), np.int64)
    shuffled = snapshot.take(rows)
    matcher = example(name)
    assert in_numbers(matcher.plan(shuffled, seed=1), shuffled) == in_numbers(matcher.plan(snapshot, seed=1), snapshot)


@every_matcher
@brief
@given(data=st.data())
def test_only_the_order_of_ticket_numbers_matters(name: str, data: st.DataObject) -> None:
    snapshot = data.draw(drawn(name))
    matcher = example(name)
    plan, other = matcher.plan(snapshot), matcher.plan(relabelled(snapshot, snapshot.ticket * 1000 + 7))
    for column in ("rosters", "team_of", "cost", "reasons"):
        assert getattr(plan, column).tobytes() == getattr(other, column).tobytes()


@every_matcher
def test_nobody_somebody_and_all_equal(name: str) -> None:
    matcher = example(name)
    assert seatable(name)
    for form, parties in seatable(name).items():
        nobody = matcher.plan(alike(name, form, 0))
        assert (len(nobody.rosters), len(nobody.reasons)) == (0, 0)
        assert check_plan(nobody, alike(name, form, 0)) is None
        alone = alike(name, form, 1)
        plan = matcher.plan(alone)
        assert check_plan(plan, alone) is None
        assert len(plan.rosters) == 0
        plan = matcher.plan(alike(name, form, form.seats // parties[0]))
        assert len(plan.rosters) == 1
        assert not plan.reasons.any()


@pytest.mark.parametrize("name", ["exact", "first_come"])
def test_a_player_alone_is_told_that_there_are_too_few(name: str) -> None:
    assert build(name, {}).plan(sized(Format(2, 2), [1])).reasons.tolist() == [Reason.TOO_FEW_PLAYERS]


@every_matcher
@brief
@given(data=st.data())
def test_groups_never_mix_and_each_is_matched_as_if_alone(name: str, data: st.DataObject) -> None:
    snapshot = data.draw(drawn(name, groups=4))
    matcher = example(name)
    wave = plan_wave(matcher, snapshot, seed=3, trace=True)
    assert check_plan(wave, snapshot) is None
    alone, steps = [], 0
    for code in sorted(set(snapshot.group.tolist())):
        part = snapshot.take(np.flatnonzero(snapshot.group == code))
        plan = matcher.plan(part, seed=3, trace=True)
        alone += in_numbers(plan, part)[0]
        steps += len(plan.trace)
    assert in_numbers(wave, snapshot)[0] == alone
    assert len(wave.match_details) in (0, len(wave.rosters))
    assert len(wave.trace) == steps or not len(snapshot)


class Recorder:
    """A matcher that matches nobody and remembers what it was shown."""

    name: ClassVar[str] = "recorder"
    reads_misses: ClassVar[bool] = False

    def __init__(self) -> None:
        self.seen: list[Snapshot] = []

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:  # noqa: ARG002
        self.seen.append(snapshot)
        nothing = np.empty(0, np.int64)
        left = np.full(len(snapshot), Reason.LESS_EVEN)
        about = {"rows": len(snapshot)}
        return plan_from_matches(snapshot, rows=nothing, teams=nothing, tickets=nothing, left=left, details=about)

    def next_change_ms(self, snapshot: Snapshot) -> int | None:
        return None if snapshot.group[0] == 1 else 1000 - int(snapshot.group[0])


def test_a_single_group_is_not_copied_and_its_details_pass_unchanged() -> None:
    recorder, snapshot = Recorder(), sized(Format(2, 1), [1, 1, 1])
    assert plan_wave(recorder, snapshot).details == {"rows": 3}
    assert recorder.seen == [snapshot]


def test_groups_come_in_ascending_order_and_their_details_side_by_side() -> None:
    recorder, snapshot = Recorder(), snapshot_of(Format(2, 1), [[1], [2], [3]], group=[7, 1, 7])
    plan = plan_wave(recorder, snapshot)
    assert [part.ticket.tolist() for part in recorder.seen] == [[101], [100, 102]]
    assert plan.details == {"groups": [{"group": 1, "rows": 1}, {"group": 7, "rows": 2}]}


def test_the_next_change_of_a_wave_is_the_earliest_of_its_groups() -> None:
    form = Format(2, 1)
    assert wave_next_change_ms(Recorder(), snapshot_of(form, [[1], [2], [3]], group=[7, 1, 5])) == 993
    assert wave_next_change_ms(Recorder(), snapshot_of(form, [[1], [2]], group=[1, 1])) is None
    assert next_change_ms(build("first_come", {}), sized(form, [1])) is None


def changed(plan: Plan, column: str, change: Callable[[Array], Any]) -> Plan:
    """The plan with one column changed, in place on a copy or by the value returned."""
    copy = getattr(plan, column).copy()
    result = change(copy)
    return msgspec.structs.replace(plan, **{column: copy if result is None else result})


def put(*at_and_value: Any) -> Callable[[Array], None]:
    *at, value = at_and_value

    def change(array: Array) -> None:
        array[tuple(at)] = value

    return change


CORRUPTIONS: list[tuple[str, Callable[[Array], Any], str]] = [
    ("rosters", lambda a: a.astype(np.int64), "rosters is not a int32 array of 2 dimensions"),
    ("rosters", lambda a: a.ravel(), "rosters is not a int32 array of 2 dimensions"),
    ("cost", lambda a: a.tolist(), "cost is not a float64 array of 1 dimension"),
    ("team_of", lambda a: a[:, :-1], "team_of has shape (2, 2), rosters (2, 3)"),
    ("cost", lambda a: a[:1], "there are 1 costs for 2 matches"),
    ("reasons", lambda a: a[:-1], "there are 6 reasons for 7 tickets"),
    ("cost", put(1, np.nan), "the cost of match 1 is NaN"),
    ("rosters", put(1, 0, 99), "match 1 names a row that the snapshot does not have"),
    ("rosters", put(0, 2, -2), "match 0 names a row that the snapshot does not have"),
    ("rosters", put(1, 0, -1), "match 1 has an empty place before a ticket"),
    ("team_of", put(0, 0, 2), "match 0 has a team outside 0 to 1, or one for an empty place"),
    ("team_of", put(0, 1, -1), "match 0 has a team outside 0 to 1, or one for an empty place"),
    ("team_of", put(0, 2, 0), "match 0 has a team outside 0 to 1, or one for an empty place"),
    ("rosters", put(0, 1, 0), "row 0 is seated twice"),
    ("team_of", put(0, 1, 0), "team 0 of match 0 has 4 players, not 2"),
    ("rosters", put(0, 1, 6), "match 0 mixes groups"),
    ("reasons", put(0, Reason.LESS_EVEN), "row 0 is seated, but its reason says otherwise"),
    ("reasons", put(5, Reason.SEATED), "row 5 is not seated, but its reason says otherwise"),
    ("reasons", put(5, 77), "row 5 has 77 for a reason, which there is not"),
]


@pytest.mark.parametrize(("column", "change", "words"), CORRUPTIONS)
def test_a_corrupted_plan_is_found_out(column: str, change: Callable[[Array], Any], words: str) -> None:
    snapshot = snapshot_of(Format(2, 2), [[1, 1], [1, 1], [1, 1], [1], [1], [1], [1, 1]], group=[0, 0, 0, 0, 0, 0, 1])
    plan = plan_wave(build("first_come", {}), snapshot)
    assert plan.rosters.tolist() == [[0, 1, -1], [2, 3, 4]]
    assert check_plan(plan, snapshot) is None
    assert check_plan(changed(plan, column, change), snapshot) == words


def test_a_match_without_places_is_found_out() -> None:
    snapshot = sized(Format(2, 1), [1])
    plan = build("first_come", {}).plan(snapshot)
    bare = msgspec.structs.replace(
        plan, rosters=np.empty((1, 0), np.int32), team_of=np.empty((1, 0), np.int8), cost=np.zeros(1)
    )
    assert check_plan(bare, snapshot) == "match 0 has no tickets"
    none_there = msgspec.structs.replace(
        plan, rosters=np.full((1, 2), -1, np.int32), team_of=np.full((1, 2), -1, np.int8), cost=np.zeros(1)
    )
    assert check_plan(none_there, snapshot) == "team 0 of match 0 has 0 players, not 1"
