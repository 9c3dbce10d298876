"""The journals of every release can be read for ever, and give the state that they gave then."""

import shutil
from pathlib import Path

import pytest

from evenmatch.core.hashing import state_hash
from evenmatch.domain.events import OperatorActed
from evenmatch.recovery import recover, verify
from evenmatch.storage.protocol import Commit
from evenmatch.storage.sqlite import SqliteJournal

GOLDEN = sorted(Path(__file__).parent.glob("*.evm"))
OLDER = [golden for golden in GOLDEN if "schema" in golden.stem]
"""Of the time before operators' actions were noted."""


def test_there_is_a_golden_journal() -> None:
    assert GOLDEN


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_a_golden_journal_still_gives_its_hash(golden: Path, tmp_path: Path) -> None:
    path = tmp_path / golden.name
    shutil.copy(golden, path)
    expected = golden.with_suffix(".hash").read_text("ascii").strip()
    with SqliteJournal(path) as journal:
        found = verify(journal)
        assert (found.hash, found.first_sequence, found.checkpoints) == (expected, 1, 2)
        newest = journal.newest_checkpoint()
        assert newest is not None
        assert newest.sequence < journal.last, "recovery must have something to replay"
        assert state_hash(recover(journal)) == expected
        assert journal.names_of([1]) == {1: "player 1"}
        assert journal.attributes_of(1) == {"region": "eu"}
        assert bool(journal.audit(0, 10)) == (golden not in OLDER)


@pytest.mark.parametrize("golden", OLDER, ids=lambda path: path.stem)
def test_an_older_journal_gets_an_audit_when_it_is_opened_to_be_written(golden: Path, tmp_path: Path) -> None:
    path = tmp_path / golden.name
    shutil.copy(golden, path)
    with SqliteJournal(path, read_only=True) as journal:
        assert journal.audit(0, 10) == []
    with SqliteJournal(path) as journal:
        action = OperatorActed(1, "ops (1a)", "end_match", "m-000000000001")
        journal.append(Commit(journal.last + 1, 1, [action]))
        told = {"at_ms": 1, "who": "ops (1a)", "action": "end_match", "subject": "m-000000000001", "detail": ""}
        assert journal.audit(0, 10) == [(journal.last, told)]
        assert journal.audit(journal.last, 10) == []
