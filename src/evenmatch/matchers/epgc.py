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
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import TEAM_SIZE_MAX, Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.table import Table
from evenmatch.domain.ticket import FACT_MAX, RATING_DEFAULT
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import plan_from_matches, require_seatable
from evenmatch.matchers.parameters import number, whole_number
from evenmatch.numerics.greedy_clique import Pool, score, total_weight
from evenmatch.numerics.quality import rating_totals

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
WAIT_S_MAX: Final = 1e9
"""Sums of a million such waits in ms still are int64."""


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
        order = snapshot.canonical_order()
        ping = _pings(snapshot)[order]
        wait = snapshot.waited_ms[order]
        tiers = classify(_ratings(snapshot)[order], self.boundaries)
        lobbies: list[Array] = []
        match_details: list[dict[str, Any]] = []
        steps: list[dict[str, Any]] = []
        labels = tier_names(self.boundaries)
        for tier in np.unique(tiers).tolist():
            places = np.flatnonzero(tiers == tier)
            pool = Pool(ping[places], wait[places], self.alpha, self.beta)
            while len(pool) >= self.lobby_size:
                lobby = pool.find_lobby(self.lobby_size)
                if trace:
                    about = {"tier": labels[tier], "lobby": len(lobbies)}
                    steps += [about | line for line in iterations(pool, lobby, snapshot.ticket[order[places]])]
                pool.seat(lobby)
                lobbies.append(places[lobby])
                weight = total_weight(ping[lobbies[-1]], wait[lobbies[-1]], self.alpha, self.beta)
                match_details.append({"tier": labels[tier], "weight": weight})
        rows = order[np.concatenate(lobbies)] if lobbies else np.empty(0, np.int64)
        return plan_from_matches(
            snapshot,
            rows=rows,
            teams=np.zeros(len(rows), np.int8),
            tickets=np.full(len(lobbies), self.lobby_size),
            left=np.full(len(snapshot), Reason.TIER_TOO_SMALL, np.int8),
            cost=np.array([0.0 - about["weight"] for about in match_details]),
            details={"bound": None, "optimality_gap": None},
            match_details=Table.from_rows(match_details),
            trace=tuple(steps),
        )


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


def _pings(snapshot: Snapshot) -> Array:
    """int64[n]: pings in whole ms, for tickets of one player; a ticket without a usable one is named."""
    ping = snapshot.facts.get("ping_ms", np.full(len(snapshot), np.nan))
    if (wrong := ~((ping >= 0) & (ping <= FACT_MAX))).any():
        row = int(wrong.argmax())
        said = "has no ping_ms" if math.isnan(ping[row]) else f"has a ping_ms of {ping[row]:g}"
        raise MatcherError(f"epgc: ticket {int(snapshot.ticket[row])} {said}: 0 to {FACT_MAX:g} ms are needed")
    if (early := snapshot.waited_ms < 0).any():
        row = int(early.argmax())
        raise MatcherError(f"epgc: ticket {int(snapshot.ticket[row])} has waited {int(snapshot.waited_ms[row])} ms")
    return np.rint(ping).astype(np.int64)


def _ratings(snapshot: Snapshot) -> Array:
    """float64[n]: ratings, for tickets of one player; one without a rating counts as average."""
    return rating_totals(snapshot) if "rating" in snapshot.facts else np.full(len(snapshot), RATING_DEFAULT)


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
    ping, wait, _ = _columns(ping_ms, waited_s, alpha, beta)
    weights = score(np.abs(ping[:, None] - ping), np.minimum(wait[:, None], wait), alpha, beta)
    np.fill_diagonal(weights, 0.0)
    return weights


def weighted_degrees(ping_ms: ArrayLike, waited_s: ArrayLike, alpha: float = 1.5, beta: float = 0.5) -> Array:
    """float64[n]: the sum of each player's weights to all others of the tier."""
    ping, wait, order = _columns(ping_ms, waited_s, alpha, beta)
    degrees = np.empty(len(ping))
    degrees[order] = Pool(ping[order], wait[order], alpha, beta).degrees(np.arange(len(ping)))
    return degrees


def lobby_weight(ping_ms: ArrayLike, waited_s: ArrayLike, alpha: float = 1.5, beta: float = 0.5) -> float:
    """The sum of the weights of all pairs of these players."""
    ping, wait, _ = _columns(ping_ms, waited_s, alpha, beta)
    return total_weight(ping, wait, alpha, beta)


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
    ping, wait, order = _columns(ping_ms, waited_s, alpha, beta)
    whole_number("find_lobby", "lobby_size", lobby_size, least=1, most=len(ping))
    pool = Pool(ping[order], wait[order], alpha, beta)
    if seed is None:
        return order[pool.find_lobby(lobby_size)]
    whole_number("find_lobby", "seed", seed, least=0, most=len(ping) - 1)
    return order[pool.find_lobby(lobby_size, first=int((order == seed).argmax()))]


def drain(
    ping_ms: ArrayLike,
    waited_s: ArrayLike,
    lobby_size: int,
    alpha: float = 1.5,
    beta: float = 0.5,
) -> Array:
    """int64[lobbies, lobby_size]: the rows of one lobby after the other, until one tier holds fewer than a lobby."""
    ping, wait, order = _columns(ping_ms, waited_s, alpha, beta)
    whole_number("drain", "lobby_size", lobby_size, least=1, most=TEAM_SIZE_MAX)
    pool = Pool(ping[order], wait[order], alpha, beta)
    lobbies = []
    while len(pool) >= lobby_size:
        lobbies.append(pool.find_lobby(lobby_size))
        pool.seat(lobbies[-1])
    return order[np.array(lobbies, np.int64).reshape(-1, lobby_size)]


def iterations(pool: Pool, lobby: Array, tickets: Array) -> Iterator[dict[str, Any]]:
    """The lines of Table III for a lobby that is found but not seated yet: who was added, and everybody's score."""
    for iteration, added in enumerate(lobby.tolist()):
        candidates = np.setdiff1d(np.flatnonzero(pool.free), lobby[:iteration])
        scores = pool.scores(candidates, lobby[:iteration]) if iteration else pool.degrees(candidates)
        yield {
            "iteration": iteration,
            "added": int(tickets[added]),
            "score": float(scores[candidates == added][0]),
            "scores": dict(zip(tickets[candidates].tolist(), scores.tolist(), strict=True)),
        }


def _columns(ping_ms: ArrayLike, waited_s: ArrayLike, alpha: float, beta: float) -> tuple[Array, Array, Array]:
    """int64[n] each: pings and waits in whole ms, and the rows by longer wait, then row; what is unusable is named."""
    number("epgc", "alpha", alpha, least=0, most=FACT_MAX)
    number("epgc", "beta", beta, least=0, most=FACT_MAX)
    ping, wait = np.asarray(ping_ms, np.float64), np.asarray(waited_s, np.float64)
    for column, values, most in (("ping_ms", ping, FACT_MAX), ("waited_s", wait, WAIT_S_MAX)):
        if values.ndim != 1 or len(values) != len(ping):
            raise MatcherError(f"epgc: {column} has shape {values.shape}: one value a player is needed, as in ping_ms")
        if (wrong := ~((values >= 0) & (values <= most))).any():
            row = int(wrong.argmax())
            raise MatcherError(f"epgc: {column}[{row}] is {values[row]:g}: 0 to {most:g} is needed")
    waited_ms = np.rint(wait * 1000.0).astype(np.int64)
    return np.rint(ping).astype(np.int64), waited_ms, np.argsort(-waited_ms, kind="stable")
