"""The choices on the workbench, within limits that keep answers quick, and the figures that follow."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from math import expm1, log
from typing import NamedTuple
from urllib.parse import urlencode

from tarry.console.workbench.seasons import Odds, odds, season_policy
from tarry.core.calibrate import posterior_batched, posterior_unbatched, power_bound
from tarry.core.errors import require
from tarry.core.exact import format_duration, parse_duration, parse_number
from tarry.core.law import Law
from tarry.core.plan import DelayPlan, Point, frontier, plan
from tarry.core.policy import Policy
from tarry.core.promise import Promise, promise

__all__ = [
    "CUTOFFS",
    "DIFFERENT",
    "FIELDS",
    "LAWS",
    "MULTIPLES",
    "SAME",
    "START",
    "Bin",
    "Choices",
    "Field",
    "Figures",
    "Power",
    "Suspicion",
    "figures",
    "innocent_mass",
    "read_choices",
    "suspicion",
]


_LONGEST = 20  # characters: nobody means more digits than that
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
    steps: str  # with blanks between
    low: str
    high: str
    is_duration: bool = False
    is_whole: bool = False
    law: str = ""  # that the choice belongs to, if to one alone

    def read(self, text: str) -> Fraction:
        """The exact value of what was typed.

        >>> FIELDS["gap"].read("8d")
        Traceback (most recent call last):
        tarry.core.errors.BadInput: gap must lie between 1s and 7d on the workbench, not 8d
        """
        require(
            len(text) <= _LONGEST, f"{self.name} must have at most {_LONGEST} characters, not {len(text)}"
        )
        parse = parse_duration if self.is_duration else parse_number
        value = parse(_short(text) if self.is_duration else text, self.name)
        require(
            parse(self.low) <= value <= parse(self.high),
            f"{self.name} must lie between {self.low} and {self.high} on the workbench, not {text}",
        )
        require(
            not self.is_whole or value.denominator == 1, f"{self.name} must be a whole number, not {text}"
        )
        return value


_WORD = re.compile(
    r"(?<=[0-9])\s*(s|m|h|d)(?:ec(?:ond)?s?|in(?:ute)?s?|(?:ou)?rs?|ays?)?\b[\s,]*", re.IGNORECASE
)


def _short(text: str) -> str:
    """A duration as people write it: `11 minutes` is `11m`."""
    return _WORD.sub(lambda found: found[1].lower(), text)


#: Laws that can be chosen: the older one, whose promise is for one pair, and the one for a season.
LAWS = ("pair", "season")
#: The sliders, in the order of the page.
FIELDS = {
    field.name: field
    for field in (
        Field(
            "epsilon",
            "1",
            "0.1 0.15 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1 1.2 1.4 1.7 2 2.5 3 3.5 4 5 6 8",
            "0.05",
            "10",
            law="pair",
        ),
        Field(
            "pairs",
            "200",
            "1 2 5 10 15 20 30 50 70 100 150 200 300 500 700 1000",
            "1",
            "1000",
            is_whole=True,
            law="season",
        ),
        Field(
            "total", "2.3", "0.5 0.7 1 1.2 1.5 1.7 2 2.3 2.6 3 3.5 4 5 6 8 10", "0.5", "10", law="season"
        ),
        Field(
            "delta",
            "0.01",
            "0.0001 0.0002 0.0005 0.001 0.002 0.005 0.01 0.02 0.05 0.1",
            "0.0001",
            "0.1",
            law="season",
        ),
        Field(
            "gap",
            "11m",
            "1m 2m 3m 5m 7m 9m 11m 15m 20m 30m 45m 1h 1h30m 2h 3h 4h 6h 9h 12h 18h 1d 2d",
            "1s",
            "7d",
            is_duration=True,
        ),
        Field(
            "window",
            "5m",
            "0s 10s 20s 30s 1m 2m 3m 4m 5m 7m 10m 15m 20m 30m 45m 1h",
            "0s",
            "1d",
            is_duration=True,
        ),
        Field(
            "weight",
            "0.5",
            "0 0.05 0.1 0.15 0.2 0.25 0.3 0.35 0.4 0.45 0.5 0.55 0.6 0.65 0.7 0.75 0.8 0.85 0.9 0.95 1",
            "0",
            "1",
            law="pair",
        ),
    )
}


@dataclass(frozen=True, kw_only=True)
class Choices:
    """One set of choices, each in the one way of writing it: equal choices are one key of a cache.

    >>> START.query.partition("&law")[0]
    'epsilon=1&gap=11m&window=5m&weight=0.5'
    """

    epsilon: str
    gap: str
    window: str
    weight: str
    law: str  # one of LAWS
    pairs: int
    total: str
    delta: str
    suspects: int
    cutoff: str
    draw: int

    @cached_property
    def policy(self) -> Policy:
        """The policy that is tried."""
        if self.law == "season":
            return season_policy(
                self.pairs, Fraction(self.total), Fraction(self.delta), self.gap, self.window
            )
        return Policy(epsilon=self.epsilon, gap=self.gap, window=self.window, weight=self.weight)

    @property
    def sliders(self) -> list[Field]:
        """The sliders that the chosen law has."""
        return [field for field in FIELDS.values() if field.law in {"", self.law}]

    @property
    def without_evening(self) -> "Choices":
        """The same as far as figures and charts are concerned, which know nothing of the replay."""
        return replace(self, cutoff=_CUTOFF, draw=1)

    @property
    def weight_counts(self) -> bool:
        """Whether another weight would lead to other delays."""
        if self.law != "pair":
            return False
        ends = {
            replace(self.policy, weight=Fraction(weight)).mechanism().pair.batched.maximum
            for weight in (0, 1)
        }
        return len(ends) > 1

    @property
    def command(self) -> str:
        """The same at a shell."""
        if self.law == "season":
            chosen = f"--season {self.pairs} --total {self.total} --delta {self.delta}"
        else:
            chosen = f"--epsilon {self.epsilon} --weight {self.weight}"
        return f"tarry plan {chosen} --gap {self.gap} --window {self.window}"

    @property
    def fields(self) -> dict[str, str]:
        """Every choice by its name in an address."""
        return {name: str(value) for name, value in asdict(self).items()}

    @property
    def query(self) -> str:
        """The choices as the query of an address."""
        return urlencode(self.fields)


def read_choices(query: Mapping[str, str]) -> Choices:
    """The choices in the query of an address; what it leaves out is as at the start, the rest is ignored.

    >>> read_choices({"gap": "90m", "epsilon": "1.0"}).query[:19]
    'epsilon=1&gap=1h30m'
    """
    values = {name: field.read(query.get(name, field.start).strip()) for name, field in FIELDS.items()}
    choices = Choices(
        epsilon=_decimal(values["epsilon"]),
        gap=format_duration(values["gap"]),
        window=format_duration(values["window"]),
        weight=_decimal(values["weight"]),
        law=_one_of("law", query.get("law", LAWS[0]), LAWS),
        pairs=int(values["pairs"]),
        total=_decimal(values["total"]),
        delta=_decimal(values["delta"]),
        suspects=_whole("suspects", query.get("suspects", "10"), 2, _MOST_SUSPECTS),
        cutoff=_one_of("cutoff", query.get("cutoff", _CUTOFF), CUTOFFS),
        draw=_whole("draw", query.get("draw", "1"), 1, _MOST_DRAWS),
    )
    choices.policy  # noqa: B018 - the rules that tie the choices together are the policy's own
    return choices


def _decimal(number: Fraction) -> str:
    """The shortest decimal: at most twelve characters were read, so that one exists."""
    return f"{float(number):.12f}".rstrip("0").rstrip(".")


def _one_of(name: str, text: str, known: tuple[str, ...]) -> str:
    require(text in known, f"unknown {name} {text[:_LONGEST]!r}", f"use {', '.join(known)}")
    return text


def _whole(name: str, text: str, low: int, high: int) -> int:
    text = text.strip()
    is_whole = text.isascii() and text.isdecimal() and len(text) <= len(str(high))
    require(
        is_whole and low <= int(text) <= high,
        f"{name} must be a whole number from {low} to {high}, not {text[:_LONGEST]!r}",
    )
    return int(text)


#: What the page shows first.
START = read_choices({})


#: Half of the gaps between strangers' acts are assumed to be at most so long, at an even rate.
STRANGERS_S = 960
#: Times the gap: the lines of the chart of what any test can find.
MULTIPLES = (Fraction(1, 2), Fraction(1), Fraction(2))
#: How often acts of one person, and of two, come within five minutes: measured at a large conference.
SAME, DIFFERENT = Fraction("0.301"), Fraction("0.0066")
_ERRORS = tuple(Fraction(n, 100) for n in (0, 1, 2, 5, 10, 15, 20))  # type-I errors
_SMALL = Fraction(1, 10**9)  # so small an error that no bound has reached its end
_CROWDS = (2, 3, 4, 5, 7, 10, 14, 20, 30, 50, 70, 100)
_WIDTHS_S = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600),
    *(7200, 3 * 3600, 6 * 3600, 12 * 3600, 86_400, 2 * 86_400, 5 * 86_400),
    *(10 * 86_400, 30 * 86_400, 60 * 86_400, 120 * 86_400),
)
_LEAST_STRETCHES, _MOST_STRETCHES = 16, 30


@dataclass(frozen=True, kw_only=True)
class Bin:
    """A stretch of delays, and the chance of each kind of act to wait that long.

    >>> Bin(start_s=0, end_s=60, batched=0.0, unbatched=0.5).end_s
    60
    """

    start_s: int
    end_s: int
    batched: float
    unbatched: float


@dataclass(frozen=True, kw_only=True)
class Power:
    """How many batched pairs any test can find at most, at one share of wrongly accused ones.

    >>> Power(error=0.01, bounds=(0.11, 0.06, 0.03)).bounds[1]
    0.06
    """

    error: float
    bounds: tuple[float, ...]  # for each of MULTIPLES


@dataclass(frozen=True, kw_only=True)
class Suspicion:
    """How sure an observer can be among so many suspects.

    >>> Suspicion(suspects=10, together=0.84, apart=0.1, delayed=0.4).before
    0.1
    """

    suspects: int
    together: float  # without delays, of two acts that appeared together
    apart: float  # without delays, of the likeliest other after two that did not
    delayed: float  # with the policy, at most

    @property
    def before(self) -> float:
        """Before anything is seen."""
        return 1 / self.suspects


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Everything that is computed for one set of choices.

    >>> from tarry.console.workbench.figures import START
    >>> figures(START).width_s
    120
    """

    choices: Choices
    delays: DelayPlan
    at_once: float  # the chance of an act that is alone to wait no longer than the hold
    bins: tuple[Bin, ...]
    width_s: int  # a round stretch of delays, for which shares are given
    frontier: tuple[Point, ...]  # of the law for one pair
    odds: tuple[Odds, ...]
    mass: Fraction  # P0: how much innocent company a batched pair has
    power: tuple[Power, ...]
    suspicions: tuple[Suspicion, ...]
    chosen: Suspicion
    promise: Promise


