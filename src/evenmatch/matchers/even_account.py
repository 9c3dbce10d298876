"""What `even` says of its plan: details, the terms of every match, and the trace, in words a designer understands."""

from typing import Any, Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Reason
from evenmatch.domain.table import Choice, Table
from evenmatch.matchers.even_pairs import Solved
from evenmatch.numerics.match_terms import TERMS

__all__ = ["details_of", "in_words", "match_details", "named_roles", "too_few_left", "trace_of"]

_WORDS: Final = {
    "spread": "its players differ in rating",
    "imbalance": "one team is more likely to win",
    "distribution": "the teams are made up differently",
    "latency": "somebody is far from the region",
    "premade": "the parties of the teams differ in size",
    "role": "somebody does not play a preferred role",
    "repeat": "some met lately",
}

_FOR_WANT_OF_OTHERS: Final = (Reason.NO_OPPONENT_IN_WINDOW, Reason.LESS_EVEN, Reason.NO_FITTING_PARTIES)
"""Reasons that speak of others; where too few others are left, that is why."""

SAID_LEAST: Final = 0.05
"""Of what a match costs: terms with a smaller share are not put in words."""


def details_of(
    solved: Solved, seats: int, cost: float, due: int, due_left: int, *, hold: bool, held: bool
) -> dict[str, Any]:
    """Of the plan as a whole: what was reached, and how far from the best that can be at most.

    The objective is the cost less what it counts beside it that these are seated (`even_worth`), the lower the better;
    no plan that seats as many is below `bound`, with `hold` no plan at all. Of pairs turns are no part of the
    objective: there it is no plan that seats as many and gives those who are due as much. `cost_bound` is for as many
    seats, whoever waits. `held`: somebody was left for a better match.
    """
    slack, cost_bound = solved.slack, solved.cost_bound
    if cost_bound is None and not hold:
        cheaper = slack if solved.cost_slack is None else solved.cost_slack
        cost_bound = cost if cheaper is None else max(0.0, cost - cheaper)
    if not hold and solved.cost_bound is None and slack is not None:
        slack = None if seats < solved.seats_bound else min(slack, cost)
    objective = cost - solved.worth
    told = {
        "objective": objective,
        "bound": None if slack is None else objective - slack,
        "optimality_gap": slack,
        "seats": seats,
        "seats_bound": solved.seats_bound,
        "cost": cost,
        "cost_bound": cost_bound,
        "due": due,
        "due_left": due_left,
        **solved.account,
    }
    return {**told, "words": in_words(told, hold=hold, held=held)}


def in_words(told: dict[str, Any], *, hold: bool = False, held: bool = False) -> str:
    """The same in a sentence or two."""
    seats, most = told["seats"], told["seats_bound"]
    due = ""
    if told["due"]:
        many, left = told["due"], told["due_left"]
        due = f" {many:,} tickets go first" if many > 1 else " 1 ticket goes first"
        due += ", by wait or missed waves; "
        due += f"{left:,} of them still wait." if many > 1 else "it still waits." if left else "it is seated."
    if not seats:
        bound = f"no plan could seat more than {most:,} players." if most else "no plan could seat anybody."
        if held:
            bound += " Poor matches were left for later."
        return f"Nobody is seated; {bound}{due}"
    if seats == most:
        seated = f"{seats:,} players are seated, and no plan could seat more."
    else:
        seated = f"{seats:,} players are seated; no plan could seat more than {most:,}."
    if hold:
        costs = f" The matches cost {told['cost']:.4g} in all"
        costs += "; poor ones were left for later." if held else "."
    elif told["cost"] <= told["cost_bound"]:
        costs = f" The matches cost {told['cost']:.4g} in all, and no plan that seats as many costs less."
    else:
        costs = (
            f" The matches cost {told['cost']:.4g} in all; a plan that seats as many costs {told['cost_bound']:.4g} or "
            "more."
        )
        if told.get("solver") in ("exact", "whole_teams"):
            others = (
                "pass over one who goes first" if told["optimality_gap"] else "leave out somebody who has waited longer"
            )
            costs += f" All plans were tried: those that cost less {others}."
        elif told.get("solver") == "pairs" and told["optimality_gap"] == 0:
            costs += " That is proven: those that cost less pass over one who goes first."
    if told["optimality_gap"] and (hold or told.get("solver") in ("teams", "cheap")):
        turns = " and turns" if told["due"] else ""
        what = "With what seats are worth counted, the" if hold else f"With waits{turns} counted, the"
        if told["objective"] == told["cost"]:
            what = "The"
        costs += f" {what} best plan there is gains {told['optimality_gap']:.4g} at the most."
    elif hold and told["optimality_gap"] == 0:
        costs += " With what seats are worth counted, no plan is better."
    return seated + costs + due


