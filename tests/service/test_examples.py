"""Every example runs against a real server and does what it says."""

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from .harness import PATIENCE_S, Server, clean_environment, queue

SECRET: Final = {"GAME_SERVERS_SECRET": "known to the game and its matchmaker"}
with socket.create_server(("127.0.0.1", 0)) as _free:
    HOST_PORT: Final = _free.getsockname()[1]
EXAMPLES: Final = Path(__file__).parent.parent.parent / "examples"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    config = queue("duel", every_s=0.05) + (EXAMPLES / "ladder.toml").read_text("utf-8")
    arena = (EXAMPLES / "game_server.toml").read_text("utf-8").replace("8790", str(HOST_PORT))
    made = Server(tmp_path_factory.mktemp("examples"), config + arena, SECRET)
    try:
        yield made.start()
    finally:
        made.close()


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, env=clean_environment() | SECRET)


def example(name: str, server: str, *more: str) -> list[str]:
    """The lines that an example prints."""
    done = run(sys.executable, str(EXAMPLES / name), server, *more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_two_players_meet(server: Server) -> None:
    *_, last = example("two_players.py", server.url)
    assert last.startswith("m-")
    assert " vs " in last


def test_the_ladder_bot_plays_a_game_and_shows_the_ladder(server: Server) -> None:
    said = example("ladder_bot.py", server.url)
    assert "ann is looking for a game" in said
    assert any("already" in line for line in said)  # ann joined twice
    assert any(line.startswith("ann: you play ben (m-") for line in said)
    assert any(line.endswith("ann won") for line in said)
    assert "ben: you have no match to report" in said  # ann's word has counted
    assert [line.split()[1] for line in said if line[:2] in ("1.", "2.")] == ["ann", "ben"]
    assert said[-7:-1] == [
        "cat is looking for a game",
        "<cat> /leave",
        "cat has left the queue",
        "<cat> /report won",
        "cat: you have no match to report",
        "<cat> /dance",
    ]
    assert said[-1].startswith("cat: I know /join")


def test_the_game_server_is_asked_says_where_to_play_and_reports(server: Server) -> None:
    said = example("game_server.py", server.url, str(HOST_PORT))
    assert sum(line.endswith("no room yet") for line in said) == 1
    assert sum(line.endswith("plays at 127.0.0.1:7777") for line in said) == 2
    assert sum(line.endswith("started") for line in said) == 1
    rated = dict(line.split(": ") for line in said if " -> " in line)
    assert len(rated) == 2
    for player, change in rated.items():
        before, after = map(int, change.split(" -> "))
        assert (after > before) == player.startswith("benjamin")


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed: sudo apt-get install curl")
def test_plain_curl_does_it_too(server: Server) -> None:
    done = run("bash", str(EXAMPLES / "curl.sh"), server.url)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "matched: m-" in done.stdout
    assert '"result":' in done.stdout.splitlines()[-1]


@pytest.mark.parametrize("name", ["two_players.py", "ladder_bot.py", "game_server.py"])
def test_an_example_without_a_server_says_what_to_do(name: str) -> None:
    done = run(sys.executable, str(EXAMPLES / name), "http://127.0.0.1:1", "0")
    assert done.returncode == 1
    assert "make serve" in done.stderr
    assert "Traceback" not in done.stderr
