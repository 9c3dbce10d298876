"""A queue that is split, in the lab: everybody plays within a shard, and a file is compared under its queue's name."""

from pathlib import Path

import numpy as np
import pytest

from evenmatch import config
from evenmatch.domain.shards import Split
from evenmatch.lab import people, queues, traffic
from evenmatch.lab.comparing import compare
from evenmatch.lab.world import World

from .small import crowd

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "shards"
HOURS = 0.5
BANDS = Split("first-come", "rating", bands={"low": (0.0, 1500.0), "high": (1500.0, 4000.0)})
SOME = Split("first-come", "region", {"eu": ("eu",), "us": ("us",)})


def run(split: Split, name: str = "duel-small") -> World:
    given = crowd(name)
    folk = people.draw(given, Path(), 1, traffic.crowd(given))
    coming = traffic.draw(given, Path(), 1, HOURS)
    world = World(queues.for_matcher(given, "first_come"), given, folk, coming, 1, HOURS, split=split)
    world.run()
    return world


def test_nobody_meets_anybody_of_another_band() -> None:
    log = run(BANDS).log
    rating = log.tickets.column("rating")[log.seats.column("ticket") - 1]
    match = log.seats.column("match")
    side = np.sign(rating - 1500.0)[np.argsort(match, kind="stable")].reshape(-1, 2)  # 0: newcomers, in either band
    assert len(side) > 20
    assert {-1, 1} <= set(side.ravel().tolist())
    assert (side.prod(axis=1) >= 0).all()


def test_who_has_no_shard_is_turned_away_and_all_others_play_within_their_region() -> None:
    world = run(SOME, "duel-large")
    log, regions = world.log, world.people.regions
    assert log.refused["no_shard"] > 0
    played = log.tickets.column("region")[log.seats.column("ticket") - 1]
    assert {regions[place] for place in set(played.tolist())} == {"eu", "us"}
    match = log.seats.column("match")
    order = np.argsort(match, kind="stable")
    pairs = played[order].reshape(-1, 2)
    assert (pairs[:, 0] == pairs[:, 1]).all()


def test_a_file_with_a_split_is_one_row_under_the_name_of_its_queue() -> None:
    files = [EXAMPLES / "whole.toml", EXAMPLES / "two-bands.toml"]
    found = compare("duel-small", queues=files, hours=0.1, seeds=1, workers=1)
    assert [row.name for row in found.rows] == ["whole:duel", "two-bands:duel"]
    assert found.rows[0].setting == "its defaults"
    assert found.rows[1].setting.endswith("duel-low takes 0 to 1500; duel-high takes 1500 to 4000")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_examples_are_right(path: Path) -> None:
    opened = [spec.name for spec in config.load(path)]
    shards = [queue for split in config.shards_of(path).values() for queue in split.queues]
    assert opened == (shards or ["duel"])
    assert bool(shards) == (path.stem != "whole")
