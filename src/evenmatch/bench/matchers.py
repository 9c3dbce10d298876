"""The matchers beside others that do the same work: every contest at every size, growth fitted, aims judged."""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from evenmatch.bench.cell import Effort, in_own_process
from evenmatch.bench.contest import Aim, Contest, duration, times
from evenmatch.bench.found import SIZES_LEAST, Answer, Found, Growth, Reached, Row, Run, Timing, fitted_growth
from evenmatch.bench.machine import machine

__all__ = ["OURS", "compare"]

OURS: Final = "evenmatch"
Measure: TypeAlias = Callable[[Contest, int, Effort], Row]
Tell: TypeAlias = Callable[[str, int, int], None]
"""(what is being done, cells done, cells in all)."""


def compare(
    contests: Sequence[tuple[Contest, tuple[int, ...]]],
    effort: Effort,
    tell: Tell = lambda *_: None,
    measure: Measure = in_own_process,
) -> Run:
    """Run contests, each at its sizes, one process after the other."""
    cells, done = sum(len(sizes) for _, sizes in contests), 0
    found = []
    for contest, sizes in contests:
        rows = []
        for size in sizes:
            tell(f"{contest.name} at {size:,} {contest.unit}", done, cells)
            rows.append(measure(contest, size, effort))
            done += 1
        found.append(summed_up(contest, tuple(rows)))
    tell("done", done, cells)
    return Run(machine(effort.threads), effort.seed, tuple(found))


def summed_up(contest: Contest, rows: tuple[Row, ...]) -> Found:
    """A contest's rows with growth and aims."""
    growth = [fitted_growth(OURS, [(row.size, row.ours.median_s) for row in rows if row.ours is not None])]
    for opponent in contest.opponents:
        answers = [(row.size, _answer(row, opponent.name)) for row in rows]
        growth.append(
            fitted_growth(opponent.name, [(size, a.timing.median_s) for size, a in answers if a and a.timing])
        )
    aims = tuple(_judged(aim, contest.unit, rows, growth[0]) for aim in contest.aims)
    return Found(contest.name, contest.what, contest.unit, rows, tuple(growth), aims)


def _judged(aim: Aim, unit: str, rows: tuple[Row, ...], growth: Growth) -> Reached:
    words = aim.words(unit)
    if aim.kind == "growth":
        if growth.exponent is None or growth.sizes < SIZES_LEAST:
            return Reached(words, "-", "not measured")
        return Reached(words, f"n^{growth.exponent:.2f}", _verdict(growth.exponent <= aim.value))
    for row in rows:
        if row.size == aim.size and row.ours is not None:
            return _at_size(aim, words, row, row.ours)
    return Reached(words, "-", "not measured")


def _at_size(aim: Aim, words: str, row: Row, ours: Timing) -> Reached:
    if aim.kind == "seconds":
        return Reached(words, duration(ours.median_s), _verdict(ours.median_s <= aim.value))
    if aim.kind == "megabytes" and ours.peak_mb is not None:
        return Reached(words, f"{ours.peak_mb:,.0f} MB", _verdict(ours.peak_mb <= aim.value))
    answer = _answer(row, aim.against) if aim.kind == "ratio" else None
    if answer is None or answer.ratio is None:
        return Reached(words, "-", "not measured")
    return Reached(words, times(answer.ratio), _verdict(answer.ratio >= aim.value))


def _answer(row: Row, opponent: str) -> Answer | None:
    return next((answer for answer in row.opponents if answer.opponent == opponent), None)


def _verdict(met: bool) -> str:
    return "met" if met else "not met"
