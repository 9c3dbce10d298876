"""Compiled code: it is kept for these very sources, and old code goes."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenmatch import warming
from evenmatch.numerics import compiled


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that stands for `numerics`: `one` imports `two`, which imports `three`; `four` is by itself.

    `six` has a kernel, which `five` and `seven` import.
    """
    for name, text in {
        "one": "from .two import x\n",
        "two": "from evenmatch.numerics.three import y\n",
        "three": "y = 1\n",
        "four": "import numpy\n",
        "five": "from . import one, six\n",
        "six": "@kernel()\ndef f(): ...\n",
        "seven": "from .six import f\nfrom .three import y\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(compiled, "_HERE", tmp_path)
    monkeypatch.setattr(compiled, "_CHOSEN", "")
    compiled.cache_folder.cache_clear()
    yield tmp_path
    compiled.cache_folder.cache_clear()


def folder(module: str) -> Path:
    compiled.cache_folder.cache_clear()
    return compiled.cache_folder(module)


def test_a_change_of_anything_imported_asks_for_another_folder_and_nothing_else_does(sources: Path) -> None:
    before = {name: folder(name) for name in ("one", "two", "three", "four")}
    assert {path.parent for path in before.values()} == {sources / "__pycache__"}
    (sources / "three.py").write_text("y = 2\n")
    changed = [name for name, path in before.items() if folder(name) != path]
    assert changed == ["one", "two", "three"]


def test_where_the_sources_cannot_be_written_the_user_keeps_the_code(
    sources: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setattr(Path, "home", lambda: home)
    (sources / "__pycache__").write_text("in the way")
    assert folder("one").parent == home / ".cache" / "evenmatch"


@pytest.mark.usefixtures("sources")
def test_only_a_shared_kernel_ties_modules_together() -> None:
    named = ("one", "two", "three", "four", "five", "six", "seven")
    assert warming.families(named) == [["five", "seven", "six"], ["four"], ["one"], ["three"], ["two"]]
    assert [path.stem for path in compiled.sources_of("five")] == ["five", "one", "six", "three", "two"]


@pytest.mark.usefixtures("sources")
def test_a_chosen_folder_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_CHOSEN", str(tmp_path / "chosen"))
    assert folder("four").parent == tmp_path / "chosen"


@pytest.mark.usefixtures("sources")
def test_code_of_other_sources_is_removed() -> None:
    mine = folder("threads")
    old, other = mine.parent / (compiled.FOLDER + "threads-0"), mine.parent / "something"
    old.mkdir()
    other.mkdir()
    warming.drop_old_kernels()
    assert (mine.exists(), old.exists(), other.exists()) == (True, False, True)


def test_loading_all_matchers_compiles_nothing() -> None:
    code = (
        "from numba.core.event import install_recorder;"
        "from evenmatch import warming\n"
        "with install_recorder('numba:compile') as seen: warming.load_matchers()\n"
        "print(len(seen.buffer))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0"]


def test_threads_that_load_matchers_at_the_same_time_find_all_code_too() -> None:
    code = (
        "import sys, threading\n"
        "from numba.core.event import install_recorder\n"
        "from evenmatch.matchers.registry import MATCHERS, build\n"
        "sys.setswitchinterval(1e-5)\n"
        "ready = threading.Barrier(len(MATCHERS))\n"
        "def load(name): ready.wait(); build(name, {})\n"
        "with install_recorder('numba:compile') as seen:\n"
        "    threads = [threading.Thread(target=load, args=(name,)) for name in MATCHERS]\n"
        "    [each.start() for each in threads]; [each.join() for each in threads]\n"
        "print(len(seen.buffer))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0"]


def test_a_first_start_says_how_far_compiling_is_and_a_second_says_nothing(tmp_path: Path) -> None:
    code = (
        "from evenmatch import warming\n"
        "warming._modules = lambda: iter(['event_heap', 'exact_sums', 'overtaking'])\n"
        "for _ in range(2): warming.prepare(print)\n"
        "print(warming.missing())"
    )
    chosen = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=chosen)
    first, *more, last = done.stdout.splitlines()
    assert first == "compiling the kernels, first start only, some minutes: 0 of 2"
    assert [
        line for line in more if not re.fullmatch(r"compiling the kernels, first start only: [12] of 2", line)
    ] == []
    assert last == "[]"


def test_where_nothing_can_be_kept_a_start_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(warming, "missing", lambda: ["overtaking"])
    monkeypatch.setattr(warming, "cache_folder", lambda module: tmp_path / "nowhere" / module)
    told: list[str] = []
    warming.prepare(told.append)
    assert f"{tmp_path / 'nowhere'} cannot be written to" in told[0]
    assert "NUMBA_CACHE_DIR=FOLDER" in told[1]


def test_nothing_is_missing_here() -> None:
    assert warming.missing() == []
