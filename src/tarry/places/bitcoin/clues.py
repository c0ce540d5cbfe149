"""What betrays when a transaction was made, whenever it is sent.

A delay hides the moment of an act. It hides nothing if the transaction says that moment itself, so each
clue is a value: what it tells, and how to make a transaction without it. Some are seen in the transaction
alone. Others a node on this machine can see before it is sent: the fee that wallets choose is the estimate
of the moment, and anybody can learn later what the estimates were. Another node would see the transaction
before its time. The question leaves no trace in the mempool, and nothing is passed on.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused, Unreachable
from tarry.net.http_call import one_line
from tarry.places.bitcoin.client import Node, NodeError, explain
from tarry.places.bitcoin.transaction import RawTransaction

__all__ = ["HOW", "Clue", "clues_of", "look", "refuse_clues"]

#: From here on a lock time is no block but a moment, in seconds since 1970.
_MOMENT = 500_000_000
#: How to make a transaction without any of them, in one line.
HOW = (
    "use, in Bitcoin Core, walletcreatefundedpsbt with locktime 0, replaceable false and a round fee_rate, "
    "then walletprocesspsbt; for Sparrow and Electrum see docs: Bitcoin"
)
_NOT_REPLACEABLE = 0xFFFFFFFE
_NO_LOCK, _IN_TIME, _LENGTH = 1 << 31, 1 << 22, 0xFFFF
_UNIT_S = 512
_BLOCKS = (2, 3, 6, 12, 24, 144)  # for which wallets ask how much is needed
_COIN = 100_000_000
_MOST_COINS, _MOST_SIZE = 21_000_000, 4_000_000
_NEAR = Fraction(1, 100)
_FAR = 4
_ROUND = "make it with a fee rate that is a whole number and serves you for as long as it may wait"
_KNOWN = {"txn-already-in-mempool", "txn-already-known", "txn-same-nonwitness-data-in-mempool"}


@dataclass(frozen=True)
class Clue:
    """One thing that tells, in words that show nothing but itself.

    >>> Clue("lock time", "its lock time is block 850000", "make it with locktime 0").name
    'lock time'
    """

    name: str
    sentence: str
    fix: str


def clues_of(transaction: RawTransaction) -> Iterator[Clue]:
    """What can be seen without asking anybody: lock times, replacements, marks of a wallet.

    >>> from tarry.places.bitcoin.transaction import read_transaction
    >>> spent = b"11" * 32 + b"000000000151fdffffff"
    >>> paid = b"e8030000000000000151"
    >>> made = read_transaction(b"0200000001" + spent + b"01" + paid + b"40f80c00")
    >>> [clue.name for clue in clues_of(made)]
    ['lock time', 'replaceable']
    """
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
        count = max(waits) & _LENGTH
        wait = f"{count * _UNIT_S} s" if max(waits) & _IN_TIME else f"{count} blocks"
        yield Clue(
            "relative lock",
            f"it has to wait {wait} after a coin that it spends: who counts from there knows when it could "
            "first be sent",
            "spend a coin without such a lock, or send it long after the lock has ended",
        )
    if len(sequences) > 1:
        yield Clue(
            "sequences",
            "its inputs have different sequence numbers, which few wallets write: it can be told apart",
            "give all inputs the same sequence number",
        )


def refuse_clues(clues: Iterable[Clue], problem: str) -> None:
    """Refuse a transaction that tells anything, and say what, and how to make one that does not.

    >>> refuse_clues([], "it tells when it was made")
    """
    if sentences := "; ".join(clue.sentence for clue in clues):
        raise BadInput(f"{problem}: {sentences}", HOW)


def _lock_time(locktime: int) -> Clue:
    if locktime < _MOMENT:
        sentence = (
            f"its lock time is block {locktime}: wallets write the newest block there, so it tells when it "
            "was made"
        )
    else:
        moment = datetime.fromtimestamp(locktime, tz=UTC)
        sentence = f"its lock time is a moment, {moment:%Y-%m-%d %H:%M} UTC: nobody could send it before"
    return Clue("lock time", sentence, "make it with locktime 0")


def look(node: Node, transaction: RawTransaction, line: Sequence[RawTransaction] = ()) -> list[Clue]:
    """Ask what its fee and lock time tell at this moment; `line` is what has to go before it.

    >>> from tarry.places.bitcoin.client import read_node
    >>> from tarry.places.bitcoin.transaction import read_transaction
    >>> spent = b"11" * 32 + b"00000000" b"0151" b"ffffffff"
    >>> made = read_transaction(b"01000000" b"01" + spent + b"01" b"e803000000000000" b"0151" b"00000000")
    >>> look(read_node("https://node.example", cookie="/.cookie"), made)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: a node elsewhere would see the transaction before its time: leave --look \
