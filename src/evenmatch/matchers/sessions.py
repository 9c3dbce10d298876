"""What `lom`, `m2l`, `l2m` and `random` share: leaders, and a plan of sessions round them.

Problem. Four algorithms answer one question: which members go to which leader? All else is the same, and must be, if
their results are to be compared: the same seed has to elect the same leaders.

Idea. n players in canonical order, sessions of h. k = floor(n / h) of them are leaders: drawn by the seed, or the first
k. The others are members. An algorithm is a function `picks(profiles, leaders, members, capacity)`: profiles of all
players and who of them leads in, int64[k, capacity] out, the members of each leader in the order in which they were
picked, capacity = h - 1. The k * m weights are not calculated, unless an algorithm looks at them.

    snapshot -> canonical order -> leaders, members -> profiles (`association`) -> picks -> one match a leader

Invariants.
  1. Leaders stand in canonical order, members too: the earliest of equals is always the one with the lowest index.
  2. A session costs the sum of its weights, correctly rounded, whatever the order of its members.
  3. Up to h - 1 members are left over; without enough players for one session nobody leads.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, ClassVar, Final, Protocol, TypeAlias

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.explanation import Explanation
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import TEAM_SIZE_MAX, Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.table import Table
from evenmatch.errors import MatcherError
from evenmatch.matchers.association import Declared, declared_features, profiles_of
from evenmatch.matchers.contract import plan_from_matches, require_seatable
from evenmatch.matchers.explaining import nearest_of, of_pairs
from evenmatch.matchers.parameters import choice, whole_number
from evenmatch.numerics.profiles import Profiles, pair_weights
from evenmatch.numerics.seeds import generator

__all__ = [
    "Picks",
    "assigned",
    "explain_session",
    "format_refusal",
    "judge_parameters",
    "judged_weights",
    "leads_session",
    "plan_sessions",
]

LEADERS: Final = ("random", "first")
TOO_FEW_PLAYERS, LEFT_OVER = int(Reason.TOO_FEW_PLAYERS), int(Reason.LEFT_OVER)
SALT_LEADERS: Final = 0
WEIGHT_MAX: Final = 1e300
SESSION_MAX: Final = 1_000_000

Picks: TypeAlias = Callable[[Profiles, Array, Array, int], Array]
"""(profiles, leaders int64[k], members int64[m], capacity) -> int64[k, capacity]: places in `members` for each leader,
in order of picking. Leaders and members are rows of the profiles."""


class SessionMatcher(Protocol):
    """A matcher that makes sessions round leaders."""

    name: ClassVar[str]
    reads_misses: ClassVar[bool]
    session_size: int
    leaders: str
    features: Declared | None

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan: ...


def judge_parameters(matcher: str, session_size: object, leaders: object, features: Any) -> None:
    """Raise MatcherError for a constructor argument that cannot be used."""
    whole_number(matcher, "session_size", session_size, least=1, most=TEAM_SIZE_MAX)
    choice(matcher, "leaders", leaders, LEADERS)
    declared_features(matcher, features)


def format_refusal(session_size: int, form: Format, party: int) -> str | None:
    """Why sessions of this size can't play a format, or seat a party of this size; None = they can."""
    wanted = Format(1, session_size)
    if form != wanted:
        return f"with session_size = {session_size} it plays the format {wanted}, not {form}"
    if party != 1:
        return f"it seats single players only, not a party of {party}"
    return None


def plan_sessions(
    matcher: SessionMatcher, snapshot: Snapshot, picks: Picks, *, seed: int, trace: bool, proven: bool = False
) -> Plan:
    """The sessions in the order of their leaders; `proven` says that no picks have a smaller total weight."""
    snapshot = require_seatable(matcher, snapshot)
    order = snapshot.canonical_order()
    size = matcher.session_size
    leaders, members = elected(len(order), size, matcher.leaders, seed)
    profiles = profiles_of(matcher.name, snapshot, matcher.features, order)
    seats = np.empty((len(leaders), size), np.int64)
    seats[:, 0] = leaders
    seats[:, 1:] = members[picks(profiles, leaders, members, size - 1)]
    weights = np.empty((len(leaders), size - 1))
    pair_weights(*profiles, leaders, seats[:, 1:].ravel(), weights.ravel())
    each = weights.tolist()
    cost = np.array([math.fsum(session) for session in each], np.float64)
    rows = order[seats]
    too_few = len(order) < size
    return plan_from_matches(
        snapshot,
        rows=rows.ravel(),
        teams=np.zeros(seats.size, np.int8),
        tickets=np.full(len(seats), size),
        left=np.full(len(order), TOO_FEW_PLAYERS if too_few else LEFT_OVER, np.int8),
        cost=cost,
        details={
            "bound": math.fsum(itertools.chain.from_iterable(each)) if proven else None,
            "optimality_gap": 0.0 if proven else None,
        },
        match_details=Table({"leader": snapshot.ticket[rows[:, 0]], "weight": cost}),
        trace=account(snapshot.ticket[rows].tolist(), each) if trace else (),
    )


