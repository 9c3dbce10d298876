"""`evenmatch bench matchers`: every contest agrees with its opponents, and everything that can be wrong is told."""

import json
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from evenmatch.bench import catalogue, cell, page, shown
from evenmatch.bench.catalogue import CONTESTS, chosen, sizes_of
from evenmatch.bench.cell import NOT_INSTALLED, Effort, in_own_process, measured
from evenmatch.bench.contest import Aim, Opponent, duration
from evenmatch.bench.contests.even import Outcome
from evenmatch.bench.found import Answer, Found, Row, Run, Timing, fitted_growth
from evenmatch.bench.matchers import compare, summed_up
from evenmatch.bench.memory import with_peak_mb
from evenmatch.cli import app
from evenmatch.errors import ConfigError

from . import toys

MACHINE = ("processor", "cores", "memory_gb", "system", "python", "evenmatch", "numpy", "numba", "scipy", "networkx",
           "rustworkx", "ortools", "pot")  # fmt: skip

BRIEF = Effort(each_s=0.0, limit_s=60.0)


# Every contest.


@pytest.mark.parametrize("size", [3, 60])
@pytest.mark.parametrize("name", CONTESTS)
def test_every_contest_runs_and_agrees_with_all_its_opponents(name: str, size: int) -> None:
    row = measured(CONTESTS[name], size, BRIEF)
    assert row.ours is not None, row.says
    assert row.sound is not False, row.says
    assert len(row.opponents) == len(CONTESTS[name].opponents)
    for answer in row.opponents:
        assert answer.agrees or answer.says == NOT_INSTALLED, answer


@pytest.mark.parametrize("name", [name for name, contest in CONTESTS.items() if contest.opponents])
def test_every_contest_tells_when_results_differ_and_hangs_on_the_seed_only(name: str) -> None:
    contest = CONTESTS[name]
    given, again, other = (contest.make(60, seed) for seed in (1, 1, 2))
    ours = contest.ours(given)
    for opponent in contest.opponents:
        if all(find_spec(module) for module in opponent.needs):
            agree = opponent.agree or contest.agree
            theirs = opponent.run(opponent.prepare(other))
            if name == "buckets.idle":  # nothing is random there
                theirs = [(0, 1)]
            if opponent.agree is not None:  # one that may be worse than we are, but not better
                theirs = Outcome(10**9, 0.0) if name.startswith("even.") else 0.0
            assert agree(given, ours, theirs) is not None, opponent.name
            assert agree(given, ours, opponent.run(opponent.prepare(again))) is None, opponent.name


def test_names_and_sizes_are_in_order() -> None:
    groups = [name.partition(".")[0] for name in CONTESTS]
    assert groups == sorted(groups, key=["epgc", "ladder", "buckets", "lom", "cinder", "even", "small"].index)
    for contest in CONTESTS.values():
        assert list(contest.sizes) == sorted(set(contest.sizes))
        assert {aim.size for aim in contest.aims if aim.size} <= set(contest.sizes)
        assert {aim.against for aim in contest.aims if aim.against} <= {other.name for other in contest.opponents}


# One cell.


def test_a_wrong_opponent_is_told() -> None:
    row = measured(toys.toy(toys.PLAIN, toys.WRONG), 30, BRIEF)
    assert [answer.agrees for answer in row.opponents] == [True, False]
    assert re.fullmatch(r"(\d+) against (\d+)", row.opponents[1].says)
    assert row.wrong


def test_our_result_must_stand_by_itself() -> None:
    row = measured(toys.toy(sound=toys.never), 30, BRIEF)
    assert row.wrong
    assert (row.sound, row.says) == (False, "nothing is ever right")
    assert measured(toys.toy(make=lambda size, _: [2] * size, sound=toys.even), 30, BRIEF).sound is True


