"""The examples for a cluster: units that systemd takes, verbs and flags that the program has, settings that exist."""

import configparser
import importlib
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from evenmatch import wiring
from evenmatch.settings import PREFIX, Settings
from evenmatch.storage import postgres_line
from evenmatch.storage.places import in_database
from tests import nursery

FOLDER: Final = Path(__file__).parent.parent / "examples" / "cluster"
UNITS: Final = sorted([*FOLDER.glob("*.service"), *FOLDER.glob("*.timer")])
ROLES: Final = ("api", "worker")
PROGRAM: Final = "/opt/evenmatch/.venv/bin/evenmatch"
KNOWN: Final = {PREFIX + field.name.upper() for field in msgspec.structs.fields(Settings)}


def commands_in(unit: Path) -> list[list[str]]:
    """What a unit runs."""
    found = re.findall(r"^Exec\w+=(.*)$", unit.read_text("utf-8"), re.MULTILINE)
    return [shlex.split(command) for command in found]


def compose() -> Any:
    """The compose file; PyYAML comes with what tests other things."""
    return importlib.import_module("yaml").safe_load((FOLDER / "compose.yaml").read_text("utf-8"))


def check_command(words: list[str]) -> None:
    """The verb exists, and so does each flag."""
    verbs = [word for word in words if re.fullmatch(r"[a-z]+", word)]
    done = nursery.run(*verbs[: 2 if verbs[0] == "journal" else 1], "--help")
    assert done.returncode == 0, done.stderr
    for flag in (word for word in words if word.startswith("--")):
        assert re.search(rf"{flag}\b", done.stdout), f"{' '.join(words)}: {flag} is not in\n{done.stdout}"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: str(unit.name))
def test_units_run_what_the_program_has(unit: Path) -> None:
    read = configparser.ConfigParser(strict=False, interpolation=None)
    read.read(unit)
    assert "Unit" in read
    assert "%i" in unit.read_text("utf-8"), "an instance says which process, or which lane, it is for"
    for command in commands_in(unit):
        assert command[0] == PROGRAM
        check_command(command[1:])


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd here")
    copies = []
    for unit in UNITS:
        copies.append(tmp_path / unit.name.replace("@.", "@1."))
        copies[-1].write_text(unit.read_text("utf-8").replace(PROGRAM, "/bin/true"))
    done = subprocess.run([analyze, "verify", *map(str, copies)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


@pytest.mark.parametrize("role", ROLES)
def test_a_unit_gives_the_server_the_time_it_needs_to_stop(role: str) -> None:
    text = (FOLDER / f"evenmatch-{role}@.service").read_text("utf-8")
    patience = int(re.findall(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)[0])
    least = wiring._GRACE_S + 2 * postgres_line.SILENCE_S + 2 * postgres_line._PATIENCE["connect_timeout"]
    assert patience >= least
    assert int(compose()["services"][role]["stop_grace_period"].removesuffix("s")) >= least


@pytest.mark.parametrize("role", ROLES)
def test_a_unit_gives_a_first_start_the_time_to_compile_and_a_place_to_keep_it(role: str) -> None:
    text = (FOLDER / f"evenmatch-{role}@.service").read_text("utf-8")
    assert int(re.findall(r"^TimeoutStartSec=(\d+)min$", text, re.MULTILINE)[0]) >= 10
    home = re.findall(r"--home-dir (\S+)", (FOLDER / "evenmatch-api@.service").read_text("utf-8"))[0]
    assert f"StateDirectory={Path(home).name}\n" in text, "the user's home is what can be written"


def test_the_image_has_what_the_compose_file_needs() -> None:
    lines = (FOLDER / "Dockerfile").read_text("utf-8").replace("\\\n", " ").splitlines()
    root = FOLDER.parent.parent
    for copied in (words.split()[1:-1] for words in lines if words.startswith("COPY ")):
        assert [name for name in copied if not (root / name).exists()] == []
    house = next(line for line in lines if "pip install" in line)
    assert "[postgres]" in house
    assert house.index("pip install") < house.index("python -m evenmatch.warming")
    assert lines.index(house) < lines.index("USER evenmatch"), "what is installed belongs to root"
    for role in ROLES:
        server = compose()["services"][role]
        assert (FOLDER / server["build"]["context"]).resolve() == root
        assert (root / server["build"]["dockerfile"]).resolve() == FOLDER / "Dockerfile"
        assert server["read_only"] is True
        home = server["environment"]["HOME"]
        assert f"state:{home}" in server["volumes"], "what has to be compiled after all can be kept"
        assert any(line.startswith("RUN useradd") and f"--home-dir {home} " in line for line in lines)
        assert any("--owner evenmatch" in line and line.endswith(f" {home}") for line in lines)


def test_the_units_of_the_roles_differ_in_the_role_and_the_port_alone() -> None:
    commands = [
        [words for words in commands_in(FOLDER / f"evenmatch-{role}@.service") if "serve" in words] for role in ROLES
    ]
    (api,), (worker,) = commands
    assert [(one, other) for one, other in zip(api, worker, strict=True) if one != other] == [
        ("api", "worker"),
        ("875%i", "876%i"),
    ]


def test_the_environment_of_the_unit_is_settings_and_a_database() -> None:
    lines = (FOLDER / "evenmatch.env").read_text("utf-8").splitlines()
    given = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    assert given.keys() - {"PGPASSWORD"} <= KNOWN
    assert in_database(given["EVENMATCH_DB"])
    assert "," in given["EVENMATCH_DB"]


@pytest.mark.parametrize("role", ROLES)
def test_the_compose_file_runs_what_the_program_has(role: str) -> None:
    services = compose()["services"]
    assert services.keys() == {"database", *ROLES}
    server, database = services[role], services["database"]
    check_command(server["command"][1:])
    assert server["command"][server["command"].index("--role") + 1] == role
    assert server["deploy"]["replicas"] >= 2
    assert ("ports" in server) == (role == "api"), "a worker is not reached from outside"
    assert {name for name in server["environment"] if name.startswith(PREFIX)} <= KNOWN
    assert in_database(server["environment"]["EVENMATCH_DB"])
    assert server["depends_on"]["database"]["condition"] == "service_healthy"
    assert database["healthcheck"]["test"][1] == "pg_isready"
    assert "password" not in json.dumps(server["environment"]).lower()
    for service in services.values():
        assert "/" not in service["image"], "no registry is named"
        assert set(service["secrets"]) <= compose()["secrets"].keys()
    entry, name = server["entrypoint"][:2], server["entrypoint"][3]
    script = server["entrypoint"][2].replace("$$", "$").replace("/run/secrets/database-password", "/dev/null")
    done = subprocess.run([*entry, script, name, "echo", "all", "of it"], capture_output=True, text=True)
    assert done.stdout == "all of it\n"
