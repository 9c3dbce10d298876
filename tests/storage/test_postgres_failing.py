"""The journal in PostgreSQL when the database is silent, left behind, in doubt, or not alone at the other end."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from evenmatch.drill.proxy import Proxy
from evenmatch.errors import JournalDamaged, JournalError, JournalStale, JournalUnavailable, JournalUnsure
from evenmatch.recovery import verify
from evenmatch.storage import archives, postgres_line, postgres_whole
from evenmatch.storage.memory import CHECKPOINTS_KEPT
from evenmatch.storage.postgres import PostgresJournal
from evenmatch.storage.protocol import Checkpoint, Store
from evenmatch.storage.pruning import Pruned
from evenmatch.storage.sqlite import SqliteJournal
from tests import postgres
from tests.postgres import bare

from .test_postgres import contents, opened, resumed


@pytest.fixture
def url() -> str:
    """A database without a journal."""
    return postgres.cleared()


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence ends after half a second."""
    monkeypatch.setattr(postgres_line.Line.__init__, "__defaults__", (lambda _: None, 0.5))


@pytest.mark.usefixtures("_impatient")
def test_a_database_that_is_silent_is_given_up_and_found_again(url: str) -> None:
    with Proxy("127.0.0.1", postgres.port_of(url)) as proxy, opened(postgres.at_port(url, proxy.port)) as journal:
        journal.append(resumed(1))
        with proxy.hole():
            with pytest.raises(JournalUnsure, match=r"no answer for 0\.5 s"):
                journal.append(resumed(2, names=[(1, "ann")]))
            with pytest.raises(JournalUnavailable, match="cannot be reached"):  # the answer of the first attempt
                journal.append(resumed(2, names=[(1, "ann")]))
        for _ in range(1_000):
            with contextlib.suppress(JournalUnavailable):
                journal.append(resumed(journal.last + 1, names=[(journal.last + 1, "ben")]))
                break
            threading.Event().wait(0.01)
        assert "ben" in journal.names_of([2, 3]).values()
        assert verify(journal).events == journal.last


def test_work_on_whole_tables_may_take_longer(url: str) -> None:
    with contextlib.closing(postgres_line.connect(url, "the database", 0.2)) as db:
        with db.patient():
            db.execute("SELECT pg_sleep(1)")
        with pytest.raises(psycopg.OperationalError, match="no answer"):
            db.execute("SELECT pg_sleep(60)")
        assert db.closed


def test_a_server_on_an_older_timeline_than_was_seen_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(url) as journal:
        journal.append(resumed(1))
        with contextlib.closing(postgres_line.connect(url, "the database")) as db:
            row = db.execute("SELECT system_identifier FROM pg_control_system()").fetchone()
            assert row is not None
            assert db.timeline >= 1
        monkeypatch.setitem(postgres_line._timelines, (url, row[0]), db.timeline + 1)
        with pytest.raises(JournalUnavailable, match="left behind"):
            opened(url, read_only=True)


def test_an_owner_that_finds_a_new_primary_takes_its_lease_anew(url: str) -> None:
    with opened(url) as journal:
        journal.append(resumed(1))
        keeper = journal._keeper
        assert keeper is not None
        keeper._timeline -= 1  # as if the database were on a later one by now
        with contextlib.closing(postgres_line.connect(url, "the database")) as db:
            assert keeper.confirm(db) == 1
            assert journal.fence == 2
            assert keeper.confirm(db) == 1
            assert journal.fence == 2
            keeper.fence, keeper._timeline = 1, keeper._timeline - 1  # the answer to the last one was lost
            assert keeper.confirm(db) == 1
            assert journal.fence == 2
            journal.append(resumed(2))
            keeper._timeline -= 1
            bare(url, "UPDATE evenmatch.leases SET fence = 3, holder = 'another'")
            with pytest.raises(JournalStale, match="another"):
                keeper.confirm(db)
    assert bare(url, "SELECT fence FROM evenmatch.commits ORDER BY first_sequence") == [(1,), (2,)]


@pytest.fixture
def followed() -> Iterator[tuple[postgres.Server, postgres.Server]]:
    """A primary and its synchronous standby."""
    with postgres.running() as primary, postgres.running(primary) as standby:
        postgres.wait_for_standby(primary)
        yield primary, standby


