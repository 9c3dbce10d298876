"""What somebody stumbled over who had never seen the page: stale modes, links that lead nowhere, words that mislead."""

from pathlib import Path
from typing import Any

from ..service.callers import key_in
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


SPREAD = """() => [...document.querySelectorAll(".folded")].map((inner) => {
  const rows = [...inner.querySelectorAll("tbody tr")].filter((row) => row.cells.length > 1 && row.checkVisibility());
  const of = (row) => [...row.cells].map((cell) => Math.round(cell.getBoundingClientRect().left));
  return [inner.getAttribute("aria-label"), new Set(rows.map((row) => of(row).join())).size];
})"""
"""Folded tables, and how many different ways their cards put their cells side by side."""


def test_cards_of_one_table_have_their_cells_in_the_same_places(tmp_path: Path, browser: Any) -> None:
    key_in(tmp_path, "backend")
    operator = key_in(tmp_path, "operator")
    server = Server(tmp_path, queue("duel", timeout_s=None) + queue("quiet", size=100)).start()
    try:
        server.sign_in(operator)
        made = [server.join("duel", name)["id"] for name in ("ann", "ben")]
        server.when(made[1], "matched")
        gone = server.join("quiet", "ann")["id"]
        server.http.delete(f"/v1/tickets/{gone}")
        server.join("quiet", "ann")
        rules = server.http.get("/v1/queues/duel/versions").json()["versions"][0]["rules"]
        for every_s, why in ((0.5, ""), (0.7, "because it was far too quick for all who came")):
            server.http.put("/v1/queues/duel/spec", json=rules | {"wave": {"every_s": every_s}}, params={"why": why})
        server.http.put("/v1/queues/duel/mode", json={"mode": "paused"})
        with tab(browser, "phone") as page:
            page.page.add_init_script(f"sessionStorage.setItem('evenmatch.key', {operator!r})")
            for view, words in (("queue/duel/operate", "Rules, version 3"), ("player/ann", "Last tickets")):
                page.open(server.url, view)
                page.sees(words)
                page.drawn()
                found = dict(page.settled(SPREAD))
                page.shoot(f"cards-{view.partition('/')[0]}")
                assert found
                assert set(found.values()) == {1}, found
                assert page.page.evaluate(CONTRAST) == []
    finally:
        server.close()


def test_what_was_meant_is_asked_and_what_no_path_can_hold_is_nobody(tmp_path: Path, browser: Any) -> None:
    key_in(tmp_path, "backend")
    operator = key_in(tmp_path, "operator")
    server = Server(tmp_path, queue("duel", size=5)).start()
    try:
        server.sign_in(operator)
        ticket = server.join("duel", "ann")["id"]
        with tab(browser, expects="404") as page:
            page.page.add_init_script(f"sessionStorage.setItem('evenmatch.key', {operator!r})")
            page.open(server.url, "")
            assert "m-…" in page.page.get_attribute("#find-id", "placeholder")
            page.page.fill("#find-id", "1")
            page.page.keyboard.press("Enter")
            page.sees("There is no player called 1. Ticket t-1 or match m-1 may be meant.")
            page.page.click(f"main a[href*='{ticket}']")
            page.sees("Its story")
            page.open(server.url, "queue/duel/operate")
            page.sees("Rules, version 1")
            for field, words in (("lift", "player"), ("cancel-ticket", "ticket"), ("cancel-match", "match")):
                page.page.fill(f"#{field}", "<b>x</b>")
                page.page.press(f"#{field}", "Enter")
                page.sees(f"Not done: There is no such {words}.")
    finally:
        server.close()


def test_a_view_that_is_opened_while_the_server_is_away_says_that_it_will_be_read(tmp_path: Path, browser: Any) -> None:
    server = Server(tmp_path, queue("duel", size=5)).start()
    port = server.url.rpartition(":")[2]
    server.arguments[server.arguments.index("--port") + 1] = port
    try:
        ticket = server.join("duel", "ann")["id"]
        with tab(browser, expects="ERR_") as page:
            page.open(server.url, "nowhere")
            page.page.wait_for_selector("#link[data-state=live]")
            server.stop()
            page.page.wait_for_selector("#link[data-state=lost]")
            for view in (f"ticket/{ticket}", "player/ann", "queue/duel/waves", "queue/duel"):
                page.page.evaluate("view => { location.hash = `#/${view}`; }", view)
                page.page.wait_for_selector("main p:has-text('This is read as soon as it does.')")
            page.page.evaluate("view => { location.hash = `#/${view}`; }", f"ticket/{ticket}")
            server.start()
            page.sees("Its story")
    finally:
        server.close()


def test_evenness_has_one_name_and_lobbies_have_none_and_waits_are_called_so(tmp_path: Path, browser: Any) -> None:
    lobby = queue("lobby", teams=1, size=2, timeout_s=None)
    server = Server(tmp_path, queue("quick", timeout_s=None) + lobby).start()
    try:
        for name in ("quick", "lobby"):
            pair = [server.join(name, f"{player}-{name}")["id"] for player in ("ann", "ben")]
            server.when(pair[1], "matched")
        with tab(browser) as page:
            page.open(server.url, "")
            page.sees("at 100 % nobody can tell who wins")
            names = "all => all.map((one) => one.innerText.includes('mean evenness'))"
            assert page.page.eval_on_selector_all("a.card", names) == [False, True]
            for view in ("", "queue/quick", f"queue/quick/wave/{first_wave(server, 'quick')}", "queue/quick/waves"):
                page.open(server.url, view)
                page.sees("mean evenness")
            page.open(server.url, "queue/quick")
            page.sees("wait, half within, last")
            page.sees("wait, 9 in 10 within, last")
            page.open(server.url, f"queue/lobby/wave/{first_wave(server, 'lobby')}")
            page.sees("lobby")
            page.sees("Cost counts squared points")
            assert "evenness" not in page.page.inner_text("main")
    finally:
        server.close()


def test_a_past_wave_of_many_who_came_just_now_is_columns(tmp_path: Path, browser: Any) -> None:
    server = Server(tmp_path, queue("big", size=100, timeout_s=None)).start()
    try:
        tickets = [{"players": [{"id": f"p{at}", "rating": 1000 + at}]} for at in range(600)]
        assert server.http.post("/v1/queues/big/tickets:batch", json={"tickets": tickets}).status_code == 200
        wave = first_wave(server, "big")
        with tab(browser) as page:
            page.open(server.url, f"queue/big/wave/{wave}")
            page.sees("All have waited about as long, so up is how many of that rating wait.")
            page.sees("a column: tickets within")
            page.drawn()
            page.shoot("wave-columns")
    finally:
        server.close()
