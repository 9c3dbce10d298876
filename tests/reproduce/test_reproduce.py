"""The documents run again: no line differs, every verdict can come out the other way, and the report stands alone."""

import json
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenmatch import planning
from evenmatch.errors import ConfigError
from evenmatch.matchers import ladder as em_ladder
from evenmatch.numerics import greedy_clique
from evenmatch.pages.charts import Chart, Mark, Series, number, svg, ticks
from evenmatch.reproduce import buckets, cinder, epgc, epgc_claims, ladder, ladder_comparison, lom, pairings, report
from evenmatch.reproduce.line import AGREES, DIFFERS, DOCUMENT_WRONG, Chapter, Effort, Ledger, Line
from evenmatch.reproduce.run import DOCUMENTS, chosen, run
from tests import nursery

SMALL = Effort(pairings=200_000)
MODULES = {"epgc": epgc, "ladder": ladder, "buckets": buckets, "lom": lom, "cinder": cinder}


@pytest.fixture(scope="module")
def chapters() -> list[Chapter]:
    return run(list(DOCUMENTS), SMALL)


@pytest.fixture(scope="module")
def lines(chapters: list[Chapter]) -> dict[str, Line]:
    return {line.id: line for chapter in chapters for line in chapter.lines}


def differing(found: Chapter | Ledger) -> list[str]:
    return [line.id for line in found.lines if line.verdict == DIFFERS]


# The run.


TIMES = "lom.figure_4."
"""Lines about times hang on what else the machine does just then; a test does not hold them to anything."""


def test_no_line_differs(chapters: list[Chapter]) -> None:
    found = [[line for line in differing(chapter) if not line.startswith(TIMES)] for chapter in chapters]
    assert found == [[]] * 5


def test_there_are_lines_enough_and_their_ids_are_unique(chapters: list[Chapter]) -> None:
    ids = [line.id for chapter in chapters for line in chapter.lines]
    assert len(ids) > 300
    assert len(set(ids)) == len(ids)
    assert [chapter.name for chapter in chapters] == list(DOCUMENTS) == list(MODULES)
    for chapter in chapters:
        assert len(chapter.lines) > 25
        for line in chapter.lines:
            name, section, what = line.id.split(".", 2)
            assert name == chapter.name
            assert section in chapter.sections
            assert what
            assert line.because
            assert type(line.document) in (int, float, str)
            assert type(line.ours) in (int, float, str)


def test_what_notes_call_wrong_is_found_wrong(lines: dict[str, Line]) -> None:
    wrong = {name: line.ours for name, line in lines.items() if line.verdict == DOCUMENT_WRONG}
    expected = {
        "epgc.table_1.P1.degree": 284.0,
        "epgc.table_1.P3.degree": 177.0,
        "epgc.table_1.P4.degree": -3.0,
        "epgc.table_1.P8.degree": 263.0,
        "epgc.table_2.pairs": 15,
        "epgc.table_4.brute_force": "10^37.0",
        "epgc.table_4.combinations": "10^30.4",
        "epgc.claims.poor_seed": "39.6% (seed P4)",
        "ladder.stages.2.example.bw": 5,
        "ladder.walkthrough.pairs": 49,
        "ladder.stages.5.top_by_score": "-55, 25, 60",
        "cinder.scores.figure_11.equation_4_1": 14.0,
        "cinder.scores.figure_12.equation_4_1": 56.0,
    }
    assert expected.items() <= wrong.items()
    assert {"buckets.skip_flag.set_on_a_join", "lom.sessions.introduction", "lom.figure_3.random.similar"} <= set(wrong)
    assert "cinder.experiment.conclusion" in wrong


def test_what_notes_have_checked_is_found_again(lines: dict[str, Line]) -> None:
    ours = {
        "epgc.table_3.total_weight": 470.5,
        "epgc.table_3.optimal_weight": 470.5,
        "ladder.refinement.walkthrough.before.error": 2525.0,
        "ladder.refinement.walkthrough.after.error": 1325.0,
        "ladder.refinement.example.before": 24_200.0,
        "ladder.refinement.example.after": 200.0,
        "ladder.walkthrough.pressure": 0.4,
        "ladder.walkthrough.gap_mean": 18.4,
        "buckets.checks.found_in_cycle": 4,
        "cinder.thresholds.17": 17,
    }
    assert {name: lines[name].ours for name in ours} == ours
    assert all(lines[name].verdict == AGREES for name in ours)


