"""Operating by the dashboard: rules with a check and a diff, modes, cancelling; all confirmed and audited."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..service.callers import key_in
from ..service.harness import Server, queue
from .browser import CONTRAST, LABELS, Tab, needs_chromium, tab

pytestmark = needs_chromium

COOLED = queue("cooled", timeout_s=600.0) + "[queues.cooled.cooldown]\ndecline_s = 300\n"


@pytest.fixture
def operated(tmp_path: Path, browser: Any) -> Iterator[tuple[Server, Tab]]:
    """A guarded server, for its operator, and a page that has the operator's key."""
    key_in(tmp_path, "backend")
    operator = key_in(tmp_path, "operator")
    server = Server(
        tmp_path, queue("duel") + queue("quiet", size=100) + queue("quick", timeout_s=None, runs_s=600.0) + COOLED
    )
    server.start()
    try:
        server.sign_in(operator)
        with tab(browser, expects="Failed to load resource") as page:
            page.page.add_init_script(f"sessionStorage.setItem('evenmatch.key', {operator!r})")
            yield server, page
    finally:
        server.close()


def agree(page: Tab, verb: str, why: str = "") -> str:
    """Say yes to the question that is asked; all of it as text."""
    page.page.wait_for_selector("dialog[open]")
    asked = str(page.page.inner_text("dialog"))
    if why:
        page.page.fill("#why", why)
    page.page.click(f"dialog button:text-is('{verb}')")
    return asked


def audited(server: Server) -> list[tuple[str, str]]:
    return [(entry["action"], entry["subject"]) for entry in server.http.get("/v1/audit").json()["entries"]]


def test_operating_on_a_phone_scrolls_nothing_sideways(operated: tuple[Server, Tab]) -> None:
    server, page = operated
    server.http.put("/v1/queues/duel/mode", json={"mode": "paused", "why": "the game is being patched, until noon"})
    page.page.set_viewport_size({"width": 390, "height": 844})
    page.open(server.url, "queue/duel/operate")
    page.sees("until noon")
    rules = json.loads(page.page.input_value("#rules"))
    rules["matcher"] = {"name": "even", "window": 150, "window_growth": 2}
    page.page.fill("#rules", json.dumps(rules))
    page.page.click("button:text-is('Check')")
    page.sees("matcher.window_growth")
    page.drawn()
    page.shoot("operate-phone")
    wide = "() => [...document.querySelectorAll('main *')].filter((one) => one.scrollWidth > one.clientWidth + 1"
    wide += " && ['auto', 'scroll'].includes(getComputedStyle(one).overflowX)).map((one) => one.outerHTML.slice(0, 99))"
    assert page.settled(wide) == []
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.page.evaluate("document.querySelector('.bar').clientHeight") < 110, "a line, and the search"
    assert page.page.evaluate(CONTRAST) == []
    assert page.page.evaluate(LABELS) == []


def test_rules_are_checked_shown_as_a_diff_applied_and_rolled_back(operated: tuple[Server, Tab]) -> None:
    server, page = operated
    page.open(server.url, "queue/duel/operate")
    page.page.click("button:text-is('Pause')")
    asked = agree(page, "Pause", "a test")
    assert "No waves run" in asked
    assert "0 tickets" in asked
    page.sees("duel is paused now.")
    assert server.http.get("/v1/audit").json()["entries"][0]["detail"] == "a test"
    rules = page.page.input_value("#rules")
    apply = page.page.locator("button:text-is('Apply')")
    for wrong, words in (("{", "no JSON"), (rules.replace("0.02", "-1"), "every_s")):
        page.page.fill("#rules", wrong)
        page.page.click("button:text-is('Check')")
        page.page.wait_for_selector(f".refused:has-text('{words}')")
        assert apply.is_disabled()
    page.page.fill("#rules", rules.replace('"every_s": 0.02', '"every_s": 0.5'))
    page.page.click("button:text-is('Check')")
    page.sees("wave.every_s")
    page.shoot("operate")
    assert page.page.evaluate(CONTRAST) == []
    assert page.page.evaluate(LABELS) == []
    apply.click()
    asked = agree(page, "Apply", "slower")
    assert "wave.every_s" in asked
    assert "Nobody who waits would be cancelled" in asked
    page.sees("Rules, version 2")
    page.page.click("button:text-is('Roll back')")
    assert "wave.every_s" in agree(page, "Roll back", "too slow")
    page.sees("Rules, version 3")
    told = [entry["detail"] for entry in server.http.get("/v1/audit").json()["entries"]]
    assert [words.partition(":")[0] for words in told] == ["a test", "slower; version 2", "too slow; version 3"]
    assert server.http.get("/v1/queues/duel").json()["queue"]["mode"] == "paused"


