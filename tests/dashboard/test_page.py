"""The dashboard in a real browser: every view over a live server, both themes, both widths, hostile names, restarts."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from evenmatch.client import Client
from evenmatch.demo.crowd import GAMES, Crowd

from ..service.callers import key_in
from ..service.harness import Server, eventually, queue
from .browser import CONTRAST, NAMELESS, THEMES, WIDTHS, chromium, needs_chromium, tab

pytestmark = needs_chromium

HOSTILE: Final = '<img src=x onerror="document.title=1">'
QUEUES: Final = (Path(__file__).parents[2] / "src/evenmatch/demo/queues.toml").read_text()


class Crowded:
    """A server with a crowd, and the names of things to look at."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._play, daemon=True)
        self.stop = asyncio.Event()
        self.thread.start()

    def _play(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self._crowd())

    async def _crowd(self) -> None:
        async with Client(self.server.url) as client:
            playing = asyncio.create_task(Crowd(client, pace=2.0).play())
            await self.stop.wait()
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.stop.set)
        self.thread.join(60)
        self.loop.close()

    def ask(self, path: str) -> Any:
        answer = self.server.http.get(path)
        return answer.json() if answer.status_code == 200 else None

    def waves(self, name: str) -> list[dict[str, Any]]:
        answer = self.ask(f"/v1/queues/{name}/waves")
        return [] if answer is None else list(answer["waves"])

    def leaders(self) -> list[dict[str, Any]]:
        answer = self.ask("/v1/queues/duel/leaderboard")
        return [] if answer is None else list(answer["leaders"])

    def views(self) -> dict[str, tuple[str, str]]:
        """Name -> address of each view, and words that it shows."""
        rated = eventually(self.leaders, "ratings")[0]
        (past, *_) = self.ask(f"/v1/players/{rated['player']}/history")["history"]
        match = self.ask(f"/v1/matches/{past['match']}")["match"]
        wave = eventually(lambda: self.waves("lobby"), "a wave of lobby")[0]["number"]
        duel = self.waves("duel")[0]["number"]
        return {
            "overview": ("", "tickets wait"),
            "queue": ("queue/duel", "Wait of the matched"),
            "queue-sides": ("queue/sides", "Wait of the matched"),
            "queue-lobby": ("queue/lobby", "Silver"),
            "waves": ("queue/duel/waves", "Waves that matched somebody"),
            "wave": (f"queue/duel/wave/{duel}", "proven: same snapshot"),
            "wave-lobby": (f"queue/lobby/wave/{wave}", "iteration"),
            "ticket": (f"ticket/{match['teams'][0]['tickets'][0]['id']}", "It joined duel."),
            "player": (f"player/{rated['player']}", "What each result did"),
            "match": (f"match/{match['id']}", "rank 1"),
        }


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowded]:
    server = Server(tmp_path_factory.mktemp("crowded"), QUEUES).start()
    crowd = Crowded(server)
    yield crowd
    crowd.close()
    server.close()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_view_is_shown_in_both_themes_and_widths(crowded: Crowded, browser: Any, width: str, theme: str) -> None:
    for name, (view, words) in crowded.views().items():
        with tab(browser, width, theme) as page:
            page.open(crowded.server.url, view)
            page.sees("live")
            page.sees(words)
            page.page.wait_for_timeout(1_200)  # a frame more, so that pictures and lines are there
            page.shoot(f"{name}-{width}-{theme}")
            assert page.page.evaluate(CONTRAST) == [], name
            assert page.page.evaluate(NAMELESS) == [], name
            assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            assert page.page.evaluate("document.documentElement.dataset.theme") == theme
            others = [url for url in page.asked if not url.startswith(crowded.server.url)]
            assert others == [], name


def test_the_demo_has_a_queue_for_every_game() -> None:
    assert [name for name in (game.queue for game in GAMES) if f"[queues.{name}]" not in QUEUES] == []


