"""Who was seen lately: the log does what a dictionary in the order of sightings does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.core import active
from evenmatch.core.active import Active

SIGHTINGS = st.lists(st.tuples(st.lists(st.integers(1, 12), max_size=5), st.integers(0, 9)), max_size=30)


@given(SIGHTINGS, st.integers(1, 30), st.sampled_from([0, 3, 1_000]))
def test_it_does_what_a_dictionary_does(sightings: list[tuple[list[int], int]], counts_ms: int, spare: int) -> None:
    ours, plain, now_ms = Active(), dict[int, int](), 100
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(active, "_SPARE", spare)
        for players, later in sightings:
            now_ms += later
            ours.see(np.array(players, np.int64), now_ms, now_ms - counts_ms)
            for player in players:
                plain.pop(player, None)
                plain[player] = now_ms
            plain = {player: seen for player, seen in plain.items() if seen > now_ms - counts_ms}
            assert ours.entries.tolist() == [list(entry) for entry in plain.items()]
            assert len(ours) == len(plain)
            for before in range(now_ms - counts_ms, now_ms + 2):
                assert ours.seen_after(before) == sum(seen > before for seen in plain.values())
            assert Active(ours.entries).entries.tolist() == ours.entries.tolist()
            assert ours._end - ours._first <= 2 * len(ours) + spare + 5
