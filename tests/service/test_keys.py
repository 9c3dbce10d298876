"""API keys: the file, the command line, a server that follows it, and no secret anywhere else."""

import hashlib
import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest
import structlog

from evenmatch.errors import ConfigError
from evenmatch.service.keys import KeyRing, Role, add, keys_path, load, revoke
from evenmatch.settings import Secret, Settings
from evenmatch.wiring import refuse_to_be_open

from .conftest import MakeServer
from .harness import Server, evenmatch, eventually


class Ring(KeyRing):
    """A ring whose clock is turned by hand."""

    def __init__(self, path: Path) -> None:
        self.now_s = 0.0
        super().__init__(path, lambda: self.now_s)

    def a_second_later(self) -> "Ring":
        self.now_s += 1.0
        self.look()
        return self


def test_a_key_is_found_by_its_whole_text_only(tmp_path: Path) -> None:
    path = tmp_path / "k"
    key = add(path, "game", "backend", rate=5)
    assert re.fullmatch(r"em_[0-9a-f]{8}_[0-9a-f]{64}", key)
    ring = KeyRing(path)
    found = ring.find(key)
    assert found is not None
    assert (found.name, found.role, found.rate) == ("game", "backend", 5.0)
    _, number, secret = key.split("_")
    cut = (key[:-1], key + "0", f"em_{number}_", f"em_{number}", "", "em_", key.upper(), f" {key}")
    mixed = (f"em__{secret}", f"xx_{number}_{secret}", f"em_{number}_{found.sha256}", "em_\udcff_\udcff")
    for wrong in cut + mixed:
        assert ring.find(wrong) is None, wrong


