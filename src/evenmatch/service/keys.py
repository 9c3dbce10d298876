"""API keys: a small file beside the journal, written by `evenmatch keys` and followed by a running server.

Problem: a key must be checked on every request, be gone within a second of its revocation, and be of no use to whoever
reads the file.

Idea: a key is `em_<id>_<secret>`. The secret is 256 random bits, so one SHA-256 of it is all the file needs to hold:
there is nothing to guess, and a slow hash would only slow down requests. The id is no secret; it finds the entry, and
the hashes are compared in constant time. The file is replaced as a whole (written, flushed, renamed) under a lock, so
that a reader never sees half of it. The server looks at the file's date and size at most twice a second; a file that
has become unreadable changes nothing but the log.
"""

import contextlib
import datetime as dt
import fcntl
import hashlib
import hmac
import math
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec
import structlog

from evenmatch.errors import ConfigError
from evenmatch.settings import Settings
from evenmatch.storage.places import folder_of

log = structlog.get_logger("evenmatch.keys")

Role = Literal["operator", "backend", "reader"]
"""operator: everything. backend: plays for its players. reader: looks."""

_LOOK_EVERY_S: Final = 0.5
_NAME_MAX: Final = 64
_PREFIX: Final = "em_"
_ID: Final = re.compile(r"[0-9a-z]{1,32}", re.ASCII)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_NOBODY: Final = hashlib.sha256(b"").hexdigest()
_HEADER: Final = (
    "# The API keys of evenmatch, without their secrets. Written by `evenmatch keys add` and `keys revoke`.\n\n"
)


class Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One API key, without its secret."""

    id: str
    name: str
    role: Role
    sha256: str
    """Of the secret, in hexadecimal digits."""
    created: dt.datetime
    rate: float | None = None
    """Requests a second; None = the setting `key_rate`."""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    keys: list[Key] = []


def keys_path(settings: Settings) -> Path:
    """Where the keys are: a relative path counts from the journal's folder."""
    return folder_of(settings.db) / settings.keys


def load(path: Path) -> list[Key]:
    """The keys of a file, none where there is no file; a ConfigError says what is wrong with it."""
    try:
        with path.open("rb") as file:
            writers = os.fstat(file.fileno()).st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            content = file.read()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError(f"the keys in {path} cannot be read: {error.strerror}") from error
    if writers:
        raise ConfigError(f"{path} may be written by others, who could let themselves in: chmod 600 {path}")
    try:
        keys = msgspec.toml.decode(content, type=_File).keys
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"the keys in {path} cannot be read: {error}") from error
    for number, key in enumerate(keys, 1):
        wrong = _wrong(key)
        if wrong is None and any(other.id == key.id for other in keys[: number - 1]):
            wrong = "its id stands in the file twice"
        if wrong is not None:
            raise ConfigError(f"{path}: key {number} cannot be used: {wrong}")
    return keys


def _wrong(key: Key) -> str | None:
    if not _ID.fullmatch(key.id):
        return "its id must be 1 to 32 of a-z and 0-9"
    if not _DIGEST.fullmatch(key.sha256):
        return "its sha256 must be 64 hexadecimal digits"
    if not 0 < len(key.name) <= _NAME_MAX or not key.name.isprintable():
        return f"its name must be 1 to {_NAME_MAX} printable characters"
    if key.rate is not None and not (0 < key.rate < math.inf):
        return f"its rate must be above 0 (requests a second), not {key.rate:g}"
    return None


def add(path: Path, name: str, role: Role, rate: float | None = None) -> str:
    """Write a new key and return it whole, secret included: it cannot be shown again."""
    secret = secrets.token_hex(32)
    with _changing(path) as keys:
        taken = {key.id for key in keys}
        while (number := secrets.token_hex(4)) in taken:
            pass
        now = dt.datetime.now(dt.UTC).replace(microsecond=0)
        key = Key(number, name, role, hashlib.sha256(secret.encode()).hexdigest(), now, rate)
        wrong = _wrong(key)
        if wrong is not None:
            raise ConfigError(f"the key cannot be made: {wrong}")
        keys.append(key)
    return f"{_PREFIX}{number}_{secret}"


def revoke(path: Path, number: str) -> Key:
    """Take a key out of the file and return it."""
    with _changing(path) as keys:
        for key in keys:
            if key.id == number:
                keys.remove(key)
                return key
        known = ", ".join(f"{key.id} ({key.name})" for key in keys) or "none"
        raise ConfigError(f"no key in {path} has this id; there are: {known}")


@contextlib.contextmanager
def _changing(path: Path) -> Iterator[list[Key]]:
    """The keys of a file, to be changed; written back whole, unless something fails."""
    real = path.resolve()
    try:
        with real.with_name(real.name + ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            keys = load(real)
            yield keys
            _write(real, _HEADER.encode() + msgspec.toml.encode(_File(keys)))
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error


def _write(path: Path, content: bytes) -> None:
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class KeyRing:
    """The keys of a file, as they are now."""

    def __init__(self, path: Path, now_s: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self._now_s = now_s
        self._look_at = now_s() + _LOOK_EVERY_S
        self._seen = _mark(path)
        self._keys: dict[str, Key] = {}
        self._take(load(path))

    def _take(self, keys: list[Key]) -> None:
        self._keys = {key.id: key for key in keys}
        self.has_backend = any(key.role == "backend" for key in keys)
        """Is there a key that a game's backend can use?"""

    def look(self) -> None:
        """Read the file again if it has changed; called with every request, it does so twice a second at most."""
        now_s = self._now_s()
        if now_s < self._look_at:
            return
        self._look_at = now_s + _LOOK_EVERY_S
        mark = _mark(self.path)
        if mark == self._seen:
            return
        self._seen = mark
        try:
            if mark is None:
                raise ConfigError(f"{self.path} is gone")
            self._take(load(self.path))
        except ConfigError as error:
            log.error("the new keys are not used; those known so far stay in force", error=str(error))
            return
        log.info("keys read again", keys=len(self._keys))

    def find(self, text: str) -> Key | None:
        """The key that a text is, if it is one."""
        number, _, secret = text.removeprefix(_PREFIX).partition("_")
        key = self._keys.get(number) if text.startswith(_PREFIX) else None
        digest = hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
        same = hmac.compare_digest(digest, _NOBODY if key is None else key.sha256)
        return key if same and key is not None else None

    def holds(self, number: str) -> bool:
        """Is there a key with this id?"""
        return number in self._keys


def is_key(credential: str) -> bool:
    """Does a credential look like an API key (and not like a player's token)?"""
    return credential.startswith(_PREFIX)


def _mark(path: Path) -> tuple[int, int, int] | None:
    """What changes when a file does; None = there is none that can be looked at."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
