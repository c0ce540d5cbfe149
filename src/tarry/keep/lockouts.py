"""One account's outage: everything that waits for the account moves later by the same time.

Were each post tried again by itself, all that had piled up would leave in the moment the account gets in
again, and would show that it is one person's. So the distances between releases stay as they were drawn.

The account's clock stands still while it is locked out. What waits moves by as long as it stands still.
What arrives meanwhile counts from the tick at which the clock goes on: its delay begins there. So an
earlier arrival never counts from a later tick, and no two count from ticks further apart than they were
themselves, which is all that the promise asks.

In one person's own store there is one clock for everything. In a store that many share, the posts of the
account are found by opening the options of what waits. There is deliberately no column of posts that names
the account, not even as a hash: whoever stole the database could group by it what waits. The lockout itself
is written down, so that what arrives meanwhile is admitted behind it and nobody knocks too early.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from tarry.core.entropy import Entropy
from tarry.core.exact import ticks_up
from tarry.keep.outlet import Outlet
from tarry.keep.posts import Prospect, Timing
from tarry.keep.rows import LegacyAccount, WaitingPost, read_all, read_one
from tarry.keep.sharing import PERSONAL
from tarry.keep.store import MICROS, Transaction, Vault, arrival_tick, snapshot

__all__ = [
    "Kin",
    "Standstill",
    "account_of",
    "clock_of",
    "lockout_delay",
    "look_for_kin",
    "move_account",
    "standstill",
]

_LEAST_S, _MOST_S = 300, 86_400
_MOST_MORE_S = 1800


class Standstill(NamedTuple):
    """A lockout, in ticks.

    >>> lockout = Standstill(since=100, until=400, resumes=402)
    >>> lockout.ahead(150), lockout.ahead(500)
    (252, 0)
    >>> lockout.behind(150), lockout.behind(430)
    (300, 0)
    """

    since: int  # the first release that could not happen
    until: int  # nobody knocks before it
    resumes: int  # what arrives before it counts from it

    def ahead(self, arrival: int) -> int:
        """By how much a post moves that arrives now."""
        return max(0, self.resumes - arrival)

    def behind(self, release: int) -> int:
        """By how much a post moves that has not moved with the others: all that moved are due later."""
        return 0 if release >= self.until else max(self.until - self.since, self.until - release)

    def around(self, ticks: Prospect) -> Prospect:
        """All that `behind` may make of a release that lies somewhere between these ticks.

        >>> Standstill(since=100, until=400, resumes=402).around(Prospect(350, 600, in_between=True))
        Prospect(earliest=400, latest=900, in_between=True)
        """
        if ticks.earliest is None or ticks.latest is None:
            return ticks
        latest = ticks.latest + self.behind(ticks.earliest)
        return Prospect(max(ticks.earliest, self.until), latest, ticks.in_between)

    def again(self, now: int, first: int, until: int) -> "Standstill":
        """The clock stands still once more, and what was to leave first, at tick `first`, waits until then.

        `now` is the tick in which posts arrive.

        >>> Standstill(100, 400, 402).again(now=401, first=400, until=700)
        Standstill(since=400, until=700, resumes=702)
        """
        since = min(first, until)
        # A try may fail some ticks after it was due. What arrived meanwhile has moved with the others, and
        # what arrives next must not overtake it.
        return Standstill(since, until, max(until, max(now, self.resumes) + until - since))


def account_of(outlet: Outlet, options: Mapping[str, Any]) -> str | None:
    """The account that a post with these options needs, if its outlet logs in and knows it.

    >>> from tarry.testing import ListOutlet
    >>> account_of(ListOutlet(), {"account": "nym"}) is None
    True
    """
    try:
        return outlet.account(options)
    except Exception:  # noqa: BLE001 - of whatever waits: one odd row must not keep the others from moving
        return None


def clock_of(vault: Vault, outlet: str, options: Mapping[str, Any]) -> bytes | None:
    """What the store knows the clock by that a post goes by; None if the post needs no account.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_vault
    >>> clock_of(memory_vault(Policy(epsilon="1", gap="11m")), "list", {}) is None
    True
    """
    sharing, delivers = vault.settings.sharing, vault.outlets[outlet]
    needs_account = delivers.logs_in and not sharing.has_one_clock
    return sharing.clock_name(vault.keys, account_of(delivers, options) if needs_account else None)


def standstill(transaction: Transaction, name: bytes | None) -> Standstill | None:
    """The lockout of a clock, if it has one whose traces are not gone yet.

    >>> from tarry.testing import memory_store
    >>> with memory_store().transaction("working") as transaction:
    ...     standstill(transaction, b"somebody") is None
    True
    """
    return None if name is None else read_one(transaction, Standstill, "lockout", account=name)


def lockout_delay(wait_s: int, entropy: Entropy) -> int:
    """Microseconds until an account is tried again: as long as asked for, and up to half of it more.

    At least five minutes, for who is locked out is not let in by knocking; at most a day. Half an hour more
    at most. Where a login is refused, outlets ask for little: a password may be put right meanwhile.

    >>> from tarry.core.entropy import Secure
    >>> 300_000_000 <= lockout_delay(0, Secure()) <= 450_000_000
    True
    """
    least = min(max(int(wait_s), _LEAST_S), _MOST_S) * MICROS
    return int(least + entropy.randbelow(min(least // 2, _MOST_MORE_S * MICROS) + 1))


@dataclass(frozen=True)
class Kin:
    """Which of the posts that wait are known to need one account, or not to.

    >>> Kin("https://wiki.example/api.php Nym@tarry", {7: True}).known[7]
    True
    """

    account: str | None  # None: nobody knows, and a post moves alone
    known: Mapping[int, bool]  # by the keys of posts


def look_for_kin(vault: Vault, outlet: str, options: Mapping[str, Any]) -> Kin:
    """Look through all that waits, before anybody has to wait for it: thousands take a second.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_vault
    >>> look_for_kin(memory_vault(Policy(epsilon="1", gap="11m")), "list", {}).account is None
    True
    """
    one_clock = vault.settings.sharing.has_one_clock
    account = None if one_clock else account_of(vault.outlets[outlet], options)
    if account is None:
        return Kin(None, {})
    with vault.store.transaction("reading") as transaction:
        waiting = {name: read_all(transaction, WaitingPost, "waiting_at", outlet=name)
                   for name in _with_accounts(vault)}  # fmt: skip
    return Kin(
        account, {post.id: _needs(vault, name, post, account) for name in waiting for post in waiting[name]}
    )


def move_account(transaction: Transaction, vault: Vault, kin: Kin, post: Timing, delay: int) -> None:
    """Move everything that waits for the account of this post, inside a closing transaction.

    Afterwards nothing of it is due within the delay, nor will be what arrives. If the account is locked out
    already, the others have moved: two that fail together move everything once, and what an operator tries
    again meanwhile moves nobody else.

    >>> from tarry.core.policy import Policy
    >>> from tarry.keep.gate import Gate
    >>> from tarry.keep.posts import Post
    >>> from tarry.testing import memory_vault
    >>> policy = Policy(epsilon="1", gap="11m", labels="none", law="label-free", delta="0.1")
    >>> vault = memory_vault(policy)
    >>> receipt = Gate(vault, policy).admit(Post(actor="ann", target="p", outlet="list", content=b"!"))
    >>> with vault.store.transaction("closing") as transaction:
    ...     post = Timing(receipt.post, receipt.status.latest)
    ...     move_account(transaction, vault, Kin(None, {}), post, 10**12)
    ...     transaction.one("by_id", id=receipt.post)["release"] - snapshot(transaction).closed
    1000000
    """
    now = snapshot(transaction)
    name = now.settings.sharing.clock_name(vault.keys, kin.account)
    lockout = standstill(transaction, name)
    if lockout is not None and lockout.until > now.closed:
        _move(transaction, [post.id], lockout.behind(post.release or 0))
        return
    due = now.closed + ticks_up(Fraction(delay, MICROS), now.settings.tick)
    if now.settings.sharing.has_one_clock:
        first = _move_everything(transaction, due, now.closed)
    else:
        first = _move_kin(transaction, vault, kin, WaitingPost(post.id, post.release, None), due)
    if name is not None:
        again = (lockout or Standstill(0, 0, 0)).again(arrival_tick(now, vault.clock), first, due)
        transaction.tell("lock_out", account=name, **again._asdict())


def _move_everything(transaction: Transaction, due: int, closed: int) -> int:
    """All that waits moves as far as the first of it has to, to be due then; when that was due."""
    first = PERSONAL.first_due(transaction)
    if first is not None:
        PERSONAL.move_everything(transaction, max(0, due - first), closed)
    return due if first is None else first


def _move_kin(transaction: Transaction, vault: Vault, kin: Kin, post: WaitingPost, due: int) -> int:
    """The same for what waits for one account."""
    waiting = _waiting_for(transaction, vault, kin, post)
    # What waits for another post is not due, however old its own release may be.
    heads = [each.release for each in waiting if each.release is not None and not each.held_up]
    first = min(heads, default=due)
    if (ticks := due - first) > 0:
        _move_heirlooms(transaction, vault, kin, ticks)
        _move(transaction, [each.id for each in waiting], ticks)
        # In PostgreSQL's pages those that moved would stand out together, as one account's.
        for name in _with_accounts(vault):
            transaction.tell("mark_fresh", outlet=name)
    return first


def _waiting_for(transaction: Transaction, vault: Vault, kin: Kin, post: WaitingPost) -> list[WaitingPost]:
    """This post, and all that wait for its account, at whichever outlet, also those being delivered."""
    waiting = {post.id: post}
    for name in () if kin.account is None else _with_accounts(vault):
        for each in read_all(transaction, WaitingPost, "waiting_at", outlet=name):
            known = kin.known.get(each.id)
            if _needs(vault, name, each, kin.account) if known is None else known:  # it has come in since
                waiting[each.id] = each
    return list(waiting.values())


def _with_accounts(vault: Vault) -> list[str]:
    return [name for name in tuple(vault.outlets) if vault.outlets[name].logs_in]


def _needs(vault: Vault, outlet: str, post: WaitingPost, account: str | None) -> bool:
    try:
        options = json.loads(vault.seal.open(post.id, "options", post.options or b""))
    except Exception:  # noqa: BLE001 - whatever the cipher says: it is parked when its turn comes
        return False
    return account_of(vault.outlets[outlet], options) == account


def _move_heirlooms(transaction: Transaction, vault: Vault, kin: Kin, ticks: int) -> None:
    """Whoever inherits from a post that was withdrawn inherits the move."""
    if kin.account is None:
        return
    closed, login = snapshot(transaction).closed, vault.keys.legacy_login
    legacies = read_all(transaction, LegacyAccount, "legacies")
    posts = [legacy.id for legacy in legacies if bytes(legacy.account) == login(legacy.id, kin.account)]
    transaction.many("shift_heirloom", [{"id": post, "ticks": ticks, "closed": closed} for post in posts])
    transaction.many("shift_arrival", [{"id": post, "ticks": ticks} for post in posts])


def _move(transaction: Transaction, posts: Sequence[int], ticks: int) -> None:
    moved = [{"id": post, "ticks": ticks} for post in posts]
    transaction.many("shift_release", moved)
    transaction.many("shift_arrival", moved)
    while transaction.run("raise_children"):  # of another account, perhaps: not before what it waits for
        pass
