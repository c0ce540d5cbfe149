"""Another tick, window or label mode: all spaces change together, while nothing is on its way.

Labels look over all spaces, so these three are the store's. Whatever is counted in ticks is counted anew.
"""

from collections.abc import Mapping

from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.core.ticks import ticks_up
from tarry.gateway.book import Book, Space, Version, read_book
from tarry.gateway.straddling import first_quiet
from tarry.keep.clock import Clock, advance, last_past_tick, moment
from tarry.keep.closing import close_ticks, erased_at, hour_ticks
from tarry.keep.keys import Keys
from tarry.keep.store import Snapshot, StoreSettings, Transaction, anchor_row, snapshot

__all__ = ["change_together"]

_WHAT = "a change of tick, window or labels"


def change_together(
    transaction: Transaction, keys: Keys, clock: Clock, policies: Mapping[str, Policy]
) -> dict[str, Version]:
    """Give every space a new policy, inside a closing transaction; they stay paused.

    >>> from tarry.gateway.spaces import open_space
    >>> from tarry.gateway.testing import small_gateway
    >>> gateway, policy = small_gateway(), Policy(epsilon="1", gap="1h", window="10m", tick="1m")
    >>> with gateway.store.transaction("closing") as transaction:
    ...     open_space(transaction, "talk", is_open=False)
    ...     change_together(transaction, gateway.keys, gateway.clock, {"talk": policy})["talk"].number
    2
    """
    book = read_book(transaction)
    settings = _check_choice(book, policies)
    if snapshot(transaction).settings.paused:
        raise NotPossible("this gateway was brought back from a backup: tarry resume goes first")
    close_ticks(transaction, keys, clock)
    here = snapshot(transaction)
    _check_quiet(transaction, here, book, policies)
    anchor = advance(here.anchor, clock.read(here.now))
    closed = last_past_tick(anchor.time, settings.tick)
    if settings.tick != here.settings.tick:
        _recount(transaction, here, book, settings)
        transaction.tell("recount_parked", closed=closed)
        transaction.tell("drop_lockouts")  # nothing waits: the next try finds out
        transaction.tell("tick", **anchor_row(anchor), closed=closed)
    transaction.tell("forget_heirs")
    transaction.tell(
        "change_settings",
        tick=str(settings.tick),
        window_ticks=settings.window_ticks,
        labels=settings.labels,
        policy=None,
    )
    changed = {name: _next(book.space(name), policy, closed + 1) for name, policy in policies.items()}
    for name, version in changed.items():
        row = {"version": version.number, "policy": version.text, "first_tick": version.first_tick}
        transaction.tell("insert_version", space=name, **row)
    transaction.tell("turn_page")
    return changed


def _check_choice(book: Book, policies: Mapping[str, Policy]) -> StoreSettings:
    """One policy for each space, all with one tick, window and label mode."""
    for name in policies:
        book.space(name)
    if missing := sorted(set(book.spaces) - set(policies)):
        raise BadInput(_WHAT, "names a policy for every space", found=f"none for {missing[0]!r}")
    if running := sorted(space.name for space in book.spaces.values() if space.is_open):
        raise BadInput(
            _WHAT,
            "waits until every space is paused",
            found=f"{running[0]!r} open",
            fix=f"tarry space pause {running[0]}",
        )
    settings = [StoreSettings.of(policy) for policy in policies.values()]
    for policy in policies.values():
        settings[0].check(policy)
    return settings[0]


def _check_quiet(
    transaction: Transaction, here: Snapshot, book: Book, policies: Mapping[str, Policy]
) -> None:
    """Nothing waits, nothing is left to erase, and no story that was promised reaches over the change."""
    busy = transaction.one("busy_until")
    if busy is not None and busy["waiting"]:
        raise NotPossible("posts wait under the old policies: let them leave, or withdraw them, first")
    last = here.latest if here.latest is not None else _last_arrival(transaction, here)
    if last is None:
        return  # nobody ever came
    first = max(first_quiet(book.space(name), policy, last) for name, policy in policies.items())
    if here.latest is not None:
        first = max(first, erased_at(here.settings, last))
    if here.latest is not None or here.closed + 1 < first:
        at = moment(first * here.settings.tick)
        raise NotPossible(f"what has left may still be compared with what comes next: try again after {at}")


def _last_arrival(transaction: Transaction, here: Snapshot) -> int | None:
    """No arrival was later. It is erased itself; its release, and the hour it came in, are known."""
    row = transaction.one("last_known")
    release, hour = (None, None) if row is None else (row["release"], row["hour"])
    bounds = [release, None if hour is None else (hour + 1) * hour_ticks(here.settings) - 1]
    return min((each for each in bounds if each is not None), default=None)


def _recount(transaction: Transaction, here: Snapshot, book: Book, settings: StoreSettings) -> None:
    """What was counted in ticks of the old length, in ticks of the new one."""

    def moved(tick: int) -> int:
        return ticks_up(tick * here.settings.tick, settings.tick)

    ratio = here.settings.tick / settings.tick
    transaction.tell("recount_done", times=ratio.numerator, over=ratio.denominator)
    transaction.tell("forget_hours")
    transaction.tell("clear_outlook")
    for space in book.spaces.values():
        for version in space.versions:
            told = {"space": space.name, "version": version.number}
            transaction.tell("move_version", **told, first_tick=moved(version.first_tick))
        if space.ended_tick is not None:
            transaction.tell("move_end", space=space.name, tick=moved(space.ended_tick))
    rows = transaction.all("adoptions")
    transaction.tell("forget_adoptions")
    transaction.many("adopt_delays", [{**row, "first_tick": moved(row["first_tick"])} for row in rows])


def _next(space: Space, policy: Policy, first_tick: int) -> Version:
    return Version(number=space.version.number + 1, text=write_policy(policy), first_tick=first_tick)
