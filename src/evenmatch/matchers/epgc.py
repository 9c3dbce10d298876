"""EPGC, Equivalence Partition with Greedy Clique: skill tiers first, then lobbies that are close in ping.

Problem. One-team lobbies of N single players who are of one skill tier, have pings close together, and have waited
long. Rating decides only the tier; within it ping and wait decide.

Idea. The document's three stages, with its names:

    CLASSIFY      rating -> tier, half-open: [1000, 1500) is Silver. "Same tier" is an equivalence relation.
    BUILD GRAPH   every pair of a tier has a weight, w(i, j) = -alpha * |ping_i - ping_j| + beta * min(wait_i, wait_j),
                  ping in whole ms, wait in s.
    FIND LOBBY    seed = the highest weighted degree WD, the sum of a player's weights to all others of the tier; then
                  N - 1 times the candidate with the highest sum of weights to the lobby.
    drain         (ours: the document makes one lobby) FIND LOBBY over those who are left, until fewer than N are.

Tiers are served from the lowest up. Ties go to the earlier in canonical order.

Scores are compared by one float expression of two exact integer sums, and only the longest waiter of each ping is
looked at: `numerics/greedy_clique` says why that gives the same lobbies, and what they cost. The document builds the
graph, O(V^2) for each lobby; `build_graph` is here for those who want to see it.

What is promised. Exactly the document's greedy lobbies. They are not proven to be best: the plan has no bound. On the
document's sample the greedy lobby is the best of all fifteen, 470.5.

How we differ. Table I is wrong in four of six degrees (tests/matchers/test_epgc.py has both); a negative alpha, which
would seek distant pings, is refused like a negative beta. The trace is Table III, a step for each of its lines; it
holds a number for every candidate of every pick, V^2 / 2 of them for a drained tier.

Source: "Equivalence Partition with Greedy Clique" (../shared/seeds, 000); NOTES.md there settles what it leaves open.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike

from evenmatch.domain.arrays import Array
from evenmatch.domain.explanation import Explanation
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import TEAM_SIZE_MAX, Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.table import Choice, Table
from evenmatch.domain.ticket import FACT_MAX
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import require_seatable
from evenmatch.matchers.explaining import nearest_of, of_pairs, players_missing
from evenmatch.matchers.parameters import number, whole_number
from evenmatch.numerics import greedy_clique
from evenmatch.numerics.tier_places import WAIT_MS_MAX, by_tier, by_wait

__all__ = [
    "BOUNDARIES",
    "Epgc",
    "build_graph",
    "classify",
    "drain",
    "find_lobby",
    "lobby_weight",
    "tier_names",
    "weighted_degrees",
]

BOUNDARIES: Final = (1000, 1500, 2000, 2500)
TIERS: Final = ("Bronze", "Silver", "Gold", "Platinum", "Diamond")
NOBODYS: Final = np.empty(0)
SEATED: Final = np.int8(Reason.SEATED)
TOO_SMALL: Final = np.int8(Reason.TIER_TOO_SMALL)


class Epgc:
    """Lobbies by tier, ping and wait; see the note above."""

    name: ClassVar[str] = "epgc"
    reads_misses: ClassVar[bool] = False
    requires: ClassVar[tuple[tuple[str, ...], ...]] = (("ping_ms",),)

    def __init__(
        self,
        *,
        lobby_size: int = 10,
        alpha: float = 1.5,
        beta: float = 0.5,
        boundaries: Sequence[float] = BOUNDARIES,
    ) -> None:
        """`alpha`: weight lost per ms of ping difference; `beta`: gained per s of the lesser wait.

        `boundaries`: the lowest rating of each tier but the first, ascending.
        """
        self.lobby_size = whole_number("epgc", "lobby_size", lobby_size, least=2, most=TEAM_SIZE_MAX)
        self.alpha = number("epgc", "alpha", alpha, least=0, most=FACT_MAX)
        self.beta = number("epgc", "beta", beta, least=0, most=FACT_MAX)
        self.boundaries = _ascending(boundaries)

    def cannot_seat(self, form: Format, party: int) -> str | None:
        """Why a format can't be played or a party not seated: lobbies are one team of single players."""
        if form != Format(1, self.lobby_size):
            return f"lobby_size={self.lobby_size} plays the format 1x{self.lobby_size}, not {form}"
        if party != 1:
            return f"only single players can be seated, not a party of {party}"
        return None

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:  # noqa: ARG002 nothing is random
        """The lobbies tier by tier from the lowest, in the order they were found; teams in order of selection."""
        snapshot = require_seatable(self, snapshot)
        rows, ping, wait, edges = _tiers(snapshot, self.boundaries)
        lobbies, weights, tiers = greedy_clique.drain(ping, wait, edges, self.lobby_size, self.alpha, self.beta)
        rosters = rows[lobbies].astype(np.int32)
        reasons = np.full(len(snapshot), TOO_SMALL)
        reasons[rosters] = SEATED
        steps = self._account(snapshot.ticket[rows], ping, wait, edges, tiers, lobbies) if trace else ()
        return Plan(
            rosters=rosters,
            team_of=np.zeros(rosters.shape, np.int8),
            cost=0.0 - weights,
            reasons=reasons,
            details={"bound": None, "optimality_gap": None},
            match_details=Table({"tier": Choice(tiers, tier_names(self.boundaries)), "weight": weights}),
            trace=tuple(steps),
        )

    def explain(self, snapshot: Snapshot, row: int) -> Explanation:
        """Who is of a row's tier, and how many its lobby lacks; time brings nobody into another tier."""
        snapshot = require_seatable(self, snapshot)
        rows, _, _, edges = _tiers(snapshot, self.boundaries)
        tier = np.empty(len(snapshot), np.int64)
        tier[rows] = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        name = tier_names(self.boundaries)[int(tier[row])]
        other = tier != tier[row]
        ping = snapshot.facts["ping_ms"]
        apart = np.where(other, np.inf, np.abs(ping - ping[row]))
        apart[row] = np.inf
        nearest = nearest_of(apart, "ms of ping", ~other)
        missing = players_missing(snapshot, int(np.count_nonzero(~other)), f" of tier {name}")
        rules = [("tier", f"it is of another tier than {name}", other)]
        return of_pairs(snapshot, row, rules, nearest=nearest, soonest=nearest, unlock=missing or "")

    def _account(
        self, tickets: Array, ping: Array, wait: Array, edges: Array, tiers: Array, lobbies: Array
    ) -> Iterator[dict[str, Any]]:
        """Table III of every lobby."""
        free, labels = np.ones(len(tickets), bool), tier_names(self.boundaries)
        for found, (tier, lobby) in enumerate(zip(tiers.tolist(), lobbies, strict=True)):
            begin, end = edges[tier : tier + 2].tolist()
            places, seated = slice(begin, end), lobby - begin
            lines = iterations(ping[places], wait[places], free[places], seated, tickets[places], self.alpha, self.beta)
            for line in lines:
                yield {"tier": labels[tier], "lobby": found} | line
            free[lobby] = False


