"""Tuning: targets that can be read, spaces that every matcher can use, one answer a seed, and honesty about both."""

from pathlib import Path

import msgspec
import pytest

from evenmatch import config
from evenmatch.errors import LabError
from evenmatch.lab import population, tune_report
from evenmatch.lab.intervals import Interval
from evenmatch.lab.queues import NotApplicable, for_matcher
from evenmatch.lab.spaces import SPACES, knobs, parameters
from evenmatch.lab.targets import of_words
from evenmatch.lab.tune import tune
from evenmatch.matchers import registry

SMALL = {"trials": 6, "hours": 0.2, "seeds": 1, "held_out": 1, "workers": 1}


def test_targets_are_read() -> None:
    wait, fair = of_words(["p90 wait 60 s", "90 % of matches within 45-55 %"])
    assert (wait.measure, wait.limit, wait.at_least) == ("wait_to_match_s.p90", 60.0, False)
    assert (fair.measure, fair.limit, fair.at_least) == ("true_odds.fair_share", 0.9, True)
    assert wait.short(60.0) == 0
    assert wait.short(90.0) == 0.5
    assert fair.short(0.95) == 0
    assert fair.short(None) > 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "there is no target"),
        (["soon"], "is no target: write"),
        (["p90 wait 0 s"], "more than 0 seconds"),
        (["120 % of matches within 45-55 %"], "at most 100"),
    ],
)
def test_targets_that_cannot_be_used_are_refused_in_words(words: list[str], told: str) -> None:
    with pytest.raises(LabError, match=told):
        of_words(words)


def test_of_two_targets_for_one_measure_the_stricter_counts() -> None:
    def limits(*words: str) -> list[float]:
        return [target.limit for target in of_words(words)]

    assert limits("p90 wait 60 s", "p90 wait 30 s") == limits("p90 wait 30 s", "p90 wait 60 s") == [30.0]
    assert limits("80 % of matches within 45-55 %", "90 % of matches within 45-55 %") == [0.9]
    assert limits("90 % of matches within 45-55 %", "80 % of matches within 45-55 %") == [0.9]
    assert limits("p50 wait 60 s", "p90 wait 30 s") == [60.0, 30.0]


@pytest.mark.parametrize("matcher", sorted(SPACES))
@pytest.mark.parametrize("end", ["low", "high"])
def test_the_ends_of_every_space_can_be_played(matcher: str, end: str) -> None:
    given, _ = population.load("duel-small")
    found = {name: getattr(knob, end) for name, knob in knobs(matcher).items()}
    own, every_s = parameters(matcher, found, lambda tiers: [1000.0 + 10 * n for n in range(max(1, tiers - 1))])
    try:
        spec = for_matcher(given, matcher, **own)
    except NotApplicable as why:
        pytest.fail(f"{matcher}: {own}: {why}")
    assert spec.matcher.name == matcher
    assert every_s > 0


def test_every_matcher_has_a_space() -> None:
    assert sorted(SPACES) == registry.names()


def test_one_search_is_one_answer_and_says_if_it_holds() -> None:
    first, again = (tune("buckets", ["p90 wait 500 s"], **SMALL) for _ in range(2))  # type: ignore[arg-type]
    assert msgspec.json.encode(first) == msgspec.json.encode(again)
    assert first.met
    assert first.chosen in first.front or first.chosen.short == 0
    assert first.held_out == [2]
    waits = [one.wait_s for one in first.front]
    assert waits == sorted(waits, key=lambda wait: wait or 0.0)


def test_the_page_tells_what_was_chosen_and_draws_all_that_was_tried(tmp_path: Path) -> None:
    found = tune("buckets", ["p90 wait 200 s"], **SMALL)  # type: ignore[arg-type]
    assert len(found.tried) == found.trials
    assert found.chosen in found.tried
    tune_report.write(tmp_path / "t.html", found, "evenmatch lab tune --matcher buckets")
    page = (tmp_path / "t.html").read_text()
    for words in (
        "tuned for p90 wait 200 s",
        "on traffic that the search never saw",
        "<svg",
        "wait, s (90 %)",
        "evenmatch lab tune --matcher buckets",
        "sessions_a_day",
        "growth_s",
    ):
        assert words in page
    assert "<script" not in page
    missed = msgspec.structs.replace(
        found, chosen=msgspec.structs.replace(found.chosen, short=1.0), tried=[], front=[], met=False, holds=False
    )
    told = tune_report.html(missed, "x")
    assert "No setting met the target" in told
    assert "does not hold" in told


def test_a_target_that_nothing_meets_is_missed_and_said() -> None:
    found = tune("first_come", ["100 % of matches within 45-55 %"], **SMALL)  # type: ignore[arg-type]
    assert not found.met
    assert not found.holds
    assert found.chosen.short > 0
    assert found.toml.startswith("# The target was missed (100 % of matches within 45-55 %, on duel-small): no setting")
    (spec,) = config.parse(found.toml, "pasted")
    given, _ = population.load("duel-small")
    assert spec.ready_check is not None
    assert spec.ready_check.timeout_s == given.game.ready_check_s
    assert spec.ticket.expires_s == given.game.expires_s


@pytest.mark.parametrize(
    ("words", "ends", "sure"),
    [
        ("p90 wait 60 s", (50.0, 40.0, 60.0), True),
        ("p90 wait 60 s", (50.0, 20.0, 80.0), None),
        ("p90 wait 60 s", (90.0, 61.0, 120.0), False),
        ("90 % of matches within 45-55 %", (0.95, 0.9, 1.0), True),
        ("90 % of matches within 45-55 %", (0.95, 0.8, 1.0), None),
        ("90 % of matches within 45-55 %", (0.5, 0.4, 0.6), False),
    ],
)
def test_a_target_is_surely_met_when_the_whole_interval_meets_it(
    words: str, ends: tuple[float, float, float], sure: bool | None
) -> None:
    (target,) = of_words([words])
    assert target.surely(Interval(*ends), 3) is sure
    assert target.surely(Interval(ends[0]), 1) is None
    assert target.surely(Interval(None, missing=1), 3) is None
    assert target.surely(Interval(None, missing=1), 1) is None
    assert target.surely(Interval(None, missing=3), 3) is False


def test_what_holds_on_average_only_is_said_so() -> None:
    found = tune("first_come", ["p90 wait 500 s"], **SMALL)  # type: ignore[arg-type]
    assert found.holds
    assert not found.sure
    assert tune_report.verdict(found) == "The target holds there on average, but that cannot be told with one seed."
    assert tune_report.caveats(found)[-1] == "One seed cannot tell chance: use --held-out 3 or more."
    assert "met on average" in tune_report.html(found, "x")
    assert "Runs begin with nobody there" in tune_report.html(found, "x")
    sure = msgspec.structs.replace(found, sure=True, held_out=[2, 3, 4])
    assert tune_report.verdict(sure) == "The target holds there."
    checked = found.checked | {"never_matched": Interval(0.6)}
    few = msgspec.structs.replace(sure, checked=checked)
    assert tune_report.caveats(few) == ["It serves 40 % of those who came, those turned away at the door counted."]


def test_what_cannot_be_tuned_is_refused_before_anything_is_run() -> None:
    with pytest.raises(LabError, match="there is no matcher"):
        tune("nope", ["p90 wait 60 s"])
    with pytest.raises(LabError, match="ladder cannot be tuned here"):
        tune("ladder", ["p90 wait 60 s"], "team5-small")
    with pytest.raises(LabError, match="must be 1 or more"):
        tune("lom", ["p90 wait 60 s"], trials=0)
