"""Sealing anew all that waits in a store: when it is to be encrypted.

All of it happens in one transaction, so that whoever is killed meanwhile has changed nothing. Programs that
have the store open notice at their next transaction, and refuse to go on until they are started again.
"""

from tarry.keep.keys import Keys
from tarry.keep.own_key import own_key
from tarry.keep.seal import Open, Seal, Sealed
from tarry.keep.store import Store, Transaction, place

__all__ = ["encrypt_store"]

_PAGE = 100  # rows at a time: each may hold a megabyte


def encrypt_store(store: Store, keys: Keys) -> int | None:
    """Encrypt what waits, and all that comes from now on; how many posts, None if it was done before.

    Call `clear_traces` afterwards, also if it was done before: somebody may have been killed in between.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_vault
    >>> vault = memory_vault(Policy(epsilon="1", gap="11m"))
    >>> encrypt_store(vault.store, vault.keys), encrypt_store(vault.store, vault.keys)
    (0, None)
    """
    with store.transaction("closing") as transaction:
        own_key(transaction, keys)
        here = place(transaction)
        if here.settings.is_encrypted:
            return None
        posts = _seal_anew(transaction, Open(), Sealed(keys.seal))
        transaction.tell("change_seal", sealed=here.settings.sealed + 1)
    return posts


def _seal_anew(transaction: Transaction, old: Seal, new: Seal) -> int:
    """Open and seal everything that waits or is parked, in the order of the random keys."""
    after, posts = -1, 0
    while rows := transaction.all("payloads", after=after, most=_PAGE):
        transaction.many(
            "store_payload",
            [
                {"id": row["id"]}
                | {
                    field: new.shut(row["id"], field, old.open(row["id"], field, row[field]))
                    for field in ("content", "options")
                }
                for row in rows
            ],
        )
        after, posts = rows[-1]["id"], posts + len(rows)
    return posts
