"""Payments that a Bitcoin node knows: in blocks, by the block's time, or in its mempool, by first sight."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import ip_address
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tarry.core.errors import BadInput
from tarry.readers.events import Event, Stream
from tarry.readers.exports.node_rpc import NodeRpc, RpcError, read_cookie
from tarry.readers.faults import Faults, shown
from tarry.readers.moments import NoMoment, counted_us
from tarry.readers.web_call import split_address

__all__ = ["read_bitcoin"]

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
_GONE = "it left the mempool while that was read"


class _Seen(NamedTuple):
    """A transaction, and when it counts as seen."""

    payment: Mapping[str, Any]
    seconds: object
    spent: list[Any]  # the scripts of what it spends, in the order of its inputs


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
    tarry.core.errors.BadInput: blocks must be two heights as FROM-TO, found another: 800000
    """
    heights = None if blocks is None else _heights(blocks)
    if heights is None and not mempool:
        raise BadInput("what to read of a node", "must be blocks, the mempool or both", found="neither")
    if cookie and login:
        raise BadInput("the login", "must be a cookie file or a user and password", found="both")
    rpc = NodeRpc(address=node, login=read_cookie(cookie) if cookie else login, wait=wait)
    faults = Faults(rpc.who)
    notes = (_WHO, *(_BLOCKS if heights else ()), *([_MEMPOOL] if mempool else []))
    if rpc.login and _is_open_line(node):
        notes = (*notes, _OPEN_LINE)
    return Stream(_events(_payments(rpc, heights, mempool=mempool), faults), faults, notes)


def _heights(text: str) -> range:
    found = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", text)
    if not found:
        raise BadInput("blocks", "must be two heights as FROM-TO", found=f"another{shown(text)}")
    first, last = map(int, found.groups())
    if last < first:
        raise BadInput("blocks", "must be FROM-TO with FROM first", found=text)
    return range(first, last + 1)


def _is_open_line(node: str) -> bool:
    parts = split_address(node)
    try:
        here = ip_address(parts.hostname or "").is_loopback
    except ValueError:
        here = parts.hostname == "localhost"
    return parts.scheme == "http" and not here


def _payments(rpc: NodeRpc, heights: range | None, *, mempool: bool) -> Iterator[_Seen | str]:
    if heights:
        yield from _in_blocks(rpc, heights)
    if mempool:
        yield from _in_mempool(rpc)


def _in_blocks(rpc: NodeRpc, heights: range) -> Iterator[_Seen]:
    tip = rpc.call("getblockcount")
    if not isinstance(tip, int) or heights[-1] > tip:
        raise BadInput(
            "blocks", f"must be among those of {rpc.who}", found=f"{heights[-1]}, the last is {tip}"
        )
    for height in heights:
        block = rpc.call("getblock", rpc.call("getblockhash", height), 3)
        if not isinstance(block, dict) or not isinstance(block.get("tx"), list):
            rpc.refuse_strange()
        for payment in map(_object, block["tx"]):
            inputs = _listed(payment, "vin")
            if not any("coinbase" in each for each in inputs):  # new coins, which nobody sent
                spent = [_object(each.get("prevout")).get("scriptPubKey") for each in inputs]
                yield _Seen(payment, block.get("time"), spent)


def _in_mempool(rpc: NodeRpc) -> Iterator[_Seen | str]:
    known = rpc.call("getrawmempool")
    if not isinstance(known, list):
        rpc.refuse_strange()
    for names in _pieces(known, _AT_ONCE):
        entries = rpc.calls("getmempoolentry", [(name,) for name in names])
        payments = rpc.calls("getrawtransaction", [(name, 1) for name in names])
        there = [
            (_object(entry), _object(payment))
            for entry, payment in zip(entries, payments, strict=True)
            if not isinstance(entry, RpcError) and not isinstance(payment, RpcError)
        ]
        outs = [_out(each) for _, payment in there for each in _listed(payment, "vin")]
        scripts = _scripts(rpc, dict.fromkeys(outs))
        for entry, payment in there:
            spent = [scripts.get(_out(each)) for each in _listed(payment, "vin")]
            yield _Seen(payment, entry.get("time"), spent)
        yield from [_GONE] * (len(names) - len(there))


def _scripts(rpc: NodeRpc, outs: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Any]:
    """The scripts of outputs that the mempool spends: a node tells them for blocks only.

    Each is an output that no block has spent yet, or one of another payment in the mempool.
    """
    found: dict[tuple[str, int], Any] = {}
    for piece in _pieces(outs, _MANY):
        told = rpc.calls("gettxout", [(*out, False) for out in piece])
        found |= {out: _object(each).get("scriptPubKey") for out, each in zip(piece, told, strict=True)}
        unknown = [out for out in piece if found[out] is None]
        parents = rpc.calls("getrawtransaction", [(name, 1) for name, _ in unknown])
        for (name, place), parent in zip(unknown, parents, strict=True):
            outputs = {each.get("n"): each for each in _listed(_object(parent), "vout")}
            found[name, place] = outputs.get(place, {}).get("scriptPubKey")
    return found


def _events(payments: Iterable[_Seen | str], faults: Faults) -> Iterator[Event]:
    good = 0
    for number, seen in enumerate(payments, 1):
        event = seen if isinstance(seen, str) else _event(seen)
        if isinstance(event, Event):
            good += 1
            yield event
        else:
            faults.add(number, event)
            faults.give_up_if_hopeless(good)


def _event(seen: _Seen) -> Event | str:
    """One payment, or why it is none."""
    if not seen.spent or seen.spent[0] is None:
        return "the node does not tell what the first input spends"
    senders = [_object(script).get("address") for script in seen.spent]
    if not isinstance(senders[0], str):
        return "the first input has no address"
    scripts = [_object(each.get("scriptPubKey")) for each in _listed(seen.payment, "vout")]
    if not scripts:
        return "there is no output"
    targets = (script.get("address") for script in scripts)
    kind = str(scripts[0].get("type", ""))
    target = next((each for each in targets if isinstance(each, str) and each not in senders), kind)
    try:
        return Event(senders[0], target, counted_us(seen.seconds, "s"))
    except NoMoment as error:
        return str(error)


def _out(spending: Mapping[str, Any]) -> tuple[str, int]:
    """Which output of which transaction is spent."""
    place = spending.get("vout")
    return str(spending.get("txid")), place if isinstance(place, int) else -1


def _listed(value: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = value.get(name)
    return [_object(each) for each in found] if isinstance(found, list) else []


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _pieces(things: Iterable[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(things)
    while piece := list(islice(rest, size)):
        yield piece
