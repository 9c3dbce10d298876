"""Cinder: full lobby against full lobby, by how their ratings are spread rather than by their means.

Problem. A lobby is a pre-made team. Two lobbies of equal mean can be very unequal: three masters with two beginners
against five average players. Pairs must be found whose whole distributions are alike, quickly.

Idea (the document's sections 2 to 4). A pair is judged in two stages, and acceptable if it passes both:

    1. center of ratings   clip to [lcap, ucap]; mean +- max(sigma, (ucap - lcap) / n_bucket) is the non-outlier range;
                           Ruzicka similarity of two ranges = length of overlap / length of union >= overlap_min
    2. fairness            every rating becomes the index of its bucket, narrow in the middle (`skill_buckets`);
                           sanction score = Wasserstein distance of the sorted indices <= sanction_max

    mode "best"    repeatedly the pair with the least score among all free pairs; ties to the earlier seeker, then to
                   the earlier opponent
    mode "first"   each lobby in canonical order takes the first acceptable one in canonical order: faster

Settled where the document is unclear. Sigma is that of the population; the range is not clipped again; equation 4.1 is
a sum, its quoted 2.8 and 11.2 are means over five players (`normalize` offers both); the positions of equation 3.1 are
those of `skill_buckets`. Lobbies of unequal size, which no queue has but a researcher may, are compared by quantiles:
mean = integral of |F^-1 - G^-1|, sum = mean * the larger size.

Why a heap does `best`. For each lobby i the heap holds its best free opponent j > i as (score, i, j). When the least
entry is taken out and j is gone, i's next best is looked up and put back; it can't be less than the old one, so the
least entry whose two lobbies are free is the least of all free pairs. Nothing of the size of all pairs is ever stored.

Why `first` looks ahead only. Acceptable is symmetric: an earlier lobby that is still free has already found every later
free one unacceptable.

Invariants.
  1. Ratings are sorted before they are added up: the order of players in a lobby changes nothing, not even rounding.
  2. A lobby is exactly one ticket and one team.

Complexity. One row of n comparisons for each lobby, and one more whenever its best opponent was taken: 3,000 lobbies of
five in under a second.

Source: S. Pal, "Cinder: a fast and fair matchmaking system" (2025), CC BY 4.0.
"""

import heapq
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.table import Table
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import plan_from_matches, require_seatable
from evenmatch.matchers.parameters import choice, number, whole_number
from evenmatch.numerics import skill_buckets, wasserstein

__all__ = ["Cinder", "bucket_edges", "overlap", "sanction_score"]

MODES: Final = ("best", "first")
NORMALIZE: Final = ("sum", "mean")
CAP_MAX: Final = 1e9
BUCKETS_MAX: Final = 10_000
SCORE_MAX: Final = 1e9


class Cinder:
    """Lobby against lobby; see the note above."""

    name: ClassVar[str] = "cinder"
    reads_misses: ClassVar[bool] = False

    def __init__(
        self,
        *,
        lcap: float = 0,
        ucap: float = 3000,
        n_bucket: int = 30,
        w_min: float = 20,
        overlap_min: float = 0.2,
        sanction_max: float = 17,
        mode: str = "best",
        normalize: str = "sum",
    ) -> None:
        """`lcap`, `ucap`: ratings beyond count as these. `n_bucket` buckets of at least `w_min` points. A pair needs an
        overlap of at least `overlap_min` and a sanction score of at most `sanction_max`; a score is the "sum" or the
        "mean" over players, as `normalize` says. `mode`: "best" or "first".
        """
        bucket_edges(lcap, ucap, n_bucket, w_min)
        self.lcap = lcap
        self.ucap = ucap
        self.n_bucket = n_bucket
        self.w_min = w_min
        self.overlap_min = number(self.name, "overlap_min", overlap_min, least=0, most=1)
        self.sanction_max = number(self.name, "sanction_max", sanction_max, least=0, most=SCORE_MAX)
        self.mode = choice(self.name, "mode", mode, MODES)
        self.normalize = choice(self.name, "normalize", normalize, NORMALIZE)

    def cannot_seat(self, form: Format, party: int) -> str | None:
        """Why a party of this size can't play in this format; None = it can."""
        if form.teams != 2:
            return f"it plays one lobby against one other, so the format must have 2 teams, not {form.teams}"
        if party != form.size:
            return f"a ticket must be a full team of {form.size}, not a party of {party}"
        return None

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:  # noqa: ARG002 nothing is random
        """The matches in order of selection; the earlier lobby of each is the first team."""
        snapshot = require_seatable(self, snapshot)
        order = snapshot.canonical_order()
        lobbies = self.lobbies(snapshot.take(order))
        pairs = best_pairs(lobbies) if self.mode == "best" else first_pairs(lobbies)
        places = np.array([(pair.seeker, pair.opponent) for pair in pairs], np.int64).reshape(len(pairs), 2)
        tickets = snapshot.ticket[order[places]].tolist()
        told: list[dict[str, Any]] = [{"overlap": pair.overlap, "sanction": pair.sanction} for pair in pairs]
        alone = len(order) - places.size < 2
        return plan_from_matches(
            snapshot,
            rows=order[places.ravel()],
            teams=np.tile(np.array([0, 1], np.int8), len(pairs)),
            tickets=np.full(len(pairs), 2),
            left=np.full(len(order), Reason.TOO_FEW_PLAYERS if alone else Reason.NO_FAIR_OPPONENT),
            cost=np.array([pair.sanction for pair in pairs], np.float64),
            details={"bound": None, "optimality_gap": None},
            match_details=Table.from_rows(told),
            trace=tuple({"tickets": t, **one} for t, one in zip(tickets, told, strict=True)) if trace else (),
        )

    def lobbies(self, ordered: Snapshot) -> "Lobbies":
        """What the two stages need to know of each lobby of a snapshot in canonical order."""
        count, size = len(ordered), ordered.format.size
        rating = ordered.facts.get("rating", np.full(count * size, np.nan)).reshape(count, size)
        if (missing := ~np.isfinite(rating).all(axis=1)).any():
            ticket = int(ordered.ticket[missing.argmax()])
            raise MatcherError(f"{self.name}: ticket {ticket} has a player without a usable rating")
        rating = np.sort(rating, axis=1)
        low, high = non_outlier_range(rating, self.lcap, self.ucap, self.n_bucket)
        edges = bucket_edges(self.lcap, self.ucap, self.n_bucket, self.w_min)
        buckets = skill_buckets.bucket_of(rating, edges).T.copy()
        divisor = size if self.normalize == "mean" else 1
        return Lobbies(low, high, buckets, divisor, self.overlap_min, self.sanction_max)


