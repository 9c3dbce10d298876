"""Operating by the dashboard: rules with a check and a diff, modes, cancelling; all confirmed and audited."""

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


def audited(server: Server) -> list[tuple[str, str]]:
    return [(entry["action"], entry["subject"]) for entry in server.http.get("/v1/audit").json()["entries"]]


def test_rules_are_checked_shown_as_a_diff_applied_and_rolled_back(operated: tuple[Server, Tab]) -> None:
    server, page = operated
    page.page.on("dialog", lambda dialog: dialog.accept())
    page.open(server.url, "queue/duel/operate")
    page.page.click("button:text-is('Pause')")
    page.sees("Done: Pause duel.")
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
    page.sees("Rules, version 2")
    page.page.click("button:text-is('Roll back')")
    page.sees("Rules, version 3")
    assert len(audited(server)) == 3
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
    asked: list[str] = []

    def answer(dialog: Any) -> None:
        asked.append(dialog.message)
        dialog.accept()

    page.page.on("dialog", answer)
    page.open(server.url, "queue/quiet/operate")
    for field, value, words in (
        ("#cancel-ticket", ticket, f"Done: Cancel {ticket}."),
        ("#cancel-match", match, f"Done: Cancel {match}."),
        ("#lift", "ben", "Done: Lift the cool-downs of ben."),
        ("#cancel-ticket", "t-000000000999", "Not done: "),
    ):
        page.page.fill(field, value)
        page.page.press(field, "Enter")
        page.sees(words)
    assert len(asked) == 4
    assert server.http.get(f"/v1/tickets/{ticket}").json()["ticket"]["status"] == "cancelled"
    assert server.http.get(f"/v1/matches/{match}").json()["match"]["standing"] == "cancelled"
    assert server.http.get("/v1/players/ben").json()["player"]["cooldowns"] == []
    assert {subject for _, subject in audited(server)} >= {ticket, match, "ben"}
    page.sees("from the dashboard")


def test_what_is_not_confirmed_is_not_done(operated: tuple[Server, Tab]) -> None:
    server, page = operated
    page.page.on("dialog", lambda dialog: dialog.dismiss())
    page.open(server.url, "queue/duel/operate")
    page.page.click("button:text-is('Drain')")
    page.drawn()
    assert server.http.get("/v1/queues/duel").json()["queue"]["mode"] == "open"
    assert audited(server) == []
