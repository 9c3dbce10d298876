"""A ticket's story in plain words, for people who look at it from outside.

The same chain of events that its owner hears (`messages`), a sentence each. Reading it is no heartbeat: who looks at a
ticket does not keep it in the queue.
"""

from typing import Any, Final

import msgspec

from evenmatch.core.records import ticket_record
from evenmatch.domain import events as ev
from evenmatch.domain.refusals import Refusal

from . import messages
from .past_waves import PastWaves
from .views import Views

SENTENCES_MOST: Final = 200
_WITH_MOST: Final = 12
_NEVER_SAID: Final = "for a reason that is not told"
_CANCELLED: Final = {
    "left": "It left the queue.",
    "declined": "It declined, and was taken out of the queue.",
    "lapsed": "It did not answer the ready check in time, and was taken out of the queue.",
    "lost": "Its connection was lost during the ready check, and it was taken out of the queue.",
    "operator": "An operator took it out.",
    "rules_changed": "The queue was given rules that it does not meet, and it was taken out.",
    "too_long": "It had been in the queue for as long as the queue allows, and expired.",
    "unheard": "Its client was not heard of for as long as the queue allows, and it expired.",
}
_RETURNED: Final = {
    "declined": "declined",
    "lapsed": "did not answer in time",
    "lost": "lost the connection",
    "start_failed": "The game server said that the match could not start",
    "not_confirmed": "The game server did not confirm the start in time",
    "operator": "An operator called it off",
    "not_needed": "The match needed nobody any more",
}


class Sentence(msgspec.Struct, frozen=True):
    """One thing that happened to a ticket."""

    sequence: int
    at_ms: int
    type: str
    """As in the messages of the ticket's stream."""
    words: str
    proposal: str | None = None
    match: str | None = None


class StoryView(msgspec.Struct, frozen=True):
    """What happened to a ticket, oldest first."""

    ticket: str
    over: bool
    """Nothing will follow."""
    sentences: list[Sentence]
    """The last 200 at most; what the journal no longer keeps is left out."""


def told(views: Views, waves: PastWaves, ticket: int, name: str, now_ms: int) -> StoryView | Refusal:
    """A ticket's story; in the engine thread."""
    story = messages.story(views, ticket, None, now_ms)
    if isinstance(story, Refusal):
        return story
    assert isinstance(story, messages.Story)
    sentences = []
    kept_ms, since = 0, None
    for message in story.told[-SENTENCES_MOST:]:
        content = msgspec.json.decode(message.text)
        event = views.journal.event(message.sequence)
        after = ""
        if message.kind in ("queued", "requeued"):
            since = (message.sequence, content["at_ms"])
        elif isinstance(event, ev.WaveFinished) and since is not None:
            waited_ms = content["at_ms"] - since[1]
            after = _after(waited_ms, waves.missed(event.queue, since[0], event.wave))
            kept_ms, since = kept_ms + waited_ms, None
        proposal, match = content.get("proposal") or {}, content.get("match") or {}
        words = _words(views, message.kind, content, event, ticket, kept_ms)
        sentences.append(
            Sentence(
                message.sequence,
                content["at_ms"],
                message.kind,
                f"{after}{words[0].lower()}{words[1:]}" if after else words,
                proposal.get("id"),
                match.get("id"),
            )
        )
    return StoryView(name, story.over, sentences)


def _after(waited_ms: int, missed: int | None) -> str:
    """How long it waited until a wave took it, and how many did not."""
    waves = "" if missed is None else " and 1 wave" if missed == 1 else f" and {missed} waves"
    return f"After {waited_ms / 1000:.3g} s{waves}, "


def _words(views: Views, kind: str, content: dict[str, Any], event: ev.Event | None, ticket: int, kept_ms: int) -> str:
    proposal, match = content.get("proposal") or {}, content.get("match") or {}
    cause = content.get("cause") or ""
    match kind:
        case "queued":
            return f"It joined {content['queue']}."
        case "proposed":
            seconds = proposal.get("timeout_ms", 0) / 1000
            joins = f" to join {proposal['joins']}, which runs," if "joins" in proposal else ""
            return f"It was proposed {proposal['id']}{joins}{_with(views, event, ticket)}: {seconds:g} s to accept."
        case "accepted":
            return f"{content['player']} accepted, {content['pending']} to go."
        case "requeued":
            return f"{_fault(views, event, cause)}; it waits again, with {kept_ms / 1000:.3g} s kept."
        case "starting":
            return f"Everybody accepted; the game server is to confirm that {match.get('id', 'the match')} has started."
        case "matched":
            return f"It is in match {match.get('id', 'that is not kept')}{_teams(match)}."
        case "server":
            return "The match was given its game server."
        case "unserved":
            return "Nobody gave the match a game server."
        case "updated":
            return "What it brings was changed; its time went on."
        case "backfill":
            return f"The match asked for players: {', '.join(content.get('left', [])) or 'nobody'} left."
        case "filled":
            return f"{content.get('joined')} joined the match."
        case "unfilled":
            return f"The match asks for nobody any more ({cause})."
        case "cancelled" | "expired":
            return _CANCELLED.get(cause, f"It was {kind}: {cause or _NEVER_SAID}.")
    return f"{kind}."


def _with(views: Views, event: ev.Event | None, ticket: int) -> str:
    """With whom a proposal was made."""
    if not isinstance(event, ev.WaveFinished):
        return ""
    rows = [row for row in event.roster if ticket in row]
    others = [int(one) for row in rows for one in row if one >= 0 and one != ticket]
    named = _players(views, others[:_WITH_MOST])
    more = f" and {len(others) - _WITH_MOST} more" if len(others) > _WITH_MOST else ""
    return f" with {', '.join(named)}{more}" if named else ""


def _fault(views: Views, event: ev.Event | None, cause: str) -> str:
    """Who or what ended a ready check."""
    words = _RETURNED.get(cause, f"The ready check ended ({cause})")
    if words[:1].isupper():
        return words
    blamed = [int(one) for one in event.blamed] if isinstance(event, ev.ProposalsFailed) else []
    named = _players(views, blamed[:_WITH_MOST])
    return f"{', '.join(named) or 'Somebody'} {words}"


def _players(views: Views, tickets: list[int]) -> list[str]:
    """The names of the players of tickets."""
    numbers: list[int] = []
    for ticket in tickets:
        record = ticket_record(views.engine.state, ticket, views.engine.state.now_ms)
        record = record or views.journal.finished_ticket(ticket)
        numbers += [player["player"] for player in (record or {"players": []})["players"]]
    names = views.directory.names(numbers)
    return [names[number] for number in numbers]


def _teams(match: dict[str, Any]) -> str:
    teams = [", ".join(team["players"]) for team in match.get("teams", [])]
    return f": {' against '.join(teams)}" if teams else ""
