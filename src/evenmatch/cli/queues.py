"""evenmatch queues: the rules of a running server as a queues.toml, and the other way round."""

import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import httpx
import msgspec
from cyclopts import Parameter

from evenmatch import config
from evenmatch.domain.queue import QueueSpec
from evenmatch.errors import ConfigError, EvenmatchError
from evenmatch.settings import API_KEY

_URL = "http://127.0.0.1:8750"
_TIMEOUT_S = 30.0


class NotAgreed(EvenmatchError):
    """The server does not answer, or says no."""


def pull(
    target: Path | None = None,
    *,
    url: str = _URL,
    key: Annotated[str | None, Parameter(env_var=API_KEY)] = None,
    force: bool = False,
) -> None:
    """Write the rules that are in force on a server as a queues.toml.

    Parameters
    ----------
    target
        The file; left out, it is printed. One that is there is not overwritten.
    url
        Where the server is.
    key
        An operator's key, where a queue asks for game servers; a reader's otherwise.
    force
        Overwrite the file.
    """
    with _server(url, key) as server:
        views = _asked(server, "GET", "/v1/queues")["queues"]
    specs = [_spec(view) for view in views]
    if not specs:
        raise NotAgreed(f"{url} has no queues: there is nothing to write")
    text = config.to_toml(specs)
    config.parse(text, "what was pulled")  # whoever starts a server with it must not be the first to read it
    if target is None:
        sys.stdout.write(text)
        return
    part = target.with_name(target.name + ".part")
    try:
        if target.exists() and not force:
            raise ConfigError(f"{target} is there already: name a new file, or say --force")
        part.write_text(text, "utf-8")
        part.replace(target)
    except OSError as error:
        raise ConfigError(f"{target} cannot be written: {error.strerror}") from None
    print(f"{len(specs)} queue{'s' * (len(specs) != 1)} written to {target}")


def push(
    source: Path,
    *,
    url: str = _URL,
    key: Annotated[str | None, Parameter(env_var=API_KEY)] = None,
    dry_run: bool = False,
) -> None:
    """Give the queues of a running server the rules of a queues.toml.

    Every queue is tried first: if one cannot have its rules, none is changed.

    Parameters
    ----------
    source
        The file, such as queues.toml.
    url
        Where the server is.
    key
        An operator's key.
    dry_run
        Only say what would change.
    """
    specs = config.load(source)
    with _server(url, key) as server:
        known = {view["name"]: view["version"] for view in _asked(server, "GET", "/v1/queues")["queues"]}
        missing = [spec.name for spec in specs if spec.name not in known]
        if missing:
            raise NotAgreed(f"{url} has no queue {', '.join(missing)}: a restart with the file opens it")
        tried = [_given(server, spec, known[spec.name], dry_run=True) for spec in specs]
        if not dry_run:
            tried = [
                _given(server, spec, known[spec.name], dry_run=False) if change["changes"] else change
                for spec, change in zip(specs, tried, strict=True)
            ]
    for change in tried:
        _tell(change, dry_run)
    for name in sorted(set(known) - {spec.name for spec in specs}):
        print(f"{name}: not in the file, left as it is")


def _tell(change: dict[str, Any], dry_run: bool) -> None:
    if not change["changes"]:
        print(f"{change['queue']}: nothing changes (version {change['version']})")
        return
    print(f"{change['queue']}: version {change['previous']} -> {change['version']}{' (not done)' * dry_run}")
    for one in change["changes"]:
        before, after = (msgspec.json.encode(one[side]).decode() for side in ("before", "after"))
        print(f"  {one['key']}: {before} -> {after}")
    if change["cancelled"]:
        print(f"  {change['cancelled']} waiting tickets {'would have' if dry_run else 'had'} to go")


def _spec(view: dict[str, Any]) -> QueueSpec:
    """A queue's rules, as a server shows them to an operator."""
    try:
        spec = msgspec.convert(view["spec"], QueueSpec)
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        raise NotAgreed(f"the server's answer cannot be read: {error}. Is it of another version?") from None
    if spec.allocate is not None and not spec.allocate.url:
        raise NotAgreed(f"{spec.name} asks for game servers, told to operators only: give an operator's key")
    return spec


def _given(server: httpx.Client, spec: QueueSpec, version: int, *, dry_run: bool) -> dict[str, Any]:
    path = f"/v1/queues/{quote(spec.name, safe='')}/spec?dry_run={str(dry_run).lower()}"
    answer = _asked(server, "PUT", path, json=config.table_of(spec), headers={"If-Match": f'"{version}"'})
    change: dict[str, Any] = answer["change"]
    return change


def _server(url: str, key: str | None) -> httpx.Client:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        return httpx.Client(base_url=url, headers=headers, timeout=_TIMEOUT_S, trust_env=False)
    except (httpx.InvalidURL, UnicodeEncodeError) as error:
        raise NotAgreed(f"--url or --key cannot be used: {error}") from None


def _asked(server: httpx.Client, method: str, path: str, **more: Any) -> Any:
    try:
        answer = server.request(method, path, **more)
        told = answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise NotAgreed(f"{server.base_url} does not answer: {error}. Is --url right?") from None
    except ValueError:
        raise NotAgreed(f"{server.base_url} does not answer as evenmatch does. Is --url right?") from None
    if answer.status_code != 200:
        hint = f" (--key, or {API_KEY})" if answer.status_code in (401, 403) else ""
        raise NotAgreed(f"{path.partition('?')[0]}: {told.get('detail', answer.status_code)}{hint}")
    return told
