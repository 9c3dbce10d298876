"""Every path of the API as Litestar knows it: the source of /openapi.json, and the plain way in.

The hot paths among them are usually answered by `hot` before Litestar sees them; their routes here call the same
handlers, serve where `hot` is not in front, and are what the documentation is made from.
"""

from typing import Annotated, Any

import msgspec
from litestar import Litestar, Request, Response, delete, get, post
from litestar.datastructures import ResponseHeader
from litestar.enums import MediaType
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, Example, License, SecurityScheme, Tag
from litestar.params import Body, QueryParameter

from evenmatch.domain.refusals import Reasons
from evenmatch.settings import Settings

from . import discretion, handlers, own, wire
from .access import caller_of
from .bodies import BatchBody, PlayerAnswerBody, TicketBody
from .discretion import player_of
from .docs_page import docs_page
from .documented import Key, MatchId, ProposalId, QueueName, TicketId
from .documented import granted as _granted
from .documented import problems as _problems
from .documented import response as _response
from .examples import EXAMPLES
from .handlers import BatchAnswer, TicketAnswer
from .openapi import document as _document
from .routes_backfill import backfill_routes
from .routes_backup import backup_routes
from .routes_dashboard import dashboard_routes
from .routes_deadletters import deadletter_routes
from .routes_operations import operations_routes
from .routes_operators import operator_routes
from .routes_play import play_routes
from .routes_results import result_routes
from .routes_rules import rules_routes
from .routes_streams import stream_routes
from .routes_watch import watch_routes
from .routes_why import why_routes
from .runner import Runner
from .served import Served, ServedLanes
from .sockets import Hub
from .unread import Unread, empty_body
from .veil import shown_to
from .views import MatchView, QueueView
from .wire import WireReasons


class MatchAnswer(msgspec.Struct, frozen=True):
    """One match."""

    match: MatchView


class QueueAnswer(msgspec.Struct, frozen=True):
    """One queue."""

    queue: QueueView


class QueuesAnswer(msgspec.Struct, frozen=True):
    """All queues."""

    queues: list[QueueView]


class AnswerAnswer(msgspec.Struct, frozen=True):
    """A player's answer to a proposal, noted."""

    proposal: str
    player: str
    answer: str


_Leaver = Annotated[
    str | None,
    QueryParameter(
        name="player",
        required=False,
        description="Which of a party leaves: while proposed, that one is to blame. A player's token says it by itself",
    ),
]
_BEARER = SecurityScheme(
    type="http",
    scheme="bearer",
    description="An API key (evenmatch keys add) or a player's token (JWT). An open server on loopback needs none.",
)


