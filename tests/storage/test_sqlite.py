"""The SQLite journal and the world: foreign, damaged, full and busy files; nothing is ever half-done."""

import hashlib
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenmatch.core.evolve import evolve
from evenmatch.core.hashing import state_hash
from evenmatch.core.records import Departures, departures
from evenmatch.core.state import State
from evenmatch.domain import events as ev
from evenmatch.errors import (
    JournalBusy,
    JournalDamaged,
    JournalError,
    JournalForeign,
    JournalNewer,
    JournalStale,
    JournalUnavailable,
)
from evenmatch.recovery import checkpoint_in_pieces, checkpoint_of, recover, verify
from evenmatch.storage.codec import SCHEMA
from evenmatch.storage.files import is_served
from evenmatch.storage.protocol import Checkpoint, Commit
from evenmatch.storage.sqlite import APPLICATION_ID, SqliteJournal
from tests.core.tour import GRAND_TOUR
from tests.core.walk import Walk


def written(path: Path, *, checkpoints: bool = True) -> Walk:
    """A journal with a grand tour in it, and a checkpoint after every fifth commit."""
    walk, state = Walk(GRAND_TOUR), State()
    with SqliteJournal(path) as journal:
        for number, events in enumerate(walk.commits):
            names = [(number + 1, f"player {number}")]
            attributes = [(number + 1, {"wave": number})]
            first, left = state.sequence + 1, Departures([], [])
            for event in events:
                if isinstance(event, ev.Forgotten):
                    gone = departures(state, event)
                    left = Departures(left.tickets + gone.tickets, left.matches + gone.matches)
                evolve(state, event)
            journal.append(Commit(first, 0, events, names, attributes, left.tickets, left.matches))
            if checkpoints and number % 5 == 4:
                journal.save_checkpoint(checkpoint_of(state))
    return walk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.evm"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Walk]:
    """A finished journal, to copy from."""
    path = tmp_path_factory.mktemp("sample") / "journal.evm"
    return path, written(path)


def fingerprint(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def bare(path: Path, *statements: str) -> None:
    """Do something to the file behind the journal's back."""
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


# Files that are refused and left as they are.


@pytest.mark.parametrize("content", [b"hello, world\n", b"SQLite format 4\0" + bytes(100), b"\0" * 4096])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_is_no_journal_is_refused_and_left_alone(path: Path, content: bytes, read_only: bool) -> None:
    path.write_bytes(content)
    with pytest.raises(JournalForeign):
        SqliteJournal(path, read_only=read_only)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("statements", [("CREATE TABLE mine (x)",), ("PRAGMA application_id = 77",)])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_database_of_somebody_else_is_refused_and_left_alone(
    path: Path, statements: tuple[str, ...], read_only: bool
) -> None:
    bare(path, *statements)
    before = fingerprint(path)
    with pytest.raises(JournalForeign):
        SqliteJournal(path, read_only=read_only)
    assert fingerprint(path) == before


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JournalForeign, match="folder"):
        SqliteJournal(tmp_path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalUnavailable, match="nowhere"):
        SqliteJournal(tmp_path / "nowhere" / "journal.evm")


def test_a_missing_or_empty_file_has_no_journal_to_look_at(path: Path) -> None:
    with pytest.raises(JournalUnavailable, match="no file"):
        SqliteJournal(path, read_only=True)
    path.touch()
    with pytest.raises(JournalForeign, match="empty"):
        SqliteJournal(path, read_only=True)
    with SqliteJournal(path) as journal:
        assert journal.last == 0


@pytest.mark.parametrize("where", ["a-file/journal.evm", "/proc/journal.evm", "/proc/self/mem"])
def test_a_place_that_cannot_be_written_is_said_clearly(tmp_path: Path, where: str) -> None:
    """Root may write where others may not, but nobody makes files in a file or in /proc."""
    (tmp_path / "a-file").write_text("not a folder")
    with pytest.raises(JournalError):
        SqliteJournal(tmp_path / where)


