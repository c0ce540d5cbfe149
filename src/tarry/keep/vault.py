"""What everybody at one store shares: the store, its keys, its clock, its outlets."""

from collections.abc import Mapping

from tarry.keep.clock import Clock, advance
from tarry.keep.keys import Keys
from tarry.keep.outlets.outlet import Outlet
from tarry.keep.own_key import check_key
from tarry.keep.seal import Open, Seal, Sealed
from tarry.keep.store import Settings, Store, Transaction, place

__all__ = ["Vault"]


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
        self.seal: Seal = Sealed(keys.seal) if self.settings.sealed else Open()

    def now(self, transaction: Transaction) -> int:
        """The store's clock, in microseconds since 1970."""
        here = place(transaction)
        self.settings = here.settings  # another policy may have been adopted since
        return advance(here.anchor, self.clock.read(here.now)).time
