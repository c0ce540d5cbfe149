"""A wiki's edits through the Action API of MediaWiki: its recent changes, or the revisions of pages."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tarry.core.errors import BadInput
from tarry.places.mediawiki.client import ActionApi, listed
from tarry.readers.events import Event, Stream
from tarry.readers.faults import Faults, clip
from tarry.readers.moments import NoMoment, moment_us

__all__ = ["WHAT", "read_wiki"]

WHAT = ("recentchanges", "revisions")
_CATEGORY = "Category:"  # every wiki knows it by this name too, whatever its language
_SECONDS = "times have a resolution of one second"
_LIMITED = "recent changes reach back only as far as the wiki keeps them, often 30 to 90 days"
_NO_BOTS = "whether an edit is a bot's is not told with revisions"
_NOTES = {"recentchanges": (_SECONDS, _LIMITED), "revisions": (_SECONDS, _NO_BOTS)}
_Row = Mapping[str, Any]


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
    return Stream(_events(rows, span, faults), faults, _NOTES[what])


def _check(what: str, category: str | None, pages: Sequence[str]) -> None:
    if what not in WHAT:
        raise BadInput(f"--what must be {' or '.join(WHAT)}, not {clip(what)!r}")
    if what == "recentchanges" and (category or pages):
        fix = "leave pages and category out, or read revisions (--what revisions)"
        raise BadInput("recent changes must be those of the whole wiki, not of pages", fix)
    if what == "revisions" and not (category or pages):
        raise BadInput("no page is named for --what revisions", "give --page or --category")
    for title in (*pages, *([category] if category else [])):
        if not title or "|" in title or not title.isprintable():  # the API would take it for several
            raise BadInput(f"a title must have no | and no control character, not {clip(title)!r}")


@dataclass(frozen=True, kw_only=True)
class _Span:
    """Which moments count."""

    first_us: int | None
    end_us: int | None

    def has(self, time_us: int) -> bool:
        late_enough = self.first_us is None or time_us >= self.first_us
        return late_enough and (self.end_us is None or time_us < self.end_us)

    def fields(self, prefix: str) -> dict[str, str]:
        """The same in the words of the API, which knows whole seconds and takes both ends in."""
        ends = {f"{prefix}start": self.first_us, f"{prefix}end": self.end_us}
        return {f"{prefix}dir": "newer"} | {end: _iso(at) for end, at in ends.items() if at is not None}


def _span(since: str | None, until: str | None) -> _Span:
    first_us, end_us = _moment("since", since), _moment("until", until)
    if first_us is not None and end_us is not None and end_us <= first_us:
        raise BadInput(f"--until must be after --since, not {until}")
    return _Span(first_us=first_us, end_us=end_us)


def _moment(name: str, text: str | None) -> int | None:
    try:
        return None if text is None else moment_us(text)
    except NoMoment as error:
        problem = f"--{name} must be a moment with a zone ({error})"
        raise BadInput(problem, "write it as 2024-05-01T10:00:00Z") from None


def _iso(time_us: int) -> str:
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=time_us // 1_000_000)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _changes(wiki: ActionApi, span: _Span) -> Iterator[_Row]:
    question = {
        "list": "recentchanges",
        "rcprop": "user|title|ids|timestamp|flags",
        "rctype": "edit|new",
        "rclimit": "max",
    }
    for answer in wiki.pieces(question | span.fields("rc")):
        yield from listed(answer, "recentchanges")


def _revisions(wiki: ActionApi, span: _Span, category: str | None, pages: Sequence[str]) -> Iterator[_Row]:
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
    title = category if category.lower().startswith(_CATEGORY.lower()) else _CATEGORY + category
    question = {
        "list": "categorymembers",
        "cmtitle": title,
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


def _of_page(wiki: ActionApi, span: _Span, which: Mapping[str, str], named: str = "") -> Iterator[_Row]:
    question = {**which, "prop": "revisions", "rvprop": "ids|timestamp|user|flags", "rvlimit": "max"}
    for answer in wiki.pieces(question | span.fields("rv")):
        if named and not listed(answer, "pages"):  # a title of another wiki
            _refuse_page(named, wiki)
        for page in listed(answer, "pages"):
            gone = page.get("missing") or "pageid" not in page  # no title at all, or a special page's
            if gone and named:
                _refuse_page(named, wiki)
            if gone:
                yield {"gone": True}
            for revision in listed(page, "revisions"):
                where = {"page": str(page.get("pageid")), "title": page.get("title"), "ns": page.get("ns")}
                yield revision | where


def _refuse_page(named: str, wiki: ActionApi) -> None:
    fix = "write its title as the wiki does, with its namespace"
    raise BadInput(f"{named} is not in {wiki.who}", fix)


def _events(rows: Iterable[_Row], span: _Span, faults: Faults) -> Iterator[Event]:
    good = 0
    for number, row in enumerate(rows, 1):
        event = _event(row)
        if isinstance(event, str):
            faults.add(number, event)
            faults.give_up_if_hopeless(good)
            continue
        good += 1
        if span.has(event.time):
            yield event


def _event(row: _Row) -> Event | str:
    """One edit, or why it is none."""
    if row.get("gone"):
        return "the page was deleted meanwhile"
    if row.get("userhidden"):
        return "the contributor is hidden"
    actor, target = row.get("user"), row.get("title")
    if not isinstance(actor, str) or not actor:
        return "actor is missing"
    if not isinstance(target, str) or not target:
        return "target is missing"
    try:
        at = moment_us(row.get("timestamp"))
    except NoMoment as error:
        return str(error)
    return Event(actor, target, at, str(row.get("ns", "")), row.get("bot") is True)
