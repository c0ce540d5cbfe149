"""One account's outage: everything that waits for the account moves later by the same time.

Were each post tried again by itself, all that had piled up would leave in the moment the account gets in
again, and would show that it is one person's. So the distances between releases stay as they were drawn.

In one person's own store everything moves. In a store that many share, the posts of the account are found
by opening the options of what waits. There is deliberately no column of posts that names the account, not
even as a hash: whoever stole the database could group by it what waits. The lockout itself is written down,
so that what arrives meanwhile is admitted behind it (`account_clock` tells) and nobody knocks too early.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tarry.core.durations import ticks_up
from tarry.core.entropy import Entropy
from tarry.keep.account_clock import Standstill, account_of, clock_name, standstill
from tarry.keep.clock import MICROS
from tarry.keep.closing import shift_everything
from tarry.keep.store import Row, Transaction, arrival_tick, place
from tarry.keep.vault import Vault

__all__ = ["Kin", "lockout_delay", "look_for_kin", "move_account"]

_LEAST_S, _MOST_S = 300, 86_400
_MOST_MORE_S = 1800


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
    account = None if vault.settings.personal else account_of(vault.outlets[outlet], options)
    if account is None:
        return Kin(None, {})
    with vault.store.transaction("reading") as transaction:
        rows = [row for name in _with_accounts(vault) for row in transaction.all("options_at", outlet=name)]
    return Kin(account, {row["id"]: _needs(vault, row, account) for row in rows})


def move_account(transaction: Transaction, vault: Vault, kin: Kin, post: Row, delay: int) -> None:
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
    ...     row = transaction.one("by_id", id=receipt.post)
    ...     move_account(transaction, vault, Kin(None, {}), row, 10**12)
    ...     transaction.one("by_id", id=receipt.post)["release"] - place(transaction).closed
    1000000
    """
    here = place(transaction)
    name = clock_name(vault.keys, here.settings, kin.account)
    lockout = standstill(transaction, name)
    if lockout is not None and lockout.until > here.closed:
        _move(transaction, [post], lockout.behind(post["release"]))
        return
    wanted = here.closed + ticks_up(Fraction(delay, MICROS), here.settings.tick)
    first = _move_all(transaction, vault, kin, post, wanted)
    if name is not None:
        now = arrival_tick(here, vault.clock)
        again = (lockout or Standstill(0, 0, 0)).again(now, first, wanted)
        transaction.tell("lock_out", account=name, **again._asdict())


def _move_all(transaction: Transaction, vault: Vault, kin: Kin, post: Row, wanted: int) -> int:
    """Everything moves as far as the first of it has to, to be due when it is wanted; when that was due."""
    here = place(transaction)
    if here.settings.personal:
        row = transaction.one("first_due")
        first: int = wanted if row is None or row["release"] is None else row["release"]
        shift_everything(transaction, max(0, wanted - first), here.closed)
        return first
    rows = _waiting_for(transaction, vault, kin, post)
    # What waits for another post is not due, however old its own release may be.
    heads = [row["release"] for row in rows if row["release"] is not None and not row["held_up"]]
    first = min(heads, default=wanted)
    if (ticks := wanted - first) > 0:
        _move_heirlooms(transaction, vault, kin, ticks)
        _move(transaction, rows, ticks)
        # In PostgreSQL's pages those that moved would stand out together, as one account's.
        for name in _with_accounts(vault):
            transaction.tell("mark_fresh", outlet=name)
    return first


def _waiting_for(transaction: Transaction, vault: Vault, kin: Kin, post: Row) -> list[Row]:
    """This post, and all that wait for its account, at whichever outlet, also those being delivered."""
    found: dict[int, Row] = {post["id"]: {**post, "held_up": False}}
    for name in () if kin.account is None else _with_accounts(vault):
        for row in transaction.all("waiting_at", outlet=name):
            is_kin = kin.known.get(row["id"])
            if is_kin is None:  # it has come in since
                told = transaction.one("payload", id=row["id"]) or {}
                is_kin = _needs(vault, {**told, "id": row["id"], "outlet": name}, kin.account)
            if is_kin:
                found[row["id"]] = row
    return list(found.values())


def _with_accounts(vault: Vault) -> list[str]:
    return [name for name in tuple(vault.outlets) if vault.outlets[name].logs_in]


def _needs(vault: Vault, row: Row, account: str | None) -> bool:
    try:
        options = json.loads(vault.seal.open(row["id"], "options", row["options"]))
    except Exception:  # noqa: BLE001 - whatever the cipher says: it is parked when its turn comes
        return False
    return account_of(vault.outlets[row["outlet"]], options) == account


def _move_heirlooms(transaction: Transaction, vault: Vault, kin: Kin, ticks: int) -> None:
    """Whoever inherits from a post that was withdrawn inherits the move."""
    if kin.account is None:
        return
    closed, login = place(transaction).closed, vault.keys.legacy_login
    rows = [row["id"] for row in transaction.all("legacies")
            if bytes(row["account"]) == login(row["id"], kin.account)]  # fmt: skip
    transaction.many("shift_heirloom", [{"id": post, "ticks": ticks, "closed": closed} for post in rows])
    transaction.many("shift_arrival", [{"id": post, "ticks": ticks} for post in rows])


def _move(transaction: Transaction, rows: Sequence[Row], ticks: int) -> None:
    moved = [{"id": row["id"], "ticks": ticks} for row in rows]
    transaction.many("shift_release", moved)
    transaction.many("shift_arrival", moved)
    while transaction.run("raise_children"):  # of another account, perhaps: not before what it waits for
        pass
