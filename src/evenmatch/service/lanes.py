"""One ASGI application in front of several lanes, so that clients see one server.

                   ┌─ by queue or by number ──────────────> the App of that lane, which does all of it
    request ─> Lanes ─ about no lane, or told by lane 1 ──> the App of lane 1
                   └─ about the whole server ─> gate ─────> `lanes_asking`: a part of each lane, one answer

1. A ticket's, proposal's or match's number says its lane (`domain/ids`); which lane has a queue is asked of the lanes.
   What nobody has goes to lane 1, whose answer says so.
2. A request is judged, held against its rate and counted once. Each App's gate has the keys, tokens and rates of lane
   1's (`Gate.beside`), and asks its own lane whether a ticket or match is a player's.
3. Readiness, metrics and the dashboard's stream are lane 1's routes, which tell of all lanes (`served`).
4. With one lane every request goes to its App as it came.
5. A queue that is split is nobody's queue: `shards` sends a ticket to the queue that takes it.
6. Lanes and queues come while the server runs. A queue or a lane that is not known here is looked for (`missing`)
   before anybody is told that there is none.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum, auto
from typing import Final

from evenmatch.domain.ids import lane_of, number_of
from evenmatch.domain.shards import Split

from . import lanes_asking as asking
from . import lanes_merging as merging
from . import shards
from .access import Gate, close_of
from .app import App, without_body
from .handlers import PROBLEM, Answer, our_mistake, problem
from .hot import read_body
from .lanes_asking import Asked, Whole, gathered
from .mailbox import Unavailable
from .paths import PathTable
from .served import Served
from .sockets import Message, Receive, Send, turn_away
from .wire import problem_of


class Way(Enum):
    """Which lane a request goes to, as it is."""

    FIRST = auto()
    """Lane 1: it is about no lane, or lane 1 tells of all."""
    QUEUE = auto()
    """The lane that has the queue that the path names."""
    NUMBER = auto()
    """The lane that the number in the path belongs to."""


WAYS: Final[dict[tuple[str, str], Way | Whole]] = {
    ("GET", "/"): Way.FIRST,
    ("GET", "/dashboard/{file}"): Way.FIRST,
    ("GET", "/docs"): Way.FIRST,
    ("GET", "/openapi.json"): Way.FIRST,
    ("GET", "/healthz"): Way.FIRST,
    ("GET", "/readyz"): Way.FIRST,
    ("GET", "/metrics"): Way.FIRST,
    ("GET", "/v1/watch"): Way.FIRST,
    ("GET", "/v1/queues"): gathered(merging.all_queues),
    ("GET", "/v1/queues/{queue}"): Way.QUEUE,
    ("POST", "/v1/queues/{queue}/tickets"): Way.QUEUE,
    ("POST", "/v1/queues/{queue}/tickets:batch"): Way.QUEUE,
    ("PUT", "/v1/queues/{queue}/mode"): Way.QUEUE,
    ("GET", "/v1/queues/{queue}/leaderboard"): Way.QUEUE,
    ("GET", "/v1/queues/{queue}/calibration"): Way.QUEUE,
    ("POST", "/v1/queues/{queue}/season"): Way.QUEUE,
    ("PUT", "/v1/queues/{queue}/spec"): Way.QUEUE,
    ("GET", "/v1/queues/{queue}/versions"): Way.QUEUE,
    ("POST", "/v1/queues/{queue}/rollback"): Way.QUEUE,
    ("GET", "/v1/queues/{queue}/forecast"): Way.QUEUE,
    ("GET", "/v1/queues/{queue}/history"): Way.QUEUE,
    ("GET", "/v1/queues/{queue}/waiting"): Way.QUEUE,
    ("GET", "/v1/queues/{queue}/waves"): Way.QUEUE,
    ("GET", "/v1/queues/{queue}/waves/{wave}"): Way.QUEUE,
    ("GET", "/v1/tickets/{ticket}"): Way.NUMBER,
    ("DELETE", "/v1/tickets/{ticket}"): Way.NUMBER,
    ("PATCH", "/v1/tickets/{ticket}"): Way.NUMBER,
    ("POST", "/v1/tickets/{ticket}/heartbeat"): Way.NUMBER,
    ("POST", "/v1/tickets/{ticket}/cancel"): Way.NUMBER,
    ("WS", "/v1/tickets/{ticket}/events"): Way.NUMBER,
    ("GET", "/v1/tickets/{ticket}/events"): Way.NUMBER,
    ("GET", "/v1/tickets/{ticket}/why"): Way.NUMBER,
    ("GET", "/v1/tickets/{ticket}/story"): Way.NUMBER,
    ("POST", "/v1/proposals/{proposal}/accept"): Way.NUMBER,
    ("POST", "/v1/proposals/{proposal}/decline"): Way.NUMBER,
    ("GET", "/v1/matches/{match}"): Way.NUMBER,
    ("POST", "/v1/matches/{match}/end"): Way.NUMBER,
    ("POST", "/v1/matches/{match}/backfill"): Way.NUMBER,
    ("GET", "/v1/matches/{match}/backfill"): Way.NUMBER,
    ("DELETE", "/v1/matches/{match}/backfill"): Way.NUMBER,
    ("POST", "/v1/matches/{match}/started"): Way.NUMBER,
    ("POST", "/v1/matches/{match}/failed"): Way.NUMBER,
    ("POST", "/v1/matches/{match}/cancel"): Way.NUMBER,
    ("POST", "/v1/matches/{match}/result"): Way.NUMBER,
    ("PUT", "/v1/matches/{match}/result"): Way.NUMBER,
    ("GET", "/v1/matches/{match}/result"): Way.NUMBER,
    ("GET", "/v1/players/{player}"): gathered(merging.one_player),
    ("GET", "/v1/players/{player}/tickets"): gathered(merging.one_players_tickets),
    ("GET", "/v1/players/{player}/ratings"): gathered(merging.one_players_ratings),
    ("GET", "/v1/players/{player}/history"): asking.history,
    ("GET", "/v1/players/{player}/export"): gathered(merging.one_export),
    ("PUT", "/v1/players/{player}/blocks"): asking.blocks,
    ("DELETE", "/v1/players/{player}/cooldowns"): asking.cooldowns,
    ("DELETE", "/v1/players/{player}"): asking.erase,
    ("GET", "/v1/audit"): asking.audit,
    ("POST", "/v1/backup"): asking.backup,
    ("GET", "/v1/deadletters"): gathered(merging.all_deadletters),
    ("POST", "/v1/deadletters/{letter}/retry"): Way.NUMBER,
}
"""Where the requests go that the table of rights knows (`access.RIGHTS`), as it names them; all others to lane 1."""

_TABLE: Final = PathTable(WAYS)
_BODILESS: Final = ("GET", "DELETE")
_NUMBERED: Final = ("tickets", "proposals", "matches", "deadletters")
"""What has a number that says its lane."""


class Lanes:
    """One server over the Apps of several lanes; lane 1 is one of them."""

    def __init__(self, apps: Mapping[int, App], splits: Mapping[str, Split] | None = None) -> None:
        assert 1 in apps, "lane 1 answers what is no other lane's"
        self.first = apps[1]
        self.apps: dict[int, App] = {}
        """By the lane's number."""
        self.splits: Mapping[str, Split] = {} if splits is None else splits
        """By the queue that is split; another table may take its place at any time."""
        self.missing: Callable[[], Awaitable[Unavailable | None]] | None = None
        """Looks for lanes and queues that came since; why what is not known here may be there all the same."""
        self._running = False
        for lane, app in sorted(apps.items()):
            self._take(lane, app)

    @property
    def gate(self) -> Gate:
        """Whose keys, tokens and rates count."""
        return self.first.gate

    def add(self, lane: int, app: App) -> None:
        """Serve one more lane; it is started first if the others are."""
        assert lane not in self.apps
        if self._running:
            app.begin()
        self._take(lane, app)

    def _take(self, lane: int, app: App) -> None:
        if app is not self.first:
            app.gate = self.first.gate.beside(app.runner)
        self.apps = dict(sorted([*self.apps.items(), (lane, app)]))
        self.first.served[lane] = Served(app.runner, app.hub)

    def hang_up(self) -> None:
        """Tell all who follow tickets, or watch, that the server stops."""
        for app in self.apps.values():
            app.hub.close()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        if self.missing is not None and not self._knows(scope["path"]):
            if scope["type"] == "http" and scope["method"] == "HEAD":
                scope, send = {**scope, "method": "GET", "bodiless": True}, without_body(send)
            refused = await self._looked_for(self.missing, scope)
            if refused is not None:
                await self._refuse(scope, receive, send, refused)
                return
        if len(self.apps) == 1 and not self.splits:
            await self.first(scope, receive, send)
            return
        method = "WS" if scope["type"] == "websocket" else scope["method"]
        found = _TABLE.find("GET" if method == "HEAD" else method, scope["path"])
        way: Way | Whole
        way, named = (Way.FIRST, "") if found is None else found
        if way is Way.QUEUE and named in self.splits:
            is_open = self._with_queue(named) is not None
            asks = "GET" if method == "HEAD" else method
            way = shards.way(self.splits[named], asks, scope["path"], is_open) or way
        if not isinstance(way, Way):
            await self._whole(way, scope, receive, send)
            return
        app = None
        if way is Way.QUEUE:
            app = self._with_queue(named)
        elif way is Way.NUMBER:
            number = number_of(named[:2], named)
            app = self.first if number is None else self.apps.get(lane_of(number), self.first)
        if app is None:
            app, send = self.first, self._naming_all(send)
        await app(scope, receive, send)

    def _knows(self, path: str) -> bool:
        """Is the queue, or the lane of the number, that a path names known here? What names none needs none."""
        parts = path.split("/", 4)
        if len(parts) < 4 or parts[1] != "v1" or not parts[3]:
            return True
        named = parts[3]
        if parts[2] == "queues":
            return named in self.splits or self._with_queue(named) is not None
        number = number_of(named[:2], named) if parts[2] in _NUMBERED else None
        return number is None or lane_of(number) in self.apps

    async def _looked_for(self, missing: Callable[[], Awaitable[Unavailable | None]], scope: Message) -> Answer | None:
        """Look for what is not known; the answer to who may not ask, or came too early, and None for all others."""
        if scope["type"] == "http":  # strangers do not make anybody look
            refused = await self.gate.admit(scope)
            if refused is not None or "granted" not in scope:
                return refused
        why = await missing()
        return None if why is None or self._knows(scope["path"]) else problem(problem_of(why))

    async def _refuse(self, scope: Message, receive: Receive, send: Send, refused: Answer) -> None:
        if scope["type"] == "http":
            await self.first.reply(scope, send, refused)
        else:
            await turn_away(*close_of(refused), receive, send)

    def _with_queue(self, name: str) -> App | None:
        for app in self.apps.values():
            if name in app.runner.engine.state.queues:
                return app
        return None

    def _queues(self) -> list[str]:
        return [name for app in self.apps.values() for name in list(app.runner.engine.state.queues)]

    async def _whole(self, ask: Whole, scope: Message, receive: Receive, send: Send) -> None:
        """A request about the whole server."""
        if scope["method"] == "HEAD":
            scope, send = {**scope, "method": "GET"}, without_body(send)
        try:
            refused = None if "granted" in scope else await self.gate.admit(scope)
            answer = refused or await self._asked(ask, scope, receive)
        except Exception as error:
            answer = our_mistake(error)
        await self.first.reply(scope, send, answer)

    async def _asked(self, ask: Whole, scope: Message, receive: Receive) -> Answer:
        is_batch = scope["path"].endswith(":batch")
        most = self.first.settings.batch_body_max_bytes if is_batch else self.first.settings.body_max_bytes
        body = b"" if scope["method"] in _BODILESS else await read_body(scope, receive, most)
        if isinstance(body, Answer):
            return body
        answer = await ask(Asked(self.apps, scope, body))
        return merging.hinted(answer, self._queues()) if answer.status == 404 else answer

    def _naming_all(self, send: Send) -> Send:
        """Where lane 1 says that there is no such queue, let it name those of all lanes."""
        held: Message | None = None

        async def told(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start" and message["status"] == 404:
                held = message
                return
            if held is not None:
                headers, body = dict(held["headers"]), message.get("body", b"")
                if body and headers.get(b"content-type", b"").startswith(PROBLEM):  # a HEAD has none
                    body = merging.hinted(Answer(404, body, PROBLEM), self._queues()).body
                    headers[b"content-length"] = str(len(body)).encode()
                await send({**held, "headers": list(headers.items())})
                held, message = None, {**message, "body": body}
            await send(message)

        return told

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        begun: list[App] = []
        try:
            for app in self.apps.values():
                app.begin()
                begun.append(app)
            self._running = True
            await send({"type": "lifespan.startup.complete"})
            await receive()
            begun = list(self.apps.values())
        finally:  # also where one cannot start: the others have
            self._running = False
            await asyncio.gather(*(app.end() for app in begun))
        await send({"type": "lifespan.shutdown.complete"})