def test_a_lock_file_that_cannot_be_written_is_said_clearly(path: Path) -> None:
    path.with_name("journal.evm.lock").mkdir()
    with pytest.raises(JournalUnavailable, match="lock"):
        SqliteJournal(path)


def test_a_journal_of_a_newer_evenmatch_is_refused_and_left_alone(path: Path) -> None:
    written(path)
    bare(path, f"PRAGMA user_version = {SCHEMA + 1}")
    before = fingerprint(path)
    with pytest.raises(JournalNewer):
        SqliteJournal(path)
    with pytest.raises(JournalNewer):
        SqliteJournal(path, read_only=True)
    assert fingerprint(path) == before


# Ownership.


def test_a_second_owner_is_told_that_the_journal_is_busy(path: Path) -> None:
    with SqliteJournal(path):
        with pytest.raises(JournalBusy):
            SqliteJournal(path)
        with SqliteJournal(path, read_only=True) as reader:
            assert reader.last == 0
    with SqliteJournal(path) as journal:
        assert journal.fence == 2


def test_a_link_to_the_file_does_not_get_around_its_owner(path: Path) -> None:
    link = path.with_name("link.evm")
    with SqliteJournal(path):
        link.symlink_to(path)
        with pytest.raises(JournalBusy):
            SqliteJournal(link)


def test_a_refused_file_can_be_opened_once_it_is_put_right(path: Path) -> None:
    written(path)
    bare(path, "PRAGMA application_id = 1")
    with pytest.raises(JournalForeign):
        SqliteJournal(path)
    bare(path, f"PRAGMA application_id = {APPLICATION_ID}")
    with SqliteJournal(path) as journal:
        assert journal.fence == 2


def test_an_owner_that_was_replaced_cannot_write(path: Path) -> None:
    """I9."""
    with SqliteJournal(path) as journal:
        journal.append(Commit(1, 0, [ev.Resumed(1, 1)]))
        bare(path, "UPDATE owner SET fence = fence + 1")
        with pytest.raises(JournalStale):
            journal.append(Commit(2, 0, [ev.Resumed(1, 1)], [(1, "anna")]))
        with pytest.raises(JournalStale):
            journal.save_checkpoint(Checkpoint(1, "", b""))
        assert journal.last_player() == 0
        assert journal.newest_checkpoint() is None
        assert len(list(journal.read(0))) == 1


def test_an_owner_that_was_replaced_cannot_archive(path: Path) -> None:
    written(path)
    with SqliteJournal(path) as journal:
        bare(path, "UPDATE owner SET fence = fence + 1")
        with pytest.raises(JournalStale):
            journal.archive(path.with_name("archive.evm"))
        assert journal.oldest == 1


# Damage.


