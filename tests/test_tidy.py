"""The house stays tidy: who may import whom, what the deterministic rooms may not touch, and how files look.

The checkers read sources with `ast` and never import them, so they are able to judge the small fake houses at the end
of this file, which show that every rule can fail.
"""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

import evenmatch

HOUSE: Final = Path(evenmatch.__file__).parent
LINES_MAX: Final = 400

EVERYTHING: Final = ("",)
ROOMS: Final = (
    "domain",
    "core",
    "numerics",
    "matchers",
    "storage",
    "errors",
    "config",
    "settings",
    "recovery",
    "__version__",
)
SEES: Final[dict[str, tuple[str, ...]]] = {
    "domain": (),
    "errors": (),
    "dashboard": (),
    "client": ("errors",),
    "open_files": ("errors",),
    "demo": ("errors", "client"),
    "drill": ("domain", "storage", "errors", "client", "open_files", "recovery"),
    "numerics": ("domain",),
    "core": ("domain", "numerics", "errors"),
    "matchers": ("domain", "numerics", "errors"),
    "storage": ("domain", "errors"),
    "toml_lines": (),
    "config": ("domain", "matchers.registry", "matchers.contract", "numerics.rating_models", "errors", "toml_lines"),
    "settings": ("errors",),
    "recovery": ("domain", "core", "storage", "errors"),
    "tickets": ("domain", "matchers", "numerics", "errors"),
    "results": ("domain", "errors"),
    "rating": ("domain", "numerics", "errors", "results"),
    "pages": ("errors",),
    "rating_report": ("pages", "rating"),
    "warming": ("numerics", "matchers"),
    "planning": ("domain", "matchers", "numerics", "errors", "tickets"),
    "service": ROOMS,
    "lab": (*ROOMS, "pages", "drill"),
    "reproduce": (*ROOMS, "planning", "tickets", "pages"),
    "wiring": EVERYTHING,
    "node_wiring": EVERYTHING,
    "cli": EVERYTHING,
    "bench": EVERYTHING,
    "__main__": EVERYTHING,
    "__init__": EVERYTHING,
}
"""Room -> what it may import of ours, beside itself."""

DETERMINISTIC: Final = ("domain", "core", "numerics", "matchers")
BANNED_MODULES: Final = (
    *("asyncio", "datetime", "logging", "os", "random", "secrets", "socket", "subprocess", "threading", "time", "uuid"),
    "numpy.random",
)
MAY_MAKE_RANDOM: Final = "numerics/seeds.py"
EMPTY_WORDS: Final = ("util", "utils", "helper", "helpers", "manager", "managers", "data", "info")

Checker = Callable[[Path], list[str]]


def sources(house: Path) -> Iterator[tuple[str, ast.Module]]:
    """Every module of a house: its path in the house, and its tree."""
    for path in sorted(house.rglob("*.py")):
        yield path.relative_to(house).as_posix(), ast.parse(path.read_text("utf-8"), str(path))


def room_of(name: str) -> str:
    return name.split("/")[0].removesuffix(".py")


def imported(name: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of everything that a module imports, wherever in it the import stands."""
    package = ["evenmatch", *name.split("/")[:-1]]
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                for alias in node.names:
                    yield node.lineno, alias.name
            case ast.ImportFrom():
                above = package[: len(package) - node.level + 1] if node.level else []
                for alias in node.names:
                    yield node.lineno, ".".join([*above, *([node.module] if node.module else []), alias.name])
            case ast.Call(
                func=ast.Name("__import__" | "import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(str(module)), *_],
            ):
                yield node.lineno, module


def within(name: str, module: str) -> bool:
    return name == module or name.startswith(module + ".")


def import_breaches(house: Path) -> list[str]:
    """The import law of ARCHITECTURE.md."""
    breaches = []
    for name, tree in sources(house):
        room = room_of(name)
        if room not in SEES:
            breaches.append(f"{name}: no law says what {room} may import: add it to SEES")
            continue
        for line, target in imported(name, tree):
            if not within(target, "evenmatch") or SEES[room] is EVERYTHING:
                continue
            inside = target.removeprefix("evenmatch").removeprefix(".")
            if not any(within(inside, seen) for seen in (room, *SEES[room])):
                breaches.append(f"{name}:{line}: {room} must not see {target}")
    return breaches


def ambient_breaches(house: Path) -> list[str]:
    """Clocks, ambient randomness, environment, threads and sockets in a deterministic room."""
    breaches = []
    for name, tree in sources(house):
        if room_of(name) not in DETERMINISTIC:
            continue
        touched = [*imported(name, tree), *numpy_random_uses(tree)]
        for line, target in touched:
            for module in BANNED_MODULES:
                if within(target, module) and not (module == "numpy.random" and name == MAY_MAKE_RANDOM):
                    breaches.append(f"{name}:{line}: {module} is banned here")
    return breaches


def numpy_random_uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Where `numpy.random` is reached as an attribute, under whatever name numpy goes."""
    numpys = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "numpy"
    }
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(owner), attr="random") if owner in numpys:
                yield node.lineno, "numpy.random"


