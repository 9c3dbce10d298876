"""Where the live server's time comes from."""

import time


class Clock:
    """Milliseconds since 1970 that never run backwards, whatever is done to the wall clock."""

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()
        self._last = 0

    def now_ms(self, floor: int = 0) -> int:
        """The present moment, at least `floor`."""
        self._last = max(self._last, floor, int((time.monotonic() + self._ahead) * 1000))
        return self._last
