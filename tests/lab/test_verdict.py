"""What is said of a comparison: no more than its seeds can tell, and best of nobody who serves a few."""

import msgspec
import pytest

from evenmatch.errors import LabError
from evenmatch.lab import population
from evenmatch.lab.comparing import compare
from evenmatch.lab.comparison import QUALITY, WAIT, Comparison, Row
from evenmatch.lab.intervals import Interval, over
from evenmatch.lab.verdict import apart, dealt, sentences

Seeds = tuple[float, float, float]


def row(name: str, wait: Seeds, fair: Seeds, never: float = 0.02) -> Row:
    """What was measured, a seed each."""
    measures = {
        "matches": Interval(10.0),
        "never_matched": Interval(never),
        WAIT: over(wait, WAIT),
        QUALITY: over(fair, QUALITY),
    }
    runs = [
        {"seed": seed, "wait_to_match_s": {"p90": mine}, "true_odds": {"fair_share": share}}
        for seed, (mine, share) in enumerate(zip(wait, fair, strict=True), 1)
    ]
    return Row(name, {}, measures, runs, [])


def of(*rows: Row, seeds: int = 3) -> Comparison:
    """A comparison of these."""
    return Comparison("x", population.load("duel-small")[0], 1.0, seeds, list(rows), [])


def test_a_difference_is_said_when_every_seed_shows_it() -> None:
    a = row("a", (10, 9, 11), (0.5, 0.48, 0.52))
    b = row("b", (20, 18, 22), (0.3, 0.28, 0.32))
    assert apart(a, b, WAIT)
    said = " ".join(sentences(of(a, b)))
    assert "a makes the fairest matches: 50 %" in said
    assert "a is the quickest: of those who stay, nine in ten play within 10 s" in said
    assert "a is on average no slower and no less fair than b, and can be told to be better in one of the two" in said
    assert "told apart" not in said


def test_a_difference_that_may_be_chance_is_not_said() -> None:
    a = row("a", (10, 5, 15), (0.5, 0.4, 0.6))
    b = row("b", (12, 16, 8), (0.45, 0.52, 0.38))
    assert not apart(a, b, WAIT)
    said = " ".join(sentences(of(a, b)))
    assert "a makes the fairest matches on average, but b (45 %) cannot be told apart from it with 3 seeds" in said
    assert "a is the quickest on average, but b (12 s) cannot be told apart from it with 3 seeds" in said
    assert "Of b it cannot be told with 3 seeds whether anything here beats it" in said


def test_seeds_are_compared_one_by_one_for_all_have_the_same_traffic() -> None:
    a = row("a", (10, 30, 50), (0.284, 0.336, 0.25))
    b = row("b", (12, 31, 53), (0.138, 0.166, 0.132))
    assert a.measures[QUALITY].low is not None
    assert a.measures[QUALITY].low < (b.measures[QUALITY].high or 0.0), "each by itself is unsure"
    assert apart(a, b, QUALITY)
    assert not apart(a, b, WAIT)


def test_the_first_of_equals_is_the_one_on_the_front() -> None:
    slow, quick = row("slow", (30, 31, 32), (1.0, 1.0, 1.0)), row("quick", (10, 11, 12), (1.0, 1.0, 1.0))
    assert sentences(of(slow, quick))[0].startswith("quick makes the fairest matches on average, but slow (100 %)")


def test_few_seeds_are_said_to_be_few() -> None:
    run = {"wait_to_match_s": {"p90": 10.0}, "true_odds": {"fair_share": 0.5}}
    alone = Row("a", {}, {"matches": Interval(1.0), WAIT: Interval(10.0), QUALITY: Interval(0.5)}, [run], [])
    other = Row("b", {}, {"matches": Interval(1.0), WAIT: Interval(90.0), QUALITY: Interval(0.1)}, [run], [])
    assert not apart(alone, other, WAIT)
    assert "cannot be told apart from it with one seed" in sentences(of(alone, other, seeds=1))[0]
    assert sentences(of(alone, other, seeds=1))[-1].startswith("One seed says nothing of chance")
    assert sentences(of(alone, other, seeds=2))[-1].startswith("Two seeds say little of chance")
    assert not any("chance" in one for one in sentences(of(alone, other, seeds=3)))


