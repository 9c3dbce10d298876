"""The API to read: one HTML page made from the OpenAPI document, with no script and nothing fetched from elsewhere."""

import html
import json
from functools import lru_cache
from typing import Any, Final

import msgspec

from evenmatch.domain.refusals import Reasons

from .access import RIGHTS, Least, Players
from .wire import WireReasons

_STYLE: Final = """
:root{color-scheme:light dark;--line:#8884;--soft:#8882;--accent:#0a7d4f}
*{box-sizing:border-box}
body{font:16px/1.55 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1.5rem 1.25rem 5rem}
h1{margin:.2em 0}h2{margin:2.2em 0 .4em;padding-bottom:.2em;border-bottom:1px solid var(--line)}
h3{margin:1.8em 0 .3em;font-size:1.02rem;overflow-wrap:anywhere}
code,pre{font:13.5px/1.5 ui-monospace,monospace}
pre{background:var(--soft);padding:.8em 1em;border-radius:6px;overflow:auto}
.verb{display:inline-block;min-width:4.6em;padding:.05em .5em;margin-right:.5em;border-radius:4px;text-align:center;
background:var(--accent);color:#fff;font:700 12px/1.7 ui-monospace,monospace}
table{border-collapse:collapse;width:100%;margin:.6em 0;font-size:.93rem}
td,th{text-align:left;padding:.35em .6em;border-bottom:1px solid var(--line);vertical-align:top}
details{margin:.5em 0}summary{cursor:pointer}nav a{margin-right:1em}a{color:inherit}
tr:target{background:var(--soft)}
"""

_SOCKET: Final = """
<h2 id="socket">WebSocket</h2>
<h3><span class="verb">WS</span><code>/v1/tickets/{ticket}/events?after=SEQUENCE</code></h3>
<p>A ticket's story as JSON messages: all of it, or what came after a sequence, then live. <code>sequence</code> is the
journal's: it rises, with holes. Reconnect with <code>after=</code> the last one you saw and nothing is missed. An open
socket counts as a heartbeat.</p>
<pre>{"sequence":17,"type":"queued|updated|proposed|accepted|starting|matched|server|unserved|requeued|cancelled|expired",
 "ticket":"t-000000000001","queue":"duel","at_ms":1790000000000,
 "proposal":{...} | "match":{...} | "cause":"..." | "server":{"address":"203.0.113.7","port":7777,"token":"..."}}</pre>
<table><tr><th>close</th><th>means</th></tr>
<tr><td>1000</td><td>the story is over: matched (with its server, if one is asked for), cancelled or expired</td></tr>
<tr><td>1001, 1012</td><td>the server stops or restarts; come back with <code>after=</code></td></tr>
<tr><td>1008</td><td>the client sent messages; nothing is to be said here</td></tr>
<tr><td>1013</td><td>too slow, too many requests, or a busy server; come back with <code>after=</code></td></tr>
<tr><td>4400</td><td><code>after</code> is not a whole number</td></tr>
<tr><td>4401</td><td>no key or token that counts; where no header can be sent: <code>?token=</code></td></tr>
<tr><td>4403</td><td>the ticket is not this player's, or the key's role does not suffice</td></tr>
<tr><td>4404</td><td>there is no such ticket</td></tr>
<tr><td>4410</td><td><code>after</code> is older than what is kept; read the ticket instead</td></tr></table>
"""


def docs_page(schema: dict[str, Any]) -> str:
    """The page for an OpenAPI document."""
    return _page(msgspec.json.encode(schema))


@lru_cache(maxsize=1)
def _page(document: bytes) -> str:
    schema = json.loads(document)
    info = schema["info"]
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>{html.escape(info['title'])} API</title><style>{_STYLE}</style>",
        f"<h1>{html.escape(info['title'])} <small>{html.escape(info['version'])}</small></h1>",
        f"<p>{html.escape(info['description'])} As a document: <a href=/openapi.json>/openapi.json</a>.</p><nav>",
        *(f"<a href='#{tag['name']}'>{tag['name']}</a>" for tag in schema["tags"]),
        "<a href='#socket'>WebSocket</a><a href='#rights'>rights</a><a href='#reasons'>reasons</a></nav>",
    ]
    for tag in schema["tags"]:
        parts.append(f"<h2 id='{tag['name']}'>{tag['name']}</h2><p>{html.escape(tag['description'])}.</p>")
        for path, item in schema["paths"].items():
            for verb, operation in item.items():
                if isinstance(operation, dict) and tag["name"] in operation.get("tags", ()):
                    parts += _operation(path, verb, operation)
    return "".join([*parts, _SOCKET, *_rights(), *_reasons(), "</html>"])


