"""The routes of players and game servers beyond joining: changing a ticket, blocks, and the start of a match."""

from typing import Annotated, Any

from litestar import Request, Response, get, patch, post, put
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import Example
from litestar.params import Body

from evenmatch.domain.refusals import Reasons

from . import play, wire
from .access import caller_of
from .bodies import BlocksBody, TicketChange, WhyBody
from .documented import MatchId, PlayerId, TicketId, granted, problems, response
from .examples import EXAMPLES
from .handlers import TicketAnswer
from .play import PlayerAnswer
from .runner import Runner
from .wire import WireReasons


def play_routes(runner: Runner) -> list[HTTPRouteHandler]:
    """The routes over a runner."""

    @patch(
        "/v1/tickets/{ticket:str}",
        tags=["tickets"],
        summary="Change what a waiting ticket brings",
        responses=granted(200, TicketAnswer, "The ticket", EXAMPLES["ticket"])
        | problems(
            WireReasons.MALFORMED,
            WireReasons.TOO_LARGE,
            WireReasons.RATING_NOT_YOURS,
            WireReasons.BAD_ATTRIBUTES,
            Reasons.UNKNOWN_TICKET,
            Reasons.TICKET_GONE,
            Reasons.NOT_WAITING,
            Reasons.NOT_IN_TICKET,
            Reasons.BAD_RATING,
            Reasons.BAD_PING,
            Reasons.BAD_FACT,
            Reasons.MISSING_FACT,
            Reasons.MISSING_ATTRIBUTE,
        ),
    )
    async def update_ticket(
        ticket: TicketId,
        data: Annotated[TicketChange, Body(examples=[Example(summary="a new ping", value=EXAMPLES["change"])])],  # noqa: ARG001
        request: Request[Any, Any, Any],
    ) -> Response[Any]:
        """Of players and fields only those that are given change; `attributes` are replaced as a whole. The time in the
        queue goes on as it was."""
        change = wire.read(TicketChange, await request.body())
        return response(await play.update_ticket(runner, ticket, change, caller_of(request.scope)))

    @post(
        "/v1/matches/{match:str}/started",
        tags=["matches"],
        summary="A match has started",
        status_code=204,
        responses=problems(Reasons.UNKNOWN_MATCH, Reasons.MATCH_NOT_STARTING),
    )
    async def started(match: MatchId) -> Response[None]:
        """Said by the game server, where the queue's `match.confirm_s` asks for it: the match is made now."""
        return response(await play.confirm_start(runner, match))

    @post(
        "/v1/matches/{match:str}/failed",
        tags=["matches"],
        summary="A match could not start",
        status_code=204,
        responses=problems(
            WireReasons.MALFORMED, WireReasons.TOO_LARGE, Reasons.UNKNOWN_MATCH, Reasons.MATCH_NOT_STARTING
        ),
    )
    async def failed(
        match: MatchId,
        request: Request[Any, Any, Any],
        data: Annotated[WhyBody | None, Body(examples=[Example(summary="no room", value=EXAMPLES["why"])])] = None,  # noqa: ARG001
    ) -> Response[None]:
        """Everybody waits again, with the wait and the place they had. `why` goes to the log."""
        return response(await play.confirm_start(runner, match, wire.read(WhyBody, await request.body())))

    @get(
        "/v1/players/{player:str}",
        tags=["players"],
        summary="Look at a player",
        responses=granted(200, PlayerAnswer, "The player", EXAMPLES["a_player"]) | problems(Reasons.UNKNOWN_PLAYER),
    )
    async def get_player(player: PlayerId) -> Response[Any]:
        """Live tickets, cool-downs and blocks."""
        return response(await play.get_player(runner, player))

    @put(
        "/v1/players/{player:str}/blocks",
        tags=["players"],
        summary="Say whom a player never wants to meet",
        responses=granted(200, PlayerAnswer, "The player", EXAMPLES["a_player"])
        | problems(
            WireReasons.MALFORMED,
            WireReasons.TOO_LARGE,
            WireReasons.BAD_PLAYER_ID,
            Reasons.UNKNOWN_PLAYER,
            WireReasons.PARTLY_DONE,
        ),
    )
    async def set_blocks(
        player: PlayerId,
        data: Annotated[BlocksBody, Body(examples=[Example(summary="two players", value=EXAMPLES["blocks"])])],  # noqa: ARG001
        request: Request[Any, Any, Any],
    ) -> Response[Any]:
        """In no queue are they put into one match. The list replaces the one before."""
        return response(await play.set_blocks(runner, player, wire.read(BlocksBody, await request.body())))

    return [update_ticket, started, failed, get_player, set_blocks]