def test_a_ticket_and_a_match_are_cancelled_and_a_cool_down_is_lifted(operated: tuple[Server, Tab]) -> None:
    server, page = operated
    ticket = server.join("quiet", "ann")["id"]
    match = server.when([server.join("quick", name)["id"] for name in ("eve", "fay")][1], "matched")["match"]["id"]
    proposed = server.when([server.join("cooled", name)["id"] for name in ("ben", "cat")][1], "proposed")["proposal"][
        "id"
    ]
    assert server.http.post(f"/v1/proposals/{proposed}/decline", json={"player": "ben"}).status_code == 200
    assert server.http.get("/v1/players/ben").json()["player"]["cooldowns"]
    page.open(server.url, "queue/quiet/operate")
    for field, value, verb, concerned, words in (
        ("#cancel-ticket", ticket, "Cancel the ticket", ("ann", "quiet"), f"{ticket} is cancelled."),
        ("#cancel-match", match, "Cancel the match", ("eve", "fay", "quick"), f"{match} is cancelled."),
        ("#lift", "ben", "Lift it", ("ben in cooled", "declined"), "The cool-down of ben in cooled is lifted."),
        ("#cancel-match", match, None, (), f"Not done: {match} is cancelled already."),
        ("#cancel-ticket", " ", None, (), "nothing is typed there"),
        ("#lift", "ben", None, (), "ben has no cool-down"),
        ("#cancel-ticket", "t-000000000999", None, (), "Not done: no ticket"),
    ):
        page.page.fill(field, value)
        page.page.press(field, "Enter")
        if verb is not None:
            asked = agree(page, verb)
            assert [one for one in concerned if one not in asked] == []
        page.sees(words)
    assert page.page.locator("#said.wrong").is_visible()
    assert page.page.evaluate(CONTRAST) == []
    top, below = page.page.evaluate(
        "(() => { const at = document.querySelector('#said').getBoundingClientRect();"
        " return [at.top, innerHeight - at.bottom]; })()"
    )
    assert top >= 0
    assert below >= 0
    assert server.http.get(f"/v1/tickets/{ticket}").json()["ticket"]["status"] == "cancelled"
    assert server.http.get(f"/v1/matches/{match}").json()["match"]["standing"] == "cancelled"
    assert server.http.get("/v1/players/ben").json()["player"]["cooldowns"] == []
    assert {subject for _, subject in audited(server)} >= {ticket, match, "ben"}
    told = {entry["subject"]: entry["detail"] for entry in server.http.get("/v1/audit").json()["entries"]}
    assert told == {ticket: "", match: "", "ben": "cooled"}, "nothing is made up"


def test_what_is_not_confirmed_is_not_done(operated: tuple[Server, Tab]) -> None:
    server, page = operated
    page.open(server.url, "queue/duel/operate")
    for how in ("Not now", None):
        page.page.click("button:text-is('Drain')")
        if how is not None:
            agree(page, how)
        else:
            page.page.wait_for_selector("dialog[open]")
            assert page.page.evaluate(LABELS) == []
            page.page.keyboard.press("Escape")
        page.page.wait_for_selector("dialog", state="detached")
    page.drawn()
    assert server.http.get("/v1/queues/duel").json()["queue"]["mode"] == "open"
    assert audited(server) == []


