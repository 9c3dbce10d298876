"""`evenmatch bench cluster`: real processes on a real PostgreSQL, an owner killed, and an account that can fail."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from evenmatch.bench.cluster import measure
from evenmatch.bench.cluster_journal import Account, ends, matched_between
from evenmatch.bench.cluster_processes import QUEUES, lane_of_queue, write_queues
from evenmatch.config import lanes_of, load
from evenmatch.domain import events as ev
from evenmatch.domain.arrays import numbers
from evenmatch.errors import ConfigError
from evenmatch.storage.codec import SCHEMA, encode_events


def joined(first: int, *players: int) -> ev.TicketsJoined:
    """Tickets of one player each."""
    nothing = np.empty(0, np.int32)
    return ev.TicketsJoined(
        0, "q1", first, np.ones(len(players), np.int16), numbers(players), {}, ("{}",), nothing, nothing
    )


def wave(*rosters: tuple[int, int]) -> ev.WaveFinished:
    """Matches of two tickets each."""
    roster = np.array(rosters, np.int64).reshape(-1, 2)
    count = len(rosters)
    return ev.WaveFinished(
        at_ms=0,
        queue="q1",
        wave=1,
        seed=0,
        started_ms=0,
        digest=0,
        waiting=2 * count,
        dropped=0,
        first_proposal=1,
        roster=roster,
        team_of=np.zeros(roster.shape, np.int8),
        cost=np.zeros(count),
        quality=np.zeros(count),
        previous=np.zeros(roster.shape, np.int64),
        snapshot_sequence=0,
        deadline_ms=0,
        ends_ms=0,
    )


def written(path: Path, commits: Iterable[list[ev.Event]]) -> str:
    """A file with these commits, as far as the account looks."""
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE commits (first_sequence INTEGER, last_sequence INTEGER, schema INTEGER, body BLOB)")
        sequence = 0
        for events in commits:
            last = sequence + len(events)
            db.execute("INSERT INTO commits VALUES (?, ?, ?, ?)", (sequence + 1, last, SCHEMA, encode_events(events)))
            sequence = last
    return str(path)


def test_an_account_finds_what_is_whole(tmp_path: Path) -> None:
    db = written(tmp_path / "journal.db", [[joined(1, 11, 12, 13)], [wave((1, 2))], [joined(4, 14), wave((3, 4))]])
    account = Account(db)
    assert (account.tickets, account.matched, account.doubled) == ({1, 2, 3, 4}, 4, 0)
    assert ends(db) == {1: 4}
    assert matched_between(db, {1: 0}, {1: 4}) == 4
    assert matched_between(db, {1: 2}, {1: 4}) == 2


def test_an_account_finds_tickets_in_two_matches_and_players_with_two_tickets(tmp_path: Path) -> None:
    db = written(tmp_path / "journal.db", [[joined(1, 11, 12, 11)], [wave((1, 2))], [wave((2, 3))]])
    assert Account(db).doubled == 2


def test_every_queue_of_the_bench_has_a_lane_of_its_own(tmp_path: Path) -> None:
    path = write_queues(tmp_path)
    assert [spec.name for spec in load(path)] == list(QUEUES)
    lanes = lanes_of(path)
    assert {name: lanes.get(name, "main") for name in QUEUES} == {name: lane_of_queue(name) for name in QUEUES}
    assert len({lane_of_queue(name) for name in QUEUES}) == len(QUEUES)


@pytest.mark.parametrize(
    ("seconds", "workers", "db"),
    [(0.1, (2,), None), (5.0, (), None), (5.0, (1,), None), (5.0, (2, 3), None), (5.0, (2,), "journal.db")],
)
def test_what_cannot_be_measured_is_refused_before_anything_starts(
    seconds: float, workers: tuple[int, ...], db: str | None
) -> None:
    with pytest.raises(ConfigError, match=r"give 0\.5 to 60 seconds|is not a database"):
        measure(seconds, db, workers)


@pytest.mark.slow
def test_a_cluster_is_measured_and_nothing_is_lost_with_its_owner() -> None:
    told: list[str] = []
    found = measure(0.5, None, (2,), lambda what, done, steps: told.append(f"{done}/{steps} {what}"))
    assert told == ["1/3 2 workers, and an owner is killed", "2/3 bare INSERTs", "3/3 SQLite"]
    assert (found["lost"], found["doubled"]) == (0, 0)
    assert found["acknowledged"] > 0
    assert 0 < found["takeover_s"] <= found["takeover_all_s"]
    assert len(found["lanes_taken_over"]) == 2
    for one in (found["workers"]["2"], found["sqlite"]):
        assert one["matched_per_s"] > 0
        assert one["join_p99_ms"] >= one["join_p50_ms"] > 0
    assert found["workers"]["2"]["cpu_us_per_player"].keys() == {"api", "workers", "postgres", "load"}
    assert found["bare_insert_per_s"] > 0
    assert found["bare_insert"]["rows"]["tickets"] > 0
