"""Windows: the distance to the nth nearest is what it says, and thin places have wider windows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.numerics.rating_windows import nth_nearest, thinness, windows_of


@given(ratings=st.lists(st.integers(0, 50).map(float), min_size=4, max_size=20), nth=st.integers(1, 3))
def test_the_nth_nearest_is_the_nth_of_all_distances(ratings: list[float], nth: int) -> None:
    found = nth_nearest(np.array(ratings), nth)
    for place, rating in enumerate(ratings):
        others = sorted(abs(rating - other) for at, other in enumerate(ratings) if at != place)
        assert found[place] == others[nth - 1]


def test_few_and_equal_ratings_are_nowhere_thin() -> None:
    assert thinness(np.array([1.0, 2.0, 900.0]), nth=1, least=4, most=4.0).tolist() == [1, 1, 1]
    assert thinness(np.full(10, 7.0), nth=2, least=4, most=4.0).tolist() == [1] * 10


def test_thin_places_count_for_more_up_to_the_most() -> None:
    ratings = np.array([*range(20), 23.0, 100.0])
    thin = thinness(ratings, nth=1, least=4, most=4.0)
    assert thin[:20].tolist() == [1] * 20
    assert thin[20:].tolist() == [4.0, 4.0] if ratings[20] - 19 >= 4 else thin[20] == 4.0


def test_windows_grow_until_there_is_no_limit() -> None:
    waited_ms = np.array([0, 1500, 599_999, 600_000])
    found = windows_of(waited_ms, np.array([1.0, 2.0, 1.0, 1.0]), window=100.0, growth=1.0, free_s=600.0)
    assert found.tolist() == [100.0, 203.0, 100 + 599.999, np.inf]
