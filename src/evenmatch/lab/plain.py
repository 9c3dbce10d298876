"""Plain values: for TOML, which has no word for nothing, and for people."""

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["named", "percent_down", "plainly", "without_none"]


def percent_down(share: float) -> str:
    """A share in percent, rounded down to a tenth: what is less than 90 % does not look like it."""
    return f"{math.floor(round(1000.0 * share, 6)) / 10:g} %"


def plainly(value: Any) -> str:
    """A parameter as people write it: 60, not 60.0."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(plainly, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {plainly(inner)}' for key, inner in value.items())}}}"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def named(parameters: Mapping[str, Any]) -> str:
    """Parameters with their names, as people write them."""
    return ", ".join(f"{name} = {plainly(value)}" for name, value in parameters.items())


def without_none(value: Any) -> Any:
    """The same tables and lists, but for keys whose value is None."""
    if isinstance(value, dict):
        return {key: without_none(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [without_none(inner) for inner in value]
    return value
