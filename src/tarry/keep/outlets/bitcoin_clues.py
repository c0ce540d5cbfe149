"""What betrays when a transaction was made, whenever it is sent.

A delay hides the moment of an act. It hides nothing if the transaction says that moment itself, so each
clue is a value: what it tells, and how to make a transaction without it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from tarry.keep.outlets.bitcoin_transaction import Transaction

__all__ = ["HOW", "MOMENT", "Clue", "clues_of"]

#: From here on a lock time is no block but a moment, in seconds since 1970.
MOMENT = 500_000_000
#: How to make a transaction without any of them, in one line.
HOW = (
    "in Bitcoin Core: walletcreatefundedpsbt with locktime 0, replaceable false and a round fee_rate, "
    "then walletprocesspsbt; for Sparrow and Electrum see docs: Bitcoin"
)
_NOT_REPLACEABLE = 0xFFFFFFFE
_NO_LOCK, _IN_TIME, _LENGTH = 1 << 31, 1 << 22, 0xFFFF
_UNIT_S = 512


@dataclass(frozen=True)
class Clue:
    """One thing that tells, in words that show nothing but itself.

    >>> Clue("lock time", "its lock time is block 850000", "make it with locktime 0").name
    'lock time'
    """

    name: str
    sentence: str
    fix: str


def clues_of(transaction: Transaction) -> tuple[Clue, ...]:
    """What can be seen without asking anybody: lock times, replacements, marks of a wallet.

    >>> from tarry.keep.outlets.bitcoin_transaction import read_transaction
    >>> spent = b"11" * 32 + b"000000000151fdffffff"
    >>> paid = b"e8030000000000000151"
    >>> made = read_transaction(b"0200000001" + spent + b"01" + paid + b"40f80c00")
    >>> [clue.name for clue in clues_of(made)]
    ['lock time', 'replaceable']
    """
    return tuple(_clues(transaction))


def _clues(transaction: Transaction) -> Iterator[Clue]:
    if transaction.locktime:
        yield _lock_time(transaction.locktime)
    sequences = {each.sequence for each in transaction.inputs}
    if min(sequences) < _NOT_REPLACEABLE:
        yield Clue(
            "replaceable",
            "it may be replaced, by its own word: raising its fee is a second act, at a moment of its own",
            "make it with replaceable false, or never raise its fee",
        )
    # Before version 2 a sequence number means nothing of the kind.
    locks = sequences if transaction.version >= 2 else set()
    waits = [each for each in locks if not each & _NO_LOCK and each & _LENGTH]
    if waits:
        yield Clue(
            "relative lock",
            f"it has to wait {_told(max(waits))} after a coin that it spends: who counts from there knows "
            "when it could first be sent",
            "spend a coin without such a lock, or send it long after the lock has ended",
        )
    if len(sequences) > 1:
        yield Clue(
            "sequences",
            "its inputs have different sequence numbers, which few wallets write: it can be told apart",
            "give all inputs the same sequence number",
        )


def _lock_time(locktime: int) -> Clue:
    if locktime < MOMENT:
        told = f"its lock time is block {locktime}: wallets write the newest block there, so it tells when"
        return Clue("lock time", f"{told} it was made", "make it with locktime 0")
    moment = datetime.fromtimestamp(locktime, tz=UTC)
    told = f"its lock time is a moment, {moment:%Y-%m-%d %H:%M} UTC: nobody could send it before, and who"
    return Clue("lock time", f"{told} wanted it then is told", "make it with locktime 0")


def _told(sequence: int) -> str:
    count = sequence & _LENGTH
    return f"{count * _UNIT_S} s" if sequence & _IN_TIME else f"{count} blocks"
