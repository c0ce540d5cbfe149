"""AdviceLimits of a recommendation: how long people may wait, and how much a policy must promise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from tarry.core.errors import BadInput
from tarry.core.exact import Duration, Number, parse_duration, parse_number
from tarry.readers.moments import NoMoment, moment_us
from tarry.study.figures import day, percent, seconds

__all__ = ["AdviceLimits", "Limited", "OneLimit", "limits"]


class Limited(Protocol):
    """What limits look at: a policy's measured delays, what it does to order, and its epsilon."""

    @property
    def possible_s(self) -> float:
        """The longest delay that can be drawn."""
        ...

    @property
    def mean_s(self) -> float:
        """The mean delay."""
        ...

    @property
    def reordered(self) -> float | None:
        """The share of neighbours on one target that change places."""
        ...

    @property
    def epsilon(self) -> float:
        """What it promises."""
        ...


class OneLimit(NamedTuple):
    """One limit: what is looked at, how large it may be, and how it is written.

    >>> OneLimit("an epsilon", 1.0, lambda one: one.epsilon, "{:g}".format).most
    1.0
    """

    what: str
    most: float
    figure: Callable[[Any], float]
    written: Callable[[float], str]


@dataclass(frozen=True, kw_only=True)
class AdviceLimits:
    """What a recommended policy must keep to. None: no limit.

    >>> limits(max_delay="2h", least_promise="1").rules[0].most
    7200.0
    """

    max_delay: Fraction | None = None  # seconds: nobody waits longer
    mean_delay: Fraction | None = None  # seconds
    max_reordered: Fraction | None = None  # of neighbours on one target, the share that changes places
    least_promise: Fraction | None = None  # epsilon is at most this
    deadline: int | None = None  # microseconds since 1970: acts that would cross it are counted

    @property
    def rules(self) -> list[OneLimit]:
        """Those that a policy keeps or does not."""
        every = (
            ("a longest delay", self.max_delay, lambda one: one.possible_s, seconds),
            ("a mean delay", self.mean_delay, lambda one: one.mean_s, seconds),
            (
                "a share of neighbours that change places",
                self.max_reordered,
                lambda one: one.reordered or 0.0,
                percent,
            ),
            ("an epsilon", self.least_promise, lambda one: one.epsilon, "{:g}".format),
        )
        return [
            OneLimit(what, float(most), figure, written)
            for what, most, figure, written in every
            if most is not None
        ]

    @property
    def words(self) -> list[str]:
        """The limits as one reads them.

        >>> limits(max_delay="2h", least_promise="1").words
        ['a longest delay of at most 2h', 'an epsilon of at most 1']
        """
        told = [f"{rule.what} of at most {rule.written(rule.most)}" for rule in self.rules]
        return told if self.deadline is None else [*told, f"a deadline on {day(self.deadline)}"]

    def keeps(self, one: Limited) -> bool:
        """Whether a policy keeps all limits."""
        return all(rule.figure(one) <= rule.most for rule in self.rules)

    def why_none(self, tried: Sequence[Limited]) -> str:
        """Which limit none of these keeps, and what comes nearest; else that none keeps all at once."""
        for rule in self.rules:
            nearest = min(map(rule.figure, tried))
            if nearest > rule.most:
                return (
                    f"No policy that was tried has {rule.what} of at most {rule.written(rule.most)}: "
                    f"the nearest has {rule.written(nearest)}."
                )
        return "No policy that was tried keeps all limits at once, though each can be kept alone."

    def allows(self, *, longest_s: float, mean_s: float) -> bool:
        """Whether delays as long as these are allowed."""
        return (self.max_delay is None or self.max_delay >= longest_s) and (
            self.mean_delay is None or self.mean_delay >= mean_s
        )


def limits(
    *,
    max_delay: Duration | None = None,
    mean_delay: Duration | None = None,
    max_reordered: Number | None = None,
    least_promise: Number | None = None,
    deadline: str | None = None,
) -> AdviceLimits:
    """AdviceLimits as one writes them: durations, numbers and a moment in ISO 8601, all as text.

    >>> limits(mean_delay="30m", max_reordered="0.05").max_reordered
    Fraction(1, 20)
    >>> limits(max_reordered="5")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the share of neighbours that change places must lie between 0 and 1, not 5
    """
    share = None if max_reordered is None else parse_number(max_reordered, "--max-reordered")
    if share is not None and not 0 <= share <= 1:
        raise BadInput(
            f"the share of neighbours that change places must lie between 0 and 1, not {float(share):g}"
        )
    promised = None if least_promise is None else parse_number(least_promise, "--least-promise")
    if promised is not None and promised <= 0:
        raise BadInput(f"the largest epsilon allowed must be above 0, not {float(promised):g}")
    try:
        moment = None if deadline is None else moment_us(deadline, bare_is_utc=True)
    except NoMoment:
        raise BadInput(
            f"the deadline must be a moment such as 2024-05-01T18:00:00Z, not {deadline!r}"
        ) from None
    return AdviceLimits(
        max_delay=None if max_delay is None else parse_duration(max_delay, "--max-delay"),
        mean_delay=None if mean_delay is None else parse_duration(mean_delay, "--mean-delay"),
        max_reordered=share,
        least_promise=promised,
        deadline=moment,
    )
