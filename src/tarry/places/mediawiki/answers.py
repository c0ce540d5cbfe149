"""What a wiki's answers mean.

A wiki answers an error with status 200, in JSON, by a code and in words. They are sorted here into those
that are for a person (`Refused`), those that a later try may change (`Unreachable`), and those that keep
one account out (`LockedOut`). No sentence names the account, although a wiki's words may. An answer that
does not say whether the wiki has obeyed is marked as `sent`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.net.http_call import Response, one_line

__all__ = ["Hidden", "page_of", "read_answer", "refusal", "text_at", "wait_of"]

_LONGEST_WAIT_S = 2 * 86_400
_AFTER_RATE_S = 60  # the usual limits are by the minute
_WAIT = re.compile(r"\b(\d{1,6}) (second|minute|hour|day)s?\b")
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
_CODE = re.compile(r"[A-Za-z0-9_-]{1,80}")
_BLANKS = re.compile(r"[\s_]+")
_ANY_BLANKS = r"(?:[\s_+]|%20){1,9}"
_PASSING_STATUS = {408, 425, 429}
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
        whole, secret = self.password, self.password.rpartition("@")[2]  # of "tarry@...", an older way
        for each in filter(None, (whole, secret)):
            words = words.replace(each, "...")
        for name in sorted(self.names, key=len, reverse=True):
            parts = [re.escape(part) for part in _BLANKS.split(name) if part]
            if parts:
                spelt = rf"(?<![^\W_]){_ANY_BLANKS.join(parts)}(?![^\W_])"
                words = re.sub(spelt, "(the account)", words, flags=re.IGNORECASE)
        return words


_NOTHING = Hidden()


def read_answer(response: Response, hidden: Hidden = _NOTHING) -> dict[str, Any]:
    """What a wiki says, if it is no error.

    >>> read_answer(Response(status=200, body=b'{"error": {"code": "readonly", "info": "Wait."}}'))
    Traceback (most recent call last):
    tarry.keep.errors.Unreachable: the wiki cannot do it now (readonly: Wait.)
    """
    answer = _json(response.body)
    if isinstance(error := answer.get("error"), dict):
        raise _trouble(response, str(error.get("code")), str(error.get("info", "")), hidden)
    if 300 <= response.status < 400:
        fix = "redirects are not followed, give the final address of api.php"
        raise Refused(f"the wiki answered {response}: {fix}")
    if 400 <= response.status < 500 and response.status not in _PASSING_STATUS:
        raise Refused(f"the wiki answered {response}: check the address of its api.php")
    if not 200 <= response.status < 300:
        raise Unreachable(f"the wiki answered {response}", sent=True)
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


def wait_of(answer: Mapping[str, Any], usual: int) -> int:
    """How many seconds a wiki wants to be left alone: by a number, in its words, or as usual.

    >>> wait_of({"wait": 30}, 60), wait_of({"reason": "Please wait 5 minutes."}, 60), wait_of({}, 60)
    (30, 300, 60)
    """
    if (number := str(answer.get("wait", ""))).isdecimal() and number.isascii() and len(number) < 10:
        return min(int(number), _LONGEST_WAIT_S)
    if isinstance(reason := answer.get("reason"), str) and (wait := _WAIT.search(reason)):
        return min(int(wait[1]) * _SECONDS[wait[2]], _LONGEST_WAIT_S)
    return usual


def _trouble(response: Response, code: str, words: str, hidden: Hidden) -> Exception:
    if code == "ratelimited":
        wait_s = wait_of({"wait": response.headers.get("retry-after")}, _AFTER_RATE_S)
        return LockedOut("the wiki wants this account to change less at a time", wait_s=wait_s)
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


def _json(body: bytes) -> dict[str, Any]:
    """An answer; empty if it is none."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}
