"""Parameters that fit a population which says nothing of its matchers."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from evenmatch.lab import people, population, traffic
from evenmatch.lab.calibrate import tiers_of
from evenmatch.lab.comparing import compare
from evenmatch.lab.fits import Fitter
from evenmatch.lab.population import Fit, Population
from evenmatch.lab.report import html

from .small import FOLDER, crowd


def unsaid(name: str = "duel-small", **tables: dict[str, object]) -> Population:
    """A preset that gives no parameters."""
    return msgspec.structs.replace(crowd(name, **tables), matchers={})


def test_what_is_given_stays_and_what_is_not_is_fitted() -> None:
    given = msgspec.structs.replace(unsaid(), matchers={"buckets": Fit(parameters={"bucket": 60})})
    spec, origin = Fitter(given, FOLDER).set_up("buckets")
    assert (spec.matcher.parameters, origin) == ({"bucket": 60}, "given")
    spec, origin = Fitter(unsaid(), FOLDER).set_up("buckets")
    assert set(spec.matcher.parameters) == {"bucket", "growth_s", "range_max"}
    assert origin == "fitted"
    assert Fitter(unsaid(), FOLDER).set_up("first_come")[1] == "default"


def test_a_wave_of_its_own_leaves_parameters_to_be_fitted() -> None:
    given = msgspec.structs.replace(unsaid(), matchers={"ladder": Fit(every_s=45.0)})
    spec, origin = Fitter(given, FOLDER).set_up("ladder")
    assert (spec.wave.every_s, origin) == (45.0, "fitted")
    assert "windows" in spec.matcher.parameters


@pytest.mark.parametrize("times", [0.2, 5.0])
def test_windows_follow_the_scale_of_the_ratings(times: float) -> None:
    usual = Fitter(unsaid(), FOLDER).set_up("buckets")[0].matcher.parameters
    scaled = unsaid(skill={"mean": 1500 * times, "spread": 300 * times}, ratings={"error": 100 * times})
    found = Fitter(scaled, FOLDER).set_up("buckets")[0].matcher.parameters
    assert found["bucket"] == pytest.approx(usual["bucket"] * times, rel=0.05, abs=1)
    assert found["range_max"] == pytest.approx(usual["range_max"], abs=1)


def test_the_fewer_come_the_wider_are_windows() -> None:
    widths = [
        Fitter(unsaid(arrivals={"sessions_a_day": many}), FOLDER).set_up("buckets")[0].matcher.parameters["bucket"]
        for many in (200.0, 2_000.0, 20_000.0)
    ]
    assert widths == sorted(widths, reverse=True)


def test_hardly_anybody_comes_and_it_fits_all_the_same() -> None:
    for matcher in ("buckets", "ladder"):
        assert Fitter(unsaid(arrivals={"sessions_a_day": 5.0}), FOLDER).set_up(matcher)[1] == "fitted"


def test_even_is_fitted_and_never_narrower_than_by_itself() -> None:
    found = {name: Fitter(unsaid(name), FOLDER).set_up("even") for name in population.PRESETS}
    assert {origin for _, origin in found.values()} == {"fitted"}
    own = {name: spec.matcher.parameters for name, (spec, _) in found.items()}
    assert own["duel-small"] == own["duel-large"] == own["team5-large"] == {"window": 100, "window_growth": 1.0}
    assert own["team5-small"]["window"] > 100, "ten are farther apart than two"
    few = Fitter(unsaid(arrivals={"sessions_a_day": 200.0}), FOLDER).set_up("even")[0].matcher.parameters
    assert few["window"] > 200


def test_the_scale_of_the_game_is_that_of_even() -> None:
    found = Fitter(unsaid("duel-large", game={"scale": 40.0}), FOLDER).set_up("even")[0].matcher.parameters
    assert found["rating_scale"] == 40.0
    assert found["window"] == 10
    assert found["window_growth"] <= 0.2


def test_newcomers_are_no_crowd_at_one_rating() -> None:
    fits = [Fitter(unsaid(ratings={"newcomers": share}), FOLDER).set_up("buckets")[0] for share in (0.0, 0.5)]
    narrow, wide = sorted(fit.matcher.parameters["bucket"] for fit in fits)
    assert wide < 1.1 * narrow


def test_tiers_are_those_that_calibrate_finds() -> None:
    given = unsaid()
    spec, _ = Fitter(given, FOLDER).set_up("epgc")
    ratings = people.draw(given, FOLDER, 1, traffic.crowd(given)).ratings.mu
    assert spec.matcher.parameters["boundaries"] == list(tiers_of(ratings, 5).ways["histogram"].boundaries)


def test_there_are_fewer_tiers_where_lobbies_fill_slowly() -> None:
    spec, origin = Fitter(unsaid("team5-small"), FOLDER).set_up("epgc")
    assert (len(spec.matcher.parameters["boundaries"]), origin) == (1, "fitted")


def test_all_are_alike_and_there_is_nothing_to_fit() -> None:
    same = unsaid(skill={"spread": 0.0}, ratings={"error": 0.0})
    assert [Fitter(same, FOLDER).set_up(name)[1] for name in ("buckets", "epgc", "even", "ladder")] == ["default"] * 4


def test_every_preset_sets_its_matchers_up() -> None:
    for name in population.PRESETS:
        fitter = Fitter(unsaid(name), FOLDER)
        for matcher in ("buckets", "cinder", "even"):
            assert fitter.set_up(matcher)[1] == "fitted"


def test_table_page_and_json_say_which_parameters_ran(tmp_path: Path) -> None:
    rows = "\n".join(f"{rating:.0f}" for rating in np.linspace(700, 1500, 400))
    (tmp_path / "ratings.csv").write_text(f"rating\n{rows}\n")
    (tmp_path / "mine.toml").write_text(
        'title = "Ours"\nskill = { kind = "csv", file = "ratings.csv", column = "rating" }\n'
        "[matchers.ladder.parameters]\nwindows = [[50, 10], [60, 12], [70, 14]]\n"
    )
    found = compare(str(tmp_path / "mine.toml"), matchers=["buckets", "ladder", "lom"], hours=0.1, seeds=1, workers=1)
    told = {one["name"]: one for one in found.to_dict()["matchers"]}
    assert {name: one["parameters_from"] for name, one in told.items()} == {
        "buckets": "fitted",
        "ladder": "given",
        "lom": "default",
    }
    width = told["buckets"]["parameters"]["bucket"]
    assert width > 1
    for words in (str(found), html(found, "x")):
        assert f"bucket = {width}, " in words
        assert "windows = [[50, 10], [60, 12], [70, 14]] (given)" in words
        assert "session_size = 2 (default)" in words
