"""OpenReview's API 2: a visit under one account to post a note, or page after page of notes to read.

In a visit nothing is tried twice, and nothing is kept after it. What goes wrong is sorted once, for every
call: this note will never be taken (`Refused`), this account cannot get in now (`LockedOut`), or nobody can
(`Unreachable`). Sentences repeat what OpenReview said, without the names and the words of the author. Who
reads waits where OpenReview asks for it.
"""

import json
import re
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn
from urllib.parse import urlencode

from tarry.core.errors import BadInput, NotPossible
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.net.address import Address, read_address
from tarry.net.http_call import Response, one_line
from tarry.net.web import BadStatus, get_json, post_json
from tarry.places.accounts import Account
from tarry.places.http import PASSING, call, only_asking, wait_of

__all__ = ["OpenReviewVisit", "check_api", "note_pages", "openreview_address"]

_WHO = "OpenReview"
_WHERE = "the address of OpenReview"
_API = "https://api2.openreview.net"
_OTHER_HOSTS = {"openreview.net", "www.openreview.net", "api.openreview.net"}
_MOST_LOGIN, _MOST_NOTES, _MOST_EDIT = 1 << 20, 16 << 20, 8 << 20
_AT_ONCE = 100  # papers in an answer, each with all its replies
_MEND = "check login and password of this account in the accounts file; it is tried again later"
_WAIT_S, _AFTER_LOGIN_S, _LONGEST_WAIT_S = 60, 20 * 60, 86_400
_PERSON = re.compile(r"~\w[\w.'-]{0,80}|[\w.+-]{1,254}@[\w.-]{1,255}")  # profiles and e-mail addresses
_MOST_SAID = 600  # characters: more is told to nobody, and takes long to look through


def openreview_address(url: str) -> Address:
    """Check where OpenReview's API 2 is: encrypted, unless it is on this machine.

    >>> openreview_address("https://api2.openreview.net/").path
    ''
    >>> openreview_address("https://openreview.net")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the address of OpenReview must be that of its API 2: use https://api2.openreview.net
    """
    address = check_api(url, with_password=True)
    if address.path.endswith("/api.php"):
        raise BadInput(f"{_WHERE} must not be a wiki's api.php", "name another account")
    if "?" in address.path:
        raise BadInput(f"{_WHERE} must have no query (?...)", "leave it out")
    return replace(address, path=address.path.rstrip("/"))


def check_api(url: str, *, with_password: bool) -> Address:
    """Refuse what is not the address of an API 2.

    >>> check_api("https://api2.openreview.net", with_password=False).host
    'api2.openreview.net'
    """
    address = read_address(url, _WHERE, with_password=with_password)
    if address.host.lower().rstrip(".") in _OTHER_HOSTS:
        raise BadInput(f"{_WHERE} must be that of its API 2", f"use {_API}")
    return address


class OpenReviewVisit:
    """A visit by one account. `hidden` are words that no sentence may repeat.

    >>> account = Account(login="ann@example.org", password="secret", at="http://127.0.0.1:9")
    >>> OpenReviewVisit(account, timeout_s=5).log_in()
    Traceback (most recent call last):
    tarry.keep.errors.Unreachable: OpenReview cannot be reached: Connection refused
    """

    def __init__(
        self,
        account: Account,
        *,
        timeout_s: float,
        tls: ssl.SSLContext | None = None,
        hidden: Iterable[str] = (),
    ) -> None:
        self._account, self._address = account, openreview_address(account.at)
        self._timeout_s, self._tls = timeout_s, tls
        self._hidden = sorted({account.login, account.password, *hidden} - {""}, key=len, reverse=True)
        self._headers = {"User-Agent": "tarry", "Connection": "close", "Accept": "application/json"}

    @only_asking()
    def log_in(self) -> None:
        """Get in, or raise that this account cannot now."""
        response = self._call(
            "POST", "/login", _MOST_LOGIN, {"id": self._account.login, "password": self._account.password}
        )
        if response.status in {400, 401, 403} and not _is_challenge(response):
            raise LockedOut(
                f"OpenReview refuses the login: {self._error_in(response)}: {_MEND}", wait_s=_AFTER_LOGIN_S
            )
        answer = self._answer(response)
        if answer.get("mfaPending"):
            raise LockedOut(
                "OpenReview asks for a second factor at the login, which only a person can give: "
                "switch it off for this account, or post by hand",
                wait_s=_AFTER_LOGIN_S,
            )
        token = _token_in(answer)
        if token is None:
            raise Unreachable("OpenReview answered the login without a token")
        self._headers["Authorization"] = f"Bearer {token}"

    @only_asking()
    def notes(self, query: Mapping[str, str]) -> list[Mapping[str, Any]]:
        """The notes that meet a query, as far as this account may read them."""
        notes = self._answer(self._call("GET", f"/notes?{urlencode(query)}", _MOST_NOTES)).get("notes")
        if not isinstance(notes, list) or not all(isinstance(note, dict) for note in notes):
            raise Unreachable("OpenReview answered something else than notes")
        return notes

    def post(self, edit: Mapping[str, Any]) -> None:
        """Post a note edit, once. An answer that is lost leaves open whether it was taken."""
        response = self._call("POST", "/notes/edits", _MOST_EDIT, edit)
        try:
            self._answer(response)
        except Unreachable as trouble:
            # Also where the account is to wait: who says so may have handed the note on before.
            trouble.sent = True
            raise

    def _call(self, method: str, path: str, most: int, value: Mapping[str, Any] | None = None) -> Response:
        return call(
            replace(self._address, path=self._address.path + path),
            self._headers if value is None else {**self._headers, "Content-Type": "application/json"},
            b"" if value is None else json.dumps(value, allow_nan=False).encode(),
            timeout_s=self._timeout_s,
            tls=self._tls,
            method=method,
            who=_WHO,
            most=most,
        )

    def _answer(self, response: Response) -> dict[str, Any]:
        """What a call was answered, if it was answered well."""
        if not 200 <= response.status < 300:
            self._raise_trouble(response)
        answer = response.fields
        if answer is None:
            raise Unreachable("OpenReview answered something that is no JSON object")
        return answer

    def _raise_trouble(self, response: Response) -> NoReturn:
        error = self._error_in(response)
        if response.status == 429:
            raise LockedOut(f"OpenReview makes this account wait: {error}", wait_s=_wait_s(response))
        if response.status == 401:
            raise LockedOut(f"OpenReview takes this account's login for invalid: {error}")
        if _is_challenge(response):
            raise LockedOut(
                "OpenReview wants to see a browser before it answers this machine: "
                "log in with one from here, or ask its support"
            )
        if response.status in PASSING or response.status >= 500 or response.status < 300:
            raise Unreachable(f"OpenReview answered {error}")
        if response.status < 400:
            raise Refused(
                f"OpenReview answered {error}: redirects are not followed, give the final address"
            )
        raise Refused(f"OpenReview does not take this note: {error}")

    def _error_in(self, response: Response) -> str:
        """Status, name and message of an error, without anybody's name or words."""
        error = response.fields or {}
        text = ": ".join(error[key] for key in ("name", "message") if isinstance(error.get(key), str))
        for each in self._hidden:
            text = text.replace(each, "...")
        text = one_line(_PERSON.sub("...", _beginning(text)))
        return f"{response.status} {text}" if text else str(response)


