"""evenmatch lab calibrate: parameters that fit a game's own players, ready to paste."""

import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import tomli_w
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evenmatch import config
from evenmatch.domain.queue import Format
from evenmatch.errors import LabError
from evenmatch.lab import files
from evenmatch.lab.calibrate import (
    EDGE,
    OVERLAP,
    WAYS,
    Cinder,
    Tiers,
    Windows,
    cinder_of,
    even_of,
    lobbies_of,
    tiers_of,
    windows_of,
)
from evenmatch.lab.queues import fitted

UNEQUAL = 3
"""Tiers of which one is so many times as large as another deserve a word."""


def calibrate(
    *,
    ratings: Path | None = None,
    column: str = "rating",
    tiers: int = 5,
    way: str = "histogram",
    format: str = "",
    lobbies: Path | None = None,
    lobby_column: str = "lobby",
    accept: float = 0.2,
    arrivals: float | None = None,
    wait_s: float = 60.0,
    every_s: float = 5.0,
    json: bool = False,
) -> None:
    """Find parameters that fit your players, and print the tables of queues.toml.

    Parameters
    ----------
    ratings
        A CSV with a rating a row: tier boundaries for epgc.
    column
        The column of the ratings, in either file.
    tiers
        How many tiers to cut them into.
    way
        Whose boundaries go into the tables: quantiles, histogram (round numbers) or kmeans.
    format
        What is played, such as 2x5, teams times players, for epgc and even; left out: lobbies of 10, as in epgc's
        document, and one against one.
    lobbies
        A CSV with a row a player and a lobby for each: cinder's buckets and threshold.
    lobby_column
        The column that says which lobby a player is in.
    accept
        The share of all pairs of lobbies that cinder is to accept, the best ones.
    arrivals
        How many players come a minute: windows for even, ladder and buckets; it takes --ratings too.
    wait_s
        How long players may wait, for these windows.
    every_s
        How often there is a wave, for these windows.
    json
        Print everything as JSON.
    """
    if ratings is None and lobbies is None:
        raise LabError("there is nothing to calibrate from: give --ratings FILE.csv or --lobbies FILE.csv")
    if arrivals is not None and ratings is None:
        raise LabError("windows need --ratings beside --arrivals: how close people are, and how many come")
    if way not in WAYS:
        raise LabError(f"{way!r} is no way to cut ratings: use {', '.join(WAYS)}")
    values = None if ratings is None else files.column(ratings, column)
    cut = None if values is None else tiers_of(values, tiers)
    fair = None if lobbies is None else cinder_of(*lobbies_of(lobbies, lobby_column, column), accept)
    form = _format(format)
    wide = None
    if values is not None and arrivals is not None:
        wide = windows_of(values, arrivals, wait_s, every_s)
        if form is not None:
            wide = msgspec.structs.replace(wide, even=even_of(values, arrivals, form.seats, wait_s, every_s))
    fragment = _fragment(cut, way, fair, wide, form)
    if json:
        found = {"tiers": cut, "cinder": fair, "windows": wide, "toml": fragment}
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
        return
    console = Console(highlight=False)
    if cut is not None:
        _show_tiers(console, cut)
    if fair is not None:
        console.print(
            f"cinder: {fair.lobbies:,} lobbies of {fair.size} ({fair.skipped} of another size left out), "
            f"{fair.pairs:,} pairs. {accept:.0%} of them were to pass by their score; scores are whole numbers, and "
            f"{fair.scored:.1%} have {fair.parameters['sanction_max']} or less. Cinder also wants an overlap of "
            f"{OVERLAP:g} (overlap_min), so of all pairs it accepts {fair.accepted:.1%}."
        )
    if wide is not None:
        console.print(
            f"windows: at {wide.arrivals_a_minute:g} arrivals a minute the median player meets somebody, nine times in "
            f"ten, within {max(wide.every_s, wide.wait_s / 2):g} s if {wide.first:g} points are accepted at first; and "
            f"a player at the edge, with {EDGE:.1%} of all beyond, within {wide.wait_s:g} s if it has come to "
            f"{wide.last:g} points by then. Matchers count in whole waves and buckets: what they come to stands above "
            "each table."
        )
    console.print("\nFor queues.toml:\n")
    print(fragment, end="")


