"""One person's own store: where it lies, how it is made on first use, and whether a keeper runs.

The files are private to their owner. The key and the policy lie apart from the store, so that a copy of
the one does not carry the other.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy, write_policy
from tarry.keep.adopt import adopt
from tarry.keep.gate import Gate
from tarry.keep.keys import Keys, new_key
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Settings, found, place
from tarry.keep.vault import Vault

if TYPE_CHECKING:
    from tarry.keep.outlets.outlet import Outlet

__all__ = ["DEFAULT_POLICY", "ME", "Home", "default_policy"]

#: The actor of one's own store: all of one's pseudonyms are one person, which is the point.
ME = "me"

#: Made on first use. An hour is a usual distance between acts that have nothing to do with each other.
DEFAULT_POLICY = {"epsilon": "1", "gap": "1h", "window": "5m", "tick": "10s"}


def default_policy() -> Policy:
    """The policy of somebody who has not chosen one.

    >>> default_policy().gap
    Fraction(3600, 1)
    """
    return Policy(**DEFAULT_POLICY)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Home:
    """The places of one person's files.

    >>> Home.of({"TARRY_HOME": "/tmp/t"}).store_path
    PosixPath('/tmp/t/store.sqlite')
    """

    config: Path  # policy and key
    state: Path  # store, outputs of commands, the keeper's lock and log

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Home":
        """`$TARRY_HOME`, or the usual places for configuration and state."""
        if own := environment.get("TARRY_HOME"):
            return cls(Path(own).absolute(), Path(own).absolute())
        if not (user := environment.get("HOME")):
            raise BadInput("the place of the store", "is known", found="no HOME", fix="set TARRY_HOME")
        config = environment.get("XDG_CONFIG_HOME") or f"{user}/.config"
        state = environment.get("XDG_STATE_HOME") or f"{user}/.local/state"
        return cls(Path(config, "tarry").absolute(), Path(state, "tarry").absolute())

    @property
    def policy_path(self) -> Path:
        """The policy file that is used when none is named."""
        return self.config / "policy.toml"

    @property
    def key_path(self) -> Path:
        """The store's key."""
        return self.config / "key"

    @property
    def store_path(self) -> Path:
        """The store."""
        return self.state / "store.sqlite"

    @property
    def log_path(self) -> Path:
        """What a keeper in the background says."""
        return self.state / "keeper.log"

    def outlets(self) -> "dict[str, Outlet]":
        """The outlets of one's own store."""
        from tarry.keep.outlets.command import Command  # noqa: PLC0415 - only what is used is loaded
        from tarry.keep.outlets.git import Git  # noqa: PLC0415
        from tarry.keep.outlets.mail import Mail  # noqa: PLC0415

        return {"command": Command(self.state / "output"), "git": Git(), "mail": Mail()}

    def is_founded(self) -> bool:
        """Whether anything was ever handed in."""
        return self.store_path.exists()

    def first_policy(self) -> tuple[Policy, bool]:
        """The policy of the policy file, and whether it was made just now."""
        self._make_folders()
        try:
            return read_policy(self.policy_path.read_text(encoding="utf-8")), False
        except FileNotFoundError:
            policy = default_policy()
            self.policy_path.write_text(write_policy(policy), encoding="utf-8")
            return policy, True
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput("the policy file", "can be read", found=str(error)) from None

    def gate(self, policy: Policy | None = None) -> Gate:
        """The gate of the store, which is made if need be; another policy is adopted if that is safe."""
        keys, store = self._keys(founding=policy is not None), SqliteStore(self.store_path)
        if policy is not None:
            sealed = find_spec("cryptography") is not None
            settings = Settings.of(policy, personal=True, sealed=sealed)
            with store.transaction("closing") as transaction:
                found(transaction, settings, store.clock(), write_policy(policy))
                adopt(transaction, keys, store.clock(), policy)
        with store.transaction("reading") as transaction:
            policy = read_policy(place(transaction).policy or "")
        return Gate(Vault(store, keys, self.outlets()), policy)

    @contextmanager
    def keeping(self) -> Iterator[bool]:
        """Be the keeper of this store for a while; False if there is one already."""
        self._make_folders()
        lock = os.open(self.state / "keeper.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
        finally:
            os.close(lock)

    def is_kept(self) -> bool:
        """Whether a keeper runs."""
        with self.keeping() as mine:
            return not mine

    def _make_folders(self) -> None:
        for folder in {self.config, self.state}:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _keys(self, *, founding: bool) -> Keys:
        self._make_folders()
        if not self.key_path.exists():
            if self.is_founded() or not founding:
                raise NotPossible(f"the key of the store is gone: put {self.key_path} back in its place")
            self._write_key()
        return Keys(self.key_path.read_bytes())

    def _write_key(self) -> None:
        """Whole or not at all, and never over an older one."""
        draft = self.key_path.with_name(f"key.{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_bytes(new_key())
        try:
            os.link(draft, self.key_path)
        except FileExistsError:  # another first use was quicker
            pass
        finally:
            draft.unlink()