def test_what_raises_is_told_and_the_others_still_run() -> None:
    row = measured(toys.toy(Opponent("broken", toys.broken, 100), toys.PLAIN), 30, BRIEF)
    assert [answer.agrees for answer in row.opponents] == [False, True]
    assert row.opponents[0].says == "failed: ValueError: no sum of 20"
    ours = measured(toys.toy(ours=toys.broken), 30, BRIEF)
    assert (ours.ours, ours.sound, ours.says) == (None, False, "failed: ValueError: no sum of 20")


def test_an_opponent_that_would_take_too_long_or_is_not_there_is_shown_and_wrongs_nobody() -> None:
    absent = Opponent("absent", toys.total, 10_000, needs=("no_such_module_anywhere",))
    row = measured(toys.toy(toys.PLAIN, absent), 600, BRIEF)
    assert [answer.says for answer in row.opponents] == ["not run beyond 500", NOT_INSTALLED]
    assert [answer.agrees for answer in row.opponents] == [None, None]
    assert not row.wrong


def test_the_first_call_is_not_timed_and_quick_calls_are_repeated() -> None:
    calls: list[int] = []
    row = measured(toys.toy(ours=lambda given: calls.append(len(given))), 30, BRIEF)
    assert row.ours is not None
    assert (calls, row.ours.runs) == ([20, 30, 30, 30, 30], 3)
    longer = measured(toys.toy(), 30, BRIEF._replace(each_s=0.05))
    assert longer.ours is not None
    assert longer.ours.runs > 3
    assert 0 < longer.ours.least_s <= longer.ours.median_s


def test_a_process_of_its_own_gives_the_same_row() -> None:
    row = in_own_process(toys.toy(toys.PLAIN, toys.WRONG), 30, BRIEF)
    assert row.ours is not None
    assert [(answer.opponent, answer.agrees) for answer in row.opponents] == [("plain", True), ("wrong", False)]


def test_a_process_that_takes_too_long_is_stopped_and_leaves_what_it_found() -> None:
    slow = toys.toy(toys.PLAIN, Opponent("asleep", toys.asleep, 100), toys.WRONG)
    row = in_own_process(slow, 30, BRIEF._replace(limit_s=6.0))
    assert row.ours is not None
    assert [answer.agrees for answer in row.opponents] == [True, None, None]
    assert [answer.says for answer in row.opponents] == ["", "stopped after 6 s", "stopped after 6 s"]
    ours = in_own_process(toys.toy(toys.PLAIN, ours=toys.asleep), 30, BRIEF._replace(limit_s=1.0))
    assert (ours.ours, ours.says, ours.wrong) == (None, "stopped after 1 s", False)


def test_a_process_that_dies_is_told() -> None:
    row = in_own_process(toys.toy(Opponent("gone", toys.gone, 100)), 30, BRIEF)
    assert row.ours is not None
    assert row.opponents[0].says == "the process ended with 0"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets the peak be reset")
def test_peak_memory_is_what_a_call_takes_in_addition() -> None:
    kept = np.ones(4_000_000)
    answer, peak = with_peak_mb(lambda: float(np.ones(8_000_000).sum()))
    assert answer == 8_000_000
    assert peak is not None
    assert 55 < peak < 90
    _, little = with_peak_mb(lambda: float(kept[:10].sum()))
    assert little is not None
    assert little < 10


# Growth, aims, words.


def test_growth_is_the_slope_in_logarithms() -> None:
    sizes = (10, 100, 1_000, 10_000)
    assert fitted_growth("a", [(n, 3e-6 * n**1.5) for n in sizes]).exponent == pytest.approx(1.5)
    assert fitted_growth("a", [(n, 0.2) for n in sizes]).exponent == pytest.approx(0.0)
    assert fitted_growth("a", [(10, 1.0), (100, 100.0)]).exponent == pytest.approx(2.0)
    one = fitted_growth("a", [(10, 1.0)])
    assert (one.exponent, one.sizes) == (None, 1)
    noisy = fitted_growth("a", [(1, 1.0), (10, 20.0), (100, 50.0)]).exponent
    assert noisy == pytest.approx(np.polyfit([0, 1, 2], np.log10([1, 20, 50]), 1)[0])


