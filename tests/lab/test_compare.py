"""Comparisons: the same traffic for all, kept and resumed, the same bytes for the same seed, and clear refusals."""

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from concurrent.futures.process import BrokenProcessPool
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evenmatch.domain.refusals import Reasons
from evenmatch.errors import ConfigError, LabError
from evenmatch.lab import pool, population
from evenmatch.lab.comparing import compare
from evenmatch.lab.comparison import COLUMNS, WAIT, Comparison, Row
from evenmatch.lab.intervals import Interval, flattened, over
from evenmatch.lab.queues import for_matcher
from evenmatch.lab.report import html
from evenmatch.lab.runs import Case, program, run
from tests import nursery

from .small import crowd

SHORT = {"hours": 0.2, "seeds": 2, "workers": 1}


def lab(*arguments: str, **more: Any) -> "subprocess.CompletedProcess[str]":
    return nursery.run("lab", *arguments, **more)


def test_what_is_kept_is_not_run_again_and_is_the_same(tmp_path: Path) -> None:
    heard: list[list[float]] = []
    first = compare("duel-small", matchers=["first_come", "buckets"], keep=tmp_path, **SHORT)  # type: ignore[arg-type]
    files = sorted(tmp_path.iterdir())
    assert len(files) == 4
    again = compare(
        "duel-small",
        matchers=["first_come", "buckets"],
        keep=tmp_path,
        progress=lambda shares: heard.append(list(shares)),
        **SHORT,  # type: ignore[arg-type]
    )
    assert again == first
    assert heard == [[1.0] * 4]
    files[0].write_bytes(b"half of a fi")
    mended = compare("duel-small", matchers=["first_come", "buckets"], keep=tmp_path, **SHORT)  # type: ignore[arg-type]
    assert msgspec.json.encode(mended.to_dict()["matchers"]) == msgspec.json.encode(first.to_dict()["matchers"])


def test_processes_find_what_one_finds(tmp_path: Path) -> None:
    alone = compare("duel-small", matchers=["epgc"], **SHORT)  # type: ignore[arg-type]
    both = compare("duel-small", matchers=["epgc"], hours=0.2, seeds=2, workers=2, keep=tmp_path)
    one, other = (found.to_dict() for found in (alone, both))
    assert one.pop("timing").keys() == other.pop("timing").keys()
    assert msgspec.json.encode(one) == msgspec.json.encode(other)


def test_a_matcher_that_cannot_play_is_listed_and_never_dropped() -> None:
    found = compare("team5-small", matchers=["ladder", "first_come"], hours=0.1, seeds=1, workers=1)
    assert [one.name for one in found.not_played] == ["ladder"]
    assert found.not_played[0].why == "plays 2x1 (one against one), not 2x5"
    assert "not applicable" in str(found)
    assert "ladder" in html(found, "evenmatch lab compare")


def test_who_is_turned_away_at_the_door_is_told() -> None:
    found = compare("team5-small", matchers=["buckets", "first_come"], hours=0.2, seeds=1, workers=1)
    buckets, first_come = found.rows
    share, reasons = buckets.turned_away
    assert share > 0.5
    assert reasons == [Reasons.PARTY_UNSUPPORTED.title]
    assert first_come.turned_away == (0.0, [])
    page = html(found, "evenmatch lab compare")
    assert f"buckets: {share:.1%} ({escape(reasons[0])})" in page
    assert found.front == ["first_come"] or not first_come.serves_enough
    assert buckets.warning in page
    assert buckets.warning in str(found)
    assert buckets.warning.startswith("serves ")


def test_where_none_can_play_there_is_nothing_to_compare() -> None:
    with pytest.raises(LabError, match=r"none can play team5-small: ladder: .*2x1"):
        compare("team5-small", matchers=["ladder"], hours=0.1, seeds=1, workers=1)


def test_parameters_that_a_matcher_does_not_take_are_a_mistake_and_no_reason_not_to_play() -> None:
    given = crowd()
    wrong = msgspec.structs.replace(given, matchers={"buckets": population.Fit(parameters={"bucket": -4})})
    with pytest.raises(LabError, match=r"matchers.buckets.parameters cannot be used: .*bucket"):
        compare(wrong, matchers=["buckets"], hours=0.1, seeds=1, workers=1)


def test_a_queue_whose_servers_are_elsewhere_cannot_play(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        '[queues.far]\nvenue = { regions = ["mars"] }\n[queues.near]\nvenue = { regions = ["eu", "mars"] }\n'
    )
    found = compare("duel-small", queues=[file], hours=0.1, seeds=1, workers=1)
    assert [(one.name, one.why) for one in found.not_played] == [
        ("far", "its matches are played in mars, and the players are in eu")
    ]
    assert found.rows[0].name == "near"


