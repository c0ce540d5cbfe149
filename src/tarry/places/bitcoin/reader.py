"""Payments that a Bitcoin node knows: in blocks, by the block's time, or in its mempool, by first sight."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput, NotPossible
from tarry.keep.errors import Unreachable
from tarry.net.address import Address, read_address
from tarry.net.web import WebRequest, ask
from tarry.places.bitcoin.client import WHERE, Node, NodeError, first_line
from tarry.readers.events import Event, Stream
from tarry.readers.exports import as_object, event_of, events_in, listed
from tarry.readers.faults import Faults, clip
from tarry.readers.moments import counted_us

__all__ = ["read_bitcoin"]

_MOST = 256 << 20  # a full block with all that it spends is some tens of megabytes of JSON
_AT_ONCE = 25  # transactions of the mempool that are held
_MANY = 100  # questions in one request
_WHO = "one wallet's addresses are not known to be one actor: give a mapping with --owners"
_BLOCKS = (
    "the time of a block is its miner's clock: one for all payments in it, and it may be two hours off",
    "a payment is in a block minutes to days after it was sent",
)
_MEMPOOL = (
    "first seen is this node's own clock, and is lost when a payment is mined; a restart keeps it, unless"
    " the node broke off or is set to forget its mempool (persistmempool=0)"
)
_OPEN_LINE = "the login went to another machine without encryption: use a tunnel"
_ADVICE = {
    -1: "read later blocks: it may have pruned that one",
    -8: "it does not know that block or option",
    -28: "try again when it has started",
    -32601: "use a node of Bitcoin Core 23 or newer",
}


def read_bitcoin(
    node: str,
    *,
    cookie: str | Path | None = None,
    login: tuple[str, str] | None = None,
    blocks: str | None = None,
    mempool: bool = False,
    wait: Callable[[float], None] = time.sleep,
) -> Stream:
    """Read the payments in blocks FROM-TO (both of them too), those in the mempool, or both.

    The actor is the address of the first input, the target the first address among the outputs that is none
    of the inputs' (without one, the kind of the first output's script). One block, or a few payments, are
    held at a time. The node is asked over JSON-RPC, with the login in its cookie file or another one.

    >>> read_bitcoin("http://127.0.0.1:8332", blocks="800000")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: --blocks must be two heights as FROM-TO, not '800000'
    """
    heights = None if blocks is None else _heights(blocks)
    if heights is None and not mempool:
        raise BadInput("neither blocks nor the mempool are asked for", "give --blocks, --mempool or both")
    if cookie and login:
        raise BadInput("the node has both a cookie and a login", "give one of the two")
    address = read_address(node, WHERE)
    who = f"the node {address.server}"
    secret = _cookie(Path(cookie)) if cookie else ":".join(login).encode() if login else None
    rpc = Node(address=address, send=partial(_send, who=who, wait=wait), secret=secret, who=who, most=_MOST)
    faults = Faults(who)
    notes = (_WHO, *(_BLOCKS if heights else ()), *([_MEMPOOL] if mempool else []))
    if secret and not (address.tls or address.is_here):
        notes = (*notes, _OPEN_LINE)
    found = enumerate(_payments(rpc, heights, mempool=mempool), 1)
    return Stream(events_in(found, faults), faults, notes)


def _send(
    address: Address,
    headers: dict[str, str],
    body: bytes,
    *,
    most: int,
    who: str,
    wait: Callable[[float], None],
) -> Any:
    """A node that is too busy is asked again."""
    return ask(
        WebRequest(method="POST", who=who, address=address, headers=headers, body=body, most=most), wait
    )


def _cookie(path: Path) -> bytes:
    """The login in a node's cookie file, which it writes anew at each start."""
    fix = "name the file .cookie in the data directory of the node"
    try:
        secret = first_line(path)
    except OSError as error:
        raise BadInput(f"the cookie file {str(path)!r} cannot be read ({error.strerror})", fix) from None
    if b":" not in secret or not secret.isascii():
        raise BadInput(f"the cookie file {str(path)!r} does not hold user:password", fix)
    return secret


def _heights(text: str) -> range:
    heights = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", text)
    if not heights:
        raise BadInput(f"--blocks must be two heights as FROM-TO, not {clip(text)!r}")
    first, last = map(int, heights.groups())
    if last < first:
        raise BadInput(f"--blocks must be FROM-TO with FROM first, not {text}")
    return range(first, last + 1)