def test_a_claim_on_a_machine_or_a_sample_says_how_it_is_judged(lines: dict[str, Line]) -> None:
    for name in ("epgc.speed.find_lobby", "ladder.benchmark.5.improvement", "ladder.timings.30.ladder_ms"):
        assert re.search("by direction|times the printed", lines[name].because)
    assert "200,000 pairings" in lines["cinder.experiment.mode"].because
    assert "a smaller sample was asked for" in lines["cinder.experiment.pairings"].because


def test_one_seed_gives_one_result() -> None:
    sampled = [buckets.reproduce(SMALL), buckets.reproduce(SMALL)]
    assert sampled[0].lines == sampled[1].lines
    assert (epgc_claims.random_tiers(SMALL).greedy == epgc_claims.random_tiers(SMALL).greedy).all()
    told: list[int] = []
    one, other = (pairings.histogram(250_000, seed, told.append) for seed in (1, 2))
    assert (one.frequency == pairings.histogram(250_000, 1, lambda _: None).frequency).all()
    assert (one.frequency != other.frequency).any()
    assert told == [250_000, 250_000]


# The judge can fail.


def test_the_four_questions_and_their_wrong_answers() -> None:
    ledger = Ledger("x")
    ledger.section("s", "S")
    ledger.same("1", 470.5, 470.5)
    ledger.same("2", 470.5, 470.4)
    ledger.same("3", 35, 37, within=3)
    ledger.same("4", "Gold", "Silver")
    ledger.claim("5", "faster", "2 ms", "by direction", holds=True)
    ledger.claim("6", "faster", "2 ms", "by direction", holds=False)
    ledger.wrong("7", 306.0, 284.0, "sum", right=284.0)
    ledger.wrong("8", 306.0, 285.0, "sum", right=284.0)
    ledger.wrong("9", 306.0, 306.0, "sum", right=306.0)
    ledger.refuted("10", "normal", "+1.03", "skewed", holds=True)
    ledger.refuted("11", "normal", "0.00", "skewed", holds=False)
    good, bad, wrong = AGREES, DIFFERS, DOCUMENT_WRONG
    assert [line.verdict for line in ledger.lines] == [good, bad, good, bad, good, bad, wrong, bad, bad, wrong, bad]
    assert all("unexplained" in line.because for line in ledger.lines if line.verdict == DIFFERS)
    assert ledger.lines[0].id == "x.s.1"


def table(find: str, ledger: Ledger) -> None:
    outcome = planning.plan(epgc.sample(), "epgc", lobby_size=4, trace=True)
    if find == "table_2":
        epgc.table_2(ledger)
    else:
        getattr(epgc, find)(ledger, outcome)


def test_a_printed_number_that_is_changed_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = dict(epgc.PLAYERS) | {"P2": (1580, "Silver", 18, 240, 300.5, "No")}
    monkeypatch.setattr(epgc, "PLAYERS", changed)
    monkeypatch.setattr(epgc, "DEGREES", {**epgc.DEGREES, "P1": 284.5})
    ledger = Ledger("epgc")
    table("table_1", ledger)
    wanted = ["P1.degree", "P2.tier", "P2.degree", "P2.in_lobby"]
    assert differing(ledger) == [f"epgc.table_1.{what}" for what in wanted]


def test_a_pair_that_is_changed_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    one, *others = epgc.PAIRS
    monkeypatch.setattr(epgc, "PAIRS", ((*one[:-1], 89.0), *others))
    ledger = Ledger("epgc")
    table("table_2", ledger)
    assert differing(ledger) == ["epgc.table_2.P2-P5.weight"]


def test_a_mistake_in_our_own_code_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    right = greedy_clique.score
    monkeypatch.setattr(greedy_clique, "score", lambda a, b, alpha, beta: right(a, b, alpha, 1.1 * beta))
    ledger = Ledger("epgc")
    table("table_3", ledger)
    assert "epgc.table_3.1.P2" in differing(ledger)
    monkeypatch.setattr(em_ladder, "channel", lambda _: "scevo00")
    other = Ledger("ladder")
    ladder.creation(other)
    assert differing(other) == [f"ladder.creation.channel_{match}" for match in (1, 10, 11)]


