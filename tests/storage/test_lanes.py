"""Several lanes of one database: each has its own journal, and all share the players."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evenmatch.cli.journal import archive, backup, prune, show
from evenmatch.cli.journal import copy as copy_journal
from evenmatch.cli.journal import verify as verify_journal
from evenmatch.cli.replay import replay
from evenmatch.core.engine import Engine
from evenmatch.core.hashing import state_hash
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.arrays import numbers
from evenmatch.domain.ids import LANES_MOST, first_number, lane_of, match_id, number_of, ticket_id
from evenmatch.domain.queue import QueueSpec
from evenmatch.errors import (
    ConfigError,
    JournalConflict,
    JournalDamaged,
    JournalError,
    JournalNewer,
    JournalStale,
    JournalUnavailable,
)
from evenmatch.recovery import checkpoint_of, recover, restore, verify
from evenmatch.service.directory import Directory
from evenmatch.storage import postgres_schema
from evenmatch.storage.backup import back_up
from evenmatch.storage.copying import copy
from evenmatch.storage.erasing import Erasure
from evenmatch.storage.outbox import Letter
from evenmatch.storage.places import open_store
from evenmatch.storage.postgres import PostgresJournal
from evenmatch.storage.postgres_lanes import Lane, lanes, make_lane, make_lanes
from evenmatch.storage.postgres_line import Line
from evenmatch.storage.postgres_rows import COPIED_FROM
from evenmatch.storage.protocol import Checkpoint, Commit
from evenmatch.storage.sqlite import SqliteJournal
from tests import postgres
from tests.postgres import bare


@pytest.fixture
def url() -> str:
    """A database with the lanes main and eu, both empty."""
    url = postgres.cleared()
    PostgresJournal(url, "the database").close()
    made(url, "eu")
    return url


def made(url: str, name: str) -> Lane:
    line = Line(url, "the database")
    try:
        return make_lane(line, name)
    finally:
        line.close()


def test_lanes_are_made_together_or_not_at_all(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.closing(Line(url, "the database")) as line:
        assert make_lanes(line, ["asia", "eu", "us"]) == [Lane(3, "asia"), Lane(2, "eu"), Lane(4, "us")]
        monkeypatch.setattr("evenmatch.storage.postgres_lanes.LANES_MOST", 5)
        with pytest.raises(JournalError, match="5 lanes already"):
            make_lanes(line, ["africa", "oceania"])
        assert [lane.name for lane in lanes(line)] == ["main", "eu", "asia", "us"]


@pytest.fixture
def main(url: str) -> Iterator[PostgresJournal]:
    with PostgresJournal(url, "the database") as journal:
        yield journal


@pytest.fixture
def eu(url: str) -> Iterator[PostgresJournal]:
    with PostgresJournal(url, "the database", journal=2) as journal:
        yield journal


def resumed(first: int, **more: Any) -> Commit:
    return Commit(first, 0, [ev.Resumed(first, 1)], **more)


def at_once(*calls: Callable[[], object]) -> None:
    """Do several things in threads of their own."""
    failed: list[BaseException] = []
    together = threading.Barrier(len(calls))

    def do(call: Callable[[], object]) -> None:
        try:
            together.wait()
            call()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=do, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


# Making and finding them.


def test_a_lane_is_made_once_however_many_make_it_at_the_same_time(url: str) -> None:
    at_once(*[partial(made, url, name) for name in ["us", "asia"] * 4])
    line = Line(url, "the database")
    known = lanes(line)
    line.close()
    assert [lane.journal for lane in known] == [1, 2, 3, 4]
    assert {lane.name for lane in known} == {"main", "eu", "us", "asia"}
    assert bare(url, "SELECT journal FROM evenmatch.leases ORDER BY 1") == [(1,), (2,), (3,), (4,)]


@pytest.mark.parametrize("name", ["", "EU", "-eu", "e u", "é", "x" * 64, "eu\n"])
def test_a_lane_has_a_name_like_a_queue(url: str, name: str) -> None:
    with pytest.raises(ConfigError, match="is no name for a lane"):
        made(url, name)


def test_there_are_only_so_many_lanes(url: str) -> None:
    bare(url, f"INSERT INTO evenmatch.lanes VALUES ({LANES_MOST}, 'last')")
    with pytest.raises(JournalError, match="8000 lanes already"):
        made(url, "more")


def test_a_lane_is_opened_by_its_name(url: str, tmp_path: Path) -> None:
    with open_store(url, lane="eu") as journal:
        assert (journal.lane, journal.lane_name, journal.shared) == (2, "eu", True)
        journal.append(resumed(1))
        with pytest.raises(JournalError, match="lane eu"):
            open_store(url, lane="eu")
        with open_store(url) as main:
            assert (main.lane, main.lane_name, main.shared, main.last) == (1, "main", True, 0)
        with journal.reader() as reading:
            assert (reading.lane, reading.last) == (2, 1)
    for own, read_only in ((True, False), (True, True), (False, False)):
        with pytest.raises(ConfigError, match="no lane 'us': use main, eu"):
            open_store(url, lane="us", own=own, read_only=read_only)
    with pytest.raises(ConfigError, match="is a file, which has no lanes"):
        open_store(str(tmp_path / "a.db"), lane="eu")
    assert not (tmp_path / "a.db").exists()


def test_the_owner_of_the_only_lane_is_replaced_when_a_second_is_made() -> None:
    url = postgres.cleared()
    with PostgresJournal(url, "the database") as before:
        assert not before.shared
        assert before.number(["ann"]) is None
        before.append(resumed(1, names=[(1, "ann")]))
        made(url, "eu")
        with pytest.raises(JournalStale, match="whoever made the lane eu"):
            before.append(resumed(2, names=[(2, "ben")]))
        with PostgresJournal(url, "the database") as after:  # at once
            assert (after.shared, after.last) == (True, 1)
            made(url, "us")
            after.append(resumed(2))  # and one that knows stays
            assert after.number(["ben"]) == {"ben": 2}


def test_programs_that_do_not_know_of_lanes_are_kept_away(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = postgres_schema.migrations()
    monkeypatch.setattr(postgres_schema, "migrations", lambda: known[:2])
    with pytest.raises(JournalNewer, match="upgrade"):
        PostgresJournal(url, "the database")


# Apart from each other.


def told(journal: PostgresJournal) -> list[Any]:
    """All that a journal can be asked."""
    return [
        (journal.oldest, journal.last),
        [sequence for sequence, _ in journal.read(0)],
        type(journal.event(1)),
        [saved.hash for saved in journal.checkpoints()],
        [journal.finished_ticket(5), journal.finished_match(6), journal.attributes_of(7)],
        [journal.recent_tickets(9), journal.audit(0, 9), journal.traces(1)],
        [journal.openings("duel"), journal.letter(8), journal.letters("pending")],
    ]


def test_lanes_do_not_see_what_others_write(main: PostgresJournal, eu: PostgresJournal, tmp_path: Path) -> None:
    empty = told(eu)
    events: list[ev.Event] = [
        ev.QueueOpened(1, QueueSpec("duel"), "file", 1),
        ev.OperatorActed(1, "who", "what", "whom"),
    ]
    record = {"players": [{"player": 1}], "teams": [[{"players": [{"player": 1}]}]]}
    full: dict[str, Any] = {"tickets": [(5, record)], "matches": [(6, record)], "attributes": [(7, {"a": 1})]}
    main.append(Commit(1, 0, events, **full, letters=[Letter(8, "duel", 1)]))
    main.save_checkpoint(Checkpoint(1, "one", b"x"))
    main.save_in_pieces(2, "two", [b"x"])
    assert told(eu) == empty
    seen = told(main)
    eu.append(resumed(1))
    eu.save_checkpoint(Checkpoint(1, "other", b"x"))
    assert told(main) == seen
    assert eu.archive(tmp_path / "eu.db") == 1
    assert eu.prune(2**60).tickets == 0
    assert told(main) == seen


def test_a_stale_owner_of_one_lane_is_refused_while_the_other_writes_on(url: str, main: PostgresJournal) -> None:
    zombie = PostgresJournal(url, "the database", journal=2)
    bare(url, "UPDATE evenmatch.leases SET until = '-infinity' WHERE journal = 2")
    with PostgresJournal(url, "the database", journal=2) as eu:
        main.append(resumed(1))
        with pytest.raises(JournalStale):
            zombie.append(resumed(1))
        eu.append(resumed(1))
        main.append(resumed(2))
        assert (main.last, eu.last) == (2, 1)
    zombie.close()


# Players, whom all share.


def test_player_numbers_are_unique_with_several_owners(main: PostgresJournal, eu: PostgresJournal, url: str) -> None:
    given: list[dict[str, int]] = []

    def number(directory: Directory, own: str) -> None:
        for some in range(40):
            names = [f"{own}{some}", f"both{some}", f"both{some + 1}", f"both{some}"]
            given.append(directory.numbers(names if own == "main" else names[::-1]))

    at_once(lambda: number(Directory(main), "main"), lambda: number(Directory(eu), "eu"))
    known: dict[str, int] = {}
    for some in given:
        for name, given_number in some.items():
            assert known.setdefault(name, given_number) == given_number
    assert sorted(known.values()) == list(range(1, 122))
    assert dict(bare(url, "SELECT name, number FROM evenmatch.players")) == known


def test_numbers_of_erased_players_are_not_given_out_again(main: PostgresJournal, eu: PostgresJournal) -> None:
    directory = Directory(main)
    assert directory.numbers(["ann", "ben"]) == {"ann": 1, "ben": 2}
    assert directory.settle([1, 2]) == []  # they are in the table already
    directory.forget("ben", 2)
    assert directory.numbers(["ben"]) == {"ben": 3}  # joins again in the commit that erases
    assert eu.number(["cid"]) == {"cid": 4}
    rows = directory.settle([3])
    assert rows == [(3, "ben")]
    main.append(resumed(1, names=rows, erasures=[Erasure(2)]))
    assert eu.numbers_of(["ann", "ben"]) == {"ann": 1, "ben": 3}
    assert eu.names_of([1, 2, 3]) == {1: "ann", 3: "ben"}
    main.append(resumed(2, erasures=[Erasure(3), Erasure(4)]))
    assert eu.number(["dan"]) == {"dan": 5}
    assert Directory(eu).shown(["#4", "#5", "#6"]) == {"#4": 4}
    with pytest.raises(JournalError, match="NUL"):
        eu.number(["a\0b"])


# Claims: no player is in proposals or matches of two lanes (I11).


def held(url: str) -> dict[int, int]:
    return dict(bare(url, "SELECT player, journal FROM evenmatch.claims ORDER BY 1"))


def test_a_commit_that_claims_a_player_of_another_lane_fails_whole(
    main: PostgresJournal, eu: PostgresJournal, url: str
) -> None:
    main.append(resumed(1, claimed=numbers([3, 1, 2])))
    assert eu.claimed_elsewhere(numbers([9, 2, 3])).tolist() == [2, 3]
    assert main.claimed_elsewhere(numbers([9, 2, 3])).tolist() == []
    with pytest.raises(JournalConflict, match="of 3 players whom this commit claims, other lanes have 2"):
        eu.append(resumed(1, claimed=numbers([4, 3, 2]), tickets=[(5, {})]))
    assert (eu.last, eu.finished_ticket(5), held(url)) == (0, None, {1: 1, 2: 1, 3: 1})
    main.append(resumed(2, released=numbers([3]), claimed=numbers([5])))
    eu.append(resumed(1, claimed=numbers([3, 4]), released=numbers([1, 2])))  # only its own go
    assert held(url) == {1: 1, 2: 1, 3: 2, 4: 2, 5: 1}
    with pytest.raises(JournalError) as other:  # of another kind
        eu.append(resumed(2, names=[(7, "ann"), (7, "ben")]))
    assert not isinstance(other.value, JournalConflict)


@pytest.mark.parametrize("many", [3, 2 * COPIED_FROM])
def test_of_commits_that_claim_the_same_players_at_once_one_is_written(
    main: PostgresJournal, eu: PostgresJournal, url: str, many: int
) -> None:
    lost = []

    def claim(journal: PostgresJournal, players: list[int]) -> None:
        rows: Any = [(number, {}) for number in range(many)]
        try:
            journal.append(resumed(journal.last + 1, claimed=numbers(players), tickets=rows))
        except JournalConflict:
            lost.append(journal)

    for turn in range(8):
        players = list(range(turn * many, turn * many + many))
        at_once(partial(claim, main, players), partial(claim, eu, players[::-1]))
        assert len(lost) == turn + 1
        winner = ({1, 2} - {lost[-1].lane}).pop()
        has = held(url)
        assert {has[player] for player in players} == {winner}
    assert main.last + eu.last == 8


def test_an_owners_claims_are_what_its_state_says(main: PostgresJournal, eu: PostgresJournal, url: str) -> None:
    main.append(resumed(1, claimed=numbers([1, 2, 3])))
    eu.append(resumed(1, claimed=numbers([4])))
    main.settle_claims(numbers([2, 5]))
    assert held(url) == {2: 1, 4: 2, 5: 1}
    with pytest.raises(JournalDamaged, match="1 players are in matches of this lane and claimed by others, such as 5"):
        eu.settle_claims(numbers([4, 5]))
    assert held(url) == {2: 1, 4: 2, 5: 1}
    main.settle_claims(numbers([]))
    assert held(url) == {4: 2}
    bare(url, "UPDATE evenmatch.leases SET fence = fence + 1 WHERE journal = 1")
    with pytest.raises(JournalStale):
        main.settle_claims(numbers([1]))


def test_no_lane_begins_before_the_one_that_was_alone_has_said_whom_it_claims() -> None:
    url = postgres.cleared()
    with PostgresJournal(url, "the database") as before:
        before.append(resumed(1, claimed=numbers([])))
    made(url, "eu")
    with PostgresJournal(url, "the database", journal=2) as eu:
        with pytest.raises(JournalUnavailable, match="the lane main was alone so far"):
            eu.settle_claims(numbers([]))
        with PostgresJournal(url, "the database") as main:
            main.settle_claims(numbers([7]))
        eu.settle_claims(numbers([]))
        assert eu.claimed_elsewhere(numbers([7])).tolist() == [7]


# Numbers of tickets.


def test_a_number_says_its_lane() -> None:
    assert [first_number(lane) for lane in (1, 2)] == [1, 2**40 + 1]
    for lane in (1, 2, 3, LANES_MOST):
        for number in (first_number(lane), first_number(lane) + 5, first_number(lane + 1) - 1):
            assert lane_of(number) == lane
            assert number_of("t-", ticket_id(number)) == number_of("m-", match_id(number)) == number < 2**53
    assert ticket_id(first_number(2)) == "t-1099511627777"


def test_a_lane_numbers_its_tickets_from_its_own_beginning(eu: PostgresJournal, url: str, tmp_path: Path) -> None:
    engine, first = Engine(), first_number(2)
    plain = state_hash(engine.state)
    events = engine.step(cmd.BeginNumbers(first, first), 1).events
    assert state_hash(engine.state) != plain
    eu.append(Commit(1, 1, list(events)))
    state = engine.state
    assert (state.next_ticket, state.next_proposal) == (first, first)
    assert not state.had_ticket(1)
    assert not state.had_proposal(first)
    assert state_hash(recover(eu)) == state_hash(restore(checkpoint_of(state))) == state_hash(state)
    assert restore(checkpoint_of(state)).first_ticket == first
    eu.save_checkpoint(checkpoint_of(state))
    assert back_up(url, tmp_path / "eu.db", "eu") == 1
    with SqliteJournal(tmp_path / "eu.db") as other:
        assert verify(other).hash == state_hash(state)
    with postgres.database() as elsewhere, PostgresJournal(elsewhere, "another") as target:
        copy(eu, target)
        assert verify(target).hash == state_hash(state)


def test_the_command_line_takes_a_lane(
    main: PostgresJournal, eu: PostgresJournal, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main.append(resumed(1))
    eu.append(Commit(1, 1, list(Engine().step(cmd.BeginNumbers(first_number(2), first_number(2)), 1).events)))
    show(url, lane="eu")
    assert "numbers_begin" in capsys.readouterr().out
    show(url)
    assert "resumed" in capsys.readouterr().out
    hashes = []
    for told in (
        partial(verify_journal, url, lane="eu", json_output=True),
        partial(replay, url, lane="eu", json=True),
        partial(backup, url, tmp_path / "a.db", lane="eu", json_output=True),
        partial(copy_journal, url, str(tmp_path / "b.db"), lane="eu", json_output=True),
    ):
        told()
        hashes.append(json.loads(capsys.readouterr().out)["hash"])
    assert len(set(hashes)) == 1
    verify_journal(url, json_output=True)
    assert json.loads(capsys.readouterr().out)["hash"] != hashes[0]
    archive(url, tmp_path / "c.db", lane="eu")
    prune(url, older_than="1h", lane="eu")
    with pytest.raises(ConfigError, match="use main, eu"):
        verify_journal(url, lane="us")
    with pytest.raises(ConfigError, match="has no lanes"):
        verify_journal(str(tmp_path / "a.db"), lane="eu")
