"""Accepts in one command, as the server's readers of events tell of them; nobody sends them over the wire."""

import asyncio
import json
from functools import partial

import msgspec
import numpy as np
import pytest

from evenmatch.domain import batch_events as many
from evenmatch.domain import commands as cmd
from evenmatch.domain.arrays import numbers
from evenmatch.domain.events import Event
from evenmatch.domain.queue import Format, MatchSpec, QueueSpec, ReadyCheckSpec, WaveSpec
from evenmatch.domain.venue import AllocateSpec
from evenmatch.drill.auditor import Audit
from evenmatch.service import messages
from evenmatch.service.chronicle import MOST, lines_of
from evenmatch.service.group import Group
from evenmatch.service.tasks import carry_out
from evenmatch.storage.memory import MemoryJournal

from .inside import app_over, living, memory_and_journal, until

DUEL = QueueSpec(
    "duel", Format(2, 1), wave=WaveSpec(every_s=0.02), ready_check=ReadyCheckSpec(60.0), match=MatchSpec(runs_s=60.0)
)


def test_accepts_in_one_are_told_as_accepts_are(monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(_told(monkeypatch))


async def _told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_BATCH_SECRET", "only the game and its matchmaker know")
    asks = AllocateSpec(url="http://127.0.0.1:9/", secret="TEST_BATCH_SECRET", attempts=10, backoff_s=60.0)
    spec = msgspec.structs.replace(DUEL, allocate=asks)
    journal = MemoryJournal()
    app = app_over(journal, spec)
    async with living(app) as client:
        for player in ("ann", "bob"):
            joined = await client.post("/v1/queues/duel/tickets", json={"players": [{"id": player}]})
            assert joined.status_code == 201

        async def proposed() -> bool:
            return bool((await client.get("/v1/tickets/t-000000000001")).json()["ticket"]["status"] == "proposed")

        await until(proposed, "a proposal")
        accepts = cmd.AcceptMany(numbers([1, 1]), numbers([1, 2]))
        step = await carry_out(app.runner, partial(_step, command=accepts))
        assert step == ["ManyAccepted", "MatchesMade"]
        told = (await app.runner.ask(lambda views, now_ms: messages.story(views, 1, None, now_ms))).told
        assert [message.kind for message in told] == ["queued", "proposed", "accepted", "matched"]
        accepted, matched = (json.loads(message.text) for message in told[2:])
        assert (accepted["pending"], accepted["player"], accepted["proposal"]["id"]) == (0, "bob", "p-000000000001")
        assert matched["match"]["id"] == "m-000000000001"
        letter = journal.letter(1)
        assert letter is not None, "a match that is made asks for a game server"
        text = (await client.get("/metrics")).text
        assert 'evenmatch_matches_made_total{queue="duel"} 1.0' in text
        assert 'evenmatch_wait_seconds_count{queue="duel"} 2.0' in text
        assert 'evenmatch_match_quality_count{queue="duel"} 1.0' in text
        memory, durable = await memory_and_journal(app)
        assert memory == durable


def _step(group: Group, command: cmd.Command) -> list[str]:
    step = group.take(group.runner.engine.step(command, group.now_ms))
    return [type(event).__name__ for event in step.events]


def test_the_log_has_a_line_for_each_proposal_and_match() -> None:
    ticket, proposal, pending = numbers([5, 6, 7, 8]), numbers([3, 3, 4, 4]), numbers([1, 1, 0, 0])
    accepted = many.ManyAccepted(1, "duel", numbers([1, 2, 3]), numbers([3, 4, 4]), ticket, ticket, proposal, pending)
    made = many.MatchesMade(1, "duel", 0, ticket[2:], ticket[2:], proposal[2:])
    assert list(lines_of(accepted, debug=False)) == []
    assert [(what, told["proposal"], told["pending"]) for what, told in lines_of(accepted, debug=True)] == [
        ("accepted", "p-000000000003", 1),
        ("accepted", "p-000000000004", 0),
    ]
    (line,) = lines_of(made, debug=False)
    tickets = ["t-000000000007", "t-000000000008"]
    assert line == ("match made", {"queue": "duel", "match": "m-000000000004", "tickets": tickets})
    lots = np.arange(1, 2 * MOST + 7)
    *_, last = lines_of(many.MatchesMade(1, "duel", 0, lots, lots, (lots + 1) // 2), debug=False)
    assert last == ("more of the kind: match made", {"queue": "duel", "count": 3})
    *_, last = lines_of(
        many.ManyAccepted(1, "duel", lots, (lots + 1) // 2, lots, lots, (lots + 1) // 2, lots * 0), debug=True
    )
    assert last == ("more of the kind: accepted", {"queue": "duel", "count": 3})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"player": numbers([1, 9])}, "player 9 cannot accept proposal 1"),
        ({"player": numbers([1, 1])}, "player 1 cannot accept proposal 1"),
        ({"pending": numbers([1, 1])}, "1 players are pending in proposal 1, says the journal"),
        ({"pending": numbers([0, 1])}, "0, 1 players are pending in proposal 1, says the journal"),
        ({"previous": numbers([3, 1])}, "the story of ticket 2 goes back to 1"),
        ({"ticket": numbers([1, 1])}, "a ticket stands twice in one event"),
        ({"accepts": numbers([1, 2])}, "accepts and the proposals that hear of them are not the same"),
    ],
)
def test_the_auditor_notices_what_does_not_fit(wrong: dict[str, object], said: str) -> None:
    *before, accepted, made = _history()
    assert _faults([*before, accepted, made]) == []
    found = _faults([*before, msgspec.structs.replace(accepted, **wrong)])
    assert any(said in fault for fault in found), found


def test_the_auditor_notices_a_match_that_not_all_accepted() -> None:
    *before, accepted, made = _history()
    half = msgspec.structs.replace(accepted, player=numbers([1]), accepts=numbers([1]), pending=numbers([1, 1]))
    assert _faults([*before, half]) == []
    assert any("is a match, but not all have accepted" in fault for fault in _faults([*before, half, made]))


def _history() -> list[Event]:
    from tests.core.stage import Stage

    stage = Stage(DUEL)
    for player in (1, 2):
        stage.join("duel", player)
    (proposal,) = stage.wave("duel")
    stage.do(cmd.AcceptMany(numbers([proposal] * 2), numbers([1, 2])))
    return stage.events


def _faults(events: list[Event]) -> list[str]:
    audit = Audit()
    for event in events:
        audit.hear(event)
    return audit.faults
