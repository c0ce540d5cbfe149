"""The JSON-RPC of a Bitcoin node: single questions and many at once."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from tarry.core.errors import BadInput, NotPossible
from tarry.readers.web import post_json
from tarry.readers.web_call import split_address

__all__ = ["NodeRpc", "RpcError", "read_cookie"]

_MOST = 256 << 20  # a full block with all that it spends is some tens of megabytes of JSON
_ANSWERS = frozenset({200, 404, 500})  # errors are told in JSON, before version 28 with these statuses
_LONGEST_COOKIE = 1000
_ADVICE = {
    -1: "it may have pruned that block",
    -8: "it does not know that block or option",
    -28: "it is still starting, try again when it is up",
    -32601: "is it a node of Bitcoin Core 23 or newer?",
}


@dataclass(frozen=True)
class RpcError:
    """An error that a node tells; its words are left out, for they may show an address.

    >>> str(RpcError(-28))
    'code -28: it is still starting, try again when it is up'
    """

    code: int

    def __str__(self) -> str:
        return f"code {self.code}" + (f": {_ADVICE[self.code]}" if self.code in _ADVICE else "")


@dataclass(frozen=True, kw_only=True)
class NodeRpc:
    """A node that is asked.

    >>> NodeRpc(address="http://127.0.0.1:8332", login=("user", "password"))
    NodeRpc(address='http://127.0.0.1:8332')
    """

    address: str
    login: tuple[str, str] | None = field(default=None, repr=False)
    wait: Callable[[float], None] = field(default=time.sleep, repr=False)

    @property
    def who(self) -> str:
        """What sentences call it."""
        return f"the node {split_address(self.address, 'the address of a node').netloc}"

    def call(self, method: str, *params: object) -> Any:
        """The result of one question; an error ends the reading."""
        answer = self._post(_request(0, method, params))
        result = _result(answer) if isinstance(answer, dict) else self.refuse_strange()
        if isinstance(result, RpcError):
            raise NotPossible(f"{self.who} refused {method} with {result}")
        return result

    def calls(self, method: str, each: Sequence[tuple[object, ...]]) -> list[Any]:
        """The results of one question about many things, in their order; where there is none, its error."""
        if not each:
            return []
        requests = [_request(number, method, params) for number, params in enumerate(each)]
        answers = self._post(requests)
        if not isinstance(answers, list) or not all(isinstance(answer, dict) for answer in answers):
            self.refuse_strange()
        found = {answer.get("id"): _result(answer) for answer in answers}
        if found.keys() != set(range(len(each))):
            self.refuse_strange()
        return [found[number] for number in range(len(each))]

    def refuse_strange(self) -> NoReturn:
        """Say that this is no answer of a node's."""
        what, fix = f"the answer of {self.who}", "is the address that of its RPC?"
        raise BadInput(what, "must be one of Bitcoin Core's JSON-RPC", found="another", fix=fix)

    def _post(self, value: object) -> Any:
        return post_json(
            self.address,
            value,
            login=self.login,
            who=self.who,
            answers=_ANSWERS,
            most=_MOST,
            wait=self.wait,
        )


def read_cookie(path: str | Path) -> tuple[str, str]:
    """The login in a node's cookie file, which it writes anew at each start.

    >>> read_cookie("/nowhere/.cookie")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the cookie file must be readable, found No such file or directory
    """
    try:
        with Path(path).open("rb") as file:
            text = file.read(_LONGEST_COOKIE).decode().strip()
    except OSError as error:
        raise BadInput("the cookie file", "must be readable", found=error.strerror) from None
    except UnicodeDecodeError:
        text = ""
    user, colon, password = text.partition(":")
    if not colon:
        fix = "name the file .cookie in the data directory of the node"
        raise BadInput("the cookie file", "must hold USER:PASSWORD", found="something else", fix=fix)
    return user, password


def _request(number: int, method: str, params: Sequence[object]) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)}


def _result(answer: dict[str, Any]) -> Any:
    """What was asked for, or the error instead."""
    error = answer.get("error")
    if error is None:
        return answer.get("result")
    code = error.get("code") if isinstance(error, dict) else None
    return RpcError(code if isinstance(code, int) else 0)
