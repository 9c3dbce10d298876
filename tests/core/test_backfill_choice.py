"""Who is invited: the program against its plain twin, over many small worlds; and many tickets at once."""

from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.core import backfill_choice
from evenmatch.core.backfill_choice import choose
from evenmatch.core.crew import crew_of
from evenmatch.core.state import NEVER
from evenmatch.domain import commands as cmd
from evenmatch.domain.backfill import BackfillSpec
from evenmatch.domain.queue import Format, MatchSpec, QueueSpec, TicketSpec
from evenmatch.domain.ticket import Member, TicketRequest
from tests.reference import backfill as twin

from .stage import Stage, request

SPEC = QueueSpec(
    "teams",
    Format(2, 3),
    match=MatchSpec(runs_s=10_000.0),
    ticket=TicketSpec(expires_s=5_000.0, heartbeat_s=5_000.0),
    require_equal=("mode",),
)
RULES = st.fixed_dictionaries(
    {
        "window": st.sampled_from([0.0, 50.0, 200.0]),
        "grows": st.sampled_from([0.0, 0.5, 16.0]),
        "asks": st.booleans(),
    }
)
PARTY = st.tuples(
    st.integers(1, 3),
    st.lists(st.sampled_from([1400.0, 1500.0, 1600.0, 1900.0]), min_size=3, max_size=3),
    st.sampled_from(["eu", "eu", "us"]),
    st.sampled_from([None, None, True, False]),
    st.lists(st.integers(1, 40), max_size=2),
    st.sampled_from([0, 0, 500, 4_000]),
)


def world(
    rules: dict[str, Any], leavers: list[int], blocks: list[tuple[int, int]], parties: list[Any], waits_ms: list[int]
) -> Stage:
    """Two matches of which some have left, and tickets that wait."""
    stage = Stage(msgspec.structs.replace(SPEC, backfill=BackfillSpec(**rules)))
    for first in (1, 7):
        everybody = tuple(TicketRequest((Member(p, 1450.0 + 10 * p),), {"mode": "eu"}) for p in range(first, first + 6))
        stage.do(cmd.JoinMany("teams", everybody))
        stage.wave("teams")
    for nth, who in enumerate(leavers):
        match = 1 + who % 2
        crew = crew_of(stage.engine.state, *_at(stage, match))
        here = np.flatnonzero(crew.here)
        if len(here):
            place = int(here[who % len(here)])
            stage.now_ms += waits_ms[nth % len(waits_ms)]
            stage.do(cmd.AskBackfill(match, ((int(crew.team[place]), int(crew.player[place])),)))
    for player, other in blocks:
        if player != other:
            kept = stage.engine.state.blocks.get(player, ())
            stage.do(cmd.SetBlocks(player, (*kept, other)))
    player = 13
    for size, ratings, mode, will, avoid, later_ms in parties:
        stage.now_ms += later_ms
        members = tuple(Member(player + n, ratings[n]) for n in range(size))
        stage.do(cmd.Join("teams", TicketRequest(members, {"mode": mode}, avoid=tuple(avoid), backfill=will)))
        player += size
    stage.now_ms += 1_000
    return stage


def _at(stage: Stage, match: int) -> Any:
    found = stage.engine.state.find_proposal(match)
    assert found is not None
    return found


