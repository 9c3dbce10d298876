"""Which step of a ladder a number stands on, without a rounding ever deciding.

Problem. The bucket of a rating is floor(rating / width), or the nearest whole number with halves away from zero; its
widest range may be floor(share * |rating|) with the share a fraction. A quotient or product of floats that is rounded
up to a whole number would put a rating on the next step.

Idea. The float quotient is right but for one step. The product of two floats is the sum of two floats, its rounding
and what that left out (Dekker), so a step is compared with the number exactly: first the roundings, then the rests.

Why exact. Rounding is monotone: if p < q then round(p) <= round(q), and where these are equal the rests decide. The
rests are exact as long as nothing under- or overflows, which numbers below 2^53 and steps of a thousandth cannot. A
share is a fraction of whole numbers below 2^53; others are left to Python's whole numbers.

Complexity. O(1) a number, some nanoseconds.
"""

from fractions import Fraction
from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import BOOL, FLOAT, FLOATS, INT, OUT_INTS, kernel

__all__ = ["EXACT_MAX", "floors", "rounded", "shares", "step_down", "step_near", "step_share"]

EXACT_MAX: Final = 2**53
"""Whole numbers up to here are exact as floats."""
SPLITTER: Final = 134217729.0
"""2^27 + 1: cuts the 53 bits of a float into two halves."""


@kernel()
def _product(one: float, other: float) -> tuple[float, float]:
    """The product rounded, and what the rounding left out."""
    product = one * other
    cut = SPLITTER * one
    one_high = cut - (cut - one)
    one_low = one - one_high
    cut = SPLITTER * other
    other_high = cut - (cut - other)
    other_low = other - other_high
    rest = ((one_high * other_high - product) + one_high * other_low + one_low * other_high) + one_low * other_low
    return product, rest


@kernel()
def _above(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether one product is larger than another."""
    return one[0] > other[0] or (one[0] == other[0] and one[1] > other[1])


@kernel()
def step_down(number: float, width: float) -> int:
    """The floor of number / width."""
    step = np.floor(number / width)
    if _above(_product(step, width), (number, 0.0)):
        step -= 1.0
    return int(step)


@kernel()
def step_near(number: float) -> int:
    """The nearest whole number, halves away from zero."""
    whole = np.trunc(number)
    # Adding 0.5 and cutting would turn the float below 0.5 into 1; this difference is exact.
    if abs(number - whole) >= 0.5:
        whole += 1.0 if number > 0 else -1.0
    return int(whole)


@kernel()
def step_share(number: float, top: float, bottom: float, most: int) -> int:
    """The floor of |number| * top / bottom, or `most` if that is less."""
    number = abs(number)
    step = np.floor(number * top / bottom)
    if step > most:
        return most
    share = _product(number, top)
    if step > 0.0 and _above(_product(step, bottom), share):
        step -= 1.0
    elif number * top >= 0.5 * bottom and not _above(_product(step + 1.0, bottom), share):
        step += 1.0
    return min(int(step), most)


@kernel(FLOATS, BOOL, FLOAT, OUT_INTS)
def _steps(numbers: Array, near: bool, width: float, steps: Array) -> None:
    for place in range(len(numbers)):
        steps[place] = step_near(numbers[place]) if near else step_down(numbers[place], width)


@kernel(FLOATS, FLOAT, FLOAT, INT, OUT_INTS)
def _shares(numbers: Array, top: float, bottom: float, most: int, steps: Array) -> None:
    for place in range(len(numbers)):
        steps[place] = step_share(numbers[place], top, bottom, most)


def rounded(numbers: Array) -> Array:
    """int64[n]: the nearest whole numbers to float64[n], halves away from zero."""
    steps = np.empty(len(numbers), np.int64)
    _steps(numbers, True, 1.0, steps)
    return steps


def floors(numbers: Array, width: float) -> Array:
    """int64[n]: the floors of float64[n] / width."""
    steps = np.empty(len(numbers), np.int64)
    _steps(numbers, False, float(width), steps)
    return steps


def shares(numbers: Array, share: Fraction, most: int) -> Array:
    """int64[n]: the floors of share * |float64[n]|, at most `most` each."""
    steps = np.empty(len(numbers), np.int64)
    if max(share.numerator, share.denominator) < EXACT_MAX:
        _shares(numbers, float(share.numerator), float(share.denominator), most, steps)
        return steps
    for place, number in enumerate(numbers.tolist()):
        value, scale = abs(number).as_integer_ratio()
        steps[place] = min(share.numerator * value // (share.denominator * scale), most)
    return steps
