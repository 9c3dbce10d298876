"""The paged mapping does what a dictionary does, one by one and many at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.core import paged
from evenmatch.core.paged import Paged

NEAR = st.integers(0, 40)
NUMBERS = (
    NEAR
    | st.integers(0, 10_000)
    | st.sampled_from([-1, -(2**63), 2**63 - 1, 2**22 * 4 - 1, 2**22 * 4, 2**40, 2**40 + 9])
)
MANY = st.lists(NUMBERS, max_size=30, unique=True)
ACTIONS = st.lists(
    st.tuples(st.sampled_from(["put", "drop", "set", "delete", "find"]), MANY, st.integers(0, 2**62)), max_size=25
)


@given(ACTIONS, st.sampled_from([1, 2, 5]), st.sampled_from([0, 0, 7, 2**40]))
def test_it_does_what_a_dictionary_does(actions: list[tuple[str, list[int], int]], bits: int, base: int) -> None:
    ours, plain = Paged(bits, base), dict[int, int]()
    for what, numbers, value in actions:
        array = np.array(numbers, np.int64)
        values = (value + np.arange(len(array))) % 2**62
        match what:
            case "put":
                ours.put(array, values)
                plain.update(zip(numbers, values.tolist(), strict=True))
            case "drop":
                ours.drop(array)
                for number in numbers:
                    plain.pop(number, None)
            case "set":
                for number in numbers:
                    ours[number] = plain[number] = value
            case "delete":
                for number in numbers:
                    if number in plain:
                        del ours[number], plain[number]
                    else:
                        with pytest.raises(KeyError):
                            del ours[number]
        assert ours.find(array).tolist() == [plain.get(number, -1) for number in numbers]
        assert [ours.get(number) for number in numbers] == [plain.get(number) for number in numbers]
        assert [number in ours for number in numbers] == [number in plain for number in numbers]
        assert (len(ours), dict(ours.items())) == (len(plain), plain)
        near = {number for number in plain if 0 <= number - base >> bits < paged._PAGES_MOST}
        assert list(ours) == sorted(near) + sorted(plain.keys() - near)


def test_pages_that_empty_are_used_again() -> None:
    mapping = Paged(6)
    for start in range(0, 1_000_000, 1_000):
        numbers = np.arange(start, start + 1_000)
        mapping.put(numbers, numbers)
        mapping.drop(numbers)
    assert len(mapping) == 0
    assert len(mapping._values) <= 64 * 64


def test_a_word_is_no_number() -> None:
    word: object = "x"
    assert word not in Paged(6)
