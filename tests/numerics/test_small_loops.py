"""Loops that were array operations once: each does what a few plain lines do."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.numerics.accepting import accepts
from evenmatch.numerics.run_rows import run_rows


@given(st.lists(st.tuples(st.integers(0, 1_000), st.integers(0, 6))))
def test_the_rows_of_runs_are_those_of_each_run(runs: list[tuple[int, int]]) -> None:
    start, size = (np.array([run[column] for run in runs], np.int64) for column in range(2))
    assert run_rows(start, size).tolist() == [row for first, count in runs for row in range(first, first + count)]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.data())
def test_an_accept_counts_once_for_a_member_who_has_not_accepted(sizes: list[int], data: st.DataObject) -> None:
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    member = np.array(data.draw(st.permutations(range(sum(sizes)))), np.int64)
    accepted = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(member), max_size=len(member))), np.int8)
    pairs = data.draw(st.lists(st.tuples(st.integers(0, len(sizes) - 1), st.integers(-1, len(member))), max_size=20))
    proposal, player = (np.array([pair[column] for pair in pairs], np.int64) for column in range(2))
    done = {(p, int(member[s])) for p in range(len(sizes)) for s in range(first[p], first[p + 1]) if accepted[s]}
    expected, counted = [], []
    for place, (asked, who) in enumerate(pairs):
        granted = who in member[first[asked] : first[asked + 1]] and (asked, who) not in done
        expected.append(granted)
        if granted:
            done.add((asked, who))
            counted.append((asked, place))
    counts, count, last = accepts(proposal, player, first, member, accepted)
    assert counts.tolist() == expected
    assert count.tolist() == [sum(asked == p for asked, _ in counted) for p in range(len(sizes))]
    assert last.tolist() == [
        max((place for asked, place in counted if asked == p), default=-1) for p in range(len(sizes))
    ]