def _ascending(boundaries: object) -> Sequence[float]:
    """The boundaries unchanged, if they are ascending numbers."""
    if not isinstance(boundaries, list | tuple):
        kind = type(boundaries).__name__
        raise MatcherError(f"epgc: boundaries must be a list of ascending numbers, not {boundaries!r} ({kind})")
    for place, value in enumerate(boundaries):
        number("epgc", f"boundaries[{place}]", value, least=-FACT_MAX, most=FACT_MAX)
        if place and not boundaries[place - 1] < value:
            raise MatcherError(f"epgc: boundaries must ascend, but {value} follows {boundaries[place - 1]}")
    return boundaries


def _tiers(snapshot: Snapshot, boundaries: Sequence[float]) -> tuple[Array, Array, Array, Array]:
    """int64[n] each: rows, pings and waits in ms, tier by tier from the lowest, in canonical order within each.

    And int64[tiers + 1], where each tier begins. A ticket without a usable ping or wait is named.
    """
    count = len(snapshot)
    ping_ms = snapshot.facts.get("ping_ms")
    if ping_ms is None:
        ping_ms = np.full(count, np.nan)
    rating = snapshot.facts.get("rating", NOBODYS)
    rows, ping, wait = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    edges = np.empty(len(boundaries) + 2, np.int64)
    floors = np.array(boundaries, np.float64)
    if not by_tier(snapshot.canonical_order(), ping_ms, snapshot.waited_ms, rating, floors, rows, ping, wait, edges):
        raise MatcherError(_unusable(snapshot, ping_ms))
    return rows, ping, wait, edges