def _payments(rpc: Node, heights: range | None, *, mempool: bool) -> Iterator[Event | str]:
    try:
        if heights:
            yield from _in_blocks(rpc, heights)
        if mempool:
            yield from _in_mempool(rpc)
    except NodeError as error:  # its own words may show an address: they are left out
        advice = f": {_ADVICE[error.code]}" if error.code in _ADVICE else ""
        raise NotPossible(f"{rpc.who} refused {error.method} with code {error.code}{advice}") from None
    except Unreachable as error:
        raise NotPossible(str(error)) from None


def _in_blocks(rpc: Node, heights: range) -> Iterator[Event | str]:
    tip = rpc.ask("getblockcount")
    if not isinstance(tip, int) or heights[-1] > tip:
        raise BadInput(f"{rpc.who} has no block {heights[-1]}", f"end at {tip}, its last one")
    for height in heights:
        block = rpc.ask("getblock", rpc.ask("getblockhash", height), 3)
        if not isinstance(block, dict) or not isinstance(block.get("tx"), list):
            raise rpc.strange_answer()
        for payment in map(as_object, block["tx"]):
            inputs = listed(payment, "vin")
            if not any("coinbase" in each for each in inputs):  # new coins, which nobody sent
                spent = [as_object(each.get("prevout")).get("scriptPubKey") for each in inputs]
                yield _event(payment, block.get("time"), spent)


def _in_mempool(rpc: Node) -> Iterator[Event | str]:
    known = rpc.ask("getrawmempool")
    if not isinstance(known, list):
        raise rpc.strange_answer()
    for names in _pieces(known, _AT_ONCE):
        entries = rpc.ask_many("getmempoolentry", [(name,) for name in names])
        payments = rpc.ask_many("getrawtransaction", [(name, 1) for name in names])
        there = [
            (as_object(entry), as_object(payment))
            for entry, payment in zip(entries, payments, strict=True)
            if not isinstance(entry, NodeError) and not isinstance(payment, NodeError)
        ]
        outs = {_out(each): None for _, payment in there for each in listed(payment, "vin")}
        scripts = _scripts(rpc, list(outs))
        for entry, payment in there:
            spent = [scripts.get(_out(each)) for each in listed(payment, "vin")]
            yield _event(payment, entry.get("time"), spent)
        yield from ["it left the mempool while that was read"] * (len(names) - len(there))


def _scripts(rpc: Node, outs: Sequence[tuple[str, int]]) -> dict[tuple[str, int], Any]:
    """The scripts of outputs that the mempool spends: a node tells them for blocks only.

    Each is an output that no block has spent yet, or one of another payment in the mempool.
    """
    scripts: dict[tuple[str, int], Any] = {}
    for piece in _pieces(outs, _MANY):
        answers = rpc.ask_many("gettxout", [(*out, False) for out in piece])
        scripts |= {
            out: as_object(each).get("scriptPubKey") for out, each in zip(piece, answers, strict=True)
        }
        unknown = [out for out in piece if scripts[out] is None]
        parents = rpc.ask_many("getrawtransaction", [(name, 1) for name, _ in unknown])
        for (name, place), parent in zip(unknown, parents, strict=True):
            outputs = {each.get("n"): each for each in listed(as_object(parent), "vout")}
            scripts[name, place] = outputs.get(place, {}).get("scriptPubKey")
    return scripts


def _event(payment: Mapping[str, Any], seconds: object, spent: list[Any]) -> Event | str:
    """One payment, or why it is none; `spent` are the scripts of what it spends, in their order."""
    if not spent or spent[0] is None:
        return "the node does not tell what the first input spends"
    senders = [as_object(script).get("address") for script in spent]
    if not isinstance(senders[0], str):
        return "the first input has no address"
    scripts = [as_object(each.get("scriptPubKey")) for each in listed(payment, "vout")]
    if not scripts:
        return "there is no output"
    others = [each["address"] for each in scripts if isinstance(each.get("address"), str)]
    target = next((each for each in others if each not in senders), str(scripts[0].get("type", "")))
    return event_of(senders[0], target, seconds, read=partial(counted_us, unit="s"))


def _out(spending: Mapping[str, Any]) -> tuple[str, int]:
    """Which output of which transaction is spent."""
    place = spending.get("vout")
    return str(spending.get("txid")), place if isinstance(place, int) else -1


def _pieces(things: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [things[start : start + size] for start in range(0, len(things), size)]