@lru_cache(maxsize=256)
def figures(choices: Choices) -> Figures:
    """The figures of a policy; each of them is a formula, so that no choice takes long.

    >>> from tarry.console.workbench.figures import START
    >>> numbers = figures(START)
    >>> float(numbers.delays.batched.mean), round(sum(bin.batched for bin in numbers.bins), 9)
    (1999.5, 1.0)
    """
    policy, width = choices.policy, _width(choices.policy)
    has_weights = policy.season is None
    known = {crowd: suspicion(policy, crowd) for crowd in sorted({*_CROWDS, choices.suspects})}
    return Figures(
        choices=choices,
        delays=plan(policy),
        at_once=float(policy.mechanism().pair.unbatched.mass(0)),
        bins=_bins(policy, width),
        width_s=width,
        frontier=tuple(frontier(policy)) if has_weights else (),
        odds=odds(policy, choices.pairs, Fraction(choices.delta)),
        mass=innocent_mass(policy),
        power=_power(policy),
        suspicions=tuple(known.values()),
        chosen=known[choices.suspects],
        promise=promise(policy),
    )


def _bins(policy: Policy, width: int) -> tuple[Bin, ...]:
    """Both laws over the stretches on which they are even, the hold included; a tick is a second here.

    Those who leave at once are counted in a stretch of their own, right after the hold. The blocks of a
    season's law are shown a few at once, where there are many.
    """
    pair, hold = policy.mechanism().pair, policy.hold_ticks
    inner = {hold + width, hold + pair.start} if policy.blocks is None else range(hold, _end(policy), width)
    edges = sorted({0, hold, *inner, _end(policy)})
    return tuple(
        Bin(
            start_s=start,
            end_s=end,
            batched=_within(pair.batched, start - hold, end - start),
            unbatched=_within(pair.unbatched, start - hold, end - start),
        )
        for start, end in pairwise(edges)
    )


