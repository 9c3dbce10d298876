"""Faults: commands lost, late or doubled and engines that crash break no invariant; and if one broke, it would show."""

import shlex

import msgspec
import numpy as np
import pytest

from evenmatch.cli import app
from evenmatch.core.engine import Engine, Step
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.errors import LabError
from evenmatch.lab import people, queues, traffic
from evenmatch.lab.faults import Broken, FaultyWire, Rates
from evenmatch.lab.log import Log
from evenmatch.lab.world import World

from .small import FOLDER, crowd

ROUGH = Rates(lose=0.1, delay=0.1, double=0.2, crash=0.01, crash_in_wave=0.1)


def lived(
    matcher: str, seed: int, rates: Rates = ROUGH, hours: float = 0.4, runs_s: float = 0.0
) -> tuple[Log, FaultyWire]:
    given = crowd()
    spec = queues.for_matcher(given, matcher)
    if runs_s:
        spec = msgspec.structs.replace(spec, match=msgspec.structs.replace(spec.match, runs_s=runs_s))
    wire = FaultyWire(rates, seed)
    world = World(
        spec,
        given,
        people.draw(given, FOLDER, seed, traffic.crowd(given)),
        traffic.draw(given, FOLDER, seed, hours),
        seed,
        hours,
        wire=wire,
    )
    return world.run(), wire


@pytest.mark.parametrize(
    ("matcher", "seed"), [("first_come", 1), ("buckets", 2), ("ladder", 3), ("epgc", 4), ("lom", 5), ("even", 6)]
)
def test_nothing_breaks_however_much_goes_wrong(matcher: str, seed: int) -> None:
    log, wire = lived(matcher, seed, runs_s=3_600.0 if seed % 2 else 0.0)
    assert len(log.matches) > 5
    assert all(wire.counts[name] > 0 for name in ("lost", "delayed", "doubled", "crashes"))


def test_one_seed_is_one_run_with_faults_too() -> None:
    (one, first), (other, second) = lived("buckets", 7), lived("buckets", 7)
    assert one.state_hash == other.state_hash
    assert first.counts == second.counts


def test_without_faults_it_is_the_plain_world() -> None:
    quiet = Rates(lose=0, delay=0, double=0, crash=0, crash_in_wave=0)
    log, wire = lived("buckets", 3, quiet)
    assert {name: count for name, count in wire.counts.items() if name != "events"} == dict.fromkeys(
        ("lost", "delayed", "doubled", "crashes", "crashes_in_waves"), 0
    )
    from .small import lived as plainly

    assert len(log.matches) == len(plainly(crowd(), "buckets", 3, 0.4)[1].matches)


class _Twice(FaultyWire):
    """An engine that forgets idempotency keys."""

    def key(self, wish: int) -> int:  # noqa: ARG002
        return 0


def test_a_join_that_counts_twice_is_noticed() -> None:
    given = crowd()
    wire = _Twice(Rates(lose=0, delay=0, double=0.5, crash=0, crash_in_wave=0), 1)
    folder = FOLDER
    spec = queues.for_matcher(given, "first_come")
    world = World(
        spec,
        given,
        people.draw(given, folder, 1, traffic.crowd(given)),
        traffic.draw(given, folder, 1, 0.3),
        1,
        0.3,
        wire=wire,
    )
    with pytest.raises(Broken, match="answered with another ticket"):
        world.run()


def test_an_event_against_the_rules_is_noticed() -> None:
    wire = FaultyWire(ROUGH, 1)
    spec = queues.for_matcher(crowd(), "first_come")
    wire.step(cmd.OpenQueue(spec), 0)
    gone = ev.TicketsGone(1, spec.name, 1, np.array([5]), np.array([0]))
    with pytest.raises(Broken, match="I4: ticket 5 never joined"):
        wire._commit((gone,), 1)


def test_a_bug_in_the_engine_is_found_and_the_printed_command_finds_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = Engine.step

    def forgetful(self: Engine, command: cmd.Command, now_ms: int) -> Step:
        """An engine that does not know a join again."""
        if isinstance(command, cmd.JoinMany):
            requests = tuple(msgspec.structs.replace(request, key=0) for request in command.requests)
            command = msgspec.structs.replace(command, requests=requests)
        return plain(self, command, now_ms)

    def told(arguments: list[str]) -> str:
        monkeypatch.setattr("sys.argv", ["evenmatch", *arguments])
        with pytest.raises(SystemExit) as ended:
            app(arguments, result_action="return_value")
        assert ended.value.code == 1
        return capsys.readouterr().err

    monkeypatch.setattr(Engine, "step", forgetful)
    first = told(["lab", "faults", "--hours", "0.2", "--seeds=9", "--seed", "2", "--double", "0.02", "--delay=0"])
    found, again = first.strip().splitlines()[-2:]
    seed, _, why = found.removeprefix("evenmatch: seed ").partition(": ")
    assert why == "a join that came twice was answered with another ticket"
    printed = shlex.split(again.removeprefix("run it again: "))
    assert printed[0] == "evenmatch"
    assert printed[-2:] == ["--seed", seed]
    assert found in told(printed[1:])


def test_a_share_that_is_none_is_refused() -> None:
    with pytest.raises(LabError, match="lose = 2 is no share"):
        Rates(lose=2.0)


def test_the_command_tells_what_went_wrong_on_purpose_and_how_to_run_a_seed_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from evenmatch.cli import lab_faults

    arguments = ["lab", "faults", "--hours", "0.2", "--seeds", "2", "--json"]
    monkeypatch.setattr("sys.argv", ["evenmatch", *arguments])
    app(arguments, result_action="return_value")
    told = msgspec.json.decode(capsys.readouterr().out)
    assert told["seeds"] == [1, 2]
    assert told["events"] > 100

    def broken(*_: object) -> None:
        raise Broken("I1: made up")

    monkeypatch.setattr(lab_faults, "_run", broken)
    with pytest.raises(SystemExit) as ended:
        app(arguments, result_action="return_value")
    assert ended.value.code == 1
    shown = capsys.readouterr().err
    assert "seed 1: I1: made up" in shown
    assert "run it again: evenmatch lab faults --hours 0.2 --json --seed 1" in shown
