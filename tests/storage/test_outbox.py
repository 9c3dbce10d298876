"""The outbox of a journal: written with the commit, the same in memory and on disk, and there after a restart."""

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from evenmatch.domain.events import Resumed
from evenmatch.errors import JournalDamaged, JournalError
from evenmatch.storage.memory import MemoryJournal, MemoryStore
from evenmatch.storage.outbox import Letter, Server
from evenmatch.storage.postgres import PostgresJournal
from evenmatch.storage.protocol import Commit, Journal
from evenmatch.storage.sqlite import SqliteJournal
from tests import postgres

GOLDEN = Path(__file__).parent.parent / "golden" / "journal-0.1.0.evm"
PENDING = Letter(7, "duel", 1_000)
DONE = Letter(3, "duel", 900, "done", 2, 950, "", Server("203.0.113.7", 7777, "token"))
DEAD = Letter(5, "team5", 800, "dead", 5, 990, "answered with status 503")

Opened = Callable[[], Journal]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """Opens one journal, again and again."""
    store, path = MemoryStore(), tmp_path / "evenmatch.db"
    if request.param == "postgres":
        url = postgres.cleared()
        return lambda: PostgresJournal(url, "the database")
    return lambda: MemoryJournal(store) if request.param == "memory" else SqliteJournal(path)


def test_letters_are_there_with_their_commit_and_after_a_restart(opened: Opened) -> None:
    journal = opened()
    journal.append(Commit(1, 0, [Resumed(0, 1)], letters=[PENDING, DONE, DEAD]))
    for _ in range(2):
        assert journal.letter(3) == DONE
        assert journal.letter(4) is None
        assert journal.letters("pending") == [PENDING]
        assert journal.letters("dead") == [DEAD]
        journal.close()
        journal = opened()
    journal.close()


def test_a_commit_may_have_nothing_but_letters(opened: Opened) -> None:
    journal = opened()
    journal.append(Commit(1, 0, [Resumed(0, 1)], letters=[PENDING]))
    tried = msgspec.structs.replace(PENDING, attempts=1, tried_ms=1_100, why="no answer within 5 s")
    journal.append(Commit(2, 1_100, [], letters=[tried]))
    assert (journal.last, journal.letters("pending")) == (1, [tried])
    journal.append(Commit(2, 1_200, [Resumed(0, 1)], letters=[msgspec.structs.replace(tried, status="dead")]))
    assert (journal.last, journal.letters("pending")) == (2, [])
    journal.close()


def test_letters_stand_by_match(opened: Opened) -> None:
    journal = opened()
    numbers = [12, 3, 100, 7]
    journal.append(Commit(1, 0, [Resumed(0, 1)], letters=[Letter(number, "duel", 0) for number in numbers]))
    assert [letter.match for letter in journal.letters("pending")] == sorted(numbers)
    journal.close()


def test_a_commit_that_fails_leaves_no_letter(opened: Opened) -> None:
    journal = opened()
    with pytest.raises(JournalError):
        journal.append(Commit(5, 0, [Resumed(0, 1)], letters=[PENDING]))
    assert journal.letter(7) is None
    journal.close()


def test_an_older_file_has_no_letters_and_gets_room_for_them_when_it_is_opened_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    shutil.copy(GOLDEN, path)
    with SqliteJournal(path, read_only=True) as journal:
        assert (journal.letter(1), journal.letters("pending")) == (None, [])
    with SqliteJournal(path) as journal:
        journal.append(Commit(journal.last + 1, 0, [], letters=[PENDING]))
        assert journal.letters("pending") == [PENDING]


def test_a_damaged_letter_is_said_to_be_one(tmp_path: Path) -> None:
    with SqliteJournal(tmp_path / "evenmatch.db") as journal:
        journal.append(Commit(1, 0, [Resumed(0, 1)], letters=[PENDING]))
        journal._db.execute("UPDATE outbox SET body = '{'")
        with pytest.raises(JournalDamaged, match="the outbox cannot be read"):
            journal.letters("pending")
