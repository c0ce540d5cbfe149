"""Exports that are XML: what call backs find while files are parsed, as a stream of events."""

from collections.abc import Callable, Iterator
from typing import Protocol

from tarry.readers.events import Event
from tarry.readers.faults import Faults
from tarry.readers.sources import Pieces
from tarry.readers.xml_stream import XmlStream

__all__ = ["XmlFile", "events_found"]


class XmlFile(Protocol):
    """One file that is being parsed.

    >>> XmlFile.__name__
    'XmlFile'
    """

    xml: XmlStream
    found: list[Event]  # what its call backs have put there since it was last emptied


def events_found(pieces: Pieces, begin: Callable[[str, Faults], XmlFile]) -> Iterator[Event]:
    """Parse file after file, block after block, and take out in between what was found.

    `begin` is told what sentences call a file, and whom its faults are told.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from types import SimpleNamespace
    >>> def begin(what, faults):
    ...     found = []
    ...     put = {"row": lambda row: found.append(Event(row["who"], "p", 0))}
    ...     return SimpleNamespace(xml=XmlStream(what, root=lambda name: None, begins=put), found=found)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.xml"
    ...     _ = path.write_text('<rows><row who="ann" /></rows>')
    ...     [event.actor for event in events_found(Pieces(path, "the dump"), begin)]
    ['ann']
    """
    good = 0
    for source in pieces:
        file = begin(source.what, pieces.faults)
        for _ in file.xml.read(source.blocks()):
            yield from file.found
            good += len(file.found)
            file.found.clear()
            pieces.faults.give_up_if_hopeless(good)
