"""How routes are documented: what a route may answer, with an example each, and the parameters of paths."""

from typing import Annotated, Any

from litestar import Response
from litestar.openapi import ResponseSpec
from litestar.openapi.spec import Example
from litestar.params import HeaderParameter, Parameter, QueryParameter

from evenmatch.domain.refusals import Reasons

from . import wire
from .examples import problem_example
from .handlers import Answer
from .wire import WireReasons


def response(answer: Answer) -> Response[Any]:
    """An answer, as Litestar sends it."""
    return Response(
        content=answer.body if answer.body else None,
        status_code=answer.status,
        media_type=answer.media.decode(),
        headers={name.decode(): value.decode() for name, value in answer.headers},
    )


ALWAYS = (
    WireReasons.UNAUTHENTICATED,
    WireReasons.FORBIDDEN,
    WireReasons.NOT_YOURS,
    WireReasons.TOO_MANY_REQUESTS,
    WireReasons.BUSY,
    WireReasons.STOPPING,
    WireReasons.JOURNAL_UNAVAILABLE,
    WireReasons.NO_OWNER,
    WireReasons.INTERNAL_ERROR,
)
"""What any route may answer."""


def problems(*reasons: Reasons | WireReasons) -> dict[int, ResponseSpec]:
    """The documented refusals of a route, an example each."""
    by_status: dict[int, list[Reasons | WireReasons]] = {}
    for reason in (*reasons, *ALWAYS):
        by_status.setdefault(reason.value[0], []).append(reason)
    return {
        status: ResponseSpec(
            data_container=wire.Problem,
            description=" / ".join(reason.code for reason in found),
            media_type="application/problem+json",
            generate_examples=False,
            examples=[Example(summary=reason.code, value=problem_example(reason)) for reason in found],
        )
        for status, found in by_status.items()
    }


def granted(status: int, shape: Any, description: str, example: Any) -> dict[int, ResponseSpec]:
    """The documented answer of a route, with an example."""
    return {
        status: ResponseSpec(
            data_container=shape,
            description=description,
            generate_examples=False,
            examples=[Example(summary="example", value=example)],
        )
    }


Key = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        required=False,
        description="Makes a repeat safe: the same key and body within a day is answered as the first time was.",
    ),
]
InLane = Annotated[
    str | None,
    QueryParameter(
        name="lane",
        required=False,
        description="The lane, where the server has several: its number or its name",
        examples=[Example(value="1")],
    ),
]
Why = Annotated[
    str | None,
    QueryParameter(name="why", required=False, description="The reason, for the audit: 1,000 characters are kept"),
]
QueueName = Annotated[str, Parameter(description="The queue's name", examples=[Example(value="duel")])]
TicketId = Annotated[str, Parameter(description="The ticket's id", examples=[Example(value="t-000000000001")])]
ProposalId = Annotated[str, Parameter(description="The proposal's id", examples=[Example(value="p-000000000001")])]
PlayerId = Annotated[str, Parameter(description="The player's id", examples=[Example(value="ann")])]
MatchId = Annotated[str, Parameter(description="The match's id", examples=[Example(value="m-000000000001")])]
