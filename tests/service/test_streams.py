"""Server-sent events, over real HTTP: the same story as over a WebSocket, resumed, bounded, and a heartbeat."""

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from .conftest import MakeServer
from .harness import PATIENCE_S, Server, eventually, queue

QUEUES = (
    queue("duel")
    + queue("idle", size=50)
    + queue("beat", size=50, heartbeat_s=1.5)
    + queue("lapse", timeout_s=1.0)
    + "cooldown = { lost_s = 7, lapse_s = 70 }\n"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that need none of their own."""
    made = Server(tmp_path_factory.mktemp("streams"), QUEUES)
    try:
        yield made.start()
    finally:
        made.close()


class Events:
    """One open stream, event by event."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines = answer.iter_lines()

    def next(self) -> dict[str, Any] | None:
        """The next event, its three fields held against each other; None = the stream has ended."""
        fields: dict[str, str] = {}
        for line in self._lines:
            if line.startswith((":", "retry:")):
                continue
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                message: dict[str, Any] = json.loads(fields["data"])
                assert (fields["id"], fields["event"]) == (str(message["sequence"]), message["type"])
                return message
        return None

    def rest(self) -> list[dict[str, Any]]:
        """Everything up to the end."""
        return list(iter(self.next, None))


@contextlib.contextmanager
def stream(server: Server, ticket: str, query: str = "", **headers: str) -> Iterator[Events]:
    """A ticket's stream."""
    headers = {"Accept": "text/event-stream"} | {name.replace("_", "-"): value for name, value in headers.items()}
    with httpx.stream(
        "GET", f"{server.url}/v1/tickets/{ticket}/events{query}", headers=headers, timeout=PATIENCE_S
    ) as answer:
        yield Events(answer)


def test_a_stream_tells_the_same_story_as_a_websocket(server: Server) -> None:
    ann, ben = server.join("duel", "s-ann"), server.join("duel", "s-ben")
    with stream(server, ann["id"]) as events:
        assert events.answer.status_code == 200
        assert events.answer.headers["content-type"] == "text/event-stream"
        assert events.answer.headers["cache-control"] == "no-store"
        heard = [events.next(), events.next()]
        assert heard[1] is not None
        for player in ("s-ann", "s-ben"):
            assert server.respond(heard[1]["proposal"]["id"], player).status_code == 200
        heard += events.rest()
    assert heard == server.story(ann["id"])
    assert [message["type"] for message in heard if message] == [
        "queued",
        "proposed",
        "accepted",
        "accepted",
        "matched",
    ]
    assert server.ticket(ben["id"])["status"] == "matched"


def test_a_stream_goes_on_where_the_client_left_off(server: Server) -> None:
    ticket = server.join("idle", "s-resume")["id"]
    with stream(server, ticket) as events:
        queued = events.next()
    assert queued is not None
    last = str(queued["sequence"])
    with stream(server, ticket, f"?after={last}") as by_query, stream(server, ticket, Last_Event_ID=last) as by_header:
        assert server.http.delete(f"/v1/tickets/{ticket}").status_code == 204
        (cancelled,) = by_query.rest()
        assert by_header.rest() == [cancelled]
    assert cancelled["type"] == "cancelled"
    # `after` goes before the header, and an EventSource that has heard everything is told to stop.
    with stream(server, ticket, "?after=0", Last_Event_ID=str(cancelled["sequence"])) as events:
        assert events.rest() == [queued, cancelled]
    with stream(server, ticket, Last_Event_ID=str(cancelled["sequence"])) as events:
        assert (events.answer.status_code, events.answer.read()) == (204, b"")


def test_what_cannot_be_followed_is_refused_before_anything_is_told(server: Server) -> None:
    ticket = server.join("idle", "s-refused")["id"]
    for after in ("", "x", "-1", "1.5", "9" * 19):
        for query, headers in ((f"?after={after}", {}), ("", {"Last-Event-ID": after})):
            answer = server.http.get(f"/v1/tickets/{ticket}/events{query}", headers=headers)
            assert (answer.status_code, answer.json()["reason"]) == (400, "malformed"), (query, headers)
            assert "whole number" in answer.json()["detail"]
    for name in ("t-999999999999", "nonsense"):
        answer = server.http.get(f"/v1/tickets/{name}/events")
        assert (answer.status_code, answer.json()["reason"]) == (404, "unknown_ticket")
    assert server.http.head(f"/v1/tickets/{ticket}/events").status_code == 200
    assert server.http.post(f"/v1/tickets/{ticket}/events").status_code == 405
    server.http.delete(f"/v1/tickets/{ticket}")


def test_an_open_stream_is_a_heartbeat(server: Server) -> None:
    ticket = server.join("beat", "s-beat")["id"]
    with stream(server, ticket) as events:
        events.next()
        eventually(lambda: server.ticket(ticket)["waited_ms"] > 3_200)
        assert server.ticket(ticket)["status"] == "waiting"
    assert server.when(ticket, "expired")["cause"] == "unheard"


def test_a_stream_that_its_client_closes_is_lost_contact(server: Server) -> None:
    ann, ben = server.join("lapse", "l-ann"), server.join("lapse", "l-ben")
    with stream(server, ben["id"]) as events:
        events.next()
        proposed = events.next()
    assert proposed is not None
    assert server.respond(proposed["proposal"]["id"], "l-ann").status_code == 200
    assert server.when(ben["id"], "cancelled")["cause"] == "lost"
    server.http.delete(f"/v1/tickets/{ann['id']}")


def test_a_stop_ends_streams_at_once(make_server: MakeServer) -> None:
    server = make_server(queue("idle", size=9))
    ticket = server.join("idle", "ann")["id"]
    with stream(server, ticket) as events:
        assert events.next() is not None
        started = time.monotonic()
        server.stop()
        assert events.rest() == []
        assert time.monotonic() - started < 9  # uvicorn would have waited 10 s for the stream to end by itself
    assert "Traceback" not in server.log.read_text()


def test_a_stream_can_be_opened_by_hand(server: Server) -> None:
    """Byte by byte, with a client that leaves in the middle of its request and one that never reads."""
    ticket = server.join("idle", "s-raw")["id"]
    host, port = server.url.removeprefix("http://").split(":")
    for request in (b"GET /v1/tic", f"GET /v1/tickets/{ticket}/events HTTP/1.1\r\nhost: x\r\n\r\n".encode()):
        with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as raw:
            raw.sendall(request)
    with stream(server, ticket) as events:
        assert events.next() is not None
        assert server.http.delete(f"/v1/tickets/{ticket}").status_code == 204
        assert [message["type"] for message in events.rest()] == ["cancelled"]
