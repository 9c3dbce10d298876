"""Where the live server's time comes from."""

import time


class Clock:
    """Milliseconds since 1970 that never run backwards, whatever is done to the wall clock."""

    def __init__(self, ahead_s: float = 0.0) -> None:
        """`ahead_s`: how far the clock that counts, a database's, is ahead of this machine's."""
        self._ahead = time.time() + ahead_s - time.monotonic()
        self._last = 0

    def now_ms(self, floor: int = 0) -> int:
        """The present moment, at least `floor`; from there time goes on at its own pace."""
        now = int((time.monotonic() + self._ahead) * 1000)
        if now < floor:  # the wall clock was set back since the floor was written
            self._ahead += (floor - now) / 1000
            now = floor
        self._last = max(self._last, now)
        return self._last
