"""Release what is due, now and from now on: the one process that lets acts out.

Without a subcommand it runs in the foreground until it is stopped. Where no keeper runs, the next act
starts one in the background, which ends when nothing waits. While none runs nothing leaves, and what waits
moves later by as long: letting it all out together would show whose it is.

  tarry keeper status
  tarry keeper install
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path

from tarry.cli.main import Parser
from tarry.cli.personal_store import how_it_died, introduction
from tarry.cli.show import print_answer, printable
from tarry.core.errors import NotPossible, TarryError
from tarry.keep.gate import Gate
from tarry.keep.home import Home, KeeperState, Keeping, places
from tarry.keep.keeper import Keeper, Patience

__all__ = ["add_arguments", "run", "unit"]

_UNIT = "tarry-keeper.service"
_LOOK_S = 1.0
_GONE_S = 60.0  # a store that is away for so long was deleted
_PATIENCE_S = 30.0  # with a keeper that was told to stop
_OTHERS = {
    "status": "say whether a keeper runs, and what it said last; exit code 1 if none does",
    "stop": "stop the keeper that runs",
    "install": "run as a user service of systemd from now on",
    "remove": "remove that service",
}


def add_arguments(parser: Parser) -> None:
    """The subcommands of `tarry keeper`."""
    child = parser.add_subcommand(
        "run", "release what is due until stopped; this is what tarry keeper alone does", is_default=True
    )
    how = child.add_mutually_exclusive_group()
    how.add_argument("--until-empty", action="store_true", help="end when nothing waits any more")
    for name in _OTHERS:  # as it was spelled before there were subcommands
        how.add_argument(
            f"--{name}", action="store_const", const=name, dest="subcommand", help=argparse.SUPPRESS
        )
    # From the command that starts it: the keeper's lock, taken already.
    child.add_argument("--lock", type=int, help=argparse.SUPPRESS)
    for name, summary in _OTHERS.items():
        parser.add_subcommand(name, summary)


def run(arguments: argparse.Namespace) -> int | None:
    """Do what the subcommand says."""
    return {
        "install": _install_service,
        "remove": _remove_service,
        "status": _print_status,
        "stop": _stop_keeper,
    }.get(arguments.subcommand, _keep)(arguments)


def _keep(arguments: argparse.Namespace) -> None:
    home = Home.of(os.environ)
    if not home.is_founded():
        policy, made = home.first_policy()
        home.gate(policy)
        if made and not arguments.json:
            print(introduction(policy, home), file=sys.stderr)
    shift, until_empty = _Shift(home, as_json=arguments.json), arguments.until_empty
    lock = arguments.lock
    while shift.keep(until_empty=until_empty, inherited=lock):
        # Whoever handed something in while this one was ending has seen it run, and started none.
        if shift.stopping.is_set() or not until_empty or not shift.something_waits():
            return
        lock = None
    if not until_empty:  # a person asked for one, and not another act for any
        shift.tell("a keeper is already running")


class _Shift:
    """A process that keeps one person's own store, until a signal or until nothing is left to do."""

    def __init__(self, home: Home, *, as_json: bool) -> None:
        self.home, self._as_json = home, as_json
        self.stopping = threading.Event()
        self._keeper: Keeper | None = None
        self._keeping: Keeping | None = None
        self._is_gone = False
        self._patiently = Patience(self.stopping, self.tell)

    def tell(self, sentence: str) -> None:
        """For the log or the terminal, and for the commands that look how the keeper stands."""
        self._note(sentence)
        # A log on a full disk, or a terminal that is gone, is no reason to end: then nobody reads it.
        with suppress(OSError, ValueError):
            print(json.dumps({"said": sentence}) if self._as_json else sentence, flush=True)

    def keep(self, *, until_empty: bool, inherited: int | None = None) -> bool:
        """Be the keeper until it ends; False if there is one already."""
        with ExitStack() as after, self.home.keeping(inherited) as keeping:
            if keeping is None:
                return False
            self._begin(keeping)
            ended = threading.Event()
            watch = threading.Thread(target=self._watch, args=(keeping, ended), name="watch", daemon=True)
            watch.start()
            try:
                self._keep(after, until_empty=until_empty)
            except TarryError as error:
                self._note(str(error))
                raise
            except Exception as error:
                self._note(f"{type(error).__name__}: {self.home.log_path} tells where")
                raise
            finally:
                ended.set()
                watch.join()  # before the lock is closed
                self._keeping = None
        return True

    def _keep(self, after: ExitStack, *, until_empty: bool) -> None:
        # A disk that is full, or not mounted yet, is waited for here as it is later on.
        gate = self._patiently(self._gate)
        if gate is not None:
            self._keeper = keeper = Keeper(gate.vault, tell=self.tell)
            # While this one waits for acts to end, whoever hands something in finds none, and starts one.
            after.callback(keeper.finish)
            if self.stopping.is_set():
                keeper.stop()
            keeper.keep(until_empty=until_empty)
        if self._is_gone:
            raise self._gone()

    def _gate(self) -> Gate:
        if not self.home.is_founded():
            raise self._gone()
        return self.home.gate()

    def _gone(self) -> NotPossible:
        """Raised with the lock held: should the store come back, a command sees that nobody keeps it."""
        return NotPossible(f"the store {self.home.store_path} is gone: this keeper ends")

    def something_waits(self) -> bool:
        """Whether an act waits; False when told to stop."""
        posts = self._patiently(lambda: self.home.gate().posts()) or []
        return any(status.state == "waiting" for _, status in posts)

    def _begin(self, keeping: Keeping) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._stop)
        self._keeping = keeping
        keeping.note(pid=os.getpid())

    def _note(self, sentence: str) -> None:
        if self._keeping is not None:
            self._keeping.note(pid=os.getpid(), said=sentence)

    def _stop(self, *_: object) -> None:
        self.stopping.set()
        if self._keeper is not None:
            self._keeper.stop()

    def _watch(self, keeping: Keeping, ended: threading.Event) -> None:
        """End when the store was deleted: waiting for it would take for ever.

        And leave no trace of when this keeper began.
        """
        seen = time.monotonic()
        while not ended.wait(_LOOK_S):
            keeping.touch()
            is_there = self.home.store_path.exists() and self.home.lock_path.exists()
            if is_there and keeping.is_at(self.home.lock_path):
                seen = time.monotonic()
            # Another lock in that place: somebody has deleted it all, and begun anew.
            elif is_there or time.monotonic() - seen > _GONE_S:
                self._is_gone = True
                self._stop()
                return


