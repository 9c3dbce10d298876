"""Parameters that fit a game's own players: tiers from ratings, cinder's buckets from lobbies, windows from arrivals.

Tiers. Three ways to cut ratings into classes: `quantiles` makes classes of equal size; `histogram` the same, but at
round numbers, so that people can remember them; `kmeans` puts boundaries where ratings are thin, half-way between the
means of what clusters (Lloyd's algorithm from the quantiles on: one column, one answer). Sizes are told for each, and
what would change against the document's 1000, 1500, 2000 and 2500.

Cinder. The range is symmetric about the median and holds all but the outermost hundredth, so that narrow buckets lie
where most players are; `w_min` keeps the document's ratio to it. The sanction score is cut so that the best share of
random pairs of one's own lobbies is accepted.

Windows. As many come a minute as come; a window is wide enough when, with a chance of 90 %, somebody within it comes
during the wait that is given to it: 1 - exp(-rate * wait * share within) = 0.9. The first window is that of a median
player and half of the wait (or a wave, if that is longer), the last that of one at the edge (the 2.5 % at either end
are beyond it) and the whole wait. `even` measures a match by the range from its lowest to its highest rating, so for
larger matches the window is the narrowest range round a player in which, with the same chance, all the others come.
But a crowd makes it no narrower than `even` has it by itself, 100 points and one a second on a scale of 400: it puts
the nearest together anyway, and a narrow window would only make them wait.
"""

import math
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.errors import LabError
from evenmatch.matchers.cinder import non_outlier_range
from evenmatch.numerics.lobby_ranges import similarities
from evenmatch.numerics.seeds import generator
from evenmatch.numerics.skill_buckets import bucket_of, edges

from . import files

__all__ = ["Cinder", "Tiers", "Windows", "cinder_of", "even_of", "least_wait_s", "lobbies_of", "tiers_of", "windows_of"]

DOCUMENT: Final = (1000.0, 1500.0, 2000.0, 2500.0)
WAYS: Final = ("quantiles", "histogram", "kmeans")
CHANCE: Final = 0.9
EDGE: Final = 0.025
OUTSIDE: Final = 0.005
"""At either end, beyond cinder's range."""
OVERLAP: Final = 0.2
"""Cinder's own least overlap (overlap_min)."""
SCALE: Final = 400.0
"""The `rating_scale` of `even`, if nothing is said."""
_PASSES: Final = 300
_PAIRS: Final = 100_000
_RATIO: Final = 0.2
"""Of cinder's narrowest bucket to a bucket of mean width: 20 of 100 in the document."""
_LADDER: Final = ((0.75, 25 / 35), (1.0, 1.0), (1.25, 45 / 35))
"""The document's windows under high and low pressure, against those under moderate pressure: base and growth."""


class Way(msgspec.Struct, frozen=True):
    """One way to cut."""

    boundaries: tuple[float, ...]
    shares: tuple[float, ...]
    """Of the players, a tier each."""
    largest_to_smallest: float | None
    """How unequal tiers are; None = one is empty."""
    moved: float
    """The share of players whose tier is not the one that the document's boundaries give them."""


class Tiers(msgspec.Struct, frozen=True):
    """Ratings cut into tiers."""

    players: int
    ways: dict[str, Way]
    document: Way


class Cinder(msgspec.Struct, frozen=True):
    """Cinder's parameters."""

    lobbies: int
    skipped: int
    """Lobbies of another size than most."""
    size: int
    pairs: int
    parameters: dict[str, Any]
    scored: float
    """The share of pairs that the score lets through: what was asked for, or a little more, as scores are whole."""
    accepted: float
    """The share of pairs that both the score and the overlap let through."""


class Windows(msgspec.Struct, frozen=True):
    """Windows that grow."""

    arrivals_a_minute: float
    wait_s: float
    every_s: float
    first: float
    last: float
    ladder: dict[str, Any]
    buckets: dict[str, Any]
    even: dict[str, Any]


def tiers_of(ratings: Array, tiers: int = 5) -> Tiers:
    """Every way to cut ratings into so many tiers."""
    if not 2 <= tiers <= 50:
        raise LabError(f"{tiers} tiers cannot be made: use 2 to 50")
    if len(np.unique(ratings)) < tiers:
        raise LabError(f"{tiers} tiers need as many different ratings, and there are {len(np.unique(ratings))}")
    exact = np.quantile(ratings, np.arange(1, tiers) / tiers)
    found = {"quantiles": exact, "histogram": _rounded(ratings, exact), "kmeans": _means(ratings, exact)}
    return Tiers(len(ratings), {name: _way(ratings, cuts) for name, cuts in found.items()}, _way(ratings, DOCUMENT))


