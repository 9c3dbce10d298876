"""What the lab says and draws: errors without ado, reasons in words, names that can be read."""

import re
import subprocess
from itertools import combinations
from pathlib import Path

import pytest

from evenmatch import __version__, lab
from evenmatch.lab import report
from evenmatch.pages.charts import Chart, Series, svg
from tests import nursery


def run(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return nursery.run("lab", *arguments, cwd=cwd)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("compare", "--matchers", "nope"), "evenmatch: there is no matcher 'nope'"),
        (("tune", "--matcher", "lom", "--target", "soon"), "evenmatch: 'soon' is no target"),
        (("compare", "--matchers", "lom", "--hours", "0.1", "--results", "mine.csv"), "evenmatch: mine.csv is a file"),
    ],
)
def test_an_error_is_one_line_where_nobody_watches(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("kept")
    refused = run(*arguments, cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.startswith(words)
    assert refused.stderr.count("\n") == 1
    assert (tmp_path / "mine.csv").read_text() == "kept"


def test_the_page_has_its_version_reasons_in_words_and_no_empty_columns() -> None:
    found = lab.compare("team5-small", matchers=["cinder", "first_come"], hours=0.1, seeds=1, workers=1)
    page = report.html(found, "evenmatch lab compare")
    assert f"evenmatch {__version__}" in page
    assert "party_unsupported" not in page
    assert "Turned away at the door" in page
    (table,) = re.findall(r"<h2>More of it</h2>(.*?)</table>", page)
    rows = [re.findall(r"<td.*?</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)[1:]]
    for column in zip(*rows, strict=True):
        assert not all(cell.endswith(">-</td>") for cell in column)


def test_names_of_points_cover_neither_each_other_nor_leave_the_plot() -> None:
    names = tuple(f"matcher-{place}" for place in range(9))
    crowded = Series("on the front", tuple(10.0 + 0.1 * n for n in range(9)), (50.0,) * 9, names=names, joined=True)
    far = Series("beaten", (100.0,), (2.0,), names=("alone",))
    drawn = svg(Chart("c", "t", "c", "points", "x", "y", (crowded, far)))
    placed = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="start" class="name">matcher-\d', drawn)
    heights = [float(y) for _, y in placed]
    assert len(heights) == 9
    assert all(abs(one - other) >= 12 for one, other in combinations(heights, 2))
    assert all(40 <= y <= 340 - 52 for y in heights)
    assert drawn.count('class="leader"') >= 8
    assert drawn.count('class="path s0"') == 1, "the front is a line"
    assert 'class="path s1"' not in drawn


@pytest.mark.parametrize("kind", ["lines", "steps", "columns", "bars", "points"])
@pytest.mark.parametrize(
    ("x", "y"), [((10.0,), (3.0,)), ((0.0,), (0.0,)), ((10.0, 10.0), (0.0, 0.0)), ((1e-12,), (1e-12,))]
)
def test_an_axis_with_one_value_is_drawn(kind: str, x: tuple[float, ...], y: tuple[float, ...]) -> None:
    if kind in ("columns", "bars"):
        x, y = ((0.0,) if kind == "bars" else x[:1]), y[:1]
    categories = ("all",) if kind == "bars" else ()
    series = Series("one", x, y, names=("a",) * len(x))
    drawn = svg(Chart("c", "t", "c", kind, "x", "y", (series,), categories=categories))
    assert "nan" not in drawn
    places = [float(place) for place in re.findall(r'(?:cx|x)="([-\d.]+)"', drawn)]
    assert all(0 <= place <= 720 for place in places)


def test_players_of_one_skill_can_be_compared_on_a_page(tmp_path: Path) -> None:
    (tmp_path / "flat.toml").write_text('title = "x"\nskill = { spread = 0 }\n')
    arguments = ("--population", "flat.toml", "--hours", "0.1", "--seeds", "1", "--matchers", "buckets,first_come")
    done = run("compare", *arguments, "--report", "x.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "first_come" in done.stdout
    assert "</html>" in (tmp_path / "x.html").read_text()
