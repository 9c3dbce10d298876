"""The one place that makes a random generator, always from a seed: one seed, one run (I8).

Different uses of one seed must not see the same numbers, so each may add its own salt: `generator(seed, 0)` draws
leaders, `generator(seed, 1)` something else. Equal arguments give equal streams on every machine: the bit generator is
named (PCG64) instead of being whatever the library's default is.

`uniforms` gives every number of a column its own chance: what comes of one hangs on the seed and that number alone, not
on which others are asked about with it, so a wave that is recorded in parts draws as one that is not.
"""

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["generator", "uniforms"]


def generator(seed: int, *salt: int) -> np.random.Generator:
    """A fresh generator that depends on the seed and the salt and on nothing else; none of them may be negative."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *salt])))


def uniforms(seed: int, numbers: Array, salt: int) -> Array:
    """float64[n], 0 up to 1: a draw for each of these int64 numbers, by the finalizer of splitmix64."""
    with np.errstate(over="ignore"):
        mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= np.uint64(seed % 2**64)
        mixed += np.uint64(salt * 0xD1B54A32D192ED03 % 2**64)
        for _ in range(2):
            mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
            mixed ^= mixed >> np.uint64(31)
    drawn: Array = (mixed >> np.uint64(11)) * 2.0**-53
    return drawn
