"""Compiled code: it is kept for these very sources, and old code goes."""

import subprocess
import sys
from pathlib import Path

import numba
import pytest

from evenmatch import warming
from evenmatch.numerics import compiled


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for `numerics`, with two files in it."""
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(f"# {name}\n")
    monkeypatch.setattr(compiled, "_HERE", tmp_path)
    monkeypatch.setitem(vars(numba.config), "CACHE_DIR", "")
    return tmp_path


def test_a_change_of_any_source_asks_for_another_folder(sources: Path) -> None:
    first = compiled.cache_folder()
    assert first == compiled.cache_folder()
    assert first.parent == sources / "__pycache__"
    (sources / "two.py").write_text("# changed\n")
    assert compiled.cache_folder() != first


def test_where_the_sources_cannot_be_written_the_user_keeps_the_code(
    sources: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setattr(Path, "home", lambda: home)
    (sources / "__pycache__").write_text("in the way")
    assert compiled.cache_folder().parent == home / ".cache" / "evenmatch"


@pytest.mark.usefixtures("sources")
def test_a_chosen_folder_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(numba.config), "CACHE_DIR", str(tmp_path / "chosen"))
    assert compiled.cache_folder().parent == tmp_path / "chosen"


def test_code_of_other_sources_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, old, other = (tmp_path / name for name in (compiled.FOLDER + "1", compiled.FOLDER + "2", "something"))
    for folder in (mine, old, other):
        folder.mkdir()
    monkeypatch.setattr(warming, "CACHE", mine)
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
