"""Bodies and headers as they come over the wire, and problems as they go back (RFC 9457).

What is checked here is the form: JSON, types, names, sizes. Rules of the game are the core's; its refusals become
problems here too, so that every "no" has one shape: type, title, status, detail and our `reason`.
"""

import difflib
import hashlib
import math
import re
import unicodedata
from enum import Enum
from typing import Any, Final, TypeVar

import msgspec

from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.ticket import FACT_MAX

from .bodies import BatchBody, Player, PlayerAnswerBody, PlayerChange, TicketBody
from .mailbox import JoinEntry, Unavailable

PLAYER_ID_MAX: Final = 128
ERASED: Final = "#"
"""How the name of an erased player begins; the number follows."""
ATTRIBUTES_MAX: Final = 32
ATTRIBUTE_NAME_MAX: Final = 64
ATTRIBUTE_VALUE_MAX: Final = 256
KEY_MAX: Final = 255
AVOID_MAX: Final = 100
Body = TypeVar("Body")
RETRY_AFTER_S: Final = 1


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a request was not granted."""

    type: str
    title: str
    status: int
    detail: str
    reason: str
    retry_after_s: int = 0
    """After so many seconds it may be granted; left out where that is not a matter of time."""


class WireReasons(Enum):
    """Reasons for which a request does not even become a command: code -> (status, title)."""

    MALFORMED = (400, "The request cannot be read")
    BAD_KEY = (400, "The Idempotency-Key cannot be used")
    UNAUTHENTICATED = (401, "A key or token is needed, or this one does not count")
    FORBIDDEN = (403, "This caller may not do that")
    NOT_YOURS = (403, "A player may act only for itself")
    RATING_NOT_YOURS = (403, "A player does not say its own rating")
    NOT_FOUND = (404, "There is nothing at this path")
    UNKNOWN_WAVE = (404, "There is no such wave")
    METHOD_NOT_ALLOWED = (405, "This path knows other methods")
    BACKUP_UNDER_WAY = (409, "A backup is being made")
    SPLIT = (409, "The queue is split: ask one of its shards")
    TOO_OLD = (410, "What came right after this sequence is no longer kept")
    TOO_LARGE = (413, "The request is too large")
    BAD_PLAYER_ID = (422, "A player's id cannot be used")
    BAD_ATTRIBUTES = (422, "The attributes cannot be used")
    TOO_MANY_REQUESTS = (429, "This caller asks more often than it may")
    INTERNAL_ERROR = (500, "The server made a mistake")
    BUSY = (503, "The server has too much to do")
    JOURNAL_UNAVAILABLE = (503, "The journal cannot be written")
    NO_BACKUP = (503, "The backup could not be made")
    NO_OWNER = (503, "Nobody runs this queue at the moment")
    PARTLY_DONE = (503, "Not all lanes have done it")
    SHARD_NOT_OPEN = (503, "A shard of the queue is not open yet")
    STOPPING = (503, "The server is stopping")

    @property
    def code(self) -> str:
        """The reason as the API spells it."""
        return self.name.lower()

    def problem(self, detail: str) -> Problem:
        """The problem for this reason."""
        status, title = self.value
        return Problem(problem_type(self.code), title, status, detail, self.code)


def problem_type(code: str) -> str:
    """Where a reason is explained."""
    return f"/docs#reason-{code}"


def problem_of(answer: Refusal | Unavailable) -> Problem:
    """A refusal as the API tells it."""
    if isinstance(answer, Unavailable):
        title = WireReasons[answer.reason.upper()].value[1]
        return Problem(problem_type(answer.reason), title, answer.status, answer.detail, answer.reason)
    reason = answer.reason
    return Problem(problem_type(reason.code), reason.title, reason.status, answer.detail, reason.code, answer.retry_s)


BUSY: Final = WireReasons.BUSY.problem(
    f"more requests wait than the server takes; nothing was changed, try again in {RETRY_AFTER_S} s"
)

STOPPING: Final = WireReasons.STOPPING.problem("the server is stopping; nothing was changed, try again in a moment")

_ticket_decoder = msgspec.json.Decoder(TicketBody)
_batch_decoder = msgspec.json.Decoder(BatchBody)
_player_decoder = msgspec.json.Decoder(PlayerAnswerBody)
_raw_batch_decoder = msgspec.json.Decoder(dict[str, list[msgspec.Raw]])
_encode = msgspec.json.Encoder().encode

_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)  # the last: arrays nested too deep
_UNKNOWN_FIELD: Final = re.compile(r"unknown field `(?P<field>[^`]*)`")
_NO_NUMBER: Final = re.compile(rb"[:\[,]\s*-?(NaN|Infinity)")
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""An escape in a JSON text; `half`: half of a surrogate pair, alone."""
_NO_SEASON: Final = "missing required field `season`"
_KNOWN_FIELDS: Final = (
    "players",
    "attributes",
    "id",
    "rating",
    "ping_ms",
    "ratings",
    "profile",
    "region",
    "vetoed_maps",
    "roles",
    "latencies",
    "tickets",
    "player",
    "avoid",
    "leader",
    "backfill",
    "places",
    "team",
    "instead_of",
    "mode",
    "why",
)


