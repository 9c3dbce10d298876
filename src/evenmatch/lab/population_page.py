"""docs/populations.md: every key of a population file, made from the code.

evenmatch lab population --reference > docs/populations.md
"""

from typing import Any, Final, get_args, get_origin

import msgspec

from evenmatch.domain.queue import Format

from .keys import Key, keys_of
from .population import PRESETS, Burst, Fit, Population

__all__ = ["population_page"]

_HEAD: Final = f"""# Population files

A population says who plays, for `evenmatch lab`. It is a TOML file; only `title` must be there. What a file leaves out
has the default below, and is marked in the results as an assumption of the lab's, for it is. The presets
({", ".join(PRESETS)}) are files to begin with: `evenmatch lab population duel-small > ours.toml`.
This page is made from the code: `evenmatch lab population --reference > docs/populations.md`.
"""
_WORDS: Final = {float: "number", int: "whole number", str: "text", bool: "true or false"}


def population_page() -> str:
    """The page."""
    whole = keys_of(Population)
    tables = [key for key in whole if _struct(key.kind) and key.kind is not Format]
    plain = [key for key in whole if key not in tables]
    parts = [_HEAD, _section("The file", "Beside the tables below:", plain)]
    for key in tables:
        parts.append(_section(f"`[{key.name}]`", key.kind.__doc__ or "", keys_of(key.kind)))
        if key.name == "game":
            parts.append(_section("`game.format`", Format.__doc__ or "", keys_of(Format)))
        if key.name == "arrivals":
            parts.append(_section("`[[arrivals.bursts]]`", Burst.__doc__ or "", keys_of(Burst)))
    parts.append(_section("`[matchers.NAME]`", Fit.__doc__ or "", keys_of(Fit)))
    return "\n".join(parts)


def _section(title: str, words: str, keys: list[Key]) -> str:
    first = words.strip().partition("\n")[0]
    rows = "".join(
        f"| `{key.name}` | {_kind(key.kind)} | {_shown(key)} | {key.meaning.replace('|', ',')} |\n" for key in keys
    )
    return f"## {title}\n\n{first}\n\n| key | what | default | meaning |\n|---|---|---|---|\n{rows}"


def _shown(key: Key) -> str:
    if _struct(key.kind):
        return "see below"
    return f"`{key.default}`" if key.default not in ("", "none") else key.default or "must be given"


def _struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _kind(kind: Any) -> str:
    """A type in words."""
    if kind in _WORDS:
        return _WORDS[kind]
    if _struct(kind):
        return "table"
    if get_origin(kind) is tuple:
        return "tables" if _struct(get_args(kind)[0]) else "list"
    if get_origin(kind) is dict:
        return "table"
    inner = [one for one in get_args(kind) if one is not type(None)]
    return _kind(inner[0]) if inner else "value"
