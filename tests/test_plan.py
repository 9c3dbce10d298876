"""`evenmatch plan`: one wave over a file, with no server: its JSON, its table, and every mistake a user can make."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from evenmatch import cli, planning
from evenmatch import tickets as ticket_files
from evenmatch.errors import MatcherError, TicketError
from tests.service.harness import evenmatch

ROOT = Path(__file__).parent.parent
SAMPLE = [  # Table I of the epgc document
    {"id": f"P{number}", "rating": rating, "ping_ms": ping, "waited_s": waited}
    for number, rating, ping, waited in [
        (1, 1620, 22, 180),
        (2, 1580, 18, 240),
        (3, 1700, 30, 120),
        (4, 1650, 85, 300),
        (5, 1560, 25, 200),
        (6, 850, 20, 90),
        (7, 2100, 15, 150),
        (8, 1590, 28, 160),
    ]
]
KEYS = ["matcher", "parameters", "seed", "matches", "unmatched", "details", "trace", "elapsed_ms"]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process: status, standard output, standard error."""

    def run(*arguments: str, stdin: str | None = None) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["evenmatch", *arguments])
        monkeypatch.setenv("COLUMNS", "200")
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        try:
            cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1 if end.code else 0
        else:
            code = 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def file(tmp_path: Path) -> Callable[[Any], str]:
    """Writes tickets to a file: text as it is, anything else as JSON."""

    def file(content: Any, name: str = "tickets") -> str:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return file


File = Callable[..., str]


def plan(run: Run, *arguments: str, stdin: str | None = None) -> dict[str, Any]:
    code, out, err = run("plan", "--json", *arguments, stdin=stdin)
    assert (code, err) == (0, ""), err
    found: dict[str, Any] = json.loads(out)
    assert list(found) == KEYS
    assert found["elapsed_ms"] >= 0
    for match in found["matches"]:
        assert list(match) == ["teams", "cost", "quality", "details"]
    for waiting in found["unmatched"]:
        assert list(waiting) == ["ticket", "reason", "detail"]
    assert {"bound", "optimality_gap"} <= set(found["details"])
    return found


# -- what the five make of their documents' examples -------------------------------------------------------------------


def test_epgc_makes_the_documents_lobby(run: Run, file: File) -> None:
    found = plan(run, "--matcher", "epgc", "--param", "lobby_size=4", "--tickets", file(SAMPLE), "--trace")
    assert found["matcher"] == "epgc"
    assert found["parameters"] == {
        "lobby_size": 4,
        "alpha": 1.5,
        "beta": 0.5,
        "boundaries": [1000, 1500, 2000, 2500],
    }
    assert found["seed"] == 0
    assert found["matches"] == [
        {
            "teams": [["P5", "P2", "P1", "P8"]],
            "cost": -470.5,
            "quality": None,
            "details": {"tier": "Gold", "weight": 470.5},
        }
    ]
    assert {one["ticket"] for one in found["unmatched"]} == {"P3", "P4", "P6", "P7"}
    assert {one["reason"] for one in found["unmatched"]} == {"tier_too_small"}
    scores = [step["scores"] for step in found["trace"]]
    assert scores[0] == {"P1": 284.0, "P2": 300.0, "P3": 177.0, "P4": -3.0, "P5": 313.0, "P8": 263.0}
    assert [max(step.values()) for step in scores[1:]] == [89.5, 169.5, 211.5]
    assert [step["P4"] for step in scores[1:]] == [10.0, 29.5, 25.0]
    assert [step["added"] for step in found["trace"]] == ["P5", "P2", "P1", "P8"]


def test_without_a_trace_none_is_told(run: Run, file: File) -> None:
    found = plan(run, "--matcher", "epgc", "--param", "lobby_size=4", "--tickets", file(SAMPLE))
    assert found["trace"] == []


LADDER: list[dict[str, Any]] = [
    {"id": "ann", "ratings": {"bw": 1500}, "vetoed_maps": ["Radiance"], "region": "eu", "misses": 1},
    {"id": "ben", "ratings": {"sc2": 1530}, "vetoed_maps": ["Polypoid"], "region": "us"},
]


