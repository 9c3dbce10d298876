"""The best plan there is, for tiny pools: the yardstick that other matchers are measured against in tests.

Problem. Among a few tickets find the plan that seats the most players, and of those the one of least total cost
(`cost.match_cost`). Of plans equal in both, the earliest ticket decides: seated before left, then with the companions
that come first in canonical order, then in the teams that come first; and so on with the next ticket.

Idea. The pool is the first `pool_max` tickets in canonical order that fit into a team at all. Every set of them that
makes exactly one match is divided into teams as evenly as can be; then every plan made of such sets is weighed. Both
searches are in `numerics/best_plan`, with the reasons why they are right.

Complexity. At most 2^pool sets and remainders. With 12 tickets the worst formats (3x3, 5x2) try some 60,000 divisions
in a few milliseconds; pairs of single players take a twentieth of one.
"""

from typing import Any, ClassVar

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.explanation import Explanation
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import with_format
from evenmatch.matchers.parameters import whole_number
from evenmatch.matchers.party_fits import explain_parties
from evenmatch.numerics.best_plan import best_plan
from evenmatch.numerics.quality import rating_totals

__all__ = ["Exact"]

# As plain numbers, which numpy takes sooner than the members of an enum.
_SEATED, _PARTY_TOO_LARGE, _BEYOND_POOL, _TOO_FEW, _LESS_EVEN, _NO_FITTING = (
    int(reason)
    for reason in (
        Reason.SEATED,
        Reason.PARTY_TOO_LARGE,
        Reason.BEYOND_POOL,
        Reason.TOO_FEW_PLAYERS,
        Reason.LESS_EVEN,
        Reason.NO_FITTING_PARTIES,
    )
)


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
        size = snapshot.size[pool]
        places, team_of, cost, playable = best_plan(size, rating_totals(snapshot)[pool], form.teams, form.size)
        reasons = np.empty(len(snapshot), np.int8)
        if len(order) < len(snapshot):
            reasons.fill(_PARTY_TOO_LARGE)
        reasons[order] = _BEYOND_POOL
        reasons[pool] = reasons_in_pool(playable, size, form.seats)
        seated = places >= 0
        width = int(np.count_nonzero(seated, axis=1).max()) if len(cost) else 0
        rosters = np.where(seated, pool[places], -1)[:, :width].astype(np.int32)
        rows = pool[places[seated]]
        reasons[rows] = _SEATED
        return Plan(
            rosters=rosters,
            team_of=np.ascontiguousarray(team_of[:, :width]),
            cost=cost,
            reasons=reasons,
            details={"bound": float(cost.sum()), "optimality_gap": 0.0},
            trace=account(snapshot.ticket[rows], seated.sum(axis=1), cost) if trace else (),
        )

    def explain(self, snapshot: Snapshot, row: int) -> Explanation:
        """Who could be in a match with a row, and what is missing for one."""
        snapshot = with_format(self, snapshot)
        order = snapshot.canonical_order()
        beyond = np.zeros(len(snapshot), bool)
        beyond[order[snapshot.size[order] <= snapshot.format.size][self.pool_max :]] = True
        return explain_parties(snapshot, row, beyond)


def account(tickets: Array, per_match: Array, cost: Array) -> tuple[dict[str, Any], ...]:
    """The trace: for each match its tickets, in canonical order, and its cost."""
    matches = np.split(tickets, np.cumsum(per_match)[:-1]) if len(per_match) else []
    return tuple(
        {"tickets": match.tolist(), "cost": price} for match, price in zip(matches, cost.tolist(), strict=True)
    )


def reasons_in_pool(playable: int, size: Array, seats: int) -> list[int]:
    """Why each ticket of a pool would be in no match. One that could play stood in a better plan's way.

    `playable` has a bit a ticket, the earliest highest: it is in some set that makes a match.
    """
    pool = len(size)
    if size.sum() < seats:
        return [_TOO_FEW] * pool
    return [_LESS_EVEN if playable >> bit & 1 else _NO_FITTING for bit in range(pool - 1, -1, -1)]
