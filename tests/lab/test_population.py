"""Population files: mistakes are named by key, what is left out stays an assumption, and every key is documented."""

import subprocess
from pathlib import Path

import pytest

from evenmatch.errors import LabError
from evenmatch.lab import population, traffic
from evenmatch.lab.keys import keys_of
from evenmatch.lab.population_page import population_page
from tests import nursery

from .small import FOLDER, crowd


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[skil]", r"p.toml: skil: there is no such key: did you mean skill\? known: title, game, skill, "),
        ("[skill]\nmeen = 3", r"p.toml: skill.meen: there is no such key: did you mean mean\? known: kind, mean, "),
        ("[game.format]\nteam = 2", r"game.format.team: there is no such key: did you mean teams\?"),
        (
            "[matchers.buckets]\nbucket = 25",
            r"matchers.buckets.bucket: there is no such key: known: parameters, every_s",
        ),
        ("[[arrivals.bursts]]\ntimes = 3", "arrivals.bursts 1.at_h: this key is missing"),
    ],
)
def test_keys_that_are_wrong_are_named_with_those_that_are_right(text: str, words: str) -> None:
    with pytest.raises(LabError, match=words):
        population.of_text(f'title = "x"\n{text}\n', "p.toml")


def test_a_title_is_needed_and_a_table_is_a_table() -> None:
    with pytest.raises(LabError, match="title: this key is missing: the file must have it"):
        population.of_text("[skill]", "p.toml")
    with pytest.raises(LabError, match=r"p\.toml: skill: "):
        population.of_text('title = "x"\nskill = 3', "p.toml")


def test_what_a_file_leaves_out_stays_an_assumption() -> None:
    text = 'title = "x"\n[skill]\nmean = 1400\nspread = 200\n[sessions]\npatience_s = 90\n[sources]\nratings = "ours"'
    found = population.of_text(text, "p.toml")
    assert found.sources["skill.kind"].startswith("assumption: ")
    assert "error 100" in found.sources["ratings"], "what is not in the file was not measured, whatever it says"
    assert "curve every hour alike" in found.sources["arrivals"]
    (partly,) = [name for name in found.sources if name.startswith("sessions.")]
    assert "sessions.answer_s" in partly
    assert "patience_s" not in partly.split(", ")
    told = " ".join(population.notes(found))
    assert "begin with nobody there" in told
    assert "skill.kind" in told
    csv = population.of_text(
        'title = "x"\nskill = { kind = "csv", file = "r.csv", column = "r" }\narrivals = { cold_start = false }', "p"
    )
    assert not [name for name in csv.sources if name.startswith("skill")]
    assert "nobody there" not in " ".join(population.notes(csv))


def test_the_page_is_made_from_the_code_and_every_key_has_a_meaning() -> None:
    page = Path(__file__).parents[2] / "docs" / "populations.md"
    anew = "make it anew: evenmatch lab population --reference > docs/populations.md"
    assert page.read_text("utf-8") == population_page(), anew
    for one in keys_of(population.Population):
        if hasattr(one.kind, "__struct_fields__"):
            assert all(key.meaning for key in keys_of(one.kind)), one.name


@pytest.mark.slow
def test_the_command_prints_presets_that_are_populations(tmp_path: Path) -> None:
    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return nursery.run("lab", "population", *arguments, cwd=tmp_path)

    assert [line.split()[0] for line in run().stdout.splitlines()] == list(population.PRESETS)
    text = run("team5-small").stdout
    (tmp_path / "ours.toml").write_text(text)
    assert population.of_text(text, "x") == population.load("team5-small")[0]
    whole = run("ours.toml").stdout
    assert population.of_text(whole, "x") == population.load("team5-small")[0]
    assert "is no population" in run("nope").stderr
    assert run("team5-small", "--reference").returncode == 2


def test_a_curve_that_lets_nobody_come_is_named_as_the_cause() -> None:
    curve = tuple(0.0 if 12 <= hour < 18 else 1.0 for hour in range(24))
    given = crowd("duel-small", arrivals={"curve": curve, "from_h": 12.0, "sessions_a_day": 100_000.0})
    with pytest.raises(LabError, match=r"from 12 o'clock: arrivals\.curve has the weight 0 in all of them; begin at"):
        traffic.draw(given, FOLDER, 1, 4.0)
    assert len(traffic.draw(given, FOLDER, 1, 8.0)) > 0
    quiet = crowd("duel-small", arrivals={"curve": (), "bursts": (population.Burst(at_h=0.0, lasts_min=90, times=0),)})
    with pytest.raises(LabError, match=r"arrivals\.bursts with times = 0 cover all of them"):
        traffic.draw(quiet, FOLDER, 1, 1.0)


def test_a_burst_after_the_end_is_said() -> None:
    given = crowd("duel-small", arrivals={"bursts": (population.Burst(at_h=5.0), population.Burst(at_h=1.0))})
    assert population.notes(given, 4.0)[0] == (
        "A burst begins after the run's end (4 h), at 5 h: nothing of it is seen."
    )
    assert not any("burst" in note for note in population.notes(given, 6.0))
    assert population.notes(given, 1.0)[0].startswith("2 bursts begin after the run's end (1 h), at 5, 1 h")
