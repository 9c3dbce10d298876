"""Every request as a value: what is asked, whether it may be asked again, and how its answer is read.

Both clients send these; here is all they know of the API.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from evenmatch.errors import Refused

from .values import Match, Problem, Ticket

T = TypeVar("T")
Player: TypeAlias = str | Mapping[str, Any]
"""A player's id, or what the player brings: {"id": "ann", "rating": 1520}."""


class Call(msgspec.Struct, Generic[T], frozen=True):
    """One request."""

    method: str
    path: str
    read: Any
    """Makes the answer of a decoded body."""
    body: Any = None
    key: str = ""
    """The Idempotency-Key."""
    done: tuple[str, ...] = ()
    """Reasons that mean, if an earlier try was never answered: it was carried out."""


def _part(name: str) -> Any:
    return lambda content: content[name]


def _as(kind: Any, name: str) -> Any:
    return lambda content: msgspec.convert(content[name], kind)


def _nothing(_: Any) -> None:
    return None


def _path(*parts: str, **query: Any) -> str:
    """A path of the API; what varies cannot break out of its place."""
    given = {name: value for name, value in query.items() if value is not None}
    path = "/v1/" + "/".join(quote(part, safe=":") for part in parts)
    return f"{path}?{urlencode(given)}" if given else path


def _player(player: Player) -> dict[str, Any]:
    return {"id": player} if isinstance(player, str) else dict(player)


def ticket_body(
    players: Sequence[Player],
    attributes: Mapping[str, Any] | None,
    avoid: Iterable[str],
    facts: Mapping[str, Any],
    backfill: bool | None = None,
) -> dict[str, Any]:
    """The body of a join; `facts` are of the only player."""
    if facts and len(players) != 1:
        raise TypeError(f"{', '.join(facts)}: of which player? Give players as dictionaries where there are several")
    body: dict[str, Any] = {"players": [_player(player) | dict(facts) for player in players]}
    if attributes:
        body["attributes"] = dict(attributes)
    avoided = list(avoid)
    if avoided:
        body["avoid"] = avoided
    if backfill is not None:
        body["backfill"] = backfill
    return body


def join(queue: str, body: Mapping[str, Any], key: str | None) -> Call[Ticket]:
    """Join a queue."""
    return Call("POST", _path("queues", queue, "tickets"), _as(Ticket, "ticket"), dict(body), key or uuid.uuid4().hex)


def batch(queue: str, tickets: Iterable[Mapping[str, Any]], key: str | None) -> Call[list[Ticket | Refused]]:
    """Join with many tickets."""

    def read(content: Any) -> list[Ticket | Refused]:
        return [
            msgspec.convert(one["ticket"], Ticket)
            if "ticket" in one
            else refused_of(one["problem"]["status"], one["problem"])
            for one in content["outcomes"]
        ]

    body = {"tickets": [dict(ticket) for ticket in tickets]}
    return Call("POST", _path("queues", queue, "tickets:batch"), read, body, key or uuid.uuid4().hex)


def ticket(name: str) -> Call[Ticket]:
    """Look at a ticket."""
    return Call("GET", _path("tickets", name), _as(Ticket, "ticket"))


def update(name: str, players: Sequence[Mapping[str, Any]], attributes: Mapping[str, Any] | None) -> Call[Ticket]:
    """Change what a waiting ticket brings."""
    body: dict[str, Any] = {"players": [dict(player) for player in players]} if players else {}
    if attributes is not None:
        body["attributes"] = dict(attributes)
    return Call("PATCH", _path("tickets", name), _as(Ticket, "ticket"), body)


def leave(name: str, player: str | None) -> Call[None]:
    """Leave the queue."""
    return Call("DELETE", _path("tickets", name, player=player), _nothing, done=("ticket_gone",))


def heartbeat(name: str) -> Call[None]:
    """Say that a ticket's client is there."""
    return Call("POST", _path("tickets", name, "heartbeat"), _nothing)


def why(name: str) -> Call[dict[str, Any]]:
    """Ask why a ticket waits."""
    return Call("GET", _path("tickets", name, "why"), lambda content: content)


def accept(proposal: str, player: str) -> Call[None]:
    """Accept a proposal."""
    path = _path("proposals", proposal, "accept")
    return Call("POST", path, _nothing, {"player": player}, done=("already_accepted",))


