"""A visit to a wiki under one account, by its Action API: a login, a look, a change, and what is answered.

A visit asks everything by POST, as a form whose fields stand in a fixed order. What a wiki wants to hear
again (cookies, tokens) lives as long as the visit.

A wiki answers an error with status 200, in JSON, by a code and in words. They are sorted here into those
that are for a person (`Refused`), those that a later try may change (`Unreachable`), and those that keep
one account out (`LockedOut`). No sentence names the account, although a wiki's words may. An answer that
does not say whether the wiki has obeyed is marked as `sent`.
"""

import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from tarry.core.errors import BadInput
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.net.address import Address, read_address
from tarry.net.http_call import Response, one_line
from tarry.places.accounts import Account
from tarry.places.http import call, check_status, only_asking, wait_of

__all__ = [
    "WHERE",
    "Hidden",
    "WikiPage",
    "WikiVisit",
    "page_of",
    "read_answer",
    "refusal",
    "text_at",
    "wiki_address",
]

#: What sentences call the address.
WHERE = "the address of a wiki"
_MOST_ANSWER, _MOST_LOOK = 256 << 10, 4 << 20
_AT_ONCE, _MOST_LOOKS = 500, 20
#: A wiki lets an account fail about 150 times in two days before it shuts it out for as long.
_AFTER_LOGIN_S = 20 * 60
_MEND = "check login and bot password of this account in the accounts file; it is tried again later"
_RESULT = re.compile(r"[A-Za-z]{1,30}")  # of a login; what else stands there may name somebody
_CODE = re.compile(r"[A-Za-z0-9_-]{1,80}")
_BLANKS = re.compile(r"[\s_]+")
_ANY_BLANKS = r"(?:[\s_+]|%20){1,9}"
_PASSING_CODES = {"readonly", "maxlag", "badtoken", "assertuserfailed", "assertnameduserfailed"}
_ADVICE = {
    "editconflict": "somebody changed the page meanwhile; take the new text and hand yours in again",
    "articleexists": "the page is there already; edit it or append to it",
    "missingtitle": "there is no such page; it may have been moved or deleted, or has to be created",
    "pagedeleted": "the page was deleted meanwhile; look why before it is created again",
    "badmd5": "the text arrived changed",
}


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """What no sentence may repeat: the names of an account, in any spelling of a wiki's, and its password.

    >>> Hidden(names=("Nym_two",), password="secret").out_of("nym two, not Nymph, said 'topsecret'")
    "(the account), not Nymph, said 'top...'"
    """

    names: tuple[str, ...] = ()
    password: str = ""

    def out_of(self, words: str) -> str:
        """The words without them. Names are whole words, the password is nowhere."""
        for each in (self.password, self.password.rpartition("@")[2]):  # of "tarry@...", an older way
            words = words.replace(each, "...") if each else words
        for name in sorted(self.names, key=len, reverse=True):
            parts = [re.escape(part) for part in _BLANKS.split(name) if part]
            if parts:
                spelt = rf"(?<![^\W_]){_ANY_BLANKS.join(parts)}(?![^\W_])"
                words = re.sub(spelt, "(the account)", words, flags=re.IGNORECASE)
        return words


_NOTHING = Hidden()


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
    address = read_address(url, WHERE, with_password=True)
    if not address.path.endswith("/api.php"):
        raise BadInput(f"{WHERE} must end in /api.php", "Special:Version of the wiki shows it")
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
        self._tls = tls
        self._cookies: dict[str, str] = {}
        self._user = ""

    @only_asking()
    def log_in(self) -> None:
        """Get in with the account's bot password, or raise that it cannot."""
        tokens = self.ask({"action": "query", "meta": "tokens", "type": "login"})
        answer = self.ask(
            {
                "action": "login",
                "lgname": self._account.login,
                "lgpassword": self._account.password,
                "lgtoken": text_at(tokens, "query", "tokens", "logintoken"),
            }
        )
        result = text_at(answer, "login", "result")
        if result == "Success":
            self._user = text_at(answer, "login", "lgusername")
        elif result in {"NeedToken", "WrongToken"}:
            raise Unreachable(f"the wiki has lost the session in which it was asked for a login: {result}")
        else:  # its reason may name the account
            known = _RESULT.fullmatch(result) and self._hidden().out_of(result) == result
            why = f"the wiki refuses this account's login: {result if known else 'for a reason of its own'}"
            wait_s = wait_of(answer["login"].get("wait"), answer["login"].get("reason"), _AFTER_LOGIN_S)
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
            summaries=list(self._summaries(question, answer)),
        )

    def _summaries(self, question: Mapping[str, str], answer: dict[str, Any]) -> Iterator[str]:
        """Those of an answer, and of all that it says is to follow about the page."""
        for _ in range(_MOST_LOOKS):
            yield from _comments(page_of(answer).get("revisions"))
            yield from _comments(answer["query"].get("usercontribs"))
            more = answer.get("continue")
            if not isinstance(more, dict) or "rvcontinue" not in more:
                return
            answer = self.ask(
                {**question, **{str(name): str(more[name]) for name in sorted(more)}}, _MOST_LOOK
            )
        raise Refused(
            f"the page has more than {_AT_ONCE * _MOST_LOOKS} revisions by this account: "
            "make this change by hand"
        )

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
        answer = call(
            self._address,
            headers,
            # Of ours everything can be encoded; of what the wiki wants to hear again perhaps not.
            urlencode(form, errors="replace").encode(),
            timeout_s=self._timeout_s,
            tls=self._tls,
            who="the wiki",
            most=most,
        )
        # How one is taken back: with nothing in it, or as deleted.
        kept = {**self._cookies, **answer.cookies}
        self._cookies = {name: value for name, value in kept.items() if value not in {"", "deleted"}}
        return read_answer(answer, self._hidden())

    def _hidden(self) -> Hidden:
        """What a sentence may not repeat."""
        login = self._account.login
        return Hidden(names=(self._user, login, login.partition("@")[0]), password=self._account.password)


