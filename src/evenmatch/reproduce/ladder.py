"""The ladder run again: constants, the examples of its stages, the walkthrough; `ladder_comparison` has the rest.

The walkthrough's ratings are lost; only counts, means, biases and results are printed. The queue below is made to fit
all of them at once (three of BW with mean 1450, five of SC2 with mean 1550, seven flexible ones with the printed
biases), which shows that the printed numbers can be had together - not that they were had from these ratings.
"""

from typing import Any, Final

import numpy as np

from evenmatch.domain.match import Plan
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers import ladder
from evenmatch.matchers.ladder import Ladder, Side
from evenmatch.matchers.ladder_creation import available_maps, server_between
from evenmatch.reproduce.ladder_comparison import chart, compared, comparison, optimum, plain_ms, timings
from evenmatch.reproduce.line import Chapter, Effort, Ledger
from evenmatch.tickets import parse, to_snapshot

__all__ = ["reproduce"]

WINDOWS: Final = {"HIGH": (0.2, 75, 25), "MODERATE": (0.1, 100, 35), "LOW": (0.0, 125, 45)}
"""Least pressure, base and growth of each category, as printed."""
TOP_SCORES: Final = (25, -55, 60)
"""The walkthrough's best candidates, in the order of its list."""

BW_ONLY: Final = (1462, 1424, 1464)
SC2_ONLY: Final = (1480, 1476, 1388, 1589, 1817)
FLEXIBLE: Final = ((1229, 1429), (1484, 1584), (1427, 1477), (1539, 1539), (1594, 1544), (1416, 1316), (1461, 1261))
"""(BW, SC2): biases -200, -100, -50, 0, +50, +100, +200."""
MISSES: Final = (0, 2, 2, 0, 1, 0, 0, 0, 2, 2, 1, 2, 0, 0, 0)
"""Of the three, the five and the seven, in that order."""


def reproduce(effort: Effort) -> Chapter:
    """All lines of the document."""
    ledger = Ledger("ladder")
    constants(ledger)
    stages(ledger)
    refinement(ledger)
    creation(ledger)
    walkthrough(ledger)
    found = compared(effort)
    comparison(ledger, found)
    timings(ledger, found)
    fewer = optimum(ledger, effort)
    gains = [100 * one.gain for one in found]
    return Chapter(
        name="ladder",
        title="Ladder: waves between two sides in eight stages",
        summary=(
            f"Against first-come greedy on the same sides and windows, gaps are {min(gains):.0f} % to "
            f"{max(gains):.0f} % smaller in queues of 5 to 30; the document says 4-32 %.",
            f"It is locally optimal only: it makes {fewer[0]:.0%} to {fewer[1]:.0%} fewer matches than the best plan.",
            "The walkthrough's ratings are lost, but its numbers fit together: there is a queue that gives them all. "
            "Three things in the text do not: the stage 2 example, the 56 candidates and the order of the top scores.",
        ),
        sections=ledger.sections,
        lines=tuple(ledger.lines),
        charts=(chart(found),),
    )


def queue(rows: list[tuple[float | None, float | None, int]]) -> Snapshot:
    """Players as (BW rating, SC2 rating, misses), in canonical order."""
    tickets: list[dict[str, Any]] = [
        {
            "id": f"{place:03d}",
            "ratings": {side: rating for side, rating in (("bw", bw), ("sc2", sc2)) if rating is not None},
            "misses": misses,
        }
        for place, (bw, sc2, misses) in enumerate(rows)
    ]
    return to_snapshot(parse(tickets), Format(2, 1))


def gaps(plan: Plan) -> list[float]:
    """The rating gap of each match."""
    return [float(one["gap"]) for one in plan.match_details]


def side(ratings: list[float], misses: list[int], window: float) -> Side:
    """One side of stage 5."""
    return Side(np.array(ratings, float), np.array(misses, float), np.full(len(ratings), window))


def constants(ledger: Ledger) -> None:
    """Stage 3 and the configuration parameters."""
    ledger.section("pressure", "Stage 3: pressure, thresholds and windows; the configuration")
    for population, printed in ((10, 1.2), (25, 1.0), (26, 0.8)):
        ours = float(ladder.pressure(1, population) * population)
        ledger.same(f"scale_{population}", printed, round(ours, 12), f"pressure of one waiting, times {population}")
    for word, (least, base, growth) in WINDOWS.items():
        ledger.same(f"{word}.base", base, ladder.window(0, least))
        ledger.same(f"{word}.growth", growth, ladder.window(1, least) - ladder.window(0, least))
        below = "" if least == 0 else f"; a hair less is {ladder.category(least - 1e-12)}"
        at = f"at {least:.0%}{below}"
        ledger.same(f"{word}.threshold", word, ladder.category(least), at)
    ledger.same("example_window", 275, ladder.window(5, 0.15), "MODERATE, 5 wait cycles")
    defaults = Ladder()
    for what, printed, ours in (
        ("balance_threshold", 50, defaults.balance_threshold),
        ("wait_coefficient", 20, defaults.wait_coefficient),
        ("refinement_passes", 2, defaults.refinement_passes),
    ):
        ledger.same(what, printed, ours)


