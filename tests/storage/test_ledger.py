"""The ledger: SQLite, PostgreSQL and the twin in memory give the same answers, older files get its tables, large ones
stay fast."""

import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenmatch.domain import events as ev
from evenmatch.domain.arrays import numbers
from evenmatch.domain.events import Resumed
from evenmatch.domain.rating import Rating, Season
from evenmatch.errors import JournalDamaged, JournalError
from evenmatch.recovery import verify
from evenmatch.storage import sqlite_ledger
from evenmatch.storage.ledger import Entries, Place, Result
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.postgres import PostgresJournal
from evenmatch.storage.protocol import Commit
from evenmatch.storage.sqlite import SqliteJournal
from tests import postgres

GOLDEN = Path(__file__).parent.parent / "golden"
LADDERS = ["duel", "duel/bw", "duel-x", "duel0", "duels", "other"]
RATINGS = st.sampled_from(
    [
        Rating(1500.0, 100.0, 0.06, 3, 5),
        Rating(1700.25, 200.125, 0.0, 2, 0),
        Rating(-3.5, 0.0, 0.0, 9, 2**50),
        Rating(1e6, 1e3, 1.0, 0, 1),
        Rating(1300.0, 0.0, 0.06, 4, 6),
        Rating(1 / 3, 10 / 3, 0.1, 3, 7),
    ]
)
PLACES = st.tuples(st.integers(1, 4), st.sampled_from(LADDERS))


def result(match: int, ladder: str, ratings: list[Rating], sided: bool, void: bool) -> Result:
    sequence = 5 * match  # every result has one of its own
    return Result(
        match=match,
        sequence=sequence,
        queue="duel",
        ladder=ladder.partition("/")[0],
        at_ms=sequence * 7,
        told=[{"rank": 1.0}, {"rank": 2.0}],
        rank=[0, 1],
        leavers=[2],
        player=[1, 2],
        team=[0, 1],
        sides=["bw", "sc2"] if sided else [],
        before=ratings[:2],
        after=ratings[2:],
        odds=[0.25, 0.75],
        season=3,
        void=void,
    )


RESULTS = st.builds(
    result,
    st.integers(1, 6),
    st.sampled_from(LADDERS),
    st.lists(RATINGS, min_size=4, max_size=4),
    st.booleans(),
    st.booleans(),
)
SEASONS = st.builds(
    Season,
    st.integers(2, 4),
    st.integers(1, 99),
    st.just(7),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([1500.0, -0.1]),
    st.sampled_from([0.0, 150.0]),
    st.just(500.0),
)
ENTRIES = st.builds(
    Entries,
    st.lists(st.tuples(st.sampled_from(["duel", "other"]), SEASONS), max_size=2),
    st.lists(RESULTS, max_size=3, unique_by=lambda one: one.match),
    st.lists(st.tuples(PLACES, RATINGS), max_size=4, unique_by=lambda one: one[0]),
    st.lists(
        st.tuples(st.sampled_from(["duel", "long"]), st.fixed_dictionaries({"games": st.integers(0, 9)})), max_size=2
    ),
)


def answers(ledger: Any) -> list[Any]:
    """Everything that can be asked."""
    places: list[Place] = [(player, ladder) for player in range(1, 5) for ladder in LADDERS]
    return [
        [ledger.result(match) for match in range(1, 8)],
        [list(ledger.results_from(ladder, 9)) for ladder in LADDERS],
        ledger.ratings(places),
        [ledger.ratings_of(player) for player in range(1, 5)],
        [
            ledger.history(player, ladder, limit)
            for player in (1, 2, 3)
            for ladder in (None, "duel")
            for limit in (1, 50)
        ],
        [ledger.leaders(ladder, 3, limit, offset) for ladder in LADDERS for limit, offset in ((100, 0), (2, 1))],
        [ledger.seasons(ladder) for ladder in LADDERS],
        ledger.predictions(),
    ]


