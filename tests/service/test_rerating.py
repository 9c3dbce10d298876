"""A correction is what rating everything afresh gives, whatever is corrected, in whatever order, seasons included."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.rating import Rating, RatingSpec, Season
from evenmatch.service import results
from evenmatch.service.rating_rules import DAY_MS, Rules
from evenmatch.service.results import rerate
from evenmatch.storage.ledger import Place, Result

DAY = DAY_MS
MODELS = st.sampled_from(
    [
        RatingSpec(model="weng_lin", parameters={"drift_a_day": 20.0}),
        RatingSpec(model="elo", placement=2),
        RatingSpec(model="glicko2", deviation=300.0),
    ]
)
RANKS = st.lists(st.integers(0, 2), min_size=3, max_size=3)
GAMES = st.lists(st.tuples(st.permutations(range(9)), RANKS, st.integers(0, 30)), min_size=1, max_size=12)
"""Nine players, of whom six play as three pairs; the ranks; the days until the next."""


def made(place: int, game: tuple[list[int], list[int], int], days: int, rules: Rules | None = None) -> Result:
    players, rank, _ = game
    return Result(
        match=place + 1,
        sequence=10 * (place + 1),
        queue="trios",
        ladder="trios",
        at_ms=DAY * days + 1,
        told=[],
        rank=rank,
        leavers=[players[0]] if place % 3 == 0 else [],
        player=players[:6],
        team=[0, 0, 1, 1, 2, 2],
        sides=["a", "b", "c"] if place % 2 else [],
        before=[Rating(0.0, 0.0, 0.0)] * 6,
        rated_by={} if rules is None else rules.told,
    )


def afresh(rules: Rules, results: list[Result], seasons: list[Season]) -> tuple[list[Result], dict[Place, Rating]]:
    """Every result rated in order, from nothing."""
    known: dict[Place, Rating] = {}
    rated, waiting = [], list(seasons)
    for result in results:
        while waiting and waiting[0].sequence < result.sequence:
            season = waiting.pop(0)
            known = {place: season.softened(rating) for place, rating in known.items()}
        before = [known.get(place) or rules.newcomer(1400.0 + place[0]) for place in result.places]
        left = [player in result.leavers for player in result.player]
        after = before if result.void else rules.after(before, result.team, result.rank, left, result.at_ms)
        known |= dict(zip(result.places, after, strict=True))
        rated.append(msgspec.structs.replace(result, before=before, after=after))
    for season in waiting:
        known = {place: season.softened(rating) for place, rating in known.items()}
    return rated, known


@settings(max_examples=settings().max_examples // 2)
@given(MODELS, GAMES, st.lists(st.tuples(st.integers(0, 11), RANKS | st.none()), min_size=1, max_size=4), st.data())
def test_corrections_give_what_rating_everything_afresh_gives(
    spec: RatingSpec,
    games: list[tuple[list[int], list[int], int]],
    wrong: list[tuple[int, list[int] | None]],
    data: st.DataObject,
) -> None:
    rules = Rules(spec, "trios", ("a", "b", "c"))
    days = [sum(game[2] for game in games[:place]) for place in range(len(games))]
    games_played = [made(place, game, day, rules) for place, (game, day) in enumerate(zip(games, days, strict=True))]
    most = rules.newcomer().sigma
    places = data.draw(st.lists(st.integers(0, 10 * len(games) + 5), max_size=2, unique=True))
    seasons = [
        Season(number, place * 10 + 5, 0, 0.5, 1500.0, most / 2, most) for number, place in enumerate(sorted(places), 2)
    ]
    stored, ratings = afresh(rules, games_played, seasons)
    for place, rank in wrong:
        corrected = stored[place % len(stored)]
        corrected = (
            msgspec.structs.replace(corrected, void=True)
            if rank is None
            else msgspec.structs.replace(corrected, rank=rank, leavers=[], void=False)
        )
        later = [result for result in stored if result.sequence >= corrected.sequence]
        changed, new = rerate(corrected, iter(later), seasons)
        assert changed[0].match == corrected.match
        ratings |= new
        by_match = {result.match: result for result in changed}
        stored = [by_match.get(result.match, result) for result in stored]
        truth, known = afresh(rules, stored, seasons)
        assert stored == truth
        assert ratings == known


def test_results_that_no_changed_rating_reaches_are_left_alone() -> None:
    rules = Rules(RatingSpec(), "trios", ())
    apart = [made(0, (list(range(6)), [0, 1, 2], 0), 0), made(2, (list(range(10, 16)), [0, 1, 2], 0), 1)]
    stored, _ = afresh(rules, apart, [])
    corrected = msgspec.structs.replace(stored[0], rank=[2, 1, 0])
    changed, ratings = rerate(corrected, iter(stored), [])
    assert [result.match for result in changed] == [1]
    assert {player for player, _ in ratings} == set(range(6))


@pytest.mark.parametrize(
    "spec",
    [RatingSpec(parameters={"drift_a_day": 30.0}), RatingSpec(model="glicko2", parameters={"period_days": 1.0})],
    ids=["weng_lin", "glicko2"],
)
def test_who_was_away_is_less_sure_and_moves_farther_but_never_more_than_a_newcomer(spec: RatingSpec) -> None:
    rules = Rules(spec, "duel", ())
    moved = []
    for days in (0, 30, 10**6):
        known = Rating(1500.0, 60.0, 0.06, 20, DAY)
        won = rules.after([known, known], [0, 1], [0, 1], [False, False], DAY * (1 + days))[0]
        assert won.sigma <= rules.newcomer().sigma
        assert (won.games, won.last_ms) == (21, DAY * (1 + days))
        moved.append(won.mu - known.mu)
    assert moved[0] < moved[1] < moved[2]
    new = rules.newcomer(1500.0)
    assert moved[2] <= rules.after([new, new], [0, 1], [0, 1], [False, False], DAY)[0].mu - 1500.0 + 1e-9


def test_time_that_seems_to_run_backwards_makes_nobody_surer() -> None:
    rules = Rules(RatingSpec(parameters={"drift_a_day": 30.0}), "duel", ())
    known = Rating(1500.0, 60.0, 0.0, 20, 10 * DAY)
    early, on_time = (rules.after([known, known], [0, 1], [0, 1], [False, False], at) for at in (DAY, 10 * DAY))
    assert [one[:3] for one in early] == [one[:3] for one in on_time]


def test_a_correction_that_reaches_many_is_told_in_several_events() -> None:
    result = made(0, (list(range(6)), [0, 1, 2], 0), 0)
    everyone = {(player, f"trios/{'ab'[player % 2]}"): Rating(float(player), 1.0, 0.0) for player in range(5_000)}
    first, second = results._pieces(result, everyone)
    assert (first.more, second.more) == (True, False)
    told = {
        (player, piece.ladders[ladder]): rating
        for piece in (first, second)
        for player, ladder, (rating, *_) in zip(
            piece.player.tolist(), piece.on.tolist(), piece.rating.tolist(), strict=True
        )
    }
    assert told == {place: rating.mu for place, rating in everyone.items()}
    (nobody,) = results._pieces(result, {})
    assert (len(nobody.player), nobody.rating.shape, nobody.more) == (0, (0, 3), False)
