"""LOM, Leader Oriented Matchmaking: sessions round leaders, of the least total association weight there is.

Problem (the document's section 3). n players wait, sessions hold h. k = n / h leaders are chosen; every leader gets
exactly h - 1 members, so that the total association weight (smaller = closer) of leaders and their members is minimal.

Idea. Min-cost max-flow, as in the document's Figure 2, edges labelled (capacity, weight):

    S --(h-1, 0)--> leader --(1, W)--> member --(1, 0)--> T

Stages: leaders are elected (`sessions`), weights are calculated from profiles (`association`), and the flow is found
(`minimum_cost_flow`). Where n is no multiple of h, some members are left over: those that the optimum leaves out.

Invariants.
  1. The total is minimal, and proven so in every wave: prices are checked that bound all other solutions from below
     (`numerics/transport`). Hence `bound` is the total and `optimality_gap` 0.
  2. Between equal optima only the total is promised; but the same players and seed always give the same one.

How we differ. The document runs Edmonds-Karp, O(n^5), on the whole network. We bid on short lists of near leaders, mend
the rest by shortest paths, and then test every pair, without ever keeping all weights (`numerics/transport`); a few
players are seated by shortest paths alone (`numerics/few_leaders`). Its introduction says that a player joins the
leader with the highest association degree: that is `m2l`, not LOM.

Complexity. About linear in n for profiles of few features: a millisecond or two for n = 500, h = 10, a few seconds for
n = 100,000. Two features take longer than three, because prices reach farther on a plane than in space.

Source: the paper that proposes LOM and its association-based criterion, sections 3 (algorithm) and 4 (evaluation).
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from evenmatch.domain.arrays import Array
from evenmatch.domain.explanation import Explanation
from evenmatch.domain.match import Plan
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.association import Declared, counted, kept, required, words
from evenmatch.matchers.sessions import (
    assigned,
    explain_session,
    format_refusal,
    judge_parameters,
    judged_weights,
    leads_session,
    plan_sessions,
)
from evenmatch.numerics.few_leaders import FEW, few_broken, few_costs, seat_few
from evenmatch.numerics.profiles import Profiles
from evenmatch.numerics.transport import Problem, certificate_broken, matrix_problem, profile_problem, solve

__all__ = ["Lom", "assign"]


class Lom:
    """Sessions round leaders, of the least total weight; see the note above."""

    name: ClassVar[str] = "lom"
    reads_misses: ClassVar[bool] = False

    def __init__(self, *, session_size: int = 10, leaders: str = "random", features: Declared | None = None) -> None:
        """`session_size`: players in a session, the leader included. `leaders`: "random" or "first". `features`: a
        list of {name, kind = "numeric" | "categorical", weight = 1, scale = 1}; None = rating and ping.
        """
        judge_parameters(self.name, session_size, leaders, features)
        self.session_size = session_size
        self.leaders = leaders
        self.features = features

    @property
    def keeps(self) -> tuple[str, ...]:
        """What a queue must keep of its players for the declared features."""
        return kept(self.name, self.features)

    @property
    def requires(self) -> tuple[tuple[str, ...], ...]:
        """What every player must bring."""
        return required(self.name, self.features)

    @property
    def words(self) -> tuple[str, ...]:
        """Those of `keeps` that are words."""
        return words(self.name, self.features)

    def stands_for(self, snapshot: Snapshot | None) -> dict[str, Any]:
        """What counts where a parameter is left out."""
        return {"features": counted(self.name, self.features, snapshot)}

    def cannot_seat(self, form: Format, party: int) -> str | None:
        """Why a party of this size can't play in this format; None = it can."""
        return format_refusal(self.session_size, form, party)

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:
        """The sessions in the order of their leaders; members in canonical order."""
        return plan_sessions(self, snapshot, flow_by_profile, seed=seed, trace=trace, proven=True)

    def explain(self, snapshot: Snapshot, row: int) -> Explanation:
        """Who is near to a row, and how many players its session lacks."""
        return explain_session(self, snapshot, row)

    def leads(self, snapshot: Snapshot, seed: int) -> Array:
        """bool[n]: who leads in a wave with this seed."""
        return leads_session(self, snapshot, seed)


def assign(weights: ArrayLike, session_size: int) -> tuple[Array, float]:
    """The leader of each member, int64[m], -1 = left over, and the total weight, which is the least possible.

    `weights[i, j]` is the association weight of leader i and member j, smaller = closer. Every leader gets exactly
    `session_size - 1` members. Raises MatcherError, a ValueError, for fewer members than that takes, and for weights
    that are not a matrix of finite numbers.

    >>> leader_of, total = assign([[4, 1, 3, 7, 2], [2, 0, 5, 8, 6]], 3)
    >>> leader_of.tolist(), total
    ([1, 1, 0, -1, 0], 7.0)
    """
    matrix, capacity = judged_weights("lom", weights, session_size)
    return assigned(matrix, minimum_cost_flow(matrix, capacity))


def minimum_cost_flow(weights: Array, capacity: int) -> Array:
    """int64[k, capacity]: the members of each leader in an optimum, ascending; weights[k, m] are finite."""
    return _proven(matrix_problem(weights, capacity))


def flow_by_profile(profiles: Profiles, leaders: Array, members: Array, capacity: int) -> Array:
    """int64[k, capacity]: places in `members` for each leader in an optimum, ascending."""
    if not len(leaders) or not capacity:
        return np.empty((len(leaders), capacity), np.int64)
    if len(leaders) * len(members) <= FEW:
        return _proven_few(profiles, leaders, members, capacity)
    return _proven(profile_problem(profiles, leaders, members, capacity))


def _proven_few(profiles: Profiles, leaders: Array, members: Array, capacity: int) -> Array:
    """An optimum of a few players, its proof checked."""
    cost = np.empty((len(leaders), len(members)), np.int64)
    leader_of, v = np.empty((2, len(members)), np.int64)
    u = np.empty(len(leaders), np.int64)
    few_costs(*profiles, leaders, members, cost)
    seat_few(cost, capacity, leader_of, u, v)
    assert not few_broken(cost, capacity, leader_of, u, v)
    return _by_leader(leader_of, len(leaders), capacity)


def _proven(problem: Problem) -> Array:
    """An optimum of a problem, its proof checked."""
    found = solve(problem)
    broken = certificate_broken(problem, found)
    assert broken is None, broken
    return _by_leader(found.row_of, len(found.row_price), problem.capacity)


def _by_leader(leader_of: Array, leaders: int, capacity: int) -> Array:
    """int64[k, capacity]: who sits with each leader, ascending; -1 = with nobody."""
    order = leader_of.argsort(kind="stable")
    return order[len(order) - leaders * capacity :].reshape(leaders, capacity)
