"""A request as one node hands it to another, and the response it gets back.

Who asks was found out by the node that took the request: the caller goes with it, and the owner of the lane asks for no
credential again. Only nodes of the same cluster can write the inbox.
"""

from typing import Final

import msgspec

from .access import Caller
from .sockets import Message

_PASSED_ON: Final = frozenset({b"idempotency-key", b"if-match", b"content-type", b"accept", b"host"})
"""Headers that a handler may look at."""


class Errand(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is asked: a request; or, by the node itself, that tickets were seen or lost, or if anybody is there."""

    method: str = ""
    path: str = ""
    query: bytes = b""
    headers: list[tuple[bytes, bytes]] = []
    body: bytes = b""
    caller: Caller | None = None
    seen: list[int] = []
    """Tickets whose owners hold a line to the node."""
    lost: list[int] = []
    """Tickets whose last line to it was closed."""


class Response(msgspec.Struct, frozen=True):
    """What is answered."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


encode: Final = msgspec.msgpack.Encoder().encode
decode: Final = msgspec.msgpack.Decoder(Errand).decode
decode_response: Final = msgspec.msgpack.Decoder(Response).decode


def errand_of(scope: Message, body: bytes) -> Errand:
    """A request that passed the gate."""
    return Errand(
        method=scope["method"],
        path=scope["path"],
        query=scope.get("query_string", b""),
        headers=[(name, value) for name, value in scope["headers"] if name in _PASSED_ON],
        body=body,
        caller=scope.get("caller"),
    )


def scope_of(errand: Errand) -> Message:
    """The same request where it is carried out, granted already."""
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": errand.method,
        "path": errand.path,
        "raw_path": errand.path.encode("utf-8", "surrogateescape"),
        "query_string": errand.query,
        "root_path": "",
        "headers": errand.headers,
        "client": None,
        "server": None,
        "caller": errand.caller,
        "granted": True,
        "state": {},
    }


class Capture:
    """Receives a response in place of a client."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._parts: list[bytes] = []
        self._status, self._headers = 500, list[tuple[bytes, bytes]]()

    async def receive(self) -> Message:
        """The request's body, then the end."""
        body, self._body = self._body, None
        return {"type": "http.disconnect"} if body is None else {"type": "http.request", "body": body}

    async def send(self, message: Message) -> None:
        """Take note of what would be sent."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = [(bytes(name), bytes(value)) for name, value in message.get("headers", ())]
        elif message["type"] == "http.response.body":
            self._parts.append(bytes(message.get("body", b"")))

    def response(self) -> Response:
        """All of it."""
        return Response(self._status, self._headers, b"".join(self._parts))