def test_the_ladders_tables_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder, "WINDOWS", ladder.WINDOWS | {"HIGH": (0.2, 80, 25)})
    monkeypatch.setattr(ladder, "MISSES", (0,) * 15)
    ledger = Ledger("ladder")
    ladder.constants(ledger)
    ladder.walkthrough(ledger)
    assert "ladder.pressure.HIGH.base" in differing(ledger)
    assert "ladder.walkthrough.matches" in differing(ledger)
    worse = [ladder_comparison.Comparison(5, 10.0, 11.0, 10.0, 1e9, 1e9, 1e9, True)]
    again = Ledger("ladder")
    ladder_comparison.comparison(again, worse)
    ladder_comparison.timings(again, worse)
    assert len(differing(again)) == len(again.lines)


def test_the_bucket_cycles_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "JOINED_S", {"Pawn20": 0, "Grunt17": 10})
    monkeypatch.setattr(buckets, "SKILL", {"Pawn20": 20.0, "Grunt17": 18.0})
    ledger = Ledger("buckets")
    buckets.cycles(ledger)
    assert {"buckets.cycles.bucket.Grunt17", "buckets.cycles.3.outcome"} <= set(differing(ledger))
    buckets.checks(ledger)
    assert "buckets.checks.found_in_cycle" in differing(ledger)


def test_loms_orders_can_fail() -> None:
    runs = {(k, n, name): lom.Run(1.0, 1.0) for k in lom.KINDS for n in lom.SIZES for name in lom.NAMES}
    found = lom.Found(runs, nearest=1.0, proven=0, sessions_whole=False, leaders=(0,) * 5)
    ledger = Ledger("lom")
    lom.sessions(ledger, found)
    lom.figure_3(ledger, found)
    assert len(differing(ledger)) == len(ledger.lines) - 1  # all are alike, so M2L and L2M are similar
    lom.figure_4(ledger, found)
    assert "lom.figure_4.300" in differing(ledger)


def test_cinders_experiment_can_fail() -> None:
    scores = np.arange(pairings.SCORES)
    normal = pairings.Histogram(np.rint(1e6 * np.exp(-(((scores - 70) / 12) ** 2) / 2)).astype(np.int64))
    assert abs(normal.skewness) < 0.01
    ledger = Ledger("cinder")
    cinder.experiment(ledger, normal, 1.0, SMALL)
    for what in ("pairings", "mode", "shape", "conclusion", "tail"):
        assert f"cinder.experiment.{what}" in differing(ledger)
    assert {"cinder.thresholds.14", "cinder.thresholds.17", "cinder.thresholds.56"} <= set(differing(ledger))


# The experiment.


def test_a_histogram_knows_its_numbers() -> None:
    found = pairings.Histogram(np.array([1, 5, 3, 1]))
    assert (found.pairings, found.mode, found.mean) == (10, 1, 1.4)
    assert found.deviation == pytest.approx(np.std([0] + [1] * 5 + [2] * 3 + [3]))
    assert (found.up_to(1), found.quantile(0.6), found.quantile(0.61), found.quantile(1.0)) == (0.6, 1, 2, 3)


# The report.


