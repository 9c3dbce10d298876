"""The documents say what is: paths, verbs, flags, settings, metrics and examples in them exist and run."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from cyclopts import App

from evenmatch import config, planning
from evenmatch.cli import app
from evenmatch.cli.serve import _greet
from evenmatch.domain.queue import QueueSpec, ReadyCheckSpec
from evenmatch.domain.refusals import Reasons
from evenmatch.matchers import registry
from evenmatch.service.metrics import Metrics
from evenmatch.service.metrics_together import text
from evenmatch.service.node_metrics import NodeMetrics
from evenmatch.service.owner import Owner
from evenmatch.service.routes import litestar_app
from evenmatch.service.signing import signature
from evenmatch.service.sockets import Hub
from evenmatch.service.wire import WireReasons
from evenmatch.settings import API_KEY, PREFIX, Settings
from evenmatch.storage.memory import MemoryJournal

ROOT: Final = Path(__file__).parent.parent
DOCS: Final = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "decisions").glob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
    ]
)
ROOTS: Final = (ROOT, ROOT / "src" / "evenmatch")
"""Where a path in a document may begin, besides the document's own folder."""
NESTED: Final = ("journal", "bench", "cluster", "drill", "keys", "lab", "queues")
"""Verbs that have verbs of their own."""
EXAMPLES: Final = sorted((ROOT / "examples").glob("*.py"))

_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE: Final = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")
_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
_FILE: Final = re.compile(r"[\w.-]+(?:/[\w.-]+)*\.(?:py|md|toml|sql|lock|typed)")
_FOLDER: Final = re.compile(r"(?:[\w.-]+/)+")
_CALL: Final = re.compile(r"(?<![\w./-])(?:\.venv/bin/)?evenmatch ([a-z]+)\b((?: [^\n`]*)?)")
_TERM: Final = re.compile(r"^- \*\*(?P<term>[^*]+)\*\*: (?P<meaning>.*(?:\n  .*)*)$", re.MULTILINE)

every_document = pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(ROOT)))


def fences(path: Path, language: str) -> list[str]:
    """The fenced blocks of a document in one language; "" = none was given."""
    return [body for found, body in _FENCE.findall(path.read_text("utf-8")) if found == language]


def inline(path: Path) -> list[str]:
    """What stands between single backticks."""
    return [" ".join(code.split()) for code in _INLINE.findall(_FENCE.sub("", path.read_text("utf-8")))]


def exists(name: str, document: Path) -> bool:
    """Is there such a file or folder, from one of the roots or, for a bare name, anywhere in the project?"""
    if any((root / name).exists() for root in (*ROOTS, document.parent)):
        return True
    folders = [ROOT / folder for folder in ("src", "tests", "examples", "decisions", "docs")]
    return "/" not in name.rstrip("/") and any(next(folder.rglob(name), None) for folder in folders)


def slug(heading: str) -> str:
    """A heading as an anchor."""
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


# Paths and links.


@every_document
def test_every_path_exists(path: Path) -> None:
    named = [code for code in inline(path) if _FILE.fullmatch(code) or _FOLDER.fullmatch(code)]
    named = [name for name in named if not name.startswith("evenmatch.db")]  # there while a server runs
    assert [name for name in named if not exists(name, path)] == []


@every_document
def test_every_link_leads_somewhere(path: Path) -> None:
    for link in _LINK.findall(_FENCE.sub("", path.read_text("utf-8"))):
        if link.startswith(("http://", "https://")):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.MULTILINE)
            assert anchor in map(slug, headings), link


def test_every_room_of_the_architecture_exists_and_none_is_left_out() -> None:
    (drawing,) = (body for body in fences(ROOT / "ARCHITECTURE.md", "") if body.startswith("src/evenmatch/"))
    house = ROOT / "src" / "evenmatch"
    named = set(re.findall(r"(?<!\S)(\w+\.py|\w+/)(?=\s)", drawing))
    there = {f"{item.name}/" if item.is_dir() else item.name for item in house.iterdir() if item.name[:3] != "py."}
    assert named == there - {"__pycache__/"}
    for folder in sorted(name for name in named if name.endswith("/")):
        room = re.search(rf"^  {folder}(.*?)(?=^  \w|\Z)", drawing, re.MULTILINE | re.DOTALL)
        assert room is not None
        unsaid = [
            file.stem
            for file in (house / folder).glob("*.py")
            if file.stem != "__init__" and not re.search(rf"\b{file.stem}\b", room[1])
        ]
        assert unsaid == [], folder


