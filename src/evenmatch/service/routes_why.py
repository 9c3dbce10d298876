"""The routes of reasons and forecasts: why a ticket waits, and how long one will probably wait."""

import asyncio
import math
from typing import Annotated, Any, Final

import msgspec
from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter

from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.ticket import FACT_MAX

from . import wire
from .documented import QueueName, TicketId, granted, problems, response
from .forecasts import Asked, CoverageView, ForecastView, Gathered, view_of
from .handlers import Answer, problem, turned_away
from .mailbox import Unavailable
from .runner import Runner
from .views import Views
from .why import Why, WhyAnswer
from .wire import WireReasons


class ForecastAnswer(msgspec.Struct, frozen=True):
    """How long a ticket will probably wait."""

    forecast: ForecastView


REGION_MAX: Final = 64
_encode = msgspec.json.Encoder().encode
_WHY: Final[dict[str, Any]] = {
    "why": {
        "ticket": "t-000000000001",
        "queue": "skill",
        "status": "waiting",
        "words": "It has waited for 42 s. The last wave left it: no ticket is within range that would have this one in "
        "range too. Of 5 others that wait, 0 could meet it now. What would help: a range of 4 buckets: in 38 s.",
        "reason": "nobody_in_range",
        "reason_words": "no ticket is within range that would have this one in range too",
        "as_of_ms": 1790000042000,
        "waiting": 5,
        "acceptable": 0,
        "rules": [
            {
                "name": "kept_apart",
                "words": "their players block or avoid each other, or met too lately",
                "excluded": 1,
            },
            {"name": "range", "words": "neither has the other in range; its own is 2 buckets now", "excluded": 4},
            {
                "name": "reciprocity",
                "words": "it is in range, but the other's range reaches back too little",
                "excluded": 1,
            },
        ],
        "nearest": {"distance": 4.0, "unit": "buckets", "acceptable": False, "reach_s": 38.0},
        "soonest": {"distance": 4.0, "unit": "buckets", "acceptable": False, "reach_s": 38.0},
        "unlock": "a range of 4 buckets: in 38 s",
    }
}
_FORECAST: Final[dict[str, Any]] = {
    "forecast": {
        "queue": "duel",
        "p50_s": 6.4,
        "p90_s": 21.0,
        "basis": {
            "matched": 200,
            "unmatched": 17,
            "same_party": True,
            "same_region": False,
            "rating_within": 64.0,
            "since_ms": 1789990000000,
        },
        "coverage": {"p50": 0.51, "p90": 0.89, "settled": 1312, "left": 41},
    }
}
Rating = Annotated[
    float | None, QueryParameter(name="rating", required=False, description="The party's mean rating; left out, any")
]
Party = Annotated[
    int | None, QueryParameter(name="party", required=False, description="Players in the party; left out, any")
]
Region = Annotated[
    str | None, QueryParameter(name="region", required=False, description="Where they are; left out, anywhere")
]


def why_routes(runner: Runner) -> list[HTTPRouteHandler]:
    """The routes over a runner."""
    why = Why(runner)

    @get(
        "/v1/tickets/{ticket:str}/why",
        tags=["tickets"],
        summary="Why a ticket waits",
        responses=granted(200, WhyAnswer, "Reasons, rules, who is near and what would help", _WHY)
        | problems(Reasons.UNKNOWN_TICKET),
    )
    async def get_why(ticket: TicketId) -> Response[Any]:
        """How many of the others each rule keeps away, the nearest of all whom it may meet, when time alone will bring
        one, and what would make a match possible. Others are counted, never named."""
        return response(await why.answer(ticket))

    @get(
        "/v1/queues/{queue:str}/forecast",
        tags=["queues"],
        summary="How long a ticket will probably wait",
        responses=granted(200, ForecastAnswer, "An estimate, what it rests on, and how good it has been", _FORECAST)
        | problems(
            WireReasons.MALFORMED,
            Reasons.UNKNOWN_QUEUE,
            WireReasons.SPLIT,
            Reasons.BAD_RATING,
            Reasons.PARTY_TOO_LARGE,
            Reasons.EMPTY_PARTY,
            Reasons.PARTY_UNSUPPORTED,
            Reasons.BAD_FACT,
        ),
    )
    async def get_forecast(
        queue: QueueName, rating: Rating = None, party: Party = None, region: Region = None
    ) -> Response[Any]:
        """From what tickets like it waited lately, those who still wait or left included. Half of them were matched
        within `p50_s`, nine in ten within `p90_s`; null is unknown. It promises nothing: `coverage` says how often such
        forecasts came true."""
        return response(await forecast(runner, queue, Asked(rating, party, region)))

    return [get_why, get_forecast]


async def forecast(runner: Runner, queue: str, asked: Asked) -> Answer:
    """GET /v1/queues/{queue}/forecast"""
    busy = turned_away(runner)
    if busy is not None:
        return busy

    def look(views: Views, now_ms: int) -> tuple[Gathered, CoverageView] | Refusal:
        refusal = refused(views, queue, asked, now_ms)
        if refusal is not None:
            return refusal
        known = runner.forecasts.gather(views.engine.state.queues[queue], now_ms)
        return known, runner.forecasts.record(queue).view()

    found: tuple[Gathered, CoverageView] | Refusal | Unavailable = await runner.ask(look)
    if isinstance(found, Refusal | Unavailable):
        return problem(wire.problem_of(found))
    view = await asyncio.to_thread(view_of, queue, found[0], asked, found[1])
    return Answer(200, _encode(ForecastAnswer(view)))


def refused(views: Views, queue: str, asked: Asked, now_ms: int) -> Refusal | None:
    """Why nobody can be forecast like this: what a join would be told."""
    known = views.queue(queue, now_ms)
    if isinstance(known, Refusal):
        return known
    if asked.rating is not None and not (math.isfinite(asked.rating) and abs(asked.rating) <= FACT_MAX):
        return Refusal(Reasons.BAD_RATING, f"rating is {asked.rating}: use a number from {-FACT_MAX:g} to {FACT_MAX:g}")
    if asked.region is not None and not 0 < len(asked.region) <= REGION_MAX:
        return Refusal(Reasons.BAD_FACT, f"region has {len(asked.region)} characters: use 1 to {REGION_MAX}")
    if asked.party is None:
        return None
    if asked.party < 1:
        return Refusal(Reasons.EMPTY_PARTY, f"a party of {asked.party} players: use 1 to {known.spec.format.size}")
    if asked.party > known.spec.format.size:
        most = known.spec.format.size
        return Refusal(Reasons.PARTY_TOO_LARGE, f"a party of {asked.party} players: {queue} plays teams of {most}")
    sizes = known.spec.door.party_sizes
    if sizes is not None and asked.party not in sizes:
        usable = ", ".join(map(str, sizes))
        return Refusal(
            Reasons.PARTY_UNSUPPORTED, f"a party of {asked.party} players: {queue} seats parties of {usable}"
        )
    return None