def decline(proposal: str, player: str) -> Call[None]:
    """Decline a proposal."""
    path = _path("proposals", proposal, "decline")
    return Call("POST", path, _nothing, {"player": player}, done=("proposal_over",))


def match(name: str) -> Call[Match]:
    """Look at a match."""
    return Call("GET", _path("matches", name), _as(Match, "match"))


def started(name: str) -> Call[None]:
    """Confirm that a match has started."""
    return Call("POST", _path("matches", name, "started"), _nothing)


def failed(name: str, reason: str) -> Call[None]:
    """Say that a match could not start."""
    return Call("POST", _path("matches", name, "failed"), _nothing, {"why": reason} if reason else None)


def end(name: str) -> Call[None]:
    """Say that a running match is over."""
    return Call("POST", _path("matches", name, "end"), _nothing, done=("match_over",))


def backfill(name: str, places: Sequence[Mapping[str, Any]], key: str | None) -> Call[dict[str, Any]]:
    """Ask for players for places of a running match."""
    body = {"places": [dict(place) for place in places]}
    return Call("POST", _path("matches", name, "backfill"), _part("backfill"), body, key or uuid.uuid4().hex)


def backfill_of(name: str) -> Call[dict[str, Any]]:
    """Look at what a match asks for."""
    return Call("GET", _path("matches", name, "backfill"), _part("backfill"))


def withdraw_backfill(name: str) -> Call[None]:
    """Ask for nobody any more."""
    return Call("DELETE", _path("matches", name, "backfill"), _nothing)


def result(
    name: str, ranks: Sequence[int] | None, scores: Sequence[float] | None, leavers: Iterable[str]
) -> Call[dict[str, Any]]:
    """Report how a match ended."""
    if (ranks is None) == (scores is None):
        raise TypeError("a result has ranks (1 is best) or scores (higher is better): give one of the two")
    told = [{"rank": rank} for rank in ranks] if ranks is not None else [{"score": score} for score in scores or ()]
    return Call("POST", _path("matches", name, "result"), _part("result"), {"teams": told, "leavers": list(leavers)})


def result_of(name: str) -> Call[dict[str, Any]]:
    """Read the result of a match."""
    return Call("GET", _path("matches", name, "result"), _part("result"))


def player(name: str) -> Call[dict[str, Any]]:
    """Look at a player."""
    return Call("GET", _path("players", name), _part("player"))


def blocks(name: str, players: Iterable[str]) -> Call[dict[str, Any]]:
    """Say whom a player never wants to meet."""
    return Call("PUT", _path("players", name, "blocks"), _part("player"), {"players": list(players)})


def ratings(name: str) -> Call[list[dict[str, Any]]]:
    """A player's ratings."""
    return Call("GET", _path("players", name, "ratings"), _part("ratings"))


def history(name: str, ladder: str | None, limit: int | None) -> Call[list[dict[str, Any]]]:
    """What each result did to a player."""
    return Call("GET", _path("players", name, "history", ladder=ladder, limit=limit), _part("history"))


def leaderboard(queue: str, limit: int | None, offset: int | None, side: str | None) -> Call[list[dict[str, Any]]]:
    """The best of a queue."""
    path = _path("queues", queue, "leaderboard", limit=limit, offset=offset, side=side)
    return Call("GET", path, _part("leaders"))


def forecast(queue: str, rating: float | None, party: int | None, region: str | None) -> Call[dict[str, Any]]:
    """Ask how long a ticket will probably wait."""
    path = _path("queues", queue, "forecast", rating=rating, party=party, region=region)
    return Call("GET", path, _part("forecast"))


def queues() -> Call[list[dict[str, Any]]]:
    """All queues."""
    return Call("GET", _path("queues"), _part("queues"))


def queue(name: str) -> Call[dict[str, Any]]:
    """One queue."""
    return Call("GET", _path("queues", name), _part("queue"))


def refused_of(status: int, content: Any, retry_after: str | None = None) -> Refused:
    """A "no" as an exception."""
    try:
        said = msgspec.convert(content, Problem)
    except msgspec.ValidationError:
        said = Problem()
    wait_s = (
        float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdigit() else said.retry_after_s
    )
    return Refused(said.reason or f"http_{status}", said.detail or said.title or "no reason was given", status, wait_s)
