"""Events as a stream: what a reader of an export yields, one at a time, however many there are."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tarry.readers.faults import Faults

__all__ = ["Event", "EventStream", "Stream"]


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
