"""Stack Exchange dumps: who wrote, commented on or edited which post, from one of their XML files.

Each file is a list of rows whose fields are attributes. Times are UTC, to the millisecond.
"""

from collections.abc import Iterator
from functools import partial

from tarry.readers.events import Event, Stream
from tarry.readers.exports import Numbered, XmlStream, event_of, events_in
from tarry.readers.faults import clip
from tarry.readers.moments import moment_us
from tarry.readers.sources import Packed, Paths, Pieces

__all__ = ["read_stack_exchange"]

_NOTES = ("accounts are numbers; a deleted one by the display name that is left, which two may share",)
_utc = partial(moment_us, bare_is_utc=True)


#: By the element around the rows, which attributes say who and on what: the number of the account, the name
#: that is left without one, and the targets, of which the first that is there counts.
_FILES = {
    "posts": ("OwnerUserId", "OwnerDisplayName", ("ParentId", "Id")),
    "comments": ("UserId", "UserDisplayName", ("PostId",)),
    "posthistory": ("UserId", "UserDisplayName", ("PostId",)),
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
    found = (each for source in pieces for each in _rows(source))
    return Stream(events_in(found, pieces.faults), pieces.faults, _NOTES, pieces.share)


def _rows(source: Packed) -> Iterator[Numbered]:
    """The rows of one file, as events."""
    xml = XmlStream(source.what, begins={"row"})
    elements = xml.read(source.blocks())
    line, root, _ = next(elements)
    if root not in _FILES:
        found = _OTHERS.get(root, f"<{clip(root)}>")
        raise xml.refuse("must be Posts.xml, Comments.xml or PostHistory.xml", found, line=line)
    number, name_left, targets = _FILES[root]
    last: tuple[str | None, Event] | None = None  # the last event, and the revision it was
    for line, _, row in elements:
        # A name never equals a number: an account 17 and somebody who was called 17 are two.
        actor = row.get(number) or (f"name {row[name_left]}" if row.get(name_left) else "")
        target = next((row[name] for name in targets if row.get(name)), "")
        # The account -1 is the site itself, which owns tag wikis and edits by machine.
        event = event_of(actor, target, row.get("CreationDate"), is_bot=actor == "-1", read=_utc)
        if isinstance(event, Event):
            before, last = last, (row.get("RevisionGUID"), event)
            if last == before and last[0] is not None:
                continue
        yield line, event
