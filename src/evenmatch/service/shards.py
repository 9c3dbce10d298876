"""A queue that is split, before the lanes that have its shards: clients name the queue, tickets are in a shard.

    POST duel/tickets ──────> `shard_of` ─> POST duel-eu/tickets                 in whichever lane has that queue
    POST duel/tickets:batch ─ a batch for each shard ─> outcomes in the order asked
    GET duel ───────────────> GET of each shard ─> numbers added up
    GET duel/forecast ──────> the shard that takes what the query says
    all else ───────────────> 409: ask one of the shards

1. The request is granted once, before it comes here; its parts are asked below the lanes' gates (`lanes_asking`).
2. A ticket that cannot be read goes to the first shard, whose answer says what is wrong with it.
3. The shard hangs on the ticket alone, so a batch that is sent again with its Idempotency-Key is split as before, and
   each part finds its key where it was. If one shard fails, its tickets alone are told so.
4. A queue that was open before it was split goes on with the tickets that it has, and takes no more.
"""

import asyncio
import math
from typing import Any, Final

import msgspec

from evenmatch.domain.queue import PartySpec
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.shards import RATING, REGION, Split, party_rating, shard_of, why_none

from . import lanes_merging as merging
from . import own, wire
from .access import caller_of
from .bodies import TicketBody
from .handlers import Answer, problem
from .lanes_asking import Asked, Whole
from .wire import WireReasons

_encode = msgspec.json.Encoder().encode
_batch: Final = msgspec.json.Decoder(dict[str, list[msgspec.Raw]])
_ADDED: Final = ("waiting", "players_waiting", "places_open")
_TOLD: Final = ("name", "waiting", "players_waiting", "oldest_wait_ms", "mode")


class _Outcomes(msgspec.Struct):
    outcomes: list[msgspec.Raw]


_outcomes: Final = msgspec.json.Decoder(_Outcomes)


def way(split: Split, method: str, path: str, is_open: bool) -> Whole | None:
    """How a request about a queue that is split is answered; None = as any other: the queue itself is open too."""
    rest = "/".join(path.rstrip("/").split("/")[4:])
    match method, rest:
        case "POST", "tickets":
            return lambda asked: _join(split, asked)
        case "POST", "tickets:batch":
            return lambda asked: _join_batch(split, asked)
        case "GET", "":
            return lambda asked: _look(split, asked)
        case "GET", "forecast":
            return lambda asked: _forecast(split, asked)
    return None if is_open else lambda asked: _hint(split, asked, f"/{rest}")


async def _join(split: Split, asked: Asked) -> Answer:
    """POST /v1/queues/{queue}/tickets"""
    ticket = own.read_ticket(asked.body, caller_of(asked.scope))
    if isinstance(ticket, wire.Problem):
        return problem(ticket)
    shard = _shard(split, ticket, _party(split, asked))
    return problem(wire.problem_of(shard)) if isinstance(shard, Refusal) else await _asked(asked, shard, "/tickets")


async def _join_batch(split: Split, asked: Asked) -> Answer:
    """POST /v1/queues/{queue}/tickets:batch"""
    first = next(iter(asked.apps.values()))
    tickets = wire.read_batch(asked.body, first.settings.batch_max)
    if isinstance(tickets, wire.Problem):
        return problem(tickets)
    party = _party(split, asked)
    places: dict[str, list[int]] = {}
    outcomes: list[Any] = [None] * len(tickets)
    for place, ticket in enumerate(tickets):
        shard = split.queues[0] if isinstance(ticket, wire.Problem) else _shard(split, ticket, party)
        if isinstance(shard, Refusal):
            outcomes[place] = {"problem": wire.problem_of(shard)}
        else:
            places.setdefault(shard, []).append(place)
    if not places:  # whatever else there is to say of it, such as a key that cannot be used
        places[split.queues[0]] = []
    raw = _batch.decode(asked.body)["tickets"]
    bodies = {shard: _encode({"tickets": [raw[place] for place in mine]}) for shard, mine in places.items()}
    told = await asyncio.gather(*(_asked(asked, shard, "/tickets:batch", bodies[shard]) for shard in places))
    if not any(merging.is_done(answer) for answer in told):
        return told[0]
    for mine, answer in zip(places.values(), told, strict=True):
        if merging.is_done(answer):
            joined: list[Any] = list(_outcomes.decode(answer.body).outcomes)
        else:
            joined = [{"problem": msgspec.Raw(answer.body)}] * len(mine)
        for place, outcome in zip(mine, joined, strict=True):
            outcomes[place] = outcome
    return Answer(200, _encode({"outcomes": outcomes}))


