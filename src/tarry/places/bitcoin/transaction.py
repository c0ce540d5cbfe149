"""A raw Bitcoin transaction, read strictly: its txid, what it spends and pays, and when it may be mined.

Both ways of writing one are known, with and without witnesses. Every count is held against the bytes that
are left, and nothing may stand behind the end, so reading takes no longer than the text is. Signatures are
not checked here: that takes the coins that are spent, and the node has them.

No sentence shows anything of what was read.

Some transactions belong together: everybody can see that one spends another one's coin, so the two have one
target and no delay can part them; and the one that pays goes first, or nodes would not know the coin. Any
other transaction is a target of its own: unless somebody says otherwise it must not be linked with others.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO

from tarry.core.errors import BadInput

__all__ = ["MOST_BYTES", "Input", "Queued", "RawTransaction", "arrange", "read_transaction"]

#: What nodes relay is smaller still: 400,000 units of weight, of which a byte has one or four.
MOST_BYTES = 400_000
_MOST_MONEY = 21_000_000 * 100_000_000
_LEAST_INPUT, _LEAST_OUTPUT = 41, 9  # bytes
_WHAT = "a transaction"
_ANOTHER = "make another one with your wallet"
_HEX = re.compile(rb"[0-9a-fA-F]+")
_PSBT = {"hex": b"70736274ff", "base64": b"cHNidP", "binary": b"psbt\xff"}


@dataclass(frozen=True)
class Input:
    """One coin that is spent.

    >>> Input(txid="ab" * 32, index=0, sequence=0xFFFFFFFF, is_signed=True).coin[1]
    0
    """

    txid: str  # of the transaction that made the coin
    index: int  # which of its outputs
    sequence: int
    is_signed: bool  # there is a script or a witness

    @property
    def coin(self) -> tuple[str, int]:
        """What names the coin."""
        return self.txid, self.index


@dataclass(frozen=True, kw_only=True)
class RawTransaction:
    """A transaction as it was read.

    >>> spent = b"11" * 32 + b"000000000151ffffffff"
    >>> paid = b"e8030000000000000151"
    >>> read_transaction(b"0100000001" + spent + b"01" + paid + b"00000000").outputs
    (1000,)
    """

    raw: bytes = field(repr=False)
    txid: str
    version: int
    inputs: tuple[Input, ...]
    outputs: tuple[int, ...]  # satoshis
    locktime: int

    def check_signed(self) -> None:
        """Refuse one with an input that nobody has signed."""
        open_inputs = sum(not each.is_signed for each in self.inputs)
        if open_inputs:
            raise BadInput(
                f"{open_inputs} of {len(self.inputs)} inputs of a transaction are not signed",
                "let your wallet sign it: tarry never sees a key",
            )


@dataclass(frozen=True)
class Queued:
    """A transaction that is in the queue, or comes into it.

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
    line: tuple[RawTransaction, ...] = ()  # of one that comes in: what goes before it, the first one first


def read_transaction(content: bytes) -> RawTransaction:
    """Read one from hex, with white space around it or none.

    >>> read_transaction(b"cHNidP8BAFICAAAAAY")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: a transaction must be raw and fully signed, not a PSBT in base64: sign it, \
and take the hex that finalizepsbt or your wallet's final transaction gives
    """
    text = content.strip()
    for form, begins in _PSBT.items():
        if (text.lower() if form == "hex" else content).lstrip().startswith(begins):
            raise BadInput(
                f"{_WHAT} must be raw and fully signed, not a PSBT in {form}",
                "sign it, and take the hex that finalizepsbt or your wallet's final transaction gives",
            )
    if len(text) > 2 * MOST_BYTES:
        raise BadInput(f"{_WHAT} must have at most {MOST_BYTES} bytes, not {len(text) // 2}")
    if len(text) % 2 or not _HEX.fullmatch(text):
        if not text:
            raise BadInput(f"{_WHAT} is empty", "give it in hex")
        rule = (
            "must have an even number of hex digits" if _HEX.fullmatch(text) else "must be written in hex"
        )
        raise BadInput(f"{_WHAT} {rule}", "copy all of it")
    return _Reader(bytes.fromhex(text.decode())).transaction()


