"""Which transactions belong together: those that spend what others in the queue pay.

Everybody can see that one transaction spends another one's coin, so the two have one target and no delay
can part them; and the one that pays goes first, or nodes would not know the coin. Any other transaction is
a target of its own: unless somebody says otherwise it must not be linked with any other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tarry.core.errors import BadInput
from tarry.places.bitcoin.transaction import RawTransaction

__all__ = ["Placed", "Queued", "arrange"]

_WHAT = "a transaction"
_QUEUE = "tarry queue lists what waits"


@dataclass(frozen=True)
class Queued:
    """A transaction that is in the queue already.

    >>> from tarry.places.bitcoin.transaction import read_transaction
    >>> spent = b"11" * 32 + b"000000000151ffffffff"
    >>> made = read_transaction(b"0100000001" + spent + b"01e803000000000000015100000000")
    >>> Queued(made, target="rent").waits
    True
    """

    transaction: RawTransaction
    target: str
    after: str | None = None  # the txid of the one that goes first
    waits: bool = True  # False: it is parked
    id: str = ""  # by which its owner takes it back


@dataclass(frozen=True)
class Placed:
    """A transaction that comes in, with its target and those that go before it, the first of them first.

    >>> from tarry.places.bitcoin.transaction import read_transaction
    >>> spent = b"11" * 32 + b"000000000151ffffffff"
    >>> made = read_transaction(b"0100000001" + spent + b"01e803000000000000015100000000")
    >>> arrange([made], [])[0].target == made.txid
    True
    """

    transaction: RawTransaction
    target: str
    line: tuple[RawTransaction, ...] = ()

    @property
    def after(self) -> str | None:
        """The txid of the one that goes right before it."""
        return self.line[-1].txid if self.line else None


def arrange(
    transactions: Sequence[RawTransaction], queue: Sequence[Queued], target: str | None = None
) -> list[Placed]:
    """Find everybody's target and predecessors; those that go first come first.

    >>> from tarry.places.bitcoin.transaction import read_transaction
    >>> def pay(coin):
    ...     spent = coin.encode() + b"000000000151ffffffff"
    ...     return read_transaction(b"0100000001" + spent + b"01e803000000000000015100000000")
    >>> first = pay("11" * 32)
    >>> second = pay(bytes.fromhex(first.txid)[::-1].hex())
    >>> [placed.after == first.txid for placed in arrange([second, first], [])]
    [False, True]
    """
    queued = {each.transaction.txid: each for each in queue}
    _check_once(transactions, queued)
    _check_coins(queue, transactions)
    everything = {
        **{txid: each.transaction for txid, each in queued.items()},
        **{each.txid: each for each in transactions},
    }
    before = {txid: each.after for txid, each in queued.items()}
    targets = {txid: each.target for txid, each in queued.items()}
    placed = []
    for each in _parents_first(transactions):
        after = _last_parent(each, queued, before)
        inherited = targets.get(after or "")
        if inherited is not None and target not in {None, inherited}:
            problem = f"a transaction must have the target of what it spends, not {target!r}"
            raise BadInput(problem, "give no --target, or that one")
        before[each.txid], targets[each.txid] = after, inherited or target or each.txid
        line = tuple(everything[txid] for txid in _line(after, before))[::-1]
        placed.append(Placed(each, targets[each.txid], line))
    return placed


def _line(txid: str | None, before: Mapping[str, str | None]) -> Iterator[str]:
    """One and its predecessors, the nearest first."""
    while txid is not None:
        yield txid
        txid = before.get(txid)


def _last_parent(
    each: RawTransaction, queued: Mapping[str, Queued], before: Mapping[str, str | None]
) -> str | None:
    """The one that leaves last of those that have to leave first."""
    parents = {spent.txid for spent in each.inputs if spent.txid in before}
    if any(txid in queued and not queued[txid].waits for txid in parents):
        raise BadInput(
            f"{_WHAT} spends from one that is parked", "tarry repeat that one first, or tarry withdraw it"
        )
    last = [one for one in parents if parents <= set(_line(one, before))]
    if parents and not last:
        problem = f"{_WHAT} spends from {len(parents)} that wait side by side"
        raise BadInput(problem, "send it when all but one of them have left")
    return last[0] if last else None


def _parents_first(transactions: Sequence[RawTransaction]) -> list[RawTransaction]:
    """In an order in which nobody comes before what it spends; there is one, as names hold their coins'."""
    new, done, todo = {each.txid for each in transactions}, dict[str, RawTransaction](), list(transactions)
    while todo:
        ready = [
            each
            for each in todo
            if all(spent.txid in done or spent.txid not in new for spent in each.inputs)
        ]
        done |= {each.txid: each for each in ready}
        todo = [each for each in todo if each.txid not in done]
    return list(done.values())


def _check_once(transactions: Sequence[RawTransaction], queued: Mapping[str, Queued]) -> None:
    if len({each.txid for each in transactions}) < len(transactions):
        raise BadInput(f"{_WHAT} is given twice", "give it once")
    for each in transactions:
        if each.txid in queued:
            there = queued[each.txid]
            raise BadInput(f"{_WHAT} {'waits' if there.waits else 'is parked'} already{_as(there)}", _QUEUE)


def _check_coins(queue: Sequence[Queued], transactions: Sequence[RawTransaction]) -> None:
    """Two that spend one coin cannot both be mined; and nothing may come before what waits already."""
    spenders = {spent.coin: each for each in queue for spent in each.transaction.inputs}
    new = set[tuple[str, int]]()
    for each in transactions:
        for spent in each.inputs:
            if (rival := spenders.get(spent.coin)) is not None:
                raise BadInput(
                    f"{_WHAT} spends a coin that another in the queue spends{_as(rival)}", _withdraw(rival)
                )
            if spent.coin in new:
                raise BadInput("two of the given transactions spend the same coin", "send one of the two")
            new.add(spent.coin)
    children = {spent.txid: each for each in queue for spent in each.transaction.inputs}
    for each in transactions:
        if (child := children.get(each.txid)) is not None:
            fix = f"{_withdraw(child)}, and send both together"
            raise BadInput(f"one that waits already spends a coin of this transaction{_as(child)}", fix)


def _as(queued: Queued) -> str:
    """What it is called in the queue, if that is known."""
    return f", {queued.id}" if queued.id else ""


def _withdraw(queued: Queued) -> str:
    return f"tarry withdraw {queued.id} first" if queued.id else "withdraw that one first"
