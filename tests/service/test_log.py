"""The log: a line a happening, with fields; nothing that a caller sends forges one, and nobody waits for it."""

import io
import json
import logging
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from evenmatch.domain import events as ev
from evenmatch.service.chronicle import MOST, Chronicle
from evenmatch.service.log_lines import Form, Lines, _Foreign, line_of

from .callers import bearer, key_in
from .harness import Server, evenmatch, queue

HOSTILE = 'x"\n{"level":"error"}\r\n2026-01-01 error forged\u2028\u0085\x1b[2J'


def lines(server: Server) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.log.read_text().splitlines()]


def played(folder: Path, *options: str) -> Server:
    """A server that was played on, and stopped."""
    key, backend = key_in(folder, "operator"), key_in(folder, "backend")
    server = Server(folder, queue("duel") + queue("quick", timeout_s=None))
    server.arguments += options
    server.start()
    try:
        server.sign_in(backend)
        first, second = server.join("duel", "ann")["id"], server.join("duel", "ben")["id"]
        proposal = server.when(first, "proposed")["proposal"]["id"]
        for player in ("ann", "ben"):
            assert server.respond(proposal, player).status_code == 200
        server.when(second, "matched")
        tickets = [server.join("duel", player)["id"] for player in ("cat", "dan")]
        again = server.when(tickets[0], "proposed")["proposal"]["id"]
        assert server.respond(again, "cat", "decline").status_code == 200
        quick = [server.join("quick", player)["id"] for player in ("eve", "fay")]
        server.when(quick[0], "matched")
        assert server.http.get(f"/v1/players/{HOSTILE.encode().hex()}").status_code == 404
        assert server.try_join(quote(HOSTILE), "gus").status_code == 404
        body = {"why": HOSTILE}
        cancelled = server.http.post(f"/v1/tickets/{tickets[1]}/cancel", json=body, headers=bearer(key))
        assert cancelled.status_code == 204, cancelled.text
        server.stop()
    finally:
        server.close()
    return server


def test_every_happening_has_a_line_with_its_fields(tmp_path: Path) -> None:
    told = lines(played(tmp_path, "--log", "json", "--log-level", "debug"))
    assert all({"timestamp", "level", "event"} <= set(line) for line in told)
    found = {line["event"]: line for line in told}
    assert found["join"]["level"] == found["proposal"]["level"] == found["refused"]["level"] == "debug"
    assert (found["wave"]["level"], found["wave"]["proposals"]) == ("info", 1)
    made = [line for line in told if line["event"] == "match made"]
    assert [(line["queue"], line["match"], len(line["tickets"])) for line in made] == [
        ("duel", "m-000000000001", 2),
        ("quick", "m-000000000003", 2),
    ]
    assert made[1]["wave"] > 0
    failed = found["ready check failed"]
    assert (failed["cause"], failed["blamed"], failed["requeued"]) == ("declined", ["t-000000000003"], 1)
    assert {"ticket": "t-000000000004", "cause": "operator"}.items() <= found["gone"].items()
    assert (found["operator"]["action"], found["operator"]["detail"]) == ("cancel_ticket", HOSTILE)
    refused = [line for line in told if line["event"] == "refused"]
    assert [line["reason"] for line in refused] == ["unknown_player", "unknown_queue"]
    assert "player" not in refused[0]
    assert "forged" in refused[1]["queue"]
    written = json.dumps(told)
    assert not any(f'"{name}"' in written for name in ("ann", "ben", "cat", "eve")), "no names"


def test_the_level_says_what_is_written_and_text_is_a_line_each(tmp_path: Path) -> None:
    server = played(tmp_path, "--log", "text")
    text = server.log.read_text()
    assert text.isascii()
    assert "\x1b" not in text
    rows = text.splitlines()
    assert all(row[:4].isdigit() and row[10] == "T" for row in rows), rows
    words = [" ".join(row.split()[1:3]) for row in rows]
    assert "info wave" in words
    assert any(row.split(" ", 2)[1:] and "match made" in row and "match=m-000000000001" in row for row in rows)
    assert not any("debug" in row.split()[1] for row in rows)
    assert any("operator" in row and r"\n" in row for row in rows)


def test_a_mistaken_choice_is_refused(tmp_path: Path) -> None:
    done = evenmatch("serve", "--log", "xml", cwd=tmp_path)
    assert done.returncode != 0
    done = evenmatch("serve", env={"EVENMATCH_LOG_LEVEL": "loud"}, cwd=tmp_path)
    assert (done.returncode, "use debug or info or warning or error" in done.stderr) == (2, True)


@pytest.mark.parametrize("form", ["json", "text"])
def test_nothing_breaks_out_of_its_line(form: Form) -> None:
    line = line_of(form, "now", "info", HOSTILE, {"why": HOSTILE, HOSTILE: 1, "list": [HOSTILE]})
    assert line.isascii()
    assert line.isprintable()
    if form == "json":
        assert json.loads(line)["why"] == HOSTILE


@pytest.mark.parametrize("form", ["json", "text"])
def test_what_python_logs_itself_is_a_line_too(form: Form) -> None:
    stream = io.StringIO()
    try:
        raise ValueError(HOSTILE)
    except ValueError as error:
        caught = (type(error), error, error.__traceback__)
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, HOSTILE, (), caught)
    _Foreign(Lines(stream, form, "info")).emit(record)
    assert len(stream.getvalue().splitlines()) == 1
    assert "Traceback" in stream.getvalue()


def test_a_log_that_nobody_reads_holds_nobody_up_and_says_what_it_lost() -> None:
    go_on = threading.Event()

    class Stuck(io.StringIO):
        def write(self, text: str) -> int:
            assert go_on.wait(60)
            return super().write(text)

    stream = Stuck()
    chronicle = Chronicle(Lines(stream, "json", "info"))
    event = ev.OperatorActed(1_000, "ann", "cancel_ticket", "t-000000000001")
    for sequence in range(5_000):
        chronicle.committed(sequence, [event])  # returns though nothing can be written
    go_on.set()
    chronicle.close()
    told = [json.loads(line) for line in stream.getvalue().splitlines()]
    lost = sum(line["commits"] for line in told if line["event"] == "log too slow")
    assert lost > 0
    assert lost + sum(line["event"] == "operator" for line in told) == 5_000


def test_a_large_event_has_a_bounded_number_of_lines_and_secrets_have_none() -> None:
    stream = io.StringIO()
    chronicle = Chronicle(Lines(stream, "json", "debug"))
    many = np.arange(1, MOST + 501)
    none = np.empty(0, np.int64)
    chronicle.committed(1, [ev.TicketsGone(0, "duel", 1, many, np.zeros_like(many))])
    chronicle.committed(2, [ev.ServerAllocated(0, "duel", 1, "203.0.113.7", 1, "hush", 1, none, none)])
    chronicle.close()
    told = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert len(told) == MOST + 2
    assert told[MOST]["count"] == 500
    assert (told[-1]["event"], told[-1]["match"]) == ("game server", "m-000000000001")
    assert "hush" not in stream.getvalue()