def test_a_flipped_bit_in_a_commit_is_found(path: Path) -> None:
    walk = written(path, checkpoints=False)
    body = bytearray(bare_body(path, 3))
    body[len(body) // 2] ^= 1
    with sqlite3.connect(path) as db:
        db.execute("UPDATE commits SET body = ? WHERE rowid = (SELECT rowid FROM commits LIMIT 1 OFFSET 3)", (body,))
    db.close()
    before = path.read_bytes()
    with pytest.raises(JournalDamaged, match="not what was written"):
        SqliteJournal(path)
    assert path.read_bytes() == before  # nobody took it over
    with SqliteJournal(path, read_only=True) as journal:
        with pytest.raises(JournalDamaged, match="checksum"):
            recover(journal)
        with pytest.raises(JournalDamaged, match="checksum"):
            verify(journal)
        first = 1 + sum(len(events) for events in walk.commits[:3])
        with pytest.raises(JournalDamaged, match="checksum"):
            journal.event(first)
        assert journal.event(1) is not None


def bare_body(path: Path, offset: int) -> bytes:
    db = sqlite3.connect(path)
    (body,) = db.execute("SELECT body FROM commits LIMIT 1 OFFSET ?", (offset,)).fetchone()
    db.close()
    assert isinstance(body, bytes)
    return body


def first_of(walk: Walk, commit: int) -> int:
    return 1 + sum(len(events) for events in walk.commits[:commit])


@pytest.mark.parametrize(
    "spoil",
    [
        "DELETE FROM commits WHERE first_sequence = {middle}",
        "DELETE FROM commits WHERE first_sequence = 1",
        "DELETE FROM commits WHERE first_sequence > {middle}",
        "UPDATE commits SET first_sequence = first_sequence + 1000 WHERE first_sequence = {middle}",
        "UPDATE commits SET last_sequence = last_sequence + 1 WHERE first_sequence = {middle}",
        "UPDATE commits SET schema = 0 WHERE first_sequence = {middle}",
        "UPDATE checkpoints SET hash = 'ffff' WHERE rowid = (SELECT max(sequence) FROM checkpoints)",
        "UPDATE checkpoints SET body = x'80' WHERE rowid = (SELECT min(sequence) FROM checkpoints)",
        "UPDATE checkpoints SET sequence = sequence + 1 WHERE rowid = (SELECT min(sequence) FROM checkpoints)",
    ],
)
def test_verify_finds_what_does_not_fit(path: Path, spoil: str) -> None:
    walk = written(path)
    bare(path, spoil.format(middle=first_of(walk, 12)))
    with SqliteJournal(path, read_only=True) as journal, pytest.raises(JournalDamaged):
        verify(journal)


def test_verify_and_recovery_agree_on_a_sound_journal(sample: tuple[Path, Walk]) -> None:
    path, walk = sample
    with SqliteJournal(path, read_only=True) as journal:
        found = verify(journal)
        assert (found.hash, found.events, found.first_sequence) == (walk.hashes[-1], len(walk.events), 1)
        assert found.checkpoints == 2
        assert state_hash(recover(journal)) == walk.hashes[-1]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
def test_a_truncated_file_is_refused_and_left_as_it_is(sample: tuple[Path, Walk], tmp_path: Path, share: float) -> None:
    path = tmp_path / "journal.evm"
    content = sample[0].read_bytes()
    path.write_bytes(content[: max(20, int(len(content) * share))])
    before = fingerprint(path)
    for read_only in (True, False):
        with pytest.raises(JournalError), SqliteJournal(path, read_only=read_only) as journal:
            verify(journal)
    with pytest.raises(JournalError):
        SqliteJournal(path)
    assert fingerprint(path) == before


def everything(journal: SqliteJournal) -> str:
    """Ask all there is to ask; the hash of what was found."""
    state = recover(journal)
    for number in range(1, 30):
        journal.attributes_of(number)
        journal.finished_ticket(number)
        journal.finished_match(number)
        journal.event(number)
    journal.numbers_of(["player 1", "nobody"])
    journal.names_of([1, 2, 3])
    journal.last_player()
    list(journal.checkpoints())
    verify(journal)
    return state_hash(state)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.floats(0, 1, exclude_max=True), st.lists(st.integers(0, 255), min_size=1, max_size=4))
def test_any_changed_bytes_are_called_damage_or_do_no_harm(
    sample: tuple[Path, Walk], tmp_path: Path, where: float, what: list[int]
) -> None:
    for name in ("", "-wal", "-shm", ".lock"):
        (tmp_path / f"spoilt.evm{name}").unlink(missing_ok=True)
    path = tmp_path / "spoilt.evm"
    content = bytearray(sample[0].read_bytes())
    at = int(where * (len(content) - len(what)))
    content[at : at + len(what)] = bytes(byte ^ old for byte, old in zip(what, content[at:], strict=False))
    path.write_bytes(content)
    before = fingerprint(path)
    for read_only in (True, False):
        try:
            journal = SqliteJournal(path, read_only=read_only)
        except JournalError:
            assert fingerprint(path) == before
            continue
        with journal:
            try:
                found = everything(journal)
            except JournalError:
                continue
            assert found == sample[1].hashes[-1]


# Failures in the middle of a commit.


