"""Durations and numbers, read exactly: `11m`, `90s`, `1h30m`, `500ms`, `0.25`; and durations in ticks.

A float would round what an operator wrote before any rule could look at it, so every number is
read as a decimal and kept as a fraction; durations are fractions of seconds.

A tick is the clock's unit: all law is integer in it. A moment is rounded *up* to its tick: rounding up is
monotone and commutes with whole ticks, so a gap of at most g becomes a gap of at most `ticks_up(g)`
ticks and never one more.
"""

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from tarry.core.errors import BadInput

__all__ = ["Duration", "Number", "format_duration", "parse_duration", "parse_number", "ticks_up"]

#: What is read as a number, and as a duration: text, or something exact already.
Number = str | int | Decimal | Fraction
Duration = str | Fraction

UNITS = {
    "w": Fraction(604_800),
    "d": Fraction(86_400),
    "h": Fraction(3_600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 1_000),
    "us": Fraction(1, 1_000_000),
}
LONGEST = 36_525 * UNITS["d"]
_PART = re.compile(r"(\d+(?:\.\d+)?)([a-z]+)", re.ASCII)
_EXAMPLE = "write it like 90s, 11m, 1h30m or 500ms"
# Longer texts are never a number a person meant, and reading them would cost time for nothing.
_LONGEST_TEXT = 40


def parse_number(value: Number, what: str = "number") -> Fraction:
    """The exact value of a decimal number; text, `int`, `Decimal` and `Fraction` are read.

    >>> parse_number("0.1")
    Fraction(1, 10)
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        raise BadInput(
            f"{what} must be a decimal number, not {value!r} ({type(value).__name__})",
            'give it as text such as "0.5", an int or a Decimal',
        )
    if isinstance(value, int) and abs(value) >= 10**_LONGEST_TEXT:  # some are too long to write out
        digits = value.bit_length() * 3 // 10
        raise BadInput(f"{what} must have at most {_LONGEST_TEXT} digits, not about {digits}")
    text = str(value).strip()
    _check_length(text, what)
    try:
        number = Decimal(text.encode("ascii", "replace").decode())  # Decimal reads digits of any script
    except InvalidOperation:
        raise BadInput(f"{what} must be a decimal number, not {text!r}", "write it like 0.5 or 2") from None
    if not number.is_finite() or abs(number.adjusted()) > _LONGEST_TEXT:
        raise BadInput(f"{what} must be a finite number of ordinary size, not {text!r}")
    return Fraction(number)


def parse_duration(text: Duration, what: str = "duration") -> Fraction:
    """The exact number of seconds in a duration such as `1h30m`.

    Each number carries its unit (w, d, h, m, s, ms, us), larger units first, each at most once.

    >>> parse_duration("1h30m"), parse_duration("500ms")
    (Fraction(5400, 1), Fraction(1, 2))
    """
    if isinstance(text, Fraction):
        seconds = text
    elif isinstance(text, str):
        text = text.strip()
        seconds = _sum_parts(text, what)
    else:
        raise BadInput(f"{what} must be text with a unit, not {text!r}", _EXAMPLE)
    if seconds < 0:
        raise BadInput(f"{what} must be 0s or longer, not {text}", _EXAMPLE)
    if (seconds * 1_000_000).denominator != 1:
        raise BadInput(f"{what} must be a whole number of microseconds, not {text}")
    if seconds > LONGEST:
        raise BadInput(f"{what} must be at most 36525d (a century), not {text}")
    return seconds


def format_duration(seconds: Fraction | int) -> str:
    """A duration as a person writes it; `parse_duration` reads it back exactly.

    >>> format_duration(Fraction(5400)), format_duration(Fraction(1, 2)), format_duration(0)
    ('1h30m', '500ms', '0s')
    """
    left = Fraction(seconds)
    if left < 0 or (left * 1_000_000).denominator != 1:
        return f"{float(left):.6g}s"
    parts = []
    for unit, size in UNITS.items():
        count = left // size
        if count and unit != "w":
            parts.append(f"{count}{unit}")
            left -= count * size
    return "".join(parts) or "0s"


def ticks_up(seconds: Fraction | int, tick: Fraction) -> int:
    """The number of ticks that covers a duration, or the tick a moment belongs to.

    >>> ticks_up(Fraction(5, 2), Fraction(1)), ticks_up(3, Fraction(1)), ticks_up(0, Fraction(1))
    (3, 3, 0)
    """
    quotient = Fraction(seconds) / tick
    return -(-quotient.numerator // quotient.denominator)


def _sum_parts(text: str, what: str) -> Fraction:
    _check_length(text, what)
    if text.startswith("-"):
        raise BadInput(f"{what} must be 0s or longer, not {text!r}", _EXAMPLE)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise BadInput(f"{what} must be numbers with units, not {text!r}", _EXAMPLE)
    total, smallest = Fraction(0), LONGEST
    for number, unit in parts:
        if unit not in UNITS:
            raise BadInput(f"{what} has the unknown unit {unit!r} in {text!r}", f"use {', '.join(UNITS)}")
        if UNITS[unit] >= smallest:
            raise BadInput(f"{what} must name larger units first, each once, not {text!r}", _EXAMPLE)
        smallest = UNITS[unit]
        total += Fraction(Decimal(number)) * UNITS[unit]
    return total


def _check_length(text: str, what: str) -> None:
    if len(text) > _LONGEST_TEXT:
        raise BadInput(f"{what} must have at most {_LONGEST_TEXT} characters, not {len(text)}")
