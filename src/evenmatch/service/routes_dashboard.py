"""The dashboard's own files: a page, its modules and its styles, from the package and without any other server.

They are read once, at the start; nothing else can be asked for. What the page shows it asks of the API, with the rights
of whoever looks at it.
"""

import hashlib
from importlib import resources
from typing import Annotated, Any, Final

from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.params import Parameter

from . import handlers
from .documented import response
from .wire import WireReasons

PAGE: Final = "index.html"
_MEDIA: Final = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def files() -> dict[str, bytes]:
    """Name -> content of all that the page is made of."""
    folder = resources.files("evenmatch.dashboard")
    return {
        item.name: item.read_bytes()
        for item in sorted(folder.iterdir(), key=lambda item: item.name)
        if item.name.rpartition(".")[2] in _MEDIA
    }


def dashboard_routes() -> list[HTTPRouteHandler]:
    """The routes of the page."""
    kept = files()
    marks = {name: f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"' for name, content in kept.items()}

    def answered(name: str, request: Request[Any, Any, Any]) -> Response[Any]:
        headers = {"content-security-policy": POLICY, "cache-control": "no-cache", "etag": marks[name]}
        if request.headers.get("if-none-match") == marks[name]:
            return Response(None, status_code=304, headers=headers)
        return Response(kept[name], media_type=_MEDIA[name.rpartition(".")[2]], headers=headers)

    @get("/", include_in_schema=False)
    async def page(request: Request[Any, Any, Any]) -> Response[Any]:
        """The dashboard."""
        return answered(PAGE, request)

    @get("/dashboard/{file:str}", include_in_schema=False)
    async def part(
        file: Annotated[str, Parameter(description="The file's name")], request: Request[Any, Any, Any]
    ) -> Response[Any]:
        """A part of it."""
        if file not in kept:
            return response(handlers.problem(WireReasons.NOT_FOUND.problem(f"the dashboard has no file {file[:80]!r}")))
        return answered(file, request)

    return [page, part]
