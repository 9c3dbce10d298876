"""Bodies that Litestar leaves alone: which kind each path takes, for the documentation only."""

from typing import Any, Final

from litestar import Request

from evenmatch.domain.queue import Mode

from .backfills import BackfillBody
from .bodies import BatchBody, BlocksBody, ModeBody, PlayerAnswerBody, TicketBody, TicketChange, WhyBody
from .result_bodies import CorrectionBody, ResultBody, SeasonBody
from .rules_handlers import RollbackBody

BODIES: Final[dict[str, Any]] = {
    "tickets": TicketBody([]),
    "tickets:batch": BatchBody([]),
    "blocks": BlocksBody([]),
    "mode": ModeBody(Mode.OPEN),
    "cancel": WhyBody(),
    "failed": WhyBody(),
    "result": ResultBody([]),
    "season": SeasonBody(2),
    "spec": {},
    "rollback": RollbackBody(0),
    "backfill": BackfillBody([]),
}
"""The last part of a path -> an empty body of its kind."""


def empty_body(method: str, path: str) -> Any:
    """An empty body of the kind that a path takes."""
    last = path.rstrip("/").rsplit("/", 1)[-1]
    if method == "PATCH":
        return TicketChange()
    if last == "result" and method == "PUT":
        return CorrectionBody()
    return BODIES.get(last, PlayerAnswerBody(""))


class Unread(Request[Any, Any, Any]):
    """A request whose body is left to `wire`, which is strict, and reads it the same way for the thin front.

    Litestar would decode it leniently, and one bad ticket would fail a whole batch. It is given an empty body of the
    right kind instead: the routes declare the kind for the documentation only.
    """

    async def json(self) -> Any:
        """An empty body of the kind that the route declares."""
        return empty_body(self.method, self.url.path)