def litestar_app(
    runner: Runner, hub: Hub, settings: Settings, version: str, served: ServedLanes | None = None
) -> Litestar:
    """The Litestar application over a runner; what tells of the whole server tells of all that is `served`."""
    served = ServedLanes({1: Served(runner, hub)}) if served is None else served

    @post(
        "/v1/queues/{queue:str}/tickets",
        tags=["tickets"],
        summary="Join a queue",
        responses=_granted(201, TicketAnswer, "The ticket", EXAMPLES["ticket"])
        | _problems(
            WireReasons.MALFORMED,
            WireReasons.BAD_KEY,
            WireReasons.RATING_NOT_YOURS,
            Reasons.UNKNOWN_QUEUE,
            Reasons.NO_SHARD,
            WireReasons.SHARD_NOT_OPEN,
            Reasons.COOLING_DOWN,
            Reasons.QUEUE_DRAINING,
            Reasons.ALREADY_WAITING,
            Reasons.KEY_REUSED,
            WireReasons.TOO_LARGE,
            Reasons.EMPTY_PARTY,
            Reasons.PARTY_TOO_LARGE,
            Reasons.PLAYER_TWICE,
            Reasons.BAD_RATING,
            Reasons.BAD_PING,
            Reasons.BAD_FACT,
            Reasons.PARTY_UNSUPPORTED,
            Reasons.MISSING_FACT,
            Reasons.MISSING_ATTRIBUTE,
            WireReasons.BAD_PLAYER_ID,
            WireReasons.BAD_ATTRIBUTES,
        ),
        response_headers=[ResponseHeader("Location", description="Where the ticket is", documentation_only=True)],
    )
    async def join(
        queue: QueueName,
        data: Annotated[TicketBody, Body(examples=[Example(summary="one player", value=EXAMPLES["join"])])],  # noqa: ARG001
        request: Request[Any, Any, Any],
        key: Key = None,
    ) -> Response[Any]:
        """A party (one player or more) enters a queue. Answered once the ticket is durable."""
        caller = caller_of(request.scope)
        ticket = own.read_ticket(await request.body(), caller)
        player = None if caller is None else caller.player
        return _response(await handlers.join(runner, queue, ticket, key, player))

    @post(
        "/v1/queues/{queue:str}/tickets:batch",
        tags=["tickets"],
        summary="Join a queue, many tickets at once",
        status_code=200,
        responses=_granted(200, BatchAnswer, "An outcome a ticket, in order", EXAMPLES["batch_answer"])
        | _problems(
            WireReasons.MALFORMED,
            WireReasons.BAD_KEY,
            Reasons.UNKNOWN_QUEUE,
            WireReasons.SHARD_NOT_OPEN,
            WireReasons.TOO_LARGE,
        ),
        request_max_body_size=settings.batch_body_max_bytes,
    )
    async def join_batch(
        queue: QueueName,
        data: Annotated[BatchBody, Body(examples=[Example(summary="two tickets", value=EXAMPLES["batch"])])],  # noqa: ARG001
        request: Request[Any, Any, Any],
        key: Key = None,
    ) -> Response[Any]:
        """Up to 1,000 tickets for one queue; each is accepted or refused on its own."""
        tickets = wire.read_batch(await request.body(), settings.batch_max)
        return _response(await handlers.join_batch(runner, queue, tickets, key))

    @get(
        "/v1/tickets/{ticket:str}",
        tags=["tickets"],
        summary="Look at a ticket",
        responses=_granted(200, TicketAnswer, "The ticket", EXAMPLES["ticket_proposed"])
        | _problems(Reasons.UNKNOWN_TICKET),
    )
    async def get_ticket(ticket: TicketId, request: Request[Any, Any, Any]) -> Response[Any]:
        """Status, wait, and the proposal or match it is in."""
        return _response(await handlers.get_ticket(runner, ticket, discretion.shown_to(request.scope)))

    @delete(
        "/v1/tickets/{ticket:str}",
        tags=["tickets"],
        summary="Leave a queue",
        responses=_problems(
            Reasons.UNKNOWN_TICKET, Reasons.ALREADY_MATCHED, Reasons.MATCH_STARTING, Reasons.TICKET_GONE
        ),
    )
    async def leave(ticket: TicketId, request: Request[Any, Any, Any], player: _Leaver = None) -> Response[None]:
        """Withdraw a ticket. While it is proposed, this declines the proposal, and who leaves is to blame."""
        return _response(await handlers.leave(runner, ticket, player_of(request.scope) or player))

    @post(
        "/v1/tickets/{ticket:str}/heartbeat",
        tags=["tickets"],
        summary="Still there",
        status_code=204,
        responses=_problems(Reasons.UNKNOWN_TICKET, Reasons.TICKET_GONE),
    )
    async def heartbeat(ticket: TicketId) -> Response[None]:
        """Keep a ticket from expiring. An open WebSocket does the same."""
        return _response(await handlers.heartbeat(runner, ticket))

    answers = _problems(
        WireReasons.MALFORMED,
        Reasons.NOT_A_MEMBER,
        Reasons.UNKNOWN_PROPOSAL,
        Reasons.ALREADY_ACCEPTED,
        Reasons.ALREADY_MATCHED,
        Reasons.PROPOSAL_OVER,
        WireReasons.TOO_LARGE,
    )
    player_body = Body(examples=[Example(summary="ann", value=EXAMPLES["player"])])

    @post(
        "/v1/proposals/{proposal:str}/accept",
        tags=["proposals"],
        summary="Accept a proposed match",
        status_code=200,
        responses=_granted(200, AnswerAnswer, "Noted", EXAMPLES["accepted"]) | answers,
    )
    async def accept(
        proposal: ProposalId,
        data: Annotated[PlayerAnswerBody, player_body],  # noqa: ARG001
        request: Request[Any, Any, Any],
    ) -> Response[Any]:
        """A player takes part. When the last one accepts, the match is made."""
        player = own.read_player(await request.body(), caller_of(request.scope))
        return _response(await handlers.answer_proposal(runner, proposal, player, True))

    @post(
        "/v1/proposals/{proposal:str}/decline",
        tags=["proposals"],
        summary="Decline a proposed match",
        status_code=200,
        responses=_granted(200, AnswerAnswer, "Noted", EXAMPLES["declined"]) | answers,
    )
    async def decline(
        proposal: ProposalId,
        data: Annotated[PlayerAnswerBody, player_body],  # noqa: ARG001
        request: Request[Any, Any, Any],
    ) -> Response[Any]:
        """A player does not take part: the player's ticket is cancelled, all others wait again as before."""
        player = own.read_player(await request.body(), caller_of(request.scope))
        return _response(await handlers.answer_proposal(runner, proposal, player, False))

    @get(
        "/v1/matches/{match:str}",
        tags=["matches"],
        summary="Look at a match",
        responses=_granted(200, MatchAnswer, "The match", EXAMPLES["match"]) | _problems(Reasons.UNKNOWN_MATCH),
    )
    async def get_match(match: MatchId, request: Request[Any, Any, Any]) -> Response[Any]:
        """Teams, players, queue, quality and venue. Where a proposal of this number became no match, the refusal says
        what became of it, unless a player asks."""
        shown, player = discretion.shown_to(request.scope), discretion.player_of(request.scope)
        return _response(await handlers.get_match(runner, match, shown, player=player is not None))

    @get(
        "/v1/queues",
        tags=["queues"],
        summary="Look at all queues",
        responses=_granted(200, QueuesAnswer, "All queues", EXAMPLES["queues"]) | _problems(),
    )
    async def get_queues(request: Request[Any, Any, Any]) -> Response[Any]:
        """Every open queue."""
        return _response(await handlers.get_queues(runner, shown_to(request.scope)))

    @get(
        "/v1/queues/{queue:str}",
        tags=["queues"],
        summary="Look at a queue",
        responses=_granted(200, QueueAnswer, "The queue", EXAMPLES["queue"])
        | _problems(Reasons.UNKNOWN_QUEUE, WireReasons.SHARD_NOT_OPEN),
    )
    async def get_queue(queue: QueueName, request: Request[Any, Any, Any]) -> Response[Any]:
        """Waiting tickets, the oldest wait, the wave number, the last wave, and the rules; `allocate.url` and
        `allocate.secret` are shown to operators only."""
        return _response(await handlers.get_queue(runner, queue, shown_to(request.scope)))

    made: dict[str, Any] = {}

    def document(app: Litestar) -> dict[str, Any]:
        """Made once: it takes a tenth of a second, and anybody may ask for it."""
        if not made:
            made.update(_document(app))
        return made

    @get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request[Any, Any, Any]) -> dict[str, Any]:
        """This API, as OpenAPI 3.1."""
        return document(request.app)

    @get("/docs", include_in_schema=False, media_type=MediaType.HTML)
    async def docs(request: Request[Any, Any, Any]) -> str:
        """This API, to read."""
        return docs_page(document(request.app))

    return Litestar(
        [
            join,
            join_batch,
            get_ticket,
            leave,
            heartbeat,
            accept,
            decline,
            get_match,
            get_queues,
            get_queue,
            *operations_routes(served),
            openapi,
            docs,
            *backfill_routes(runner),
            *backup_routes(runner),
            *deadletter_routes(runner),
            *operator_routes(runner),
            *play_routes(runner),
            *result_routes(runner),
            *rules_routes(runner),
            *stream_routes(hub),
            *dashboard_routes(),
            *watch_routes(runner, served, version),
            *why_routes(runner),
        ],
        before_request=_granted_only,
        exception_handlers={HTTPException: _http_problem, Exception: _our_mistake},
        request_class=Unread,
        request_max_body_size=settings.body_max_bytes,
        openapi_config=OpenAPIConfig(
            title="evenmatch",
            version=version,
            description="A matchmaker for online games. Every refusal is an RFC 9457 problem with a stable reason.",
            license=License("Apache-2.0", identifier="Apache-2.0"),
            use_handler_docstrings=True,
            tags=[
                Tag("tickets", "One party's wish to play in one queue"),
                Tag("proposals", "Suggested matches that await their ready check"),
                Tag("matches", "Matches that were made"),
                Tag("players", "What is known of players"),
                Tag("queues", "Where tickets wait"),
                Tag("operators", "What needs an operator's key"),
                Tag("results", "How matches ended, and ratings"),
                Tag("operations", "For those who run the server"),
            ],
            components=Components(security_schemes={"bearer": _BEARER}),
            security=[{"bearer": []}],
            path="/litestar-openapi",
        ),
        logging_config=None,
        debug=False,
    )


