"""The best plan there is, for tiny pools: the yardstick that other matchers are measured against in tests.

Problem. Among a few tickets find the plan that seats the most players, and of those the one of least total cost
(`cost.match_cost`). Of plans equal in both, the earliest ticket decides: seated before left, then with the companions
that come first in canonical order, then in the teams that come first; and so on with the next ticket.

Idea. The pool is the first `pool_max` tickets in canonical order that fit into a team at all. Every set of them that
makes exactly one match is divided into teams as evenly as can be; then every plan made of such sets is weighed. Both
searches are in `numerics/best_plan`, with the reasons why they are right.

Complexity. At most 2^pool sets and remainders. With 12 tickets the worst formats (3x3, 5x2) try some 60,000 divisions
in a few milliseconds; pairs of single players take a tenth of one.
"""

from typing import Any, ClassVar

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import plan_from_matches, with_format
from evenmatch.matchers.cost import match_cost
from evenmatch.matchers.parameters import whole_number
from evenmatch.numerics.best_plan import best_sets, divisions
from evenmatch.numerics.quality import rating_totals

__all__ = ["Exact"]


class Exact:
    """The best plan over the longest waiting tickets; see the note above."""

    name: ClassVar[str] = "exact"
    reads_misses: ClassVar[bool] = False

    def __init__(self, *, pool_max: int = 12) -> None:
        """`pool_max`: how many tickets are looked at, 1 to 14; time grows about threefold with each."""
        self.pool_max = whole_number("exact", "pool_max", pool_max, least=1, most=14)

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:  # noqa: ARG002 nothing is random
        """The matches in the order of their earliest tickets."""
        snapshot = with_format(self, snapshot)
        form, order = snapshot.format, snapshot.canonical_order()
        if not snapshot.solo:
            order = order[snapshot.size[order] <= form.size]
        pool = order[: self.pool_max]
        size, total = snapshot.size[pool], rating_totals(snapshot)[pool]
        masks, places, team_of = divisions(size, total, form.teams, form.size)
        cost = match_cost(snapshot, np.where(places < 0, -1, pool[places]) if len(pool) else places, team_of)
        matches = best_sets(size, masks, cost, form.seats)
        left = np.full(len(snapshot), Reason.PARTY_TOO_LARGE, np.int8)
        left[order] = Reason.BEYOND_POOL
        left[pool] = reasons_in_pool(masks, size, form.seats)
        seated = places[matches] >= 0
        rows, tickets = pool[places[matches][seated]], seated.sum(axis=1)
        return plan_from_matches(
            snapshot,
            rows=rows,
            teams=team_of[matches][seated],
            tickets=tickets,
            left=left,
            cost=cost[matches],
            details={"bound": float(cost[matches].sum()), "optimality_gap": 0.0},
            trace=account(snapshot.ticket[rows], tickets, cost[matches]) if trace else (),
        )


def account(tickets: Array, per_match: Array, cost: Array) -> tuple[dict[str, Any], ...]:
    """The trace: for each match its tickets, in canonical order, and its cost."""
    matches = np.split(tickets, np.cumsum(per_match)[:-1]) if len(per_match) else []
    return tuple(
        {"tickets": match.tolist(), "cost": price} for match, price in zip(matches, cost.tolist(), strict=True)
    )


def reasons_in_pool(masks: Array, size: Array, seats: int) -> Array:
    """int8[pool]: why each ticket would be in no match. One that could play stood in a better plan's way."""
    if size.sum() < seats:
        return np.full(len(size), Reason.TOO_FEW_PLAYERS, np.int8)
    playable = np.bitwise_or.reduce(masks)
    able = playable >> np.arange(len(size) - 1, -1, -1) & 1 == 1
    return np.where(able, np.int8(Reason.LESS_EVEN), np.int8(Reason.NO_FITTING_PARTIES))
