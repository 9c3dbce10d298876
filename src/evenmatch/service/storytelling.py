"""A ticket's story in plain words, for people who look at it from outside.

The same chain of events that its owner hears (`messages`), a sentence each. Reading it is no heartbeat: who looks at a
ticket does not keep it in the queue.
"""

from typing import Any, Final

import msgspec

from evenmatch.core.records import ticket_record
from evenmatch.domain import events as ev
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.refusals import Refusal

from . import messages
from .isolating import isolated
from .past_waves import PastWaves
from .spans import span
from .views import Views
from .wave_words import next_wave, waves_left, window_after

SENTENCES_MOST: Final = 200
_WITH_MOST: Final = 12
_APART_MS: Final = 1000
"""Where its whole wait and the last stretch of it differ by so much, both are told."""
_NEVER_SAID: Final = "for a reason that is not told"
_CANCELLED: Final = {
    "left": "It left the queue.",
    "declined": "It declined, and was taken out of the queue.",
    "lapsed": "It did not answer the ready check in time, and was taken out of the queue.",
    "lost": "Its connection was lost during the ready check, and it was taken out of the queue.",
    "operator": "An operator took it out.",
    "rules_changed": "It was taken out, for the queue was given rules that it does not meet.",
    "too_long": "It had been in the queue for as long as the queue allows, and expired.",
    "unheard": "Its client was not heard of for as long as the queue allows, and the ticket expired.",
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
    now: str | None = None
    """How a ticket that waits stands now, and when the next wave is due; null = it does not wait."""


class _Telling:
    """What is known of one ticket while its story is told, oldest first."""

    def __init__(self, views: Views, waves: PastWaves, ticket: int, now_ms: int) -> None:
        self.views = views
        self.waves = waves
        self.ticket = ticket
        self.record: dict[str, Any] | None = ticket_record(views.engine.state, ticket, now_ms)
        self.record = self.record or views.journal.finished_ticket(ticket)
        self.queue = "" if self.record is None else str(self.record["queue"])
        self.openings = views.journal.openings(self.queue) if self.queue else []
        self.joined = 0
        """The sequence of its joining; 0 = not kept."""
        self.since: tuple[int, int] | None = None
        """Sequence and moment from which on it waits; None = it does not."""
        self.kept_ms = 0
        """Its wait before that."""
        self.left: int | None = 0
        """Recorded waves that left it before that; None = not all are known."""
        self.together = [ticket]
        """The tickets of the proposal that it is or was in."""

    def spec_at(self, sequence: int) -> QueueSpec | None:
        """The rules in force when something happened; None = not kept."""
        if not self.openings:
            queue = self.views.engine.state.queues.get(self.queue)
            return None if queue is None or queue.version > 1 else queue.spec
        return next((one.spec for one in reversed(self.openings) if one.sequence <= sequence), None)

    def before(self, message: messages.Told, at_ms: int, event: ev.Event | None, last: bool) -> str:
        """What led to an event, as the beginning of its sentence; `last`: the ticket did not wait again after it."""
        if message.kind in ("queued", "requeued"):
            self.since = message.sequence, at_ms
            self.joined = self.joined or message.sequence * (message.kind == "queued")
            return ""
        taken = isinstance(event, ev.WaveFinished)
        if self.since is None or not (taken or message.kind in ("cancelled", "expired")):
            return ""
        since, since_ms = self.since
        waited_ms, earlier_ms = at_ms - since_ms, self.kept_ms
        self.kept_ms, self.since = earlier_ms + waited_ms, None
        left = waves_left(self._left(since, message.sequence, event, last))
        words = f"After {span(waited_ms)}{' and ' * bool(left)}{left}"
        if isinstance(event, ev.WaveFinished):
            window = self._window_by(message.sequence, event, last)
            return f"{words} (window by then {window}), " if window else f"{words}, "
        total_ms = self.kept_ms if self.record is None else self.record["waited_ms"]
        apart = abs(total_ms - waited_ms) >= _APART_MS
        return f"{words} ({span(total_ms)} of waiting in all), " if apart else f"{words}, "

    def _left(self, since: int, until: int, event: ev.Event | None, last: bool) -> int | None:
        """The recorded waves that left it while it waited; those of all its waits together are its misses."""
        misses = None if self.record is None else int(self.record["misses"])
        if last and misses is not None and self.left is not None:
            return misses - self.left
        found = self.waves.missed(self.queue, since, until, event.wave if isinstance(event, ev.WaveFinished) else None)
        if found is None or self.left is None or misses is None:
            self.left = None
            return None
        found = min(found, misses - self.left)  # a clock that stands still misses nothing
        self.left += found
        return found

    def _window_by(self, sequence: int, event: ev.WaveFinished, last: bool) -> str:
        """The window that a ticket had when a wave took it."""
        misses, waited_ms = None, self.kept_ms
        if last and self.record is not None:  # only what is counted for it knows of times when its clock stood still
            misses, waited_ms = self.record["misses"], self.record["waited_ms"]
        planned_ms = event.at_ms - event.started_ms
        return window_after(self.spec_at(sequence), self.record, max(0, waited_ms - planned_ms), misses)

    def at_first(self, sequence: int) -> str:
        """The window that a ticket came with."""
        window = window_after(self.spec_at(sequence), self.record, 0, 0)
        return f"; window {window} at first" if window else ""

    def end(self, cause: str, sequence: int) -> str | None:
        """The sentence for an end by one of the queue's limits, with the limit; None = it is another end."""
        began, ended = self.spec_at(self.joined) if self.joined else None, self.spec_at(sequence)
        if cause == "too_long" and began is not None:  # the limit is set when a ticket joins
            limit = span(began.ticket.expires_s * 1000)
            return f"It had been in the queue for {limit}, which is as long as the queue allows, and expired."
        if cause == "unheard" and ended is not None:
            limit = span(ended.ticket.heartbeat_s * 1000)
            allowed = f"{limit}, which is as long as the queue allows"
            return f"Its client was not heard of for {allowed}, and the ticket expired."
        return None

    def now(self, now_ms: int) -> str | None:
        """How the ticket stands, if it waits."""
        queue = self.views.engine.state.queues.get(self.queue)
        if queue is None or self.record is None or self.record["status"] != "waiting":
            return None
        waited_ms = self.record["waited_ms"]
        window = window_after(queue.spec, self.record, waited_ms, self.record["misses"])
        words = f"It has waited for {span(waited_ms)}{'; window by now ' * bool(window)}{window}."
        if self.record["suspended"]:
            return f"{words} Its clock stands still: one of its players is in another proposal or match."
        return f"{words} {next_wave(self.views.engine, queue, now_ms) or 'The queue is paused: no wave runs.'}"


def told(views: Views, waves: PastWaves, ticket: int, name: str, now_ms: int) -> StoryView | Refusal:
    """A ticket's story; in the engine thread."""
    story = messages.story(views, ticket, None, now_ms)
    if isinstance(story, Refusal):
        return story
    assert isinstance(story, messages.Story)
    telling = _Telling(views, waves, ticket, now_ms)
    sentences = []
    telling.left = 0 if len(story.told) <= SENTENCES_MOST else None
    waits = [message.sequence for message in story.told if message.kind in ("queued", "requeued")]
    for message in story.told[-SENTENCES_MOST:]:
        content = msgspec.json.decode(message.text)
        event = views.journal.event(message.sequence)
        if isinstance(event, ev.WaveFinished):
            telling.together = [int(one) for row in event.roster if ticket in row for one in row if one >= 0]
        after = telling.before(message, content["at_ms"], event, not waits or waits[-1] < message.sequence)
        proposal, match = content.get("proposal") or {}, content.get("match") or {}
        words = _words(telling, message, content, event)
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
    return StoryView(name, story.over, sentences, telling.now(now_ms))


def _words(telling: _Telling, message: messages.Told, content: dict[str, Any], event: ev.Event | None) -> str:
    """One sentence."""
    views, ticket, kind = telling.views, telling.ticket, message.kind
    proposal, match = content.get("proposal") or {}, content.get("match") or {}
    cause = content.get("cause") or ""
    match kind:
        case "queued":
            return f"It joined {content['queue']}{telling.at_first(message.sequence)}."
        case "proposed":
            within = span(proposal.get("timeout_ms", 0))
            joins = f" to join {proposal['joins']}, which runs," if "joins" in proposal else ""
            return f"It was proposed {proposal['id']}{joins}{_with(views, event, ticket)}: {within} to accept."
        case "accepted":
            return f"{isolated(content['player'])} accepted, {content['pending']} to go."
        case "requeued":
            fault = at_fault(views, event, telling.together, cause)
            return f"{fault}; this ticket waits again, with {span(telling.kept_ms)} kept."
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
            left = ", ".join(map(isolated, content.get("left", [])))
            return f"The match asked for players: {left or 'nobody'} left."
        case "filled":
            return f"{content.get('joined')} joined the match."
        case "unfilled":
            return f"The match asks for nobody any more ({cause})."
        case "cancelled" | "expired":
            if isinstance(event, ev.ProposalsFailed) and len(_numbers(views, [ticket])) > 1 and cause in _RETURNED:
                fault = at_fault(views, event, [ticket], cause)
                return f"{fault}; the whole party was taken out of the queue."
            limited = telling.end(cause, message.sequence)
            return limited or _CANCELLED.get(cause, f"It was {kind}: {cause or _NEVER_SAID}.")
    return f"{kind}."


def _with(views: Views, event: ev.Event | None, ticket: int) -> str:
    """With whom a proposal was made."""
    if not isinstance(event, ev.WaveFinished):
        return ""
    rows = [row for row in event.roster if ticket in row]
    others = [int(one) for row in rows for one in row if one >= 0 and one != ticket]
    named = _named(views, _numbers(views, others[:_WITH_MOST]))
    more = f" and {len(others) - _WITH_MOST} more" if len(others) > _WITH_MOST else ""
    return f" with {', '.join(named)}{more}" if named else ""


def at_fault(views: Views, event: ev.Event | None, together: list[int], cause: str) -> str:
    """Who or what ended a ready check: one event may end many, so only those of this one are asked."""
    words = _RETURNED.get(cause, f"The ready check ended ({cause})")
    if words[:1].isupper():
        return words
    failed = isinstance(event, ev.ProposalsFailed)
    blamed = [one for one in event.blamed.tolist() if one in together] if failed else []  # type: ignore[union-attr]
    parties = [_numbers(views, [one]) for one in blamed[:_WITH_MOST]]
    guilty = set(event.guilty.tolist()) if failed else set()  # type: ignore[union-attr]
    named = []
    for party in parties:
        known = [one for one in party if one in guilty]
        if known or len(party) == 1:
            named += _named(views, known or party)
        elif party:  # an old journal says which party, and not who of it
            named.append(f"{'one' if named else 'One'} of {', '.join(_named(views, party))}")
    return f"{', '.join(named) or 'Somebody'} {words}"


def _numbers(views: Views, tickets: list[int]) -> list[int]:
    """The players of tickets."""
    numbers: list[int] = []
    for ticket in tickets:
        record = ticket_record(views.engine.state, ticket, views.engine.state.now_ms)
        record = record or views.journal.finished_ticket(ticket)
        numbers += [player["player"] for player in (record or {"players": []})["players"]]
    return numbers


def _named(views: Views, numbers: list[int]) -> list[str]:
    """Players by name, fit to stand in a sentence."""
    names = views.directory.names(numbers)
    return [isolated(names[number]) for number in numbers]


def _teams(match: dict[str, Any]) -> str:
    teams = [", ".join(map(isolated, team["players"])) for team in match.get("teams", [])]
    return f": {' against '.join(teams)}" if teams else ""