async def _granted_only(request: Request[Any, Any, Any]) -> Response[Any] | None:
    """A route that the table of rights does not name is not there for anybody; async, or a thread would do it."""
    if "granted" in request.scope:
        return None
    return _response(
        handlers.problem(WireReasons.NOT_FOUND.problem(f"there is nothing at {request.url.path}; see /docs"))
    )


def _http_problem(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
    """Litestar's own refusals, in our shape."""
    status = error.status_code
    if status in (404, 405):  # methods that a known path lacks are answered by `methods`
        content = WireReasons.NOT_FOUND.problem(f"there is nothing at {request.url.path}; see /docs")
    elif status == 413:
        content = WireReasons.TOO_LARGE.problem("the body is larger than the server takes")
    elif status == 400:
        extra = error.extra if isinstance(error.extra, list) else []
        said = "; ".join(f"{item.get('message')} (at {item.get('key')})" for item in extra if isinstance(item, dict))
        content = wire.malformed(ValueError(said or error.detail))
        if any(isinstance(item, dict) and item.get("key") == "data" for item in extra):  # the one that is never read
            content = wire.empty(type(empty_body(request.method, request.url.path)))
    else:
        return _our_mistake(request, error)
    return _response(handlers.problem(content))


def _our_mistake(_: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """What nobody expected."""
    return _response(handlers.our_mistake(error))
