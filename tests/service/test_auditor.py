"""The auditor can fail: a sound history passes, and every kind of broken one is found out, by its invariant."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from evenmatch.domain import events as ev
from evenmatch.domain.arrays import NONE, numbers
from evenmatch.domain.events import Event
from evenmatch.domain.queue import Format, QueueSpec, ReadyCheckSpec
from evenmatch.domain.ticket import Cause
from evenmatch.drill.auditor import Book, Joined, Log, Row, Seen, Told, audit

DUEL = QueueSpec("duel", Format(2, 1), ready_check=ReadyCheckSpec(5.0))
TEAM = QueueSpec("team", Format(2, 2), require_equal=("build",))


def joined(
    at_ms: int, first: int, *parties: tuple[int, ...], queue: str = "duel", groups: str = ""
) -> ev.TicketsJoined:
    """Tickets join; `groups`: a letter for each ticket."""
    letters = groups or "a" * len(parties)
    kinds = tuple(sorted(set(letters)))
    players = [player for party in parties for player in party]
    return ev.TicketsJoined(
        at_ms=at_ms,
        queue=queue,
        first_ticket=first,
        size=np.array([len(party) for party in parties], np.int16),
        player=numbers(players),
        facts={},
        groups=kinds,
        group=np.array([kinds.index(letter) for letter in letters], np.int32),
        keys=np.empty((0, 3), np.uint64),
    )


def wave(
    at_ms: int, first: int, rosters: list[list[int]], teams: list[list[int]], previous: list[list[int]], **more: object
) -> ev.WaveFinished:
    event = ev.WaveFinished(
        at_ms=at_ms,
        queue="duel",
        wave=1,
        seed=0,
        started_ms=at_ms,
        digest=0,
        waiting=0,
        dropped=0,
        first_proposal=first,
        roster=numbers(rosters),
        team_of=np.array(teams, np.int8),
        cost=np.zeros(len(rosters)),
        quality=np.zeros(len(rosters)),
        previous=numbers(previous),
        snapshot_sequence=100,
        deadline_ms=at_ms + 5_000,
        ends_ms=0,
    )
    return msgspec.structs.replace(event, **more)


def result(at_ms: int, match: int = 3, queue: str = "team") -> ev.ResultReported:
    ratings = np.zeros((4, 3))
    return ev.ResultReported(
        at_ms=at_ms,
        queue=queue,
        match=match,
        ladder=queue,
        rank=numbers([1, 0]),
        leaver=NONE,
        player=numbers([4, 5, 6, 7]),
        team=numbers([0, 0, 1, 1]),
        before=ratings,
        after=ratings,
    )


def history() -> list[Event]:
    """Three players of a duel: one declines, the others play; and a team match without a ready check."""
    pair = numbers([1, 2])
    return [
        ev.QueueOpened(1_000, DUEL),  # 1
        ev.QueueOpened(1_000, TEAM),
        joined(1_000, 1, (1,), (2,), (3,)),  # 3
        wave(1_100, 1, [[1, 2]], [[0, 1]], [[3, 3]]),  # 4: ticket 3 has a miss
        ev.ProposalsFailed(1_200, "duel", Cause.DECLINED, numbers([1]), pair[1:], numbers([4]), pair[:1], numbers([4])),
        wave(1_300, 2, [[1, 3]], [[0, 1]], [[5, 3]], wave=2),  # 6
        ev.Accepted(1_400, "duel", 2, 1, 1, numbers([1, 3]), numbers([6, 6])),
        ev.Accepted(1_500, "duel", 2, 3, 0, numbers([1, 3]), numbers([7, 7])),  # 8
        ev.MatchMade(1_500, "duel", 2, 0, numbers([1, 3]), numbers([8, 8])),
        joined(1_600, 4, (4, 5), (6,), (7,), (8,), queue="team", groups="aaab"),  # 10
        wave(1_700, 3, [[4, 5, 6]], [[0, 1, 1]], [[10] * 3], queue="team", deadline_ms=0, ends_ms=2_000),  # 11
        joined(1_800, 8, (4,)),  # 12: suspended, its player's match runs
        ev.MatchesEnded(2_000, "team", numbers([3])),
        ev.TicketsGone(2_100, "duel", Cause.LEFT, numbers([8]), numbers([12])),  # 14
        ev.Forgotten(2_200, "duel", numbers([1, 2, 3]), numbers([1, 2])),
        result(2_300),
    ]


def log() -> Log:
    """What clients know of it."""
    names = {number: f"player {number}" for number in range(1, 9)}
    acknowledged = [
        Joined(f"key {ticket}", ticket, name, tuple(names[p] for p in players), at_ms)
        for ticket, name, players, at_ms in (
            *((number, "duel", (number,), 1_000) for number in (1, 2, 3)),
            *((4, "team", (4, 5), 1_600), (5, "team", (6,), 1_600), (6, "team", (7,), 1_600)),
            *((7, "team", (8,), 1_600), (8, "duel", (4,), 1_800)),
        )
    ]
    told = [Told(1, 3, "queued"), Told(1, 4, "proposed"), Told(1, 5, "requeued"), Told(1, 6, "proposed")]
    told += [Told(1, 7, "accepted"), Told(1, 8, "accepted"), Told(1, 9, "matched")]
    return Log(
        attempted={each.key: each.players for each in acknowledged} | {"never answered": ("player 1",)},
        joined=acknowledged,
        seen=[
            Seen(1, "waiting", 50, 0),
            Seen(1, "proposed", 100, 0, proposal=1),
            Seen(1, "proposed", 200, 0, proposal=2),
            Seen(1, "matched", 200, 0, match=2),
            Seen(3, "proposed", 300, 1, proposal=2),
            Seen(8, "cancelled", 100, 0),
        ],
        told=[*told, Told(2, 5, "cancelled"), Told(5, 11, "matched")],
        stories={1: told},
        accepted=[(2, "player 1"), (2, "player 3")],
        declined=[(1, "player 2")],
        left=[8, 2],
        results=[(3, [2, 1])],
    )


def book(events: list[Event], fences: list[int] | None = None) -> Book:
    """The events, one a commit."""
    fences = fences or [1] * len(events)
    rows = [Row(at, at, fence, [event]) for at, (event, fence) in enumerate(zip(events, fences, strict=True), 1)]
    return Book(rows, {number: f"player {number}" for number in range(1, 9)})


def test_a_sound_history_passes() -> None:
    found = audit(book(history()), log())
    assert found.faults == []
    assert found.counts() == {"matched": 5, "cancelled": 2, "waiting": 1}


def changed(place: int, **fields: object) -> Callable[[list[Event]], list[Event]]:
    """The history with other fields in the event of a sequence."""

    def change(events: list[Event]) -> list[Event]:
        events[place - 1] = msgspec.structs.replace(events[place - 1], **fields)
        return events

    return change


def followed(*more: Event) -> Callable[[list[Event]], list[Event]]:
    return lambda events: [*events, *more]


BROKEN_HISTORIES: list[tuple[str, str, Callable[[list[Event]], list[Event]]]] = [
    ("a ticket in two open proposals", "I1", lambda e: [*e[:4], wave(1_150, 2, [[1, 3]], [[0, 1]], [[4, 3]])]),
    ("a ticket twice in a wave", "I1", changed(4, roster=numbers([[1, 1]]))),
    ("a matched ticket is proposed again", "I1", followed(wave(3_000, 4, [[1, 8]], [[0, 1]], [[9, 14]]))),
    ("a proposal is made twice", "I1", changed(6, first_proposal=1)),
    ("a proposal that failed becomes a match", "I1", changed(9, proposal=1)),
    ("a player joins the same queue twice", "I2", changed(3, player=numbers([1, 2, 2]))),
    ("a party is split over proposals", "I3", changed(11, roster=numbers([[4, 5, -1]]))),
    ("a match has other tickets than its proposal", "I3", changed(9, ticket=numbers([1, 2]))),
    ("a ticket that never joined leaves", "I4", changed(14, ticket=numbers([99]))),
    ("a ticket leaves twice", "I4", followed(ev.TicketsGone(3_000, "duel", Cause.LEFT, numbers([8]), numbers([14])))),
    ("a ticket's number is left out", "I4", changed(12, first_ticket=9)),
    ("a failed proposal loses a ticket", "I4", changed(5, returned=NONE, returned_previous=NONE)),
    (
        "a party is larger than a team",
        "I5",
        changed(3, size=np.array([2, 1], np.int16), group=np.array([0, 0], np.int32)),
    ),
    ("a player stands twice in a party", "I5", changed(10, player=numbers([4, 4, 6, 7, 8]))),
    ("a team is too small", "I5", changed(11, team_of=np.array([[0, 0, 1]], np.int8))),
    ("a team too few", "I5", changed(4, roster=numbers([[1, -1]]), team_of=np.array([[0, -1]], np.int8))),
    ("require_equal is not kept", "I5", changed(11, roster=numbers([[4, 5, 7]]))),
    (
        "the innocent is blamed too",
        "I6",
        changed(5, blamed=numbers([1, 2]), blamed_previous=numbers([4, 4]), returned=NONE, returned_previous=NONE),
    ),
    ("the silent go free at a lapse", "I6", changed(5, cause=Cause.LAPSED)),
    (
        *("a player in two queues' matches", "I11"),
        lambda e: [*e[:12], joined(1_850, 9, (1,)), wave(1_900, 4, [[8, 9]], [[0, 1]], [[12, 13]])],
    ),
    ("a match ends twice", "I1", followed(ev.MatchesEnded(3_000, "team", numbers([3])))),
    ("a forgotten ticket is touched", "forgotten", followed(ev.Forgotten(3_000, "duel", numbers([1])))),
    ("a live ticket is forgotten", "I4", followed(ev.Forgotten(3_000, "team", numbers([7])))),
    ("somebody accepts twice", "cannot accept", changed(8, player=1)),
    ("a stranger accepts", "cannot accept", changed(7, player=2)),
    ("not all accepted", "not all have accepted", lambda e: [*e[:7], changed(9, previous=numbers([7, 7]))(e)[8]]),
    ("pending is miscounted", "pending", changed(7, pending=0)),
    ("a story skips an event", "story of ticket", changed(6, previous=numbers([[4, 3]]))),
    ("a match has two results", "second result", lambda e: [*e[:11], result(1_750), result(1_760)]),
    ("a proposal has a result", "I1", lambda e: [*e[:7], result(1_450, 2, "duel")]),
    ("time runs backwards", "backwards", changed(6, at_ms=1_000)),
    ("a ticket is touched in another queue", "touched in", changed(14, queue="team")),
]


@pytest.mark.parametrize(
    ("invariant", "breaking"), [case[1:] for case in BROKEN_HISTORIES], ids=[case[0] for case in BROKEN_HISTORIES]
)
def test_a_broken_history_is_found_out(invariant: str, breaking: Callable[[list[Event]], list[Event]]) -> None:
    found = audit(
        book(breaking(history())), Log(attempted={str(n): (f"player {p}",) for n in range(9) for p in range(9)})
    )
    found.faults = [fault for fault in found.faults if "tries" not in fault]
    assert any(invariant in fault for fault in found.faults), found.faults


def test_a_stale_owner_that_writes_is_found_out() -> None:
    count = len(history())
    found = audit(book(history(), [1] * 5 + [2] * 5 + [1] * (count - 10)), log())
    assert any("I9" in fault for fault in found.faults)


def test_a_hole_in_the_journal_is_found_out() -> None:
    sound = book(history())
    assert any("gap" in fault for fault in audit(Book(sound.rows[:13] + sound.rows[14:], sound.names), Log()).faults)


def test_a_player_without_a_name_is_found_out() -> None:
    sound = book(history())
    names = {number: name for number, name in sound.names.items() if number != 7}
    assert any("no names" in fault for fault in audit(Book(sound.rows, names), log()).faults)


def _without(items: Any, key: object) -> None:
    del items[key]


def _extra(log: Log, name: str, item: object) -> None:
    getattr(log, name).append(item)


BROKEN_LOGS: list[tuple[str, str, Callable[[Log], None]]] = [
    ("an acknowledged join is lost", "I4", lambda k: _extra(k, "joined", Joined("k", 99, "duel", ("player 9",), 1))),
    ("a key has two tickets", "was answered", lambda k: _extra(k, "joined", replace(k.joined[0], ticket=2))),
    ("two keys have one ticket", "same ticket", lambda k: _extra(k, "joined", replace(k.joined[0], key="other"))),
    ("a join is there twice", "I4", lambda k: _without(k.attempted, "key 8")),
    ("a join went to another queue", "I7", lambda k: k.joined.__setitem__(0, replace(k.joined[0], queue="team"))),
    (
        "a party came in with another player",
        "I7",
        lambda k: k.joined.__setitem__(0, replace(k.joined[0], players=("x",))),
    ),
    ("the time of joining changed", "I7", lambda k: k.joined.__setitem__(0, replace(k.joined[0], joined_ms=5))),
    ("a message is not in the journal", "I7", lambda k: _extra(k, "told", Told(1, 10, "matched"))),
    ("a message says something else", "I7", lambda k: _extra(k, "told", Told(2, 5, "requeued"))),
    ("a message was missed", "I7", lambda k: _without(k.stories[1], 3)),
    ("a message came twice", "I7", lambda k: k.stories[1].append(k.stories[1][-1])),
    ("an accept is not in the journal", "I7", lambda k: _extra(k, "accepted", (1, "player 1"))),
    ("a decline is not in the journal", "I7", lambda k: _extra(k, "declined", (2, "player 1"))),
    ("a decline is blamed on another", "I6", lambda k: k.declined.__setitem__(0, (1, "player 1"))),
    ("a ticket that left is still there", "I4", lambda k: _extra(k, "left", 7)),
    ("a result is not in the journal", "I7", lambda k: _extra(k, "results", (2, [1, 2]))),
    ("a result is another one in the journal", "I7", lambda k: k.results.__setitem__(0, (3, [1, 2]))),
    ("nobody says why a ticket waits", "I10", lambda k: _extra(k, "unexplained", 7)),
    ("something was refused that nobody asked for", "busy", lambda k: _extra(k, "wrong", "refused: busy")),
    ("a returned ticket has lost its wait", "I6", lambda k: k.seen.__setitem__(2, Seen(1, "proposed", 100, 0, 2))),
    (
        "a returned ticket has waited in its proposal",
        "I6",
        lambda k: k.seen.__setitem__(2, Seen(1, "proposed", 300, 0, 2)),
    ),
    ("a wait goes back", "I6", lambda k: k.seen.insert(1, Seen(1, "waiting", 150, 0))),
    ("misses are lost", "I6", lambda k: k.seen.__setitem__(4, Seen(3, "proposed", 300, 0, 2))),
    ("a suspended ticket waited on", "I7", lambda k: k.seen.__setitem__(5, Seen(8, "cancelled", 300, 0))),
    ("a ticket shows another match", "I1", lambda k: _extra(k, "seen", Seen(1, "matched", 200, 0, match=3))),
    ("a ticket is shown that never joined", "I7", lambda k: _extra(k, "seen", Seen(99, "waiting", 0, 0))),
    ("a ticket shows another end", "I7", lambda k: _extra(k, "seen", Seen(1, "cancelled", 200, 0))),
]


@pytest.mark.parametrize(
    ("invariant", "breaking"), [case[1:] for case in BROKEN_LOGS], ids=[case[0] for case in BROKEN_LOGS]
)
def test_what_clients_know_is_held_against_the_journal(invariant: str, breaking: Callable[[Log], None]) -> None:
    known = copy.deepcopy(log())
    breaking(known)
    found = audit(book(history()), known)
    assert any(invariant in fault for fault in found.faults), found.faults
