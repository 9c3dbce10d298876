"""Snapshots for tests: made by hand, or drawn by hypothesis."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot

FORMATS = [Format(t, s) for t, s in [(2, 1), (2, 2), (2, 3), (2, 5), (3, 2), (3, 4), (4, 1), (1, 2), (1, 4), (1, 5)]]


def snapshot_of(
    form: Format,
    parties: Sequence[Sequence[float]],
    *,
    ticket: Sequence[int] | None = None,
    waited_ms: Sequence[int] | None = None,
    returned: Sequence[bool] | None = None,
    group: Sequence[int] | None = None,
    facts: Mapping[str, Sequence[float]] | None = None,
    now_ms: int = 1_000_000,
) -> Snapshot:
    """The snapshot of these parties, each the ratings of its players; by default in canonical order already.

    `facts` are further columns, a value a player.
    """
    count = len(parties)
    ratings = np.array([rating for party in parties for rating in party], np.float64)
    columns: dict[str, Any] = {
        "ticket": np.array(range(100, 100 + count) if ticket is None else ticket, np.int64),
        "waited_ms": np.array(
            [1000 * (count - row) for row in range(count)] if waited_ms is None else waited_ms, np.int64
        ),
        "misses": np.zeros(count, np.int32),
        "returned": np.array([False] * count if returned is None else returned, bool),
        "group": np.array([0] * count if group is None else group, np.int32),
        "player_start": np.concatenate(([0], np.cumsum([len(party) for party in parties]))).astype(np.int64),
        "player": np.arange(len(ratings), dtype=np.int64),
    }
    known = {"rating": ratings, "ping_ms": np.full(len(ratings), np.nan)}
    known.update({name: np.array(values, np.float64) for name, values in (facts or {}).items()})
    for column in [*columns.values(), *known.values()]:
        column.flags.writeable = False
    return Snapshot(format=form, now_ms=now_ms, facts=known, **columns)


def sized(form: Format, sizes: Sequence[int]) -> Snapshot:
    """Parties of these sizes, all players rated 1500, in canonical order."""
    return snapshot_of(form, [[1500.0] * size for size in sizes])


@st.composite
def snapshots(
    draw: st.DrawFn,
    *,
    tickets_max: int = 30,
    formats: Sequence[Format] = FORMATS,
    groups: int = 1,
    oversize: bool = True,
    rating: st.SearchStrategy[float] | None = None,
    parties: Mapping[Format, Sequence[int]] | None = None,
    facts: Mapping[str, st.SearchStrategy[float]] | None = None,
    waited_ms: st.SearchStrategy[int] | None = None,
) -> Snapshot:
    """Any small snapshot: mixed parties, ties in the waiting time, ticket numbers in no order.

    `parties` says which party sizes a format is drawn with, if not all; `facts` how further columns are drawn.
    """
    form = draw(st.sampled_from(formats))
    count = draw(st.integers(0, tickets_max))
    allowed = range(1, form.size + oversize + 1) if parties is None else parties[form]
    largest = draw(st.integers(1, len(allowed)))
    size = draw(st.lists(st.sampled_from(allowed[:largest]), min_size=count, max_size=count))
    rated = st.integers(0, 40).map(lambda step: 60.0 * step) if rating is None else rating
    waits = st.integers(0, 5) if waited_ms is None else waited_ms
    ratings = draw(st.lists(rated, min_size=sum(size), max_size=sum(size)))
    starts = np.cumsum([0, *size]).tolist()
    return snapshot_of(
        form,
        [ratings[start:end] for start, end in pairwise(starts)],
        ticket=draw(st.permutations(range(100, 100 + count))),
        waited_ms=draw(st.lists(waits, min_size=count, max_size=count)),
        returned=draw(st.lists(st.booleans(), min_size=count, max_size=count)),
        group=draw(st.lists(st.integers(0, groups - 1), min_size=count, max_size=count)),
        facts={
            name: draw(st.lists(values, min_size=sum(size), max_size=sum(size)))
            for name, values in (facts or {}).items()
        },
    )


def relabelled(snapshot: Snapshot, ticket: Array) -> Snapshot:
    """The same snapshot with other ticket numbers."""
    names = [name for name in Snapshot.__struct_fields__ if name != "ticket"]
    return Snapshot(ticket=ticket, **{name: getattr(snapshot, name) for name in names})


def in_numbers(plan: Plan, snapshot: Snapshot) -> tuple[list[tuple[list[tuple[int, int]], float]], dict[int, int]]:
    """A plan as ticket numbers: matches as ([(ticket, team), ...], cost), and the reason of each ticket."""
    matches = []
    for roster, team_of, cost in zip(plan.rosters, plan.team_of, plan.cost, strict=True):
        filled = roster >= 0
        seats = zip(snapshot.ticket[roster[filled]].tolist(), team_of[filled].tolist(), strict=True)
        matches.append((list(seats), float(cost)))
    return matches, dict(sorted(zip(snapshot.ticket.tolist(), plan.reasons.tolist(), strict=True)))
