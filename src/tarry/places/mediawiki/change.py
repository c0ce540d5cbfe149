"""The options of a post for a wiki, read and checked: a change of one page.

What no wiki of the kind takes is refused here, without asking any: a question would show an arrival. Texts
are put into the form in which a wiki keeps them (Unicode's NFC), so that both sides mean the same bytes.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from tarry.core.errors import BadInput

__all__ = ["Action", "WikiChange", "marked", "read_change", "read_text"]

Action = Literal["edit", "create", "append"]

_COMMON = {"account", "page", "action", "summary", "minor"}
_OWN = {"edit": {"base_revision"}, "create": set[str](), "append": {"heading"}}
_MARKER_DIGITS = 16
_MOST_SUMMARY = 500 - len(f" ({'0' * _MARKER_DIGITS})")  # a wiki cuts off what is longer than 500
_MOST_HEADING = 255
_MOST_TITLE_BYTES = 255
_MOST_TEXT_BYTES = 2 << 20  # what wikis take unless they are told otherwise
_NEVER_IN_TITLES = re.compile(r"[#<>\[\]{}|\x7f\ufffd]|%[0-9A-Fa-f]{2}|&[A-Za-z0-9\x80-\U0010ffff]+;|~~~")
_RELATIVE = re.compile(r"\.{1,2}(/.*)?|.*/\.{1,2}(/.*)?")
_NO_PAGES = re.compile(r"(special|media) *:.*", re.IGNORECASE)
_BLANKS = re.compile("[ _\xa0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_MARKS = re.compile("[\u200e\u200f\u202a-\u202e]+")  # of writing direction: wikis take them out
_NO_CHARACTERS = re.compile("[\ufffe\uffff\ud800-\udfff]")
_LARGEST_NUMBER = (1 << 63) - 1


@dataclass(frozen=True, kw_only=True)
class WikiChange:
    """What is to happen to which page, and by whom.

    >>> read_change({"account": "nym", "page": "Talk:Owls", "action": "append", "heading": "Food"}).heading
    'Food'
    """

    account: str  # a table of the accounts file
    page: str
    action: Action
    base_revision: int | None  # of an edit: the revision that the text was made from
    heading: str | None  # of what is appended
    summary: str
    minor: bool
    accounts: Path | None  # another accounts file: in one's own store only


def read_change(options: Mapping[str, Any], *, own: bool = False) -> WikiChange:
    """Check the options of a post; `own` if it is in one's own store, and may name an accounts file.

    >>> read_change({"account": "nym", "page": "Owls", "action": "edit"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: an edit has no base_revision: give the one that your text was made from
    """
    action: Any = options.get("action")
    if action not in get_args(Action):
        raise BadInput(
            f"unknown action {ascii(action)[:40]} of a wiki post", f"use {', '.join(get_args(Action))}"
        )
    if "content_type" in options:  # how a gateway marks what was no text
        raise BadInput("the content of a wiki post must be text", "send a string")
    known = _COMMON | _OWN[action] | ({"accounts"} if own else set())
    if unknown := {name for name in options if name not in known}:
        problem = f"a wiki post with action {action} has no option {min(map(repr, unknown))}"
        raise BadInput(problem, f"use {', '.join(sorted(known))}")
    minor = options.get("minor", False)
    if not isinstance(minor, bool):
        raise BadInput(f"minor must be true or false, not {ascii(minor)[:40]}")
    return WikiChange(
        account=_one_line(options.get("account"), "account", 1, _MOST_HEADING),
        page=_page(options.get("page")),
        action=action,
        base_revision=_revision(options.get("base_revision")) if action == "edit" else None,
        heading=_heading(options.get("heading")) if action == "append" else None,
        summary=_one_line(options.get("summary", ""), "summary", 0, _MOST_SUMMARY),
        minor=minor,
        accounts=_path(options.get("accounts")),
    )


def read_text(content: bytes) -> str:
    """The text of a page or a section, as a wiki keeps it.

    >>> read_text(("u" + chr(0x308)).encode()) == chr(0xFC)
    True
    >>> read_text(bytes([255]))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the content of a wiki post must be UTF-8 text
    """
    what = "the content of a wiki post"
    try:
        text = unicodedata.normalize("NFC", content.decode())
    except UnicodeDecodeError:
        raise BadInput(f"{what} must be UTF-8 text") from None
    if any(unicodedata.category(letter) == "Cc" and letter not in "\t\n\r" for letter in set(text)):
        raise BadInput(f"{what} must have no control characters")
    if _NO_CHARACTERS.search(text):
        raise BadInput(f"{what} must be made of Unicode characters, not of other numbers")
    if not text.strip():
        raise BadInput(f"{what} is {'nothing but blanks' if text else 'empty'}", "send a text")
    if (size := len(text.encode())) > _MOST_TEXT_BYTES:
        raise BadInput(f"{what} must be at most {_MOST_TEXT_BYTES} bytes, not {size}")
    return text


def marked(summary: str, release_id: str) -> tuple[str, str]:
    """The summary as it is sent, and the marker at its end by which the change is found again.

    >>> marked("typos", "5a" * 16)
    ('typos (5a5a5a5a5a5a5a5a)', '(5a5a5a5a5a5a5a5a)')
    """
    marker = f"({release_id[:_MARKER_DIGITS]})"
    return f"{summary} {marker}".strip(), marker


def _page(text: Any) -> str:
    """A title that some wiki may have; namespaces and case are the wiki's business."""
    what = "the page of a wiki post"
    title = _BLANKS.sub(" ", _MARKS.sub("", _one_line(text, "page", 1, 2 * _MOST_TITLE_BYTES))).strip(" ")
    bare = title.removeprefix(":").strip(" ")
    _, colon, name = bare.partition(":")
    if not bare or (colon and not name.strip(" ")):
        raise BadInput(f"{what} has no title", "give the title as it stands above the page")
    if _NEVER_IN_TITLES.search(title):
        rule = "must have no # < > [ ] { } |, percent code, entity or ~~~ in its title"
        raise BadInput(f"{what} {rule}", "give the title as it stands above the page")
    if _RELATIVE.fullmatch(bare):
        raise BadInput(f"{what} must have no . or .. as a part of its title")
    if _NO_PAGES.fullmatch(bare):
        raise BadInput(f"{what} is one that the wiki makes itself", "name a page that can be edited")
    if (size := len((name if colon else bare).strip(" ").encode())) > _MOST_TITLE_BYTES:
        raise BadInput(f"{what} must have a title of at most {_MOST_TITLE_BYTES} bytes, not {size}")
    return title


def _heading(text: Any) -> str:
    heading = _one_line(text, "heading", 1, _MOST_HEADING)
    if not heading.strip("= "):  # a wiki takes the signs of a heading away
        raise BadInput("the heading of a wiki post is empty", "give a heading")
    return heading


def _revision(number: Any) -> int:
    if number is None:
        raise BadInput("an edit has no base_revision", "give the one that your text was made from")
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= _LARGEST_NUMBER:
        raise BadInput(f"base_revision must be the number of a revision, not {ascii(number)[:40]}")
    return number


def _path(text: Any) -> Path | None:
    if text is None:
        return None
    if not isinstance(text, str) or "\0" in text or not Path(text).is_absolute():
        raise BadInput("accounts must be an absolute path", "begin it with /")
    return Path(text)


def _one_line(text: Any, name: str, least: int, most: int) -> str:
    if text is None:
        raise BadInput(f"a wiki post has no {name}", "give it")
    rule = f"the {name} of a wiki post must be one line of {least} to {most} characters"
    if not isinstance(text, str):
        raise BadInput(f"{rule}, not {type(text).__name__}")
    if any(unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"} for letter in text):
        raise BadInput(f"{rule}, without line ends or control characters")
    line = unicodedata.normalize("NFC", text).strip()
    if not least <= len(line) <= most or _NO_CHARACTERS.search(line):
        raise BadInput(f"{rule}, not {len(line)}")
    return line