def test_ladder_tells_sides_gap_map_server_and_channel(run: Run, file: File) -> None:
    found = plan(
        run,
        *("--matcher", "ladder", "--tickets", file(LADDER), "--param", "maps=Radiance,Polypoid,Eclipse"),
        *("--param", 'region_servers={eu={us="atlantic"}}', "--param", "active_population=6"),
    )
    (match,) = found["matches"]
    assert match["cost"] == 900
    assert 0 < match["quality"] < 1
    assert match["details"] == {
        "sides": {"bw": "ann", "sc2": "ben"},
        "gap": 30,
        "score": 880,
        "map": "Eclipse",
        "server": "atlantic",
        "channel": "scevo01",
    }
    assert sorted(match["teams"]) == [["ann"], ["ben"]]
    assert found["unmatched"] == []
    assert set(found["details"]) > {"bound", "optimality_gap"}
    assert found["details"]["bound"] is None


def test_ladder_optimal_proves_its_plan(run: Run, file: File) -> None:
    found = plan(run, "--matcher", "ladder", "--param", "solver=optimal", "--tickets", file(LADDER))
    assert found["details"]["optimality_gap"] == 0
    assert found["details"]["bound"] == 900
    assert len(found["matches"]) == 1


def test_buckets_follow_the_documents_cycles(run: Run, file: File) -> None:
    def at(seconds: int) -> dict[str, Any]:
        tickets = [
            {"id": "Pawn20", "rating": 20, "waited_s": seconds},
            {"id": "Grunt17", "rating": 17, "waited_s": seconds - 20},
        ]
        return plan(run, "--matcher", "buckets", "--tickets", file(tickets))

    assert at(60)["matches"] == []
    assert {one["reason"] for one in at(60)["unmatched"]} == {"nobody_in_range"}
    (match,) = at(80)["matches"]
    assert match["teams"] == [["Pawn20"], ["Grunt17"]]
    assert (match["cost"], match["details"]) == (3, {"distance": 3})
    assert 0 < match["quality"] <= 1


def test_buckets_match_parties_of_equal_size(run: Run, file: File) -> None:
    def party(name: str, rating: float) -> dict[str, Any]:
        return {"id": name, "players": [{"id": f"{name}{place}", "rating": rating} for place in range(2)]}

    tickets = [party("a", 100), party("b", 100)]
    found = plan(run, "--matcher", "buckets", "--format", "2x2", "--tickets", file(tickets))
    assert [match["teams"] for match in found["matches"]] == [[["a"], ["b"]]]


@pytest.mark.parametrize("name", ["lom", "m2l", "l2m", "random"])
def test_sessions_name_their_leader_and_weight(run: Run, file: File, name: str) -> None:
    found = plan(run, "--matcher", name, "--param", "session_size=3", "--tickets", file(SAMPLE), "--seed", "7")
    assert found["seed"] == 7
    assert len(found["matches"]) == 2
    for match in found["matches"]:
        (team,) = match["teams"]
        assert len(team) == 3
        assert set(match["details"]) == {"leader", "weight"}
        assert match["details"]["leader"] == team[0]
        assert match["details"]["weight"] == match["cost"]
        assert match["quality"] is None
    assert len(found["unmatched"]) == 2
    if name == "lom":
        assert found["details"]["optimality_gap"] == 0
        assert found["details"]["bound"] == pytest.approx(sum(match["cost"] for match in found["matches"]))
    again = plan(run, "--matcher", name, "--param", "session_size=3", "--tickets", file(SAMPLE[::-1]), "--seed", "7")
    assert again["matches"] == found["matches"]


def test_cinder_tells_overlap_and_sanction(run: Run, file: File) -> None:
    teams = {"even": [12000, 13000, 14000, 15100, 16000], "wide": [2000, 5000, 9000, 20000, 29000]}
    tickets = [
        {"id": name, "players": [{"id": f"{name}{place}", "rating": rating} for place, rating in enumerate(ratings)]}
        for name, ratings in teams.items()
    ]
    given = ["lcap=0", "ucap=30000", "w_min=150", "overlap_min=0.1", "sanction_max=40"]
    parameters = [word for one in given for word in ("--param", one)]
    found = plan(run, "--matcher", "cinder", "--format", "2x5", "--tickets", file(tickets), *parameters)
    (match,) = found["matches"]
    assert match["cost"] == 38
    assert match["details"] == {"overlap": pytest.approx(0.142035, abs=1e-6), "sanction": 38}
    assert match["teams"] == [["even"], ["wide"]]


