"""What may be shown of a journal's place: everything but its passwords, whatever stands in them.

    postgresql://user:***@host:5432/name?sslmode=require&password=***

People paste passwords as they are, with @, /, ? or # in them, which a URL cannot hold. Where a password ends is then
anybody's guess, and libpq guesses otherwise than people do. So the text is never searched for the password: all from
the first colon to the last @ is left out. Where the rest does not look like hosts, a database and options, all is.
"""

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
_SECRET_OPTION: Final = re.compile(rf"[?&][^=&]*(?:{_SECRET.pattern})[^=&]*=", re.IGNORECASE)
_AFTER_SECRET: Final = re.compile(
    r"host|hostaddr|port|dbname|user|ssl\w+|gss\w+|channel_binding|connect_timeout|keepalives\w*|tcp_user_timeout|"
    r"target_session_attrs|load_balance_hosts|application_name|options|passfile|require_auth"
)
"""Options that end a secret value; before any other, an & may be part of it."""


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
    text = f"{user}{colon and ':' + HIDDEN}{at}{after}{mark}{_without_secrets(options)}"
    plain = _PLAIN.fullmatch(text) and not _SECRET_OPTION.search(unquote(before))  # there, the @ may be a password's
    return begin + (text if plain else HIDDEN)


def _options_apart(rest: str) -> tuple[str, str, str]:
    """A URL's options are what follows the first ? after the last @: one before it may be part of a password."""
    at = rest.rfind("@") + 1
    head, mark, options = rest[at:].partition("?")
    return rest[:at] + head, mark, options


def _without_secrets(options: str) -> str:
    found: list[str] = []
    hiding = False
    for piece in options.split("&"):
        name, equals, _ = piece.partition("=")
        name = unquote(name)
        if _SECRET.search(name):
            found.append(f"{name}{equals}{HIDDEN}")
            hiding = True
        elif not hiding or (equals and _AFTER_SECRET.fullmatch(name)):
            found.append(piece)
            hiding = False
    return "&".join(found)
