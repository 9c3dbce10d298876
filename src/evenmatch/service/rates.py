"""How fast somebody may ask: a token bucket a name, kept as one number each.

Idea: instead of counting tokens, note the moment at which the bucket would be full again (`full_at`). A request moves
it on by 1/rate; it is refused when the bucket would then be more than `burst` requests from full. A bucket that is full
is the same as none, so full ones are dropped whenever there are too many, and nothing is forgotten by that.
"""

import time
from collections.abc import Callable
from typing import Final

BURST_S: Final = 2.0
"""A bucket holds what flows in during this time: a burst is twice the rate."""
_MOST: Final = 100_000


class Buckets:
    """The buckets of many names."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic, most: int = _MOST) -> None:
        self._now_s = now_s
        self._most = most
        self._full_at: dict[str, float] = {}

    def wait_s(self, name: str, rate: float) -> float:
        """Take a token of a bucket that fills at this rate; 0 = taken, otherwise how long until there is one."""
        if rate <= 0:
            return 0.0
        now_s = self._now_s()
        full_at = max(self._full_at.get(name, now_s), now_s) + 1 / rate
        over_s = full_at - now_s - max(BURST_S, 1 / rate)
        if over_s > 1e-9:
            return over_s
        if len(self._full_at) >= self._most and name not in self._full_at:
            self._drop(now_s)
        self._full_at[name] = full_at
        return 0.0

    def _drop(self, now_s: float) -> None:
        """Drop full buckets; if there are next to none, also the half that is nearest to full."""
        left = {name: full_at for name, full_at in self._full_at.items() if full_at > now_s}
        if len(left) > self._most // 2:
            left = dict(sorted(left.items(), key=lambda item: item[1])[-(self._most // 2) :])
        self._full_at = left

    def __len__(self) -> int:
        return len(self._full_at)