def test_a_commit_whose_wait_for_the_standby_was_ended_is_not_called_done(
    followed: tuple[postgres.Server, postgres.Server],
) -> None:
    primary, standby = followed
    with opened(primary.url) as journal:
        journal.append(resumed(1))
        standby.send(signal.SIGSTOP)

        def end_the_wait() -> None:
            waiting = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            while not bare(primary.url, waiting):
                pass

        ending = threading.Thread(target=end_the_wait)
        ending.start()
        with pytest.raises(JournalUnsure, match="warned of this commit"):
            journal.append(resumed(2))
        ending.join()
        standby.send(signal.SIGCONT)
        assert journal.last == 2
        journal.append(resumed(3))


# Not alone at the other end.


def test_a_pooler_that_changes_sessions_is_found_out(url: str) -> None:
    with opened(url) as journal:
        keeper = journal._keeper
        assert keeper is not None
        with keeper._line.use() as db:
            db.backend += 1
        with pytest.raises(JournalUnavailable, match="Let it work by session"):
            keeper._renew()
        with journal._line.use() as db:
            db.execute("RESET search_path")
        with pytest.raises(JournalDamaged, match="let it work by session"):
            journal.append(resumed(1))


@pytest.mark.parametrize("column", ["last", "fence"])
def test_a_lease_that_is_edited_under_its_owner_is_told_and_nothing_is_written(url: str, column: str) -> None:
    with opened(url) as journal:
        journal.append(resumed(1))
        bare(url, f"UPDATE evenmatch.leases SET {column} = 7")
        before = contents(url)
        said = "Somebody edited" if column == "last" else "taken the database over"
        with pytest.raises(JournalError, match=said):
            journal.append(resumed(2))
        assert len(contents(url)) == len(before)


# Archives and old records.


def test_an_archive_beside_an_owner_that_saves_checkpoints_meanwhile_leaves_one_to_begin_at(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = archives.keep
    for journal, module in ((opened(url), postgres_whole), (SqliteJournal(tmp_path / "journal.db"), None)):
        assert module is None or module.archives is archives
        with journal:
            _write(journal, 1, CHECKPOINTS_KEPT)
            calls: list[int] = []

            def meanwhile(*given: Any, owner: Store = journal, calls: list[int] = calls) -> None:
                keep(*given)
                if not calls:
                    _write(owner, owner.last + 1, CHECKPOINTS_KEPT)
                calls.append(1)

            with monkeypatch.context() as busy:
                busy.setattr(archives, "keep", meanwhile)
                assert journal.archive(tmp_path / f"{type(journal).__name__}.evm") > CHECKPOINTS_KEPT
            assert len(calls) == 2
            saved = [checkpoint.sequence for checkpoint in journal.checkpoints()]
            assert journal.oldest - 1 == saved[0]


def _write(journal: Store, first: int, checkpoints: int) -> None:
    for number in range(first, first + checkpoints):
        journal.append(resumed(number))
        journal.save_checkpoint(Checkpoint(number, "", b"x"))


def _filled(journal: PostgresJournal | SqliteJournal) -> None:
    tickets = [(number, {"joined_ms": number * 10, "players": []}) for number in range(1, 2_501)]
    matches = [(number, {"made_ms": number * 20, "teams": []}) for number in range(1, 1_251)]
    attributes = [(number, {"hat": "red"}) for number in (1, 2, 2_500)]
    journal.append(resumed(1, tickets=tickets, matches=matches, attributes=attributes))


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_old_records_are_dropped_and_the_rest_stays(url: str, tmp_path: Path, store: str) -> None:
    path = tmp_path / "journal.db"
    owner: Store = SqliteJournal(path) if store == "sqlite" else opened(url)
    with owner as journal:
        assert isinstance(journal, PostgresJournal | SqliteJournal)
        _filled(journal)
        beside: Store = SqliteJournal(path, own=False) if store == "sqlite" else opened(url, own=False)
        with beside as other:
            assert other.prune(12_345) == Pruned(tickets=1_234, matches=617)
            assert other.prune(12_345) == Pruned(0, 0)
        assert journal.finished_ticket(1_234) is None
        assert journal.finished_ticket(1_235) == {"joined_ms": 12_350, "players": []}
        assert journal.finished_match(617) is None
        assert journal.finished_match(618) == {"made_ms": 12_360, "teams": []}
        assert journal.attributes_of(1) == {}
        assert journal.attributes_of(2_500) == {"hat": "red"}
        journal.append(resumed(2))
        assert verify(journal).events == 2
        assert journal.prune(10**9) == Pruned(1_266, 633)
