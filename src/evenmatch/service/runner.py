"""Who answers for a lane in this process: its owner, whose engine decides (`owner`), or a follower, which reads what
the owner decided (`follower`). Handlers, views and lines know only what both can do.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from evenmatch.core.engine import Engine
from evenmatch.domain.arrays import Array
from evenmatch.settings import Settings
from evenmatch.storage.outbox import Letter
from evenmatch.storage.protocol import Journal

from . import messages
from .chronicle import Chronicle
from .copies import Copies
from .directory import Directory
from .forecasts import Forecasts
from .mailbox import Order, Reply
from .metrics import Metrics
from .past_waves import PastWaves
from .plan_words import PlanWords
from .rating_book import RatingBook
from .views import Views


class Runner(Protocol):
    """A thread with a state, its mailbox, and what is known beside the state."""

    settings: Settings
    metrics: Metrics
    forecasts: Forecasts
    copies: Copies
    past_waves: PastWaves
    plan_words: PlanWords
    engine: Engine
    directory: Directory
    book: RatingBook
    views: Views
    stopping: bool
    erasures: int
    """Players erased so far: who remembers names by itself forgets them when it rises."""
    listening: dict[int, Any]
    """Tickets whose owners hold a line; the event loop writes, the thread looks."""
    push: Callable[[list[messages.Told]], None]
    cut: Callable[[list[int]], None]
    """Closes, on the event loop, the lines of tickets that could not be told all; who comes back hears why."""
    posted: Callable[[list[Letter]], None]
    """Hears, on the event loop, of requests for game servers that are durable now."""
    fatal: Callable[[str], None]
    """Called from the thread when it cannot go on."""
    chronicle: Chronicle | None
    """Tells the log what happens, where there is one."""

    @property
    def ready(self) -> bool:
        """Can orders be carried out?"""

    @property
    def trouble(self) -> str | None:
        """Why they cannot, in words for anybody, as far as it is known."""

    @property
    def journal(self) -> Journal:
        """Where the events are."""

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the thread; replies are given on this loop."""

    async def stop(self) -> None:
        """Carry out what waits, and end the thread."""

    @property
    def depth(self) -> int:
        """Orders that wait."""

    def full(self) -> bool:
        """Is there no room for another order?"""

    def put(self, order: Order) -> None:
        """Hand an order to the thread."""

    def reply(self) -> Reply:
        """A future for an order's answer."""

    async def ask(self, question: Callable[[Views, int], Any]) -> Any:
        """Look something up in committed state."""

    def seen(self, tickets: Array) -> None:
        """Tickets whose owners hold a line are there still."""

    def lost(self, tickets: Array) -> None:
        """The last lines of these tickets were closed."""
