"""A Bitcoin node, by its JSON-RPC: one question, one answer, or many at once.

The request says what is asked and nothing else: the id of a single one is always the same, its fields stand
in one order. The password is read at each question, because a node writes a new cookie at each start. An
outlet speaks encrypted to everything but a node on this machine: password and transaction would be read on
their way.

What a refusal means (never, and what a person can do about it, or not now) is told by the reasons of
Bitcoin Core and what descends from it. One that is not known is shown as it is.
"""

import base64
import json
import re
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput, TarryError
from tarry.keep.errors import Refused, Unreachable
from tarry.net.address import Address, read_address
from tarry.net.http_call import Response, one_line
from tarry.places.checks import check_timeout, read_path
from tarry.places.http import call
from tarry.readers.kind import check_private

__all__ = [
    "ALREADY_THERE",
    "MISSING",
    "WHERE",
    "Node",
    "NodeError",
    "Send",
    "explain",
    "first_line",
    "read_node",
]

#: How a request goes out: address, headers, body, and in `most` how many bytes may be answered.
Send = Callable[..., Response]
#: What sentences call the address.
WHERE = "the address of a node"
#: It has been mined, and something that it pays is still unspent.
ALREADY_THERE = -27
#: How nodes of several years say that a coin is not there.
MISSING = ("bad-txns-inputs-missingorspent", "missing-inputs", "missing inputs", "missingorspent")
_MOST_ANSWER = 64 << 10
_MOST = {"getrawtransaction": 1 << 20}  # more than any node passes on
#: What reading raises where something is no answer of a node.
_STRANGE = (ValueError, ArithmeticError, RecursionError, LookupError, TypeError, AttributeError)
_LONGEST_S = 30
_LARGEST_CODE = 1_000_000
_LONGEST_NUMBER, _MOST_DIGITS = 40, 30
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
_FEE = "make another one with a higher fee, and send that"
#: What any of these words in a reason (in lower case) mean.
_READINGS = (
    (
        MISSING,
        (
            "a coin that it spends is gone or unknown: look for a transaction of your own that spent it; "
            "it may never have been sent, or this one spent it long ago, which a node tells only with "
            "txindex"
        ),
    ),
    (
        ("txn-mempool-conflict", "spends-conflicting", "replacement-adds-unconfirmed", "bip125"),
        "another transaction that waits to be mined spends the same coin: withdraw this one, or wait",
    ),
    (
        ("insufficient fee", "too many potential replacements", "replacement-failed"),
        f"it would replace another one, and pays too little for that: {_FEE}",
    ),
    (("min relay fee not met",), f"nodes pass on nothing at so low a fee: {_FEE}"),
    (
        ("fee exceeds maximum", "absurdly-high-fee", "max-fee-exceeded", "max feerate exceeded"),
        "its fee is so high that the node takes it for a mistake: make another one",
    ),
    (
        ("unspendable output exceeds", "max-burn", "maxburn"),
        "it pays what nobody can ever spend, which the node takes for a mistake: make another one",
    ),
    (
        ("non-bip68-final", "non-final"),
        "its lock has not ended: repeat it when the block or the moment has come",
    ),
    (
        ("premature-spend-of-coinbase",),
        "it spends a miner's reward that is too young: repeat it after 100 blocks",
    ),
    (
        ("script-verify-flag", "witness-program", "bad-witness"),
        "a signature or a script is wrong: sign it again with the keys of the coins that it spends",
    ),
    (("in-belowout",), "it pays more than it spends: make another one"),
    (("dust",), "an output is too small to be passed on: make another one without it"),
    (
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


class NodeError(TarryError):
    """The node has read the question, and says no. `code` and `reason` are its own, `method` is ours.

    >>> raise NodeError(-26, "dust")
    Traceback (most recent call last):
    tarry.places.bitcoin.client.NodeError: the node answered -26: dust
    """

    def __init__(self, code: int, reason: str, method: str = "") -> None:
        self.code, self.reason, self.method = code, reason, method
        super().__init__(f"the node answered {code}: {reason}")


@dataclass(frozen=True, kw_only=True)
class Node:
    """Where a node is, what lets one in, and how requests go out.

    >>> read_node("http://127.0.0.1:8332", cookie="/home/ann/.bitcoin/.cookie").address.is_here
    True
    """

    address: Address
    send: Send = field(repr=False)
    cookie: Path | None = None  # written by the node
    login: Path | None = None  # user:password, written by a person
    secret: bytes | None = field(default=None, repr=False)  # user:password themselves
    who: str = "the node"  # what sentences call it
    most: int = _MOST_ANSWER  # bytes of an answer

    def check(self) -> None:
        """Refuse files that can never let anybody in; a cookie is there only while its node runs."""
        if self.login is not None:
            _read_login(self.login)
        elif self.cookie is not None and not self.cookie.parent.is_dir():
            raise BadInput(
                f"there is no folder {str(self.cookie.parent)!r} with a node's cookie",
                "give the .cookie in the node's data folder",
            )

    def ask(self, method: str, *params: Any) -> Any:
        """What the node answers; `NodeError` if that is no, `Unreachable` if it answers nothing.

        That is marked as `sent` where it is not known whether the node has done what it was asked.
        """
        response = self._post(_question("tarry", method, params), max(self.most, _MOST.get(method, 0)))
        try:
            result = _result(_json(response), method)
        except _STRANGE:
            raise self.strange_answer(response) from None
        if isinstance(result, NodeError):
            raise result
        return result

    def ask_many(self, method: str, each: Sequence[Sequence[Any]]) -> list[Any]:
        """The answers to one question about many things, in their order; in place of one, a `NodeError`."""
        if not each:
            return []
        response = self._post([_question(n, method, params) for n, params in enumerate(each)], self.most)
        try:
            answers = {answer.get("id"): _result(answer, method) for answer in _json(response)}
            return [answers[number] for number in range(len(each))]
        except _STRANGE:
            raise self.strange_answer(response) from None

    def strange_answer(self, response: Response | None = None) -> Unreachable:
        """The trouble with something that is no node."""
        status = "" if response is None else f" ({response})"
        return Unreachable(
            f"{self.who} answered something that is no answer of a node{status}: check its address",
            sent=True,
        )

    def _post(self, question: object, most: int) -> Response:
        headers = {"User-Agent": "tarry", "Connection": "close", "Content-Type": "application/json"}
        if (secret := self._secret()) is not None:
            headers["Authorization"] = f"Basic {base64.b64encode(secret).decode()}"
        response = self.send(self.address, headers, json.dumps(question).encode(), most=most)
        if response.status == 401:
            raise Unreachable(f"{self.who} does not know this login: check the cookie or login file")
        if response.status == 403:
            raise Unreachable(
                f"{self.who} does not let us in from here: check its rpcallowip and rpcwhitelist"
            )
        return response

    def _secret(self) -> bytes | None:
        if self.login is not None:
            try:
                return _read_login(self.login)
            except BadInput as error:  # without its words: they tell where the file lies
                raise Unreachable("the node's login file cannot be used as it is now") from error
        if self.cookie is None:
            return self.secret
        try:
            return first_line(self.cookie)
        except FileNotFoundError:
            raise Unreachable("the node's cookie is not there: start the node") from None
        except OSError as error:
            raise Unreachable(f"the node's cookie cannot be read: {error.strerror}") from None


def read_node(
    url: Any,
    *,
    cookie: Any = None,
    login: Any = None,
    timeout_s: float = 10,
    tls: ssl.SSLContext | None = None,
) -> Node:
    """A node that transactions are given to: each question is asked once.

    >>> read_node("http://node.example:8332", cookie="/.cookie")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the address of a node must begin with https:// unless it is on this \
machine: reach it through a tunnel that ends on this machine, or by https://
    """
    if not isinstance(url, str):
        raise BadInput(f"{WHERE} must be a URL, not {ascii(url)[:40]}")
    address = read_address(url, WHERE)
    if not (address.tls or address.is_here):
        raise BadInput(
            f"{WHERE} must begin with https:// unless it is on this machine",
            "reach it through a tunnel that ends on this machine, or by https://",
        )
    if (cookie is None) == (login is None):
        has = "neither a cookie nor a login" if cookie is None else "both a cookie and a login"
        raise BadInput(f"the node has {has}", "give one of the two")
    check_timeout(timeout_s, _LONGEST_S, "a node")
    return Node(
        address=address,
        send=partial(call, timeout_s=timeout_s, tls=tls, who="the node"),
        cookie=read_path(cookie, "the cookie of a node"),
        login=read_path(login, "the login of a node"),
    )


def _read_login(path: Path) -> bytes:
    try:
        mode = path.stat().st_mode
        secret = first_line(path)
    except OSError as error:
        raise BadInput(
            f"the login file {str(path)!r} cannot be read ({error.strerror})", "check its path and rights"
        ) from None
    check_private(path, mode, "the login file")
    if b":" not in secret:
        raise BadInput(f"the login file {str(path)!r} does not hold user:password", "write it in one line")
    return secret


def first_line(path: Path) -> bytes:
    """What a file with a login begins with.

    >>> first_line(Path("/dev/null"))
    b''
    """
    with path.open("rb") as file:
        return file.read(1024).partition(b"\n")[0].strip()


def _question(number: int | str, method: str, params: Sequence[Any]) -> dict[str, Any]:
    return {"jsonrpc": "1.0", "id": number, "method": method, "params": list(params)}


def _json(response: Response) -> Any:
    """Errors come with 200, 404 or 500, by the version of the node: the body tells which they are."""
    return json.loads(response.body, parse_float=_number, parse_constant=_number)


def _result(answer: Any, method: str) -> Any:
    """What was asked for, or the error instead."""
    error = answer.get("error")
    if error is None:
        return answer["result"]
    code = error["code"]
    # A plain small number: whatever else is written there could take for ever to work out.
    if type(code) is not int or abs(code) > _LARGEST_CODE:
        raise ValueError
    return NodeError(code, one_line(str(error.get("message", ""))), method)


def _number(text: str) -> Decimal:
    """An amount. One like 1e999999 is none: it would take for ever to reckon with."""
    number = Decimal(text) if len(text) <= _LONGEST_NUMBER else Decimal("NaN")
    if not number.is_finite() or abs(number.adjusted()) > _MOST_DIGITS:
        raise ValueError
    return number


def explain(code: int, reason: str) -> Refused | Unreachable:
    """The trouble that an answer of a node means.

    >>> str(explain(-26, "dust"))
    'the node refuses it (dust): an output is too small to be passed on: make another one without it'
    >>> type(explain(-28, "Loading block index..."))
    <class 'tarry.keep.errors.Unreachable'>
    """
    words = _LONG_DIGITS.sub("...", one_line(reason))  # ids of transactions are what waits here
    if code == _UNREADABLE:
        return Refused(f"the node cannot read it ({words}): make another one")
    if code not in _ABOUT_IT:  # it warms up, is busy, or does not know what is asked
        return Unreachable(f"the node answered {code}: {words}", sent=code in _BROKE)
    lower = reason.lower()
    if any(mark in lower for mark in _NOT_NOW):
        return Unreachable(f"the node does not take it now ({words}): it is tried again")
    meanings = (meaning for marks, meaning in _READINGS if any(mark in lower for mark in marks))
    meaning = next(meanings, "make another one, or ask its operator")
    return Refused(f"the node refuses it ({words}): {meaning}")
