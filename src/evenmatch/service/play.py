"""What players and game servers ask for once a ticket waits: changing it, blocking others, starting the match."""

import math
from typing import Any

import msgspec
import structlog

from evenmatch.core.records import ticket_record
from evenmatch.domain import commands as cmd
from evenmatch.domain.ids import MATCH_PREFIX, TICKET_PREFIX, number_of, ticket_id
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.ticket import Cause, Member, TicketRequest

from . import wire
from .access import Caller
from .bodies import BlocksBody, Player, PlayerChange, TicketBody, TicketChange, WhyBody, facts_and_traits, player_of
from .discretion import seen_by
from .handlers import Answer, TicketAnswer, command, problem, turned_away, unknown
from .mailbox import JoinEntry, NamedOrder, Unavailable
from .rating_door import at_the_door
from .runner import Runner
from .views import Views

log = structlog.get_logger("evenmatch.http")

BLOCKS_MOST = 1_000
_encode = msgspec.json.Encoder().encode


class CooldownView(msgspec.Struct, frozen=True):
    """How long a player has to stay away from a queue, and why."""

    queue: str
    until_ms: int
    """When the player may join again; in the past, only the offences still count."""
    offences: int
    """Failed ready checks, and matches left, that are not forgiven yet."""
    cause: str
    """What the last one was: declined, lapsed, lost or deserted."""


class PlayerView(msgspec.Struct, frozen=True):
    """A player, as far as the matchmaker knows one."""

    id: str
    tickets: list[str]
    """Live ones, over all queues."""
    cooldowns: list[CooldownView]
    blocks: list[str]
    """Players whom this one never meets."""


class PlayerAnswer(msgspec.Struct, frozen=True):
    """One player."""

    player: PlayerView


async def update_ticket(
    runner: Runner, ticket: str, body: TicketChange | wire.Problem, caller: Caller | None
) -> Answer:
    """PATCH /v1/tickets/{id}"""
    number = number_of(TICKET_PREFIX, ticket)
    if number is None:
        return unknown(Reasons.UNKNOWN_TICKET, "ticket", ticket)
    if isinstance(body, wire.Problem):
        return problem(body)
    if caller is not None and caller.player is not None:
        for change in body.players:
            if change.id != caller.player:
                return problem(wire.WireReasons.NOT_YOURS.problem(f"{caller.player} cannot change {change.id[:128]!r}"))
            if change.rating is not msgspec.UNSET or change.ratings is not msgspec.UNSET:
                return problem(wire.WireReasons.RATING_NOT_YOURS.problem("leave rating and ratings out"))
    for change in body.players:
        bad = wire.bad_facts(change)
        if bad is not None:
            return problem(wire.problem_of(bad))
    wrong = None if body.attributes is None else wire.bad_attributes(body.attributes)
    if wrong is not None:
        return problem(wire.WireReasons.BAD_ATTRIBUTES.problem(wrong))
    refused = await command(runner, lambda _: _changed(runner.views, number, body), attributes=body.attributes)
    if refused is not None:
        return refused
    found = await runner.ask(lambda views, now_ms: views.ticket(number, now_ms))
    if isinstance(found, Refusal | Unavailable):
        return problem(wire.problem_of(found))
    return Answer(200, _encode(TicketAnswer(seen_by(caller, found))))


def _changed(views: Views, ticket: int, body: TicketChange) -> cmd.UpdateTicket | Refusal:
    """The ticket's players as they are to be; made in the engine thread."""
    record = ticket_record(views.engine.state, ticket, views.engine.state.now_ms)
    if record is None:
        return cmd.UpdateTicket(ticket, (), {})  # the engine says what became of it
    names = views.directory.names([player["player"] for player in record["players"]])
    changes = {change.id: change for change in body.players}
    for name in changes:
        if name not in names.values():
            return Refusal(Reasons.NOT_IN_TICKET, f"{name[:128]!r} is not in {ticket_id(ticket)}")
    players = [_player(names[player["player"]], player, changes) for player in record["players"]]
    members = tuple(_member(known["player"], player) for known, player in zip(record["players"], players, strict=True))
    attributes = views.journal.attributes_of(ticket) if body.attributes is None else body.attributes
    # The ratings that a queue keeps are looked up again, as for a join.
    spec = views.engine.state.queues[record["queue"]].spec
    asked = JoinEntry(TicketBody(players), 0, 0)
    (request,) = at_the_door(views.book, spec, [asked], (TicketRequest(members),))
    return cmd.UpdateTicket(ticket, request.members, attributes)


