"""The route of server-sent events. What it tells is told by `streams`; here it is documented and found."""

from typing import Annotated, Any

from litestar import Request, get
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import ResponseSpec
from litestar.openapi.spec import Example
from litestar.params import HeaderParameter, QueryParameter
from litestar.types import ASGIApp

from evenmatch.domain.refusals import Reasons

from . import streams
from .documented import TicketId, problems
from .sockets import Hub
from .wire import WireReasons

_EXAMPLE = """retry: 1000

id: 17
event: proposed
data: {"sequence":17,"type":"proposed","ticket":"t-000000000001","queue":"duel","at_ms":1790000000000}

"""

_After = Annotated[
    str | None, QueryParameter(name="after", required=False, description="Leave out events up to this sequence")
]
_LastEvent = Annotated[
    str | None,
    HeaderParameter(
        name="Last-Event-ID",
        required=False,
        description="The same, as a browser's EventSource says it; `after` goes before it",
    ),
]


def stream_routes(hub: Hub) -> list[HTTPRouteHandler]:
    """The route over a hub."""

    @get(
        "/v1/tickets/{ticket:str}/events",
        tags=["tickets"],
        summary="Follow a ticket by server-sent events",
        responses={
            200: ResponseSpec(
                str,
                description="The ticket's story, then live",
                media_type="text/event-stream",
                generate_examples=False,
                examples=[Example(summary="example", value=_EXAMPLE)],
            ),
            204: ResponseSpec(None, description="The story is over and nothing of it is left to tell"),
        }
        | problems(WireReasons.MALFORMED, WireReasons.TOO_OLD, Reasons.UNKNOWN_TICKET),
    )
    async def events(
        ticket: TicketId,
        request: Request[Any, Any, Any],  # noqa: ARG001
        after: _After = None,  # noqa: ARG001
        last_event: _LastEvent = None,  # noqa: ARG001
    ) -> ASGIApp:
        """The messages of the WebSocket at the same path, as `id`, `event` and `data`, for those who cannot open one.
        An open stream counts as a heartbeat. Where no header can be sent, a key or token goes into `?token=`."""

        async def told(scope: Any, receive: Any, send: Any) -> None:
            await streams.serve(hub, ticket, scope, receive, send)

        return told

    return [events]
