"""What the tests of held calls share: settings in a folder, and a clock moved by hand."""

import time
from pathlib import Path

from tarry.core.policy import Policy
from tarry.gateway.middleware.held import HeldCall, Hold, HoldSettings
from tarry.keep.closing import close_ticks
from tarry.keep.releaser import Releaser
from tarry.testing import ManualClock

POLICY = Policy(epsilon="1", gap="3s", window="1s")
DEADLINE_S = 20


def settings_in(folder: Path, *paths: str, **others) -> HoldSettings:
    """Settings with a store of its own in a file."""
    folder.mkdir(exist_ok=True)
    places = {"database": folder / "held.db", "key_file": folder.parent / f"{folder.name}.key"}
    told = {"policy": POLICY, "clock": ManualClock(), "origin": "https://forum.example.org", **places}
    return HoldSettings(**{**told, "paths": list(paths) or ["/posts"], **others})


def quick(folder: Path, *paths: str, **others) -> HoldSettings:
    """The same in memory, for whoever does not look at the file."""
    return settings_in(folder, *paths, **{"database": ":memory:", **others})


def some_call(**changes) -> HeldCall:
    """Somebody posts something."""
    told = {"method": "POST", "path": "/posts", "query": "", "content_type": "text/plain", "body": b"hello"}
    return HeldCall(**{**told, "user": "17", **changes})


def close(hold: Hold) -> None:
    """Close what lies in the past."""
    with hold.vault.store.transaction("closing") as transaction:
        close_ticks(transaction, hold.vault.keys, hold.vault.clock)


def let_out(hold: Hold, seconds: int = 20) -> None:
    """Time goes by, and everything leaves, in this thread."""
    releaser = Releaser(hold.vault)
    for _ in range(seconds):
        hold.settings.clock.sleep(1)
        close(hold)
        releaser.release()


def wait_until(condition, *, meanwhile=lambda: None) -> None:
    """Wait for other threads to do their work."""
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        meanwhile()
        time.sleep(0.01)


def raw_bytes(folder: Path) -> bytes:
    """A store's file with its logs."""
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))
