"""A store that cannot be used for a while, with a keeper at it and somebody at the gate.

`python outage.py full FOLDER` does it to a real disk, and so do `read-only` and `starting` in the place of
`full`: to a small one that they mount at FOLDER in a namespace of their own.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from acceptance.keeper_process import KEYS, POLICY, open_store
from contracts.shell import FAST
from tarry.cli.personal_store import see_to_keeper
from tarry.keep import keeper as keeper_module
from tarry.keep.errors import Unavailable
from tarry.keep.gate import Gate
from tarry.keep.home import Home
from tarry.keep.keeper import Keeper
from tarry.keep.posts import Post
from tarry.keep.sharing import StoreSettings, begin_store
from tarry.keep.store import Vault
from tarry.testing import ListOutlet

DEADLINE_S = 60.0
TRIES = Counter()
#: Hands in, and its keeper dies at once.
WITHOUT_KEEPER = """
import sys
from tarry.cli import main, personal_store
personal_store.sys.executable = "true"
sys.exit(main.main(sys.argv[1:]))
"""
AWAY, BACK = "; waiting for it to come back", "the store is back"


def wait_for(condition, what):
    """By looking, with a deadline that only a broken keeper meets."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"not after {DEADLINE_S:.0f} s: {what}"
        time.sleep(0.01)


def hurry(replace):
    """Try again every few moments, and count who does: how long waits get is tested elsewhere."""

    def soon(tries, entropy):
        TRIES[threading.current_thread().name] += 1
        return 20_000

    TRIES.clear()
    replace(keeper_module, "retry_delay", soon)


class Place:
    """A store, with what a keeper has delivered and told there; the gate has a connection of its own."""

    def __init__(self, where):
        store = open_store(where)
        with store.transaction("closing") as transaction:
            begin_store(transaction, StoreSettings.of(POLICY), store.clock())
        store.close()
        self.where, self.outlet, self.told = where, ListOutlet(), []
        self._gate = Gate(self._vault(), POLICY)

    def _vault(self):
        return Vault(open_store(self.where), KEYS, {"list": self.outlet})

    def admit(self, *targets, content=b"!"):
        """Hand in a post on each target, all or none."""
        self._gate.admit_many(
            [Post(actor="ann", target=each, outlet="list", content=content) for each in targets]
        )

    def delivered(self):
        return sorted(release.target for release in self.outlet.delivered)

    def heard(self, text):
        return [line for line in self.told if text in line]

    def let_go(self):
        """Close the gate's connection."""
        self._gate.vault.store.close()

    @contextmanager
    def keeper(self, begin=None):
        """Somebody keeps; `begin` happens just before."""
        keeper = Keeper(self._vault(), workers=2, tell=self.told.append)
        keeper.vault.store.close()
        if begin:
            begin()
        thread = threading.Thread(target=keeper.run, name="closer")
        thread.start()
        try:
            yield
        finally:
            keeper.stop()
            thread.join()
            self.let_go()


def refusal_of(place, *targets, content=b"!"):
    """The words with which the gate refuses."""
    try:
        place.admit(*targets, content=content)
    except Unavailable as refusal:
        return str(refusal)
    raise AssertionError("it was accepted")


def sit_through(place, begin, end, tries=3):
    """Posts before, during and after an outage of several tries, while somebody keeps; the gate's words."""
    with place.keeper():
        place.admit("before")
        begin()
        refusal = refusal_of(place, "meanwhile", "and another")
        wait_for(lambda: place.heard(AWAY), "the keeper says that it waits")
        wait_for(lambda: TRIES["closer"] >= tries, "the keeper tries again")
        refusal_of(place, "later", "and another")
        end()
        wait_for(lambda: place.heard(BACK), "the keeper says that it goes on")
        place.admit("after")
        wait_for(lambda: len(place.delivered()) == 2, "what is due leaves")
    return refusal


# --- real disks -----------------------------------------------------------------------------------


def fill_up(folder):
    """Take what is left of the disk."""
    with (folder / "ballast").open("ab", buffering=0) as ballast:
        for size in (65_536, 4096, 1):
            try:
                while ballast.write(bytes(size)) == size:
                    pass
            except OSError:
                continue


def full(folder):
    """The disk fills up while the keeper is at work, and somebody makes room."""
    place = Place(str(folder / "store.db"))
    with place.keeper():
        place.admit("before")

        def no_room():
            fill_up(folder)
            return place.heard(AWAY)

        wait_for(no_room, "the keeper says that it waits")
        fill_up(folder)
        refusal = refusal_of(place, "meanwhile", "and another", content=bytes(50_000))
        (folder / "ballast").unlink()
        wait_for(lambda: place.heard(BACK), "the keeper says that it goes on")
        place.admit("after", content=bytes(50_000))
        wait_for(lambda: len(place.delivered()) >= 2, "what is due leaves")
    return place, refusal


def read_only(folder):
    """The disk is read-only when the keeper begins, and somebody mends it."""
    place = Place(str(folder / "store.db"))
    place.admit("before")
    place.let_go()
    with place.keeper(lambda: remount(folder, "ro")):
        wait_for(lambda: place.heard(AWAY), "the keeper says that it waits")
        refusal = refusal_of(place, "meanwhile", "and another")
        remount(folder, "rw")
        wait_for(lambda: place.heard(BACK), "the keeper says that it goes on")
        place.admit("after")
        wait_for(lambda: len(place.delivered()) >= 2, "what is due leaves")
    return place, refusal


def starting(folder):
    """The disk fills up while a person's keeper starts in the background, and somebody makes room."""
    home, left = Home.of({"TARRY_HOME": str(folder / "home")}), folder / "left"
    home.config.mkdir(mode=0o700)
    home.policy_path.write_text(FAST, encoding="utf-8")
    tarry = [sys.executable, "-c", WITHOUT_KEEPER, "run", "--target", "x", "--", "touch", str(left)]
    environment = {**os.environ, "TARRY_HOME": str(home.state)}
    subprocess.run(tarry, env=environment, check=True, stdout=subprocess.DEVNULL)
    fill_up(folder)
    os.environ.update(environment)
    see_to_keeper(home)
    try:
        wait_for(lambda: home.keeper().said, "the keeper says that it waits")
        said = home.keeper().said
        (folder / "ballast").unlink()
        wait_for(left.exists, "the act leaves")
    finally:
        if pid := home.keeper().pid:
            os.kill(pid, signal.SIGTERM)
    return said


def remount(folder, how):
    subprocess.run(["mount", "-o", f"remount,{how}", folder], check=True)


def main(what, folder):
    """Mount, suffer, and tell: one line each for the refusal, what was told, and what was delivered."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tarry", folder], check=True)
    if what == "starting":
        sys.stdout.write(starting(folder))
        return
    hurry(setattr)
    try:
        place, refusal = {"full": full, "read-only": read_only}[what](folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)  # a namespace may share its mounts
    told = [line for line in place.told if AWAY in line or BACK in line]
    sys.stdout.write(f"{refusal}\n{'|'.join(told)}\n{'|'.join(place.delivered())}\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