def run_here(*contests: Any) -> Run:
    return compare([(contest, contest.sizes) for contest in contests], BRIEF, measure=measured)


def test_aims_are_met_or_not_met_or_not_measured() -> None:
    (found,) = run_here(toys.RIGHT).contests
    assert [aim.verdict for aim in found.aims][:2] == ["met", "not met"]
    rows = found.rows[:2]
    assert summed_up(toys.RIGHT, rows).aims[2].verdict == "not measured"
    assert [aim.verdict for aim in summed_up(toys.RIGHT, ()).aims] == ["not measured"] * 3
    memory = toys.toy(aims=(Aim("megabytes", 1e6, 100), Aim("ratio", 1.0, 1_000, "plain")))
    assert [aim.verdict for aim in run_here(memory).contests[0].aims] == ["met", "not measured"]
    assert found.aims[0].aim == "100 numbers in 60.0 s"
    assert found.aims[1].aim == "100 numbers: 1,000,000,000x plain"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0000005, "0.50 µs"),
        (0.0000234, "23.4 µs"),
        (0.0002, "200 µs"),
        (0.00099996, "1.00 ms"),
        (0.0123, "12.3 ms"),
        (1.5, "1.50 s"),
        (123.4, "123 s"),
    ],
)
def test_times_are_told_in_the_unit_that_suits(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_tables_show_what_was_not_run() -> None:
    run = run_here(toys.RIGHT)
    table = shown.markdown(run)
    lines = [line for line in table.splitlines() if "plain" in line and "| - |" in line]
    assert len(lines) == 1
    assert "not run beyond 500" in lines[0]
    assert "1,000" in lines[0]
    assert len({line.count("|") for line in table.splitlines() if line.startswith("|") and "growth" not in line}) <= 2


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_of_any_width_shows_every_word_that_it_shows(width: int) -> None:
    slow = Answer("first come, by rating", Timing(0.345, 0.3, 5, 1.0), 28.0, True)
    far = Answer("rustworkx", None, None, None, "not run beyond 1,000")
    found = Found("toy", "a title that is far longer than eighty columns " * 2, "players", (
        Row(100_000, Timing(1.234, 1.1, 5, 73.5), (slow, far), True),), (), ())  # fmt: skip
    console = Console(width=width, record=True, file=StringIO(), highlight=False)
    shown.show(Run(dict.fromkeys(MACHINE, "1") | {"threads": 2}, 1, (found,)), console)
    told = console.export_text()
    assert "\u2026" not in told
    assert {"100,000", "1.23", "345", "28x", "yes"} <= set(told.split())
    assert ("1.10" in told) == (width == 120)


def test_a_busy_machine_is_told() -> None:
    def run_of(*timings: Timing) -> Run:
        rows = tuple(Row(10, timing, ()) for timing in timings)
        return Run({}, 1, (Found("toy", "", "", rows, (), ()),))

    calm, torn = Timing(1.0, 0.9, 5, None), Timing(1.0, 0.4, 5, None)
    assert shown.noise_told(run_of(*[calm] * 9, torn)) == ""
    assert shown.noise_told(run_of(calm, torn, torn)).startswith("noisy: in 2 of 3 measurements")


# Names and sizes.


def test_a_name_means_a_contest_or_all_of_a_matcher_and_none_means_all() -> None:
    assert [contest.name for contest, _ in chosen(("epgc.drain", "epgc.lobby"))] == ["epgc.lobby", "epgc.drain"]
    assert [contest.name for contest, _ in chosen(("cinder",))] == [
        name for name in CONTESTS if name.startswith("cinder.")
    ]
    assert [contest.name for contest, _ in chosen(())] == list(CONTESTS)
    assert chosen(("epgc.lobby",), (7, 9)) == [(CONTESTS["epgc.lobby"], (7, 9))]
    assert all(sizes == (c.quick or c.sizes[:2]) for c, sizes in chosen((), quick=True))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("epcg", "did you mean 'epgc'?"),
        ("epgc.dran", "did you mean 'epgc.drain'? known: epgc.lobby, epgc.drain"),
        ("zzz", "known: epgc, ladder, buckets, lom, cinder, even, small"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        chosen((name,))


def test_sizes_are_whole_numbers_with_commas() -> None:
    assert sizes_of("5000,500") == (500, 5_000)
    assert sizes_of("1_000, 20") == (20, 1_000)
    for wrong in ("", "0", "5.5", "-3", "many", "5,,6", "99999999999"):
        with pytest.raises(ConfigError, match="--sizes must be whole numbers"):
            sizes_of(wrong)


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"threads": 0}, {"limit_s": 0.0}])
def test_an_effort_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="must be"):
        cell.effort_of(**({"seed": 1, "threads": None, "limit_s": 1.0, "quick": False} | wrong))


