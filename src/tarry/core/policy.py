"""A policy: all of an operator's choices in one record, frozen and public for a period.

The durations are exact fractions of seconds and the rules are checked when the record is made, so a
policy that exists is one that can be kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

from tarry.core.durations import Duration, Number, format_duration, parse_duration, parse_number
from tarry.core.errors import BadInput, Sealed
from tarry.core.laws import FAMILIES
from tarry.core.mechanism import Ask, Family, LawPair, Mechanism
from tarry.core.ticks import ticks_up

__all__ = ["COVERS", "LABEL_RULES", "Cover", "LabelRule", "Policy", "event_share", "hold_of"]

LabelRule = Literal["held", "declared", "follower", "simultaneous", "none"]
LABEL_RULES: tuple[LabelRule, ...] = get_args(LabelRule)
Cover = Literal["pair", "bridge"]
COVERS: tuple[Cover, ...] = get_args(Cover)

DEFAULT_WINDOW = "5m"
LEAST_EPSILON, MOST_EPSILON = Fraction(1, 1_000_000), Fraction(100)
MOST_TICKS = 1 << 40


def event_share(epsilon: Fraction, labels: LabelRule, cover: Cover) -> Fraction:
    """The part of epsilon that one event may cost: the one place where epsilon is split.

    A batched pair is two events (a half each); an event that bridges two lone ones changes three
    labels (a third each). In follower mode the mover alone pays, and a label-free law has no labels
    to flip.

    >>> event_share(Fraction(1), "held", "pair"), event_share(Fraction(1), "follower", "pair")
    (Fraction(1, 2), Fraction(1, 1))
    """
    if labels in ("follower", "none"):
        return epsilon
    return epsilon / (2 if cover == "pair" else 3)


def hold_of(labels: LabelRule, window_ticks: int) -> int:
    """Ticks that an event waits until its label is known: the window, where labels are held.

    >>> hold_of("held", 300), hold_of("follower", 300)
    (300, 0)
    """
    return window_ticks if labels == "held" else 0


@dataclass(frozen=True, init=False)
class Policy(Sealed):
    """An operator's choices. Numbers and durations may be given as text.

    >>> policy = Policy(epsilon="1", gap="11m", window="5m", tick="1s")
    >>> policy.start_ticks(policy.gap), policy.hold_ticks
    (960, 300)
    """

    epsilon: Fraction  # the budget of the promise, per batched pair
    gap: Fraction  # seconds two acts would plausibly be apart had they not been batched
    window: Fraction  # seconds within which acts of one person count as batched
    tick: Fraction  # seconds in the clock's unit
    weight: Fraction  # of batched against unbatched delay, when choosing eta
    labels: LabelRule
    law: str | Family
    cover: Cover
    delta: Fraction  # the chance a label-free law may fail with
    target_gaps: Mapping[str, Fraction]  # gaps of their own, by target
    track_gaps: Mapping[str, Fraction]  # and by track
    starts_at: Fraction | None  # seconds since 1970 from which the policy holds
    ends_at: Fraction | None  # and until when
    deadline_at: Fraction | None  # everything is released by then

    def __init__(
        self,
        *,
        epsilon: Number,
        gap: Duration,
        window: Duration | None = None,
        tick: Duration = "1s",
        weight: Number = "0.5",
        labels: LabelRule = "held",
        law: str | Family = "zero-inflated-uniform",
        cover: Cover = "pair",
        delta: Number = 0,
        target_gaps: Mapping[str, Duration] | None = None,
        track_gaps: Mapping[str, Duration] | None = None,
        starts_at: Number | None = None,
        ends_at: Number | None = None,
        deadline_at: Number | None = None,
    ) -> None:
        if window is None:
            window = "0s" if labels in ("simultaneous", "none") else DEFAULT_WINDOW
        fields = {
            "epsilon": parse_number(epsilon, "epsilon"),
            "gap": parse_duration(gap, "gap"),
            "window": parse_duration(window, "window"),
            "tick": parse_duration(tick, "tick"),
            "weight": parse_number(weight, "weight"),
            "labels": labels,
            "law": law,
            "cover": cover,
            "delta": parse_number(delta, "delta"),
            "target_gaps": _gaps(target_gaps, "target"),
            "track_gaps": _gaps(track_gaps, "track"),
            "starts_at": _moment(starts_at, "from"),
            "ends_at": _moment(ends_at, "until"),
            "deadline_at": _moment(deadline_at, "deadline"),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self._check_choices()
        self._check_numbers()
        self._check_gaps()
        self._check_period()
        for each in self.gaps:
            self.mechanism(each)  # a policy that exists is one that can be kept

    @property
    def law_name(self) -> str:
        """The law's name, also when it is a family of the user's own."""
        return self.law if isinstance(self.law, str) else getattr(self.law, "__name__", "own law")

    @property
    def share(self) -> Fraction:
        """The part of epsilon that one event may cost."""
        return event_share(self.epsilon, self.labels, self.cover)

    @cached_property
    def window_ticks(self) -> int:
        """H: the window in ticks."""
        return ticks_up(self.window, self.tick)

    @property
    def hold_ticks(self) -> int:
        """Ticks an event waits until its label is known: the window, where labels are held."""
        return hold_of(self.labels, self.window_ticks)

    @cached_property
    def deadline_tick(self) -> int | None:
        """The last tick that ends by the deadline; arrivals stamped later come too late."""
        return None if self.deadline_at is None else int(self.deadline_at // self.tick)

    @property
    def gaps(self) -> tuple[Fraction, ...]:
        """Every gap the policy uses, the default first."""
        return tuple(dict.fromkeys((self.gap, *self.target_gaps.values(), *self.track_gaps.values())))

    def gap_for(self, target: object, track: object = None) -> Fraction:
        """The gap of an event: its target's own, else its track's, else the default.

        >>> policy = Policy(epsilon="1", gap="11m", track_gaps={"theory": "1h"})
        >>> policy.gap_for("paper 3", "theory")
        Fraction(3600, 1)
        """
        own = self.target_gaps.get(str(target))
        if own is None and track is not None:
            own = self.track_gaps.get(str(track))
        return self.gap if own is None else own

    def start_ticks(self, gap: Fraction) -> int:
        """G: where batched delays begin, and how far a move the promise covers.

        A window lets the earlier member of a pair be the mover too, so held and declared labels
        add it; rounding each up keeps every gap of at most g seconds within G ticks.
        """
        reach = self.window_ticks if self.labels in ("held", "declared") else 0
        return ticks_up(gap, self.tick) + reach

    def mechanism(self, gap: Fraction | None = None) -> Mechanism:
        """The laws for one of the policy's gaps (the default gap if none is given).

        >>> Policy(epsilon="1", gap="300s", window="0s", weight="1").mechanism().pair.batched.maximum
        762
        """
        if gap is None or gap is self.gap:
            return self._default
        return self._mechanism(gap)

    @cached_property
    def _default(self) -> Mechanism:
        return self._mechanism(self.gap)

    def _mechanism(self, key: Fraction) -> Mechanism:
        if key not in self._built:
            self._built[key] = Mechanism(pair=self._pair(self._ask(key)), hold=self.hold_ticks)
        return self._built[key]

    @cached_property
    def _built(self) -> dict[Fraction, Mechanism]:
        return {}

    def _pair(self, ask: Ask) -> LawPair:
        pair: object = (FAMILIES[self.law] if isinstance(self.law, str) else self.law)(ask)
        if not isinstance(pair, LawPair):
            raise BadInput(f"the law {self.law_name}", "answers with a LawPair", found=repr(pair))
        if pair.start != ask.start:
            raise BadInput(
                f"the law {self.law_name}",
                f"starts batched delays where it is asked to, at {ask.start} ticks",
                found=f"{pair.start} ticks",
            )
        if self.labels == "none" and not pair.label_free:
            raise BadInput(
                f"the law {self.law_name}", "has one law for all events with labels none", found="two"
            )
        return replace(pair)  # without anything but its laws: whether it is coupled follows from these

    def _ask(self, gap: Fraction) -> Ask:
        return Ask(share=self.share, start=self.start_ticks(gap), weight=self.weight, delta=self.delta)

    def _check_choices(self) -> None:
        known: dict[str, tuple[str, ...]] = {"labels": LABEL_RULES, "cover": COVERS}
        if not callable(self.law):
            known["law"] = tuple(FAMILIES)
        for name, choices in known.items():
            if (found := getattr(self, name)) not in choices:
                raise BadInput(name, f"is one of {', '.join(choices)}", found=repr(found))
        if isinstance(self.law, str) and (self.law == "label-free") != (self.labels == "none"):
            raise BadInput(
                "labels",
                'are "none" with the law label-free and with no other',
                found=f"labels {self.labels!r} with law {self.law!r}",
                fix="change one of the two",
            )
        if self.cover == "bridge" and self.labels in ("follower", "none"):
            raise BadInput(
                "cover",
                f'is "pair" with labels {self.labels!r}',
                found="'bridge'",
                fix="leave it out",
            )

    def _check_numbers(self) -> None:
        if not LEAST_EPSILON <= self.epsilon <= MOST_EPSILON:
            raise BadInput(
                "epsilon",
                "lies between 0.000001 and 100",
                found=_decimal(self.epsilon),
                fix="0.5 to 2 is usual",
            )
        if not 0 <= self.weight <= 1:
            raise BadInput("weight", "lies between 0 and 1", found=_decimal(self.weight))
        if self.labels == "none" and not 0 < self.delta < 1:
            raise BadInput(
                "delta",
                "lies between 0 and 1 for a label-free law",
                found=_decimal(self.delta),
                fix="give a small chance such as 0.001",
            )
        if self.labels != "none" and self.delta:
            raise BadInput(
                "delta",
                "belongs to label-free laws alone",
                found=_decimal(self.delta),
                fix="leave it out: the promise of this law holds without exception",
            )
        if self.tick == 0:
            raise BadInput("tick", "must be above 0", found="0s", fix="1s is usual")

    def _check_gaps(self) -> None:
        window = self.window
        if window and self.labels in ("simultaneous", "none"):
            raise BadInput(
                "window",
                f"is 0s with labels {self.labels!r}",
                found=format_duration(window),
                fix="leave it out, or choose labels held, declared or follower",
            )
        named = {"gap": self.gap}
        named |= {f"the gap of target {name!r}": gap for name, gap in self.target_gaps.items()}
        named |= {f"the gap of track {name!r}": gap for name, gap in self.track_gaps.items()}
        for name, gap in named.items():
            if gap <= window:
                raise BadInput(
                    name,
                    f"must be above the window ({format_duration(window)})",
                    found=format_duration(gap),
                    fix="choose a longer gap or a shorter window",
                )
            # Else one person's acts a gap apart, which a batch is to be confused with, may be batched too.
            if ticks_up(gap, self.tick) <= self.window_ticks:
                raise BadInput(
                    name,
                    f"must be above the window ({format_duration(window)}) in whole ticks of "
                    f"{format_duration(self.tick)} too",
                    found=format_duration(gap),
                    fix="choose a shorter tick or a longer gap",
                )
            if self.start_ticks(gap) > MOST_TICKS:
                raise BadInput(
                    name,
                    "must stay below 2^40 ticks",
                    found=format_duration(gap),
                    fix="choose a longer tick",
                )

    def _check_period(self) -> None:
        for name, at in (("until", self.ends_at), ("deadline", self.deadline_at)):
            if at is not None and self.starts_at is not None and at <= self.starts_at:
                raise BadInput(name, "comes after from", found="a moment before it")


def _moment(at: Number | None, what: str) -> Fraction | None:
    return None if at is None else parse_number(at, what)


def _gaps(gaps: Mapping[str, Duration] | None, kind: str) -> Mapping[str, Fraction]:
    items = (gaps or {}).items()
    return {str(name): parse_duration(gap, f"the gap of {kind} {name!r}") for name, gap in items}


def _decimal(number: Fraction) -> str:
    return f"{float(number):g}" if abs(number) < 10**100 else "a number of more than 100 digits"
