"""Which shard takes a ticket: one and the same, whoever asks and whenever; and what is wrong with a table."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from evenmatch import config
from evenmatch.cli.check import check
from evenmatch.domain.queue import PartySpec
from evenmatch.domain.shards import Split, party_rating, shard_of, shard_queue, why_none
from evenmatch.errors import ConfigError

REGIONS = Split("duel", "region", {"eu": ("eu-west", "eu-east"), "us": ("us",)})
BANDS = Split("duel", "rating", bands={"low": (0.0, 1600.0), "high": (1500.0, 4000.0)})
ratings = st.floats(-1e6, 1e6)
names = st.text(min_size=1, max_size=20)


@st.composite
def bands(draw: st.DrawFn) -> Split:
    """Bands that meet or overlap, in any order."""
    edges = sorted(draw(st.lists(st.integers(0, 400), min_size=3, max_size=8, unique=True)))
    overlap = draw(st.integers(0, 60))
    found = [(f"b{n}", (float(low), float(high + overlap))) for n, (low, high) in enumerate(pairwise(edges))]
    return Split("duel", "rating", bands=dict(draw(st.permutations(found))))


# -- which shard -------------------------------------------------------------------------------------------------------


@given(bands(), st.floats(-100, 600), names)
def test_every_rating_has_exactly_one_shard_which_holds_it_or_is_the_nearest(
    split: Split, rating: float, leader: str
) -> None:
    found = shard_of(split, rating, leader)
    assert found in split.queues
    low, high = next(band for shard, band in split.bands.items() if shard_queue("duel", shard) == found)
    holding = [band for band in split.bands.values() if band[0] <= rating <= band[1]]
    if holding:
        assert low <= rating <= high
    else:
        assert min(abs(rating - low), abs(rating - high)) == min(
            abs(rating - edge) for band in split.bands.values() for edge in band
        )


@given(bands(), st.lists(st.tuples(ratings, names), max_size=20), st.randoms(use_true_random=False))
def test_a_ticket_has_the_same_shard_whoever_comes_before_it(
    split: Split, tickets: list[tuple[float, str]], chance: Any
) -> None:
    first = {ticket: shard_of(split, *ticket) for ticket in tickets}
    chance.shuffle(tickets)
    assert {ticket: shard_of(split, *ticket) for ticket in tickets} == first


def test_an_overlap_is_shared_out_evenly() -> None:
    found = [shard_of(BANDS, 1550.0, f"player-{n}") for n in range(2_000)]
    assert 900 < found.count("duel-low") < 1_100


@given(st.sampled_from(["eu-west", "eu-east", "us"]), names)
def test_a_value_goes_to_the_shard_that_names_it(region: str, leader: str) -> None:
    assert shard_of(REGIONS, region, leader) == ("duel-us" if region == "us" else "duel-eu")


@given(st.none() | st.text(max_size=10).filter(lambda text: text not in ("eu-west", "eu-east", "us")), names)
def test_other_values_are_refused_with_those_that_are_known_or_go_where_the_rest_goes(
    value: str | None, leader: str
) -> None:
    assert shard_of(REGIONS, value, leader) is None
    assert why_none(REGIONS, value).endswith("use eu-west, eu-east, us")
    rest = Split("duel", "region", REGIONS.values, rest="us")
    assert shard_of(rest, value, leader) == "duel-us"


def test_attributes_that_are_no_texts_are_compared_as_json_writes_them() -> None:
    split = Split("duel", "attributes.ranked", {"yes": ("true", "1"), "no": ("false",)})
    assert split.attribute == "ranked"
    assert [shard_of(split, value, "ann") for value in (True, 1, False, "true", 1.5)] == [
        *("duel-yes", "duel-yes", "duel-no", "duel-yes"),
        None,
    ]


@pytest.mark.parametrize(
    ("party", "rating"),
    [
        (PartySpec(), 1500.0),
        (PartySpec(rating="mean", premade_bonus=10.0), 1510.0),
        (PartySpec(rating="max"), 1600.0),
        (PartySpec(rating="sum"), 3000.0),
    ],
)
def test_a_party_counts_as_its_queue_says(party: PartySpec, rating: float) -> None:
    assert party_rating([1400.0, 1600.0], party) == rating
    assert party_rating([1400.0], party) == 1400.0


# -- the table ---------------------------------------------------------------------------------------------------------

TEXT = """
[queues.duel]
wave = { every_s = 2 }

[queues.team5]
format = { teams = 2, size = 5 }

