"""Who may enter a queue: the rules at the door, and the columns of those who pass.

Requests are judged in order, each as if those before it had joined already. A request whose idempotency key is known
answers with the ticket of the first time; nothing is checked again, for that ticket may long be gone.
"""

import math

import msgspec
import numpy as np

from evenmatch.domain.arrays import numbers
from evenmatch.domain.events import TicketsJoined
from evenmatch.domain.ids import ticket_id
from evenmatch.domain.queue import Mode
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.ticket import FACT_MAX, FACTS, SIGMA, Cause, Member, TicketRequest
from evenmatch.domain.venue import LATENCY
from evenmatch.domain.words import not_known

from .decision import Decision, Outcome
from .state import QueueState, State

_NO_GROUP = "{}"


def join(state: State, queue_name: str, requests: tuple[TicketRequest, ...], now_ms: int) -> Decision | Refusal:
    """Judge requests to join one queue."""
    queue = state.queues.get(queue_name)
    if queue is None:
        return unknown_queue(state, queue_name)
    outcomes: list[Outcome] = []
    accepted: list[TicketRequest] = []
    groups: dict[str, int] = {}
    codes: list[int] = []
    joining: set[int] = set()
    new_keys: dict[int, tuple[int, int]] = {}
    next_ticket = state.next_ticket
    for request in requests:
        if request.key:
            known = state.keys.get(request.key) or new_keys.get(request.key)
            if known is not None:
                outcomes.append(known[0] if known[1] == request.fingerprint else _KEY_REUSED)
                continue
        refusal = _refused(state, queue, request, joining, now_ms)
        if refusal is not None:
            outcomes.append(refusal)
            continue
        group = group_of(queue, request)
        if isinstance(group, Refusal):
            outcomes.append(group)
            continue
        if request.key:
            new_keys[request.key] = (next_ticket, request.fingerprint)
        codes.append(groups.setdefault(group, len(groups)))
        joining.update(member.player for member in request.members)
        accepted.append(request)
        outcomes.append(next_ticket)
        next_ticket += 1
    if not accepted:
        return Decision(outcomes=tuple(outcomes))
    return Decision((_event(state, queue, accepted, groups, codes, now_ms),), tuple(outcomes))


_KEY_REUSED = Refusal(
    Reasons.KEY_REUSED, "this Idempotency-Key came with another body before: repeat that body, or use a new key"
)


def unknown_queue(state: State, name: str) -> Refusal:
    """The refusal for a queue that does not exist."""
    known = ", ".join(sorted(state.queues)) or "none"
    return Refusal(Reasons.UNKNOWN_QUEUE, f"no queue is called {name!r}; open queues: {known}")


def unknown_ticket(state: State, ticket: int) -> Refusal:
    """The refusal for a ticket that is not in the state: never there, or finished a while ago."""
    if state.had_ticket(ticket):
        return Refusal(Reasons.TICKET_GONE, f"{ticket_id(ticket)} left the queue a while ago")
    return Refusal(Reasons.UNKNOWN_TICKET, f"no ticket is called {ticket_id(ticket)}")


def _refused(state: State, queue: QueueState, request: TicketRequest, joining: set[int], now_ms: int) -> Refusal | None:
    members = request.members
    if queue.mode is Mode.DRAINING:
        return Refusal(Reasons.QUEUE_DRAINING, f"{queue.spec.name} is running empty: join another queue, or later")
    if not members:
        return Refusal(Reasons.EMPTY_PARTY, "players is empty: name at least one")
    sizes = queue.spec.door.party_sizes
    if sizes is not None and len(members) not in sizes:
        return Refusal(
            Reasons.PARTY_UNSUPPORTED,
            f"{queue.spec.matcher.name} seats parties of {' or '.join(map(str, sizes))} in {queue.spec.name}, "
            f"not of {len(members)}",
        )
    largest = queue.spec.format.size
    if len(members) > largest:
        return Refusal(
            Reasons.PARTY_TOO_LARGE,
            f"{len(members)} players, but a team of {queue.spec.name} holds {largest} ({queue.spec.format})",
        )
    if queue.spec.party.full_team and len(members) != largest:
        return Refusal(
            Reasons.PARTY_UNSUPPORTED,
            f"{queue.spec.name} takes full teams of {largest} only, not a party of {len(members)}",
        )
    if len(members) > 1 and len({member.player for member in members}) < len(members):
        return Refusal(Reasons.PLAYER_TWICE, "the same player stands in the party more than once")
    for member in members:
        wrong = member_refused(queue, member)
        if wrong is not None:
            return wrong
        if queue.books and (refusal := _cooling_down(queue, member.player, now_ms)) is not None:
            return refusal
        if member.player in joining or (member.player in state.live and _waits_in(state, queue, member.player)):
            return Refusal(
                Reasons.ALREADY_WAITING,
                f"a player of this party already has a live ticket in {queue.spec.name}: one ticket a player and queue",
            )
    return None


