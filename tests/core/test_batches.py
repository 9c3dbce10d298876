"""Many commands in one lead where the same commands lead one after the other, and say so in a few events."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.core.checkpoint import dump, load
from evenmatch.core.engine import Engine
from evenmatch.core.state import State
from evenmatch.domain import batch_events as many
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.arrays import Array, numbers
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.ticket import Status
from evenmatch.storage.codec import decode_content, encode_content

from .invariants import Story, check_columns
from .stage import CLAN, DUEL, KEEP_MS, REGIONS, Stage, kinds
from .walk import MOVES, Move, Walk, accepts_of

_OF_SEQUENCES = {
    *("hash", "sequence", "sums", "changed", "blocks_changed"),
    *("woke", "digest_high", "digest_low", "dirty", "noted"),
}
"""What hangs on how many events there were."""


def copied(state: State) -> Engine:
    return Engine(load(decode_content(encode_content(dump(state)))), keep_ms=KEEP_MS)


def plain(value: Any) -> Any:
    """A dumped state without sequence numbers."""
    if isinstance(value, dict):
        return {name: plain(kept) for name, kept in value.items() if name not in _OF_SEQUENCES}
    if isinstance(value, np.ndarray):
        return [str(one) for one in value.ravel().tolist()]
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def one_by_one(engine: Engine, commands: list[cmd.Command], now_ms: int) -> list[Any]:
    """The obvious twin: each by itself; 0 where it is granted."""
    refusals = [engine.step(command, now_ms).refusal for command in commands]
    return [0 if refusal is None else refusal for refusal in refusals]


def same(walk: Walk, command: cmd.Command, singles: list[cmd.Command]) -> tuple[ev.Event, ...]:
    """Both ways lead to the same state and the same answers, and go on alike."""
    now_ms = walk.stage.now_ms
    batch, twin = copied(walk.state), copied(walk.state)
    step = batch.step(command, now_ms)
    assert list(step.outcomes) == one_by_one(twin, singles, now_ms)
    check_columns(batch.state)
    assert plain(dump(batch.state)) == plain(dump(twin.state))
    for after_ms in (1_000, 6_000, 20_000, 60_000):
        for engine in (batch, twin):
            engine.step(cmd.Tick(), now_ms + after_ms)
        assert plain(dump(batch.state)) == plain(dump(twin.state))
    return step.events


def twice(numbers: list[int], places: list[int]) -> Array:
    """Some of the numbers, in some order, perhaps again; 99 where there are none."""
    return np.array([numbers[place % len(numbers)] if numbers else 99 for place in places], np.int64)


PLACES = st.lists(st.integers(0, 40), max_size=12)


@given(MOVES, st.integers(0, 40), st.integers(0, 40))
def test_accepts_in_one_lead_where_they_lead_one_after_the_other(moves: list[Move], a: int, b: int) -> None:
    walk = Walk([*moves, ("wave", 0, 0)])
    command = accepts_of(walk.state, a, b)
    pairs = zip(command.proposals.tolist(), command.players.tolist(), strict=True)
    events = same(walk, command, [cmd.Accept(*pair) for pair in pairs])
    story = Story()
    for event in (*walk.events, *events):
        story.hear(event)


@given(MOVES, PLACES)
def test_leaves_in_one_lead_where_they_lead_one_after_the_other(moves: list[Move], places: list[int]) -> None:
    walk = Walk(moves)
    tickets = twice([*walk.state.tickets_at, 10_000], places)
    same(walk, cmd.LeaveMany(tickets), [cmd.Leave(ticket) for ticket in tickets.tolist()])


@given(MOVES, PLACES)
def test_ends_in_one_lead_where_they_lead_one_after_the_other(moves: list[Move], places: list[int]) -> None:
    walk = Walk(moves)
    matches = twice([*walk.state.proposals_at, 10_000], places)
    same(walk, cmd.EndMatches(matches), [cmd.EndMatch(match) for match in matches.tolist()])


def proposed(*players: int) -> tuple[Stage, list[int]]:
    stage = Stage(DUEL)
    for player in players:
        stage.join("duel", player)
    return stage, stage.wave("duel")


def accepts(*pairs: tuple[int, int]) -> cmd.AcceptMany:
    return cmd.AcceptMany(numbers([p for p, _ in pairs]), numbers([w for _, w in pairs]))


def test_accepts_are_one_event_and_the_matches_they_make_another() -> None:
    stage, (first, second) = proposed(1, 2, 3, 4)
    step = stage.do(accepts((second, 3), (first, 1), (second, 4)))
    assert kinds(step) == ["ManyAccepted", "MatchesMade"]
    accepted, made = step.events
    assert isinstance(accepted, many.ManyAccepted)
    assert isinstance(made, many.MatchesMade)
    assert accepted.ticket.tolist() == [1, 2, 3, 4], "everybody hears of it, once"
    assert accepted.pending.tolist() == [1, 1, 0, 0]
    assert accepted.player.tolist() == [3, 1, 4]
    assert accepted.accepts.tolist() == [second, first, second]
    assert made.ticket.tolist() == [3, 4]
    assert made.previous.tolist() == [stage.engine.state.sequence - 1] * 2
    assert stage.told(1, "status") == Status.PROPOSED.word
    assert stage.told(3, "status") == Status.MATCHED.word
    assert kinds(stage.do(cmd.Accept(first, 2))) == ["Accepted", "MatchMade"], "and goes on one by one"


def test_who_may_not_accept_is_refused_as_alone_and_holds_nobody_up() -> None:
    stage, (first,) = proposed(1, 2)
    step = stage.do(accepts((first, 1), (first, 1), (first, 9), (77, 1), (first, 2), (first, 2)))
    reasons = [outcome.reason if isinstance(outcome, Refusal) else outcome for outcome in step.outcomes]
    again = Reasons.ALREADY_ACCEPTED
    assert reasons == [0, again, Reasons.NOT_A_MEMBER, Reasons.UNKNOWN_PROPOSAL, 0, again]
    assert kinds(step) == ["ManyAccepted", "MatchesMade"]
    assert kinds(stage.do(accepts((first, 1), (first, 2)))) == [], "the same again changes nothing"


def test_several_queues_have_events_of_their_own() -> None:
    stage = Stage(DUEL, REGIONS, CLAN)
    for player in (1, 2):
        stage.join("duel", player)
        stage.join("clan", player + 10)
    proposals = [proposal for effect in stage.tick(1_000).effects for proposal in _made(stage, effect)]
    step = stage.do(accepts(*((p, w) for p in proposals for w in stage.players_of(p))))
    assert kinds(step) == ["ManyAccepted", "MatchesMade"] * 2
    ends = [event.ends_ms for event in step.events if isinstance(event, many.MatchesMade)]
    assert ends == [0, stage.now_ms + 7_000]
    assert kinds(stage.do(cmd.EndMatches(numbers(proposals)))) == ["MatchesEnded"]


def _made(stage: Stage, effect: Any) -> list[int]:
    (event,) = stage.finish(effect).events
    assert isinstance(event, ev.WaveFinished)
    return [event.first_proposal + row for row in range(len(event.roster))]


def test_tickets_leave_together_and_a_proposed_one_declines() -> None:
    stage, _ = proposed(1, 2)
    waiting = [stage.join("duel", player) for player in (3, 4)]
    step = stage.do(cmd.LeaveMany(numbers([*waiting, 1])))
    assert kinds(step) == ["TicketsGone", "ProposalsFailed"]
    assert step.outcomes == (0, 0, 0)
    assert stage.told(2, "status") == Status.WAITING.word


@pytest.mark.parametrize(
    "nothing", [lambda: accepts(), lambda: cmd.LeaveMany(numbers([])), lambda: cmd.EndMatches(numbers([]))]
)
def test_nothing_leads_to_nothing(nothing: Callable[[], cmd.Command]) -> None:
    stage, _ = proposed(1, 2)
    step = stage.do(nothing())
    assert (step.events, step.outcomes, step.refusal) == ((), (), None)


def test_accepts_of_nobody_are_no_command() -> None:
    with pytest.raises(ValueError, match="2 proposals and 1 players: name a player for each"):
        cmd.AcceptMany(numbers([1, 2]), numbers([1]))
