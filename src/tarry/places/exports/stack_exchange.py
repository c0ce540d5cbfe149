"""Stack Exchange dumps: who wrote, commented on or edited which post, from one of their XML files.

Each file is a list of rows whose fields are attributes. Times are UTC, to the millisecond.
"""

from typing import NamedTuple

from tarry.readers.events import Event, Stream
from tarry.readers.exports import XmlStream, event_of, events_found
from tarry.readers.faults import Faults, clip
from tarry.readers.sources import Paths, Pieces

__all__ = ["read_stack_exchange"]

_NOTES = (
    "accounts are told by number; a deleted one by the display name that is left, which two may share",
)
_COMMUNITY = "-1"  # the account of the site itself, which owns tag wikis and edits by machine


class _File(NamedTuple):
    """One kind of file: which attributes say who and on what."""

    actors: tuple[str, str]  # the account's number, and the name that is left without one
    targets: tuple[str, ...]  # the first that is there counts


_FILES = {  # by the element around the rows
    "posts": _File(("OwnerUserId", "OwnerDisplayName"), ("ParentId", "Id")),
    "comments": _File(("UserId", "UserDisplayName"), ("PostId",)),
    "posthistory": _File(("UserId", "UserDisplayName"), ("PostId",)),
}
_OTHERS = {
    "votes": "votes (which tell a day, and not who voted)",
    "users": "users (who do nothing there)",
    "badges": "badges (which are not acts on a post)",
    "tags": "tags (which nobody does)",
    "postlinks": "links (which do not tell who made them)",
}


def read_stack_exchange(path: Paths) -> Stream:
    """Read Posts.xml (the target is the question), Comments.xml or PostHistory.xml (it is the post).

    Rows of PostHistory.xml that follow one another and belong to one revision (its title, its text, its
    tags) are one event. Several files must be of one site: accounts of two have the same numbers.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     posts = Path(folder) / "Posts.xml"
    ...     _ = posts.write_text(
    ...         '<posts><row Id="9" PostTypeId="2" ParentId="4" OwnerUserId="17" '
    ...         'CreationDate="2024-05-01T10:00:00.250" /></posts>'
    ...     )
    ...     list(read_stack_exchange(posts))
    [Event(actor='17', target='4', time=1714557600250000, track='', is_bot=False)]
    """
    pieces = Pieces(path, "the dump")
    return Stream(events_found(pieces, _Rows), pieces.faults, _NOTES, pieces.share)


class _Rows:
    """The rows of one file, as events."""

    def __init__(self, what: str, faults: Faults) -> None:
        self.faults = faults
        self.events: list[Event] = []
        self._file = _FILES["posts"]  # until the first element says which it is
        self._before: tuple[str | None, Event] | None = None  # the last event, and the revision it was
        self.xml = XmlStream(what, root=self._set_file, begins={"row": self._row})

    def _set_file(self, name: str) -> None:
        if name not in _FILES:
            raise self.xml.refuse(
                "must be Posts.xml, Comments.xml or PostHistory.xml", _OTHERS.get(name, f"<{clip(name)}>")
            )
        self._file = _FILES[name]

    def _row(self, row: dict[str, str]) -> None:
        actor = _actor(row, *self._file.actors)
        target = next((row[name] for name in self._file.targets if row.get(name)), "")
        event = event_of(
            actor, target, row.get("CreationDate"), is_bot=actor == _COMMUNITY, bare_is_utc=True
        )
        if isinstance(event, str):
            self.faults.add(self.xml.line, event)
            return
        revision = (row.get("RevisionGUID"), event)
        if revision[0] is None or revision != self._before:
            self.events.append(event)
        self._before = revision


def _actor(row: dict[str, str], number: str, name: str) -> str:
    """A name never equals a number: an account 17 and somebody who was called 17 are two."""
    if row.get(number):
        return row[number]
    return f"name {row[name]}" if row.get(name) else ""
