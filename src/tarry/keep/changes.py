"""What may change in a store that is in use: its policy, its key, and whether it is encrypted.

Posts drawn under one policy and posts drawn under another may be told apart while both are on their way,
so in one person's own store the old ones must have left, and nothing may have left for as long as the
promise reaches.

When a store is to be encrypted, or gets another key, all that waits is sealed anew in one transaction, so
that whoever is killed meanwhile has changed nothing. Programs that have the store open notice at their next
transaction, and refuse to go on until they are started again.
"""

from datetime import UTC, datetime
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.core.policy_file import describes, read_policy, write_policy
from tarry.keep.closing import close_ticks, erased_at
from tarry.keep.keys import Keys, Open, Seal, Sealed
from tarry.keep.rows import Busy, Payload, has_answer, read_all, read_one, status_of, unfinished_posts
from tarry.keep.sharing import Snapshot, StoreSettings
from tarry.keep.store import Clock, Store, Transaction, advance, last_past_tick, own_key, snapshot

__all__ = ["adopt", "change_key", "change_settings", "encrypt_store"]

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
    "use --forget-accounts to erase them: counts begin at 0, and every account has its space's default"
)


def adopt(
    transaction: Transaction, keys: Keys, clock: Clock, policy: Policy, *, instead: str = "give that one"
) -> bool:
    """Make this the store's policy, inside a closing transaction; whether that changed anything.

    `instead` tells whoever is refused how to go on under the policy that holds.

    >>> from tarry.testing import ManualClock, memory_store
    >>> clock, old = ManualClock(), Policy(epsilon="1", gap="11m")
    >>> with memory_store(old, clock, personal=True).transaction("closing") as transaction:
    ...     adopt(transaction, Keys(bytes(32)), clock, Policy(epsilon="2", gap="11m"))
    True
    """
    own_key(transaction, keys)
    if describes(snapshot(transaction).policy, policy):
        return False
    close_ticks(transaction, keys, clock)
    now = snapshot(transaction)
    _check_nothing_is_on_its_way(transaction, now, policy, instead)
    if policy.tick != now.settings.tick:
        transaction.tell("forget_done")  # their release ticks are of another length
    change_settings(transaction, now, clock, StoreSettings.of(policy), write_policy(policy))
    return True


def change_settings(
    transaction: Transaction, now: Snapshot, clock: Clock, settings: StoreSettings, policy: str | None
) -> int:
    """Give a store in which nothing waits another tick, window and labels; its last past tick then.

    >>> from tarry.testing import ManualClock, memory_store
    >>> clock, coarse = ManualClock(), Policy(epsilon="1", gap="1h", tick="1m")
    >>> with memory_store(Policy(epsilon="1", gap="1h"), clock).transaction("closing") as transaction:
    ...     closed = change_settings(
    ...         transaction, snapshot(transaction), clock, StoreSettings.of(coarse), None
    ...     )
    ...     snapshot(transaction).closed == closed
    True
    """
    anchor = advance(now.anchor, clock.read(now.now))
    closed = last_past_tick(anchor.time, settings.tick)
    if settings.tick != now.settings.tick:
        transaction.tell("recount_parked", closed=closed)
        transaction.tell("drop_lockouts")  # nothing waits: the next try finds out
        transaction.tell("tick", **anchor.columns, closed=closed)
    transaction.tell("forget_heirs")
    transaction.tell(
        "change_settings",
        tick=str(settings.tick),
        window_ticks=settings.window_ticks,
        labels=settings.labels,
        policy=policy,
    )
    return closed


def _check_nothing_is_on_its_way(
    transaction: Transaction, now: Snapshot, policy: Policy, instead: str
) -> None:
    busy, tick = read_one(transaction, Busy, "busy_until") or Busy(), now.settings.tick
    old = now.policy and read_policy(now.policy)
    reach = max(each.start_ticks(gap) * each.tick for each in (policy, old) if each for gap in each.gaps)
    counted = _counted_until(now)
    if busy.waiting:
        at = _local_time(max(_last_waiting(transaction, now) * tick + reach + tick, counted))
        raise BadInput(
            "the policy cannot change while posts wait under another one",
            f"{instead}, or withdraw them, or wait for them: it changes after {at}, and later if an outage "
            "moves them",
        )
    last = busy.last_release
    quiet = Fraction(0) if last is None else last * tick + reach + tick
    if busy.arrivals or now.closed * tick < quiet:
        gone = "while acts that were taken back or parked under another one count for labels"
        left = "so soon after posts have left under another one"
        raise BadInput(
            f"the policy cannot change {left if quiet >= counted else gone}",
            f"{instead}, or try again after {_local_time(max(quiet, counted))}",
        )


def _counted_until(now: Snapshot) -> Fraction:
    """When the last arrival is erased: until then labels look at it, whatever became of its post."""
    tick = 0 if now.latest is None else erased_at(now.settings, now.latest)
    return tick * now.settings.tick


def _last_waiting(transaction: Transaction, now: Snapshot) -> int:
    """The last tick at which anything that waits may leave, as far as that is known."""
    waiting = [post for post in unfinished_posts(transaction) if post.state.is_on_its_way]
    known = [status_of(transaction, now.settings, post).latest for post in waiting]
    return max(now.closed, *(tick or 0 for tick in known))


def _local_time(at: Fraction) -> str:
    """In local time; of a moment between seconds, the second after it."""
    return f"{datetime.fromtimestamp(ceil(at), tz=UTC).astimezone():%Y-%m-%d %H:%M:%S}"


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
    while posts := read_all(transaction, Payload, "payloads", after=after, most=_PAGE):
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
