"""What one may choose on the workbench: read from an address, within limits that keep answers quick."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple
from urllib.parse import urlencode

from tarry.core.durations import format_duration, parse_duration, parse_number
from tarry.core.errors import BadInput
from tarry.core.policy import Policy

__all__ = ["CUTOFFS", "FIELDS", "START", "Choices", "Field", "read_choices"]

_LONGEST = 12  # characters: nobody means more digits than that
#: How far apart two acts may appear for the attacker of the replay to call them one person's.
CUTOFFS = ("30s", "1m", "2m", "5m", "10m", "30m")
_CUTOFF = "2m"
_MOST_SUSPECTS = 100
_MOST_DRAWS = 999


class Field(NamedTuple):
    """A slider: the values it stops at, and the limits of what may be typed beside it.

    >>> FIELDS["weight"].start
    '0.5'
    """

    name: str
    start: str
    steps: tuple[str, ...]
    low: str
    high: str
    is_duration: bool

    def read(self, text: str) -> Fraction:
        """The exact value of what was typed.

        >>> FIELDS["gap"].read("8d")
        Traceback (most recent call last):
        tarry.core.errors.BadInput: gap lies between 1s and 7d on the workbench, found 8d
        """
        if len(text) > _LONGEST:
            raise BadInput(self.name, f"has at most {_LONGEST} characters", found=f"{len(text)} of them")
        parse = parse_duration if self.is_duration else parse_number
        value = parse(text, self.name)
        if not parse(self.low) <= value <= parse(self.high):
            rule = f"lies between {self.low} and {self.high} on the workbench"
            raise BadInput(self.name, rule, found=text)
        return value


_EPSILONS = "0.1 0.15 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1 1.2 1.4 1.7 2 2.5 3 3.5 4 5 6 8"
_GAPS = "1m 2m 3m 5m 7m 9m 11m 15m 20m 30m 45m 1h 1h30m 2h 3h 4h 6h 9h 12h 18h 1d 2d"
_WINDOWS = "0s 10s 20s 30s 1m 2m 3m 4m 5m 7m 10m 15m 20m 30m 45m 1h"
_WEIGHTS = "0 0.05 0.1 0.15 0.2 0.25 0.3 0.35 0.4 0.45 0.5 0.55 0.6 0.65 0.7 0.75 0.8 0.85 0.9 0.95 1"
#: The sliders, in the order of the page.
FIELDS = {
    field.name: field
    for field in (
        Field("epsilon", "1", tuple(_EPSILONS.split()), "0.05", "10", is_duration=False),
        Field("gap", "11m", tuple(_GAPS.split()), "1s", "7d", is_duration=True),
        Field("window", "5m", tuple(_WINDOWS.split()), "0s", "1d", is_duration=True),
        Field("weight", "0.5", tuple(_WEIGHTS.split()), "0", "1", is_duration=False),
    )
}


@dataclass(frozen=True, kw_only=True)
class Choices:
    """One set of choices, each in the one way of writing it: equal choices are one key of a cache.

    >>> START.query
    'epsilon=1&gap=11m&window=5m&weight=0.5&suspects=10&cutoff=2m&draw=1'
    """

    epsilon: str
    gap: str
    window: str
    weight: str
    suspects: int
    cutoff: str
    draw: int

    @cached_property
    def policy(self) -> Policy:
        """The policy that is tried."""
        return Policy(epsilon=self.epsilon, gap=self.gap, window=self.window, weight=self.weight)

    @property
    def without_evening(self) -> "Choices":
        """The same as far as figures and charts are concerned, which know nothing of the replay."""
        return replace(self, cutoff=_CUTOFF, draw=1)

    @property
    def fields(self) -> dict[str, str]:
        """Every choice by its name in an address."""
        names = ("epsilon", "gap", "window", "weight", "suspects", "cutoff", "draw")
        return {name: str(getattr(self, name)) for name in names}

    @property
    def query(self) -> str:
        """The choices as the query of an address."""
        return urlencode(self.fields)


def read_choices(given: Mapping[str, str]) -> Choices:
    """The choices of an address; what it leaves out is as at the start, what it adds is not looked at.

    >>> read_choices({"gap": "90m", "epsilon": "1.0"}).query[:19]
    'epsilon=1&gap=1h30m'
    """
    values = {name: field.read(given.get(name, field.start).strip()) for name, field in FIELDS.items()}
    cutoff = given.get("cutoff", _CUTOFF)
    if cutoff not in CUTOFFS:
        raise BadInput("cutoff", f"is one of {', '.join(CUTOFFS)}", found=repr(cutoff[:_LONGEST]))
    choices = Choices(
        epsilon=_plain(values["epsilon"]),
        gap=format_duration(values["gap"]),
        window=format_duration(values["window"]),
        weight=_plain(values["weight"]),
        suspects=_whole("suspects", given.get("suspects", "10"), 2, _MOST_SUSPECTS),
        cutoff=cutoff,
        draw=_whole("draw", given.get("draw", "1"), 1, _MOST_DRAWS),
    )
    choices.policy  # noqa: B018 - the rules that tie the choices together are the policy's own
    return choices


def _plain(number: Fraction) -> str:
    """The shortest decimal: at most twelve characters were read, so that one exists."""
    return f"{float(number):.12f}".rstrip("0").rstrip(".")


def _whole(name: str, text: str, low: int, high: int) -> int:
    text = text.strip()
    if not (
        text.isascii() and text.isdecimal() and len(text) <= len(str(high)) and low <= int(text) <= high
    ):
        rule = f"is a whole number from {low} to {high}"
        raise BadInput(name, rule, found=repr(text[:_LONGEST]))
    return int(text)


#: What the page shows first.
START = read_choices({})