# --- looking at the one that runs ----------------------------------------------------------------


def _print_status(arguments: argparse.Namespace) -> int:
    state = Home.of(os.environ).keeper()
    print_answer(arguments, _status(state), **asdict(state))
    return 0 if state.runs else 1


def _status(state: KeeperState) -> str:
    if not state.runs:
        return f"no keeper runs: {how_it_died(state)}" if state.died else "no keeper runs"
    which = "starting" if state.pid is None else f"process {state.pid}"
    said = "" if state.said is None else f"; it said last: {printable(state.said)}"
    return f"a keeper runs ({which}){said}"


def _stop_keeper(arguments: argparse.Namespace) -> None:
    home = Home.of(os.environ)
    _wait_for("say its number", lambda: not home.is_kept() or home.keeper().pid is not None)
    pid = home.keeper().pid
    if pid is not None:
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(pid, signal.SIGTERM)
        _wait_for("stop", lambda: home.keeper().pid != pid)
    then = "nothing leaves until another one runs; what is under way goes on to its end"
    sentence = "no keeper runs" if pid is None else f"the keeper (process {pid}) has stopped: {then}"
    print_answer(arguments, sentence, stopped=pid is not None, pid=pid)
    if pid is not None and _service_path().exists():
        print("tarry keeper: the service starts it again: tarry keeper remove ends that", file=sys.stderr)


def _wait_for(what: str, is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not is_so():
        if time.monotonic() > end:
            raise NotPossible(f"the keeper did not {what} within {_PATIENCE_S:.0f} s: try again")
        time.sleep(_LOOK_S / 20)


# --- as a service --------------------------------------------------------------------------------


def unit(python: str, environment: Mapping[str, str]) -> str:
    """The text of the service, in an environment that says where the store is.

    >>> "keeper" in unit("/usr/bin/python3", {})
    True
    """
    place = "".join(
        f'Environment="{name}={_escaped(value)}"\n' for name, value in places(environment).items()
    )
    return f"""[Unit]
Description=tarry keeper: lets delayed acts out at their time

[Service]
# -P: it starts in the home folder, and no file there is meant to be loaded.
ExecStart="{_escaped(python)}" -P -m tarry keeper
{place}# Always: where one runs in the background this one ends at once, and takes its place later.
Restart=always
RestartSec=5
UMask=0077
# A command that is being run is not cut off with the keeper.
KillMode=mixed
TimeoutStopSec=600

[Install]
WantedBy=default.target
"""


def _install_service(arguments: argparse.Namespace) -> None:
    """Write the unit and start it; where there is no systemd, say what to do."""
    path = _service_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(unit(sys.executable, os.environ), encoding="utf-8")
    started = _systemctl("daemon-reload") and _systemctl("enable", "--now", _UNIT)
    then = " and started it" if started else f"; start it with: systemctl --user enable --now {_UNIT}"
    print_answer(arguments, f"wrote {path}{then}", unit=str(path), started=started)


def _remove_service(arguments: argparse.Namespace) -> None:
    """Stop it and remove the unit."""
    path = _service_path()
    _systemctl("disable", "--now", _UNIT)
    path.unlink(missing_ok=True)
    print_answer(arguments, f"removed {path}", unit=str(path), started=False)


def _service_path() -> Path:
    """Where the unit lies, if it was installed."""
    config = places(os.environ).get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(config, "systemd", "user", _UNIT)


def _systemctl(*words: str) -> bool:
    if shutil.which("systemctl") is None:
        return False
    return not subprocess.run(["systemctl", "--user", *words], capture_output=True, check=False).returncode


def _escaped(text: str) -> str:
    """Inside quotes systemd reads backslashes, quotes and percent signs in its own way."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
