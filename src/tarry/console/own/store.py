"""What one's own page does with the store: the same as the commands, and looking changes nothing.

The store is opened for each step and closed after it, as a command does: a page that is left open all day
holds nothing of it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from tarry.core.errors import BadInput
from tarry.core.plan import DelayPlan, plan
from tarry.core.policy import Policy
from tarry.core.policy_file import describes, read_policy, write_policy
from tarry.core.promise import Promise, promise
from tarry.keep.acts import OwnAct, own_acts
from tarry.keep.form import Form
from tarry.keep.gate import Gate
from tarry.keep.home import ME, Home, KeeperState, default_policy
from tarry.keep.posts import Post
from tarry.keep.store import MICROS
from tarry.places.accounts import Accounts

__all__ = ["Declared", "OwnAccounts", "OwnSpent", "OwnStore", "OwnView"]


class Declared(NamedTuple):
    """What an author says of an act beside what it is.

    >>> Declared()
    Declared(more_to_come=False, track=None)
    """

    more_to_come: bool = False
    track: str | None = None


class OwnSpent(NamedTuple):
    """How much of what is promised has been used up.

    >>> OwnSpent(batched=2, covers=6, nats=Fraction(1)).is_beyond
    False
    """

    batched: int  # acts that counted as batched
    covers: int  # up to so many something meaningful is promised
    nats: Fraction

    @property
    def is_beyond(self) -> bool:
        """Whether nothing meaningful is promised any more.

        >>> OwnSpent(batched=3, covers=2, nats=Fraction(3)).is_beyond
        True
        """
        return self.batched > self.covers


class OwnAccounts(NamedTuple):
    """The pseudonyms that acts may leave by, or why nobody knows them.

    >>> OwnAccounts([], "there is no file").names
    []
    """

    names: list[str]
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class OwnView:
    """The store at one moment.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     OwnStore(Home.of({"TARRY_HOME": folder}), wake=lambda: None).look().policy.gap
    Fraction(3600, 1)
    """

    now: Fraction  # seconds since 1970
    acts: list[OwnAct]
    keeper: KeeperState
    encrypted: bool | None  # None: there is no store yet
    policy: Policy
    is_next: bool  # whether the policy file says something else, which holds from the next act on
    costs: DelayPlan
    promise: Promise
    spent: OwnSpent


class OwnStore:
    """One person's own store; `wake` starts a keeper if none runs.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = OwnStore(Home.of({"TARRY_HOME": folder}), wake=lambda: None)
    ...     store.look().acts, store.home.is_founded()
    ([], False)
    """

    def __init__(self, home: Home, wake: Callable[[], object]) -> None:
        self.home, self.wake = home, wake

    def look(self) -> OwnView:
        """Everything that the first page shows."""
        with self._gate() as gate:
            policy = self._policy(gate)
            costs, promised = _judged(write_policy(policy))
            batched = 0 if gate is None else gate.batched_acts(ME)
            return OwnView(
                now=_now(gate),
                acts=[] if gate is None else own_acts(gate),
                keeper=self.home.keeper(),
                encrypted=None if gate is None else gate.vault.settings.is_encrypted,
                policy=policy,
                is_next=gate is not None and self._is_next(policy),
                costs=costs,
                promise=promised,
                spent=OwnSpent(batched, promised.covers, promised.loss(batched, exact=True)),
            )

    def act(self, post: int) -> tuple[OwnAct, bytes | None, list[OwnAct]] | None:
        """An act, what it says, and what was to leave after it; None once it is not here any more."""
        with self._gate() as gate:
            acts = [] if gate is None else own_acts(gate)
            matching = next((act for act in acts if act.row["id"] == post), None)
            if gate is None or matching is None:
                return None
            behind = [act for act in acts if act.row["parent"] == post and act.status.state == "waiting"]
            return matching, _content_of(gate, post), behind

    def policy(self) -> Policy:
        """What acts are admitted under."""
        with self._gate() as gate:
            return self._policy(gate)

    def accounts(self) -> OwnAccounts:
        """The pseudonyms of the accounts file."""
        try:
            return OwnAccounts(Accounts(self.home.accounts_path).names)
        except BadInput as error:
            return OwnAccounts([], str(error))

    # --- what changes something -------------------------------------------------------------------------

    def hand_in(self, form: Form, said: Mapping[str, str], declared: Declared) -> int:
        """Admit what a form says; the key of the post."""
        policy, _ = self.home.first_policy()
        with self._opened(policy) as gate:
            post = Post(actor=ME, **declared._asdict(), **form.post(self.home, gate, said))
            receipt = gate.admit(post)
        self.wake()
        return receipt.post

    def edit(self, post: int, content: bytes) -> None:
        """Change what an act will say; when it leaves was drawn, and stays."""
        with self._opened() as gate:
            gate.replace_post(post, content)

    def withdraw(self, post: int) -> None:
        """Take an act back."""
        with self._opened() as gate:
            gate.withdraw_post(post)
            gate.vault.store.clear_traces(last=True)

    def repeat(self, post: int, declared: Declared) -> int:
        """Hand a parked act in again, as one of this moment; the key of the new one."""
        with self._opened() as gate:
            receipt = gate.repeat_post(post, ME, **declared._asdict())
            gate.vault.store.clear_traces(last=True)
        self.wake()
        return receipt.post

    # --- inside -----------------------------------------------------------------------------------------

    @contextmanager
    def _gate(self) -> Iterator[Gate | None]:
        """The gate, for a while; None while there is no store."""
        if not self.home.is_founded():
            yield None
            return
        with self._opened() as gate:
            yield gate

    @contextmanager
    def _opened(self, policy: Policy | None = None) -> Iterator[Gate]:
        """The gate of the store, which is made under this policy if need be, for a while."""
        gate = self.home.gate(policy)
        try:
            yield gate
        finally:
            gate.vault.store.close()

    def _policy(self, gate: Gate | None) -> Policy:
        """The store's; before there is one, that of the policy file, or the one that would be made."""
        if gate is not None:
            return gate.policy
        return self.home.first_policy()[0] if self.home.policy_path.exists() else default_policy()

    def _is_next(self, policy: Policy) -> bool:
        try:
            return not describes(self.home.policy_path.read_text(encoding="utf-8"), policy)
        except (OSError, UnicodeDecodeError, BadInput):  # whoever hands in is told
            return False


def _now(gate: Gate | None) -> Fraction:
    return Fraction(0) if gate is None else Fraction(gate.vault.clock.read().wall, MICROS)


def _content_of(gate: Gate, post: int) -> bytes | None:
    """What an act says; None if it has just left, or cannot be opened."""
    try:
        return gate.content_of(post)
    except Exception:  # noqa: BLE001 - whatever the cipher says: it can still be withdrawn
        return None


@lru_cache(maxsize=4)
def _judged(policy: str) -> tuple[DelayPlan, Promise]:
    """What a policy costs and promises: for a season that takes a while."""
    read = read_policy(policy)
    return plan(read), promise(read)
