"""What each request does, free of any web framework: values in, an `Answer` out.

Litestar's routes and the thin ASGI front (`hot`) both call these, so a request is treated the same whichever way it
comes.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import numpy as np
import structlog

from evenmatch.domain import commands as cmd
from evenmatch.domain.ids import MATCH_PREFIX, PROPOSAL_PREFIX, TICKET_PREFIX, number_of, ticket_id
from evenmatch.domain.refusals import Reasons, Refusal

from . import wire
from .bodies import TicketBody, kept_of
from .fates import why_no_match
from .mailbox import CommandOrder, Joined, JoinEntry, JoinOrder, Unavailable
from .runner import Runner
from .views import MatchView, QueueView, TicketView

log = structlog.get_logger("evenmatch.http")

Seen = TypeVar("Seen")
JSON = b"application/json"
PROBLEM = b"application/problem+json"


class Answer(msgspec.Struct, frozen=True, gc=False):
    """A response: status, body and what it is."""

    status: int
    body: bytes = b""
    media: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


class TicketAnswer(msgspec.Struct, frozen=True):
    """One ticket."""

    ticket: TicketView


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of one ticket of a batch: either of the two."""

    ticket: TicketView | None = None
    problem: wire.Problem | None = None


class BatchAnswer(msgspec.Struct, frozen=True):
    """What became of a batch, in the order asked."""

    outcomes: list[Outcome]


_encode = msgspec.json.Encoder().encode


def problem(content: wire.Problem) -> Answer:
    """A "no"."""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    wait_s = content.retry_after_s or (wire.RETRY_AFTER_S if content.status == 503 else 0)
    if wait_s:
        headers = ((b"retry-after", str(wait_s).encode()),)
    return Answer(content.status, _encode(content), PROBLEM, headers)


def our_mistake(error: Exception) -> Answer:
    """What nobody expected."""
    log.error("request failed", error=repr(error), exc_info=error)
    return problem(wire.WireReasons.INTERNAL_ERROR.problem("nothing was changed; please report this"))


def turned_away(runner: Runner) -> Answer | None:
    """The answer where there is no room for another order; None = there is."""
    if not runner.full():
        return None
    runner.metrics.refused_busy += 1
    return problem(wire.STOPPING if runner.stopping else wire.BUSY)


def _fresh(number: int, queue: str, joined_ms: int, entry: JoinEntry, joined: Joined) -> TicketView:
    """A ticket as it was the moment it joined: what a repeated Idempotency-Key is answered too."""
    return TicketView(
        id=ticket_id(number),
        queue=queue,
        status="waiting",
        joined_ms=joined_ms,
        waited_ms=0,
        misses=0,
        players=joined.players.get(number) or [kept_of(player, joined.keeps) for player in entry.body.players],
        attributes=entry.body.attributes,
        backfill=entry.body.backfill,
    )


async def join(
    runner: Runner, queue: str, body: TicketBody | wire.Problem, key: str | None, player: str | None = None
) -> Answer:
    """POST /v1/queues/{queue}/tickets"""
    if isinstance(body, wire.Problem):
        return problem(body)
    busy = turned_away(runner)
    if busy is not None:
        return busy
    digest = 0 if key is None else wire.key_digest(queue, key, player=player)
    if isinstance(digest, wire.Problem):
        return problem(digest)
    entry = wire.entry_of(body, digest)
    if isinstance(entry, wire.Problem):
        return problem(entry)
    reply = runner.reply()
    runner.put(JoinOrder(queue, [entry], reply))
    answer: Joined | Refusal | Unavailable = await reply
    if not isinstance(answer, Joined):
        return problem(wire.problem_of(answer))
    outcome = answer.outcomes[0]
    if isinstance(outcome, Refusal):
        return problem(wire.problem_of(outcome))
    view = _fresh(outcome[0], queue, outcome[1], entry, answer)
    location = (b"location", f"/v1/tickets/{view.id}".encode())
    return Answer(201, _encode(TicketAnswer(view)), JSON, (location,))


async def join_batch(
    runner: Runner, queue: str, tickets: list[TicketBody | wire.Problem] | wire.Problem, key: str | None
) -> Answer:
    """POST /v1/queues/{queue}/tickets:batch"""
    if isinstance(tickets, wire.Problem):
        return problem(tickets)
    busy = turned_away(runner)
    if busy is not None:
        return busy
    entries: list[JoinEntry | wire.Problem] = []
    for place, body in enumerate(tickets):
        digest = 0 if key is None else wire.key_digest(queue, key, place)
        if isinstance(digest, wire.Problem):
            return problem(digest)
        entries.append(body if isinstance(body, wire.Problem) else wire.entry_of(body, digest))
    good = [entry for entry in entries if isinstance(entry, JoinEntry)]
    reply = runner.reply()
    runner.put(JoinOrder(queue, good, reply))
    answer: Joined | Refusal | Unavailable = await reply
    if not isinstance(answer, Joined):
        return problem(wire.problem_of(answer))
    joined = iter(answer.outcomes)
    outcomes = []
    for entry in entries:
        if isinstance(entry, wire.Problem):
            outcomes.append(Outcome(problem=entry))
            continue
        outcome = next(joined)
        if isinstance(outcome, Refusal):
            outcomes.append(Outcome(problem=wire.problem_of(outcome)))
        else:
            view = _fresh(outcome[0], queue, outcome[1], entry, answer)
            outcomes.append(Outcome(ticket=view))
    return Answer(200, _encode(BatchAnswer(outcomes)))


