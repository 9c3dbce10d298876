"""What-ifs: a journal under its own rules gives what it says; under others, an answer with its limits."""

import json
import sqlite3
import subprocess
from pathlib import Path

import msgspec
import numpy as np
import pytest

from evenmatch import recovery
from evenmatch.core.engine import Engine
from evenmatch.domain import commands as cmd
from evenmatch.domain.queue import Format, MatcherSpec, QueueSpec, ReadyCheckSpec, WaveSpec
from evenmatch.domain.ticket import Member, TicketRequest
from evenmatch.errors import LabError
from evenmatch.lab import past, replay_report
from evenmatch.lab.log import End
from evenmatch.lab.past_fits import fitted_to_past, patience_s, population_of
from evenmatch.lab.replay import summary, what_if
from evenmatch.matchers.contract import plan_wave
from evenmatch.matchers.registry import build
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.protocol import Commit, Journal
from evenmatch.storage.sqlite import SqliteJournal
from tests import nursery


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
    assert now.left_out == 0


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


def test_who_left_leaves_and_who_waits_already_is_left_out() -> None:
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
    assert what_if(again, never).left_out == 1


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
        assert sum(one.ends.values()) + one.left_out + sum(one.refused.values()) == one.tickets == 5
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


def told_of(spec: QueueSpec, other: QueueSpec, tickets: int = 60) -> replay_report.Told:
    journal = MemoryJournal()
    write(journal, spec, tickets=tickets)
    was = past.read(journal, "duel")
    return replay_report.Told(
        was, other, "given", summary(was.story), what_if(was, was.spec), what_if(was, other), ["a limit"]
    )


def test_the_first_words_are_on_who_got_a_match_at_all() -> None:
    few = QueueSpec("duel", Format(2, 1), MatcherSpec("buckets", {"bucket": 5, "range_max": 1}), SPEC.wave)
    told = told_of(SPEC, few)
    assert told.same is not None
    shares = [f"{one.ends['matched'] / one.tickets:.1%}" for one in (told.now, told.same, told.then)]
    said = replay_report.words(told)
    assert said[0] == (
        f"With buckets {shares[0]} of the tickets would have got a match, and {shares[1]} with the same rules in the "
        f"same what-if (in truth it was {shares[2]})."
    )
    assert "would still be waiting when the journal ends" in said[1]
    assert said[2].startswith("Waits are of those who were proposed a match: ")
    assert said[3].startswith("Who got no match is in none of these numbers")
    assert said[4].startswith("Compare the two what-ifs with each other")
    page = replay_report.html(told, "evenmatch replay")
    assert page.index(said[0]) < page.index("Waits are of") < page.index("<table")
    assert "same rules, what if" in page


def test_one_is_told_in_the_singular_and_none_at_all_is_said() -> None:
    told = told_of(SPEC, SPEC, tickets=5)
    assert told.now.waiting == 1
    assert "(1 ticket) would still be waiting" in replay_report.words(told)[1]
    assert list(told.columns)[2] == "other rules, what if"
    never = QueueSpec("duel", Format(2, 1), MatcherSpec("buckets", {"bucket": 1, "range_max": 1}), SPEC.wave)
    said = replay_report.words(told_of(SPEC, never, tickets=6))
    assert said[0].startswith("With buckets 0.0% of the tickets")
    assert "One of them made no match at all" in said[2]


def test_another_matcher_is_fitted_to_those_who_came() -> None:
    journal = MemoryJournal()
    write(journal, SPEC, tickets=300)
    was = past.read(journal, "duel")
    spec, origin = fitted_to_past(was, "buckets")
    assert origin == "fitted"
    assert spec.matcher.parameters["bucket"] > 1
    assert (spec.wave, spec.ticket, spec.name) == (SPEC.wave, was.spec.ticket, "duel")
    given = population_of(was)
    assert given.arrivals.sessions_a_day == pytest.approx(86_400, rel=0.05)
    assert given.parties == {"1": 1.0}
    short = msgspec.structs.replace(was.spec, ticket=msgspec.structs.replace(was.spec.ticket, expires_s=9.0))
    assert population_of(msgspec.structs.replace(was, spec=short)).sessions.patience_s == 9.0
    fair, wide = what_if(was, spec), what_if(was, msgspec.structs.replace(spec, matcher=MatcherSpec("buckets")))
    assert fair.ends["matched"] > wide.ends["matched"]
    with pytest.raises(LabError, match="ladder cannot play duel: "):
        fitted_to_past(msgspec.structs.replace(was, spec=msgspec.structs.replace(SPEC, format=Format(2, 2))), "ladder")