def _way(ratings: Array, boundaries: Any) -> Way:
    cuts = np.asarray(boundaries, np.float64)
    tier = np.searchsorted(cuts, ratings, "right")
    counts = np.bincount(tier, minlength=len(cuts) + 1)
    moved = float((tier != np.searchsorted(np.array(DOCUMENT), ratings, "right")).mean())
    unequal = float(counts.max() / counts.min()) if counts.min() else None
    shares = tuple(round(float(count) / len(ratings), 6) for count in counts)
    return Way(tuple(round(float(cut), 3) for cut in cuts), shares, unequal and round(unequal, 3), round(moved, 6))


def _rounded(ratings: Array, exact: Array) -> Array:
    """The roundest boundaries (1, 2 or 5 times a power of ten apart) that keep tiers within a tenth of each other."""
    spread = float(np.ptp(ratings))
    for step in [m * 10.0**power for power in range(6, -4, -1) for m in (5, 2, 1)]:
        if step > spread:
            continue
        cuts = np.unique(np.round(exact / step) * step)
        if len(cuts) == len(exact):
            counts = np.bincount(np.searchsorted(cuts, ratings, "right"), minlength=len(cuts) + 1)
            if counts.min() * 1.1 >= counts.max():
                return cuts
    return exact


def _means(ratings: Array, cuts: Array) -> Array:
    """Boundaries half-way between the means of the classes, until they stay where they are."""
    ordered = np.sort(ratings)
    total = np.concatenate([[0.0], np.cumsum(ordered)])
    for _ in range(_PASSES):
        places = np.concatenate([[0], np.searchsorted(ordered, cuts, "right"), [len(ordered)]])
        counts = np.diff(places)
        if not counts.all():
            break
        means = np.diff(total[places]) / counts
        fresh = (means[1:] + means[:-1]) / 2
        if np.allclose(fresh, cuts, rtol=0.0, atol=1e-9):
            break
        cuts = fresh
    return cuts


def lobbies_of(path: Path, lobby: str, rating: str) -> tuple[Array, int]:
    """float64[n, size]: the ratings of the lobbies of a file with a row a player; and how many had another size."""
    found: dict[str, list[float]] = {}
    for name, value in files.labelled(path, lobby, rating):
        found.setdefault(name, []).append(value)
    sizes = [len(one) for one in found.values()]
    usual = max(sorted(set(sizes)), key=sizes.count)
    kept = [one for one in found.values() if len(one) == usual]
    if len(kept) < 2 or usual < 1:
        raise LabError(f"{path}: two lobbies of one size are needed to compare any, and there are {len(kept)}")
    return np.array(kept), len(found) - len(kept)


def cinder_of(lobbies: Array, skipped: int = 0, accept: float = 0.2, n_bucket: int = 30, seed: int = 1) -> Cinder:
    """Buckets for these lobbies, and the score up to which the best share of their pairs is accepted."""
    if not 0 < accept < 1:
        raise LabError(f"a share of {accept:g} cannot be accepted: use more than 0 and less than 1")
    if not 2 <= n_bucket <= 1000:
        raise LabError(f"{n_bucket} buckets cannot be made: use 2 to 1000")
    flat = np.ravel(lobbies)
    middle = float(np.median(flat))
    reach = max(middle - float(np.quantile(flat, OUTSIDE)), float(np.quantile(flat, 1 - OUTSIDE)) - middle)
    reach = max(1.0, math.ceil(reach / 50) * 50.0 if reach > 100 else math.ceil(reach))
    lcap, ucap = round(middle) - reach, round(middle) + reach
    w_min = float(f"{_RATIO * 2 * reach / n_bucket:.3g}")
    bucket = np.sort(bucket_of(np.clip(lobbies, lcap, ucap), edges(lcap, ucap, n_bucket, w_min)), axis=1)
    one, other = _pairs(len(lobbies), seed)
    score = np.abs(bucket[one] - bucket[other]).sum(axis=1)
    limit = int(np.sort(score)[max(0, math.ceil(accept * len(score)) - 1)])
    low, high = non_outlier_range(np.clip(lobbies, lcap, ucap), lcap, ucap, n_bucket)
    overlap = similarities(low[one], high[one], low[other], high[other])
    scored = float((score <= limit).mean())
    accepted = float(((score <= limit) & (overlap >= OVERLAP)).mean())
    parameters = {"lcap": lcap, "ucap": ucap, "n_bucket": n_bucket, "w_min": w_min, "sanction_max": limit}
    return Cinder(len(lobbies), skipped, lobbies.shape[1], len(score), parameters, round(scored, 6), round(accepted, 6))


