"""One visit to OpenReview: a login, and what is asked under it.

Nothing is tried twice here, and nothing is kept after the visit. What goes wrong is sorted once, for every
call: this note will never be taken (`Refused`), this account cannot get in now (`LockedOut`), or nobody can
(`Unreachable`). Sentences repeat what OpenReview said, without the names and the words of the author.
"""

import json
import re
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NoReturn
from urllib.parse import urlencode

from tarry.core.errors import BadInput
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.keep.outlets.accounts import Account
from tarry.keep.outlets.http_call import asking, call
from tarry.net.address import Address, read_address
from tarry.net.http_call import Answer, one_line

__all__ = ["Visit", "read_place"]

WHERE = "the address of OpenReview"
_API = "https://api2.openreview.net"
_OTHER_HOSTS = {"openreview.net", "www.openreview.net", "api.openreview.net"}
_HERE = {"127.0.0.1", "::1", "localhost"}
_MOST_LOGIN, _MOST_NOTES, _MOST_EDIT = 1 << 20, 16 << 20, 8 << 20
_MEND = "check login and password of this account in the accounts file; it is tried again later"
_WAIT_S, _AFTER_LOGIN_S, _LONGEST_WAIT_S = 60, 20 * 60, 86_400
#: Answers that a later try may change, beside those from 500 on: too slow, too early.
_PASSING = {408, 425}
_PART_OF_WAIT = re.compile(r"([0-9]{1,6}) (hour|minute|second)")
_SECONDS = {"hour": 3600, "minute": 60, "second": 1}
_PERSON = re.compile(r"~\w[\w.'-]{0,80}|[\w.+-]{1,254}@[\w.-]{1,255}")  # profiles and e-mail addresses
_MOST_SAID = 600  # characters: more is told to nobody, and takes long to look through


def read_place(url: str) -> Address:
    """Check where OpenReview's API 2 is: encrypted, unless it is on this machine.

    >>> read_place("https://api2.openreview.net/").path
    ''
    >>> read_place("https://openreview.net")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the address of OpenReview is that of its API 2, \
found another: use https://api2.openreview.net
    """
    address = read_address(url, WHERE)
    if address.host.lower().rstrip(".") in _OTHER_HOSTS:
        raise BadInput(WHERE, "is that of its API 2", found="another", fix=f"use {_API}")
    if address.path.endswith("/api.php"):
        raise BadInput(WHERE, "is that of its API 2", found="a wiki's api.php", fix="name another account")
    if not address.tls and address.host not in _HERE:
        raise BadInput(WHERE, "begins with https://", found="http://", fix="a password is sent there")
    if "?" in address.path:
        raise BadInput(WHERE, "has no query", found="a ?", fix="leave it out")
    return replace(address, path=address.path.rstrip("/"))


