"""The matchers in a running server: players join over HTTP, are matched, and survive a crash."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenmatch.core.hashing import state_hash
from evenmatch.recovery import recover
from evenmatch.storage.sqlite import SqliteJournal

from .conftest import MakeServer
from .harness import Server, eventually

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = (ROOT / "examples" / "queues.toml").read_text()

EVERY_S = {"epgc": "0.5", "ladder": "45", "buckets": "0.25"}


def queue(name: str, matcher: str, teams: int, size: int, every_s: float = 0.02) -> str:
    return (
        f"[queues.{name}]\nformat = {{ teams = {teams}, size = {size} }}\nmatcher = {{ {matcher} }}\n"
        f"wave = {{ every_s = {every_s} }}\nticket = {{ expires_s = 600, heartbeat_s = 600 }}\n\n"
    )


QUEUES = (
    queue("epgc", 'name = "epgc", lobby_size = 3', 1, 3)
    + queue("ladder", 'name = "ladder", maps = ["Eclipse", "Radiance"], region_servers = { eu = { us = "nyc" } }', 2, 1)
    + queue("buckets", 'name = "buckets", bucket = 25, growth_s = 1', 2, 1)
    + queue("pairs", 'name = "buckets", bucket = 25', 2, 2)
    + queue("lom", 'name = "lom", session_size = 3', 1, 3)
    + queue("moods", 'name = "lom", session_size = 2, features = [{ name = "mood", kind = "categorical" }]', 1, 2)
    + queue("cinder", 'name = "cinder", lcap = 0, ucap = 3000', 2, 2)
    + queue("slow", 'name = "ladder", maps = ["Eclipse"]', 2, 1, every_s=600)
    + queue("even", 'name = "even"', 2, 1)
    + queue("fours", 'name = "even"', 2, 2)
    + queue("misses", 'name = "ladder"', 2, 1, every_s=0.2)
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all; each test has its own queue or takes its players away."""
    made = Server(tmp_path_factory.mktemp("live"), QUEUES)
    try:
        yield made.start()
    finally:
        made.close()


def join(server: Server, queue: str, *players: dict[str, Any]) -> str:
    return str(server.join(queue, players=list(players))["id"])


def match_of(server: Server, *tickets: str) -> dict[str, Any]:
    """The one match of these tickets."""
    matches = [server.when(ticket, "matched")["match"] for ticket in tickets]
    assert all(match == matches[0] for match in matches)
    found: dict[str, Any] = matches[0]
    assert server.http.get(f"/v1/matches/{found['id']}").json()["match"] == found
    return found


def test_the_example_queues_have_the_waves_of_the_documents() -> None:
    for name in ("epgc", "ladder", "buckets", "lom", "cinder"):
        (section,) = re.findall(rf"\[queues\.{name}\](.*?)(?=\n\[|\Z)", EXAMPLES, re.DOTALL)
        assert f'name = "{name}"' in section
        if name in EVERY_S:
            assert f"every_s = {EVERY_S[name]} " in section


def test_the_example_queues_open(make_server: MakeServer) -> None:
    server = make_server(EXAMPLES)
    opened = {one["name"]: one["spec"]["matcher"]["name"] for one in server.http.get("/v1/queues").json()["queues"]}
    assert {"epgc", "ladder", "buckets", "lom", "cinder"} <= set(opened)
    ann = join(server, "buckets", {"id": "ann", "rating": 1500})
    ben = join(server, "buckets", {"id": "ben", "rating": 1505})
    assert match_of(server, ann, ben)["details"] == {"distance": 0}


def test_epgc(server: Server) -> None:
    tickets = [join(server, "epgc", {"id": f"e{n}", "rating": 1600, "ping_ms": 20 + n}) for n in range(3)]
    match = match_of(server, *tickets)
    assert sorted(match["teams"][0]["players"]) == ["e0", "e1", "e2"]
    assert match["details"]["tier"] == "Gold"
    assert match["details"]["weight"] == -match["cost"]
    assert match["quality"] is None


def test_ladder(server: Server) -> None:
    ann = {"id": "l-ann", "ratings": {"bw": 1500}, "region": "eu", "vetoed_maps": ["Eclipse"]}
    ben = {"id": "l-ben", "ratings": {"sc2": 1530.5}, "region": "us"}
    first = join(server, "ladder", ann)
    seen = server.ticket(first)["players"]
    assert seen == [{"rating": 1500.0, "ping_ms": None, **ann}]
    second = join(server, "ladder", ben)
    match = match_of(server, first, second)
    details = match["details"]
    assert details["sides"] == {"bw": first, "sc2": second}
    assert (details["gap"], details["map"], details["server"]) == (30.5, "Radiance", "nyc")
    assert re.fullmatch(r"scevo(0[1-9]|10)", details["channel"])
    assert match["cost"] == 30.5**2
    assert 0 < match["quality"] < 1
    told = {party["id"]: party["players"] for team in match["teams"] for party in team["tickets"]}
    assert told[first] == seen


def test_even(server: Server) -> None:
    ann = join(server, "even", {"id": "v-ann", "rating": 1500, "profile": {"sigma": 60}})
    cat = join(server, "even", {"id": "v-cat", "rating": 1900})
    ben = join(server, "even", {"id": "v-ben", "rating": 1540})
    match = match_of(server, ann, ben)
    assert match["details"]["gap"] == 40
    assert match["details"]["terms"]["spread"] == 0.1
    assert match["cost"] > 0
    why = server.http.get(f"/v1/tickets/{cat}/why").json()["why"]
    assert why["reason"] in ("no_opponent_in_window", "too_few_players")
    assert server.http.delete(f"/v1/tickets/{cat}").status_code == 204


