"""What wakes a thread that looks into the database: somebody who rings, or a while that has passed.

A ring says only that there may be something; what there is, the thread reads for itself. So a ring that gets lost costs
time and nothing else. Where rings are not heard, the thread has to look often; where they are, it looks seldom, for
looking is most of what a cluster costs that nobody uses.
"""

import threading


class Bell:
    """Rung by anybody; one thread waits."""

    def __init__(self, deaf_s: float, heard_s: float) -> None:
        """After so long it wakes by itself: where rings of other processes are not heard, and where they are."""
        self._deaf_s, self._heard_s = deaf_s, heard_s
        self.heard = False
        """Are rings of other processes heard?"""
        self._rung = threading.Event()

    def ring(self) -> None:
        """Wake whoever waits, or waits next."""
        self._rung.set()

    def wait(self, most_s: float | None = None) -> None:
        """Wait for a ring, or until it is time to look without one."""
        own_s = self._heard_s if self.heard else self._deaf_s
        self._rung.wait(own_s if most_s is None else most_s)

    def clear(self) -> None:
        """Whoever has rung so far is heard: to be called before looking, so that a ring meanwhile counts."""
        self._rung.clear()
