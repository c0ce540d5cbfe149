"""The Action API of a MediaWiki: questions whose answers come in pieces."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from tarry.core.errors import BadInput, NotPossible
from tarry.readers.faults import clip
from tarry.readers.web import get_json
from tarry.readers.web_call import split_address

__all__ = ["ActionApi", "listed"]

_ALWAYS = {"action": "query", "format": "json", "formatversion": "2", "maxlag": "5"}
_SIGNS = frozenset({"query", "error", "batchcomplete", "continue"})  # one of which every answer has
_BUSY = frozenset({"maxlag", "ratelimited"})
_ADVICE = {"readapidenied": "it shows its pages to members only"}


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
        return f"the wiki {split_address(self.address, 'the address of a wiki').netloc}"

    def pieces(self, question: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """What the wiki tells, for as long as it says that there is more."""
        more: dict[str, str] = {}
        while True:
            answer = self._ask({**_ALWAYS, **question, **more})
            yield _object(answer.get("query"))
            if "continue" not in answer:
                return
            before, more = more, {name: str(value) for name, value in _object(answer["continue"]).items()}
            if more in ({}, before):
                raise NotPossible(f"{self.who} says the same again and again: try again later")

    def _ask(self, question: Mapping[str, str]) -> dict[str, Any]:
        answer = get_json(self.address, question, who=self.who, wait=self.wait, busy=_is_busy)
        if not isinstance(answer, dict) or not answer.keys() & {
            "query",
            "error",
            "batchcomplete",
            "continue",
        }:
            self._refuse_strange()
        if "error" in answer:  # though the status is 200
            code = clip(_object(answer["error"]).get("code", ""))
            advice = _ADVICE.get(code, "its api.php explains the code")
            raise NotPossible(f"{self.who} refused the question ({code}): {advice}")
        return answer

    def _refuse_strange(self) -> NoReturn:
        what, fix = f"the answer of {self.who}", "give the address of its api.php"
        raise BadInput(what, "must be one of the Action API", found="another", fix=fix)


def listed(told: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in a list; what is none there is an empty one.

    >>> listed({"pages": [{"ns": 0}, 5]}, "pages"), listed({}, "pages")
    ([{'ns': 0}, {}], [])
    """
    found = told.get(name, [])
    return [_object(each) for each in found] if isinstance(found, list) else [{}]


def _is_busy(answer: Any) -> bool:
    return _object(_object(answer).get("error")).get("code") in _BUSY


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
