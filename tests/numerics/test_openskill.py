"""Our Weng-Lin kernel beside openskill itself, match after match: the same ratings and the same odds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openskill.models import PlackettLuce

from evenmatch.numerics import weng_lin
from evenmatch.numerics.rating_models import Ratings
from evenmatch.rating import OPENSKILL

PLAYERS = 8


@settings(max_examples=settings().max_examples // 2, deadline=None)
@given(
    st.lists(
        st.tuples(st.permutations(range(PLAYERS)), st.lists(st.integers(1, 3), min_size=2, max_size=4), st.randoms()),
        min_size=1,
        max_size=6,
    )
)
def test_a_run_of_matches_gives_openskills_ratings_and_odds(
    matches: list[tuple[list[int], list[int], "np.random.Generator"]],
) -> None:
    model = PlackettLuce()
    theirs = [model.rating() for _ in range(PLAYERS)]
    ours = Ratings(*(np.full(PLAYERS, value) for value in OPENSKILL.newcomer))
    for order, sizes, chance in matches:
        while sum(sizes) > PLAYERS:
            sizes = sizes[:-1]
        if len(sizes) < 2:
            continue
        start = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        who = np.array(order[: start[-1]])
        rank = np.array([int(chance.random() * 3) for _ in sizes])
        teams = [[theirs[player] for player in who[start[t] : start[t + 1]]] for t in range(len(sizes))]
        if len(sizes) == 2:
            odds = weng_lin.odds(ours.mu[who], ours.sigma[who], start, OPENSKILL.beta)
            assert odds == pytest.approx(np.array(model.predict_win(teams)), rel=1e-9)
        after = OPENSKILL.updated(ours.take(who), np.zeros(len(who), np.int64), start, rank)
        ours.mu[who], ours.sigma[who] = after.mu, after.sigma
        rated = model.rate(teams, ranks=[float(place) for place in rank])
        for player, rating in zip(who, (one for team in rated for one in team), strict=True):
            theirs[player] = rating
        assert ours.mu == pytest.approx(np.array([one.mu for one in theirs]), rel=1e-10)
        assert ours.sigma == pytest.approx(np.array([one.sigma for one in theirs]), rel=1e-10)
