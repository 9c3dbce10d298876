"""The routes of those who change a queue's rules, and who hand out or erase what is known of a player."""

from typing import Annotated, Any

import msgspec
from litestar import Request, Response, delete, get, post, put
from litestar.datastructures import ResponseHeader
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import Example
from litestar.params import Body, HeaderParameter, QueryParameter

from evenmatch.domain.refusals import Reasons

from . import erasing, rules_handlers
from .access import caller_of
from .documented import PlayerId, QueueName, Why, granted, problems, response
from .erasing import ErasedAnswer, ExportAnswer
from .rules import ChangeView, VersionsView
from .rules_examples import RULES_EXAMPLES
from .rules_handlers import RollbackBody
from .runner import Runner
from .veil import sees_rules
from .wire import WireReasons

IfMatch = Annotated[
    str | None,
    HeaderParameter(
        name="If-Match",
        required=False,
        description="Only if this version of the rules is in force; left out: whichever is.",
    ),
]
DryRun = Annotated[
    str | None,
    QueryParameter(
        name="dry_run",
        required=False,
        description="true: only say what would change",
        examples=[Example(value="true")],
    ),
]
Name = Annotated[
    str | None,
    QueryParameter(
        name="name",
        required=False,
        description="keep: all goes but the name; so each lane of a server does it before the name goes",
        examples=[Example(value="keep")],
    ),
]
_ETAG = [ResponseHeader("ETag", description="The version in force", documentation_only=True)]


class ChangeAnswer(msgspec.Struct, frozen=True):
    """What a change of rules did."""

    change: ChangeView


def rules_routes(runner: Runner) -> list[HTTPRouteHandler]:
    """The routes over a runner."""

    @put(
        "/v1/queues/{queue:str}/spec",
        tags=["operators"],
        summary="Change a queue's rules",
        status_code=200,
        responses=granted(200, ChangeAnswer, "What changed", RULES_EXAMPLES["change"])
        | problems(
            WireReasons.MALFORMED,
            WireReasons.TOO_LARGE,
            Reasons.UNKNOWN_QUEUE,
            WireReasons.SPLIT,
            Reasons.WRONG_VERSION,
            Reasons.BAD_SPEC,
        ),
        response_headers=_ETAG,
    )
    async def put_spec(
        queue: QueueName,
        data: Annotated[dict[str, Any], Body(examples=[Example(summary="rules", value=RULES_EXAMPLES["rules"])])],  # noqa: ARG001
        request: Request[Any, Any, Any],
        if_match: IfMatch = None,
        dry_run: DryRun = None,
        why: Why = None,
    ) -> Response[Any]:
        """All rules of the queue, as its table in queues.toml has them; what is left out gets its default.

        Waiting tickets that could not have joined under them are cancelled (`rules_changed`).
        """
        body, caller = await request.body(), caller_of(request.scope)
        return response(await rules_handlers.put_spec(runner, queue, body, if_match, dry_run, caller, why))

    @get(
        "/v1/queues/{queue:str}/versions",
        tags=["queues"],
        summary="The rules that a queue has had",
        responses=granted(200, VersionsView, "Versions, oldest first", RULES_EXAMPLES["versions"])
        | problems(Reasons.UNKNOWN_QUEUE, WireReasons.SPLIT),
        response_headers=_ETAG,
    )
    async def get_versions(queue: QueueName, request: Request[Any, Any, Any]) -> Response[Any]:
        """Who gave them, when, and what each changed."""
        return response(await rules_handlers.get_versions(runner, queue, whole=sees_rules(request.scope)))

    @post(
        "/v1/queues/{queue:str}/rollback",
        tags=["operators"],
        summary="Give a queue the rules of an earlier version",
        status_code=200,
        responses=granted(200, ChangeAnswer, "What changed", RULES_EXAMPLES["change"])
        | problems(
            WireReasons.MALFORMED,
            WireReasons.TOO_LARGE,
            Reasons.UNKNOWN_QUEUE,
            WireReasons.SPLIT,
            Reasons.UNKNOWN_VERSION,
            Reasons.WRONG_VERSION,
            Reasons.BAD_SPEC,
        ),
        response_headers=_ETAG,
    )
    async def rollback(
        queue: QueueName,
        data: Annotated[RollbackBody, Body(examples=[Example(summary="back", value=RULES_EXAMPLES["rollback"])])],  # noqa: ARG001
        request: Request[Any, Any, Any],
        if_match: IfMatch = None,
    ) -> Response[Any]:
        """The old rules become a new version: nothing is taken out of the history."""
        body, caller = await request.body(), caller_of(request.scope)
        return response(await rules_handlers.rollback(runner, queue, body, if_match, caller))

    @get(
        "/v1/players/{player:str}/export",
        tags=["operators"],
        summary="All that is known of a player",
        responses=granted(200, ExportAnswer, "All of it", RULES_EXAMPLES["export"]) | problems(Reasons.UNKNOWN_PLAYER),
    )
    async def export_player(player: PlayerId, request: Request[Any, Any, Any]) -> Response[Any]:
        """Tickets, matches, results, ratings, blocks, cool-downs, and the audit's entries. Noted in the audit."""
        return response(await erasing.export_player(runner, player, caller_of(request.scope)))

    @delete(
        "/v1/players/{player:str}",
        tags=["operators"],
        summary="Erase a player",
        status_code=200,
        responses=granted(200, ErasedAnswer, "What went", RULES_EXAMPLES["erased"])
        | problems(WireReasons.MALFORMED, Reasons.UNKNOWN_PLAYER, WireReasons.PARTLY_DONE),
    )
    async def erase_player(player: PlayerId, request: Request[Any, Any, Any], name: Name = None) -> Response[Any]:
        """The name goes, live tickets are cancelled, blocks and cool-downs lifted; matches and ratings stay as #n."""
        return response(await erasing.erase_player(runner, player, name, caller_of(request.scope)))

    return [put_spec, get_versions, rollback, export_player, erase_player]