def stages(ledger: Ledger) -> None:
    """The examples of stages 2, 4 and 5."""
    ledger.section("stages", "Stages 2, 4 and 5: their examples")
    rows: list[tuple[float | None, float | None, int]] = [(1500, None, 0)] * 2 + [(None, 1500, 0)] * 5
    rows += [(1700, 1500, 0), (1500, 1650, 0), (1500, 1500, 0)]
    told = Ladder().plan(queue(rows)).details["equalized"]
    why = "the printed code gives BW three more, since it is three short: counts are the hard rule"
    ledger.wrong("2.example.bw", 4, told["bw"], why, right=5)
    ledger.same("2.example.sc2", 5, told["sc2"], "the five SC2-only players; the printed (5 + p2) would be six")
    veteran = queue([(1500, None, 0), (None, 1700, 10), (None, 1550, 0)])
    wave = Ladder().plan(veteran, trace=True)
    kept = [str(r) for place, r in ((1, "1700"), (2, "1550")) if place not in wave.trace[3]["sets"][0]["tickets"]]
    ledger.same("4.example.kept", "1700", ", ".join(kept), "the one with 10 cycles")
    out = [r for place, r in ((1, "1700"), (2, "1550")) if place in wave.trace[3]["sets"][0]["tickets"]]
    ledger.same("4.example.filtered", "1550", ", ".join(out))
    ledger.claim(
        "4.example.outcome",
        "first consideration; perhaps no match this wave",
        f"{len(wave.rosters)} matches in that wave",
        "the gap is 200 and the lead's window 75: the rule of priority comes before feasibility",
        holds=len(wave.rosters) == 0,
    )
    unfiltered = ladder.find_matches(side([1500], [0], 75), side([1700, 1550], [10, 0], 325))
    ours = [1700, 1550][int(unfiltered.follow[0])] if len(unfiltered.follow) else "nobody"
    ledger.same("4.example.without_filter", 1550, ours, "the fresh player is matched while the veteran waits")
    for what, printed, apart in (("5.two_at_50", 5000, [50, 50]), ("5.one_at_100", 10_000, [100, 0])):
        score = ladder.scores(side([0.0, 0.0], [0, 0], 500), side([float(gap) for gap in apart], [0, 0], 500))
        ledger.same(what, printed, float(score.sum()))
    lead, follow = side([1520, 1480, 1600], [0, 2, 1], 75), side([1515, 1485, 1590], [0, 2, 1], 75)
    scores = ladder.scores(lead, follow).tolist()
    for place, printed in enumerate(TOP_SCORES):
        ledger.same(f"5.score_{place + 1}", printed, scores[place])
    found = ladder.find_matches(lead, follow)
    ours_order = ", ".join(f"{scores[place]:g}" for place in found.lead.tolist())
    printed_order = ", ".join(map(str, TOP_SCORES))
    ledger.wrong(
        "5.top_by_score", printed_order, ours_order, "lower is better, so -55 comes first", right="-55, 25, 60"
    )


def refinement(ledger: Ledger) -> None:
    """Stage 6: both examples."""
    ledger.section("refinement", "Stage 6: least-squares refinement")
    lead, follow = side([1500, 1600], [0, 0], 110), side([1610, 1490], [0, 0], 110)
    refined = ladder.refine(lead, follow)
    before = float(((lead.rating - follow.rating) ** 2).sum())
    after = float(((lead.rating - follow.rating[refined.follow]) ** 2).sum())
    ledger.same("example.before", 24_200, before, "a test of stage 6 alone: stage 5 never produces that start")
    ledger.same("example.after", 200, after)
    ledger.same("example.reduction", "99.2%", f"{1 - after / before:.1%}")
    four = queue([(1520, None, 0), (1480, None, 0), (None, 1515, 0), (None, 1530, 0)])
    rough, plan = Ladder(refinement_passes=0).plan(four), Ladder().plan(four)
    for name, printed_gaps, error, made in (("before", (5, 50), 2525, rough), ("after", (10, 35), 1325, plan)):
        for place, printed in enumerate(printed_gaps):
            ledger.same(f"walkthrough.{name}.gap_{place + 1}", printed, gaps(made)[place])
        ledger.same(f"walkthrough.{name}.error", error, float(made.cost.sum()), "a whole wave, end to end")
    gained = 100 * (1 - plan.cost.sum() / rough.cost.sum())
    ledger.same("walkthrough.improved", 47, round(float(gained), 1), "in percent; printed without decimals", within=0.6)