def test_even_with_parties(server: Server) -> None:
    tickets = [
        join(server, "fours", {"id": "f-ann", "rating": 1500}, {"id": "f-ben", "rating": 1520}),
        join(server, "fours", {"id": "f-cat", "rating": 1500}),
        join(server, "fours", {"id": "f-dan", "rating": 1520}),
    ]
    match = match_of(server, *tickets)
    assert sorted(match["teams"][0]["players"] + match["teams"][1]["players"]) == ["f-ann", "f-ben", "f-cat", "f-dan"]
    assert match["details"]["terms"]["imbalance"] == 0


def test_buckets_grow_together_while_players_wait(server: Server) -> None:
    first = join(server, "buckets", {"id": "b-ann", "rating": 1000})
    second = join(server, "buckets", {"id": "b-ben", "rating": 1025})
    match = match_of(server, first, second)
    assert (match["details"], match["cost"]) == ({"distance": 1}, 1)
    assert server.ticket(first)["waited_ms"] >= 1_000, "one step of growth"


def test_buckets_of_parties(server: Server) -> None:
    first = join(server, "pairs", {"id": "p1"}, {"id": "p2"})
    second = join(server, "pairs", {"id": "p3"}, {"id": "p4"})
    assert match_of(server, first, second)["details"] == {"distance": 0}


def test_lom(server: Server) -> None:
    tickets = [join(server, "lom", {"id": f"s{n}", "rating": 1500 + n, "ping_ms": 20}) for n in range(3)]
    match = match_of(server, *tickets)
    assert match["details"]["leader"] in tickets
    assert match["details"]["weight"] == match["cost"]


def test_lom_by_a_category(server: Server) -> None:
    tickets = [join(server, "moods", {"id": f"m{n}", "profile": {"mood": "calm"}}) for n in range(2)]
    assert match_of(server, *tickets)["cost"] == 0


def test_cinder(server: Server) -> None:
    teams = [[{"id": f"c{team}{n}", "rating": 1400 + 100 * n} for n in range(2)] for team in range(2)]
    tickets = [join(server, "cinder", *team) for team in teams]
    match = match_of(server, *tickets)
    assert match["details"] == {"overlap": 1, "sanction": 0}
    assert sorted(sorted(team["players"]) for team in match["teams"]) == [["c00", "c01"], ["c10", "c11"]]


def test_misses_of_the_ladder_count_waves(server: Server) -> None:
    first = join(server, "misses", {"id": "w1", "ratings": {"bw": 1500}})
    second = join(server, "misses", {"id": "w2", "ratings": {"sc2": 1590}})
    match = match_of(server, first, second)
    assert server.ticket(first)["misses"] >= 1, "90 apart: the window of 75 grows by 25 a miss"
    assert match["details"]["gap"] == 90


PLAYER = {"id": "refused"}


@pytest.mark.parametrize(
    ("name", "players", "code"),
    [
        ("epgc", [PLAYER | {"ping_ms": 5}, {"id": "r2", "ping_ms": 5}], "party_unsupported"),
        ("lom", [PLAYER | {"ping_ms": 5}, {"id": "r2", "ping_ms": 5}], "party_unsupported"),
        ("pairs", [PLAYER], "party_unsupported"),
        ("cinder", [PLAYER], "party_unsupported"),
        ("ladder", [PLAYER, {"id": "r2"}], "party_unsupported"),
        ("epgc", [PLAYER], "missing_fact"),
        ("ladder", [PLAYER], "missing_fact"),
        ("ladder", [PLAYER | {"ratings": {"zerg": 1}}], "missing_fact"),
        ("moods", [PLAYER], "missing_fact"),
        ("ladder", [PLAYER | {"ratings": {"bw": 2e6}}], "bad_fact"),
        ("moods", [PLAYER | {"profile": {"mood": 5}}], "bad_fact"),
    ],
)
def test_refusals_at_the_door(server: Server, name: str, players: list[dict[str, Any]], code: str) -> None:
    answer = server.try_join(name, players=players)
    assert answer.status_code == 422, answer.text
    assert code in answer.text
    assert server.waiting(name) == 0


def test_facts_traits_and_details_survive_a_crash(make_server: MakeServer) -> None:
    server = make_server(QUEUES, EVENMATCH_CHECKPOINT_DEBT="3")
    ann = {"id": "ann", "ratings": {"bw": 1500}, "region": "eu", "vetoed_maps": ["Eclipse"]}
    done = [
        join(server, "ladder", ann),
        join(server, "ladder", {"id": "ben", "ratings": {"sc2": 1510}, "region": "us"}),
    ]
    match = match_of(server, *done)
    waits = [join(server, "slow", ann | {"id": f"w{n}"}) for n in range(5)]
    waits.append(join(server, "moods", {"id": "m", "profile": {"mood": "calm"}}))
    waits.append(join(server, "cinder", {"id": "x", "rating": 1400}, {"id": "y", "rating": 1500}))
    before = {ticket: server.ticket(ticket) for ticket in (*done, *waits)}
    server.kill()
    hashes = []
    for _ in range(2):
        with_journal = SqliteJournal(server.db)
        hashes.append(state_hash(recover(with_journal)))
        with_journal.close()
    assert hashes[0] == hashes[1]
    assert server.verify()
    server.start()
    for ticket, old in before.items():
        found = server.ticket(ticket)
        for key in ("status", "players", "match", "queue", "joined_ms"):
            assert found[key] == old[key]
    assert match_of(server, *done) == match
    again = join(server, "moods", {"id": "n", "profile": {"mood": "calm"}})
    assert match_of(server, waits[5], again)["cost"] == 0, "what was kept is matched by"
    eventually(lambda: server.waiting("moods") == 0)
    server.stop()
    assert server.verify()
