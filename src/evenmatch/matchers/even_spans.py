"""Matches of more than two that a ticket could be in: how far their ratings span, and when windows let them.

Between two tickets the window rule is plain. A match of more has one rule for all of it: its span, from the lowest to
the highest ticket, must not exceed what the policy makes of all their windows. So three of whom each accepts its
neighbour may still be no match, and time alone may mend it.

Asked are runs: tickets next to each other in rating that hold the one in question, as few as have a match's players.
No match of other tickets has a narrower span. Parties of a run may not fill teams; that is not asked here.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.matchers.even_parameters import BOTH, MEAN, WindowRule
from evenmatch.matchers.even_pool import Pool

__all__ = ["Span", "keeps_windows", "runs", "soonest_span"]


class Span(NamedTuple):
    """A match that windows will let be, or let be now."""

    points: float
    after_ms: float
    """Until windows have grown enough, if all just wait; 0 = now."""


def runs(pool: Pool, place: int, some: Array, seats: int) -> Iterator[Array]:
    """int64: the places of each run round a place, among `some`, bool[n], and itself."""
    with_it = some.copy()
    with_it[place] = True
    (places,) = np.nonzero(with_it)
    places = places[np.argsort(pool.rating[places], kind="stable")]
    at = int(np.flatnonzero(places == place)[0])
    upto = np.concatenate(([0], np.cumsum(pool.size[places])))
    for first in range(max(0, at - seats + 1), at + 1):
        # The first end that leaves enough players between, and the place itself among them.
        end = max(at + 1, int(np.searchsorted(upto, upto[first] + seats)))
        if end > len(places):
            return
        yield places[first:end]


def keeps_windows(pool: Pool, places: Array, policy: int) -> bool:
    """Does a match of these places keep the window rule now?"""
    window = pool.window[places]
    if policy == MEAN:
        widest = float(np.average(window, weights=pool.size[places]))
    else:
        widest = float(window.min() if policy == BOTH else pool.window[places.min()])
    return _span(pool, places) <= widest


def soonest_span(pool: Pool, place: int, some: Array, seats: int, rule: WindowRule) -> Span | None:
    """Of the matches round a place the one that windows let be first; None = too few are there, or never."""
    found = [Span(_span(pool, run), _moment(pool, run, rule)) for run in runs(pool, place, some, seats)]
    best = min(found, key=lambda span: (span.after_ms, span.points), default=None)
    return None if best is None or best.after_ms == np.inf else best


def _span(pool: Pool, places: Array) -> float:
    return float(pool.rating[places[-1]] - pool.rating[places[0]])


def _moment(pool: Pool, places: Array, rule: WindowRule) -> float:
    """Milliseconds until a match of these places keeps the window rule; inf = never."""
    if keeps_windows(pool, places, rule.policy):
        return 0.0
    window, span = pool.window[places], _span(pool, places)
    growth = rule.window_growth * pool.thin[places] / 1000.0
    free_ms = np.maximum(rule.window_free_s * 1000.0 - pool.waited_ms[places], 0.0)
    if rule.policy == MEAN:
        weights = pool.size[places]
        speed = float(np.average(growth, weights=weights))
        grown = (span - float(np.average(window, weights=weights))) / speed if speed else np.inf
        return float(np.ceil(min(grown, float(free_ms.min()))))
    with np.errstate(divide="ignore"):
        each = np.where(window >= span, 0.0, np.minimum((span - window) / growth, free_ms))
    return float(np.ceil(each.max() if rule.policy == BOTH else each[places.argmin()]))
