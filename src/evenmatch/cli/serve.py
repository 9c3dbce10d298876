"""evenmatch serve: run the live server."""

import os
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape

from evenmatch import config, wiring
from evenmatch.domain.queue import QueueSpec
from evenmatch.service.keys import keys_path
from evenmatch.settings import Settings, from_environment
from evenmatch.storage.places import shown


def serve(
    *,
    config_file: Annotated[Path | None, Parameter(name="--config")] = None,
    db: str | None = None,
    role: Literal["all", "api", "worker"] | None = None,
    host: str | None = None,
    port: int | None = None,
    log: Literal["json", "text"] | None = None,
    log_level: Literal["debug", "info", "warning", "error"] | None = None,
) -> None:
    """Run the live server until Ctrl-C.

    Parameters
    ----------
    config_file
        queues.toml; without it the built-in queues duel and team5 are open.
    db
        The journal: a file, or postgresql://user@host/database. Default: evenmatch.db in this folder.
    role
        One of several processes on a PostgreSQL database: api serves clients, worker runs queues, all does both.
        Default: this process is alone on its journal.
    host
        The address to listen on. Default: 127.0.0.1.
    port
        The port to listen on; 0 = any free one. Default: 8750.
    log
        How lines of the log are written. Default: text on a terminal, json elsewhere.
    log_level
        What is logged: waves and matches with info, every ticket and refusal as well with debug. Default: info.
    """
    settings = from_environment(os.environ)
    given = {"db": db, "role": role, "host": host, "port": port, "log": log, "log_level": log_level}
    settings = msgspec.structs.replace(settings, **{key: value for key, value in given.items() if value is not None})
    specs = config.builtin() if config_file is None else config.load(config_file)
    lanes = {} if config_file is None else config.lanes_of(config_file)
    greet = lambda url, opened, is_open: _greet(url, opened[0] if opened else specs[0], opened, settings, is_open)  # noqa: E731
    wiring.serve(settings, specs, greet, lanes, {} if config_file is None else config.shards_of(config_file))


def _greet(url: str, queue: QueueSpec, opened: list[QueueSpec], settings: Settings, is_open: bool = True) -> None:
    console = Console(highlight=False, soft_wrap=True)
    serves = "health and metrics" if settings.role == "worker" else f"a dashboard; documentation: {escape(url)}/docs"
    console.print(f"[bold green]evenmatch[/] is at [bold]{escape(url)}[/]  ({serves})")
    for spec in opened:
        check = f"ready check {spec.ready_check.timeout_s:g} s" if spec.ready_check else "no ready check"
        console.print(
            f"  queue [cyan]{escape(spec.name)}[/]: {spec.format}, {escape(spec.matcher.name)}, "
            f"a wave every {spec.wave.every_s:g} s, {check}"
        )
    console.print(f"  journal: {escape(shown(settings.db))}")
    if settings.role:
        console.print(f"  one of several processes ({settings.role}): evenmatch cluster status --db ... shows them all")
    if settings.role == "worker":
        return
    if is_open:
        console.print(
            "  [yellow]open[/]: who reaches this port on this machine counts as the game's backend, without a key"
        )
        console.print(f"  (close it: {escape(wiring.first_key(settings))})\n")
    else:
        console.print(f"  keys: {escape(str(keys_path(settings)))}\n")
    if not opened:
        console.print("[yellow]No queue is open yet[/]: start a process with --role worker and your queues.toml.\n")
        return
    key = "" if is_open else ", with -H 'Authorization: Bearer KEY' (a key, or a player's token)"
    console.print(f"Try it, in another terminal{key}:")
    attributes = ', "attributes": {' + ", ".join(f'"{name}": "1"' for name in queue.require_equal) + "}"
    for number in range(queue.format.seats if queue.format.seats <= 4 else 2):
        name, rating = ("ann", "ben", "cat", "dan")[number], (1520, 1480, 1500, 1510)[number]
        body = f'{{"players": [{{"id": "{name}", "rating": {rating}}}]{attributes if queue.require_equal else ""}}}'
        console.print(f"  [green]curl {escape(url)}/v1/queues/{queue.name}/tickets -d '{escape(body)}'[/]")
    console.print("and see them get their match over a WebSocket (--accept answers the ready check for them):")
    key = "" if is_open else " --key KEY"
    console.print(f"  [green]{escape(wiring.program())} watch TICKET TICKET --accept --url {escape(url)}{key}[/]\n")
