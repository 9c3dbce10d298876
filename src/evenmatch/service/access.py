"""Who may do what: one table of rights, and the gate that every request passes.

    credential ─> caller (operator, backend, reader or player) ─> rate ─> right ─> handler

1. What the table does not name is not there: such a request goes on without a grant, and no route answers it.
2. A player is held to itself. Whether a ticket or match is the player's is asked of committed state, once: who is in a
   ticket never changes. What stands in a body is judged where the body is read (`own`).
3. While there is neither a backend's key nor a way to check players' tokens, a server on loopback is open: whoever
   comes without a credential counts as the backend. Operators' actions need an operator's key even then, a credential
   that does not count is refused even then, and so is a page of somebody else's in a browser on this machine, also
   where it calls this machine by a name of its own (DNS rebinding).
"""

import math
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Final, Literal
from urllib.parse import parse_qs

import msgspec

from evenmatch.core.records import match_record, ticket_record
from evenmatch.domain.ids import MATCH_PREFIX, TICKET_PREFIX, number_of
from evenmatch.settings import Settings

from . import wire
from .handlers import Answer, problem, turned_away
from .keys import KeyRing, is_key, keys_path
from .loopback import is_local, is_loopback, is_own_name
from .mailbox import Unavailable
from .paths import PathTable
from .rates import Buckets
from .runner import Runner
from .sockets import Message
from .tokens import BadToken, PlayerTokens
from .views import Views
from .wire import WireReasons


class Caller(msgspec.Struct, frozen=True, gc=False):
    """Who asks."""

    role: Literal["operator", "backend", "reader", "player"]
    name: str
    player: str | None = None
    """The player, where it is one."""
    key: str = ""
    """The id of the API key, where there is one."""

    @property
    def who(self) -> str:
        """As the audit names it."""
        return f"{self.name} ({self.key})" if self.key else self.name


NOBODY: Final = Caller("backend", "open server")
"""A caller without a credential, while the server is open."""


def caller_of(scope: Any) -> Caller | None:
    """Who asks, as the gate noted it."""
    found: Caller | None = scope.get("caller")
    return found


class Least(Enum):
    """The least that a caller with a key must be; each may do what those before it may."""

    ANYONE = 0
    READER = 1
    BACKEND = 2
    OPERATOR = 3


class Players(Enum):
    """What a player may do with a path."""

    NOTHING = auto()
    ANYTHING = auto()
    IN_BODY = auto()
    """As long as the body names the player alone."""
    IN_TICKET = auto()
    """As long as it is in the ticket that the path names."""
    IN_MATCH = auto()
    """As long as it is in the match that the path names."""
    AS_NAMED = auto()
    """As long as it is the player that the path names."""


class Right(msgspec.Struct, frozen=True):
    """Who may use a path."""

    least: Least
    players: Players = Players.NOTHING


