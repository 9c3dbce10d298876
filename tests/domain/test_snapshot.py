"""The canonical order of any columns, and the snapshot of some rows."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from evenmatch.domain import order
from evenmatch.domain.arrays import Array
from evenmatch.domain.order import canonical_order
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from tests.snapshots import snapshots

LEAST, MOST = -(2**63), 2**63 - 1


def as_written(waited_ms: Array, returned: Array, ticket: Array) -> list[int]:
    """Longer wait first, then returned ones, then the lower number; rows that tie in all stay as they stand."""
    rows = list(zip(waited_ms.tolist(), returned.tolist(), ticket.tolist(), strict=True))
    return sorted(range(len(rows)), key=lambda row: (-rows[row][0], not rows[row][1], rows[row][2]))


numbers = st.sampled_from(
    [
        st.integers(0, 3),
        st.integers(-5, 600_000),
        st.integers(LEAST, MOST),
        st.integers(LEAST, LEAST + 3),
        st.integers(MOST - 3, MOST),
        st.sampled_from([LEAST, -1, 0, MOST]),
    ]
)


@pytest.mark.parametrize("few", [0, order.FEW])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_the_canonical_order_is_that_of_the_three_columns(few: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 40))
    columns = [
        data.draw(npst.arrays(kind, count, elements=elements))
        for kind, elements in ((np.int64, data.draw(numbers)), (bool, st.booleans()), (np.int64, data.draw(numbers)))
    ]
    if data.draw(st.booleans()):
        columns[2].sort()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "FEW", few)
        found = canonical_order(*columns)
        assert found.tolist() == as_written(*columns)
        assert found.dtype == np.int64
        again = [column[found] for column in columns]
        assert canonical_order(*again).tolist() == list(range(count))


@pytest.mark.parametrize(("waits", "tickets"), [*product([1, 600_000, 2**40, 2**62], repeat=2)])
def test_the_canonical_order_of_many_rows(waits: int, tickets: int) -> None:
    rng = np.random.default_rng(5)
    columns = rng.integers(0, waits, 50_000), rng.random(50_000) < 0.1, rng.integers(-tickets, tickets, 50_000)
    expected = np.lexsort((columns[2], ~columns[1], ~columns[0]))
    assert (canonical_order(*columns) == expected).all()
    rising = columns[0], columns[1], np.sort(columns[2])
    assert (canonical_order(*rising) == np.lexsort((rising[2], ~rising[1], ~rising[0]))).all()


@settings(max_examples=50, deadline=None)
@given(snapshot=snapshots(formats=[Format(2, 1), Format(2, 3)]), data=st.data())
def test_a_snapshot_of_some_rows_has_their_players(snapshot: Snapshot, data: st.DataObject) -> None:
    names = {name: getattr(snapshot, name) for name in Snapshot.__struct_fields__}
    snapshot = Snapshot(**(names | {"traits": {"region": tuple(f"r{number}" for number in snapshot.player.tolist())}}))
    rows = data.draw(st.permutations(range(len(snapshot)))) if len(snapshot) else []
    rows = rows[: data.draw(st.integers(0, len(rows)))]
    part = snapshot.take(np.array(rows, np.int64))
    start, players = snapshot.player_start.tolist(), snapshot.player.tolist()
    expected = [players[place] for row in rows for place in range(start[row], start[row + 1])]
    assert part.player.tolist() == expected
    assert part.traits == {"region": tuple(f"r{number}" for number in expected)}
    assert part.facts["rating"].tolist() == snapshot.facts["rating"][expected].tolist() if expected else True
    assert part.size.tolist() == [start[row + 1] - start[row] for row in rows]
    assert part.ticket.tolist() == [int(snapshot.ticket[row]) for row in rows]
    assert part.player_start.dtype == np.int64
