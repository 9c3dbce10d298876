"""queues.toml -> QueueSpec.

Whoever writes the file should need nothing but the answer to mend it. So every mistake says where it is (file, line,
full key), what is wrong, what would be right and, for a key that nobody knows, which one was probably meant; and all
mistakes are told at once. Keys and kinds are read off the structs of `domain/queue.py`: a field there is a key here.
"""

import difflib
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, Final, TypeAlias, get_args

import msgspec
import tomli_w

from evenmatch.domain.lanes import lane_mistakes
from evenmatch.domain.queue import Format, MatcherSpec, QueueSpec, ReadyCheckSpec, rules_broken
from evenmatch.domain.rating import ladders_at_odds
from evenmatch.domain.shards import Split, split_mistakes, splits_of, with_shards
from evenmatch.domain.venue import LATENCY, venue_keeps
from evenmatch.errors import ConfigError, MatcherError
from evenmatch.matchers import registry
from evenmatch.matchers.contract import door
from evenmatch.numerics.rating_models import model_mistake
from evenmatch.toml_lines import INTEGER_MAX, Key, line_of, lines_of_keys
from evenmatch.toml_lines import dotted as _dotted
from evenmatch.toml_lines import shown as _shown

__all__ = [
    "builtin",
    "lanes_of",
    "load",
    "of_table",
    "parse",
    "remarks",
    "shards_of",
    "table_of",
    "to_toml",
    "with_door",
]

Tell: TypeAlias = Callable[[Key, str], None]
"""Notes a mistake: where, and what."""

_POSITION: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")

_QUEUE_FIELDS: Final = {
    field.name: field for field in msgspec.structs.fields(QueueSpec) if field.name not in ("name", "door")
}
_SECTIONS: Final[dict[str, type[msgspec.Struct]]] = {
    name: next(kind for kind in (get_args(field.type) or (field.type,)) if kind is not NoneType)
    for name, field in _QUEUE_FIELDS.items()
    if name != "require_equal"
}
_ELSEWHERE: Final = {
    field.name: f"{section}.{field.name}"
    for section, kind in _SECTIONS.items()
    if kind is not MatcherSpec
    for field in msgspec.structs.fields(kind)
}
"""Keys of a queue's tables, for those who wrote them one level too high."""
_SUCH_AS: Final = {"maps": "{ Radiance = 1.0 }", "regions": '["eu", "us"]', "pairs": '{ eu = { us = "eu" } }'}


def builtin() -> tuple[QueueSpec, ...]:
    """The queues that open when no file names any."""
    even, check = MatcherSpec("even"), ReadyCheckSpec(timeout_s=20.0)
    return (
        with_door(QueueSpec("duel", Format(teams=2, size=1), even, ready_check=check)),
        with_door(QueueSpec("team5", Format(teams=2, size=5), even, ready_check=check)),
    )


