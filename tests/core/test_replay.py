"""I8: the journal alone gives the same state, from any point, and any other journal gives another."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.core.checkpoint import dump, load
from evenmatch.core.evolve import evolve
from evenmatch.core.hashing import recomputed_sums, state_hash
from evenmatch.core.state import State
from evenmatch.domain import backfill_events as bev
from evenmatch.domain import events as ev
from evenmatch.domain.lane_events import LaneEvent
from evenmatch.domain.table import Choice, Table
from evenmatch.recovery import checkpoint_of, recover, replay, restore
from evenmatch.storage.codec import decode_content, decode_events, encode_content, encode_events
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.protocol import Commit

from .invariants import check_columns
from .tour import GRAND_TOUR
from .walk import MOVES, Move, Walk

LANES = st.sampled_from([1, 2])


def through_bytes(events: list[ev.Event]) -> list[ev.Event]:
    """As they come out of a journal file."""
    return decode_events(encode_events(events))


@given(MOVES, LANES)
def test_replaying_any_prefix_gives_the_same_hash(moves: list[Move], lane: int) -> None:
    walk = Walk(moves, lane)
    state = State()
    for events, expected in zip(walk.commits, walk.hashes, strict=True):
        for event in through_bytes(events):
            evolve(state, event)
        assert state_hash(state) == expected
    check_columns(state)


@given(MOVES)
def test_a_hash_that_is_asked_for_once_at_the_end_is_the_same(moves: list[Move]) -> None:
    walk = Walk(moves)
    state = State()
    for event in walk.events:
        evolve(state, event)
    assert state_hash(state) == walk.hashes[-1]


@given(MOVES, LANES, st.integers(0, 1_000))
def test_a_checkpoint_at_any_point_and_the_rest_give_the_same_hash(moves: list[Move], lane: int, point: int) -> None:
    walk = Walk(moves, lane)
    point %= len(walk.commits)
    journal = MemoryJournal()
    state = State()
    for number, events in enumerate(walk.commits):
        journal.append(Commit(state.sequence + 1, 0, through_bytes(events)))
        for event in events:
            evolve(state, event)
        if number == point:
            journal.save_checkpoint(checkpoint_of(state))
    assert state_hash(recover(journal)) == walk.hashes[-1]
    loaded = restore(journal.store.checkpoints[0])
    assert state_hash(loaded) == walk.hashes[point]
    check_columns(loaded)
    for events, expected in zip(walk.commits[point + 1 :], walk.hashes[point + 1 :], strict=True):
        for event in events:
            evolve(loaded, event)
        assert state_hash(loaded) == expected
        assert dump(loaded)["sums"] is not None
    check_columns(loaded)


@given(MOVES)
def test_a_loaded_checkpoint_goes_on_as_the_engine_would(moves: list[Move]) -> None:
    """What is neither hashed nor kept (the memos of deadlines) must not matter to what is decided next."""
    from evenmatch.domain import commands as cmd

    walk = Walk(moves)
    now_ms = walk.stage.now_ms
    loaded = restore(checkpoint_of(walk.state))
    from evenmatch.core.engine import Engine

    other, own = Engine(loaded, keep_ms=10_000), Engine(walk.state, keep_ms=10_000)
    for after_ms in (0, 1_000, 5_000, 10_000, 30_000):
        first, second = (engine.step(cmd.Tick(), now_ms + after_ms) for engine in (own, other))
        assert encode_events(list(first.events)) == encode_events(list(second.events))
        assert [effect.snapshot.ticket.tolist() for effect in first.effects] == [
            effect.snapshot.ticket.tolist() for effect in second.effects
        ]
        assert [effect.snapshot.group.tolist() for effect in first.effects] == [
            effect.snapshot.group.tolist() for effect in second.effects
        ]
    assert state_hash(own.state) == state_hash(other.state)


def _bumped(value: Any) -> Any:
    """Something near, and not the same."""
    match value:
        case int():
            return value + 1
        case np.ndarray() if value.dtype.kind == "f":
            return np.where(np.isnan(value), 1.0, value + 1.0)
        case np.ndarray():
            # The next ticket may stand in the same slot of another queue; a far one stands nowhere.
            return value + np.array(1_000 if value.dtype == np.int64 else 1, value.dtype)
        case dict() if not value:
            return {"told": 1}
        case dict():
            return {name: _bumped(column) for name, column in value.items()}
        case str():
            return value + "x"
        case Choice():
            return Choice(value.code, [_bumped(word) for word in value.words])
        case Table():
            return Table({name: _bumped(column) for name, column in value.columns.items()})
        case _:
            return tuple(_bumped(item) for item in value)


_UNTOLD = {
    "queue",  # there is no such queue
    "spec",
    "why",
    "seed",
    "digest",
    "snapshot_sequence",
    "previous",
    "blamed_previous",
    "returned_previous",
    "inside_previous",
    "player",  # of an answer: see below
    "more",  # where nobody misses the wave it makes no difference
    "lifted",  # of a cool-down: only how it came to its end
    "guilty",  # of a failed ready check: who it was, for its story
    *("source", "version"),  # of rules: the read table keeps them
    *("who", "action", "subject", "detail"),  # of an operator's action: the audit keeps them
    *("match", "address", "port", "token", "attempts"),  # of a game server: the outbox keeps them
}
"""Fields that the state does not keep, or that cannot be changed without breaking the event."""


_OF_PROPOSALS = {"first_proposal", "deadline_ms", "ends_ms", "confirm_ms"}
"""Fields of a wave that say something of its proposals only."""


_OF_THE_LEDGER = (ev.ResultReported, ev.ResultCorrected, ev.SeasonStarted)
"""Events of which the state keeps nothing: what they tell is in the journal's ledger."""