_ALL: Final = Right(Least.ANYONE)
RIGHTS: Final[dict[tuple[str, str], Right]] = {
    ("GET", "/"): _ALL,
    ("GET", "/dashboard/{file}"): _ALL,
    ("GET", "/docs"): _ALL,
    ("GET", "/openapi.json"): _ALL,
    ("GET", "/healthz"): _ALL,
    ("GET", "/readyz"): _ALL,
    ("GET", "/metrics"): Right(Least.READER),
    ("GET", "/v1/queues"): Right(Least.READER, Players.ANYTHING),
    ("GET", "/v1/queues/{queue}"): Right(Least.READER, Players.ANYTHING),
    ("POST", "/v1/queues/{queue}/tickets"): Right(Least.BACKEND, Players.IN_BODY),
    ("POST", "/v1/queues/{queue}/tickets:batch"): Right(Least.BACKEND),
    ("GET", "/v1/tickets/{ticket}"): Right(Least.READER, Players.IN_TICKET),
    ("DELETE", "/v1/tickets/{ticket}"): Right(Least.BACKEND, Players.IN_TICKET),
    ("POST", "/v1/tickets/{ticket}/heartbeat"): Right(Least.BACKEND, Players.IN_TICKET),
    # An open socket or stream is a heartbeat: who watches a ticket keeps it in the queue.
    ("WS", "/v1/tickets/{ticket}/events"): Right(Least.BACKEND, Players.IN_TICKET),
    ("GET", "/v1/tickets/{ticket}/events"): Right(Least.BACKEND, Players.IN_TICKET),
    ("POST", "/v1/proposals/{proposal}/accept"): Right(Least.BACKEND, Players.IN_BODY),
    ("POST", "/v1/proposals/{proposal}/decline"): Right(Least.BACKEND, Players.IN_BODY),
    ("GET", "/v1/matches/{match}"): Right(Least.READER, Players.IN_MATCH),
    ("POST", "/v1/matches/{match}/end"): Right(Least.BACKEND),
    ("POST", "/v1/matches/{match}/backfill"): Right(Least.BACKEND),
    ("GET", "/v1/matches/{match}/backfill"): Right(Least.READER, Players.IN_MATCH),
    ("DELETE", "/v1/matches/{match}/backfill"): Right(Least.BACKEND),
    ("PATCH", "/v1/tickets/{ticket}"): Right(Least.BACKEND, Players.IN_TICKET),
    ("POST", "/v1/tickets/{ticket}/cancel"): Right(Least.OPERATOR),
    ("POST", "/v1/matches/{match}/started"): Right(Least.BACKEND),
    ("POST", "/v1/matches/{match}/failed"): Right(Least.BACKEND),
    ("POST", "/v1/matches/{match}/cancel"): Right(Least.OPERATOR),
    ("GET", "/v1/players/{player}"): Right(Least.READER, Players.AS_NAMED),
    ("PUT", "/v1/players/{player}/blocks"): Right(Least.BACKEND, Players.AS_NAMED),
    ("DELETE", "/v1/players/{player}/cooldowns"): Right(Least.OPERATOR),
    ("PUT", "/v1/queues/{queue}/mode"): Right(Least.OPERATOR),
    ("POST", "/v1/matches/{match}/result"): Right(Least.BACKEND),
    ("PUT", "/v1/matches/{match}/result"): Right(Least.OPERATOR),
    ("GET", "/v1/matches/{match}/result"): Right(Least.READER, Players.IN_MATCH),
    ("GET", "/v1/players/{player}/ratings"): Right(Least.READER, Players.AS_NAMED),
    ("GET", "/v1/players/{player}/history"): Right(Least.READER, Players.AS_NAMED),
    ("GET", "/v1/queues/{queue}/leaderboard"): Right(Least.READER, Players.ANYTHING),
    ("GET", "/v1/queues/{queue}/calibration"): Right(Least.READER, Players.ANYTHING),
    ("POST", "/v1/queues/{queue}/season"): Right(Least.OPERATOR),
    ("GET", "/v1/audit"): Right(Least.OPERATOR),
    ("PUT", "/v1/queues/{queue}/spec"): Right(Least.OPERATOR),
    ("GET", "/v1/queues/{queue}/versions"): Right(Least.READER),
    ("POST", "/v1/queues/{queue}/rollback"): Right(Least.OPERATOR),
    ("GET", "/v1/players/{player}/export"): Right(Least.OPERATOR),
    ("DELETE", "/v1/players/{player}"): Right(Least.OPERATOR),
    ("GET", "/v1/tickets/{ticket}/why"): Right(Least.READER, Players.IN_TICKET),
    ("GET", "/v1/queues/{queue}/forecast"): Right(Least.READER, Players.ANYTHING),
    ("GET", "/v1/watch"): Right(Least.READER),
    ("GET", "/v1/queues/{queue}/history"): Right(Least.READER),
    ("GET", "/v1/queues/{queue}/waiting"): Right(Least.READER),
    ("GET", "/v1/queues/{queue}/waves"): Right(Least.READER),
    ("GET", "/v1/queues/{queue}/waves/{wave}"): Right(Least.READER),
    ("GET", "/v1/tickets/{ticket}/story"): Right(Least.READER),
    ("GET", "/v1/players/{player}/tickets"): Right(Least.READER, Players.AS_NAMED),
    ("POST", "/v1/backup"): Right(Least.OPERATOR),
    ("GET", "/v1/deadletters"): Right(Least.OPERATOR),
    ("POST", "/v1/deadletters/{letter}/retry"): Right(Least.OPERATOR),
}
"""Method (WS = a WebSocket) and path -> who may. A braced part stands for anything; a bond to a ticket, match or player
goes by the first one."""

_RANK: Final = {"reader": Least.READER.value, "backend": Least.BACKEND.value, "operator": Least.OPERATOR.value}
_KNOWN_MOST: Final = 200_000
_CLOSES: Final = {401: 4401, 403: 4403}
_TRY_LATER: Final = 1013


_TABLE: Final = PathTable(RIGHTS)


