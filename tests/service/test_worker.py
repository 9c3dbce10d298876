"""What goes to a worker process and back is what was sent; who plans a wave, a thread or a process."""

import pickle
from multiprocessing.shared_memory import SharedMemory

import msgspec
import numpy as np
import pytest

from evenmatch.domain.commands import FinishWave
from evenmatch.domain.effects import RunMatcher
from evenmatch.domain.match import Plan
from evenmatch.domain.queue import Format, MatcherSpec, QueueSpec, WaveSpec
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.table import Choice, Table
from evenmatch.service import matching, worker
from evenmatch.service.matching import MatcherRoom, planned

RATINGS = np.round(np.linspace(1000, 2000, 120))


def effect(matcher: str = "buckets", *, isolate: bool | None = None, rows: int = 120) -> RunMatcher:
    snapshot = Snapshot.from_columns(rating=RATINGS[:rows], ping_ms=RATINGS[:rows] / 50, format=Format(2, 1))
    snapshot = msgspec.structs.replace(snapshot, traits={"region": ("eu",) * rows}, active_population=7, first_match=3)
    spec = QueueSpec("duel", Format(2, 1), MatcherSpec(matcher), WaveSpec(isolate=isolate))
    return RunMatcher(spec, 1, 5, lambda: snapshot, 60_000)


def sent(given: RunMatcher, answer: FinishWave | None = None) -> FinishWave:
    """The answer to a wave, by all the ways that a worker process uses but in this one."""
    with worker._shared(given.snapshot) as (memory, layout, end):
        theirs = SharedMemory(name=memory.name)
        bare, rest = pickle.loads(pickle.dumps(worker._bare(given)))
        whole = worker._whole(bare, rest, theirs, layout)
        for name in Snapshot.__struct_fields__:
            ours, copied = getattr(given.snapshot, name), getattr(whole.snapshot, name)
            if isinstance(ours, np.ndarray):
                assert ours.dtype == copied.dtype
                assert not copied.flags.writeable
                assert ours.tolist() == copied.tolist()
        assert whole.snapshot.traits == given.snapshot.traits
        facts = [{name: fact.tolist() for name, fact in one.facts.items()} for one in (whole.snapshot, given.snapshot)]
        assert facts[0] == facts[1]
        packed = worker._packed(theirs, answer or planned(whole), end)
        del whole, ours, copied
        back = worker._unpacked(memory, *pickle.loads(pickle.dumps(packed)))
        assert worker._closed(theirs)
    assert isinstance(back, FinishWave)
    return back


@pytest.mark.parametrize("matcher", ["buckets", "first_come", "exact"])
def test_a_plan_comes_back_as_it_was_made(matcher: str) -> None:
    given = effect(matcher, rows=12 if matcher == "exact" else 120)
    here, back = planned(given), sent(given)
    assert here.plan is not None
    assert back.plan is not None
    assert (back.queue, back.wave, back.reads_misses, back.next_change_ms) == (
        *(here.queue, here.wave, here.reads_misses, here.next_change_ms),
    )
    for name in ("rosters", "team_of", "cost", "reasons"):
        ours, theirs = getattr(here.plan, name), getattr(back.plan, name)
        assert (ours.dtype, ours.tolist()) == (theirs.dtype, theirs.tolist())
    assert back.plan.match_details == here.plan.match_details


def test_the_regions_that_tickets_reach_go_along() -> None:
    given = effect("first_come", rows=4)
    near = msgspec.structs.replace(given.snapshot, reach=np.array([1, 2, 1, 2]))
    given = msgspec.structs.replace(given, take=lambda: near)
    back = sent(given)  # which also sees that they cannot be written to
    assert back.plan is not None
    assert sorted(map(sorted, back.plan.rosters.tolist())) == [[0, 2], [1, 3]]
    room = worker.Worker("duel", planned)
    try:
        answer = room.plan(given)
    finally:
        room.kill()
    assert answer.plan is not None
    assert answer.plan.rosters.tolist() == back.plan.rosters.tolist()


def test_a_plan_that_is_larger_than_expected_comes_back_too() -> None:
    given = effect(rows=4)
    details = Table({"wide": np.zeros((2, 50_000)), "map": Choice(np.array([0, 1]), ["a", "b"])})
    plan = Plan(np.zeros((2, 2), np.int32), np.zeros((2, 2), np.int8), np.zeros(2), np.zeros(4, np.int8))
    back = sent(given, FinishWave("duel", 1, msgspec.structs.replace(plan, match_details=details)))
    assert back.plan is not None
    assert back.plan.match_details[1]["map"] == "b"


def test_a_column_that_somebody_holds_keeps_its_memory() -> None:
    given = effect()
    with worker._shared(given.snapshot) as (memory, layout, _):
        theirs = SharedMemory(name=memory.name)
        held = worker._whole(*worker._bare(given), theirs, layout).snapshot.ticket
        assert not worker._closed(theirs)
        assert held.tolist() == given.snapshot.ticket.tolist()
        del held
        assert worker._closed(theirs)


def test_a_large_wave_is_planned_in_a_thread_until_its_worker_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    warmed: list[str] = []
    monkeypatch.setattr(worker.Worker, "warm", lambda _, matcher: warmed.append(matcher.name))
    monkeypatch.setattr(matching, "LARGE", 100)
    room = MatcherRoom()
    assert not room._apart(effect(rows=49))
    assert warmed == []
    assert not room._apart(effect(rows=50)), "half as large: its worker is started"
    assert warmed == ["buckets"]
    room.worker("duel").started = True
    assert not room._apart(effect(rows=120)), "it is not there yet"
    room.worker("duel").ready = True
    assert room._apart(effect(rows=100))
    assert not room._apart(effect(rows=99))
    assert room._apart(effect(rows=2, isolate=True))
    assert not room._apart(effect(rows=120, isolate=False))
    assert warmed == ["buckets"]


def test_queues_that_ask_for_a_worker_get_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    warmed: list[str] = []
    monkeypatch.setattr(worker.Worker, "warm", lambda self, _: warmed.append(self.queue))
    MatcherRoom().prepare([effect().spec, msgspec.structs.replace(effect(isolate=True).spec, name="apart")])
    assert warmed == ["apart"]
