"""What every answer wears: headers that keep browsers from harm, and CORS for the pages that may call the API.

An answer that brings one of these headers itself keeps its own.
"""

from collections.abc import Iterable
from typing import Final

from evenmatch.settings import Settings

from .handlers import Answer
from .sockets import Message

Headers = tuple[tuple[bytes, bytes], ...]

_SAFE: Final[Headers] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    # The page at /docs has its style in itself and needs nothing else.
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
)
_SAFE_API: Final[Headers] = (*_SAFE, (b"cache-control", b"no-store"))
OURS: Final = frozenset(name for name, _ in _SAFE_API) | {b"vary"}
"""The names of what answers wear, but for CORS."""
_EXPOSED: Final = b"Location, Retry-After, WWW-Authenticate"
_MAY_SEND: Final = b"Authorization, Content-Type, Idempotency-Key, If-Match"
_METHODS: Final = b"GET, HEAD, POST, PUT, PATCH, DELETE"
_PREFLIGHT_S: Final = 600


class Front:
    """The headers of one server."""

    def __init__(self, settings: Settings) -> None:
        self._origins = frozenset(origin.encode() for origin in settings.cors_origins)

    def headers(self, scope: Message) -> Headers:
        """What the answer to a request wears besides its own headers."""
        safe = _SAFE_API if scope["path"].startswith("/v1/") else _SAFE
        return safe + self._cors(scope) if self._origins else safe

    def _cors(self, scope: Message) -> Headers:
        if b"*" in self._origins:
            return ((b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", _EXPOSED))
        origin = _header(scope, b"origin")
        if origin is None or origin.lower() not in self._origins:
            return ((b"vary", b"Origin"),)
        return (
            (b"vary", b"Origin"),
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", _EXPOSED),
        )

    def preflight(self, scope: Message) -> Answer | None:
        """The answer to a browser that asks first whether a page may call; None = the request is no such question.

        Whether it may stands in what `headers` adds, or does not add.
        """
        if scope["method"] != "OPTIONS" or _header(scope, b"access-control-request-method") is None:
            return None
        return Answer(
            204,
            headers=(
                (b"access-control-allow-methods", _METHODS),
                (b"access-control-allow-headers", _MAY_SEND),
                (b"access-control-max-age", str(_PREFLIGHT_S).encode()),
            ),
        )


def dressed(own: Iterable[tuple[bytes, bytes]], more: Headers) -> list[tuple[bytes, bytes]]:
    """An answer's own headers, and those it should wear as long as it does not bring them itself."""
    headers = list(own)
    for name, _ in headers:
        if name in OURS:
            return headers + [pair for pair in more if pair[0] not in dict(headers)]
    headers.extend(more)
    return headers


def _header(scope: Message, wanted: bytes) -> bytes | None:
    for name, value in scope["headers"]:
        if name == wanted:
            found: bytes = value
            return found
    return None
