"""Measures as they are told: ratings that come nearer to skill, hours by the clock, latency by region."""

from pathlib import Path

import numpy as np

from evenmatch import config
from evenmatch.lab import people
from evenmatch.lab.measures import measured
from evenmatch.lab.outcomes import Outcomes
from evenmatch.lab.queues import for_matcher, settled

from .small import crowd, lived


def test_errors_of_ratings_are_those_of_the_world() -> None:
    given = crowd(ratings={"newcomers": 0.5, "error": 50.0}, arrivals={"sessions_a_day": 4_000.0})
    world, log = lived(given, "buckets", hours=2.0)
    told = measured(log, world.people, given)["rating_error"]
    skill, before = world.people.skill, world.people.ratings.mu
    played = world.games > world.people.games
    new = world.people.games == 0
    assert np.isclose(told["end"], np.abs(world.ratings.mu - skill).mean(), rtol=1e-4)
    assert np.isclose(told["played"]["start"], np.abs(before - skill)[played].mean(), rtol=1e-4)
    assert np.isclose(told["newcomers"]["0"], np.abs(before - skill)[new].mean(), rtol=1e-4)
    some = new & (world.games >= 3) & (world.games <= 5)
    assert np.isclose(told["newcomers"]["3-5"], np.abs(world.ratings.mu - skill)[some].mean(), rtol=1e-4)
    assert told["played"]["end"] < told["played"]["start"]
    assert told["newcomers"]["3-5"] < told["newcomers"]["0"]
    assert told["newcomers"]["21+"] is None


def test_hours_are_told_by_the_clock() -> None:
    given = crowd(arrivals={"from_h": 22.5})
    world, log = lived(given, hours=2.2)
    assert [part["name"] for part in measured(log, world.people, given)["by"]["hour"]] == ["22:30", "23:30", "00:30"]


def test_latency_is_told_by_region_too() -> None:
    given = crowd("duel-large", arrivals={"sessions_a_day": 20_000.0})
    world, log = lived(given, hours=0.2)
    told = measured(log, world.people, given)
    region = log.tickets.column("region")[log.seats.column("ticket") - 1]
    extra_ms = log.seats.column("extra_ms")
    assert len(told["by"]["region"]) == len(world.people.regions) > 1
    for place, part in enumerate(told["by"]["region"]):
        assert np.isclose(part["latency_extra_ms"]["mean"], extra_ms[region == place].mean(), rtol=1e-4)
    assert extra_ms.max() > 0


def test_newcomers_begin_at_the_mean_of_all_or_where_the_population_says(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("rating\n900\n1000\n1100\n")
    skill: dict[str, object] = {"kind": "csv", "file": "r.csv", "column": "rating"}
    for start, begun in ((None, 1000.0), (800.0, 800.0)):
        found = people.draw(crowd(skill=skill, ratings={"newcomers": 1.0, "start": start}), tmp_path, 1, 50)
        assert (found.ratings.mu == begun).all()
    assert (people.draw(crowd(ratings={"newcomers": 1.0}), tmp_path, 1, 5).ratings.mu == 1500.0).all()


def test_latency_beyond_the_best_goes_by_the_regions_in_which_the_queue_has_servers() -> None:
    shares = {"eu": 0.5, "us": 0.5}
    given = crowd(regions={"shares": shares, "far_ms": {"eu": {"us": 90.0}}})
    world, _ = lived(given, "first_come", hours=0.1)
    crowded = world.people
    mixed = np.array([[int(np.flatnonzero(crowded.region == place)[0]) for place in (0, 1)]])
    (queue,) = config.parse('[queues.x]\nvenue = { regions = ["us"] }', "x")
    everywhere = Outcomes(given.game, for_matcher(given, "first_come"), crowded, 1).extra_ms(mixed)
    only_us = Outcomes(given.game, settled(given, queue), crowded, 1).extra_ms(mixed)
    plain = crowded.latency[mixed[0]]
    best = min(range(2), key=lambda place: plain[:, place].max())
    assert everywhere[0].tolist() == (plain[:, best] - plain.min(axis=1)).tolist()
    assert only_us[0].tolist() == (plain[:, 1] - plain.min(axis=1)).tolist()