@pytest.mark.parametrize("many", [0, 20_000])
@settings(max_examples=settings().max_examples // 3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(commits=st.lists(ENTRIES, min_size=1, max_size=5))
def test_all_ledgers_give_the_same_answers(monkeypatch: pytest.MonkeyPatch, many: int, commits: list[Entries]) -> None:
    """`many`: from so many ratings on, a season makes the index anew."""
    monkeypatch.setattr(sqlite_ledger, "_MANY", many)
    with (
        tempfile.TemporaryDirectory() as folder,
        SqliteJournal(Path(folder) / "journal.db") as sqlite,
        PostgresJournal(postgres.cleared(), "the database") as database,
    ):
        memory = MemoryJournal()
        for entries in commits:
            refused = []
            for journal in (memory, sqlite, database):
                try:
                    journal.append(Commit(journal.last + 1, 0, [Resumed(1, 1)], entries=entries))
                    refused.append(False)
                except JournalError:
                    refused.append(True)
            assert refused in ([False] * 3, [True] * 3)
        assert memory.last == sqlite.last == database.last
        assert answers(memory.ledger) == answers(sqlite.ledger) == answers(database.ledger)


def test_a_commit_that_fails_leaves_no_entries(tmp_path: Path) -> None:
    entries = Entries(ratings=[((1, "duel"), Rating(1500.0, 100.0, 0.0))])
    with SqliteJournal(tmp_path / "journal.db") as sqlite:
        for journal in (MemoryJournal(), sqlite):
            with pytest.raises(JournalError):
                journal.append(Commit(1, 0, [Resumed(1, 1)], names=[(1, "a"), (1, "b")], entries=entries))
            assert journal.ledger.ratings([(1, "duel")]) == {}


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.evm")), ids=lambda path: path.stem)
def test_an_older_journal_gets_the_tables_when_it_is_opened_to_write(golden: Path, tmp_path: Path) -> None:
    path = tmp_path / golden.name
    shutil.copy(golden, path)
    with sqlite3.connect(path) as db:
        for table in ("results", "ratings", "rating_history", "seasons", "predictions"):
            db.execute(f"DROP TABLE IF EXISTS {table}")
    with SqliteJournal(path, read_only=True) as journal:
        before = journal.last
    with SqliteJournal(path) as journal:
        assert journal.ledger.result(1) is None
        entries = Entries(ratings=[((1, "duel"), Rating(1500.0, 100.0, 0.0))])
        journal.append(Commit(before + 1, 0, [Resumed(1, 1)], entries=entries))
        assert len(journal.ledger.ratings([(1, "duel")])) == 1


def test_a_damaged_result_is_called_damage(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with SqliteJournal(path) as journal:
        one = result(1, "duel", [Rating(1.0, 1.0, 0.0)] * 4, False, False)
        journal.append(Commit(1, 0, [Resumed(1, 1)], entries=Entries(results=[one], predictions=[("duel", {})])))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE results SET body = '{'")
        db.execute("UPDATE predictions SET body = '{'")
    with SqliteJournal(path) as journal:
        with pytest.raises(JournalDamaged, match="a result cannot be read"):
            journal.ledger.result(1)
        with pytest.raises(JournalDamaged, match="predictions cannot be read"):
            journal.ledger.predictions()


def test_verify_holds_results_against_their_events(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    none = np.empty((0, 3))
    told = ev.ResultReported(
        0, "duel", 1, "duel", numbers([0, 1]), numbers([]), numbers([1, 2]), numbers([0, 1]), none, none
    )
    one = msgspec.structs.replace(result(1, "duel", [Rating(1.0, 1.0, 0.0)] * 4, False, False), sequence=1)
    with SqliteJournal(path) as journal:
        journal.append(Commit(1, 0, [told], entries=Entries(results=[one])))
        assert verify(journal).unrecorded == 0
        for other in ({"rank": [1, 0]}, {"sequence": 2}, {"player": [2, 1]}):
            wrong = msgspec.structs.replace(one, **other)
            journal.append(Commit(journal.last + 1, 0, [Resumed(0, 0)], entries=Entries(results=[wrong])))
            with pytest.raises(JournalDamaged, match=r"its event|than its result"):
                verify(journal)
        corrected = msgspec.structs.replace(one, rank=[1, 0], corrections=1)
        journal.append(Commit(journal.last + 1, 0, [Resumed(0, 0)], entries=Entries(results=[corrected])))
        assert verify(journal).unrecorded == 0
        journal._db.execute("DELETE FROM results")
        assert verify(journal).unrecorded == 1


def test_a_leaderboard_is_read_off_its_index_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    SqliteJournal(path).close()
    sql = "SELECT player, mu, sigma, games FROM ratings WHERE ladder = ? AND games >= ? ORDER BY sure DESC, player"
    with sqlite3.connect(path) as db:
        plan = " ".join(str(row) for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", ("duel", 3)))
    assert "COVERING INDEX ratings_in_order" in plan
    assert "TEMP B-TREE" not in plan
