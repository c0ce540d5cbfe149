"""Look over this installation: versions, extras, the clock, your own store, its keeper, a gateway.

It changes nothing and releases nothing. Exit code 1 where something is wrong; such a line says what to do.

  tarry doctor
  tarry doctor --config /etc/tarry/gateway.toml
"""

import argparse
import os
import platform
import shutil
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from tarry.cli.main import EXTRAS, add_all
from tarry.cli.options import SETTINGS
from tarry.cli.personal_store import how_it_died
from tarry.cli.show import print_json, printable, rounded
from tarry.core.errors import TarryError
from tarry.gateway.config import Config, read_config
from tarry.gateway.database import opened_database, read_key
from tarry.gateway.monitoring import GatewayStatus, read_status
from tarry.keep.gate import Gate
from tarry.keep.home import Home, KeeperState, read_state
from tarry.keep.posts import State

__all__ = ["Checked", "add_arguments", "examine", "run"]

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WRONG = 1
_MARKS = {"good": "ok", "note": "note", "problem": "WRONG"}
_WIDTH = 96


@dataclass(frozen=True)
class Checked:
    """One line of the examination.

    >>> Checked("keeper", "problem", "no keeper runs: tarry keeper starts one").state
    'problem'
    """

    about: str
    state: str  # good, note or problem
    sentence: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry doctor`."""
    add_all(parser, SETTINGS)


def run(arguments: argparse.Namespace) -> int:
    """Print what was seen; 1 where something is wrong."""
    findings = list(examine(arguments.config))
    is_well = all(finding.state != "problem" for finding in findings)
    if arguments.json:
        print_json({"is_well": is_well, "findings": [asdict(finding) for finding in findings]})
    else:
        _print(findings)
    return 0 if is_well else _WRONG


def examine(config: str | None = None) -> Iterator[Checked]:
    """Everything that can be seen without changing anything.

    >>> next(examine()).about
    'tarry'
    """
    yield _versions()
    yield from _extras()
    yield _clock()
    yield from _own_store()
    yield from _gateway(config)


def _print(findings: Sequence[Checked]) -> None:
    width = max(len(finding.about) for finding in findings)
    for finding in findings:
        begins = f"{finding.about:<{width}}  {_MARKS[finding.state]:<5}  "
        wrapped = textwrap.wrap(
            finding.sentence, max(30, min(_WIDTH, shutil.get_terminal_size().columns) - len(begins))
        )
        print(begins + ("\n" + " " * len(begins)).join(wrapped))


# --- the installation ---------------------------------------------------------------------------------


def _versions() -> Checked:
    system = f"{platform.system()} {platform.release()}"
    python = f"Python {platform.python_version()} ({sys.executable})"
    if platform.system() == "Linux":
        return Checked("tarry", "good", f"{version('tarry')} on {python}, {system}")
    return Checked("tarry", "note", f"{version('tarry')} on {python}, {system}: only Linux is tested")


def _extras() -> Iterator[Checked]:
    """Which commands can work; a package that belongs to several extras counts for each."""
    missing = {
        extra: [package for package in packages if not _is_there(package)]
        for extra, packages in EXTRAS.items()
    }
    if complete := [extra for extra, packages in missing.items() if not packages]:
        yield Checked("extras", "good", f"installed: {', '.join(complete)}")
    if lacking := [extra for extra, packages in missing.items() if packages]:
        install = f"pip install '.[{','.join(lacking)}]' in a checkout of tarry brings them"
        yield Checked("extras", "note", f"not installed: {', '.join(lacking)}; {install}")


def _is_there(package: str) -> bool:
    if package == "backports.zstd" and sys.version_info >= (3, 14):  # the standard library has it
        return True
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # what it would be a part of
        return False


def _clock() -> Checked:
    """Whether the system says that its clock is set by a time server; releases follow that clock."""
    if shutil.which("timedatectl") is None:
        return Checked("clock", "note", "nothing here says whether the clock is set by a time server")
    command = ["timedatectl", "show", "--property", "NTPSynchronized", "--value"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if said == "yes":
        return Checked("clock", "good", "set by a time server")
    if said == "no":
        return Checked("clock", "note", "not set by a time server: a clock that jumps moves releases")
    return Checked("clock", "note", "the system does not say whether its clock is set by a time server")


# --- your own store -----------------------------------------------------------------------------------


def _own_store() -> Iterator[Checked]:
    try:
        home = Home.of(os.environ)
    except TarryError as error:
        yield Checked("own store", "problem", str(error))
        return
    if not home.is_founded():
        yield Checked("own store", "good", f"none yet in {home.state}: the first tarry run makes one")
        return
    yield from _closed_to_others("own store", [home.state, home.store_path, home.config, home.key_path])
    waiting = 0
    try:
        gate = home.gate()
        posts = [State(row["state"]) for row, _ in gate.posts()]
    except TarryError as error:
        yield Checked("own store", "problem", str(error))
    else:
        waiting = posts.count(State.WAITING)
        yield _encryption(gate, home)
        yield _posts(waiting, posts.count(State.PARKED))
    yield _keeper(home, waiting)


def _closed_to_others(about: str, paths: Sequence[Path]) -> Iterator[Checked]:
    for path in paths:
        if path.exists() and (mode := stat.S_IMODE(path.stat().st_mode)) & _OTHERS:
            yield Checked(about, "problem", f"{path} is open to others (mode {mode:o}): chmod go= {path}")


def _encryption(gate: Gate, home: Home) -> Checked:
    if gate.vault.settings.is_encrypted:
        return Checked("own store", "good", f"what waits in {home.store_path} is encrypted")
    return Checked(
        "own store",
        "problem",
        f"what waits in {home.store_path} is not encrypted: "
        "pip install cryptography, then tarry store encrypt --own",
    )


def _posts(waiting: int, parked: int) -> Checked:
    if parked:
        return Checked(
            "own store", "problem", f"{waiting} acts wait, {parked} are parked: tarry queue says why"
        )
    return Checked("own store", "good", f"{waiting} acts wait, none is parked")


def _keeper(home: Home, waiting: int) -> Checked:
    """Its lock is looked at where there is one: looking would make it."""
    state = read_state(home.lock_path) if home.lock_path.exists() else KeeperState(runs=False)
    if state.runs and state.said:
        return Checked("keeper", "note", f"it runs; it said last: {printable(state.said)}")
    if state.runs:
        return Checked("keeper", "good", "it runs")
    if waiting:
        how = f" ({how_it_died(state)})" if state.died else ""
        return Checked("keeper", "problem", f"acts wait and no keeper runs{how}: tarry keeper starts one")
    return Checked("keeper", "good", "none runs, and nothing waits")


# --- a gateway ----------------------------------------------------------------------------------------


def _gateway(path: str | None) -> Iterator[Checked]:
    """Nothing where there is none: no settings are named, and no database lies where one would be."""
    try:
        config = read_config(os.environ, path)
        is_meant = path or "TARRY_CONFIG" in os.environ or "://" in config.database
        if not (is_meant or Path(config.database).exists()):
            return
        read_key(config.key_file)
        with opened_database(config) as store, store.transaction("reading") as transaction:
            status = read_status(transaction, store.clock())
    except TarryError as error:
        yield Checked("gateway", "problem", str(error))
        return
    yield from _files_of(config)
    yield from _gateway_state(status)


def _files_of(config: Config) -> Iterator[Checked]:
    key = Path(config.key_file).absolute()
    if "://" in config.database:
        return
    database = Path(config.database).absolute()
    yield from _closed_to_others("gateway", [database])
    if key.parent == database.parent:
        sentence = (
            f"database and key lie together in {key.parent}: a copy of the one is a copy of the other"
        )
        yield Checked("gateway", "note", f"{sentence}; name another place in key_file")


def _gateway_state(status: GatewayStatus) -> Iterator[Checked]:
    if status.paused:
        yield Checked("gateway", "problem", "paused since it was restored: tarry resume lets it work again")
    if not status.encrypted:
        yield Checked("gateway", "problem", "what waits is not encrypted: tarry store encrypt")
    if status.late:
        yield Checked("gateway", "problem", "posts are late: see that tarry serve or tarry worker runs")
    if status.lag:
        behind = f"ticks were closed last {rounded(status.lag)} ago"
        yield Checked("gateway", "note", f"{behind}: nothing leaves until tarry serve or tarry worker runs")
    if parked := sum(status.parked.values()):
        yield Checked("gateway", "problem", f"{parked} posts are parked: tarry parked says why")
    if status.encrypted and not (status.paused or status.late or parked):
        yield Checked("gateway", "good", "its database and key can be read, nothing is late or parked")
