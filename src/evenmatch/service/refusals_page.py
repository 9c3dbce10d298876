"""docs/refusals.md: every reason for which the server says no, made from the code.

evenmatch refusals > docs/refusals.md
"""

from typing import Any

from evenmatch import config
from evenmatch.domain.refusals import Reasons
from evenmatch.settings import Settings
from evenmatch.storage.memory import MemoryJournal

from .documented import ALWAYS
from .openapi import document
from .owner import Owner
from .routes import litestar_app
from .sockets import Hub
from .wire import WireReasons

_HEAD = """# Refusals

Every "no" is `application/problem+json` (RFC 9457) with a `reason`, a code that stays, for programs; `title` and
`detail` are for people. Nothing was changed by a request that was refused. This page is made from the code:
`evenmatch refusals > docs/refusals.md`.

A reason with "any path" may come from every path under `/v1`, one with "none" from no request: it is said inside the
server, or to a path that there is not.

| reason | status | title | from |
|---|---|---|---|
"""


def refusals_page() -> str:
    """The page, as Markdown."""
    paths = _paths()
    always = {reason.code for reason in ALWAYS}
    rows = []
    for reason in sorted((*Reasons, *WireReasons), key=lambda one: (one.value[0], one.code)):
        status, title = reason.value
        where = "any path" if reason.code in always else "<br>".join(f"`{one}`" for one in paths.get(reason.code, []))
        rows.append(f"| `{reason.code}` | {status} | {title} | {where or 'none'} |")
    return _HEAD + "\n".join(rows) + "\n"


def _paths() -> dict[str, list[str]]:
    """Reason -> method and path of every route that documents it."""
    runner = Owner(MemoryJournal(), config.builtin(), Settings(), lambda *_: None)
    described = document(litestar_app(runner, Hub(runner), Settings(), "0"))
    found: dict[str, list[str]] = {}
    for path, item in sorted(described["paths"].items()):
        for verb, operation in item.items():
            for code in _reasons(operation):
                found.setdefault(code, []).append(f"{verb.upper()} {path}")
    return found


def _reasons(operation: dict[str, Any]) -> list[str]:
    problems = [
        response["content"]["application/problem+json"]
        for status, response in operation["responses"].items()
        if "application/problem+json" in response.get("content", {})
    ]
    return [example["value"]["reason"] for told in problems for example in told["examples"].values()]
