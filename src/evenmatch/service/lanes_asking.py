"""Requests about the whole server, asked of each lane and answered once.

    granted once ─> Asked ─> a part of each lane's App ─> `lanes_merging` ─> counted, dressed and sent once

1. Questions are asked of all lanes at the same time, orders of one after the other: the first lane's refusal of what
   the request says spares the others.
2. A lane's part can be done again without harm, so that a client who hears 503 may simply ask again. A player's name is
   erased last: until all lanes have erased what else they know of the player, each can still be asked by name.
3. The audit is one for each journal, and a sequence counts in its own only. `after` of the merged one says how far each
   lane was read, as in `1:184,2:7`; a plain number is lane 1's, which is where a reader stands who knew one lane only.
   `lane=` asks for one lane's audit, with plain numbers.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, urlencode

import msgspec

from . import lanes_merging as merging
from .app import PART, App
from .front import OURS
from .handlers import PROBLEM, Answer, our_mistake, problem
from .lanes_merging import Told
from .operators import AUDIT_MOST
from .sockets import Message
from .wire import WireReasons

_HISTORY: Final = 100
_AUDIT: Final = 100
_LEFT_OUT: Final = OURS | {b"content-length", b"content-type"}
"""Headers that an answer is given when it is sent."""
_AFTER: Final = re.compile(r"[0-9]{1,5}:[0-9]{1,19}(,[0-9]{1,5}:[0-9]{1,19})*", re.ASCII)


class Asked:
    """A request that was granted, to be asked of lanes."""

    def __init__(self, apps: Mapping[int, App], scope: Message, body: bytes) -> None:
        self.apps, self._scope, self._body = dict(sorted(apps.items())), scope, body
        self._given = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)

    def given(self, name: str) -> str | None:
        """A parameter of the query; where it stands twice, the last one counts."""
        return self._given[name][-1] if name in self._given else None

    @property
    def scope(self) -> Message:
        """The request, less its body."""
        return self._scope

    @property
    def body(self) -> bytes:
        """What came with it."""
        return self._body

    async def of(self, lane: int, **changed: str) -> Answer:
        """What one lane answers, with some parameters changed."""
        query: bytes = self._scope.get("query_string", b"")
        if changed:
            kept = [pair for pair in parse_qsl(query.decode("latin-1"), True) if pair[0] not in changed]
            query = urlencode([*kept, *changed.items()]).encode()
        return await self._told(lane, {**self._scope, "query_string": query}, self._body)

    async def at(self, lane: int, path: str, body: bytes | None = None) -> Answer:
        """What one lane answers at another path, which asks for the same right; with another body, if one is given."""
        headers = [(name, value) for name, value in self._scope["headers"] if name != b"content-length"]
        body = self._body if body is None else body
        headers.append((b"content-length", str(len(body)).encode()))
        scope = {**self._scope, "path": path, "raw_path": path.encode(), "headers": headers}
        return await self._told(lane, scope, body)

    async def _told(self, lane: int, scope: Message, body: bytes) -> Answer:
        heard = _Heard(body)
        try:
            await self.apps[lane]({**scope, "state": {}, PART: True}, heard.receive, heard.send)
        except Exception as error:
            return our_mistake(error)
        return heard.answer()

    async def of_all(self, **changed: str) -> Told:
        """What all lanes answer, asked at the same time."""
        answers = await asyncio.gather(*(self.of(lane, **changed) for lane in self.apps))
        return dict(zip(self.apps, answers, strict=True))

    async def of_each(self, lanes: Iterable[int], **changed: str) -> Told:
        """What lanes answer, asked one after the other; only the first if it refuses what the request says."""
        told: Told = {}
        for lane in lanes:
            told[lane] = await self.of(lane, **changed)
            if len(told) == 1 and merging.is_undone(told[lane]) and told[lane].status < 500:
                break
        return told

    def lane(self) -> int | Answer | None:
        """The lane that the query asks for; None = it names none."""
        text = self.given("lane")
        if text is None:
            return None
        if text.isascii() and text.isdigit() and len(text) <= 5 and int(text) in self.apps:
            return int(text)
        names = {lane: app.runner.journal.lane_name for lane, app in self.apps.items()}
        called = [lane for lane, name in names.items() if name == text]
        if len(called) == 1:
            return called[0]
        known = ", ".join(f"{lane} ({name})" for lane, name in names.items())
        return problem(WireReasons.MALFORMED.problem(f"there is no lane {text[:20]!r}; lanes: {known}"))

    def lane_with(self, queue: str) -> int:
        """The lane that has a queue; where none has, the first, which says so."""
        found = self.lane_having(queue)
        return next(iter(self.apps)) if found is None else found

    def lane_having(self, queue: str) -> int | None:
        """The lane that has a queue."""
        return next((lane for lane, app in self.apps.items() if queue in app.runner.engine.state.queues), None)


class _Heard:
    """Takes a lane's answer in place of a client."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._status = 500
        self._headers: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []

    async def receive(self) -> Message:
        """The request's body, then the end."""
        body, self._body = self._body, None
        return {"type": "http.disconnect"} if body is None else {"type": "http.request", "body": body}

    async def send(self, message: Message) -> None:
        """Keep what would be sent."""
        if message["type"] == "http.response.start":
            self._status, self._headers = message["status"], list(message.get("headers", ()))
        else:
            self._parts.append(message.get("body", b""))

    def answer(self) -> Answer:
        """All of it."""
        media = dict(self._headers).get(b"content-type", b"")
        headers = tuple((name, value) for name, value in self._headers if name not in _LEFT_OUT)
        media = PROBLEM if media.startswith(PROBLEM) else media
        return Answer(self._status, b"".join(self._parts), media, headers)


