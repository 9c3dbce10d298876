"""The keys of a population file: which there are, what each means, which are wrong, and which were left out.

All of it is read off the Structs of `population`, so that a key that is added there is known here.
"""

import ast
import inspect
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, Final, get_args, get_origin

import msgspec

__all__ = ["Key", "key_mistake", "keys_of", "left_out"]

_LEFT: Final = "assumption: the file leaves it out, so it is the lab's default: "

_INSTEAD: Final = {"skill": ("mean", "spread"), "regions": ("near_ms", "near_spread", "far_else_ms")}
"""Table -> keys that a file of numbers takes the place of"""


class Key(msgspec.Struct, frozen=True):
    """One key."""

    name: str
    kind: Any
    default: Any
    """As TOML writes it; empty = it must be given"""
    meaning: str


def keys_of(struct: type) -> list[Key]:
    """The keys of a table."""
    told = _meanings(struct)
    return [Key(one.name, one.type, _default(one), told.get(one.name, "")) for one in msgspec.structs.fields(struct)]


def key_mistake(table: Any, struct: type, where: str = "") -> str:
    """The first key that there is not, or that must be there and is not, in words; or nothing."""
    if not isinstance(table, dict):
        return ""  # that it is to be a table is said when it is converted
    fields = {one.name: one for one in msgspec.structs.fields(struct)}
    for name in table:
        if name not in fields:
            near = get_close_matches(name, fields, n=1)
            guess = f"did you mean {near[0]}? " if near else ""
            return f"{where}{name}: there is no such key: {guess}known: {', '.join(fields)}"
    for name, one in fields.items():
        if one.required and name not in table:
            of = f"table {where.rstrip('.')}" if where else "file"
            return f"{where}{name}: this key is missing: the {of} must have it"
        if name in table:
            for inner, kind, at in _inner(table[name], one.type, f"{where}{name}"):
                wrong = key_mistake(inner, kind, f"{at}.")
                if wrong:
                    return wrong
    return ""


def left_out(table: dict[str, Any], struct: type) -> dict[str, str]:
    """Keys that a file leaves to their defaults -> what these are; one entry a table. Empty defaults don't count."""
    found = {}
    for one in keys_of(struct):
        given = table.get(one.name, {})
        if not _is_table(one.kind):
            if one.name not in table and _says(one):
                found[one.name] = _LEFT + one.default
            continue
        unused = _INSTEAD.get(one.name, ()) if given.get("file") else ()
        missing = {
            key.name: key.default
            for key in keys_of(one.kind)
            if key.name not in given and key.name not in unused and _says(key)
        }
        if one.name == "arrivals" and not given.get("curve") and not given.get("file"):
            missing["curve"] = "every hour alike"
        if missing:
            names = one.name if not given else ", ".join(f"{one.name}.{name}" for name in missing)
            found[names] = _LEFT + ", ".join(f"{name} {value}" for name, value in missing.items())
    return found


def _says(key: Key) -> bool:
    return key.default not in ("", '""', "[]", "{}", "none")


def _is_table(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _inner(value: Any, kind: Any, where: str) -> Iterator[tuple[Any, type, str]]:
    """Tables within a value: of a struct, of a list of structs, or of named structs."""
    if _is_table(kind):
        yield value, kind, where
    elif get_origin(kind) is tuple and _is_table(get_args(kind)[0]) and isinstance(value, list):
        for place, one in enumerate(value, 1):
            yield one, get_args(kind)[0], f"{where} {place}"
    elif get_origin(kind) is dict and _is_table(get_args(kind)[1]) and isinstance(value, dict):
        for name, one in value.items():
            yield one, get_args(kind)[1], f"{where}.{name}"


def _default(one: msgspec.structs.FieldInfo) -> str:
    if one.required:
        return ""
    value = one.default if one.default is not msgspec.NODEFAULT else one.default_factory()
    if _is_table(type(value)):
        value = msgspec.to_builtins(value)
    return "none" if value is None else _toml(value)


def _toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case dict():
            inner = ", ".join(f"{_bare(name)} = {_toml(one)}" for name, one in value.items() if one is not None)
            return f"{{ {inner} }}" if inner else "{}"
        case list() | tuple():
            return f"[{', '.join(map(_toml, value))}]"
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def _bare(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() else f'"{name}"'


def _meanings(struct: type) -> dict[str, str]:
    """What stands below each field in the source."""
    tree = ast.parse(inspect.getsource(struct)).body[0]
    assert isinstance(tree, ast.ClassDef)
    found, last = {}, ""
    for line in tree.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            last = line.target.id
        elif isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and last:
            found[last], last = " ".join(str(line.value.value).split()), ""
    return found
