"""`evenmatch bench even`: seats and cost of everybody's plan can be read from rows and tables."""

import json

import pytest

from evenmatch.bench import shown
from evenmatch.bench.catalogue import CONTESTS
from evenmatch.bench.cell import Effort, measured
from evenmatch.bench.contests.even import Outcome, never_behind
from evenmatch.bench.contests.even_others import brute_force, lobbies, pools
from evenmatch.bench.found import Run
from evenmatch.bench.matchers import summed_up
from evenmatch.cli import app
from evenmatch.matchers.contract import plan_wave

BRIEF = Effort(each_s=0.0, limit_s=60.0)
PLANNED = [name for name in CONTESTS if name.startswith("even.") and name != "even.graph"]


@pytest.mark.parametrize("name", PLANNED)
def test_rows_carry_seats_and_cost_of_both_sides(name: str) -> None:
    row = measured(CONTESTS[name], 40, BRIEF)
    assert row.plan is not None
    assert row.plan["seats"] <= row.plan["seats_bound"]
    assert row.plan["cost_bound"] <= row.plan["cost"] + 1e-9
    for answer in row.opponents:
        if answer.agrees is not None:
            assert answer.plan is not None
            assert (-row.plan["seats"], row.plan["cost"]) <= (-answer.plan["seats"], answer.plan["cost"] + 1e-9)


def test_all_other_matchers_and_brute_force_are_there() -> None:
    names = {opponent.name.partition(",")[0] for name in PLANNED for opponent in CONTESTS[name].opponents}
    assert names >= {"ladder", "buckets", "epgc", "lom", "cinder", "first_come", "brute force"}


def test_tables_tell_seats_of_their_bound_and_costs() -> None:
    contest = CONTESTS["even.lobbies"]
    found = summed_up(contest, (measured(contest, 60, BRIEF),))
    (line,) = shown.plans_told(found)
    assert line.startswith("60 players: evenmatch 56 seats of 56 at most (100.00%), cost ")
    assert "; lom 56 seats, cost " in line
    machine = dict.fromkeys(("processor", "cores", "memory_gb", "system", "threads", "python", "evenmatch"), 1)
    libraries = dict.fromkeys(("numpy", "numba", "scipy", "networkx", "rustworkx", "ortools", "pot"), "1")
    run = Run({**machine, **libraries}, 1, (found,))
    assert f"- `even.lobbies`, {line}" in shown.markdown(run)


def test_one_who_is_ahead_is_told() -> None:
    wave = lobbies(60, 1)
    ours = plan_wave(wave.matcher, wave.snapshot)
    seats, cost = int(ours.details["seats"]), float(ours.cost.sum())
    assert never_behind(wave, ours, Outcome(seats, cost)) is None
    assert never_behind(wave, ours, Outcome(seats - 8, 0.0)) is None
    assert "56 seats" in str(never_behind(wave, ours, Outcome(seats, cost - 0.01)))
    assert never_behind(wave, ours, Outcome(seats + 8, 10 * cost)) is not None


def test_brute_force_finds_what_even_proves() -> None:
    given = pools(15, 7)
    assert all(len(wave.snapshot) <= 12 for wave in given)
    for wave, best in zip(given, brute_force(given), strict=True):
        ours = plan_wave(wave.matcher, wave.snapshot)
        assert (ours.details["seats"], float(ours.cost.sum())) == best


def test_the_json_document_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        app(["bench", "matchers", "even.few", "--sizes", "3", "--quick", "--json"])
    assert ended.value.code in (0, None)
    (row,) = json.loads(capsys.readouterr().out)["contests"][0]["rows"]
    assert set(row["plan"]) == {"seats", "seats_bound", "cost", "cost_bound"}
    assert row["opponents"][0]["plan"] == {name: row["plan"][name] for name in ("seats", "cost")}
