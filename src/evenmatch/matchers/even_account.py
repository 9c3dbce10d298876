"""What `even` says of its plan: details, the terms of every match, and the trace, in words a designer understands."""

from typing import Any, Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.table import Table
from evenmatch.numerics.match_terms import TERMS

__all__ = ["details_of", "in_words", "match_details", "trace_of"]

_WORDS: Final = {
    "spread": "its players differ in rating",
    "imbalance": "one team is more likely to win",
    "distribution": "the teams are made up differently",
    "latency": "somebody is far from the region",
    "premade": "the parties of the teams differ in size",
    "role": "somebody does not play a preferred role",
    "repeat": "some met lately",
}

SAID_LEAST: Final = 0.05
"""Of what a match costs: terms with a smaller share are not put in words."""


def details_of(
    seats: int, seats_bound: int, cost: float, slack: float | None, due: int, due_left: int, account: dict[str, Any]
) -> dict[str, Any]:
    """Of the plan as a whole: what was reached, and how far from the best that can be at most."""
    bound = None if slack is None else cost - slack
    told = {
        "bound": bound,
        "optimality_gap": slack,
        "seats": seats,
        "seats_bound": seats_bound,
        "cost": cost,
        "cost_bound": bound,
        "due": due,
        "due_left": due_left,
        **account,
    }
    return {**told, "words": in_words(told)}


def in_words(told: dict[str, Any]) -> str:
    """The same in a sentence or two."""
    seats, most = told["seats"], told["seats_bound"]
    due = ""
    if told["due"]:
        due = f" {told['due']} tickets have waited so long that they go first; {told['due_left']} of them still wait."
    if not seats:
        bound = f"no plan could seat more than {most} players." if most else "no plan could seat anybody."
        return f"Nobody is seated; {bound}{due}"
    if seats == most:
        seated = f"{seats} players are seated, and no plan could seat more."
    else:
        seated = f"{seats} players are seated; no plan could seat more than {most}."
    if told["optimality_gap"] is None:
        costs = f" The matches cost {told['cost']:.4g} in all; poor ones were left for later."
    elif told["optimality_gap"] <= 0:
        costs = f" The matches cost {told['cost']:.4g} in all, and no plan that seats as many costs less."
    else:
        costs = (
            f" The matches cost {told['cost']:.4g} in all; a plan that seats as many costs {told['cost_bound']:.4g} or "
            "more."
        )
    return seated + costs + due


def match_details(terms: Array, gap: Array | None, sides: dict[str, Array] | None) -> Table:
    """Of each match: its terms; with two teams or more the gap between the strongest and the weakest; with sides who
    plays which."""
    if not len(terms):
        return Table()
    columns: dict[str, Any] = {"terms": Table({name: terms[:, at].copy() for at, name in enumerate(TERMS)})}
    if gap is not None:
        columns["gap"] = gap
    if sides is not None:
        columns["sides"] = Table(sides)
    return Table(columns)


def trace_of(
    details: dict[str, Any],
    taken: tuple[dict[str, Any], ...],
    waiting: int,
    windows: Array,
    tickets: list[list[int]],
    cost: Array,
    terms: Array,
    weights: Array,
) -> tuple[dict[str, Any], ...]:
    """The account of a wave: who could be seated and how wide their windows are, what the solver did,
    and every match."""
    finite = windows[np.isfinite(windows)]
    narrow, wide = (float(finite.min()), float(finite.max())) if len(finite) else (None, None)
    free = len(windows) - len(finite)
    if narrow is None:
        looked = f"{waiting} tickets could be seated; " + ("all accept any rating." if free else "there is nobody.")
    else:
        looked = f"{waiting} tickets could be seated; windows are {narrow:.4g} to {wide:.4g} points wide"
        looked += f", and {free} accept any rating." if free else "."
    steps: list[dict[str, Any]] = [
        {
            "step": "pool",
            "waiting": waiting,
            "window_least": narrow,
            "window_most": wide,
            "free": free,
            "words": looked,
        },
        *taken,
        {"step": "solve", **details},
    ]
    for match, (members, price, row) in enumerate(zip(tickets, cost.tolist(), terms, strict=True)):
        step = {"step": "match", "match": match, "tickets": members, "cost": price}
        step["terms"] = dict(zip(TERMS, row.tolist(), strict=True))
        step["words"] = _of_match(price, row * weights)
        steps.append(step)
    return tuple(steps)


def _of_match(price: float, shares: Array) -> str:
    """What a match costs, and what for, the most first."""
    total = float(shares.sum())
    if total <= 0:
        return "It costs nothing: all that counts is as it should be."
    order = np.argsort(-shares, kind="stable").tolist()
    told = [f"{shares[at] / total:.0%} since {_WORDS[TERMS[at]]}" for at in order if shares[at] >= SAID_LEAST * total]
    return f"It costs {price:.4g}: {', '.join(told)}."
