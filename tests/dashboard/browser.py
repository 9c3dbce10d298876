"""Debian's Chromium, driven by playwright; and what a page must never do, noted while it is open."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

CHROMIUM: Final = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SHOTS: Final = Path(__file__).parent / "screenshots"
"""Kept for people to look at; not committed."""
WIDTHS: Final = {"phone": (390, 844), "wide": (1920, 1080)}
THEMES: Final = ("light", "dark")

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="NOT RUN: the dashboard was not tried, for there is no Chromium (apt-get install chromium)"
)


class Tab:
    """A page, and all that it complained of."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on(
            "console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("requestfinished", self._asked)
        self.asked: list[str] = []

    def _asked(self, request: Any) -> None:
        self.asked.append(request.url)

    def open(self, url: str, view: str) -> None:
        """Go to a view by its address."""
        self.page.goto(f"{url}/#/{view}")

    def text(self) -> str:
        """All that can be read."""
        return str(self.page.inner_text("body"))

    def sees(self, words: str) -> None:
        """Wait until some words are there."""
        self.page.wait_for_function("words => document.body.innerText.includes(words)", arg=words, timeout=60_000)

    def drawn(self) -> None:
        """Wait until what was read is on the screen, pictures and lines too."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def settled(self, look: str) -> Any:
        """What a function finds once tables have folded: they do so with the frame that first shows them, not before.

        Observers of sizes are called in rounds, each of deeper elements than the last; tables fold in the first one.
        """
        return self.page.evaluate(
            f"""() => new Promise((done) => {{
              const seen = (one, call) => {{
                const watch = new ResizeObserver(() => {{ watch.disconnect(); call(); }});
                watch.observe(one);
              }};
              seen(document.body, () => seen(document.querySelector("main"), () => done(({look})())));
            }})"""
        )

    def shoot(self, name: str) -> None:
        """Keep a picture of the whole page."""
        SHOTS.mkdir(exist_ok=True)
        self.page.screenshot(path=str(SHOTS / f"{name}.png"), full_page=True)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser."""
    from playwright.sync_api import sync_playwright

    options = ["--no-sandbox", "--disable-dev-shm-usage"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options, env=dict(os.environ))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def tab(browser: Any, width: str = "wide", theme: str = "light", expects: str | None = None) -> Iterator[Tab]:
    """A page of its own, which has complained of nothing when it is closed; `expects`: but of this."""
    wide, tall = WIDTHS[width]
    context = browser.new_context(viewport={"width": wide, "height": tall}, color_scheme=theme)
    try:
        opened = Tab(context.new_page())
        yield opened
        assert [said for said in opened.complaints if expects is None or expects not in said] == []
    finally:
        context.close()


CONTRAST: Final = """
() => {
  const number = (part) => { const c = part / 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const light = (rgb) => 0.2126 * number(rgb[0]) + 0.7152 * number(rgb[1]) + 0.0722 * number(rgb[2]);
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const rgba = parts(getComputedStyle(at).backgroundColor);
      if (rgba.length === 3 || rgba[3] > 0) return rgba;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || element.closest("noscript, .hidden, .skip") || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const ink = element.closest("svg") ? style.fill : style.color;
    const [a, b] = [light(parts(ink)), light(ground(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) poor.push(`${element.tagName} ${element.textContent.slice(0, 30)}: ${contrast.toFixed(2)}`);
  }
  return poor;
}
"""
"""Texts, also those of charts, whose contrast with what they stand on is below 4.5."""

LABELS: Final = """
() => {
  const found = [];
  const all = (query) => [...document.querySelectorAll(query)]
    .filter((element) => !element.closest("[hidden], noscript"));
  const name = (element) => element.getAttribute("aria-label") || element.textContent.trim()
    || (element.id && document.querySelector(`label[for="${element.id}"]`)?.textContent.trim());
  const say = (what, elements) =>
    elements.forEach((element) => found.push(`${what}: ${element.outerHTML.slice(0, 120)}`));
  const used = "a[href], button, input, select, textarea, summary, canvas, svg[role=img], [role=region], [role=group]";
  say("has no name", all(used)
    .filter((element) => !name(element)));
  say("a picture without a role", all("svg, canvas").filter((element) => !element.hasAttribute("role")
    && element.getAttribute("aria-hidden") !== "true" && !element.closest("svg svg")));
  say("scrolls, but not by keyboard", all("*").filter((element) => element.scrollWidth > element.clientWidth + 1
    && ["auto", "scroll"].includes(getComputedStyle(element).overflowX) && element.tabIndex < 0));
  say("a heading of a table is none", all("th").filter((element) => !element.scope));
  say("is too small to hit", all("button, input, select, textarea").filter((element) =>
    element.getClientRects().length && element.getBoundingClientRect().height < 24));
  const ids = all("[id]").map((element) => element.id);
  ids.filter((id, at) => ids.indexOf(id) !== at).forEach((id) => found.push(`twice the same id: ${id}`));
  if (all("h1").length !== 1) found.push(`${all("h1").length} headings of the first rank`);
  if (all("main").length !== 1 || !document.documentElement.lang || !document.title)
    found.push("no main, language or title");
  return found;
}
"""
"""Things to use or to look at that a screen reader, a keyboard or a finger can't make out."""