def set_breaches(house: Path) -> list[str]:
    """Iteration over a set in a deterministic room: its order is nobody's."""
    breaches = []
    for name, tree in sources(house):
        if room_of(name) not in DETERMINISTIC:
            continue
        for node in ast.walk(tree):
            walked: list[ast.expr] = []
            match node:
                case ast.For(iter=over) | ast.comprehension(iter=over):
                    walked = [over]
                case ast.Call(func=ast.Name("list" | "tuple"), args=[over, *_]) | ast.Starred(value=over):
                    walked = [over]
            breaches += [f"{name}:{over.lineno}: iterates over a set" for over in walked if unordered(over)]
    return breaches


def unordered(node: ast.expr) -> bool:
    """An expression that is plainly a set, or hands on the order of one."""
    match node:
        case ast.Set() | ast.SetComp() | ast.Call(func=ast.Name("set" | "frozenset")):
            return True
        case ast.BinOp(op=ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor(), left=left, right=right):
            return unordered(left) or unordered(right)
        case ast.Call(func=ast.Attribute(value=owner)):
            return unordered(owner)
        case ast.Call(func=ast.Name("enumerate" | "iter" | "zip" | "map" | "filter" | "list" | "tuple"), args=args):
            return any(unordered(argument) for argument in args)
    return False


def length_breaches(house: Path) -> list[str]:
    """Files that have grown too long to be read in one go."""
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in sorted(house.rglob("*.py"))}
    return [
        f"{path.relative_to(house)}: {lines} lines, {LINES_MAX} or more"
        for path, lines in lengths.items()
        if lines >= LINES_MAX
    ]


def docstring_breaches(house: Path) -> list[str]:
    """Modules that do not say what they are for."""
    return [f"{name}: no docstring" for name, tree in sources(house) if not (ast.get_docstring(tree) or "").strip()]


def name_breaches(house: Path) -> list[str]:
    """Files and folders whose names say nothing."""
    paths = sorted(path.relative_to(house) for path in house.rglob("*") if "__pycache__" not in path.parts)
    return [
        f"{path}: {word!r} says nothing"
        for path in paths
        for word in path.name.split(".")[0].lower().replace("-", "_").split("_")
        if word in EMPTY_WORDS
    ]


def missing_names(module: ModuleType) -> list[str]:
    """Names that a module promises in `__all__` and does not have."""
    return [name for name in module.__all__ if not hasattr(module, name)]


CHECKERS: Final[tuple[Checker, ...]] = (
    import_breaches,
    ambient_breaches,
    set_breaches,
    length_breaches,
    docstring_breaches,
    name_breaches,
)


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.__name__)
def test_the_house_is_tidy(checker: Checker) -> None:
    assert checker(HOUSE) == []


def test_every_public_name_exists_and_stands_once() -> None:
    assert missing_names(evenmatch) == []
    assert len(set(evenmatch.__all__)) == len(evenmatch.__all__)


# The checkers, on fake houses.


def built(house: Path, name: str, source: str) -> Path:
    path = house / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, "utf-8")
    return house