# -- where tickets come from -------------------------------------------------------------------------------------------


CSV = "id,rating,ping_ms,waited_s\n" + "".join(
    f"{one['id']},{one['rating']},{one['ping_ms']},{one['waited_s']}\n" for one in SAMPLE
)


@pytest.mark.parametrize("as_csv", [True, False])
def test_a_file_and_standard_input_in_either_form_give_the_same_plan(run: Run, file: File, as_csv: bool) -> None:
    text = CSV if as_csv else json.dumps(SAMPLE)
    arguments = ("--matcher", "epgc", "--param", "lobby_size=4", "--tickets")
    from_file = plan(run, *arguments, file("\ufeff" + text))
    from_input = plan(run, *arguments, "-", stdin=text)
    assert from_file["matches"] == from_input["matches"]
    assert from_file["matches"][0]["teams"] == [["P5", "P2", "P1", "P8"]]


def test_rows_of_a_csv_with_one_ticket_are_a_party(run: Run, file: File) -> None:
    rows = "ticket,id,rating,waited_s,profile.mode,ratings.bw,region,vetoed_maps,roles\n"
    rows += "duo,a,1500,5,fast,1,eu,x|y,healer\nduo,b,1500,5,slow,,,,\n,c,1500,,,,,,\n,d,1500,,2,,,,\n"
    found = plan(run, "--matcher", "first_come", "--format", "2x2", "--tickets", file(rows))
    (match,) = found["matches"]
    assert sorted(map(sorted, match["teams"])) == [["c", "d"], ["duo"]]
    assert match["quality"] == 1


def test_waits_and_misses_that_are_left_out_are_nothing(run: Run, file: File) -> None:
    left_out = plan(run, "--matcher", "ladder", "--tickets", file([{"id": "a", "ratings": {"bw": 1}}]))
    written = plan(
        run, "--matcher", "ladder", "--tickets", file([{"id": "a", "ratings": {"bw": 1}, "waited_s": 0, "misses": 0}])
    )
    assert {**left_out, "elapsed_ms": 0} == {**written, "elapsed_ms": 0}


def test_no_tickets_make_no_matches(run: Run, file: File) -> None:
    for name in ("epgc", "ladder", "buckets", "lom", "cinder", "first_come", "exact", "random", "m2l", "l2m"):
        found = plan(run, "--matcher", name, "--tickets", file([]))
        assert (found["matches"], found["unmatched"]) == ([], [])


def test_a_queue_of_a_config_brings_matcher_format_and_parameters(run: Run, file: File, tmp_path: Path) -> None:
    config = tmp_path / "queues.toml"
    config.write_text(
        '[queues.four]\nformat = { teams = 1, size = 4 }\nmatcher = { name = "epgc", lobby_size = 4, alpha = 1.5 }\n'
    )
    found = plan(run, "--queue", f"{config}:four", "--tickets", file(SAMPLE))
    assert found["matches"][0]["teams"] == [["P5", "P2", "P1", "P8"]]
    assert plan(run, "--queue", f"{config}:four", "--format", "1x4", "--tickets", file(SAMPLE))["matches"]
    wrong = [
        ((f"{config}:for",), "'for'"),
        ((str(config),), "FILE:QUEUE"),
        ((f"{tmp_path}/none.toml:four",), "none.toml"),
        ((f"{config}:four", "--format", "2x2"), "2x2"),
        ((f"{config}:four", "--matcher", "lom"), "--matcher"),
        ((f"{config}:four", "--param", "alpha=1"), "--param"),
    ]
    for arguments, named in wrong:
        code, out, err = run("plan", "--tickets", file(SAMPLE), "--queue", *arguments)
        assert (code, out) == (2, "")
        assert named in err


@pytest.mark.parametrize("name", ["epgc", "ladder", "buckets", "lom", "cinder"])
def test_the_example_queues_can_be_planned_with(run: Run, file: File, name: str) -> None:
    found = plan(run, "--queue", f"{ROOT / 'examples' / 'queues.toml'}:{name}", "--tickets", file([]))
    assert found["matcher"] == name