SUCH_AS: Final = {
    "TicketBody": '{"players": [{"id": "ann"}]}',
    "BatchBody": '{"tickets": [{"players": [{"id": "ann"}]}]}',
    "PlayerAnswerBody": '{"player": "ann"}',
    "TicketChange": '{"players": [{"id": "ann", "ping_ms": 40}]}',
    "BlocksBody": '{"players": ["ben"]}',
    "ModeBody": '{"mode": "paused"}',
    "ResultBody": '{"teams": [{"rank": 1}, {"rank": 2}]}',
    "CorrectionBody": '{"void": true}',
    "SeasonBody": '{"season": 2}',
    "RollbackBody": '{"version": 1}',
    "BackfillBody": '{"places": [{"team": 0}]}',
    "dict": '{"format": {"teams": 2, "size": 1}}',
}
"""A body of each kind that may not be empty, by the kind's name."""


def empty(kind: Any) -> Problem:
    """The problem for a body that is empty where one of a kind is needed."""
    return WireReasons.MALFORMED.problem(f"the body is empty: send a JSON object such as {SUCH_AS[kind.__name__]}")


def malformed(error: Exception, body: bytes = b"", known: tuple[str, ...] = _KNOWN_FIELDS) -> Problem:
    """The problem for a body that is not what it should be; `known`: the fields that may have been meant."""
    detail = str(error)
    half = None if isinstance(error, msgspec.ValidationError) else _half_character(body)
    if half is not None:
        return WireReasons.MALFORMED.problem(half)
    if detail.startswith("JSON is malformed") and _NO_NUMBER.search(body):
        detail += "; NaN and Infinity are not numbers in JSON"
    unknown = _UNKNOWN_FIELD.search(detail)
    if unknown:
        near = difflib.get_close_matches(unknown["field"], known, 1)
        if unknown["field"] in known:
            detail += "; it belongs to another call, or to another place in the body: see /docs"
        elif near:
            detail += f"; did you mean `{near[0]}`?"
    elif _NO_SEASON in detail:
        detail += ": the number of the season to start, one more than the leaderboard shows"
    return WireReasons.MALFORMED.problem(detail)


def _half_character(body: bytes) -> str | None:
    """What is wrong with a body that holds half of a surrogate pair, alone; None = it holds none."""
    for escape in _ESCAPE.finditer(body):
        if escape["half"]:
            return (
                f"{escape[0].decode()} at byte {escape.start()} is half a character: send both halves of the pair, or "
                "the character itself in UTF-8"
            )
    return None


def read_ticket(body: bytes) -> TicketBody | Problem:
    """A ticket's body."""
    try:
        return _ticket_decoder.decode(body)
    except _UNREADABLE as error:
        return malformed(error, body) if body.strip() else empty(TicketBody)


def read(kind: type[Body], body: bytes, known: tuple[str, ...] = _KNOWN_FIELDS) -> Body | Problem:
    """A body of a kind that is not read often."""
    if not body.strip():
        if kind.__name__ in SUCH_AS:
            return empty(kind)
        body = b"{}"  # all of it may be left out
    try:
        return msgspec.json.decode(body, type=kind)
    except _UNREADABLE as error:
        return malformed(error, body, known)


def read_player(body: bytes) -> str | Problem:
    """The player of an accept or decline."""
    try:
        return _player_decoder.decode(body).player
    except _UNREADABLE as error:
        return malformed(error, body) if body.strip() else empty(PlayerAnswerBody)


def read_batch(body: bytes, most: int) -> list[TicketBody | Problem] | Problem:
    """The tickets of a batch, each well-formed or a problem of its own."""
    tickets: list[Any]
    try:
        tickets = list(_batch_decoder.decode(body).tickets)
    except _UNREADABLE as error:
        if not body.strip():
            return empty(BatchBody)
        try:
            raw = _raw_batch_decoder.decode(body)
        except _UNREADABLE:
            return malformed(error, body)
        if set(raw) != {"tickets"}:
            return malformed(error, body)
        tickets = [read_ticket(bytes(ticket)) for ticket in raw["tickets"]]
    if len(tickets) > most:
        return WireReasons.TOO_LARGE.problem(f"{len(tickets)} tickets in one batch: send at most {most}")
    return tickets