def test_the_index_of_decisions_lists_them_all_in_order() -> None:
    pages = sorted(path.name for path in (ROOT / "decisions").glob("[0-9]*.md"))
    assert re.findall(r"\((\d{4}-[\w-]+\.md)\)", (ROOT / "decisions/README.md").read_text("utf-8")) == pages
    assert [page[:4] for page in pages] == [f"{number:04}" for number in range(1, len(pages) + 1)]
    for page in pages:
        text = (ROOT / "decisions" / page).read_text("utf-8")
        assert text.startswith(f"# {page[:4]} ")
        for part in ("## Context", "## Decision", "## Consequences"):
            assert part in text, f"{page} lacks {part}"


# The command line, make and settings.


def calls(path: Path) -> Iterator[tuple[list[str], list[str]]]:
    """The words and the flags of every call of `evenmatch` in a document's code."""
    for code in [*inline(path), *fences(path, "")]:
        for verb, rest in _CALL.findall(code):
            words = [verb]
            nested = re.match(r" ([a-z]+)\b(?![./])", rest)
            if nested and verb in NESTED:
                words.append(nested[1])
            yield words, re.findall(r"(?<!\S)\[?(--[a-z][a-z0-9-]*)", rest)


@every_document
def test_every_verb_and_flag_exists(path: Path) -> None:
    for words, flags in calls(path):
        command: App = app
        for word in words:
            assert word in list(command), f"there is no verb {' '.join(words)}"
            command = command[word]
        if flags:
            known = [name for argument in command.assemble_argument_collection() for name in argument.names]
            assert [flag for flag in flags if flag not in known] == [], words


def test_every_verb_is_in_the_readme() -> None:
    told = [words for words, _ in calls(ROOT / "README.md")]
    for verb in app:
        nested = [name for name in app[verb] if not name.startswith("-")] if verb in NESTED else []
        for words in [[verb, name] for name in nested] or [[verb]]:
            assert verb.startswith("-") or words in told, words


