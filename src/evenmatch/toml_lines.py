"""Where the keys of a TOML text stand, and how keys and values are shown to whoever wrote them.

tomllib keeps no positions. They are found by cutting the text into statements, each the fewest lines that are TOML by
themselves, and asking tomllib which keys each one sets.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

Key: TypeAlias = tuple[str, ...]

INTEGER_MAX: Final = 2**63 - 1
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_SHOWN_MAX: Final = 60


def lines_of_keys(text: str) -> dict[Key, int]:
    """Key -> the line, from 1, of the statement that first sets it. The text is TOML."""
    lines: dict[Key, int] = {}
    table: Key = ()
    statement, first = "", 1
    for number, line in enumerate(text.split("\n"), start=1):
        if not statement:
            first = number
        statement += line + "\n"
        try:
            content = tomllib.loads(statement)
        except ValueError:
            continue  # the statement goes on in the next line
        if line.lstrip().startswith("[") and first == number:
            table = max(_paths(content), key=len)
            within: Key = ()
        else:
            within = table
        for path in _paths(content):
            lines.setdefault(within + path, first)
        statement = ""
    return lines


def _paths(content: object) -> Iterator[Key]:
    """Every key that is set in a table, outer ones first; an array of tables counts as its first table."""
    if isinstance(content, list) and content:
        content = content[0]
    if isinstance(content, dict):
        for name, value in content.items():
            yield (name,)
            for path in _paths(value):
                yield (name, *path)


def line_of(lines: Mapping[Key, int], key: Key) -> int:
    """The line of a key, or of the nearest table around it where the key itself was left out."""
    while key and key not in lines:
        key = key[:-1]
    return lines.get(key, 1)


def shown(value: object) -> str:
    """A value as a TOML file would have it, cut short."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            text = f'"{value}"' if value.isprintable() and '"' not in value else repr(value)
        case dict():
            return "a table"
        case list():
            return "an array"
        case int() if abs(value) > INTEGER_MAX:
            return "an integer of many digits"  # Python refuses to write the longest
        case _:
            text = str(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."


def dotted(key: Key) -> str:
    """A key as TOML writes it."""
    return ".".join(part if _BARE_KEY.fullmatch(part) else shown(part) for part in key)
