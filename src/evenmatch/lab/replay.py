"""What would another algorithm have done with yesterday's players?

    journal ─> Past: who joined when, who left when ─> the engine, with other rules, in virtual time ─> Story

It is a what-if, and has limits, which are told with every answer: people would have acted otherwise.

1. Everybody accepts: there is no ready check in it, and who let one fail in truth is treated like everybody else. So
   waits are measured to the first proposal, in truth too: what a ready check takes is on neither side.
2. Who left the queue of itself leaves at the same moment, if it is still waiting then; nobody leaves earlier or later.
3. Who was matched in truth and is not yet matched here waits on; a join of its players that comes meanwhile is left
   out, for they are waiting already.
4. Ratings are those that the tickets had: results that another match would have had are not known.

So what was is no measure for what would have been. The journal's own rules are put through the same what-if, and the
two what-ifs are compared.
"""

import msgspec
import numpy as np

from evenmatch.core.engine import Engine, Step
from evenmatch.core.joining import brings
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.effects import RunMatcher
from evenmatch.domain.queue import SECONDS_MAX, MatchSpec, QueueSpec
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.ticket import Cause, TicketRequest
from evenmatch.errors import LabError
from evenmatch.matchers.contract import plan_wave, wave_next_change_ms
from evenmatch.matchers.registry import build
from evenmatch.numerics.quality import win_probability

from .log import End
from .measures import FAIR, histogram, quantiles
from .past import Past, Story
from .plain import counted

__all__ = ["LIMITS", "Summary", "summary", "what_if"]

LIMITS = (
    "waits are those until the first proposal, in truth too: in a what-if there are no ready checks, everybody accepts",
    "who left of itself leaves at the same moment, if it still waits then; nobody would leave earlier or later",
    "a join is left out while one of its players still waits here from an earlier one",
    "ratings are those that the tickets had: other matches would have had other results",
    "fair is meant by these ratings; `evenmatch lab compare` knows true skill, so its shares are not comparable",
)


class Summary(msgspec.Struct, frozen=True):
    """How it went, in numbers."""

    tickets: int
    """All that came: `ends`, `left_out` and `refused` add up to it."""
    matches: int
    ends: dict[str, int]
    """How it ended -> tickets"""
    never_matched: float | None
    """Of the tickets whose wait ended, the share that gave up, expired or was turned away; None = no wait ended."""
    wait_s: dict[str, float | None]
    """Until the first proposal, of those that had one."""
    to_match_s: dict[str, float | None]
    """Until the match, of those that had one, with the time that ready checks took."""
    gap: dict[str, float | None]
    fair_share: float | None
    """Matches in which, by ratings, the favourite wins 55 % at most."""
    waiting: int
    """Tickets that waited on, or were in a ready check, when the journal ended; they are in no share."""
    left_out: int = 0
    """Joins of players who were waiting already."""
    refused: dict[str, int] = {}
    """What is said at the door -> tickets that were turned away"""
    waits: dict[str, list[float]] = {}
    gaps: dict[str, list[float]] = {}


def summary(story: Story, left_out: int = 0, refused: dict[str, int] | None = None) -> Summary:
    """The numbers of a story."""
    ends = list(story.end.values())
    matched = [ticket for ticket, end in story.end.items() if end == End.MATCHED]
    lost = sum(end in (End.GAVE_UP, End.EXPIRED) for end in ends) + sum((refused or {}).values())
    blamed = sum(end == End.BLAMED for end in ends)
    waits = np.array([(at_ms - story.joined_ms[t]) / 1000.0 for t, at_ms in story.offered_ms.items()])
    whole = np.array([(story.ended_ms[t] - story.joined_ms[t]) / 1000.0 for t in matched])
    gaps = np.array([gap for _, gap in story.matches])
    settled = len(matched) + lost + blamed
    return Summary(
        tickets=len(ends) + left_out + sum((refused or {}).values()),
        matches=len(story.matches),
        ends={one.name.lower(): sum(end == one for end in ends) for one in End},
        never_matched=round(lost / settled, 6) if settled else None,
        wait_s=quantiles(waits),
        to_match_s=quantiles(whole),
        gap=quantiles(gaps),
        fair_share=round(float((win_probability(gaps) <= FAIR).mean()), 6) if len(gaps) else None,
        waiting=sum(end in (End.WAITING, End.PROPOSED) for end in ends),
        left_out=left_out,
        refused=refused or {},
        waits=histogram(waits),
        gaps=histogram(gaps),
    )


def what_if(past: Past, spec: QueueSpec) -> Summary:
    """The same players under other rules."""
    return _Again(past, spec).run()


