"""The bucket proposal run again: its five cycles, its settings, and the skip flag.

A cycle is the 20 s in which a range grows by one. How far a ticket reaches is measured from outside: a second ticket
that has waited for ever is put further and further away, until the two are no longer matched.
"""

from typing import Any, Final

import numpy as np

from evenmatch import planning
from evenmatch.domain.queue import Format
from evenmatch.matchers import buckets
from evenmatch.matchers.buckets import Buckets
from evenmatch.pages.charts import Chart, Series
from evenmatch.reproduce.line import Chapter, Effort, Ledger
from evenmatch.tickets import parse, to_snapshot

__all__ = ["reproduce"]

CYCLE_S: Final = 20
JOINED_S: Final = {"Pawn20": 0, "Grunt17": 20}
SKILL: Final = {"Pawn20": 20.0, "Grunt17": 17.0}
LONG_S: Final = 100_000.0
CHECK_MS: Final = 250

RANGES: Final = (
    (0, "Pawn20", "20"),
    (1, "Pawn20", "19-21"),
    (1, "Grunt17", "17"),
    (2, "Pawn20", "18-22"),
    (2, "Grunt17", "16-18"),
    (3, "Pawn20", "17-23"),
    (3, "Grunt17", "15-19"),
)
"""Cycle, ticket, printed range."""
CYCLES: Final = (
    (0, "no opponent"),
    (1, "no opponent"),
    (2, "no opponent"),
    (3, "Pawn20 has Grunt17 in range, but not the other way round"),
    (4, "match"),
)


def reproduce(effort: Effort) -> Chapter:
    """All lines of the document."""
    effort.tell("buckets: cycles and checks", 0, 3)
    ledger = Ledger("buckets")
    cycles(ledger)
    effort.tell("buckets: cycles and checks", 1, 3)
    found_ms = checks(ledger)
    settings(ledger)
    skip_flag(ledger)
    effort.tell("buckets: cycles and checks", 2, 3)
    scaling(ledger)
    effort.tell("buckets: cycles and checks", 3, 3)
    return Chapter(
        name="buckets",
        title="Buckets: ranges that grow while waiting",
        summary=(
            f"Pawn20 and Grunt17 meet {found_ms / 1000:g} s after Pawn20 joined, in cycle {found_ms // 20_000}, and "
            "every printed range up to there is the same.",
            "The sentence on the skip flag means its opposite: done as written, the two would never meet.",
        ),
        sections=ledger.sections,
        lines=tuple(ledger.lines),
        charts=(chart(),),
    )


def waiting(now_s: float) -> list[dict[str, Any]]:
    """The tickets of the example at a moment."""
    return [
        {"id": name, "rating": SKILL[name], "waited_s": now_s - joined}
        for name, joined in JOINED_S.items()
        if now_s >= joined
    ]


def matched(tickets: list[dict[str, Any]], **parameters: Any) -> bool:
    """Does one wave make a match?"""
    return len(planning.plan(tickets, "buckets", **parameters)) > 0


def reach(waited_s: float, **parameters: Any) -> int:
    """How many buckets away a ticket's opponent may be."""
    distance = 0
    while distance < 100 and matched(
        [
            {"id": "seeker", "rating": 200.0, "waited_s": waited_s},
            {"id": "probe", "rating": 201.0 + distance, "waited_s": LONG_S},
        ],
        **parameters,
    ):
        distance += 1
    return distance


def cycles(ledger: Ledger) -> None:
    """The example, cycle by cycle."""
    ledger.section("cycles", "Pawn20 and Grunt17, cycle by cycle")
    why = "the example names two players, and only two ever appear"
    ledger.wrong("players", 3, len(JOINED_S), why, right=2)
    for name, bucket_number in (("Pawn20", 20), ("Grunt17", 17)):
        ledger.same(f"bucket.{name}", bucket_number, int(buckets.bucket_of([SKILL[name]])[0]))
    for cycle, name, printed in RANGES:
        bucket, wide = int(SKILL[name]), reach(CYCLE_S * cycle - JOINED_S[name])
        looks = f"{bucket - wide}-{bucket + wide}" if wide else str(bucket)
        ledger.same(f"{cycle}.{name}", printed, looks, "range of the ticket, measured by probes")
    distance = int(SKILL["Pawn20"] - SKILL["Grunt17"])
    for cycle, printed in CYCLES:
        now_s = CYCLE_S * cycle
        in_range = [name for name, joined in JOINED_S.items() if now_s >= joined and reach(now_s - joined) >= distance]
        ours = "match" if matched(waiting(now_s)) else "no opponent"
        if ours != "match" and in_range == ["Pawn20"]:
            ours = "Pawn20 has Grunt17 in range, but not the other way round"
        ledger.same(f"{cycle}.outcome", printed, ours, f"{now_s} s after Pawn20 joined")


