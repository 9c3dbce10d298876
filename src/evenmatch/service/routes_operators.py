"""The routes of those who run the matches and the server: ending a match, and the audit."""

from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import Example
from litestar.params import QueryParameter

from evenmatch.domain.refusals import Reasons

from . import operators
from .access import caller_of
from .documented import MatchId, granted, problems, response
from .examples import EXAMPLES
from .operators import AuditAnswer
from .runner import Runner
from .wire import WireReasons

After = Annotated[
    str | None,
    QueryParameter(
        name="after", required=False, description="Only what came after this sequence", examples=[Example(value="0")]
    ),
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
        responses=problems(Reasons.UNKNOWN_MATCH, Reasons.MATCH_OVER),
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
    async def audit(after: After = None, limit: Limit = None) -> Response[Any]:
        """Who did what to whom, and when. Entries are as durable as what they tell of."""
        return response(await operators.audit(runner, after, limit))

    return [end_match, audit]