FORBIDDEN_IMPORTS: Final = [
    ("domain/ticket.py", "from evenmatch.errors import ConfigError"),
    ("domain/ticket.py", "from evenmatch import errors"),
    ("domain/ticket.py", "import evenmatch"),
    ("errors.py", "import evenmatch.domain.ids"),
    ("numerics/balance.py", "import evenmatch.core.state"),
    ("numerics/balance.py", "from evenmatch.errors import MatcherError"),
    ("core/engine.py", "from evenmatch.matchers import registry"),
    ("core/engine.py", "from ..matchers.registry import build"),
    ("core/engine.py", "from .. import matchers"),
    ("core/engine.py", "def later():\n    import evenmatch.matchers.registry"),
    ("core/engine.py", "import importlib\nimportlib.import_module('evenmatch.matchers')"),
    ("matchers/epgc.py", "from evenmatch.core import state"),
    ("matchers/epgc.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import evenmatch.core"),
    ("storage/sqlite.py", "from evenmatch.core import state"),
    ("storage/deep/sqlite.py", "from ...core import state"),
    ("service/app.py", "from evenmatch.lab import world"),
    ("service/app.py", "from evenmatch import wiring"),
    ("service/app.py", "from evenmatch.cli import main"),
    ("lab/world.py", "from evenmatch.service import runner"),
    ("config.py", "from evenmatch.matchers import epgc"),
    ("config.py", "import evenmatch.matchers"),
    ("config.py", "from evenmatch.core import state"),
    ("settings.py", "from evenmatch.domain import ids"),
    ("tickets.py", "from evenmatch.core import state"),
    ("tickets.py", "from evenmatch import planning"),
    ("planning.py", "from evenmatch.core.engine import Engine"),
    ("planning.py", "from evenmatch.storage import memory"),
    ("matchers/epgc.py", "from evenmatch import tickets"),
    ("reproduce/epgc.py", "from evenmatch.service import runner"),
    ("reproduce/epgc.py", "from evenmatch import wiring"),
    ("reproduce/report.py", "from evenmatch.cli import main"),
    ("pages/page.py", "from evenmatch.reproduce import line"),
    ("rating_report.py", "from evenmatch.numerics import elo"),
    ("attic/old.py", "import json"),
]


@pytest.mark.parametrize(("name", "source"), FORBIDDEN_IMPORTS)
def test_a_forbidden_import_is_found(tmp_path: Path, name: str, source: str) -> None:
    breaches = import_breaches(built(tmp_path, name, source))
    assert len(breaches) == 1
    assert breaches[0].startswith(name)


ALLOWED_IMPORTS: Final = [
    ("domain/ticket.py", "import math\nfrom evenmatch.domain.ids import ticket_id\nfrom . import queue"),
    ("numerics/balance.py", "from evenmatch.domain.arrays import Array"),
    (
        "core/engine.py",
        "from evenmatch.domain import events\nfrom evenmatch.numerics import seeds\nfrom . import state",
    ),
    ("matchers/epgc.py", "from evenmatch.errors import MatcherError\nfrom ..numerics import transport"),
    ("storage/sqlite.py", "from evenmatch.errors import JournalError"),
    ("service/app.py", "from evenmatch import __version__, config, settings\nfrom evenmatch.core.engine import Engine"),
    ("lab/world.py", "from evenmatch.core.engine import Engine"),
    ("reproduce/epgc.py", "from evenmatch import planning\nfrom evenmatch.matchers import epgc"),
    ("config.py", "from evenmatch.matchers import registry\nfrom evenmatch.matchers.registry import build"),
    ("settings.py", "from evenmatch.errors import ConfigError"),
    ("planning.py", "from evenmatch.matchers.registry import build\nfrom evenmatch.tickets import parse"),
    ("bench/engine.py", "from evenmatch.service import runner"),
    ("wiring.py", "from evenmatch.service import app\nfrom evenmatch.lab import world"),
    ("cli/serve.py", "from evenmatch import wiring"),
    ("core/evenmatches.py", "import evenmatches.lab"),
]


@pytest.mark.parametrize(("name", "source"), ALLOWED_IMPORTS)
def test_an_allowed_import_is_let_through(tmp_path: Path, name: str, source: str) -> None:
    assert import_breaches(built(tmp_path, name, source)) == []


