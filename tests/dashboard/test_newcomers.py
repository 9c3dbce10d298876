"""What somebody stumbled over who had never seen the page: stale modes, links that lead nowhere, words that mislead."""

from pathlib import Path
from typing import Any

from ..service.harness import Server, eventually, queue
from .browser import CONTRAST, LABELS, needs_chromium, tab

pytestmark = needs_chromium


def first_wave(server: Server, name: str) -> int:
    """The first wave of a queue that is recorded."""
    waves = eventually(lambda: server.http.get(f"/v1/queues/{name}/waves").json()["waves"], "a wave")
    return int(waves[-1]["number"])


def test_a_proposal_that_became_no_match_leads_nowhere_and_says_why(tmp_path: Path, browser: Any) -> None:
    server = Server(tmp_path, queue("checked", timeout_s=600.0) + queue("quick", timeout_s=None)).start()
    try:
        tickets = [server.join("checked", name)["id"] for name in ("ann", "ben")]
        proposal = server.when(tickets[1], "proposed")["proposal"]["id"]
        made = server.when([server.join("quick", name)["id"] for name in ("cat", "dan")][1], "matched")["match"]["id"]
        with tab(browser, expects="404") as page:
            wave = first_wave(server, "checked")
            page.open(server.url, f"queue/checked/wave/{wave}")
            page.sees("awaits 2 answers")
            assert page.page.query_selector("[aria-label=Proposals] a[href*=match]") is None
            server.http.post(f"/v1/proposals/{proposal}/decline", json={"player": "ann"})
            page.sees("ann declined")
            assert page.page.query_selector("[aria-label=Proposals] a[href*=match]") is None
            page.shoot("wave-declined")
            assert page.page.evaluate(CONTRAST) == []
            assert page.page.evaluate(LABELS) == []
            page.page.fill("#find-id", f"p-{int(proposal[2:])}")
            page.page.keyboard.press("Enter")
            page.sees(f"{proposal} of checked, wave {wave}: ann declined")
            page.open(server.url, f"queue/quick/wave/{first_wave(server, 'quick')}")
            page.page.click(f"[aria-label=Proposals] a[title={made}]")
            page.sees("mean rating")
    finally:
        server.close()
