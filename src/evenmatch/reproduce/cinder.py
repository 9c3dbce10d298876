"""Cinder run again: its equations, the numbers of Figures 11 and 12, both ways to search, and 140,000,000 pairings.

The settings of the experiment are not in the paper; the author's public code has lobbies of 5, ratings uniform on
0..30,000 and 30 buckets, and the paper's example of a least width is 150. The lobbies of Figures 11 and 12 are lost:
for their numbers we ask whether a pair of lobbies with both exists, and how usual it is.
"""

import time
from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.queue import Format
from evenmatch.matchers import cinder
from evenmatch.matchers.cinder import Cinder
from evenmatch.numerics import skill_buckets
from evenmatch.numerics.lobby_ranges import similarities
from evenmatch.numerics.seeds import generator
from evenmatch.pages.charts import Chart, Mark, Series
from evenmatch.reproduce.line import Chapter, Effort, Ledger, best_ms
from evenmatch.reproduce.pairings import (
    LCAP,
    LOBBY,
    N_BUCKET,
    UCAP,
    W_MIN,
    Histogram,
    first_pairings,
    histogram,
)
from evenmatch.tickets import parse, to_snapshot

__all__ = ["reproduce"]

FIGURES: Final = (("figure_11", 0.8796, 2.8), ("figure_12", 0.0684, 11.2))
"""Name, S_R and sanction score, as printed."""
PEAK: Final = (20, 25)
SAMPLE: Final = 1_000_000
CHECKED: Final = 500


class Sample(NamedTuple):
    """Random pairings with both measures."""

    overlap: Array
    score: Array


def reproduce(effort: Effort) -> Chapter:
    """All lines of the document."""
    ledger = Ledger("cinder")
    ranges(ledger)
    bucket_widths(ledger)
    found = sampled(effort)
    scores(ledger, found)
    search(ledger, effort)
    started = time.perf_counter()
    whole = histogram(effort.pairings, effort.seed, lambda done: effort.tell("cinder: pairings", done, effort.pairings))
    experiment(ledger, whole, time.perf_counter() - started, effort)
    return Chapter(
        name="cinder",
        title="Cinder: lobby against lobby by the spread of their ratings",
        summary=(
            f"{whole.pairings:,} random pairings peak at a score of {whole.mode}, with mean {whole.mean:.1f} and "
            f"skewness {whole.skewness:+.2f}: right-skewed, as section 5 says, and not the normal distribution of "
            "the conclusion.",
            f"A threshold of 14 (the 2.8 of Figure 11) admits the best {whole.up_to(14):.1%} of random pairings, 17 "
            f"the best {whole.up_to(17):.1%}, and 56 (the 11.2 of Figure 12) {whole.up_to(56):.1%}.",
            "Equation 4.1 is a sum, but the quoted 2.8 and 11.2 can only be sums divided by five players.",
        ),
        sections=ledger.sections,
        lines=tuple(ledger.lines),
        charts=(chart(whole),),
    )


def ranges(ledger: Ledger) -> None:
    """Section 2: the non-outlier range and its overlap."""
    ledger.section("range", "Section 2: the non-outlier range")
    alike = np.full((1, LOBBY), 15_000.0)
    low, high = cinder.non_outlier_range(alike, LCAP, UCAP, N_BUCKET)
    wide = float((high - low)[0])
    least = 2 * (UCAP - LCAP) / N_BUCKET
    why = "five equal players: equation 2.1 makes it 2 (ucap - lcap) / n_bucket"
    ledger.claim("least_width", "a minimum width, not zero", wide, why, holds=wide == least > 0)
    mixed = np.array([[12_000.0, 13_000, 14_000, 15_100, 16_000]])
    low, high = cinder.non_outlier_range(mixed, LCAP, UCAP, N_BUCKET)
    inside = np.array([mixed.mean() - mixed.std(), mixed.mean() + mixed.std()])
    ours = "mu +- sigma" if np.allclose([low[0], high[0]], inside) else f"{low[0]:g} to {high[0]:g}"
    ledger.same("bounds", "mu +- sigma", ours, "a lobby with more spread than the least; population sigma")
    beyond, capped = [31_000.0, 28_000, 29_000, -50, 27_000], [30_000.0, 28_000, 29_000, 0, 27_000]
    other = mixed[0]
    same = overlap(beyond, other) == overlap(capped, other)
    ours = "treated as the cap" if same else "not treated as the cap"
    ledger.same("caps", "treated as the cap", ours, "31,000 as 30,000 and -50 as 0, by the overlap with another lobby")
    itself, far = overlap(other, other), overlap([500.0] * 5, [29_500.0] * 5)
    why = "a lobby with itself, and two with nothing in common; equation 2.3 on indicator functions"
    ledger.claim(
        "ruzicka_ends", "high: much overlap, low: disparity", f"{itself:g} and {far:g}", why, holds=itself == 1 > far
    )


