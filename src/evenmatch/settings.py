"""The settings of a process: read once from the environment, frozen from then on.

What a queue does is policy and stands in queues.toml and the journal; here is only how this process runs.
A variable that is unset or empty leaves the default; unknown ones are somebody else's. A secret need not stand in the
environment: <VARIABLE>_FILE names a file that holds it. It is never shown.
"""

import hmac
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from evenmatch.errors import ConfigError

__all__ = ["API_KEY", "PREFIX", "SECRET_LEAST_BYTES", "Secret", "Settings", "from_environment"]

PREFIX: Final = "EVENMATCH_"
API_KEY: Final = PREFIX + "API_KEY"
"""Not a setting of the server: the key that a client such as `evenmatch watch` sends."""
SECRET_LEAST_BYTES: Final = 32


class Secret:
    """A text that is never shown, however the settings are printed."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return "Secret(...)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self.text.encode(), other.text.encode())

    def __hash__(self) -> int:
        return hash(self.text)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one process of evenmatch runs. Each field is the variable EVENMATCH_<FIELD>."""

    host: str = "127.0.0.1"
    port: int = 8750
    """0 = any free port."""
    db: str = "evenmatch.db"
    """The journal: a file, or the URL of a PostgreSQL database."""
    role: str = ""
    """What this process does in a cluster: all, api or worker; empty = it is alone on its journal."""
    cluster: str = "evenmatch"
    """Whose database it is: a server of another cluster does not touch it."""
    mailbox: int = 10_000
    """Commands that may wait; those beyond are told to come back later."""
    body_max_bytes: int = 65_536
    batch_body_max_bytes: int = 4_194_304
    batch_max: int = 1_000
    """Tickets in one batch."""
    tick_ms: int = 50
    checkpoint_debt: int = 10_000
    """Events in the journal after which a new checkpoint is saved."""
    keep_s: float = 60.0
    """Finished tickets stay in the state this long."""
    threads: int = 0
    """Threads that one plan may use; 0 = as many as there are processors."""
    keys: Path = Path("evenmatch.keys")
    """The file of API keys."""
    key_rate: float = 0.0
    """Requests a second of a key that has no rate of its own; 0 = as many as it likes."""
    player_rate: float = 20.0
    """Requests a second of a player; 0 = as many as it likes."""
    player_secret: Secret | None = None
    """What players' tokens are signed with (HS256)."""
    player_jwks: str = ""
    """Public keys for players' tokens: a file or an https URL."""
    player_audience: str = ""
    """What `aud` of players' tokens must name."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose pages may call the API; * = all."""
    log: str = ""
    """json or text; empty = text on a terminal, json elsewhere."""
    log_level: str = "info"
    """debug, info, warning or error."""


_RANGES: Final[dict[str, tuple[int, int]]] = {
    "port": (0, 65_535),
    "mailbox": (1, 10_000_000),
    "body_max_bytes": (256, 2**30),
    "batch_body_max_bytes": (256, 2**30),
    "batch_max": (1, 1_000_000),
    "tick_ms": (1, 60_000),
    "checkpoint_debt": (1, 10**12),
    "keep_s": (0, 30 * 24 * 3600),
    "threads": (0, 1_024),
    "key_rate": (0, 10**9),
    "player_rate": (0, 10**9),
}
"""Field -> the least and the most that make sense."""

_WORDS: Final = {
    "log": ("json", "text"),
    "log_level": ("debug", "info", "warning", "error"),
    "role": ("all", "api", "worker"),
}
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[a-z0-9._\[\]:-]+", re.ASCII)
_DECIMAL: Final = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?", re.ASCII)


def from_environment(environ: Mapping[str, str]) -> Settings:
    """The settings that an environment asks for; a ConfigError names every variable that cannot be used."""
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    for field in msgspec.structs.fields(Settings):
        variable = PREFIX + field.name.upper()
        text = environ.get(variable, "").strip()
        try:
            if field.name == "player_secret":
                text = _or_of_file(text, environ.get(variable + "_FILE", "").strip())
            if text:
                values[field.name] = _value(text, field)
        except ValueError as problem:
            mistakes.append(f"{variable}: {problem}")
    if {"player_secret", "player_jwks"} <= values.keys():
        mistakes.append(f"{PREFIX}PLAYER_JWKS: there is a {PREFIX}PLAYER_SECRET as well: use one of the two")
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    return msgspec.convert(values, Settings)


def _value(text: str, field: msgspec.structs.FieldInfo) -> Any:
    """What a variable's text means for a field, or a ValueError that says what would be right."""
    if field.name in _RANGES:
        return _number(text, field.name, whole=field.type is int)
    match field.name:
        case "player_secret":
            size = len(text.encode("utf-8", "surrogateescape"))
            if size < SECRET_LEAST_BYTES:
                raise ValueError(
                    f"has {size} bytes: use {SECRET_LEAST_BYTES} or more, such as of `openssl rand -hex 32`"
                )
            return Secret(text)
        case "player_jwks":
            if "://" in text and not text.startswith("https://"):
                raise ValueError(f"{text[:60]!r} is not safe to fetch keys from: use an https URL, or a file")
            return text
        case "cors_origins":
            return _origins(text)
        case "log" | "log_level" | "role":
            if text not in _WORDS[field.name]:
                raise ValueError(f"{text[:60]!r} is not known: use {' or '.join(_WORDS[field.name])}")
            return text
    return Path(text) if field.type is Path else text


def _or_of_file(text: str, name: str) -> str:
    """A secret as it stands in its variable, or in the file that the other variable names."""
    if not name:
        return text
    if text:
        raise ValueError("is set, and so is the variable with _FILE: use one of the two")
    try:
        content = Path(name).read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or "it is not a text"
        raise ValueError(f"the file {name[:200]!r} cannot be read: {why}") from None
    if not content:
        raise ValueError(f"the file {name[:200]!r} is empty: put the secret into it")
    return content


def _origins(text: str) -> tuple[str, ...]:
    origins = tuple(origin.strip().lower() for origin in text.split(",") if origin.strip())
    for origin in origins:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise ValueError(f"{origin[:60]!r} is not an origin: use scheme://host or scheme://host:port, with no path")
    return origins


def _number(text: str, name: str, *, whole: bool) -> int | float:
    """The number of a text, or a ValueError that says what would be right."""
    least, most = _RANGES[name]
    right = f"use a {'whole ' if whole else ''}number from {least} to {most}"
    if name == "port" and text.startswith("tcp://"):
        right += " (Kubernetes sets this variable for a service called evenmatch: turn enableServiceLinks off)"
    if not (_WHOLE if whole else _DECIMAL).fullmatch(text):
        raise ValueError(f"{text[:60]!r} is not a {'whole ' if whole else ''}number: {right}")
    value = int(text) if whole else float(text)
    if not least <= value <= most:
        raise ValueError(f"{text[:60]!r} is out of range: {right}")
    return value
