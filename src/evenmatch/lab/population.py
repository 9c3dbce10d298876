"""Who plays, as data: what a population file says, and the presets.

A population is a TOML file. Everything that people do is a number in it, and says where it comes from: `sources` of a
preset tells which numbers are measured somewhere and which are assumptions. Mistakes name file, key and what is right.
"""

import math
import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

import msgspec

from evenmatch.domain.queue import Format
from evenmatch.errors import LabError
from evenmatch.matchers import registry
from evenmatch.numerics.rating_models import model_mistake

from .keys import key_mistake, left_out

__all__ = ["PRESETS", "Burst", "Fit", "Population", "load", "notes", "of_text", "preset_text"]

PRESETS: Final = ("duel-small", "duel-large", "team5-small", "team5-large")
HOURS: Final = 24
SESSIONS_MOST: Final = 3_000_000.0
"""Of parties of five that is a crowd of millions, and more than any machine would simulate in a day."""
_SHARES_OFF: Final = 1e-6


class Skill(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How good people really are. Nobody in the queue knows it."""

    kind: str = "normal"
    """normal, log_normal (a long upper tail of the same mean and spread) or csv (drawn from a column of a file)"""
    mean: float = 1500.0
    """Of everybody, in points of rating; not for csv."""
    spread: float = 300.0
    """The standard deviation; not for csv."""
    file: str = ""
    """A CSV beside this file, for csv."""
    column: str = ""
    """Its column of ratings."""


class Ratings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the matchmaker believes: a rating that errs, and learns from results."""

    error: float = 100.0
    """How far the ratings of those who have played before are off: a standard deviation."""
    newcomers: float = 0.05
    """The share of players without a result."""
    start: float | None = None
    """The rating of those; left out: the mean of everybody's skill"""
    model: str = "weng_lin"
    """How ratings learn: weng_lin, elo or glicko2."""
    parameters: dict[str, Any] = {}
    """Of the model, as in a queue's rating table."""


class Burst(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """More people than usual, for a while."""

    at_h: float
    """Hours after the run began."""
    lasts_min: float = 10.0
    """Minutes that it goes on for."""
    times: float = 5.0
    """So many times as many as usual come."""


class Arrivals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When people come: a Poisson process whose rate follows the hour."""

    sessions_a_day: float = 10_000.0
    """Parties that sit down to play."""
    curve: tuple[float, ...] = ()
    """24 weights, one an hour; left out: every hour is alike"""
    file: str = ""
    """A CSV with a row an hour, to take the curve from instead"""
    time_column: str = ""
    """Its column of times, such as 2024-05-01 17:00:00."""
    count_column: str = ""
    """Its column of how many there were."""
    from_h: float = 12.0
    """The hour of the day at which a run begins."""
    bursts: tuple[Burst, ...] = ()
    """When more come than usual."""
    cold_start: bool = True
    """Begin with nobody there; otherwise the first hour's crowd comes in the first minute."""


class Sessions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What people do once they are there."""

    games: float = 3.0
    """Matches that a session has on average, if all goes well (geometric)."""
    pause_s: float = 30.0
    """Mean time between the end of a match and joining again (exponential)."""
    patience_s: float = 240.0
    """The median of how long people wait before they give up (log-normal)."""
    patience_spread: float = 0.8
    """Of its logarithm."""
    match_s: float = 900.0
    """The median length of a match (log-normal)."""
    match_spread: float = 0.3
    """Of its logarithm."""
    answer_s: float = 4.0
    """Mean time to answer a ready check (exponential)."""
    decline: float = 0.02
    """The share of ready checks that a player declines."""
    lost: float = 0.01
    """The share of ready checks in which a player's connection is lost."""


class Regions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where people are, and how far from the servers."""

    shares: dict[str, float] = msgspec.field(default_factory=lambda: {"eu": 1.0})
    """Region -> share of the players. There are servers in each."""
    near_ms: float = 25.0
    """The median ping to the own region (log-normal)."""
    near_spread: float = 0.5
    """Of its logarithm."""
    far_ms: dict[str, dict[str, float]] = {}
    """Region -> region -> what the way between adds; either way round"""
    far_else_ms: float = 120.0
    """Where the table says nothing."""
    file: str = ""
    """A matrix of round-trip times in ms, one row a line, instead: pings are drawn from it, and servers put where they
    are near to most of its rows; the region with the largest share is where most rows are"""


class Sides(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For matchers with two sides: who can play which."""

    names: tuple[str, str] = ("bw", "sc2")
    """What they are called."""
    both: float = 0.3
    """The share that can play either; the rest is split in halves."""
    difference: float = 80.0
    """How far apart the strengths of one player on the two sides are: a standard deviation."""


class Fit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a matcher is set up for this population."""

    parameters: dict[str, Any] = {}
    """As in a queue's matcher table."""
    every_s: float = 0.0
    """Seconds from wave to wave; 0 = as the others."""


class Game(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is played, and the queue's rules that are the same for all matchers."""

    format: Format = Format()
    """How many teams of how many."""
    every_s: float = 5.0
    """Seconds from wave to wave."""
    ready_check_s: float = 20.0
    """Seconds in which to answer a ready check; 0 = there is none."""
    expires_s: float = 1800.0
    """Seconds after which a ticket is taken out of the queue."""
    scale: float = 400.0
    """Who is so many points stronger wins ten times as often: outcomes are drawn by it."""


class Population(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of it."""

    title: str
    """What it is, in a line."""
    game: Game = Game()
    skill: Skill = Skill()
    ratings: Ratings = Ratings()
    arrivals: Arrivals = Arrivals()
    sessions: Sessions = Sessions()
    parties: dict[str, float] = msgspec.field(default_factory=lambda: {"1": 1.0})
    """Size -> share of the sessions."""
    regions: Regions = Regions()
    sides: Sides = Sides()
    profile: dict[str, dict[str, float]] = {}
    """Feature -> word -> share of the players."""
    matchers: dict[str, Fit] = {}
    """Matcher -> how it is set up here"""
    sources: dict[str, str] = {}
    """Table or key -> where the number comes from. What a file leaves out is added to it, as an assumption."""

    def fit(self, matcher: str) -> Fit:
        """How a matcher is set up."""
        return self.matchers.get(matcher, Fit())


def load(name: str) -> tuple[Population, Path]:
    """A preset, or a file; and the folder from which the files that it names are found."""
    if name in PRESETS:
        return of_text(preset_text(name), name), Path()
    path = Path(name)
    if path.suffix != ".toml" and not path.exists():
        raise LabError(f"{name!r} is no population: use {', '.join(PRESETS)}, or the name of a TOML file")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise LabError(f"{name}: there is no such file") from None
    except UnicodeDecodeError:
        raise LabError(f"{name}: the file is not UTF-8 text") from None
    except OSError as error:
        raise LabError(f"{name}: the file cannot be read: {error.strerror}") from None
    return of_text(text, name), path.parent


def preset_text(name: str) -> str:
    """The file of a preset."""
    return resources.files(__package__).joinpath("presets", f"{name}.toml").read_text("utf-8")


def of_text(text: str, source: str) -> Population:
    """A population of a TOML text; LabError says what is wrong with it."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LabError(f"{source}: this is not TOML: {error}") from None
    wrong = key_mistake(table, Population)
    if wrong:
        raise LabError(f"{source}: {wrong}")
    try:
        found = msgspec.convert(table, Population)
    except msgspec.ValidationError as error:
        words, _, where = str(error).partition(" - at `$")
        raise LabError(f"{source}: {where.strip('`.') or 'the file'}: {words}") from None
    wrong = _mistake(found)
    if wrong:
        raise LabError(f"{source}: {wrong}")
    return msgspec.structs.replace(found, sources=found.sources | left_out(table, Population))


def notes(given: Population, hours: float = math.inf) -> list[str]:
    """What must be known of results of so many hours with this population, in words."""
    found = []
    late = [burst.at_h for burst in given.arrivals.bursts if burst.at_h >= hours]
    if late:
        many = "A burst begins" if len(late) == 1 else f"{len(late)} bursts begin"
        when = ", ".join(f"{at_h:g}" for at_h in late)
        found.append(f"{many} after the run's end ({hours:g} h), at {when} h: nothing of it is seen.")
    if given.arrivals.cold_start:
        found.append("Runs begin with nobody there (arrivals.cold_start): the first minutes are emptier than the hour.")
    assumed = [name for name, words in given.sources.items() if words.startswith("assumption")]
    if assumed:
        found.append(f"Assumptions, not measured: {', '.join(assumed)}.")
    return found


def _mistake(given: Population) -> str:
    """What is wrong with a population, or nothing."""
    for where, value in _numbers(msgspec.to_builtins(given)):
        if not math.isfinite(value) or (
            value < 0 and where not in ("skill.mean", "ratings.start") and ".parameters" not in where
        ):
            return f"{where}: {value:g} is out of range: use 0 or more"
    skill, arrivals, regions = given.skill, given.arrivals, given.regions
    if skill.kind not in ("normal", "log_normal", "csv"):
        return f"skill.kind: {skill.kind!r} is not known: use normal, log_normal or csv"
    if skill.kind == "log_normal" and skill.mean <= 0:
        return f"skill.mean: {skill.mean} cannot be the mean of a log-normal: use more than 0"
    if (skill.kind == "csv") != bool(skill.file and skill.column):
        return "skill: kind csv needs file and column, and only kind csv has them"
    if arrivals.sessions_a_day <= 0:
        return "arrivals.sessions_a_day: nobody would ever come: use more than 0"
    if arrivals.sessions_a_day > SESSIONS_MOST:
        return f"arrivals.sessions_a_day: {arrivals.sessions_a_day:g} is too many: use {SESSIONS_MOST:g} at most"
    if arrivals.curve and (len(arrivals.curve) != HOURS or max(arrivals.curve) <= 0):
        return f"arrivals.curve: use {HOURS} weights, one an hour, 0 or more, not all 0"
    if arrivals.file and not (arrivals.time_column and arrivals.count_column):
        return "arrivals: a file needs time_column and count_column"
    if arrivals.file and arrivals.curve:
        return "arrivals: give a curve or a file, not both"
    for burst in arrivals.bursts:
        if burst.lasts_min <= 0:
            return "arrivals.bursts: lasts_min must be more than 0"
    if given.sessions.games < 1:
        return f"sessions.games: {given.sessions.games} is fewer than one match: use 1 or more"
    for key in ("patience_s", "match_s"):
        if getattr(given.sessions, key) <= 0:
            return f"sessions.{key}: use more than 0"
    for key in ("decline", "lost"):
        if getattr(given.sessions, key) > 1:
            return f"sessions.{key}: it is a share: use 0 to 1"
    if given.ratings.newcomers > 1:
        return "ratings.newcomers: it is a share: use 0 to 1"
    if given.sides.both > 1:
        return "sides.both: it is a share: use 0 to 1"
    wrong = model_mistake(given.ratings.model, given.ratings.parameters)
    if wrong:
        return f"ratings: {wrong}"
    for where, shares in (("parties", given.parties), ("regions.shares", regions.shares), *given.profile.items()):
        wrong = _shares_mistake(shares)
        if wrong:
            return f"{where}: {wrong}"
    for size in given.parties:
        if not size.isascii() or not size.isdigit() or not 1 <= int(size) <= given.game.format.size:
            return f"parties: {size!r} cannot be seated: a team of {given.game.format} holds {given.game.format.size}"
    for name in given.matchers:
        if name not in registry.MATCHERS:
            return f"matchers.{name}: there is no such matcher: use {', '.join(registry.names())}"
    if given.game.every_s <= 0 or given.game.expires_s <= 0 or given.game.scale <= 0:
        return "game: every_s, expires_s and scale must be more than 0"
    return ""


def _numbers(value: Any, where: str = "") -> Iterator[tuple[str, float]]:
    """All numbers of nested tables, with their dotted names."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(inner, f"{where}.{key}" if where else key)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _numbers(inner, where)
    elif isinstance(value, float):
        yield where, value


def _shares_mistake(shares: Mapping[str, float]) -> str:
    if not shares:
        return "there must be at least one"
    if min(shares.values()) < 0 or abs(sum(shares.values()) - 1.0) > _SHARES_OFF:
        return f"the shares add up to {sum(shares.values()):g}, not to 1"
    return ""
