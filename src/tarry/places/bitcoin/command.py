"""Send signed Bitcoin transactions, each after its random delay, through a node of your own.

TX is a raw transaction in hex, a file that holds some, one in each line, or - for standard input. Your
wallet has signed it: tarry never sees a private key. Unless you name one, each transaction is a target of
its own; one that spends what another one in the queue pays has that one's target, and leaves after it.

What shows when a transaction was made (its lock time, a replacement, its fee) is said on standard error;
with --strict it is refused. --look also asks the node about the fee; that node must be on this machine.

  tarry wallet send --strict payment.hex
"""

import argparse
import codecs
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from os import environ
from pathlib import Path
from typing import Any

from tarry.cli.personal_store import (
    add_hand_in,
    find_post,
    open_gate,
    print_receipt,
    receipt_json,
    see_to_keeper,
    wait_for,
)
from tarry.cli.show import print_json
from tarry.core.errors import BadInput
from tarry.keep.errors import NoSuchPost, TooLate
from tarry.keep.gate import Gate
from tarry.keep.home import ME, Home
from tarry.keep.posts import Post, Receipt, shown_id
from tarry.places.bitcoin.client import read_node
from tarry.places.bitcoin.clues import Clue, clues_of, look, refuse_clues
from tarry.places.bitcoin.transaction import Queued, RawTransaction, arrange, read_transaction

__all__ = ["add_arguments", "run"]

