"""The curve of waits: as worked out by hand, as plain counting has it, and unbent by what is cut off."""

import numpy as np
import pytest

from evenmatch.domain.arrays import Array
from evenmatch.numerics.wait_curve import Curve, wait_curve


def curve(end: list[float], matched: list[int], entry: list[float] | None = None, weight: float = 1.0) -> Curve:
    started = np.full(len(end), -1.0) if entry is None else np.array(entry)
    return wait_curve(started, np.array(end, float), np.array(matched, bool), np.full(len(end), weight))


def test_a_curve_by_hand() -> None:
    # 6 wait; one is matched at 1 (5/6 left), one leaves at 2, at 3 one of four (5/8), at 5 one of two (5/16).
    found = curve([1, 2, 3, 3, 5, 6], [1, 0, 1, 0, 1, 0])
    assert found.wait.tolist() == [1, 3, 5]
    assert found.left.tolist() == pytest.approx([5 / 6, 5 / 8, 5 / 16])
    assert found.quantile(0.5) == 5
    assert found.quantile(0.1) == 1
    assert found.quantile(0.9) is None


def test_without_anything_cut_off_it_is_the_share_of_waits() -> None:
    waits = np.random.default_rng(1).exponential(10.0, 500)
    found = curve(waits.tolist(), [1] * 500)
    for share in (0.1, 0.5, 0.9):
        assert found.quantile(share) == pytest.approx(np.sort(waits)[int(share * 500) - 1])


def test_nobody_and_nobody_matched_are_unknown() -> None:
    assert curve([], []).quantile(0.5) is None
    assert curve([3, 4], [0, 0]).quantile(0.5) is None


def test_weights_stand_for_copies() -> None:
    end, matched = [1.0, 2.0, 2.0, 3.0, 4.0, 7.0], [1, 1, 0, 1, 0, 1]
    assert curve(end * 3, matched * 3).left.tolist() == pytest.approx(curve(end, matched, weight=3.0).left.tolist())


def cut(seed: int) -> tuple[Array, Array, Array, Array]:
    """20,000 true waits, seen for 30 s: who came before enters late, who is there at the end is cut off."""
    dice = np.random.default_rng(seed)
    joined, waits = dice.uniform(-300.0, 30.0, 20_000), dice.gamma(2.0, 10.0, 20_000)
    seen = joined + waits > 0
    end = np.minimum(waits, 30.0 - joined)
    return waits, np.where(joined < 0, -joined, -1.0)[seen], end[seen], (waits <= 30.0 - joined)[seen]


def test_late_entry_and_cutting_off_bend_nothing() -> None:
    for seed in range(3):
        waits, entry, end, matched = cut(seed)
        found = wait_curve(entry, end, matched, np.ones(len(end)))
        for share in (0.5, 0.9):
            told = found.quantile(share)
            assert told is not None
            assert np.mean(waits <= told) == pytest.approx(share, abs=0.03)
        # What is matched within the window alone, taken for the whole, is far off.
        assert np.mean(waits <= np.quantile(end[matched & (entry < 0)], 0.9)) < 0.8


def test_one_match_among_few_early_entries_does_not_end_the_curve() -> None:
    found = curve([1.0] + [20.0] * 40, [1] * 41, [-1.0] + [5.0] * 40)
    assert found.left.tolist() == [0.0]
    assert found.wait.tolist() == [20.0]
