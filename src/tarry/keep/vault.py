"""What everybody at one store shares: the store, its keys, its clock, its outlets."""

from collections.abc import Mapping

from tarry.keep.clock import Clock, advance
from tarry.keep.errors import Unavailable
from tarry.keep.keys import Keys
from tarry.keep.outlet import Outlet
from tarry.keep.own_key import check_key
from tarry.keep.seal import Open, Seal, Sealed
from tarry.keep.store import Settings, Store, Transaction, place

__all__ = ["Vault"]

_CHANGED = "the store cannot be used: its key or its encryption was changed: start this program again"


class Vault:
    """A founded store with its key and the outlets that posts may leave by.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import ListOutlet, ManualClock, memory_store
    >>> store = memory_store(Policy(epsilon="1", gap="11m", window="5m"))
    >>> Vault(store, Keys(bytes(32)), {"list": ListOutlet()}, ManualClock()).settings.window_ticks
    300
    """

    def __init__(
        self, store: Store, keys: Keys, outlets: Mapping[str, Outlet], clock: Clock | None = None
    ) -> None:
        self.store, self.keys, self.outlets = store, keys, outlets
        self.clock: Clock = clock or store.clock()
        check_key(store, keys)
        with store.transaction("reading") as transaction:
            self.settings: Settings = place(transaction).settings
        self._sealed = self.settings.sealed
        self.seal: Seal = Sealed(keys.seal) if self.settings.is_encrypted else Open()

    def follow(self, settings: Settings) -> None:
        """Take over settings that another process may have changed; but not another key or encryption.

        What this process would seal nobody could open, and what it would open is no content.

        >>> from dataclasses import replace
        >>> from tarry.core.policy import Policy
        >>> from tarry.testing import memory_vault
        >>> vault = memory_vault(Policy(epsilon="1", gap="11m"))
        >>> vault.follow(replace(vault.settings, sealed=1))
        Traceback (most recent call last):
        tarry.keep.errors.Unavailable: the store cannot be used: its key or its encryption was changed: \
start this program again
        """
        if settings.sealed != self._sealed:
            raise Unavailable(_CHANGED)
        self.settings = settings

    def now(self, transaction: Transaction) -> int:
        """The store's clock, in microseconds since 1970."""
        here = place(transaction)
        self.follow(here.settings)
        return advance(here.anchor, self.clock.read(here.now)).time
