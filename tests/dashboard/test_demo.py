"""`evenmatch demo`: alive within a minute, over before long, and the pictures of the README."""

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import pytest

from ..service.harness import PATIENCE_S, clean_environment
from .browser import needs_chromium, tab

pytestmark = needs_chromium
STARTING: Final = r"evenmatch: the server is starting, \d+ s so far\n"


@contextmanager
def shown() -> Iterator[tuple["subprocess.Popen[str]", str, str]]:
    """The demonstration on a port of its own, its address, and its operator's key."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "evenmatch", "demo", "--port", str(port)]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment()
    )
    try:
        assert running.stdout is not None
        assert "The crowd is coming" in running.stdout.readline()
        key = running.stdout.readline().rpartition(" ")[2].strip()
        assert key.startswith("em_")
        yield running, f"http://127.0.0.1:{port}", key
    finally:
        if running.poll() is None:
            running.terminate()  # not killed: it ends its own server
            running.communicate(timeout=PATIENCE_S)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_the_demonstration_is_alive_and_ends_without_a_word_too_many(how: signal.Signals, browser: Any) -> None:
    with shown() as (running, url, key):
        if how == signal.SIGTERM:
            with tab(browser) as page:
                page.open(url, "")
                page.sees("tickets wait")
                matched = "(card) => /matches\\s+[1-9]/.test(card.innerText)"
                page.page.wait_for_function(f"() => [...document.querySelectorAll('a.card')].some({matched})")
                page.open(url, "queue/duel/operate")
                page.page.fill("#operator-key", key)
                page.page.keyboard.press("Enter")
                page.sees("Rules, version 1")
        running.send_signal(how)
        said, complained = running.communicate(timeout=PATIENCE_S)
        complained = re.sub(STARTING, "", complained)  # on a machine that has much else to do
        assert (running.returncode, said.strip(), complained) == (0, "The demonstration is over.", "")
        with pytest.raises(httpx.TransportError):
            httpx.get(url)


@pytest.mark.slow
def test_the_pictures_of_the_readme_are_made(browser: Any) -> None:
    with shown() as (_, url, _):
        time.sleep(150)  # so that the charts have something to show
        waves = httpx.get(f"{url}/v1/queues/squads/waves").json()["waves"]
        wave = max(waves[:20], key=lambda one: one["proposals"])["number"]
        with tab(browser) as page:
            for name, view, words in (
                ("overview", "", "tickets wait"),
                ("queue", "queue/squads", "Waiting longest"),
                ("wave", f"queue/squads/wave/{wave}", "proven: same snapshot"),
            ):
                page.open(url, view)
                page.sees(words)
                page.page.wait_for_timeout(3_000)
                page.shoot(f"readme-{name}")
