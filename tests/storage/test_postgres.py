"""The journal in PostgreSQL and the world: URLs, rights, other people's tables, older and newer ones, leases."""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from evenmatch.core.hashing import state_hash
from evenmatch.domain import events as ev
from evenmatch.errors import (
    ConfigError,
    JournalBusy,
    JournalDamaged,
    JournalError,
    JournalForeign,
    JournalNewer,
    JournalStale,
    JournalUnavailable,
    JournalUnsure,
)
from evenmatch.recovery import hash_at, recover, verify
from evenmatch.storage import postgres_lanes, postgres_line, postgres_rows, postgres_schema, tables
from evenmatch.storage.backup import back_up
from evenmatch.storage.codec import SCHEMA
from evenmatch.storage.copying import copy
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.places import folder_of, in_database, open_store, shown
from evenmatch.storage.postgres import PostgresJournal
from evenmatch.storage.postgres_rows import COPIED_FROM
from evenmatch.storage.postgres_sheaf import Sheaf
from evenmatch.storage.protocol import Checkpoint, Commit
from evenmatch.storage.sqlite import SqliteJournal
from tests import postgres
from tests.postgres import bare

from .test_sqlite import written


@pytest.fixture
def url() -> str:
    """A database without a journal."""
    return postgres.cleared()


def opened(url: str, **how: Any) -> PostgresJournal:
    return PostgresJournal(url, "the database", **how)


def resumed(first: int, **more: Any) -> Commit:
    return Commit(first, 0, [ev.Resumed(first, 1)], **more)


def contents(url: str) -> list[Any]:
    """Everything that our schema holds, and what it is made of."""
    found = bare(
        url,
        "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'evenmatch'"
        " ORDER BY 1, 2",
    )
    for table in sorted({name for name, *_ in found}):
        found += bare(url, f"SELECT held::text FROM evenmatch.{table} AS held ORDER BY 1")
    return found


# Places that are refused.


@pytest.mark.parametrize("place", ["mysql://u@h/d", "postgresql:/u@h/d", "sqlite:///x.db", "http://h/d"])
def test_a_place_that_is_neither_file_nor_postgresql_is_refused(place: str) -> None:
    with pytest.raises(ConfigError, match="use a file, or postgresql://"):
        open_store(place)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("postgresql://u:s3cret@127.0.0.1:notaport/d", "cannot be reached"),
        ("postgresql://u:s3cret@127.0.0.1/d?nosuchoption=1", "does not know, nosuchoption: leave it out"),
        ("postgresql://u:s3cret@127.0.0.1:1/d", "cannot be reached"),
        ("postgresql://u:s3cret@[bad/d", "not a URL of PostgreSQL"),
        ("postgresql://127.0.0.1:1/d?user=u&password=s3cret", "cannot be reached"),
    ],
)
def test_a_url_that_leads_nowhere_is_said_clearly_and_without_its_password(place: str, said: str) -> None:
    with pytest.raises(JournalUnavailable, match=said) as found:
        open_store(place)
    assert "s3cret" not in str(found.value)


def test_an_unknown_database_user_or_password_is_said_clearly(url: str) -> None:
    for place in (postgres.renamed(url, "nowhere"), postgres.as_user(url, "nobody_here", "wr0ng")):
        with pytest.raises(JournalUnavailable, match="cannot be reached") as found:
            open_store(place)
        assert "wr0ng" not in str(found.value)


def test_places_say_what_they_are() -> None:
    assert not in_database("evenmatch.db")
    assert not in_database("/var/lib/evenmatch.db")
    assert in_database("postgresql://h/d")
    assert in_database("postgres://h/d")
    assert shown("postgresql://u:p@ss@h:5/d") == "postgresql://u:***@h:5/d"
    assert shown("postgresql://u@h/d?password=x&sslmode=require") == "postgresql://u@h/d?password=***&sslmode=require"
    assert shown("a.db") == "a.db"
    assert folder_of("postgresql://h/d") == Path()
    assert folder_of("/var/a.db") == Path("/var")