def test_who_serves_a_few_is_neither_best_nor_on_the_front() -> None:
    few = row("few", (5, 4, 6), (0.67, 0.6, 0.7), never=0.57)
    many = row("many", (20, 18, 22), (0.3, 0.28, 0.32))
    found = of(few, many)
    assert found.front == ["many"]
    said = sentences(found)
    assert said[0] == (
        "Too few of those who came are served by few (43 %) to call it best; what follows is of the others."
    )
    assert "few" not in " ".join(said[1:]).split()
    assert [one["served"] for one in found.to_dict()["matchers"]] == [0.43, 0.98]
    assert "few: serves 43 % of those who came" in str(found)
    assert "serves 43 % of those who came" in found._repr_html_()


def test_where_all_serve_a_few_they_are_compared_and_it_is_said() -> None:
    found = of(row("a", (5, 4, 6), (0.6, 0.5, 0.7), never=0.5), row("b", (9, 8, 10), (0.3, 0.2, 0.4), never=0.6))
    assert found.front == ["a"]
    assert sentences(found)[0].startswith("None serves 90 % of those who came")


def test_a_share_that_is_nearly_enough_does_not_look_like_enough() -> None:
    nearly = row("nearly", (5, 4, 6), (0.6, 0.5, 0.7), never=0.1004)
    assert nearly.warning == "serves 89.9 % of those who came"
    assert row("just", (5, 4, 6), (0.6, 0.5, 0.7), never=0.1).warning == ""


def test_what_may_be_chance_is_said_of_who_serves_a_few() -> None:
    perhaps = row("perhaps", (5, 4, 6), (0.6, 0.5, 0.7), never=0.11)
    perhaps.measures["never_matched"] = Interval(0.11, 0.06, 0.16)
    surely = row("surely", (5, 4, 6), (0.6, 0.5, 0.7), never=0.5)
    said = sentences(of(perhaps, surely, row("enough", (9, 8, 10), (0.3, 0.3, 0.3))))
    assert said[1] == "With 3 seeds it may be chance that perhaps falls short of 90 %."


def test_one_that_matches_nobody_does_not_look_like_one_that_serves_enough() -> None:
    nobody = Row("a", {}, {"matches": Interval(0.0), "never_matched": Interval(None)}, [], [])
    assert nobody.warning == "nobody is matched"


def test_nobody_is_matched() -> None:
    nobody = Row("a", {}, {"matches": Interval(0.0), "never_matched": Interval(1.0)}, [], [])
    assert sentences(of(nobody)) == ["Nobody was matched."]


def test_names_are_written_as_asked() -> None:
    a = row("a<b", (10, 9, 11), (0.5, 0.48, 0.52))
    assert sentences(of(a), lambda name: f"[{name}]")[0].startswith("[a<b]: ")


def test_where_teams_come_from_is_said_of_matchers_that_make_lobbies() -> None:
    lobby, teams = (
        msgspec.structs.replace(row(name, (9, 9, 9), (0.3, 0.3, 0.3)), queue={"format": {"teams": many}})
        for name, many in (("lobby", 1), ("teams", 2))
    )
    assert dealt(of(lobby, teams)) == ["lobby makes lobbies; the game deals them into teams by rating, there and back."]
    assert dealt(of(teams)) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [({"matchers": "epgc,buckets"}, "give a list"), ({"queues": "a.toml"}, "give a list"), ({"seeds": "x"}, "whole")],
)
def test_what_a_notebook_gets_wrong_is_said(given: dict[str, str], words: str) -> None:
    with pytest.raises(LabError, match=words):
        compare("duel-small", **given)  # type: ignore[arg-type]