def contents(path: Path) -> list[list[tuple[object, ...]]]:
    db = sqlite3.connect(path)
    tables = ("commits", "checkpoints", "players", "attributes", "tickets", "matches")
    found = [db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in tables]
    db.close()
    return found


LARGE = Commit(
    2,
    9,
    [ev.Resumed(1, 1), ev.Resumed(2, 2)],
    [(1, "anna"), (2, "ben")],
    [(1, {"region": "eu" * 3_000})],
    [(1, {"status": "matched"})],
    [(1, {"standing": "over"})],
)


@pytest.mark.parametrize("table", ["commits", "players", "attributes", "tickets", "matches"])
def test_a_commit_that_fails_at_any_statement_leaves_nothing(path: Path, table: str) -> None:
    with SqliteJournal(path) as journal:
        journal.append(Commit(1, 0, [ev.Resumed(1, 1)]))
        bare(path, f"CREATE TRIGGER fail BEFORE INSERT ON {table} BEGIN SELECT raise(ABORT, 'the disk fell out'); END")
        before = contents(path)
        with pytest.raises(JournalError, match="the disk fell out"):
            journal.append(LARGE)
        assert (contents(path), journal.last) == (before, 1)
        bare(path, "DROP TRIGGER fail")
        journal.append(LARGE)
        assert journal.last == 3
    with SqliteJournal(path) as journal:
        assert (journal.last, journal.names_of([1, 2])) == (3, {1: "anna", 2: "ben"})


@pytest.mark.parametrize("moment", ["INSERT", "DELETE"])
def test_a_checkpoint_that_fails_at_any_statement_leaves_the_old_ones(path: Path, moment: str) -> None:
    walk = written(path)
    with SqliteJournal(path) as journal:
        journal.append(Commit(journal.last + 1, 0, [ev.Resumed(walk.stage.now_ms, 1)]))
        bare(
            path,
            f"CREATE TRIGGER fail BEFORE {moment} ON checkpoints BEGIN SELECT raise(ABORT, 'the disk fell out'); END",
        )
        before = contents(path)
        with pytest.raises(JournalError, match="the disk fell out"):
            journal.save_checkpoint(checkpoint_of(recover(journal)))
        assert contents(path) == before


class _Failing:
    """A connection that fails at one statement, as a disk would."""

    def __init__(self, db: sqlite3.Connection, at: int) -> None:
        self.db, self.at = db, at

    def execute(self, sql: str, *parameters: object) -> sqlite3.Cursor:
        self.at -= 1
        if self.at == 0:
            raise sqlite3.OperationalError("disk I/O error")
        return self.db.execute(sql, *parameters)  # type: ignore[arg-type]

    def close(self) -> None:
        self.db.close()


@pytest.mark.parametrize("at", range(1, 9))
def test_a_disk_that_fails_at_any_statement_loses_nothing(path: Path, at: int) -> None:
    """BEGIN, the fence, five inserts, COMMIT."""
    with SqliteJournal(path) as journal:
        journal.append(Commit(1, 0, [ev.Resumed(1, 1)]))
        before = contents(path)
        true = journal._db
        journal._db = _Failing(true, at)  # type: ignore[assignment]
        with pytest.raises(JournalUnavailable, match="disk I/O error"):
            journal.append(LARGE)
        journal._db = true
        assert (contents(path), journal.last) == (before, 1)
        journal.append(LARGE)
        assert journal.last == 3


def test_a_full_disk_is_said_clearly_and_works_again_once_there_is_room(path: Path) -> None:
    with SqliteJournal(path) as journal:
        journal.append(Commit(1, 0, [ev.Resumed(1, 1)]))
        before = contents(path)
        pages = journal._db.execute("PRAGMA page_count").fetchone()[0]
        journal._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(JournalUnavailable, match="full"):
            journal.append(LARGE)
        with pytest.raises(JournalUnavailable, match="full"):
            journal.save_checkpoint(Checkpoint(1, "", bytes(100_000)))
        assert (contents(path), journal.last) == (before, 1)
        journal._db.execute("PRAGMA max_page_count = 1000000")
        journal.append(LARGE)
        assert [sequence for sequence, _ in journal.read(0)] == [1, 2, 3]


