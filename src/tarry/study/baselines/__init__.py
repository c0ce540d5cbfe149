"""Baselines: the timing habits of other systems, replayed and attacked like our own policies.

Here is what every habit has, and how parameters are read and written. Ours, and those of installed
packages, are found by name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from tarry.core import plugins
from tarry.core.errors import BadInput
from tarry.core.exact import LONGEST, format_duration, parse_duration
from tarry.core.history import History
from tarry.core.lanes import IntArray
from tarry.study.practice import MICROSECONDS, Practice, Shown

__all__ = [
    "Habit",
    "OneSpan",
    "arrival_order",
    "arrivals",
    "baseline",
    "check_span",
    "habit",
    "read_span",
    "read_whole",
    "shown_at",
    "write_span",
]


@dataclass(frozen=True, kw_only=True)
class Habit:
    """What a name stands for in `--baseline`: a practice, and how it is made of a parameter.

    >>> habit("jitter").make("24h").name
    'jitter:1d'
    """

    name: str
    what: str  # one line for people
    make: Callable[[str], Practice]  # from the text after the colon
    usual: str = ""  # the parameter where none is given; "" where none is needed
    examples: tuple[str, ...]  # whole texts: every form a parameter takes


def baseline(text: str, *, allow_code: bool = False) -> Practice:
    """The practice that a text names: ours, an installed one, or with `allow_code` also `module:NAME`.

    A parameter stands after a colon. The practice's own name is such a text again, in one spelling.

    >>> baseline("jitter:24h").name, baseline("pool:10m").name
    ('jitter:1d', 'pool')
    """
    kind, parameter = plugins.find("practice", text, allow_code=allow_code)
    kind = _checked(kind, text)
    fix = f"write it like {' or '.join(kind.examples)}"
    if text.strip().endswith(":"):
        raise BadInput(f"nothing stands after the colon of {text.strip()!r}", fix)
    try:
        return kind.make(parameter or kind.usual)
    except BadInput as error:
        raise BadInput(error.problem, fix) from None


def habit(name: str) -> Habit:
    """What is known of a habit by its name.

    >>> habit("mix").what
    'all leave at the next whole interval'
    """
    return _checked(plugins.load("practice", name), name)


def _checked(kind: object, text: str) -> Habit:
    if not isinstance(kind, Habit):
        raise BadInput(
            f"{text!r} is no habit but {type(kind).__name__}", "name a tarry.study.baselines.Habit"
        )
    return kind


def arrivals(history: History) -> IntArray:
    """The arrivals in microseconds, whatever the unit of the history.

    >>> arrivals(History(actor=[1], target=[1], time=[3], unit=Fraction(1))).tolist()
    [3000000]
    """
    return history.ticks(Fraction(1, MICROSECONDS))


def arrival_order(history: History) -> IntArray:
    """The rows by arrival, and by stable hash among equals: the same events in any order of rows.

    >>> arrival_order(History(actor=[1, 1, 1], target=[1, 1, 1], time=[8, 6, 7])).tolist()
    [1, 2, 0]
    """
    return np.lexsort((history.keys, arrivals(history)))


def shown_at(release: IntArray, order: IntArray | None = None) -> Shown:
    """Each event visible, and stamped, at its release; with an order, that of the row at each place of it.

    >>> shown_at(np.array([7, 8]), order=np.array([1, 0])).printed.tolist()
    [8, 7]
    """
    if order is not None:
        by_place, release = release, np.empty_like(release)
        release[order] = by_place
    return Shown(release=release, printed=release)


def read_span(text: str, what: str) -> int:
    """The microseconds of a duration such as `10m`.

    >>> read_span("20ms", "the jitter")
    20000
    """
    return int(parse_duration(text, what) * MICROSECONDS)


def write_span(span: int) -> str:
    """A duration in microseconds, as a person writes it.

    >>> write_span(20_000)
    '20ms'
    """
    return format_duration(Fraction(span, MICROSECONDS))


def check_span(span: int, what: str) -> None:
    """Refuse a duration below a microsecond or above a century.

    >>> check_span(0, "the interval of a mix")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the interval of a mix must lie between 1us and 36525d, not 0s
    """
    longest = int(LONGEST) * MICROSECONDS
    if not 1 <= span <= longest:
        raise BadInput(f"{what} must lie between 1us and {write_span(longest)}, not {write_span(span)}")


def read_whole(text: str, what: str) -> int:
    """A whole number, of at most nine digits.

    >>> read_whole("100", "the threshold")
    100
    """
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise BadInput(f"{what} must be a whole number below 10^9, not {text!r}")
    return int(text)


@dataclass(frozen=True, kw_only=True)
class OneSpan(Practice):
    """A habit with one duration to choose, which its name tells unless it is the usual one.

    >>> baseline("kloak:20ms").name, baseline("kloak:1s").name
    ('kloak', 'kloak:1s')
    """

    habit: ClassVar[str]  # what texts call it
    of_what: ClassVar[str]  # what sentences call the duration
    usual: ClassVar[int] = 0  # microseconds: what its name need not tell
    span: int  # microseconds

    def __post_init__(self) -> None:
        check_span(self.span, self.of_what)

    @classmethod
    def read(cls, text: str) -> Self:
        """The practice of a duration such as `10m`."""
        return cls(span=read_span(text, cls.of_what))

    @property
    def name(self) -> str:
        """The text that makes it."""
        return self.habit if self.span == self.usual else f"{self.habit}:{write_span(self.span)}"