@every_document
def test_every_make_verb_exists(path: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    said = [code for code in [*inline(path), *fences(path, "")] if code.startswith("make ")]
    verbs = [verb for code in said for verb in re.findall(r"^make ([a-z-]+)", code, re.MULTILINE)]
    assert [verb for verb in verbs if verb not in targets] == []


@every_document
def test_every_variable_is_a_setting(path: Path) -> None:
    known = {PREFIX + field.upper() for field in Settings.__struct_fields__}
    known |= {PREFIX + "TESTS", PREFIX + "TEST_POSTGRES", PREFIX + "PLAYER_SECRET_FILE", API_KEY}
    assert set(re.findall(rf"\b{PREFIX}[A-Z_]+\b", path.read_text("utf-8"))) <= known | {PREFIX}


def test_the_readme_has_every_setting_with_its_default() -> None:
    rows = re.findall(rf"^\| `({PREFIX}\w+)` \| (\S+) \|", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    defaults = {PREFIX + name.upper(): getattr(Settings(), name) for name in Settings.__struct_fields__}
    assert dict(rows) == {
        name: "none" if value in (None, "", ()) else f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in defaults.items()
    }


# Queues, the API and metrics.


def test_the_toml_of_the_readme_is_right_and_shows_every_key() -> None:
    blocks = fences(ROOT / "README.md", "toml")
    assert blocks
    for block in blocks:
        config.parse(block, "README.md")
    keys: set[str] = set()
    for field in msgspec.structs.fields(QueueSpec):
        kind: Any = ReadyCheckSpec if field.name == "ready_check" else field.type
        if field.name not in ("name", "door"):  # the door is the matcher's to say: the file may not have it
            keys.add(field.name)
            keys |= set(getattr(kind, "__struct_fields__", ())) - {"parameters"}
    assert [key for key in sorted(keys) if not re.search(rf"\b{key}\b", "".join(blocks))] == []


def test_the_readme_shows_an_allocator_how_to_know_our_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = [block for block in fences(ROOT / "README.md", "python") if "Evenmatch-Signature" in block]
    shown: dict[str, Any] = {}
    exec(block, shown)
    secret, body, now = "only the game and its matchmaker", b'{"id": "a-000000000007"}', str(int(time.time()))
    monkeypatch.setenv("GAME_SERVERS_SECRET", secret)

    def is_ours(timestamp: str, signed: str, sent: bytes = body) -> bool:
        return bool(shown["is_ours"]({"Evenmatch-Timestamp": timestamp, "Evenmatch-Signature": signed}, sent))

    assert is_ours(now, signature(secret, now, body))
    assert not is_ours(now, signature(secret, now, body), body + b" ")
    assert not is_ours(now, signature("another secret of some length", now, body))
    old = str(int(now) - 301)
    assert not is_ours(old, signature(secret, old, body))
    assert not is_ours(now, signature(secret, old, body))


def test_the_quick_start_is_what_the_server_prints(capsys: pytest.CaptureFixture[str]) -> None:
    _greet("http://127.0.0.1:8750", config.builtin()[0], list(config.builtin()), Settings())
    printed = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip().startswith("curl ")]
    blocks = fences(ROOT / "README.md", "")
    assert blocks[0].splitlines() == ["make serve", "make test"]
    assert blocks[1].splitlines() == printed


def paths_served() -> set[str]:
    """Every HTTP path, with what varies left out."""
    runner = Owner(MemoryJournal(), config.builtin(), Settings(), lambda *_: None)
    served = litestar_app(runner, Hub(runner), Settings(), "0")
    return {re.sub(r"\{[^}]*\}", "{}", route.path) for route in served.routes}


def test_the_api_of_the_readme_is_the_one_that_is_served() -> None:
    rows = re.findall(r"^\| (?:GET|POST|PUT|DELETE) \| (.*?) \|", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    told = {re.sub(r"\{[^}]*\}", "{}", path) for row in rows for path in re.findall(r"`(/[^`]*)`", row)}
    served = {path for path in paths_served() if path != "/" and "litestar" not in path}
    assert told == served


@every_document
def test_every_reason_and_problem_is_one(path: Path) -> None:
    codes = {reason.code for reason in (*Reasons, *WireReasons)}
    assert set(re.findall(r"#reason-(\w+)", path.read_text("utf-8"))) <= codes


def test_the_metrics_of_the_operations_page_are_those_that_are_shown() -> None:
    server, node = Metrics(), NodeMetrics("all", "host:1", "0")
    server.refresh([], 0, 0, True)
    shown = re.findall(r"^# TYPE (\w+) (\w+)$", text([server.registry, node.registry]).decode(), re.MULTILINE)
    page = (ROOT / "docs/operations.md").read_text("utf-8")
    told = re.findall(r"^\| `(\w+)(?:\{[\w,]+\})?` \| (\w+) \|", page, re.MULTILINE)
    assert sorted(told) == sorted((name, kind) for name, kind in shown if not name.endswith("_created"))
    alerted = set(re.findall(r"\bevenmatch_\w+", "".join(fences(ROOT / "docs/operations.md", "yaml"))))
    assert {name.removesuffix("_bucket") for name in alerted} <= {name for name, _ in told}


# Words.


def test_the_glossary_is_sorted_and_gives_every_word_one_meaning() -> None:
    text = (ROOT / "GLOSSARY.md").read_text("utf-8")
    terms = _TERM.findall(text)
    assert len(terms) == text.count("\n- ")
    words = [term for term, _ in terms]
    assert words == sorted(words, key=str.lower)
    assert len(set(words)) == len(words)
    assert [term for term, meaning in terms if len(meaning.split()) < 3] == []


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md"])
def test_every_invariant_is_told(name: str) -> None:
    told = re.findall(r"\bI(\d+)\b", (ROOT / name).read_text("utf-8"))
    assert set(map(int, told)) == set(range(1, 12))


# Examples.


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_compiles_and_is_listed(path: Path) -> None:
    compile(path.read_text("utf-8"), str(path), "exec")
    assert f"`{path.name}`" in (ROOT / "examples/README.md").read_text("utf-8")


@pytest.mark.parametrize("name", ["embed.py", "library.py"])
def test_an_example_runs_and_prints_what_the_readme_says(name: str) -> None:
    ran = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name)], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout in fences(ROOT / "README.md", "")


def test_the_plan_of_the_readme_is_what_is_printed() -> None:
    blocks = fences(ROOT / "README.md", "")
    (place,) = (number for number, block in enumerate(blocks) if block.startswith("evenmatch plan "))
    ran = subprocess.run(
        [sys.executable, "-m", *blocks[place].split()],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "120"},
    )
    timeless = [re.sub(r"[\d.]+ ms$", "ms", text.rstrip()) for text in (ran.stdout, blocks[place + 1])]
    printed, told = ([line.rstrip() for line in text.splitlines() if line.strip()] for text in timeless)
    assert printed == told


def test_the_readme_has_every_matcher_with_its_parameters() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` (\|(?:[^|\n]*\|){5})$", text, re.MULTILINE))
    assert set(rows) == set(registry.names())
    for name, row in rows.items():
        parameters = planning.parameters_of(registry.build(name, {}))
        where = text if name in ("ladder", "even") else rows["lom"] if "as lom" in row else row
        assert [parameter for parameter in parameters if not re.search(rf"`{parameter}\b", where)] == [], name
