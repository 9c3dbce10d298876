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


def column_bytes(snapshot: Snapshot) -> list[bytes]:
    columns = [getattr(snapshot, name) for name in Snapshot.__struct_fields__]
    arrays = [column for column in columns if isinstance(column, np.ndarray)]
    return [array.tobytes() for array in [*arrays, *snapshot.facts.values()]]


@every_matcher
@brief
@given(snapshot=snapshots())
def test_tickets_play_once_in_whole_parties_and_full_teams(name: str, snapshot: Snapshot) -> None:
    plan = build(name, {}).plan(snapshot)
    form = snapshot.format
    seated = [row for match in plan.matches for team in match.teams for row in team]
    assert len(seated) == len(set(seated))
    for match in plan.matches:
        assert [sum(int(snapshot.size[row]) for row in team) for team in match.teams] == [form.size] * form.teams
    assert check_plan(plan, snapshot) is None


@every_matcher
@brief
@given(snapshot=snapshots())
def test_every_unmatched_ticket_has_a_reason(name: str, snapshot: Snapshot) -> None:
    plan = build(name, {}).plan(snapshot)
    seated = set(plan.rosters[plan.rosters >= 0].tolist())
    for row, reason in enumerate(plan.reasons.tolist()):
        assert (Reason(reason) is Reason.SEATED) == (row in seated)
    too_large = snapshot.size > snapshot.format.size
    assert ((plan.reasons == Reason.PARTY_TOO_LARGE) == too_large).all()


@every_matcher
@brief
@given(snapshot=snapshots(), seed=st.integers(0, 2**63 - 1))
def test_the_same_seed_gives_the_same_plan_and_leaves_the_snapshot_alone(
    name: str, snapshot: Snapshot, seed: int
) -> None:
    before = column_bytes(snapshot)
    first = build(name, {}).plan(snapshot, seed=seed)
    again = build(name, {}).plan(snapshot, seed=seed, trace=True)
    for column in ("rosters", "team_of", "cost", "reasons"):
        assert getattr(first, column).tobytes() == getattr(again, column).tobytes()
    assert first.details == again.details
    assert (first.trace, len(again.trace) > 0) == ((), len(again.rosters) > 0)
    assert column_bytes(snapshot) == before


@every_matcher
@brief
@given(snapshot=snapshots(rating=st.floats(0, 3000)), data=st.data())
def test_the_order_of_the_rows_does_not_matter(name: str, snapshot: Snapshot, data: st.DataObject) -> None:
    rows = np.array(data.draw(st.permutations(range(len(snapshot)))), np.int64)
    shuffled = snapshot.take(rows)
    matcher = build(name, {})
    assert in_numbers(matcher.plan(shuffled, seed=1), shuffled) == in_numbers(matcher.plan(snapshot, seed=1), snapshot)


@every_matcher
@brief
@given(snapshot=snapshots())
def test_only_the_order_of_ticket_numbers_matters(name: str, snapshot: Snapshot) -> None:
    matcher = build(name, {})
    plan, other = matcher.plan(snapshot), matcher.plan(relabelled(snapshot, snapshot.ticket * 1000 + 7))
    for column in ("rosters", "team_of", "cost", "reasons"):
        assert getattr(plan, column).tobytes() == getattr(other, column).tobytes()


@every_matcher
@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_nobody_somebody_and_all_equal(name: str, form: Format) -> None:
    matcher = build(name, {"pool_max": 12} if name == "exact" else {})
    nobody = matcher.plan(sized(form, []))
    assert (len(nobody.rosters), len(nobody.reasons)) == (0, 0)
    assert check_plan(nobody, sized(form, [])) is None
    alone = matcher.plan(sized(form, [1]))
    assert alone.reasons.tolist() == [Reason.TOO_FEW_PLAYERS]
    equal = snapshot_of(form, [[1500.0]] * form.seats, waited_ms=[5] * form.seats)
    plan = matcher.plan(equal)
    assert len(plan.rosters) == (form.seats <= 12)
    assert plan.reasons.tolist() == [0] * form.seats


@every_matcher
@brief
@given(snapshot=snapshots(groups=4))
def test_groups_never_mix_and_each_is_matched_as_if_alone(name: str, snapshot: Snapshot) -> None:
    matcher = build(name, {})
    wave = plan_wave(matcher, snapshot, seed=3, trace=True)
    assert check_plan(wave, snapshot) is None
    alone = []
    for code in sorted(set(snapshot.group.tolist())):
        part = snapshot.take(np.flatnonzero(snapshot.group == code))
        alone += in_numbers(matcher.plan(part, seed=3), part)[0]
    assert in_numbers(wave, snapshot)[0] == alone
    assert len(wave.trace) == len(wave.rosters)


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