class Page(HTMLParser):
    """What a page asks for from elsewhere, and what is in it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.asked: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.asked += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data", "xlink:href")]


def test_the_report_stands_alone_and_has_every_picture_and_line(chapters: list[Chapter]) -> None:
    text = report.html(chapters)
    page = Page()
    page.feed(text)
    assert page.tags.count("svg") == sum(len(chapter.charts) for chapter in chapters) == 7
    assert all(target.startswith("#") for target in page.asked)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert "http" not in text
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert page.tags.count("summary") == sum(len(chapter.sections) for chapter in chapters)
    agreeing = sum(line.verdict == AGREES for chapter in chapters for line in chapter.lines)
    assert text.count('class="verdict agrees"') == agreeing
    assert text.index("evenmatch has run") < text.index("<table>") < text.index("<svg")
    assert f"{agreeing} agree." in text
    assert "nan" not in "".join(re.findall(r'(?:[xyd]|[xy]\d|width|height)="([^"]*)"', text))


def test_a_report_escapes_what_it_shows() -> None:
    line = Line("x.s.a", "<b>", 1234.5, DIFFERS, "a & b")
    text = report.html([Chapter("x", "<X>", ("it's",), {"s": "<S>"}, (line,))])
    assert "&lt;b&gt;" in text
    assert "a &amp; b" in text
    assert "<X>" not in text
    assert "1 line remains unexplained" in text
    assert "<details open>" in text


def chart(**given: Any) -> Chart:
    series = (Series("one", (0.0, 1.0), (2.0, 3.0)), Series("two", (0.0, 1.0), (1.0, 0.5)))
    return Chart(
        **{"name": "c", "title": "T", "caption": "", "kind": "lines", "x_label": "x", "y_label": "y", "series": series}
        | given
    )


@pytest.mark.parametrize("kind", ["lines", "steps", "columns", "bars"])
def test_every_kind_of_chart_has_axes_names_and_numbers(kind: str) -> None:
    drawn = svg(chart(kind=kind, categories=("a", "b"), marks=(Mark(0.5, "here"), Mark(0.2, "band", 0.8))))
    for words in (">x<", ">y<", ">one<", ">two<", ">here<", ">band<"):
        assert words in drawn
    assert drawn.count("<title") == (1 if kind == "steps" else 3 if kind == "columns" else 5)


def test_a_logarithmic_scale_counts_in_powers_of_ten() -> None:
    drawn = svg(chart(log_y=True, series=(Series("one", (0.0, 1.0), (0.02, 70.0)),)))
    for power in ("0.01", "0.1", "1", "10", "100"):
        assert f">{power}</text>" in drawn


def test_ticks_and_numbers_are_round() -> None:
    assert ticks(0, 6) == [0, 1, 2, 3, 4, 5, 6]
    assert ticks(0, 64.1) == [0, 20, 40, 60, 80]
    assert ticks(0, 0) == [0]
    assert [number(value) for value in (1234567, 5.0, 0.25, 18.4285, 12345.6)] == [
        *("1,234,567", "5", "0.25", "18.43", "12,346")
    ]


# The command.


def evenmatch(*arguments: str) -> subprocess.CompletedProcess[str]:
    return nursery.run("reproduce", *arguments)


def test_json_is_exactly_the_lines(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    done = evenmatch("buckets", "--json", "--report", str(path))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found) == ["lines"]
    assert done.stdout.count("\n") == 1
    assert len(found["lines"]) > 25
    assert all(list(line) == ["id", "document", "ours", "verdict", "because"] for line in found["lines"])
    assert path.read_text("utf-8").count("<svg") == 1
    assert "buckets" in done.stderr


def test_the_tables_end_with_counts() -> None:
    done = evenmatch("buckets")
    assert done.returncode == 0, done.stderr
    assert re.search(r"buckets +34 +32 +2 +0", done.stdout)
    assert "Pawn20" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lomm"], "unknown document 'lomm': did you mean 'lom'? known: epgc, ladder, buckets, lom, cinder, all"),
        (["all", "--report", "/nowhere/at/all.html"], "the report cannot be written to /nowhere/at/all.html: No such"),
        (["all", "--report", "/tmp"], "the report cannot be written to /tmp: Is a directory"),
        (["cinder", "--pairings", "5"], "--pairings must be from 100,000 to 100,000,000,000, not 5"),
    ],
)
def test_a_mistake_ends_with_one_line_at_once(arguments: list[str], words: str) -> None:
    done = evenmatch(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_line_that_differs_ends_with_status_1(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from evenmatch.cli.reproduce import reproduce

    monkeypatch.setattr(buckets, "RANGES", ((0, "Pawn20", "19"),))
    with pytest.raises(SystemExit) as ended:
        reproduce("buckets", json=True)
    assert ended.value.code == 1
    found = {line["id"]: line["verdict"] for line in json.loads(capsys.readouterr().out)["lines"]}
    assert found["buckets.cycles.0.Pawn20"] == DIFFERS


def test_asking_whether_a_report_can_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    report.require_writable(path)
    assert not path.exists()
    path.write_text("kept")
    report.require_writable(path)
    assert path.read_text() == "kept"
    with pytest.raises(ConfigError, match="cannot be written"):
        report.write(tmp_path, [])


def test_all_means_every_document() -> None:
    assert chosen("all") == list(DOCUMENTS)
    assert chosen("lom") == ["lom"]