# Databases that are refused and left as they are.


@contextlib.contextmanager
def somebody(url: str, *rights: str) -> Iterator[str]:
    """Another user of the database, with these rights."""
    bare(url, "CREATE ROLE somebody LOGIN PASSWORD 'word'", *rights)
    try:
        yield postgres.as_user(url, "somebody", "word")
    finally:
        bare(url, "DROP OWNED BY somebody", "DROP ROLE somebody")


def test_a_user_with_too_few_rights_is_told_so_and_nothing_is_made(url: str) -> None:
    with somebody(url) as place, pytest.raises(JournalUnavailable, match="too few rights"):
        open_store(place)
    assert contents(url) == []
    opened(url).close()
    before = contents(url)
    with somebody(url, "GRANT USAGE ON SCHEMA evenmatch TO somebody") as place:
        with pytest.raises(JournalUnavailable, match="too few rights"):
            open_store(place)
        with pytest.raises(JournalUnavailable, match="too few rights"):
            open_store(place, read_only=True)
    assert contents(url) == before


def test_a_user_who_may_only_read_can_look(url: str) -> None:
    with opened(url) as journal:
        journal.append(resumed(1))
        grants = (
            "GRANT USAGE ON SCHEMA evenmatch TO somebody",
            "GRANT SELECT ON ALL TABLES IN SCHEMA evenmatch TO somebody",
        )
        with somebody(url, *grants) as place:
            with open_store(place, read_only=True) as reader:
                assert verify(reader).events == 1
            with pytest.raises(JournalUnavailable, match="too few rights"):
                open_store(place)


def test_a_database_without_a_journal_has_nothing_to_look_at(url: str) -> None:
    with pytest.raises(JournalForeign, match="no journal"):
        opened(url, read_only=True)
    assert contents(url) == []


def test_a_schema_of_somebody_else_is_refused_and_left_alone(url: str) -> None:
    bare(url, "CREATE SCHEMA evenmatch", "CREATE TABLE evenmatch.theirs (x integer)")
    before = contents(url)
    for read_only in (False, True):
        with pytest.raises(JournalForeign, match="theirs"):
            opened(url, read_only=read_only)
    assert contents(url) == before


def test_another_clusters_database_is_refused_and_left_alone(url: str) -> None:
    opened(url, cluster="eu").close()
    before = contents(url)
    with pytest.raises(JournalForeign, match="EVENMATCH_CLUSTER=eu"):
        opened(url, cluster="us")
    assert contents(url) == before
    opened(url, cluster="eu").close()


def test_tables_of_a_newer_evenmatch_are_refused_unless_they_say_that_it_can_go_on(url: str) -> None:
    opened(url).close()
    bare(url, "INSERT INTO evenmatch.migrations (number, name, needs) VALUES (98, 'adds_a_column', 1)")
    opened(url).close()
    bare(url, "INSERT INTO evenmatch.migrations (number, name, needs) VALUES (99, 'takes_one_away', 99)")
    before = contents(url)
    for read_only in (False, True):
        with pytest.raises(JournalNewer, match="upgrade"):
            opened(url, read_only=read_only)
    assert contents(url) == before


def test_events_of_a_newer_evenmatch_are_refused(url: str) -> None:
    opened(url).close()
    bare(url, f"UPDATE evenmatch.cluster SET codec = {SCHEMA + 1}")
    for read_only in (False, True):
        with pytest.raises(JournalNewer, match="upgrade"):
            opened(url, read_only=read_only)


