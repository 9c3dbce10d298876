"""One browser, and one server with a crowd, for all tests of a file."""

from collections.abc import Iterator
from typing import Any

import pytest

from ..service.harness import Server
from .browser import chromium
from .crowded import QUEUES, QUIET, Crowded


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowded]:
    """The demonstration's queues, with its crowd."""
    quick = QUEUES.replace("placement = 3", "placement = 1")
    server = Server(tmp_path_factory.mktemp("crowded"), quick + QUIET).start()
    crowd = Crowded(server)
    yield crowd
    crowd.close()
    server.close()
