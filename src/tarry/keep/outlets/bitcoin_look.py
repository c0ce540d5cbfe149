"""What a node on this machine can tell of a transaction before it is sent: its fee, and the newest block.

The fee that wallets choose is the estimate of the moment, and anybody can learn later what the estimates
were. Only a node on this machine is asked: another one would see the transaction before its time. The
question leaves no trace in the mempool, and nothing is passed on.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused, Unreachable
from tarry.keep.outlets.bitcoin_answers import explain
from tarry.keep.outlets.bitcoin_clues import MOMENT, Clue
from tarry.keep.outlets.bitcoin_node import Node, NodeError
from tarry.keep.outlets.bitcoin_transaction import Transaction
from tarry.net.http_call import one_line

__all__ = ["look"]

_BLOCKS = (2, 3, 6, 12, 24, 144)  # for which wallets ask how much is needed
_MODES = ("economical", "conservative")
_COIN = 100_000_000
_KILO = 1000
_MOST_COINS, _MOST_SIZE = 21_000_000, 4_000_000
_NEAR = Fraction(1, 100)
_FAR = 4
_ROUND = "make it with a fee rate that is a whole number and serves you for as long as it may wait"
_KNOWN = {"txn-already-in-mempool", "txn-already-known", "txn-same-nonwitness-data-in-mempool"}


def look(node: Node, transaction: Transaction, line: Sequence[Transaction] = ()) -> list[Clue]:
    """Ask what its fee and lock time tell at this moment; `line` is what has to go before it.

    >>> from tarry.keep.outlets.bitcoin_node import read_node
    >>> from tarry.keep.outlets.bitcoin_transaction import read_transaction
    >>> spent = b"11" * 32 + b"00000000" b"0151" b"ffffffff"
    >>> made = read_transaction(b"01000000" b"01" + spent + b"01" b"e803000000000000" b"0151" b"00000000")
    >>> look(read_node("https://node.example", cookie="/.cookie"), made)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the node that looks at a transaction is on this machine, found another, \
which would see it before its time: leave --look out
    """
    if not node.is_here:
        found, fix = "another, which would see it before its time", "leave --look out"
        raise BadInput("the node that looks at a transaction", "is on this machine", found=found, fix=fix)
    try:
        return list(_clues(node, transaction, line))
    except NodeError as error:
        raise Unreachable(f"the node cannot look at it ({error.reason})") from error
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        raise Unreachable("the node's answer has not what one of a node has") from error


def _clues(node: Node, transaction: Transaction, line: Sequence[Transaction]) -> Iterator[Clue]:
    tip = _whole(node.ask("getblockcount"), MOMENT)
    if 0 < transaction.locktime < MOMENT and transaction.locktime <= tip:
        behind = tip - transaction.locktime
        told = (
            f"its lock time is {behind} blocks behind the newest: it was made about {behind * 10} minutes"
        )
        yield Clue("age", f"{told} ago", "make it with locktime 0")
    verdict = node.ask("testmempoolaccept", [each.hex for each in (*line, transaction)])[-1]
    if verdict.get("allowed"):
        fee, vsize = round(_coins(verdict["fees"]["base"]) * _COIN), _whole(verdict["vsize"], _MOST_SIZE)
        yield from _fee_clues(fee, vsize or 1, len(transaction.inputs), _estimates(node))
    elif reason := verdict.get("reject-reason") or verdict.get("package-error"):
        yield _not_taken(one_line(str(reason)))


def _not_taken(reason: str) -> Clue:
    if reason in _KNOWN:
        fix = "there is nothing to delay any more"
        raise BadInput("a transaction", "is not public yet", found="one that the node has already", fix=fix)
    trouble = explain(-26, reason)
    if isinstance(trouble, Refused):
        raise BadInput("a transaction", "is one that the node would take", found=str(trouble))
    return Clue("not now", f"the node would not take it now ({reason})", "make it with a higher fee")


def _estimates(node: Node) -> dict[int, list[Fraction]]:
    """By how many blocks one would wait: fee rates in satoshis a virtual byte, as far as they are known."""
    told: dict[int, list[Fraction]] = {}
    for blocks in _BLOCKS:
        answers: list[Any] = [node.ask("estimatesmartfee", blocks, mode) for mode in _MODES]
        rates = [_coins(each["feerate"]) * _COIN / _KILO for each in answers if "feerate" in each]
        if rates:
            told[blocks] = rates
    return told


def _coins(amount: Any) -> Fraction:
    """An amount that there can be: what a node writes otherwise might take for ever to work out."""
    if type(amount) not in {int, Decimal} or not 0 <= amount <= _MOST_COINS:
        raise TypeError
    return Fraction(amount)


def _whole(number: Any, most: int) -> int:
    if type(number) is not int or not 0 <= number <= most:
        raise TypeError
    return number


def _fee_clues(fee: int, vsize: int, inputs: int, estimates: dict[int, list[Fraction]]) -> Iterator[Clue]:
    if not estimates:
        return
    rate = Fraction(fee, vsize)
    shown = f"{float(rate):.3g} satoshis a virtual byte"
    same = [blocks for blocks, rates in estimates.items() if any(_is_near(rate, each) for each in rates)]
    if same and not _is_round(fee, vsize, inputs):
        told = f"its fee rate, {shown}, is the estimate of this moment for {same[0]} blocks: it tells when"
        yield Clue("fee", f"{told} it was made", _ROUND)
    everything = [each for rates in estimates.values() for each in rates]
    if rate > _FAR * max(everything) or rate * _FAR < min(everything):
        yield Clue("fee", f"its fee rate, {shown}, is far from what others pay now: it stands out", _ROUND)


def _is_near(rate: Fraction, estimate: Fraction) -> bool:
    return abs(rate - estimate) <= estimate * _NEAR


def _is_round(fee: int, vsize: int, inputs: int) -> bool:
    """Whether the rate was meant to be a whole number: a signature may turn out a byte shorter."""
    whole = round(Fraction(fee, vsize))
    return whole > 0 and abs(fee - whole * vsize) <= whole * inputs
