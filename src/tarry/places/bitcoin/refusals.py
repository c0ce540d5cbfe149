"""What a node's refusal means: never (and what a person can do about it), or not now.

The reasons are those of Bitcoin Core and what descends from it. One that is not known is shown as it is.
"""

import re
from typing import NamedTuple

from tarry.keep.errors import Refused, Unreachable

__all__ = ["ALREADY_THERE", "MISSING", "explain"]

#: It has been mined, and something that it pays is still unspent.
ALREADY_THERE = -27
#: How nodes of several years say that a coin is not there.
MISSING = ("bad-txns-inputs-missingorspent", "missing-inputs", "missing inputs", "missingorspent")

_ABOUT_IT = {-25, -26}
_UNREADABLE = -22
_BROKE = {-1, -32603}  # something inside it, at whichever moment, be it after it has taken it
_NOT_NOW = (
    "mempool min fee not met",
    "mempool full",
    "too-long-mempool-chain",
    "too-large-cluster",
    "accepttomemorypool failed",
)
_LONG_DIGITS = re.compile(r"[0-9a-fA-F]{16,}")


class _Reading(NamedTuple):
    marks: tuple[str, ...]  # any of these in the reason, in lower case
    meaning: str


_FEE = "make another one with a higher fee, and send that"
_READINGS = (
    _Reading(
        MISSING,
        "a coin that it spends is gone or unknown: spent by another transaction (look for your own), never "
        "sent by whoever made it, or spent by this one long ago, which a node tells only with txindex",
    ),
    _Reading(
        ("txn-mempool-conflict", "spends-conflicting", "replacement-adds-unconfirmed", "bip125"),
        "another transaction that waits to be mined spends the same coin: withdraw this one, or wait",
    ),
    _Reading(
        ("insufficient fee", "too many potential replacements", "replacement-failed"),
        f"it would replace another one, and pays too little for that: {_FEE}",
    ),
    _Reading(("min relay fee not met",), f"nodes pass on nothing at so low a fee: {_FEE}"),
    _Reading(
        ("fee exceeds maximum", "absurdly-high-fee", "max-fee-exceeded", "max feerate exceeded"),
        "its fee is so high that the node takes it for a mistake: make another one",
    ),
    _Reading(
        ("unspendable output exceeds", "max-burn", "maxburn"),
        "it pays what nobody can ever spend, which the node takes for a mistake: make another one",
    ),
    _Reading(
        ("non-bip68-final", "non-final"),
        "its lock has not ended: repeat it when the block or the moment has come",
    ),
    _Reading(
        ("premature-spend-of-coinbase",),
        "it spends a miner's reward that is too young: repeat it after 100 blocks",
    ),
    _Reading(
        ("script-verify-flag", "witness-program", "bad-witness"),
        "a signature or a script is wrong: sign it again with the keys of the coins that it spends",
    ),
    _Reading(("in-belowout",), "it pays more than it spends: make another one"),
    _Reading(("dust",), "an output is too small to be passed on: make another one without it"),
    _Reading(
        (
            "scriptpubkey",
            "scriptsig",
            "tx-size",
            "version",
            "bare-multisig",
            "multi-op-return",
            "datacarrier",
        ),
        "the node does not pass on such transactions: make another one, or use a node that does",
    ),
)


def explain(code: int, reason: str) -> Refused | Unreachable:
    """The trouble that an answer of a node means.

    >>> str(explain(-26, "dust"))
    'the node refuses it (dust): an output is too small to be passed on: make another one without it'
    >>> type(explain(-28, "Loading block index..."))
    <class 'tarry.keep.errors.Unreachable'>
    """
    words = _LONG_DIGITS.sub("...", reason)  # ids of transactions are what waits here
    if code == _UNREADABLE:
        return Refused(f"the node cannot read it ({words}): make another one")
    if code not in _ABOUT_IT:  # it warms up, is busy, or does not know what is asked
        return Unreachable(f"the node answered {code}: {words}", sent=code in _BROKE)
    lower = reason.lower()
    if any(mark in lower for mark in _NOT_NOW):
        return Unreachable(f"the node does not take it now ({words}): it is tried again")
    for marks, meaning in _READINGS:
        if any(mark in lower for mark in marks):
            return Refused(f"the node refuses it ({words}): {meaning}")
    return Refused(f"the node refuses it ({words}): make another one, or ask its operator")
