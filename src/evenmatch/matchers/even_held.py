"""With `hold`: what a match may cost now that a ticket is in, and when a wait will have it accept what there is.

A match is made if it costs no more than the seats of its players are worth (`even_pool`). That rises by a quarter of
`wait_value` for each second that each of them waits, so what costs too much now will do after

    (cost - worth of all) / (players * wait_value / 4)    or when one of them is due, which is never held:
                                                          by its wait, or by waves that seated others and not it

Newcomers change what a seat is worth, so the moment is told as things stand. Of pairs the match in question is known;
of teams only what a player's part may cost.
"""

from typing import Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.explanation import Explanation
from evenmatch.domain.queue import Format
from evenmatch.matchers.even_pool import PAST_SHARE, Pool
from evenmatch.matchers.even_worth import Judge

__all__ = ["with_holding"]

PAIR: Final = 2
ASKED_MAX: Final = 50
"""So many of the nearest others are asked what a match with them costs."""


def with_holding(
    found: Explanation,
    row: int,
    pool: Pool,
    form: Format,
    worth: Array,
    judge: Judge,
    wait_value: float,
    outlier_s: float,
    waves: int,
) -> Explanation:
    """The explanation of a row, with what would end its holding where nothing else keeps it; `worth` as in a plan.

    `waves`: so many more that seat others and not it make it due.
    """
    places = np.flatnonzero(pool.rows == row)
    others = np.flatnonzero(np.isin(pool.rows, found.acceptable))
    if found.unlock is not None or not len(places) or not len(others) or pool.level[places[0]]:
        return found
    place = int(places[0])
    due_ms = outlier_s * 1000.0 - pool.waited_ms
    missed = f"{waves} more wave{'s' * (waves != 1)} that match{'es' * (waves == 1)} others and not it"
    if form.seats > PAIR:
        words = f"a match that costs {worth[place]:.3g} a player or less, {missed}, or a wait of {outlier_s:g} s"
        return _told(found, words, due_ms[place])
    near = others[np.argsort(np.abs(pool.rating[others] - pool.rating[place]), kind="stable")[:ASKED_MAX]]
    cost = _costs(place, near, judge, form.teams)
    accepted = worth[place] + worth[near]
    lacking = cost - accepted
    if (lacking <= 0).any() or not np.isfinite(lacking).any():
        return found
    rate = PAIR * PAST_SHARE * wait_value / 1000.0
    after_ms = np.minimum(lacking / rate, np.minimum(due_ms[near], due_ms[place]))
    after_ms[~np.isfinite(lacking)] = np.inf
    best = int(after_ms.argmin())
    words = f"a match that costs {accepted[best]:.3g} or less, {missed}, or a wait until one that costs"
    return _told(found, f"{words} {cost[best]:.3g} will do", after_ms[best])


def _told(found: Explanation, words: str, after_ms: float) -> Explanation:
    return msgspec.structs.replace(found, unlock=words, unlock_ms=int(np.ceil(after_ms)))


def _costs(place: int, others: Array, judge: Judge, teams: int) -> Array:
    """float64[k]: what a match of two costs with each of these, the cheaper way round; inf = they may not meet."""
    best = np.full(len(others), np.inf)
    ways = [np.array([[0, 1]]), np.array([[1, 0]])][:teams] if teams > 1 else [np.array([[0, 0]])]
    for at, other in enumerate(others.tolist()):  # one by one: the judge knows plans, in which nobody is twice
        for team_of in ways:
            legal, cost = judge(np.array([[place, other]]), team_of)
            if legal[0]:
                best[at] = min(best[at], float(cost[0]))
    return best