class Visit:
    """A visit by one account. `hidden` are words that no sentence may repeat.

    >>> account = Account(login="ann@example.org", password="secret", at="http://127.0.0.1:9")
    >>> Visit(account, timeout_s=5).log_in()
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
        self._account, self._address = account, read_place(account.at)
        self._timeout_s, self._tls = timeout_s, tls
        self._hidden = sorted({account.login, account.password, *hidden} - {""}, key=len, reverse=True)
        self._headers = {"User-Agent": "tarry", "Connection": "close", "Accept": "application/json"}

    @asking()
    def log_in(self) -> None:
        """Get in, or tell that this account cannot now."""
        told = {"id": self._account.login, "password": self._account.password}
        answer = self._call("POST", "/login", _MOST_LOGIN, told)
        if answer.status in {400, 401, 403} and not _is_challenge(answer):
            why = f"OpenReview refuses the login: {self._said(answer)}: {_MEND}"
            raise LockedOut(why, wait_s=_AFTER_LOGIN_S)
        heard = self._heard(answer)
        if heard.get("mfaPending"):
            raise LockedOut(
                "OpenReview asks for a second factor at the login, which only a person can give: "
                "switch it off for this account, or post by hand",
                wait_s=_AFTER_LOGIN_S,
            )
        token = heard.get("token")
        if not isinstance(token, str) or not re.fullmatch(r"[!-~]+", token):
            raise Unreachable("OpenReview answered the login without a token")
        self._headers["Authorization"] = f"Bearer {token}"

    @asking()
    def notes(self, query: Mapping[str, str]) -> list[Mapping[str, Any]]:
        """The notes that meet a query, as far as this account may read them."""
        notes = self._heard(self._call("GET", f"/notes?{urlencode(query)}", _MOST_NOTES)).get("notes")
        if not isinstance(notes, list) or not all(isinstance(note, dict) for note in notes):
            raise Unreachable("OpenReview answered something else than notes")
        return notes

    def post(self, edit: Mapping[str, Any]) -> None:
        """Post a note edit, once. An answer that is lost leaves open whether it was taken."""
        answer = self._call("POST", "/notes/edits", _MOST_EDIT, edit)
        try:
            self._heard(answer)
        except Unreachable as trouble:
            # Also where the account is to wait: who says so may have handed the note on before.
            trouble.sent = True
            raise

    def _call(self, method: str, path: str, most: int, told: Mapping[str, Any] | None = None) -> Answer:
        body = b"" if told is None else json.dumps(told, allow_nan=False).encode()
        return call(
            replace(self._address, path=self._address.path + path),
            self._headers if told is None else {**self._headers, "Content-Type": "application/json"},
            body,
            timeout_s=self._timeout_s,
            tls=self._tls,
            method=method,
            who="OpenReview",
            most=most,
        )

    def _heard(self, answer: Answer) -> dict[str, Any]:
        """What a call was answered, if it was answered well."""
        if not 200 <= answer.status < 300:
            self._trouble(answer)
        told = _object(answer.body)
        if told is None:
            raise Unreachable("OpenReview answered something that is no JSON object")
        return told

    def _trouble(self, answer: Answer) -> NoReturn:
        said = self._said(answer)
        if answer.status == 429:
            raise LockedOut(f"OpenReview makes this account wait: {said}", wait_s=_wait_s(answer))
        if answer.status == 401:
            raise LockedOut(f"OpenReview takes this account's login for invalid: {said}")
        if _is_challenge(answer):
            raise LockedOut(
                "OpenReview wants to see a browser before it answers this machine: "
                "log in with one from here, or ask its support"
            )
        if answer.status in _PASSING or answer.status >= 500 or answer.status < 300:
            raise Unreachable(f"OpenReview answered {said}")
        if answer.status < 400:
            raise Refused(f"OpenReview answered {said}: redirects are not followed, give the final address")
        raise Refused(f"OpenReview does not take this note: {said}")

    def _said(self, answer: Answer) -> str:
        """Status, name and message of an error, without anybody's name or words."""
        told = _object(answer.body) or {}
        parts = [str(told[key]) for key in ("name", "message") if isinstance(told.get(key), str)]
        text = ": ".join(parts)
        for each in self._hidden:
            text = text.replace(each, "...")
        text = one_line(_PERSON.sub("...", _beginning(text)))
        return f"{answer.status} {text}" if text else str(answer)


def _beginning(text: str) -> str:
    """The first words of a text, each of them whole: of half a name it could not be told that it is one."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_SAID else line[:_MOST_SAID].rpartition(" ")[0]


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def _is_challenge(answer: Answer) -> bool:
    """Whether a browser is asked for: that is about this machine's address, not about the note."""
    return answer.status == 403 and (_object(answer.body) or {}).get("name") == "ChallengeRequiredError"


def _wait_s(answer: Answer) -> int:
    """How long to stay away: as the header says, or else the message."""
    after = answer.headers.get("retry-after", "")
    if re.fullmatch(r"[0-9]{1,9}", after):
        return min(int(after), _LONGEST_WAIT_S)
    message = str((_object(answer.body) or {}).get("message"))
    parts = _PART_OF_WAIT.findall(message.partition("try again in")[2][:_MOST_SAID])
    wait_s = sum(int(count) * _SECONDS[unit] for count, unit in parts)
    return min(wait_s, _LONGEST_WAIT_S) or _WAIT_S