out, or use a node on this machine
    """
    if not node.address.is_here:
        raise BadInput(
            "a node elsewhere would see the transaction before its time",
            "leave --look out, or use a node on this machine",
        )
    try:
        return list(_seen_by(node, transaction, line))
    except NodeError as error:
        raise Unreachable(f"the node cannot look at it ({error.reason})") from error
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        raise node.strange_answer() from error


def _seen_by(node: Node, transaction: RawTransaction, line: Sequence[RawTransaction]) -> Iterator[Clue]:
    tip = _whole(node.ask("getblockcount"), _MOMENT)
    if 0 < transaction.locktime < _MOMENT and transaction.locktime <= tip:
        behind = tip - transaction.locktime
        yield Clue(
            "age",
            f"its lock time is {behind} blocks behind the newest: it was made about {behind * 10} minutes "
            "ago",
            "make it with locktime 0",
        )
    verdict = node.ask("testmempoolaccept", [each.raw.hex() for each in (*line, transaction)])[-1]
    if verdict.get("allowed"):
        fee, vsize = round(_coins(verdict["fees"]["base"]) * _COIN), _whole(verdict["vsize"], _MOST_SIZE)
        yield from _fee_clues(fee, vsize or 1, len(transaction.inputs), list(_estimates(node)))
    elif reason := verdict.get("reject-reason") or verdict.get("package-error"):
        yield _not_taken(one_line(str(reason)))


def _not_taken(reason: str) -> Clue:
    if reason in _KNOWN:
        raise BadInput(
            "the node has this transaction already", "leave it out: there is nothing to delay any more"
        )
    trouble = explain(-26, reason)
    if isinstance(trouble, Refused):
        raise BadInput(str(trouble))
    return Clue("not now", f"the node would not take it now ({reason})", "make it with a higher fee")


def _estimates(node: Node) -> Iterator[tuple[int, Fraction]]:
    """How many blocks one would wait at which fee rate, in satoshis a virtual byte, as far as is known."""
    for blocks, mode in product(_BLOCKS, ("economical", "conservative")):
        answer = node.ask("estimatesmartfee", blocks, mode)
        if "feerate" in answer:
            yield blocks, _coins(answer["feerate"]) * _COIN / 1000


def _coins(amount: Any) -> Fraction:
    """An amount that there can be: what a node writes otherwise might take for ever to work out."""
    if type(amount) not in {int, Decimal} or not 0 <= amount <= _MOST_COINS:
        raise TypeError
    return Fraction(amount)


def _whole(number: Any, most: int) -> int:
    if type(number) is not int or not 0 <= number <= most:
        raise TypeError
    return number


def _fee_clues(
    fee: int, vsize: int, inputs: int, estimates: Sequence[tuple[int, Fraction]]
) -> Iterator[Clue]:
    if not estimates:
        return
    rate = Fraction(fee, vsize)
    shown = f"{float(rate):.3g} satoshis a virtual byte"
    same = [blocks for blocks, each in estimates if abs(rate - each) <= each * _NEAR]
    if same and not _is_round(fee, vsize, inputs):
        yield Clue(
            "fee",
            f"its fee rate, {shown}, is the estimate of this moment for {same[0]} blocks: it tells when it "
            "was made",
            _ROUND,
        )
    rates = [each for _, each in estimates]
    if rate > _FAR * max(rates) or rate * _FAR < min(rates):
        yield Clue("fee", f"its fee rate, {shown}, is far from what others pay now: it stands out", _ROUND)


def _is_round(fee: int, vsize: int, inputs: int) -> bool:
    """Whether the rate was meant to be a whole number: a signature may turn out a byte shorter."""
    whole = round(Fraction(fee, vsize))
    return whole > 0 and abs(fee - whole * vsize) <= whole * inputs
