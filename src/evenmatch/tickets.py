"""Tickets from files and from Python values: read, checked, and put into the columns of a snapshot.

A ticket is {"id", "players": [...], "waited_s", "misses", "avoid"}; for one player, the player's fields may stand on
the ticket itself. A CSV has a row a player: `id`, and any of rating, ping_ms, waited_s, misses, region, vetoed_maps,
roles and avoid (names separated by `|`), ratings.SIDE, latencies.REGION and profile.FEATURE; rows with the same
`ticket` are one party.

Who avoids a player is in no match with that player's ticket: such pairs are `Snapshot.forbidden`, as those of a
server's blocks are.

Ids order by code point, and that order settles ties (canonical order), so a ticket's number in the snapshot is its
place among the sorted ids.
"""

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import NO_PAIRS, Array
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.ticket import FACT_MAX, RATING_DEFAULT
from evenmatch.domain.venue import LATENCY, REGIONS_MAX
from evenmatch.domain.words import not_known
from evenmatch.errors import TicketError

_PLAYER_FIELDS: Final = ("rating", "ratings", "ping_ms", "latencies", "profile", "vetoed_maps", "region", "roles")
_TICKET_FIELDS: Final = ("id", "players", "waited_s", "misses", "avoid")
_LISTS: Final = ("vetoed_maps", "roles")
_CSV_COLUMNS: Final = (
    *("ticket", "id", "rating", "ping_ms", "waited_s", "misses", "region", "vetoed_maps", "roles", "avoid"),
)
_CSV_GROUPS: Final = ("ratings.", "latencies.", "profile.")


class PlayerInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A player, as a caller describes one."""

    id: str
    rating: float | None = None
    ratings: dict[str, float] = {}
    ping_ms: float | None = None
    profile: dict[str, float | str | None] = {}
    vetoed_maps: tuple[str, ...] = ()
    region: str | None = None
    roles: tuple[str, ...] = ()
    latencies: dict[str, float] = {}
    """Milliseconds to each region that the player has measured."""
    avoid: tuple[str, ...] = ()
    """Players of other tickets who must not be in the same match."""


class TicketInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ticket, as a caller describes one."""

    id: str
    players: tuple[PlayerInput, ...]
    waited_s: float = 0.0
    misses: int = 0
    avoid: tuple[str, ...] = ()
    """Players of other tickets who must not be in the same match."""


def read(source: str | bytes, name: str) -> list[TicketInput]:
    """The tickets of a file's content: a JSON array, or a CSV."""
    text = source.decode("utf-8-sig") if isinstance(source, bytes) else source
    if not text.strip():
        raise TicketError(f"{name} is empty: give it a JSON array of tickets, or a CSV with a header line")
    if text.lstrip()[0] in "[{":
        content = _read_json(text, name)
        if not isinstance(content, list):
            raise TicketError(f"{name} holds one JSON object: a JSON array of tickets is needed")
        return parse(content, name)
    try:
        return _read_csv(text, name)
    except csv.Error as error:
        raise TicketError(f"{name} is not a CSV: {error}") from error


