"""Players' tokens: JSON Web Tokens (RFC 7519) that say who a player is, signed by the game.

A token is good when its signature is, `sub` is a usable player's id, `exp` is there and not past, `nbf` is not ahead
(both with a leeway for clocks that differ), and `aud` names this server if either of them knows an audience.

Which algorithm counts is settled by the configuration and never by the token: HS256 with the one secret, or, with a
set of public keys (JWKS, RFC 7517), the signature algorithms of public keys, each key for its own kind only. Symmetric
keys in such a set are passed over, since whoever can read the set could sign with them.

The set is read from a file or an https URL. It is read again when a token names a key that is not in it, at most every
30 seconds, and every ten minutes while tokens come; if that fails, the keys known so far stay in force.

Checking a signature takes longer than all else on the way to a handler, so the tokens that were good are remembered,
by digest, with the time in which they are.
"""

import asyncio
import functools
import hashlib
import math
import time
import urllib.request
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeGuard

import msgspec
import structlog
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError, SecurityWarning
from joserfc.jwk import JWKRegistry, KeySet, OctKey
from joserfc.jws import JWSRegistry

from evenmatch.errors import ConfigError
from evenmatch.settings import Secret, Settings

from .wire import bad_player_id

log = structlog.get_logger("evenmatch.tokens")

LEEWAY_S: Final = 30.0
"""Clocks may differ by this much."""
_REFRESH_LEAST_S: Final = 30.0
_REFRESH_MOST_S: Final = 600.0
_FETCH_S: Final = 5.0
_FETCH_MOST: Final = 1_048_576
_TOKEN_MOST: Final = 8_192
_REMEMBERED: Final = 50_000
_SECRET_ALGORITHMS: Final = ("HS256",)
_PUBLIC_ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"),
    *("Ed25519", "EdDSA"),
)

warnings.filterwarnings("ignore", "EdDSA is deprecated", SecurityWarning)  # issuers use its old name still


class BadToken(msgspec.Struct, frozen=True):
    """Why a token does not count; never with anything out of the token itself."""

    why: str


class _Good(msgspec.Struct, frozen=True, gc=False):
    """Whom a token stands for, and when."""

    player: str
    from_s: float
    until_s: float


class _UnknownKey(Exception):
    """The token names a key that is not in the set."""


def fetch(source: str) -> bytes:
    """The bytes of a key set, from a file or an https URL."""
    if not source.startswith("https://"):
        return Path(source).read_bytes()
    with urllib.request.urlopen(source, timeout=_FETCH_S) as answer:
        if not answer.geturl().startswith("https://"):
            raise ValueError("it was redirected to where anybody could change the answer")
        content: bytes = answer.read(_FETCH_MOST + 1)
    if len(content) > _FETCH_MOST:
        raise ValueError(f"it is larger than {_FETCH_MOST} bytes")
    return content


def key_set(content: bytes) -> KeySet:
    """The keys of a set that may check signatures; a ValueError where there is none."""
    found = msgspec.json.decode(content, type=dict[str, Any]).get("keys")
    if not isinstance(found, list):
        raise ValueError("it is no key set: there is no list called `keys` in it")
    keys = []
    for key in found:
        if isinstance(key, dict) and key.get("kty") in ("RSA", "EC", "OKP") and key.get("use", "sig") == "sig":
            try:
                keys.append(JWKRegistry.import_key(key))
            except (JoseError, ValueError, LookupError, TypeError) as error:
                log.warning("a key of the set is passed over", kid=str(key.get("kid")), error=str(error))
    if not keys:
        raise ValueError("there is no public key for signatures in it")
    return KeySet(keys)