def key_digest(queue: str, key: str, place: int | None = None, player: str | None = None) -> int | Problem:
    """128 bits for an idempotency key (of one ticket of a batch, or of a player's own); 0 = there is none."""
    if not key:
        return WireReasons.BAD_KEY.problem("Idempotency-Key is empty: give it a value, or leave the header out")
    if len(key) > KEY_MAX or not key.isascii() or not key.isprintable():
        return WireReasons.BAD_KEY.problem(f"use 1 to {KEY_MAX} printable ASCII characters")
    text = f"{queue}\0{key}" if place is None else f"{queue}\0{key}\0{place}"
    if player is not None:  # a player's keys are its own: nobody can take them away
        text += f"\0\0{player}"
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()) or 1


def entry_of(body: TicketBody, key: int) -> JoinEntry | Problem:
    """What the engine is asked, if names and attributes are usable."""
    for player in body.players:
        wrong = bad_player_id(player.id)
        if wrong is not None:
            return WireReasons.BAD_PLAYER_ID.problem(wrong)
        bad = bad_facts(player)
        if bad is not None:
            return problem_of(bad)
    if body.attributes:
        wrong = bad_attributes(body.attributes)
        if wrong is not None:
            return WireReasons.BAD_ATTRIBUTES.problem(wrong)
    if body.leader:
        names = [player.id for player in body.players]
        if body.leader not in names:
            what = f"leader is {body.leader[:PLAYER_ID_MAX]!r}, who is not among the players"
            return WireReasons.MALFORMED.problem(what)
        first = names.index(body.leader)
        players = [body.players[first], *body.players[:first], *body.players[first + 1 :]]
        body = msgspec.structs.replace(body, players=players)
    if body.avoid:
        if len(body.avoid) > AVOID_MAX:
            return WireReasons.MALFORMED.problem(f"avoid names {len(body.avoid)} players: use at most {AVOID_MAX}")
        for name in body.avoid:
            wrong = bad_player_id(name)
            if wrong is not None:
                return WireReasons.BAD_PLAYER_ID.problem(f"avoid: {wrong}")
    fingerprint = 0
    if key:
        fingerprint = int.from_bytes(hashlib.blake2b(_encode(body), digest_size=8).digest()) >> 1
    return JoinEntry(body, key, fingerprint)


def bad_player_id(name: str) -> str | None:
    """What is wrong with a player's id, and what would be right; None = nothing."""
    if name.isalnum() and name.isascii() and len(name) <= PLAYER_ID_MAX:
        return None
    if not name:
        return "a player's id is empty: give it 1 to 128 characters"
    if len(name) > PLAYER_ID_MAX:
        return f"a player's id has {len(name)} characters: use at most {PLAYER_ID_MAX}"
    plain = name.isascii() and name.isprintable()
    if not plain and any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        return "a player's id holds a control character: use printable ones"
    if "/" in name or name in (".", ".."):
        return f"a player's id cannot be {name!r}: a path with it would lead elsewhere; use no '/', and not '.' or '..'"
    if name.startswith(ERASED):
        return f"a player's id cannot begin with {ERASED!r}: that is how erased players are shown"
    return None


def bad_facts(player: Player | PlayerChange) -> Refusal | None:
    """What is wrong with the numbers that a player brings, whether or not the queue keeps them; None = nothing."""
    for side, rating in (player.ratings or {}).items():
        if not -FACT_MAX <= rating <= FACT_MAX:  # true for NaN too
            return Refusal(Reasons.BAD_FACT, f"ratings.{side[:64]} is {rating}: use {-FACT_MAX:g} to {FACT_MAX:g}")
    for name, value in (player.profile or {}).items():
        if not isinstance(value, str) and not -FACT_MAX <= value <= FACT_MAX:
            return Refusal(Reasons.BAD_FACT, f"profile.{name[:64]} is {value}: use {-FACT_MAX:g} to {FACT_MAX:g}")
    for region, latency_ms in (player.latencies or {}).items():
        if not 0 <= latency_ms <= FACT_MAX:
            what = f"latencies.{region[:64]} is {latency_ms:g}: use 0 to {FACT_MAX:g} milliseconds"
            return Refusal(Reasons.BAD_PING, what)
    return None


def bad_attributes(attributes: dict[str, Any]) -> str | None:
    """What is wrong with attributes, and what would be right; None = nothing."""
    if len(attributes) > ATTRIBUTES_MAX:
        return f"{len(attributes)} attributes: use at most {ATTRIBUTES_MAX}"
    for name, value in attributes.items():
        if not 0 < len(name) <= ATTRIBUTE_NAME_MAX:
            return f"an attribute's name has {len(name)} characters: use 1 to {ATTRIBUTE_NAME_MAX}"
        if isinstance(value, str) and len(value) > ATTRIBUTE_VALUE_MAX:
            return f"attributes.{name} has {len(value)} characters: use at most {ATTRIBUTE_VALUE_MAX}"
        if isinstance(value, float) and not math.isfinite(value):
            return f"attributes.{name} is not a finite number"
        if isinstance(value, int) and not -(2**53) <= value <= 2**53:
            return f"attributes.{name} is too large a number: use a text"
    return None