def _unusable(snapshot: Snapshot, ping: Array) -> str:
    """The first ticket whose ping or wait can't be used, in words."""
    if (wrong := ~((ping >= 0) & (ping <= FACT_MAX))).any():
        row = int(wrong.argmax())
        said = "has no ping_ms" if math.isnan(ping[row]) else f"has a ping_ms of {ping[row]:g}"
        return f"epgc: ticket {int(snapshot.ticket[row])} {said}: 0 to {FACT_MAX:g} ms are needed"
    row = int(((snapshot.waited_ms < 0) | (snapshot.waited_ms > WAIT_MS_MAX)).argmax())
    return f"epgc: ticket {int(snapshot.ticket[row])} has waited {int(snapshot.waited_ms[row])} ms"


# CLASSIFY


def classify(rating: ArrayLike, boundaries: Sequence[float] = BOUNDARIES) -> Array:
    """int64[n]: the tier of each rating, counted from 0; a rating on a boundary is in the tier above it."""
    ratings = np.asarray(rating, np.float64)
    if np.isnan(ratings).any():
        raise MatcherError(f"epgc: rating[{int(np.isnan(ratings).argmax())}] is NaN: it is in no tier")
    edges = np.array(_ascending(boundaries), np.float64)
    return np.searchsorted(edges, ratings, side="right")


def tier_names(boundaries: Sequence[float] = BOUNDARIES) -> list[str]:
    """What the tiers are called: Bronze to Diamond for the document's boundaries, otherwise by their ratings."""
    if list(boundaries) == list(BOUNDARIES):
        return list(TIERS)
    if not boundaries:
        return ["all"]
    inner = [f"{low:g} to {high:g}" for low, high in pairwise(boundaries)]
    return [f"below {boundaries[0]:g}", *inner, f"{boundaries[-1]:g} and above"]


# BUILD GRAPH


def build_graph(ping_ms: ArrayLike, waited_s: ArrayLike, alpha: float = 1.5, beta: float = 0.5) -> Array:
    """float64[n, n]: the weight of every pair of players of one tier; 0 on the diagonal."""
    rows, by_place, waits = _columns(ping_ms, waited_s, alpha, beta)
    ping, wait = np.empty_like(by_place), np.empty_like(waits)
    ping[rows], wait[rows] = by_place, waits
    weights = greedy_clique.score(np.abs(ping[:, None] - ping), np.minimum(wait[:, None], wait), alpha, beta)
    np.fill_diagonal(weights, 0.0)
    return weights


def weighted_degrees(ping_ms: ArrayLike, waited_s: ArrayLike, alpha: float = 1.5, beta: float = 0.5) -> Array:
    """float64[n]: the sum of each player's weights to all others of the tier."""
    rows, ping, wait = _columns(ping_ms, waited_s, alpha, beta)
    degrees = np.empty(len(rows))
    greedy_clique.weighted_degrees(ping, wait, rows, float(alpha), float(beta), degrees)
    return degrees


def lobby_weight(ping_ms: ArrayLike, waited_s: ArrayLike, alpha: float = 1.5, beta: float = 0.5) -> float:
    """The sum of the weights of all pairs of these players."""
    _, ping, wait = _columns(ping_ms, waited_s, alpha, beta)
    one, other = np.triu_indices(len(ping), 1)
    apart, lesser = np.abs(ping[one] - ping[other]), np.minimum(wait[one], wait[other])
    return float(greedy_clique.score(apart.sum(), lesser.sum(), alpha, beta))


# FIND LOBBY


