"""The OpenAPI document: as Litestar makes it, mended where it says what this server does not do.

1. What needs no key says so.
2. Litestar's own 400s are never sent, nor is a body with a 204. A stream is no single value: its schema asks for
   nothing.
3. Bodies whose readers turn unknown fields away say that they have no others.
4. A union is `anyOf`: 3 is an integer and a number, which `oneOf` would turn away.
"""

from typing import Any, Final

import msgspec
from litestar import Litestar

from . import bodies, result_bodies, rules_handlers
from .access import RIGHTS, Least

_STRICT: Final = frozenset(
    name
    for module in (bodies, result_bodies, rules_handlers)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__struct_config__.forbid_unknown_fields
)
"""The schemas of what is read strictly."""


def document(app: Litestar) -> dict[str, Any]:
    """The document of an application."""
    made: dict[str, Any] = _unions(app.openapi_schema.to_schema())
    for name, schema in made["components"]["schemas"].items():
        if name in _STRICT:
            schema["additionalProperties"] = False
    for path, item in made["paths"].items():
        for verb, operation in item.items():
            right = RIGHTS.get((verb.upper(), path))
            if right is not None and right.least is Least.ANYONE:
                operation["security"] = []
        for operation in item.values() if path.startswith("/v1/") else ():
            responses = operation["responses"]
            responses.get("204", {}).pop("content", None)
            for media, described in responses.get("200", {}).get("content", {}).items():
                if media == "text/event-stream":
                    described["schema"] = {}
            for status in [status for status in responses if status >= "400"]:
                if "application/problem+json" not in responses[status]["content"]:
                    del responses[status]
    return made


def _unions(part: Any) -> Any:
    """A part of the document, with unions told as such."""
    if isinstance(part, dict):
        return {"anyOf" if name == "oneOf" else name: _unions(value) for name, value in part.items()}
    return [_unions(value) for value in part] if isinstance(part, list) else part