def _read_json(text: str, name: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise TicketError(f"{name} is nested too deeply for a list of tickets") from None
    except msgspec.DecodeError as error:
        wrong = TicketError(f"{name} is not JSON: {error}")
    try:  # some writers put NaN and Infinity into JSON: then the ticket and the field can be named
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise wrong from None
    if isinstance(content, list):
        parse(content, name)
    raise wrong


def parse(tickets: Iterable[Any], name: str = "tickets") -> list[TicketInput]:
    """Tickets from Python values: dictionaries as in the JSON, or `TicketInput`s."""
    found = [_ticket(value, f"{name}[{place}]") for place, value in enumerate(tickets)]
    seen: set[str] = set()
    ticket_of: dict[str, str] = {}
    for ticket in found:
        if ticket.id in seen:
            raise TicketError(f"{name}: the ticket {ticket.id!r} is there twice")
        seen.add(ticket.id)
        _check(ticket, f"{name}: ticket {ticket.id!r}")
        for player in ticket.players:
            other = ticket_of.setdefault(player.id, ticket.id)
            if other != ticket.id:
                raise TicketError(f"{name}: the player {player.id!r} is in two tickets, {other!r} and {ticket.id!r}")
    return found


def _ticket(value: Any, where: str) -> TicketInput:
    if isinstance(value, TicketInput):
        return value
    if not isinstance(value, Mapping):
        raise TicketError(f"{where} is {type(value).__name__}, not a ticket: give it as an object with an id")
    fields = dict(value)
    if "id" in fields and isinstance(fields["id"], int) and not isinstance(fields["id"], bool):
        fields["id"] = str(fields["id"])
    if "players" not in fields:
        player = {key: fields.pop(key) for key in _PLAYER_FIELDS if key in fields}
        fields["players"] = [{"id": fields.get("id"), **player}]
    elif any(key in fields for key in _PLAYER_FIELDS):
        extra = next(key for key in _PLAYER_FIELDS if key in fields)
        raise TicketError(f"{where}.{extra}: give it either on the ticket or on its players, not both")
    named = f" (ticket {fields['id']!r})" if isinstance(fields.get("id"), str) else ""
    _known(fields, (*_TICKET_FIELDS, *_PLAYER_FIELDS), f"{where}{named}")
    if isinstance(fields["players"], Sequence):
        for place, player in enumerate(fields["players"]):
            if isinstance(player, Mapping):
                _known(player, ("id", *_PLAYER_FIELDS, "avoid"), f"{where}{named}, players[{place}]")
    try:
        return msgspec.convert(fields, TicketInput, strict=True)
    except msgspec.ValidationError as error:
        raise TicketError(f"{where}{named}: {error}") from error


def _known(fields: Mapping[Any, Any], known: tuple[str, ...], where: str) -> None:
    for field in fields:
        if field not in known:
            raise TicketError(f"{where}: the field {not_known(str(field), known)}")


def _check(ticket: TicketInput, where: str) -> None:
    """The rules that types do not say."""
    if not ticket.id or not all(player.id for player in ticket.players):
        raise TicketError(f"{where} has an empty id, or a player with one")
    if not ticket.players:
        raise TicketError(f"{where} has no players")
    if not 0 <= ticket.waited_s <= 1e9:
        raise TicketError(f"{where}: waited_s is {ticket.waited_s}; a wait is a number of seconds from 0 to 1e9")
    if not 0 <= ticket.misses < 2**31:
        raise TicketError(f"{where}: misses is {ticket.misses}; it is a whole number from 0 to 2147483647")
    names = [player.id for player in ticket.players]
    if len(set(names)) < len(names):
        raise TicketError(f"{where} has the same player twice")
    for player in ticket.players:
        numbers = {"rating": player.rating, "ping_ms": player.ping_ms}
        numbers |= {f"ratings.{side}": rating for side, rating in player.ratings.items()}
        numbers |= {f"profile.{key}": value for key, value in player.profile.items() if not isinstance(value, str)}
        for field, number in numbers.items():
            if number is not None and not -FACT_MAX <= number <= FACT_MAX:
                raise TicketError(f"{where}: {field} of {player.id!r} is {number}: use a number within {FACT_MAX:g}")
        pings = {"ping_ms": player.ping_ms or 0.0} | {LATENCY + region: ms for region, ms in player.latencies.items()}
        for field, latency_ms in pings.items():
            if not 0 <= latency_ms <= FACT_MAX:
                raise TicketError(
                    f"{where}: {field} of {player.id!r} is {latency_ms}: use 0 to {FACT_MAX:g} milliseconds"
                )
    own = next((name for name in avoided(ticket) if name in names), None)
    if own is not None:
        raise TicketError(f"{where} avoids {own!r}, who is in the same party: name players of other tickets")


def avoided(ticket: TicketInput) -> list[str]:
    """The players whom a ticket, or one of its players, avoids."""
    return [*ticket.avoid, *(name for player in ticket.players for name in player.avoid)]


def brings(player: PlayerInput, name: str) -> bool:
    """Does a player bring this fact or trait?"""
    group, _, key = name.partition(".")
    if group in ("ratings", "profile", "latencies") and key:
        return getattr(player, group).get(key) is not None
    return name == "rating" or bool(getattr(player, name, None) not in (None, ()))


def _read_csv(text: str, name: str) -> list[TicketInput]:
    reader = csv.DictReader(io.StringIO(text))
    header = [column.strip() for column in reader.fieldnames or []]
    if "id" not in header:
        raise TicketError(f"{name}: the column `id` is missing; the header has {', '.join(header) or 'nothing'}")
    for column in header:
        if column not in _CSV_COLUMNS and not column.startswith(_CSV_GROUPS):
            known = ", ".join((*_CSV_COLUMNS, *(f"{group}*" for group in _CSV_GROUPS)))
            raise TicketError(f"{name}: unknown column {column!r}; known: {known}")
        if header.count(column) > 1:
            raise TicketError(f"{name}: the column {column!r} is there twice")
    reader.fieldnames = header
    parties: dict[str, dict[str, Any]] = {}
    single: set[str] = set()
    for row in reader:
        where = f"{name}, line {reader.line_num}"
        if None in row or None in row.values():
            raise TicketError(f"{where}: {len(header)} columns are needed, as in the header")
        values = {column: value.strip() for column, value in row.items() if value.strip()}
        if "id" not in values:
            raise TicketError(f"{where}: the id is empty")
        key = values.get("ticket", values["id"])
        if key in parties and ("ticket" not in values or key in single):
            raise TicketError(f"{where}: the ticket {key!r} is there twice")
        if "ticket" not in values:
            single.add(key)
        party = parties.setdefault(key, {"id": key, "players": []})
        for column, kind in (("waited_s", float), ("misses", int)):
            if column in values:
                number = _number(values[column], kind, f"{where}: {column}")
                if party.setdefault(column, number) != number:
                    raise TicketError(f"{where}: {column} of the ticket {key!r} is {party[column]} in a line before")
        party["players"].append(_csv_player(values, where))
    if not parties:
        raise TicketError(f"{name} has a header but no tickets")
    return parse(parties.values(), name)


def _csv_player(values: dict[str, str], where: str) -> dict[str, Any]:
    player: dict[str, Any] = {"id": values["id"]}
    for column, value in values.items():
        group, _, key = column.partition(".")
        if column in ("rating", "ping_ms"):
            player[column] = _number(value, float, f"{where}: {column}")
        elif group in ("ratings", "latencies"):
            player.setdefault(group, {})[key] = _number(value, float, f"{where}: {column}")
        elif group == "profile":
            try:
                player.setdefault("profile", {})[key] = float(value)
            except ValueError:
                player.setdefault("profile", {})[key] = value
        elif column in (*_LISTS, "avoid"):
            player[column] = [part for part in value.split("|") if part]
        elif column == "region":
            player[column] = value
    return player


def _number(value: str, kind: type[float] | type[int], where: str) -> float | int:
    try:
        return kind(value)
    except ValueError:
        wanted = "a whole number" if kind is int else "a number"
        raise TicketError(f"{where} is {value!r}, not {wanted}") from None


def to_snapshot(tickets: Sequence[TicketInput], form: Format, active_population: int | None = None) -> Snapshot:
    """The snapshot of tickets, rows as given."""
    numbers = {name: number for number, name in enumerate(sorted(ticket.id for ticket in tickets))}
    players = [player for ticket in tickets for player in ticket.players]
    names: dict[str, int] = {}
    facts = {
        "rating": [RATING_DEFAULT if p.rating is None else p.rating for p in players],
        "ping_ms": [math.nan if p.ping_ms is None else p.ping_ms for p in players],
    }
    for side in sorted({side for p in players for side in p.ratings}):
        facts[f"ratings.{side}"] = [p.ratings.get(side, math.nan) for p in players]
    regions = sorted({region for p in players for region in p.latencies})
    if len(regions) > REGIONS_MAX:
        raise TicketError(f"players tell latencies to {len(regions)} regions: use at most {REGIONS_MAX}")
    for region in regions:
        facts[LATENCY + region] = [p.latencies.get(region, math.nan) for p in players]
    traits: dict[str, tuple[Any, ...]] = {}
    if any(p.region is not None for p in players):
        traits["region"] = tuple(p.region for p in players)
    for key in _LISTS:
        if any(getattr(p, key) for p in players):
            traits[key] = tuple(getattr(p, key) for p in players)
    for feature in sorted({key for p in players for key in p.profile}):
        values = [p.profile.get(feature) for p in players]
        if any(isinstance(value, str) for value in values):
            traits[f"profile.{feature}"] = tuple(None if value is None else str(value) for value in values)
        else:
            facts[f"profile.{feature}"] = [math.nan if v is None or isinstance(v, str) else float(v) for v in values]
    size = [len(ticket.players) for ticket in tickets]
    return Snapshot(
        format=form,
        now_ms=0,
        ticket=np.array([numbers[ticket.id] for ticket in tickets], np.int64),
        waited_ms=np.array([round(ticket.waited_s * 1000) for ticket in tickets], np.int64),
        misses=np.array([ticket.misses for ticket in tickets], np.int32),
        returned=np.zeros(len(tickets), bool),
        group=np.zeros(len(tickets), np.int32),
        player_start=np.concatenate(([0], np.cumsum(size))).astype(np.int64),
        player=np.array([names.setdefault(p.id, len(names)) for p in players], np.int64),
        facts={name: np.array(values, np.float64) for name, values in facts.items()},
        traits=traits,
        active_population=active_population,
        forbidden=_forbidden(tickets),
    )


def _forbidden(tickets: Sequence[TicketInput]) -> Array:
    """int64[k, 2]: the pairs of rows of which one avoids a player of the other, each once."""
    row_of = {player.id: row for row, ticket in enumerate(tickets) for player in ticket.players}
    pairs = {
        (min(row, row_of[name]), max(row, row_of[name]))
        for row, ticket in enumerate(tickets)
        for name in avoided(ticket)
        if name in row_of
    }
    return np.array(sorted(pairs), np.int64).reshape(-1, 2) if pairs else NO_PAIRS
