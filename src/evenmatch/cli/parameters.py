"""Parameters as they are written on the command line: NAME=VALUE."""

import tomllib
from typing import Any

from evenmatch.errors import ConfigError

__all__ = ["parameters_of"]


def parameters_of(given: list[str], example: str) -> dict[str, Any]:
    """Name -> value; a value is TOML, or a list where there are commas, or a bare word."""
    found: dict[str, Any] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise ConfigError(f"--param {one!r}: write NAME=VALUE, such as {example}")
        if name in found:
            raise ConfigError(f"--param {name} is given twice")
        found[name] = _value(value)
    return found


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        pass
    if "," in text:
        return [_value(part.strip()) for part in text.split(",")]
    return text