def test_after_a_lost_race_the_present_rules_can_be_loaded_or_what_is_typed_kept(operated: tuple[Server, Tab]) -> None:
    server, page = operated
    page.open(server.url, "queue/duel/operate")
    page.sees("Rules, version 1")
    rules = page.page.input_value("#rules")
    page.page.fill("#rules", rules.replace('"every_s": 0.02', '"every_s": 0.5'))
    other = json.loads(rules) | {"wave": {"every_s": 0.7}}
    assert server.http.put("/v1/queues/duel/spec", json=other, params={"why": "mine"}).status_code == 200
    page.page.click("button:text-is('Check')")
    page.sees("The rules were changed meanwhile: they are at version 2 now")
    page.page.wait_for_function("() => document.querySelectorAll('[aria-label=Versions] tbody tr').length === 2")
    assert "mine; version 2" in page.page.inner_text("[aria-label=Audit] tbody tr"), "the audit is as fresh"
    page.page.click("button:text-is('Keep what is typed, and check it against version 2')")
    page.sees("Nobody who waits would be cancelled")
    assert '"every_s": 0.5' in page.page.input_value("#rules")
    page.page.click("button:text-is('Apply')")
    page.page.wait_for_selector("dialog[open]")
    assert server.http.put("/v1/queues/duel/spec", json=json.loads(rules)).status_code == 200
    agree(page, "Apply")
    page.sees("they are at version 3 now")
    page.page.click("button:text-is('Load version 3')")
    page.sees("Rules, version 3")
    assert page.page.input_value("#rules") == rules


def test_the_page_follows_what_others_do_and_keeps_what_is_typed(operated: tuple[Server, Tab]) -> None:
    server, page = operated
    page.open(server.url, "queue/duel/operate")
    page.sees("It is open, and 0 tickets of 0 players wait.")
    page.page.fill("#cancel-ticket", "t-12")
    server.http.put("/v1/queues/duel/mode", json={"mode": "paused", "why": "elsewhere"})
    page.sees("It is paused, and 0 tickets of 0 players wait.")
    assert page.page.inner_text(".head .tag") == "paused"
    assert page.page.inner_text("[aria-label=Mode] [aria-pressed=true]") == "Pause"
    page.page.wait_for_selector("[aria-label=Audit] tr:has-text('elsewhere')")
    server.join("duel", "ann")
    page.sees("It is paused, and 1 ticket of 1 player waits.")
    rules = page.page.input_value("#rules")
    other = json.loads(rules) | {"wave": {"every_s": 0.7}}
    server.http.put("/v1/queues/duel/spec", json=other)
    page.sees("Rules, version 2")
    assert '"every_s": 0.7' in page.page.input_value("#rules"), "rules that nobody has edited follow"
    typed = page.page.input_value("#rules").replace("0.7", "0.9")
    page.page.fill("#rules", typed)
    server.http.put("/v1/queues/duel/spec", json=json.loads(rules))
    page.sees("they are at version 3 now")
    assert page.page.input_value("#rules") == typed
    page.page.click("button:text-is('Drain')")
    assert "It is paused now, and 1 ticket of 1 player waits." in agree(page, "Drain")
    page.sees("It is draining")
    assert page.page.input_value("#rules") == typed, "what is done beside it leaves it alone"
    assert page.page.input_value("#cancel-ticket") == "t-12"


def test_a_dialog_tells_what_is_so_when_it_opens(operated: tuple[Server, Tab]) -> None:
    server, page = operated
    page.page.route(re.compile("/v1/watch"), lambda route: route.fulfill(body="", content_type="text/event-stream"))
    page.open(server.url, "queue/duel/operate")
    page.sees("Rules, version 1")
    server.http.put("/v1/queues/duel/mode", json={"mode": "paused"})
    server.join("duel", "ann")
    page.page.evaluate("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Drain').click()")
    assert "It is paused now, and 1 ticket of 1 player waits." in agree(page, "Not now")


