"""The library: every public name, as the README shows them, and errors that say what is wrong."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenmatch as em
from evenmatch.domain.match import Reason
from tests.test_plan import SAMPLE

NAN = float("nan")


def test_importing_it_imports_next_to_nothing() -> None:
    seen = "import sys, evenmatch; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"numpy", "scipy", "litestar", "msgspec", "rich", "cyclopts", "sqlite3"}
    assert not [name for name in done.stdout.split() if name.startswith("evenmatch.")]


def test_a_plan_needs_no_web_framework() -> None:
    code = (
        "import sys, evenmatch as em; em.plan([], matcher='lom'); em.matchers.Epgc; em.cinder.overlap;"
        "print(*[n for n in ('litestar', 'rich', 'cyclopts', 'sqlite3', 'scipy.optimize') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_every_public_name_is_there_and_has_words() -> None:
    for name in em.__all__:
        assert name in dir(em)
        if name != "__version__":
            assert getattr(em, name).__doc__, name
    for name in em.matchers.__all__:
        assert getattr(em.matchers, name).__doc__, name
    with pytest.raises(AttributeError, match="plann"):
        em.plann  # noqa: B018
    with pytest.raises(AttributeError, match="Epcg"):
        em.matchers.Epcg  # noqa: B018


# -- em.plan -----------------------------------------------------------------------------------------------------------


def test_plan_takes_dictionaries_and_names() -> None:
    found = em.plan(SAMPLE, matcher="epgc", lobby_size=4)
    assert len(found) == 1
    assert found.matches[0].teams == [["P5", "P2", "P1", "P8"]]
    assert found.matches[0].cost == -470.5
    assert found.matches[0].quality is None
    assert found.matches[0].details == {"tier": "Gold", "weight": 470.5}
    assert found.trace == []
    assert em.plan(SAMPLE, matcher=em.matchers.Epgc(lobby_size=4)).matches == found.matches
    assert em.plan(iter(SAMPLE), matcher="epgc", lobby_size=4, trace=True).trace


def test_plan_takes_a_format_as_text_or_value() -> None:
    for form in ("2x4", em.Format(2, 4)):
        (match,) = em.plan(SAMPLE, matcher="first_come", format=form).matches
        assert [len(team) for team in match.teams] == [4, 4]
        assert match.quality is not None


@given(st.permutations(SAMPLE), st.sampled_from(["epgc", "buckets", "lom", "random", "m2l", "l2m", "first_come"]))
def test_the_order_of_the_tickets_does_not_matter(tickets: list[dict[str, Any]], name: str) -> None:
    sized = {"epgc": {"lobby_size": 4}, "buckets": {"bucket": 100}, "first_come": {}}.get(name, {"session_size": 4})
    assert em.plan(tickets, matcher=name, seed=3, **sized).matches == (  # type: ignore[arg-type]
        em.plan(SAMPLE, matcher=name, seed=3, **sized).matches  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"matcher": "epcg"}, "did you mean 'epgc'"),
        ({"matcher": "epgc", "loby_size": 4}, "did you mean 'lobby_size'"),
        ({"matcher": "epgc", "lobby_size": 0}, "lobby_size"),
        ({"matcher": "epgc", "beta": -1}, "beta"),
        ({"matcher": "epgc", "format": "2x5"}, "2x5"),
        ({"matcher": "even", "hold": True, "wait_value": 0}, "hold needs a wait_value above 0"),
        ({"seed": -1}, "seed"),
        ({"seed": True}, "seed"),
        ({"seed": 0.5}, "seed"),
    ],
)
def test_plan_says_what_is_wrong(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(em.MatcherError, match=words):
        em.plan(SAMPLE, **arguments)
    with pytest.raises(ValueError, match=words):
        em.plan(SAMPLE, **arguments)


@pytest.mark.parametrize("form", [(2, 5), 5, "128x1", em.Format(128, 1), em.Format(1, 1), "2x0", ""])
def test_plan_says_what_a_format_is(form: Any) -> None:
    with pytest.raises(em.TicketError, match="write TEAMSxSIZE, such as '2x5', with 1 to 100 teams and 2 to 200 seats"):
        em.plan(SAMPLE, format=form)


@pytest.mark.parametrize("sigma", [-5, "x"])
def test_plan_takes_no_doubt_that_is_none(sigma: Any) -> None:
    tickets = [{"id": "ann", "rating": 1500, "profile": {"sigma": sigma}}, {"id": "ben", "rating": 1500}]
    with pytest.raises(ValueError, match=r"'ann'"):
        em.plan(tickets)
    assert em.plan(tickets, matcher="first_come")


def test_a_made_matcher_takes_no_more_parameters() -> None:
    with pytest.raises(em.MatcherError, match="lobby_size"):
        em.plan(SAMPLE, matcher=em.matchers.Epgc(), lobby_size=4)


def test_plan_names_the_ticket_by_the_callers_id() -> None:
    with pytest.raises(em.MatcherError, match="'zoe'"):
        em.plan([*SAMPLE, {"id": "zoe"}], matcher="epgc")
    with pytest.raises(em.TicketError, match=r"'zoe'.*waited_s"):
        em.plan([*SAMPLE, {"id": "zoe", "waited_s": -1}], matcher="epgc")
    with pytest.raises(em.EvenmatchError, match=r"'P1'.*twice"):
        em.plan([*SAMPLE, SAMPLE[0]], matcher="epgc")


def test_profiles_with_words_and_numbers_are_matched_by() -> None:
    tickets = [
        {"id": f"t{number}", "profile": {"mode": "ab"[number % 2], "age": float(number)}, "roles": ["x"]}
        for number in range(6)
    ]
    features = [{"name": "mode", "kind": "categorical", "weight": 100}, {"name": "age", "scale": 10}]
    found = em.plan(tickets, matcher="lom", session_size=3, leaders="first", features=features)
    assert {frozenset(match.teams[0]) for match in found.matches} == {
        frozenset({"t0", "t2", "t4"}),
        frozenset({"t1", "t3", "t5"}),
    }
    with pytest.raises(em.MatcherError, match="mode"):
        em.plan(tickets, matcher="lom", session_size=3, features=[{"name": "mode"}])
    with pytest.raises(em.MatcherError, match=r"'t9'.*age"):
        em.plan([*tickets, {"id": "t9"}], matcher="lom", session_size=3, features=[{"name": "age"}])


# -- Snapshot.from_columns ---------------------------------------------------------------------------------------------

COLUMNS: dict[str, Any] = {
    "rating": np.array([1500.0, 1510, 1490, 1505]),
    "ping_ms": np.array([20.0, NAN, 30, 40]),
    "waited_ms": np.array([1000, 0, 0, 500]),
    "misses": np.array([1, 0, 2, 0]),
    "ratings": {"bw": np.array([1500.0, NAN, 1490, NAN]), "sc2": np.array([NAN, 1510.0, NAN, 1505])},
    "profile": {"age": np.array([1.0, 2, 3, 4])},
    "ids": ["d", "c", "b", "a"],
}


@pytest.mark.parametrize("left_out", COLUMNS)
def test_every_column_may_be_left_out(left_out: str) -> None:
    snapshot = em.Snapshot.from_columns(**{name: column for name, column in COLUMNS.items() if name != left_out})
    assert len(snapshot) == 4
    assert len(em.Snapshot.from_columns(**{left_out: COLUMNS[left_out]})) == 4


def test_no_columns_are_no_rows() -> None:
    assert len(em.Snapshot.from_columns()) == 0
    assert len(em.matchers.Epgc().plan(em.Snapshot.from_columns()).rosters) == 0


def test_columns_are_what_was_given_and_copies_of_it() -> None:
    rating = np.array([1.0, 2.0])
    snapshot = em.Snapshot.from_columns(rating=rating, profile=[[1, 2, 3], [4, 5, 6]], ratings={"bw": [NAN, 7]})
    rating[0] = 99
    assert snapshot.facts["rating"].tolist() == [1, 2]
    assert [snapshot.facts[f"profile.x{place}"].tolist() for place in range(3)] == [[1, 4], [2, 5], [3, 6]]
    assert np.isnan(snapshot.facts["ratings.bw"][0])
    assert np.isnan(snapshot.facts["ping_ms"]).all()
    assert snapshot.waited_ms.tolist() == snapshot.misses.tolist() == [0, 0]
    with pytest.raises(ValueError, match="read-only"):
        snapshot.facts["rating"][0] = 5


def test_a_feature_of_words_is_a_category() -> None:
    snapshot = em.Snapshot.from_columns(profile={"mode": np.array(["a", "b", "a", "b"]), "age": [1, 2, 3, 4]})
    assert snapshot.traits == {"profile.mode": ("a", "b", "a", "b")}
    matcher = em.matchers.Lom(session_size=2, leaders="first", features=[{"name": "mode", "kind": "categorical"}])
    assert sorted(map(sorted, matcher.plan(snapshot).rosters.tolist())) == [[0, 2], [1, 3]]


def test_ids_settle_ties() -> None:
    tied = [10.0, 10.0, 10.0]
    first = em.matchers.Buckets().plan(em.Snapshot.from_columns(rating=tied))
    assert first.rosters.tolist() == [[0, 1]]
    named = em.matchers.Buckets().plan(em.Snapshot.from_columns(rating=tied, ids=["c", "b", "a"]))
    assert named.rosters.tolist() == [[2, 1]]
    assert named.reasons.tolist() == [Reason.NOBODY_IN_RANGE, Reason.SEATED, Reason.SEATED]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"rating": [1, 2], "ping_ms": [1]}, "rating 2, ping_ms 1"),
        ({"rating": [1, NAN]}, r"rating\[1\]"),
        ({"rating": [[1]]}, "rating has 2 dimensions"),
        ({"rating": ["x"]}, "rating"),
        ({"ping_ms": [1, -1]}, r"ping_ms\[1\]"),
        ({"ping_ms": [float("inf")]}, r"ping_ms\[0\]"),
        ({"waited_ms": [-1]}, "waited_ms"),
        ({"waited_ms": [NAN]}, "waited_ms"),
        ({"misses": [0.5]}, "misses"),
        ({"misses": [2**31]}, "misses"),
        ({"ratings": {"bw": [1e9]}}, r"ratings.bw\[0\]"),
        ({"profile": [1, 2]}, "profile"),
        ({"profile": {"age": [float("inf")]}}, r"profile.age\[0\]"),
        ({"profile": {"mode": ["a", 1.0]}}, r"profile.mode\[1\]"),
        ({"ids": ["a", "a"]}, "'a' twice"),
        ({"ids": ["a"], "rating": [1, 2]}, "ids 1"),
    ],
)
def test_columns_that_cannot_be_used_are_named(columns: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        em.Snapshot.from_columns(**columns)


# -- em.matchers -------------------------------------------------------------------------------------------------------

MADE: list[Any] = [
    em.matchers.Epgc(lobby_size=4),
    em.matchers.Ladder(maps=["a", "b"]),
    em.matchers.Ladder(solver="optimal"),
    em.matchers.Buckets(bucket=50),
    em.matchers.Lom(session_size=4),
    em.matchers.M2l(session_size=4),
    em.matchers.L2m(session_size=4),
    em.matchers.Random(session_size=4),
    em.matchers.FirstCome(),
    em.matchers.Exact(),
    em.matchers.Cinder(overlap_min=0, sanction_max=1000),
]


@pytest.mark.parametrize("matcher", MADE, ids=lambda matcher: matcher.name)
@given(order=st.permutations(range(9)), seed=st.integers(0, 3))
def test_rows_refer_to_the_snapshot_as_given(matcher: Any, order: list[int], seed: int) -> None:
    chance = np.random.Generator(np.random.PCG64(seed))
    columns: dict[str, Any] = {
        "rating": chance.integers(1500, 1600, 9),
        "ping_ms": chance.integers(0, 50, 9),
        "waited_ms": chance.integers(0, 3, 9) * 20_000,
        "misses": chance.integers(0, 3, 9),
    }
    sides = {"bw": np.where(np.arange(9) % 3, columns["rating"], NAN), "sc2": columns["rating"] + 20.0}
    names = np.array([f"p{place}" for place in range(9)])

    def matches(rows: Any) -> set[tuple[str, ...]]:
        snapshot = em.Snapshot.from_columns(
            **{name: column[rows] for name, column in columns.items()},
            ratings={side: column[rows] for side, column in sides.items()},
            ids=names[rows].tolist(),
        )
        plan = matcher.plan(snapshot, seed=seed)
        return {tuple(names[rows][roster[roster >= 0]].tolist()) for roster in plan.rosters}

    assert matches(np.array(order)) == matches(np.arange(9))


def test_a_format_that_disagrees_is_refused() -> None:
    snapshot = em.Snapshot.from_columns(rating=[1.0], ping_ms=[1.0], format=em.Format(2, 5))
    for matcher in MADE[:2]:
        with pytest.raises(em.MatcherError, match="2x5"):
            matcher.plan(snapshot)


@pytest.mark.parametrize(
    ("matcher", "parameters", "words"),
    [
        ("Epgc", {"lobby_size": 0}, "lobby_size"),
        ("Epgc", {"alpha": NAN}, "alpha"),
        ("Epgc", {"boundaries": [2, 1]}, "boundaries"),
        ("Ladder", {"sides": ["bw"]}, "sides"),
        ("Ladder", {"solver": "best"}, "solver"),
        ("Buckets", {"reciprocity": -1}, "reciprocity"),
        ("Lom", {"session_size": 0}, "session_size"),
        ("Cinder", {"n_bucket": 30, "w_min": 101}, "w_min"),
        ("Cinder", {"lcap": 5, "ucap": 5}, "ucap"),
    ],
)
def test_constructors_name_the_parameter(matcher: str, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        getattr(em.matchers, matcher)(**parameters)


# -- the parts by themselves -------------------------------------------------------------------------------------------


def test_epgc_weighted_degrees() -> None:
    gold = [one for one in SAMPLE if 1500 <= int(str(one["rating"])) < 2000]
    pings, waits = np.array([one["ping_ms"] for one in gold]), np.array([one["waited_s"] for one in gold])
    degrees = em.epgc.weighted_degrees(pings, waits, alpha=1.5, beta=0.5)
    assert degrees.tolist() == [284.0, 300.0, 177.0, -3.0, 313.0, 263.0]
    assert em.epgc.weighted_degrees([], []).tolist() == []
    with pytest.raises(ValueError, match="beta"):
        em.epgc.weighted_degrees(pings, waits, beta=-1)
    with pytest.raises(ValueError, match="waited_s"):
        em.epgc.weighted_degrees(pings, -waits)
    with pytest.raises(ValueError, match="waited_s"):
        em.epgc.weighted_degrees(pings, waits[:2])


def test_ladder_pressure_and_window() -> None:
    assert em.ladder.pressure(15, 30) == pytest.approx(0.40)
    assert em.ladder.pressure(1, 6) == 0.2
    assert em.ladder.window(0, em.ladder.pressure(1, 6)) == 75
    assert em.ladder.window(2, 0.15) == 170
    assert em.ladder.window(1, 0.05) == 170
    assert em.ladder.window(np.array([0, 1]), 0.05).tolist() == [125, 170]
    with pytest.raises(ValueError, match="misses"):
        em.ladder.window(-1, 0.5)
    with pytest.raises(ValueError, match="pressure"):
        em.ladder.window(0, NAN)
    with pytest.raises(ValueError, match="queue_size"):
        em.ladder.pressure(-1, 5)


WEIGHTS = [[4, 1, 3, 7, 2], [2, 0, 5, 8, 6]]


def test_lom_assign() -> None:
    leader_of, total = em.lom.assign(WEIGHTS, 3)
    assert (leader_of.tolist(), total) == ([1, 1, 0, -1, 0], 7)
    leader_of, total = em.lom.assign(np.array(WEIGHTS, float)[:, :4], session_size=3)
    assert sorted(leader_of.tolist()) == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("weights", "session_size", "words"),
    [
        (WEIGHTS, 4, "members"),
        (WEIGHTS, 0, "session_size"),
        ([1, 2, 3], 2, "matrix"),
        ([[1, 2], [3]], 2, "matrix"),
        ([[1, float("inf")]], 2, r"weights\[0, 1\]"),
        ([[NAN, 1]], 2, r"weights\[0, 0\]"),
        (np.empty((0, 3)), 2, "leader"),
        ([["a", "b"]], 2, "numbers"),
    ],
)
def test_lom_assign_says_what_is_wrong(weights: Any, session_size: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        em.lom.assign(weights, session_size)


def test_cinder_parts() -> None:
    assert em.cinder.bucket_edges(0, 100, 5, 10) == pytest.approx([0, 26.1941, 45, 55, 73.8059, 100], abs=1e-4)
    edges = em.cinder.bucket_edges(0, 30_000, 30, 150)
    a, b = [12000, 13000, 14000, 15100, 16000], [2000, 5000, 9000, 20000, 29000]
    assert em.cinder.overlap(a, b, 0, 30_000, 30) == pytest.approx(0.142035, abs=1e-6)
    assert em.cinder.sanction_score(a, b, edges) == 38
    assert em.cinder.sanction_score(a, b, edges, normalize="mean") == pytest.approx(38 / 5)
    assert em.cinder.sanction_score(a, a, edges) == 0
    assert em.cinder.sanction_score(a[:3], b, edges) == pytest.approx(5 * _mean_gap([8, 9, 11], [1, 3, 5, 23, 29]))


def _mean_gap(a: list[int], b: list[int]) -> float:
    """The gap of two quantile functions, on a grid that both divide."""
    grid = len(a) * len(b)
    return sum(abs(a[place // len(b)] - b[place // len(a)]) for place in range(grid)) / grid


def test_cinder_parts_say_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="w_min"):
        em.cinder.bucket_edges(0, 100, 5, 21)
    with pytest.raises(ValueError, match="n_bucket"):
        em.cinder.bucket_edges(0, 100, 0, 1)
    with pytest.raises(ValueError, match="normalize"):
        em.cinder.sanction_score([1], [2], [0, 1, 2], normalize="summ")
    with pytest.raises(ValueError, match="edges"):
        em.cinder.sanction_score([1], [2], [2, 1])
    with pytest.raises(ValueError, match=r"\ba\b"):
        em.cinder.overlap([], [1], 0, 100, 5)
    with pytest.raises(ValueError, match=r"\bb\b"):
        em.cinder.overlap([1], [NAN], 0, 100, 5)