def load(path: Path) -> tuple[QueueSpec, ...]:
    """The queues of a file, in its order; a ConfigError tells everything that is wrong with it."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: this is a directory: name a TOML file in it") from None
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
        raise ConfigError(f"{path}: the file cannot be read: {why}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise ConfigError(
            f"{path}:{line}: byte 0x{problem.object[problem.start]:02x} is not UTF-8: save the file as UTF-8 text"
        ) from None
    return parse(text, str(path))


def lanes_of(path: Path) -> dict[str, str]:
    """Queue -> its lane, by a file that `load` has read: as [lanes] says; else a shard in its own, others in main."""
    table = tomllib.loads(path.read_bytes().decode("utf-8-sig")).get("lanes", {})
    own = {queue: queue for split in shards_of(path).values() for queue in split.queues}
    return own | {queue: lane for lane, queues in table.items() for queue in queues}


def shards_of(path: Path) -> dict[str, Split]:
    """Queue -> how it is split, by the tables [shards.QUEUE] of a file that `load` has read."""
    return splits_of(tomllib.loads(path.read_bytes().decode("utf-8-sig")).get("shards", {}))


def parse(text: str, source: str) -> tuple[QueueSpec, ...]:
    """The queues of a TOML text, in its order; `source` names the text in mistakes."""
    document = _document(text, source)
    found: list[tuple[Key, str]] = []

    def tell(key: Key, what: str) -> None:
        found.append((key, what))

    _integers_fit(document, (), tell)
    specs = () if found else _queues(document, tell)
    if not found and not specs:
        raise ConfigError(f"{source}: queues: there are none: add a table such as [queues.duel]")
    if found:
        lines = lines_of_keys(text)
        placed = [(line_of(lines, key), key, what) for key, what in found]
        placed.sort(key=lambda mistake: mistake[0])
        raise ConfigError(
            "\n".join(f"{source}:{line}: {_dotted(key)}: {what}" for line, key, what in placed),
        )
    return specs


def to_toml(specs: Iterable[QueueSpec]) -> str:
    """The text that `parse` reads as these queues."""
    queues: dict[str, Any] = {}
    for spec in specs:
        if spec.name in queues:
            raise ConfigError(f"queues.{spec.name}: two queues have this name")
        if "name" in spec.matcher.parameters:
            raise ConfigError(f"queues.{spec.name}.matcher: a parameter called 'name' cannot be written")
        queues[spec.name] = table_of(spec)
    return tomli_w.dumps({"queues": queues})


def table_of(spec: QueueSpec) -> dict[str, Any]:
    """A queue's table, as `of_table` reads it."""
    table = msgspec.to_builtins(spec)
    del table["name"], table["door"]  # the matcher says it again when the table is read
    table["matcher"] = {"name": spec.matcher.name, **table["matcher"]["parameters"]}
    return _without_none(table)


def of_table(name: str, table: dict[str, Any]) -> QueueSpec:
    """One queue, of its table alone; a ConfigError tells everything that is wrong with it."""
    found: list[str] = []

    def tell(key: Key, what: str) -> None:
        found.append(f"{_dotted(key[2:])}: {what}" if len(key) > 2 else what)

    table = _without_none(table)
    _integers_fit(table, ("queues", name), tell)
    spec = QueueSpec(name) if found else _queue(name, table, tell)
    if found:
        raise ConfigError("; ".join(found))
    return spec


def with_door(spec: QueueSpec) -> QueueSpec:
    """The spec with what its matcher asks for in this version of the program; as it is where the matcher is gone."""
    return _with_door(spec, (), lambda _key, _what: None)


def remarks(spec: QueueSpec) -> list[str]:
    """What a matcher finds odd about its queue, though nothing is wrong with it; most have nothing to say."""
    matcher = registry.build(spec.matcher.name, spec.matcher.parameters)
    told: list[str] = matcher.remarks(spec.ticket.expires_s) if hasattr(matcher, "remarks") else []
    if _caps_pings(spec):
        told.append(
            "latency_cap_ms counts ping_ms only, as the queue names no regions: who brings latencies is refused; "
            'add venue = { regions = ["eu", "us"] } to have them count'
        )
    return told


def _without_none(table: dict[str, Any]) -> dict[str, Any]:
    """TOML has no null: what is None is left out, which reads as None."""
    return {
        key: _without_none(value) if isinstance(value, dict) else value
        for key, value in table.items()
        if value is not None
    }


