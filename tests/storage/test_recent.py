"""Single events of commits: the right one, read once, and not beyond what may be archived."""

import msgspec
import pytest

from evenmatch.domain import events as ev
from evenmatch.domain.events import Event
from evenmatch.errors import JournalDamaged
from evenmatch.storage.codec import SCHEMA, encode_events
from evenmatch.storage.recent import Part, Recent, split

EVENTS: list[Event] = [ev.Resumed(number, 1) for number in range(1, 8)]


def when(event: object) -> int:
    assert isinstance(event, ev.Resumed)
    return event.at_ms


class Commits:
    """Commits of two events each, and how often one was read."""

    def __init__(self, padding: int = 0) -> None:
        self.reads = 0
        self.padding = padding

    def read(self, sequence: int) -> tuple[int, list[Part], int] | None:
        self.reads += 1
        first = (sequence - 1) // 2 * 2 + 1
        if first >= len(EVENTS):
            return None
        body = encode_events(EVENTS[first - 1 : first + 1])
        return first, split(body, SCHEMA), len(body) + self.padding


def test_every_event_is_the_one_with_its_sequence_and_a_commit_is_read_once() -> None:
    commits, recent = Commits(), Recent()
    for sequence in (1, 2, 6, 5, 1, 3, 2, 4):
        assert when(recent.event(sequence, commits.read)) == sequence
    assert commits.reads == 3
    assert recent.event(9, commits.read) is None


def test_a_commit_that_a_checkpoint_has_behind_it_is_read_anew() -> None:
    commits, recent = Commits(), Recent()
    recent.event(1, commits.read)
    recent.event(3, commits.read)
    recent.after = 2
    for sequence in (1, 2, 3):
        assert when(recent.event(sequence, commits.read)) == sequence
    assert commits.reads == 4


def test_only_so_many_bytes_are_kept() -> None:
    commits, recent = Commits(padding=3_000_000), Recent()
    for sequence in (1, 3, 1, 3):
        assert when(recent.event(sequence, commits.read)) == sequence
    assert commits.reads == 4
    huge = Commits(padding=5_000_000)
    assert (when(recent.event(5, huge.read)), when(recent.event(6, huge.read)), huge.reads) == (5, 6, 2)


def test_events_of_an_older_schema_are_brought_up_to_date() -> None:
    assert [when(event) for event in split(encode_events(EVENTS), 1)] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("body", [b"", b"\xc1", msgspec.msgpack.encode({"a": 1}), encode_events(EVENTS)[:-1]])
def test_what_is_no_commit_is_said_to_be_damaged(body: bytes) -> None:
    with pytest.raises(JournalDamaged, match="cannot be read"):
        split(body, SCHEMA)
