"""Players' tokens: the good, the forged, the expired; key sets that change, fail and come back."""

import asyncio
import base64
import hashlib
import hmac
import io
import json
import math
import time
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey, OKPKey, RSAKey

from evenmatch.errors import ConfigError
from evenmatch.service.tokens import BadToken, PlayerTokens, fetch, key_set, make_token
from evenmatch.settings import Secret, Settings

from .callers import SECRET, token

NOW_S = 1_800_000_000.0
RSA = RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig"})
EC = ECKey.generate_key("P-256", {"kid": "ec"})
ED = OKPKey.generate_key("Ed25519", {"kid": "ed"})
PUBLIC = ("RS256", "PS256", "ES256", "Ed25519")
SIGNERS: list[tuple[Any, str]] = [(RSA, "RS256"), (RSA, "PS256"), (EC, "ES256"), (ED, "Ed25519")]


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def checked(tokens: PlayerTokens, text: str) -> str | BadToken:
    return asyncio.run(tokens.player(text))


def secret_tokens(now_s: float = NOW_S, **more: Any) -> PlayerTokens:
    return PlayerTokens(Settings(player_secret=Secret(SECRET), **more), now_s=lambda: now_s)


def ours(**claims: Any) -> str:
    return token("ann", **({"exp": int(NOW_S) + 60} | claims))


def test_a_good_token_is_its_player() -> None:
    tokens = secret_tokens()
    assert tokens.expected
    assert checked(tokens, ours()) == "ann"
    assert checked(tokens, ours()) == "ann", "also when it is remembered"


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"exp": None}, "no `exp`"),
        ({"exp": int(NOW_S) - 30}, "expired"),
        ({"exp": int(NOW_S) - 9_000}, "expired"),
        ({"exp": "2000000000"}, "no `exp`"),
        ({"exp": True}, "no `exp`"),
        ({"nbf": int(NOW_S) + 31}, "not valid yet"),
        ({"nbf": "soon"}, "`nbf`"),
        ({"sub": None}, "`sub`"),
        ({"sub": ""}, "`sub`"),
        ({"sub": 7}, "`sub`"),
        ({"sub": "x" * 129}, "`sub`"),
        ({"sub": "a\nb"}, "`sub`"),
        ({"aud": "another game"}, "audience"),
        ({"aud": ["this game"]}, "audience"),
    ],
)
def test_a_token_that_says_the_wrong_thing_does_not_count(claims: dict[str, Any], why: str) -> None:
    said: dict[str, Any] = {"sub": "ann", "exp": int(NOW_S) + 60} | claims
    bad = checked(secret_tokens(), token(said.pop("sub"), **said))
    assert isinstance(bad, BadToken)
    assert why in bad.why


def test_clocks_may_differ_a_little() -> None:
    assert checked(secret_tokens(), ours(exp=int(NOW_S) - 29)) == "ann"
    assert checked(secret_tokens(), ours(nbf=int(NOW_S) + 30)) == "ann"


def test_a_remembered_token_expires_all_the_same() -> None:
    clock = [NOW_S]
    tokens = PlayerTokens(Settings(player_secret=Secret(SECRET)), now_s=lambda: clock[0])
    text = ours(nbf=int(NOW_S) + 100, exp=int(NOW_S) + 200)
    for moment, good in ((0, False), (69, False), (70, True), (229, True), (230, False), (9_999, False)):
        clock[0] = NOW_S + moment
        assert (checked(tokens, text) == "ann") is good, moment


def test_the_audience_must_be_ours_where_there_is_one() -> None:
    tokens = secret_tokens(player_audience="this game")
    assert checked(tokens, ours(aud="this game")) == "ann"
    assert checked(tokens, ours(aud=["that game", "this game"])) == "ann"
    audiences: list[Any] = [None, "that game", [], [["this game"]], {"this game": 1}]
    for audience in audiences:
        assert isinstance(checked(tokens, ours(aud=audience)), BadToken), audience