def test_a_commit_that_does_not_follow_is_refused(path: Path) -> None:
    with SqliteJournal(path) as journal:
        for first in (0, 2):
            with pytest.raises(JournalError, match="must start at 1"):
                journal.append(Commit(first, 0, [ev.Resumed(1, 1)]))


def test_a_name_is_given_once(path: Path) -> None:
    with SqliteJournal(path) as journal:
        journal.append(Commit(1, 0, [], [(1, "anna")]))
        for names in ([(2, "anna")], [(1, "ben")], [(3, "carl"), (4, "carl")]):
            with pytest.raises(JournalError) as error:
                journal.append(Commit(1, 0, [ev.Resumed(1, 1)], names))
            assert not isinstance(error.value, JournalUnavailable)
        assert journal.last == 0


def test_a_closed_journal_says_so(path: Path) -> None:
    journal = SqliteJournal(path)
    journal.close()
    with pytest.raises(JournalError):
        journal.append(Commit(1, 0, [ev.Resumed(1, 1)]))
    with pytest.raises(JournalError):
        list(journal.read(0))


# The archive.


def test_an_archived_journal_is_as_good(path: Path) -> None:
    walk = written(path)
    archive = path.with_name("archive.evm")
    with SqliteJournal(path) as journal:
        events = list(journal.read(0))
        moved = journal.archive(archive)
        assert moved > 0
        assert journal.oldest == moved + 1
        found = verify(journal)
        assert (found.hash, found.first_sequence) == (walk.hashes[-1], moved + 1)
        assert state_hash(recover(journal)) == walk.hashes[-1]
        assert journal.archive(archive) == 0
    with SqliteJournal(archive, read_only=True) as other, SqliteJournal(path, read_only=True) as journal:
        assert len([*other.read(0), *journal.read(0)]) == len(events)
        assert verify(other).events == moved


def test_an_archive_is_gone_on_with(path: Path) -> None:
    written(path)
    archive = path.with_name("archive.evm")
    with SqliteJournal(path) as journal:
        first = journal.archive(archive)
        state = recover(journal)
        journal.save_checkpoint(checkpoint_of(state))
        journal.append(Commit(journal.last + 1, 0, [ev.Resumed(state.now_ms + 1, 1)]))
        evolve(state, ev.Resumed(state.now_ms + 1, 1))
        journal.save_checkpoint(checkpoint_of(state))
        assert journal.archive(archive) > 0
        assert verify(journal).hash == state_hash(state)
    with SqliteJournal(archive, read_only=True) as other:
        assert other.last > first
        assert verify(other).events == other.last


@pytest.mark.parametrize("stop", ["copying", "dropping"])
def test_an_archive_that_was_stopped_is_resumed(path: Path, stop: str) -> None:
    written(path)
    archive = path.with_name("archive.evm")
    with SqliteJournal(path) as journal:
        before = list(journal.read(0))
        if stop == "dropping":
            fail = "CREATE TRIGGER fail BEFORE DELETE ON commits BEGIN SELECT raise(ABORT, 'stopped'); END"
            bare(path, fail)
        else:
            SqliteJournal(archive).close()
            fail = "CREATE TRIGGER fail BEFORE INSERT ON commits WHEN new.first_sequence > 20"
            bare(archive, f"{fail} BEGIN SELECT raise(ABORT, 'stopped'); END")
        with pytest.raises(JournalError, match="stopped"):
            journal.archive(archive)
        assert len(list(journal.read(0))) == len(before)
        bare(path if stop == "dropping" else archive, "DROP TRIGGER fail")
        moved = journal.archive(archive)
        assert journal.oldest == moved + 1
    with SqliteJournal(archive, read_only=True) as other:
        assert [sequence for sequence, _ in other.read(0)] == list(range(1, moved + 1))


