"""How the parameters of a baseline are read, checked and written, and how it sees a history."""

from fractions import Fraction

import numpy as np

from tarry.core.durations import LONGEST, format_duration, parse_duration
from tarry.core.errors import BadInput
from tarry.core.history import History
from tarry.core.lanes import IntArray
from tarry.study.practice import MICROSECONDS

__all__ = ["arrival_order", "arrivals", "check_span", "read_span", "read_whole", "write_span"]


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


def check_span(span: int, what: str, *, least: int = 1) -> None:
    """Refuse a duration below the least or above a century.

    >>> check_span(0, "the interval of a mix")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the interval of a mix lies between 1us and 36525d, found 0s
    """
    longest = int(LONGEST) * MICROSECONDS
    if not least <= span <= longest:
        rule = f"lies between {write_span(least)} and {write_span(longest)}"
        raise BadInput(what, rule, found=write_span(span))


def read_whole(text: str, what: str) -> int:
    """A whole number, of at most nine digits.

    >>> read_whole("100", "the threshold")
    100
    """
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise BadInput(what, "is a whole number below 10^9", found=repr(text))
    return int(text)
