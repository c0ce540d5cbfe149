"""Dumps of wikis: who changed which page when, from the XML that MediaWiki exports.

Meant for stub-meta-history, which has every revision without its text; a dump with texts has the same
form and is read as well, only slower. Times are those of the server that saved a revision, to the second.
"""

from tarry.readers.events import Event, Stream
from tarry.readers.exports import XmlStream, events_found
from tarry.readers.faults import Faults, clip
from tarry.readers.moments import NoMoment, moment_us
from tarry.readers.sources import Paths, Pieces

__all__ = ["read_wiki_dump"]

_NOTES = (
    "times have a resolution of one second",
    "the dump does not tell who is a bot",
)
_HIDDEN = "the contributor is hidden"


def read_wiki_dump(path: Paths) -> Stream:
    """Read a dump: the contributor's name or address, the page's title, the time of the revision.

    The track is the number of the page's namespace. A revision whose contributor the wiki has hidden is
    counted among what could not be read. A dump may come in several files, each of them whole in itself.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     dump = Path(folder) / "stub.xml"
    ...     _ = dump.write_text(
    ...         "<mediawiki><page><title>Ulm</title><ns>0</ns><revision>"
    ...         "<timestamp>2024-05-01T10:00:00Z</timestamp>"
    ...         "<contributor><username>Ann</username><id>7</id></contributor>"
    ...         "</revision></page></mediawiki>"
    ...     )
    ...     list(read_wiki_dump(dump))
    [Event(actor='Ann', target='Ulm', time=1714557600000000, track='0', is_bot=False)]
    """
    pieces = Pieces(path, "the dump")
    return Stream(events_found(pieces, _Dump), pieces.faults, _NOTES, pieces.share)


class _Dump:
    """What the parser has seen so far of one file: of the page and the revision it is in."""

    def __init__(self, what: str, faults: Faults) -> None:
        self.faults = faults
        self.events: list[Event] = []
        self._title = self._space = ""
        self._line = 0  # where the revision began; 0 outside of one
        self._moment = self._actor = ""
        self._hidden = False
        self.xml = XmlStream(
            what,
            root=self._check_root,
            begins={
                "page": self._begin_page,
                "revision": self._begin_revision,
                "contributor": self._begin_contributor,
                "logitem": self._refuse_log,
            },
            texts={
                "title": self._set_title,
                "ns": self._set_space,
                "timestamp": self._set_moment,
                "username": self._set_actor,
                "ip": self._set_actor,
            },
            ends={"revision": self._end_revision},
        )

    def _check_root(self, name: str) -> None:
        if name != "mediawiki":
            raise self.xml.refuse("must begin with <mediawiki>", f"<{clip(name)}>")

    def _begin_page(self, _: dict[str, str]) -> None:
        self._title = self._space = ""

    def _begin_revision(self, _: dict[str, str]) -> None:
        self._line = self.xml.line
        self._moment = self._actor = ""
        self._hidden = False

    def _begin_contributor(self, attributes: dict[str, str]) -> None:
        self._hidden = "deleted" in attributes

    def _set_title(self, text: str) -> None:
        self._title = text

    def _set_space(self, text: str) -> None:
        self._space = text

    def _set_moment(self, text: str) -> None:
        if self._line:  # uploads have times and contributors too
            self._moment = text

    def _set_actor(self, text: str) -> None:
        if self._line:
            self._actor = text

    def _end_revision(self) -> None:
        line, self._line = self._line, 0
        if not self._actor or not self._title:
            missing = _HIDDEN if self._hidden else f"{'target' if self._actor else 'actor'} is missing"
            self.faults.add(line, missing)
            return
        try:
            moment = moment_us(self._moment)
        except NoMoment as error:
            self.faults.add(line, str(error))
            return
        self.events.append(Event(self._actor, self._title, moment, self._space))

    def _refuse_log(self, _: dict[str, str]) -> None:
        rule, fix = "must be a dump of revisions", "take a file named stub-meta-history"
        raise self.xml.refuse(rule, "a dump of the log", fix)