def first_match_ms(**parameters: Any) -> int:
    """When the example's match is found, checking every 250 ms; -1 = not within two minutes."""
    moments = range(0, 120_000, CHECK_MS)
    return next((now for now in moments if matched(waiting(now / 1000), **parameters)), -1)


def checks(ledger: Ledger) -> int:
    """Checks every 250 ms find the match in cycle 4, whichever way players look; returns when, in ms."""
    ledger.section("checks", "A check every 250 ms")
    found = first_match_ms()
    ledger.same("found_in_cycle", 4, found // (1000 * CYCLE_S), f"the first check that finds it is at {found / 1000} s")
    before = (found - CHECK_MS) / 1000
    wide = [reach(before - joined) for joined in JOINED_S.values()]
    why = f"at {before} s, one check earlier, the ranges are {wide[0]} and {wide[1]}, and the distance is 3"
    ours = "match" if matched(waiting(before)) else "no match"
    ledger.claim("one_check_earlier", "their range isn't enough", ours, why, holds=ours == "no match")
    for look, words in (("below", "the higher looks below only"), ("above", "the lower looks above only")):
        at = first_match_ms(look=look)
        why = f"with look = {look} the match is found at {at / 1000} s; by direction: nothing is lost"
        ledger.claim(f"look_{look}", "also possible", words, why, holds=at == found)
    return found


def settings(ledger: Ledger) -> None:
    """What the suggested settings and their alternatives do."""
    ledger.section("settings", "Settings")
    defaults = Buckets()
    ledger.same("bucket_function", "round()", f"{defaults.bucket}()")
    near = buckets.bucket_of([16.4, 16.5, -16.5]).tolist()
    ours = f"16.4 -> {near[0]}, 16.5 -> {near[1]}, -16.5 -> {near[2]}"
    why = "the document's language rounds halves away from zero"
    ledger.claim("rounding", "rounding to the nearest integer", ours, why, holds=near == [16, 17, -17])
    ours = f"{reach(CYCLE_S) - reach(0)} every {CYCLE_S} seconds"
    ledger.same("range_growth", "1 every 20 seconds", ours, f"after 19.999 s it is still {reach(19.999)}")
    ledger.same("range_maximum", 10, reach(LONG_S), f"after 200 s it is {reach(200)}, and later no more")
    ledger.same("reciprocity", "100%", f"{defaults.reciprocity:g}%")
    for percent, needs, printed in (
        (100, 3, "to be within their range too"),
        (50, 2, "they need to be at least halfway"),
        (0, 0, "if you can match them they are playing"),
    ):
        least = least_range(percent)
        why = f"at distance 3 the other must reach {least}, measured by probes"
        ledger.claim(f"reciprocity_{percent}", printed, f"{least} of 3 buckets", why, holds=least == needs)
    limits = [reach(LONG_S, range_max=limit) for limit in (7, "20%", [30, "20%"])]
    ours = ", ".join(map(str, limits))
    why = "7, then 20 % of a skill of 200, then the smaller of 30 and 20 %, measured by probes"
    ledger.claim("range_maximum_kinds", "a static value, a % or a combo", ours, why, holds=limits == [7, 40, 30])
    returned_first(ledger)


def least_range(percent: float) -> int:
    """The least range of the other, in buckets, that lets a ticket take it at distance 3."""
    seeker = {"id": "seeker", "rating": 20.0, "waited_s": LONG_S}
    for wide in range(5):
        other = {"id": "other", "rating": 17.0, "waited_s": float(CYCLE_S * wide)}
        if matched([seeker, other], reciprocity=percent, look="below"):
            return wide
    return -1


def returned_first(ledger: Ledger) -> None:
    """A failed match is re-added at the same priority and rating."""
    tickets = [{"id": name, "rating": 20.0, "waited_s": 30.0} for name in ("a", "b", "c")]
    snapshot = to_snapshot(parse(tickets), Format(2, 1))
    returned = type(snapshot)(
        **{name: getattr(snapshot, name) for name in snapshot.__struct_fields__ if name != "returned"},
        returned=np.array([False, False, True]),
    )
    seated = ["abc"[row] for row in Buckets().plan(returned).rosters.ravel().tolist()]
    why = "of three alike, c has come back from a failed match: it has the wait it left with, and seeks first"
    ours = f"{seated[0]} takes {seated[1]}"
    ledger.claim("failed_match", "re-added at the same priority", ours, why, holds=seated == ["c", "a"])


def skip_flag(ledger: Ledger) -> None:
    """The check is skipped when nothing has changed; a join and growing ranges are changes."""
    ledger.section("skip_flag", "The skip flag")
    alone, both = (to_snapshot(parse(waiting(now_s)), Format(2, 1)) for now_s in (19, 20))
    matcher = Buckets()
    change = matcher.next_change_ms(alone)
    ours = "time alone changes nothing" if change is None else f"a change is due at {change} ms"
    why = "with Pawn20 alone every check can be skipped"
    ledger.claim("alone", "skip since nothing has changed", ours, why, holds=change is None)
    due = matcher.next_change_ms(both)
    after = -1 if due is None else due - both.now_ms
    why = f"after Grunt17's join nothing changes for {after / 1000} s, so all checks in between can be skipped"
    ledger.claim("skipped_checks", "short-circuit", f"{after // CHECK_MS} checks", why, holds=after == 60_000)
    as_written, as_meant = simulated(join_sets=True), simulated(join_sets=False)
    why = f"it means the opposite: when a join or a growing range clears the flag, the match comes at {as_meant} s"
    printed = "set to true when a new player joins or ranges increase"
    ours = f"as written: {'no match' if as_written < 0 else f'a match at {as_written} s'}"
    ledger.refuted("set_on_a_join", printed, ours, why, holds=as_written < 0 < as_meant)


def simulated(*, join_sets: bool) -> float:
    """When the example's match is found with the flag as the document writes it, in s; -1 = not in two minutes."""
    skip, seen, grown = False, 0, -1
    for now in range(0, 120_000, CHECK_MS):
        tickets = waiting(now / 1000)
        if len(tickets) != seen or now // (1000 * CYCLE_S) != grown:
            skip = join_sets
            seen, grown = len(tickets), now // (1000 * CYCLE_S)
        if skip:
            continue
        if matched(tickets):
            return now / 1000
        skip = True
    return -1


def scaling(ledger: Ledger) -> None:
    """What comparing everybody with everybody costs."""
    ledger.section("scaling", "Why not compare everybody with everybody")

    def comparisons(players: int, below_only: bool) -> int:
        skill = np.arange(players)
        asked = skill[:, None] > skill if below_only else skill[:, None] != skill
        return int(asked.sum())

    once, twice, half = comparisons(500, False), comparisons(1000, False), comparisons(500, True)
    why = "comparisons of 1,000 players over those of 500, counted; 'could quadruple'"
    ledger.same("doubling_the_players", 4, round(twice / once, 3), why, within=0.02)
    ledger.same("looking_below_only", 0.5, half / once, "comparisons of the higher with the lower only, counted")


def chart() -> Chart:
    """Ranges over time, and the distance they have to reach."""
    seconds = (*(float(s) for s in range(0, 100, CYCLE_S)), 99.0)
    after = tuple(s for s in seconds if s >= JOINED_S["Grunt17"])
    return Chart(
        name="buckets-ranges",
        title="Two ranges that grow until they reach each other",
        caption="Ranges measured from outside by probes. Both must reach the distance of 3: Pawn20's does after 60 s, "
        "Grunt17's after 80 s.",
        kind="steps",
        x_label="seconds since Pawn20 joined",
        y_label="range, buckets",
        series=(
            Series("Pawn20", seconds, tuple(float(reach(s)) for s in seconds)),
            Series("Grunt17", after, tuple(float(reach(s - JOINED_S["Grunt17"])) for s in after)),
            Series("distance", seconds, (SKILL["Pawn20"] - SKILL["Grunt17"],) * len(seconds)),
        ),
    )
