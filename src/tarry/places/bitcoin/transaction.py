"""A raw Bitcoin transaction, read strictly: its txid, what it spends and pays, and when it may be mined.

Both ways of writing one are known, with and without witnesses. Every count is held against the bytes that
are left, and nothing may stand behind the end, so reading takes no longer than the text is. Signatures are
not checked here: that takes the coins that are spent, and the node has them.

No sentence shows anything of what was read.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tarry.core.errors import BadInput

__all__ = ["MOST_BYTES", "Input", "RawTransaction", "read_transaction"]

#: What nodes relay is smaller still: 400,000 units of weight, of which a byte has one or four.
MOST_BYTES = 400_000
_MOST_MONEY = 21_000_000 * 100_000_000
_LEAST_INPUT, _LEAST_OUTPUT = 41, 9  # bytes
_NO_COIN = bytes(32)
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

    @property
    def hex(self) -> str:
        """As nodes want it."""
        return self.raw.hex()

    def check_signed(self) -> None:
        """Refuse one with an input that nobody has signed."""
        open_inputs = sum(not each.is_signed for each in self.inputs)
        if open_inputs:
            problem = f"{open_inputs} of {len(self.inputs)} inputs of a transaction are not signed"
            raise BadInput(problem, "let your wallet sign it: tarry never sees a key")

    def check_named(self, options: Mapping[str, object]) -> None:
        """Refuse options that name another one."""
        if options.get("txid", self.txid) != self.txid:
            raise BadInput(
                "the txid of a post must be that of its transaction", "correct it, or leave it out"
            )


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
            fix = "sign it, and take the hex that finalizepsbt or your wallet's final transaction gives"
            raise BadInput(f"{_WHAT} must be raw and fully signed, not a PSBT in {form}", fix)
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


class _Reader:
    """Reads from the front."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self._at = raw, 0

    def transaction(self) -> RawTransaction:
        raw, version = self._raw, self._number(4)
        begins = self._at
        has_witnesses = self._raw[begins : begins + 1] == b"\0"
        if has_witnesses:  # no inputs: a mark that nobody who knew no witnesses could misread
            if self._take(2) != b"\0\1":
                raise BadInput(f"{_WHAT} has no inputs", _ANOTHER)
            begins = self._at
        spent = [self._input() for _ in range(self._count(_LEAST_INPUT))]
        outputs = tuple(self._output() for _ in range(self._count(_LEAST_OUTPUT)))
        ends = self._at
        witnesses = [self._witness() if has_witnesses else False for _ in spent]
        locktime = self._number(4)
        if self._at != len(raw):
            raise BadInput(f"{_WHAT} has {len(raw) - self._at} bytes behind its end", "remove them")
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
        if txid == _NO_COIN:
            raise BadInput(
                f"{_WHAT} must spend coins, not be a miner's reward, which only a block can hold"
            )
        script = self._skip()
        return txid[::-1].hex(), index, script, self._number(4)

    def _output(self) -> int:
        value = self._number(8)
        self._skip()
        return value

    def _witness(self) -> bool:
        items = self._count(1)
        for _ in range(items):
            self._skip()
        return items > 0

    def _skip(self) -> int:
        """Pass over bytes that begin with their own length."""
        length = self._count(1)
        self._take(length)
        return length

    def _count(self, least: int) -> int:
        """How many things of at least so many bytes follow, in the shortest way to write that."""
        first = self._number(1)
        if first < 0xFD:
            count = first
        else:
            width = 2 << (first - 0xFD)
            count = self._number(width)
            if count < (0xFD if width == 2 else 1 << (4 * width)):
                raise BadInput(f"{_WHAT} must write its counts in the shortest way", _ANOTHER)
        if count * least > len(self._raw) - self._at:
            raise _cut_off()
        return count

    def _number(self, width: int) -> int:
        return int.from_bytes(self._take(width), "little")

    def _take(self, length: int) -> bytes:
        taken = self._raw[self._at : self._at + length]
        if len(taken) < length:
            raise _cut_off()
        self._at += length
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
