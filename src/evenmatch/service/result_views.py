"""Results and ratings as they are shown."""

import msgspec

from evenmatch.core.results import no_match
from evenmatch.domain.ids import match_id
from evenmatch.domain.rating import Rating, Season, side_ladder
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.numerics.predictions import BINS
from evenmatch.storage.ledger import Result

from .rating_rules import Rules, rated_queue, rules_of
from .views import Views


class PlayerResultView(msgspec.Struct, frozen=True):
    """A player of a match that has a result."""

    id: str
    left: bool
    ladder: str | None = None
    """Where the player was rated; null where the queue keeps no ratings."""
    before: float | None = None
    after: float | None = None
    deviation: float | None = None
    """How unsure the rating is now."""
    late: bool | msgspec.UnsetType = msgspec.UNSET
    """The player joined while the match ran."""


class TeamResultView(msgspec.Struct, frozen=True):
    """A team of a match that has a result."""

    rank: int
    """1 is best; equal ranks drew."""
    players: list[PlayerResultView]
    score: float | None = None
    odds: float | None = None
    """How likely it was to win, as was said before."""


class ResultView(msgspec.Struct, frozen=True):
    """How a match ended."""

    match: str
    queue: str
    at_ms: int
    season: int
    void: bool
    """It was annulled and counts no longer."""
    corrections: int
    """How often it was corrected."""
    teams: list[TeamResultView]


class RatingView(msgspec.Struct, frozen=True):
    """A player's rating on a ladder."""

    ladder: str
    rating: float
    deviation: float
    sure: float
    """The rating that the player almost surely has: two deviations less. Leaderboards go by it."""
    games: int
    placed: bool
    """Enough results for the leaderboard."""
    last_ms: int | None


class RatingsView(msgspec.Struct, frozen=True):
    """A player's ratings."""

    player: str
    ratings: list[RatingView]


class ChangeView(msgspec.Struct, frozen=True):
    """What a result did to a rating."""

    ladder: str
    match: str
    at_ms: int
    season: int
    before: float
    after: float
    deviation: float


class HistoryView(msgspec.Struct, frozen=True):
    """What results did to a player's ratings, the newest first."""

    player: str
    history: list[ChangeView]


class LeaderView(msgspec.Struct, frozen=True):
    """A player on a leaderboard."""

    place: int
    player: str
    rating: float
    deviation: float
    sure: float
    games: int


class LeaderboardView(msgspec.Struct, frozen=True):
    """The best players of a queue, by the rating that they almost surely have."""

    queue: str
    ladder: str
    season: int
    leaders: list[LeaderView]


class SeasonView(msgspec.Struct, frozen=True):
    """A season that was started."""

    queue: str
    ladder: str
    season: int
    at_ms: int
    keep: float
    start: float
    deviation: float


class BinView(msgspec.Struct, frozen=True):
    """Predictions that were alike: what they said of the favourite, and how many favourites won."""

    low: float
    high: float
    games: int
    predicted: float
    won: float


class ScoreView(msgspec.Struct, frozen=True):
    """How good predictions were."""

    log_loss: float | None
    """In nats; lower is better."""
    accuracy: float | None
    """The share of favourites that won."""


class CalibrationView(msgspec.Struct, frozen=True):
    """How good a queue's predictions are: each match by what was known before its result."""

    queue: str
    games: int
    """Results with a winner."""
    log_loss: float | None
    accuracy: float | None
    temperature: float
    """What the model's own odds are multiplied by, on the scale of logits; learned from results."""
    reliability: list[BinView]
    baselines: dict[str, ScoreView]
    """The model without calibration, and a coin."""


def result_view(views: Views, result: Result) -> ResultView:
    """A result."""
    names = views.directory.names(result.player)
    places = result.places
    teams: list[list[PlayerResultView]] = [[] for _ in result.rank]
    for row, (player, team) in enumerate(zip(result.player, result.team, strict=True)):
        rated = bool(places)
        teams[team].append(
            PlayerResultView(
                id=names[player],
                left=player in result.leavers,
                ladder=places[row][1] if rated else None,
                before=result.before[row].mu if rated else None,
                after=result.after[row].mu if rated else None,
                deviation=result.after[row].sigma if rated else None,
                late=player in result.late if result.late else msgspec.UNSET,
            )
        )
    return ResultView(
        match=match_id(result.match),
        queue=result.queue,
        at_ms=result.at_ms,
        season=result.season,
        void=result.void,
        corrections=result.corrections,
        teams=[
            TeamResultView(
                rank=rank + 1,
                score=result.told[place].get("score"),
                odds=result.odds[place] if result.odds else None,
                players=teams[place],
            )
            for place, rank in enumerate(result.rank)
        ],
    )