def test_older_tables_are_brought_up_to_date_while_an_older_program_writes(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = postgres_schema.migrations()
    with monkeypatch.context() as older:
        older.setattr(postgres_schema, "migrations", lambda: known[:1])
        older.setattr(postgres_lanes, "lanes", lambda _: [])  # it does not know of any
        journal = opened(url)
    journal.append(resumed(1))
    with pytest.raises(JournalError, match="older evenmatch"):
        opened(url, read_only=True)
    with pytest.raises(JournalBusy):  # its tables are ready all the same
        opened(url)
    journal.append(resumed(2))
    journal.close()
    with opened(url) as later:
        assert (later.last, later.ledger.result(1)) == (2, None)
    assert bare(url, "SELECT number FROM evenmatch.migrations ORDER BY 1") == [(step.number,) for step in known]


def test_two_who_begin_at_once_make_the_tables_once(url: str) -> None:
    ended: list[str] = []

    def begin() -> None:
        try:
            with opened(url):
                ended.append("owner")
        except JournalBusy:
            ended.append("busy")

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ended) == 4
    assert "owner" in ended


def test_both_stores_have_the_tables_that_are_named(url: str, tmp_path: Path) -> None:
    opened(url).close()
    SqliteJournal(tmp_path / "journal.db").close()
    with contextlib.closing(sqlite3.connect(tmp_path / "journal.db")) as db:
        there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        pieces = {"checkpoint_pieces"}
        assert there | pieces == {table.name for table in tables.TABLES} | {"owner"}
        for table in tables.TABLES:
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table.name})")]
            assert columns == list(table.columns), table.name
    for table in tables.TABLES:
        found = dict(
            bare(
                url,
                "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'evenmatch'"
                f" AND table_name = '{table.name}'",
            )
        )
        assert found.pop("journal", None) == (None if table.shared else "smallint")
        assert found == table.columns


# Ownership.


def test_a_second_owner_is_told_who_is_there(url: str) -> None:
    with opened(url) as journal:
        with pytest.raises(JournalBusy, match=r"evenmatch on .* process \d+ is serving"):
            opened(url)
        with opened(url, read_only=True) as reader:
            assert reader.last == 0
        journal.append(resumed(1))
    with opened(url) as journal:
        assert (journal.fence, journal.last) == (2, 1)


def test_an_owner_that_took_over_and_is_gone_again_has_no_name_and_that_is_said(url: str) -> None:
    zombie = opened(url)
    zombie.append(resumed(1))
    bare(url, "UPDATE evenmatch.leases SET until = '-infinity'")
    opened(url).close()
    with pytest.raises(JournalStale, match=r"owner 2 \(which has given it back since\) has taken the database over"):
        zombie.save_checkpoint(Checkpoint(1, "", b"x"))
    zombie.close()


def test_an_owner_whose_lease_ran_out_can_be_replaced_and_writes_nothing_any_more(url: str) -> None:
    """I9. What a process that was stopped for too long finds when it wakes up."""
    told = threading.Event()
    zombie = opened(url)
    zombie.when_lost(lambda _: told.set())
    zombie.append(resumed(1))
    bare(url, "UPDATE evenmatch.leases SET until = '-infinity'")
    with opened(url) as journal:
        assert journal.fence == 2
        journal.append(resumed(2))
        before = contents(url)
        late: list[Callable[[], None]] = [
            lambda: zombie.append(resumed(2, names=[(1, "late")])),
            lambda: zombie.append(resumed(3, names=[(1, "late")])),
            lambda: zombie.save_checkpoint(Checkpoint(1, "", b"x")),
            lambda: zombie.save_in_pieces(1, "", [b"x"]),
        ]
        for write in late:
            with pytest.raises(JournalError):
                write()
        with pytest.raises(JournalStale, match=r"owner 2 \(evenmatch on .+\) has taken the database over from owner 1"):
            zombie.save_checkpoint(Checkpoint(1, "", b"x"))
        assert bare(url, "SELECT fence, last FROM evenmatch.leases") == [(2, 2)]
        assert len(contents(url)) == len(before)
        assert told.wait(60)
        assert zombie.fault is not None
        zombie.close()
        journal.append(resumed(3))
    assert bare(url, "SELECT fence FROM evenmatch.commits ORDER BY first_sequence") == [(1,), (2,), (2,)]