class Pair(NamedTuple):
    """Two lobbies that are matched, by their places in canonical order."""

    seeker: int
    opponent: int
    overlap: float
    sanction: float


class Lobbies(NamedTuple):
    """The columns of all lobbies in canonical order, and what makes two of them acceptable to each other."""

    low: Array
    """float64[n]: where the non-outlier range begins."""
    high: Array
    """float64[n]: where it ends."""
    buckets: Array
    """int64[size, n]: sorted bucket indices."""
    divisor: int
    """What a sum of index differences is divided by to become a score."""
    overlap_min: float
    sanction_max: float

    def acceptable(self, seeker: int, others: Array) -> tuple[Array, Array, Array]:
        """Those of the other places that pass both stages, with their overlaps and scores, in the order given."""
        overlaps = ruzicka(self.low[seeker], self.high[seeker], self.low[others], self.high[others])
        close = overlaps >= self.overlap_min
        others, overlaps = others[close], overlaps[close]
        total = np.zeros(len(others), np.int64)
        for column in self.buckets:
            total += np.abs(column[others] - column[seeker])
        scores = total / self.divisor
        fair = scores <= self.sanction_max
        return others[fair], overlaps[fair], scores[fair]


def best_pairs(lobbies: Lobbies) -> list[Pair]:
    """Mode `best`: the pairs in order of selection."""
    count = len(lobbies.low)
    free = np.ones(count, bool)
    heap: list[tuple[float, int, int, float]] = []

    def look_up(seeker: int) -> None:
        """Put the best free opponent after this lobby into the heap."""
        others, overlaps, scores = lobbies.acceptable(seeker, seeker + 1 + np.flatnonzero(free[seeker + 1 :]))
        if len(others):
            best = int(scores.argmin())  # the first of equals
            heapq.heappush(heap, (float(scores[best]), seeker, int(others[best]), float(overlaps[best])))

    for seeker in range(count):
        look_up(seeker)
    pairs: list[Pair] = []
    while heap:
        score, seeker, opponent, similarity = heapq.heappop(heap)
        if not free[seeker]:
            continue
        if not free[opponent]:
            look_up(seeker)
            continue
        free[[seeker, opponent]] = False
        pairs.append(Pair(seeker, opponent, similarity, score))
    return pairs


def first_pairs(lobbies: Lobbies) -> list[Pair]:
    """Mode `first`: the pairs in order of selection."""
    free = np.ones(len(lobbies.low), bool)
    pairs: list[Pair] = []
    for seeker in range(len(free)):
        if not free[seeker]:
            continue
        others, overlaps, scores = lobbies.acceptable(seeker, seeker + 1 + np.flatnonzero(free[seeker + 1 :]))
        if len(others):
            free[[seeker, int(others[0])]] = False
            pairs.append(Pair(seeker, int(others[0]), float(overlaps[0]), float(scores[0])))
    return pairs


