"""The thin front for the paths that carry the load, in plain ASGI.

A general framework spends several times on a request what deciding and journalling a join costs. So the few paths that
every waiting player uses are taken here: path and headers are read by hand, bodies by msgspec, and the same handlers
are called that Litestar's routes call. A test holds the two ways against each other, answer for answer.
"""

from collections.abc import Awaitable
from typing import Final

from evenmatch.settings import Settings

from . import discretion, handlers, own, result_handlers, wire
from .access import caller_of
from .handlers import Answer
from .runner import Runner
from .sockets import Message, Receive, Send

_QUEUES: Final = "/v1/queues/"
_TICKETS: Final = "/v1/tickets/"
_PROPOSALS: Final = "/v1/proposals/"
_MATCHES: Final = "/v1/matches/"


async def read_body(scope: Message, receive: Receive, most: int) -> bytes | Answer:
    """A request's whole body; or the answer to one that is too large, or whose sender left in the middle of it."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > most:
            return too_large(most)
    message = await receive()
    body: bytes = message.get("body", b"")
    if message["type"] == "http.request" and not message.get("more_body"):
        return body if len(body) <= most else too_large(most)
    parts, size = [body], len(body)
    while message.get("more_body"):
        message = await receive()
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if size > most:
            return too_large(most)
    if message["type"] != "http.request":
        return handlers.problem(wire.WireReasons.MALFORMED.problem("the body was cut short"))
    return b"".join(parts)


def too_large(most: int) -> Answer:
    """The answer to a body that is too large."""
    return handlers.problem(wire.WireReasons.TOO_LARGE.problem(f"the body may have at most {most} bytes"))


def _key(scope: Message) -> str | None:
    for name, value in scope["headers"]:
        if name == b"idempotency-key":
            return str(value.decode("latin-1"))
    return None


async def respond(send: Send, answer: Answer, more: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    """Send an answer, with more headers than its own."""
    headers = [(b"content-length", str(len(answer.body)).encode())]
    if answer.body:
        headers.append((b"content-type", answer.media))
    headers.extend(answer.headers)
    headers.extend(more)
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def hot(runner: Runner, settings: Settings, scope: Message, receive: Receive) -> Awaitable[Answer] | None:
    """The answer to a request on a hot path; None = it is not one."""
    path: str = scope["path"]
    method: str = scope["method"]
    if method == "POST":
        if path.startswith(_QUEUES):
            queue, _, rest = path[len(_QUEUES) :].partition("/")
            if rest == "tickets":
                return _join(runner, queue, scope, receive, settings.body_max_bytes)
            if rest == "tickets:batch":
                return _batch(runner, queue, scope, receive, settings)
        elif path.startswith(_TICKETS):
            ticket, _, rest = path[len(_TICKETS) :].partition("/")
            if rest == "heartbeat":
                return handlers.heartbeat(runner, ticket)
        elif path.startswith(_PROPOSALS):
            proposal, _, rest = path[len(_PROPOSALS) :].partition("/")
            if rest in ("accept", "decline"):
                return _answer(runner, proposal, rest == "accept", scope, receive, settings.body_max_bytes)
        elif path.startswith(_MATCHES):
            match, _, rest = path[len(_MATCHES) :].partition("/")
            if rest == "result":
                return _result(runner, match, scope, receive, settings.body_max_bytes)
    elif method == "GET" and path.startswith(_TICKETS):
        ticket = path[len(_TICKETS) :]
        if ticket and "/" not in ticket:
            return handlers.get_ticket(runner, ticket, discretion.shown_to(scope))
    return None


async def _join(runner: Runner, queue: str, scope: Message, receive: Receive, most: int) -> Answer:
    body = await read_body(scope, receive, most)
    if isinstance(body, Answer):
        return body
    caller = caller_of(scope)
    ticket = own.read_ticket(body, caller)
    return await handlers.join(runner, queue, ticket, _key(scope), None if caller is None else caller.player)


async def _batch(runner: Runner, queue: str, scope: Message, receive: Receive, settings: Settings) -> Answer:
    body = await read_body(scope, receive, settings.batch_body_max_bytes)
    if isinstance(body, Answer):
        return body
    return await handlers.join_batch(runner, queue, wire.read_batch(body, settings.batch_max), _key(scope))


async def _answer(runner: Runner, proposal: str, accept: bool, scope: Message, receive: Receive, most: int) -> Answer:
    body = await read_body(scope, receive, most)
    if isinstance(body, Answer):
        return body
    player = own.read_player(body, caller_of(scope))
    return await handlers.answer_proposal(runner, proposal, player, accept)


async def _result(runner: Runner, match: str, scope: Message, receive: Receive, most: int) -> Answer:
    body = await read_body(scope, receive, most)
    if isinstance(body, Answer):
        return body
    return await result_handlers.post_result(runner, match, body, caller_of(scope))