def told(stage: Stage) -> tuple[list[twin.Waiting], list[twin.Asking]]:
    """The same world for the twin."""
    state, queue = stage.engine.state, stage.engine.state.queues["teams"]
    t, names = queue.tickets, {code: group for group, code in queue.groups.items()}
    tickets = []
    for slot in np.flatnonzero(t.status == 1).tolist():
        rows = queue.player_rows(np.array([slot]))
        number = int(t.ticket[slot])
        tickets.append(
            twin.Waiting(
                ticket=number,
                players=queue.players.player[rows].tolist(),
                ratings=queue.players.rating[rows].tolist(),
                group=names[int(t.group[slot])],
                waited_ms=stage.now_ms - int(t.since_ms[slot]),
                returned=bool(t.returned[slot]),
                will={0: None, 1: True, 2: False}[int(t.will[slot])],
                avoid=queue.avoids.get(number, ()),
            )
        )
    matches = []
    for number, filling in queue.fillings.by_match.items():
        crew = crew_of(state, *_at(stage, number))
        ratings = queue.players.rating[crew.row]
        here = np.flatnonzero(crew.here).tolist()
        matches.append(
            twin.Asking(
                match=number,
                group=names[int(t.group[state.slots_of(crew.ticket[:1])[0]])],
                players={int(crew.player[n]): (int(crew.team[n]), float(ratings[n])) for n in here},
                left={player for player, _, _ in filling.left},
                places=[(place.team, place.asked_ms) for place in filling.places if place.open],
            )
        )
    return tickets, matches


@given(
    RULES,
    st.lists(st.integers(0, 60), max_size=8),
    st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=6),
    st.lists(PARTY, max_size=8),
    st.lists(st.sampled_from([0, 1, 700, 5_000]), min_size=1, max_size=4),
)
def test_the_choice_is_that_of_the_plain_twin(
    rules: dict[str, Any], leavers: list[int], blocks: list[tuple[int, int]], parties: list[Any], waits_ms: list[int]
) -> None:
    stage = world(rules, leavers, blocks, parties, waits_ms)
    queue = stage.engine.state.queues["teams"]
    tickets, matches = told(stage)
    blocked = {player: set(others) for player, others in stage.engine.state.blocks.items()}
    expected = twin.choose(rules | {"latency_max_ms": 0.0}, blocked, tickets, matches, stage.now_ms)
    found = choose(stage.engine.state, queue, stage.now_ms)
    assert [(one.match, one.team, int(queue.tickets.ticket[one.slot])) for one in found.chosen] == expected
    if found.next_ms < NEVER and not expected and not blocks and not any(party[4] for party in parties):
        assert found.next_ms > stage.now_ms
        tickets, matches = told(stage)
        for ticket in tickets:
            ticket.waited_ms += found.next_ms + 1 - stage.now_ms
        later = twin.choose(rules | {"latency_max_ms": 0.0}, {}, tickets, matches, found.next_ms + 1)
        assert later, "time alone lets somebody in, as was said"


def test_only_the_best_few_are_put_in_order_and_ties_go_by_wait() -> None:
    stage = world({"window": 0.0, "grows": 0.0, "asks": False}, [0], [], [], [0])
    for _ in range(3):
        stage.do(
            cmd.JoinMany(
                "teams",
                tuple(
                    TicketRequest((Member(100 + int(stage.now_ms) + n, 1500.0),), {"mode": "eu"}) for n in range(200)
                ),
            )
        )
        stage.now_ms += 1_000
    queue = stage.engine.state.queues["teams"]
    (one,) = choose(stage.engine.state, queue, stage.now_ms).chosen
    assert int(queue.tickets.ticket[one.slot]) == 13, "the first of those who came first"


def test_a_stage_that_has_no_time_for_all_goes_on_where_it_stopped() -> None:
    stage = world({"window": 50.0, "grows": 0.0, "asks": False}, [0, 2, 1, 3], [], [], [1_000])
    stage.do(cmd.Join("teams", msgspec.structs.replace(request(50, rating=9_000.0), attributes={"mode": "eu"})))
    state, queue = stage.engine.state, stage.engine.state.queues["teams"]
    teams = [team[:3] for team in backfill_choice.wanted(queue)]
    assert len(teams) > 2
    seen, after = [], (-1, -1, -1)
    for _ in teams:
        _, _, after = choose(state, queue, stage.now_ms, after, looks=1)
        seen.append(after)
    assert sorted(seen[: len(teams)]) == sorted(teams), "every team gets its turn"
