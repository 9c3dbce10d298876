"""What may be shown of a journal's place: everything but its passwords, whatever stands in them.

    postgresql://user:***@host:5432/name?sslmode=require&password=***

People paste passwords as they are, with @, /, ? or # in them, which a URL cannot hold. Where a password ends is then
anybody's guess, and libpq guesses otherwise than people do. So the text is never searched for the password: all from
the first colon to the last @ is left out. Where the rest does not look like hosts, a database and options, all is.

Of options, only those that libpq knows and that are no secrets show their values: a misspelt `pasword` is none of them.
What follows one that hides its value may be part of it, so it is left out up to the next that is known. An option that
nobody knows is told by its name, unless that may be a piece of a password too.
"""

import difflib
import re
from typing import Final
from urllib.parse import unquote

HIDDEN: Final = "***"
SCHEME: Final = re.compile(r"\s*(?:jdbc:)?(?:([a-zA-Z][a-zA-Z0-9+.-]*):/{1,2}|postgres(?:ql)?(?::|//))")
"""How a URL begins, also one that we do not take."""
_WORDS: Final = re.compile(r"\s*(?:host|hostaddr|port|dbname|user|password|service|ssl\w+|application_name)\s*=")
_HOST: Final = r"(?:\[[0-9a-zA-Z:.%]*\]|[^\s:@/?#,\[\]]*)(?::[0-9]*)?"
_USER: Final = r"(?:[^\s:/?#]*(?::\*\*\*)?@)?"
_PLAIN: Final = re.compile(rf"{_USER}{_HOST}(?:,{_HOST})*(?:/[^\s:@/?#]*)?(?:\?[^\s?#@]*)?")
"""What is shown of a URL after its scheme, the options aside."""
_SECRET: Final = re.compile(r"password|secret|scram_", re.IGNORECASE)
_OPTION: Final = re.compile(r"[?&][^=&?]*=")
"""An option, where there should be none: then the @ after it may be in its value."""
_HARMLESS: Final = re.compile(
    r"host|hostaddr|port|dbname|user|ssl|sslmode|sslnegotiation|sslcompression|sslcert|sslkey|sslcertmode|"
    r"sslrootcert|sslcrl|sslcrldir|sslsni|ssl_min_protocol_version|ssl_max_protocol_version|min_protocol_version|"
    r"max_protocol_version|gssencmode|gsslib|gssdelegation|krbsrvname|channel_binding|connect_timeout|keepalives|"
    r"keepalives_idle|keepalives_interval|keepalives_count|tcp_user_timeout|target_session_attrs|load_balance_hosts|"
    r"application_name|fallback_application_name|client_encoding|options|passfile|require_auth|requirepeer|"
    r"replication|service|servicefile"
)
"""Options whose values are shown; they end a secret one too. Before any other, an & may be part of it."""
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")


def is_words(place: str) -> bool:
    """Is a place in libpq's other form, host=... password=...?"""
    return _WORDS.match(place) is not None


def shown(place: str) -> str:
    """A place without its passwords, for messages."""
    scheme = SCHEME.match(place)
    if scheme is None:
        return HIDDEN if is_words(place) else place
    begin, rest = scheme[0].lstrip(), place[scheme.end() :]
    head, mark, options = _options_apart(rest)
    before, at, after = head.rpartition("@")
    user, colon, _ = before.partition(":")
    named = bool(at) or ":" not in after  # otherwise it may be user:password, and its @host forgotten
    text = f"{user}{colon and ':' + HIDDEN}{at}{after}{mark}{_without_secrets(options, named)}"
    plain = _PLAIN.fullmatch(text) and not _OPTION.search(unquote(before))  # there, the @ may be a password's
    return begin + (text if plain else HIDDEN)


def _options_apart(rest: str) -> tuple[str, str, str]:
    """A URL's options are what follows the first ? after the last @: one before it may be part of a password."""
    at = rest.rfind("@") + 1
    head, mark, options = rest[at:].partition("?")
    return rest[:at] + head, mark, options


def _is_misspelt(name: str) -> bool:
    """Is it an option that libpq knows, but for a letter or two? Then it is no piece of a password."""
    return bool(difflib.get_close_matches(name, [*_HARMLESS.pattern.split("|"), "password", "sslpassword"], 1, 0.85))


def _without_secrets(options: str, named: bool) -> str:
    """Options without the values that are not known to be harmless; `named`: an unknown one may be told by its name."""
    found: list[str] = []
    hiding = False
    for piece in options.split("&"):
        name, equals, _ = piece.partition("=")
        name = unquote(name)
        if _HARMLESS.fullmatch(name) and (equals or not hiding):
            found.append(piece)
            hiding = False
        elif _SECRET.search(name) and equals:
            found.append(f"{name if _NAME.fullmatch(name) else HIDDEN}={HIDDEN}")
            hiding = True
        elif piece and not hiding:
            told = equals and _NAME.fullmatch(name) and (named or _is_misspelt(name))
            found.append(f"{name if told else HIDDEN}{equals}{equals and HIDDEN}")
            hiding = True
    return "&".join(found)