async def command(
    runner: Runner,
    make: Callable[[int], cmd.Command | Refusal],
    player: str | None = None,
    audit: cmd.NoteAction | None = None,
    attributes: dict[str, Any] | None = None,
) -> Answer | None:
    """Carry out a command, and note it as an operator's in the same commit; None = granted."""
    busy = turned_away(runner)
    if busy is not None:
        return busy
    reply = runner.reply()
    runner.put(CommandOrder(make, player, reply, audit, attributes))
    answer: Refusal | Unavailable | None = await reply
    return None if answer is None else problem(wire.problem_of(answer))


def unknown(reason: Reasons, kind: str, name: str) -> Answer:
    """The answer to a name that can be nobody's."""
    return problem(wire.problem_of(Refusal(reason, f"no {kind} is called {name[:128]!r}")))


async def leave(runner: Runner, ticket: str, player: str | None) -> Answer:
    """DELETE /v1/tickets/{id}"""
    number = number_of(TICKET_PREFIX, ticket)
    if number is None:
        return unknown(Reasons.UNKNOWN_TICKET, "ticket", ticket)
    return await command(runner, lambda who: cmd.Leave(number, who), player) or Answer(204)


async def heartbeat(runner: Runner, ticket: str) -> Answer:
    """POST /v1/tickets/{id}/heartbeat"""
    number = number_of(TICKET_PREFIX, ticket)
    if number is None:
        return unknown(Reasons.UNKNOWN_TICKET, "ticket", ticket)
    return await command(runner, lambda _: cmd.Heartbeat(np.array([number]), strict=True)) or Answer(204)


async def answer_proposal(runner: Runner, proposal: str, player: str | wire.Problem, accept: bool) -> Answer:
    """POST /v1/proposals/{id}/accept and /decline"""
    if isinstance(player, wire.Problem):
        return problem(player)
    number = number_of(PROPOSAL_PREFIX, proposal)
    if number is None:
        return unknown(Reasons.UNKNOWN_PROPOSAL, "proposal", proposal)
    kind = cmd.Accept if accept else cmd.Decline
    refused = await command(runner, lambda known: kind(number, known), player)
    if refused is not None:
        return refused
    return Answer(
        200, _encode({"proposal": proposal, "player": player, "answer": "accepted" if accept else "declined"})
    )


async def look(runner: Runner, ask: Callable[..., Any], wrap: Callable[[Any], Any]) -> Answer:
    """What committed state says, wrapped up as the answer has it."""
    busy = turned_away(runner)
    if busy is not None:
        return busy
    found = await runner.ask(ask)
    if isinstance(found, Refusal | Unavailable):
        return problem(wire.problem_of(found))
    return Answer(200, _encode(wrap(found)))


def without_server(view: Seen) -> Seen:
    """A match, or a ticket with its match, without the game server and its token."""
    if isinstance(view, MatchView):
        return msgspec.structs.replace(view, server=msgspec.UNSET)
    if isinstance(view, TicketView) and view.match is not None:
        return msgspec.structs.replace(view, match=without_server(view.match))
    return view


async def get_ticket(runner: Runner, ticket: str, shown: Callable[[Any], Any]) -> Answer:
    """GET /v1/tickets/{id}; `shown`: a ticket as the caller may see it."""
    number = number_of(TICKET_PREFIX, ticket)
    if number is None:
        return unknown(Reasons.UNKNOWN_TICKET, "ticket", ticket)
    return await look(
        runner, lambda views, now_ms: views.ticket(number, now_ms), lambda view: TicketAnswer(shown(view))
    )


async def get_match(runner: Runner, match: str, shown: Callable[[Any], Any], *, player: bool) -> Answer:
    """GET /v1/matches/{id}; `shown`: a match as the caller may see it; a `player` is not told why there is none."""
    number = number_of(MATCH_PREFIX, match)
    if number is None:
        return unknown(Reasons.UNKNOWN_MATCH, "match", match)
    found = await look(runner, lambda views, _: views.match_and_result(number), lambda view: {"match": shown(view)})
    asks = found.status == Reasons.UNKNOWN_MATCH.status and not player
    why = await why_no_match(runner, number) if asks else None
    return found if why is None else problem(wire.problem_of(Refusal(Reasons.UNKNOWN_MATCH, why)))


async def get_queues(runner: Runner, shown: Callable[[QueueView], QueueView]) -> Answer:
    """GET /v1/queues; `shown`: a queue as the caller may see it."""
    return await look(
        runner, lambda views, now_ms: views.queues(now_ms), lambda found: {"queues": [shown(view) for view in found]}
    )


async def get_queue(runner: Runner, queue: str, shown: Callable[[QueueView], QueueView]) -> Answer:
    """GET /v1/queues/{queue}"""
    return await look(runner, lambda views, now_ms: views.queue(queue, now_ms), lambda view: {"queue": shown(view)})