def right_of(method: str, path: str) -> tuple[Right, str] | None:
    """The right that a request needs, and the first part of its path that varies; None = it is not in the table."""
    return _TABLE.find(method, path)


class Gate:
    """Lets requests in, or says why not."""

    def __init__(
        self,
        runner: Runner,
        settings: Settings,
        *,
        keys: KeyRing | None = None,
        tokens: PlayerTokens | None = None,
        buckets: Buckets | None = None,
    ) -> None:
        self.runner = runner
        self.settings = settings
        self.keys = KeyRing(keys_path(settings)) if keys is None else keys
        self.tokens = PlayerTokens(settings) if tokens is None else tokens
        self.buckets = Buckets() if buckets is None else buckets
        self._on_loopback = is_loopback(settings.host)
        self._erasures = 0
        self._theirs: dict[tuple[str, int, str], None] = {}
        """Tickets and matches that are known to be a player's."""

    def beside(self, runner: Runner) -> "Gate":
        """A gate over another runner, with the same keys, tokens and rates: who passes either is counted once."""
        return Gate(runner, self.settings, keys=self.keys, tokens=self.tokens, buckets=self.buckets)

    @property
    def is_open(self) -> bool:
        """Does whoever comes without a credential count as the backend?"""
        return self._on_loopback and not self.is_guarded

    @property
    def is_guarded(self) -> bool:
        """Is there a backend's key, or can players have tokens?"""
        return self.keys.has_backend or self.tokens.expected

    async def admit(self, scope: Message) -> Answer | None:
        """Grant a request, noted in its scope with the caller; or the answer that refuses it."""
        socketed = scope["type"] == "websocket"
        found = right_of("WS" if socketed else scope["method"], scope["path"])
        if found is None:
            return None
        right, named = found
        if right.least is not Least.ANYONE:
            caller = await self._caller(scope, right)
            if isinstance(caller, Answer):
                return caller
            if caller.role == "player" or _RANK[caller.role] < right.least.value:
                refused = await self._refused(caller, right, named)
                if refused is not None:
                    return refused
            scope["caller"] = caller
        scope["granted"] = True
        return None

    async def _caller(self, scope: Message, right: Right) -> Caller | Answer:
        self.keys.look()
        credential = _credential(scope)
        if credential is None:
            return self._nobody(scope, right)
        if isinstance(credential, Answer):
            return credential
        if is_key(credential):
            key = self.keys.find(credential)
            if key is None:
                return unauthenticated("there is no such API key, or it was revoked", bad=True)
            caller = Caller(key.role, key.name, key=key.id)
            rate = self.settings.key_rate if key.rate is None else key.rate
        else:
            player = await self.tokens.player(credential)
            if isinstance(player, BadToken):
                return unauthenticated(f"the token does not count: {player.why}", bad=True)
            caller = Caller("player", player, player)
            rate = self.settings.player_rate
        wait_s = self.buckets.wait_s(f"{caller.role}\0{caller.key or caller.name}", rate) if rate else 0.0
        return _too_many(rate, wait_s) if wait_s else caller

    def _nobody(self, scope: Message, right: Right) -> Caller | Answer:
        """A caller without a credential. An open server answers its own machine, and no stranger's page there."""
        if not self.is_open:
            return unauthenticated("send an API key or a player's token: Authorization: Bearer ...")
        if right.least is Least.OPERATOR:
            return unauthenticated("operators need a key also here: evenmatch keys add NAME --role operator")
        for name, value in scope["headers"]:
            if name == b"host" and not is_own_name(host := value.decode("latin-1").lower()):
                return problem(
                    WireReasons.FORBIDDEN.problem(
                        f"this server is open, so only as localhost, 127.0.0.1 or [::1] and not as {host[:100]!r}; "
                        "under other names it needs a key: evenmatch keys add NAME --role backend"
                    )
                )
            if name == b"origin":
                origin = value.decode("latin-1").lower()
                allowed = self.settings.cors_origins
                if origin not in allowed and "*" not in allowed and not is_local(origin):
                    return problem(
                        WireReasons.FORBIDDEN.problem(f"pages of {origin[:100]} need EVENMATCH_CORS_ORIGINS, or a key")
                    )
        return NOBODY

    async def _refused(self, caller: Caller, right: Right, named: str) -> Answer | None:
        """The answer to a player, or to a key of too low a role; None = a player may."""
        if caller.player is None:
            return problem(
                WireReasons.FORBIDDEN.problem(
                    f"this needs the role {right.least.name.lower()}; the key {caller.name!r} is a {caller.role}"
                )
            )
        match right.players:
            case Players.NOTHING:
                return problem(WireReasons.FORBIDDEN.problem("players may not do this; the game's backend does"))
            case Players.ANYTHING | Players.IN_BODY:
                return None
            case Players.AS_NAMED:
                return None if named == caller.player else not_yours(f"this is not {caller.player}'s")
            case Players.IN_TICKET:
                return await self._not_theirs("ticket", TICKET_PREFIX, named, caller.player, _in_ticket)
            case Players.IN_MATCH:
                return await self._not_theirs("match", MATCH_PREFIX, named, caller.player, _in_match)

    async def _not_theirs(
        self, kind: str, prefix: str, named: str, player: str, look: Callable[[Views, int, int, str], bool]
    ) -> Answer | None:
        number = number_of(prefix, named)
        if self._erasures != self.runner.erasures:
            self._erasures = self.runner.erasures
            self._theirs.clear()
        if number is None or (kind, number, player) in self._theirs:
            return None  # what is no id at all, the handler says
        busy = turned_away(self.runner)
        if busy is not None:
            return busy
        theirs = await self.runner.ask(lambda views, now_ms: look(views, number, now_ms, player))
        if isinstance(theirs, Unavailable):
            return problem(wire.problem_of(theirs))
        if not theirs:
            return not_yours(f"{player} is not in {named}")
        if len(self._theirs) >= _KNOWN_MOST:
            self._theirs.clear()
        self._theirs[kind, number, player] = None
        return None