def note_pages(
    url: str, invitation: str, login: tuple[str, str] | None, wait: Callable[[float], None] = time.sleep
) -> Iterator[dict[str, Any]]:
    """Every answer that holds notes, in the order of ids, each from the last note of the one before.

    >>> next(note_pages("http://127.0.0.1:9", "V/-/Comment", login=None))
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: OpenReview cannot be reached (Connection refused): check the address
    """
    address = url.rstrip("/")
    headers = {"Authorization": f"Bearer {_token(address, *login, wait)}"} if login else {}
    query = {"invitation": invitation, "details": "replies", "sort": "id", "limit": str(_AT_ONCE)}
    while True:
        try:
            page = get_json(f"{address}/notes", query, headers=headers, who=_WHO, wait=wait)
        except BadStatus as error:
            if login or error.status != 403:
                raise
            raise NotPossible(f"{error}: give a login, without one it shows hardly anything") from None
        notes = page.get("notes") if isinstance(page, dict) else None
        if not isinstance(notes, list):
            raise BadInput("the answer of OpenReview holds no notes", f"use {_API}")
        if not notes:
            return
        yield page
        last = notes[-1].get("id") if isinstance(notes[-1], dict) else None
        if not isinstance(last, str) or last == query.get("after"):
            raise NotPossible("OpenReview gives the same notes again and again: try again later")
        query["after"] = last


def _token(address: str, user: str, password: str, wait: Callable[[float], None]) -> str:
    answer = post_json(
        f"{address}/login",
        {"id": user, "password": password},
        who=_WHO,
        answers={200, 400, 401, 403},
        wait=wait,
    )
    if isinstance(answer, dict) and answer.get("mfaPending"):
        raise NotPossible(
            "OpenReview asks for a second factor, which only a person can give: export by hand"
        )
    token = _token_in(answer)
    if token is None:
        raise NotPossible("OpenReview refuses the login: check the user and the password")
    return token


def _token_in(answer: Any) -> str | None:
    """What a login is answered with, if it can be sent in a header."""
    token = answer.get("token") if isinstance(answer, dict) else None
    return token if isinstance(token, str) and re.fullmatch(r"[!-~]+", token) else None


def _beginning(text: str) -> str:
    """The first words of a text, each of them whole: of half a name it could not be told that it is one."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_SAID else line[:_MOST_SAID].rpartition(" ")[0]


def _is_challenge(response: Response) -> bool:
    """Whether a browser is asked for: that is about this machine's address, not about the note."""
    return response.status == 403 and (response.fields or {}).get("name") == "ChallengeRequiredError"


def _wait_s(response: Response) -> int:
    """How long to stay away: as the header says, or else the message."""
    words = str((response.fields or {}).get("message")).partition("try again in")[2][:_MOST_SAID]
    return wait_of(response.headers.get("retry-after"), words, _WAIT_S, _LONGEST_WAIT_S)