class _Reader(BytesIO):
    """Reads from the front."""

    def transaction(self) -> RawTransaction:
        raw, version = self.getvalue(), self._number(4)
        has_witnesses = raw[4:5] == b"\0"
        if has_witnesses and self._take(2) != b"\0\1":  # a mark that nobody who knew none could misread
            raise BadInput(f"{_WHAT} has no inputs", _ANOTHER)
        begins = self.tell()
        spent = [self._input() for _ in range(self._count(_LEAST_INPUT))]
        outputs = tuple(self._output() for _ in range(self._count(_LEAST_OUTPUT)))
        ends = self.tell()
        witnesses = [self._witness() if has_witnesses else False for _ in spent]
        locktime = self._number(4)
        if rest := self.read():
            raise BadInput(f"{_WHAT} has {len(rest)} bytes behind its end", "remove them")
        if has_witnesses and not any(witnesses):
            raise BadInput(f"{_WHAT} is marked as having witnesses, and has none", _ANOTHER)
        # The witnesses are no part of the name: the same payment signed anew keeps it.
        named = raw[:4] + raw[begins:ends] + raw[-4:]
        made = RawTransaction(
            raw=raw,
            txid=hashlib.sha256(hashlib.sha256(named).digest()).digest()[::-1].hex(),
            version=version,
            inputs=tuple(
                Input(txid, index, sequence, is_signed=bool(script) or witness)
                for (txid, index, script, sequence), witness in zip(spent, witnesses, strict=True)
            ),
            outputs=outputs,
            locktime=locktime,
        )
        _check_sense(made)
        return made

    def _input(self) -> tuple[str, int, int, int]:
        txid, index = self._take(32), self._number(4)
        if txid == bytes(32):
            raise BadInput(
                f"{_WHAT} must spend coins, not be a miner's reward, which only a block can hold"
            )
        return txid[::-1].hex(), index, self._skip(), self._number(4)

    def _output(self) -> int:
        value = self._number(8)
        self._skip()
        return value

    def _witness(self) -> bool:
        return bool([self._skip() for _ in range(self._count(1))])

    def _skip(self) -> int:
        """Pass over bytes that begin with their own length."""
        length = self._count(1)
        self._take(length)
        return length

    def _count(self, least: int) -> int:
        """How many things of at least so many bytes follow, in the shortest way to write that."""
        count = self._number(1)
        if count >= 0xFD:
            width = 2 << (count - 0xFD)
            count = self._number(width)
            if count < (0xFD if width == 2 else 1 << (4 * width)):
                raise BadInput(f"{_WHAT} must write its counts in the shortest way", _ANOTHER)
        if count * least > len(self.getbuffer()) - self.tell():
            raise _cut_off()
        return count

    def _number(self, width: int) -> int:
        return int.from_bytes(self._take(width), "little")

    def _take(self, length: int) -> bytes:
        taken = self.read(length)
        if len(taken) < length:
            raise _cut_off()
        return taken


def _cut_off() -> BadInput:
    return BadInput(f"the end of {_WHAT} is missing", "copy all of it")


def _check_sense(made: RawTransaction) -> None:
    """Refuse what no block can ever hold."""
    if not made.inputs or not made.outputs:
        raise BadInput(f"{_WHAT} must have inputs and outputs", _ANOTHER)
    if sum(made.outputs) > _MOST_MONEY:
        raise BadInput(f"{_WHAT} pays more than there will ever be", _ANOTHER)
    if len({each.coin for each in made.inputs}) < len(made.inputs):
        raise BadInput(f"{_WHAT} spends the same coin twice", _ANOTHER)


def arrange(
    transactions: Sequence[RawTransaction], queue: Sequence[Queued], target: str | None = None
) -> list[Queued]:
    """Find everybody's target and predecessors; those that go first come first.

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
    there = dict(queued)
    for each in _parents_first(transactions):
        after = _last_parent(each, there)
        inherited = there[after].target if after else None
        if inherited is not None and target not in {None, inherited}:
            raise BadInput(
                f"a transaction must have the target of what it spends, not {target!r}",
                "give no --target, or that one",
            )
        line = tuple(reversed([*_line(after, there)]))
        there[each.txid] = Queued(each, inherited or target or each.txid, after, line=line)
    return list(there.values())[len(queued) :]


def _line(txid: str | None, there: Mapping[str, Queued]) -> Iterator[RawTransaction]:
    """One and its predecessors, the nearest first."""
    while each := there.get(txid or ""):
        yield each.transaction
        txid = each.after


def _last_parent(each: RawTransaction, there: Mapping[str, Queued]) -> str | None:
    """The one that leaves last of those that have to leave first."""
    parents = {spent.txid for spent in each.inputs if spent.txid in there}
    if not all(there[txid].waits for txid in parents):
        raise BadInput(
            f"{_WHAT} spends from one that is parked", "tarry repeat that one first, or tarry withdraw it"
        )
    last = [one for one in parents if parents <= {each.txid for each in _line(one, there)}]
    if parents and not last:
        raise BadInput(
            f"{_WHAT} spends from {len(parents)} that wait side by side",
            "send it when all but one of them have left",
        )
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
            raise BadInput(
                f"{_WHAT} {'waits' if there.waits else 'is parked'} already{_as(there)}",
                "tarry queue lists what waits",
            )


def _check_coins(queue: Sequence[Queued], transactions: Sequence[RawTransaction]) -> None:
    """Two that spend one coin cannot both be mined; and nothing may come before what waits already."""
    spenders = {spent.coin: each for each in queue for spent in each.transaction.inputs}
    children = {spent.txid: each for each in queue for spent in each.transaction.inputs}
    for each in transactions:
        for spent in each.inputs:
            if (rival := spenders.get(spent.coin)) is not None:
                raise BadInput(
                    f"{_WHAT} spends a coin that another in the queue spends{_as(rival)}", _withdraw(rival)
                )
        if (child := children.get(each.txid)) is not None:
            raise BadInput(
                f"one that waits already spends a coin of this transaction{_as(child)}",
                f"{_withdraw(child)}, and send both together",
            )
    coins = [spent.coin for each in transactions for spent in each.inputs]
    if len(set(coins)) < len(coins):
        raise BadInput("two of the given transactions spend the same coin", "send one of the two")


def _as(queued: Queued) -> str:
    """What it is called in the queue, if that is known."""
    return f", {queued.id}" if queued.id else ""


def _withdraw(queued: Queued) -> str:
    return f"tarry withdraw {queued.id} first" if queued.id else "withdraw that one first"