[shards.duel]
by = "region"
eu = ["eu-west", "eu-east"]
us = ["us"]
rest = "eu"
"""


def test_shards_take_the_place_of_their_queue_with_its_rules_and_a_lane_each(tmp_path: Path) -> None:
    path = tmp_path / "queues.toml"
    path.write_text(TEXT)
    specs = config.load(path)
    assert [spec.name for spec in specs] == ["duel-eu", "duel-us", "team5"]
    assert [spec.wave.every_s for spec in specs] == [2.0, 2.0, 1.0]
    assert config.shards_of(path) == {"duel": Split("duel", "region", REGIONS.values, rest="eu")}
    assert config.lanes_of(path) == {"duel-eu": "duel-eu", "duel-us": "duel-us"}
    path.write_text(TEXT + '[lanes]\nwest = ["duel-us", "team5"]\n')
    config.load(path)
    assert config.lanes_of(path) == {"duel-eu": "duel-eu", "duel-us": "west", "team5": "west"}


def test_bands_are_read_as_numbers(tmp_path: Path) -> None:
    path = tmp_path / "queues.toml"
    path.write_text('[queues.duel]\n[shards.duel]\nby = "rating"\nlow = [0, 1600]\nhigh = [1500, 4000.0]\n')
    config.load(path)
    assert config.shards_of(path) == {"duel": BANDS}
    assert str(BANDS) == "duel is split by rating: duel-low takes 0 to 1600; duel-high takes 1500 to 4000"


def test_check_shows_shards_as_queues_and_what_each_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "queues.toml"
    path.write_text(TEXT)
    check(path)
    shown = " ".join(capsys.readouterr().out.split())
    assert "duel is split by region: duel-eu takes eu-west, eu-east; duel-us takes us; all others go to" in shown
    assert "3 queues, no mistakes" in shown


def told(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        config.parse(text, "q")
    return str(caught.value).split("\n")


@pytest.mark.parametrize(
    ("table", "line", "said"),
    [
        ("shards = 3", 1, "shards: this is not a table"),
        ("[shards]\nduel = 3", 2, "shards.duel: this is not a table: write [shards.duel]"),
        ('[shards.nope]\nby = "region"\na = ["x"]\nb = ["y"]', 1, "there is no queue 'nope' in this file: use duel"),
        ('[shards.duel]\na = ["x"]\nb = ["y"]', 1, 'it does not say what the queue is split by: write by = "region"'),
        ('[shards.duel]\nby = "ping"\na = ["x"]\nb = ["y"]', 2, "cannot be split by 'ping'"),
        ('[shards.duel]\nby = "attributes."\na = ["x"]\nb = ["y"]', 2, "cannot be split by 'attributes.'"),
        ('[shards.duel]\nby = "region"', 1, "there is no shard: name two or more"),
        ('[shards.duel]\nby = "region"\na = ["x"]', 1, "there is one shard only: name two or more"),
        ('[shards.duel]\nby = "region"\na = ["x"]\nb = []', 4, "the shard takes no value"),
        ('[shards.duel]\nby = "region"\na = ["x"]\nb = [""]', 4, "a value is empty"),
        ('[shards.duel]\nby = "region"\na = ["x"]\nb = ["x"]', 4, "the value 'x' stands in the shard a too"),
        ('[shards.duel]\nby = "region"\na = ["x"]\nb = "y"', 4, "this is not a list of the values"),
        ('[shards.duel]\nby = "region"\na = ["x"]\nb = ["y"]\nrest = "c"', 5, "'c' is no shard of duel: use a, b"),
        ('[shards.duel]\nby = "region"\na = ["x"]\n"B" = ["y"]', 4, "'duel-B', which cannot name one"),
        ('[shards.duel]\nby = "region"\na = ["x"]\nthere = ["y"]', 4, "duel-there, which this file has already"),
        ('[shards.duel]\nby = "rating"\na = [0, 1]\nb = [2, 3]', 4, "nobody takes ratings from 1 to 2"),
        ('[shards.duel]\nby = "rating"\na = [0, 1]\nb = [3, 1]', 4, "the band's ends stand the wrong way round"),
        (
            '[shards.duel]\nby = "rating"\na = [1000, 0]\nb = [1, 2]',
            3,
            "lowest rating first, then the highest, such as",
        ),
        ('[shards.duel]\nby = "rating"\na = [1000, 0]\nb = [1, 2]', 3, "a = [0, 1000]"),
        ('[shards.duel]\nby = "rating"\na = [0, 1]\nb = [1, 1]', 4, "the band's ends are the same"),
        ('[shards.duel]\nby = "rating"\na = [0, 1]\nb = [1, inf]', 4, "this is not a band of ratings"),
        ('[shards.duel]\nby = "rating"\na = [0, 1]\nb = ["x"]', 4, "this is not a band of ratings"),
        ('[shards.duel]\nby = "rating"\na = [0, 1]\nb = [1, 2]\nrest = "a"', 5, "leave rest out"),
        ('[shards.rated]\nby = "rating"\na = [0, 1]\nb = [1, 2]', 2, "rated keeps ratings"),
        ('[shards.sided]\nby = "rating"\na = [0, 1]\nb = [1, 2]', 2, "players of sided have a rating for each side"),
        ('[shards.duel]\nby = "region"\na = ["x"]\nb = ["y"]\n[lanes]\nz = ["duel"]', 6, "is split: name its shards"),
        ('[shards.ladder]\nby = "region"\na = ["x"]\nb = ["y"]', 1, "share the ladder 'one': put both into the same"),
    ],
)
def test_a_mistake_says_where_it_is_and_what_would_be_right(table: str, line: int, said: str) -> None:
    queues = (
        "[queues.duel]\n[queues.duel-there]\n[queues.rated]\nrating = {}\n[queues.ladder]\n"
        "rating = { ladder = 'one' }\n[queues.sided]\nmatcher = { name = 'even', sides = ['a', 'b'] }\n"
    )
    (found,) = told(f"{table}\n{queues}")
    assert said in found
    assert found.startswith(f"q:{line}: ") or "share the ladder" in found


def test_a_rated_queue_is_split_by_region_with_a_ladder_for_each_shard() -> None:
    specs = config.parse(TEXT.replace("wave = { every_s = 2 }", "rating = {}"), "q")
    assert [spec.rating.ladder for spec in specs if spec.rating] == ["", ""]  # each its own


scraps: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.integers(-5, 5) | st.floats() | st.sampled_from(["", "region", "rating", "a", "attributes.x"]),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(["by", "rest", "a", "b", "c", "A B", ""]), scraps, max_size=5))
def test_no_table_brings_anything_but_a_split_or_a_config_error(table: dict[str, Any]) -> None:
    text = tomli_w.dumps({"queues": {"duel": {}}, "shards": {"duel": table}})
    found: list[str] = []
    try:
        assert len(config.parse(text, "q")) >= 2
    except ConfigError as error:
        found = str(error).split("\n")
    assert all(line.startswith("q:") for line in found)
