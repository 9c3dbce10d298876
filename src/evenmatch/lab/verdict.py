"""What a comparison says in words, and no more than it can say.

All play the same traffic, so two are compared seed by seed: they differ where the interval of the differences leaves
out 0; otherwise they cannot be told apart, whatever the means say. Best can only be who serves nine in ten of those who
came (or anybody, where none does): a few fair matches for a few players are no feat.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

from .comparison import QUALITY, SERVED_LEAST, WAIT, Comparison, Row
from .intervals import over
from .plain import percent_down

__all__ = ["apart", "dealt", "sentences"]

SEEDS_FEW: Final = 3
_NUMBERS: Final = {1: "one seed", 2: "two seeds"}


def apart(one: Row, other: Row, measure: str) -> bool:
    """Whether two can be told apart in a measure: their differences by seed lie surely on one side."""
    both = list(zip(one.by_seed(measure), other.by_seed(measure), strict=True))
    differences = [mine - theirs for mine, theirs in both if mine is not None and theirs is not None]
    if len(differences) < len(both):
        return False
    found = over(differences)
    return found.low is not None and found.high is not None and (found.low > 0 or found.high < 0)


def sentences(found: Comparison, name: Callable[[str], str] = str) -> list[str]:
    """What a reader wants to know first; `name` writes the name of a matcher."""
    rows = [row for row in found.contenders if row.mean("matches") or row.mean(WAIT) is not None]
    if not rows:
        return ["Nobody was matched."]
    said = _served(found, name)
    fair = max(rows, key=lambda row: (_or(row.mean(QUALITY), -1.0), -_or(row.mean(WAIT), math.inf)))
    quick = min(rows, key=lambda row: (_or(row.mean(WAIT), math.inf), -_or(row.mean(QUALITY), -1.0)))
    if len(rows) == 1:
        said.append(f"{name(fair.name)}: {_account(fair)}.")
    else:
        said.append(_fairest(found, rows, fair, name))
        if quick.mean(WAIT) is not None:
            said.append(_quickest(found, rows, quick, name))
    between = [one for one in found.front if one not in (quick.name, fair.name)]
    if between:
        said.append(f"In between, none is on average both quicker and fairer than {_listed(between, name)}.")
    said += _beaten(found, rows, name)
    unknown = [row.name for row in rows if row.mean(WAIT) is None]
    if unknown:
        said.append(
            f"Within which time nine in ten are matched cannot be said of {_listed(unknown, name)}: too few were."
        )
    if found.seeds < SEEDS_FEW:
        little = "One seed says nothing of chance" if found.seeds == 1 else "Two seeds say little of chance"
        said.append(f"{little}: for differences that can be told, use --seeds {SEEDS_FEW} or more.")
    return said


def dealt(found: Comparison) -> list[str]:
    """Where teams come from, if a matcher makes none."""
    if not found.dealt:
        return []
    make = "makes lobbies" if len(found.dealt) == 1 else "make lobbies"
    return [f"{_and(found.dealt)} {make}; the game deals them into teams by rating, there and back."]


def _served(found: Comparison, name: Callable[[str], str]) -> list[str]:
    """Who leaves too many out."""
    few = [row for row in found.rows if not row.serves_enough]
    if not few:
        return []
    each = _and([f"{name(row.name)} ({percent_down(row.served or 0.0)})" for row in few])
    perhaps = [row.name for row in few if not row.surely_few]
    if len(few) == len(found.rows):
        least = _percent(SERVED_LEAST)
        return [f"None serves {least} of those who came, and what follows is of a part of them: {each}."]
    them = "it" if len(few) == 1 else "them"
    said = [f"Too few of those who came are served by {each} to call {them} best; what follows is of the others."]
    if perhaps:
        least = _percent(SERVED_LEAST)
        said.append(f"With {_seeds(found)} it may be chance that {_listed(perhaps, name)} falls short of {least}.")
    return said


def _account(row: Row) -> str:
    never = row.mean("never_matched")
    lost = "" if never is None else f", and {_percent(never)} of those who came are never matched"
    half = row.mean("wait_to_match_s.p50")
    wait = "" if half is None else f", half of those who stay play within {_seconds(half)}"
    return f"{_percent(row.mean(QUALITY))} of its matches have odds of 45 to 55 %{wait}{lost}"


def _fairest(found: Comparison, rows: Sequence[Row], fair: Row, name: Callable[[str], str]) -> str:
    near = _near(rows, fair, QUALITY)
    if not near:
        return f"{name(fair.name)} makes the fairest matches: {_account(fair)}."
    others = _and([f"{name(row.name)} ({_percent(row.mean(QUALITY))})" for row in near])
    return (
        f"{name(fair.name)} makes the fairest matches on average, but {others} cannot be told apart from it with "
        f"{_seeds(found)}: {_account(fair)}."
    )


def _quickest(found: Comparison, rows: Sequence[Row], quick: Row, name: Callable[[str], str]) -> str:
    near = _near(rows, quick, WAIT)
    told = f"of those who stay, nine in ten play within {_seconds(quick.mean(WAIT))}"
    fair = f"{_percent(quick.mean(QUALITY))} of its matches are fair"
    if not near:
        return f"{name(quick.name)} is the quickest: {told}, and {fair}."
    others = _and([f"{name(row.name)} ({_seconds(row.mean(WAIT))})" for row in near])
    return (
        f"{name(quick.name)} is the quickest on average, but {others} cannot be told apart from it with "
        f"{_seeds(found)}: {told}, and {fair}."
    )


def _near(rows: Sequence[Row], best: Row, measure: str) -> list[Row]:
    """Who cannot be told apart from the best."""
    known = [row for row in rows if row is not best and row.mean(measure) is not None]
    return [row for row in known if not apart(best, row, measure)]


def _beaten(found: Comparison, rows: Sequence[Row], name: Callable[[str], str]) -> list[str]:
    """Who is off the front, and whether that can be told."""
    off = [row for row in rows if row.name not in found.front and None not in (row.mean(WAIT), row.mean(QUALITY))]
    better: dict[str, list[str]] = {}
    hardly = []
    for row in off:
        by = next((other.name for other in rows if _beats(other, row)), None)
        if by is None:
            hardly.append(row.name)
        else:
            better.setdefault(by, []).append(row.name)
    said = [
        f"{name(by)} is on average no slower and no less fair than {_listed(beaten, name)}, and can be told to be "
        "better in one of the two."
        for by, beaten in better.items()
    ]
    if hardly:
        said.append(
            f"Of {_listed(hardly, name)} it cannot be told with {_seeds(found)} whether anything here beats "
            f"{'them' if len(hardly) > 1 else 'it'}."
        )
    return said


def _beats(one: Row, other: Row) -> bool:
    """No worse in either on average, and surely better in one."""
    wait, fair = one.mean(WAIT), one.mean(QUALITY)
    if wait is None or fair is None or wait > _or(other.mean(WAIT), 0.0) or fair < _or(other.mean(QUALITY), 1.0):
        return False
    return apart(one, other, WAIT) or apart(one, other, QUALITY)


def _seeds(found: Comparison) -> str:
    return _NUMBERS.get(found.seeds, f"{found.seeds} seeds")


def _listed(names: Sequence[str], name: Callable[[str], str]) -> str:
    return _and([name(one) for one in names])


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _or(value: float | None, instead: float) -> float:
    return instead if value is None else value


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f} s"