_NODE, _COOKIE = "http://127.0.0.1:8332", "~/.bitcoin/.cookie"
_SHOWN = 8  # digits of a txid or an id, for a person
_HEX = re.compile(r"[0-9a-fA-F]{20,}")
_MOST_READ = 16 << 20
#: How a version of today begins in bytes; no text has a NUL there.
_BINARY = re.compile(rb"[\x01-\x0f]\0\0\0")
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry wallet`."""
    parser.add_argument("verb", metavar="send", choices=["send"], help="send is all there is")
    parser.add_argument("transactions", metavar="TX", nargs="+", help="hex, a file, or -")
    parser.add_argument("--strict", action="store_true", help="refuse what tells when it was made")
    parser.add_argument("--look", action="store_true", help="let a node on this machine judge the fee too")
    parser.add_argument("--node", metavar="URL", default=_NODE, help=f"your node (default {_NODE})")
    parser.add_argument("--cookie", metavar="FILE", help=f"the node's cookie file (default {_COOKIE})")
    parser.add_argument(
        "--login", metavar="FILE", help="a private file with user:password in one line, instead of a cookie"
    )
    add_hand_in(parser, "the txid, or the target of what it spends")


def run(arguments: argparse.Namespace) -> int:
    """Hand the transactions in."""
    transactions = [_read(text) for text in _texts(arguments.transactions)]
    clues = {each.txid: list(clues_of(each)) for each in transactions}
    options = _options(arguments)
    _refuse(arguments, clues)
    gate = open_gate(arguments)
    first, target = None, arguments.target
    if arguments.after is not None:
        row = find_post(gate, arguments.after)
        first, target = row["id"], target or row["target"]
    keys, queue = _queue(gate)
    placed = arrange(transactions, queue, target)
    if arguments.look:
        node = read_node(options["node"], cookie=options.get("cookie"), login=options.get("login"))
        for each in placed:
            clues[each.transaction.txid] += look(node, each.transaction, each.line)
        _refuse(arguments, clues)
    taken: dict[str, Receipt] = {}
    try:
        for wave in _waves(placed):
            before = [keys.get(each.after or "", first) for each in wave]
            posts = [_post(arguments, options, *each) for each in zip(wave, before, strict=True)]
            for each, receipt in zip(wave, gate.admit_many(posts), strict=True):
                keys[each.transaction.txid], taken[each.transaction.txid] = receipt.post, receipt
    finally:  # what was taken is printed, whatever happened to the others
        if taken:
            _print_taken(
                arguments, [each for each in placed if each.transaction.txid in taken], taken, clues
            )
    return max(wait_for(gate, receipt) for receipt in taken.values()) if arguments.wait else 0


def _post(
    arguments: argparse.Namespace, options: dict[str, Any], placed: Queued, depends_on: int | None
) -> Post:
    return Post(
        actor=ME,
        target=placed.target,
        outlet="bitcoin",
        content=placed.transaction.raw.hex().encode(),
        options={**options, "txid": placed.transaction.txid},
        track=arguments.track,
        more_to_come=arguments.more,
        depends_on=depends_on,
    )


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the outlet will need, whatever directory the keeper works in."""
    options = {"node": arguments.node}
    if arguments.login is not None:
        options["login"] = str(Path(arguments.login).absolute())
    if arguments.cookie is not None or arguments.login is None:
        options["cookie"] = str(Path(arguments.cookie or _COOKIE).expanduser().absolute())
    return options


def _queue(gate: Gate) -> tuple[dict[str, int], list[Queued]]:
    """The transactions that wait or are parked: their keys, and themselves."""
    waiting = {}
    for row, status in gate.posts():
        if row["outlet"] == "bitcoin":
            with suppress(TooLate, NoSuchPost):  # it has just left
                waiting[row["id"]] = row, status, read_transaction(gate.content_of(row["id"]))
    names = {post: transaction.txid for post, (_, _, transaction) in waiting.items()}
    queue = [
        Queued(
            transaction,
            row["target"],
            names.get(row["parent"]),
            waits=status.state == "waiting",
            id=shown_id(row["id"])[:_SHOWN],
        )
        for row, status, transaction in waiting.values()
    ]
    return {txid: post for post, txid in names.items()}, queue


def _waves(placed: Sequence[Queued]) -> Iterator[list[Queued]]:
    """What can be admitted at once, in one tick: nobody before what it waits for has a key."""
    new = {each.transaction.txid for each in placed}
    for _, wave in groupby(placed, lambda each: sum(one.txid in new for one in each.line)):
        yield list(wave)


def _refuse(arguments: argparse.Namespace, clues: dict[str, list[Clue]]) -> None:
    for txid, its_clues in clues.items() if arguments.strict else ():
        refuse_clues(its_clues, f"transaction {txid[:_SHOWN]} shows when it was made (--strict)")


def _print_taken(
    arguments: argparse.Namespace,
    placed: Sequence[Queued],
    taken: dict[str, Receipt],
    clues: dict[str, list[Clue]],
) -> None:
    started = see_to_keeper(Home.of(environ))
    if arguments.json:
        rows = [
            {
                "txid": each.transaction.txid,
                "target": each.target,
                "after": each.after,
                **receipt_json(taken[each.transaction.txid]),
                "clues": [vars(clue) for clue in clues[each.transaction.txid]],
            }
            for each in placed
        ]
        print_json({"transactions": rows, "keeper_started": started})
        return
    for each in placed:
        txid = each.transaction.txid
        print(f"txid       {txid}")
        print_receipt(taken[txid], None, started=started, as_json=False)
        for clue in clues[txid]:
            print(f"tarry wallet: {txid[:_SHOWN]}: {clue.sentence}: {clue.fix}", file=sys.stderr)


def _texts(words: Sequence[str]) -> Iterator[str]:
    """What stands on a command line; files hold one transaction in each line."""
    for word in words:
        if word == "null" or _HEX.fullmatch(word):
            yield word
            continue
        lines = [line.strip() for line in _content(word).splitlines()]
        if not any(lines):
            raise BadInput(f"there is no transaction in {word!r}", "give a file with hex in it")
        yield from filter(None, lines)


def _content(word: str) -> str:
    if word == "-":
        content = sys.stdin.buffer.read(_MOST_READ + 1)
    else:
        path = Path(word)
        if not path.is_file():
            raise BadInput(
                f"{word[:40]!r} is neither a file nor hex", "give a transaction in hex, a file, or -"
            )
        with path.open("rb") as file:
            content = file.read(_MOST_READ + 1)
    if len(content) > _MOST_READ:
        raise BadInput(f"a file of transactions must have at most {_MOST_READ} bytes", "send fewer at once")
    if _BINARY.match(content):
        raise BadInput(
            "a transaction must be in hex, not its bytes themselves",
            "write it in hex: xxd -p FILE | tr -d '\\n'",
        )
    # Some editors and shells put a mark before a text. Whatever it is otherwise: hex is looked for in it.
    encoding = next((each for mark, each in _MARKS.items() if content.startswith(mark)), "latin-1")
    return content.decode(encoding, errors="replace")


def _read(text: str) -> RawTransaction:
    if text == "null":
        raise BadInput(
            "a transaction must be in hex, not null",
            'let the wallet sign all of it ("complete" in its answer says whether it has)',
        )
    transaction = read_transaction(text.encode("latin-1", errors="replace"))
    transaction.check_signed()
    return transaction
