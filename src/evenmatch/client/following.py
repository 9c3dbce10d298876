"""How a ticket is followed over lines that break: what to open next, from where, and when to give up.

    WebSocket ──works──> stay with it, and come back with after= when it breaks
        │ cannot be opened
        v
    server-sent events ──works──> stay with them
        │ cannot be opened
        └──> the WebSocket again, a little later

No input or output here: both clients ask it.
"""

from typing import Final, Literal
from urllib.parse import quote

import msgspec

from evenmatch.errors import Refused, Unreachable

from .asking import PASSING, Backoff, decoded
from .calls import refused_of
from .values import Event

Way = Literal["websocket", "sse"]
_REASONS: Final = {
    4400: ("malformed", 400),
    4401: ("unauthenticated", 401),
    4403: ("forbidden", 403),
    4404: ("unknown_ticket", 404),
    4410: ("too_old", 410),
}
"""Close code of a WebSocket -> the reason that HTTP would give, and its status."""
_STOOD_S: Final = 1.0
"""A connection that lasted so long was a good one."""
_LAST_WORD: Final = ": the story is over"
"""The comment with which the server ends a stream that has told all."""
SILENCE_S: Final = 60.0
"""A stream that says nothing for so long is broken: the server says something several times in it."""


class Course:
    """One ticket's story, over as many connections as it takes."""

    def __init__(self, base: str, ticket: str, after: int, way: Way | None, patience_s: float, now_s: float) -> None:
        self.last = after
        self.over = False
        self.way: Way = way or "websocket"
        self._fixed = way is not None
        self._base, self._ticket = base, ticket
        self._patience_s = patience_s
        self._until_s = now_s + patience_s
        self._backoff = Backoff()
        self._heard = False
        """Something came over the present connection."""
        self._open_s: float | None = None
        """Since when the present connection stands."""

    @property
    def address(self) -> str:
        """What to open next."""
        base = f"ws{self._base.removeprefix('http')}" if self.way == "websocket" else self._base
        return f"{base}/v1/tickets/{quote(self._ticket, safe='')}/events?after={self.last}"

    def opened(self, now_s: float) -> None:
        """A connection stands; of a new one the backoff begins anew when something comes over it."""
        self._heard = False
        self._open_s = now_s

    def heard(self, text: str | bytes, now_s: float) -> Event | None:
        """The event of a message; None = it was told before."""
        event = msgspec.json.decode(text, type=Event)
        self._heard = True
        self._backoff.reset()
        self._until_s = now_s + self._patience_s
        if event.sequence <= self.last:
            return None
        self.last, self.over = event.sequence, event.is_last and event.type != "matched"  # a server may follow
        return event

    def alive(self, line: str, now_s: float) -> None:
        """A stream said something: it works; and if that is its last word, nothing follows."""
        self._heard = True
        self._until_s = now_s + self._patience_s
        self.over |= line == _LAST_WORD

    def closed(self, code: int | None, reason: str) -> None:
        """A WebSocket was closed with a code; a "no" that will stay one is raised."""
        if code == 1000:
            self.over = True
        elif code in _REASONS:
            word, status = _REASONS[code]
            raise Refused(word, f"{self._ticket}: closed with {code}: {reason}", status, 0)

    def answered(self, status: int, body: bytes) -> bool:
        """Does a stream begin? A "no" that will stay one is raised; one that passes is a broken connection."""
        if status == 204:
            self.over = True
        elif status >= 400:
            refused = refused_of(status, decoded(body))
            if refused.reason in PASSING or status >= 500:
                raise ConnectionError(str(refused))
            raise refused
        return status == 200

    def broken(self, error: Exception | str, now_s: float) -> float:
        """How long to wait before the next try; raises when patience is at its end.

        Patience counts from the loss of a connection that has stood, however long ago the last event came.
        """
        if self._open_s is not None and now_s - self._open_s >= _STOOD_S:
            self._until_s = now_s + self._patience_s
            self._backoff.reset()
        self._open_s = None
        if not self._heard and not self._fixed:
            self.way = "sse" if self.way == "websocket" else "websocket"
        self._heard = False
        wait_s = self._backoff.next_s()
        if now_s + wait_s > self._until_s:
            raise Unreachable(f"no evenmatch answers at {self._base} ({str(error) or type(error).__name__})")
        return wait_s


def broken_lines() -> tuple[type[Exception], ...]:
    """What is raised when a connection could not be made, or has broken."""
    import httpx
    from websockets.exceptions import WebSocketException

    return (OSError, EOFError, TimeoutError, WebSocketException, httpx.TransportError)


class Reader:
    """Server-sent events, line by line."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def line(self, line: str) -> str | None:
        """The data of the event that this line ends, if it ends one."""
        if line.startswith("data:"):
            self._parts.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and self._parts:
            found = "\n".join(self._parts)
            self._parts = []
            return found
        return None