class PlayerTokens:
    """Checks players' tokens against a secret or a set of public keys."""

    def __init__(
        self,
        settings: Settings,
        now_s: Callable[[], float] = time.time,
        monotonic_s: Callable[[], float] = time.monotonic,
        fetch: Callable[[str], bytes] = fetch,
    ) -> None:
        self.source = settings.player_jwks
        self.audience = settings.player_audience
        self._now_s = now_s
        self._monotonic_s = monotonic_s
        self._fetch = fetch
        self._keys: OctKey | KeySet | None = None
        self._read_s = -math.inf
        self._tried_s = -math.inf
        self._reading: asyncio.Task[None] | None = None
        self._good: dict[bytes, _Good] = {}
        algorithms = _PUBLIC_ALGORITHMS if self.source else _SECRET_ALGORITHMS
        self._registry = JWSRegistry(algorithms=algorithms, strict_check_header=False)
        if settings.player_secret is not None:
            self._keys = _secret_key(settings.player_secret)
        elif self.source and not self.source.startswith("https://"):
            try:
                self._keys = key_set(fetch(self.source))
            except (OSError, ValueError) as error:
                raise ConfigError(f"the players' keys in {self.source} cannot be used: {error}") from error
            self._read_s = self._tried_s = monotonic_s()

    @property
    def expected(self) -> bool:
        """Can players have tokens here at all?"""
        return self._keys is not None or bool(self.source)

    async def player(self, token: str) -> str | BadToken:
        """The player that a token stands for."""
        now_s = self._now_s()
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        good = self._good.get(digest)
        if good is None:
            checked = await self._checked(token)
            if isinstance(checked, BadToken):
                return checked
            good = checked
            if len(self._good) >= _REMEMBERED:
                self._good = {key: one for key, one in self._good.items() if one.until_s > now_s}
                if len(self._good) >= _REMEMBERED:
                    self._good.clear()
            self._good[digest] = good
        if self.source and self._monotonic_s() - self._read_s > _REFRESH_MOST_S:
            self._refresh()  # in the background: the keys at hand still count
        if now_s >= good.until_s:
            return BadToken("it has expired")
        if now_s < good.from_s:
            return BadToken("it is not valid yet")
        return good.player

    async def _checked(self, token: str) -> _Good | BadToken:
        if not self.expected:
            return BadToken("this server takes no players' tokens: it has no EVENMATCH_PLAYER_SECRET or _JWKS")
        if len(token) > _TOKEN_MOST:
            return BadToken(f"it has more than {_TOKEN_MOST} characters")
        try:
            return self._verified(token)
        except _UnknownKey:
            reading = self._refresh()
            if reading is not None:
                await asyncio.shield(reading)
            try:
                return self._verified(token)
            except _UnknownKey:
                return BadToken("it was signed with a key that is not known here")

    def _verified(self, token: str) -> _Good | BadToken:
        if self._keys is None:
            raise _UnknownKey
        try:
            claims = jwt.decode(token, self._keys, registry=self._registry).claims
        except InvalidKeyIdError:
            raise _UnknownKey from None
        except (JoseError, ValueError, TypeError, LookupError, RecursionError):
            return BadToken("it is no token that this server trusts: malformed, or signed by somebody else")
        return self._said(claims)

    def _said(self, claims: dict[str, Any]) -> _Good | BadToken:
        player, until, start = claims.get("sub"), claims.get("exp"), claims.get("nbf", -math.inf)
        if not isinstance(player, str) or bad_player_id(player) is not None:
            return BadToken("its `sub` is not a player's id")
        if not _is_moment(until):
            return BadToken("it has no `exp`: a token must expire")
        if start != -math.inf and not _is_moment(start):
            return BadToken("its `nbf` is not a time")
        audience = claims.get("aud")
        if audience is not None or self.audience:
            named = audience if isinstance(audience, list) else [audience]
            if not self.audience or self.audience not in named:
                return BadToken("it is meant for another audience than EVENMATCH_PLAYER_AUDIENCE")
        return _Good(player, start - LEEWAY_S, until + LEEWAY_S)

    def _refresh(self) -> "asyncio.Task[None] | None":
        """Read the set again, unless that was done a moment ago; what is being read already is waited for."""
        if not self.source:
            return None
        if self._reading is None or self._reading.done():
            if self._monotonic_s() - self._tried_s < _REFRESH_LEAST_S:
                return None
            self._tried_s = self._monotonic_s()
            self._reading = asyncio.create_task(self._read())
        return self._reading

    async def _read(self) -> None:
        try:
            keys = key_set(await asyncio.to_thread(functools.partial(self._fetch, self.source)))
        except Exception as error:
            log.error("players' keys not read; those known so far stay in force", source=self.source, error=str(error))
            return
        self._keys, self._read_s = keys, self._monotonic_s()
        self._good.clear()
        log.info("players' keys read", keys=len(keys.keys))


def _secret_key(secret: Secret) -> OctKey:
    try:
        return OctKey.import_key(secret.text)
    except ValueError as error:
        raise ConfigError(f"the players' secret cannot be used: {error}") from error


def _is_moment(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def make_token(settings: Settings, player: str, minutes: float, now_s: float) -> str:
    """A token for a player, signed with the configured secret: for trying things out."""
    if settings.player_secret is None:
        raise ConfigError(
            "there is no secret to sign with: set EVENMATCH_PLAYER_SECRET, for the server too, to 32 characters or more"
        )
    wrong = bad_player_id(player)
    if wrong is not None:
        raise ConfigError(wrong)
    if not 0 < minutes <= 525_600:
        raise ConfigError(f"--minutes {minutes:g} is out of range: use above 0, up to 525600 (a year)")
    claims: dict[str, Any] = {"sub": player, "iat": int(now_s), "exp": int(now_s + minutes * 60)}
    if settings.player_audience:
        claims["aud"] = settings.player_audience
    return jwt.encode({"alg": "HS256"}, claims, _secret_key(settings.player_secret))
