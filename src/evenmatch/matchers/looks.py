"""What some matchers can tell of those who wait, for a picture: who would lead, and whose ranges overlap.

A matcher that has leaders says so by a method `leads(snapshot, seed)`, one that compares ranges by a method
`overlaps(snapshot, rows)`; each is asked of one group at a time, as in a wave (`contract.plan_wave`).
"""

from typing import NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import Matcher, groups_of

__all__ = ["Overlaps", "wave_leaders", "wave_overlaps"]


class Overlaps(NamedTuple):
    """Of some tickets: how far the range of each overlaps with that other one with which it does most."""

    share: Array
    """float64[k], 0 to 1; NaN = there is no other."""
    low: Array
    """float64[k]: where the part begins that both have; NaN = none."""
    high: Array

    @classmethod
    def none(cls, count: int) -> "Overlaps":
        """Nothing known of so many."""
        return cls(*np.full((3, count), np.nan))


def wave_leaders(matcher: Matcher, snapshot: Snapshot, seed: int) -> Array | None:
    """bool[n]: who would lead if a wave with this seed saw the snapshot; None = the matcher has no leaders."""
    asked = getattr(matcher, "leads", None)
    if asked is None:
        return None
    leads = np.zeros(len(snapshot), bool)
    for rows, part in groups_of(snapshot) if len(snapshot) else ():
        leads[rows] = asked(part, seed)
    return leads


def wave_overlaps(matcher: Matcher, snapshot: Snapshot, rows: Array) -> Overlaps | None:
    """Of these rows, each among its own group; None = the matcher compares no ranges."""
    asked = getattr(matcher, "overlaps", None)
    if asked is None:
        return None
    found = Overlaps.none(len(rows))
    wanted = np.full(len(snapshot), -1)
    wanted[rows] = np.arange(len(rows))
    for within, part in groups_of(snapshot) if len(rows) else ():
        here = np.flatnonzero(wanted[within] >= 0)
        if not len(here):
            continue
        for column, told in zip(found, asked(part, here), strict=True):
            column[wanted[within[here]]] = told
    return found
