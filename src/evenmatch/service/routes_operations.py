"""The routes of those who run the server, or have it watched: is it alive, is it ready, and its numbers."""

from typing import Final

from litestar import Response, get
from litestar.enums import MediaType
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import ResponseSpec
from litestar.openapi.spec import Example

from .documented import problems
from .served import ServedLanes, in_one_line, metrics_of

_NOT_READY: Final = ResponseSpec(
    dict[str, str],
    description="Not now",
    generate_examples=False,
    examples=[
        Example(
            summary="of two lanes one has no owner",
            value={"status": "not ready", "why": "lane eu: no owner", "lanes": "eu (2)"},
        )
    ],
)


def operations_routes(served: ServedLanes) -> list[HTTPRouteHandler]:
    """The routes over all that is served."""

    @get("/healthz", tags=["operations"], summary="Is the process alive?", media_type=MediaType.JSON)
    async def healthz() -> dict[str, str]:
        """Always yes, as long as anything answers."""
        return {"status": "ok"}

    @get(
        "/readyz",
        tags=["operations"],
        summary="Can orders be carried out?",
        media_type=MediaType.JSON,
        responses={503: _NOT_READY},
    )
    async def readyz() -> Response[dict[str, str]]:
        """No while the journal cannot be used, or the server is starting or stopping. Where there are several lanes,
        all must be ready; `lanes` names those that are not. `why` says what is missing, in words."""
        waiting, found = served.not_ready(), served.hindrances()
        if not found:
            return Response({"status": "ready"})
        told = ", ".join(f"{served[lane].runner.journal.lane_name} ({lane})" for lane in waiting)
        named = {"lanes": told} if len(served) > 1 and waiting else {}
        return Response({"status": "not ready", "why": in_one_line(found)} | named, status_code=503)

    @get(
        "/metrics",
        tags=["operations"],
        summary="Numbers for Prometheus",
        media_type="text/plain; version=0.0.4",
        responses=problems(),
    )
    async def metrics() -> bytes:
        """Counters, gauges and histograms in Prometheus' text format."""
        return await metrics_of(served)

    return [healthz, readyz, metrics]