def _shard(split: Split, ticket: TicketBody, party: PartySpec) -> str | Refusal:
    """The queue that takes a ticket."""
    if not ticket.players:
        return split.queues[0]  # which says that somebody must want to play
    leader = next((player for player in ticket.players if player.id == ticket.leader), ticket.players[0])
    value: str | float | None
    if split.by == RATING:
        value = party_rating([player.rating for player in ticket.players], party)
    elif split.by == REGION:
        value = leader.region or None
    else:
        value = ticket.attributes.get(split.attribute)
    return shard_of(split, value, leader.id) or Refusal(Reasons.NO_SHARD, why_none(split, value))


def _party(split: Split, asked: Asked) -> PartySpec:
    """What parties count as: the shards have the same rules."""
    for shard in split.queues:
        lane = asked.lane_having(shard)
        if lane is not None:
            return asked.apps[lane].runner.engine.state.queues[shard].spec.party
    return PartySpec()


async def _asked(asked: Asked, shard: str, rest: str, body: bytes | None = None) -> Answer:
    """What a shard answers."""
    lane = asked.lane_having(shard)
    if lane is None:
        said = f"no worker has opened {shard} yet; nothing was changed, try again in a moment"
        return problem(WireReasons.SHARD_NOT_OPEN.problem(said))
    return await asked.at(lane, f"/v1/queues/{shard}{rest}", body)


async def _look(split: Split, asked: Asked) -> Answer:
    """GET /v1/queues/{queue}: the numbers of all shards together, and of the queue itself if it is open too."""
    names = [name for name in (*split.queues, split.queue) if asked.lane_having(name) is not None]
    if not names:
        return await _asked(asked, split.queues[0], "")
    found = merging.bodies(dict(enumerate(await asyncio.gather(*(_asked(asked, name, "") for name in names)))))
    return found if isinstance(found, Answer) else merging.answered({"queue": together(split, found)})


def together(split: Split, found: list[merging.Body]) -> dict[str, Any]:
    """A queue out of its shards."""
    views: list[dict[str, Any]] = [body["queue"] for body in found]
    modes = {view["mode"] for view in views}
    return views[0] | {
        "name": split.queue,
        **{name: sum(view[name] for view in views) for name in _ADDED},
        **{name: max(view[name] for view in views) for name in ("oldest_wait_ms", "wave", "version")},
        "last_wave": None,
        "mode": modes.pop() if len(modes) == 1 else "mixed",
        "spec": views[0]["spec"] | {"name": split.queue},
        "shards": [{name: view[name] for name in _TOLD} for view in views],
    }


async def _forecast(split: Split, asked: Asked) -> Answer:
    """GET /v1/queues/{queue}/forecast: of the shard that takes such a ticket, where the query says enough."""
    value: str | float | None = asked.given(split.by) if split.by in (RATING, REGION) else None
    if value is not None and split.by == RATING:
        value = _number(value)
    shard = None if value is None else shard_of(split, value, "")
    return await _hint(split, asked, "/forecast") if shard is None else await _asked(asked, shard, "/forecast")


def _number(text: str | float) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


async def _hint(split: Split, _: Asked, rest: str) -> Answer:
    """Nothing that shards could answer together."""
    shards = " or ".join(f"/v1/queues/{shard}{rest}" for shard in split.queues)
    also = f", or say {split.by}=" if rest == "/forecast" and split.by in (RATING, REGION) else ""
    return problem(WireReasons.SPLIT.problem(f"{split.queue} is split by {split.by}: ask {shards}{also}"))
