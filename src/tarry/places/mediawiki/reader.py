"""A wiki's edits: recent changes or revisions of pages by MediaWiki's Action API, or a dump of its pages.

Meant are dumps named stub-meta-history, which have every revision without its text; one with texts has the
same form and is read as well, only slower. Times are those of the server that saved a revision, to the
second.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tarry.core.errors import BadInput, NotPossible
from tarry.keep.store import moment
from tarry.net.address import read_address
from tarry.net.http_call import one_line
from tarry.net.web import get_json
from tarry.places.mediawiki.client import WHERE
from tarry.readers.events import Event, Stream
from tarry.readers.exports import Numbered, XmlStream, as_object, event_of, events_in, listed, read_fields
from tarry.readers.faults import Faults, clip
from tarry.readers.moments import EVER_US, NoMoment, moment_us
from tarry.readers.sources import Packed, Paths, Pieces

__all__ = ["WHAT", "ActionApi", "read_wiki", "read_wiki_dump"]

WHAT = ("recentchanges", "revisions")
_CATEGORY = "Category:"  # every wiki knows it by this name too, whatever its language
_SECONDS = "times have a resolution of one second"
_NOTES = {
    "recentchanges": (
        _SECONDS,
        "recent changes reach back only as far as the wiki keeps them, often 30 to 90 days",
    ),
    "revisions": (_SECONDS, "whether an edit is a bot's is not told with revisions"),
    "dump": (_SECONDS, "the dump does not tell who is a bot"),
}
_HIDDEN = "the contributor is hidden"
_ALWAYS = {"action": "query", "format": "json", "formatversion": "2", "maxlag": "5"}
_SIGNS = frozenset({"query", "error", "batchcomplete", "continue"})  # one of which every answer has
_BUSY = frozenset({"maxlag", "ratelimited"})
_API_ADVICE = {"readapidenied": "use another wiki, or a dump: it shows its pages to members only"}
_Row = Mapping[str, Any]


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
        return f"the wiki {read_address(self.address, WHERE).server}"

    def pieces(self, question: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """What the wiki answers, for as long as it says that there is more."""
        more: dict[str, str] = {}
        while True:
            answer = self._answer({**_ALWAYS, **question, **more})
            yield as_object(answer.get("query"))
            if "continue" not in answer:
                return
            before, more = more, {name: str(value) for name, value in as_object(answer["continue"]).items()}
            if more in ({}, before):
                raise NotPossible(f"{self.who} says the same again and again: try again later")

    def _answer(self, question: Mapping[str, str]) -> dict[str, Any]:
        answer = get_json(
            self.address,
            question,
            who=self.who,
            wait=self.wait,
            busy=lambda answer: read_fields(answer, "error", "code") in _BUSY,
        )
        if not isinstance(answer, dict) or not answer.keys() & _SIGNS:
            raise BadInput(
                f"{self.who} answered something that is not of the Action API",
                "give the address of its api.php",
            )
        if "error" in answer:  # though the status is 200
            code = one_line(str(read_fields(answer, "error", "code") or ""))
            advice = _API_ADVICE.get(code, "see its api.php for the code")
            raise NotPossible(f"{self.who} refused the question ({code}): {advice}")
        return answer


def read_wiki(
    api: str,
    *,
    what: str | None = None,
    category: str | None = None,
    pages: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> Stream:
    """Read edits, the oldest first: of all recent changes, or of one page after the other.

    The actor is the account (or address) that edited, the target the title, the track the number of its
    namespace. `revisions` are those of the `pages` and of all pages in the `category`, and are meant where
    there are any of these; else `recentchanges` are. `since` is the first moment that counts, `until` the
    first that does not. Only one answer of the wiki is held at a time.

    >>> read_wiki("https://wiki.example.org/w/api.php", what="revisions")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: no page is named for --what revisions: give --page or --category
    """
    span = _span(since, until)
    what = what or ("revisions" if category or pages else "recentchanges")
    _check(what, category, pages)
    wiki = ActionApi(address=api, wait=wait)
    faults = Faults(wiki.who)
    rows = _changes(wiki, span) if what == "recentchanges" else _revisions(wiki, span, category, pages)
    found = enumerate(map(_event, rows), 1)
    events = (event for event in events_in(found, faults) if event.time in span)
    return Stream(events, faults, _NOTES[what])


def _check(what: str, category: str | None, pages: Sequence[str]) -> None:
    if what not in WHAT:
        raise BadInput(f"--what must be {' or '.join(WHAT)}, not {clip(what)!r}")
    if what == "recentchanges" and (category or pages):
        raise BadInput(
            "recent changes must be those of the whole wiki, not of pages",
            "leave pages and category out, or read revisions (--what revisions)",
        )
    if what == "revisions" and not (category or pages):
        raise BadInput("no page is named for --what revisions", "give --page or --category")
    for title in (*pages, *([category] if category else [])):
        if not title or "|" in title or not title.isprintable():  # the API would take it for several
            raise BadInput(f"a title must have no | and no control character, not {clip(title)!r}")


def _span(since: str | None, until: str | None) -> range:
    """The microseconds that count."""
    span = range(_moment("since", since, EVER_US.start), _moment("until", until, EVER_US.stop))
    if not span:
        raise BadInput(f"--until must be after --since, not {until}")
    return span


def _moment(name: str, text: str | None, otherwise: int) -> int:
    try:
        return otherwise if text is None else moment_us(text)
    except NoMoment as error:
        raise BadInput(
            f"--{name} must be a moment with a zone ({error})", "write it as 2024-05-01T10:00:00Z"
        ) from None


def _fields(span: range, prefix: str) -> dict[str, str]:
    """A span in the words of the API, which knows whole seconds and takes both ends in."""
    ends = {f"{prefix}start": span.start, f"{prefix}end": span.stop}
    given = {end: at for end, at in ends.items() if at not in {EVER_US.start, EVER_US.stop}}
    return {f"{prefix}dir": "newer"} | {end: moment(at // 1_000_000) for end, at in given.items()}


def _changes(wiki: ActionApi, span: range) -> Iterator[_Row]:
    question = {
        "list": "recentchanges",
        "rcprop": "user|title|ids|timestamp|flags",
        "rctype": "edit|new",
        "rclimit": "max",
    }
    for answer in wiki.pieces(question | _fields(span, "rc")):
        yield from listed(answer, "recentchanges")


def _revisions(wiki: ActionApi, span: range, category: str | None, pages: Sequence[str]) -> Iterator[_Row]:
    """The API lists all revisions of one page only; so the members of a category first, then each."""
    read: dict[str, int] = {}  # a page that is asked for in two ways counts once
    for number, title in enumerate(pages, 1):
        for row in _of_page(wiki, span, {"titles": title}, f"page {number} of those given"):
            if read.setdefault(row["page"], number) == number:
                yield row
    for page in _members(wiki, category) if category else ():
        if page not in read:
            yield from _of_page(wiki, span, {"pageids": page})


def _members(wiki: ActionApi, category: str) -> Iterator[str]:
    question = {
        "list": "categorymembers",
        "cmtitle": category if category.lower().startswith(_CATEGORY.lower()) else _CATEGORY + category,
        "cmprop": "ids",
        "cmtype": "page",
        "cmlimit": "max",
    }
    is_empty = True
    for answer in wiki.pieces(question):
        for member in listed(answer, "categorymembers"):
            is_empty = False
            yield str(member.get("pageid"))
    if is_empty:
        raise BadInput("the category has no pages", "write its name as the wiki does")


def _of_page(wiki: ActionApi, span: range, which: Mapping[str, str], named: str = "") -> Iterator[_Row]:
    question = {**which, "prop": "revisions", "rvprop": "ids|timestamp|user|flags", "rvlimit": "max"}
    for answer in wiki.pieces(question | _fields(span, "rv")):
        pages = listed(answer, "pages")
        # No title at all, a special page's, or one of another wiki.
        gone = [page for page in pages if page.get("missing") or "pageid" not in page]
        if named and (gone or not pages):
            raise BadInput(
                f"{named} is not in {wiki.who}", "write its title as the wiki does, with its namespace"
            )
        yield from ({"gone": True} for _ in gone)
        for page in pages:
            where = {"page": str(page.get("pageid")), "title": page.get("title"), "ns": page.get("ns")}
            yield from (revision | where for revision in listed(page, "revisions"))


def _event(row: _Row) -> Event | str:
    """One edit, or why it is none."""
    if row.get("gone"):
        return "the page was deleted meanwhile"
    if row.get("userhidden"):
        return _HIDDEN
    track, is_bot = str(row.get("ns", "")), row.get("bot") is True
    return event_of(row.get("user"), row.get("title"), row.get("timestamp"), track, is_bot=is_bot)


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
    found = (each for source in pieces for each in _revisions_in(source))
    return Stream(events_in(found, pieces.faults), pieces.faults, _NOTES["dump"], pieces.share)


def _revisions_in(source: Packed) -> Iterator[Numbered]:
    """The revisions of one file, each with the line where it begins."""
    xml = XmlStream(
        source.what,
        begins={"page", "revision", "contributor", "logitem"},
        texts={"title", "ns", "timestamp", "username", "ip"},
        ends={"revision"},
    )
    elements = xml.read(source.blocks())
    line, root, _ = next(elements)
    if root != "mediawiki":
        raise xml.refuse("must begin with <mediawiki>", f"<{clip(root)}>", line=line)
    page: dict[str, str] = {}
    revision: dict[str, str] = {}  # what an upload says after its end belongs to none, and is not used
    begins, hidden = 0, False
    for line, name, value in elements:
        if name == "revision" and value is not None:
            begins, revision, hidden = line, {}, False
        elif name == "revision":
            yield begins, _revision(page, revision, hidden=hidden)
        elif name == "contributor":
            hidden = "deleted" in value
        elif name in {"timestamp", "username", "ip"}:
            revision["time" if name == "timestamp" else "actor"] = value
        elif name == "page":
            page = {}
        elif name == "logitem":
            raise xml.refuse(
                "must be a dump of revisions",
                "a dump of the log",
                "take a file named stub-meta-history",
                line=line,
            )
        else:
            page[name] = value


def _revision(page: _Row, revision: _Row, *, hidden: bool) -> Event | str:
    actor, title = revision.get("actor"), page.get("title")
    if hidden and not (actor and title):
        return _HIDDEN
    return event_of(actor, title, revision.get("time", ""), page.get("ns", ""))
