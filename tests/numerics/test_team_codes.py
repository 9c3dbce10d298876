"""Codes of compositions: those that can be completed, all of them, and no other."""

import pytest

from evenmatch.numerics.team_codes import Codes, codes_of, patterns_of
from tests.reference import teams as reference


def multisets(codes: Codes) -> dict[int, tuple[int, ...]]:
    """The multiset of sizes that each code stands for, by walking all steps from nobody."""
    found: dict[int, tuple[int, ...]] = {0: ()}
    wanted = [0]
    while wanted:
        code = wanted.pop()
        for size in range(1, codes.step.shape[1]):
            after = int(codes.step[code, size])
            if after >= 0:
                sizes = tuple(sorted((*found[code], size)))
                assert found.setdefault(after, sizes) == sizes, "one code stands for two multisets"
                wanted.append(after)
    return found


@pytest.mark.parametrize(("teams", "size"), [(2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (2, 5)])
@pytest.mark.parametrize("sizes", [(1, 2, 3, 4, 5), (1,), (2,), (1, 3), (2, 3), (3,)])
def test_codes_are_the_multisets_that_can_be_completed(teams: int, size: int, sizes: tuple[int, ...]) -> None:
    codes = codes_of(teams, size, sizes)
    usable = tuple(one for one in sizes if one <= size)
    expected = reference.completable(size, teams, usable) or {()}
    found = multisets(codes)
    assert codes.exact
    assert set(found.values()) == expected
    assert len(found) == len(codes.players)
    assert [sum(found[code]) for code in range(len(found))] == codes.players.tolist()


@pytest.mark.parametrize(("teams", "size", "count"), [(2, 4, 52), (2, 5, 107), (1, 100, 101), (8, 1, 9)])
def test_the_usual_formats_have_few_codes(teams: int, size: int, count: int) -> None:
    assert len(codes_of(teams, size, range(1, size + 1)).players) == count


def test_a_format_with_too_many_compositions_counts_players_and_says_so() -> None:
    codes = codes_of(20, 5, [1, 2, 3])
    assert not codes.exact
    assert codes.players.tolist() == list(range(101))
    assert codes.step[0].tolist() == [-1, 1, 2, 3, -1, -1]


def test_sums_that_are_right_are_not_enough() -> None:
    codes = codes_of(2, 4, [2, 3])
    three = codes.step[0, 3]
    assert three == -1, "a three among twos and threes never makes a four"
    assert codes_of(2, 4, [1, 2, 3]).step[codes_of(2, 4, [1, 2, 3]).step[0, 3], 3] >= 0


def test_codes_do_not_hang_on_the_order_or_the_number_of_sizes() -> None:
    assert codes_of(2, 5, [3, 1, 1, 2]) is codes_of(2, 5, [1, 2, 3])
    assert codes_of(2, 5, [1, 9]) is codes_of(2, 5, [1])


def test_patterns_are_the_ways_to_fill_a_team() -> None:
    assert patterns_of(4, (1, 2, 3)) == ((4, 0, 0), (2, 1, 0), (1, 0, 1), (0, 2, 0))
