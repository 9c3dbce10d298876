"""What-ifs: a journal under its own rules gives what it says; under others, an answer with its limits."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from evenmatch.core.engine import Engine
from evenmatch.domain import commands as cmd
from evenmatch.domain.queue import Format, MatcherSpec, QueueSpec, ReadyCheckSpec, WaveSpec
from evenmatch.domain.ticket import Member, TicketRequest
from evenmatch.errors import LabError
from evenmatch.lab import past, replay_report
from evenmatch.lab.log import End
from evenmatch.lab.replay import summary, what_if
from evenmatch.matchers.contract import plan_wave
from evenmatch.matchers.registry import build
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.protocol import Commit, Journal
from evenmatch.storage.sqlite import SqliteJournal


def write(journal: Journal, spec: QueueSpec, seed: int = 1, tickets: int = 60) -> None:
    """An evening: one joins every second, some leave, waves run."""
    chance = np.random.default_rng(seed)
    engine = Engine()
    matcher = build(spec.matcher.name, spec.matcher.parameters)

    def do(command: cmd.Command, now_ms: int) -> None:
        step = engine.step(command, now_ms)
        if step.events:
            journal.append(Commit(journal.last + 1, now_ms, list(step.events)))
        for wave in step.effects:
            plan = plan_wave(matcher, wave.snapshot, seed=wave.seed)
            do(cmd.FinishWave(spec.name, wave.wave, plan), now_ms)

    do(cmd.OpenQueue(spec), 0)
    for n in range(1, tickets + 1):
        now_ms = n * 1_000
        do(cmd.Tick(), now_ms)
        member = Member(n, rating=float(chance.normal(1500, 300)), ping_ms=30.0)
        do(cmd.Join(spec.name, TicketRequest((member,))), now_ms + 10)
        if n % 7 == 0:
            do(cmd.Leave(n), now_ms + 20)
    do(cmd.Tick(), (tickets + 5) * 1_000)


SPEC = QueueSpec("duel", Format(2, 1), MatcherSpec("first_come"), WaveSpec(every_s=3.0))


def test_under_its_own_rules_a_journal_gives_what_it_says() -> None:
    journal = MemoryJournal()
    write(journal, SPEC)
    told = past.read(journal, None)
    then, now = summary(told.story), what_if(told, told.spec)
    assert then.matches > 15
    assert (now.tickets, now.matches, now.waiting) == (then.tickets, then.matches, then.waiting)
    assert now.gap == then.gap
    assert now.passed_over == 0


def test_another_matcher_gives_another_answer() -> None:
    journal = MemoryJournal()
    write(journal, SPEC)
    told = past.read(journal, "duel")
    other = QueueSpec("duel", Format(2, 1), MatcherSpec("buckets", {"bucket": 25}), WaveSpec(every_s=3.0))
    then, now = summary(told.story), what_if(told, other)
    assert now.gap["p50"] is not None
    assert then.gap["p50"] is not None
    assert now.gap["p50"] < then.gap["p50"]
    assert now.matches < then.matches


def test_who_left_leaves_and_who_waits_already_is_passed_over() -> None:
    journal = MemoryJournal()
    write(journal, SPEC)
    told = past.read(journal, "duel")
    gone = [ticket for ticket, end in told.story.end.items() if end == End.GAVE_UP]
    assert [ticket for _, ticket in told.departures] == gone
    twice = [*told.wishes, past.Wish(told.last_ms, 999, told.wishes[-1].request)]
    never = QueueSpec(
        "duel", Format(2, 1), MatcherSpec("buckets", {"bucket": 1, "range_max": 1}), WaveSpec(every_s=3.0)
    )
    again = past.Past(told.spec, twice, told.departures, told.story, told.first_ms, told.last_ms, 0)
    assert what_if(again, never).passed_over == 1


def test_a_queue_that_nobody_joined_and_facts_that_were_not_kept() -> None:
    journal = MemoryJournal()
    write(journal, SPEC)
    with pytest.raises(LabError, match="nobody joined the queue 'other'"):
        past.read(journal, "other")
    with pytest.raises(LabError, match="say which queue"):
        past.read(MemoryJournal(), None)
    told = past.read(journal, "duel")
    from evenmatch import config

    (sided,) = config.parse('[queues.duel]\nmatcher = { name = "ladder" }', "x")
    with pytest.raises(LabError, match=r"under these rules: ladder needs ratings\.\S+ or ratings\.\S+ of every player"):
        what_if(told, sided)


def test_ready_checks_of_the_past_are_read() -> None:
    spec = QueueSpec("duel", Format(2, 1), MatcherSpec("first_come"), WaveSpec(every_s=1.0), ReadyCheckSpec(5.0))
    journal, engine = MemoryJournal(), Engine()

    def do(command: cmd.Command, now_ms: int) -> None:
        step = engine.step(command, now_ms)
        if step.events:
            journal.append(Commit(journal.last + 1, now_ms, list(step.events)))
        for wave in step.effects:
            plan = plan_wave(build("first_come", {}), wave.snapshot, seed=wave.seed)
            do(cmd.FinishWave("duel", wave.wave, plan), now_ms)

    do(cmd.OpenQueue(spec), 0)
    for player in (1, 2, 3, 4, 5):
        do(cmd.Join("duel", TicketRequest((Member(player),))), 10)
    do(cmd.Tick(), 1_000)
    do(cmd.Accept(1, 1), 1_500)
    do(cmd.Accept(1, 2), 2_000)
    do(cmd.Decline(2, 3), 2_500)
    told = past.read(journal, None)
    then, now = summary(told.story), what_if(told, spec)
    assert then.matches == 1
    assert then.to_match_s["p50"] == 1.99
    assert (then.wait_s["p90"], now.wait_s["p90"]) == (0.99, 1.0), "both are measured to the first proposal"
    assert then.ends | {"waiting": 2, "matched": 2, "blamed": 1} == then.ends
    for one in (then, now):
        assert sum(one.ends.values()) + one.passed_over + sum(one.refused.values()) == one.tickets == 5
    assert then.waiting == 2
    assert now.waiting == 1
    told_in_rows = {name: pick(msgspec.to_builtins(then)) for name, pick in replay_report.ROWS.items()}
    assert told_in_rows["let a ready check fail"] == "1 (20.0%)"
    assert told_in_rows["still waiting at the end"] == "2 (40.0%)"
    assert told_in_rows["wait to a proposal, half within"] == "1.0 s"
    assert "half had their match within 2.0 s" in replay_report.checked(then)
    assert replay_report.checked(now) == ""


def test_who_only_waits_is_in_no_share() -> None:
    journal = MemoryJournal()
    write(journal, SPEC, tickets=6)
    told = past.read(journal, "duel")
    never = QueueSpec("duel", Format(2, 1), MatcherSpec("buckets", {"bucket": 1, "range_max": 1}), SPEC.wave)
    now = what_if(told, never)
    assert now.never_matched is None
    assert now.waiting == now.tickets == 6


def test_parameters_are_told_with_their_defaults() -> None:
    other = QueueSpec("duel", Format(2, 1), MatcherSpec("buckets", {"bucket": 25}), WaveSpec(every_s=3.0))
    told = replay_report.parameters_of(other)
    assert told.startswith("buckets, a wave every 3 s: bucket = 25; by default growth_s = 20, ")
    assert replay_report.parameters_of(SPEC).startswith("first_come, a wave every 3 s: ")


def test_the_command_proves_compares_and_refuses(tmp_path: Path) -> None:
    file = tmp_path / "j.db"
    with SqliteJournal(file) as journal:
        write(journal, SPEC)

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "evenmatch", "replay", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120)

    assert "state hash" in run("j.db").stdout
    found = json.loads(run("j.db", "--matcher", "buckets", "--report", "r.html", "--json").stdout)
    assert found["journal"]["matcher"] == "first_come"
    assert found["what_if"]["matcher"] == "buckets"
    assert len(found["limits"]) >= 4
    assert found["what_if"]["parameters"] == {}
    shown = run("j.db", "--matcher", "buckets").stdout
    assert "bucket = round" in shown
    assert "fair is meant by these ratings" in shown
    page = (tmp_path / "r.html").read_text()
    assert "What if buckets" in page
    assert "<script" not in page
    for arguments, words in (
        (("none.db",), "no file none.db"),
        (("j.db", "--matcher", "nope"), "there is no matcher 'nope'"),
        (("j.db", "--matcher", "lom", "--with", "q.toml"), "not both"),
        (("j.db", "--report", "r.html"), "for a comparison"),
        (("j.db", "--with", "q.toml"), "there is no such file"),
    ):
        refused = run(*arguments)
        assert refused.returncode == 2
        assert words in refused.stderr
        assert "Traceback" not in refused.stderr
