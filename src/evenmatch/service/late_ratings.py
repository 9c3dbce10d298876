"""Ratings of a match that was filled while it ran.

Everybody is rated by the team they began in:

1. Those who began the match are rated as if nobody had come or gone: the odds that are scored were said of them. Who
   left counts as a leaver, however the match ended.
2. Late-comers are rated with the teams as they were in the end, where nobody stands who was replaced; as the queue's
   `backfill.rated` says: in full, only upwards ("wins"), or not at all. Who came late and left is a leaver like others.
"""

from collections.abc import Sequence

import msgspec

from evenmatch.domain.rating import Rating
from evenmatch.storage.ledger import Result

from .rating_rules import Rules


def began(result: Result) -> list[int]:
    """The places of those who began the match."""
    return [place for place, player in enumerate(result.player) if player not in result.late]


def began_with(result: Result) -> Result:
    """The result of those who began the match."""
    return _only(result, began(result))


def _only(result: Result, places: Sequence[int]) -> Result:
    return msgspec.structs.replace(
        result,
        player=[result.player[place] for place in places],
        team=[result.team[place] for place in places],
        before=[result.before[place] for place in places] if result.before else [],
    )


def _in_the_end(result: Result) -> list[int]:
    """The places of those who were in the match in the end, and of all late-comers; of a team that was left by all,
    those who began it."""
    stayed = [p for p, player in enumerate(result.player) if player in result.late or player not in result.replaced]
    teams = {result.team[place] for place in stayed}
    return [p for p in range(len(result.player)) if p in stayed or result.team[p] not in teams]


def rated_after(rules: Rules, result: Result, before: list[Rating]) -> list[Rating]:
    """The rating of each player after a match."""
    if not result.late:
        return _after(rules, result, before)
    result = msgspec.structs.replace(result, before=before)
    after = list(before)
    first = began(result)
    for place, rating in zip(first, _after(rules, _only(result, first), [before[p] for p in first]), strict=True):
        after[place] = rating
    if result.late_rated == "none":
        return after
    last = _in_the_end(result)
    for place, rating in zip(last, _after(rules, _only(result, last), [before[p] for p in last]), strict=True):
        player = result.player[place]
        spared = result.late_rated == "wins" and player not in result.leavers and rating.mu < before[place].mu
        if player in result.late and not spared:
            after[place] = rating
    return after


def _after(rules: Rules, result: Result, before: list[Rating]) -> list[Rating]:
    left = [player in result.leavers for player in result.player]
    return rules.after(before, result.team, result.rank, left, result.at_ms)
