"""What was found, for reading: tables for a terminal, and the same in Markdown."""

from typing import Final

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from evenmatch.bench.contest import duration, times
from evenmatch.bench.found import SIZES_LEAST, Answer, Found, Growth, Row, Run, Timing

__all__ = ["aims_told", "growth_told", "lines", "machine_told", "markdown", "noise_told", "plans_told", "show"]

WORDS: Final = ("opponent", "agrees")
NOISY: Final = 2.0
HEADS: Final = ("n", "evenmatch", "least", "peak MB", "opponent", "median", "ratio", "peak MB", "agrees")
WIDE: Final = 110
"""On a narrower terminal only `NARROW` columns are shown."""
NARROW: Final = (0, 1, 4, 5, 6, 8)
COLOURS: Final = {"met": "green", "not met": "yellow", "not measured": "dim"}


def show(run: Run, console: Console) -> None:
    """Print a run: the machine, then a table for each contest with growth and aims below it."""
    console.print(Text(machine_told(run)))
    narrow = console.width < WIDE
    if narrow:
        console.print(Text(f"least times and memory are shown from {WIDE} columns on", style="dim"))
    for contest in run.contests:
        console.print(_contest(contest, narrow=narrow))
    if noise := noise_told(run):
        console.print(Text(noise, style="yellow"))
    if run.wrong:
        console.print(Text("results differ: see the rows marked above", style="bold red"))


def _contest(contest: Found, *, narrow: bool) -> Group:
    title = Text.assemble((contest.name, "bold"), f"  {contest.what}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown = NARROW if narrow else tuple(range(len(HEADS)))
    for at in shown:
        head = HEADS[at] if at else contest.unit
        words = head in WORDS
        table.add_column(head, justify="left" if words else "right", no_wrap=not words, min_width=12 if words else None)
    for row in contest.rows:
        for cells, wrong in lines(row):
            table.add_row(*(Text(cells[at]) for at in shown), style="bold red" if wrong else "")
    told = [Text(f"growth: {growth_told(contest)}")] if len(contest.rows) > 1 else []
    aims = [
        Text.assemble(f"aim: {aim.aim}: {aim.measured}, ", (aim.verdict, COLOURS[aim.verdict])) for aim in contest.aims
    ]
    return Group(title, table, *told, *(Text(f"plans: {line}") for line in plans_told(contest)), *aims, Text())


def plans_told(contest: Found) -> list[str]:
    """Seats and cost of everybody's plan beside our bounds, a line for each size that has any."""
    return [
        f"{row.size:,} {contest.unit}: "
        + "; ".join(
            [_plan("evenmatch", row.plan), *(_plan(one.opponent, one.plan) for one in row.opponents if one.plan)]
        )
        for row in contest.rows
        if row.plan
    ]


def _plan(who: str, plan: dict[str, float] | None) -> str:
    if plan is None:
        return ""
    seats, cost = f"{plan['seats']:,.0f} seats", f"cost {plan['cost']:,.4g}"
    if (most := plan.get("seats_bound")) is not None:
        share = f" ({plan['seats'] / most:.2%})" if most else ""
        seats += f" of {most:,.0f} at most{share}"
    if (least := plan.get("cost_bound")) is not None:
        cost += f", {least:,.4g} at least"
    return f"{who} {seats}, {cost}"


def lines(row: Row) -> list[tuple[tuple[str, ...], bool]]:
    """The cells of one size, a line for each opponent, and whether something is wrong in it."""
    size = f"{row.size:,}"
    if row.ours is None:
        return [((size, "-", "", "", "", "", "", "", row.says), row.wrong)]
    own = (size, duration(row.ours.median_s), duration(row.ours.least_s), _megabytes(row.ours))
    own_word = f"no: {row.says}" if row.sound is False else "sound" if row.sound else ""
    if not row.opponents:
        return [((*own, "", "", "", "", own_word), row.wrong)]
    told: list[tuple[tuple[str, ...], bool]] = []
    for place, answer in enumerate(row.opponents):
        word = own_word if row.sound is False else _agreement(answer)
        cells = (*(own if not place else ("",) * 4), answer.opponent, *_theirs(answer), word)
        told.append((cells, row.sound is False or answer.agrees is False))
    return told


def _theirs(answer: Answer) -> tuple[str, str, str]:
    if answer.timing is None or answer.ratio is None:
        return "-", "-", ""
    return duration(answer.timing.median_s), times(answer.ratio), _megabytes(answer.timing)


def _agreement(answer: Answer) -> str:
    if answer.agrees is None:
        return answer.says
    return "yes" if answer.agrees else f"no: {answer.says}"


def _megabytes(timing: Timing) -> str:
    if timing.peak_mb is None:
        return "?"
    return f"{timing.peak_mb:,.0f}" if timing.peak_mb >= 10 else f"{timing.peak_mb:.1f}"


def growth_told(contest: Found) -> str:
    """The fitted growth of everybody who was measured at two sizes or more."""
    return "; ".join(_growth(one) for one in contest.growth if one.exponent is not None) or "one size only"


def _growth(one: Growth) -> str:
    few = "" if one.sizes >= SIZES_LEAST else ", too few to rely on"
    return f"{one.who} n^{one.exponent:.2f} (over {one.sizes} sizes{few})"


def aims_told(contest: Found) -> str:
    """The aims and what became of them, on one line."""
    return "; ".join(f"{aim.aim}: {aim.measured}, {aim.verdict}" for aim in contest.aims)


def noise_told(run: Run) -> str:
    """A word on a machine that was busy with something else; nothing if it was not."""
    timings = run.timings
    noisy = sum(timing.median_s > NOISY * timing.least_s for timing in timings)
    if noisy <= len(timings) // 10:
        return ""
    share = f"{noisy} of {len(timings)} measurements"
    return f"noisy: in {share} the median is more than twice the least; was the machine busy?"


def machine_told(run: Run) -> str:
    """The machine on one line."""
    about = run.machine
    versions = ", ".join(
        f"{name} {about[name]}"
        for name in ("numpy", "numba", "scipy", "networkx", "rustworkx", "ortools", "pot")
        if about[name] != "not installed"
    )
    return (
        f"{about['processor']}, {about['cores']} cores, {about['memory_gb']} GB, {about['system']}; "
        f"{about['threads']} thread{'s' * (about['threads'] != 1)}; "
        f"Python {about['python']}, evenmatch {about['evenmatch']}, {versions}; seed {run.seed}"
    )


def markdown(run: Run) -> str:
    """Everything as one Markdown table, with growth and aims in a second."""
    parts = [
        machine_told(run) + ".",
        "",
        "| row | " + " | ".join(HEADS) + " |",
        "|---" + "".join("|---" if head in WORDS else "|--:" for head in HEADS) + "|",
    ]
    for contest in run.contests:
        name = f"`{contest.name}`"
        for row in contest.rows:
            for cells, _ in lines(row):
                parts.append(f"| {name} | " + " | ".join(cells) + " |")
                name = ""
    parts += ["", "| row | growth | aims |", "|---|---|---|"]
    parts += [f"| `{c.name}` | {growth_told(c)} | {aims_told(c)} |" for c in run.contests]
    plans = [f"- `{c.name}`, {line}" for c in run.contests for line in plans_told(c)]
    parts += ["", *plans] if plans else []
    if noise := noise_told(run):
        parts += ["", f"{noise[0].upper()}{noise[1:]}"]
    return "\n".join(parts) + "\n"
