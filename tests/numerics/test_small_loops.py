"""Loops that were array operations once: each does what a few plain lines do."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.numerics.accepting import accepts, asked
from evenmatch.numerics.run_rows import run_rows


@given(st.lists(st.tuples(st.integers(0, 1_000), st.integers(0, 6))))
def test_the_rows_of_runs_are_those_of_each_run(runs: list[tuple[int, int]]) -> None:
    start, size = (np.array([run[column] for run in runs], np.int64) for column in range(2))
    assert run_rows(start, size).tolist() == [row for first, count in runs for row in range(first, first + count)]


ROSTERS = st.lists(st.lists(st.sampled_from([-1, 7, 8, 9]), min_size=3, max_size=3), min_size=1, max_size=6)


@given(ROSTERS, st.data())
def test_proposals_that_are_named_stand_once_with_their_tickets(rosters: list[list[int]], data: st.DataObject) -> None:
    named = data.draw(st.lists(st.integers(0, len(rosters) - 1), max_size=12))
    once, which, ticket, seat = asked(np.array(named, np.int64), np.array(rosters, np.int64))
    assert once.tolist() == sorted(set(named))
    assert once[which].tolist() == named
    plain = [(t, place) for place, slot in enumerate(sorted(set(named))) for t in rosters[slot] if t >= 0]
    assert list(zip(ticket.tolist(), seat.tolist(), strict=True)) == plain


PARTIES = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=3), min_size=1, max_size=5)


@given(PARTIES, st.data())
def test_an_accept_counts_once_for_a_member_who_has_not_accepted(sizes: list[list[int]], data: st.DataObject) -> None:
    """`sizes`: of the tickets of each proposal."""
    size = np.array([one for tickets in sizes for one in tickets], np.int64)
    seat = np.repeat(np.arange(len(sizes)), [len(tickets) for tickets in sizes])
    start = np.cumsum(size) - size
    member = np.array(data.draw(st.permutations(range(int(size.sum())))), np.int64)
    before = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(member), max_size=len(member))), np.int8)
    owner = np.repeat(seat, size)
    pending = np.bincount(owner, before == 0, len(sizes)).astype(np.int64)
    pairs = data.draw(st.lists(st.tuples(st.integers(0, len(sizes) - 1), st.integers(-1, len(member))), max_size=20))
    which, player = (np.array([pair[column] for pair in pairs], np.int64) for column in range(2))
    open_to = {(int(p), int(m)) for p, m, b in zip(owner, member, before, strict=True) if not b}
    expected, lasts, counted = [], {}, dict.fromkeys(range(len(sizes)), 0)
    for place, pair in enumerate(pairs):
        expected.append(pair in open_to)
        if pair in open_to:
            open_to.remove(pair)
            counted[pair[0]] += 1
            lasts[pair[0]] = place
    counts, count, last = accepts(which, player, seat, start, size, member, before, pending)
    assert counts.tolist() == expected
    assert count.tolist() == list(counted.values())
    assert last.tolist() == [lasts.get(p, -1) for p in range(len(sizes))]
