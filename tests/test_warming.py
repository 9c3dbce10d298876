"""Compiled code: it is kept for these very sources, and old code goes."""

import os
import re
import shlex
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
    monkeypatch.setenv("HOME", str(home))
    (sources / "__pycache__").write_text("in the way")
    assert folder("six").parent == home / ".cache" / "evenmatch"


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
def test_code_of_other_sources_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "_modules", lambda: iter(["six"]))
    mine = folder("six")
    old, other = mine.parent / (compiled.FOLDER + "six-0"), mine.parent / "something"
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


def test_where_nothing_can_be_kept_a_start_says_what_to_do_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(warming, "missing", lambda: ["overtaking"])
    monkeypatch.setattr(warming, "cache_folder", lambda module: tmp_path / "nowhere" / module)
    monkeypatch.setattr(warming, "can_be_written", lambda _: False)
    told: list[str] = []
    warming.prepare(told.append)
    (line,) = told
    assert "at every start, for nothing can be written" in line
    assert "NUMBA_CACHE_DIR=FOLDER" in line


def made(module: str, *names: str) -> Path:
    """Put compiled code of these kernels where it belongs, as far as its file's names go."""
    there = folder(module) / compiled.machine()
    there.mkdir()
    for name in names:
        (there / f"{module}.{name}-3.py311.nbi").touch()
    return there


def test_code_that_is_whole_is_read_where_it_is_and_other_code_is_made_where_it_can_be_written(
    sources: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    (sources / "eight.py").write_text(
        "@kernel(INTS)\ndef f(): ...\n@kernel()\ndef g(): ...\n@kernel(INT)\ndef h(): ...\n"
    )
    there = made("eight", "f", "g")
    monkeypatch.setattr(compiled, "can_be_written", lambda found: sources not in found.parents)
    assert folder("eight").parent == home / ".cache" / "evenmatch", "h is missing"
    (there / "eight.h-3.py311.nbi").touch()
    assert folder("eight") == there.parent
    there.rename(there.with_name("py311-numba0-ffffffff"))
    assert folder("eight").parent == home / ".cache" / "evenmatch", "it is code for another machine"


COUNTED = (
    "from numba.core.event import install_recorder\n"
    "from evenmatch import warming\n"
    "from evenmatch.numerics import compiled\n"
    "assert not compiled.can_be_written(compiled.cache_folder('overtaking'))\n"
    "with install_recorder('numba:compile') as seen:\n"
    "    warming.prepare(print)\n"
    "    {}\n"
    "print(len(seen.buffer) > 0)"
)


def said_in_a_read_only_house(mount: str, code: str, **environment: str) -> list[str]:
    """What a program prints after something was mounted that it cannot write to, for it alone."""
    script = f"{mount} && {shlex.join([sys.executable, '-c', code])}"
    world = os.environ | {"HOME": "/proc/nobody"} | environment
    done = subprocess.run(["unshare", "-m", "sh", "-ec", script], capture_output=True, text=True, env=world)
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"NOT RUN: nothing can be mounted here: {done.stderr.splitlines()[0]}")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_an_installation_that_cannot_be_written_reads_its_code_and_compiles_nothing() -> None:
    house = shlex.quote(str(Path(warming.__file__).parent))
    mount = f"mount --bind {house} {house} && mount -o remount,ro,bind {house}"
    assert said_in_a_read_only_house(mount, COUNTED.format("warming.load_matchers()")) == ["False"]


def test_where_nothing_is_and_nothing_can_be_written_code_is_made_in_memory(tmp_path: Path) -> None:
    code = COUNTED.replace("warming.prepare", "warming._modules = lambda: ['overtaking']; warming.prepare")
    told, compiled_some = said_in_a_read_only_house(
        f"mount -t tmpfs -o ro tmpfs {shlex.quote(str(tmp_path))}",
        code.format("import evenmatch.numerics.overtaking"),
        NUMBA_CACHE_DIR=str(tmp_path),
    )
    assert "at every start, for nothing can be written" in told
    assert compiled_some == "True"


def test_check_looks_a_file_over_without_compiled_code(tmp_path: Path) -> None:
    (tmp_path / "queues.toml").write_text('[queues.duel]\nmatcher = { name = "even" }\n')
    command = [sys.executable, "-m", "evenmatch", "check", str(tmp_path / "queues.toml")]
    empty = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(command, capture_output=True, text=True, env=empty)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 queue, no mistakes" in done.stdout
    assert not (tmp_path / "cache").exists()


def test_nothing_is_missing_here() -> None:
    assert warming.missing() == []