@pytest.mark.parametrize("name", ["duel", "team5", "roles5", "ffa8", "royale100", "sides"])
def test_the_presets_of_even_can_be_planned_with(run: Run, file: File, name: str) -> None:
    players = [
        {"id": f"p{n}", "rating": 1500 + n, "ratings": {"attack": 1500 + n, "defence": 1500 - n}} for n in range(101)
    ]
    found = plan(run, "--queue", f"{ROOT / 'examples' / 'queues.toml'}:{name}", "--tickets", file(players))
    assert found["matcher"] == "even"
    assert found["details"]["seats"] == found["details"]["seats_bound"]
    assert len(found["unmatched"]) < 10


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("boundaries=[1000, 2000]", [1000, 2000]),
        ("boundaries=1000,1500.5", [1000, 1500.5]),
        ("alpha=2", 2),
        ("alpha=1e-1", 0.1),
    ],
)
def test_a_parameter_is_a_toml_value_or_a_list(run: Run, file: File, given: str, read: object) -> None:
    found = plan(run, "--matcher", "epgc", "--param", given, "--tickets", file([]))
    assert found["parameters"][given.partition("=")[0]] == read


@pytest.mark.parametrize(
    ("given", "read"),
    [("sides=terran,zerg", ["terran", "zerg"]), ('sides=["a", "b"]', ["a", "b"]), ("maps=x,y", ["x", "y"])],
)
def test_a_parameter_may_be_a_list_of_bare_strings(run: Run, file: File, given: str, read: object) -> None:
    found = plan(run, "--matcher", "ladder", "--param", given, "--tickets", file([]))
    assert found["parameters"][given.partition("=")[0]] == read


def test_a_parameter_may_be_a_bare_string(run: Run, file: File) -> None:
    for given in ("look=below", 'look="below"'):
        assert plan(run, "--matcher", "buckets", "--param", given, "--tickets", file([]))["parameters"]["look"] == (
            "below"
        )
    assert plan(run, "--matcher", "buckets", "--param", "range_max=20%", "--tickets", file([]))["parameters"][
        "range_max"
    ] == ("20%")


# -- for people --------------------------------------------------------------------------------------------------------


def test_the_table_shows_matches_and_who_waits_on(run: Run, file: File) -> None:
    code, out, err = run("plan", "--matcher", "epgc", "--param", "lobby_size=4", "--tickets", file(SAMPLE), "--trace")
    assert (code, err) == (0, "")
    for word in ("P5, P2, P1, P8", "-470.5", "Gold", "tier_too_small", "1 match,", "4 tickets seated", "scores="):
        assert word in out
    code, out, _ = run("plan", "--matcher", "ladder", "--tickets", file([LADDER[0] | {"id": "[bold]x"}, LADDER[1]]))
    assert code == 0
    assert "[bold]x" in out, "ids are never markup"


# -- bad input ---------------------------------------------------------------------------------------------------------


def ticket(**fields: Any) -> list[dict[str, Any]]:
    """Six players of whom the fourth has these fields."""
    made = [{"id": f"t{n}", "rating": 1500, "ping_ms": 20, "ratings": {"bw": 1500}} for n in range(6)]
    return [*made[:3], made[3] | fields, *made[4:]]


