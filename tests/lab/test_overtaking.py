"""The kernel of overtaking against its plain twin, and single cases by hand."""

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.domain.match import Plan
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.lab.overtaking import overtaken


def plain(snapshot: Snapshot, plan: Plan) -> list[int]:
    """Every ticket that is left, against every seat, as the definition says."""
    order = snapshot.canonical_order().tolist()
    rating, size = snapshot.mean("rating").tolist(), snapshot.size.tolist()
    seats = []
    for match in plan.matches:
        rows = [row for team in match.teams for row in team]
        for row in rows:
            others = [other for other in rows if other != row]
            mean = sum(rating[o] * size[o] for o in others) / sum(size[o] for o in others)
            seats.append((row, mean, others))
    seated = {row for row, _, _ in seats}
    foes = {frozenset(pair) for pair in snapshot.forbidden.tolist()}

    def far(rows: list[int]) -> float:
        """How far the nearest region is to the worst of these; 0 where nobody says anything."""
        names = [name for name in snapshot.facts if name.startswith("latencies.")]
        return min((max(float(snapshot.facts[name][row]) for row in rows) for name in names), default=0.0)

    found = []
    for row in range(len(snapshot)):
        if row not in seated and any(
            order.index(row) < order.index(other)
            and size[row] == size[other]
            and snapshot.group[row] == snapshot.group[other]
            and abs(rating[row] - mean) <= abs(rating[other] - mean)
            and far([row, *others]) <= far([other, *others])
            and not any(frozenset((row, one)) in foes for one in others)
            for other, mean, others in seats
        ):
            found.append(int(snapshot.ticket[row]))
    return found


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5)), min_size=2, max_size=24),
    st.integers(0, 2),
    st.sampled_from([2, 4]),
    st.integers(0, 2**32 - 1),
)
def test_the_kernel_is_its_twin(rows: list[tuple[int, int]], regions: int, width: int, seed: int) -> None:
    rating = np.array([100.0 * r for r, _ in rows])
    snapshot = Snapshot.from_columns(rating=rating, waited_ms=[1000 * w for _, w in rows], format=Format(2, width // 2))
    chance = np.random.default_rng(seed)
    told = {f"latencies.{region}": chance.choice([20.0, 60.0, 100.0], len(rows)) for region in range(regions)}
    foes = np.unique(chance.integers(0, len(rows), (len(rows) // 3, 2)), axis=0)
    snapshot = msgspec.structs.replace(
        snapshot, facts=snapshot.facts | told, forbidden=foes[foes[:, 0] != foes[:, 1]].astype(np.int64)
    )
    matches = int(chance.integers(0, len(rows) // width + 1))
    rosters = chance.permutation(len(rows))[: width * matches].reshape(matches, width).astype(np.int32)
    teams = np.tile(np.repeat(np.array([0, 1], np.int8), width // 2), (matches, 1))
    plan = Plan(rosters, teams, np.zeros(matches), np.zeros(len(rows), np.int8))
    assert overtaken(snapshot, plan).tolist() == plain(snapshot, plan)


def test_a_side_that_cannot_be_played_is_no_place() -> None:
    nan = float("nan")
    snapshot = Snapshot.from_columns(
        rating=[1500, 1500, 1500],
        ratings={"a": [1500, nan, 1500], "b": [nan, 1500, nan]},
        waited_ms=[9_000, 5_000, 1_000],
        format=Format(2, 1),
    )
    teams = np.array([[0, 1]], np.int8)
    passed = Plan(np.array([[2, 1]], np.int32), teams, np.zeros(1), np.zeros(3, np.int8))
    assert overtaken(snapshot, passed).tolist() == [int(snapshot.ticket[0])]
    first = Plan(np.array([[0, 1]], np.int32), teams, np.zeros(1), np.zeros(3, np.int8))
    assert overtaken(snapshot, first).tolist() == []


def test_who_is_out_of_reach_is_not_passed_over() -> None:
    snapshot = Snapshot.from_columns(rating=[1500, 1500, 1500], waited_ms=[9_000, 5_000, 1_000], format=Format(2, 1))
    plan = Plan(np.array([[1, 2]], np.int32), np.array([[0, 1]], np.int8), np.zeros(1), np.zeros(3, np.int8))
    assert overtaken(snapshot, plan).tolist() == [int(snapshot.ticket[0])]
    here, both, there = 0b01, 0b11, 0b10
    for reach, passed in ((here, []), (both, [int(snapshot.ticket[0])])):
        apart = msgspec.structs.replace(snapshot, reach=np.array([reach, there, there]))
        assert overtaken(apart, plan).tolist() == passed
