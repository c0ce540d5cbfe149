"""Sealing anew all that waits in a store: when it is to be encrypted, or gets another key.

All of it happens in one transaction, so that whoever is killed meanwhile has changed nothing. Programs that
have the store open notice at their next transaction, and refuse to go on until they are started again.
"""

from typing import NamedTuple

from tarry.core.errors import NotPossible
from tarry.keep.closing import close_ticks
from tarry.keep.keys import Keys, Open, Seal, Sealed
from tarry.keep.rows import StoredPayload, has_answer, read_all
from tarry.keep.sharing import Snapshot
from tarry.keep.store import Clock, Store, Transaction, own_key, snapshot

__all__ = ["change_key", "encrypt_store"]

_PAGE = 100  # rows at a time: each may hold a megabyte
_ARRIVALS = (
    "the last arrivals are not erased yet, and their hashes cannot be made anew: let nothing in (tarry "
    "space pause), keep a server, worker or keeper running, and try again after three windows"
)
_TRIED = (
    "posts were tried that have not left, and the place may know them by ids that this key has made: let "
    "them leave, or withdraw what is parked"
)
_LOCKED_OUT = "an account cannot get in at the moment, and is known by a hash of this key: try again later"
_ACCOUNTS = (
    "the ledger and the choices of accounts are known by hashes of this key, which cannot be made anew: "
    "with --forget-accounts they are erased, counts begin at 0, and every account has its space's default"
)


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
        now = snapshot(transaction)
        if now.settings.is_encrypted:
            return None
        posts = _seal_anew(transaction, Open(), Sealed(keys.seal))
        transaction.tell("change_seal", sealed=now.settings.sealed + 1)
    return posts


def change_key(
    store: Store, clock: Clock, old: Keys, new: Keys, *, owner: str | None = None, forget: bool = False
) -> int:
    """Give a store another key; how many posts wait in it. Call `clear_traces` afterwards.

    In one person's own store `owner` is its actor, and everything is made anew. In one that many share
    nobody's name is known: the ledger and choices of accounts are erased if that is wanted (`forget`), and
    whoever posts again what was withdrawn draws afresh, once.

    >>> from tarry.core.policy import Policy
    >>> from tarry.keep.store import check_key
    >>> from tarry.testing import memory_vault
    >>> vault, new = memory_vault(Policy(epsilon="1", gap="11m")), Keys(bytes(range(32)))
    >>> change_key(vault.store, vault.clock, vault.keys, new)
    0
    >>> check_key(vault.store, new)
    """
    with store.transaction("closing") as transaction:
        own_key(transaction, old)
        close_ticks(transaction, old, clock)  # so that no arrival is there any more that need not be
        now = snapshot(transaction)
        _check_nothing_is_lost(transaction, now, forget=forget)
        posts = 0
        if now.settings.is_encrypted:
            posts = _seal_anew(transaction, Sealed(old.seal), Sealed(new.seal))
        if now.settings.sharing.owner_may_act and owner is not None:
            _rename_owner(transaction, owner, old, new)
        else:
            transaction.tell("forget_pseudonyms")
            transaction.tell("forget_ledger")
            transaction.tell("forget_adoptions")
        transaction.tell("strip_legacies")
        transaction.tell("drop_unnamed_legacies")
        transaction.tell("change_key", fingerprint=new.fingerprint)
        transaction.tell("change_seal", sealed=now.settings.sealed + 2)
    return posts


def _check_nothing_is_lost(transaction: Transaction, now: Snapshot, *, forget: bool) -> None:
    if now.settings.paused:
        raise NotPossible("this store was restored from a backup: run tarry resume first")
    if now.latest is not None:
        raise NotPossible(_ARRIVALS)
    if now.lockout is not None:
        raise NotPossible(_LOCKED_OUT)
    if has_answer(transaction, "tried"):
        raise NotPossible(_TRIED)
    if not (forget or now.settings.sharing.owner_may_act) and has_answer(transaction, "known_accounts"):
        raise NotPossible(_ACCOUNTS)


class _OwnPost(NamedTuple):
    id: int
    target: str


def _rename_owner(transaction: Transaction, owner: str, old: Keys, new: Keys) -> None:
    """Everything in one person's own store is theirs, and the target stands beside each post."""
    accounts = {name: keys.account(keys.actor(owner)) for name, keys in (("old", old), ("new", new))}
    transaction.tell("rename_account", **accounts)
    posts = read_all(transaction, _OwnPost, "own_targets")
    transaction.many(
        "store_pseudonym",
        [{"id": post.id, "pseudonym": new.pseudonym(owner, post.target)} for post in posts],
    )


def _seal_anew(transaction: Transaction, old: Seal, new: Seal) -> int:
    """Open and seal everything that waits or is parked, in the order of the random keys."""

    def again(post: int, field: str, stored: bytes) -> bytes:
        return new.shut(post, field, old.open(post, field, stored))

    after, count = -1, 0
    while posts := read_all(transaction, StoredPayload, "payloads", after=after, most=_PAGE):
        transaction.many(
            "store_payload",
            [
                {
                    "id": post.id,
                    "content": again(post.id, "content", post.content),
                    "options": again(post.id, "options", post.options),
                }
                for post in posts
            ],
        )
        after, count = posts[-1].id, count + len(posts)
    return count