def _end(policy: Policy) -> int:
    """The first moment by which every act has left."""
    return policy.hold_ticks + (policy.mechanism().pair.batched.maximum or 0) + 1


def _width(policy: Policy) -> int:
    """A round stretch of delays, at most as long as batched acts wait at least; or a few blocks."""
    if policy.blocks is not None:
        return -(-policy.blocks // _MOST_STRETCHES) * policy.mechanism().pair.start
    most = min(_end(policy) // _LEAST_STRETCHES, policy.mechanism().pair.start)
    return max((width for width in _WIDTHS_S if width <= most), default=1)


def _within(law: Law, first: int, length: int) -> float:
    return float(law.cumulative(first + length - 1) - law.cumulative(first - 1))


def innocent_mass(policy: Policy, multiple: Fraction = Fraction(1)) -> Fraction:
    """P0 where strangers act at an even rate: how likely two of them come within gap and window.

    >>> innocent_mass(START.policy)
    Fraction(1, 2)
    """
    reach = (policy.start_ticks(policy.gap) * policy.tick - policy.window) * multiple + policy.window
    # Rounded to a millionth: it is an assumption, and needs no more digits.
    return Fraction(max(1, round(1_000_000 * -expm1(-log(2) * float(reach) / STRANGERS_S))), 1_000_000)


def _power(policy: Policy) -> tuple[Power, ...]:
    """At round errors, and those at which a bound reaches its end: between them all bounds are straight."""
    masses = [innocent_mass(policy, multiple) for multiple in MULTIPLES]
    slopes = [power_bound(policy.epsilon, mass, _SMALL) / _SMALL for mass in masses]
    errors = {*_ERRORS, *(1 / slope for slope in slopes if 1 / slope < _ERRORS[-1])}
    return tuple(
        Power(
            error=float(error),
            bounds=tuple(float(power_bound(policy.epsilon, mass, error)) for mass in masses),
        )
        for error in sorted(errors)
    )


def suspicion(policy: Policy, suspects: int) -> Suspicion:
    """With the policy nothing is seen much more often in the one story than in the other.

    By how much is what the power bound says: at a small enough error it is power / error.

    >>> round(suspicion(START.policy, 10).delayed, 2)
    0.38
    """
    ratio = power_bound(policy.epsilon, innocent_mass(policy), _SMALL) / _SMALL
    return Suspicion(
        suspects=suspects,
        together=float(posterior_batched(SAME, DIFFERENT, suspects)),
        apart=float(posterior_unbatched(SAME, DIFFERENT, suspects)),
        delayed=float(posterior_batched(1, 1 / ratio, suspects)),
    )
