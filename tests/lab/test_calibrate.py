"""Calibration: boundaries that do what they say, scores that accept as many as asked for, tables that can be pasted."""

import json
from pathlib import Path

import numpy as np
import pytest

from evenmatch import config
from evenmatch.domain.arrays import Array
from evenmatch.errors import LabError
from evenmatch.lab import files
from evenmatch.lab.calibrate import cinder_of, even_of, least_wait_s, lobbies_of, tiers_of, windows_of
from evenmatch.matchers.cinder import bucket_edges, sanction_score
from tests import nursery


def ratings(count: int = 20_000, seed: int = 4) -> Array:
    return np.random.default_rng(seed).normal(1500, 300, count)


def test_quantiles_are_equal_and_the_histogram_is_round() -> None:
    found = tiers_of(ratings(), 5)
    assert found.ways["quantiles"].shares == pytest.approx([0.2] * 5, abs=0.001)
    assert found.ways["histogram"].shares == pytest.approx([0.2] * 5, abs=0.02)
    assert all(cut % 10 == 0 for cut in found.ways["histogram"].boundaries)
    assert found.document.boundaries == (1000.0, 1500.0, 2000.0, 2500.0)
    assert found.document.moved == 0


def test_kmeans_finds_the_gaps_between_clusters() -> None:
    chance = np.random.default_rng(1)
    values = np.concatenate([chance.normal(centre, 20, 500) for centre in (1000, 1400, 2100)])
    cuts = tiers_of(values, 3).ways["kmeans"].boundaries
    assert cuts == pytest.approx([1200, 1750], abs=15)


def test_the_best_share_of_pairs_is_accepted() -> None:
    chance = np.random.default_rng(2)
    lobbies = chance.normal(1500, 300, (120, 5))
    found = cinder_of(lobbies, accept=0.2)
    p = found.parameters
    edges = bucket_edges(p["lcap"], p["ucap"], p["n_bucket"], p["w_min"])
    clipped = np.clip(lobbies, p["lcap"], p["ucap"])
    scores = [sanction_score(clipped[a], clipped[b], edges) for a in range(120) for b in range(a + 1, 120)]
    assert found.pairs == len(scores)
    share = np.mean(np.array(scores) <= p["sanction_max"])
    less = np.mean(np.array(scores) <= p["sanction_max"] - 1)
    assert less < 0.2 <= share
    assert found.scored == pytest.approx(share, abs=1e-6)
    assert found.accepted <= found.scored


def test_windows_let_nine_in_ten_meet_somebody() -> None:
    values = ratings()
    found = windows_of(values, arrivals_a_minute=30, wait_s=60, every_s=5)
    share = np.mean(np.abs(values - np.quantile(values, 0.975)) <= found.last)
    assert 1 - np.exp(-30 / 60 * 60 * share) >= 0.9 - 1e-3
    assert found.first <= found.last
    config.parse(f'[queues.x]\nmatcher = {{ name = "ladder", windows = {found.ladder["windows"]} }}', "x")


@pytest.mark.parametrize("others", [1, 2, 9, 99])
def test_so_many_others_come_within_the_least_wait_nine_times_in_ten(others: int) -> None:
    came = np.random.default_rng(3).poisson(least_wait_s(6.0, others) / 10, 20_000)
    assert np.mean(came >= others) == pytest.approx(0.9, abs=0.01)


