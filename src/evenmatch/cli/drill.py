"""evenmatch drill: let things go wrong on purpose, and audit what is left."""

import json
import shutil
import tempfile
from pathlib import Path

from rich.console import Console

from evenmatch.cli.bench import JsonFlag


def crash(
    *,
    players: int = 60,
    kills: int = 3,
    seed: int = 0,
    processes: int = 1,
    folder: Path | None = None,
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
    json_output
        Print what was seen as JSON.
    """
    from evenmatch.drill.crash import crash as carry_out

    place = Path(tempfile.mkdtemp(prefix="evenmatch-drill-")) if folder is None else folder
    place.mkdir(parents=True, exist_ok=True)
    with Console(stderr=True).status("starting ...") as status:
        found = carry_out(place, players, kills, seed, processes, lambda said: status.update(said))
    faults = found["faults"]
    if json_output:
        print(json.dumps(found, indent=1))
    else:
        for name, value in found.items():
            if name != "faults":
                print(f"{name.replace('_', ' ')}: {value}")
        print("\n".join(faults) or "nothing is lost: I1 to I11 hold, and all that was acknowledged is there")
    if faults:
        Console(stderr=True).print(f"the journal is kept in {place}")
        raise SystemExit(1)
    if folder is None:
        shutil.rmtree(place)