def test_the_journal_of_somebody_else_is_no_archive_and_nothing_is_lost(path: Path) -> None:
    written(path)
    foreign = path.with_name("foreign.evm")
    with SqliteJournal(foreign) as other:
        other.append(Commit(1, 0, [ev.Resumed(number, 1) for number in range(1_000)]))
    with SqliteJournal(path) as journal:
        before = len(list(journal.read(0)))
        with pytest.raises(JournalError, match="not the archive"):
            journal.archive(foreign)
        assert len(list(journal.read(0))) == before
    with SqliteJournal(foreign, read_only=True) as other:
        assert other.last == 1_000


def test_an_archive_with_a_gap_before_the_journal_is_refused(path: Path) -> None:
    written(path)
    early = path.with_name("early.evm")
    with SqliteJournal(path) as journal:
        journal.archive(path.with_name("archive.evm"))
        state = recover(journal)
        journal.append(Commit(journal.last + 1, 0, [ev.Resumed(state.now_ms + 1, 1)]))
        evolve(state, ev.Resumed(state.now_ms + 1, 1))
        journal.save_checkpoint(checkpoint_of(state))
        with SqliteJournal(early) as other:
            other.append(Commit(1, 0, [ev.Resumed(1, 1)]))
        with pytest.raises(JournalError, match="not the archive"):
            journal.archive(early)


@pytest.mark.parametrize("link", [False, True])
def test_a_journal_is_not_its_own_archive(path: Path, link: bool) -> None:
    walk = written(path)
    target = path
    if link:
        target = path.with_name("hard-link.evm")
        target.hardlink_to(path)
    with SqliteJournal(path, own=False) as journal, pytest.raises(JournalError):
        journal.archive(target)
    with SqliteJournal(path) as journal:
        assert verify(journal).events == len(walk.events)


def test_a_journal_is_archived_beside_its_owner(path: Path) -> None:
    walk = written(path)
    with SqliteJournal(path) as owner:
        with SqliteJournal(path, own=False) as beside:
            moved = beside.archive(path.with_name("archive.evm"))
        assert owner.oldest == moved + 1
        owner.append(Commit(owner.last + 1, 0, [ev.Resumed(walk.stage.now_ms, 1)]))
        owner.save_checkpoint(checkpoint_of(recover(owner)))
        assert verify(owner).first_sequence == moved + 1


def test_a_journal_without_a_checkpoint_has_nothing_to_archive(path: Path) -> None:
    written(path, checkpoints=False)
    with SqliteJournal(path) as journal:
        assert journal.archive(path.with_name("archive.evm")) == 0
    assert not path.with_name("archive.evm").exists()


def test_the_base_checkpoint_of_a_shortened_journal_is_kept(path: Path) -> None:
    walk = written(path)
    with SqliteJournal(path) as journal:
        moved = journal.archive(path.with_name("archive.evm"))
        state = recover(journal)
        for number in range(4):
            event = ev.Resumed(walk.stage.now_ms + number, 1)
            journal.append(Commit(journal.last + 1, 0, [event]))
            evolve(state, event)
            journal.save_checkpoint(checkpoint_of(state))
        assert next(journal.checkpoints()).sequence == moved
        assert verify(journal).hash == state_hash(state)


def test_a_reader_sees_what_the_owner_writes(path: Path) -> None:
    with SqliteJournal(path) as owner, SqliteJournal(path, read_only=True) as reader:
        owner.append(Commit(1, 0, [ev.Resumed(1, 1)], [(1, "anna")]))
        assert [sequence for sequence, _ in reader.read(0)] == [1]
        assert reader.numbers_of(["anna"]) == {"anna": 1}
        with pytest.raises(JournalError):
            reader.append(Commit(1, 0, [ev.Resumed(1, 1)]))


def test_a_copy_of_a_closed_journal_is_the_journal(path: Path) -> None:
    walk = written(path)
    copy = path.with_name("copy.evm")
    shutil.copy(path, copy)
    with SqliteJournal(copy) as journal:
        assert state_hash(recover(journal)) == walk.hashes[-1]