def test_an_owner_whose_session_is_gone_can_be_replaced_at_once(url: str) -> None:
    opened(url).close()
    bare(
        url,
        "UPDATE evenmatch.leases SET until = 'infinity', holder = 'a process that was killed', backend = 1,"
        " since = clock_timestamp()",
    )
    with opened(url) as journal:
        assert journal.fence == 2


def test_a_lease_that_was_edited_is_found_out_and_left_alone(url: str) -> None:
    with opened(url) as journal:
        journal.append(resumed(1))
    bare(url, "UPDATE evenmatch.leases SET last = 7")
    with pytest.raises(JournalDamaged, match="Somebody edited"):
        opened(url)
    assert bare(url, "SELECT last, fence FROM evenmatch.leases") == [(7, 1)]
    bare(url, "UPDATE evenmatch.leases SET last = 1, fence = 0")
    with opened(url) as journal:
        assert journal.fence == 2  # never one that has written already
    bare(url, "DELETE FROM evenmatch.leases")
    for read_only in (False, True):
        with pytest.raises(JournalDamaged, match="lease of journal 1 is missing"):
            opened(url, read_only=read_only)


def test_an_owner_whose_lease_was_edited_and_put_right_goes_on(url: str) -> None:
    with opened(url) as journal:
        journal.append(resumed(1))
        bare(url, "UPDATE evenmatch.leases SET last = 7")
        for _ in range(2):
            with pytest.raises(JournalError):
                journal.append(resumed(2))
        bare(url, "UPDATE evenmatch.leases SET last = 1")
        journal.append(resumed(2))
        assert verify(journal).events == 2


# Commits.


def cut(url: str) -> None:
    """Break every connection of ours, as a restart of the database does."""
    bare(
        url,
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name LIKE 'evenmatch on %'",
    )


def test_a_connection_that_broke_is_made_anew(url: str) -> None:
    with opened(url) as journal:
        journal.append(resumed(1))
        cut(url)
        journal.append(resumed(2, names=[(1, "ann")]))
        cut(url)
        assert journal.names_of([1]) == {1: "ann"}
        assert (journal.fence, journal.last) == (1, 2)


