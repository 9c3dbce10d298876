"""The routes of those who run the matches and the server: ending a match, and the audit."""

from typing import Annotated, Any

from litestar import Request, Response, delete, get, post, put
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import Example
from litestar.params import Body, QueryParameter

from evenmatch.domain.refusals import Reasons

from . import operators, wire
from .access import caller_of
from .bodies import ModeBody, WhyBody
from .documented import InLane, MatchId, PlayerId, QueueName, TicketId, Why, granted, problems, response
from .examples import EXAMPLES
from .operators import AuditAnswer
from .runner import Runner
from .wire import WireReasons

After = Annotated[
    str | None,
    QueryParameter(
        name="after",
        required=False,
        description="Only what came after this sequence, or after what the answer before said",
        examples=[Example(value="0")],
    ),
]
InQueue = Annotated[
    str | None,
    QueryParameter(name="queue", required=False, description="Only in this queue", examples=[Example(value="duel")]),
]
Limit = Annotated[
    str | None,
    QueryParameter(
        name="limit",
        required=False,
        description=f"At most so many entries: 1 to {operators.AUDIT_MOST}, 100 when left out",
        examples=[Example(value="100")],
    ),
]


def operator_routes(runner: Runner) -> list[HTTPRouteHandler]:
    """The routes over a runner."""

    @post(
        "/v1/matches/{match:str}/end",
        tags=["matches"],
        summary="Report a match over",
        status_code=204,
        responses=problems(Reasons.UNKNOWN_MATCH, Reasons.MATCH_NOT_MADE, Reasons.MATCH_STARTING, Reasons.MATCH_OVER),
    )
    async def end_match(match: MatchId, request: Request[Any, Any, Any]) -> Response[None]:
        """Its players are free for others before `runs_s` has passed. Noted in the audit if an operator does it."""
        return response(await operators.end_match(runner, match, caller_of(request.scope)))

    @get(
        "/v1/audit",
        tags=["operators"],
        summary="What operators did",
        responses=granted(200, AuditAnswer, "Entries, oldest first", EXAMPLES["audit"])
        | problems(WireReasons.MALFORMED),
    )
    async def audit(
        after: After = None,
        limit: Limit = None,
        lane: InLane = None,  # noqa: ARG001
    ) -> Response[Any]:
        """Who did what to whom, and when. Entries are as durable as what they tell of. Where the server has several
        lanes, those of all are told by time, each with its `lane`, and `after` says how far each was read
        (`1:184,2:7`); with `lane`, that one's alone."""
        return response(await operators.audit(runner, after, limit))

    why_body = Body(examples=[Example(summary="a reason", value=EXAMPLES["why"])])

    @post(
        "/v1/tickets/{ticket:str}/cancel",
        tags=["operators"],
        summary="Take a ticket out of its queue",
        status_code=204,
        responses=problems(
            WireReasons.MALFORMED,
            WireReasons.TOO_LARGE,
            Reasons.UNKNOWN_TICKET,
            Reasons.NOT_WAITING,
            Reasons.TICKET_GONE,
        ),
    )
    async def cancel_ticket(
        ticket: TicketId,
        request: Request[Any, Any, Any],
        data: Annotated[WhyBody | None, why_body] = None,  # noqa: ARG001
    ) -> Response[None]:
        """Nobody is to blame; if it was in a ready check, the others wait again as before."""
        why, caller = wire.read(WhyBody, await request.body()), caller_of(request.scope)
        return response(await operators.cancel(runner, ticket, why, caller, match=False))

    @post(
        "/v1/matches/{match:str}/cancel",
        tags=["operators"],
        summary="Call a match off",
        status_code=204,
        responses=problems(WireReasons.MALFORMED, WireReasons.TOO_LARGE, Reasons.UNKNOWN_MATCH, Reasons.MATCH_OVER),
    )
    async def cancel_match(
        match: MatchId,
        request: Request[Any, Any, Any],
        data: Annotated[WhyBody | None, why_body] = None,  # noqa: ARG001
    ) -> Response[None]:
        """A proposal, or a match that is to start: everybody waits again. One that runs: its players are free."""
        why, caller = wire.read(WhyBody, await request.body()), caller_of(request.scope)
        return response(await operators.cancel(runner, match, why, caller, match=True))

    @put(
        "/v1/queues/{queue:str}/mode",
        tags=["operators"],
        summary="Pause a queue, let it run empty, or open it again",
        status_code=204,
        responses=problems(WireReasons.MALFORMED, WireReasons.TOO_LARGE, Reasons.UNKNOWN_QUEUE, WireReasons.SPLIT),
    )
    async def set_mode(
        queue: QueueName,
        data: Annotated[ModeBody, Body(examples=[Example(summary="pause", value=EXAMPLES["mode"])])],  # noqa: ARG001
        request: Request[Any, Any, Any],
    ) -> Response[None]:
        """open; paused: tickets may join and wait, but no wave is run; draining: nobody may join, waves go on."""
        body, caller = wire.read(ModeBody, await request.body()), caller_of(request.scope)
        return response(await operators.set_mode(runner, queue, body, caller))

    @delete(
        "/v1/players/{player:str}/cooldowns",
        tags=["operators"],
        summary="Lift a player's cool-downs",
        status_code=204,
        responses=problems(Reasons.UNKNOWN_PLAYER, Reasons.UNKNOWN_QUEUE, WireReasons.PARTLY_DONE),
    )
    async def lift_cooldowns(
        player: PlayerId, request: Request[Any, Any, Any], queue: InQueue = None, why: Why = None
    ) -> Response[None]:
        """The player may join again at once, and the next offence counts as the first."""
        return response(await operators.lift_cooldown(runner, player, queue, why, caller_of(request.scope)))

    return [end_match, cancel_ticket, cancel_match, set_mode, lift_cooldowns, audit]
