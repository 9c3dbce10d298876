"""Many tabs of one browser, which holds six lines to a server: a tab that nobody sees gives its own back."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from ..service.harness import Server, queue
from .browser import needs_chromium

pytestmark = needs_chromium

HIDES: Final = """
let seen = sessionStorage.getItem("seen") ?? "visible";
Object.defineProperty(document, "visibilityState", { configurable: true, get: () => seen });
window.look = (how) => { seen = how; document.dispatchEvent(new Event("visibilitychange")); };
"""
"""Chromium without a screen calls every tab visible: this lets a test say which is."""
LINES: Final = 6


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A queue in which ann waits."""
    running = Server(tmp_path_factory.mktemp("tabs"), queue("duel", size=100)).start()
    try:
        running.join("duel", "ann")
        yield running
    finally:
        running.close()


def test_more_tabs_than_a_browser_has_lines_load_and_catch_up_when_looked_at(server: Server, browser: Any) -> None:
    context = browser.new_context()
    context.add_init_script(HIDES)
    try:
        tabs = []
        for _ in range(LINES + 2):
            page = context.new_page()
            page.goto(f"{server.url}/#/queue/duel", timeout=20_000)
            page.wait_for_selector("#link[data-state=live]")
            page.wait_for_selector("[aria-label='Waiting longest'] tbody tr")
            page.evaluate("look('hidden')")
            assert page.inner_text("#link") == "paused while hidden"
            tabs.append(page)
        server.join("duel", "ben")
        first = tabs[0]
        assert len(first.query_selector_all("[aria-label='Waiting longest'] tbody tr")) == 1
        first.evaluate("look('visible')")
        first.wait_for_selector("[aria-label='Waiting longest'] tbody tr:nth-child(2)")
        assert first.inner_text("#link") == "live"
        assert first.is_hidden("#notice"), "nothing was wrong"
    finally:
        context.close()


def test_a_tab_that_is_opened_behind_others_shows_what_it_should_and_holds_no_line(
    server: Server, browser: Any
) -> None:
    context = browser.new_context()
    context.add_init_script(HIDES.replace('?? "visible"', '?? "hidden"'))
    try:
        for _ in range(LINES + 1):
            page = context.new_page()
            page.goto(f"{server.url}/", timeout=20_000)
            page.wait_for_selector("a.card")
            page.wait_for_selector("#link[data-state=paused]")
        page.evaluate("look('visible')")
        page.wait_for_selector("#link[data-state=live]")
        page.evaluate("look('hidden')")
        page.wait_for_selector("#link[data-state=paused]")
    finally:
        context.close()