def test_the_file_holds_a_digest_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "k"
    os.umask(os.umask(0))
    secret = add(path, "game", "backend").split("_")[2]
    add(path, "ops", "operator")
    text = path.read_text()
    assert secret not in text
    assert hashlib.sha256(secret.encode()).hexdigest() in text
    assert path.stat().st_mode & 0o777 == 0o600
    assert [key.name for key in load(path)] == ["game", "ops"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["k", "k.lock"]


def test_keys_made_at_once_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "k"
    threads = [threading.Thread(target=add, args=(path, f"n{n}", "reader")) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(key.name for key in load(path)) == sorted(f"n{n}" for n in range(20))


def test_a_revoked_key_is_gone_and_an_unknown_id_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "k"
    first, second = add(path, "a", "reader"), add(path, "b", "reader")
    assert revoke(path, first.split("_")[1]).name == "a"
    assert [key.name for key in load(path)] == ["b"]
    with pytest.raises(ConfigError, match=rf"no key .* there are: {second.split('_')[1]} \(b\)"):
        revoke(path, first.split("_")[1])


def test_a_ring_follows_its_file(tmp_path: Path) -> None:
    path = tmp_path / "k"
    ring = Ring(path)
    closes = [ring.has_backend]
    key = add(path, "game", "backend")
    ring.look()
    assert ring.find(key) is None, "it looks twice a second at most"
    assert ring.a_second_later().find(key) is not None
    closes.append(ring.has_backend)
    revoke(path, key.split("_")[1])
    assert ring.a_second_later().find(key) is None
    closes.append(ring.has_backend)
    assert closes == [False, True, False]


@pytest.mark.parametrize("harm", ["garbage", "gone", "folder", "open to all", "half"])
def test_a_file_that_cannot_be_read_changes_nothing_but_the_log(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "k"
    key = add(path, "game", "backend")
    good = path.read_bytes()
    ring = Ring(path)
    if harm == "garbage":
        path.write_text("keys = nonsense")
    elif harm == "half":
        path.write_bytes(good[: len(good) // 2])
    elif harm == "open to all":
        path.chmod(0o666)
        os.utime(path, (1, 1))
    else:
        path.unlink()
        if harm == "folder":
            path.mkdir()
    with structlog.testing.capture_logs() as logged:
        assert ring.a_second_later().find(key) is not None
        assert ring.a_second_later().has_backend
    assert [entry["log_level"] for entry in logged] == ["error"], "once, not with every look"
    assert key.split("_")[2] not in str(logged)
    if harm == "folder":
        path.rmdir()
    path.unlink(missing_ok=True)
    other = add(path, "other", "reader")
    assert ring.a_second_later().find(key) is None
    assert ring.find(other) is not None


GOOD = {"id": "aa", "name": "n", "role": "reader", "sha256": "0" * 64, "created": "2026-01-01T00:00:00Z"}


def toml(*entries: dict[str, Any]) -> str:
    lines = []
    for entry in entries:
        lines.append("[[keys]]")
        lines += [
            f"{name} = {value}" if name in ("created", "rate") else f"{name} = '{value}'"
            for name, value in entry.items()
        ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("keys = 1", "keys"),
        ("what = 1", "what"),
        ("[[keys]]", "id"),
        ("\xff", ""),
        (toml(GOOD | {"role": "king"}), "king|role"),
        (toml(GOOD | {"sha256": "0" * 63}), "64 hexadecimal"),
        (toml(GOOD | {"sha256": "G" * 64}), "64 hexadecimal"),
        (toml(GOOD | {"id": "a_b"}), "id"),
        (toml(GOOD | {"name": ""}), "name"),
        (toml(GOOD | {"name": "x" * 65}), "name"),
        (toml(GOOD | {"rate": "0"}), "rate"),
        (toml(GOOD | {"rate": "nan"}), "rate"),
        (toml(GOOD | {"rate": "-1.5"}), "rate"),
        (toml(GOOD | {"extra": "1"}), "extra"),
        (toml(GOOD, GOOD), "twice"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "k"
    path.write_bytes(text.encode("latin-1"))
    path.chmod(0o600)
    with pytest.raises(ConfigError, match=f"(?s){re.escape(str(path))}.*({said})"):
        load(path)
    before = path.read_bytes()
    with pytest.raises(ConfigError):
        add(path, "game", "backend")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "rate"), [("", None), ("x" * 65, None), ("a\nb", None), ("a", 0.0), ("a", -1.0), ("a", float("nan"))]
)
def test_a_key_that_cannot_be_is_not_made(tmp_path: Path, name: str, rate: float | None) -> None:
    with pytest.raises(ConfigError, match="cannot be made"):
        add(tmp_path / "k", name, "reader", rate)
    assert not (tmp_path / "k").exists()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written: No such file"):
        add(tmp_path / "no" / "k", "game", "backend")


def test_the_keys_lie_beside_the_journal_unless_told_otherwise() -> None:
    assert keys_path(Settings()) == Path("evenmatch.keys")
    assert keys_path(Settings(db="/var/a.db")) == Path("/var/evenmatch.keys")
    assert keys_path(Settings(db="/var/a.db", keys=Path("/etc/k"))) == Path("/etc/k")


# -- the command line --------------------------------------------------------------------------------------------------


def test_keys_from_the_command_line(tmp_path: Path) -> None:
    env = {"EVENMATCH_DB": str(tmp_path / "evenmatch.db")}
    made = evenmatch("keys", "add", "game", "--role", "backend", "--rate", "100", env=env)
    key = made.stdout.strip()
    assert re.fullmatch(r"em_[0-9a-f]{8}_[0-9a-f]{64}", key)
    assert key not in made.stderr
    assert str(tmp_path / "evenmatch.keys") in made.stderr.replace("\n", "")
    listed = evenmatch("keys", "list", env=env).stdout
    number, secret = key.split("_")[1:]
    for part in (number, "backend", "game", "100/s"):
        assert part in listed
    assert secret not in listed
    assert hashlib.sha256(secret.encode()).hexdigest() not in listed
    assert "revoked backend key" in evenmatch("keys", "revoke", number, env=env).stdout
    assert "no keys" in evenmatch("keys", "list", env=env).stdout
    refused = evenmatch("keys", "revoke", number, env=env)
    assert refused.returncode == 2
    assert "there are: none" in refused.stderr
    wrong = evenmatch("keys", "add", "game", "--role", "king", env=env)
    assert wrong.returncode != 0
    assert "operator" in wrong.stdout + wrong.stderr


# -- a real server -----------------------------------------------------------------------------------------------------


def test_a_running_server_follows_the_file_and_says_no_secret(make_server: MakeServer) -> None:
    secret = "the players' secret, which nobody may ever read"
    server = make_server(None, EVENMATCH_PLAYER_SECRET=secret)
    file = server.folder / "evenmatch.keys"
    assert server.http.get("/v1/queues").status_code == 401
    key = add(file, "game", "backend")
    headers = {"authorization": f"Bearer {key}"}
    eventually(lambda: server.http.get("/v1/queues", headers=headers).status_code == 200, "the new key")
    token = evenmatch("token", "ann", env=server.env).stdout.strip()
    mine = {"authorization": f"Bearer {token}"}
    joined = server.http.post("/v1/queues/duel/tickets", json={"players": [{"id": "ann"}]}, headers=mine)
    assert joined.status_code == 201
    ticket = joined.json()["ticket"]["id"]
    refused = evenmatch("watch", ticket, "--url", server.url)
    assert refused.returncode == 2
    assert "4401" in refused.stderr
    server.http.delete(f"/v1/tickets/{ticket}", headers=mine)
    watched = evenmatch("watch", ticket, "--url", server.url, "--key", token)
    assert (watched.returncode, "cancelled" in watched.stdout) == (0, True)
    watched = evenmatch("watch", ticket, "--url", server.url, env={"EVENMATCH_API_KEY": key})
    assert (watched.returncode, "cancelled" in watched.stdout) == (0, True)
    file.write_text("nonsense")
    eventually(
        lambda: server.http.get("/v1/queues", headers=headers).content and "stay in force" in server.log.read_text(),
        "a word about the file",
    )
    assert server.http.get("/v1/queues", headers=headers).status_code == 200
    file.write_text("keys = []")
    eventually(lambda: server.http.get("/v1/queues", headers=headers).status_code == 401, "the revocation")
    forged = token[:-4] + "AAAA"
    assert server.http.get("/v1/queues", headers={"authorization": f"Bearer {forged}"}).status_code == 401
    server.stop()
    said = server.log.read_text() + joined.text
    for hidden in (secret, key, key.split("_")[2], token, forged):
        assert hidden not in said


def test_a_server_without_keys_does_not_listen_to_others(tmp_path: Path) -> None:
    done = evenmatch("serve", "--host", "0.0.0.0", "--port", "0", "--db", str(tmp_path / "evenmatch.db"))
    assert done.returncode == 2
    fix = f"evenmatch keys add game --role backend --file {tmp_path / 'evenmatch.keys'}"
    assert done.stderr.strip().endswith(fix)
    assert not (tmp_path / "evenmatch.db").exists()


def test_the_way_out_names_the_program_as_it_was_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.argv", [str(tmp_path / ".venv" / "bin" / "evenmatch"), "serve"])
    with pytest.raises(ConfigError, match=r"Make one first: \.venv/bin/evenmatch keys add game --role backend$"):
        refuse_to_be_open(Settings(host="0.0.0.0"))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_what_lets_a_server_listen_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"Make one first: evenmatch keys add game --role backend$"):
        refuse_to_be_open(Settings(host=host))
    others: tuple[Role, ...] = ("operator", "reader")
    for unguarded in others:
        add(Path("evenmatch.keys"), unguarded, unguarded)
        with pytest.raises(ConfigError):
            refuse_to_be_open(Settings(host=host))
    refuse_to_be_open(Settings())
    refuse_to_be_open(Settings(host=host, player_secret=Secret("x" * 32)))
    refuse_to_be_open(Settings(host=host, player_jwks="https://keys.example/set"))
    add(Path("evenmatch.keys"), "game", "backend")
    refuse_to_be_open(Settings(host=host))


def test_a_server_with_a_key_listens_to_others_and_is_not_open(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.arguments += ["--host", "0.0.0.0"]
    key = add(tmp_path / "evenmatch.keys", "game", "backend")
    try:
        server.start()
        port = server.url.rsplit(":", 1)[1]
        server.http.base_url = f"http://127.0.0.1:{port}"
        assert server.http.get("/v1/queues").status_code == 401
        assert server.http.get("/v1/queues", headers={"authorization": f"Bearer {key}"}).status_code == 200
        revoke(tmp_path / "evenmatch.keys", key.split("_")[1])
        eventually(
            lambda: server.http.get("/v1/queues", headers={"authorization": f"Bearer {key}"}).status_code == 401,
            "the revocation",
        )
        assert server.http.get("/v1/queues").status_code == 401, "the last key gone, it does not open itself"
    finally:
        server.close()


def test_a_server_with_an_unusable_file_of_keys_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "evenmatch.keys").write_text("nonsense")
    done = evenmatch("serve", "--port", "0", "--db", str(tmp_path / "evenmatch.db"))
    assert done.returncode == 2
    assert "evenmatch.keys" in done.stderr
    assert "Traceback" not in done.stderr
