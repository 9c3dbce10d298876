"""Servers that are gone when their test is over, however it ended."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .harness import Server

MakeServer = Callable[..., Server]


@pytest.fixture
def make_server(tmp_path: Path) -> Iterator[MakeServer]:
    """Starts servers of a test's own: `make_server(config, EVENMATCH_...="...")`; waits until they are `ready`."""
    made: list[Server] = []

    def make(config: str | None = None, *, place: str | None = None, ready: bool = True, **env: str) -> Server:
        folder = tmp_path / f"server{len(made)}"
        folder.mkdir()
        made.append(Server(folder, config, env, place))
        return made[-1].start(ready=ready)

    yield make
    for server in made:
        server.close()
