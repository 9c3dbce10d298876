"""The picture of those who wait, in the browser: leaders, overlaps, tiers, who is far away; and all by keyboard."""

import re
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

import pytest

from ..service.harness import Server
from .browser import CONTRAST, LABELS, Tab, needs_chromium, tab

pytestmark = needs_chromium

QUEUES: Final = """
[queues.sessions]
format = { teams = 1, size = 5 }
matcher = { name = "lom", session_size = 5 }
wave = { every_s = 600 }
[queues.clans]
format = { teams = 2, size = 2 }
matcher = { name = "cinder" }
wave = { every_s = 600 }
[queues.far]
format = { teams = 2, size = 100 }
matcher = { name = "even" }
wave = { every_s = 600 }
[queues.lonely]
format = { teams = 2, size = 2 }
matcher = { name = "even", window_growth = 0 }
wave = { every_s = 600 }
[queues.together]
format = { teams = 2, size = 100 }
matcher = { name = "even" }
wave = { every_s = 600 }
"""
"""No wave comes, so all stay as they are."""

NUMBERS: Final = count()


def send(server: Server, name: str, parties: list[list[float]]) -> list[str]:
    """Tickets of players with these ratings, all at once; their ids."""
    tickets = [
        {"players": [{"id": f"p{next(NUMBERS)}", "rating": rating, "ping_ms": 30} for rating in ratings]}
        for ratings in parties
    ]
    answer = server.http.post(f"/v1/queues/{name}/tickets:batch", json={"tickets": tickets})
    assert answer.status_code == 200
    return [one["ticket"]["id"] for one in answer.json()["outcomes"]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Queues in which everybody waits; a wave that came first had nobody."""
    running = Server(tmp_path_factory.mktemp("pictures"), QUEUES).start()
    try:
        for name in ("sessions", "clans", "far", "together"):  # the first wave comes at once, and finds too few
            send(running, name, [[1500.0] * (2 if name == "clans" else 1)])
        yield running
    finally:
        running.close()


def opened(page: Tab, server: Server, name: str, words: str) -> None:
    """A queue's view that shows its picture."""
    page.open(server.url, f"queue/{name}")
    page.sees(words)
    page.drawn()
    assert page.page.evaluate(CONTRAST) == []
    assert page.page.evaluate(LABELS) == []


def told(page: Tab) -> str:
    """What is said of the entry that was walked to."""
    return str(page.page.inner_text(".walked"))


def test_the_picture_is_walked_by_keyboard_and_a_ticket_opened(server: Server, browser: Any) -> None:
    crowd = send(server, "far", [[1400.0 + 10 * at] for at in range(24)] + [[9000.0]])
    with tab(browser) as page:
        opened(page, server, "far", "26 tickets")
        page.sees("1 ticket further right, up to 9,000 points")
        page.page.focus("canvas")
        page.page.keyboard.press("ArrowRight")
        assert f"{crowd[0]}: 1,400 pts" in told(page)
        page.page.keyboard.press("ArrowRight")
        assert f"{crowd[1]}: 1,410 pts" in told(page)
        page.page.wait_for_timeout(1_500)  # a frame or two later it is still there
        page.page.keyboard.press("ArrowLeft")
        assert f"{crowd[0]}: 1,400 pts" in told(page)
        page.page.keyboard.press("End")
        assert f"{crowd[24]}: 9,000 pts" in told(page)
        page.page.keyboard.press("ArrowUp")
        assert "pts" in told(page)
        page.page.keyboard.press("Home")
        page.shoot("picture-far")
        page.page.keyboard.press("Enter")
        page.sees("Its story")
        assert page.page.url.endswith(f"#/ticket/{crowd[0]}")


def test_one_who_waits_alone_is_told_with_the_range_that_the_list_tells(server: Server, browser: Any) -> None:
    send(server, "lonely", [[1555.0]])
    (listed,) = server.http.get("/v1/queues/lonely/waiting").json()["waiting"]["tickets"]
    with tab(browser) as page:
        opened(page, server, "lonely", "1 ticket")
        page.page.focus("canvas")
        page.page.keyboard.press("ArrowRight")
        assert f"takes {listed['low']:,.0f} to {listed['high']:,.0f} pts" in told(page)
        assert listed["high"] - listed["low"] > 150
        left, right = page.page.evaluate(
            """async (range) => {
              const { extent } = await import("/dashboard/picture_axes.js");
              const scale = { low: 1555, high: 1555, longest_s: 1 };
              const shown = { scale, rating: [1555], ping_ms: [], low: [range[0]], high: [range[1]] };
              const { left, right } = extent(shown, [], () => 0);
              return [left, right];
            }""",
            [listed["low"], listed["high"]],
        )
        assert left < listed["low"] < listed["high"] < right, "the whole bar is seen"
        page.shoot("picture-lonely")


def test_the_list_of_those_who_wait_goes_on_by_keyboard(server: Server, browser: Any) -> None:
    with tab(browser) as page:
        opened(page, server, "far", "1 to 10 of 26")
        page.page.focus("text=Shorter waits →")
        page.page.keyboard.press("Enter")
        page.sees("11 to 20 of 26")
        page.page.keyboard.press("Enter")
        page.sees("21 to 26 of 26")
        assert len(page.page.query_selector_all("[aria-label='Waiting longest'] tbody tr")) == 6
        assert page.page.is_disabled("text=Shorter waits →")
        page.page.click("button:text-is('First')")
        page.sees("1 to 10 of 26")


def test_leaders_and_members_are_seen_among_those_who_wait(server: Server, browser: Any) -> None:
    with tab(browser) as page:
        opened(page, server, "sessions", "Nobody leads yet: a session takes 5 players.")
        send(server, "sessions", [[1200.0 + 60 * at] for at in range(11)])
        page.sees("diamonds lead, one for each 5 players")
        page.page.wait_for_selector(".legend i.diamond")
        page.page.focus("canvas")
        walked = []
        for _ in range(12):
            page.page.keyboard.press("ArrowRight")
            walked.append(told(page))
        assert len({one.partition(":")[0] for one in walked}) == 12
        assert sum(", leader," in one for one in walked) == 2
        assert sum(", member," in one for one in walked) == 10
        page.shoot("picture-leaders")


def test_a_lobbys_overlap_is_seen_and_told(server: Server, browser: Any) -> None:
    send(server, "clans", [[1400.0, 1500.0], [1450.0, 1600.0], [2500.0, 2700.0]])
    with tab(browser) as page:
        opened(page, server, "clans", "overlap")
        page.sees("what its range shares with the lobby that shares most")
        page.sees("Two can meet from an overlap of 20% on.")
        cells = [
            row.split("\t") for row in page.page.locator("[aria-label='Waiting longest'] tbody tr").all_inner_texts()
        ]
        assert all(cell[5].endswith(" %") for cell in cells)
        page.page.focus("canvas")
        page.page.keyboard.press("End")
        assert "overlaps by 0 % with the lobby that shares most" in told(page)
        page.shoot("picture-overlap")


def test_many_who_came_together_are_columns_with_counts(server: Server, browser: Any) -> None:
    chance = [(at * 7919 % 1000 + at * 104729 % 1000) / 2 for at in range(1_000)]
    send(server, "together", [[1000.0 + each] for each in chance])
    with tab(browser) as page:
        opened(page, server, "together", "up is how many of that rating wait")
        page.sees("a column: tickets within")
        page.page.focus("canvas")
        page.page.keyboard.press("ArrowRight")
        assert "waited about" in told(page)
        columns = int(re.search(r"tickets in (\d+) columns", page.text())[1])  # type: ignore[index]
        walked = [told(page)]
        for _ in range(columns + 2):
            page.page.keyboard.press("ArrowRight")
            walked.append(told(page))
        walked = list(dict.fromkeys(one.partition(", waited")[0] for one in walked))  # a wait grows on the way
        assert len(walked) == columns, "each column is walked to once"
        assert sum(int(one.split()[0]) for one in walked) == 1_001
        page.shoot("picture-together")


PAINTED: Final = """async () => {
  const { drawProposal, bandColour } = await import("/dashboard/picture_marks.js");
  const { colour } = await import("/dashboard/themes.js");
  const pen = Object.assign(document.createElement("canvas"), { width: 200, height: 100 })
    .getContext("2d", { willReadFrequently: true });
  const plot = { left: 0, right: 200, top: 100, x: (value) => value, y: (value) => 100 - value };
  const seats = [{ team: 0, ping_ms: 50, waited_s: 50, band: 1 }, { team: 0, ping_ms: 150, waited_s: 50, band: 2 }];
  drawProposal(pen, plot, { seats }, (seat) => seat.ping_ms, "epgc");
  const at = (x) => "#" + [...pen.getImageData(x, 50, 1, 1).data].slice(0, 3)
    .map((part) => part.toString(16).padStart(2, "0")).join("");
  return [[at(50), at(150)], [colour(bandColour(1)), colour(bandColour(2))], [at(100), colour("made")]];
}"""


def test_a_proposed_dot_keeps_the_colour_of_its_tier(server: Server, browser: Any) -> None:
    with tab(browser) as page:
        page.open(server.url, "")
        page.sees("live")
        seats, tiers, (line, made) = page.page.evaluate(PAINTED)
        assert seats == tiers
        assert line == made