# The verb.


@pytest.fixture
def _toys(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"toy.sum": toys.RIGHT, "toy.wrong": toys.toy(toys.WRONG, name="toy.wrong")}
    monkeypatch.setattr(catalogue, "CONTESTS", made)


@pytest.mark.usefixtures("_toys")
def test_the_verb_prints_json_with_everything_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    app(["bench", "matchers", "toy.sum", "--sizes", "10,600", "--quick", "--json"], result_action="return_value")
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["machine", "seed", "contests"]
    assert {"processor", "cores", "threads", "python", "numpy", "numba"} <= set(found["machine"])
    (contest,) = found["contests"]
    assert list(contest) == ["name", "what", "unit", "rows", "growth", "aims"]
    assert [row["size"] for row in contest["rows"]] == [10, 600]
    assert list(contest["rows"][0]) == ["size", "ours", "opponents", "sound", "says", "plan"]
    assert list(contest["rows"][0]["ours"]) == ["median_s", "least_s", "runs", "peak_mb"]
    (answer,) = contest["rows"][0]["opponents"]
    assert list(answer) == ["opponent", "timing", "ratio", "agrees", "says", "plan"]
    assert contest["rows"][1]["opponents"][0]["says"] == "not run beyond 500"
    assert [list(growth) for growth in contest["growth"]] == [["who", "exponent", "sizes"]] * 2
    assert list(contest["aims"][0]) == ["aim", "measured", "verdict"]


@pytest.mark.usefixtures("_toys")
def test_the_verb_ends_with_1_where_results_differ(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        app(["bench", "matchers", "toy.wrong", "--sizes", "10"], result_action="return_value")
    assert ended.value.code == 1
    assert re.search(r"no: \d+ against \d+", capsys.readouterr().out)


def test_the_verb_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown benchmark 'lmo': did you mean 'lom'"):
        app(["bench", "matchers", "lmo"], result_action="return_value")
    nowhere = str(tmp_path / "none" / "page.html")
    with pytest.raises(ConfigError, match="the report cannot be written"):
        app(["bench", "matchers", "small.random", "--report", nowhere], result_action="return_value")


# The page.


def library() -> str:
    """The drawing library, which stands in the page as it is."""
    found: str = import_module("plotly.offline").get_plotlyjs()
    return found


def test_the_page_loads_nothing_and_shows_everything(tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    run = run_here(toys.RIGHT, toys.toy(toys.WRONG, name="toy.wrong"))
    page.write(tmp_path / "page.html", run)
    text = (tmp_path / "page.html").read_text("utf-8")
    for loads in ("<script src", "<link ", "<iframe", "@import", "cdn.plot.ly"):
        assert loads not in text.replace(library(), ""), loads
    assert text.count("Plotly.newPlot(") >= 2
    assert 'class="wrong"' in text
    assert "Results differ" in text
    assert "not run beyond 500" in text
    assert "All results that were compared agree" in page.html(run_here(toys.RIGHT))


def test_without_plotly_the_page_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"pip install evenmatch\[bench\]"):
        app(["bench", "matchers", "small.random", "--report", "page.html"], result_action="return_value")