def result_of(views: Views, match: int) -> ResultView | Refusal:
    """The result of a match."""
    result = views.book.result(match)
    if result is not None:
        return result_view(views, result)
    return no_match(views.engine.state, match) or Refusal(
        Reasons.UNKNOWN_RESULT, f"{match_id(match)} has no result yet: POST one when it has ended"
    )


def _number(views: Views, player: str) -> int | Refusal:
    known = views.directory.known([player])
    return known.get(player) or Refusal(Reasons.UNKNOWN_PLAYER, f"no player is called {player!r}")


def ratings_of_player(views: Views, player: str) -> RatingsView | Refusal:
    """All ratings of a player."""
    number = _number(views, player)
    if isinstance(number, Refusal):
        return number
    placement = _placements(views)
    return RatingsView(
        player,
        [_rating(ladder, rating, placement) for ladder, rating in views.book.ledger.ratings_of(number)],
    )


def _placements(views: Views) -> dict[str, int]:
    """Ladder -> results before its players are shown; the least where queues differ."""
    found: dict[str, int] = {}
    for queue in views.engine.state.queues.values():
        rules = rules_of(queue.spec)
        if rules is not None:
            found[rules.ladder] = min(rules.spec.placement, found.get(rules.ladder, rules.spec.placement))
    return found


def _rating(ladder: str, rating: Rating, placement: dict[str, int]) -> RatingView:
    needed = placement.get(ladder.partition("/")[0])
    return RatingView(
        ladder=ladder,
        rating=rating.mu,
        deviation=rating.sigma,
        sure=rating.sure,
        games=rating.games,
        placed=needed is not None and rating.games >= needed,
        last_ms=rating.last_ms or None,
    )


def history_of_player(views: Views, player: str, ladder: str | None, limit: int) -> HistoryView | Refusal:
    """What results did to a player's ratings."""
    number = _number(views, player)
    if isinstance(number, Refusal):
        return number
    rows = views.book.ledger.history(number, ladder, limit)
    return HistoryView(
        player,
        [
            ChangeView(row.ladder, match_id(row.match), row.at_ms, row.season, row.mu_before, row.mu, row.sigma)
            for row in rows
        ],
    )


def _ladder(rules: Rules, side: str | None) -> str | Refusal:
    if (side or "") in (rules.sides or ("",)):
        return side_ladder(rules.ladder, side or "")
    right = f"use side={' or side='.join(rules.sides)}" if rules.sides else "leave side out"
    return Refusal(Reasons.UNKNOWN_SIDE, f"{rules.queue} has no side {side or ''!r}: {right}")


def leaderboard(views: Views, queue: str, side: str | None, limit: int, offset: int) -> LeaderboardView | Refusal:
    """The best players of a queue."""
    rules = rated_queue(views.engine.state.queues, queue)
    if isinstance(rules, Refusal):
        return rules
    ladder = _ladder(rules, side)
    if isinstance(ladder, Refusal):
        return ladder
    rows = views.book.ledger.leaders(ladder, rules.spec.placement, limit, offset)
    names = views.directory.names([row.player for row in rows])
    return LeaderboardView(
        queue=queue,
        ladder=ladder,
        season=views.book.season(rules.ladder),
        leaders=[
            LeaderView(place, names[row.player], row.mu, row.sigma, Rating(row.mu, row.sigma, 0.0).sure, row.games)
            for place, row in enumerate(rows, offset + 1)
        ],
    )


def calibration(views: Views, queue: str) -> CalibrationView | Refusal:
    """How good a queue's predictions are."""
    rules = rated_queue(views.engine.state.queues, queue)
    if isinstance(rules, Refusal):
        return rules
    told = views.book.predicted(queue)

    def mean(total: float) -> float | None:
        return total / told.games if told.games else None

    bins = [
        BinView(place / BINS, (place + 1) / BINS, count, said / count, won / count)
        for place, (count, said, won) in enumerate(told.bins)
        if count
    ]
    return CalibrationView(
        queue=queue,
        games=told.games,
        log_loss=mean(told.log_loss),
        accuracy=mean(told.right),
        temperature=told.temperature,
        reliability=bins,
        baselines={
            "uncalibrated": ScoreView(mean(told.raw_log_loss), mean(told.right)),
            "coin": ScoreView(mean(told.coin_log_loss), mean(told.coin_right)),
        },
    )


def season_view(rules: Rules, season: Season) -> SeasonView:
    """A season that was started."""
    return SeasonView(
        rules.queue, rules.ladder, season.number, season.at_ms, season.keep, season.start, season.deviation
    )
