"""Contests for the tests: right, wrong, slow and broken ones, made of functions that a fresh process can import."""

import os
import time
from typing import Any

from evenmatch.bench.contest import Aim, Contest, Opponent


def numbers(size: int, seed: int) -> list[int]:
    return [(seed + place * 7919) % 1009 for place in range(size)]


def total(given: list[int]) -> int:
    return sum(given)


def counted(given: list[int]) -> int:
    found = 0
    for number in given:
        found += number
    return found


def one_off(given: list[int]) -> int:
    return sum(given) + 1


def broken(given: list[int]) -> int:
    raise ValueError(f"no sum of {len(given)}")


def asleep(given: list[int]) -> int:
    time.sleep(600 if len(given) > 20 else 0)
    return sum(given)


def gone(given: list[int]) -> int:
    if len(given) > 20:
        os._exit(0)
    return sum(given)


def even(_: list[int], ours: int) -> str | None:
    return None if ours % 2 == 0 else f"{ours} is odd"


def never(_: list[int], __: int) -> str | None:
    return "nothing is ever right"


def same(_: Any, ours: int, theirs: int) -> str | None:
    return None if ours == theirs else f"{ours} against {theirs}"


def toy(*opponents: Opponent, **changed: Any) -> Contest:
    """A contest of adding up numbers."""
    made = Contest("toy.sum", "numbers added up", (10, 100, 1_000), numbers, total, same, opponents, unit="numbers")
    return made._replace(**changed)


PLAIN = Opponent("plain", counted, 500)
WRONG = Opponent("wrong", one_off, 1_000)
RIGHT = toy(PLAIN, aims=(Aim("seconds", 60.0, 100), Aim("ratio", 1e9, 100, "plain"), Aim("growth", 1.5)))
