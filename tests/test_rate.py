"""evenmatch rate: results read, matches predicted before they are rated, mistakes named."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

from evenmatch import cli, rating_report
from evenmatch.cli.rate import rate as rate_file
from evenmatch.errors import RatingError
from evenmatch.numerics.rating_models import MODELS
from evenmatch.rating import build_model, rate
from evenmatch.results import Columns, read
from tests import nursery

HEADER = "roster1,roster2,score1,score2,start_time\n"


def results(rows: str, header: str = HEADER, columns: Columns | None = None) -> object:
    return read((header + rows).encode(), "results.csv", columns or Columns())


def league(path: Path, *, teams: int = 8, games: int = 600, seed: int = 3) -> Path:
    """Teams of three that differ in skill, and who beats whom by chance of a known kind."""
    random = np.random.default_rng(seed)
    skill = random.normal(0, 1, teams)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER.strip().split(","))
        for game in range(games):
            one, other = random.choice(teams, 2, replace=False).tolist()
            won = random.random() < 1 / (1 + math.exp(skill[other] - skill[one]))
            rosters = ["|".join(f"{team}.{player}" for player in range(3)) for team in (one, other)]
            writer.writerow([*rosters, int(won), int(not won), f"2026-01-01T00:{game // 60:02}:{game % 60:02}"])
    return path


@pytest.mark.parametrize("model", sorted(MODELS))
def test_predictions_of_a_league_beat_a_coin_and_are_calibrated(tmp_path: Path, model: str) -> None:
    found = read(league(tmp_path / "league.csv").read_bytes(), "league.csv", Columns())
    outcome = rate(found, model, build_model(model, {}))
    assert (outcome.games, outcome.scored, outcome.skipped) == (600, 300, 0)
    assert outcome.log_loss is not None
    assert outcome.accuracy is not None
    assert outcome.log_loss < outcome.baselines["coin"].log_loss  # type: ignore[operator]
    assert outcome.accuracy > 0.6
    assert sum(one.matches for one in outcome.calibration) == 300
    said = sum(one.matches * one.predicted for one in outcome.calibration) / 300
    won = sum(one.matches * one.won for one in outcome.calibration) / 300
    assert said == pytest.approx(won, abs=0.06)


def test_a_match_is_predicted_before_it_is_rated(tmp_path: Path) -> None:
    lines = league(tmp_path / "league.csv").read_text().splitlines(keepends=True)
    whole = rate(read("".join(lines).encode(), "a", Columns()), "elo", build_model("elo", {}))
    last = lines[-1].split(",")
    turned = ",".join([last[0], last[1], last[3], last[2], last[4]])
    other = rate(read("".join([*lines[:-1], turned]).encode(), "b", Columns()), "elo", build_model("elo", {}))
    assert whole.log_loss is not None
    assert other.log_loss is not None
    chances = [math.exp(-300 * (outcome.log_loss or 0.0)) for outcome in (whole, other)]
    ratio = chances[0] / chances[1]
    assert ratio != pytest.approx(1.0, rel=1e-9)  # the same prediction, scored against the opposite result
    assert whole.calibration != other.calibration


def test_rows_are_taken_in_order_of_time_whatever_their_order_and_dates() -> None:
    rows = ["a,b,1,0,2026-03-02\n", "b,a,2,1,2026-03-01T10:00:00+01:00\n", "a,b,0,0,2026-03-01 09:30:00\n"]
    one, other = results("".join(rows)), results("".join(reversed(rows)))
    assert one.at_s.tolist() == other.at_s.tolist() == sorted(one.at_s.tolist())  # type: ignore[attr-defined]
    assert one.score.tolist() == [[2, 1], [0, 0], [1, 0]]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (",b,1,0,1", "roster1 is empty"),
        ("a,|,1,0,1", "roster2 is empty"),
        ("a|,b,1,0,1", "roster1 has an empty name at place 2"),
        ("a,b| |c,1,0,1", "roster2 has an empty name at place 2"),
        ("a|c,b|a,1,0,1", "'a' plays twice"),
        ("a,b,,0,1", "score1 is empty"),
        ("a,b,1,many,1", "score2 is 'many', not a number"),
        ("a,b,1,nan,1", "score2 is 'nan', not a number"),
        ("a,b,1,0,yesterday", "start_time is 'yesterday'"),
        ("a,b,1", "score2 is empty"),
    ],
)
def test_a_row_that_cannot_be_used_is_set_aside_by_its_line(row: str, why: str) -> None:
    found = results(f"a,b,1,0,1\n{row}\n")
    (skipped,) = found.skipped  # type: ignore[attr-defined]
    assert (skipped.line, len(found)) == (3, 1)  # type: ignore[arg-type]
    assert why in skipped.why


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"a,b\n1,2\n", "has no column 'roster1', only 'a', 'b': name the right one with --roster1"),
        ((HEADER + ",,,,\n").encode(), "has no match that can be rated; line 2: roster1 is empty"),
    ],
)
def test_a_file_that_cannot_be_rated_is_refused_with_the_reason(content: bytes, words: str) -> None:
    with pytest.raises(RatingError, match=words.replace("(", r"\(")):
        read(content, "results.csv", Columns())


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("whr", {}, "unknown rating model 'whr': known: weng_lin, elo, glicko2"),
        ("elo", {"K": 3}, "unknown parameter 'K'"),
        ("elo", {"k": "big"}, "k must be a number"),
        ("elo", {"placement": 1.5}, "placement must be a whole number"),
        ("weng_lin", {"beta": 0}, "beta must be above 0"),
        ("glicko2", {"tau": -1}, "tau must be a number, not below 0"),
    ],
)
def test_a_model_that_cannot_be_built_is_refused(name: str, parameters: dict[str, object], words: str) -> None:
    with pytest.raises(RatingError, match=words):
        build_model(name, parameters)


def test_the_command_line_speaks_json_and_words(tmp_path: Path) -> None:
    path = league(tmp_path / "league.csv", games=60)
    call = ["rate", str(path)]
    told = json.loads(nursery.run(*call, "--json").stdout)
    assert {"games", "skipped", "scored", "log_loss", "accuracy", "calibration", "baselines"} <= set(told)
    assert set(told["baselines"]) == {"openskill_default", "coin"}
    shown = nursery.run(*call).stdout
    assert "60 matches rated" in shown
    wrong = nursery.run(*call, "--score1", "goals")
    assert (wrong.returncode, "has no column 'goals'" in wrong.stderr) == (2, True)


def test_one_is_called_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.csv"
    path.write_text(HEADER + "a,b,1,1,1\na|,b,1,0,2\n")
    rate_file(path)
    shown = " ".join(capsys.readouterr().out.split())
    assert "1 match rated (1 draw), 1 row skipped; the last 0 with a winner are scored" in shown
    assert "line 3: roster1 has an empty name at place 2" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rate",), "FILE requires an argument"),
        (("check",), "requires an argument"),
        (("rate", "x.csv", "--modl", "elo"), "--modl"),
        (("rate", "x.csv", "y.csv"), "y.csv"),
        (("rat",), '"rat"'),
    ],
)
def test_a_mistaken_line_is_answered_with_one_line_and_status_2(
    arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["evenmatch", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    told = capsys.readouterr()
    assert (ended.value.code, told.out, told.err.count("\n")) == (2, "", 1)
    assert told.err.startswith("evenmatch: ")
    assert said in told.err


def test_the_report_stands_alone_and_shows_what_was_found(tmp_path: Path) -> None:
    source, path = league(tmp_path / "<b>.csv", games=80), tmp_path / "report.html"
    with source.open("a") as file:
        file.write("a,a,1,0,<i>\n")
    call = ["rate", str(source), "--report", str(path)]
    told = json.loads(nursery.run(*call, "--json").stdout)
    text = path.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    for part in ("http://", "https://", "<script", "<link", "<img", "<b>", "<i>"):
        assert part not in text
    assert text.count("<svg") == 3
    assert f"{told['log_loss']:.4f}" in text
    assert told["leaders"][0]["player"] in text
    assert told["running"][-1]["log_loss"] == pytest.approx(told["log_loss"])
    assert sum(count for _, count in told["histogram"]) == 24
    for wrong in ("/nowhere/at/all.html", str(tmp_path)):
        done = nursery.run(*call[:-1], wrong)
        assert (done.returncode, "cannot be written" in done.stderr) == (2, True)


def test_a_report_of_almost_nothing_can_be_made() -> None:
    found = read((HEADER + "a,b,1,1,1\n").encode(), "one.csv", Columns())
    text = rating_report.html(rate(found, "elo", build_model("elo", {})), "one.csv")
    assert text.count("<svg") == 1
