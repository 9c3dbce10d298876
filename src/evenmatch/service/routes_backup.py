"""The route of backups."""

from typing import Any, Final

from litestar import Request, Response, post
from litestar.handlers import HTTPRouteHandler

from .access import caller_of
from .backups import BackupAnswer, Backups
from .documented import InLane, granted, problems, response
from .runner import Runner
from .wire import WireReasons

_EXAMPLE: Final[dict[str, Any]] = {
    "backup": {
        "file": "evenmatch-backup-20261116T093000-000.db",
        "sequence": 184_201,
        "lane": "main",
        "bytes": 40_960_000,
    }
}


def backup_routes(runner: Runner) -> list[HTTPRouteHandler]:
    """The route over a runner."""
    backups = Backups(runner)

    @post(
        "/v1/backup",
        tags=["operators"],
        summary="Copy the journal",
        status_code=200,
        responses=granted(200, BackupAnswer, "The copy, in the journal's folder", _EXAMPLE)
        | problems(WireReasons.BACKUP_UNDER_WAY, WireReasons.NO_BACKUP),
    )
    async def make_backup(
        request: Request[Any, Any, Any],
        lane: InLane = None,  # noqa: ARG001
    ) -> Response[Any]:
        """While the server goes on. The copy is whole and on disk when this is answered; nothing is overwritten, and
        nothing is taken away again: that is the operator's to do. Where the server has several lanes, it is lane 1's
        unless `lane` says another."""
        return response(await backups.make(caller_of(request.scope)))

    return [make_backup]
