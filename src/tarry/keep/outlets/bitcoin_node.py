"""A Bitcoin node, by its JSON-RPC: one question, one answer.

The request says what is asked and nothing else: its id is always the same, its fields stand in one order.
The password is read at each question, because a node writes a new cookie at each start. Everything but a
node on this machine is spoken to encrypted: password and transaction would be read on their way.
"""

import base64
import ipaddress
import json
import ssl
import stat
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput, TarryError
from tarry.keep.errors import Unreachable
from tarry.keep.outlets.http_call import call
from tarry.net.address import Address, read_address
from tarry.net.http_call import Answer, one_line

__all__ = ["Node", "NodeError", "read_node"]

_WHAT, _WHO = "the address of a node", "the node"
_MOST_ANSWER = 64 << 10
_MOST = {"getrawtransaction": 1 << 20}  # more than any node passes on
_MOST_SECRET = 1024
_LONGEST_S = 30
_UNWANTED, _FORBIDDEN = 401, 403
_LARGEST_CODE = 1_000_000
_LONGEST_NUMBER, _MOST_DIGITS = 40, 30


class NodeError(TarryError):
    """The node has heard the question, and says no. `code` and `reason` are its own.

    >>> raise NodeError(-26, "dust")
    Traceback (most recent call last):
    tarry.keep.outlets.bitcoin_node.NodeError: the node answered -26: dust
    """

    def __init__(self, code: int, reason: str) -> None:
        self.code, self.reason = code, reason
        super().__init__(f"the node answered {code}: {reason}")


@dataclass(frozen=True, kw_only=True)
class Node:
    """Where a node is, and the file that lets one in.

    >>> read_node("http://127.0.0.1:8332", cookie="/home/ann/.bitcoin/.cookie").is_here
    True
    """

    address: Address
    cookie: Path | None  # written by the node
    login: Path | None  # user:password, written by a person
    timeout_s: float = 10  # of one question
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    @property
    def is_here(self) -> bool:
        """Whether it is on this machine."""
        return _is_here(self.address.host)

    def check(self) -> None:
        """Refuse files that can never let anybody in; a cookie is there only while its node runs."""
        if self.login is not None:
            _read_login(self.login)
        elif self.cookie is not None and not self.cookie.parent.is_dir():
            found, fix = f"no folder {self.cookie.parent}", "give the .cookie in the node's data folder"
            raise BadInput("the cookie of a node", "lies in a folder that is there", found=found, fix=fix)

    def ask(self, method: str, *params: Any) -> Any:
        """What the node says; `NodeError` if that is no, `Unreachable` if it says nothing.

        That is marked as `sent` where it is not known whether the node has done what it was asked.
        """
        question = {"jsonrpc": "1.0", "id": "tarry", "method": method, "params": params}
        headers = {
            "User-Agent": "tarry",
            "Connection": "close",
            "Content-Type": "application/json",
            "Authorization": f"Basic {base64.b64encode(self._secret()).decode()}",
        }
        return _read(
            call(
                self.address,
                headers,
                json.dumps(question).encode(),
                timeout_s=self.timeout_s,
                tls=self.tls,
                who=_WHO,
                most=_MOST.get(method, _MOST_ANSWER),
            )
        )

    def _secret(self) -> bytes:
        if self.login is not None:
            try:
                return _read_login(self.login)
            except BadInput as error:  # without its words: they tell where the file lies
                raise Unreachable("the node's login file cannot be used as it is now") from error
        try:
            return _first_line(self.cookie or Path())
        except FileNotFoundError:
            raise Unreachable("the node's cookie is not there: the node does not run") from None
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
    """Check where a node is said to be.

    >>> read_node("http://node.example:8332", cookie="/.cookie")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the address of a node begins with https:// unless it is on this machine, \
found http://: reach it through a tunnel that ends on this machine, or by https://
    """
    if not isinstance(url, str):
        raise BadInput(_WHAT, "is a URL", found="something else")
    address = read_address(url, _WHAT)
    if not address.tls and not _is_here(address.host):
        fix = "reach it through a tunnel that ends on this machine, or by https://"
        rule = "begins with https:// unless it is on this machine"
        raise BadInput(_WHAT, rule, found="http://", fix=fix)
    if (cookie is None) == (login is None):
        found = "neither" if cookie is None else "both"
        raise BadInput("a node", "lets in by a cookie or a login", found=found, fix="give one of the two")
    if not 0 < timeout_s <= _LONGEST_S:
        raise BadInput("the timeout of a node", f"is above 0 and at most {_LONGEST_S} s", found=timeout_s)
    return Node(
        address=address,
        cookie=_path(cookie, "cookie"),
        login=_path(login, "login"),
        timeout_s=timeout_s,
        tls=tls,
    )


def _path(path: Any, name: str) -> Path | None:
    if path is None:
        return None
    if not isinstance(path, str | Path) or "\0" in str(path) or not Path(path).is_absolute():
        raise BadInput(f"the {name} of a node", "is an absolute path", found="another")
    return Path(path)


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read_login(path: Path) -> bytes:
    what = "the login of a node"
    try:
        rights = stat.S_IMODE(path.stat().st_mode)
        secret = _first_line(path)
    except OSError as error:
        raise BadInput(what, "is a file one can read", found=f"{error.strerror}: {path}") from None
    if rights & (stat.S_IRWXG | stat.S_IRWXO):
        fix = f"chmod go= {str(path)!r}"
        raise BadInput(what, "is closed to everybody else", found=f"rights {rights:o}", fix=fix)
    if b":" not in secret:
        raise BadInput(what, "is user:password in one line", found="another")
    return secret


def _first_line(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MOST_SECRET).partition(b"\n")[0].strip()


def _read(answer: Answer) -> Any:
    """Errors come with 200 or 500, by the version of the node: the body tells which they are."""
    if answer.status == _UNWANTED:
        raise Unreachable(
            "the node does not know this login: its cookie has changed, or the login is wrong"
        )
    if answer.status == _FORBIDDEN:
        raise Unreachable(
            "the node lets nobody in from here, or not to this: see its rpcallowip, rpcwhitelist"
        )
    try:
        told = json.loads(answer.body, parse_float=_number, parse_constant=_number)
        error = told.get("error")
        if error is None:
            return told["result"]
        code, reason = _code(error["code"]), one_line(str(error["message"]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ArithmeticError):
        why = f"the node answered {answer}, which is no answer of a node"
        raise Unreachable(why, sent=True) from None
    raise NodeError(code, reason)


def _code(code: Any) -> int:
    """A plain small number: whatever else is written there could take for ever to work out."""
    if type(code) is not int or abs(code) > _LARGEST_CODE:
        raise ValueError
    return code


def _number(text: str) -> Decimal:
    """An amount. One like 1e999999 is none: it would take for ever to reckon with."""
    number = Decimal(text) if len(text) <= _LONGEST_NUMBER else Decimal("NaN")
    if not number.is_finite() or abs(number.adjusted()) > _MOST_DIGITS:
        raise ValueError
    return number