def too_few_left(size: Array, seated: Array, reasons: Array, seats: int) -> Array:
    """int8[n]: the reasons of all places, int8[n], where those who are left are too few for a match: that is then why.

    `size`, int[n]: players of each; `seated`: the places that are in matches. As `explain` has it: only of enough
    players it can be said that windows keep them apart. What would keep a ticket from any match still comes first.
    """
    few, everybody = int(Reason.TOO_FEW_PLAYERS), int(size.sum())
    if everybody < seats:
        return np.full(len(size), few, np.int8)
    if everybody - int(size[seated].sum()) >= seats:
        return reasons
    told: Array = np.where(np.isin(reasons, _FOR_WANT_OF_OTHERS), few, reasons).astype(np.int8)
    return told


def match_details(
    terms: Array, gap: Array | None, sides: dict[str, Array] | None, roles: list[list[dict[str, Any]]] | None = None
) -> Table:
    """Of each match: its terms, weights counted, so that they add up to its cost; with two teams or more the gap
    between the strongest and the weakest; with sides or roles who plays which."""
    if not len(terms):
        return Table()
    columns: dict[str, Any] = {"terms": Table({name: terms[:, at].copy() for at, name in enumerate(TERMS)})}
    if gap is not None:
        columns["gap"] = gap
    if sides is not None:
        columns["sides"] = Table(sides)
    if roles is not None:
        columns["roles"] = Choice(np.arange(len(roles)), roles)
    return Table(columns)


def named_roles(
    ticket: Array, rosters: Array, start: Array, role_of: Array, names: tuple[str, ...]
) -> list[list[dict[str, Any]]]:
    """Of each match: its tickets, and the roles of the players of each, in the order that the ticket names them.

    Single players of one role share a list: of a large wave there are tens of thousands.
    """
    called = [*names, ""]  # the last for -1
    alone = [[name] for name in called]
    codes = role_of.tolist()
    seated = rosters >= 0
    rows = rosters[seated]
    told = [
        {"ticket": number, "roles": alone[codes[at]] if end == at + 1 else [called[code] for code in codes[at:end]]}
        for number, at, end in zip(ticket[rows].tolist(), start[rows].tolist(), start[rows + 1].tolist(), strict=True)
    ]
    ends = np.cumsum(np.count_nonzero(seated, axis=1)).tolist()
    return [told[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def trace_of(
    details: dict[str, Any],
    taken: tuple[dict[str, Any], ...],
    waiting: int,
    windows: Array,
    tickets: list[list[int]],
    cost: Array,
    terms: Array,
) -> tuple[dict[str, Any], ...]:
    """The account of a wave: who is looked at and how wide their windows are, what the solver did, and every match.

    `terms`, float64[k, 7]: of each match, weights counted.
    """
    finite = windows[np.isfinite(windows)]
    narrow, wide = (float(finite.min()), float(finite.max())) if len(finite) else (None, None)
    free = len(windows) - len(finite)
    if narrow is None:
        looked = f"{waiting} tickets are looked at; " + ("all accept any rating." if free else "there is nobody.")
    else:
        looked = f"{waiting} tickets are looked at; windows are {narrow:.4g} to {wide:.4g} points wide"
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
        step["words"] = _of_match(price, row)
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
