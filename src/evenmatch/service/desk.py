"""Where requests of other nodes are answered before the commit that carries them out, so that it holds the answers too.

    engine thread: a group of orders is stepped ─> those of requests are answered early ─> event loop: the application
    writes the responses down here ─> one commit: the events, the responses, the end of the requests in the inbox

1. A response that was written down early is told to nobody: it leaves with the commit or not at all (I7).
2. An order that may change something holds its group until its request is answered, or asks for more, which is done in
   the same group. What takes long (a thread, a file) lets the group go; its answer then has a commit of its own. Should
   the owner die in between, such a request is carried out again by the next one: all of that kind may be.
"""

import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, Protocol

from evenmatch.storage.inbox import Outcome

from .mailbox import Order, OutcomeOrder, Question

if TYPE_CHECKING:
    from .group import Group
    from .owner import Owner

_PATIENCE_S: Final = 0.25
"""So long a group waits for its requests to be answered."""


class Requests(Protocol):
    """Who wants to hear what became of requests."""

    def settled(self, outcomes: list[Outcome]) -> None:
        """These are carried out for good."""

    def undone(self, orders: Iterable[Order], *, fault: bool = False) -> None:
        """These were not; `fault`: the engine failed with them."""


class Unasked:
    """Where no other node asks for anything."""

    def settled(self, outcomes: list[Outcome]) -> None:
        """Nobody asked."""

    def undone(self, orders: Iterable[Order], *, fault: bool = False) -> None:
        """Nobody asked."""


class Carried:
    """A request while it is carried out."""

    __slots__ = ("alone", "desk", "held", "id", "orders", "response", "void")

    def __init__(self, id: str, desk: "Desk", alone: bool) -> None:
        self.id, self.desk, self.alone = id, desk, alone
        self.held = False
        """A group waits for it."""
        self.orders: list[Order] = []
        """What it put while its group waited."""
        self.response: bytes | None = None
        self.void = False
        """What it led to was undone: it is carried out anew, and nothing that this attempt still says counts."""


class Desk:
    """Where the engine thread waits for responses that the event loop writes down."""

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._missing = 0

    def put(self, request: Carried, order: Order) -> bool:
        """An order of a request whose group waits for it; False = none does."""
        with self._turn:
            if not request.held:
                return False
            request.orders.append(order)
            self._count()
            return True

    def finish(self, request: Carried, response: bytes) -> bool:
        """Write a response down; False = no group waits for it."""
        with self._turn:
            request.response = response
            if not request.held:
                return False
            self._count()
            return True

    def _count(self) -> None:
        self._missing -= 1
        if not self._missing:
            self._turn.notify()

    def wait(self, requests: list[Carried], most_s: float, tell: Callable[[], None]) -> None:
        """Let the event loop go on (`tell`), until each request is answered or has put more, so long at most."""
        with self._turn:
            self._missing = len(requests)
            for request in requests:
                request.held = True
        tell()
        with self._turn:
            self._turn.wait_for(lambda: not self._missing, most_s)
            for request in requests:
                request.held = False


def written_down(runner: "Owner", group: "Group", orders: Iterable[Order]) -> list[Outcome]:
    """Have the requests of a group answered before its commit: what to put into it."""
    done: dict[str, Carried] = {}
    held: dict[str, Carried] = {}
    for order in orders:
        request = order.request
        if request is not None and not request.void:
            if isinstance(order, OutcomeOrder):
                done[request.id] = request
            elif not isinstance(order, Question):
                held[request.id] = request
    until_s = time.monotonic() + _PATIENCE_S
    while held:
        early = group.answers_to(held)
        waiting = list(held.values())
        waiting[0].desk.wait(waiting, max(0.0, until_s - time.monotonic()), lambda: runner.answer(early))  # noqa: B023
        held = {}
        for request in waiting:
            if request.orders:
                more, request.orders = request.orders, []
                for order in more:
                    group.step([order])
                held[request.id] = request
            elif request.response is not None:
                done[request.id] = request
    return [Outcome(request.id, request.response or b"") for request in done.values()]
