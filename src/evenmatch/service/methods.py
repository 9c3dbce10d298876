"""Which methods a path knows: what OPTIONS is told, and whoever tries another (RFC 9110, `Allow`)."""

from typing import Final

import msgspec

from . import wire
from .access import right_of
from .handlers import Answer, problem
from .sockets import Message

_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")


def methods_of(path: str) -> list[str]:
    """The methods that the table of rights has for a path; none = there is nothing at it."""
    known = [method for method in _METHODS if right_of(method, path) is not None]
    if "GET" in known:
        known.insert(1, "HEAD")
    return [*known, "OPTIONS"] if known else []


def other_method(scope: Message) -> Answer | None:
    """The answer to OPTIONS, and to a method that the path does not know; None = it knows it, or there is no path."""
    method, path = scope["method"], scope["path"]
    if right_of(method, path) is not None:
        return None
    known = methods_of(path)
    if not known:
        return None
    allow = ((b"allow", ", ".join(known).encode()),)
    if method == "OPTIONS":
        return Answer(204, headers=allow)
    said = wire.WireReasons.METHOD_NOT_ALLOWED.problem(f"{method} is not known at {path}: use {', '.join(known)}")
    return msgspec.structs.replace(problem(said), headers=allow)
