"""The routes of backfill: a running match asks for players."""

from typing import Annotated, Any, Final

from litestar import Request, Response, delete, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import Example
from litestar.params import Body

from evenmatch.domain.refusals import Reasons

from . import backfills, wire
from .access import caller_of
from .backfills import BackfillAnswer, BackfillBody
from .documented import Key, MatchId, granted, problems, response
from .runner import Runner
from .wire import WireReasons

ASKED: Final[dict[str, Any]] = {"places": [{"team": 0, "instead_of": "ben"}]}
SHOWN: Final[dict[str, Any]] = {
    "backfill": {
        "match": "m-000000000001",
        "queue": "team5",
        "standing": "running",
        "open": 0,
        "invited": 1,
        "filled": 0,
        "places": [
            {
                "place": 1,
                "team": 0,
                "team_name": None,
                "instead_of": "ben",
                "standing": "invited",
                "asked_ms": 1790000060000,
                "expires_ms": 1790000360000,
                "proposal": "p-000000000007",
                "ticket": "t-000000000031",
                "player": None,
                "filled_ms": None,
            }
        ],
        "left": [{"player": "ben", "team": 0, "at_ms": 1790000060000}],
        "late": [],
    }
}


def backfill_routes(runner: Runner) -> list[HTTPRouteHandler]:
    """The routes over a runner."""

    @post(
        "/v1/matches/{match:str}/backfill",
        tags=["matches"],
        summary="Ask for players",
        status_code=200,
        responses=granted(200, BackfillAnswer, "What the match asks for now", SHOWN)
        | problems(
            WireReasons.MALFORMED,
            WireReasons.TOO_LARGE,
            WireReasons.BAD_KEY,
            Reasons.UNKNOWN_MATCH,
            Reasons.MATCH_NOT_RUNNING,
            Reasons.BACKFILL_OFF,
            Reasons.KEY_REUSED,
            Reasons.UNKNOWN_TEAM,
            Reasons.NOT_IN_TEAM,
            Reasons.ALREADY_LEFT,
            Reasons.NO_FREE_PLACE,
        ),
    )
    async def ask(
        match: MatchId,
        data: Annotated[BackfillBody, Body(examples=[Example(summary="ben has left", value=ASKED)])],  # noqa: ARG001
        request: Request[Any, Any, Any],
        idempotency_key: Key = None,
    ) -> Response[Any]:
        """A running match asks for players for places of its teams. Whoever is named as having left is free to join
        elsewhere, and counts as a leaver. Waves invite tickets that fit; see the queue's `backfill` rules."""
        body = wire.read(BackfillBody, await request.body())
        return response(await backfills.ask(runner, match, body, idempotency_key, caller_of(request.scope)))

    @get(
        "/v1/matches/{match:str}/backfill",
        tags=["matches"],
        summary="Look at what a match asks for",
        responses=granted(200, BackfillAnswer, "Open, invited and filled places", SHOWN)
        | problems(Reasons.UNKNOWN_MATCH),
    )
    async def show(match: MatchId) -> Response[Any]:
        """Open places, who is invited, who came late, who left."""
        return response(await backfills.show(runner, match))

    @delete(
        "/v1/matches/{match:str}/backfill",
        tags=["matches"],
        summary="Ask for nobody any more",
        status_code=204,
        responses=problems(Reasons.UNKNOWN_MATCH, Reasons.MATCH_NOT_RUNNING),
    )
    async def withdraw(match: MatchId, request: Request[Any, Any, Any]) -> Response[None]:
        """Places that are not filled are closed; whoever was invited waits on as before."""
        return response(await backfills.withdraw(runner, match, caller_of(request.scope)))

    return [ask, show, withdraw]
