"""A wiki's Action API: a visit under one account (a login, a look, a change), or questions without one.

A visit asks everything by POST, as a form whose fields stand in a fixed order. What a wiki wants to hear
again (cookies, tokens) lives as long as the visit. Without an account, questions are asked by GET, and
their answers come in pieces.
"""

import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import urlencode

from tarry.core.errors import BadInput, NotPossible
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.net.address import Address, read_address
from tarry.net.http_call import one_line
from tarry.net.web import get_json
from tarry.places.accounts import Account
from tarry.places.http import call, only_asking
from tarry.places.mediawiki.answers import Hidden, page_of, read_answer, refusal, text_at, wait_of

__all__ = ["ActionApi", "WikiPage", "WikiVisit", "listed", "wiki_address"]

_WHERE = "the address of a wiki"
_MOST_ANSWER, _MOST_LOOK = 256 << 10, 4 << 20
_AT_ONCE, _MOST_LOOKS = 500, 20
#: A wiki lets an account fail about 150 times in two days before it shuts it out for as long.
_AFTER_LOGIN_S = 20 * 60
_MEND = "check login and bot password of this account in the accounts file; it is tried again later"
_SESSION_LOST = {"NeedToken", "WrongToken"}
_RESULT = re.compile(r"[A-Za-z]{1,30}")  # of a login; what else stands there may name somebody
_ALWAYS = {"action": "query", "format": "json", "formatversion": "2", "maxlag": "5"}
_SIGNS = frozenset({"query", "error", "batchcomplete", "continue"})  # one of which every answer has
_BUSY = frozenset({"maxlag", "ratelimited"})
_ADVICE = {"readapidenied": "it shows its pages to members only"}


@dataclass(frozen=True, kw_only=True)
class WikiPage:
    """What a look at a page tells.

    >>> WikiPage(newest=7, summaries=("typos (5a5a5a5a5a5a5a5a)",)).shows("(5a5a5a5a5a5a5a5a)")
    True
    """

    newest: int | None  # its newest revision; None: there is no such page
    is_redirect: bool = False
    summaries: Sequence[str] = ()  # of what the account has changed: here, and of late elsewhere
    token: str = field(default="", repr=False)

    def shows(self, marker: str) -> bool:
        """Whether a change with this marker has been made."""
        return any(summary.endswith(marker) for summary in self.summaries)


def wiki_address(url: str) -> Address:
    """Check where a wiki is: the address of its api.php, encrypted unless it is on this machine.

    >>> wiki_address("https://wiki.example/w/index.php")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the address of a wiki must end in /api.php: Special:Version of the wiki \
shows it
    """
    address = read_address(url, _WHERE)
    if not address.path.endswith("/api.php"):
        raise BadInput(f"{_WHERE} must end in /api.php", "Special:Version of the wiki shows it")
    if not (address.tls or address.is_here):
        raise BadInput(f"{_WHERE} must begin with https://, not http://", "a password is sent there")
    return address