def forged() -> dict[str, str]:
    """Tokens that anybody could make."""
    claims = part({"sub": "ann", "exp": NOW_S + 60})
    pem = RSA.as_pem(private=False)
    body = f"{part({'alg': 'HS256', 'kid': 'rsa'})}.{claims}"
    confused = base64.urlsafe_b64encode(hmac.new(pem, body.encode(), hashlib.sha256).digest()).rstrip(b"=").decode()
    good = ours()
    head, said, signature = good.split(".")
    other = RSAKey.generate_key(2048, {"kid": "rsa"})
    return {
        "none": f"{part({'alg': 'none'})}.{claims}.",
        "None": f"{part({'alg': 'None'})}.{claims}.",
        "none, but signed": f"{part({'alg': 'none'})}.{claims}.{signature}",
        "no alg": f"{part({})}.{claims}.{signature}",
        "a public key as secret": f"{body}.{confused}",
        "another secret": token("ann", "another secret, as long as the right one is", exp=int(NOW_S) + 60),
        "another key of that name": jwt.encode(
            {"alg": "RS256", "kid": "rsa"}, {"sub": "ann", "exp": NOW_S + 60}, other, algorithms=PUBLIC
        ),
        "a key that it brings itself": jwt.encode(
            {"alg": "RS256", "jwk": dict(other.as_dict(private=False))}, {"sub": "ann", "exp": NOW_S + 60}, other
        ),
        "other claims": f"{head}.{part({'sub': 'ben', 'exp': NOW_S + 60})}.{signature}",
        "no signature": f"{head}.{said}.",
        "cut": good[:-2],
        "two parts": f"{head}.{said}",
        "crit": f"{part({'alg': 'HS256', 'crit': ['x'], 'x': 1})}.{claims}.{signature}",
        "a list": f"{part([])}.{claims}.{signature}",
        "nothing": "",
        "dots": "..",
        "long": "a" * 10_000,
        "deep": "[" * 3_000,
        "not ascii": "é.é.é",
    }


@pytest.mark.parametrize("kind", sorted(forged()))
@pytest.mark.parametrize("keys", ["secret", "jwks"])
def test_a_forged_token_does_not_count(tmp_path: Path, kind: str, keys: str) -> None:
    tokens = secret_tokens() if keys == "secret" else of_file(tmp_path)
    text = forged()[kind]
    with structlog.testing.capture_logs() as logged:
        bad = checked(tokens, text)
    assert isinstance(bad, BadToken)
    assert len(text) < 10 or text not in bad.why + str(logged)


def test_an_algorithm_of_the_same_secret_but_not_ours_does_not_count() -> None:
    claims = {"sub": "ann", "exp": NOW_S + 60}
    key = OctKey.import_key(SECRET * 2)
    text = jwt.encode({"alg": "HS512"}, claims, key, algorithms=["HS512"])
    tokens = PlayerTokens(Settings(player_secret=Secret(SECRET * 2)), now_s=lambda: NOW_S)
    assert isinstance(checked(tokens, text), BadToken)
    assert checked(tokens, jwt.encode({"alg": "HS256"}, claims, key)) == "ann"


@given(st.text() | st.from_regex(r"[\w-]+\.[\w-]+\.[\w-]*", fullmatch=True))
def test_no_text_brings_anything_but_a_no(text: str) -> None:
    assert isinstance(checked(secret_tokens(), text), BadToken)


def test_without_secret_or_keys_no_token_counts() -> None:
    tokens = PlayerTokens(Settings())
    assert not tokens.expected
    bad = checked(tokens, ours())
    assert isinstance(bad, BadToken)
    assert "PLAYER_SECRET" in bad.why


# -- key sets ----------------------------------------------------------------------------------------------------------


def jwks(*keys: Any) -> bytes:
    return json.dumps(KeySet(list(keys)).as_dict(private=False)).encode()


def signed(key: Any, alg: str, kid: str | None = None, **claims: Any) -> str:
    header = {"alg": alg, "kid": kid or key.kid}
    return jwt.encode(header, {"sub": "ann", "exp": NOW_S + 60} | claims, key, algorithms=[alg])


