"""The whole way of a ticket, over real HTTP and WebSockets against a real server process."""

import concurrent.futures
import json
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from .conftest import MakeServer
from .harness import PATIENCE_S, Server, evenmatch, eventually, queue

QUEUES = (
    queue("duel")
    + queue("decline")
    + queue("leave")
    + queue("lapse", timeout_s=1.5)
    + queue("team2", size=2)
    + queue("instant", timeout_s=None)
    + queue("builds", require_equal=("build", "platform"), timeout_s=None)
    + queue("beat", heartbeat_s=1.5)
    + queue("brief", expires_s=0.3)
    + queue("other")
    + queue("runs", timeout_s=None, runs_s=2.0)
    + queue("idle", teams=2, size=50)
    + queue("trio", teams=3, timeout_s=None)
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that need none of their own; each test has its own queue."""
    made = Server(tmp_path_factory.mktemp("shared"), QUEUES)
    try:
        yield made.start()
    finally:
        made.close()


def pair(server: Server, name: str, one: str = "ann", two: str = "ben") -> tuple[dict[str, Any], dict[str, Any], str]:
    """Two tickets that have been proposed to each other, and the proposal."""
    first, second = server.join(name, f"{name}-{one}"), server.join(name, f"{name}-{two}")
    proposal = server.when(first["id"], "proposed")["proposal"]["id"]
    return first, second, proposal


# -- from joining to a match -------------------------------------------------------------------------------------------


def test_two_players_join_accept_and_get_their_match_over_websockets(server: Server) -> None:
    ann = server.join("duel", "ann", players=[{"id": "ann", "rating": 1520, "ping_ms": 31}])
    assert ann["status"] == "waiting"
    assert (ann["waited_ms"], ann["misses"], ann["queue"]) == (0, 0, "duel")
    with server.listen(ann["id"]) as hears_ann:
        assert hears_ann.until("queued")["ticket"] == ann["id"]
        ben = server.join("duel", "ben", players=[{"id": "ben", "rating": 1480}])
        with server.listen(ben["id"]) as hears_ben:
            proposal = hears_ann.until("proposed")["proposal"]
            assert hears_ben.until("proposed")["proposal"]["id"] == proposal["id"]
            assert proposal["timeout_ms"] == 60_000
            seen = server.ticket(ann["id"])
            assert seen["status"] == "proposed"
            known = {"id": proposal["id"], "deadline_ms": proposal["deadline_ms"], "pending": 2}
            assert {name: seen["proposal"][name] for name in known} == known
            assert seen["proposal"].keys() == {*known, "cost"}

            answer = server.respond(proposal["id"], "ann")
            assert answer.status_code == 200
            assert answer.json() == {"proposal": proposal["id"], "player": "ann", "answer": "accepted"}
            for listener in (hears_ann, hears_ben):
                accepted = listener.until("accepted")
                assert (accepted["player"], accepted["pending"]) == ("ann", 1)
            assert server.ticket(ben["id"])["proposal"]["pending"] == 1
            assert server.respond(proposal["id"], "ben").status_code == 200
            matched = hears_ann.until("matched")["match"]
            assert hears_ben.until("matched")["match"] == matched
            for listener in (hears_ann, hears_ben):
                assert listener.next() is None
                assert listener.code == 1000
                assert listener.types == ["queued", "proposed", "accepted", "accepted", "matched"]
                sequences = [message["sequence"] for message in listener.heard]
                assert sequences == sorted(set(sequences))

    match = server.http.get(f"/v1/matches/{matched['id']}").json()["match"]
    assert match == matched
    assert match["queue"] == "duel"
    assert sorted(team["players"] for team in match["teams"]) == [["ann"], ["ben"]]
    assert 0 <= match["quality"] <= 1
    found = server.ticket(ann["id"])
    assert (found["status"], found["match"], found["proposal"]) == ("matched", match, None)
    assert found["players"] == [{"id": "ann", "rating": 1520.0, "ping_ms": 31.0}]


def test_a_matched_player_may_join_again_at_once(server: Server) -> None:
    first, _, proposal = pair(server, "duel", "again1", "again2")
    for player in ("duel-again1", "duel-again2"):
        server.respond(proposal, player)
    server.when(first["id"], "matched")
    again = server.join("duel", "duel-again1")
    assert again["id"] != first["id"]
    assert server.http.delete(f"/v1/tickets/{again['id']}").status_code == 204


def test_a_queue_without_a_ready_check_matches_at_once(server: Server) -> None:
    ann, ben = server.join("instant", "i-ann"), server.join("instant", "i-ben")
    for ticket in (ann, ben):
        assert [message["type"] for message in server.story(ticket["id"])] == ["queued", "matched"]
    match = server.ticket(ann["id"])["match"]
    assert server.ticket(ben["id"])["match"] == match
    number = match["id"].removeprefix("m-")
    refused = server.respond(f"p-{number}", "i-ann")
    assert refused.status_code == 409


def test_parties_stay_whole_and_the_format_is_kept(server: Server) -> None:
    duo = server.join("team2", "t-a", "t-b")
    single, other = server.join("team2", "t-c"), server.join("team2", "t-d")
    proposal = server.when(duo["id"], "proposed")["proposal"]
    assert proposal["pending"] == 4
    for player in ("t-a", "t-b", "t-c", "t-d"):
        assert server.respond(proposal["id"], player).status_code == 200
    match = server.when(single["id"], "matched")["match"]
    assert sorted(sorted(team["players"]) for team in match["teams"]) == [["t-a", "t-b"], ["t-c", "t-d"]]
    parties = [[ticket["id"] for ticket in team["tickets"]] for team in match["teams"]]
    assert sorted(parties, key=len) == [[duo["id"]], sorted([single["id"], other["id"]])]


def test_three_teams_are_a_format_too(server: Server) -> None:
    tickets = [server.join("trio", f"trio-{number}") for number in range(3)]
    match = server.when(tickets[0]["id"], "matched")["match"]
    assert len(match["teams"]) == 3


def test_tickets_meet_only_their_equals_where_the_queue_says_so(server: Server) -> None:
    def join(player: str, build: str, platform: str) -> str:
        attributes = {"build": build, "platform": platform, "mood": player}
        return str(server.join("builds", player, attributes=attributes)["id"])

    lone, pc = join("b-lone", "1.0", "console"), join("b-pc", "1.0", "pc")
    old = join("b-old", "0.9", "pc")
    mate = join("b-mate", "1.0", "pc")
    match = server.when(pc, "matched")["match"]
    assert {ticket["id"] for team in match["teams"] for ticket in team["tickets"]} == {pc, mate}
    assert server.ticket(pc)["attributes"] == {"build": "1.0", "platform": "pc", "mood": "b-pc"}
    for ticket in (lone, old):
        found = eventually(lambda ticket=ticket: (t := server.ticket(ticket))["reason"] and t, "a reason")  # type: ignore[misc]
        assert (found["status"], found["reason"]) == ("waiting", "too_few_players")
        assert server.http.delete(f"/v1/tickets/{ticket}").status_code == 204


# -- the ready check that fails ----------------------------------------------------------------------------------------


def test_a_decline_cancels_the_decliner_and_requeues_the_other_with_the_wait_kept(server: Server) -> None:
    ann, ben, proposal = pair(server, "decline")
    before = server.ticket(ann["id"])
    with server.listen(ann["id"]) as listener:
        listener.until("proposed")
        answer = server.respond(proposal, "decline-ben", "decline")
        assert answer.status_code == 200
        assert answer.json()["answer"] == "declined"
        requeued = listener.until("requeued")
        assert requeued["cause"] == "declined"
        after = server.ticket(ann["id"])
    assert after["status"] == "waiting"
    assert after["joined_ms"] == before["joined_ms"]
    assert after["waited_ms"] >= before["waited_ms"]
    assert after["misses"] >= before["misses"]
    gone = server.ticket(ben["id"])
    assert (gone["status"], gone["cause"], gone["proposal"]) == ("cancelled", "declined", None)
    assert [message["type"] for message in server.story(ben["id"])] == ["queued", "proposed", "cancelled"]
    # The one who came back goes before a newcomer's equals and is proposed again, to somebody else.
    newcomer = server.join("decline", "decline-cat")
    again = server.when(ann["id"], "proposed")["proposal"]["id"]
    assert again == server.when(newcomer["id"], "proposed")["proposal"]["id"] != proposal
    over = server.respond(proposal, "decline-ann")
    assert (over.status_code, over.json()["reason"]) == (410, "proposal_over")
    server.respond(again, "decline-ann", "decline")
    server.http.delete(f"/v1/tickets/{newcomer['id']}")


def test_the_clock_of_a_ticket_stands_still_while_it_is_proposed(server: Server) -> None:
    ann, ben, proposal = pair(server, "decline", "still1", "still2")
    before = server.ticket(ann["id"])["waited_ms"]
    ages = [server.ticket(ann["id"])["waited_ms"] for _ in range(50)]
    assert set(ages) == {before}
    server.respond(proposal, "decline-still2", "decline")
    first = server.http.delete(f"/v1/tickets/{ann['id']}")
    assert first.status_code == 204
    assert server.ticket(ben["id"])["waited_ms"] <= server.ticket(ann["id"])["waited_ms"] + 60_000


def test_leaving_while_proposed_is_a_decline(server: Server) -> None:
    ann, ben, _ = pair(server, "leave")
    assert server.http.delete(f"/v1/tickets/{ben['id']}").status_code == 204
    assert server.ticket(ben["id"])["cause"] == "declined"
    assert server.ticket(ann["id"])["status"] == "waiting"
    assert server.http.delete(f"/v1/tickets/{ann['id']}").status_code == 204


def test_one_decline_takes_the_whole_party_out(server: Server) -> None:
    duo, other = server.join("team2", "w-a", "w-b"), server.join("team2", "w-c", "w-d")
    proposal = server.when(duo["id"], "proposed")["proposal"]["id"]
    assert server.respond(proposal, "w-a").status_code == 200
    assert server.respond(proposal, "w-b", "decline").status_code == 200
    assert server.ticket(duo["id"])["status"] == "cancelled"
    assert server.ticket(other["id"])["status"] == "waiting"
    server.http.delete(f"/v1/tickets/{other['id']}")


def test_a_lapse_blames_the_silent_and_an_accept_afterwards_is_gone(server: Server) -> None:
    ann, ben, proposal = pair(server, "lapse")
    assert server.respond(proposal, "lapse-ann").status_code == 200
    with server.listen(ann["id"]) as listener:
        assert listener.until("requeued")["cause"] == "lapsed"
    assert server.story(ben["id"])[-1] | {"sequence": 0, "at_ms": 0} == {
        "sequence": 0,
        "type": "cancelled",
        "ticket": ben["id"],
        "queue": "lapse",
        "at_ms": 0,
        "cause": "lapsed",
    }
    late = server.respond(proposal, "lapse-ben")
    assert (late.status_code, late.json()["reason"]) == (410, "proposal_over")
    assert proposal in late.json()["detail"]
    found = server.ticket(ann["id"])
    assert (found["status"], found["joined_ms"]) == ("waiting", ann["joined_ms"])
    server.http.delete(f"/v1/tickets/{ann['id']}")


def test_leaving_ends_the_story(server: Server) -> None:
    ticket = server.join("leave", "leaver")["id"]
    with server.listen(ticket) as listener:
        assert server.http.delete(f"/v1/tickets/{ticket}").status_code == 204
        assert [message["type"] for message in listener.rest()] == ["queued", "cancelled"]
        assert listener.code == 1000
    again = server.http.delete(f"/v1/tickets/{ticket}")
    assert (again.status_code, again.json()["reason"]) == (410, "ticket_gone")
    beat = server.http.post(f"/v1/tickets/{ticket}/heartbeat")
    assert (beat.status_code, beat.json()["reason"]) == (410, "ticket_gone")


# -- vanished clients --------------------------------------------------------------------------------------------------


def test_a_vanished_client_expires_while_an_open_websocket_or_heartbeats_keep_a_ticket(server: Server) -> None:
    silent = server.join("beat", "h-silent")["id"]
    assert server.when(silent, "expired")["cause"] == "unheard"
    listened = server.join("beat", "h-socket")["id"]
    with server.listen(listened) as listener:
        listener.until("queued")
        # More than twice the queue's heartbeat_s passes, measured by the server's own clock.
        eventually(lambda: server.ticket(listened)["waited_ms"] > 3_200)
        assert server.ticket(listened)["status"] == "waiting"
    assert server.when(listened, "expired")["cause"] == "unheard"  # the socket is closed now
    assert [message["type"] for message in server.story(listened)] == ["queued", "expired"]
    beaten = server.join("beat", "h-beats")["id"]
    while server.ticket(beaten)["waited_ms"] < 3_200:
        beat = server.http.post(f"/v1/tickets/{beaten}/heartbeat")
        assert beat.status_code == 204, f"{beat.text} after {server.ticket(beaten)}"
    assert server.http.delete(f"/v1/tickets/{beaten}").status_code == 204


def test_a_ticket_that_waits_too_long_expires(server: Server) -> None:
    ticket = server.join("brief", "brief-one")["id"]
    with server.listen(ticket) as listener:
        assert listener.until("expired")["cause"] == "too_long"
    found = server.ticket(ticket)
    assert (found["status"], found["cause"]) == ("expired", "too_long")
    assert found["waited_ms"] >= 300


# -- several queues (I11) ----------------------------------------------------------------------------------------------


def test_a_proposal_suspends_the_players_other_tickets_and_its_failure_resumes_them(server: Server) -> None:
    elsewhere = server.join("idle", "x-ann")
    other = server.join("other", "x-ben")
    assert server.ticket(elsewhere["id"])["suspended"] is False
    here = server.join("other", "x-ann")
    proposal = server.when(here["id"], "proposed")["proposal"]["id"]
    suspended = server.ticket(elsewhere["id"])
    assert (suspended["status"], suspended["suspended"]) == ("waiting", True)
    assert {server.ticket(elsewhere["id"])["waited_ms"] for _ in range(20)} == {suspended["waited_ms"]}
    assert server.respond(proposal, "x-ben", "decline").status_code == 200
    resumed = server.ticket(elsewhere["id"])
    assert (resumed["status"], resumed["suspended"]) == ("waiting", False)
    assert resumed["waited_ms"] >= suspended["waited_ms"]
    assert server.ticket(other["id"])["status"] == "cancelled"
    for ticket in (elsewhere, here):
        assert server.http.delete(f"/v1/tickets/{ticket['id']}").status_code == 204


def test_a_running_match_claims_its_players_until_runs_s_has_passed(server: Server) -> None:
    ann, _ = server.join("runs", "r-ann"), server.join("runs", "r-ben")
    match = server.when(ann["id"], "matched")["match"]
    # While the match runs, a new ticket of its player is taken, but matched with nobody.
    again = server.join("instant", "r-ann")
    free = server.join("instant", "r-cat")
    assert server.ticket(again["id"])["suspended"] is True
    found = eventually(lambda: (t := server.ticket(free["id"]))["reason"] and t, "a wave")
    assert found["status"] == "waiting"
    made = server.when(again["id"], "matched")["match"]
    assert made["made_ms"] >= match["made_ms"] + 2_000
    assert server.ticket(free["id"])["match"] == made


# -- batches -----------------------------------------------------------------------------------------------------------


def test_a_batch_answers_for_each_ticket_on_its_own(server: Server) -> None:
    body = {
        "tickets": [
            {"players": [{"id": "batch-1", "rating": 1000}]},
            {"players": []},
            {"players": [{"id": "batch-1"}]},
            {"players": [{"id": "batch-2"}], "attributes": {"lang": "de"}},
            {"players": [{"id": "batch-3", "rating": "good"}]},
            {"players": [{"id": "batch-4", "ratting": 5}]},
            {"players": [{"id": ""}]},
            {"players": [{"id": f"batch-many-{number}"} for number in range(51)]},
            "nonsense",
            {"players": [{"id": "batch-5"}, {"id": "batch-5"}]},
        ]
    }
    answer = server.http.post("/v1/queues/idle/tickets:batch", json=body)
    assert answer.status_code == 200
    outcomes = answer.json()["outcomes"]
    told = [outcome["problem"]["reason"] if "problem" in outcome else "joined" for outcome in outcomes]
    assert told == [
        "joined",
        "empty_party",
        "already_waiting",
        "joined",
        "malformed",
        "malformed",
        "bad_player_id",
        "party_too_large",
        "malformed",
        "player_twice",
    ]
    for outcome in outcomes:
        if "ticket" in outcome:
            assert server.ticket(outcome["ticket"]["id"]) | {"waited_ms": 0, "reason": None} == outcome["ticket"]
            assert server.http.delete(f"/v1/tickets/{outcome['ticket']['id']}").status_code == 204
        else:
            assert outcome["problem"]["status"] in (400, 409, 422)
    assert "rating" in outcomes[4]["problem"]["detail"]
    assert "did you mean `rating`" in outcomes[5]["problem"]["detail"]


def test_a_batch_takes_a_thousand_tickets_and_not_one_more(server: Server) -> None:
    def body(count: int) -> dict[str, Any]:
        return {"tickets": [{"players": [{"id": f"thousand-{number}"}]} for number in range(count)]}

    before = server.waiting("idle")
    refused = server.http.post("/v1/queues/idle/tickets:batch", json=body(1_001))
    assert (refused.status_code, refused.json()["reason"]) == (413, "too_large")
    assert "1001" in refused.json()["detail"]
    assert server.waiting("idle") == before
    joined = server.http.post("/v1/queues/idle/tickets:batch", json=body(1_000))
    outcomes = joined.json()["outcomes"]
    assert len({outcome["ticket"]["id"] for outcome in outcomes}) == 1_000
    # Ten teams of fifty are ten matches; the proposals are made in one wave, and that is one event.
    eventually(lambda: server.ticket(outcomes[0]["ticket"]["id"])["status"] == "proposed")
    empty = server.http.post("/v1/queues/idle/tickets:batch", json={"tickets": []})
    assert (empty.status_code, empty.json()) == (200, {"outcomes": []})


# -- idempotency -------------------------------------------------------------------------------------------------------


def test_a_repeated_key_answers_as_the_first_did_byte_for_byte_also_after_a_restart(make_server: MakeServer) -> None:
    server = make_server(queue("duel", teams=2, size=9))
    path = "/v1/queues/duel/tickets"
    body = {"players": [{"id": "key-ann", "rating": 1500.5, "ping_ms": 7}], "attributes": {"lang": "de", "n": 1}}
    first = server.http.post(path, json=body, headers={"Idempotency-Key": "k1"})
    assert first.status_code == 201
    again = server.http.post(path, json=body, headers={"Idempotency-Key": "k1"})
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["location"] == first.headers["location"] == f"/v1/tickets/{first.json()['ticket']['id']}"
    batch = {"tickets": [{"players": [{"id": f"key-{n}"}]} for n in range(5)] + [{"players": []}]}
    many = server.http.post(f"{path}:batch", json=batch, headers={"Idempotency-Key": "k1"})
    assert [list(outcome) for outcome in many.json()["outcomes"]] == [["ticket"]] * 5 + [["problem"]]
    assert server.http.post(f"{path}:batch", json=batch, headers={"Idempotency-Key": "k1"}).content == many.content
    server.http.delete(f"/v1/tickets/{first.json()['ticket']['id']}")  # the key outlives its ticket
    server.kill()
    server.start()
    for _ in range(2):
        assert server.http.post(path, json=body, headers={"Idempotency-Key": "k1"}).content == first.content
        assert server.http.post(f"{path}:batch", json=batch, headers={"Idempotency-Key": "k1"}).content == many.content
        server.stop()
        server.start()
    assert server.waiting("duel") == 5

    other = body | {"attributes": {"lang": "fr"}}
    refused = server.http.post(path, json=other, headers={"Idempotency-Key": "k1"})
    assert (refused.status_code, refused.json()["reason"]) == (409, "key_reused")
    batch["tickets"][2] = {"players": [{"id": "key-another"}]}
    outcomes = server.http.post(f"{path}:batch", json=batch, headers={"Idempotency-Key": "k1"}).json()["outcomes"]
    assert [outcome["problem"]["reason"] for outcome in outcomes if "problem" in outcome] == [
        "key_reused",
        "empty_party",
    ]
    assert server.http.post(path, json=body, headers={"Idempotency-Key": "k2"}).status_code == 201


def test_many_repeats_of_one_key_at_the_same_time_make_one_ticket(server: Server) -> None:
    def join(_: int) -> str:
        return server.try_join("idle", "racer", key="race").text

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(join, range(40)))
    assert len(answers) == 1
    ticket = json.loads(answers.pop())["ticket"]["id"]
    assert server.http.delete(f"/v1/tickets/{ticket}").status_code == 204


# -- WebSockets: resuming ----------------------------------------------------------------------------------------------


def test_resuming_after_each_sequence_misses_nothing_and_repeats_nothing_also_across_a_kill(
    make_server: MakeServer,
) -> None:
    server = make_server(queue("duel"))
    ann, ben, proposal = pair(server, "duel")
    with server.listen(ann["id"]) as listener:
        listener.until("proposed")
        first = listener.heard
        server.respond(proposal, "duel-ben", "decline")
        server.kill()
        with pytest.raises(AssertionError, match="closed with None"):
            listener.until("never")
        first = listener.heard
    server.start()
    cat = server.join("duel", "duel-cat")
    with server.listen(ann["id"], after=first[-1]["sequence"]) as listener:
        second = listener.until("proposed")
        for player in ("duel-ann", "duel-cat"):
            assert server.respond(second["proposal"]["id"], player).status_code == 200
        rest = listener.rest()
    heard = first + rest
    assert [message["type"] for message in heard] == [
        *("queued", "proposed", "requeued", "proposed", "accepted", "accepted", "matched")
    ]
    assert server.story(ann["id"]) == heard
    for place, message in enumerate(heard):
        assert server.story(ann["id"], after=message["sequence"]) == heard[place + 1 :]
        assert server.story(ann["id"], after=message["sequence"] - 1) == heard[place:]
    server.kill()
    server.start()
    assert server.story(ann["id"]) == heard
    assert server.story(cat["id"])[-1]["match"] == heard[-1]["match"]
    assert [message["type"] for message in server.story(ben["id"])] == ["queued", "proposed", "cancelled"]


def test_a_story_can_be_read_long_after_the_ticket_left_the_state(make_server: MakeServer) -> None:
    server = make_server(queue("duel", timeout_s=None), EVENMATCH_KEEP_S="0")
    ann, ben = server.join("duel", "ann"), server.join("duel", "ben")
    story = server.story(ann["id"])
    match = story[-1]["match"]
    eventually(lambda: any(event["type"] == "forgotten" for event in server.events()), "forgetting")
    assert server.story(ann["id"]) == story
    assert server.ticket(ann["id"])["match"] == match == server.http.get(f"/v1/matches/{match['id']}").json()["match"]
    for answer, reason in (
        (server.http.delete(f"/v1/tickets/{ben['id']}"), "ticket_gone"),
        (server.http.post(f"/v1/tickets/{ben['id']}/heartbeat"), "ticket_gone"),
        (server.respond(f"p-{match['id'].removeprefix('m-')}", "ann"), "proposal_over"),
    ):
        assert (answer.status_code, answer.json()["reason"]) == (410, reason)


def test_sockets_close_4404_for_an_unknown_ticket_and_4400_for_a_malformed_after(server: Server) -> None:
    for name in ("t-999999999999", "t-1", "nonsense", "p-000000000001", "t-999999999999999999", "%00"):
        with server.listen(name) as listener:
            assert listener.next() is None
            assert listener.code == 4404, name
    ticket = server.join("idle", "ws-ann")["id"]
    for after in ("", "x", "-1", "1.5", "1e3", "9" * 19, "%00", "١"):
        with server.listen(ticket, after=after) as listener:
            assert listener.next() is None
            assert listener.code == 4400, after
    server.http.delete(f"/v1/tickets/{ticket}")


def test_sockets_close_4410_when_after_is_older_than_what_is_kept(make_server: MakeServer, tmp_path: Path) -> None:
    server = make_server(queue("duel", size=9), EVENMATCH_CHECKPOINT_DEBT="1")
    ticket = server.join("duel", "ann")["id"]
    with server.listen(ticket) as listener:
        queued = listener.until("queued")["sequence"]
    for _ in range(5):
        server.http.post(f"/v1/tickets/{ticket}/heartbeat")
    target = tmp_path / "archive.db"
    moved = evenmatch("journal", "archive", str(server.db), str(target))
    assert moved.returncode == 0, moved.stderr
    assert "moved" in moved.stdout
    with server.listen(ticket, after=queued - 1) as listener:
        assert listener.next() is None
        assert listener.code == 4410
    with server.listen(ticket, after=queued) as listener:  # nothing is missed from here on
        assert server.http.delete(f"/v1/tickets/{ticket}").status_code == 204
        assert [message["type"] for message in listener.rest()] == ["cancelled"]
    with server.listen(ticket) as listener:  # without after: whatever is kept
        assert [message["type"] for message in listener.rest()] == ["cancelled"]
    assert server.verify()["first_sequence"] > queued
    server.kill()
    server.start()
    assert server.ticket(ticket)["status"] == "cancelled"
    assert evenmatch("journal", "show", str(target)).returncode == 0


def test_two_sockets_of_one_ticket_hear_the_same(server: Server) -> None:
    ticket = server.join("idle", "ws-twice")["id"]
    with server.listen(ticket) as one, server.listen(ticket) as two:
        one.until("queued")
        two.until("queued")
        server.http.delete(f"/v1/tickets/{ticket}")
        assert one.rest() == two.rest()


# -- restarts ----------------------------------------------------------------------------------------------------------


def test_a_restart_shifts_deadlines_by_the_downtime(make_server: MakeServer) -> None:
    server = make_server(queue("duel", timeout_s=3.0) + queue("wait", size=9, expires_s=3.5, heartbeat_s=3.5))
    ann, ben, proposal = pair(server, "duel")
    waiting = server.join("wait", "w-ann")["id"]
    before = server.ticket(ann["id"])["proposal"]
    server.kill()
    # The server is away for longer than the ready check and the ticket would have lasted.
    stopped = before["deadline_ms"] + 800
    eventually(lambda: time.time() * 1000 > stopped)
    server.start()
    after = server.ticket(ann["id"])["proposal"]
    assert after["id"] == proposal
    assert after["deadline_ms"] >= before["deadline_ms"] + 800
    assert server.ticket(waiting)["status"] == "waiting"
    for player in ("duel-ann", "duel-ben"):
        assert server.respond(proposal, player).status_code == 200
    assert server.ticket(ben["id"])["status"] == "matched"
    assert server.when(waiting, "expired")["cause"] in ("unheard", "too_long")
    assert [event for event in server.events() if event["type"] == "resumed"]


def test_a_graceful_stop_answers_what_waits_leaves_a_checkpoint_and_starts_again_twice(make_server: MakeServer) -> None:
    server = make_server(queue("duel", size=100))

    def join(number: int) -> httpx.Response | None:
        try:
            return server.try_join("duel", f"stop-{number}")
        except httpx.TransportError:
            return None  # never sent: the server had stopped listening, or closed an idle connection

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(join, number) for number in range(150)]
        asked[40].result()
        with server.listen(asked[0].result().json()["ticket"]["id"]) as listener:  # type: ignore[union-attr]
            listener.until("queued")
            code = server.stop()
            listener.rest()
            assert listener.code in (1001, 1012)
        answers = [answer for ask in asked if (answer := ask.result()) is not None]
    assert code in (0, -signal.SIGTERM)
    statuses = {answer.status_code for answer in answers}
    assert statuses <= {201, 503}
    joined = {answer.json()["ticket"]["id"] for answer in answers if answer.status_code == 201}
    assert "Traceback" not in server.log.read_text()
    with sqlite3.connect(server.db) as db:
        saved = db.execute("SELECT max(sequence) FROM checkpoints").fetchone()[0]
        last = db.execute("SELECT max(last_sequence) FROM commits").fetchone()[0]
    db.close()
    assert saved == last
    digest = server.verify()["hash"]
    for _ in range(2):
        server.start()
        assert server.waiting("duel") >= len(joined)
        for ticket in joined:
            assert server.ticket(ticket)["status"] == "waiting"
        assert server.stop() == code
    assert server.verify()["hash"] != digest  # the restarts were journalled: deadlines moved
    assert server.verify()["checkpoints"] >= 2


def test_ctrl_c_stops_the_server_without_a_traceback(make_server: MakeServer) -> None:
    server = make_server()
    server.join("duel", "ann")
    assert server.process is not None
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(PATIENCE_S) in (0, 130, -signal.SIGINT)
    assert "Traceback" not in server.log.read_text()


def test_changed_rules_are_journalled_and_hold_after_a_restart(make_server: MakeServer) -> None:
    server = make_server(queue("duel", size=2))
    assert server.http.get("/v1/queues/duel").json()["queue"]["version"] == 1
    ticket = server.join("duel", "ann")["id"]
    server.stop()
    (server.folder / "queues.toml").write_text(queue("duel", size=1, timeout_s=None) + queue("new"))
    server.start()
    changed = server.http.get("/v1/queues/duel").json()["queue"]
    assert (changed["version"], changed["spec"]["format"]) == (2, {"teams": 2, "size": 1})
    server.join("duel", "ben")
    assert server.when(ticket, "matched")["match"]["queue"] == "duel"
    assert [found["name"] for found in server.http.get("/v1/queues").json()["queues"]] == ["duel", "new"]


# -- looking on --------------------------------------------------------------------------------------------------------


def test_a_queue_shows_who_waits_how_long_and_its_last_wave(make_server: MakeServer) -> None:
    server = make_server(queue("team2", size=2, timeout_s=None))
    empty = server.http.get("/v1/queues/team2").json()["queue"]
    assert (empty["waiting"], empty["oldest_wait_ms"], empty["last_wave"]) == (0, 0, None)
    server.join("team2", "a", "b")
    server.join("team2", "c")
    found = eventually(lambda: (q := server.http.get("/v1/queues/team2").json()["queue"])["wave"] and q)
    assert (found["waiting"], found["players_waiting"]) == (2, 3)
    assert found["oldest_wait_ms"] > 0
    server.join("team2", "d")
    wave = eventually(lambda: server.http.get("/v1/queues/team2").json()["queue"]["last_wave"])
    assert (wave["proposals"], wave["seated"], wave["waiting"], wave["dropped"]) == (1, 3, 3, 0)
    assert wave["finished_ms"] >= wave["started_ms"]
    assert server.http.get("/v1/queues").json()["queues"][0]["last_wave"] == wave


def test_health_readiness_and_metrics(server: Server) -> None:
    assert server.http.get("/healthz").json() == {"status": "ok"}
    assert server.http.get("/readyz").json() == {"status": "ready"}
    answer = server.http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    numbers = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    assert float(numbers["evenmatch_ready"]) == 1
    joined = [value for name, value in numbers.items() if name.startswith("evenmatch_tickets_joined_total{")]
    assert sum(map(float, joined)) > 0
    assert float(numbers['evenmatch_tickets_waiting{queue="duel"}']) >= 0
    assert float(numbers["evenmatch_commit_failures_total"]) == 0
    assert float(numbers['evenmatch_http_requests_total{method="POST",status="201"}']) > 0


def test_the_journal_of_all_this_verifies_and_can_be_shown(server: Server) -> None:
    found = server.verify()
    assert found["events"] > 0
    assert len(found["hash"]) == 32
    shown = evenmatch("journal", "show", str(server.db), "--limit", "3")
    assert len(shown.stdout.splitlines()) == 3
    assert "queue_opened" in shown.stdout
