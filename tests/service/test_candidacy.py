"""Which lanes a worker tries for, and which it gives back."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from evenmatch.service.candidacy import Count, closed, counts, surplus, wanted
from evenmatch.storage.postgres_nodes import LaneRow, NodeRow


def lane(number: int, owner: NodeRow | None = None, *, left: bool = False) -> LaneRow:
    called = "" if owner is None else owner.called
    return LaneRow(number, f"lane{number}", called, 1, 0, owner is None, 0.0, 0, 0.0, left=left)


def worker(name: str) -> NodeRow:
    return NodeRow(name, f"host:{name}", "worker", 10.0, 0.1, {"owns": []})


A, B, C = (worker(name) for name in "abc")


def test_a_worker_alone_wants_all_lanes() -> None:
    assert wanted(set(), [lane(1), lane(2), lane(3)], [A], set()) == [1, 2, 3]


def test_of_two_workers_each_wants_half_rounded_up() -> None:
    rows = [lane(1), lane(2), lane(3)]
    assert wanted(set(), rows, [A, B], set()) == [1, 2]
    assert wanted({3}, rows, [A, B], set()) == [1]


def test_what_stays_free_is_wanted_by_everybody() -> None:
    assert wanted({1}, [lane(1, A), lane(2)], [A, B], {2}) == [2]


def test_what_a_dead_owner_left_is_wanted_at_once_whatever_the_share() -> None:
    rows = [lane(1, A), lane(2, left=True), lane(3)]
    assert wanted({1}, rows, [A, B, C], set()) == [2]


def test_a_lane_that_nobody_has_opened_is_for_those_who_have_queues_for_it() -> None:
    rows = [lane(1), lane(2), lane(3)]
    assert closed(rows, {"lane3"}) == {2}
    assert wanted(set(), rows, [A], {2}, closed(rows, {"lane3"})) == [1, 3]
    assert closed([LaneRow(2, "lane2", "", 1, 7, True, 0.0, 0, 0.0)], {"main"}) == set()


def test_who_has_too_many_gives_one_back_only_to_somebody_with_room() -> None:
    rows = [lane(number, A) for number in range(1, 5)]
    assert surplus({1, 2, 3, 4}, rows, [A, B], "a") == 4
    assert surplus({1, 2}, [lane(1, A), lane(2, A), lane(3, B), lane(4, B)], [A, B], "a") is None
    assert surplus({1, 2, 3, 4}, rows, [A], "a") is None


def test_a_lane_that_was_given_back_and_is_not_taken_yet_counts_as_the_others() -> None:
    rows = [lane(1, A), lane(2, A), lane(3), lane(4)]
    assert surplus({1, 2}, rows, [A, B], "a") is None
    assert surplus({1, 2}, [*rows[:3], lane(4, B)], [A, B], "a") is None


@given(st.integers(1, 12), st.integers(1, 5), st.randoms(use_true_random=False))
def test_giving_back_ends_with_shares_that_differ_by_one_at_most(lanes: int, workers: int, chance: Random) -> None:
    there = [worker(str(number)) for number in range(workers)]
    rows = [lane(number, there[0]) for number in range(1, lanes + 1)]
    for _ in range(20 * lanes * workers):
        one = chance.choice(there)
        own = {row.journal for row in rows if row.owner == one.called}
        if chance.random() < 0.5:
            given_back = surplus(own, rows, there, one.node)
            if given_back is not None:
                rows[given_back - 1] = lane(given_back)
                rest = Counter(row.owner for row in rows if row.owner)
                assert rest[one.called] >= lanes // workers, "it gave one too many"
        else:
            for taken in wanted(own, rows, there, set())[:1]:
                rows[taken - 1] = lane(taken, one)
    for _ in range(lanes):  # what is on its way arrives
        for one in there:
            own = {row.journal for row in rows if row.owner == one.called}
            for taken in wanted(own, rows, there, set())[:1]:
                rows[taken - 1] = lane(taken, one)
    held = Counter(row.owner for row in rows)
    assert not held[""]
    assert max(held.values()) - min(held[one.called] for one in there) <= 1


def test_since_when_a_worker_has_so_many_lanes_is_kept_until_it_has_another_number() -> None:
    known = counts({}, [lane(1, A), lane(2, B)], [A, B], 10.0)
    assert known == {"a": Count(1, 10.0), "b": Count(1, 10.0)}
    known = counts(known, [lane(1, A), lane(2, A)], [A, B, C], 11.0)
    assert known == {"a": Count(2, 11.0), "b": Count(0, 11.0), "c": Count(0, 11.0)}
    assert counts(known, [lane(1, A), lane(2, A)], [A, B], 12.0) == {"a": Count(2, 11.0), "b": Count(0, 11.0)}
