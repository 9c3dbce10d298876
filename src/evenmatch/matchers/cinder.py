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

How pairs are found. `numerics/lobby_ranges` measures lobbies, `numerics/lobby_tree` finds the closest or the earliest
acceptable one, `numerics/lobby_pairs` says why taking them so gives exactly the pairs above. Acceptable is symmetric.

Invariants.
  1. Ratings are sorted before they are added up: the order of players in a lobby changes nothing, not even rounding.
  2. A lobby is exactly one ticket and one team.
  3. Scores are compared as whole sums of index differences; dividing by the number of players keeps their order.

Complexity. A search in a tree for each lobby instead of a comparison with all others; 100,000 lobbies of five take
about a second. Lobbies of very many players without a pattern may still cost a comparison with most others each.

Source: S. Pal, "Cinder: a fast and fair matchmaking system" (2025), CC BY 4.0.
"""

from functools import lru_cache
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike

from evenmatch.domain.arrays import Array
from evenmatch.domain.explanation import Explanation
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.table import Table
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import require_seatable
from evenmatch.matchers.explaining import nearest_of, of_pairs
from evenmatch.matchers.looks import Overlaps
from evenmatch.matchers.parameters import choice, number, whole_number
from evenmatch.numerics import skill_buckets, wasserstein
from evenmatch.numerics.lobby_pairs import best_pairs, first_pairs
from evenmatch.numerics.lobby_ranges import Lobbies, measure, similarities

__all__ = ["Cinder", "bucket_edges", "overlap", "sanction_score"]

MODES: Final = ("best", "first")
NORMALIZE: Final = ("sum", "mean")
CAP_MAX: Final = 1e9
BUCKETS_MAX: Final = 10_000
SCORE_MAX: Final = 1e9
TEAMS: Final = np.array([0, 1], np.int8)
# As plain numbers, which numpy takes sooner than the members of an enum.
SEATED, TOO_FEW, NOBODY_FAIR = int(Reason.SEATED), int(Reason.TOO_FEW_PLAYERS), int(Reason.NO_FAIR_OPPONENT)


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
        lobbies = self.lobbies(snapshot, order)
        divisor = snapshot.format.size if self.normalize == "mean" else 1
        limit = gap_most(self.sanction_max, divisor)
        pairs = (best_pairs if self.mode == "best" else first_pairs)(lobbies, limit, self.overlap_min)
        rosters = order[pairs.places].astype(np.int32)
        team_of, reasons = np.empty(rosters.shape, np.int8), np.empty(len(order), np.int8)
        team_of[:] = TEAMS
        reasons.fill(TOO_FEW if len(order) - rosters.size < 2 else NOBODY_FAIR)
        reasons[rosters] = SEATED
        sanction = pairs.gaps / divisor
        told = Table({"overlap": pairs.overlaps, "sanction": sanction})
        return Plan(
            rosters=rosters,
            team_of=team_of,
            cost=sanction,
            reasons=reasons,
            details={"bound": None, "optimality_gap": None},
            match_details=told,
            trace=account(snapshot.ticket[rosters], told) if trace else (),
        )

    def explain(self, snapshot: Snapshot, row: int) -> Explanation:
        """Which lobbies overlap enough and are close enough; time changes nothing."""
        snapshot = require_seatable(self, snapshot)
        count = len(snapshot)
        low, high, buckets, _ = self.lobbies(snapshot, np.arange(count))
        divisor = snapshot.format.size if self.normalize == "mean" else 1
        alike = similarities(np.full(count, low[row]), np.full(count, high[row]), low, high)
        apart = np.abs(buckets.astype(np.int64) - buckets[row]).sum(axis=1)
        little, far = alike < self.overlap_min, apart > gap_most(self.sanction_max, divisor)
        others = np.arange(count) != row
        score = np.where(others & ~little, apart / divisor, np.inf)
        nearest = nearest_of(score, "sanction score", ~(little | far))
        unlock: str | None = None
        if others.any():
            found = bool((others & ~little & ~far).any())
            wanted = f"an overlap of {self.overlap_min:g} or more and a sanction score of {self.sanction_max:g} or less"
            unlock = "" if found else f"a lobby with {wanted}"
        rules = [
            ("overlap", f"the usual ranges overlap by less than {self.overlap_min:g}", little),
            ("sanction", f"the sanction score is above {self.sanction_max:g}", far),
        ]
        return of_pairs(snapshot, row, rules, nearest=nearest, soonest=nearest, unlock=unlock)

    def ranges(self, snapshot: Snapshot) -> tuple[Array, Array]:
        """float64[n] each: where the non-outlier range of each lobby begins and ends."""
        found = self.lobbies(snapshot, np.arange(len(snapshot)))
        return found.low, found.high

    def overlaps(self, snapshot: Snapshot, rows: Array) -> Overlaps:
        """Of these rows: the overlap with that other lobby with which it is largest; of equals the first."""
        low, high, *_ = self.lobbies(snapshot, np.arange(len(snapshot)))
        found = Overlaps.none(len(rows))
        for at, row in enumerate(rows.tolist() if len(snapshot) > 1 else ()):
            alike = similarities(np.full(len(low), low[row]), np.full(len(low), high[row]), low, high)
            alike[row] = -1.0
            other = int(alike.argmax())
            found.share[at] = alike[other]
            if alike[other] > 0:
                found.low[at], found.high[at] = max(low[row], low[other]), min(high[row], high[other])
        return found

    def lobbies(self, snapshot: Snapshot, order: Array) -> Lobbies:
        """What the two stages need to know of each lobby, in this order of rows."""
        rating = snapshot.facts.get("rating")
        if rating is None:
            rating = np.full(len(snapshot.player), np.nan)
        edges = cached_edges(self.lcap, self.ucap, self.n_bucket, self.w_min)
        lobbies = measure(rating, order, snapshot.format.size, self.lcap, self.ucap, edges)
        if lobbies.unrated >= 0:
            ticket = int(snapshot.ticket[order[lobbies.unrated]])
            raise MatcherError(f"{self.name}: ticket {ticket} has a player without a usable rating")
        return lobbies


def account(tickets: Array, told: Table) -> tuple[dict[str, Any], ...]:
    """The trace: a step for each match, with the numbers of its tickets, int64[k, 2]."""
    return tuple({"tickets": pair, **one} for pair, one in zip(tickets.tolist(), told, strict=True))


def gap_most(sanction_max: float, divisor: int) -> int:
    """The greatest sum of index differences whose score, the sum divided, is at most `sanction_max`."""
    gap = int(sanction_max * divisor)
    while gap / divisor > sanction_max:
        gap -= 1
    while (gap + 1) / divisor <= sanction_max:
        gap += 1
    return gap


def non_outlier_range(rating: Array, lcap: float, ucap: float, n_bucket: int) -> tuple[Array, Array]:
    """float64[n] each: where the range of each lobby begins and ends (equation 2.1); `rating` is float64[n, size]."""
    count, size = rating.shape
    lobbies = measure(np.ravel(rating), np.arange(count), size, lcap, ucap, np.linspace(lcap, ucap, n_bucket + 1))
    return lobbies.low, lobbies.high


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


@lru_cache(maxsize=64)
def cached_edges(lcap: float, ucap: float, n_bucket: int, w_min: float) -> Array:
    """The same, kept from wave to wave and therefore not writeable."""
    found = bucket_edges(lcap, ucap, n_bucket, w_min)
    found.flags.writeable = False
    return found


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
    return float(similarities(low_a, high_a, low_b, high_b)[0])


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
