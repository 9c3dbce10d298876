"""The dashboard's files as they are served: all there, under a strict policy, and nothing else."""

import asyncio
import re
from typing import Any

import httpx

from evenmatch.domain.queue import QueueSpec
from evenmatch.service.routes_dashboard import PAGE, files
from evenmatch.storage.memory import MemoryJournal

from .inside import app_over, living


def fetched(*paths: str, **headers: str) -> list[httpx.Response]:
    """What a server answers to each."""

    async def fetch() -> list[Any]:
        async with living(app_over(MemoryJournal(), QueueSpec("duel"))) as client:
            return [await client.get(path, headers=headers) for path in paths]

    return asyncio.run(fetch())


def test_the_page_and_all_that_it_names_are_there_under_a_strict_policy() -> None:
    (page,) = fetched("/")
    assert page.headers["content-type"].startswith("text/html")
    named = re.findall(r'(?:href|src)="(/dashboard/[^"]+)"', page.text)
    assert len(named) >= 4
    for answer in [page, *fetched(*named)]:
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
    assert "<script>" not in page.text
    assert " style=" not in page.text


def test_every_module_imports_only_what_is_served() -> None:
    kept = files()
    for name, content in kept.items():
        for other in re.findall(rb'from "([^"]+)"', content) if name.endswith(".js") else ():
            assert other.startswith(b"./"), name
            assert other[2:].decode() in kept, name


def test_the_page_names_every_module_so_that_none_is_waited_for() -> None:
    kept = files()
    named = re.findall(
        rb'<(?:link rel="modulepreload" href|script type="module" src)="/dashboard/(\w+\.js)">', kept[PAGE]
    )
    assert sorted(name.decode() for name in named) == [name for name in kept if name.endswith(".js")]


def test_no_module_writes_markup_from_words() -> None:
    for name, content in files().items():
        for unsafe in (b"innerHTML", b"outerHTML", b"insertAdjacentHTML", b"document.write", b"eval("):
            assert unsafe not in content, name


def test_files_are_small() -> None:
    assert [name for name, content in files().items() if content.count(b"\n") >= 400] == []


def test_what_is_not_a_file_of_the_page_is_not_there() -> None:
    for path in ("/dashboard/__init__.py", "/dashboard/nope.js", "/dashboard/..%2Fsettings.py", "/dashboard/"):
        (answer,) = fetched(path)
        assert answer.status_code in (404, 405), path
        assert "content" not in answer.text[:20]


def test_a_file_that_has_not_changed_is_not_sent_again() -> None:
    (first,) = fetched("/dashboard/main.js")
    (again,) = fetched("/dashboard/main.js", **{"if-none-match": first.headers["etag"]})
    assert again.status_code == 304
    assert not again.content
