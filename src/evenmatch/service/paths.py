"""Tables by method and path, looked up part by part.

A braced part of a pattern stands for anything. A part that is named goes before one that stands for anything.
"""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class PathTable(Generic[Value]):
    """Method and pattern -> a value, for whole paths."""

    def __init__(self, table: Mapping[tuple[str, str], Value]) -> None:
        self._tree: dict[Any, Any] = {}
        """By part, None = any; at the end, by method."""
        for (method, pattern), value in table.items():
            node = self._tree
            for part in pattern.rstrip("/").split("/")[1:]:
                node = node.setdefault(None if part.startswith("{") else part, {})
            node.setdefault("", {})[method] = value

    def find(self, method: str, path: str) -> tuple[Value, str] | None:
        """The value for a request, and the first part of its path that varies; None = it is not in the table."""
        node = self._tree
        named: str | None = None
        for part in path.rstrip("/").split("/")[1:]:
            inner = node.get(part) if part else None
            if inner is None:
                inner = node.get(None)
                named = part if named is None else named
            if inner is None:
                return None
            node = inner
        value = node.get("", {}).get(method)
        return None if value is None else (value, named or "")
