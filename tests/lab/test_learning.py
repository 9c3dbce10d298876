"""Rating convergence, as it is told: those who play are rated better, newcomers the more matches they have had."""

import numpy as np

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


def test_latency_beyond_the_best_goes_by_the_regions_in_which_the_queue_has_servers() -> None:
    shares = {"eu": 0.5, "us": 0.5}
    given = crowd(regions={"shares": shares, "far_ms": {"eu": {"us": 90.0}}})
    world, _ = lived(given, "first_come", hours=0.1)
    people = world.people
    mixed = np.array([[int(np.flatnonzero(people.region == place)[0]) for place in (0, 1)]])
    from evenmatch import config

    (queue,) = config.parse('[queues.x]\nvenue = { regions = ["us"] }', "x")
    everywhere = Outcomes(given.game, for_matcher(given, "first_come"), people, 1).extra_ms(mixed)
    only_us = Outcomes(given.game, settled(given, queue), people, 1).extra_ms(mixed)
    plain = people.latency[mixed[0]]
    best = min(range(2), key=lambda place: plain[:, place].max())
    assert everywhere[0].tolist() == (plain[:, best] - plain.min(axis=1)).tolist()
    assert only_us[0].tolist() == (plain[:, 1] - plain.min(axis=1)).tolist()
