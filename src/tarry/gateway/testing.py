"""A gateway in memory, for tests of what is built on it."""

from collections.abc import Mapping

from tarry.core.entropy import Entropy
from tarry.core.policy import Policy
from tarry.gateway.catalog import Scope, read_catalog
from tarry.gateway.database import open_store
from tarry.gateway.gateway import Gateway
from tarry.gateway.space_changes import add_space
from tarry.keep.keys import Keys
from tarry.keep.outlet import Outlet
from tarry.keep.store import Clock, Store
from tarry.testing import ManualClock

__all__ = ["new_token", "small_gateway"]


def small_gateway(
    policy: Policy | None = None,
    clock: Clock | None = None,
    *,
    spaces: tuple[str, ...] = ("talk",),
    store: Store | None = None,
    outlets: Mapping[str, Outlet] | None = None,
    entropy: Entropy | None = None,
) -> Gateway:
    """A gateway with a clock that is moved by hand, and spaces that publish to their feeds.

    >>> list(small_gateway().catalog.spaces)
    ['talk']
    """
    store, keys, clock = store or open_store(":memory:"), Keys(bytes(range(32))), clock or ManualClock()
    policy = policy or Policy(epsilon="1", gap="30s", window="10s")
    with store.transaction("closing") as transaction:
        known = read_catalog(transaction).spaces
        for name in spaces:
            if name not in known:
                add_space(transaction, keys, clock, name, policy)
    return Gateway(store, keys, clock, outlets=outlets, entropy=entropy)


def new_token(gateway: Gateway, *scopes: Scope, spaces: tuple[str, ...] = ()) -> str:
    """A token for these scopes (submit, if none is named).

    >>> new_token(small_gateway(), "operate").startswith("tarry_")
    True
    """
    return gateway.add_token("a test", scopes or ("submit",), spaces)[1]
