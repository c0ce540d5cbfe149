"""What the world sees: practices (policies and the habits of other systems alike), and who watches them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.exact import format_duration, parse_duration
from tarry.core.history import History
from tarry.core.lanes import BoolArray, IntArray
from tarry.core.policy import Policy
from tarry.core.season import TWO_STORIES, Season
from tarry.study.table import EventTable

__all__ = ["MICROSECONDS", "OBSERVERS", "Observer", "Practice", "Shown", "Spent", "Waits", "observer"]

MICROSECONDS = 1_000_000  # the study's one unit of time is the microsecond


@dataclass(frozen=True, kw_only=True, eq=False)
class Shown:
    """What the world gets to see of each event, in the history's own row order.

    >>> import numpy as np
    >>> at_once = np.array([5, 7])
    >>> Shown(release=at_once, printed=at_once).batched is None
    True
    """

    release: IntArray  # microseconds: the moment the event became visible
    printed: IntArray  # microseconds: the time that is written on it
    batched: BoolArray | None = None  # the labels, where a practice has labels


@dataclass(frozen=True, kw_only=True)
class Spent:
    """How much of a promise a history has used up: costs add up over an actor's batched events.

    >>> Spent(most_nats=4.5, actors=1, batching=8).words(20)[:57]
    'epsilon adds up: 1 of 20 people batch so often that no me'
    """

    most_nats: float  # on the actor with most batched events
    actors: int  # those beyond what is promised, against a long watch
    batching: int  # those with a batched event
    season: Season | None = None  # what is promised, if it is for a season

    def words(self, people: int) -> str:
        """How many of so many people are beyond what is promised."""
        if self.season is None:
            return (
                f"epsilon adds up: {self.actors:,} of {people:,} people batch so often that no meaningful "
                "promise is left to them against somebody who watches throughout (up to "
                f"{self.most_nats:.3g} nats)"
            )
        beyond = f"; {self.actors:,} are beyond it (up to {self.most_nats:.3g} nats)" if self.actors else ""
        return (
            f"the season is for {self.season.acts:,} batched acts: {self.batching - self.actors:,} of "
            f"{self.batching:,} people who batch are inside it{beyond}; {TWO_STORIES}"
        )


@dataclass(frozen=True, kw_only=True)
class Waits:
    """Delays in seconds.

    >>> Waits(mean_s=1.0, longest_s=None).longest_s is None
    True
    """

    mean_s: float
    longest_s: float | None  # None: no end
    exact: bool = True  # of the law itself; else measured in some traffic


class Practice(ABC):
    """A way of showing events. Times in the history are microseconds.

    Only its name and `show` must be written. A habit knows no policy, promises nothing, keeps no
    event for ever and has nothing to note, unless it says otherwise.

    >>> class AtOnce(Practice):
    ...     name, draws = "at once", False
    ...
    ...     def show(self, history, draw):
    ...         return Shown(release=history.times, printed=history.times)
    >>> AtOnce().promise(Fraction(660)), AtOnce().policy
    ('none', None)
    """

    draws: ClassVar[bool] = True  # whether there is chance in it: one without is the same every time
    alone: ClassVar[bool] = False  # whether each event is shown by itself, whatever others there are
    at_once: ClassVar[bool] = False  # whether each event is visible when it arrives

    @property
    @abstractmethod
    def name(self) -> str:
        """What tables and charts call it."""

    @abstractmethod
    def show(self, history: History, draw: Seeded) -> Shown:
        """Replay a history. The same draw gives the same result in any order of rows."""

    @property
    def policy(self) -> Policy | None:
        """The policy by which it delays, which an attack may know; None for a habit."""
        return None

    def promise(self, gap: Fraction) -> str:
        """Its promise in a few words; `gap` in seconds is what delays without a gap are measured by.

        A delay that knows no labels has no epsilon. One that is drawn for each event alike fails
        altogether with some chance (delta), and says nothing about the rest.
        """
        share = self.failing_share(gap)
        return "none" if share is None or share >= 1 else f"delta {share:.2g}"

    def failing_share(self, gap: Fraction) -> float | None:  # noqa: ARG002 - for those that know it
        """The chance that a batched event appears sooner than one that came the gap later could.

        Then it has given itself away, whatever epsilon one asks for. None: not known.
        """
        return None

    def least_delta(
        self,
        observer: "Observer",  # noqa: ARG002 - for those that show others something else
        gap: Fraction,
        epsilon: float,  # noqa: ARG002 - for those with which it matters
    ) -> float | None:
        """The least delta with which epsilon holds for one act that comes a gap later; None: not known.

        What has no chance in it shows acts on both sides of an edge apart every time. What is drawn for
        each act alike fails with the chance above, whatever epsilon: a poller who looks just before the
        later act could be seen learns as much as somebody who is notified. A practice that prints less
        than that on its events says so by a formula of its own.

        >>> from tarry.study.baselines import baseline
        >>> baseline("jitter:24h").least_delta(observer("notified"), Fraction(2160), 1.0)
        0.025
        """
        if not self.alone:
            return None
        return self.failing_share(gap) if self.draws else 1.0

    def waits(self) -> Waits | None:
        """The delays that are known before any traffic; None where they depend on it.

        >>> from tarry.study.baselines import baseline
        >>> baseline("jitter:24h").waits().mean_s, baseline("pool").waits()
        (43200.0, None)
        """
        return Waits(mean_s=0.0, longest_s=0.0) if self.at_once else None

    def looks(self) -> int | None:
        """How far around an event its release depends on others, in microseconds; None: on all of them.

        What says how far can be replayed by parts of a history.

        >>> from tarry.study.baselines import baseline
        >>> baseline("jitter").looks(), baseline("pool").looks()
        (0, None)
        """
        return 0 if self.alone else None

    def ending(self, last: int) -> "Practice":  # noqa: ARG002 - for those that must know
        """The same practice where the last arrival of a history is known, in microseconds."""
        return self

    def spent(self, table: EventTable, shown: Shown) -> Spent | None:  # noqa: ARG002 - likewise
        """What its promise has cost the people of a history; None where nothing adds up."""
        return None

    def stranded(self, history: History) -> int:  # noqa: ARG002 - likewise
        """How many events it would never have released by itself; a replay shows them all the same."""
        return 0

    def notes(self, table: EventTable) -> list[str]:
        """What one should know before one believes its replay of this history."""
        return self.notes_of(self.remarkable(table))

    def remarkable(self, table: EventTable) -> dict[str, int]:  # noqa: ARG002 - likewise
        """Counts that notes are made of. Those of the parts of a history add up to those of the whole."""
        return {}

    def notes_of(self, counts: Mapping[str, int]) -> list[str]:  # noqa: ARG002 - likewise
        """The notes that such counts make."""
        return []

    def check(self, counts: Mapping[str, int]) -> None:  # noqa: B027 - most replay anything
        """Refuse a history with such counts, where it cannot be replayed."""

    @property
    def covers(self) -> int:
        """How many batched events of an actor are inside what is promised; 0 where nothing is."""
        return 0

    def spent_by(self, most: int, beyond: int, batching: int) -> Spent | None:  # noqa: ARG002 - likewise
        """As `spent`, from the batched events of one actor at most, and actors beyond that or with any."""
        return None


#: Every observer, and what it sees.
OBSERVERS = {
    "notified": "is told of each event the moment it becomes visible",
    "poller": "looks every so often (poller:10m) and sees what is new since the last look",
    "archive": "reads, long after, the times that are printed on the events",
}


class Observer(Protocol):
    """Who watches, and what they see. Whatever has these three is one.

    >>> import numpy as np
    >>> class Morning:
    ...     name, sees_releases = "morning", False
    ...
    ...     def see(self, shown):
    ...         day = 86_400 * MICROSECONDS
    ...         return -(-shown.release // day) * day
    >>> at = np.array([5, 0])
    >>> Morning().see(Shown(release=at, printed=at)).tolist()
    [86400000000, 0]
    """

    @property
    def name(self) -> str:
        """What tables and charts call it."""
        ...

    @property
    def sees_releases(self) -> bool:
        """Whether what it knows of a policy's events is the very moment of their release."""
        ...

    def see(self, shown: Shown) -> IntArray:
        """The moment known for each event, in microseconds."""
        ...


@dataclass(frozen=True)
class Instant:
    """Knows the very moment: of the release if notified, the printed one if reading the archive.

    >>> Instant("notified").name
    'notified'
    """

    name: str  # notified or archive
    sees_releases: ClassVar[bool] = True  # a policy prints the release

    def see(self, shown: Shown) -> IntArray:
        """The release, or the printed time."""
        return shown.release if self.name == "notified" else shown.printed


@dataclass(frozen=True)
class Poller:
    """Looks at whole multiples of an interval.

    >>> import numpy as np
    >>> at = np.array([0, 1, 60_000_000])
    >>> Poller(Fraction(60)).see(Shown(release=at, printed=at)).tolist()
    [0, 60000000, 60000000]
    """

    interval: Fraction  # seconds
    sees_releases: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The text that makes it again."""
        return f"poller:{format_duration(self.interval)}"

    def see(self, shown: Shown) -> IntArray:
        """The first look at or after the release."""
        interval = int(self.interval * MICROSECONDS)
        looks: IntArray = -(-shown.release // interval) * interval
        return looks


def observer(text: str) -> Observer:
    """The observer that a text names.

    >>> observer("poller:10m").name
    'poller:10m'
    """
    name, _, interval_text = text.partition(":")
    if name == "poller" and interval_text:
        interval = parse_duration(interval_text, "the interval of a poller")
        if not interval:
            raise BadInput(
                f"the interval of a poller must be above 0s, not {interval_text}", "try poller:10m"
            )
        return Poller(interval)
    if name in ("notified", "archive") and not interval_text:
        return Instant(name)
    raise BadInput(f"unknown observer {text!r}", "use notified, archive or poller:10m")