def _pairs(count: int, seed: int) -> tuple[Array, Array]:
    """All pairs, or where there are too many of them, some by chance."""
    if count * (count - 1) // 2 <= _PAIRS:
        one, other = np.triu_indices(count, 1)
        return one, other
    chance = generator(seed, 40)
    one = chance.integers(count, size=_PAIRS)
    return one, (one + 1 + chance.integers(count - 1, size=_PAIRS)) % count


def least_wait_s(arrivals_a_minute: float, others: int = 1) -> float:
    """How long it takes until, with a chance of 90 %, so many others have come, whoever they are."""
    return _wanted(others) * 60.0 / arrivals_a_minute


def _wanted(others: int) -> float:
    """How many have to be expected so that, with a chance of 90 %, so many do come (Poisson)."""
    low, high = 0.0, 10.0 * others + 10.0
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        missed = sum(math.exp(n * math.log(middle) - middle - math.lgamma(n + 1)) for n in range(others))
        low, high = (middle, high) if missed > 1 - CHANCE else (low, middle)
    return high


def windows_of(ratings: Array, arrivals_a_minute: float, wait_s: float = 60.0, every_s: float = 5.0) -> Windows:
    """Windows with which nine in ten find somebody within the wait."""
    first, last = _widths(ratings, arrivals_a_minute, wait_s, every_s, 1)
    waves = max(1, round(wait_s / every_s) - 1)
    growth = max(1, math.ceil((last - first) / waves))
    base = max(1, round(first))
    ladder = {"windows": [[round(base * b), max(1, round(growth * g))] for b, g in _LADDER]}
    width = max(1, base)
    steps = max(1, math.ceil((last - base) / width))
    buckets = {"bucket": width, "growth_s": max(0.1, round(wait_s / steps, 1)), "range_max": steps + 1}
    even = even_of(ratings, arrivals_a_minute, 2, wait_s, every_s)
    return Windows(arrivals_a_minute, wait_s, every_s, round(first, 1), round(last, 1), ladder, buckets, even)


def even_of(
    ratings: Array,
    arrivals_a_minute: float,
    seats: int = 2,
    wait_s: float = 60.0,
    every_s: float = 5.0,
    scale: float = SCALE,
) -> dict[str, Any]:
    """Windows of `even` with which nine in ten find the others of a match of so many within the wait.

    `scale`: who has so many points more wins ten times as often.
    """
    first, last = _widths(ratings, arrivals_a_minute, wait_s, every_s, seats - 1)
    window = max(scale / 4, first)
    growth = max(scale / SCALE, (last - window) / wait_s)
    found = {"window": round(window), "window_growth": float(f"{growth:.2g}")}
    return found if scale == SCALE else found | {"rating_scale": scale}


def _widths(
    ratings: Array, arrivals_a_minute: float, wait_s: float, every_s: float, others: int
) -> tuple[float, float]:
    """The first and the last window."""
    if not (arrivals_a_minute > 0 and math.isfinite(arrivals_a_minute)):
        raise LabError(f"{arrivals_a_minute:g} arrivals a minute: nobody would ever be found: use more than 0")
    if not 0 < every_s <= wait_s:
        raise LabError(f"a wave every {every_s:g} s and a wait of {wait_s:g} s contradict each other: wait for a wave")
    ordered = np.sort(ratings)
    needed = least_wait_s(arrivals_a_minute, others)
    if needed / wait_s > 1:
        most = needed / 60.0
        whom = "nobody at all comes" if others == 1 else f"a match of {others + 1} is not there"
        raise LabError(
            f"at {arrivals_a_minute:g} arrivals a minute {whom} within {wait_s:g} s often enough: "
            f"wait at least {most:.1f} minutes, or have more players"
        )
    soon = min(1.0, needed / max(every_s, wait_s / 2))
    width = _width if others == 1 else _range
    first = width(ordered, float(np.median(ordered)), soon)
    ends = (float(np.quantile(ordered, EDGE)), float(np.quantile(ordered, 1 - EDGE)))
    return first, max(first, *(width(ordered, end, needed / wait_s) for end in ends))


def _width(ordered: Array, rating: float, share: float) -> float:
    """Half the width of the narrowest window round a rating that holds this share of all."""
    away = np.sort(np.abs(ordered - rating))
    return float(away[_count(len(away), share) - 1])


def _range(ordered: Array, rating: float, share: float) -> float:
    """The width of the narrowest range with a rating in it that holds this share of all."""
    many = _count(len(ordered), share)
    low, high = ordered[: len(ordered) - many + 1], ordered[many - 1 :]
    return float((np.maximum(high, rating) - np.minimum(low, rating)).min())


def _count(all_of: int, share: float) -> int:
    return min(all_of, max(1, math.ceil(share * all_of)))
