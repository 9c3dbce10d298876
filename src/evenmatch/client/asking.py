"""When to ask again, and for how long: what both clients do with an answer, or with none. No input or output here."""

import random
from typing import Any, Final, TypeVar

import msgspec

from evenmatch.errors import Refused, Unreachable

from .calls import Call, refused_of

T = TypeVar("T")
_FIRST_S: Final = 0.1
_MOST_S: Final = 5.0
PASSING: Final = frozenset({"busy", "stopping", "journal_unavailable", "too_many_requests"})
"""Reasons that are over soon, and after which nothing was changed."""


class Backoff:
    """Waits that double, each shortened by chance: clients that were cut off together do not come back together."""

    def __init__(self, first_s: float = _FIRST_S, most_s: float = _MOST_S) -> None:
        self.first_s, self.most_s = first_s, most_s
        self.tries = 0

    def next_s(self) -> float:
        """How long to wait now."""
        wait_s = min(self.most_s, self.first_s * 2.0 ** min(self.tries, 20))
        self.tries += 1
        return wait_s * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        """Begin anew."""
        self.tries = 0


class Attempt:
    """One call, tried until it is answered for certain or patience is at its end."""

    def __init__(self, call: Call[T], patience_s: float, now_s: float) -> None:
        self._call = call
        self._until_s = now_s + patience_s
        self._backoff = Backoff()
        self._uncertain = False

    def read(self, status: int, body: bytes, retry_after: str | None, now_s: float) -> tuple[bool, Any]:
        """True and the answer; or False and how long to wait before the next try. A "no" is raised."""
        if 200 <= status < 300:
            return True, self._call.read(msgspec.json.decode(body) if body else None)
        refused = refused_of(status, decoded(body), retry_after)
        if self._uncertain and refused.reason in self._call.done:
            return True, None
        if refused.reason in PASSING or status in (502, 503, 504):
            self._uncertain |= status in (502, 504)  # a proxy does not know if the server did it
            wait_s = max(refused.retry_after, self._backoff.next_s())
            if now_s + wait_s <= self._until_s:
                return False, wait_s
        raise refused

    def unanswered(self, url: str, error: Exception, now_s: float) -> float:
        """How long to wait after no answer came: it may or may not have been carried out."""
        self._uncertain = True
        wait_s = self._backoff.next_s()
        if now_s + wait_s > self._until_s:
            raise Unreachable(f"no evenmatch answers at {url} ({str(error) or type(error).__name__})") from error
        return wait_s


def decoded(body: bytes) -> Any:
    """A body as JSON; None = it is none."""
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return None


def headers_of(credential: str | None) -> dict[str, str]:
    """The headers that every request carries."""
    if credential is None or not credential.strip():
        return {}
    credential = credential.strip()
    if not credential.isascii() or not credential.isprintable():
        raise Refused("bad_credential", "the key cannot be one: it has characters that no key or token has", 0, 0)
    return {"Authorization": f"Bearer {credential}"}


def base_of(url: str) -> str:
    """The server's address without what would double."""
    base = url.rstrip("/")
    if not base.startswith(("http://", "https://")) or len(base) <= len("https://"):
        raise Unreachable(f"{url!r} is not where a server could be: give an address such as http://127.0.0.1:8750")
    return base