BAD: list[tuple[str, tuple[str, ...], Any, tuple[str, ...]]] = [
    ("epgc", ("lobby_size=0",), SAMPLE, ("lobby_size",)),
    ("epgc", ("lobby_size=true",), SAMPLE, ("lobby_size",)),
    ("epgc", ("lobby_size=four",), SAMPLE, ("lobby_size", "four")),
    ("epgc", ("beta=-0.5",), SAMPLE, ("beta",)),
    ("epgc", ("alpha=nan",), SAMPLE, ("alpha",)),
    ("epgc", ("boundaries=1500,1000",), SAMPLE, ("boundaries", "1500", "1000")),
    ("epgc", ("loby_size=4",), SAMPLE, ("loby_size", "lobby_size")),
    ("epgc", ("lobby_size",), SAMPLE, ("--param", "lobby_size")),
    ("epgc", (), ticket(ping_ms=None), ("t3", "ping")),
    ("epgc", (), ticket(ping_ms=-1), ("t3", "ping_ms")),
    ("epgc", (), ticket(rating=2e6), ("t3", "rating")),
    ("epgc", (), ticket(rating="high"), ("t3", "rating")),
    ("epgc", (), ticket(waited_s=-1), ("t3", "waited_s")),
    ("epgc", (), ticket(misses=-1), ("t3", "misses")),
    ("epgc", (), ticket(misses=1.5), ("t3", "misses")),
    ("epgc", (), ticket(waited_s=float("nan")), ("t3", "waited_s")),
    ("epgc", (), ticket(rating=float("nan")), ("t3", "rating")),
    ("epgc", (), ticket(ping_ms=float("inf")), ("t3", "ping_ms")),
    ("epgc", (), ticket(id="t1"), ("t1", "twice")),
    ("epgc", (), ticket(id=None), ("[3]", "id")),
    ("epgc", (), ticket(raiting=5), ("t3", "raiting")),
    ("epgc", (), ticket(players=[]), ("rating",)),
    ("epgc", (), [{"id": "x", "players": []}], ("x", "players")),
    ("epgc", (), [{"id": "x", "players": [{"id": "a"}, {"id": "a"}]}], ("x", "twice")),
    ("epgc", (), [{"id": "x", "players": [{"id": "a", "ping_ms": 1}, {"id": "b", "ping_ms": 1}]}], ("x",)),
    ("epgc", (), [{"rating": 5}], ("[0]", "id")),
    ("epgc", (), [5], ("[0]",)),
    ("epgc", (), {"id": "x"}, ("array",)),
    ("epgc", (), "", ("empty",)),
    ("epgc", (), " \n", ("empty",)),
    ("epgc", (), "[{]", ("JSON",)),
    ("epgc", (), "[" * 100_000, ("nested",)),
    ("epgc", (), "rating,ping_ms\n1,2\n", ("`id`",)),
    ("epgc", (), "id,rating\na,1500\n", ("a", "ping")),
    ("epgc", (), "id,rating,png\na,1500,2\n", ("png",)),
    ("epgc", (), "id,rating,rating\na,1500,2\n", ("rating", "twice")),
    ("epgc", (), "id,rating,ping_ms\n", ("no tickets",)),
    ("epgc", (), "id,rating,ping_ms\na,1500\n", ("line 2",)),
    ("epgc", (), "id,rating,ping_ms\na,1500,1,2\n", ("line 2",)),
    ("epgc", (), "id,rating,ping_ms\na,high,1\n", ("line 2", "rating", "high")),
    ("epgc", (), "id,rating,ping_ms\na,nan,1\n", ("'a'", "rating")),
    ("epgc", (), "id,rating,ping_ms\na,1,1\na,1,1\n", ("line 3", "'a'", "twice")),
    ("epgc", (), "ticket,id,ping_ms\n,a,1\na,b,1\n", ("line 3", "'a'", "twice")),
    ("epgc", (), "id,ping_ms,waited_s\na,1,-5\n", ("'a'", "waited_s")),
    ("epgc", (), "id,ping_ms,misses\na,1,0.5\n", ("line 2", "misses")),
    ("epgc", (), "id,ping_ms\n,1\n", ("line 2", "id")),
    ("epgc", (), "id,ping_ms\na," + "1" * 200_000 + "\n", ("CSV",)),
    ("first_come", (), "ticket,id,waited_s\nx,a,1\nx,b,2\n", ("line 3", "waited_s", "'x'")),
    ("ladder", (), SAMPLE, ("ratings.bw", "ratings.sc2")),
    ("ladder", ("sides=bw",), LADDER, ("sides",)),
    ("ladder", ("window_of=led",), LADDER, ("window_of", "'lead'")),
    ("ladder", ("window_of=lead", "solver=optimal"), LADDER, ("window_of",)),
    ("ladder", ("active_population=-1",), LADDER, ("active_population",)),
    ("buckets", ("growth_s=0",), SAMPLE, ("growth_s",)),
    ("buckets", ("range_max=wide",), SAMPLE, ("range_max", "wide")),
    ("lom", ("session_size=0",), SAMPLE, ("session_size",)),
    ("lom", ("leaders=frist",), SAMPLE, ("leaders", "'first'")),
    ("lom", ('features=[{name="ragn"}]',), SAMPLE, ("ragn",)),
    ("cinder", ("n_bucket=30", "w_min=200"), SAMPLE, ("n_bucket", "w_min")),
    ("cinder", ("mode=bets",), SAMPLE, ("mode", "'best'")),
    ("epcg", (), SAMPLE, ("epcg", "'epgc'")),
]