def _operation(path: str, verb: str, operation: dict[str, Any]) -> list[str]:
    parts = [
        f"<h3><span class=verb>{verb.upper()}</span><code>{html.escape(path)}</code></h3>",
        f"<p><b>{html.escape(operation.get('summary', ''))}.</b> {html.escape(operation.get('description', ''))}</p>",
    ]
    named = operation.get("parameters", [])
    if named:
        parts.append("<table><tr><th>parameter</th><th>in</th><th>means</th></tr>")
        parts += [
            f"<tr><td><code>{html.escape(one['name'])}</code></td><td>{one['in']}</td>"
            f"<td>{html.escape(one.get('description', ''))}</td></tr>"
            for one in named
        ]
        parts.append("</table>")
    body = operation.get("requestBody")
    if body:
        parts += _examples("Body", body["content"])
    rows = []
    for status, response in sorted(operation.get("responses", {}).items()):
        rows.append(f"<tr><td>{status}</td><td>{_linked(response.get('description', ''))}</td></tr>")
        if status.startswith("2"):
            parts += _examples(f"Answer {status}", response.get("content", {}))
    return [*parts, "<table><tr><th>status</th><th>means</th></tr>", *rows, "</table>"]


_CODES: Final = frozenset(reason.code for reason in (*Reasons, *WireReasons))


def _linked(description: str) -> str:
    """A description in which reason codes lead to what they mean."""
    words = description.split(" / ")
    if not _CODES.issuperset(words):
        return html.escape(description)
    return ", ".join(f"<a href='#reason-{word}'><code>{word}</code></a>" for word in words)


def _examples(title: str, content: dict[str, Any]) -> list[str]:
    parts = []
    for media in content.values():
        found = [example.get("value") for example in (media.get("examples") or {}).values()]
        for example in found or media.get("schema", {}).get("examples", []):
            text = json.dumps(example, indent=2)
            parts.append(f"<details open><summary>{title}</summary><pre>{html.escape(text)}</pre></details>")
    return parts


_WORDS: Final = {
    Least.ANYONE: "anybody, without a key",
    Least.READER: "reader, backend, operator",
    Least.BACKEND: "backend, operator",
    Least.OPERATOR: "operator",
    Players.NOTHING: "no",
    Players.ANYTHING: "yes",
    Players.IN_BODY: "as itself alone",
    Players.IN_TICKET: "if it is in the ticket",
    Players.IN_MATCH: "if it is in the match",
    Players.AS_NAMED: "if it is the one named",
}


def _rights() -> list[str]:
    parts = [
        "<h2 id=rights>Rights</h2><p>Send an API key or a player's token as <code>Authorization: Bearer ...</code>. A",
        " server without keys is open to its own machine: who comes without one counts as the backend.</p>",
        "<table><tr><th>path</th><th>keys</th><th>players</th></tr>",
    ]
    for (method, path), right in RIGHTS.items():
        players = _WORDS[Players.ANYTHING if right.least is Least.ANYONE else right.players]
        parts.append(
            f"<tr><td><code>{method} {html.escape(path)}</code></td>"
            f"<td>{_WORDS[right.least]}</td><td>{players}</td></tr>"
        )
    return [*parts, "</table>"]


def _reasons() -> list[str]:
    parts = ["<h2 id=reasons>Reasons</h2><p>Every refusal carries one of these as <code>reason</code>.</p><table>"]
    parts.append("<tr><th>reason</th><th>status</th><th>means</th></tr>")
    for reason in sorted((*Reasons, *WireReasons), key=lambda reason: (reason.value[0], reason.code)):
        status, title = reason.value
        parts.append(
            f"<tr id='reason-{reason.code}'><td><code>{reason.code}</code></td><td>{status}</td>"
            f"<td>{html.escape(title)}</td></tr>"
        )
    return [*parts, "</table>"]
