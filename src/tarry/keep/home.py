"""One person's own store: where it lies, how it is made on first use, and whether a keeper runs.

The files are private to their owner. The key and the policy lie apart from the store, so that a copy of
the one does not carry the other.
"""

import contextlib
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy, write_policy
from tarry.keep.adopt import adopt
from tarry.keep.gate import Gate
from tarry.keep.keeper_lock import KeeperState, Keeping, held_lock, read_state
from tarry.keep.keys import Keys, key_in, new_key
from tarry.keep.outlet import HomeOutlets
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Settings, found, place
from tarry.keep.vault import Vault

__all__ = ["ME", "Home", "default_policy", "places"]

#: The actor of one's own store: all of one's pseudonyms are one person, which is the point.
ME = "me"


def default_policy() -> Policy:
    """The policy of somebody who has not chosen one.

    >>> default_policy().gap
    Fraction(3600, 1)
    """
    # An hour is a usual distance between acts that have nothing to do with each other.
    return Policy(epsilon="1", gap="1h", window="5m", tick="10s")


def places(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that say where the files are; the same from every directory, or there were two stores.

    >>> places({"TARRY_HOME": "/tmp/t", "LANG": "C"})
    {'TARRY_HOME': '/tmp/t'}
    """
    if (own := environment.get("TARRY_HOME")) and not Path(own).is_absolute():
        raise BadInput("TARRY_HOME", "is an absolute path", found=repr(own), fix="begin it with a /")
    given = {name: environment.get(name) for name in ("TARRY_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    # The others are not ours: their specification says that relative ones are ignored.
    return {name: path for name, path in given.items() if path and Path(path).is_absolute()}


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
        named = places(environment)
        if own := named.get("TARRY_HOME"):
            return cls(Path(own), Path(own))
        user = Path(environment.get("HOME", ""))
        if not user.is_absolute():
            found = f"HOME {str(user)!r}" if environment.get("HOME") else "no HOME"
            raise BadInput("the place of the store", "is known", found=found, fix="set TARRY_HOME")
        config = Path(named.get("XDG_CONFIG_HOME", user / ".config"))
        state = Path(named.get("XDG_STATE_HOME", user / ".local/state"))
        return cls(config / "tarry", state / "tarry")

    @property
    def policy_path(self) -> Path:
        """The policy file that is used when none is named."""
        return self.config / "policy.toml"

    @property
    def key_path(self) -> Path:
        """The store's key."""
        return self.config / "key"

    @property
    def accounts_path(self) -> Path:
        """The accounts that posts leave by, where none are named."""
        return self.config / "accounts.toml"

    @property
    def store_path(self) -> Path:
        """The store."""
        return self.state / "store.sqlite"

    @property
    def lock_path(self) -> Path:
        """What the keeper of the store holds."""
        return self.state / "keeper.lock"

    @property
    def log_path(self) -> Path:
        """What a keeper in the background says."""
        return self.state / "keeper.log"

    @property
    def outputs(self) -> Path:
        """Where the outputs of commands land."""
        return self.state / "output"

    def output_of(self, gate: Gate, post: int) -> Path:
        """Where the output of one command will be."""
        return self.outputs / gate.vault.keys.public_id(post)

    def outlets(self) -> HomeOutlets:
        """The outlets of one's own store, each loaded when it is used."""
        return HomeOutlets(self)

    def is_founded(self) -> bool:
        """Whether anything was ever handed in."""
        return self.store_path.exists()

    def first_policy(self) -> tuple[Policy, bool]:
        """The policy of the policy file, and whether it was made just now."""
        self._make_folders()
        try:
            return read_policy(self.policy_path.read_text(encoding="utf-8")), False
        except FileNotFoundError:
            if self.is_founded():  # the file was removed: the store knows its policy
                policy = self.gate().policy
                self.keep_policy(policy)
                return policy, False
            policy = default_policy()
            _write_new(self.policy_path, write_policy(policy).encode())
            return policy, True
        except BadInput as error:
            raise error.within(str(self.policy_path)) from None
        except OSError as error:
            found = f"{str(self.policy_path)!r}: {error.strerror}"
            raise BadInput("the policy file", "must be a file one can read", found=found) from None
        except UnicodeDecodeError:
            raise BadInput("the policy file", "is UTF-8 text", found=repr(str(self.policy_path))) from None

    def keep_policy(self, policy: Policy) -> None:
        """Make the policy file say what the store has adopted; where it does, it stays as it is."""
        text = write_policy(policy)
        with contextlib.suppress(FileNotFoundError, BadInput, UnicodeDecodeError):
            if write_policy(read_policy(self.policy_path.read_text(encoding="utf-8"))) == text:
                return
        with _draft(self.policy_path, text.encode()) as draft:
            draft.replace(self.policy_path)

    def gate(self, policy: Policy | None = None) -> Gate:
        """The gate of the store, which is made if need be; another policy is adopted if that is safe."""
        if policy is None and not self.is_founded():
            raise NotPossible(f"nothing was ever handed in here: {self.state} has no store")
        keys, store = self._keys(), SqliteStore(self.store_path)
        if policy is not None:
            sealed = find_spec("cryptography") is not None
            settings = Settings.of(policy, personal=True, sealed=sealed)
            with store.transaction("closing") as transaction:
                found(transaction, settings, store.clock(), write_policy(policy))
                again = f"move {self.policy_path} away and leave out --policy: it is written there again"
                adopt(transaction, keys, store.clock(), policy, instead=f"give that one ({again})")
        with store.transaction("reading") as transaction:
            policy = read_policy(place(transaction).policy or "")
        return Gate(Vault(store, keys, self.outlets()), policy)

    @contextmanager
    def keeping(self, inherited: int | None = None) -> Iterator[Keeping | None]:
        """Be the keeper of this store for a while; None if there is one already."""
        self._make_folders()
        with held_lock(self.lock_path, inherited) as mine:
            yield mine

    def keeper(self) -> KeeperState:
        """Whether a keeper runs, and what it said last."""
        self._make_folders()
        return read_state(self.lock_path)

    def is_kept(self) -> bool:
        """Whether a keeper runs."""
        return self.keeper().runs

    def _make_folders(self) -> None:
        for folder in {self.config, self.state}:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _keys(self) -> Keys:
        self._make_folders()
        if not self.key_path.exists():
            if self.is_founded() and not self.key_path.exists():
                raise NotPossible(f"the key of the store is gone: put {self.key_path} back in its place")
            _write_new(self.key_path, new_key())
        return Keys(key_in(self.key_path.read_bytes()))


def _write_new(path: Path, content: bytes) -> None:
    """Whole or not at all, private, and never over an older one."""
    with _draft(path, content) as draft, contextlib.suppress(FileExistsError):  # another was quicker
        os.link(draft, path)


@contextmanager
def _draft(path: Path, content: bytes) -> Iterator[Path]:
    """A private file beside it, gone afterwards whatever happens."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        draft.touch(mode=0o600)
        draft.write_bytes(content)
        yield draft
    except OSError as error:
        if error.filename is None:  # a full disk does not say what could not be written
            error.filename = str(path)
        raise
    finally:
        draft.unlink(missing_ok=True)
