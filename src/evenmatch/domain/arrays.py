"""The one array type of the project, and what every room may assume of it."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""A numpy array. Docstrings say shape, unit and kind; tickets, players and proposals are int64, times int64 ms."""


def numbers(values: object) -> Array:
    """An int64 array of ticket, player or proposal numbers."""
    return np.asarray(values, dtype=np.int64)


NONE: Array = np.empty(0, dtype=np.int64)
"""No numbers at all."""
NONE.flags.writeable = False

NO_PAIRS: Array = np.empty((0, 2), dtype=np.int64)
"""No pairs of numbers."""
NO_PAIRS.flags.writeable = False
