"""One POST to somebody else's server, that cannot hurt ours.

Asyncio streams, and the parser that the server itself uses (httptools): no thread waits for an answer, and one time
limit holds for all of it, from the name's look-up to the last byte, however slowly they drip. An answer's head and body
are bounded, redirects are not followed, and a connection is used once.
"""

import asyncio
import contextlib
import ssl
from typing import Final, Literal
from urllib.parse import urlsplit

import httptools
import msgspec

HEAD_MOST: Final = 16_384
BODY_MOST: Final = 65_536
_READ: Final = 16_384


Failure = Literal["timeout", "connection", "tls", "status", "answer", "secret"]


class NotAnswered(Exception):
    """No usable answer came; why, in words, and of which kind that is."""

    def __init__(self, why: str, kind: Failure = "answer") -> None:
        super().__init__(why)
        self.kind: Failure = kind


class Posted(msgspec.Struct, frozen=True):
    """What was answered."""

    status: int
    body: bytes


class _Answer:
    """What the parser has heard so far."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.body = bytearray()
        self.measured = False
        """The body's length is told ahead, or each part's."""
        self.in_body = False
        self.over = False

    def on_header(self, name: bytes, value: bytes) -> None:  # noqa: ARG002
        if name.lower() in (b"content-length", b"transfer-encoding"):
            self.measured = True

    def on_headers_complete(self) -> None:
        self.in_body = self.parser.get_status_code() >= 200

    def on_body(self, part: bytes) -> None:
        self.body += part
        if len(self.body) > BODY_MOST:
            raise NotAnswered(f"the answer has more than {BODY_MOST} bytes")

    def on_message_complete(self) -> None:
        if self.parser.get_status_code() >= 200:  # before it, servers may say that they are still at it
            self.over = True


async def post(url: str, body: bytes, headers: dict[str, str], timeout_s: float) -> Posted:
    """Send a JSON body; NotAnswered for whatever goes wrong. The answer may have any status."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _post(url, body, headers)
    except TimeoutError:
        raise NotAnswered(f"no answer within {timeout_s:g} s", "timeout") from None
    except ssl.SSLError as error:
        raise NotAnswered(f"no safe connection: {error.reason or error}", "tls") from None
    except (OSError, UnicodeError) as error:
        raise NotAnswered(f"no connection: {getattr(error, 'strerror', None) or error}", "connection") from None


async def _post(url: str, body: bytes, headers: dict[str, str]) -> Posted:
    parts = urlsplit(url)
    host, safe = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if safe else 80)
    reader, writer = await asyncio.open_connection(host, port, ssl=ssl.create_default_context() if safe else None)
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        named = f"[{host}]" if ":" in host else host
        lines = {
            "Host": named if parts.port is None else f"{named}:{port}",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Accept": "application/json",
            "Connection": "close",
            "User-Agent": "evenmatch",
        } | headers
        head = f"POST {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(head.encode("ascii") + b"\r\n" + body)
        return await _answer(reader)
    finally:
        writer.close()
        with contextlib.suppress(OSError, RuntimeError):
            writer.transport.abort()


async def _answer(reader: asyncio.StreamReader) -> Posted:
    answer, heard = _Answer(), 0
    while not answer.over:
        part = await reader.read(_READ)
        if not part:
            if answer.in_body and not answer.measured:
                break  # such a body ends with the connection
            why = "the connection was closed in the middle of the answer" if heard else "no answer came"
            raise NotAnswered(why, "connection")
        heard += len(part)
        try:
            answer.parser.feed_data(part)
        except httptools.HttpParserCallbackError as error:
            if isinstance(error.__context__, NotAnswered):
                raise error.__context__ from None
            raise NotAnswered("the answer is not HTTP") from None
        except httptools.HttpParserError:
            raise NotAnswered("the answer is not HTTP") from None
        if heard - len(answer.body) > HEAD_MOST and not answer.in_body:
            raise NotAnswered(f"the answer's head has more than {HEAD_MOST} bytes")
    return Posted(answer.parser.get_status_code(), bytes(answer.body))
