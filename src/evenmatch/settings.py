"""The settings of a process: read once from the environment, frozen from then on.

What a queue does is policy and stands in queues.toml and the journal; here is only how this process runs.
A variable that is unset or empty leaves the default; unknown ones are somebody else's.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from evenmatch.errors import ConfigError

__all__ = ["PREFIX", "Settings", "from_environment"]

PREFIX: Final = "EVENMATCH_"


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one process of evenmatch runs. Each field is the variable EVENMATCH_<FIELD>."""

    host: str = "127.0.0.1"
    port: int = 8750
    """0 = any free port."""
    db: Path = Path("evenmatch.db")
    mailbox: int = 10_000
    """Commands that may wait; those beyond are told to come back later."""
    body_max_bytes: int = 65_536
    batch_body_max_bytes: int = 4_194_304
    batch_max: int = 1_000
    """Tickets in one batch."""
    tick_ms: int = 50
    checkpoint_debt: int = 10_000
    """Events in the journal after which a new checkpoint is saved."""
    keep_s: float = 60.0
    """Finished tickets stay in the state this long."""
    threads: int = 0
    """Threads that one plan may use; 0 = as many as there are processors."""


_RANGES: Final[dict[str, tuple[int, int]]] = {
    "port": (0, 65_535),
    "mailbox": (1, 10_000_000),
    "body_max_bytes": (256, 2**30),
    "batch_body_max_bytes": (256, 2**30),
    "batch_max": (1, 1_000_000),
    "tick_ms": (1, 60_000),
    "checkpoint_debt": (1, 10**12),
    "keep_s": (0, 30 * 24 * 3600),
    "threads": (0, 1_024),
}
"""Field -> the least and the most that make sense."""

_WHOLE: Final = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_DECIMAL: Final = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?", re.ASCII)


def from_environment(environ: Mapping[str, str]) -> Settings:
    """The settings that an environment asks for; a ConfigError names every variable that cannot be used."""
    values: dict[str, str | int | float | Path] = {}
    mistakes: list[str] = []
    for field in msgspec.structs.fields(Settings):
        variable = PREFIX + field.name.upper()
        text = environ.get(variable, "").strip()
        if not text:
            continue
        try:
            if field.name in _RANGES:
                values[field.name] = _number(text, field.name, whole=field.type is int)
            else:
                values[field.name] = Path(text) if field.type is Path else text
        except ValueError as problem:
            mistakes.append(f"{variable}: {problem}")
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    return msgspec.convert(values, Settings)


def _number(text: str, name: str, *, whole: bool) -> int | float:
    """The number of a text, or a ValueError that says what would be right."""
    least, most = _RANGES[name]
    right = f"use a {'whole ' if whole else ''}number from {least} to {most}"
    if name == "port" and text.startswith("tcp://"):
        right += " (Kubernetes sets this variable for a service called evenmatch: turn enableServiceLinks off)"
    if not (_WHOLE if whole else _DECIMAL).fullmatch(text):
        raise ValueError(f"{text[:60]!r} is not a {'whole ' if whole else ''}number: {right}")
    value = int(text) if whole else float(text)
    if not least <= value <= most:
        raise ValueError(f"{text[:60]!r} is out of range: {right}")
    return value
