"""The ladder's stages 1 to 6 in plain Python, as its document has them with the corrections of our notes."""

from fractions import Fraction
from typing import NamedTuple, TypeAlias

__all__ = ["Player", "wave"]


class Player(NamedTuple):
    """A player, at his place in canonical order; None = can't play that side."""

    place: int
    first: int | None
    second: int | None
    misses: int


Rated: TypeAlias = tuple[int, int, int, int]
"""Place, rating on the side that was chosen, misses, window."""


def wave(players: list[Player]) -> list[tuple[int, int]]:
    """The places of each match, first side first, in order of selection."""
    sides = equalize(players)
    base, growth = window(len(players))
    swapped = len(sides[1]) < len(sides[0])
    ratings = [[(p, p[1 + side]) for p in sides[side]] for side in (0, 1)]
    lead, follow = ratings[::-1] if swapped else ratings
    size = min(len(lead), len(follow))
    kept: list[list[Rated]] = []
    for side in (lead, follow):
        side.sort(key=lambda rated: (-rated[0].misses, rated[0].place))
        kept.append([(p.place, rating or 0, p.misses, base + growth * p.misses) for p, rating in side[:size]])
    matches = refine(find_matches(*kept))
    return [(other[0], one[0]) if swapped else (one[0], other[0]) for one, other in matches]


def equalize(players: list[Player]) -> tuple[list[Player], list[Player]]:
    """Stages 1 and 2: flexible players even out the counts, and one of them the means."""
    first = [p for p in players if p.first is not None and p.second is None]
    second = [p for p in players if p.first is None and p.second is not None]
    both = [p for p in players if p.first is not None and p.second is not None]
    both.sort(key=lambda p: (bias(p), p.place))
    low, high = 0, len(both)
    while low < high:
        if len(first) < len(second):
            high -= 1
            first.append(both[high])
        else:
            second.append(both[low])
            low += 1
    if first and second:
        total, other = sum([p.first or 0 for p in first]), sum([p.second or 0 for p in second])
        apart, limit = total * len(second) - other * len(first), 50 * len(first) * len(second)
        counts = len(first) - len(second)
        if apart > limit and abs(counts - 2) <= abs(counts):
            move_most_neutral(first, second)
        elif apart < -limit and abs(counts + 2) <= abs(counts):
            move_most_neutral(second, first)
    return first, second


def bias(player: Player) -> int:
    """How much better a flexible player is on the first side."""
    return (player.first or 0) - (player.second or 0)


def move_most_neutral(stronger: list[Player], weaker: list[Player]) -> None:
    """The flexible player of the stronger side who loses least by it changes sides."""
    flexible = [p for p in stronger if p.first is not None and p.second is not None]
    if flexible:
        neutral = min(flexible, key=lambda p: (abs(bias(p)), p.place))
        stronger.remove(neutral)
        weaker.append(neutral)


def window(waiting: int, population: int | None = None) -> tuple[int, int]:
    """Stage 3: the base of the window, and its growth a miss; without a population, only those who wait are there."""
    population = population or waiting
    scale = Fraction(12, 10) if population <= 10 else Fraction(1) if population <= 25 else Fraction(8, 10)
    pressure = min(Fraction(1), scale * waiting / max(population, 1))
    return (75, 25) if pressure >= Fraction(1, 5) else (100, 35) if pressure >= Fraction(1, 10) else (125, 45)


def find_matches(lead: list[Rated], follow: list[Rated]) -> list[tuple[Rated, Rated]]:
    """Stage 5: all pairs within the lead's window, the least score first."""
    candidates = []
    for one in lead:
        place, rating, misses, widest = one
        for other in follow:
            gap = abs(rating - other[1])
            if gap <= widest:
                candidates.append((gap * gap - 20 * (misses + other[2]), place, other[0], one, other))
    candidates.sort()
    used: set[int] = set()
    matches = []
    for _, place, others_place, one, other in candidates:
        if place not in used and others_place not in used:
            used.add(place)
            used.add(others_place)
            matches.append((one, other))
    return matches


def refine(matches: list[tuple[Rated, Rated]]) -> list[tuple[Rated, Rated]]:
    """Stage 6: neighbours in the list exchange their followers where that is better, in two passes at most."""
    for _ in range(2):
        swapped = False
        for place in range(len(matches) - 1):
            (one, follower), (other, others) = matches[place], matches[place + 1]
            across, back = abs(one[1] - others[1]), abs(other[1] - follower[1])
            before = (one[1] - follower[1]) ** 2 + (other[1] - others[1]) ** 2
            if across * across + back * back < before and across <= one[3] and back <= other[3]:
                matches[place : place + 2] = [(one, others), (other, follower)]
                swapped = True
        if not swapped:
            break
    return matches
