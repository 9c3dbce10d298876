"""The world: one seed is one run, the same people come whoever matches them, and nothing is counted twice."""

import itertools
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.domain.ticket import Status
from evenmatch.lab import behaviour, people, traffic
from evenmatch.lab.agenda import Agenda, Kind
from evenmatch.lab.log import End, Log
from evenmatch.lab.measures import measured
from evenmatch.lab.people import People
from evenmatch.lab.population import Sessions
from evenmatch.lab.wire import PlainWire
from evenmatch.numerics.seeds import uniforms

from .small import crowd, lived

FOLDER = Path()


def plain(log: Log) -> dict[str, object]:
    tickets = {name: column.tolist() for name, column in vars(log.tickets).items() if isinstance(column, np.ndarray)}
    return {"tickets": tickets, "matches": {name: log.matches.column(name).tolist() for name in log.matches.chunks}}


@pytest.mark.parametrize("matcher", ["even", "first_come", "ladder", "buckets", "epgc", "lom", "cinder"])
def test_one_seed_is_one_run_and_another_is_another(matcher: str) -> None:
    given = crowd()
    (one, first), (_, again), (_, other) = (lived(given, matcher, seed) for seed in (1, 1, 2))
    assert plain(first) == plain(again)
    assert first.state_hash == again.state_hash != other.state_hash
    assert measured(first, one.people, given) == measured(again, one.people, given)


def test_the_same_people_come_at_the_same_time_whoever_matches_them() -> None:
    given = crowd()
    logs = [lived(given, matcher)[1] for matcher in ("first_come", "buckets")]
    firsts = []
    for log in logs:
        new = log.tickets.column("game") == 0
        who, when = log.tickets.column("session")[new], log.tickets.column("joined_ms")[new]
        firsts.append((who.tolist(), when.tolist()))
    assert firsts[0] == firsts[1]


def test_everybody_is_somewhere_and_in_one_match_at_a_time() -> None:
    world, log = lived(crowd(), "epgc", hours=1.0)
    end = log.tickets.column("end")
    seats = log.seats
    assert len(log.matches) > 20
    assert sorted(np.unique(seats.column("ticket")).tolist()) == (np.flatnonzero(end == End.MATCHED) + 1).tolist()
    assert len(np.unique(seats.column("ticket"))) == len(seats.column("ticket")), "a ticket is matched once"
    began = dict(zip(log.matches.column("match").tolist(), log.matches.column("at_ms").tolist(), strict=True))
    by_player: dict[int, list[int]] = {}
    for row, match in zip(seats.column("row").tolist(), seats.column("match").tolist(), strict=True):
        by_player.setdefault(row, []).append(began[match])
    for moments in by_player.values():
        assert all(later - earlier >= 1_000 for earlier, later in itertools.pairwise(moments))
    assert isinstance(world.wire, PlainWire)
    status = world.wire.engine.state.queues["epgc"].tickets.status
    for one, kept in ((End.WAITING, Status.WAITING), (End.PROPOSED, Status.PROPOSED)):
        assert int((end == one).sum()) == int((status == kept).sum())


def test_patience_stays_and_lengths_have_the_medians_that_were_asked_for() -> None:
    given = Sessions(games=4.0, patience_s=200.0, match_s=900.0, pause_s=30.0, answer_s=5.0, decline=0.1, lost=0.05)
    one = behaviour.Behaviour(given, 7)
    keys = np.arange(40_000) * behaviour.GAMES
    assert np.median(one.patience_ms(keys)) == pytest.approx(200_000, rel=0.03)
    assert np.median(one.match_ms(keys)) == pytest.approx(900_000, rel=0.03)
    assert one.pause_ms(keys).mean() == pytest.approx(30_000, rel=0.03)
    assert one.stays(keys).mean() == pytest.approx(0.75, abs=0.01)
    will, after = one.answers(keys, np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64))
    assert np.bincount(will) / len(will) == pytest.approx([0.85, 0.1, 0.05], abs=0.01)
    assert after.mean() == pytest.approx(5_000, rel=0.03)
    assert not one.stays(keys + behaviour.GAMES - 1).any(), "no session goes on for ever"


@given(st.integers(0, 2**63 - 1), st.lists(st.tuples(st.integers(0, 49), st.integers(0, 1_023)), max_size=30))
def test_what_is_drawn_ahead_is_what_would_be_drawn(seed: int, asked: list[tuple[int, int]]) -> None:
    ahead, direct = behaviour.Behaviour(Sessions(), seed, 50), behaviour.Behaviour(Sessions(), seed)
    keys = np.array([session * behaviour.GAMES + game for session, game in asked], np.int64)
    near = keys - keys % behaviour.GAMES + keys % 20  # most are in the tables
    for some in (keys, near):
        for name in ("patience_ms", "match_ms", "pause_ms", "stays"):
            assert getattr(ahead, name)(some).tolist() == getattr(direct, name)(some).tolist(), name


