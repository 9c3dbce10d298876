"""Requests for game servers, seen from the engine thread: when one is written, what it says, and how it is settled.

match made (or to start) ──> Letter, pending ──sent, answered──> done: ServerAllocated
                                │  ^                └── again and again ──> dead: AllocationFailed
                                │  └── an operator says: once more ───────────┤
                                └── the match is not played any more ──────────┴──> dropped
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from evenmatch.core.records import match_record
from evenmatch.domain import batch_events as many
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.ids import match_id
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.venue import AllocateSpec
from evenmatch.storage.outbox import Letter, Server

if TYPE_CHECKING:
    from .group import Group
    from .views import Views

LETTER_PREFIX: Final = "a-"
WHY_MOST: Final = 500


def letter_id(match: int) -> str:
    """The public name of the request for a match's server: the same however often it is sent."""
    return f"{LETTER_PREFIX}{match:012d}"


class Asked(msgspec.Struct, frozen=True):
    """What is to be sent, and where."""

    spec: AllocateSpec
    body: bytes


def new_letters(group: "Group") -> list[Letter]:
    """The requests that the events of a group call for."""
    found: dict[int, Letter] = {}
    queues, journal = group.runner.engine.state.queues, group.runner.journal
    for event in group.events:
        numbers: Iterable[int]
        match event:
            case ev.WaveFinished() if not event.deadline_ms:
                numbers = range(event.first_proposal, event.first_proposal + len(event.roster))
            case ev.MatchStarting() | ev.MatchMade():
                numbers = range(event.proposal, event.proposal + 1)
            case many.MatchesMade():
                numbers = dict.fromkeys(event.proposal.tolist())
            case _:
                continue
        if queues[event.queue].spec.allocate is None:
            continue
        for number in numbers:
            # One that has started was asked for when it was to start.
            made = isinstance(event, ev.MatchMade | many.MatchesMade)
            if not made or (number not in found and journal.letter(number) is None):
                found[number] = Letter(number, event.queue, event.at_ms)
    return list(found.values())


def is_played(views: "Views", match: int) -> bool:
    """Is a match made, or to start, and not called off?"""
    record = match_record(views.engine.state, match) or views.journal.finished_match(match)
    return record is not None and record["standing"] != "cancelled"


def is_over(views: "Views", match: int) -> bool:
    """Has a match a result, or was it called off or ended? One that is not said to run is over only with a result."""
    record = match_record(views.engine.state, match) or views.journal.finished_match(match)
    if record is None or record["standing"] == "cancelled" or views.book.result(match) is not None:
        return True
    runs_s: float = views.engine.state.queues[record["queue"]].spec.match.runs_s
    return record["standing"] == "over" and runs_s > 0


def asked(views: "Views", match: int) -> Asked | None:
    """What to send for a match; None = it is not played any more, or its queue asks nobody."""
    view = views.match(match)
    if isinstance(view, Refusal) or not is_played(views, match):
        return None
    spec: QueueSpec = views.engine.state.queues[view.queue].spec
    if spec.allocate is None:
        return None
    told = {
        "id": letter_id(match),
        "match": view.id,
        "queue": view.queue,
        "teams": [team.players for team in view.teams],
        "players": [
            {"team": place, "ticket": ticket.id} | msgspec.to_builtins(player)
            for place, team in enumerate(view.teams)
            for ticket in team.tickets
            for player in ticket.players
            if player.id in team.players
        ],
        "venue": view.details.get("venue", {}),
    }
    return Asked(spec.allocate, msgspec.json.encode(told))


def settle(group: "Group", letter: Letter, outcome: Server | str, most: int) -> Letter:
    """Note an attempt: a server, or what was wrong; `most` attempts are made. The letter as it stands now."""
    kept = group.runner.journal.letter(letter.match)
    if kept is None or kept.status != "pending":  # settled already
        return letter if kept is None else kept
    tried = msgspec.structs.replace(kept, attempts=kept.attempts + 1, tried_ms=group.now_ms)
    number, queue, count = letter.match, letter.queue, tried.attempts
    command: cmd.Command
    if isinstance(outcome, Server):
        tried = msgspec.structs.replace(tried, status="done", why="", server=outcome)
        command = cmd.GiveServer(number, queue, outcome.address, outcome.port, outcome.token, count)
    else:
        tried = msgspec.structs.replace(tried, why=outcome[:WHY_MOST])
        if count < most:
            group.letters.append(tried)
            return tried
        tried = msgspec.structs.replace(tried, status="dead")
        command = cmd.GiveUpServer(number, queue, tried.why, count)
    step = group.take(group.runner.engine.step(command, group.now_ms))
    if step.refusal is not None:
        tried = msgspec.structs.replace(tried, status="dropped", why=step.refusal.detail)
    group.letters.append(tried)
    return tried


def drop(group: "Group", letter: Letter) -> Letter:
    """Nobody needs a server for this match any more."""
    dropped = msgspec.structs.replace(letter, status="dropped", why="the match is not played")
    group.letters.append(dropped)
    return dropped


def revive(group: "Group", match: int, note: cmd.NoteAction | None) -> Refusal | None:
    """An operator wants a dead letter sent once more; one that nobody needs any more is dropped."""
    letter = group.runner.journal.letter(match)
    if letter is None or letter.status != "dead":
        return Refusal(Reasons.UNKNOWN_DEADLETTER, f"{letter_id(match)} is not a dead letter")
    if is_over(group.runner.views, match):
        drop(group, letter)
        if note is not None:
            group.take(group.runner.engine.step(msgspec.structs.replace(note, action="drop_deadletter"), group.now_ms))
        return Refusal(Reasons.MATCH_OVER, f"{match_id(match)} is not played any more: its dead letter is dropped")
    if note is not None:
        group.take(group.runner.engine.step(note, group.now_ms))
    group.letters.append(msgspec.structs.replace(letter, status="pending", attempts=0))
    return None


def told(letter: Letter) -> dict[str, Any]:
    """A dead letter as operators see it."""
    return {
        "id": letter_id(letter.match),
        "match": match_id(letter.match),
        "queue": letter.queue,
        "made_ms": letter.made_ms,
        "tried_ms": letter.tried_ms,
        "attempts": letter.attempts,
        "why": letter.why,
    }