def hash_after(state: State, event: ev.Event) -> str:
    """The hash after one event more; an event that cannot be applied has none."""
    copy = load(decode_content(encode_content(dump(state))))
    try:
        evolve(copy, event)
        return state_hash(copy)
    except (KeyError, IndexError, ValueError, AssertionError):
        return "impossible"


@settings(max_examples=settings().max_examples // 5)
@given(MOVES, LANES)
def test_any_change_of_any_event_changes_the_hash(moves: list[Move], lane: int) -> None:
    walk = Walk(moves, lane)
    state = State()
    for event in walk.events:
        true = hash_after(state, event)
        for name in event.__struct_fields__:
            value = getattr(event, name)
            empty = isinstance(value, np.ndarray | tuple | dict | Table) and not len(value)
            without_proposals = isinstance(event, ev.WaveFinished) and not len(event.roster)
            if isinstance(event, _OF_THE_LEDGER) and name != "at_ms":
                continue
            if isinstance(event, bev.BackfillClosed) and name == "cause":  # only how the places came to their end
                continue
            if isinstance(event, ev.ProposalsFailed) and name == "cause" and not len(event.blamed):
                continue  # what is kept of it stands with those who are to blame
            unasked = name == "confirm_ms" and bool(getattr(event, "deadline_ms", 0))  # a ready check comes before it
            untold = name in _UNTOLD and not isinstance(event, LaneEvent)
            if untold or empty or unasked or (without_proposals and name in _OF_PROPOSALS):
                continue
            changed = msgspec.structs.replace(event, **{name: _bumped(value)})
            assert hash_after(state, changed) != true, (type(event).__name__, name)
        evolve(state, event)
        assert state_hash(state) == true


@given(MOVES, st.integers(0, 1_000))
def test_an_omitted_event_is_noticed(moves: list[Move], which: int) -> None:
    walk = Walk(moves)
    which %= len(walk.events)
    journal = MemoryJournal()
    journal.append(Commit(1, 0, walk.events))
    del journal.store.commits[0].events[which]
    state = State()
    try:
        replay(journal, state)
    except (KeyError, IndexError, ValueError, AssertionError):
        return
    assert state_hash(state) != walk.hashes[-1]


def _reversed_slots(content: dict[str, Any]) -> dict[str, Any]:
    """The same state with every table upside down."""
    for queue in content["queues"]:
        tickets, players, proposals = queue["tickets"], queue["players"], queue["proposals"]
        used, seats, rows = len(tickets["ticket"]), len(players["player"]), len(proposals["proposal"])
        runs = [(int(s), int(z)) for s, z in zip(tickets["start"], tickets["size"], strict=True)]
        taken = [run for run, status in zip(runs, tickets["status"], strict=True) if status]
        free = [(int(s), int(size)) for size, starts in queue["free_players"].items() for s in starts]
        order = np.concatenate([np.arange(s, s + z) for s, z in sorted(taken + free, reverse=True)] or [np.arange(0)])
        assert sorted(order.tolist()) == list(range(seats)), "runs overlap, or rows are lost"
        place = {int(row): at for at, row in enumerate(order)}
        tickets["start"] = np.array([place.get(int(s), 0) for s in tickets["start"]], np.int64)
        queue["free_players"] = {
            size: np.array([place[int(s)] for s in starts], np.int64) for size, starts in queue["free_players"].items()
        }
        queue["traits"] = {
            name: [[place[row], *noted] for row, *noted in kept] for name, kept in queue["traits"].items()
        }
        queue["players"] = {name: column[order] for name, column in players.items()}
        queue["tickets"] = {name: column[::-1] for name, column in tickets.items()}
        queue["proposals"] = {name: column[::-1] for name, column in proposals.items()}
        queue["free_tickets"] = used - 1 - queue["free_tickets"]
        queue["free_proposals"] = rows - 1 - queue["free_proposals"]
    return content


@given(MOVES, st.integers(0, 1_000))
def test_slot_order_does_not_matter(moves: list[Move], point: int) -> None:
    walk = Walk(moves)
    point %= len(walk.commits)
    state = State()
    for number, (events, expected) in enumerate(zip(walk.commits, walk.hashes, strict=True)):
        for event in events:
            evolve(state, event)
        if number == point:
            state = load(_reversed_slots(dump(state)))
            check_columns(state)
        assert state_hash(state) == expected


@pytest.mark.parametrize("spoil", [lambda body: body[:-1], lambda body: body + b"x", lambda _: b"\x90"])
def test_a_spoilt_checkpoint_is_refused(spoil: Callable[[bytes], bytes]) -> None:
    from evenmatch.errors import JournalDamaged

    checkpoint = checkpoint_of(Walk([("crowd", 0, 0)]).state)
    with pytest.raises(JournalDamaged):
        restore(msgspec.structs.replace(checkpoint, body=spoil(checkpoint.body)))


def test_a_checkpoint_that_gives_another_hash_is_refused() -> None:
    from evenmatch.errors import JournalDamaged

    checkpoint = checkpoint_of(Walk([("crowd", 0, 0)]).state)
    with pytest.raises(JournalDamaged, match="saved as"):
        restore(msgspec.structs.replace(checkpoint, hash="0" * 32))


def test_recovery_refuses_a_journal_with_a_gap() -> None:
    from evenmatch.errors import JournalDamaged

    walk = Walk([("crowd", 0, 0), ("wave", 0, 0)])
    journal = MemoryJournal()
    journal.append(Commit(1, 0, walk.commits[0]))
    journal.append(Commit(1 + len(walk.commits[0]), 0, walk.commits[1]))
    del journal.store.commits[0]
    with pytest.raises(JournalDamaged, match="missing"):
        recover(journal)


def test_replay_can_stop_on_the_way() -> None:
    walk = Walk([("crowd", 0, 0), ("wave", 0, 0), ("late", 3, 0)])
    journal = MemoryJournal()
    journal.append(Commit(1, 0, walk.events))
    state = State()
    replay(journal, state, upto=len(walk.commits[0]))
    assert state_hash(state) == walk.hashes[0]


def test_every_kind_of_event_is_walked_through() -> None:
    """The moves can lead anywhere; what is proved above is proved of all kinds."""
    walk = Walk(GRAND_TOUR, lane=2)
    assert {type(event) for event in walk.events} == set(ev.Event.__args__)


def test_the_sums_are_kept_right_through_a_grand_tour() -> None:
    walk = Walk(GRAND_TOUR)
    state_hash(walk.state)
    kept = walk.state.tickets_sum_high % 2**64, walk.state.tickets_sum_low % 2**64
    assert kept == recomputed_sums(walk.state)
