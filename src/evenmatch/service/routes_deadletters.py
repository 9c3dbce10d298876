"""The routes of dead letters: requests for game servers that nobody answered."""

from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import Example
from litestar.params import Parameter

from evenmatch.domain.refusals import Reasons

from . import deadletters
from .access import caller_of
from .deadletters import DeadLettersAnswer
from .documented import granted, problems, response
from .examples import EXAMPLES
from .runner import Runner

LetterId = Annotated[str, Parameter(description="The dead letter's id", examples=[Example(value="a-000000000001")])]


def deadletter_routes(runner: Runner) -> list[HTTPRouteHandler]:
    """The routes over a runner."""

    @get(
        "/v1/deadletters",
        tags=["operators"],
        summary="Requests for game servers that were given up",
        responses=granted(200, DeadLettersAnswer, "All of them, oldest match first", EXAMPLES["deadletters"])
        | problems(),
    )
    async def get_deadletters() -> Response[Any]:
        """Matches that nobody gave a game server, with what was wrong the last time."""
        return response(await deadletters.get_deadletters(runner))

    @post(
        "/v1/deadletters/{letter:str}/retry",
        tags=["operators"],
        summary="Ask for a game server once more",
        status_code=204,
        responses=problems(Reasons.UNKNOWN_DEADLETTER, Reasons.MATCH_OVER),
    )
    async def retry(letter: LetterId, request: Request[Any, Any, Any]) -> Response[None]:
        """As many attempts as the rules say, from the first. One of a match that is over is refused and dropped."""
        return response(await deadletters.retry(runner, letter, caller_of(request.scope)))

    return [get_deadletters, retry]