@pytest.mark.parametrize(("name", "parameters", "content", "named"), BAD)
@pytest.mark.parametrize("form", ["--json", "--trace"])
def test_bad_input_is_named_on_standard_error(
    run: Run, file: File, name: str, parameters: tuple[str, ...], content: Any, named: tuple[str, ...], form: str
) -> None:
    given = [word for one in parameters for word in ("--param", one)]
    code, out, err = run("plan", form, "--matcher", name, "--tickets", file(content), *given)
    assert (code, out) == (2, ""), out
    for word in named:
        assert word in err
    assert "Traceback" not in err
    assert len(err.splitlines()) == 1, "one clear line"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--matcher", "epgc", "--format", "2x5"), "2x5"),
        (("--matcher", "lom", "--format", "1x5"), "1x5"),
        (("--matcher", "ladder", "--format", "2x5"), "2x5"),
        (("--format", "2"), "'2'"),
        (("--format", "1x1"), "'1x1'"),
        (("--format", "0x5"), "'0x5'"),
        (("--format", "999x999"), "'999x999'"),
        (("--seed", "-1"), "seed"),
        (("--seed", "x"), "seed"),
        (("--tickets", "/no/such/file"), "/no/such/file"),
        (("--tickets", "/"), "/"),
        (("--bogus",), "--bogus"),
    ],
)
def test_bad_arguments_are_named(run: Run, file: File, arguments: tuple[str, ...], named: str) -> None:
    tickets = () if "--tickets" in arguments else ("--tickets", file(SAMPLE))
    code, out, err = run("plan", "--json", *tickets, *arguments)
    assert (code, out) == (2, "")
    assert named in err
    assert "Traceback" not in err


def test_what_is_not_text_is_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "tickets"
    path.write_bytes(b"id,rating\n\xff\xfe,1\n")
    code, out, err = run("plan", "--tickets", str(path))
    assert (code, out) == (2, "")
    assert "UTF-8" in err