def leads_session(matcher: SessionMatcher, snapshot: Snapshot, seed: int) -> Array:
    """bool[n]: who would lead a session if a wave with this seed saw the snapshot."""
    order = snapshot.canonical_order()
    leaders, _ = elected(len(order), matcher.session_size, matcher.leaders, seed)
    leads = np.zeros(len(order), bool)
    leads[order[leaders]] = True
    return leads


def explain_session(matcher: SessionMatcher, snapshot: Snapshot, row: int) -> Explanation:
    """Who is near to a row, and how many players a session lacks: there is no rule between two players."""
    snapshot = require_seatable(matcher, snapshot)
    everybody = np.arange(len(snapshot))
    weight = np.empty(len(snapshot))
    pair_weights(*profiles_of(matcher.name, snapshot, matcher.features, everybody), everybody[[row]], everybody, weight)
    weight[row] = np.inf
    nearest = nearest_of(weight, "association weight", np.ones(len(snapshot), bool))
    return of_pairs(snapshot, row, [], nearest=nearest, soonest=nearest)


def account(tickets: list[list[int]], weights: list[list[float]]) -> tuple[dict[str, Any], ...]:
    """A step a session: its leader, the members in order of picking, and what each of them weighs."""
    steps = zip(tickets, weights, strict=True)
    return tuple({"leader": seated[0], "members": seated[1:], "weights": each} for seated, each in steps)


def elected(count: int, session_size: int, leaders: str, seed: int) -> tuple[Array, Array]:
    """The places of the leaders and of the members in canonical order, both ascending."""
    sessions = count // session_size
    leads = np.zeros(count, bool)
    if leaders == "first":
        leads[:sessions] = True
    else:
        leads[generator(seed, SALT_LEADERS).permutation(count)[:sessions]] = True
    return leads.nonzero()[0], (~leads).nonzero()[0]


def judged_weights(matcher: str, weights: object, session_size: object) -> tuple[Array, int]:
    """A caller's matrix as float64[k, m], and the members that a leader gets; raises MatcherError for a wrong one."""
    if isinstance(session_size, np.integer):
        session_size = int(session_size)
    capacity = whole_number(matcher, "session_size", session_size, least=1, most=SESSION_MAX) - 1
    try:
        given = np.asarray(weights)
    except ValueError:
        raise MatcherError(f"{matcher}: weights must be a matrix: its rows are of different lengths") from None
    if given.ndim != 2:
        raise MatcherError(f"{matcher}: weights must be a leaders x members matrix, not of shape {given.shape}")
    if given.dtype.kind not in "iuf":
        raise MatcherError(f"{matcher}: weights must be a matrix of numbers, not of {given.dtype}")
    leaders, members = given.shape
    if not leaders:
        raise MatcherError(f"{matcher}: weights must have a row for at least one leader, not none")
    matrix = np.ascontiguousarray(given, np.float64)
    if members and not (matrix.min() >= -WEIGHT_MAX and matrix.max() <= WEIGHT_MAX):
        wrong = ~(np.abs(matrix) <= WEIGHT_MAX)
        leader, member = divmod(int(wrong.argmax()), members)
        value = matrix[leader, member]
        raise MatcherError(f"{matcher}: weights[{leader}, {member}] must be a finite number, not {value}")
    if members < leaders * capacity:
        raise MatcherError(
            f"{matcher}: {leaders} sessions of {capacity + 1} need {leaders * capacity} members, weights has {members}"
        )
    return matrix, capacity


def assigned(weights: Array, picked: Array) -> tuple[Array, float]:
    """int64[m]: the leader of each member or -1, and the total weight, of what was picked, int64[k, capacity]."""
    leader_of = np.full(weights.shape[1], -1)
    leader_of[picked] = np.arange(len(picked))[:, None]
    return leader_of, math.fsum(np.take_along_axis(weights, picked, axis=1).ravel().tolist())
