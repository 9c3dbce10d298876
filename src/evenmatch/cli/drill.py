"""evenmatch drill: let things go wrong on purpose, and audit what is left."""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from evenmatch.cli.bench import JsonFlag


def crash(
    *,
    players: int = 60,
    kills: int = 3,
    seed: int = 0,
    processes: int = 1,
    folder: Path | None = None,
    db: str | None = None,
    json_output: JsonFlag = False,
) -> None:
    """Kill a server (SIGKILL) at random instants under load; nothing that was acknowledged may be lost.

    Ends with status 1 if the audit finds anything wrong, and keeps the journal then.

    Parameters
    ----------
    players
        How many go from join to result and round again.
    kills
        How often the server is killed.
    seed
        What the instants come from.
    processes
        Processes that the players are spread over.
    folder
        Where to work; kept. Default: a folder that is removed if nothing is wrong.
    db
        An empty PostgreSQL database, postgresql://..., for the journal. Default: a file in the folder.
    json_output
        Print what was seen as JSON.
    """
    from evenmatch.drill.crash import crash as carry_out

    place = _folder(folder)
    with Console(stderr=True).status("starting ...") as status:
        found = carry_out(place, players, kills, seed, processes, lambda said: status.update(said), db)
    _tell(found, place, folder is not None, json_output)


def faults(
    *,
    db: str,
    players: int = 60,
    faults: int = 6,
    kinds: str = "kill,cut,lose,silence,pause,replace",
    seed: int = 0,
    processes: int = 1,
    folder: Path | None = None,
    json_output: JsonFlag = False,
) -> None:
    """Let servers and their way to PostgreSQL fail at random instants under load; nothing acknowledged may be lost.

    Ends with status 1 if the audit finds anything wrong.

    Parameters
    ----------
    db
        An empty PostgreSQL database, postgresql://user@host:5432/database, for the journal.
    players
        How many go from join to result and round again.
    faults
        How many there are.
    kinds
        Which: kill (SIGKILL), cut (connections reset), lose (answers get lost), silence (nothing goes through), pause
        (SIGSTOP for a while), replace (SIGSTOP until another server has taken over).
    seed
        What kinds and instants come from.
    processes
        Processes that the players are spread over.
    folder
        Where to work; kept. Default: a folder that is removed if nothing is wrong.
    json_output
        Print what was seen as JSON.
    """
    from evenmatch.drill.faults import faults as carry_out

    place = _folder(folder)
    given = [kind.strip() for kind in kinds.split(",") if kind.strip()]
    with Console(stderr=True).status("starting ...") as status:
        found = carry_out(place, db, players, faults, seed, processes, given, lambda said: status.update(said))
    _tell(found, place, folder is not None, json_output)


def _folder(given: Path | None) -> Path:
    place = Path(tempfile.mkdtemp(prefix="evenmatch-drill-")) if given is None else given
    place.mkdir(parents=True, exist_ok=True)
    return place


def _tell(found: dict[str, Any], place: Path, is_kept: bool, json_output: bool) -> None:
    """Say what was seen; status 1 if anything is wrong, and then the folder is kept."""
    faults = found["faults"]
    if json_output:
        print(json.dumps(found, indent=1))
    else:
        for name, value in found.items():
            if name != "faults":
                print(f"{name.replace('_', ' ')}: {value}")
        print("\n".join(faults) or "nothing is lost: I1 to I11 hold, and all that was acknowledged is there")
    if faults:
        Console(stderr=True).print(f"the journal and the logs are kept in {place}")
        raise SystemExit(1)
    if not is_kept:
        shutil.rmtree(place)