def test_windows_of_even_let_a_whole_match_be_found() -> None:
    values = ratings()
    found = even_of(values, 60, 10, wait_s=60)
    middle, half = np.median(values), found["window"] / 2
    chance = np.random.default_rng(5)
    came = chance.binomial(chance.poisson(30, 5_000), np.mean(np.abs(values - middle) <= half))
    assert np.mean(came >= 9) == pytest.approx(0.9, abs=0.02), "in half of the wait, at the middle"
    assert even_of(values, 6_000, 10) == {"window": 100, "window_growth": 1.0}
    assert even_of(values, 60, 10)["window"] > even_of(values, 60, 4)["window"] > even_of(values, 60, 2)["window"]
    assert even_of(values, 6_000, scale=200.0) == {"window": 50, "window_growth": 0.5, "rating_scale": 200.0}
    edge = np.quantile(values, 0.975)
    last = found["window"] + 60 * found["window_growth"]
    assert 60 * np.mean((values >= edge - last) & (values <= edge)) >= 13


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("1 tiers cannot be made", lambda: tiers_of(ratings(), 1)),
        ("as many different ratings", lambda: tiers_of(np.array([1.0, 1.0]), 2)),
        ("cannot be accepted", lambda: cinder_of(np.ones((3, 5)), accept=1.0)),
        ("nobody would ever be found", lambda: windows_of(ratings(), 0.0)),
        ("contradict each other", lambda: windows_of(ratings(), 10.0, wait_s=2.0, every_s=5.0)),
        ("nobody at all comes within", lambda: windows_of(ratings(), 0.1, wait_s=60.0)),
        ("a match of 10 is not there within", lambda: even_of(ratings(), 5.0, 10, wait_s=60.0)),
    ],
)
def test_what_cannot_be_calibrated_is_refused_in_words(words: str, call: object) -> None:
    with pytest.raises(LabError, match=words):
        call()  # type: ignore[operator]


def test_lobbies_of_the_usual_size_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "l.csv"
    file.write_text("lobby,rating\na,1\na,2\nb,3\nb,4\nc,5\n")
    found, skipped = lobbies_of(file, "lobby", "rating")
    assert found.tolist() == [[1, 2], [3, 4]]
    assert skipped == 1
    file.write_text("lobby,rating\na,1\n")
    with pytest.raises(LabError, match="two lobbies of one size"):
        lobbies_of(file, "lobby", "rating")


def test_the_tables_can_be_pasted(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("rating\n" + "\n".join(f"{value:.0f}" for value in ratings(500)) + "\n")
    command = ["lab", "calibrate", "--ratings", str(file), "--arrivals", "30"]
    told = json.loads(nursery.run(*command, "--json").stdout)
    specs = config.parse(told["toml"], "pasted")
    assert [spec.matcher.name for spec in specs] == ["epgc", "even", "ladder", "buckets"]
    shown = nursery.run(*command).stdout
    assert told["toml"] in shown
    plainly = " ".join(shown.split())
    assert "the median player meets somebody, nine times in ten, within 30 s if" in plainly
    assert "a player at the edge, with 2.5% of all beyond, within 60 s if" in plainly
    assert "lobbies and makes no teams: one of 10, as in its document" in shown
    wide = told["windows"]
    base, growth = wide["ladder"]["windows"][1]
    assert f"{base} points at first and {growth} more a wave missed, {base + 11 * growth} after 60 s" in shown
    assert base + 11 * growth >= wide["last"] - 1
    assert f"One's own bucket at first, {wide['buckets']['bucket']} points wide" in shown


def test_a_rating_that_no_queue_takes_is_named(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    for value, told in (
        ("1e9", "line 4 has '1e9'"),
        ("-1000001", "line 4 has '-1000001'"),
        ("inf", "line 4 has 'inf'"),
    ):
        file.write_text(f"rating\n1500\n1600\n{value}\n")
        with pytest.raises(
            LabError, match="column 'rating' is to hold ratings, numbers from -1,000,000 to 1,000,000"
        ) as why:
            files.column(file, "rating")
        assert told in str(why.value)
        file.write_text(f"lobby,rating\na,1\na,2\nb,3\nb,{value}\n")
        with pytest.raises(LabError, match="column 'rating' is to hold ratings"):
            lobbies_of(file, "lobby", "rating")


def test_epgc_and_even_get_the_format_that_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("rating\n" + "\n".join(f"{value:.0f}" for value in ratings(500)) + "\n")
    command = ["lab", "calibrate", "--ratings", str(file), "--json", "--format"]
    for words in ("2x4", "4v4"):
        told = json.loads(nursery.run(*command, words).stdout)
        assert "which is a match of 2x4" in told["toml"]
        (spec,) = config.parse(told["toml"], "pasted")
        assert spec.format.seats == spec.matcher.parameters["lobby_size"] == 8
    played = nursery.run(*command, "2x4", "--arrivals", "60")
    (even,) = (spec for spec in config.parse(json.loads(played.stdout)["toml"], "x") if spec.matcher.name == "even")
    assert str(even.format) == "2x4"
    for words, said in (("4v5", "is no format"), ("1x1", "two players at least")):
        refused = nursery.run(*command, words)
        assert refused.returncode == 2
        assert said in refused.stderr
