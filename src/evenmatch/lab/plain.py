"""Plain values for TOML, which has no word for nothing."""

from typing import Any

__all__ = ["without_none"]


def without_none(value: Any) -> Any:
    """The same tables and lists, but for keys whose value is None."""
    if isinstance(value, dict):
        return {key: without_none(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [without_none(inner) for inner in value]
    return value
