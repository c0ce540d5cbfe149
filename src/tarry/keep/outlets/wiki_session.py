"""One visit of a wiki under one account: a login, a look at a page, a change of it.

Everything is asked by POST, as a form whose fields stand in a fixed order. What a wiki wants to hear again
(cookies, tokens) lives as long as the visit.
"""

import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from tarry.core.errors import BadInput
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.keep.outlets.accounts import Account
from tarry.keep.outlets.http_call import asking, call
from tarry.keep.outlets.wiki_answer import Hidden, page_of, read_answer, refusal, text_at, wait_of
from tarry.net.address import Address, read_address

__all__ = ["Page", "Visit", "read_wiki"]

_WHERE = "the address of a wiki"
_HERE = {"localhost", "127.0.0.1", "::1"}
_MOST_ANSWER, _MOST_LOOK = 256 << 10, 4 << 20
_AT_ONCE, _MOST_LOOKS = 500, 20
#: A wiki lets an account fail about 150 times in two days before it shuts it out for as long.
_AFTER_LOGIN_S = 20 * 60
_MEND = "check login and bot password of this account in the accounts file; it is tried again later"
_SESSION_LOST = {"NeedToken", "WrongToken"}
_RESULT = re.compile(r"[A-Za-z]{1,30}")  # of a login; what else stands there may name somebody


@dataclass(frozen=True, kw_only=True)
class Page:
    """What a look at a page tells.

    >>> Page(newest=7, summaries=("typos (5a5a5a5a5a5a5a5a)",)).shows("(5a5a5a5a5a5a5a5a)")
    True
    """

    newest: int | None  # its newest revision; None: there is no such page
    is_redirect: bool = False
    summaries: Sequence[str] = ()  # of what the account has changed: here, and of late elsewhere
    token: str = field(default="", repr=False)

    def shows(self, marker: str) -> bool:
        """Whether a change with this marker has been made."""
        return any(summary.endswith(marker) for summary in self.summaries)


def read_wiki(url: str) -> Address:
    """Check where a wiki is: the address of its api.php, encrypted unless it is on this machine.

    >>> read_wiki("https://wiki.example/w/index.php")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the address of a wiki ends in /api.php, found another: \
Special:Version of the wiki tells it
    """
    address = read_address(url, _WHERE)
    if not address.path.endswith("/api.php"):
        fix = "Special:Version of the wiki tells it"
        raise BadInput(_WHERE, "ends in /api.php", found="another", fix=fix)
    if not address.tls and address.host not in _HERE:
        raise BadInput(_WHERE, "begins with https://", found="http://", fix="a password is sent there")
    return address


