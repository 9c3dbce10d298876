"""What players live through, in numbers by queue: joins, waits, qualities, ready checks, cool-downs, departures.

All of it is read off the events of a commit, and the state right after it. Labels are queues, causes and outcomes, so
there are few of them however many players come.
"""

from collections import Counter

import numpy as np
from prometheus_client import CollectorRegistry

from evenmatch.core.state import State
from evenmatch.domain import backfill_events as bev
from evenmatch.domain import batch_events as many
from evenmatch.domain import events as ev
from evenmatch.domain.arrays import Array
from evenmatch.domain.ticket import Cause

from .histograms import QueueHistogram
from .history import Histories, History
from .waits import gaps_of

_WAITS_S = (0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0, 180.0, 300.0, 600.0, 1800.0)
_QUALITIES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)


class PlayMetrics:
    """Counters and histograms of one server."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.joined: Counter[str] = Counter()
        self.proposals: Counter[str] = Counter()
        self.matches: Counter[str] = Counter()
        self.gone: Counter[tuple[str, str]] = Counter()
        self.ready_checks: Counter[tuple[str, str]] = Counter()
        self.cooldowns: Counter[tuple[str, str]] = Counter()
        self.histories = Histories()
        self.places: Counter[tuple[str, str]] = Counter()
        """Places of running matches, by queue: asked, filled, withdrawn, lapsed, ended."""
        self._fills = QueueHistogram(
            "evenmatch_fill_seconds", "How long places of running matches were open until filled", _WAITS_S, registry
        )
        self._waits = QueueHistogram(
            "evenmatch_wait_seconds", "How long tickets that were matched had waited", _WAITS_S, registry
        )
        self._qualities = QueueHistogram(
            "evenmatch_match_quality", "Predicted evenness of the matches made", _QUALITIES, registry
        )

    def begin(self, state: State, now_ms: int) -> None:
        """The server serves from now on: the histories of its queues begin, with those who wait already."""
        for name, queue in state.queues.items():
            self.histories.of(name, now_ms).depth(now_ms, queue.waiting)

    def committed(self, events: list[ev.Event], state: State) -> None:
        """Note what a commit tells; the state is the one after it."""
        for event in events:
            match event:
                case ev.TicketsJoined():
                    self.joined[event.queue] += len(event.size)
                    self._history(state, event.queue).count(state.now_ms, "joins", len(event.size))
                case ev.TicketsGone():
                    self._left(state, event.queue, Cause(event.cause).word, len(event.ticket))
                case ev.WaveFinished():
                    self.proposals[event.queue] += len(event.roster)
                    if not event.deadline_ms and not event.confirm_ms:
                        self._made(state, event.queue, event.roster[event.roster >= 0], event.quality)
                        self._gaps(state, event.queue, event.roster, event.team_of)
                case ev.MatchMade():
                    found = state.find_proposal(event.proposal)
                    quality = np.zeros(0) if found is None else found[0].proposals.quality[[found[1]]]
                    self._made(state, event.queue, event.ticket, quality, 1)
                    if found is not None:
                        self._gaps(state, event.queue, *(part[None] for part in found[0].roster(found[1])))
                    self._checked(state, event.queue, "made", 1)
                case many.MatchesMade():
                    matches = np.unique(event.proposal)
                    places = state.proposals_at.find(matches)
                    slots = places[places >= 0] & 0xFFFFFFFF
                    queue = state.queues[event.queue]
                    self._made(state, event.queue, event.ticket, queue.proposals.quality[slots], len(matches))
                    for slot in slots.tolist():
                        self._gaps(state, event.queue, *(part[None] for part in queue.roster(slot)))
                    self._checked(state, event.queue, "made", len(matches))
                case ev.ProposalsFailed():
                    self._failed(state, event)
                case bev.BackfillAsked():
                    self.places[event.queue, "asked"] += len(event.team)
                    self._cooled(event.queue, event.offence)
                case bev.PlacesOffered():
                    self.proposals[event.queue] += len(event.ticket)
                case bev.MatchFilled():
                    self._filled(state, event)
                case bev.BackfillClosed():
                    self.places[event.queue, event.cause] += len(event.place)
        for name in {getattr(event, "queue", "") for event in events} & state.queues.keys():
            self._history(state, name).depth(state.now_ms, state.queues[name].waiting)

    def _history(self, state: State, name: str) -> History:
        return self.histories.of(name, state.now_ms)

    def _left(self, state: State, name: str, cause: str, tickets: int) -> None:
        self.gone[name, cause] += tickets
        self._history(state, name).left(state.now_ms, cause, tickets)

    def _checked(self, state: State, name: str, outcome: str, count: int) -> None:
        """Ready checks have ended."""
        self.ready_checks[name, outcome] += count
        history = self._history(state, name)
        history.count(state.now_ms, "checked", count)
        if outcome == "made":
            history.count(state.now_ms, "made", count)

    def _gaps(self, state: State, name: str, roster: Array, team_of: Array) -> None:
        gaps = gaps_of(state, state.queues[name], roster, team_of)
        self._history(state, name).measured(state.now_ms, "gap", gaps)

    def _made(self, state: State, name: str, tickets: Array, quality: Array, count: int | None = None) -> None:
        made = len(quality) if count is None else count
        history = self._history(state, name)
        self.matches[name] += made
        history.count(state.now_ms, "matches", made)
        self._qualities.observe(name, quality)
        history.measured(state.now_ms, "quality", quality)
        places = state.tickets_at.find(tickets)
        slots = places[places >= 0] & 0xFFFFFFFF  # with keep_s = 0 a ticket may be gone by now
        if len(slots):
            waits_s = state.queues[name].waited_ms(slots, state.now_ms) / 1000
            self._waits.observe(name, waits_s)
            history.waited(state.now_ms, waits_s)

    def _failed(self, state: State, event: ev.ProposalsFailed) -> None:
        word = Cause(event.cause).word
        self._checked(state, event.queue, word, len(event.proposal))
        if len(event.blamed):
            lost = len(event.lost)
            self._left(state, event.queue, word, len(event.blamed) - lost)
            if lost:
                self._left(state, event.queue, Cause.LOST.word, lost)
        self._cooled(event.queue, event.offence)

    def _cooled(self, queue: str, offence: Array) -> None:
        for cause, count in Counter(offence.tolist()).items():
            self.cooldowns[queue, Cause(cause).word] += count

    def _filled(self, state: State, event: bev.MatchFilled) -> None:
        if event.proposal:
            self._checked(state, event.queue, "made", 1)
        self._made(state, event.queue, np.array([event.ticket]), np.zeros(0), 0)
        filling = state.queues[event.queue].fillings.by_match.get(event.match)
        places = [] if filling is None else [place for place in filling.places if place.ticket == event.ticket]
        self.places[event.queue, "filled"] += len(places)
        open_s = np.array([(place.filled_ms - place.asked_ms) / 1000 for place in places])
        self._fills.observe(event.queue, open_s)