Whole = Callable[[Asked], Awaitable[Answer]]


def gathered(merge: Callable[[list[merging.Body]], merging.Body]) -> Whole:
    """A question to all lanes, and how their answers become one."""

    async def ask(asked: Asked) -> Answer:
        found = merging.bodies(await asked.of_all())
        return found if isinstance(found, Answer) else merging.answered(merge(found))

    return ask


async def history(asked: Asked) -> Answer:
    """GET /v1/players/{id}/history"""
    found = merging.bodies(await asked.of_all())
    if isinstance(found, Answer):
        return found
    return merging.answered(merging.one_players_history(found, int(asked.given("limit") or _HISTORY)))


async def blocks(asked: Asked) -> Answer:
    """PUT /v1/players/{id}/blocks"""
    told = await asked.of_each(asked.apps)
    found = merging.undone(told) or merging.bodies(told)
    return found if isinstance(found, Answer) else merging.answered(merging.one_player(found))


async def cooldowns(asked: Asked) -> Answer:
    """DELETE /v1/players/{id}/cooldowns"""
    queue = asked.given("queue")
    if queue:
        return await asked.of(asked.lane_with(queue))
    told = await asked.of_each(asked.apps)
    return merging.undone(told) or next(filter(merging.is_done, told.values()), next(iter(told.values())))


async def erase(asked: Asked) -> Answer:
    """DELETE /v1/players/{id}"""
    first, *others = asked.apps
    if asked.given("name") is not None:  # the name is not to go, or the lanes say what is wrong
        told = await asked.of_each(asked.apps)
        return merging.undone(told) or _erased(told)
    told = await asked.of_each(others, name="keep")
    if merging.undone(told) is None:
        told |= await asked.of_each([first])
    failed = merging.undone(told)
    if failed is not None:
        return failed
    # A lane may have looked the name up again in the meantime, or keep names of its own.
    again = await asked.of_each(others)
    failed = merging.undone(again)
    if failed is not None:
        return failed
    return _erased({first: told[first]} | told)


def _erased(told: Told) -> Answer:
    found = merging.bodies(told)
    return found if isinstance(found, Answer) else merging.answered(merging.one_erased(found))


async def backup(asked: Asked) -> Answer:
    """POST /v1/backup: of lane 1, unless another is asked for."""
    lane = asked.lane()
    return lane if isinstance(lane, Answer) else await asked.of(next(iter(asked.apps)) if lane is None else lane)


async def audit(asked: Asked) -> Answer:
    """GET /v1/audit"""
    lane = asked.lane()
    if lane is not None:
        return lane if isinstance(lane, Answer) else await asked.of(lane)
    text = asked.given("after") or "0"
    read = _read_up_to(text)
    if read is None:
        told = f"after must be what the answer before said, such as 1:184,2:7, or a whole number, and not {text[:80]!r}"
        return problem(WireReasons.MALFORMED.problem(told))
    answers = await asyncio.gather(*(asked.of(lane, after=str(read.get(lane, 0))) for lane in asked.apps))
    found = merging.bodies(dict(zip(asked.apps, answers, strict=True)))
    if isinstance(found, Answer):
        return found
    entries: list[dict[str, Any]] = [
        entry | {"lane": lane} for lane, body in zip(asked.apps, found, strict=True) for entry in body["entries"]
    ]
    # A lane's clock never runs backwards: by time, its entries stay in their order, and what is cut off comes later.
    entries = sorted(entries, key=lambda entry: entry["at_ms"])[: min(int(asked.given("limit") or _AUDIT), AUDIT_MOST)]
    for entry in entries:
        read[entry["lane"]] = entry["sequence"]
    after = ",".join(f"{lane}:{sequence}" for lane, sequence in sorted(read.items()) if sequence)
    return Answer(200, msgspec.json.encode({"entries": entries, "after": after or "0"}))


def _read_up_to(text: str) -> dict[int, int] | None:
    """How far each lane was read; None = nonsense."""
    if text.isascii() and text.isdigit() and len(text) <= 19:
        return {1: int(text)}
    if not _AFTER.fullmatch(text):
        return None
    return {int(lane): int(sequence) for lane, sequence in (part.split(":") for part in text.split(","))}
