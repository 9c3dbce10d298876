"""Greedy pairs within windows, from the sorted list of all acceptable pairs."""

from typing import NamedTuple


class Member(NamedTuple):
    """A player of one side."""

    rating: float
    misses: float
    window: float


def radius(rule: str, lead: Member, follow: Member) -> float:
    """The widest gap that a pair may have."""
    windows = lead.window, follow.window
    return {"lead": lead.window, "either": max(windows), "both": min(windows)}[rule]


def window_pairs(
    rule: str, weight: float, leads: list[Member], follows: list[Member]
) -> tuple[list[tuple[int, int]], int]:
    """The pairs in order of selection, and how many are acceptable."""
    listed = []
    for at, lead in enumerate(leads):
        for to, follow in enumerate(follows):
            gap = abs(lead.rating - follow.rating)
            if gap <= radius(rule, lead, follow):
                listed.append((gap * gap - weight * (lead.misses + follow.misses), at, to))
    pairs: list[tuple[int, int]] = []
    for _, at, to in sorted(listed):
        if all(at != one and to != other for one, other in pairs):
            pairs.append((at, to))
    return pairs, len(listed)
