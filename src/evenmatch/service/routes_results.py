"""The routes of results and ratings."""

from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get, post, put
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import Example
from litestar.params import Body, Parameter, QueryParameter

from evenmatch.domain.refusals import Reasons

from . import result_handlers as handlers
from .access import caller_of
from .documented import MatchId, QueueName, granted, problems, response
from .result_bodies import CorrectionBody, ResultBody, SeasonBody
from .result_examples import EXAMPLES
from .result_views import CalibrationView, HistoryView, LeaderboardView, RatingsView, ResultView, SeasonView
from .runner import Runner
from .wire import WireReasons


class ResultAnswer(msgspec.Struct, frozen=True):
    """One result."""

    result: ResultView


class SeasonAnswer(msgspec.Struct, frozen=True):
    """One season."""

    season: SeasonView


class CalibrationAnswer(msgspec.Struct, frozen=True):
    """How good a queue's predictions are."""

    calibration: CalibrationView


PlayerId = Annotated[str, Parameter(description="The player's id", examples=[Example(value="ann")])]
Limit = Annotated[int, QueryParameter(name="limit", description="At most so many: 1 to 1000", ge=1, le=1000)]
Offset = Annotated[int, QueryParameter(name="offset", description="Pass over so many: 0 to 100000", ge=0, le=100_000)]
Side = Annotated[
    str | None, QueryParameter(name="side", required=False, description="The side, where the queue's matcher has sides")
]
LadderName = Annotated[
    str | None, QueryParameter(name="ladder", required=False, description="Only this ladder, such as `duel`")
]


