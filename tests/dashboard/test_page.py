"""The dashboard in a real browser: every view over a live server, both themes, both widths, hostile names, restarts."""

from pathlib import Path
from typing import Any, Final

import pytest

from evenmatch.demo.crowd import GAMES

from ..service.callers import key_in
from ..service.harness import Server, queue
from .browser import CONTRAST, LABELS, SHOTS, THEMES, WIDTHS, Tab, needs_chromium, tab
from .crowded import QUEUES, WAVES, Crowded

pytestmark = needs_chromium

HOSTILE: Final = '<img src=x onerror="document.title=1">'
CORE: Final = ("overview", "queue-squads", "wave-sides", "ticket-waiting", "player", "match")
"""Views that are looked at in every theme at every width; the others once in each theme, and once at each width."""

ALIVE: Final = "a.card svg path, .aside section:nth-child(2) :is(a, p)"
"""A line over time on a card, or a queue's list of those who wait."""


def judge(page: Tab, name: str) -> None:
    """What holds for every view."""
    assert page.page.evaluate(CONTRAST) == [], name
    assert page.page.evaluate(LABELS) == [], name
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_view_is_shown_in_both_themes_and_widths(crowded: Crowded, browser: Any, width: str, theme: str) -> None:
    views = crowded.views()
    every = (width, theme) in (("phone", "light"), ("wide", "dark"))
    with tab(browser, width, theme) as page:
        for name in views if every else CORE:
            view, words = views[name]
            page.open(crowded.server.url, view)
            page.sees("live")
            page.sees(words)
            if name == "overview" or name.startswith("queue-"):
                page.page.wait_for_selector(ALIVE)
            page.drawn()
            page.shoot(f"{name}-{width}-{theme}")
            judge(page, name)
            assert page.page.evaluate("document.documentElement.dataset.theme") == theme
        others = [url for url in page.asked if not url.startswith(crowded.server.url)]
        assert others == []


def test_what_is_not_there_says_so_and_leads_back(crowded: Crowded, browser: Any) -> None:
    missing = {
        "ticket/t-000009999999": "no ticket",
        "queue/nosuch": "no queue",
        "queue/duel/wave/999999": "no wave 999999",
        "match/m-000009999999": "no match",
        "player/never%2Fseen": "There is no such player.",
    }
    with tab(browser, expects="404") as page:
        for view, words in missing.items():
            page.open(crowded.server.url, view)
            page.sees(words)
            page.sees("To the overview")
            page.sees("live")
            assert page.page.is_hidden("#notice"), "the server is there"
            judge(page, view)
            page.page.click("text=To the overview >> nth=0")
            page.sees("tickets wait")


def test_the_picture_shows_windows_proposals_and_teams_of_even(crowded: Crowded, browser: Any) -> None:
    with tab(browser) as page:
        page.open(crowded.server.url, "queue/squads")
        page.sees("the mean of their windows")
        page.sees("goes first")
        page.sees("rings = the other team")
        page.page.wait_for_selector("section:has(> h2:text-is('Waiting longest')) a.id")
        painted = """() => { const canvas = document.querySelector("canvas");
          const dots = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          return dots.some((part) => part > 0); }"""
        page.page.wait_for_function(painted)


def test_a_past_wave_is_stepped_through(crowded: Crowded, browser: Any) -> None:
    newest, older, *_ = crowded.waves("duel")
    with tab(browser) as page:
        page.open(crowded.server.url, f"queue/duel/wave/{newest['number']}")
        page.sees("proven: same snapshot")
        page.page.click("text=← Earlier")
        page.sees(f"Wave {older['number']} of duel")
        page.page.click("text=Later →")
        page.sees(f"Wave {newest['number']} of duel")


def test_the_checks_find_what_they_look_for(crowded: Crowded, browser: Any) -> None:
    plant = """() => { const [pale, mute, twin] = ["p", "button", "h1"].map((name) => document.createElement(name));
      Object.assign(pale, { textContent: "pale" }).style.color = "#bbb";
      Object.assign(mute.style, { height: "10px", minHeight: "0", padding: "0" });
      twin.id = "main";
      document.querySelector("main").append(pale, mute, twin); }"""
    with tab(browser) as page:
        page.open(crowded.server.url, "")
        page.sees("tickets wait")
        judge(page, "overview")
        page.page.evaluate(plant)
        assert [said[:6] for said in page.page.evaluate(CONTRAST)] == ["P pale"]
        found = [said.partition(":")[0] for said in page.page.evaluate(LABELS)]
        assert found == [
            "has no name",
            "is too small to hit",
            "twice the same id",
            "2 headings of the first rank",
        ]


def test_the_demo_has_a_queue_for_every_game() -> None:
    assert [name for name in (game.queue for game in GAMES) if f"[queues.{name}]" not in QUEUES] == []
    assert sorted(game.queue for game in GAMES) == sorted(WAVES)


