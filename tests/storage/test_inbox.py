"""The inbox, in memory and in PostgreSQL: handed in once, carried out once or taken back, and then never both."""

import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from evenmatch.core.engine import Engine
from evenmatch.domain import commands as cmd
from evenmatch.domain.queue import QueueSpec
from evenmatch.errors import JournalWithdrawn
from evenmatch.storage import postgres_inbox
from evenmatch.storage.inbox import Outcome, Request
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.memory_inbox import MemoryDesk
from evenmatch.storage.postgres import PostgresJournal
from evenmatch.storage.postgres_line import Line
from evenmatch.storage.protocol import Commit
from tests import postgres


class Case:
    """An owner, two nodes' desks, and what the owner sees in its inbox."""

    def __init__(self, journal: Any, desks: tuple[Any, Any], look: Any) -> None:
        self.journal, self.desks, self.look = journal, desks, look

    def waiting(self) -> list[str]:
        return [request.id for request in self.look()]

    def carry_out(self, *ids: str, events: bool = True) -> None:
        made = Engine().step(cmd.OpenQueue(QueueSpec("duel")), 1).events if events else ()
        first = self.journal.last + 1
        told = [Outcome(id, id.encode()) for id in ids]
        self.journal.append(Commit(first_sequence=first, at_ms=1, events=list(made), outcomes=told))


@pytest.fixture(params=["memory", "postgres"])
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    if request.param == "memory":
        twin = MemoryJournal()
        store = twin.store
        yield Case(twin, (MemoryDesk(store), MemoryDesk(store)), lambda: list(store.inbox.values()))
        return
    url = postgres.cleared()
    with PostgresJournal(url, "the database") as journal, closing(Line(url, "the database")) as line:
        desks = [postgres_inbox.Desk(url, "the database", uuid.uuid4().hex) for _ in range(2)]
        yield Case(journal, (desks[0], desks[1]), lambda: postgres_inbox.waiting(line, 1))
        for desk in desks:
            desk.close()


def asked(*bodies: bytes) -> list[Request]:
    return [Request(uuid.uuid4().hex, body) for body in bodies]


def test_the_owner_sees_requests_in_the_order_they_were_handed_in(case: Case) -> None:
    requests = asked(b"a", b"b", b"c")
    case.desks[0].hand_in([(1, request) for request in requests[:2]])
    case.desks[1].hand_in([(1, requests[2])])
    assert case.look() == requests


def test_an_answer_is_there_with_the_events_it_speaks_of_and_nowhere_else(case: Case) -> None:
    first, second = asked(b"a", b"b")
    case.desks[0].hand_in([(1, first), (1, second)])
    assert case.desks[0].fetch([first.id, second.id]) == []
    case.carry_out(first.id)
    assert case.waiting() == [second.id]
    assert case.desks[0].fetch([first.id, second.id]) == [Outcome(first.id, first.id.encode(), case.journal.last)]


def test_handing_in_again_after_a_failure_changes_nothing(case: Case) -> None:
    first, second = asked(b"a", b"b")
    for _ in range(3):
        case.desks[0].hand_in([(1, first), (1, second)])
    assert case.waiting() == [first.id, second.id]
    case.carry_out(first.id)
    case.desks[0].hand_in([(1, first), (1, second)])
    assert case.waiting() == [second.id]


def test_what_was_taken_back_cannot_be_carried_out_and_nothing_of_its_commit_is_written(case: Case) -> None:
    first, second = asked(b"a", b"b")
    case.desks[0].hand_in([(1, first), (1, second)])
    assert case.desks[0].take_back([first.id]) == {first.id}
    before = case.journal.last
    with pytest.raises(JournalWithdrawn):
        case.carry_out(first.id, second.id)
    assert case.journal.last == before
    assert case.waiting() == [second.id]
    assert case.desks[0].fetch([first.id, second.id]) == []
    case.carry_out(second.id)
    assert case.journal.last == before + 1


def test_what_was_carried_out_cannot_be_taken_back(case: Case) -> None:
    (first,) = asked(b"a")
    case.desks[0].hand_in([(1, first)])
    case.carry_out(first.id, events=False)
    assert case.desks[0].take_back([first.id]) == set()
    assert [outcome.id for outcome in case.desks[0].fetch([first.id])] == [first.id]
    case.desks[0].drop([first.id])
    assert case.desks[0].fetch([first.id]) == []


def test_an_answer_without_events_takes_no_sequence(case: Case) -> None:
    (first,) = asked(b"a")
    case.desks[0].hand_in([(1, first)])
    before = case.journal.last
    case.carry_out(first.id, events=False)
    assert case.journal.last == before
    assert case.desks[0].fetch([first.id])[0].sequence == before


def test_a_thousand_answers_go_into_one_commit(case: Case) -> None:
    requests = asked(*[b"x"] * 1000)
    case.desks[0].hand_in([(1, request) for request in requests])
    case.carry_out(*[request.id for request in requests])
    assert case.waiting() == []
    assert len(case.desks[0].fetch([request.id for request in requests])) == 1000


def hears(ear: postgres_inbox.Ear) -> bool:
    return ear.hears


def test_an_ear_hears_its_own_channels_and_knows_when_it_is_deaf() -> None:
    url = postgres.cleared()
    with (
        closing(postgres_inbox.Ear(url, "the database", [postgres_inbox.MOVED])) as ear,
        closing(Line(url, "the database")) as line,
    ):
        assert not hears(ear)
        ear.listen(0)
        assert hears(ear)
        for lane, channel in enumerate((postgres_inbox.ASKED, postgres_inbox.MOVED), 1):
            postgres_inbox.ring(line, channel, lane)
        assert ear.listen(30.0) == {(postgres_inbox.MOVED, 2)}
        postgres.bare(
            url,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE query LIKE 'LISTEN %' AND datname = current_database()",
        )
        ear.listen(30.0)
        assert not hears(ear)