class Visit:
    """One visit. `timeout_s` bounds each question as a whole.

    >>> account = Account(login="Nym@tarry", password="secret", at="http://127.0.0.1:9/api.php")
    >>> Visit(account, timeout_s=5).log_in()
    Traceback (most recent call last):
    tarry.keep.errors.Unreachable: the wiki cannot be reached: Connection refused
    """

    def __init__(self, account: Account, *, timeout_s: float, tls: ssl.SSLContext | None = None) -> None:
        self._account, self._address, self._timeout_s = account, read_wiki(account.at), timeout_s
        # Made once: reading all the certificates that the system trusts takes long.
        self._tls = (tls or ssl.create_default_context()) if self._address.tls else None
        self._cookies: dict[str, str] = {}
        self._user = ""

    @asking()
    def log_in(self) -> None:
        """Get in with the account's bot password, or tell that it cannot."""
        asked = self.ask({"action": "query", "meta": "tokens", "type": "login"})
        token = text_at(asked, "query", "tokens", "logintoken")
        name, password = self._account.login, self._account.password
        told = self.ask({"action": "login", "lgname": name, "lgpassword": password, "lgtoken": token})
        result = text_at(told, "login", "result")
        if result == "Success":
            self._user = text_at(told, "login", "lgusername")
        elif result in _SESSION_LOST:
            raise Unreachable(f"the wiki has lost the session in which it was asked for a login: {result}")
        else:  # its reason may name the account
            wait_s = wait_of(told["login"], _AFTER_LOGIN_S)
            known = _RESULT.fullmatch(result) and self._hidden().out_of(result) == result
            why = f"the wiki refuses this account's login: {result if known else 'for a reason of its own'}"
            raise LockedOut(f"{why}: {_MEND}", wait_s=wait_s)

    @asking()
    def look(self, title: str) -> Page:
        """One page, with what this account has done to it, and the token for a change.

        What the account did to other pages of late is told as well: the page may have been moved.
        """
        asked = {
            "action": "query",
            "assert": "user",
            "meta": "tokens",
            "prop": "info|revisions",
            "titles": title,
            "rvprop": "ids|user|comment",
            "rvuser": self._user,
            "rvlimit": str(_AT_ONCE),
            "list": "usercontribs",
            "ucprop": "ids|comment",
            "ucuser": self._user,
            "uclimit": str(_AT_ONCE),
        }
        told = self.ask(asked, _MOST_LOOK)
        page = page_of(told)
        if not page.get("missing") and not isinstance(page.get("lastrevid"), int):
            raise Unreachable("the wiki's answer has no revision of the page")
        return Page(
            newest=None if page.get("missing") else page["lastrevid"],
            is_redirect=bool(page.get("redirect")),
            token=text_at(told, "query", "tokens", "csrftoken"),
            summaries=self._summaries(asked, told),
        )

    def _summaries(self, asked: Mapping[str, str], told: dict[str, Any]) -> list[str]:
        """Those of an answer, and of all that it says is to follow about the page."""
        summaries: list[str] = []
        for _ in range(_MOST_LOOKS):
            page = page_of(told)
            summaries += _comments(page.get("revisions")) + _comments(told["query"].get("usercontribs"))
            more = told.get("continue")
            if not isinstance(more, dict) or "rvcontinue" not in more:
                return summaries
            told = self.ask({**asked, **{str(name): str(more[name]) for name in sorted(more)}}, _MOST_LOOK)
        most = _AT_ONCE * _MOST_LOOKS
        raise Refused(f"the page has more than {most} revisions by this account: too many to look through")

    @asking()
    def deleted_at(self, title: str) -> str | None:
        """When a page of this title was last deleted, in ISO 8601; None: never, as far as is told."""
        asked = {
            "action": "query",
            "assert": "user",
            "list": "logevents",
            "leprop": "timestamp",
            "letype": "delete",
            "letitle": title,
            "lelimit": "1",
        }
        query = self.ask(asked).get("query")
        events = query.get("logevents") if isinstance(query, dict) else None
        if not isinstance(events, list):
            raise Unreachable("the wiki's answer has no log of deletions")
        return text_at(events[0], "timestamp") if events else None

    def save(self, fields: Mapping[str, str], token: str) -> None:
        """Change a page. The token comes last: a form that was cut off on its way is not obeyed."""
        told = self.ask({"action": "edit", "assert": "user", **fields, "token": token})
        result = text_at(told, "edit", "result")
        if result == "Success":
            return
        why = "captcha" if "captcha" in told["edit"] else str(told["edit"].get("code", result))
        raise refusal(why, str(told["edit"].get("info", "")), self._hidden())

    def ask(self, fields: Mapping[str, str], most: int = _MOST_ANSWER) -> dict[str, Any]:
        """One question, and its answer if it is no error."""
        headers = {
            "User-Agent": "tarry",
            "Connection": "close",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        if self._cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        action, *rest = fields.items()
        form = [action, ("format", "json"), ("formatversion", "2"), *rest]
        # Of ours everything can be encoded; of what the wiki wants to hear again perhaps not.
        body = urlencode(form, errors="replace").encode()
        answer = call(
            self._address,
            headers,
            body,
            timeout_s=self._timeout_s,
            tls=self._tls,
            who="the wiki",
            most=most,
        )
        self._remember(answer.cookies)
        return read_answer(answer, self._hidden())

    def _hidden(self) -> Hidden:
        """What a sentence may not repeat."""
        login, password = self._account.login, self._account.password
        return Hidden(names=(self._user, login, login.partition("@")[0]), password=password)

    def _remember(self, cookies: Mapping[str, str]) -> None:
        for name, value in cookies.items():
            if value in {"", "deleted"}:  # how one is taken back
                self._cookies.pop(name, None)
            else:
                self._cookies[name] = value


def _comments(changes: Any) -> list[str]:
    """What an administrator has hidden has none."""
    rows = [row for row in changes if isinstance(row, dict)] if isinstance(changes, list) else []
    return [row["comment"] for row in rows if isinstance(row.get("comment"), str)]
