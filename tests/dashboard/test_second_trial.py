"""What an operator stumbled over who had only README and issue at hand, tried in the browser."""

from pathlib import Path
from typing import Any, Final

import pytest

from ..service.harness import Server, eventually, queue
from .browser import CONTRAST, LABELS, needs_chromium, tab
from .crowded import Crowded

pytestmark = needs_chromium

ELO: Final = queue("elo", timeout_s=None) + '[queues.elo.rating]\nmodel = "elo"\nplacement = 1\n'


def test_from_a_player_one_gets_to_past_tickets_and_matches_and_elo_claims_no_deviation(
    tmp_path: Path, browser: Any
) -> None:
    server = Server(tmp_path, ELO).start()
    try:
        tickets = [server.join("elo", name)["id"] for name in ("ann", "ben")]
        match = server.when(tickets[0], "matched")["match"]["id"]
        told = server.http.post(f"/v1/matches/{match}/result", json={"teams": [{"rank": 1}, {"rank": 2}]})
        assert told.status_code == 200
        with tab(browser) as page:
            page.open(server.url, "player/ann")
            page.sees("What each result did")
            assert "deviation" not in page.text()
            assert "almost surely" not in page.text()
            page.shoot("player-elo")
            assert page.page.evaluate(CONTRAST) == []
            assert page.page.evaluate(LABELS) == []
            page.page.click(f"[aria-label='Last tickets'] a[title={tickets[0]}]")
            page.sees("Its story")
            page.page.go_back()
            page.page.click(f"[aria-label='Last tickets'] a[title={match}]")
            page.sees("what Elo says")
            assert "how unsure" not in page.text()
    finally:
        server.close()


def test_the_terms_of_a_match_add_up_to_its_cost(crowded: Crowded, browser: Any) -> None:
    _, match = crowded.rated("squads")
    with tab(browser) as page:
        page.open(crowded.server.url, f"match/{match['id']}")
        page.sees("adds to the cost")
        rows = [
            row.split("\t") for row in page.page.locator("[aria-label='Terms of the cost'] tbody tr").all_inner_texts()
        ]
        assert sum(float(row[1].replace(",", "")) for row in rows[:-1]) == pytest.approx(match["cost"], abs=0.05)
        assert rows[-1][0] == "the cost"
        assert [row for row in rows[:-1] if float(row[1].replace(",", "")) == 0] == []
        page.shoot("match-cost")


def test_waves_are_stepped_through_by_arrow_keys(crowded: Crowded, browser: Any) -> None:
    eventually(lambda: len(crowded.waves("duel")) >= 4, "waves")
    newest, older, *_ = crowded.waves("duel")
    with tab(browser) as page:
        page.open(crowded.server.url, f"queue/duel/wave/{newest['number']}")
        page.sees("proven: same snapshot")
        page.page.keyboard.press("ArrowLeft")
        page.sees(f"Wave {older['number']:,} of duel")
        page.page.wait_for_selector("a[rel=next]")
        page.page.keyboard.press("ArrowRight")
        page.sees(f"Wave {newest['number']:,} of duel")


def test_marks_that_nobody_sees_are_shown_and_long_names_are_clipped(tmp_path: Path, browser: Any) -> None:
    server = Server(tmp_path, queue("duel", size=5)).start()
    try:
        ticket = server.join("duel", "ann\u202e\u200b")["id"]
        long = server.join("duel", "x" * 128)["id"]
        with tab(browser, "phone") as page:
            page.open(server.url, f"ticket/{ticket}")
            page.sees("U+202E U+200B")
            page.open(server.url, f"ticket/{long}")
            page.page.wait_for_selector("td .clipped")
            assert page.page.get_attribute("td .clipped", "title") == "x" * 128
            assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert page.page.evaluate(CONTRAST) == []
    finally:
        server.close()


def test_a_queue_that_is_stuck_catches_the_eye_and_comes_first(crowded: Crowded, browser: Any) -> None:
    with tab(browser, "phone") as page:
        page.open(crowded.server.url, "")
        page.page.wait_for_selector("a.card.warn:has-text('no match in'):has-text('quiet')", timeout=120_000)
        levels = page.page.locator("a.card").evaluate_all("all => all.map((card) => card.className.trim())")
        amiss = [level != "card" for level in levels]
        assert amiss == sorted(amiss, reverse=True)
        assert page.text().count("Rates, waits, evenness and ready checks are of") == 1
        assert page.page.evaluate(CONTRAST) == []
        page.shoot("alarms")


SIDEWAYS: Final = """() => [...document.querySelectorAll("main *")].filter((one) => one.checkVisibility()
  && ["auto", "scroll"].includes(getComputedStyle(one).overflowX) && one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.getAttribute("aria-label") ?? one.className)"""
"""What has to be scrolled sideways."""
THIN: Final = """() => [...document.querySelectorAll("main td")].filter((one) => one.checkVisibility()
  && one.textContent.trim().split(/\\s+/).length > 3 && one.clientWidth < 70).map((one) => one.textContent)"""
"""Cells of several words that stand one word a line."""


def test_nothing_is_to_be_scrolled_sideways_on_a_phone(crowded: Crowded, browser: Any) -> None:
    with tab(browser, "phone") as page:
        for name, (view, words) in crowded.views().items():
            page.open(crowded.server.url, view)
            page.sees(words)
            page.drawn()
            assert page.settled(SIDEWAYS) == [], name
            assert page.settled(THIN) == [], name
            assert page.settled("() => document.documentElement.scrollWidth <= innerWidth"), name


def test_a_folded_table_says_what_each_number_is_and_a_wide_one_stays_a_table(crowded: Crowded, browser: Any) -> None:
    eventually(lambda: crowded.waves("duel"), "waves")
    label = "one => getComputedStyle(one, '::before').content"
    for width, shown in (("phone", '"tickets waiting"'), ("wide", "none")):
        with tab(browser, width) as page:
            page.open(crowded.server.url, "queue/duel/waves")
            page.sees("Recorded waves")
            page.drawn()
            assert page.page.eval_on_selector("[aria-label=Waves] tbody td:nth-child(4)", label) == shown
            assert page.page.get_attribute("[aria-label=Waves] tbody td", "role") == "cell"


def test_a_young_server_offers_no_range_that_it_cannot_fill(tmp_path: Path, browser: Any) -> None:
    server = Server(tmp_path, queue("duel")).start()
    try:
        with tab(browser) as page:
            page.open(server.url, "queue/duel?minutes=240")
            page.sees("30 min, 2 h and 4 h would show no more")
            assert page.page.is_disabled("button:text-is('4 h')")
            page.page.wait_for_selector("button[aria-pressed=true]:text-is('5 min')")
    finally:
        server.close()