@pytest.mark.parametrize("room", DETERMINISTIC)
@pytest.mark.parametrize("module", BANNED_MODULES)
def test_a_banned_module_is_found_in_every_deterministic_room(tmp_path: Path, room: str, module: str) -> None:
    assert ambient_breaches(built(tmp_path, f"{room}/a.py", f"import {module}"))
    assert ambient_breaches(built(tmp_path, f"{room}/a.py", f"def f():\n    from {module} import x"))


@pytest.mark.parametrize(
    "source",
    [
        "import os.path",
        "from os import path",
        "from numpy import random",
        "import numpy as np\nnp.random.default_rng(1)",
        "import numpy\nnumpy.random.default_rng(1)",
        "import numpy.random as r",
        "__import__('time')",
    ],
)
def test_a_banned_module_is_found_however_it_is_reached(tmp_path: Path, source: str) -> None:
    assert ambient_breaches(built(tmp_path, "core/a.py", source))


def test_only_seeds_makes_random_generators_and_only_deterministic_rooms_are_bound(tmp_path: Path) -> None:
    source = "import numpy as np\nnp.random.default_rng(1)"
    assert ambient_breaches(built(tmp_path, "numerics/seeds.py", source)) == []
    assert ambient_breaches(built(tmp_path, "service/app.py", "import asyncio, time\n" + source)) == []
    assert ambient_breaches(built(tmp_path, "core/timetable.py", "import timeit\nself.random = 1")) == []
    assert ambient_breaches(built(tmp_path, "numerics/seeds.py", "import random"))


@pytest.mark.parametrize(
    "source",
    [
        "for x in {1, 2}: pass",
        "for x in set(y): pass",
        "for x in frozenset(y): pass",
        "for x in {a for a in y}: pass",
        "z = [x for x in set(y)]",
        "z = {x: 1 for x in set(y) | w}",
        "z = sum(x for x in set(y).union(w))",
        "for i, x in enumerate(set(y)): pass",
        "z = list(set(y))",
        "z = [*set(y)]",
    ],
)
def test_iteration_over_a_set_is_found(tmp_path: Path, source: str) -> None:
    assert set_breaches(built(tmp_path, "matchers/a.py", source))
    assert set_breaches(built(tmp_path / "other", "service/a.py", source)) == []


@pytest.mark.parametrize(
    "source",
    [
        "for x in sorted(set(y)): pass",
        "z = [x for x in sorted({1, 2})]",
        "for i, x in enumerate(sorted(set(y))): pass",
        "z = len(set(y))",
        "z = x in {1, 2}",
        "for x in a - b: pass",
    ],
)
def test_a_set_that_is_sorted_or_only_asked_is_let_through(tmp_path: Path, source: str) -> None:
    assert set_breaches(built(tmp_path, "matchers/a.py", source)) == []


def test_a_long_file_is_found(tmp_path: Path) -> None:
    assert length_breaches(built(tmp_path, "core/a.py", "x = 1\n" * (LINES_MAX - 1))) == []
    assert length_breaches(built(tmp_path, "core/a.py", "x = 1\n" * LINES_MAX))


@pytest.mark.parametrize("source", ["", "x = 1", '""" """', "# a comment is no docstring"])
def test_a_module_without_a_docstring_is_found(tmp_path: Path, source: str) -> None:
    assert docstring_breaches(built(tmp_path, "core/a.py", source)) == ["core/a.py: no docstring"]


@pytest.mark.parametrize(
    "name", ["core/util.py", "core/queue_helper.py", "data/a.py", "service/sql-info.sql", "manager.py"]
)
def test_a_name_that_says_nothing_is_found(tmp_path: Path, name: str) -> None:
    assert name_breaches(built(tmp_path, name, ""))


def test_a_name_that_only_contains_such_a_word_is_let_through(tmp_path: Path) -> None:
    assert name_breaches(built(tmp_path, "core/database_informed.py", "")) == []


def test_a_promised_name_that_is_missing_is_found() -> None:
    module = ModuleType("fake")
    module.__all__ = ["there", "missing"]  # type: ignore[attr-defined]
    module.there = 1  # type: ignore[attr-defined]
    assert missing_names(module) == ["missing"]
