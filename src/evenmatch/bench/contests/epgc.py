"""EPGC's contests: one lobby of a tier, and a tier drained.

Waits are whole seconds. So all sums of weights are exact in floats, and a transcription that adds up weights one by one
ties exactly where we do.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from evenmatch.bench.contest import Aim, Contest, Opponent
from evenmatch.bench.contests.waiting import first_difference, random
from evenmatch.domain.arrays import Array
from evenmatch.matchers.epgc import drain, find_lobby

__all__ = ["CONTESTS"]

LOBBY: Final = 10
ALPHA, BETA = 1.5, 0.5
PAPER, QUADRATIC = "paper-style Python", "quadratic numba"


class Tier(NamedTuple):
    """The players of one tier, in canonical order."""

    ping_ms: Array
    """int64[n]."""
    waited_s: Array
    """float64[n]: whole seconds, falling."""


def tier(size: int, seed: int) -> Tier:
    """Pings about 65 ms with a long tail, waits of up to ten minutes."""
    chance = random(seed, size)
    ping = np.minimum(5 + chance.gamma(4.0, 15.0, size), 400).astype(np.int64)
    return Tier(ping, np.sort(chance.integers(0, 600, size))[::-1].astype(np.float64))


def lobby(given: Tier) -> Array:
    """Ours: weighted degrees and one lobby."""
    return find_lobby(given.ping_ms, given.waited_s, min(LOBBY, len(given.ping_ms)))


def lobbies(given: Tier) -> Array:
    """Ours: the tier drained."""
    return drain(given.ping_ms, given.waited_s, LOBBY)


def plain(given: Tier) -> tuple[list[int], list[float]]:
    """The columns as lists."""
    return given.ping_ms.tolist(), given.waited_s.tolist()


def paper_lobby(given: tuple[list[int], list[float]]) -> list[int]:
    """The whole graph written down, then one lobby."""
    from evenmatch.bench.opponents import epgc

    return epgc.paper_lobby(*given, min(LOBBY, len(given[0])), ALPHA, BETA)


def paper_drain(given: tuple[list[int], list[float]]) -> list[list[int]]:
    """The graph built anew for every lobby."""
    from evenmatch.bench.opponents import epgc

    return epgc.paper_drain(*given, LOBBY, ALPHA, BETA)


def whole(given: Tier) -> tuple[Array, Array]:
    """The columns in whole ms."""
    return given.ping_ms, (given.waited_s * 1000).astype(np.int64)


def quadratic_drain(given: tuple[Array, Array]) -> Array:
    """Every free player looked at in every pick, compiled."""
    from evenmatch.bench.opponents import epgc

    return epgc.quadratic_drain(*given, LOBBY, ALPHA, BETA)


def same_lobby(_: Tier, ours: Array, theirs: Any) -> str | None:
    """The same players in the same order."""
    return first_difference("lobbies", ours[None, :], [theirs])


def same_lobbies(_: Tier, ours: Array, theirs: Any) -> str | None:
    """The same lobbies in the same order."""
    return first_difference("lobbies", ours, theirs)


def nobody_twice(given: Tier, ours: Array) -> str | None:
    """A drain leaves fewer than a lobby, and seats nobody twice."""
    if len(np.unique(ours)) != ours.size or len(ours) != len(given.ping_ms) // LOBBY:
        return "somebody is in two lobbies, or a lobby is missing"
    return None


CONTESTS: Final = (
    Contest(
        "epgc.lobby",
        f"weighted degrees and one lobby of {LOBBY}, one tier",
        (100, 500, 5_000, 50_000),
        tier,
        lobby,
        same_lobby,
        (Opponent(PAPER, paper_lobby, 500, prepare=plain),),
        (Aim("ratio", 2_000, 500, PAPER),),
    ),
    Contest(
        "epgc.drain",
        f"lobbies of {LOBBY} until one tier is empty",
        (500, 5_000, 20_000, 100_000, 1_000_000),
        tier,
        lobbies,
        same_lobbies,
        (Opponent(QUADRATIC, quadratic_drain, 20_000, prepare=whole), Opponent(PAPER, paper_drain, 500, prepare=plain)),
        (Aim("ratio", 10, 5_000, QUADRATIC), Aim("seconds", 1.5, 1_000_000), Aim("growth", 1.2)),
        sound=nobody_twice,
        quick=(100, 2_000),
    ),
)