def result_routes(runner: Runner) -> list[HTTPRouteHandler]:
    """The routes over a runner."""

    @post(
        "/v1/matches/{match:str}/result",
        tags=["results"],
        summary="Report a result",
        status_code=200,
        responses=granted(200, ResultAnswer, "The result, and what it did to ratings", EXAMPLES["result"])
        | problems(
            WireReasons.MALFORMED,
            WireReasons.FORBIDDEN,
            Reasons.UNKNOWN_MATCH,
            Reasons.MATCH_NOT_MADE,
            Reasons.MATCH_OVER,
            Reasons.RESULT_KNOWN,
            WireReasons.TOO_LARGE,
            Reasons.BAD_RESULT,
        ),
    )
    async def post_result(
        match: MatchId,
        data: Annotated[ResultBody, Body(examples=[Example(summary="ann won", value=EXAMPLES["report"])])],  # noqa: ARG001
        request: Request[Any, Any, Any],
    ) -> Response[Any]:
        """Exactly once: the same result again is answered as the first time. Ends the match, if it still runs."""
        caller = caller_of(request.scope)
        return response(await handlers.post_result(runner, match, await request.body(), caller))

    @put(
        "/v1/matches/{match:str}/result",
        tags=["results"],
        summary="Correct a result",
        responses=granted(200, ResultAnswer, "The result as it is now", EXAMPLES["result"])
        | problems(
            WireReasons.MALFORMED,
            WireReasons.FORBIDDEN,
            Reasons.UNKNOWN_MATCH,
            Reasons.UNKNOWN_RESULT,
            Reasons.MATCH_NOT_MADE,
            Reasons.MATCH_OVER,
            WireReasons.TOO_LARGE,
            Reasons.BAD_RESULT,
        ),
    )
    async def put_result(
        match: MatchId,
        data: Annotated[CorrectionBody, Body(examples=[Example(summary="annulled", value=EXAMPLES["correction"])])],  # noqa: ARG001
        request: Request[Any, Any, Any],
    ) -> Response[Any]:
        """For operators. Every later result of the ladder is rated again; `{"void": true}` annuls the result."""
        caller = caller_of(request.scope)
        return response(await handlers.put_result(runner, match, await request.body(), caller))

    @get(
        "/v1/matches/{match:str}/result",
        tags=["results"],
        summary="Look at a result",
        responses=granted(200, ResultAnswer, "The result", EXAMPLES["result"])
        | problems(Reasons.UNKNOWN_MATCH, Reasons.UNKNOWN_RESULT, Reasons.MATCH_NOT_MADE, Reasons.MATCH_OVER),
    )
    async def get_result(match: MatchId) -> Response[Any]:
        """Ranks, leavers, odds, and every player's rating before and after."""
        return response(await handlers.get_result(runner, match))

    @get(
        "/v1/players/{player:str}/ratings",
        tags=["results"],
        summary="A player's ratings",
        responses=granted(200, RatingsView, "A rating a ladder", EXAMPLES["ratings"])
        | problems(Reasons.UNKNOWN_PLAYER),
    )
    async def get_ratings(player: PlayerId) -> Response[Any]:
        """On every ladder and side where the player has a result."""
        return response(await handlers.get_ratings(runner, player))

    @get(
        "/v1/players/{player:str}/history",
        tags=["results"],
        summary="A player's results",
        responses=granted(200, HistoryView, "The newest first", EXAMPLES["history"])
        | problems(WireReasons.MALFORMED, Reasons.UNKNOWN_PLAYER),
    )
    async def get_history(player: PlayerId, ladder: LadderName = None, limit: Limit = 100) -> Response[Any]:
        """What each result did to the player's rating, as it stands after corrections."""
        return response(await handlers.get_history(runner, player, ladder, limit))

    @get(
        "/v1/queues/{queue:str}/leaderboard",
        tags=["results"],
        summary="The best players of a queue",
        responses=granted(200, LeaderboardView, "The best first", EXAMPLES["leaderboard"])
        | problems(
            WireReasons.MALFORMED, Reasons.UNKNOWN_QUEUE, WireReasons.SPLIT, Reasons.UNKNOWN_SIDE, Reasons.NOT_RATED
        ),
    )
    async def get_leaderboard(
        queue: QueueName, limit: Limit = 100, offset: Offset = 0, side: Side = None
    ) -> Response[Any]:
        """Players who have been placed, by the rating that they almost surely have."""
        return response(await handlers.get_leaderboard(runner, queue, side, limit, offset))

    @get(
        "/v1/queues/{queue:str}/calibration",
        tags=["results"],
        summary="How good a queue's predictions are",
        responses=granted(200, CalibrationAnswer, "Scores and reliability", EXAMPLES["calibration"])
        | problems(Reasons.UNKNOWN_QUEUE, WireReasons.SPLIT, Reasons.NOT_RATED),
    )
    async def get_calibration(queue: QueueName) -> Response[Any]:
        """Log-loss, accuracy and reliability of the odds that were told before each result, beside a coin's."""
        return response(await handlers.get_calibration(runner, queue))

    @post(
        "/v1/queues/{queue:str}/season",
        tags=["results"],
        summary="Start a season",
        status_code=200,
        responses=granted(200, SeasonAnswer, "The season", EXAMPLES["season"])
        | problems(
            WireReasons.MALFORMED,
            WireReasons.FORBIDDEN,
            Reasons.UNKNOWN_QUEUE,
            WireReasons.SPLIT,
            Reasons.NOT_RATED,
            Reasons.SEASON_OVER,
            WireReasons.TOO_LARGE,
            Reasons.BAD_SEASON,
        ),
    )
    async def post_season(
        queue: QueueName,
        data: Annotated[SeasonBody, Body(examples=[Example(summary="half way", value=EXAMPLES["begin"])])],  # noqa: ARG001
        request: Request[Any, Any, Any],
    ) -> Response[Any]:
        """For operators. A soft reset of the queue's ladder: ratings move towards the start and become less sure."""
        caller = caller_of(request.scope)
        return response(await handlers.post_season(runner, queue, await request.body(), caller))

    return [
        post_result,
        put_result,
        get_result,
        get_ratings,
        get_history,
        get_leaderboard,
        get_calibration,
        post_season,
    ]
