"""Pools of tickets for tests of the team search."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from evenmatch.domain.arrays import Array
from evenmatch.numerics.match_terms import Weights
from evenmatch.numerics.team_field import TeamPool, TeamRules

SEAT = 1000.0
"""What a player's seat is worth where nothing else is said: more than any match of a few players costs."""


def pool_of(
    parties: Sequence[Sequence[float]],
    *,
    window: float | Sequence[float] = np.inf,
    value: Sequence[float] | None = None,
    reach: Sequence[int] = (),
    latency: Sequence[Sequence[float]] | None = None,
    roles: Sequence[Sequence[float]] | None = None,
    forbidden: Sequence[tuple[int, int]] = (),
    met: Sequence[tuple[int, int]] = (),
    sigma: float = 0.0,
) -> TeamPool:
    """A pool of parties, given by the ratings of their players, in canonical order."""
    size = np.array([len(party) for party in parties], np.int64)
    mu = np.array([mu for party in parties for mu in party], np.float64)
    return TeamPool(
        size=size,
        start=np.r_[0, np.cumsum(size)],
        mu=mu,
        sigma=np.full(len(mu), sigma),
        window=np.broadcast_to(np.asarray(window, np.float64), size.shape).copy(),
        value=size * SEAT if value is None else np.array(value, np.float64),
        reach=np.array(reach, np.int64),
        latency=np.empty((len(size), 0)) if latency is None else np.array(latency, np.float64),
        role_cost=np.empty((len(mu), 0)) if roles is None else np.array(roles, np.float64),
        forbidden=_pairs(forbidden),
        met=_pairs(met),
    )


def _pairs(pairs: Sequence[tuple[int, int]]) -> Array:
    return np.array(pairs, np.int64).reshape(-1, 2)


FORMATS = ((2, 1), (2, 2), (2, 3), (3, 2), (1, 4), (4, 1), (2, 4), (3, 1))


@st.composite
def small_pools(draw: st.DrawFn, most: int = 8) -> tuple[TeamPool, TeamRules]:
    """Any pool of a few tickets, with any of the rules."""
    teams, size = draw(st.sampled_from(FORMATS))
    rating = draw(st.sampled_from([st.integers(0, 8).map(lambda n: 1500.0 + 50 * n), st.floats(1000, 2000)]))
    party = st.integers(1, size).flatmap(lambda n: st.lists(rating, min_size=n, max_size=n))
    parties = draw(st.lists(party, min_size=1, max_size=most))
    count, players = len(parties), sum(map(len, parties))
    windows = st.sampled_from([30.0, 100.0, 250.0, np.inf])
    regions = draw(st.sampled_from([0, 0, 2, 3]))
    far = st.lists(st.floats(0, 300), min_size=regions, max_size=regions)
    places = draw(st.sampled_from([(), (), (size,), (1, size - 1)] if size > 1 else [()]))
    price = st.sampled_from([0.0, 0.0, 1.0, np.inf])
    role_row = st.lists(price, min_size=len(places), max_size=len(places))
    pair = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda two: two[0] != two[1])
    pairs = st.lists(pair, max_size=3) if count > 1 else st.just([])
    drawn = pool_of(
        parties,
        window=draw(st.lists(windows, min_size=count, max_size=count)),
        value=[len(one) * draw(st.sampled_from([SEAT, SEAT, 1.5 * SEAT, 0.5])) for one in parties],
        reach=draw(st.lists(st.integers(0, 2**regions - 1), min_size=count, max_size=count)) if regions else (),
        latency=draw(st.lists(far, min_size=count, max_size=count)),
        roles=draw(st.lists(role_row, min_size=players, max_size=players)) if places else None,
        forbidden=draw(pairs),
        met=draw(pairs),
        sigma=draw(st.sampled_from([0.0, 120.0])),
    )
    weights = draw(st.sampled_from([Weights(), Weights(0.1, 2.0, 0.0, 1.0, 0.0, 0.5, 3.0)]))
    return drawn, TeamRules(teams, size, draw(st.integers(0, 2)), weights, 400.0, tuple(places))


def crowd(
    tickets: int,
    team: int,
    *,
    shares: Sequence[float] = (70, 20, 6, 4),
    seed: int = 1,
    regions: int = 0,
    roles: int = 0,
    window: tuple[float, float] = (100.0, 400.0),
) -> TeamPool:
    """Many tickets: ratings round 1500, party sizes by shares, the longest waits and widest windows first."""
    chance = np.random.default_rng(seed)
    share = np.array(shares[:team], float) / sum(shares[:team])
    size = chance.choice(len(share), tickets, p=share) + 1
    players = int(size.sum())
    reach = chance.integers(1, 2**regions, tickets) if regions else np.empty(0, np.int64)
    wanted = chance.integers(0, max(1, roles), (players, 2))
    price = np.full((players, roles), np.inf)
    for each in wanted.T if roles else ():
        price[np.arange(players), each] = 0.0
    return TeamPool(
        size=size,
        start=np.r_[0, np.cumsum(size)],
        mu=np.repeat(chance.normal(1500, 300, tickets), size) + chance.normal(0, 40, players),
        sigma=np.full(players, 60.0),
        window=np.sort(chance.uniform(*window, tickets))[::-1].copy(),
        value=size * (SEAT + np.arange(tickets)[::-1] / tickets),
        reach=reach,
        latency=chance.uniform(10, 150, (tickets, regions)),
        role_cost=price,
    )
