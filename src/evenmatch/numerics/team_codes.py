"""What a half-filled match can still become: compositions of party sizes as small numbers.

Problem. A match of T teams of S is filled by parties that stay whole. While it is put together, one has to know at
every step whether the parties chosen so far can still be completed. That their sizes add up is not enough: 3 + 3 + 2
are eight players, and do not make two fours.

Idea. Only sizes matter, so what is chosen is a multiset of sizes, and the multisets that can be completed at all are
few: 52 for 2x4, 107 for 2x5. Each gets a number, its code, and a table says what it becomes when a party of a size
joins, or that it cannot. Codes are numbered by their players, so that a search may walk them from the fullest to the
emptiest and use each ticket once.

    2x2, sizes 1 and 2:   0 {}   1 {1}   2 {1 1}   3 {2}   4 {1 1 1}   5 {1 1 2}*   ...   full: {1111} {112} {22}

Every full team is a pattern (a way to write S as a sum), a full match is T patterns, and what can be completed is what
is left of a full match when parties are taken out of it.

Where there are too many multisets (20 teams of 5) only the players are counted: code = players. Such codes promise too
much (`exact` is false), and whoever uses them has to ask whether a full one packs. For one team, and for teams of one,
counting players is all there is to know.

Complexity. Made once for a format and the sizes that occur, and remembered. At most `CODES_MAX` codes.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb
from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["Codes", "codes_of", "patterns_of"]

CODES_MAX: Final = 3000
FULL_MAX: Final = 20_000
"""Full matches that are listed at the most."""


class Codes(NamedTuple):
    """The codes of one format."""

    players: Array
    """int64[codes]: rising; the first is 0, that of nobody."""
    step: Array
    """int32[codes, size + 1]: the code after a party of a size has joined, -1 = it can't."""
    exact: bool
    """Every code can be completed, and every full one packs."""


@lru_cache(maxsize=64)
def patterns_of(size: int, sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The ways to fill a team: how many parties of each of these sizes, which are distinct."""
    found: list[tuple[int, ...]] = []

    def fill(at: int, room: int, counts: tuple[int, ...]) -> None:
        if at == len(sizes):
            if not room:
                found.append(counts)
            return
        for count in range(room // sizes[at], -1, -1):
            fill(at + 1, room - count * sizes[at], (*counts, count))

    fill(0, size, ())
    return tuple(found)


def codes_of(teams: int, size: int, sizes: Sequence[int]) -> Codes:
    """The codes of `teams` teams of `size`, for parties of these sizes; larger ones than a team are passed over."""
    return _codes_of(teams, size, tuple(sorted({int(one) for one in sizes if 1 <= one <= size})))


@lru_cache(maxsize=64)
def _codes_of(teams: int, size: int, sizes: tuple[int, ...]) -> Codes:
    if teams == 1 or sizes == (1,):
        return _counting(teams * size, size, sizes, exact=True)
    if size <= 20:
        patterns = patterns_of(size, sizes)
        if comb(len(patterns) + teams - 1, teams) <= FULL_MAX:
            known = _completable(patterns, teams)
            if len(known) <= CODES_MAX:
                return _listed(known, size, sizes)
    return _counting(teams * size, size, sizes, exact=False)


def _counting(seats: int, size: int, sizes: tuple[int, ...], *, exact: bool) -> Codes:
    """Codes that only count players."""
    reach = np.zeros(seats + 1, bool)
    reach[seats] = True
    for players in range(seats - 1, -1, -1):
        reach[players] = any(reach[players + one] for one in sizes if players + one <= seats)
    counts: Array = np.flatnonzero(reach) if reach[0] else np.zeros(1, np.int64)
    code = np.full(seats + 1, -1)
    code[counts] = np.arange(len(counts))
    step = np.full((len(counts), size + 1), -1, np.int32)
    for one in sizes:
        after = counts + one
        inside = after <= seats
        step[inside, one] = code[after[inside]]
    return Codes(counts.astype(np.int64), step, exact)


def _completable(patterns: Sequence[tuple[int, ...]], teams: int) -> list[tuple[int, ...]]:
    """Every multiset of parties that is part of a full match, as counts; stops once there are too many."""
    known = {tuple(map(sum, zip(*match, strict=True))) for match in combinations_with_replacement(patterns, teams)}
    found = dict.fromkeys(sorted(known))
    wanted = list(found)
    while wanted and len(found) <= CODES_MAX:
        counts = wanted.pop()
        for at, count in enumerate(counts):
            fewer = (*counts[:at], count - 1, *counts[at + 1 :])
            if count and fewer not in found:
                found[fewer] = None
                wanted.append(fewer)
    return list(found)


def _listed(known: list[tuple[int, ...]], size: int, sizes: tuple[int, ...]) -> Codes:
    """Codes of these multisets, by players and then by counts."""
    if not known:
        return Codes(np.zeros(1, np.int64), np.full((1, size + 1), -1, np.int32), exact=True)
    ordered = sorted(known, key=lambda counts: (sum(map(int.__mul__, counts, sizes)), counts))
    number = {counts: code for code, counts in enumerate(ordered)}
    step = np.full((len(ordered), size + 1), -1, np.int32)
    for counts, code in number.items():
        for at, one in enumerate(sizes):
            step[code, one] = number.get((*counts[:at], counts[at] + 1, *counts[at + 1 :]), -1)
    players = np.array([sum(map(int.__mul__, counts, sizes)) for counts in ordered], np.int64)
    return Codes(players, step, exact=True)
