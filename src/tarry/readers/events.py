"""Events as a stream: what a reader of an export yields, one at a time, however many there are.

Several accounts or addresses of one person may be read as one actor, whom a file of owners names.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TextIO

from tarry.core.errors import BadInput
from tarry.readers.faults import CONVERT, Faults, clip

__all__ = ["Event", "EventStream", "Owners", "Stream", "read_owners"]


class Event(NamedTuple):
    """One actor acting on one target.

    >>> Event("ann", "paper 3", 1_767_225_600_000_000).track
    ''
    """

    actor: str  # the doer, as the export names them
    target: str  # the visible thing acted on
    time: int  # microseconds since 1970 UTC
    track: str = ""  # a public group of targets: a namespace, a repository, a site
    is_bot: bool = False  # as far as the export says


@dataclass(frozen=True, eq=False)
class EventStream:
    """Events to come, and an account of what could not be read, which grows while they are taken.

    >>> stream = EventStream(iter([Event("ann", "p", 0)]), Faults("the export"))
    >>> [event.actor for event in stream], stream.faults.count
    (['ann'], 0)
    """

    events: Iterable[Event]
    faults: Faults  # single rows that are no events; damage to the whole raises `BadInput` on the way
    notes: Sequence[str] = ()  # sentences to know before one trusts it; they too may grow on the way
    share: Callable[[], float | None] | None = None  # how much was read, 0 to 1, where somebody knows

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)


Stream = EventStream  # the name that readers of exports still use


_FORM = "write name,owner as its first line, then a name and its owner on each"


@dataclass
class Owners:
    """Owners by name. A name that is not among them is its own owner; an owner is not looked up again.

    >>> from tarry.readers.faults import Faults
    >>> owners = Owners({"1addr": "ann", "3addr": "ann"})
    >>> stream = EventStream([Event("1addr", "p", 5), Event("bob", "q", 6)], Faults())
    >>> [event.actor for event in owners.named(stream)], owners.events
    (['ann', 'bob'], 1)
    """

    by_name: Mapping[str, str]
    events: int = 0  # by a name that is among them: an account that grows while they are taken

    def named(self, stream: EventStream) -> EventStream:
        """The same events, by their owners."""
        return replace(stream, events=self._named(stream.events))

    def _named(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            owner = self.by_name.get(event.actor)
            if owner is not None:
                self.events += 1
                event = event._replace(actor=owner)  # noqa: PLW2901 - the same event, told of its owner
            yield event


def read_owners(path: str | Path) -> Owners:
    r"""Read a CSV file with the columns `name` and `owner`, which is held in memory.

    A line that cannot be read refuses the file: half a mapping would split people without a word.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "owners.csv"
    ...     _ = path.write_text("name,owner\nAnn (work),ann\nAnnie,ann\n")
    ...     read_owners(path).by_name
    {'Ann (work)': 'ann', 'Annie': 'ann'}
    """
    file = Path(path)
    what = f"the file of owners {clip(file.name or file, 60)}"
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            return Owners(_mapping(text, what))
    except OSError as error:
        raise BadInput(f"{what} cannot be read ({clip(error.strerror)})", "check its name") from None
    except UnicodeDecodeError:
        raise BadInput(f"{what} is not UTF-8 text", CONVERT) from None


def _mapping(text: TextIO, what: str) -> dict[str, str]:
    rows = csv.reader(text, strict=True)
    owners: dict[str, str] = {}
    try:
        header = [column.strip().lower() for column in next(rows, [])]
        if sorted(header) != ["name", "owner"]:
            raise BadInput(f"{what} does not begin with the line name,owner", _FORM)
        for row in filter(None, rows):
            pair = dict(zip(header, (cell.strip() for cell in row), strict=False))
            if len(row) != len(header) or not all(pair.values()):
                raise _bad_line(what, rows.line_num, "has no such pair")
            if owners.setdefault(pair["name"], pair["owner"]) != pair["owner"]:
                raise _bad_line(what, rows.line_num, "gives a name a second owner")
    except csv.Error:
        raise _bad_line(what, rows.line_num, "has a quote that does not end, or too long a text") from None
    if not owners:
        raise BadInput(f"{what} names nobody", _FORM)
    return owners


def _bad_line(what: str, line: int, problem: str) -> BadInput:
    return BadInput(f"{what} must have one name and its owner on each line, and line {line} {problem}")
