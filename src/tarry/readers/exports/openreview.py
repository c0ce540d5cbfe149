"""Notes of OpenReview (papers, reviews, comments) with the dates that OpenReview itself wrote down.

They come from its API 2, or from a file of what the API or its Python client gave: arrays, lines, whole
answers. A note that holds its replies tells of these too. Note edits, which tell who the author truly is to
those who may know, are read as well.
"""

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput, NotPossible
from tarry.readers.events import Event, Stream
from tarry.readers.exports.json_export import Fields, events_of, json_stream_of, read_fields
from tarry.readers.faults import Faults
from tarry.readers.json_stream import Found
from tarry.readers.moments import NoMoment, counted_us
from tarry.readers.sources import Paths
from tarry.readers.web import get_json, post_json
from tarry.readers.web_call import split_address

__all__ = ["read_openreview"]

_WHO = "OpenReview"
_ADDRESS = re.compile(r"https?://")
_API = "https://api2.openreview.net"
_WEBSITES = {"openreview.net", "www.openreview.net", "api.openreview.net"}
_HERE = {"127.0.0.1", "::1", "localhost"}
_AT_ONCE = 100  # papers in an answer, each with all its replies
_LOGIN_ANSWERS = frozenset({200, 400, 401, 403})
_NO_NOTE = "no note and no note edit"
_NOTES = (
    (
        "the time of a note is its tcdate, which is OpenReview's own clock to the millisecond;"
        " cdate, mdate, pdate and odate may be set by hand and are not used"
    ),
    (
        "most signatures are anonymous names for one paper: that two of them are one person is told only by"
        " tauthor, to those who may see it; else give a mapping"
    ),
    "a note that was edited keeps its tcdate: only an export of note edits tells when",
)