class _Again:
    def __init__(self, past: Past, spec: QueueSpec) -> None:
        ticket = msgspec.structs.replace(spec.ticket, heartbeat_s=SECONDS_MAX)
        match = MatchSpec(rematch_s=spec.match.rematch_s, rematch_lift_s=spec.match.rematch_lift_s)
        self.spec = msgspec.structs.replace(
            spec, ready_check=None, cooldown=None, allocate=None, ticket=ticket, match=match
        )
        self.past = past
        self.engine = Engine()
        self.story = Story()
        self.now_ms = 0
        self.left_out = 0
        self.refused: dict[str, int] = {}
        self._matcher = build(spec.matcher.name, spec.matcher.parameters)
        self._now: dict[int, int] = {}
        """A ticket's number in truth -> here"""
        self._waiting: dict[int, int] = {}
        """Player -> the ticket that waits here"""
        self._players: dict[int, tuple[int, ...]] = {}

    def run(self) -> Summary:
        past = self.past
        self._step(cmd.OpenQueue(self.spec), past.first_ms)
        every_ms = max(1, round(self.spec.wave.every_s * 1000))
        happenings = sorted(
            [(wish.at_ms, 0, place) for place, wish in enumerate(past.wishes)]
            + [(at_ms, 1, ticket) for at_ms, ticket in past.departures]
        )
        tick_ms = past.first_ms + every_ms
        for at_ms, kind, which in happenings:
            while tick_ms <= at_ms:
                self._step(cmd.Tick(), tick_ms)
                tick_ms += every_ms
            if kind == 0:
                self._join(which, at_ms)
            elif which in self._now and self.story.end.get(self._now[which]) == End.WAITING:
                self._step(cmd.Leave(self._now[which]), at_ms)
        while tick_ms <= past.last_ms:
            self._step(cmd.Tick(), tick_ms)
            tick_ms += every_ms
        if not self.story.end:
            why = "; ".join(f"{said} ({counted(count, 'ticket')})" for said, count in self.refused.items())
            raise LabError(
                f"nobody could have joined under these rules: {why}. The journal keeps only what its own queue read"
            )
        return summary(self.story, self.left_out, self.refused)

    def _join(self, place: int, at_ms: int) -> None:
        wish = self.past.wishes[place]
        players = tuple(member.player for member in wish.request.members)
        if any(player in self._waiting for player in players):
            self.left_out += 1
            return
        step = self._step(cmd.Join(self.spec.name, wish.request), at_ms)
        outcome = step.refusal if step.refusal is not None else step.outcomes[0]
        if isinstance(outcome, Refusal):
            said = self._said(outcome, wish.request)
            self.refused[said] = self.refused.get(said, 0) + 1
            return
        self._now[wish.ticket] = outcome
        self._players[outcome] = players
        self._waiting.update(dict.fromkeys(players, outcome))
        self.story.join(outcome, at_ms, wish.request.members)

    def _said(self, refusal: Refusal, request: TicketRequest) -> str:
        """Why a ticket is turned away, in words that are the same for all alike; facts that are missing, by name."""
        if refusal.reason is not Reasons.MISSING_FACT:
            return refusal.reason.title
        missing = [
            " or ".join(group)
            for group in self.spec.door.requires
            if not all(any(brings(member, name) for name in group) for member in request.members)
        ]
        return (
            f"{self.spec.matcher.name} needs {' and '.join(missing)} of every player, which the journal does not have"
        )

    def _step(self, command: cmd.Command, at_ms: int) -> Step:
        self.now_ms = max(self.now_ms, at_ms)
        step = self.engine.step(command, self.now_ms)
        for event in step.events:
            match event:
                case ev.WaveFinished():
                    for roster, teams in zip(event.roster, event.team_of, strict=True):
                        seated = roster >= 0
                        self.story.made(roster[seated], teams[seated], self.now_ms)
                        self._free(roster[seated].tolist())
                case ev.TicketsGone():
                    how = End.GAVE_UP if event.cause == Cause.LEFT else End.EXPIRED
                    for ticket in event.ticket.tolist():
                        self.story.leave(ticket, self.now_ms, how)
                    self._free(event.ticket.tolist())
                case _:
                    pass
        for effect in step.effects:
            self._wave(effect)
        return step

    def _free(self, tickets: list[int]) -> None:
        for ticket in tickets:
            for player in self._players.pop(ticket):
                self._waiting.pop(player, None)

    def _wave(self, effect: RunMatcher) -> None:
        snapshot = effect.snapshot
        rest: cmd.FinishWave | None = cmd.FinishWave(
            queue=effect.spec.name,
            wave=effect.wave,
            plan=plan_wave(self._matcher, snapshot, seed=effect.seed),
            reads_misses=self._matcher.reads_misses,
            next_change_ms=wave_next_change_ms(self._matcher, snapshot),
        )
        while rest is not None:
            rest = self._step(rest, self.now_ms).rest