def find_lobby(
    ping_ms: ArrayLike,
    waited_s: ArrayLike,
    lobby_size: int,
    alpha: float = 1.5,
    beta: float = 0.5,
    *,
    seed: int | None = None,
) -> Array:
    """int64[lobby_size]: the rows of one lobby of one tier, in order of selection; `seed` = begin with that row.

    Ties go to the longer wait, then to the lower row.
    """
    rows, ping, wait = _columns(ping_ms, waited_s, alpha, beta)
    whole_number("find_lobby", "lobby_size", lobby_size, least=1, most=len(rows))
    first = -1
    if seed is not None:
        whole_number("find_lobby", "seed", seed, least=0, most=len(rows) - 1)
        first = int((rows == seed).argmax())
    lobby: Array = rows[greedy_clique.find_lobby(ping, wait, lobby_size, first, alpha, beta)]
    return lobby


def drain(
    ping_ms: ArrayLike,
    waited_s: ArrayLike,
    lobby_size: int,
    alpha: float = 1.5,
    beta: float = 0.5,
) -> Array:
    """int64[lobbies, lobby_size]: the rows of one lobby after the other, until one tier holds fewer than a lobby."""
    rows, ping, wait = _columns(ping_ms, waited_s, alpha, beta)
    whole_number("drain", "lobby_size", lobby_size, least=1, most=TEAM_SIZE_MAX)
    lobbies, _, _ = greedy_clique.drain(ping, wait, np.array([0, len(rows)]), lobby_size, alpha, beta)
    found: Array = rows[lobbies]
    return found


def iterations(
    ping: Array, wait: Array, free: Array, lobby: Array, tickets: Array, alpha: float, beta: float
) -> Iterator[dict[str, Any]]:
    """The lines of Table III for one lobby: who was added, and everybody's score.

    `ping` and `wait`, int64[n], are those of a tier in ms, waits falling; `free`, bool[n], says who was left in it.
    """
    for iteration, added in enumerate(lobby.tolist()):
        candidates = np.setdiff1d(np.flatnonzero(free), lobby[:iteration])
        if iteration:
            scores = greedy_clique.scores(ping, wait, candidates, lobby[:iteration], alpha, beta)
        else:
            scores = np.empty(len(candidates))
            everybody = np.arange(len(candidates))
            greedy_clique.weighted_degrees(
                ping[candidates], wait[candidates], everybody, float(alpha), float(beta), scores
            )
        yield {
            "iteration": iteration,
            "added": int(tickets[added]),
            "score": float(scores[candidates == added][0]),
            "scores": dict(zip(tickets[candidates].tolist(), scores.tolist(), strict=True)),
        }


def _columns(ping_ms: ArrayLike, waited_s: ArrayLike, alpha: float, beta: float) -> tuple[Array, Array, Array]:
    """int64[n] each: rows by longer wait, then row; their pings and waits in whole ms. What is unusable is named."""
    number("epgc", "alpha", alpha, least=0, most=FACT_MAX)
    number("epgc", "beta", beta, least=0, most=FACT_MAX)
    given, waited = np.asarray(ping_ms, np.float64), np.asarray(waited_s, np.float64)
    if given.ndim != 1 or waited.shape != given.shape:
        _name_unusable(given, waited)
    count = len(given)
    rows, ping, wait = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    if not by_wait(np.ascontiguousarray(given), np.ascontiguousarray(waited), rows, ping, wait):
        _name_unusable(given, waited)
    return rows, ping, wait


def _name_unusable(ping: Array, wait: Array) -> None:
    """Raise MatcherError for the first column or value that can't be used."""
    for column, values, most in (("ping_ms", ping, FACT_MAX), ("waited_s", wait, WAIT_MS_MAX / 1000.0)):
        if values.ndim != 1 or len(values) != len(ping):
            raise MatcherError(f"epgc: {column} has shape {values.shape}: one value a player is needed, as in ping_ms")
        if (wrong := ~((values >= 0) & (values <= most))).any():
            row = int(wrong.argmax())
            raise MatcherError(f"epgc: {column}[{row}] is {values[row]:g}: 0 to {most:g} is needed")