def read_openreview(
    source: Paths,
    *,
    invitation: str | None = None,
    login: tuple[str, str] | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> Stream:
    """Read the notes that answer an invitation, with their replies: from an API's address, or from files.

    The actor is the true author where it is told, else the first signature; the target is the forum (the
    paper), and the track the venue. One answer of the API is held at a time.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.jsonl"
    ...     _ = path.write_text(
    ...         '{"id": "n1", "forum": "f1", "signatures": ["V.org/2026/Submission3/Reviewer_a"], '
    ...         '"invitations": ["V.org/2026/Submission3/-/Official_Review"], "tcdate": 1767225660123}'
    ...     )
    ...     [(event.target, event.time, event.track) for event in read_openreview(path)]
    [('f1', 1767225660123000, 'V.org/2026')]
    """
    convert = partial(_events, invitation=invitation)
    if not isinstance(source, str) or not _ADDRESS.match(source):
        if not isinstance(source, str | Path) and any(_ADDRESS.match(str(each)) for each in source):
            found = "an address among several"
            raise BadInput("what to read of OpenReview", "must be one address, or files", found=found)
        if login is not None:
            raise BadInput("a login", "must be left out where a file is read", found="one")
        return json_stream_of(source, "the OpenReview export", convert, notes=_NOTES)
    address = _checked(source, login)
    if invitation is None:
        fix = "such as Venue/2026/Conference/-/Submission"
        raise BadInput("what to read of OpenReview", "must be an invitation", found="none", fix=fix)
    faults = Faults(_WHO)
    return Stream(events_of(_pages(address, invitation, login, wait), convert, faults), faults, _NOTES)


def _checked(address: str, login: tuple[str, str] | None) -> str:
    parts, what = split_address(address), "the address of OpenReview"
    if parts.hostname in _WEBSITES:
        raise BadInput(what, "must be that of its API 2", found="another", fix=f"use {_API}")
    if login and parts.scheme != "https" and parts.hostname not in _HERE:
        raise BadInput(what, "must begin with https:// where there is a login", found="http://")
    return address.rstrip("/")


def _pages(
    address: str, invitation: str, login: tuple[str, str] | None, wait: Callable[[float], None]
) -> Iterator[Found]:
    """Answer after answer, in the order of ids, each told after the last note of the one before."""
    headers = {"Authorization": f"Bearer {_token(address, login, wait)}"} if login else {}
    asked = {"invitation": invitation, "details": "replies", "sort": "id", "limit": str(_AT_ONCE)}
    for number in range(1, 1_000_000):
        try:
            page = get_json(f"{address}/notes", asked, headers=headers, who=_WHO, wait=wait)
        except NotPossible as error:
            if login or "403" not in str(error):
                raise
            raise NotPossible(f"{error}: without a login it shows hardly anything, give one") from None
        notes = page.get("notes") if isinstance(page, dict) else None
        if not isinstance(notes, list):
            raise BadInput("the answer of OpenReview", "must hold notes", found="none")
        if not notes:
            return
        yield Found(number, page)
        last = read_fields(notes[-1], "id")
        if not isinstance(last, str) or last == asked.get("after"):
            raise NotPossible("OpenReview gives the same notes again and again: try again later")
        asked["after"] = last


def _token(address: str, login: tuple[str, str], wait: Callable[[float], None]) -> str:
    told = {"id": login[0], "password": login[1]}
    answer = post_json(f"{address}/login", told, who=_WHO, answers=_LOGIN_ANSWERS, wait=wait)
    if read_fields(answer, "mfaPending"):
        raise NotPossible(
            "OpenReview asks for a second factor, which only a person can give: export by hand"
        )
    token = read_fields(answer, "token")
    if not isinstance(token, str) or not token:
        raise NotPossible("OpenReview refuses the login: check the user and the password")
    return token


def _events(found: Fields, *, invitation: str | None) -> Iterator[Event | str]:
    """The events of a note with its replies, of an edit, or of a whole answer of them."""
    for name in ("notes", "edits"):
        if isinstance(found.get(name), list):
            for number, each in enumerate(found[name], 1):
                for event in _note(each, invitation):
                    yield event if isinstance(event, Event) else f"{name[:-1]} {number}: {event}"
            return
    yield from _note(found, invitation)


def _note(note: Any, invitation: str | None) -> Iterator[Event | str]:
    if not isinstance(note, dict):
        yield "not a JSON object"
        return
    if invitation is not None and invitation not in _invitations(note):
        return
    yield _event(note)
    replies = read_fields(note, "details", "replies")
    for reply in replies if isinstance(replies, list) else ():
        yield _event(reply) if isinstance(reply, dict) else "a reply that is not a JSON object"


def _event(note: Fields) -> Event | str:
    if "signatures" not in note and "tcdate" not in note:
        return _NO_NOTE
    signatures = note.get("signatures")
    actor = note.get("tauthor") or (signatures[0] if isinstance(signatures, list) and signatures else None)
    if not isinstance(actor, str) or not actor:
        return "it has no signature"
    about = note["note"] if isinstance(note.get("note"), dict) else note  # of an edit, what it edits
    target = about.get("forum") or about.get("id")
    if not isinstance(target, str) or not target:
        return "its forum is missing"
    if note.get("tcdate") is None:
        return "tcdate is missing, and no other date is to be trusted"
    try:
        moment = counted_us(note["tcdate"], "ms")
    except NoMoment as error:
        return f"tcdate: {error}"
    return Event(actor, target, moment, _venue(note))


def _invitations(note: Fields) -> list[Any]:
    """Of a note the ones it answers; an edit, and a note of API 1, has one."""
    told = note.get("invitations", note.get("invitation"))
    return told if isinstance(told, list) else [told]


def _venue(note: Fields) -> str:
    """The domain, or what stands before the paper's number in the first invitation."""
    if isinstance(note.get("domain"), str):
        return str(note["domain"])
    first = next(iter(_invitations(note)), None)
    place = first.partition("/-/")[0] if isinstance(first, str) else ""
    return re.sub(r"/(?:Submission|Paper)[0-9]+(?:/.*)?$", "", place)
