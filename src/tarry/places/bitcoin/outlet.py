"""Bitcoin: a signed transaction is given to a node, which passes it on to the world.

The content of a post is the raw transaction, in hex. Whoever made it has signed it: tarry never sees a
private key. Nothing but the transaction is sent, in a request that is the same whoever asks and whenever.

Exactly once: a transaction has one name, its txid, and a coin is spent once. A node that has it already in
its mempool takes it again without a word, and one that has seen it mined says so: both count as done. A
node that refuses it is asked first whether it has it under its txid. What became invalid while it waited
(its coin was spent elsewhere, its fee is too low) is parked for a person, with what can be done.

What others learn nevertheless: the node, and whoever can watch its lines, see the transaction come from
this machine, so it should be a node of one's own; its peers see it come from the node.
"""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused
from tarry.keep.outlet import Delivery, Outlet
from tarry.keep.posts import Release
from tarry.places.bitcoin.client import ALREADY_THERE, Node, NodeError, explain, read_node
from tarry.places.bitcoin.clues import clues_of, refuse_clues
from tarry.places.bitcoin.transaction import RawTransaction, read_transaction
from tarry.places.checks import check_options, never_taken
from tarry.places.http import only_asking

__all__ = ["Bitcoin"]

_NO_SUCH = -5


class Bitcoin(Outlet):
    """Sends each release to a node: to the operator's, or, where none is given, to the one a post names.

    A node lets in whoever can read its cookie file, or by a login file of one line, user:password. Options
    of a post: `txid`, which must be the transaction's; and, where the operator has given no node, `node`
    (a URL) with `cookie` or `login` (absolute paths). With `strict` a transaction that tells when it was
    made is refused at admission.

    >>> outlet = Bitcoin()
    >>> outlet.check({"node": "http://127.0.0.1:8332", "login": "/nowhere/login"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the login file '/nowhere/login' cannot be read (No such file or \
directory): check its path and rights
    """

    delivery: Delivery = "exactly once"

    def __init__(
        self,
        node: str | None = None,
        *,
        cookie: str | Path | None = None,
        login: str | Path | None = None,
        strict: bool = False,
        timeout_s: float = 10,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._strict, self._timeout_s, self._tls, self._node = strict, timeout_s, tls, None
        if node is not None:
            self._node = read_node(node, cookie=cookie, login=login, timeout_s=timeout_s, tls=tls)
            self._node.check()
        elif cookie is not None or login is not None:
            raise BadInput("a cookie or a login is given without a node", "give the node's address")

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse options that lead to no node."""
        self._node_of(options).check()

    def check_content(self, options: Mapping[str, Any], content: bytes) -> None:
        """Refuse what is no signed transaction, and, where that is wanted, one that tells its moment."""
        transaction = _read(options, content)
        if self._strict:
            refuse_clues(clues_of(transaction), "the transaction tells when it was made")

    @never_taken()
    def deliver(self, release: Release) -> None:
        """Give it to the node, or raise why not."""
        node, transaction = self._node_of(release.options), _read(release.options, release.content)
        try:
            txid = node.ask("sendrawtransaction", transaction.raw.hex())
        except NodeError as error:
            if error.code == ALREADY_THERE:
                return
            trouble = explain(error.code, error.reason)
            if isinstance(trouble, Refused) and _is_there(node, transaction):
                return
            raise trouble from error
        if txid != transaction.txid:
            raise Refused("the node took it under another name: look whether it is there, then withdraw it")

    def _node_of(self, options: Mapping[str, Any]) -> Node:
        check_options(
            options, {"txid"} if self._node else {"txid", "node", "cookie", "login"}, "a transaction"
        )
        txid = options.get("txid", "")
        if not isinstance(txid, str):
            raise BadInput(f"the txid of a post must be a text, not {type(txid).__name__}")
        if self._node is not None:
            return self._node
        return read_node(
            options.get("node"),
            cookie=options.get("cookie"),
            login=options.get("login"),
            timeout_s=self._timeout_s,
            tls=self._tls,
        )


def _read(options: Mapping[str, Any], content: bytes) -> RawTransaction:
    transaction = read_transaction(content)
    transaction.check_signed()
    if options.get("txid", transaction.txid) != transaction.txid:
        raise BadInput("the txid of a post must be that of its transaction", "correct it, or leave it out")
    return transaction


@only_asking()
def _is_there(node: Node, transaction: RawTransaction) -> bool:
    """Whether the node has it; of one that was mined long ago it may know nothing any more."""
    txid = transaction.txid
    if _has(node, "getmempoolentry", txid) or _has(node, "getrawtransaction", txid):
        return True
    outputs = range(min(len(transaction.outputs), 16))  # one that is unspent is enough
    return any(_has(node, "gettxout", txid, index) for index in outputs)


def _has(node: Node, method: str, *params: Any) -> bool:
    try:
        return node.ask(method, *params) is not None
    except NodeError as error:
        if error.code == _NO_SUCH:
            return False
        raise explain(error.code, error.reason) from error  # a node that cannot answer has not said no
