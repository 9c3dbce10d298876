"""A queue's rules, as data: they enter by a command and live in the journal, so past decisions can be explained."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final

import msgspec

from evenmatch.domain.backfill import BackfillSpec, backfill_rules_broken
from evenmatch.domain.ids import QUEUE_NAME
from evenmatch.domain.rating import RatingSpec, rating_rules_broken
from evenmatch.domain.venue import AllocateSpec, VenueSpec, allocate_rules_broken, venue_rules_broken

TEAMS_MAX: Final = 100
TEAM_SIZE_MAX: Final = 100
SEATS_MAX: Final = 200
SECONDS_MAX: Final = 30 * 24 * 3600.0
COOLDOWN_GROWTH_MAX: Final = 10.0
PARTY_RATINGS: Final = ("each", "mean", "max", "sum")
PARTY_PINGS: Final = ("each", "mean", "max")
BONUS_MAX: Final = 10_000.0


class Mode(StrEnum):
    """Whether a queue runs."""

    OPEN = "open"
    PAUSED = "paused"
    """No wave is run; tickets may join and wait."""
    DRAINING = "draining"
    """Nobody may join; those who wait are matched on."""


class Format(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many teams, of what size."""

    teams: int = 2
    size: int = 1
    """Players in a team."""

    @property
    def seats(self) -> int:
        """Players in a match."""
        return self.teams * self.size

    def __str__(self) -> str:
        return f"{self.teams}x{self.size}"


NO_FORMAT: Final = Format(0, 0)
"""The format of a snapshot that leaves it to the matcher."""


class MatcherSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which algorithm, with which parameters."""

    name: str = "first_come"
    parameters: dict[str, Any] = {}


class WaveSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a queue is tried."""

    every_s: float = 1.0
    deadline_s: float = 30.0
    """A plan that has not come back by then is given up."""
    isolate: bool | None = None
    """Run the matcher in a worker process: always (true), never (false), or only when the queue is large (left out)."""


class ReadyCheckSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long players have to accept a proposal."""

    timeout_s: float = 20.0


class CooldownSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long players who let a ready check fail may not join again. It grows with every offence, and is forgiven."""

    decline_s: float = 30.0
    """After a decline, the first time."""
    lapse_s: float = 60.0
    """After no answer."""
    lost_s: float = 15.0
    """After no answer of somebody whose connection was lost."""
    growth: float = 2.0
    """Each offence on the books makes the next cool-down so many times as long."""
    most_s: float = 1800.0
    forgive_s: float = 3600.0
    """So much time without an offence takes one off the books."""


class PartySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a party counts as, and which parties may join."""

    rating: str = "each"
    """each (players' own ratings), mean, max or sum of the party"""
    ping: str = "each"
    """each, mean or max"""
    premade_bonus: float = 0.0
    """Rating points that every player of a party counts for more, for each further member."""
    full_team: bool = False
    """Only parties that fill a team may join."""


class TicketSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long a ticket lives."""

    expires_s: float = 1800.0
    """A ticket that has been in the queue this long, ready checks not counted, expires."""
    heartbeat_s: float = 60.0
    """A ticket whose client has not been heard of for this long expires."""


class MatchSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is known of a match once it is made."""

    runs_s: float = 0.0
    """How long a match claims its players when nobody reports it over; 0 = it is over the moment it is made (I11)."""
    confirm_s: float = 0.0
    """The game server has so long to say that the match has started, or everybody waits again; 0 = nobody asks."""
    rematch_s: float = 0.0
    """Those who played each other do not meet again for so long; 0 = they may at once."""
    rematch_lift_s: float = 0.0
    """A ticket that has waited so long may meet them all the same; 0 = it may not. Blocks are never lifted."""
    team_names: tuple[str, ...] = ()
    """What the teams are called, such as attack and defence; left out, they have no names."""


class DoorSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a queue's matcher needs of those who join. Not written by hand: the matcher says it."""

    party_sizes: tuple[int, ...] | None = None
    """Parties that can be seated; None = any up to a team."""
    keeps: tuple[str, ...] = ()
    """Facts and traits that are kept beside rating and ping, such as `ratings.bw` or `region`."""
    requires: tuple[tuple[str, ...], ...] = ()
    """Facts that every player must bring; of each group, one is enough."""
    words: tuple[str, ...] = ()
    """Those of `keeps` that are words, or lists of them; the others are numbers."""
    activity_s: float = 0.0
    """Players count as active for so long after they were seen; 0 = not counted."""
    # What is unset is not written: journals from before these fields keep their hashes.
    choices: dict[str, tuple[str, ...]] | msgspec.UnsetType = msgspec.UNSET
    """Those of `words` that must be of a few, such as the names of roles."""
    pings_only: bool | msgspec.UnsetType = msgspec.UNSET
    """The matcher caps latency and the queue names no regions, so only `ping_ms` counts: latencies are refused."""


class QueueSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All rules of one queue."""

    name: str
    format: Format = Format()
    matcher: MatcherSpec = msgspec.field(default_factory=MatcherSpec)
    wave: WaveSpec = WaveSpec()
    ready_check: ReadyCheckSpec | None = None
    ticket: TicketSpec = TicketSpec()
    match: MatchSpec = MatchSpec()
    require_equal: tuple[str, ...] = ()
    """Ticket attributes that all tickets of a match must share."""
    door: DoorSpec = DoorSpec()
    cooldown: CooldownSpec | None = None
    party: PartySpec = PartySpec()
    rating: RatingSpec | None = None
    """How results become ratings; None = ratings come with the tickets and are not kept."""
    venue: VenueSpec | None = None
    """Where matches are played; None = wherever the matcher says, if it does."""
    allocate: AllocateSpec | None = None
    """Who is asked for a game server; None = nobody."""
    backfill: BackfillSpec = BackfillSpec()


def rules_broken(spec: QueueSpec) -> Iterator[tuple[str, str]]:
    """Every rule that a spec breaks, as (key, what is wrong and what would be right)."""
    if not QUEUE_NAME.fullmatch(spec.name):
        yield (
            "name",
            (
                f"{spec.name!r} cannot name a queue: use 1 to 63 lower-case letters, digits, '-' or '_', "
                "starting with a letter or digit"
            ),
        )
    form = spec.format
    played = 1 <= form.teams <= TEAMS_MAX
    if not played:
        yield "format.teams", f"{form.teams} is not a number of teams: use 1 to {TEAMS_MAX}"
    if not 1 <= form.size <= TEAM_SIZE_MAX:
        yield "format.size", f"{form.size} is not a team size: use 1 to {TEAM_SIZE_MAX}"
    elif played and not 2 <= form.seats <= SEATS_MAX:
        yield "format", f"{form} makes {form.seats} seats a match: use 2 to {SEATS_MAX}"
    durations = [
        ("wave.every_s", spec.wave.every_s, 0.01),
        ("wave.deadline_s", spec.wave.deadline_s, 0.01),
        ("ticket.expires_s", spec.ticket.expires_s, 0.01),
        ("ticket.heartbeat_s", spec.ticket.heartbeat_s, 0.01),
        ("match.runs_s", spec.match.runs_s, 0.0),
        ("match.confirm_s", spec.match.confirm_s, 0.0),
        ("match.rematch_s", spec.match.rematch_s, 0.0),
        ("match.rematch_lift_s", spec.match.rematch_lift_s, 0.0),
    ]
    names = spec.match.team_names
    if names and (
        (played and len(names) != form.teams)
        or len(set(names)) != len(names)
        or not all(0 < len(n) <= 64 for n in names)
    ):
        yield "match.team_names", f"{form} needs {form.teams} different names of 1 to 64 characters, one a team"
    if spec.party.rating not in PARTY_RATINGS:
        yield "party.rating", f"{spec.party.rating!r} is not known: use {', '.join(PARTY_RATINGS)}"
    if spec.party.ping not in PARTY_PINGS:
        yield "party.ping", f"{spec.party.ping!r} is not known: use {', '.join(PARTY_PINGS)}"
    if not -BONUS_MAX <= spec.party.premade_bonus <= BONUS_MAX:
        yield "party.premade_bonus", f"{spec.party.premade_bonus} is out of range: use {-BONUS_MAX:g} to {BONUS_MAX:g}"
    cooldown = spec.cooldown
    if cooldown is not None:
        if spec.ready_check is None:
            yield "cooldown", "there is no ready check that could fail: add ready_check, or leave cooldown out"
        if not 1.0 <= cooldown.growth <= COOLDOWN_GROWTH_MAX:
            yield "cooldown.growth", f"{cooldown.growth} is no growth: use 1 to {COOLDOWN_GROWTH_MAX:g}"
        for name in ("decline_s", "lapse_s", "lost_s", "most_s"):
            durations.append((f"cooldown.{name}", getattr(cooldown, name), 0.0))
        durations.append(("cooldown.forgive_s", cooldown.forgive_s, 1.0))
    if spec.ready_check is not None:
        durations.append(("ready_check.timeout_s", spec.ready_check.timeout_s, 0.01))
    for key, seconds, least in durations:
        if not least <= seconds <= SECONDS_MAX:  # false for NaN too
            yield key, f"{seconds} is not a usable number of seconds: use {least:g} to {SECONDS_MAX:g}"
    for position, name in enumerate(spec.require_equal):
        if not name or len(name) > 64:
            yield "require_equal", f"entry {position + 1} is not an attribute's name: use 1 to 64 characters"
        if name in spec.require_equal[:position]:
            yield "require_equal", f"{name!r} is listed twice"
    if spec.venue is not None:
        yield from venue_rules_broken(spec.venue)
    if spec.allocate is not None:
        yield from allocate_rules_broken(spec.allocate)
    yield from backfill_rules_broken(spec.backfill, SECONDS_MAX)
    if spec.rating is not None:
        yield from rating_rules_broken(spec.rating, form.teams if played else 2)


def rule_broken(spec: QueueSpec) -> tuple[str, str] | None:
    """The first of them, or None."""
    return next(rules_broken(spec), None)


def milliseconds(seconds: float) -> int:
    """Seconds of a spec as the whole milliseconds that the core counts in."""
    return round(seconds * 1000)