@pytest.mark.parametrize("many", [1, COPIED_FROM], ids=["one statement", "several"])
def test_a_connection_that_breaks_within_a_commit_leaves_it_open_if_it_is_written(
    url: str, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    send, write = Sheaf.send, postgres_rows.write
    names = [(number, f"p{number}") for number in range(1, many + 1)]

    def broken_alone(sheaf: Sheaf, db: Any) -> None:
        if many == 1:
            cut(url)
        send(sheaf, db)

    def broken_later(db: Any, journal: int, table: tables.Table, rows: Any, **more: Any) -> None:
        if table is tables.PLAYERS:
            cut(url)
        write(db, journal, table, rows, **more)

    with opened(url) as journal:
        journal.append(resumed(1))
        with monkeypatch.context() as breaking:
            breaking.setattr(Sheaf, "send", broken_alone)
            breaking.setattr(postgres_rows, "write", broken_later)
            with pytest.raises(JournalUnsure):
                journal.append(resumed(2, names=names))
        assert (journal.last, journal.names_of([1])) == (1, {})
        journal.append(resumed(2, names=names))
        assert journal.names_of([1, many]) == {1: "p1", many: f"p{many}"}


def test_an_owner_that_was_stopped_in_the_middle_of_a_transaction_is_called_busy_and_not_a_failure(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(url) as journal:
        journal.append(resumed(1))
    bare(url, "UPDATE evenmatch.leases SET until = clock_timestamp() + make_interval(hours => 1)")
    monkeypatch.setattr(postgres_line, "_SESSION", postgres_line._SESSION.replace("'5s'", "'100ms'"))
    with psycopg.connect(url) as asleep:
        asleep.execute("UPDATE evenmatch.leases SET last = last")
        with pytest.raises(JournalBusy, match="is serving the database, and has its lease in a transaction"):
            opened(url)
        asleep.rollback()
    with opened(url) as journal:
        assert journal.last == 1


def test_an_owner_that_was_stopped_in_the_middle_of_a_commit_holds_nobody_up_once_its_lease_has_run_out(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(url) as journal:
        journal.append(resumed(1))
    monkeypatch.setattr(postgres_line, "_SESSION", postgres_line._SESSION.replace("'5s'", "'100ms'"))
    asleep = psycopg.connect(url, autocommit=True)
    with contextlib.suppress(psycopg.OperationalError), asleep.pipeline():  # its end is not sent for a long time
        asleep.execute("UPDATE evenmatch.leases SET last = last + 5")
        asleep.pgconn.send_flush_request()
        asleep.pgconn.flush()
        until_locked(url)
        with opened(url) as journal:
            assert journal.last == 1
    assert asleep.closed, "its session was ended"


def until_locked(url: str) -> None:
    """Wait until somebody has the row of the lease."""
    for _ in range(100):
        with contextlib.suppress(psycopg.errors.LockNotAvailable):
            bare(url, "SELECT 1 FROM evenmatch.leases FOR UPDATE NOWAIT")
            time.sleep(0.05)
            continue
        return
    raise AssertionError("nobody has it")


def test_a_commit_that_seemed_lost_and_came_through_is_found(url: str) -> None:
    with opened(url) as journal, opened(url, read_only=True) as other:
        journal.append(resumed(1))
        other._own, other._fence, other._last = True, journal.fence, 1  # the same owner, over the connection it lost
        other.append(resumed(2, names=[(1, "ann")]))
        with pytest.raises(JournalUnavailable, match="came through"):
            journal.append(resumed(2, names=[(2, "ben")]))
        assert journal.last == 2
        journal.append(resumed(3, names=[(2, "ben")]))
        assert journal.names_of([1, 2]) == {1: "ann", 2: "ben"}
        other._own = False


@pytest.mark.parametrize("size", [3, COPIED_FROM, 5 * COPIED_FROM])
def test_large_batches_go_in_whole_or_not_at_all(url: str, size: int) -> None:
    memory = MemoryJournal()
    rows = [(number, {"name": f"ticket {number}", "odd": "\0\t\\N\n'\"💡"}) for number in range(size)]
    again = [(number, {"name": "another"}) for number in range(size // 2, size + 5)]
    names = [(number, f"player\t\\{number}") for number in range(1, size + 1)]
    with opened(url) as journal:
        for one in (memory, journal):
            one.append(resumed(1, names=names, attributes=rows, tickets=rows))
            one.append(resumed(2, tickets=again))
            with pytest.raises(JournalError):
                one.append(resumed(3, names=[(size + n, f"new {n}") for n in range(1, size + 1)] + names[-1:]))
            assert one.last == 2
        numbers = list(range(size + 6))
        assert memory.names_of(numbers) == journal.names_of(numbers)
        for number in numbers:
            assert memory.finished_ticket(number) == journal.finished_ticket(number)
        assert memory.attributes_of(1) == journal.attributes_of(1)


def test_a_name_or_season_that_is_there_already_undoes_the_commit(url: str) -> None:
    with opened(url) as journal:
        journal.append(resumed(1, names=[(1, "ann")]))
        with pytest.raises(JournalError, match="has already"):
            journal.append(resumed(2, names=[(2, "ann")], tickets=[(1, {})]))
        assert (journal.last, journal.finished_ticket(1)) == (1, None)
        assert bare(url, "SELECT last FROM evenmatch.leases") == [(1,)]


@pytest.mark.parametrize("what", ["commits", "checkpoints"])
def test_what_was_altered_is_called_damage(url: str, what: str) -> None:
    with opened(url) as journal:
        journal.append(resumed(1))
        journal.save_checkpoint(Checkpoint(1, "x", b"body"))
        bare(url, f"UPDATE evenmatch.{what} SET body = body || 'x'")
        with pytest.raises(JournalDamaged, match="checksum"):
            verify(journal)
        bare(url, "DROP TABLE evenmatch.matches")
        with pytest.raises(JournalDamaged, match="matches"):
            journal.finished_match(1)


def test_commits_are_durable_whatever_the_database_is_set_to(url: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    bare(url, f"ALTER DATABASE {name} SET synchronous_commit = off")
    try:
        with opened(url) as journal, journal._line.use() as db:
            assert db.execute("SHOW synchronous_commit").fetchone() == ("on",)
    finally:
        bare(url, f"ALTER DATABASE {name} RESET synchronous_commit")


def test_commits_go_on_between_the_pieces_of_a_checkpoint(url: str) -> None:
    with opened(url) as journal:
        journal.append(resumed(1))

        def pieces() -> Iterator[bytes]:
            for sequence in (2, 3, 4):
                yield b"piece"
                journal.append(resumed(sequence))

        journal.save_in_pieces(1, "x", pieces())
        assert journal.newest_checkpoint() == Checkpoint(1, "x", b"piece" * 3)
        assert journal.last == 4


# From one store to the other.


def test_a_journal_goes_to_postgresql_and_back_and_gives_the_same_hash(url: str, tmp_path: Path) -> None:
    path, back = tmp_path / "journal.evm", tmp_path / "back.evm"
    walk = written(path)
    with SqliteJournal(path, read_only=True) as source, opened(url) as target:
        copied = copy(source, target)
        assert copied.last == source.last == target.last
        assert copied.rows["commits"] == len(walk.commits)
        assert verify(target) == verify(source)
        assert hash_at(target, target.last) == walk.hashes[-1]
        source_checkpoints = list(source.checkpoints())
        assert list(target.checkpoints()) == source_checkpoints
    with opened(url) as target:  # and it goes on from there
        assert target.fence > 1
        state = recover(target)
        assert state_hash(state) == walk.hashes[-1]
    assert back_up(url, back) == copied.last
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("back")] == ["back.evm"]
    with SqliteJournal(path, read_only=True) as source, SqliteJournal(back, read_only=True) as target:
        assert verify(target) == verify(source)
        with source.snapshot() as one, target.snapshot() as other:
            for table in tables.TABLES:
                assert list(one.rows(table)) == list(other.rows(table))
    with opened(url) as journal:
        journal.append(resumed(journal.last + 1))
    with SqliteJournal(back) as journal:
        journal.append(resumed(journal.last + 1))


def test_a_copy_overwrites_nothing(url: str, tmp_path: Path) -> None:
    path = tmp_path / "journal.evm"
    written(path)
    with SqliteJournal(path, read_only=True) as source, opened(url) as target:
        target.append(Commit(1, 0, [], names=[(1, "somebody")]))
        before = contents(url)
        with pytest.raises(JournalError, match="nothing is overwritten"):
            copy(source, target)
        assert len(contents(url)) == len(before)
        assert target.names_of([1]) == {1: "somebody"}


def test_a_copy_that_breaks_off_leaves_nothing(url: str, tmp_path: Path) -> None:
    path = tmp_path / "journal.evm"
    written(path)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute("UPDATE players SET name = 'a' || char(0) || 'b' WHERE number = 3")
    db.close()
    with SqliteJournal(path, read_only=True) as source, opened(url) as target:
        with pytest.raises(JournalError):
            copy(source, target)
        assert target.last == 0
        assert bare(url, "SELECT count(*) FROM evenmatch.commits") == [(0,)]


def test_an_archived_journal_is_copied_from_where_it_begins(url: str, tmp_path: Path) -> None:
    path = tmp_path / "journal.evm"
    walk = written(path)
    with SqliteJournal(path) as journal:
        assert journal.archive(tmp_path / "old.evm") > 0
    with SqliteJournal(path, read_only=True) as source, opened(url) as target:
        copy(source, target)
        assert target.oldest == source.oldest > 1
        assert hash_at(target, target.last) == walk.hashes[-1]
