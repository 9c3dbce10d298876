"""What people stumbled over, tried in the browser: keys, names, empty servers, quiet waves, narrow screens."""

import re
from pathlib import Path
from typing import Any, Final

import pytest

from ..service.harness import Server, eventually, queue
from .browser import CONTRAST, LABELS, WIDTHS, Tab, needs_chromium, tab
from .crowded import Crowded

pytestmark = needs_chromium

HINTLESS: Final = """() => [...document.querySelectorAll(".tabled")].filter((one) => {
  const inner = one.querySelector(".scroll");
  return one.checkVisibility() && inner.scrollWidth > inner.clientWidth + 1 && one.querySelector(".sideways").hidden;
}).length"""
"""Tables that go on to the right, and do not say so."""
RLO: Final = "\u202eunclosed"


def test_a_wrong_key_does_not_lock_an_open_server_out(crowded: Crowded, browser: Any) -> None:
    with tab(browser, expects="401") as page:
        page.open(crowded.server.url, "")
        page.sees("live")
        page.page.evaluate("sessionStorage.setItem('evenmatch.key', 'em_wrong')")
        page.page.reload()
        page.sees("The key was forgotten, for the server does not take it")
        page.sees("live")
        page.sees("tickets wait")
        assert page.page.evaluate("sessionStorage.getItem('evenmatch.key')") is None
        assert "asks for a key" not in page.text()
        page.open(crowded.server.url, "queue/duel")
        page.page.reload()
        page.sees("Waiting longest")
        assert page.page.is_hidden("#notice")


def test_later_is_the_next_wave_however_old_one_is(crowded: Crowded, browser: Any) -> None:
    eventually(lambda: len(crowded.waves("duel")) >= 4, "waves")
    first, second = [row["number"] for row in crowded.ask("/v1/queues/duel/waves?after=0&limit=2")["waves"][::-1]]
    with tab(browser) as page:
        page.open(crowded.server.url, f"queue/duel/wave/{first}")
        page.page.click("text=Later →")
        page.sees(f"Wave {second} of duel")
        page.open(crowded.server.url, f"queue/duel/waves/{first}")
        page.sees(f"Wave {first} of duel")


def test_a_wave_that_matched_nobody_is_opened_from_its_queue_and_one_that_is_not_kept_leads_to_others(
    crowded: Crowded, browser: Any
) -> None:
    with tab(browser, expects="404") as page:
        page.open(crowded.server.url, "queue/quiet")
        page.page.click("section[aria-label=Now] a")
        page.sees("matched nobody: not recorded")
        page.sees("Left waiting")
        page.sees("too few players")
        page.open(crowded.server.url, "queue/duel/wave/999999")
        page.sees("The nearest that are recorded")
        page.page.click("main li a")
        page.sees("proven: same snapshot")


@pytest.mark.parametrize("width", WIDTHS)
def test_no_row_of_a_trace_is_mostly_empty(crowded: Crowded, browser: Any, width: str) -> None:
    tall = "() => [...document.querySelectorAll('tr')].map((row) => row.getBoundingClientRect().height)"
    number = eventually(
        lambda: next((row["number"] for row in crowded.waves("squads") if row["proposals"] > 1), None), "a wave of two"
    )
    with tab(browser, width) as page:
        page.open(crowded.server.url, f"queue/squads/wave/{number}")
        page.sees("The trace")
        page.sees("It costs")
        assert max(page.page.evaluate(tall)) < 240
        page.drawn()
        assert page.settled(HINTLESS) == 0
        page.sees("window_growth")
        page.sees("default")


def test_a_fresh_server_says_what_to_do_until_somebody_comes(tmp_path: Path, browser: Any) -> None:
    server = Server(tmp_path, queue("duel")).start()
    try:
        with tab(browser, "phone") as page:
            for view in ("", "queue/duel"):
                page.open(server.url, view)
                page.sees("Nobody has come yet")
                page.sees("evenmatch demo")
                assert f"{server.url}/v1/queues/duel/tickets" in page.page.inner_text("pre.command")
                assert page.page.evaluate(CONTRAST) == []
                assert page.page.evaluate(LABELS) == []
                assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            page.shoot("fresh-phone")
            server.join("duel", "ann")
            page.page.wait_for_function("() => !document.body.innerText.includes('Nobody has come yet')")
    finally:
        server.close()


def test_a_ticket_is_asked_for_again_when_the_stream_tells_of_events_and_hardly_otherwise(
    tmp_path: Path, browser: Any
) -> None:
    server = Server(tmp_path, queue("duel", size=5)).start()
    try:
        ticket = server.join("duel", "ann")["id"]
        with tab(browser) as page:
            page.open(server.url, f"ticket/{ticket}")
            page.sees("Nobody else waits in this queue")

            def looks() -> int:
                return len([url for url in page.asked if url.endswith(f"/v1/tickets/{ticket}")])

            while looks() < 2:  # once when it was opened, and once since the stream told of events
                page.page.wait_for_timeout(100)
            page.page.wait_for_timeout(4_000)
            assert looks() == 2
            server.join("duel", "ben")
            page.sees("Of 1 other")
    finally:
        server.close()