def overlap(one: Array | list[float], other: Array | list[float]) -> float:
    """S_R of two lobbies on the experiment's scale."""
    return cinder.overlap(one, other, LCAP, UCAP, N_BUCKET)


def bucket_widths(ledger: Ledger) -> None:
    """Section 3: equation 3.1."""
    ledger.section("buckets", "Section 3: bucket widths, equation 3.1")
    edges = cinder.bucket_edges(LCAP, UCAP, N_BUCKET, W_MIN)
    widths = np.diff(edges)
    total = float(widths.sum())
    why = f"{len(widths)} widths of equation 3.1, added up"
    ledger.claim("total", "R_total", total, why, holds=abs(total - (UCAP - LCAP)) < 1e-6)
    ours = f"at least {widths.min():.1f}"
    why = "no bucket is narrower than W_min; the middle ones lie next to the mean, not on it"
    ledger.claim("least_width", "W_min, e.g. 150", ours, why, holds=150 <= widths.min() < 200)
    middle, outer = float(widths[N_BUCKET // 2]), float(widths[0])
    falling = bool((np.diff(widths[: N_BUCKET // 2]) < 0).all() and np.allclose(widths, widths[::-1]))
    why = "widths fall from either end to the middle, and both halves are mirror images"
    ours = f"{outer:.0f} at the ends, {middle:.0f} in the middle"
    ledger.claim("narrow_in_the_middle", "narrower near the centre, wider at the extremes", ours, why, holds=falling)
    even = np.diff(cinder.bucket_edges(0, 100, 5, 20))
    ours = "linear division" if np.allclose(even, 20) else "not linear"
    ledger.same("nothing_to_share", "linear division", ours, "n * W_min = range leaves equal widths")


def sampled(effort: Effort) -> Sample:
    """Random pairings with their overlaps and scores."""
    effort.tell("cinder: overlaps", 0, 1)
    draw = generator(effort.seed, 7)
    one, other = (np.sort(draw.uniform(LCAP, UCAP, (SAMPLE, LOBBY)), axis=1) for _ in range(2))
    edges = cinder.bucket_edges(LCAP, UCAP, N_BUCKET, W_MIN)
    bounds = [cinder.non_outlier_range(lobby, LCAP, UCAP, N_BUCKET) for lobby in (one, other)]
    similar = similarities(*bounds[0], *bounds[1])
    score = np.abs(skill_buckets.bucket_of(one, edges) - skill_buckets.bucket_of(other, edges)).sum(axis=1)
    effort.tell("cinder: overlaps", 1, 1)
    return Sample(similar, score)


def scores(ledger: Ledger, found: Sample) -> None:
    """Section 4: the numbers of Figures 11 and 12, and what they are."""
    ledger.section("scores", "Section 4: sanction scores, and Figures 11 and 12")
    for name, similarity, mean in FIGURES:
        total = round(mean * LOBBY)
        having = found.overlap[found.score == total]
        nearest = float(having[np.abs(having - similarity).argmin()])
        ours = round(nearest, 4)
        why = f"the lobbies are lost: the nearest among {len(having):,} random pairs with a score of {total}"
        ledger.same(f"{name}.overlap", similarity, ours, why, within=0.0005)
        alike = found.score[np.abs(found.overlap - similarity) < 0.01] / LOBBY
        low, high = np.percentile(alike, [1, 99])
        ledger.claim(
            f"{name}.score",
            mean,
            f"{low:.1f} to {high:.1f}",
            "the lobbies are lost: mean scores a player of 98 % of random pairs with that overlap",
            holds=low <= mean <= high,
        )
    edges = cinder.bucket_edges(LCAP, UCAP, N_BUCKET, W_MIN)
    middle = (edges[:-1] + edges[1:]) / 2
    for name, _, mean in FIGURES:
        one = middle[np.zeros(LOBBY, int)]
        other = middle[apart(round(mean * LOBBY))]
        by_sum, by_mean = (cinder.sanction_score(one, other, edges, how) for how in ("sum", "mean"))
        ledger.wrong(
            f"{name}.equation_4_1",
            mean,
            by_sum,
            f"equation 4.1 is a sum of whole numbers, which {mean} is not: {by_sum:g} / 5 = {by_mean:g}",
            right=round(mean * LOBBY),
        )
    passing = float((found.overlap >= 0.2).mean())
    kept, out = found.score[found.overlap >= 0.2].mean(), found.score[found.overlap < 0.2].mean()
    ledger.claim(
        "filter",
        "quickly rejects unlikely pairings",
        f"{1 - passing:.0%} rejected",
        f"overlap below 0.2; mean score {out:.1f} of those against {kept:.1f} of the rest; by direction",
        holds=0 < passing < 1 and out > kept,
    )
    together = float(np.corrcoef(found.overlap, found.score)[0, 1])
    why = "correlation of overlap and score over random pairings; by direction"
    ledger.claim("overlap_and_score", "high overlap, low score", f"{together:.2f}", why, holds=together < -0.5)


def apart(total: int) -> Array:
    """Bucket indices of five players that are `total` away from five in bucket 0."""
    indices = np.full(LOBBY, total // LOBBY)
    indices[: total % LOBBY] += 1
    return indices


def search(ledger: Ledger, effort: Effort) -> None:
    """Both ways to search: the least score, or the first below a threshold."""
    ledger.section("search", "Section 4: best or first")
    draw = generator(effort.seed, 8)
    tickets = [
        {
            "id": f"{place:03d}",
            "players": [{"id": f"{place}-{seat}", "rating": float(r)} for seat, r in enumerate(lobby)],
        }
        for place, lobby in enumerate(draw.uniform(LCAP, UCAP, (400, LOBBY)))
    ]
    snapshot = to_snapshot(parse(tickets), Format(2, LOBBY))
    best, first = (Cinder(lcap=0, ucap=30_000, w_min=150, mode=mode) for mode in ("best", "first"))
    took = [best_ms(lambda matcher=matcher: matcher.plan(snapshot), 5) for matcher in (best, first)]  # type: ignore[misc]
    costs = [matcher.plan(snapshot).cost for matcher in (best, first)]
    why = "400 random lobbies; hangs on machine and sample: by direction"
    ours = f"{took[0]:.1f} ms -> {took[1]:.1f} ms"
    ledger.claim("first_is_faster", "significantly faster", ours, why, holds=took[1] < took[0])
    most = float(costs[1].max())
    ours = f"all {len(costs[1])} scores at most {most:g}"
    ledger.claim("first_is_good", "consistently good results", ours, f"the threshold is 17; {why}", holds=most <= 17)
    means = [float(cost.mean()) for cost in costs]
    ours = f"mean {means[0]:.1f} against {means[1]:.1f}"
    ledger.claim("best_is_best", "the absolute minimum score", ours, why, holds=means[0] < means[1])


def experiment(ledger: Ledger, whole: Histogram, seconds: float, effort: Effort) -> None:
    """Section 5, Figure 14."""
    ledger.section("experiment", "Section 5: the distribution of scores, Figure 14")
    size = f"{whole.pairings:,} pairings"
    asked = "in full" if whole.pairings == 140_000_000 else "a smaller sample was asked for"
    setting = f"lobbies of {LOBBY}, ratings uniform on 0..30,000, {N_BUCKET} buckets"
    why = f"{asked}; {setting}; {seconds:.1f} s on this machine"
    ledger.claim("pairings", 140_000_000, whole.pairings, why, holds=whole.pairings == effort.pairings)
    one, other, counted, _ = first_pairings(0, CHECKED, effort.seed)
    edges = cinder.bucket_edges(LCAP, UCAP, N_BUCKET, W_MIN)
    plain = [cinder.sanction_score(a, b, edges) for a, b in zip(one, other, strict=True)]
    equal = int((np.array(plain) == counted).sum())
    why = "pairings of the experiment scored again one by one by sanction_score, equation 4.1"
    ledger.claim("scores", "W1 of sorted bucket indices", f"{equal} of {CHECKED} equal", why, holds=equal == CHECKED)
    ledger.claim(
        "mode",
        "peaks at approximately 20-25",
        whole.mode,
        f"{size}; hangs on the sample: within the printed range",
        holds=PEAK[0] <= whole.mode <= PEAK[1],
    )
    ours = f"skewness {whole.skewness:+.2f}"
    why = f"{size}; mean {whole.mean:.1f} lies above the peak, standard deviation {whole.deviation:.1f}"
    right = whole.skewness > 0.5 and whole.mean > whole.mode
    ledger.claim("shape", "right-skewed", ours, why, holds=right)
    ledger.claim("not_normal", "not normally distributed", ours, f"{size}; a normal distribution has none", holds=right)
    why = "the conclusion contradicts section 5: a normal distribution has no skewness"
    ledger.refuted("conclusion", "a predictable normal distribution", ours, f"{size}; {why}", holds=right)
    low, high = whole.mode - whole.quantile(0.001), whole.quantile(0.999) - whole.mode
    ours = f"{high} to the right of the peak, {low} to the left"
    ledger.claim("tail", "a long tail to the right", ours, f"{size}; where 99.8 % end", holds=high > 2 * low)
    poor = 1 - whole.up_to(100)
    ours = f"{poor:.2%} above 100, the highest is {np.flatnonzero(whole.frequency)[-1]}"
    ledger.claim("poor_matches", "possible but increasingly rare", ours, size, holds=0 < poor < 0.01)
    near = whole.up_to(45) - whole.up_to(9)
    why = f"{size}; scores from 10 to 45"
    ledger.claim("majority", "the vast majority is clustered", f"{near:.0%} from 10 to 45", why, holds=near > 0.7)
    thresholds(ledger, whole, size)


def thresholds(ledger: Ledger, whole: Histogram, size: str) -> None:
    """What share of random pairings each threshold admits."""
    ledger.section("thresholds", "What a threshold means")
    good, bad = whole.up_to(14), whole.up_to(56)
    why = f"{size}; 2.8 a player is a score of 14. Settled by recomputation as 0.150"
    ledger.claim("14", "2.8: a good match", f"the best {good:.1%}", why, holds=abs(good - 0.150) < 0.005)
    why = f"{size}; 11.2 a player is a score of 56. Settled by recomputation as 0.913"
    ledger.claim("56", "11.2: a high score", f"worse than {bad:.1%}", why, holds=abs(bad - 0.913) < 0.005)
    fifth = whole.quantile(0.2)
    why = f"{size}; the end of the best fifth, give or take one: our default; it admits {whole.up_to(fifth):.1%}"
    ledger.claim("17", "an intelligent threshold", fifth, why, holds=abs(fifth - Cinder().sanction_max) <= 1)
    half = whole.quantile(0.5)
    why = f"{size}; the median score lies right of the peak: half of all random pairings are worse"
    ledger.claim("median", "trade-off of quality and queue speed", half, why, holds=whole.mode < half < whole.mean)


def chart(whole: Histogram) -> Chart:
    """Figure 14 with thresholds."""
    shown = whole.quantile(0.9999) + 1
    share = 100 * whole.frequency[:shown] / whole.pairings
    marks = tuple(
        Mark(score, f"{score}: {words}, {whole.up_to(score):.1%} at or below")
        for score, words in ((14, "2.8 a player"), (17, "our default"), (56, "11.2 a player"))
    )
    return Chart(
        name="cinder-histogram",
        title="Figure 14: sanction scores of random pairings",
        caption=f"{whole.pairings:,} pairings of lobbies of {LOBBY}. Peak at {whole.mode}, mean {whole.mean:.1f}, "
        f"standard deviation {whole.deviation:.1f}, skewness {whole.skewness:+.2f}.",
        kind="columns",
        x_label="sanction score (sum over five players)",
        y_label="share of pairings, %",
        series=(Series("pairings", tuple(map(float, range(shown))), tuple(share.tolist())),),
        marks=marks,
    )