def creation(ledger: Ledger) -> None:
    """Stage 7: maps, servers and channels."""
    ledger.section("creation", "Stage 7: match creation")
    for match, printed in ((1, "scevo01"), (10, "scevo10"), (11, "scevo01")):
        ledger.same(f"channel_{match}", printed, ladder.channel(match), "(match_id % 10) or 10")
    ours = ", ".join(available_maps(["a", "b", "c", "d"], ["a"], ["c"]))
    ledger.claim("maps", "non-vetoed maps", ours, "of a, b, c, d with a and c vetoed", holds=ours == "b, d")
    table = {"eu": {"na": "east"}}
    known, unknown = server_between(table, "na", "eu"), server_between(table, None, "eu")
    ours = f"{known}; {'random' if unknown is None else unknown}"
    why = "from the table when both regions are known, otherwise by chance"
    ledger.claim("server", "optimal for the regions, or random", ours, why, holds=ours == "east; random")


def walkthrough(ledger: Ledger) -> None:
    """The walkthrough of fifteen players, and the log lines of the same wave."""
    ledger.section("walkthrough", "The walkthrough of fifteen players")
    both = [(float(bw), float(sc2)) for bw, sc2 in FLEXIBLE]
    pairs: list[tuple[float | None, float | None]] = [(float(r), None) for r in BW_ONLY]
    pairs += [(None, float(r)) for r in SC2_ONLY]
    pairs += both
    rows = [(bw, sc2, misses) for (bw, sc2), misses in zip(pairs, MISSES, strict=True)]
    plan = Ladder(active_population=30).plan(queue(rows), trace=True)
    told = plan.details
    rebuilt = "the ratings are lost: a queue made to fit all that is printed, so it can be had together"
    for what, printed, ours in (
        ("bw_only", 3, told["only"]["bw"]),
        ("sc2_only", 5, told["only"]["sc2"]),
        ("both", 7, told["both"]),
        ("bw_only_mean", 1450, float(np.mean(BW_ONLY))),
        ("sc2_only_mean", 1550, float(np.mean(SC2_ONLY))),
        ("delta", -2, told["only"]["bw"] - told["only"]["sc2"]),
        ("after_equalization.bw", 7, told["equalized"]["bw"]),
        ("after_equalization.sc2", 8, told["equalized"]["sc2"]),
        ("mean.bw", 1480, told["mean"]["bw"]),
        ("mean.sc2", 1530, told["mean"]["sc2"]),
        ("mean_delta", 50, told["mean_delta"]),
        ("matches", 7, told["matches"]),
        ("players_matched", 14, told["matched"]),
        ("gap_min", 5, told["gap_min"]),
        ("gap_max", 45, told["gap_max"]),
        ("swaps", 3, told["swaps"]),
        ("passes", 2, told["passes"]),
    ):
        ledger.same(what, printed, ours, rebuilt)
    on_bw = plan.trace[1]["sets"][0]["tickets"]
    flexible = [int(both[place - 8][0] - both[place - 8][1]) for place in on_bw if place >= 8]
    ours = ", ".join(f"{bias:+d}" for bias in sorted(flexible)[-2:])
    ledger.same("first_assigned", "+100, +200", ours, "the two most BW-favouring of the flexible players are on BW")
    ours = "acceptable" if told["moved"] is None else "somebody was moved"
    ledger.same("at_threshold", "acceptable", ours, "a difference of exactly 50 moves nobody")
    ledger.same("pressure", 0.40, told["pressure"], "0.8 x 15 / 30")
    ledger.same("category", "HIGH", told["category"])
    ledger.same("window", "base=75, growth=25", f"base={told['window_base']}, growth={told['window_growth']}")
    ledger.same("lead", "BW (7 players)", f"{told['lead_side'].upper()} ({told['lead_count']} players)")
    ledger.same("follow", "SC2 (8 players)", f"SC2 ({told['follow_count']} players)")
    pairs_left = told["lead_kept"] * told["follow_kept"]
    ledger.wrong("pairs", 56, pairs_left, "7 x 8 ignores stage 4, which leaves seven against seven", right=49)
    why = f"{rebuilt}; printed as 'about 35'"
    ledger.same("valid_pairs", 35, told["candidates"], why, within=3)
    best = ", ".join(f"{one['score']:g}" for one in plan.trace[4]["best"][:3])
    ledger.wrong("top_3", ", ".join(map(str, TOP_SCORES)), best, "the list is unsorted: -55 first", right="-55, 25, 60")
    remaining = f"{told['remaining']} {'SC2' if told['follow_count'] > told['lead_count'] else 'BW'} player"
    ledger.same("remaining", "1 SC2 player", remaining, rebuilt)
    ledger.same("gap_mean", 18.4, round(told["gap_mean"], 1), rebuilt)
    took = plain_ms(queue(rows))
    why = f"{rebuilt}; stages 5 and 6, plainly transcribed; hangs on the machine: no more than ten times"
    ledger.claim("processing_time", "0.02 ms", f"{took:.3f} ms", why, holds=took < 0.2)