def reads(page: Tab, selector: str) -> str:
    """The text of an element in the order in which it is seen, left to right."""
    script = """(selector) => {
      const walker = document.createTreeWalker(document.querySelector(selector), NodeFilter.SHOW_TEXT);
      const seen = [];
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        [...node.textContent].forEach((letter, at) => {
          const range = document.createRange();
          range.setStart(node, at); range.setEnd(node, at + 1);
          const box = range.getBoundingClientRect();
          if (box.width > 0) seen.push([Math.round(box.top / 8), box.left, letter]);
        });
      }
      seen.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
      return seen.map((each) => each[2]).join("");
    }"""
    return str(page.page.evaluate(script, selector))


def test_a_name_that_overrides_the_direction_turns_only_itself(tmp_path: Path, browser: Any) -> None:
    server = Server(tmp_path, queue("quick", timeout_s=None)).start()
    try:
        first, second = [server.join("quick", name)["id"] for name in (RLO, "ben")]
        match = server.when(second, "matched")["match"]["id"]
        assert server.when(first, "matched")
        with tab(browser) as page:
            page.open(server.url, f"ticket/{second}")
            page.sees("See the match")
            told = reads(page, "ol.story li:last-child .words")
            assert told.endswith("See the match")
            assert f"it is in match {match}: " in told
            assert "desolcnu" in told
            page.open(server.url, f"match/{match}")
            page.sees("mean rating")
            assert "ben" in reads(page, "main")
            page.open(server.url, "player/%E2%80%AEunclosed")
            page.sees("Last tickets")
            assert page.page.title() == f"\u2068{RLO}\u2069 · evenmatch"
    finally:
        server.close()


def test_a_cool_down_that_is_over_is_not_listed_as_if_it_held(tmp_path: Path, browser: Any) -> None:
    cooled = "[queues.cooled.cooldown]\ndecline_s = 1\n"
    server = Server(tmp_path, queue("cooled", timeout_s=600.0) + cooled).start()
    try:
        proposal = server.when([server.join("cooled", name)["id"] for name in ("ben", "cat")][1], "proposed")[
            "proposal"
        ]
        server.http.post(f"/v1/proposals/{proposal['id']}/decline", json={"player": "ben"})
        with tab(browser) as page:
            page.open(server.url, "player/ben")
            page.sees("None is in force")
            page.sees("1 offence still counts")
            assert page.page.query_selector("[aria-label='Cool-downs in force']") is None
    finally:
        server.close()


def test_the_range_of_the_charts_is_kept_in_the_address(crowded: Crowded, browser: Any) -> None:
    with tab(browser) as page:
        page.open(crowded.server.url, "queue/duel")
        page.sees("Wait of the matched")
        page.page.click("button:text-is('5 min')")
        assert page.page.url.endswith("#/queue/duel?minutes=5")
        page.page.reload()
        page.page.wait_for_selector("button[aria-pressed=true]:text-is('5 min')")
        page.sees("Wait of the matched")


def test_the_step_that_is_not_over_is_not_drawn_as_the_latest(crowded: Crowded, browser: Any) -> None:
    made_up = {
        "queue": "duel",
        "since_ms": 0,
        "step_s": 10,
        "gone": {},
        "by_rating": [],
        "by_party": [],
        "points": [
            {
                "at_ms": at * 10_000,
                "depth": 3,
                "joins": joins,
                "matches": 5,
                "left": 0,
                "wait_p50_s": 1,
                "wait_p90_s": 2,
                "quality": 1,
                "gap": 1,
                "ready_kept": None,
                "whole": whole,
            }
            for at, joins, whole in ((1, 74, True), (2, 75, True), (3, 0, False))
        ],
    }
    with tab(browser) as page:
        page.page.route(re.compile("/history"), lambda route: route.fulfill(json={"history": made_up}))
        page.open(crowded.server.url, "queue/duel")
        page.sees("joins 75")
        assert "joins 0" not in page.text()


def test_a_player_sees_in_which_queue_they_wait(crowded: Crowded, browser: Any) -> None:
    with tab(browser) as page:
        page.open(crowded.server.url, "player/ann")
        page.sees("Last tickets")
        assert page.page.inner_text("[aria-label='Last tickets'] tbody tr").split("\t")[1:4:2] == ["quiet", "waiting"]
        page.page.fill("#find-id", "QUIET")
        page.page.keyboard.press("Enter")
        page.sees("Who waits now")
        assert page.page.url.endswith("#/queue/quiet")