def test_the_switch_changes_the_theme_and_is_remembered(crowded: Crowded, browser: Any) -> None:
    with tab(browser) as page:
        page.open(crowded.server.url, "")
        page.sees("live")
        page.page.click("#theme")
        assert page.page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.page.reload()
        page.sees("live")
        assert page.page.evaluate("document.documentElement.dataset.theme") == "dark"


FOCUS: Final = """() => {
  const at = document.activeElement;
  const style = getComputedStyle(at);
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return [at.matches("a.card") ? "card" : at.id || at.className || at.textContent.trim(), seen];
}"""


def test_a_queue_is_reached_by_keyboard_alone(crowded: Crowded, browser: Any) -> None:
    with tab(browser) as page:
        page.open(crowded.server.url, "")
        page.sees("tickets wait")
        order = []
        for _ in range(6):
            page.page.keyboard.press("Tab")
            where, seen = page.page.evaluate(FOCUS)
            order.append(where)
            assert seen, f"the focus is not to be seen on {where}"
        assert order == ["skip", "brand", "find-id", "Open", "theme", "card"]
        frame = page.page.inner_text("#health")
        page.page.wait_for_function("before => document.querySelector('#health').innerText !== before", arg=frame)
        assert page.page.evaluate(FOCUS) == ["card", True], "a frame draws the cards anew, and the focus stays"
        page.page.keyboard.press("Enter")
        page.sees("Who waits now")
        page.page.wait_for_function("document.activeElement.id === 'main'")


def test_the_search_leads_to_a_ticket(crowded: Crowded, browser: Any) -> None:
    with tab(browser) as page:
        for typed in ("t-000000000001", "t-1"):
            page.open(crowded.server.url, "")
            page.page.fill("#find-id", typed)
            page.page.keyboard.press("Enter")
            page.sees("Its story")
            assert page.page.url.endswith("#/ticket/t-000000000001")


def test_hostile_names_are_shown_as_text(tmp_path: Path, browser: Any) -> None:
    server = Server(tmp_path, queue("duel", timeout_s=600.0) + queue("quick", timeout_s=None)).start()
    try:
        tickets = [server.join("duel", HOSTILE, attributes={HOSTILE: HOSTILE})["id"], server.join("duel", "ben")["id"]]
        server.when(tickets[0], "proposed")
        match = server.when([server.join("quick", f"{HOSTILE}{n}")["id"] for n in range(2)][1], "matched")["match"][
            "id"
        ]
        player = "player/" + HOSTILE.replace("%", "%25").replace(" ", "%20").replace('"', "%22")
        with tab(browser) as page:
            for view in (*(f"ticket/{ticket}" for ticket in tickets), player, f"match/{match}"):
                page.open(server.url, view)
                page.page.wait_for_selector("main h1")
                page.sees(HOSTILE)
                assert page.page.query_selector("main img") is None
            assert page.page.title() != "1"
    finally:
        server.close()


def test_the_page_comes_back_after_a_restart_of_the_server(tmp_path: Path, browser: Any) -> None:
    server = Server(tmp_path, queue("duel")).start()
    port = server.url.rpartition(":")[2]
    server.arguments[server.arguments.index("--port") + 1] = port
    try:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{server.url}/#/queue/duel")
        page.wait_for_selector("#link[data-state=live]")
        page.wait_for_function("() => document.body.innerText.includes('Nobody waits just now.')")
        page.wait_for_timeout(1_500)  # two starts within a second are taken for one, for clocks are no more exact
        server.stop()
        page.wait_for_selector("#link[data-state=lost]")
        assert "Is the server running?" in page.inner_text("#notice")
        assert "Who waits now" in page.inner_text("main"), "what was seen stays"
        assert "not reachable" in page.inner_text("#health")
        assert "as of" in page.inner_text("#link")
        assert page.evaluate("getComputedStyle(document.querySelector('.numbers dd')).color") == page.evaluate(
            "getComputedStyle(document.querySelector('.numbers dt')).color"
        ), "old numbers are dimmed"
        assert page.evaluate(CONTRAST) == []
        page.screenshot(path=str(SHOTS / "disconnected.png"))
        server.start()
        server.join("duel", "ann")
        page.wait_for_selector("#link[data-state=live]", timeout=60_000)
        page.wait_for_function("() => document.body.innerText.includes('1 ticket')")
        assert page.is_hidden("#notice")
        assert "server ready" in page.inner_text("#health")
        assert "The server was started again at" in page.inner_text("#said")
        assert page.query_selector("body.stale") is None
        context.close()
    finally:
        server.close()


def test_a_guarded_server_asks_for_a_key_and_a_readers_is_enough(tmp_path: Path, browser: Any) -> None:
    key_in(tmp_path, "backend")
    reader = key_in(tmp_path, "reader")
    server = Server(tmp_path, queue("duel"))
    server.start()
    try:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{server.url}/")
        page.fill("#key", reader)
        page.keyboard.press("Enter")
        page.wait_for_selector("#link[data-state=live]")
        page.wait_for_selector("a.card")
        assert reader not in page.url
        context.close()
    finally:
        server.close()