def of_file(folder: Path, *keys: Any) -> PlayerTokens:
    path = folder / "keys.json"
    path.write_bytes(jwks(*(keys or (RSA, EC, ED))))
    return PlayerTokens(Settings(player_jwks=str(path)), now_s=lambda: NOW_S)


@pytest.mark.parametrize(("key", "alg"), SIGNERS, ids=lambda value: str(value) if isinstance(value, str) else value.kid)
def test_public_keys_of_a_file_check_tokens_each_of_its_own_kind(tmp_path: Path, key: Any, alg: str) -> None:
    tokens = of_file(tmp_path)
    assert checked(tokens, signed(key, alg)) == "ann"
    for other in (RSA, EC, ED):
        if other is not key:
            assert isinstance(checked(tokens, signed(key, alg, kid=other.kid)), BadToken)


def test_a_token_signed_with_a_secret_does_not_count_beside_public_keys(tmp_path: Path) -> None:
    assert isinstance(checked(of_file(tmp_path), ours()), BadToken)


def test_a_symmetric_key_in_a_set_is_passed_over() -> None:
    secret = OctKey.import_key(SECRET, {"kid": "oct"})
    mixed = json.loads(jwks(RSA))["keys"] + [secret.as_dict(private=True)]
    found = key_set(json.dumps({"keys": mixed}).encode())
    assert [key.kid for key in found.keys] == ["rsa"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"keys": 1}',
        b'{"keys": []}',
        b'{"keys": [1, null, {}]}',
        b'{"keys": [{"kty": "RSA", "n": 5, "e": "AQAB"}]}',
        b'{"keys": [{"kty": "EC", "crv": "P-999", "x": "AQAB", "y": "AQAB"}]}',
        b'{"keys": [{"kty": "oct", "k": "AAAA"}]}',
        b"<html>",
    ],
)
def test_a_file_without_a_usable_key_is_refused_at_the_start(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=str(path)):
        PlayerTokens(Settings(player_jwks=str(path)))


def test_a_file_that_is_not_there_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        PlayerTokens(Settings(player_jwks=str(tmp_path / "nope.json")))


class Issuer:
    """Somebody who publishes keys, and a clock."""

    def __init__(self, *keys: Any) -> None:
        self.content: bytes | Exception = jwks(*keys)
        self.asked = 0
        self.now_s = 0.0
        settings = Settings(player_jwks="https://keys.example/set")
        self.tokens = PlayerTokens(settings, lambda: NOW_S, lambda: self.now_s, self._give)

    def _give(self, source: str) -> bytes:
        assert source == "https://keys.example/set"
        self.asked += 1
        if isinstance(self.content, Exception):
            raise self.content
        return self.content

    async def ask(self, *texts: str) -> list[bool]:
        return [answer == "ann" for answer in await asyncio.gather(*map(self.tokens.player, texts))]


def test_a_set_is_fetched_when_the_first_token_comes_and_once_for_all_that_wait() -> None:
    async def run() -> None:
        issuer = Issuer(RSA)
        assert issuer.tokens.expected
        assert await issuer.ask(*[signed(RSA, "RS256", n=n) for n in range(20)]) == [True] * 20
        assert issuer.asked == 1
        assert await issuer.ask(signed(RSA, "RS256", n=99)) == [True]
        assert issuer.asked == 1

    asyncio.run(run())


def test_an_unknown_key_makes_the_set_be_fetched_again_but_not_all_the_time() -> None:
    async def run() -> None:
        issuer = Issuer(RSA)
        assert await issuer.ask(signed(RSA, "RS256")) == [True]
        issuer.content = jwks(RSA, EC)
        for issuer.now_s in (1.0, 15.0, 29.0):
            assert await issuer.ask(signed(EC, "ES256")) == [False]
        assert issuer.asked == 1
        issuer.now_s = 31.0
        assert await issuer.ask(signed(EC, "ES256"), signed(EC, "ES256", n=1)) == [True, True]
        assert issuer.asked == 2

    asyncio.run(run())


