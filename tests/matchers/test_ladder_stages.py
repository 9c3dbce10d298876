"""The ladder's stages one by one against their plain transcription, and large waves without it."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.match import Reason
from evenmatch.domain.snapshot import Snapshot
from evenmatch.errors import MatcherError
from evenmatch.matchers import ladder as em_ladder
from evenmatch.matchers.contract import check_plan, with_format
from evenmatch.matchers.ladder import Ladder, Side, create_matches
from tests.reference import ladder as reference
from tests.reference.ladder import Player, Rules

QUIET = settings(deadline=None, max_examples=150)
RATING = st.one_of(st.integers(0, 12).map(lambda n: 1500.0 + 5 * n), st.floats(1450, 1560))


@st.composite
def matches(draw: st.DrawFn) -> list[tuple[Player, Player]]:
    """Any matches at all, most of them not what stage 5 would make."""
    count = draw(st.integers(0, 12))
    leads = [Player(at, draw(RATING), None, draw(st.integers(0, 3))) for at in range(count)]
    return [(lead, Player(count + lead.place, None, draw(RATING), draw(st.integers(0, 3)))) for lead in leads]


@QUIET
@given(pairs=matches(), window_of=st.sampled_from(["lead", "either", "both"]), passes=st.integers(0, 5))
def test_exchanges_are_the_transcriptions(pairs: list[tuple[Player, Player]], window_of: str, passes: int) -> None:
    rules = Rules(population=2 * len(pairs) or 1, window_of=window_of, passes=passes, queue_size=2 * len(pairs))
    wanted, swaps = reference.refine(pairs, True, rules)
    sides = [
        Side(
            np.array([player.rating(first) for player in players]),
            np.array([player.misses for player in players], np.float64),
            np.array([rules.max_diff(player) for player in players], np.float64),
        )
        for first, players in ((True, [one for one, _ in pairs]), (False, [other for _, other in pairs]))
    ]
    refined = em_ladder.refine(*sides, window_of=window_of, passes=passes)
    assert [pairs[at][1] for at in refined.follow.tolist()] == [other for _, other in wanted]
    assert refined.swaps == swaps


@QUIET
@given(st.lists(st.tuples(st.none() | RATING, st.none() | RATING), max_size=14), st.sampled_from([0, 5, 50]))
def test_sides_are_evened_out_as_in_the_transcription(
    ratings: list[tuple[float | None, float | None]], balance: float
) -> None:
    players = [Player(place, *pair) for place, pair in enumerate(ratings)]
    wanted = reference.equalize_lists(players, balance)
    first, second = (
        np.array([math.nan if pair[at] is None else pair[at] for pair in ratings], np.float64) for at in range(2)
    )
    sides = em_ladder.equalize(em_ladder.partition(first, second), first, second, balance_threshold=balance)
    assert [sides.first.tolist(), sides.second.tolist()] == [sorted(p.place for p in side) for side in wanted]
    rated = [[player.rating(at == 0) for player in side] for at, side in enumerate(wanted)]
    assert list(sides.means) == [math.fsum(side) / len(side) if side else None for side in rated]


NAMES = st.sampled_from(["north", "south", "east"])


@QUIET
@given(
    players=st.lists(
        st.builds(
            Player,
            place=st.just(0),
            bw=st.just(1.0),
            sc2=st.just(1.0),
            vetoed=st.lists(st.sampled_from("abcx"), max_size=3).map(tuple),
            region=st.none() | NAMES,
        ),
        max_size=20,
    ),
    maps=st.sampled_from([[], ["a"], ["a", "b", "c"]]),
    servers=st.sampled_from([{}, {"north": {}}, {"north": {"north": "N", "south": "NS"}, "south": {"south": "S"}}]),
    seed=st.integers(0, 5),
)
def test_venues_are_the_transcriptions(
    players: list[Player], maps: list[str], servers: dict[str, dict[str, str]], seed: int
) -> None:
    pairs = list(zip(players[::2], players[1::2], strict=False))
    made = create_matches(
        [(one.vetoed, other.vetoed) for one, other in pairs],
        [(one.region, other.region) for one, other in pairs],
        maps=maps,
        region_servers=servers,
        seed=seed,
    )
    assert [tuple(venue) for venue in made] == reference.create_matches(pairs, maps, servers, seed)


def large(kind: str, size: int = 60_000) -> Snapshot:
    rng = np.random.default_rng(11)
    first, second = rng.normal(1500, 300, (2, size))
    misses = np.minimum(rng.geometric(0.5, size) - 1, 6)
    if kind == "all equal":
        first[:] = second[:] = 1500
    elif kind == "different misses":
        misses = rng.permutation(size)
    share = rng.random(size)
    first[share < 0.4], second[share > 0.6] = np.nan, np.nan
    return Snapshot.from_columns(
        ratings={"bw": first, "sc2": second}, misses=misses, waited_ms=rng.integers(0, 10**5, size)
    )


@pytest.mark.parametrize("window_of", ["lead", "either", "both"])
@pytest.mark.parametrize("kind", ["normal", "all equal", "different misses"])
def test_a_large_wave_keeps_its_promises(kind: str, window_of: str) -> None:
    snapshot = large(kind)
    plan = Ladder(window_of=window_of, maps=["a", "b"]).plan(snapshot, seed=3)
    assert check_plan(plan, with_format(Ladder(), snapshot)) is None
    told = plan.details
    assert told["matches"] == len(plan.rosters) > 20_000
    first, second = plan.rosters.T
    gap = np.abs(snapshot.facts["ratings.bw"][first] - snapshot.facts["ratings.sc2"][second])
    widest = told["window_base"] + told["window_growth"] * snapshot.misses.astype(np.float64)
    leads = first if told["lead_side"] == "bw" else second
    rule: dict[str, Any] = {
        "lead": widest[leads],
        "either": np.maximum(widest[first], widest[second]),
        "both": np.minimum(widest[first], widest[second]),
    }
    assert (gap <= rule[window_of]).all()
    assert (plan.cost == gap * gap).all()
    assert told["gap_mean"] == math.fsum(gap.tolist()) / len(gap)
    assert (told["gap_min"], told["gap_max"]) == (gap.min(), gap.max())
    assert told["equalized"]["bw"] + told["equalized"]["sc2"] == len(snapshot)
    assert np.isin(plan.reasons, [Reason.SEATED, Reason.FILTERED, Reason.NO_OPPONENT_IN_WINDOW]).all()


def test_misses_below_zero_are_refused() -> None:
    snapshot = Snapshot.from_columns(ratings={"bw": [1.0], "sc2": [1.0]})
    with pytest.raises(MatcherError, match="misses must be 0 or more"):
        Ladder().plan(msgspec.structs.replace(snapshot, misses=np.array([-1], np.int32)))
