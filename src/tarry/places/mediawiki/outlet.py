"""MediaWiki: edits a page, creates one, or appends a section to one, by an account of the author's.

Each pseudonym has an account of its own at the wiki, and a bot password for it; both stand in the accounts
file. A visit at the release logs in, looks at the page, and makes one change.

Exactly once: a marker made of the release's id stands at the end of the summary, and every visit looks for
it among the account's changes first, for any try may come after one that succeeded. An edit whose page has
another newest revision than the one it was made from is refused: a person takes the new text, nothing is
overwritten. So is what would write into a page that was moved, deleted or made a redirect meanwhile, and a
second try to create a page that has been deleted.

What the wiki learns nevertheless: the address this machine connects from, and that tarry was used.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused
from tarry.keep.posts import Release
from tarry.keep.store import moment
from tarry.places.checks import check_options, is_one_line, never_taken, read_path, read_utf8
from tarry.places.http import AccountOutlet, ByAccount
from tarry.places.mediawiki.client import WikiPage, WikiVisit, wiki_address

__all__ = ["Action", "MediaWiki", "WikiChange", "marked", "read_change", "read_text"]

_LONG_AGO_S = 366 * 86_400  # no post is tried for so long: a deletion before that was of another's page
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


@dataclass(frozen=True, kw_only=True)
class WikiChange(ByAccount):
    """What is to happen to which page, and by whom.

    >>> read_change({"account": "nym", "page": "Talk:Owls", "action": "append", "heading": "Food"}).heading
    'Food'
    """

    page: str
    action: Action
    base_revision: int | None  # of an edit: the revision that the text was made from
    heading: str | None  # of what is appended
    summary: str
    minor: bool


class MediaWiki(AccountOutlet):
    """Changes pages by the accounts of a file, each with about four questions.

    Options: `account`, `page`, `action` ("edit" with its `base_revision`, "create", or "append" with its
    `heading`), `summary`, `minor`, and in one's own store `accounts`.

    >>> from pathlib import Path
    >>> from tarry.places.accounts import Accounts
    >>> MediaWiki(Accounts(Path("/nowhere/accounts.toml"), place="https://wiki.example/w/api.php"))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the accounts file '/nowhere/accounts.toml' does not exist: write it, or \
give another one
    """

    place = "a wiki"
    longest_s = 120

    def read(self, options: Mapping[str, Any]) -> WikiChange:
        """Check the options, as far as no wiki has to be asked."""
        return read_change(options, own=self.own)

    def check_place(self, url: str) -> None:
        """Refuse what is not a wiki's api.php."""
        wiki_address(url)

    def check_content(self, _options: Mapping[str, Any], content: bytes) -> None:
        """Refuse what is no text that a wiki could keep."""
        read_text(content)

    @never_taken()
    def deliver(self, release: Release) -> None:
        """Make the change, find it made, or raise why not."""
        change, text = self.read(release.options), read_text(release.content)
        visit = WikiVisit(self.account_now(change), timeout_s=self.timeout_s, tls=self.trust)
        visit.log_in()
        page = visit.look(change.page)
        summary, marker = marked(change.summary, release.id)
        if page.shows(marker):
            return
        _refuse_another_page(change, page)
        if change.action == "create" and page.newest is None and release.attempt > 1:
            _refuse_deleted(visit.deleted_at(change.page), release)
        try:
            visit.save(_fields(change, page, text, summary, moment(int(release.at))), page.token)
        except Refused:
            # An earlier try that got no answer may have been obeyed only now: then this one met its traces.
            if not visit.look(change.page).shows(marker):
                raise


def _refuse_another_page(change: WikiChange, page: WikiPage) -> None:
    """What the author has not seen is not written over."""
    if change.action == "create":
        return  # the wiki itself refuses to create what is there
    if page.newest is None:
        raise Refused("there is no such page: it may have been moved or deleted, or has to be created")
    if change.action == "edit" and page.newest != change.base_revision:
        raise Refused(
            "the page has changed since the revision that this edit was made from, and was left as it is: "
            "take the new text and hand yours in again"
        )
    if change.action == "append" and page.is_redirect:
        raise Refused(
            "the page is a redirect now, where nobody would see a new section: "
            "hand it in again for the page that it leads to"
        )


def _refuse_deleted(deleted: str | None, release: Release) -> None:
    """An earlier try may have made the page, and an administrator have deleted it since.

    Nobody else sees by whom a deleted page was. Nor does it help that the wiki itself compares the deletion
    with the release: that may have moved on.
    """
    if deleted is not None and deleted >= moment(int(release.at) - _LONG_AGO_S):
        raise Refused(
            "the page has been deleted, perhaps after an earlier try had created it: "
            "look why, then withdraw this, or hand it in again"
        )


def _fields(change: WikiChange, page: WikiPage, text: str, summary: str, at: str) -> dict[str, str]:
    """The form of a change, in its fixed order. It follows from the release and the page alone."""
    fields = {"title": change.page}
    if change.heading is not None:
        fields |= {"section": "new", "sectiontitle": change.heading}
    fields |= {"text": text, "summary": summary}
    fields["minor" if change.minor else "notminor"] = "1"  # whatever the account's preferences say
    if change.action == "create":
        # Created, and deleted since the release: it is not brought back.
        fields |= {"createonly": "1", "starttimestamp": at}
    else:
        # Also of a section: so the wiki notices one that it has just been given by an earlier try.
        fields |= {"nocreate": "1", "baserevid": str(page.newest)}
    md5 = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()  # what the wiki compares with
    return fields | {"watchlist": "nochange", "md5": md5}


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
    check_options(options, known, f"a wiki post with action {action}")
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
        accounts=read_path(options.get("accounts"), "accounts"),
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
    text = unicodedata.normalize("NFC", read_utf8(content, what))
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
        raise BadInput(
            f"{what} must have no # < > [ ] {{ }} |, percent code, entity or ~~~ in its title",
            "give the title as it stands above the page",
        )
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
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 1 << 63:
        raise BadInput(f"base_revision must be the number of a revision, not {ascii(number)[:40]}")
    return number


def _one_line(text: Any, name: str, least: int, most: int) -> str:
    if text is None:
        raise BadInput(f"a wiki post has no {name}", "give it")
    rule = f"the {name} of a wiki post must be one line of {least} to {most} characters"
    if not isinstance(text, str):
        raise BadInput(f"{rule}, not {type(text).__name__}")
    if not is_one_line(text):
        raise BadInput(f"{rule}, without line ends or control characters")
    line = unicodedata.normalize("NFC", text).strip()
    if not least <= len(line) <= most or _NO_CHARACTERS.search(line):
        raise BadInput(f"{rule}, not {len(line)}")
    return line