def test_the_switch_changes_the_theme_and_is_remembered(crowded: Crowded, browser: Any) -> None:
    with tab(browser) as page:
        page.open(crowded.server.url, "")
        page.sees("live")
        page.page.click("#theme")
        assert page.page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.page.reload()
        page.sees("live")
        assert page.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_queue_is_reached_by_keyboard_alone(crowded: Crowded, browser: Any) -> None:
    with tab(browser) as page:
        page.open(crowded.server.url, "")
        page.sees("tickets wait")
        for _ in range(30):
            page.page.keyboard.press("Tab")
            if page.page.evaluate("document.activeElement.matches('a.card')"):
                break
        page.page.wait_for_timeout(1_500)  # a frame draws the cards anew, and the focus stays
        assert page.page.evaluate("document.activeElement.matches('a.card')")
        page.page.keyboard.press("Enter")
        page.sees("Who waits now")


def test_the_search_leads_to_a_ticket(crowded: Crowded, browser: Any) -> None:
    with tab(browser) as page:
        page.open(crowded.server.url, "")
        page.page.fill("#find-id", "t-000000000001")
        page.page.keyboard.press("Enter")
        page.sees("Its story")
        assert page.page.url.endswith("#/ticket/t-000000000001")


def test_hostile_names_are_shown_as_text(tmp_path: Path, browser: Any) -> None:
    server = Server(tmp_path, queue("duel", timeout_s=600.0)).start()
    try:
        tickets = [server.join("duel", HOSTILE, attributes={HOSTILE: HOSTILE})["id"], server.join("duel", "ben")["id"]]
        server.when(tickets[0], "proposed")
        with tab(browser) as page:
            for ticket in tickets:
                page.open(server.url, f"ticket/{ticket}")
                page.sees(HOSTILE)
            page.open(server.url, "player/" + HOSTILE.replace("%", "%25").replace(" ", "%20").replace('"', "%22"))
            page.sees("In queues now")
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
        server.stop()
        page.wait_for_selector("#link[data-state=lost]")
        assert "Is the server running?" in page.inner_text("#notice")
        server.start()
        server.join("duel", "ann")
        page.wait_for_selector("#link[data-state=live]")
        page.wait_for_function("() => document.body.innerText.includes('1 tickets')")
        assert page.is_hidden("#notice")
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


def test_an_operator_pauses_changes_rules_and_rolls_back_and_all_is_audited(tmp_path: Path, browser: Any) -> None:
    key_in(tmp_path, "backend")
    operator = key_in(tmp_path, "operator")
    server = Server(tmp_path, queue("duel"))
    server.start()
    try:
        with tab(browser) as page:
            page.page.on("dialog", lambda dialog: dialog.accept())
            page.page.add_init_script(f"sessionStorage.setItem('evenmatch.key', {operator!r})")
            page.open(server.url, "queue/duel/operate")
            page.page.click("button:text-is('Pause')")
            page.sees("Done: Pause duel.")
            rules = page.page.input_value("#rules").replace('"every_s": 0.02', '"every_s": 0.5')
            page.page.fill("#rules", rules)
            page.page.click("button:text-is('Check')")
            page.sees("wave.every_s")
            page.shoot("operate")
            page.page.click("button:text-is('Apply')")
            page.sees("Rules, version 2")
            page.page.click("button:text-is('Roll back')")
            page.sees("Rules, version 3")
        server.sign_in(operator)
        done = [entry["action"] for entry in server.http.get("/v1/audit").json()["entries"]]
        assert len(done) == 3
        assert server.http.get("/v1/queues/duel").json()["queue"]["mode"] == "paused"
    finally:
        server.close()


def test_without_an_operators_key_nothing_can_be_operated(crowded: Crowded, browser: Any) -> None:
    with tab(browser) as page:
        page.open(crowded.server.url, "queue/duel/operate")
        page.sees("An operator's key is needed")
        assert page.page.query_selector("#rules") is None


def test_ten_thousand_waiting_tickets_do_not_slow_the_page(tmp_path: Path, browser: Any) -> None:
    text = queue("pool", size=100, timeout_s=None)
    server = Server(tmp_path, text.replace("every_s = 0.02", "every_s = 600")).start()
    try:
        for first in range(0, 10_000, 1_000):
            tickets = [
                {"players": [{"id": f"p{number}", "rating": 1000 + number % 1000}]}
                for number in range(first, first + 1_000)
            ]
            answer = server.http.post("/v1/queues/pool/tickets:batch", json={"tickets": tickets})
            assert answer.status_code == 200
        with tab(browser) as page:
            page.open(server.url, "queue/pool")
            page.sees("bins")
            drawn = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
            assert page.page.evaluate(drawn)
            page.shoot("ten-thousand")
    finally:
        server.close()