@pytest.mark.parametrize("table", ["tickets", "matches"])
def test_verify_finds_a_record_that_was_altered(path: Path, table: str) -> None:
    written(path)
    key = "ticket" if table == "tickets" else "match"
    with sqlite3.connect(path) as db:
        changed = db.execute(
            f"UPDATE {table} SET body = json_set(body, '$.queue', 'elsewhere') WHERE {key} = "
            f"(SELECT min({key}) FROM {table})"
        ).rowcount
    db.close()
    assert changed == 1
    with SqliteJournal(path, read_only=True) as journal, pytest.raises(JournalDamaged, match="the record of"):
        verify(journal)


def test_a_checkpoint_in_pieces_is_found_whole_and_its_pieces_go_with_it(path: Path) -> None:
    with SqliteJournal(path) as journal:
        for sequence in range(1, 6):
            journal.append(Commit(sequence, 0, [ev.Resumed(sequence, 1)]))
            journal.save_in_pieces(sequence, f"h{sequence}", iter([b"a", b"", bytes([sequence]) * 3]))
            newest = journal.newest_checkpoint()
            assert newest == Checkpoint(sequence, f"h{sequence}", b"a" + bytes([sequence]) * 3)
        assert [checkpoint.sequence for checkpoint in journal.checkpoints()] == [4, 5]
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT DISTINCT sequence FROM checkpoint_pieces").fetchall() == [(4,), (5,)]
        db.execute("UPDATE checkpoint_pieces SET body = x'00' WHERE sequence = 5 AND piece = 0")
    db.close()
    with pytest.raises(JournalDamaged, match="checksum"), SqliteJournal(path, read_only=True) as journal:
        journal.newest_checkpoint()


def test_pieces_that_a_crash_left_do_not_count_and_are_dropped(path: Path) -> None:
    def fails() -> Iterator[bytes]:
        yield b"one"
        raise RuntimeError("the power is gone")

    with SqliteJournal(path) as journal:
        journal.append(Commit(1, 0, [ev.Resumed(1, 1)]))
        with pytest.raises(RuntimeError):
            journal.save_in_pieces(1, "x", fails())
        assert journal.newest_checkpoint() is None
        journal.append(Commit(2, 0, [ev.Resumed(2, 1)]))
        journal.save_in_pieces(2, "y", [b"two"])
        assert journal._db.execute("SELECT sequence, piece, body FROM checkpoint_pieces").fetchall() == [(2, 0, b"two")]


def test_commits_go_on_between_the_pieces_of_a_checkpoint(path: Path) -> None:
    with SqliteJournal(path) as journal:
        journal.append(Commit(1, 0, [ev.Resumed(1, 1)]))

        def pieces() -> Iterator[bytes]:
            for sequence in (2, 3, 4):
                yield b"piece"
                journal.append(Commit(sequence, 0, [ev.Resumed(sequence, 1)]))

        journal.save_in_pieces(1, "x", pieces())
        assert journal.newest_checkpoint() == Checkpoint(1, "x", b"piece" * 3)
        assert journal.last == 4


def test_a_file_of_schema_1_gets_what_it_lacks(path: Path) -> None:
    written(path)
    bare(path, "DROP TABLE checkpoint_pieces", "PRAGMA user_version = 1")
    with SqliteJournal(path, read_only=True) as journal:
        assert journal.newest_checkpoint() is not None
    with SqliteJournal(path) as journal:
        state = recover(journal)
        journal.append(Commit(journal.last + 1, 0, [ev.Resumed(state.now_ms, 1)]))
        evolve(state, ev.Resumed(state.now_ms, 1))
        journal.save_in_pieces(*checkpoint_in_pieces(state))
        assert journal._db.execute("PRAGMA user_version").fetchone()[0] == SCHEMA
        assert state_hash(recover(journal)) == state_hash(state)


def test_a_file_knows_whether_somebody_serves_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    assert not is_served(path)
    with SqliteJournal(path):
        assert is_served(path)
        assert is_served(path), "asking takes nothing away"
    assert not is_served(path)
