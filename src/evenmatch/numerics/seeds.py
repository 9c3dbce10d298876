"""The one place that makes a random generator, always from a seed: one seed, one run (I8).

Different uses of one seed must not see the same numbers, so each may add its own salt: `generator(seed, 0)` draws
leaders, `generator(seed, 1)` something else. Equal arguments give equal streams on every machine: the bit generator is
named (PCG64) instead of being whatever the library's default is.
"""

import numpy as np

__all__ = ["generator"]


def generator(seed: int, *salt: int) -> np.random.Generator:
    """A fresh generator that depends on the seed and the salt and on nothing else; none of them may be negative."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *salt])))
