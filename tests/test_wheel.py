"""What is installed is whole: the wheel holds every file of the package, the dashboard's and the demo's too."""

import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    wheel = pytest.importorskip(
        "hatchling.builders.wheel", reason="NOT RUN: hatchling, which builds wheels, is missing"
    )
    (built,) = wheel.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(built) as content:
        held = {name for name in content.namelist() if name.startswith("evenmatch/")}
    house = ROOT / "src" / "evenmatch"
    there = {
        f"evenmatch/{file.relative_to(house).as_posix()}"
        for file in house.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert held == there
    assert {f"evenmatch/dashboard/{name}" for name in ("index.html", "main.js", "layout.css", "icon.svg")} <= held