def test_the_real_command_ends_with_status_2_and_one_line(tmp_path: Path) -> None:
    path = tmp_path / "tickets.json"
    path.write_text(json.dumps(ticket(waited_s=-1)))
    done = evenmatch("plan", "--matcher", "epgc", "--tickets", str(path), "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("evenmatch: ")
    assert "t3" in done.stderr
    path.write_text(json.dumps(SAMPLE))
    done = evenmatch("plan", "--matcher", "epgc", "--param", "lobby_size=4", "--tickets", str(path), "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["matches"][0]["cost"] == -470.5


def test_a_reader_that_goes_away_is_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "tickets.json"
    path.write_text(json.dumps([{"id": f"t{number}"} for number in range(5_000)]))
    command = f"{sys.executable} -m evenmatch plan --json --tickets {path} | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr


def test_a_player_is_in_one_ticket_only_and_an_id_is_not_empty() -> None:
    twice = [{"id": "a", "players": [{"id": "zoe"}]}, {"id": "b", "players": [{"id": "zoe"}]}]
    with pytest.raises(TicketError, match="'zoe' is in two tickets"):
        planning.plan(twice)
    with pytest.raises(TicketError, match="empty id"):
        planning.plan([{"id": ""}])


def test_plan_asks_what_the_door_of_a_live_queue_asks() -> None:
    with pytest.raises(MatcherError, match=r"ticket 'b'.* brings no ratings.bw or ratings.sc2"):
        planning.plan([{"id": "a", "ratings": {"bw": 5}}, {"id": "b"}], "ladder")
    with pytest.raises(MatcherError, match=r"ticket 'a'.* brings no ping_ms"):
        planning.plan([{"id": "a"}, {"id": "b"}], "lom", session_size=2)


def test_who_waits_is_told_in_canonical_order_whatever_the_order_of_the_file() -> None:
    tickets = [{"id": name, "waited_s": wait} for name, wait in (("c", 1), ("a", 1), ("b", 9))]
    told = [
        [one.ticket for one in planning.plan(order, "exact", format="2x5").unmatched]
        for order in (tickets, tickets[::-1])
    ]
    assert told == [["b", "a", "c"]] * 2


def test_threads_come_from_the_environment_and_nonsense_is_named(
    run: Run, file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENMATCH_THREADS", "many")
    code, _, err = run("plan", "--tickets", file(SAMPLE))
    assert code == 2
    assert "EVENMATCH_THREADS" in err


def test_even_tells_terms_bound_and_gap_in_words(run: Run, file: Callable[..., str]) -> None:
    status, said, _ = run("plan", "--matcher", "even", "--param", "window=80", "--tickets", file(SAMPLE), "--trace")
    assert status == 0
    assert said.startswith("even(window=80, others as by default), seed 0")
    assert "spread 0.05, imbalance 0.00661, distribution 0.05, latency 0.05" in said
    assert "role 0" not in said
    assert "% since its players differ in rating" in said
    assert "\n6 players are seated, and no plan could seat more. The matches cost 0.8383 in all, and no plan" in said
    _, said, _ = run("plan", "--matcher", "even", "--tickets", file(SAMPLE))
    assert said.startswith("even(all parameters as by default), seed 0")


AVOIDING = [
    {"id": "a", "rating": 1500, "avoid": ["b"]},
    {"id": "b", "rating": 1500, "waited_s": 50},
    {"id": "c", "players": [{"id": "c1", "rating": 1590, "avoid": ["nobody", "b"]}], "waited_s": 10},
]


@pytest.mark.parametrize("matcher", ["even", "first_come", "exact"])
def test_who_avoids_a_player_is_in_no_match_with_that_players_ticket(run: Run, file: File, matcher: str) -> None:
    found = planning.plan(AVOIDING, matcher, format="2x1")
    assert [sorted(chain(*match.teams)) for match in found.matches] == [["a", "c"]]
    rows = "id,rating,waited_s,avoid\na,1500,0,b\nb,1500,50,\nc,1590,10,nobody|b\n"
    status, shown, _ = run("plan", "--matcher", matcher, "--tickets", file(rows, "t.csv"), "--json")
    assert status == 0
    assert [sorted(chain(*match["teams"])) for match in json.loads(shown)["matches"]] == [["a", "c"]]


def test_latencies_of_tickets_count_and_are_capped() -> None:
    tickets = [
        {"id": "near", "rating": 1500, "latencies": {"eu": 20, "us": 110}},
        {"id": "far", "rating": 1500, "latencies": {"eu": 130, "us": 30}},
        {"id": "mid", "rating": 1590, "latencies": {"eu": 40, "us": 40}},
    ]
    found = planning.plan(tickets, "even", format="2x1")
    assert found.matches[0].details["terms"]["latency"] in (pytest.approx(0.08), pytest.approx(0.22))
    capped = planning.plan(tickets, "even", format="2x1", latency_cap_ms=50)
    assert "mid" in set(chain(*capped.matches[0].teams))
    rows = "id,rating,latencies.eu,latencies.us\nnear,1500,20,110\nfar,1500,130,30\n"
    from_csv = planning.plan(ticket_files.read(rows, "t.csv"), "even", format="2x1", latency_cap_ms=50)
    assert not from_csv.matches
    assert {one.reason for one in from_csv.unmatched} == {"too_far"}


@pytest.mark.parametrize(
    ("ticket", "words"),
    [
        ({"id": "a", "raiting": 1500}, "the field 'raiting' is not known: did you mean 'rating'?"),
        ({"id": "a", "players": [{"id": "a", "pings": 5}]}, "players[0]: the field 'pings' is not known: did you mean"),
        ({"id": "a", "xyz": 5}, "use id, players, waited_s, misses, avoid, rating"),
        ({"id": "a", "latencies": {"eu": -1}}, "latencies.eu of 'a' is -1.0: use 0 to"),
        ({"id": "a", "avoid": ["a"]}, "avoids 'a', who is in the same party"),
    ],
)
def test_what_a_ticket_can_not_say_is_told_with_what_it_can(ticket: dict[str, Any], words: str) -> None:
    with pytest.raises(TicketError) as caught:
        planning.plan([ticket], "even")
    assert words in str(caught.value)


def test_roles_are_readable_and_ids_cannot_steer_the_terminal(run: Run, file: Callable[..., str]) -> None:
    tickets = [
        {"id": "\x1b[31mred", "rating": 1500, "roles": ["healer"]},
        {"id": "blue", "rating": 1500, "roles": ["tank"]},
        {"id": "left\u202e", "rating": 2900},
    ]
    status, said, _ = run(
        *("plan", "--format", "1x2", "--param", "roles={tank=1,healer=1}", "--tickets", file(tickets), "--trace")
    )
    assert status == 0
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "\\x1b[31mred" in said
    assert "blue: tank" in said
    assert "{'ticket'" not in said
