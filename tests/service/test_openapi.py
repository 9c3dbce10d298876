"""The documentation is true: OpenAPI 3.1, every path, examples that fit their schemas, a page that needs no net."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.refusals import Reasons
from evenmatch.service.access import RIGHTS
from evenmatch.service.wire import WireReasons
from evenmatch.storage.memory import MemoryJournal

from .inside import app_over, living

PATHS = {
    ("post", "/v1/queues/{queue}/tickets"),
    ("post", "/v1/queues/{queue}/tickets:batch"),
    ("get", "/v1/tickets/{ticket}"),
    ("delete", "/v1/tickets/{ticket}"),
    ("post", "/v1/tickets/{ticket}/heartbeat"),
    ("get", "/v1/tickets/{ticket}/events"),
    ("post", "/v1/proposals/{proposal}/accept"),
    ("post", "/v1/proposals/{proposal}/decline"),
    ("get", "/v1/matches/{match}"),
    ("post", "/v1/matches/{match}/end"),
    ("post", "/v1/matches/{match}/backfill"),
    ("get", "/v1/matches/{match}/backfill"),
    ("delete", "/v1/matches/{match}/backfill"),
    ("get", "/v1/audit"),
    ("get", "/v1/tickets/{ticket}/why"),
    ("get", "/v1/queues/{queue}/forecast"),
    ("get", "/v1/deadletters"),
    ("post", "/v1/backup"),
    ("post", "/v1/deadletters/{letter}/retry"),
    ("patch", "/v1/tickets/{ticket}"),
    ("post", "/v1/tickets/{ticket}/cancel"),
    ("post", "/v1/matches/{match}/started"),
    ("post", "/v1/matches/{match}/failed"),
    ("post", "/v1/matches/{match}/cancel"),
    ("get", "/v1/players/{player}"),
    ("put", "/v1/players/{player}/blocks"),
    ("delete", "/v1/players/{player}/cooldowns"),
    ("put", "/v1/queues/{queue}/mode"),
    ("post", "/v1/matches/{match}/result"),
    ("put", "/v1/matches/{match}/result"),
    ("get", "/v1/matches/{match}/result"),
    ("get", "/v1/players/{player}/ratings"),
    ("get", "/v1/players/{player}/history"),
    ("get", "/v1/players/{player}/tickets"),
    ("get", "/v1/queues/{queue}/leaderboard"),
    ("get", "/v1/queues/{queue}/calibration"),
    ("post", "/v1/queues/{queue}/season"),
    ("put", "/v1/queues/{queue}/spec"),
    ("get", "/v1/queues/{queue}/versions"),
    ("post", "/v1/queues/{queue}/rollback"),
    ("get", "/v1/players/{player}/export"),
    ("delete", "/v1/players/{player}"),
    ("get", "/v1/queues"),
    ("get", "/v1/queues/{queue}"),
    ("get", "/v1/queues/{queue}/history"),
    ("get", "/v1/queues/{queue}/waiting"),
    ("get", "/v1/queues/{queue}/waves"),
    ("get", "/v1/queues/{queue}/waves/{wave}"),
    ("get", "/v1/tickets/{ticket}/story"),
    ("get", "/v1/watch"),
    ("get", "/healthz"),
    ("get", "/readyz"),
    ("get", "/metrics"),
}
_BODILESS = ("/heartbeat", "/end", "/started", "/retry", "/backup")
BODIES = {path for verb, path in PATHS if verb in ("post", "put", "patch") and not path.endswith(_BODILESS)}


@pytest.fixture(scope="module")
def fetched() -> dict[str, Any]:
    """The document and the page, as the server gives them."""

    async def fetch() -> dict[str, Any]:
        async with living(app_over(MemoryJournal(), QueueSpec("duel"))) as client:
            document, page = [await client.get(path) for path in ("/openapi.json", "/docs")]
            assert document.headers["content-type"].startswith("application/json")
            assert page.headers["content-type"].startswith("text/html")
            return {"document": document.json(), "page": page.text}

    return asyncio.run(fetch())


@pytest.fixture(scope="module")
def document(fetched: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = fetched["document"]
    return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for verb, operation in item.items():
            if verb in ("get", "post", "put", "delete", "patch"):
                yield verb, path, operation


# -- a small judge of JSON Schema: only what our document uses ---------------------------------------------------------

KINDS: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def mismatch(value: Any, schema: dict[str, Any], document: dict[str, Any], at: str = "$") -> str | None:
    """Why a value does not fit a schema, or None."""
    if "$ref" in schema:
        target = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        return mismatch(value, target, document, at)
    choices = schema.get("anyOf")
    if choices:
        found = [mismatch(value, choice, document, at) for choice in choices]
        return None if None in found else f"{at}: {value!r} fits none: {found}"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        return f"{at}: {value!r} is not {kinds}"
    if isinstance(value, dict):
        return _object_mismatch(value, schema, document, at)
    if isinstance(value, list) and "items" in schema:
        return next(
            (
                wrong
                for n, inner in enumerate(value)
                if (wrong := mismatch(inner, schema["items"], document, f"{at}[{n}]"))
            ),
            None,
        )
    return None


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, KINDS[kind])


def _object_mismatch(value: dict[str, Any], schema: dict[str, Any], document: dict[str, Any], at: str) -> str | None:
    properties = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in value:
            return f"{at}: {name} is missing"
    for name, inner in value.items():
        if name in properties:
            wrong = mismatch(inner, properties[name], document, f"{at}.{name}")
            if wrong:
                return wrong
        elif properties and "additionalProperties" not in schema:
            return f"{at}: {name} is in no schema"
    return None


def test_the_judge_can_fail() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"$ref": "#/c"}}},
        "required": ["a"],
    }
    document = {"c": {"anyOf": [{"type": "null"}, {"type": "string"}]}}
    assert mismatch({"a": 1, "b": ["x", None]}, schema, document) is None
    bad: Any
    for bad in ({}, {"a": "1"}, {"a": True}, {"a": 1, "b": [2]}, {"a": 1, "c": 1}, []):
        assert mismatch(bad, schema, document), bad


# -- the document ------------------------------------------------------------------------------------------------------


def test_every_path_of_the_api_is_documented(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    assert {(verb, path) for verb, path, _ in operations(document)} == PATHS
    for _, path, operation in operations(document):
        assert operation["summary"], path
        assert operation["description"], path


def test_every_answer_has_an_example_that_fits_its_schema(document: dict[str, Any]) -> None:
    checked = 0
    for verb, path, operation in operations(document):
        if not path.startswith("/v1"):
            continue
        for status, response in operation["responses"].items():
            content = response.get("content", {})
            if status == "204":
                assert not content
                continue
            assert content, f"{verb} {path} {status} has no content"
            for media, described in content.items():
                granted = "text/event-stream" if path.endswith(("/events", "/watch")) else "application/json"
                assert media == (granted if status.startswith("2") else "application/problem+json")
                examples = [example["value"] for example in described["examples"].values()]
                assert examples, f"{verb} {path} {status} has no example"
                for example in examples:
                    assert mismatch(example, described["schema"], document) is None
                    checked += 1
    assert checked > 60


def test_every_body_has_an_example_that_fits_its_schema(document: dict[str, Any]) -> None:
    found = set()
    for _, path, operation in operations(document):
        body = operation.get("requestBody")
        if not body:
            continue
        found.add(path)
        described = body["content"]["application/json"]
        examples = [example["value"] for example in described.get("examples", {}).values()]
        examples = examples or described["schema"].get("examples", [])
        assert examples, path
        for example in examples:
            assert mismatch(example, described["schema"], document) is None
    assert found == BODIES


def test_every_refusal_is_a_documented_problem(document: dict[str, Any]) -> None:
    known = {reason.code: reason.value for reason in (*Reasons, *WireReasons)}
    seen = set()
    for verb, path, operation in operations(document):
        if not path.startswith("/v1"):
            continue
        statuses = set(operation["responses"])
        assert {"401", "403", "429", "500", "503"} <= statuses, f"{verb} {path}"
        if "{" in path:
            assert "404" in statuses, f"{verb} {path}"
        if "requestBody" in operation:
            assert {"400", "413"} <= statuses, f"{verb} {path}"
        for status, response in operation["responses"].items():
            if not status.startswith("2"):
                for example in response["content"]["application/problem+json"]["examples"].values():
                    problem = example["value"]
                    assert (int(status), problem["title"]) == known[problem["reason"]]
                    seen.add(problem["reason"])
    # Refusals of commands that HTTP does not offer, or that stand for any path, are the only ones left out.
    internal = {"wave_closed", "bad_plan", "not_found", "method_not_allowed"}
    assert set(known) - seen == internal


def test_what_needs_a_key_says_so(document: dict[str, Any]) -> None:
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    assert document["security"] == [{"bearer": []}]
    free = {path for _, path, operation in operations(document) if operation.get("security") == []}
    assert free == {"/healthz", "/readyz"}


def test_the_idempotency_key_is_documented(document: dict[str, Any]) -> None:
    for path in ("/v1/queues/{queue}/tickets", "/v1/queues/{queue}/tickets:batch"):
        parameters = {p["name"].lower(): p for p in document["paths"][path]["post"]["parameters"]}
        assert parameters["idempotency-key"]["in"] == "header"
        assert parameters["queue"]["in"] == "path"


# -- the page ----------------------------------------------------------------------------------------------------------


def test_the_page_needs_nothing_from_elsewhere(fetched: dict[str, Any]) -> None:
    page = fetched["page"]
    assert page.startswith("<!doctype html>")
    assert not re.search(r"https?://", page)
    for part in ("<script", "<link", "<img", "<iframe", "@import", "url(", "src="):
        assert part not in page
    for target in re.findall(r"href='?#([a-z_-]+)", page):
        assert re.search(rf"id=['\"]?{target}\b", page), target


def test_the_page_names_every_path_reason_and_close(fetched: dict[str, Any]) -> None:
    page = fetched["page"]
    for _, path in PATHS:
        assert f"<code>{path}</code>" in page
    for method, path in RIGHTS:
        assert f"<code>{method} {path}</code>" in page
    for reason in (*Reasons, *WireReasons):
        assert f"id='reason-{reason.code}'" in page
        assert f"<code>{reason.code}</code>" in page
    for code in ("1000", "1001", "1008", "1013", "4400", "4401", "4403", "4404", "4410"):
        assert f"<td>{code}" in page