def _show_tiers(console: Console, found: Tiers) -> None:
    console.print(f"{found.players:,} ratings")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("", "boundaries", "in each tier", "unequal", "moved"):
        table.add_column(title, no_wrap=True)
    for name, one in {**found.ways, "the document": found.document}.items():
        unequal = "empty" if one.largest_to_smallest is None else f"{one.largest_to_smallest:.2f}"
        cuts = " ".join(f"{cut:.0f}" for cut in one.boundaries)
        table.add_row(Text(name), cuts, " ".join(f"{share:.0%}" for share in one.shares), unequal, f"{one.moved:.0%}")
    console.print(table)
    console.print("unequal: the largest tier to the smallest; moved: players in another tier than the document's")
    if found.document.largest_to_smallest is None or found.document.largest_to_smallest > UNEQUAL:
        most = max(found.document.shares)
        console.print(f"the document's boundaries would put {most:.0%} of these players into one tier")
    console.print()


def _format(text: str) -> Format | None:
    """2x5, or 5v5, as a format; nothing where nothing is given."""
    if not text:
        return None
    teams, sides = re.fullmatch(r"(\d{1,3})x(\d{1,3})", text), re.fullmatch(r"(\d{1,3})v(\d{1,3})", text)
    if teams is not None:
        found = Format(int(teams[1]), int(teams[2]))
    elif sides is not None and sides[1] == sides[2]:
        found = Format(2, int(sides[1]))
    else:
        raise LabError(f"{text!r} is no format: write teams times players, such as 2x5, or 5v5")
    if found.seats < 2:
        raise LabError(f"{text!r} is no match: it takes two players at least")
    return found


def _fragment(cut: Tiers | None, way: str, fair: Cinder | None, wide: Windows | None, form: Format | None) -> str:
    """Tables of queues.toml; they are read before they are shown."""
    queues: dict[str, tuple[str, dict[str, Any]]] = {}
    if cut is not None:
        boundaries = list(cut.ways[way].boundaries)
        asked = form or Format(1, 10)
        lobby, sized = fitted("epgc", asked)
        said = f"epgc gathers lobbies and makes no teams: one of {lobby.seats}, " + (
            "as in its document; --format 2x5 asks for another" if form is None else f"which is a match of {asked}"
        )
        table = {"format": msgspec.to_builtins(lobby), "matcher": {"name": "epgc", **sized, "boundaries": boundaries}}
        queues["tiers"] = said, table
    if fair is not None:
        pair = {"teams": 2, "size": fair.size}
        said = f"cinder accepts {fair.accepted:.1%} of all pairs of lobbies with this"
        queues["lobbies"] = said, {"format": pair, "matcher": {"name": "cinder", **fair.parameters}}
    if wide is not None:
        wave = {"every_s": wide.every_s}
        table = {"matcher": {"name": "even", **wide.even}, "wave": wave}
        played = {} if form is None else {"format": msgspec.to_builtins(form)}
        queues["even"] = _of_even(wide, form or Format(2, 1)), played | table
        queues["windows"] = _of_ladder(wide), {"matcher": {"name": "ladder", **wide.ladder}, "wave": wave}
        queues["ranges"] = _of_buckets(wide), {"matcher": {"name": "buckets", **wide.buckets}, "wave": wave}
    text = "\n".join(
        f"# {said}\n{_on_one_line(tomli_w.dumps({'queues': {name: table}}))}" for name, (said, table) in queues.items()
    )
    config.parse(text, "what was found")
    return text


def _of_even(wide: Windows, form: Format) -> str:
    """What the windows of even come to."""
    first, growth = wide.even["window"], wide.even["window_growth"]
    whom = "two players" if form.seats == 2 else f"the {form.seats} players of {form}"
    return (
        f"parties too. {whom} of one match lie within {first} points at first and {growth:g} more a second, "
        f"{first + growth * wide.wait_s:.0f} after {wide.wait_s:g} s"
    )


def _of_ladder(wide: Windows) -> str:
    """What the ladder's windows come to."""
    base, growth = wide.ladder["windows"][1]
    waves = max(1, round(wide.wait_s / wide.every_s) - 1)
    return (
        f"single players. The second window (moderate pressure): {base} points at first and {growth} more a wave "
        f"missed, {base + growth * waves} after {wide.wait_s:g} s"
    )


def _of_buckets(wide: Windows) -> str:
    """What buckets and their growth come to."""
    width, steps = wide.buckets["bucket"], wide.buckets["range_max"] - 1
    return (
        f"single players. One's own bucket at first, {width} points wide; after {wide.wait_s:g} s {steps} more to "
        f"either side: all within {steps * width} points, and some up to {(steps + 1) * width}"
    )


def _on_one_line(text: str) -> str:
    """Arrays of numbers as a person would write them."""
    return re.sub(
        r"= \[\n(?:.*\n)*?\]",
        lambda found: re.sub(r",?\s*\]", "]", re.sub(r"\s+", " ", found[0])).replace("[ ", "["),
        text,
    )
