"""One visit to a server that speaks Mastodon's API, by one account.

Nothing is tried twice here, and nothing is kept after the visit. What goes wrong is sorted once, for every
call: this status will never be taken (`Refused`), this account cannot get in now (`LockedOut`), or nobody
can (`Unreachable`). No message names an account or repeats a status.
"""

import json
import re
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from tarry.core.errors import BadInput
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.net.address import Address, read_address
from tarry.net.http_call import Response, one_line
from tarry.places.accounts import Account
from tarry.places.http import call, only_asking

__all__ = ["Visit", "account_id", "account_name", "original", "read_server"]

_MOST_BYTES = 8 << 20  # of one answer
_PAGE = 40  # the most statuses that Mastodon gives at once
_PAGES = 3
_AFTER_LOGIN_S, _AFTER_LIMIT_S, _LONGEST_WAIT_S = 20 * 60, 5 * 60, 86_400
#: Responses that a later try may change, beside those from 500 on: too slow, too early.
_PASSING = {408, 425}
_MEND = "check its token in the accounts file; it is tried again later"


def read_server(url: str) -> Address:
    """Check the address of a server. It must be encrypted, as a token is sent there, or this machine.

    >>> read_server("https://social.example/").host
    'social.example'
    >>> read_server("http://social.example")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: http://social.example is not encrypted, and a token is sent there: use https://
    """
    address = read_address(url)
    if not (address.tls or address.is_here):
        raise BadInput(f"{url} is not encrypted, and a token is sent there", "use https://")
    if address.path != "/":
        raise BadInput(f"the address of a server must end after its name, not with {address.path!r}")
    return replace(address, path="")


