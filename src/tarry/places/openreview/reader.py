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

from tarry.core.errors import BadInput
from tarry.places.openreview.client import check_api, note_pages
from tarry.readers.events import Event, Stream
from tarry.readers.exports import Fields, event_of, events_of, json_stream_of, read_fields
from tarry.readers.faults import Faults
from tarry.readers.moments import counted_us
from tarry.readers.sources import Paths

__all__ = ["read_openreview"]

_ADDRESS = re.compile(r"https?://")
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
            raise BadInput(
                "an OpenReview address is among several sources", "give one address, or files alone"
            )
        if login is not None:
            raise BadInput("a file needs no login", "leave --login out")
        return json_stream_of(source, "the OpenReview export", convert, notes=_NOTES)
    check_api(source, with_password=login is not None)
    if invitation is None:
        raise BadInput(
            "no invitation given", "use --invitation, such as Venue/2026/Conference/-/Submission"
        )
    faults = Faults("OpenReview")
    pages = enumerate(note_pages(source, invitation, login, wait), 1)
    return Stream(events_of(pages, convert, faults), faults, _NOTES)


def _events(answer: Fields, *, invitation: str | None) -> Iterator[Event | str]:
    """The events of a note with its replies, of an edit, or of a whole answer of them."""
    name = next((name for name in ("notes", "edits") if isinstance(answer.get(name), list)), None)
    if name is None:
        yield from _note(answer, invitation)
        return
    for number, each in enumerate(answer[name], 1):
        for event in _note(each, invitation):
            yield event if isinstance(event, Event) else f"{name[:-1]} {number}: {event}"


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
        return "no note and no note edit"
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
    event = event_of(actor, target, note["tcdate"], _venue(note), read=partial(counted_us, unit="ms"))
    return event if isinstance(event, Event) else f"tcdate: {event}"


def _invitations(note: Fields) -> list[Any]:
    """Of a note the ones it answers; an edit, and a note of API 1, has one."""
    invitations = note.get("invitations", note.get("invitation"))
    return invitations if isinstance(invitations, list) else [invitations]


def _venue(note: Fields) -> str:
    """The domain, or what stands before the paper's number in the first invitation."""
    if isinstance(note.get("domain"), str):
        return str(note["domain"])
    first = next(iter(_invitations(note)), None)
    place = first.partition("/-/")[0] if isinstance(first, str) else ""
    return re.sub(r"/(?:Submission|Paper)[0-9]+(?:/.*)?$", "", place)
