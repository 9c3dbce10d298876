"""The rating that a ticket waits with: ours, where the queue keeps ratings.

What a ticket brings counts for a player without one, as the start, or where the queue trusts its backend. Our doubt
about the rating goes with it, for matchers that read it; with sides it is the largest among those the player may play,
since which it will be is not known yet.
"""

from collections.abc import Sequence

import msgspec

from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.rating import Rating
from evenmatch.domain.ticket import FACT_MAX, RATING_DEFAULT, SIGMA, Member, TicketRequest
from evenmatch.storage.ledger import Place

from .bodies import Player
from .mailbox import JoinEntry
from .rating_book import RatingBook
from .rating_rules import SIDE_FACT, Rules, rules_of


def at_the_door(
    book: RatingBook, spec: QueueSpec, entries: Sequence[JoinEntry], requests: tuple[TicketRequest, ...]
) -> tuple[TicketRequest, ...]:
    """Requests with the ratings that we have."""
    rules = rules_of(spec)
    if rules is None:
        return requests
    sides = rules.sides or ("",)
    known = book.ratings(
        [rules.place(m.player, side) for request in requests for m in request.members for side in sides]
    )
    seen = _sided if rules.sides else _plain
    return tuple(
        msgspec.structs.replace(
            request,
            members=tuple(
                seen(rules, known, body, member)
                for body, member in zip(entry.body.players, request.members, strict=True)
            ),
        )
        for entry, request in zip(entries, requests, strict=True)
    )


def _plain(rules: Rules, known: dict[Place, Rating], body: Player, member: Member) -> Member:
    given = body.rating is not RATING_DEFAULT  # the very object: a 1500 that was sent is another
    ours = known.get(rules.place(member.player))
    if ours is not None and not (given and rules.spec.trust_backend):
        # What the player brings in a profile counts; a queue keeps it only if its matcher reads it.
        facts = {SIGMA: _in_bounds(ours.sigma), **member.facts}
        return msgspec.structs.replace(member, rating=_in_bounds(ours.mu), facts=facts)
    return member if given else msgspec.structs.replace(member, rating=rules.spec.start)


def _sided(rules: Rules, known: dict[Place, Rating], body: Player, member: Member) -> Member:  # noqa: ARG001 as `_plain`
    """The sides that a ticket names are those that it wants to play; without any, all that the player is rated on."""
    facts = dict(member.facts)
    named = [side for side in rules.sides if SIDE_FACT + side in facts]
    doubts: list[float] = []
    for side in named or rules.sides:
        ours = known.get(rules.place(member.player, side))
        if ours is not None and not (named and rules.spec.trust_backend):
            facts[SIDE_FACT + side] = _in_bounds(ours.mu)
            doubts.append(_in_bounds(ours.sigma))
    if doubts:
        facts = {SIGMA: max(doubts), **facts}
    return msgspec.structs.replace(member, facts=facts)


def _in_bounds(rating: float) -> float:
    """Whoever started at the edge of what is taken may have gone beyond it, and may still join."""
    return min(max(rating, -FACT_MAX), FACT_MAX)