def test_results_of_many_matches_are_those_of_each() -> None:
    world, _ = lived(crowd("team5-small"), "epgc", hours=0.05)
    outcomes = world.outcomes
    random = np.random.default_rng(1)
    rows = np.stack([random.permutation(len(world.people))[:10] for _ in range(300)])
    team = np.stack([random.permutation(np.repeat([0, 1], 5)) for _ in range(300)])
    match = random.permutation(20_000)[:300]
    order, start, rank = outcomes.results(match, rows, team)
    noise = 400.0 / np.log(10.0)
    for place in range(300):
        sides = [rows[place][team[place] == side] for side in (0, 1)]
        drawn = uniforms(1, match[place] * 256 + np.arange(2), 30)
        mean = np.array([world.people.skill[side].mean() for side in sides])
        played = mean - noise * np.log(-np.log(drawn))
        assert order[10 * place : 10 * place + 10].tolist() == np.concatenate(sides).tolist()
        assert rank[place].tolist() == [int(played[0] < played[1]), int(played[1] < played[0])]
    assert start.tolist() == [0, 5, 10]


def test_a_step_rounds_times_and_nothing_is_lost() -> None:
    logs = [lived(crowd(), "buckets", step_ms=step_ms)[1] for step_ms in (100, 1_000, 5_000)]
    for log, step_ms in zip(logs, (100, 1_000, 5_000), strict=True):
        assert (log.tickets.column("joined_ms") % step_ms == 0).all()
        assert len(log.matches) > 20
    newcomers = [int((log.tickets.column("game") == 0).sum()) + log.skipped for log in logs]
    assert max(newcomers) - min(newcomers) <= 1, "but for one who comes at the very end"


def test_arrivals_follow_the_curve_the_bursts_and_the_cold_start() -> None:
    curve = tuple(float(hour % 2) for hour in range(24))
    given = crowd(arrivals={"sessions_a_day": 48_000.0, "curve": curve, "from_h": 0.0})
    at_h = traffic.draw(given, FOLDER, 3, 4.0).at_ms // 3_600_000
    counts = np.bincount(at_h, minlength=4)
    assert counts[[0, 2]].tolist() == [0, 0]
    assert counts[[1, 3]] == pytest.approx([4_000, 4_000], rel=0.08)
    flat = crowd(arrivals={"sessions_a_day": 48_000.0, "curve": (), "cold_start": False})
    first = traffic.draw(flat, FOLDER, 3, 1.0).at_ms < 60_000
    assert first.sum() == pytest.approx(2_000 + 33, rel=0.1)


def test_people_are_as_the_population_says() -> None:
    given = crowd("duel-large", skill={"kind": "log_normal", "mean": 1500.0, "spread": 400.0})
    found = people.draw(given, FOLDER, 5, 50_000)
    assert found.skill.mean() == pytest.approx(1500, rel=0.01)
    assert found.skill.std() == pytest.approx(400, rel=0.03)
    assert np.bincount(found.region) / len(found) == pytest.approx([0.45, 0.35, 0.2], abs=0.01)
    known = found.games > 0
    assert 1 - known.mean() == pytest.approx(0.05, abs=0.005)
    assert np.std((found.ratings.mu - found.skill)[known]) == pytest.approx(100, rel=0.03)
    assert set(found.ratings.mu[~known].tolist()) == {1500.0}
    assert (found.ping <= found.latency.min(axis=1) * 2).mean() > 0.99, "the own region is near"
    both = ~np.isnan(found.sides).any(axis=1)
    assert both.mean() == pytest.approx(0.3, abs=0.01)
    assert not np.isnan(found.sides).all(axis=1).any()


def test_ratings_come_closer_to_skill() -> None:
    given = crowd(ratings={"error": 300.0, "newcomers": 0.5}, sessions={"games": 30.0, "match_s": 60.0, "pause_s": 5.0})
    _, log = lived(given, "buckets", hours=2.0)
    assert log.ended_skill_error < log.started_skill_error


def test_an_agenda_rounds_up_keeps_order_and_forgets_what_is_too_late() -> None:
    agenda = Agenda(500, 2_000)
    agenda.add(Kind.JOINS, np.array([1, 500, 501, 1_900, 2_001]), np.array([10, 11, 12, 13, 14]))
    agenda.add(Kind.ENDS, np.array([1_000]), np.array([99]))
    found = [(at, [(kind, what.tolist()) for kind, what in due]) for at, due in agenda]
    assert found == [
        (500, [(Kind.JOINS, [10, 11])]),
        (1_000, [(Kind.ENDS, [99]), (Kind.JOINS, [12])]),
        (2_000, [(Kind.JOINS, [13])]),
    ]


def test_a_lobby_is_dealt_out_there_and_back_again() -> None:
    world, _ = lived(crowd("team5-small"), "epgc", hours=0.05)
    team = world.outcomes.teams(np.zeros((1, 10), np.int8), np.arange(10.0)[None, :])
    assert team[0].tolist() == [0, 1, 1, 0, 0, 1, 1, 0, 0, 1][::-1]


def test_the_stronger_win_as_often_as_the_curve_says() -> None:
    world, _ = lived(crowd(), hours=0.05)
    skill = world.people.skill.copy()
    skill[:2] = 1600.0, 1500.0
    changed = msgspec.structs.replace(world.people, skill=skill)
    assert isinstance(changed, People)
    world.outcomes._people = changed
    same = [np.broadcast_to(np.array(one), (20_000, 2)) for one in ([0, 1], [0, 1])]
    won = world.outcomes.results(np.arange(20_000), *same)[2][:, 0] == 0
    assert np.mean(won) == pytest.approx(1 / (1 + 10 ** (-100 / 400)), abs=0.01)
