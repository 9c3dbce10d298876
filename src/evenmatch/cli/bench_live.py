"""evenmatch bench live: thousands of connected players against a real server."""

from typing import Any

from rich.console import Console

from evenmatch.cli.bench import JsonFlag, show


def live(
    *,
    players: int = 5_000,
    seconds: float = 20.0,
    processes: int = 2,
    rate: float = 100.0,
    json_output: JsonFlag = False,
) -> None:
    """Connected players from join over proposal, accept, match and result to the next join, beside a bare echo.

    Parameters
    ----------
    players
        How many are connected.
    seconds
        How long to measure, once all are connected.
    processes
        Processes that the players are spread over.
    rate
        About so many join a second, if everything keeps up.
    json_output
        Print the numbers as JSON.
    """
    from evenmatch.bench.live import measure

    with Console(stderr=True).status("connecting ...") as status:
        found = measure(players, seconds, processes, rate, lambda said: status.update(said))
    echo = found["echo"]
    rows = [
        ("joins/s (echo: requests/s)", f"{found['joins_per_s']:,.0f}", f"{echo['joins_per_s']:,.0f}"),
        ("  p50 / p99 ms", _latency(found["join_ms"]), _latency(echo["join_ms"])),
        ("push, p50 / p99 ms (echo: there and back)", _latency(found["push_ms"]), _latency(echo["push_ms"])),
        ("matches heard of, results", f"{found['matches']:,}, {found['results']:,}", ""),
        ("connected, least / most", _least_most(found), _least_most(echo)),
        (
            "memory a connected player, kB",
            f"{found['memory_per_player_kb']:.1f}",
            f"{echo['memory_per_player_kb']:.1f}",
        ),
        (
            "server's processor time a join, ms",
            f"{found['server_cpu_ms_per_join']:.2f}",
            f"{echo['server_cpu_ms_per_join']:.2f}",
        ),
        ("processors: the server's / the clients'", _processors(found), _processors(echo)),
        ("refused", _reasons(found), _reasons(echo)),
    ]
    title = f"{players:,} players in {processes} processes, {seconds:g} s; baseline: bare ASGI echo on uvicorn"
    show(found, json_output, title, rows)


def _latency(spread: dict[str, Any]) -> str:
    return "none" if spread["p50"] is None else f"{spread['p50']:.2f} / {spread['p99']:.2f}"


def _least_most(found: dict[str, Any]) -> str:
    return f"{found['connected']['least']:,} / {found['connected']['most']:,}"


def _processors(found: dict[str, Any]) -> str:
    return f"{found['server_cpu']:.2f} / {found['clients_cpu']:.2f}"


def _reasons(found: dict[str, Any]) -> str:
    return ", ".join(f"{reason}: {count}" for reason, count in sorted(found["refused"].items())) or "none"