def non_outlier_range(rating: Array, lcap: float, ucap: float, n_bucket: int) -> tuple[Array, Array]:
    """float64[n] each: where the range of each lobby begins and ends (equation 2.1); `rating` is sorted, [n, size]."""
    clipped = np.clip(rating, lcap, ucap)
    size = clipped.shape[1]
    # Columns are added one after the other, so that a sum does not depend on how numpy groups its terms.
    mean, variance = np.zeros(len(clipped)), np.zeros(len(clipped))
    for column in clipped.T:
        mean += column
    mean /= size
    for column in clipped.T:
        variance += (column - mean) ** 2
    sigma = np.maximum(np.sqrt(variance / size), (ucap - lcap) / n_bucket)
    return mean - sigma, mean + sigma


def ruzicka(low: Array, high: Array, other_low: Array, other_high: Array) -> Array:
    """float64: length of overlap / length of union of two ranges taken as indicator functions (equation 2.3)."""
    shared = np.minimum(high, other_high) - np.maximum(low, other_low)
    union = np.maximum(high, other_high) - np.minimum(low, other_low)
    similarity: Array = np.maximum(shared, 0.0) / union
    return similarity


def bucket_edges(lcap: float, ucap: float, n_bucket: int, w_min: float) -> Array:
    """float64[n_bucket + 1]: the edges of the skill buckets (equation 3.1), symmetric about the middle.

    Raises MatcherError, a ValueError, where n_bucket * w_min is more than the range, or an argument can't be used.

    >>> bucket_edges(0, 100, 5, 10).round(4).tolist()
    [0.0, 26.1941, 45.0, 55.0, 73.8059, 100.0]
    """
    whole_number("cinder", "n_bucket", n_bucket, least=1, most=BUCKETS_MAX)
    require_caps(lcap, ucap)
    number("cinder", "w_min", w_min, least=0, most=2 * CAP_MAX)
    try:
        return skill_buckets.edges(lcap, ucap, n_bucket, w_min)
    except ValueError as problem:
        raise MatcherError(f"cinder: w_min is too large for n_bucket: {problem}") from None


def require_caps(lcap: float, ucap: float) -> None:
    """Raise MatcherError unless lcap and ucap bound a range."""
    number("cinder", "lcap", lcap, least=-CAP_MAX, most=CAP_MAX)
    number("cinder", "ucap", ucap, least=-CAP_MAX, most=CAP_MAX)
    if not lcap < ucap:
        raise MatcherError(f"cinder: ucap must be more than lcap ({lcap:g}), not {ucap:g}")


def overlap(a: ArrayLike, b: ArrayLike, lcap: float, ucap: float, n_bucket: int) -> float:
    """The Ruzicka similarity, 0 to 1, of the non-outlier ranges of two lobbies given by their ratings."""
    require_caps(lcap, ucap)
    whole_number("cinder", "n_bucket", n_bucket, least=1, most=BUCKETS_MAX)
    low_a, high_a = non_outlier_range(ratings_of("a", a)[None], lcap, ucap, n_bucket)
    low_b, high_b = non_outlier_range(ratings_of("b", b)[None], lcap, ucap, n_bucket)
    return float(ruzicka(low_a, high_a, low_b, high_b)[0])


def sanction_score(a: ArrayLike, b: ArrayLike, edges: ArrayLike, normalize: str = "sum") -> float:
    """The Wasserstein distance of two lobbies, given by their ratings, in buckets of these edges.

    "mean": per player, the integral of |F^-1 - G^-1|; "sum": that times the size of the larger lobby.

    >>> sanction_score([100, 1500], [1400, 2900], bucket_edges(0, 3000, 10, 100))
    8.0
    """
    choice("cinder", "normalize", normalize, NORMALIZE)
    bounds = numbers_of(edges)
    if bounds is None or len(bounds) < 2 or not (np.diff(bounds) >= 0).all():
        raise MatcherError("cinder: edges must be two or more ascending numbers, such as bucket_edges gives")
    one, other = ratings_of("a", a), ratings_of("b", b)
    total, parts = wasserstein.work(skill_buckets.bucket_of(one, bounds), skill_buckets.bucket_of(other, bounds))
    return total * (max(len(one), len(other)) if normalize == "sum" else 1) / parts


def ratings_of(name: str, lobby: ArrayLike) -> Array:
    """float64[size]: the ratings of a lobby, sorted; raises MatcherError unless they are one or more finite numbers."""
    ratings = numbers_of(lobby)
    if ratings is None or not len(ratings):
        raise MatcherError(f"cinder: {name} must be the ratings of one or more players, all finite, not {lobby!r}")
    return np.sort(ratings)


def numbers_of(given: ArrayLike) -> Array | None:
    """float64[n]: what was given, or None if it is not a list of finite numbers."""
    try:
        found = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        return None
    return found if found.ndim == 1 and np.isfinite(found).all() else None
