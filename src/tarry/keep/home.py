"""One person's own store: where it lies, how it is made on first use, and whether a keeper runs.

The files are private to their owner. The key and the policy lie apart from the store, so that a copy of
the one does not carry the other.

A keeper holds a lock, with a note in it for other commands. The note is written over the one before it, so
that a full disk has room for it. A keeper that ends in good order leaves it blank: what stands there while
nobody holds the lock was left by a keeper that died.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.core.policy_file import describes, read_policy, write_policy
from tarry.keep.changes import adopt
from tarry.keep.errors import Unavailable
from tarry.keep.gate import Gate
from tarry.keep.keys import Keys, key_in, new_key, replace_private, write_private
from tarry.keep.outlet import HomeOutlets
from tarry.keep.sharing import StoreSettings, begin_store
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Vault, snapshot

__all__ = [
    "ME",
    "Home",
    "KeeperState",
    "Keeping",
    "default_policy",
    "held_lock",
    "lock_for_child",
    "places",
    "read_state",
]

#: The actor of one's own store: all of one's pseudonyms are one person, which is the point.
ME = "me"
_SIZE = 4096  # of the note
_LONGEST = 300  # characters of a sentence: each takes twelve bytes of the note at most


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
        raise BadInput(f"TARRY_HOME must be an absolute path, not {own!r}", "begin it with a /")
    paths = {name: environment.get(name) for name in ("TARRY_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    # The others are not ours: their specification says that relative ones are ignored.
    return {name: path for name, path in paths.items() if path and Path(path).is_absolute()}


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
            unclear = f"HOME must be an absolute path, not {str(user)!r}"
            raise BadInput(unclear if environment.get("HOME") else "HOME is not set", "set TARRY_HOME")
        config = Path(named.get("XDG_CONFIG_HOME", user / ".config"))
        return cls(config / "tarry", Path(named.get("XDG_STATE_HOME", user / ".local/state")) / "tarry")

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
            write_private(self.policy_path, write_policy(policy).encode())
            return policy, True
        except BadInput as error:
            raise error.within(str(self.policy_path)) from None
        except OSError as error:
            raise BadInput(
                f"the policy file {str(self.policy_path)!r} cannot be read ({error.strerror})",
                "put it right",
            ) from None
        except UnicodeDecodeError:
            raise BadInput(f"the policy file {str(self.policy_path)!r} must be UTF-8 text") from None

    def keep_policy(self, policy: Policy) -> None:
        """Make the policy file say what the store has adopted; where it does, it stays as it is."""
        with suppress(FileNotFoundError, BadInput, UnicodeDecodeError):
            if describes(self.policy_path.read_text(encoding="utf-8"), policy):
                return
        replace_private(self.policy_path, write_policy(policy).encode())

    def gate(self, policy: Policy | None = None) -> Gate:
        """The gate of the store, which is made if need be; another policy is adopted if that is safe."""
        if policy is None and not self.is_founded():
            raise NotPossible(f"there is no store in {self.state} yet: tarry run makes one")
        keys, store = self._keys(), SqliteStore(self.store_path)
        with store.transaction("reading") as transaction:
            now = transaction.snapshot()
        if policy is None:
            if now is None:
                raise Unavailable(f"the store {str(self.store_path)!r} is only being made: try again")
            policy = read_policy(now.policy or "")
        elif now is None or not describes(now.policy, policy):
            self._adopt(store, keys, policy)
        return Gate(Vault(store, keys, HomeOutlets(self)), policy)

    def _adopt(self, store: SqliteStore, keys: Keys, policy: Policy) -> None:
        settings = StoreSettings.of(policy, personal=True, sealed=find_spec("cryptography") is not None)
        with store.transaction("closing") as transaction:
            begin_store(transaction, settings, store.clock(), write_policy(policy))
            if not describes(snapshot(transaction).policy, policy):
                again = f"move {self.policy_path} away and leave out --policy: it is written there again"
                adopt(transaction, keys, store.clock(), policy, instead=f"give that one ({again})")

    def keeping(self, inherited: int | None = None) -> AbstractContextManager["Keeping | None"]:
        """Be the keeper of this store for a while; None if there is one already."""
        self._make_folders()
        return held_lock(self.lock_path, inherited)

    def keeper(self) -> "KeeperState":
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
            write_private(self.key_path, new_key())
        return Keys(key_in(self.key_path.read_bytes()))


@dataclass(frozen=True)
class KeeperState:
    """How the keeper of a store stands.

    >>> KeeperState(runs=False).died
    False
    """

    runs: bool
    pid: int | None = None  # of the one that runs; None while it starts
    died: bool = False  # none runs, and the last one was not told to end
    said: str | None = None  # the last sentence it said: about an outage or a failure, never an arrival


class Keeping:
    """The lock of a store, held by this process.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "lock")
    ...     with held_lock(path) as keeping:
    ...         keeping.note(pid=7, said="all is well")
    ...         read_state(path)
    KeeperState(runs=True, pid=7, died=False, said='all is well')
    """

    def __init__(self, lock: int) -> None:
        self.lock = lock

    def note(self, *, pid: int | None, said: str | None = None) -> None:
        """Tell other commands how it stands, as far as the disk lets us."""
        self._write(json.dumps({"pid": pid, "said": said and said[:_LONGEST]}))

    def end(self) -> None:
        """In good order: nothing is left to say."""
        self._write("")

    def _write(self, note: str) -> None:
        with suppress(OSError):
            os.pwrite(self.lock, note.encode().ljust(_SIZE), 0)

    def touch(self) -> None:
        """Make the times of the file say nothing of when the keeper began, which is when an act came in."""
        with suppress(OSError):
            os.utime(self.lock)

    def is_at(self, path: Path) -> bool:
        """Whether this is still the lock at that place: its folder may have been deleted and made anew."""
        try:
            return os.path.samestat(os.fstat(self.lock), path.stat())
        except OSError:
            return False


@contextmanager
def held_lock(path: Path, inherited: int | None = None) -> Iterator[Keeping | None]:
    """Hold the lock, or the one that was `inherited` from the process before; None if another one has it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "lock")
    ...     with held_lock(path) as mine, held_lock(path) as another:
    ...         mine is None, another is None
    (False, True)
    """
    with _opened(path, inherited) as lock:
        keeping = Keeping(lock) if _taken(lock) else None
        yield keeping
        if keeping is not None:
            keeping.end()


@contextmanager
def lock_for_child(path: Path) -> Iterator[int | None]:
    """The lock, for a keeper that is started meanwhile and inherits it; None if another one has it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "lock")
    ...     with lock_for_child(path):
    ...         during = read_state(path).runs
    ...     during, read_state(path).died
    (True, True)
    """
    with _opened(path) as lock:
        mine = _taken(lock)
        if mine:
            Keeping(lock).note(pid=None)
        yield lock if mine else None


def read_state(path: Path) -> KeeperState:
    """Whether somebody holds the lock, and what the note says.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_state(Path(folder, "lock")).runs
    False
    """
    with _opened(path) as lock:
        runs = not _locked(lock, fcntl.LOCK_SH)
        note = os.pread(lock, _SIZE, 0).strip()
    try:
        pid, said = (json.loads(note)[key] for key in ("pid", "said"))
    except ValueError:  # none, or one that was cut short
        return KeeperState(runs=runs, died=not runs and bool(note))
    return KeeperState(runs=runs, pid=pid if runs else None, died=not runs, said=said)


@contextmanager
def _opened(path: Path, inherited: int | None = None) -> Iterator[int]:
    if inherited is None:
        lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    else:
        lock = inherited
        os.set_inheritable(lock, False)  # noqa: FBT003 - a command that the keeper runs must not hold it
    try:
        yield lock
    finally:
        os.close(lock)


def _taken(lock: int) -> bool:
    # Whoever only looks whether a keeper runs is in the way for a moment, and no keeper.
    while not (mine := _locked(lock, fcntl.LOCK_EX)) and _locked(lock, fcntl.LOCK_SH):
        fcntl.flock(lock, fcntl.LOCK_UN)
    return mine


def _locked(lock: int, how: int) -> bool:
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
