"""What the page costs browser and line: bounded, however many wait. Times are only written down."""

import json
from pathlib import Path
from typing import Any, Final

from evenmatch.service.picture_scale import CELLS
from evenmatch.service.routes_dashboard import files

from ..service.harness import Server, queue
from .browser import SHOTS, needs_chromium, tab

pytestmark = needs_chromium

WAITING: Final = 10_000
FRAME_MOST: Final = 40_000
"""Bytes."""
NODES_MOST: Final = 1_500
LOADED: Final = """() => {
  const [page] = performance.getEntriesByType("navigation");
  const parts = performance.getEntriesByType("resource").filter((one) => one.name.includes("/dashboard/"));
  return { loaded_ms: page.loadEventEnd, drawn_ms: performance.now(), files: parts.length + 1,
    bytes: parts.reduce((sum, one) => sum + one.transferSize, page.transferSize) };
}"""
SMOOTH: Final = """() => new Promise((done) => {
  const tasks = [];
  const noted = new PerformanceObserver((list) => tasks.push(...list.getEntries().map((one) => one.duration)));
  noted.observe({ type: "longtask" });
  const [began, gaps] = [performance.now(), []];
  const next = (before) => requestAnimationFrame((now) => {
    gaps.push(now - before);
    if (now - began < 4000) return next(now);
    gaps.sort((a, b) => a - b);
    done({ drawn_each_ms: gaps[gaps.length >> 1], longest_gap_ms: gaps[gaps.length - 1], long_tasks: tasks.length,
      longest_task_ms: Math.max(0, ...tasks) });
  });
  next(began);
})"""


def test_ten_thousand_waiting_tickets_do_not_slow_the_page(tmp_path: Path, browser: Any) -> None:
    text = queue("pool", size=100, timeout_s=None, matcher="even")
    server = Server(tmp_path, text.replace("every_s = 0.02", "every_s = 600")).start()
    try:
        for first in range(0, WAITING, 1_000):
            tickets = [
                {"players": [{"id": f"p{number}", "rating": 1000 + number * 7 % 1000}]}
                for number in range(first, first + 1_000)
            ]
            answer = server.http.post("/v1/queues/pool/tickets:batch", json={"tickets": tickets})
            assert answer.status_code == 200
        frame = first_frame(server)
        assert len(frame) < FRAME_MOST
        picture = json.loads(frame)["picture"]
        assert picture["waiting"] == sum(picture["count"]) == WAITING
        assert len(picture["rating"]) <= CELLS
        with tab(browser) as page:
            page.open(server.url, "")
            page.page.wait_for_selector("a.card")
            figures = page.page.evaluate(LOADED)
            page.open(server.url, "queue/pool")
            page.sees("10,000 tickets in")
            figures |= page.page.evaluate(SMOOTH)
            figures |= {"frame_bytes": len(frame), "nodes": page.page.evaluate("document.querySelectorAll('*').length")}
            page.shoot("ten-thousand")
        (SHOTS / "figures.json").write_text(json.dumps(figures, indent=1))
        assert figures["nodes"] < NODES_MOST
        assert figures["files"] <= len(files())
        assert figures["bytes"] < sum(map(len, files().values())) + 500 * len(files())
    finally:
        server.close()


def first_frame(server: Server) -> str:
    """The stream's first frame with a picture."""
    with server.http.stream("GET", "/v1/watch?queue=pool") as lines:
        return next(line for line in lines.iter_lines() if line.startswith("data: ")).removeprefix("data: ")
