"""The key of a store is its own: with another one nobody is known again, and nothing can be opened.

The store keeps a mark that only its key gives, and from which nobody learns the key.
"""

from tarry.core.errors import NotPossible
from tarry.keep.keys import Keys
from tarry.keep.store import Store, Transaction

__all__ = ["check_key", "own_key"]

_ANOTHER = (
    "this key is not the one that this store was begun with: put that key file back, or name it; or run "
    "tarry store rekey again, if it was cut off"
)


def own_key(transaction: Transaction, keys: Keys) -> None:
    """Refuse a key that is not the store's; a store that has seen none yet takes this one as its own.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_store
    >>> store = memory_store(Policy(epsilon="1", gap="11m"))
    >>> with store.transaction("working") as transaction:
    ...     own_key(transaction, Keys(bytes(32)))
    ...     own_key(transaction, Keys(bytes(range(32))))
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: this key is not the one that this store was begun with: put that key \
file back, or name it; or run tarry store rekey again, if it was cut off
    """
    if not _is_own(transaction, keys):
        transaction.tell("mark_key", fingerprint=keys.fingerprint)
        _is_own(transaction, keys)  # somebody with another one may have been quicker


def check_key(store: Store, keys: Keys) -> None:
    """The same in transactions of its own; nothing is written where the mark is there.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_store
    >>> check_key(memory_store(Policy(epsilon="1", gap="11m")), Keys(bytes(32)))
    """
    with store.transaction("reading") as transaction:
        if _is_own(transaction, keys):
            return
    with store.transaction("working") as transaction:
        own_key(transaction, keys)


def _is_own(transaction: Transaction, keys: Keys) -> bool:
    """Whether this is the key; False if the store has seen none yet."""
    row = transaction.one("fingerprint")
    if row is None or row["fingerprint"] is None:
        return False
    if bytes(row["fingerprint"]) != keys.fingerprint:
        raise NotPossible(_ANOTHER)
    return True