def test_a_cluster_with_another_program_is_refused() -> None:
    given = crowd()
    case = Case("x", for_matcher(given, "first_come"), given, ".", 1, 0.1)
    with pytest.raises(LabError, match="another evenmatch than this one"):
        pool.run_there(case, "another")
    assert pool.run_there(case, program()).measures == run(case).measures


def test_a_process_that_is_killed_is_no_riddle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def killed(*_: object) -> None:
        raise BrokenProcessPool

    monkeypatch.setattr(pool, "_in_processes", killed)
    with pytest.raises(LabError, match=r"a process ended before its run did \(0 of 2 runs are done\)"):
        compare("duel-small", matchers=["lom"], hours=0.1, seeds=2, workers=2, keep=tmp_path)


def test_queues_of_a_file_are_compared_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[queues.slow]\nwave = { every_s = 20 }\n[queues.lobby]\nformat = { teams = 1, size = 4 }\n")
    found = compare("duel-small", queues=[file], hours=0.2, seeds=1, workers=1)
    assert [row.name for row in found.rows] == ["slow"]
    assert [one.name for one in found.not_played] == ["lobby"]
    assert found.rows[0].queue["wave"]["every_s"] == 20


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("there is no matcher 'nope'", {"matchers": ["nope"]}),
        ("named twice", {"matchers": ["lom", "lom"]}),
        ("not both", {"matchers": ["lom"], "queues": ["x.toml"]}),
        ("nothing to compare", {"matchers": []}),
        ("nan hours cannot be run", {"hours": float("nan")}),
        ("hours cannot be run", {"hours": 0.0}),
        ("seeds cannot be run", {"seeds": 0}),
        ("steps of 0 s cannot be run: use 0.01 to 60", {"step_s": 0.0}),
        ("is no population", {"population": "duel-smal"}),
        ("processes cannot run", {"workers": 0, "matchers": ["lom"], "hours": 0.1}),
    ],
)
def test_what_cannot_be_run_is_refused_in_words(words: str, arguments: dict[str, object]) -> None:
    with pytest.raises((LabError, ConfigError), match=words):
        compare(**arguments)  # type: ignore[arg-type]


def test_nobody_comes() -> None:
    quiet = crowd(arrivals={"sessions_a_day": 0.001})
    with pytest.raises(LabError, match="nobody comes within"):
        compare(quiet, matchers=["lom"], hours=0.1, seeds=1, workers=1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title = 1", "title: Expected `str`"),
        ('title = "x"\n[skill]\nkind = "odd"', "skill.kind: 'odd' is not known"),
        ('title = "x"\n[skill]\nkind = "csv"', "kind csv needs file and column"),
        ('title = "x"\n[arrivals]\nsessions_a_day = 0', "nobody would ever come"),
        ('title = "x"\n[arrivals]\ncurve = [1.0]', "use 24 weights"),
        ('title = "x"\n[arrivals]\nsessions_a_day = 1e12', "1e+12 is too many"),
        ('title = "x"\n[arrivals]\nbursts = [{ at_h = 1, times = nan }]', "arrivals.bursts.times: nan is out of range"),
        ('title = "x"\n[regions]\nshares = { eu = nan }', "regions.shares.eu: nan is out of range"),
        ('title = "x"\n[regions.far_ms.eu]\nus = -5', "regions.far_ms.eu.us: -5 is out of range"),
        ('title = "x"\n[parties]\n2 = 1.0', "'2' cannot be seated"),
        ('title = "x"\n[parties]\n1 = 0.5', "add up to 0.5"),
        ('title = "x"\n[sessions]\nagmes = 3', "sessions.agmes: there is no such key: did you mean games?"),
        ('title = "x"\n[sessions]\ngames = 0.5', "fewer than one match"),
        ('title = "x"\n[ratings]\nmodel = "x"', "ratings:"),
        ('title = "x"\n[matchers.nope]\nevery_s = 3', "no such matcher"),
        ("title = ", "not TOML"),
    ],
)
def test_mistakes_in_a_population_are_named(text: str, words: str) -> None:
    with pytest.raises(LabError) as told:
        population.of_text(text, "mine.toml")
    assert "mine.toml" in str(told.value)
    assert words in str(told.value)


@pytest.mark.parametrize("name", population.PRESETS)
def test_every_preset_can_be_read_and_says_where_its_numbers_come_from(name: str) -> None:
    given, _ = population.load(name)
    assert given.sources
    assert all("assumption" in words or "source" in words for words in given.sources.values())
    text = resources.files("evenmatch.lab").joinpath("presets", f"{name}.toml").read_text("utf-8")
    stated = tomllib.loads(text)
    assert {"game", "skill", "arrivals", "sessions", "parties", "regions", "sides", "profile", "matchers"} <= set(
        stated
    )
    assert {"shares", "near_ms"} <= set(stated["regions"])


