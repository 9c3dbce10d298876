"""`bench waves` runs, and its JSON has everything that its documentation names."""

import json

import pytest

from evenmatch.bench.waves import PHASES, matchers_of, measure, sizes_of
from evenmatch.cli import app
from evenmatch.errors import MatcherError, TicketError

NUMBERS = {"matches", "events", "journal_bytes", "checkpoint_ms", "bytes_per_ticket"}


def test_a_small_run_tells_everything(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        app(["bench", "waves", "--matchers", "buckets,epgc", "--sizes", "120", "--repeats", "2", "--json"])
    assert not done.value.code
    found = json.loads(capsys.readouterr().out)
    assert (found["repeats"], len(found["cases"])) == (2, 2)
    for case in found["cases"]:
        assert case["waiting"] == 120
        assert set(case) == {"matcher", "waiting", "load", "joins"} | NUMBERS | {f"{phase}_ms" for phase in PHASES}
        assert case["matches"] > 0
        assert all(set(case[f"{phase}_ms"]) == {"p50", "p99"} for phase in PHASES)
        assert set(case["joins"]) == {"count", "refused", "p50_ms", "p99_ms", "most_ms"}
        assert case["joins"]["count"] > 0
        assert case["joins"]["refused"] == 0


def test_a_case_that_fails_says_so_and_stops_nobody() -> None:
    (case,) = measure(["first_come"], [10], repeats=0)["cases"]
    assert set(case) == {"matcher", "waiting", "load", "failed"}


def test_sizes_and_names_are_read_with_care() -> None:
    assert sizes_of("1_000, 20,") == [1000, 20]
    assert matchers_of("buckets, lom") == ["buckets", "lom"]
    for wrong in ("1", "x", "-5", "1e6"):
        with pytest.raises(TicketError, match="number of tickets"):
            sizes_of(wrong)
    with pytest.raises(MatcherError, match="no matcher is called"):
        matchers_of("bucket")