class WikiVisit:
    """One visit. `timeout_s` bounds each question as a whole.

    >>> account = Account(login="Nym@tarry", password="secret", at="http://127.0.0.1:9/api.php")
    >>> WikiVisit(account, timeout_s=5).log_in()
    Traceback (most recent call last):
    tarry.keep.errors.Unreachable: the wiki cannot be reached: Connection refused
    """

    def __init__(self, account: Account, *, timeout_s: float, tls: ssl.SSLContext | None = None) -> None:
        self._account, self._address, self._timeout_s = account, wiki_address(account.at), timeout_s
        # Made once: reading all the certificates that the system trusts takes long.
        self._tls = (tls or ssl.create_default_context()) if self._address.tls else None
        self._cookies: dict[str, str] = {}
        self._user = ""

    @only_asking()
    def log_in(self) -> None:
        """Get in with the account's bot password, or raise that it cannot."""
        tokens = self.ask({"action": "query", "meta": "tokens", "type": "login"})
        token = text_at(tokens, "query", "tokens", "logintoken")
        name, password = self._account.login, self._account.password
        answer = self.ask({"action": "login", "lgname": name, "lgpassword": password, "lgtoken": token})
        result = text_at(answer, "login", "result")
        if result == "Success":
            self._user = text_at(answer, "login", "lgusername")
        elif result in _SESSION_LOST:
            raise Unreachable(f"the wiki has lost the session in which it was asked for a login: {result}")
        else:  # its reason may name the account
            wait_s = wait_of(answer["login"], _AFTER_LOGIN_S)
            known = _RESULT.fullmatch(result) and self._hidden().out_of(result) == result
            why = f"the wiki refuses this account's login: {result if known else 'for a reason of its own'}"
            raise LockedOut(f"{why}: {_MEND}", wait_s=wait_s)

    @only_asking()
    def look(self, title: str) -> WikiPage:
        """One page, with what this account has done to it, and the token for a change.

        It also has what the account did to other pages of late: the page may have been moved.
        """
        question = {
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
        answer = self.ask(question, _MOST_LOOK)
        page = page_of(answer)
        if not page.get("missing") and not isinstance(page.get("lastrevid"), int):
            raise Unreachable("the wiki's answer has no revision of the page")
        return WikiPage(
            newest=None if page.get("missing") else page["lastrevid"],
            is_redirect=bool(page.get("redirect")),
            token=text_at(answer, "query", "tokens", "csrftoken"),
            summaries=self._summaries(question, answer),
        )

    def _summaries(self, question: Mapping[str, str], answer: dict[str, Any]) -> list[str]:
        """Those of an answer, and of all that it says is to follow about the page."""
        summaries: list[str] = []
        for _ in range(_MOST_LOOKS):
            page = page_of(answer)
            summaries += _comments(page.get("revisions")) + _comments(answer["query"].get("usercontribs"))
            more = answer.get("continue")
            if not isinstance(more, dict) or "rvcontinue" not in more:
                return summaries
            following = {str(name): str(more[name]) for name in sorted(more)}
            answer = self.ask({**question, **following}, _MOST_LOOK)
        most = _AT_ONCE * _MOST_LOOKS
        raise Refused(f"the page has more than {most} revisions by this account: make this change by hand")

    @only_asking()
    def deleted_at(self, title: str) -> str | None:
        """When a page of this title was last deleted, in ISO 8601; None: never, as far as the wiki says."""
        question = {
            "action": "query",
            "assert": "user",
            "list": "logevents",
            "leprop": "timestamp",
            "letype": "delete",
            "letitle": title,
            "lelimit": "1",
        }
        query = self.ask(question).get("query")
        events = query.get("logevents") if isinstance(query, dict) else None
        if not isinstance(events, list):
            raise Unreachable("the wiki's answer has no log of deletions")
        return text_at(events[0], "timestamp") if events else None

    def save(self, fields: Mapping[str, str], token: str) -> None:
        """Change a page. The token comes last: a form that was cut off on its way is not obeyed."""
        answer = self.ask({"action": "edit", "assert": "user", **fields, "token": token})
        result = text_at(answer, "edit", "result")
        if result == "Success":
            return
        edit = answer["edit"]
        code = "captcha" if "captcha" in edit else str(edit.get("code", result))
        raise refusal(code, str(edit.get("info", "")), self._hidden())

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


@dataclass(frozen=True, kw_only=True)
class ActionApi:
    """A wiki's api.php, asked for one piece after the other; only one is held.

    >>> ActionApi(address="https://wiki.example.org/w/api.php").who
    'the wiki wiki.example.org'
    """

    address: str
    wait: Callable[[float], None] = time.sleep

    @property
    def who(self) -> str:
        """What sentences call it."""
        return f"the wiki {read_address(self.address, _WHERE).server}"

    def pieces(self, question: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """What the wiki answers, for as long as it says that there is more."""
        more: dict[str, str] = {}
        while True:
            answer = self._answer({**_ALWAYS, **question, **more})
            yield _object(answer.get("query"))
            if "continue" not in answer:
                return
            before, more = more, {name: str(value) for name, value in _object(answer["continue"]).items()}
            if more in ({}, before):
                raise NotPossible(f"{self.who} says the same again and again: try again later")

    def _answer(self, question: Mapping[str, str]) -> dict[str, Any]:
        answer = get_json(self.address, question, who=self.who, wait=self.wait, busy=_is_busy)
        if not isinstance(answer, dict) or not answer.keys() & _SIGNS:
            self._refuse_strange()
        if "error" in answer:  # though the status is 200
            code = one_line(str(_object(answer["error"]).get("code", "")))
            advice = _ADVICE.get(code, "its api.php explains the code")
            raise NotPossible(f"{self.who} refused the question ({code}): {advice}")
        return answer

    def _refuse_strange(self) -> NoReturn:
        problem = f"{self.who} answered something that is not of the Action API"
        raise BadInput(problem, "give the address of its api.php")


def listed(answer: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in a list; what is none there is an empty one.

    >>> listed({"pages": [{"ns": 0}, 5]}, "pages"), listed({}, "pages")
    ([{'ns': 0}, {}], [])
    """
    rows = answer.get(name, [])
    return [_object(row) for row in rows] if isinstance(rows, list) else [{}]


def _is_busy(answer: Any) -> bool:
    return _object(_object(answer).get("error")).get("code") in _BUSY


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
