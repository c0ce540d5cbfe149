"""What chance decides of a post: its receipt and its draws. Neither looks at the post or at anybody's time.

So both can be made ahead, ever more at a time for who goes on asking: in a row they cost a third of what
they do one by one, between two waits for a disk.
"""

import os
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakSet

from tarry.core.entropy import Entropy, Secure
from tarry.core.policy import Policy
from tarry.core.release import Draws, draw_pair
from tarry.keep.keys import Secret, new_receipt

__all__ = ["Chance"]

_MOST = 64
T = TypeVar("T")


class Chance:
    """The operating system's, some made ahead; or somebody's own entropy, asked when a post comes.

    What lies ready never survives a fork (the child would repeat its parent's), and what is taken is gone
    at once, so threads share it safely.

    >>> policy = Policy(epsilon="1", gap="11m", window="5m")
    >>> chance = Chance()
    >>> chance.draws(policy, "paper 3").batched >= 960, len(chance.receipt().text)
    (True, 64)
    """

    def __init__(self, entropy: Entropy | None = None) -> None:
        self._entropy, self._most = (Secure(), _MOST) if entropy is None else (entropy, 1)
        self._receipts = _Stock(lambda: Secret.of(new_receipt()), self._most)
        # By the identity of laws, which their stock keeps: comparing them would take longer than drawing.
        self._draws: dict[int, _Stock[Draws]] = {}
        _ALL.add(self)

    def receipt(self) -> Secret:
        """A new one."""
        return self._receipts.take()

    def draws(self, policy: Policy, target: str, track: str | None = None) -> Draws:
        """What a post waits under either label."""
        laws = policy.mechanism(policy.gap_for(target, track))
        stock = self._draws.get(id(laws))
        if stock is None:
            made = _Stock(lambda: draw_pair(policy, target, track, self._entropy), self._most)
            stock = self._draws.setdefault(id(laws), made)
        return stock.take()

    def forget(self) -> None:
        """Throw away what lies ready; every child of a fork does."""
        self._receipts.ready.clear()
        for stock in self._draws.values():
            stock.ready.clear()


class _Stock(Generic[T]):
    """Things of a kind, some of them ready."""

    def __init__(self, make: Callable[[], T], most: int) -> None:
        self._make, self._most, self._lot = make, most, 1
        self.ready: list[T] = []

    def take(self) -> T:
        try:
            return self.ready.pop()
        except IndexError:
            lot, self._lot = self._lot, min(2 * self._lot, self._most)
            first, *rest = [self._make() for _ in range(lot)]
            self.ready += rest
            return first


_ALL: WeakSet[Chance] = WeakSet()


def _forget_all() -> None:
    for chance in list(_ALL):
        chance.forget()


if hasattr(os, "register_at_fork"):  # where there is no fork there is nothing to forget
    os.register_at_fork(after_in_child=_forget_all)
