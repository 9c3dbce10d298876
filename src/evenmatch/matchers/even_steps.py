"""The steps of the search for teams in words, for the trace: what was tried, and what it brought in seats and cost.

The search tells every sweep, every division into teams and every kind of move by itself, some hundred steps. Who
designs a queue asks what came of them, so they are told together:

    drafts    sweeps and the divisions that follow them: plans made from nothing, each with its players and its cost
    improve   the moves that made the best of them better, from what to what

All else is told as it is. Bound and gap are told of the plan as a whole (`even_account`).
"""

from itertools import groupby
from typing import Any, Final

__all__ = ["in_words", "told"]

_GIVEN: Final = "a simple rule"
_ORDERS: Final = {"below": "the lowest ratings up", "above": "the highest ratings down", "outside": "both ends inwards"}
_REGIONS: Final = {"home first": ", each region by itself first", "bound first": ", who reach one region first"}
_MOVES: Final = ("bench", "regroup for seats", "exchange", "regroup for cost", "release")


def told(steps: tuple[dict[str, Any], ...], seats: int) -> tuple[dict[str, Any], ...]:
    """Steps with their words, those of one kind together; `seats`: players of a match."""
    found: list[dict[str, Any]] = []
    for kind, run in groupby(steps, _kind):
        some = list(run)
        if kind == "drafts":
            found.append(_drafts(some, seats))
        elif kind == "improve":
            found.append(_improved(some, seats))
        else:
            found += [in_words(step, seats) for step in some]
    return tuple(found)


def _kind(step: dict[str, Any]) -> str:
    name = str(step["step"])
    return "drafts" if name in ("sweep", "divide") else "improve" if name in _MOVES else name


def _drafts(some: list[dict[str, Any]], seats: int) -> dict[str, Any]:
    """Sweeps and the divisions that follow them; of many tickets only the best draft is divided."""
    sweeps = [step for step in some if step["step"] == "sweep"]
    plans = [step for step in some if step["step"] == "divide"]
    each = len(plans) in (len(sweeps), len(sweeps) + 1)
    names = [_way(step) for step in sweeps] if each else ["the best of them"]
    names += [_GIVEN] * (len(plans) - len(names))
    tried = _ranked(
        [
            ({"draft": f"from {name}"}, (plan["matches"], plan["cost"], plan["worth"]))
            for name, plan in zip(names, plans, strict=False)  # those that came to no plan are left out
        ],
        seats,
    )
    made = max(len(plans), len(sweeps))
    words = f"{_many(made, 'plan')} {'was' if made == 1 else 'were'} drafted"
    if tried:
        words += f"; divided into teams, the best {_brought(tried[0])}"
    work = sum(step["work"] for step in some)
    return {"step": "drafts", "plans": made, "work": work, "tried": tried, "words": f"Drafts: {words}."}


def _way(sweep: dict[str, Any]) -> str:
    return _ORDERS[sweep["from"]] + _REGIONS.get(sweep["regions"], "")


def _brought(row: dict[str, Any]) -> str:
    return f"seats {_many(row['seats'], 'player')} at a cost of {row['cost']:.4g}"


def _ranked(plans: list[tuple[dict[str, Any], tuple[int, float, float]]], seats: int) -> list[dict[str, Any]]:
    """Plans as (what is known of each, (matches, cost, worth)), the best first, and how many came to the same.

    Of as many seats the better is the one that is worth more, which counts waits too: `behind` the best by so much.
    """
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    most, best = max(((matches, worth) for _, (matches, _, worth) in plans), default=(0, 0.0))
    for known, (matches, cost, worth) in sorted(plans, key=lambda plan: (-plan[1][0], -plan[1][2])):
        behind = round(best - worth, 4) if matches == most else None
        row = {**known, "seats": matches * seats, "cost": round(cost, 4), "behind": behind}
        found.setdefault(tuple(row.values()), {**row, "times": 0})["times"] += 1
    return list(found.values())


def _improved(some: list[dict[str, Any]], seats: int) -> dict[str, Any]:
    """The moves that made some plans better."""
    starts = [step["before"] for step in some if "before" in step]
    ends = [step["after"] for step in some if "after" in step]
    moves = sum(step["moves"] for step in some)
    tried = _ranked(
        [
            ({"seats_before": began * seats, "cost_before": round(dear, 4)}, end)
            for (began, dear, _), end in zip(starts, ends, strict=True)
        ],
        seats,
    )
    plans = _many(len(ends), "plan")
    words = f"no move made the best {plans} better"
    if moves and tried:
        (_, _, before), (_, _, after) = max(starts, key=_rank), max(ends, key=_rank)
        gain = f"; with waits counted, that is better by {after - before:.4g}" if after > before else ""
        words = f"{_many(moves, 'move')} made the best {plans} better; now the best {_brought(tried[0])}"
        words += gain if max(starts, key=_rank)[0] == max(ends, key=_rank)[0] else ", more than any draft"
    work = sum(step["work"] for step in some)
    return {"step": "improve", "moves": moves, "work": work, "tried": tried, "words": f"Improve: {words}."}


def _rank(plan: tuple[int, float, float]) -> tuple[int, float]:
    matches, _, worth = plan
    return matches, worth


def in_words(step: dict[str, Any], seats: int) -> dict[str, Any]:
    """A step with its `words`; `seats`: players of a match. Steps that nobody has words for stay as they are."""
    said = _said(step, seats)
    # A number of tickets is no list of them, which is what others look for under this name.
    shown = {name: value for name, value in step.items() if name != "tickets"}
    return shown if said is None else {**shown, "words": f"{step['step'][0].upper()}{step['step'][1:]}: {said}."}


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}{'es' if what.endswith('ch') else 's'}"


def _said(step: dict[str, Any], seats: int) -> str | None:
    kind = step["step"]
    if kind == "exact":
        best = (
            f"{_many(step['matches'], 'match')}, {step['matches'] * seats} players" if step["matches"] else "no match"
        )
        return f"all plans of {_many(step['tickets'], 'ticket')} were tried; the best has {best}"
    if kind == "whole teams":
        best = _many(step["matches"], "match")
        return f"all {_many(step['pairs'], 'pair')} of parties that may meet were weighed; the best plan has {best}"
    if kind == "closer bound":
        return f"looked at more closely, no plan could seat more than {_many(step['seats'], 'player')}"
    if kind == "pack":
        found = f"{_many(step['matches'], 'match')} more" if step["matches"] else "no match more"
        return f"the most matches were looked for exactly, and {found} found; at most {step['seats']} could be seated"
    if kind == "turns":
        whole = "" if step["whole"] else "; not all places could be asked"
        return f"{_many(step['moves'], 'time')} one who goes first took the place of others{whole}"
    if kind == "deal":
        less = "none of them costs less"
        if step["matches"]:
            less = f"{_many(step['matches'], 'match')} became cheaper, by {step['gain']:.4g} in all"
        return f"the tickets of each match were dealt into teams once more; {less}"
    return None