def _cooling_down(queue: QueueState, player: int, now_ms: int) -> Refusal | None:
    book = queue.books.get(player)
    if book is None or book.until_ms <= now_ms:
        return None
    seconds = -(-(book.until_ms - now_ms) // 1000)
    return Refusal(
        Reasons.COOLING_DOWN,
        f"a player of this party may join {queue.spec.name} again in {seconds} s: "
        f"{book.offences} offence{'s' * (book.offences > 1)}, the last one {Cause(book.cause).word}",
        seconds,
    )


def member_refused(queue: QueueState, member: Member) -> Refusal | None:
    """What the queue, or its matcher, cannot use of a player, or misses."""
    if not -FACT_MAX <= member.rating <= FACT_MAX:  # true for NaN too
        return Refusal(
            Reasons.BAD_RATING, f"{member.rating} is not a rating: use a number from {-FACT_MAX:g} to {FACT_MAX:g}"
        )
    if not (0 <= member.ping_ms <= FACT_MAX or math.isnan(member.ping_ms)):
        return Refusal(Reasons.BAD_PING, f"{member.ping_ms} is not a ping: use 0 to {FACT_MAX:g} milliseconds")
    for name, value in member.facts.items():
        if name in queue.spec.door.keeps and not -FACT_MAX <= value <= FACT_MAX:  # true for NaN too
            return Refusal(Reasons.BAD_FACT, f"{name} is {value}: use a number from {-FACT_MAX:g} to {FACT_MAX:g}")
        if name.startswith(LATENCY) and name in queue.spec.door.keeps and value < 0:
            return Refusal(Reasons.BAD_PING, f"{name} is {value:g}: use 0 to {FACT_MAX:g} milliseconds")
        if name == SIGMA and name in queue.spec.door.keeps and value < 0:
            return Refusal(Reasons.BAD_FACT, f"{name} is {value:g}: use 0 (the rating is sure) or more")
        if name in queue.spec.door.words:
            return Refusal(Reasons.BAD_FACT, f"{name} is the number {value:g}: give it as a string")
    for name, word in member.traits.items():
        if name in queue.spec.door.keeps and name not in queue.spec.door.words:
            return Refusal(Reasons.BAD_FACT, f"{name} is {word!r}: give it as a number")
    for name, known in (queue.spec.door.choices or {}).items():
        strange = first_strange(member.traits.get(name), known)
        if strange is not None:
            return Refusal(Reasons.BAD_FACT, f"{name}: {not_known(strange, known)}")
    if queue.spec.door.pings_only and any(name.startswith(LATENCY) for name in member.facts):
        return Refusal(
            Reasons.BAD_FACT,
            f"latencies do not count in {queue.spec.name}, which caps latency but names no regions: bring ping_ms, or "
            "let the queue name its regions (venue.regions)",
        )
    for group in queue.spec.door.requires:
        if not any(brings(member, name) for name in group):
            return Refusal(
                Reasons.MISSING_FACT, f"{queue.spec.matcher.name} needs {' or '.join(group)} of every player"
            )
    return None


def first_strange(words: object, known: tuple[str, ...]) -> str | None:
    """The first of the words that a player brings that is none of those known; None = there is none."""
    given = words if isinstance(words, list | tuple) else () if words is None else (words,)
    return next((str(word) for word in given if word not in known), None)


def brings(member: Member, name: str) -> bool:
    """Has the player told this? Everybody has a rating."""
    if name == "ping_ms":
        return not math.isnan(member.ping_ms)
    return name == "rating" or name in member.facts or member.traits.get(name) is not None


def _waits_in(state: State, queue: QueueState, player: int) -> bool:
    return any(state.tickets_at[ticket] >> 32 == queue.index for ticket in state.live_tickets(player))


def group_of(queue: QueueState, request: TicketRequest) -> str | Refusal:
    """What a ticket shares with those it may meet, as canonical JSON."""
    required = queue.spec.require_equal
    if not required:
        return _NO_GROUP
    missing = [name for name in required if name not in request.attributes]
    if missing:
        return Refusal(
            Reasons.MISSING_ATTRIBUTE,
            f"{queue.spec.name} matches only tickets with equal {', '.join(required)}: "
            f"give attributes.{missing[0]} a value",
        )
    # The names are part of it: when the rules change, a ticket of the old ones must not meet one of the new by chance.
    return msgspec.json.encode({name: _one_number(request.attributes[name]) for name in sorted(required)}).decode()


def _one_number(value: str | int | float | bool) -> str | int | float | bool:
    """1.0 as 1: clients of different languages write the same number differently."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _event(
    state: State,
    queue: QueueState,
    accepted: list[TicketRequest],
    groups: dict[str, int],
    codes: list[int],
    now_ms: int,
) -> TicketsJoined:
    members = [member for request in accepted for member in request.members]
    keeps = queue.spec.door.keeps
    keyed = any(request.key for request in accepted)
    keys = [(r.key >> 64, r.key & 2**64 - 1, r.fingerprint) for r in accepted] if keyed else []
    return TicketsJoined(
        at_ms=now_ms,
        queue=queue.spec.name,
        first_ticket=state.next_ticket,
        size=np.array([len(request.members) for request in accepted], np.int16),
        player=np.array([member.player for member in members], np.int64),
        facts={name: np.array([getattr(member, name) for member in members], np.float64) for name in FACTS}
        | {
            name: np.array([m.facts.get(name, math.nan) for m in members]) for name in keeps if _any_fact(members, name)
        },
        groups=tuple(groups),
        group=np.array(codes if len(groups) > 1 else [], np.int32),
        keys=np.array(keys, np.uint64).reshape(-1, 3),
        avoid=numbers([(n, player) for n, request in enumerate(accepted) for player in request.avoid]).reshape(-1, 2),
        will=numbers([(n, 1 if r.backfill else 2) for n, r in enumerate(accepted) if r.backfill is not None]).reshape(
            -1, 2
        ),
        traits={
            name: [member.traits.get(name) for member in members]
            for name in keeps
            if any(name in member.traits for member in members)
        },
    )


def _any_fact(members: list[Member], name: str) -> bool:
    return any(name in member.facts for member in members)
