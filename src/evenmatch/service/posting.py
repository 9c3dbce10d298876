"""One POST to somebody else's server, that cannot hurt ours.

No thread waits for an answer, and one time limit holds for all of it, from the name's look-up to the last byte, however
slowly they drip. An answer's body is bounded as it comes, and taken as it was sent: nothing is unpacked. Redirects are
not followed, proxies of the environment are not asked, and a connection is used once.
"""

import asyncio
import functools
import ssl
from typing import Final, Literal

import msgspec

BODY_MOST: Final = 65_536


Failure = Literal["timeout", "connection", "status", "answer", "secret"]


class NotAnswered(Exception):
    """No usable answer came; why, in words, and of which kind that is."""

    def __init__(self, why: str, kind: Failure = "answer") -> None:
        super().__init__(why)
        self.kind: Failure = kind


class Posted(msgspec.Struct, frozen=True):
    """What was answered."""

    status: int
    body: bytes


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Those whom this machine trusts: a studio's own authority may be among them."""
    return ssl.create_default_context()


async def post(url: str, body: bytes, headers: dict[str, str], timeout_s: float) -> Posted:
    """Send a JSON body; NotAnswered for whatever goes wrong. The answer may have any status."""
    import httpx  # slow to import, and not every server asks anybody

    ours = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "evenmatch"}
    try:
        async with (
            asyncio.timeout(timeout_s),
            httpx.AsyncClient(verify=_trusted(), trust_env=False, timeout=None) as client,
            client.stream("POST", url, content=body, headers=ours | headers) as answer,
        ):
            heard = bytearray()
            async for part in answer.aiter_raw():
                heard += part
                if len(heard) > BODY_MOST:
                    raise NotAnswered(f"the answer has more than {BODY_MOST} bytes")
            return Posted(answer.status_code, bytes(heard))
    except TimeoutError:
        raise NotAnswered(f"no answer within {timeout_s:g} s", "timeout") from None
    except httpx.ConnectError as error:
        raise NotAnswered(f"no connection: {error}", "connection") from None
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise NotAnswered(f"no answer that is HTTP: {error}") from None