def _document(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as problem:  # TOMLDecodeError, or an integer too long for Python to read
        what = str(problem)
        position = _POSITION.search(what)
        if position is None:
            raise ConfigError(f"{source}: not TOML: {what}") from None
        last = text.rstrip("\n").split("\n")
        line, column = position.groups(default="")
        at = f"{line}:{column}" if line else f"{len(last)}:{len(last[-1]) + 1}"
        raise ConfigError(f"{source}:{at}: not TOML: {what[: position.start()]}") from None
    except RecursionError:
        raise ConfigError(f"{source}: not usable: arrays or tables stand too deep in each other") from None


def _integers_fit(value: object, key: Key, tell: Tell) -> None:
    """Tells every integer beyond the 64 bits that TOML promises and the journal can hold."""
    match value:
        case dict():
            for name, inner in value.items():
                _integers_fit(inner, (*key, name), tell)
        case list():
            for inner in value:
                _integers_fit(inner, key, tell)
        case int() if abs(value) > INTEGER_MAX:
            tell(key, f"{_shown(value)} does not fit: use one from -{INTEGER_MAX} to {INTEGER_MAX}")


def _queues(document: dict[str, Any], tell: Tell) -> tuple[QueueSpec, ...]:
    _known(document, ("queues", "lanes", "shards"), (), tell)
    queues = document.get("queues", {})
    if not isinstance(queues, dict):
        tell(("queues",), f"{_shown(queues)} is not a table: write one table a queue, such as [queues.duel]")
        return ()
    whole = tuple(_queue(name, table, tell) for name, table in queues.items())
    shards = document.get("shards", {})
    for at, what in split_mistakes(shards, whole):
        tell(("shards", *at), what)
    specs = with_shards(whole, shards)
    for name, field, what in ladders_at_odds((spec.name, spec.rating) for spec in specs if spec.rating is not None):
        tell(("queues", name, "rating", field), what)
    divided = {spec.name: [one.name for one in with_shards((spec,), shards)] for spec in whole if spec not in specs}
    for at, what in lane_mistakes(document.get("lanes", {}), specs, divided):
        tell(("lanes", *at), what)
    return specs


def _queue(name: str, table: object, tell: Tell) -> QueueSpec:
    """A queue's spec; where its table is mistaken, that is told and the default stands in, so that reading goes on."""
    key = ("queues", name)
    spec = QueueSpec(name, matcher=MatcherSpec(registry.DEFAULT))
    if not isinstance(table, dict):
        tell(key, f"{_shown(table)} is not a table: write [{_dotted(key)}]")
        return spec
    _known(table, _QUEUE_FIELDS, key, tell, elsewhere=_ELSEWHERE)
    parts: dict[str, Any] = {}
    for section, kind in _SECTIONS.items():
        if section in table:
            read = _matcher if kind is MatcherSpec else _section
            value = read(kind, table[section], (*key, section), tell)
            if value is not None:
                parts[section] = value
    rating = parts.get("rating")
    if rating is not None and (wrong := model_mistake(rating.model, rating.parameters)):
        tell((*key, "rating"), wrong)
        del parts["rating"]
    if "require_equal" in table:
        parts["require_equal"] = _names(table["require_equal"], (*key, "require_equal"), tell)
    return _with_door(_rules_kept(msgspec.structs.replace(spec, **parts), key, tell), key, tell)


def _rules_kept(spec: QueueSpec, key: Key, tell: Tell) -> QueueSpec:
    """The spec, with a default for every part that breaks a rule; each broken rule is told."""
    defaults = QueueSpec("queue")
    kept = spec
    for where, what in rules_broken(spec):
        part, *rest = where.split(".")
        tell(key if part == "name" else (*key, part, *rest), what)
        kept = msgspec.structs.replace(kept, **{part: getattr(defaults, part)})
    return kept


def _section(kind: type[msgspec.Struct], table: object, key: Key, tell: Tell) -> msgspec.Struct | None:
    """A table of a queue as its struct, or None where it is mistaken."""
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    if not isinstance(table, dict):
        example = next(iter(fields.values()))
        shown = f"{key[-1]} = {{ {example.name} = {_shown(example.default)} }}"
        tell(key, f"{_shown(table)} is not a table: write one such as {shown}")
        return None
    mistakes = 0

    def told(where: Key, what: str) -> None:
        nonlocal mistakes
        mistakes += 1
        tell(where, what)

    _known(table, fields, key, told)
    values = {}
    for name, field in fields.items():
        if name in table:
            wrong = _wrong_kind(table[name], field)
            if wrong:
                told((*key, name), wrong)
            else:
                values[name] = msgspec.convert(table[name], field.type)
    return None if mistakes else kind(**values)


def _matcher(kind: type[msgspec.Struct], table: object, key: Key, tell: Tell) -> msgspec.Struct | None:
    """The matcher's table: its name, and whatever else stands there is a parameter."""
    example = f'write one such as {{ name = "{registry.DEFAULT}" }}'
    if not isinstance(table, dict):
        tell(key, f"{_shown(table)} is not a table: {example}")
        return None
    name = table.get("name")
    if not isinstance(name, str):
        what = "the table names no matcher" if name is None else f"{_shown(name)} is not a matcher's name"
        tell(key if name is None else (*key, "name"), f"{what}: {example}")
        return None
    parameters = {parameter: value for parameter, value in table.items() if parameter != "name"}
    good, mistakes = registry.judged(name, parameters)
    for what in mistakes:
        tell(key, what)
    return None if good is None else kind(name, good)


def _with_door(spec: QueueSpec, key: Key, tell: Tell) -> QueueSpec:
    """The spec, with what its matcher and its venue ask of those who join; a format it can't play is told."""
    try:
        asked = door(registry.build(spec.matcher.name, spec.matcher.parameters), spec.format)
    except MatcherError as problem:
        tell((*key, "format"), str(problem))
        return spec
    kept = venue_keeps(spec.venue)
    keeps = tuple(dict.fromkeys((*asked.keeps, *kept)))
    words = tuple(dict.fromkeys((*asked.words, *(name for name in kept if not name.startswith(LATENCY)))))
    pings_only = True if _caps_pings(spec) else msgspec.UNSET
    opened = msgspec.structs.replace(asked, keeps=keeps, words=words, pings_only=pings_only)
    return msgspec.structs.replace(spec, door=opened)


def _caps_pings(spec: QueueSpec) -> bool:
    """Has the matcher a cap on latency, and the queue no regions that latencies could be of?"""
    return bool(spec.matcher.parameters.get("latency_cap_ms")) and not (spec.venue and spec.venue.regions)


def _names(value: object, key: Key, tell: Tell) -> tuple[str, ...]:
    if not isinstance(value, list):
        tell(key, f'{_shown(value)} is not an array: write the attributes\' names, such as ["region"]')
        return ()
    for position, name in enumerate(value):
        if not isinstance(name, str):
            tell(
                key,
                f'entry {position + 1}, {_shown(name)}, is not a string: write an attribute\'s name, such as "region"',
            )
            return ()
    return tuple(value)


def _wrong_kind(value: object, field: msgspec.structs.FieldInfo) -> str:
    """What is wrong with the kind of a value, and what would be right; empty where it fits the field."""
    such_as = f"such as {_shown(field.default)}"
    if field.type is float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"{_shown(value)} is not a number: use one {such_as}"
        return "" if math.isfinite(value) else f"{_shown(value)} is not a finite number: use one {such_as}"
    if field.type is int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return "" if whole else f"{_shown(value)} is not a whole number: use one {such_as}"
    if field.type is str:
        return "" if isinstance(value, str) else f"{_shown(value)} is not a text: use one {such_as}"
    if field.name == "parameters":
        return "" if isinstance(value, dict) else f"{_shown(value)} is not a table: write the model's parameters in one"
    if field.type == tuple[str, ...]:
        texts = isinstance(value, list) and all(isinstance(entry, str) for entry in value)
        return "" if texts else f'{_shown(value)} is not an array of texts: write one such as ["red", "blue"]'
    if field.type in (bool, bool | None):
        return "" if isinstance(value, bool) else f"{_shown(value)} is neither true nor false"
    try:
        msgspec.convert(value, field.type)
    except msgspec.ValidationError as problem:
        return f"{_shown(value)} cannot be used ({problem}): write one such as {_SUCH_AS[field.name]}"
    return ""


def _known(
    table: Mapping[str, object], known: Iterable[str], key: Key, tell: Tell, elsewhere: Mapping[str, str] | None = None
) -> None:
    """Tells every key of a table that nobody knows, with the one that was probably meant."""
    names = list(known)
    where = f"in {_dotted(key)}" if key else "at the top"
    for name in table:
        if name in names:
            continue
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        meant = (elsewhere or {}).get(name) or (near[0] if near else "")
        guess = f": did you mean {meant!r}?" if meant else ";"
        tell((*key, name), f"unknown key {name!r} {where}{guess} known keys: {', '.join(names)}")