def test_patience_is_that_of_those_who_gave_up() -> None:
    story = past.Story()
    for ticket in range(1, 21):
        story.join(ticket, 0, (Member(ticket),))
        story.leave(ticket, 60_000 if ticket <= 12 else 5_000, End.GAVE_UP if ticket <= 12 else End.MATCHED)
    assert patience_s(past.Past(SPEC, [], [], story, 0, 100_000, 0)) == 60.0
    for ticket in range(1, 21):
        story.leave(ticket, 5_000, End.MATCHED)
    assert patience_s(past.Past(SPEC, [], [], story, 0, 100_000, 0)) is None


def test_parameters_are_told_with_their_defaults() -> None:
    other = QueueSpec("duel", Format(2, 1), MatcherSpec("buckets", {"bucket": 25}), WaveSpec(every_s=3.0))
    told = replay_report.parameters_of(other)
    assert told.startswith("buckets, a wave every 3 s: bucket = 25; by default growth_s = 20, ")
    assert replay_report.parameters_of(SPEC).startswith("first_come, a wave every 3 s: ")


def run_in(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return nursery.run("replay", *arguments, cwd=folder)


@pytest.mark.parametrize("harm", ["UPDATE checkpoints SET hash = 'x'", "DELETE FROM commits WHERE rowid > 60"])
def test_a_journal_that_fails_its_proof_has_no_what_if(tmp_path: Path, harm: str) -> None:
    with SqliteJournal(tmp_path / "j.db") as journal:
        write(journal, SPEC)
        journal.save_checkpoint(recovery.checkpoint_of(recovery.recover(journal)))
    with sqlite3.connect(tmp_path / "j.db") as db:
        assert db.execute(harm).rowcount > 0
    db.close()
    plain, asked = run_in(tmp_path, "j.db"), run_in(tmp_path, "j.db", "--matcher", "buckets")
    assert plain.returncode == asked.returncode == 2
    assert plain.stderr == asked.stderr != ""
    assert asked.stdout == ""


def test_the_command_proves_compares_and_refuses(tmp_path: Path) -> None:
    file = tmp_path / "j.db"
    with SqliteJournal(file) as journal:
        write(journal, SPEC)

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return run_in(tmp_path, *arguments)

    assert "state hash" in run("j.db").stdout
    found = json.loads(run("j.db", "--matcher", "buckets", "--report", "r.html", "--json").stdout)
    assert found["journal"]["matcher"] == "first_come"
    assert found["what_if"]["matcher"] == "buckets"
    assert len(found["limits"]) >= 4
    assert set(found["what_if"]["parameters"]) == {"bucket", "growth_s", "range_max"}
    assert found["what_if"]["parameters_from"] == "fitted"
    assert found["same_rules"]["matches"] == found["journal"]["matches"]
    shown = run("j.db", "--matcher", "buckets").stdout
    assert "(fitted to the journal's ratings and arrivals)" in " ".join(shown.split())
    assert "the same rules" in shown
    assert shown.splitlines()[1].startswith("With buckets ")
    given = run("j.db", "--matcher", "first_come")
    assert "(default: nothing of it hangs on ratings and arrivals alone)" in " ".join(given.stdout.split())
    (tmp_path / "own.toml").write_text('[queues.duel]\nmatcher = { name = "buckets", bucket = 40 }\n')
    own = json.loads(run("j.db", "--with", "own.toml", "--json").stdout)["what_if"]
    assert (own["parameters"], own["parameters_from"]) == ({"bucket": 40}, "given")
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