def _player(name: str, record: dict[str, Any], changes: dict[str, PlayerChange]) -> Player:
    player = player_of(name, record)
    change = changes.get(name)
    if change is not None:
        given = {field: getattr(change, field) for field in change.__struct_fields__ if field != "id"}
        player = msgspec.structs.replace(player, **{f: v for f, v in given.items() if v is not msgspec.UNSET})
    return player


def _member(number: int, player: Player) -> Member:
    ping_ms = math.nan if player.ping_ms is None else player.ping_ms
    return Member(number, player.rating, ping_ms, *facts_and_traits(player))


async def confirm_start(runner: Runner, match: str, said: WhyBody | wire.Problem | None = None) -> Answer:
    """POST /v1/matches/{id}/started, and /failed, which says why"""
    if isinstance(said, wire.Problem):
        return problem(said)
    number = number_of(MATCH_PREFIX, match)
    if number is None:
        return unknown(Reasons.UNKNOWN_MATCH, "match", match)
    kind = cmd.ConfirmStart if said is None else cmd.FailStart
    refused = await command(runner, lambda _: kind(number))
    if refused is None and said is not None:
        log.warning("a match could not start", match=match, why=said.why[:1_000])
    return refused or Answer(204)


async def get_player(runner: Runner, player: str) -> Answer:
    """GET /v1/players/{id}"""
    busy = turned_away(runner)
    if busy is not None:
        return busy
    found = await runner.ask(lambda views, _: player_view(views, player))
    if isinstance(found, Refusal | Unavailable):
        return problem(wire.problem_of(found))
    return Answer(200, _encode(PlayerAnswer(found)))


def player_view(views: Views, name: str) -> PlayerView | Refusal:
    """What is known of a player; asked in the engine thread."""
    number = views.directory.known([name]).get(name)
    if number is None:
        return Refusal(Reasons.UNKNOWN_PLAYER, f"nobody called {name[:128]!r} was ever seen here")
    state = views.engine.state
    blocked = list(state.blocks.get(number, ()))
    names = views.directory.names(blocked)
    return PlayerView(
        id=name,
        tickets=[ticket_id(ticket) for ticket in state.live_tickets(number)],
        cooldowns=[
            CooldownView(queue.spec.name, book.until_ms, book.offences, Cause(book.cause).word)
            for queue in state.by_index
            if (book := queue.books.get(number)) is not None
        ],
        blocks=sorted(names[other] for other in blocked),
    )


async def set_blocks(runner: Runner, player: str, body: BlocksBody | wire.Problem) -> Answer:
    """PUT /v1/players/{id}/blocks"""
    if isinstance(body, wire.Problem):
        return problem(body)
    if len(body.players) > BLOCKS_MOST:
        what = f"{len(body.players)} players: block at most {BLOCKS_MOST}"
        return problem(wire.WireReasons.MALFORMED.problem(what))
    for name in (player, *body.players):
        wrong = wire.bad_player_id(name)
        if wrong is not None:
            return problem(wire.WireReasons.BAD_PLAYER_ID.problem(wrong))
    busy = turned_away(runner)
    if busy is not None:
        return busy
    reply = runner.reply()
    blocked = tuple(body.players)
    runner.put(
        NamedOrder(
            lambda numbers: cmd.SetBlocks(numbers[player], tuple(numbers[name] for name in blocked)),
            (player, *blocked),
            reply,
        )
    )
    answer: Refusal | Unavailable | None = await reply
    if answer is not None:
        return problem(wire.problem_of(answer))
    return await get_player(runner, player)
