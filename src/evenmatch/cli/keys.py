"""evenmatch keys: make, list and revoke API keys."""

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenmatch.service import keys
from evenmatch.settings import from_environment

File = Annotated[Path | None, Parameter(name="--file")]


def add(
    name: str,
    *,
    role: keys.Role,
    rate: float | None = None,
    file: File = None,
) -> None:
    """Make an API key and print it, once: only a digest of it is kept.

    Parameters
    ----------
    name
        Whose key it is, such as "game" or "night shift"; the audit names it.
    role
        operator (everything), backend (plays for its players) or reader (looks).
    rate
        Requests a second that it may make. Default: EVENMATCH_KEY_RATE.
    file
        The file of keys. Default: evenmatch.keys beside the journal.
    """
    path = _path(file)
    print(keys.add(path, name, role, rate))
    said = f"{role} key {name!r} is in {path}; keep what stands above: it is not shown again"
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"[dim]{escape(said)}[/]")


def show(*, file: File = None) -> None:
    """List the API keys, without their secrets.

    Parameters
    ----------
    file
        The file of keys. Default: evenmatch.keys beside the journal.
    """
    path = _path(file)
    found = keys.load(path)
    table = Table("id", "role", "name", "created", "rate", box=None, header_style="dim")
    for key in found:
        rate = "" if key.rate is None else f"{key.rate:g}/s"
        table.add_row(key.id, key.role, escape(key.name), f"{key.created:%Y-%m-%d %H:%M}", rate)
    Console(highlight=False).print(table if found else f"no keys in {escape(str(path))}")


def revoke(key: str, *, file: File = None) -> None:
    """Take an API key back; a running server follows within a second.

    Parameters
    ----------
    key
        The key's id, as `evenmatch keys list` shows it.
    file
        The file of keys. Default: evenmatch.keys beside the journal.
    """
    gone = keys.revoke(_path(file), key)
    print(f"revoked {gone.role} key {gone.id} ({gone.name})")


def _path(file: Path | None) -> Path:
    return keys.keys_path(from_environment(os.environ)) if file is None else file