def test_an_operators_key_is_tried_before_it_is_kept_and_can_be_forgotten(tmp_path: Path, browser: Any) -> None:
    operator, reader = key_in(tmp_path, "operator"), key_in(tmp_path, "reader")
    server = Server(tmp_path, queue("duel")).start()
    try:
        with tab(browser, expects="Failed to load resource") as page:
            page.open(server.url, "queue/duel/operate")
            for wrong, words in (
                ("em_wrong", "no such API key"),
                (reader, "needs the role operator"),
                ("ключ", "not used"),
            ):
                page.page.fill("#operator-key", wrong)
                page.page.keyboard.press("Enter")
                page.page.wait_for_selector(f".refused:has-text('{words}')")
                assert page.page.evaluate("sessionStorage.getItem('evenmatch.key')") is None
                assert page.page.is_hidden("#forget")
            page.page.fill("#operator-key", operator)
            page.page.keyboard.press("Enter")
            page.sees("Rules, version 1")
            page.page.click("#forget")
            page.sees("An operator's key is needed")
            assert page.page.evaluate("sessionStorage.getItem('evenmatch.key')") is None
            page.open(server.url, "")
            page.sees("live")
    finally:
        server.close()


def test_mistakes_are_a_list_and_leaving_with_unsaved_edits_asks(operated: tuple[Server, Tab]) -> None:
    server, page = operated
    page.open(server.url, "queue/duel/operate")
    page.sees("Rules, version 1")
    rules = json.loads(page.page.input_value("#rules"))
    wrong = rules | {"wave": {"every_s": -1}, "ticket": {"expires_s": 1e9}}
    page.page.fill("#rules", json.dumps(wrong))
    page.page.click("button:text-is('Check')")
    page.page.wait_for_selector(".refused li:nth-child(2)")
    assert "e+0" not in page.text()
    page.page.once("dialog", lambda dialog: dialog.dismiss())
    page.page.click("text=To the queue")
    page.drawn()
    assert page.page.url.endswith("/operate")
    assert json.loads(page.page.input_value("#rules")) == wrong
    page.page.once("dialog", lambda dialog: dialog.accept())
    page.page.click("text=To the queue")
    page.sees("Who waits now")


def test_the_view_that_was_opened_while_the_server_was_away_is_read_when_it_is_there(
    operated: tuple[Server, Tab],
) -> None:
    server, page = operated
    server.arguments[server.arguments.index("--port") + 1] = server.url.rpartition(":")[2]
    page.open(server.url, "queue/duel")
    page.page.wait_for_selector("#link[data-state=live]")
    server.stop()
    page.page.wait_for_selector("#link[data-state=lost]")
    page.page.evaluate("location.hash = '#/queue/duel/operate'")
    page.sees("the server does not answer")
    server.start()
    page.sees("Rules, version 1")
    assert not page.page.evaluate("document.querySelector('main > div').inert")


def test_a_short_id_is_enough_and_the_audit_hides_and_turns_nothing(operated: tuple[Server, Tab]) -> None:
    server, page = operated
    waiting = server.join("quiet", "ann")["id"]
    rules = json.loads(json.dumps(server.http.get("/v1/queues/duel/versions").json()["versions"][0]["rules"]))
    rules["matcher"] = {"name": "even"}
    server.http.put("/v1/queues/duel/spec", json=rules)
    rules["matcher"]["window"] = 150
    server.http.put("/v1/queues/duel/spec", json=rules, params={"why": "<b>too slow</b> \u202eabc"})
    page.open(server.url, "queue/duel/operate")
    page.sees("<b>too slow</b> U+202Eabc; version 3: matcher.window 100 (default) -> 150")
    page.sees("matcher.window: 100 pts (default) → 150 pts")
    assert page.page.inner_text("[aria-label=Versions] tbody tr").split("\t")[3] != "operator", "who it was is told"
    page.page.fill("#cancel-ticket", f"t-{int(waiting[2:])}")
    page.page.keyboard.press("Enter")
    assert waiting in agree(page, "Cancel the ticket")
    page.sees(f"{waiting} is cancelled.")
    page.shoot("operate-audit")


def test_while_the_server_is_away_nothing_can_be_pressed(operated: tuple[Server, Tab]) -> None:
    server, page = operated
    page.open(server.url, "queue/duel/operate")
    page.sees("Rules, version 1")
    server.stop()
    page.page.wait_for_selector("#link[data-state=lost]")
    assert page.page.evaluate("document.querySelector('main > div').inert")