@pytest.mark.parametrize("failure", [OSError("no route"), b"<html>", b'{"keys": []}', ValueError("odd")])
def test_a_fetch_that_fails_keeps_the_keys_and_is_tried_again(failure: Any) -> None:
    async def run() -> None:
        issuer = Issuer(RSA)
        assert await issuer.ask(signed(RSA, "RS256")) == [True]
        issuer.content, issuer.now_s = failure, 100.0
        with structlog.testing.capture_logs() as logged:
            assert await issuer.ask(signed(EC, "ES256"), signed(RSA, "RS256", n=1)) == [False, True]
        assert [entry["log_level"] for entry in logged] == ["error"]
        issuer.content, issuer.now_s = jwks(EC), 131.0
        assert await issuer.ask(signed(EC, "ES256")) == [True]

    asyncio.run(run())


def test_a_key_that_was_withdrawn_stops_counting_also_for_remembered_tokens() -> None:
    async def run() -> None:
        issuer = Issuer(RSA, EC)
        text = signed(RSA, "RS256")
        assert await issuer.ask(text) == [True]
        issuer.content, issuer.now_s = jwks(EC), 601.0
        assert await issuer.ask(text) == [True], "read again in the background"
        while issuer.tokens._reading is not None and not issuer.tokens._reading.done():
            await asyncio.sleep(0)
            await asyncio.to_thread(time.sleep, 0.001)
        assert await issuer.ask(text) == [False]
        assert await issuer.ask(signed(EC, "ES256")) == [True]

    asyncio.run(run())


def test_only_files_and_https_are_fetched(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    assert fetch(str(tmp_path / "a")) == b"x"
    for source in ("http://127.0.0.1:1/keys", "ftp://x/y"):
        with pytest.raises(OSError, match="No such file"):
            fetch(source)


class _Page(io.BytesIO):
    """An answer of the web, from an address."""

    def __init__(self, content: bytes, address: str) -> None:
        super().__init__(content)
        self.address = address

    def geturl(self) -> str:
        return self.address


def test_a_set_from_the_web_is_bounded_and_never_taken_from_an_unsafe_place(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {
        "https://keys.example/good": _Page(b"{}", "https://cdn.example/good"),
        "https://keys.example/led-astray": _Page(b"{}", "http://cdn.example/good"),
        "https://keys.example/large": _Page(b"x" * 2_000_000, "https://keys.example/large"),
    }
    monkeypatch.setattr("urllib.request.urlopen", lambda source, timeout: pages[source] if timeout < 60 else None)
    assert fetch("https://keys.example/good") == b"{}"
    for place, why in (("led-astray", "redirected"), ("large", "larger than")):
        with pytest.raises(ValueError, match=why):
            fetch(f"https://keys.example/{place}")


# -- made here ---------------------------------------------------------------------------------------------------------


def test_a_token_made_here_counts_here() -> None:
    settings = Settings(player_secret=Secret(SECRET), player_audience="this game")
    text = make_token(settings, "ann", 1.0, NOW_S)
    for after_s, good in ((0, True), (89, True), (91, False)):
        tokens = PlayerTokens(settings, now_s=lambda after_s=after_s: NOW_S + after_s)  # type: ignore[misc]
        assert (checked(tokens, text) == "ann") is good


@pytest.mark.parametrize(
    ("player", "minutes"), [("", 1), ("x" * 129, 1), ("a\nb", 1), ("a", 0), ("a", -1), ("a", math.nan), ("a", 1e9)]
)
def test_a_token_that_could_not_count_is_not_made(player: str, minutes: float) -> None:
    with pytest.raises(ConfigError):
        make_token(Settings(player_secret=Secret(SECRET)), player, minutes, NOW_S)


def test_without_a_secret_none_is_made() -> None:
    with pytest.raises(ConfigError, match="EVENMATCH_PLAYER_SECRET"):
        make_token(Settings(), "ann", 1, NOW_S)
