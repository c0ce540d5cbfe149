"""Exports that are XML: what call backs find while a file is parsed, as a stream of events."""

from collections.abc import Iterator

from tarry.readers.events import Event
from tarry.readers.faults import Faults
from tarry.readers.packed import Packed
from tarry.readers.xml_stream import XmlStream

__all__ = ["events_found"]


def events_found(source: Packed, xml: XmlStream, found: list[Event], faults: Faults) -> Iterator[Event]:
    """Parse block after block, and take out in between what the call backs have put into `found`.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> found, faults = [], Faults("the dump")
    >>> put = {"row": lambda row: found.append(Event(row["who"], "p", 0))}
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.xml"
    ...     _ = path.write_text('<rows><row who="ann" /></rows>')
    ...     xml = XmlStream("the dump", root=lambda name: None, begins=put)
    ...     [event.actor for event in events_found(Packed(path, "the dump"), xml, found, faults)]
    ['ann']
    """
    good = 0
    for _ in xml.read(source.blocks()):
        yield from found
        good += len(found)
        found.clear()
        faults.give_up_if_hopeless(good)
