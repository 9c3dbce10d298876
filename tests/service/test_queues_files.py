"""evenmatch queues pull and push, against a real server: what is pulled says what is in force, and goes back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evenmatch import config

from .callers import key_in
from .harness import Server, evenmatch, queue

QUEUES = (
    queue("duel", require_equal=("mode",))
    + queue("far", timeout_s=None)
    + '[queues.far.venue]\nregions = ["EU", "US"]\nlatency_max_ms = 80\nmaps = { "Old Town" = 2.0 }\n\n'
    + '[queues.far.allocate]\nurl = "http://127.0.0.1:9/"\nsecret = "GAME_SECRET"\n\n'
    + queue("skill", matcher="buckets")
)


class Told:
    """A server, and the command line beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys = {"operator": key_in(folder, "operator"), "reader": key_in(folder, "reader")}
        self.server = Server(folder, QUEUES, env={"GAME_SECRET": "x" * 32}).start()

    def run(self, *words: str, key: str = "operator", url: str = "") -> tuple[int, str]:
        done = evenmatch("queues", *words, "--url", url or self.server.url, env={"EVENMATCH_API_KEY": self.keys[key]})
        return done.returncode, done.stdout if done.returncode == 0 else done.stderr


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    found = Told(tmp_path)
    try:
        yield found
    finally:
        found.server.close()


def test_what_is_pulled_is_what_is_in_force_and_goes_back(told: Told) -> None:
    target = told.folder / "pulled.toml"
    assert told.run("pull", str(target)) == (0, f"3 queues written to {target}\n")
    by_name = {spec.name: spec for spec in config.load(target)}
    assert by_name == {spec.name: spec for spec in config.parse(QUEUES, "queues.toml")}
    assert told.run("pull")[1] == target.read_text()
    assert "duel: nothing changes (version 1)" in told.run("push", str(target))[1]

    target.write_text(target.read_text().replace("expires_s = 600.0", "expires_s = 500.0", 1))
    code, said = told.run("push", str(target), "--dry-run")
    assert code == 0
    assert "version 1 -> 2 (not done)" in said
    assert "ticket.expires_s: 600.0 -> 500.0" in said
    assert "version 1 -> 2\n" in told.run("push", str(target))[1]
    assert told.run("pull")[1] == target.read_text()


def test_mistakes_are_said_and_nothing_is_half_done(told: Told) -> None:
    target = told.folder / "pulled.toml"
    code, said = told.run("pull", key="reader")
    assert (code, "give an operator's key" in said) == (2, True)
    target.write_text("mine")
    code, said = told.run("pull", str(target))
    assert (code, "is there already" in said, target.read_text()) == (2, True, "mine")
    assert told.run("pull", str(target), "--force")[0] == 0
    code, said = told.run("pull", str(told.folder / "none" / "x.toml"))
    assert (code, "cannot be written" in said) == (2, True)

    before = told.run("pull")[1]
    target.write_text(before.replace("expires_s = 600.0", "expires_s = 500.0") + "\n[queues.new]\n")
    code, said = told.run("push", str(target))
    assert (code, "has no queue new" in said) == (2, True)
    target.write_text(before.replace("expires_s = 600.0", "expires_s = 500.0"))
    code, said = told.run("push", str(target), key="reader")
    assert (code, "EVENMATCH_API_KEY" in said) == (2, True)
    assert told.run("pull")[1] == before
    for url in ("http://127.0.0.1:9", "nonsense", "ftp://x"):
        code, said = told.run("pull", url=url)
        assert (code, said.count("\n")) == (2, 1), said