def test_a_csv_that_cannot_be_used_is_refused_in_words(tmp_path: Path) -> None:
    head = 'title = "x"\n[skill]\nkind = "csv"\nfile = "r.csv"\ncolumn = "rating"\n'
    (tmp_path / "p.toml").write_text(head)
    for content, words in (
        (None, "there is no such file"),
        ("", "is empty"),
        ("name\nann\n", "has no column 'rating'"),
        ("rating\nmuch\n", "line 2 has 'much'"),
        ("rating\n\n", "has no number"),
    ):
        (tmp_path / "r.csv").unlink(missing_ok=True)
        if content is not None:
            (tmp_path / "r.csv").write_text(content)
        with pytest.raises(LabError, match=words):
            compare(str(tmp_path / "p.toml"), matchers=["first_come"], hours=0.1, seeds=1, workers=1)
    (tmp_path / "r.csv").write_text("rating\n1000\n2000\n")
    found = compare(str(tmp_path / "p.toml"), matchers=["first_come"], hours=0.1, seeds=1, workers=1)
    assert found.rows[0].mean("matches") is not None


def test_the_command_prints_a_table_json_and_a_page(tmp_path: Path) -> None:
    arguments = ("compare", "--hours", "0.2", "--seeds", "1", "--matchers", "first_come,lom", "--workers", "1")
    shown = lab(*arguments, "--report", "page.html", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "first_come" in shown.stdout
    assert "1 of 2 runs" in shown.stderr or "2 of 2 runs" in shown.stderr
    page = (tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert "evenmatch lab compare" in page
    told = json.loads(lab(*arguments, "--json", cwd=tmp_path).stdout)
    assert told["seeds"] == [1]
    assert {one["name"] for one in told["matchers"]} == {"first_come", "lom"}
    assert set(told["timing"]) == {"first_come", "lom"}


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "evenmatch", "lab", "compare", "--hours", "3", "--seeds", "40"]
    command += ["--matchers", "first_come", "--workers", "2"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    kept = tmp_path / "evenmatch-lab"
    while not (kept.exists() and any(file.suffix == ".json" for file in kept.iterdir())):
        assert process.poll() is None
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "of 40 runs are kept in evenmatch-lab" in told
    assert "The same command goes on from there" in told
    assert "Traceback" not in told


def test_means_and_intervals() -> None:
    assert over([1.0, 2.0, 3.0]) == Interval(2.0, -0.484338, 4.48434)
    assert over([2.0, None]) == Interval(2.0, missing=1)
    assert over([None]) == Interval(None, missing=1)
    assert over([0.9, 1.0, 1.0], "never_matched").high == 1.0
    assert over([0.0, 0.1, 0.0], "true_odds.fair_share").low == 0.0
    assert over([0.5, 0.6, 0.5], "true_odds.mean").low == 0.5
    assert over([0.9, 1.0, 1.0], "odds.worst").high == 1.0
    assert over([1.0, 2.0, 3.0], "wait_to_match_s.p90") == Interval(2.0, 0.0, 4.48434)
    assert over([1.0, None, 3.0], "wait_to_match_s.p90") == Interval(None, missing=1)
    assert flattened({"a": {"b": 1, "c": None}, "d": [1], "e": "x"}) == {"a.b": 1, "a.c": None}


def test_the_front_is_what_nothing_beats_in_both() -> None:
    given, _ = population.load("duel-small")

    def row(name: str, wait: float | None, fair: float | None) -> Row:
        measures = {"wait_to_match_s.p90": Interval(wait), "true_odds.fair_share": Interval(fair)}
        return Row(name, {}, measures, [], [])

    rows = [row("a", 10, 0.2), row("b", 20, 0.4), row("c", 20, 0.3), row("d", None, 0.9), row("e", 30, 0.4)]
    found = Comparison("x", given, 1.0, 1, rows, [])
    assert found.front == ["a", "b"]
    assert found.to_csv().splitlines()[0].startswith("name,front,parameters_from,wait_to_match_s.p90,")


def test_the_wait_that_decides_stands_in_every_table() -> None:
    found = compare("duel-small", matchers=["first_come"], hours=0.2, seeds=1, workers=1)
    wait = found.rows[0].mean(WAIT)
    assert wait is not None
    assert WAIT in COLUMNS
    assert f" {wait:.1f} " in str(found)
    assert f"<td>{wait:.1f}</td>" in found._repr_html_()
    assert f'<td class="number">{wait:.1f}</td>' in html(found, "x")


def test_the_library_compares_too() -> None:
    import evenmatch as em

    found = em.lab.compare("duel-small", matchers=["first_come"], hours=0.1, seeds=1, workers=1)
    assert isinstance(found, em.lab.Comparison)
    assert str(found).splitlines()[1].startswith("first_come *")
    assert "<td><b>first_come</b></td>" in found._repr_html_()
    frame = found.to_pandas()
    assert frame["name"].tolist() == ["first_come"]
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        em.lab.nothing  # noqa: B018