def _comments(changes: Any) -> list[str]:
    """What an administrator has hidden has none."""
    rows = [row for row in changes if isinstance(row, dict)] if isinstance(changes, list) else []
    return [row["comment"] for row in rows if isinstance(row.get("comment"), str)]


def read_answer(response: Response, hidden: Hidden = _NOTHING) -> dict[str, Any]:
    """What a wiki says, if it is no error.

    >>> read_answer(Response(status=200, body=b'{"error": {"code": "readonly", "info": "Wait."}}'))
    Traceback (most recent call last):
    tarry.keep.errors.Unreachable: the wiki cannot do it now (readonly: Wait.)
    """
    answer = response.fields or {}
    if isinstance(error := answer.get("error"), dict):
        raise _trouble(response, str(error.get("code")), str(error.get("info", "")), hidden)
    check_status(
        response, "the wiki", refused="check the address of its api.php", final="address of api.php"
    )
    if not answer:
        raise Unreachable("the wiki answered something that is not JSON", sent=True)
    return answer


def refusal(code: str, words: str, hidden: Hidden = _NOTHING) -> Refused:
    """Why a wiki will never do it, in one sentence.

    >>> print(refusal("articleexists", "It is there."))
    the wiki refuses this: the page is there already; edit it or append to it (articleexists: It is there.)
    """
    advice = f": {_ADVICE[code]}" if code in _ADVICE else ""
    return Refused(f"the wiki refuses this{advice} ({_code_and_words(code, words, hidden)})")


def text_at(answer: Any, *path: str) -> str:
    """A text at a place of an answer where one has to be.

    >>> text_at({"login": {"result": "Success"}}, "login", "result")
    'Success'
    """
    for name in path:
        answer = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(answer, str) or not answer:
        raise Unreachable(f"the wiki's answer has no {path[-1]}", sent=True)
    return answer


def page_of(answer: dict[str, Any]) -> dict[str, Any]:
    """The one page that was asked for.

    >>> page_of({"query": {"pages": [{"title": "Owls", "missing": True}]}})["title"]
    'Owls'
    """
    query = answer.get("query")
    pages = query.get("pages", [{"invalid": True}]) if isinstance(query, dict) else None
    if not (isinstance(pages, list) and len(pages) == 1 and isinstance(pages[0], dict)):
        raise Unreachable("the wiki's answer has no page")
    page: dict[str, Any] = pages[0]
    if page.get("invalid") or page.get("special"):  # or none at all: it is another wiki's
        raise Refused(
            "the wiki can have no page of this title: withdraw this, and send it with another title"
        )
    return page


def _trouble(response: Response, code: str, words: str, hidden: Hidden) -> Exception:
    if code == "ratelimited":
        return LockedOut(
            "the wiki wants this account to change less at a time",
            # The usual limits are by the minute.
            wait_s=wait_of(response.headers.get("retry-after"), None, usual=60),
        )
    broke = code.startswith("internal_api_error_")  # at whichever moment, be it after the change
    if code in _PASSING_CODES or broke:
        return Unreachable(
            f"the wiki cannot do it now ({_code_and_words(code, words, hidden)})", sent=broke
        )
    return refusal(code, words, hidden)


def _code_and_words(code: str, words: str, hidden: Hidden) -> str:
    """Its code and its words, but for names, and for what spam filters quote of the content."""
    known = code if _CODE.fullmatch(code) and hidden.out_of(code) == code else "an unknown code"
    line = "" if code.startswith("spam") else one_line(hidden.out_of(words))
    return f"{known}: {line}" if line else known
