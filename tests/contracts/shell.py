"""A person at a shell with a store of their own: commands run here, or as processes of their own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tarry.cli.main import main
from tarry.keep.closing import close_ticks
from tarry.keep.home import Home
from tarry.keep.releaser import Releaser
from tarry.testing import ManualClock

__all__ = ["ALL_GONE", "FAST", "SLOW", "Shell", "heeds", "wait_until"]

DEADLINE_S = 60
#: Slow enough that nothing leaves during a test; a coarse tick, for those that let hours go by.
SLOW = 'epsilon = 1\ngap = "1h"\nwindow = "10m"\ntick = "10m"\n'
#: Ticks in which whatever was handed in under it has left and is erased.
ALL_GONE = 30
#: At most about a second, for the tests that really wait.
FAST = 'epsilon = 6\ngap = "0.4s"\nwindow = "0.2s"\ntick = "0.1s"\n'


class Shell:
    """A person at a shell with a store of their own."""

    def __init__(self, folder, capsys):
        self.folder, self._capsys = folder, capsys
        self.home = Home.of({"TARRY_HOME": str(folder / "home")})
        self.started = []  # homes for which a command has started a keeper
        self.clock = ManualClock()

    def write_policy(self, text):
        """Choose a policy before first use."""
        self.home.config.mkdir(mode=0o700, exist_ok=True)
        self.home.policy_path.write_text(text, encoding="utf-8")

    def say(self, *words):
        """Run a command here: its exit code and what it printed."""
        code = main([str(word) for word in words])
        out, err = self._capsys.readouterr()
        return code, out, err

    def ask(self, *words):
        """The answer of a command that does what it is told, as JSON."""
        first, *rest = words
        code, out, err = self.say(first, "--json", *rest)
        assert (code, err) == (0, "")
        return json.loads(out)

    def refusal(self, *words):
        """The one sentence of a command that does nothing."""
        code, out, err = self.say(*words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        return err.strip()

    def pass_ticks(self, count, *, release=True):
        """Time goes by, and every tick closes on time, as with a keeper at work."""
        vault = self.home.gate().vault
        for _ in range(count):
            self.clock.sleep(float(vault.settings.tick))
            with vault.store.transaction("closing") as transaction:
                close_ticks(transaction, vault.keys, vault.clock)
            if release:
                Releaser(vault).release()
        vault.store.close()

    def process(self, *words, **more):
        """A command in a process of its own, under the machine's clock."""
        environment = {**os.environ, "TARRY_HOME": str(self.home.state)}
        command = [sys.executable, "-m", "tarry", *map(str, words)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, env=environment, text=True, **{**pipes, **more})

    def finish(self, *words):
        """A command in a process of its own, to its end."""
        process = self.process(*words)
        out, err = process.communicate(timeout=DEADLINE_S)
        return process.returncode, out, err

    def keepers(self):
        """The processes that keep this very store."""
        mine = f"TARRY_HOME={self.home.state}".encode()
        running = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
        return [pid for pid in running if _keeps(pid, mine)]

    def end_keepers(self):
        """End every keeper of this store, and no other process."""
        for pid in self.keepers():
            os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not self.keepers())


def _keeps(pid, mine):
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return words[1:4] == [b"-m", b"tarry", b"keeper"] and mine in (
            Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        )
    except OSError:  # ended meanwhile, or somebody else's
        return False


def heeds(pid, number):
    """Whether a process has a handler for a signal by now."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    (mask,) = [line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")]
    return bool(int(mask, 16) >> (number - 1) & 1)


def wait_until(condition):
    """Look again and again, for a generous while."""
    end = time.monotonic() + DEADLINE_S
    while not (answer := condition()):
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)
    return answer
