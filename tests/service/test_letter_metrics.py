"""Requests for game servers in /metrics: what waits, what came, what failed and why, and the same after a restart."""

import asyncio
from pathlib import Path

import httpx
import pytest

from evenmatch.cli.top import samples_of
from evenmatch.service.posting import NotAnswered
from evenmatch.service.signing import secret_of
from evenmatch.storage.memory import MemoryJournal

from .game_servers import Allocator, good
from .inside import until
from .test_allocation import SECRET, VARIABLE, Live, live, spec


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)


async def numbers(server: Live) -> dict[str, float]:
    """Metrics of letters, by name and reason; what is 0 is left out."""
    answer: httpx.Response = await server.ask("GET", "/metrics", "reader")
    found: dict[str, float] = {}
    for name, samples in samples_of(answer.text).items():
        if name.startswith("evenmatch_letter") and not name.endswith("_created"):
            for labels, value in samples.items():
                if value:
                    found[" ".join([name.removeprefix("evenmatch_"), *dict(labels).values()])] = value
    return found


def test_letters_are_counted_as_they_wait_fail_and_arrive(tmp_path: Path) -> None:
    async def story(allocator: Allocator) -> None:
        journal = MemoryJournal()
        queue = spec(allocator.url, attempts=2)
        async with live(tmp_path, queue, journal=journal) as server:
            await server.served(await server.match("ann", "ben"))
            assert await numbers(server) == {
                "letter_attempts_failed_total duel status": 1,
                "letters_delivered_total duel": 1,
            }
            allocator.replies = [(200, b"no json"), (500, b"")]
            await server.match("cat", "dan")
            (dead,) = await until(server.dead, "a dead letter")
            assert await numbers(server) == {
                "letter_attempts_failed_total duel status": 2,
                "letter_attempts_failed_total duel answer": 1,
                "letters_delivered_total duel": 1,
                "letters_given_up_total duel": 1,
                "letters_dead duel": 1,
            }
        async with live(tmp_path, queue, journal=journal) as server:
            assert await numbers(server) == {"letters_dead duel": 1}, "counters begin anew, what is dead stays"
            allocator.replies = [good()]
            assert (await server.ask("POST", f"/v1/deadletters/{dead['id']}/retry", "operator")).status_code == 204
            await server.served(dead["match"])
            assert await numbers(server) == {"letters_delivered_total duel": 1}

    with Allocator((503, b""), good()) as allocator:
        asyncio.run(story(allocator))


def test_a_letter_that_nobody_answers_waits_and_fails_for_want_of_a_connection(tmp_path: Path) -> None:
    async def story(url: str) -> None:
        async with live(tmp_path, spec(url, attempts=20, backoff_s=600.0)) as server:
            await server.match("ann", "ben")
            told = await until(lambda: _failed(server), "a failure")
            assert told == {"letters_waiting duel": 1, "letter_attempts_failed_total duel connection": 1}

    async def _failed(server: Live) -> dict[str, float] | None:
        told = await numbers(server)
        return told if len(told) == 2 else None

    with Allocator() as allocator:
        url = allocator.url
    asyncio.run(story(url))  # nobody listens there any more


def test_every_failure_has_one_of_a_few_kinds() -> None:
    missing = secret_of({}, spec("http://127.0.0.1/").allocate)  # type: ignore[arg-type]
    assert isinstance(missing, NotAnswered)
    assert (missing.kind, NotAnswered("what came is not JSON").kind) == ("secret", "answer")
