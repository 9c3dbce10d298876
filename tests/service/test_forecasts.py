"""Forecasts: as often right as they say, unknown without experience, and the same after a restart."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from evenmatch import config
from evenmatch.core.engine import Engine
from evenmatch.core.state import State
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.queue import DoorSpec, Format, QueueSpec, TicketSpec, WaveSpec
from evenmatch.domain.ticket import Member, TicketRequest
from evenmatch.service import forecasts, waits
from evenmatch.service.forecasts import Asked, Forecasts, estimate
from evenmatch.service.matching import planned
from evenmatch.settings import Settings
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.protocol import Commit
from evenmatch.storage.sqlite import SqliteJournal

from .inside import app_over, living, until

SKILL = config.parse(
    """
[queues.skill]
wave = { every_s = 1 }
ticket = { expires_s = 600, heartbeat_s = 100000 }
matcher = { name = "buckets", bucket = 25, growth_s = 4, range_max = 30 }
""",
    "queues.toml",
)[0]
T0 = 1_790_000_000_000


class Traffic:
    """A queue that lives by its own clock: strangers join by chance, some lose patience, waves are planned at once."""

    def __init__(self, spec: QueueSpec, seed: int, keep_ms: int = 60_000) -> None:
        self.engine, self.forecasts, self.journal = Engine(State(), keep_ms=keep_ms), Forecasts(), MemoryJournal()
        self.spec, self.dice = spec, np.random.default_rng(seed)
        self.now_ms, self.players = T0, 0
        self.leaving: dict[int, list[int]] = {}
        """Second -> tickets that leave then."""
        self.do(cmd.OpenQueue(spec))

    def do(self, command: cmd.Command) -> Any:
        step = self.engine.step(command, self.now_ms)
        assert step.refusal is None or isinstance(command, cmd.Leave), step.refusal
        if step.events:
            self.commit(list(step.events), step)
        for effect in step.effects:
            self.do(planned(effect))
        return step

    def commit(self, events: list[ev.Event], step: Any) -> None:
        first = self.engine.state.sequence - len(events) + 1
        tickets = [row for left in step.departures for row in left.tickets]
        self.journal.append(Commit(first, self.now_ms, events, tickets=tickets))
        self.forecasts.committed(self.engine.state, events, self.now_ms)

    def second(self, joins: float, patience_s: float | None = None) -> None:
        """A second in which so many join on average, and stay for so long on average if nobody is found."""
        self.now_ms += 1_000
        self.do(cmd.Tick())
        for ticket in self.leaving.pop(self.now_ms, []):
            self.do(cmd.Leave(ticket))
        for _ in range(self.dice.poisson(joins)):
            self.players += 1
            member = Member(self.players, rating=float(self.dice.normal(1500, 150)))
            (ticket,) = self.do(cmd.JoinMany(self.spec.name, (TicketRequest((member,)),))).outcomes
            if patience_s is not None:
                stays_ms = 1_000 * (1 + int(self.dice.exponential(patience_s)))
                self.leaving.setdefault(self.now_ms + stays_ms, []).append(ticket)

    @property
    def coverage(self) -> forecasts.CoverageView:
        return self.forecasts.record(self.spec.name).view()

    def forecast(self, **asked: Any) -> Any:
        known = self.forecasts.gather(self.engine.state.queues[self.spec.name], self.now_ms)
        return estimate(known, Asked(**asked))


@pytest.mark.parametrize(("seed", "patience_s"), [(1, None), (3, 60.0)])
def test_coverage_is_near_what_is_promised(seed: int, patience_s: float | None) -> None:
    traffic = Traffic(SKILL, seed)
    for _ in range(1_000):
        traffic.second(0.7, patience_s)
    found = traffic.coverage
    assert found.settled > 250
    assert found.p50 == pytest.approx(0.5, abs=0.1)
    assert found.p90 == pytest.approx(0.9, abs=0.06)
    assert (found.left > 0) == (patience_s is not None)
    (half, most), basis, unknown = traffic.forecast(rating=1500.0, party=1)
    assert unknown is None
    assert 0 < half < most
    assert basis.same_party
    assert basis.rating_within < 300
    # Few are like the strong: they wait longer, and hear so.
    assert traffic.forecast(rating=1900.0)[0][0] > half


def test_forgetting_the_oldest_does_not_bend_forecasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "KEPT", 150)
    traffic = Traffic(SKILL, 5)
    for _ in range(1_200):
        traffic.second(0.7)
    assert traffic.forecasts.memory("skill").since_ms > T0
    assert traffic.coverage.p50 == pytest.approx(0.5, abs=0.12)
    assert traffic.coverage.p90 == pytest.approx(0.9, abs=0.08)


def test_without_experience_it_is_unknown() -> None:
    traffic = Traffic(SKILL, 1)
    told, basis, unknown = traffic.forecast(rating=1500.0)
    assert told == (None, None)
    assert basis.matched == 0
    assert unknown == "0 like it were matched within the last day, and 10 are needed"
    assert traffic.coverage == forecasts.CoverageView()


def test_where_most_leave_the_long_waits_stay_unknown() -> None:
    traffic = Traffic(SKILL, 4)
    for _ in range(900):
        traffic.second(0.15, 4.0)
    (half, most), basis, unknown = traffic.forecast()
    assert basis.unmatched > basis.matched >= 10
    assert most is None
    assert "p90" in unknown
    assert half is None or half > 0


def test_a_day_later_nothing_is_lately() -> None:
    traffic = Traffic(SKILL, 1)
    for _ in range(120):
        traffic.second(1.0)
    assert traffic.forecast()[1].matched > 10
    traffic.now_ms += waits.RECENT_MS + 700_000
    traffic.do(cmd.Tick())
    assert traffic.forecast()[1].matched == 0


def test_a_restart_remembers_what_was_waited() -> None:
    traffic = Traffic(SKILL, 7, keep_ms=20_000)
    for _ in range(400):
        traffic.second(0.7, 60.0)
    assert len(traffic.journal.recent_tickets(10_000)) > 100  # some are in the read table, some in the state
    before = traffic.forecast(rating=1550.0)
    anew = Forecasts()
    anew.rebuild(traffic.engine.state, traffic.journal)
    queue = traffic.engine.state.queues["skill"]
    assert estimate(anew.gather(queue, traffic.now_ms), Asked(rating=1550.0)) == before
    assert anew.record("skill").view().settled == 0


def test_a_restart_that_reads_a_part_only_counts_nobody_who_joined_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    traffic = Traffic(SKILL, 8, keep_ms=20_000)
    for _ in range(500):
        traffic.second(0.7, 60.0)
    before = traffic.forecast()
    monkeypatch.setattr(waits, "READ", 120)
    anew = Forecasts()
    anew.rebuild(traffic.engine.state, traffic.journal)
    known = anew.gather(traffic.engine.state.queues["skill"], traffic.now_ms)
    assert known.waits.joined_ms.min() >= anew.memory("skill").joined_least_ms > T0
    told, basis, _ = estimate(known, Asked())
    assert 10 <= basis.matched < before[1].matched
    assert told[0] == pytest.approx(before[0][0], rel=0.6)


def test_a_queue_that_few_play_is_remembered_beside_one_that_many_do_and_it_is_known_since_when(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    traffic = Traffic(SKILL, 9)
    traffic.do(cmd.OpenQueue(msgspec.structs.replace(SKILL, name="few")))
    ended = {"status": "matched", "waited_ms": 1_000, "players": [{"player": 1, "rating": 1500.0}]}
    for n in range(1, 6_001):
        name = "few" if n % 100 == 0 else "skill"
        traffic.journal.store.tickets[n] = ended | {"queue": name, "joined_ms": T0 + n}
    monkeypatch.setattr(waits, "PAGE", 500)
    now_ms = T0 + 10_000

    def few() -> tuple[int, float]:
        found, since_ms = waits.remembered(traffic.engine.state.queues, traffic.journal, now_ms)["few"].lately(now_ms)
        return len(found), since_ms

    assert few() == (60, now_ms - waits.RECENT_MS)
    monkeypatch.setattr(waits, "READ", 1_500)
    assert few() == (15, T0 + 4_501)


def test_regions_and_parties_are_told_apart_where_enough_are_known() -> None:
    memory = waits.Memory()
    north, south = memory.region_code("north"), memory.region_code("south")
    count = 400
    even = np.arange(count) % 2 == 0
    memory.note(
        waits.Waits(
            joined_ms=np.full(count, 1_000.0),
            waited_ms=np.where(even, 5_000.0, 50_000.0),
            matched=np.ones(count),
            rating=np.full(count, 1500.0),
            size=np.where(np.arange(count) < 20, 2.0, 1.0),
            region=np.where(even, north, south),
            weight=np.ones(count),
        )
    )
    known = forecasts.Gathered(memory.ended(), np.full(count, -1.0), 0.0, memory.regions)
    assert estimate(known, Asked(region="north"))[0] == (5_000.0, 5_000.0)
    assert estimate(known, Asked(region="south"))[0] == (50_000.0, 50_000.0)
    mixed, basis, _ = estimate(known, Asked(region="mars", party=2))
    assert mixed == (5_000.0, 50_000.0)
    assert (basis.same_region, basis.same_party) == (False, False)
    assert estimate(known, Asked(party=1))[1].same_party


def known_of(ratings: list[float]) -> forecasts.Gathered:
    """Tickets of these ratings that were all matched after five seconds."""
    count = len(ratings)
    same = {name: np.ones(count) for name in ("joined_ms", "matched", "size", "region", "weight")}
    found = waits.Waits(**same, waited_ms=np.full(count, 5_000.0), rating=np.array(ratings))
    return forecasts.Gathered(found, np.full(count, -1.0), 0.0, {})


LINE = [1_000.0 + 20 * step for step in range(301)]
"""From 1000 to 7000."""


@pytest.mark.parametrize(
    ("ratings", "asked", "is_known"),
    [
        (LINE, 4_000.0, True),
        (LINE, 7_000.0, True),
        (LINE, 7_200.0, True),
        (LINE, 9_000.0, False),
        (LINE, -2_000.0, False),
        ([*LINE, 9_000.0], 9_000.0, False),  # one alone says nothing
        ([1_000.0] * 200 + [7_000.0] * 200, 4_000.0, False),
        ([1_000.0] * 200 + [7_000.0] * 200, 6_990.0, True),
        ([1_500.0] * 20, 1_520.0, True),
        ([1_500.0] * 20, 1_900.0, False),
        ([25.0] * 20, 26.0, True),
        ([25.0] * 20, 40.0, False),
    ],
)
def test_a_rating_far_from_all_that_were_matched_has_no_forecast(
    ratings: list[float], asked: float, is_known: bool
) -> None:
    told, basis, unknown = estimate(known_of(ratings), Asked(rating=asked))
    assert basis.matched >= 10
    assert told == ((5_000.0, 5_000.0) if is_known else (None, None))
    assert (unknown is None) == is_known
    assert unknown is None or "points of its rating, and 10 are needed" in unknown


def test_regions_and_ratings_of_sides_are_read_from_state_and_read_table() -> None:
    spec = config.parse('[queues.skill]\nmatcher = { name = "ladder" }\nticket = { heartbeat_s = 1e5 }', "a")[0]
    traffic = Traffic(spec, 1, keep_ms=1_000)

    def member(player: int, **sides: float) -> Member:
        facts = {f"ratings.{side}": rating for side, rating in sides.items()}
        return Member(player, facts=facts, traits={"region": "north"} if player == 1 else {})

    parties = (member(1, bw=1400.0, sc2=1600.0), member(2, sc2=1500.0), member(3, sc2=2500.0))
    traffic.do(cmd.JoinMany("skill", tuple(TicketRequest((one,)) for one in parties)))

    def known(source: Forecasts) -> list[tuple[float, ...]]:
        found = source.gather(traffic.engine.state.queues["skill"], traffic.now_ms).waits
        return sorted(zip(found.rating.tolist(), found.region.tolist(), found.matched.tolist(), strict=True))

    assert known(traffic.forecasts) == [(1500.0, -1.0, 0.0), (1500.0, 0.0, 0.0), (2500.0, -1.0, 0.0)]
    for _ in range(5):
        traffic.second(0.0)
    matched = [(1500.0, -1.0, 1.0), (1500.0, 0.0, 1.0), (2500.0, -1.0, 0.0)]
    assert known(traffic.forecasts) == matched
    assert len(traffic.journal.recent_tickets(9)) == 2
    anew = Forecasts()
    anew.rebuild(traffic.engine.state, traffic.journal)
    assert known(anew) == matched


def test_very_many_at_once_stand_for_each_other() -> None:
    traffic = Traffic(msgspec.structs.replace(SKILL, matcher=config.parse("[queues.a]", "a")[0].matcher), 1)
    requests = tuple(TicketRequest((Member(player),)) for player in range(1, 6_001))
    traffic.do(cmd.JoinMany("skill", requests))
    traffic.now_ms += 3_000
    traffic.do(cmd.Tick())
    ended = traffic.forecasts.memory("skill").ended()
    assert len(ended) <= waits.AT_ONCE
    assert ended.weight.sum() == 6_000
    assert traffic.forecast()[0] == (3_000.0, 3_000.0)


def test_a_broken_memory_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Forecasts, "_note", lambda *_: 1 / 0)
    traffic = Traffic(SKILL, 1)
    traffic.second(5.0)
    assert traffic.engine.state.queues["skill"].waiting


# -- over HTTP ---------------------------------------------------------------------------------------------------------

DUEL = QueueSpec("duel", wave=WaveSpec(every_s=0.02), ticket=TicketSpec(600.0, 600.0))
PAIRS = QueueSpec("pairs", Format(2, 2), door=DoorSpec(party_sizes=(2,)))


async def play(client: Any, matches: int) -> None:
    bodies = [{"players": [{"id": f"p{player}", "rating": 1500}]} for player in range(2 * matches)]
    answer = await client.post("/v1/queues/duel/tickets:batch", json={"tickets": bodies})
    assert answer.status_code == 200

    await until(lambda: _all_matched(client), "everybody is matched")


async def _all_matched(client: Any) -> bool:
    return bool((await client.get("/v1/queues/duel")).json()["queue"]["waiting"] == 0)


async def asked(client: Any, query: str = "", queue: str = "duel") -> Any:
    return await client.get(f"/v1/queues/{queue}/forecast{query}")


def test_a_forecast_over_http_and_after_a_restart() -> None:
    async def run(folder: Path) -> None:
        settings = Settings(tick_ms=5, keep_s=0.05)
        async with living(app_over(SqliteJournal(folder / "j.db"), DUEL, PAIRS, settings=settings)) as client:
            told = (await asked(client)).json()["forecast"]
            assert (told["p50_s"], told["p90_s"]) == (None, None)
            assert "are needed" in told["unknown"]
            assert told["coverage"] == {"p50": None, "p90": None, "settled": 0, "left": 0}
            await play(client, 20)
            told = (await asked(client, "?rating=1500&party=1")).json()["forecast"]
            assert told["basis"]["matched"] == 40
            assert 0 <= told["p50_s"] <= told["p90_s"] < 60
            await until(lambda: _coverage_is_shown(client), "coverage in Prometheus")
            await until(lambda: _all_matched(client), "everybody is matched")
            told = (await asked(client, "?rating=1500&party=1")).json()["forecast"]
        async with living(app_over(SqliteJournal(folder / "j.db"), DUEL, PAIRS, settings=settings)) as client:
            again = (await asked(client, "?rating=1500&party=1")).json()["forecast"]
            assert (again["p50_s"], again["p90_s"]) == (told["p50_s"], told["p90_s"])
            assert again["basis"]["matched"] == told["basis"]["matched"] > 40

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))


async def _coverage_is_shown(client: Any) -> bool:
    """Join two more, until the forecast of one is settled."""
    _coverage_is_shown.count = count = getattr(_coverage_is_shown, "count", 0) + 1  # type: ignore[attr-defined]
    for player in (f"a{count}", f"b{count}"):
        joined = await client.post("/v1/queues/duel/tickets", json={"players": [{"id": player}]})
        assert joined.status_code == 201
    metrics = (await client.get("/metrics")).text
    return 'evenmatch_forecast_coverage{quantile="p90",queue="duel"}' in metrics


@pytest.mark.parametrize(
    ("queue", "query", "status", "reason"),
    [
        ("nowhere", "", 404, "unknown_queue"),
        ("duel", "?rating=many", 400, "malformed"),
        ("duel", "?rating=1e9", 422, "bad_rating"),
        ("duel", "?party=0", 422, "empty_party"),
        ("duel", "?party=two", 400, "malformed"),
        ("duel", "?party=2", 422, "party_too_large"),
        ("pairs", "?party=1", 422, "party_unsupported"),
        ("duel", "?region=", 422, "bad_fact"),
        ("duel", f"?region={'x' * 65}", 422, "bad_fact"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(queue: str, query: str, status: int, reason: str) -> None:
    async def run() -> None:
        async with living(app_over(MemoryJournal(), DUEL, PAIRS)) as client:
            answer = await asked(client, query, queue)
            assert (answer.status_code, answer.json()["reason"]) == (status, reason), answer.text
            assert answer.json()["detail"]

    asyncio.run(run())