def _in_ticket(views: Views, number: int, now_ms: int, player: str) -> bool:
    """Is a player in a ticket? Of a ticket that nobody knows the handler says so."""
    record = ticket_record(views.engine.state, number, now_ms) or views.journal.finished_ticket(number)
    return record is None or _is_among(views, player, [record["players"]])


def _in_match(views: Views, number: int, _: int, player: str) -> bool:
    """The same for a match."""
    record = match_record(views.engine.state, number) or views.journal.finished_match(number)
    return record is None or _is_among(views, player, [party["players"] for team in record["teams"] for party in team])


def _is_among(views: Views, player: str, parties: list[list[dict[str, Any]]]) -> bool:
    number = views.directory.known([player]).get(player, -1)
    return any(member["player"] == number for party in parties for member in party)


def _credential(scope: Message) -> str | Answer | None:
    """What a request shows: of its Authorization header, or of `?token=` where a browser cannot send headers."""
    found: str | None = None
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, rest = value.decode("latin-1").strip().partition(" ")
            if scheme.lower() != "bearer" or not rest.strip() or found is not None:
                return unauthenticated("the Authorization header must be one: Bearer, and a key or token", bad=True)
            found = rest.strip()
    if found is None and scope.get("query_string") and (scope["type"] == "websocket" or _is_stream(scope)):
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        return given[-1] if given else None
    return found


def _is_stream(scope: Message) -> bool:
    return bool(scope["method"] == "GET" and scope["path"].endswith(("/events", "/v1/watch")))


def unauthenticated(detail: str, *, bad: bool = False) -> Answer:
    """The answer to somebody who shows no credential, or one that does not count."""
    challenge = b'Bearer realm="evenmatch"' + (b', error="invalid_token"' if bad else b"")
    answer = problem(WireReasons.UNAUTHENTICATED.problem(detail))
    return msgspec.structs.replace(answer, headers=((b"www-authenticate", challenge),))


def not_yours(detail: str) -> Answer:
    """The answer to a player who acts for somebody else."""
    return problem(WireReasons.NOT_YOURS.problem(detail))


def _too_many(rate: float, wait_s: float) -> Answer:
    answer = problem(
        WireReasons.TOO_MANY_REQUESTS.problem(f"{rate:g} requests a second are granted; wait {wait_s:.3f} s")
    )
    return msgspec.structs.replace(answer, headers=((b"retry-after", str(math.ceil(wait_s)).encode()),))


def close_of(refused: Answer) -> tuple[int, str]:
    """With what code and words a WebSocket is closed where a request would be answered so."""
    said = msgspec.json.decode(refused.body, type=wire.Problem)
    reason = said.reason if len(said.detail.encode()) > 100 else f"{said.reason}: {said.detail}"
    return _CLOSES.get(refused.status, _TRY_LATER), reason[:120]