def original(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was written: of a boost, the status that is boosted. snac lists a boost in its place.

    >>> original({"id": "8", "reblog": {"id": "7"}})
    {'id': '7'}
    """
    boosted = status.get("reblog")
    return boosted if isinstance(boosted, dict) else status


def account_id(status: Mapping[str, Any]) -> str | None:
    """Whose status it is.

    >>> account_id({"account": {"id": "3"}})
    '3'
    """
    account = status.get("account")
    return account.get("id") if isinstance(account, dict) else None


def account_name(login: str) -> str:
    """What an account is called at its server, however its login is written.

    >>> {account_name(login) for login in ("@Nym@social.example", "nym@social.example", "Nym")}
    {'nym'}
    """
    return login.lstrip("@").partition("@")[0].lower()


class Visit:
    """A visit by one account: its `login` is the name there, its `password` an access token.

    >>> account = Account(login="nym", password="a token", at="http://127.0.0.1:9")
    >>> Visit(account, timeout_s=5).log_in()
    Traceback (most recent call last):
    tarry.keep.errors.Unreachable: the server cannot be reached: Connection refused
    """

    def __init__(self, account: Account, *, timeout_s: float, tls: ssl.SSLContext | None = None) -> None:
        self._account, self._address = account, read_server(account.at)
        self._timeout_s, self._tls = timeout_s, tls
        self._headers = {"User-Agent": "tarry", "Connection": "close", "Accept": "application/json"}
        self._id = ""

    @only_asking()
    def log_in(self) -> None:
        """Check that the token is good, and this account's: nothing leaves under another name."""
        token = self._account.password
        if not (token.isascii() and token.isprintable()):
            raise LockedOut(f"this account's token has characters that no token has: {_MEND}")
        self._headers["Authorization"] = f"Bearer {token}"
        response = self._call("GET", "/api/v1/accounts/verify_credentials")
        if response.status in {401, 403, 422}:  # snac says 422
            raise LockedOut(
                f"the server refuses this account's token ({response}): {_MEND}", wait_s=_AFTER_LOGIN_S
            )
        profile = self._value(response)
        if not isinstance(profile, dict) or not isinstance(profile.get("id"), str):
            raise Unreachable("the server answered the login with something that is no account")
        if str(profile.get("username")).lower() != account_name(self._account.login):
            raise LockedOut(
                f"the token of this account is another account's: {_MEND}", wait_s=_AFTER_LOGIN_S
            )
        self._id = profile["id"]

    @only_asking()
    def has(self, status: str) -> bool:
        """Whether this account can see a status."""
        response = self._call("GET", f"/api/v1/statuses/{status}")
        if response.status in {404, 410}:
            return False
        self._value(response)
        return True

    def newest(self) -> Iterator[Mapping[str, Any]]:
        """The account's own statuses, the newest first, as far back as somebody looks for a lost one."""
        before = ""
        for _ in range(_PAGES):
            page = self._page(before)
            yield from (status for status in map(original, page) if account_id(status) == self._id)
            if not page or page[-1]["id"] == before:
                return
            before = page[-1]["id"]

    @only_asking()
    def text_of(self, status: Mapping[str, Any]) -> str:
        """A status as it was written. Some servers give it with the status, others only by itself."""
        if not isinstance(status.get("text"), str):
            status = self._value(self._call("GET", f"/api/v1/statuses/{status['id']}/source"))
        return str(status.get("text", ""))

    def post(self, fields: Mapping[str, str], key: str) -> None:
        """Post a status, once. An answer that is lost leaves open whether it was taken.

        Servers that know the key take what comes with the same one for the same.
        """
        response = self._call("POST", "/api/v1/statuses", fields, {"Idempotency-Key": key})
        try:
            self._value(response)
        except Unreachable as trouble:
            # Also where the account must wait: who says so may have handed the status on before.
            trouble.sent = True
            raise

    @only_asking()
    def _page(self, before: str) -> list[Mapping[str, Any]]:
        query = f"?limit={_PAGE}&exclude_reblogs=true" + (f"&max_id={before}" if before else "")
        page = self._value(self._call("GET", f"/api/v1/accounts/{self._id}/statuses{query}"))
        if not isinstance(page, list) or not all(
            isinstance(status, dict) and isinstance(status.get("id"), str) for status in page
        ):
            raise Unreachable("the server answered with something that is no list of statuses")
        return page

    def _call(
        self,
        method: str,
        path: str,
        fields: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        body = b"" if fields is None else json.dumps(fields).encode()
        kind = {} if fields is None else {"Content-Type": "application/json"}
        return call(
            replace(self._address, path=path),
            {**self._headers, **kind, **(headers or {})},
            body,
            timeout_s=self._timeout_s,
            tls=self._tls,
            method=method,
            who="the server",
            most=_MOST_BYTES,
        )

    def _value(self, response: Response) -> Any:
        if not 200 <= response.status < 300:
            _fail(response)
        try:
            return json.loads(response.body)
        except (ValueError, RecursionError):
            raise Unreachable("the server answered with something that is no JSON") from None


def _fail(response: Response) -> NoReturn:
    if response.status == 429:
        raise LockedOut(f"the server makes this account wait ({response})", wait_s=_wait_s(response))
    if response.status == 401:
        raise LockedOut(f"the server refuses this account's token ({response}): {_MEND}")
    if response.status in _PASSING or response.status >= 500 or response.status < 300:
        raise Unreachable(f"the server answered {response}")
    if response.status < 400:
        raise Refused(
            f"the server answered {response}, and redirects are not followed: give the final address"
        )
    raise Refused(
        f"the server does not take this status ({_reason(response)}): change it and post it again"
    )


def _reason(response: Response) -> str:
    """Why Mastodon does not take a status: a rule such as a limit, and none of its words."""
    error = (response.fields or {}).get("error", "")
    known = re.fullmatch(r"Validation failed: [\w ,'.]*", error) if isinstance(error, str) else None
    return f"{response}: {one_line(error)}" if known else str(response)


def _wait_s(response: Response) -> int:
    after = response.headers.get("retry-after", "")
    return min(int(after), _LONGEST_WAIT_S) if re.fullmatch(r"[0-9]{1,9}", after) else _AFTER_LIMIT_S
