"""A policy: all of an operator's choices in one record, frozen and public for a period.

The durations are exact fractions of seconds and the rules are checked when the record is made, so a
policy that exists is one that can be kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

from tarry.core.accountant import ln_above
from tarry.core.errors import BadInput
from tarry.core.exact import (
    Duration,
    Number,
    format_duration,
    parse_duration,
    parse_number,
    ticks_up,
)
from tarry.core.law import Final
from tarry.core.mechanism import Ask, Family, LabelFree, LawPair, Mechanism, SeasonLaw
from tarry.core.plugins import load
from tarry.core.season import Accountant, Season

__all__ = [
    "COVERS",
    "LABEL_RULES",
    "Cover",
    "LabelRule",
    "Policy",
    "event_share",
    "hold_of",
    "needs_labels",
]

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
    labels (a third each). With follower labels the mover alone pays, and a label-free law has no labels
    to change.

    >>> event_share(Fraction(1), "held", "pair"), event_share(Fraction(1), "follower", "pair")
    (Fraction(1, 2), Fraction(1, 1))
    """
    if labels in ("follower", "none"):
        return epsilon
    return epsilon / (2 if cover == "pair" else 3)


def needs_labels(law: str | Family) -> bool:
    """Whether a law asks who is batched: all do, but those that are marked as `LabelFree`.

    >>> needs_labels("uniform"), needs_labels("label-free")
    (True, False)
    """
    return not isinstance(_family(law), LabelFree)


def hold_of(labels: LabelRule, window_ticks: int) -> int:
    """Ticks that an event waits until its label is known: the window, where labels are held.

    >>> hold_of("held", 300), hold_of("follower", 300)
    (300, 0)
    """
    return window_ticks if labels == "held" else 0


@dataclass(frozen=True, init=False)
class Policy(Final):
    """An operator's choices. Numbers and durations may be given as text.

    >>> policy = Policy(epsilon="1", gap="11m", window="5m", tick="1s")
    >>> policy.start_ticks(policy.gap), policy.hold_ticks
    (960, 300)
    """

    epsilon: Fraction  # the budget of the promise, per batched pair; with a season it is what comes out
    gap: Fraction  # seconds two acts would plausibly be apart had they not been batched
    window: Fraction  # seconds within which acts of one person count as batched
    tick: Fraction  # seconds in the clock's unit
    weight: Fraction  # of batched against unbatched delay, when choosing eta
    labels: LabelRule  # how batched events are known
    law: str | Family  # the name of a law, ours or of an installed package, or a function
    cover: Cover  # what costs one epsilon
    delta: Fraction  # the chance a label-free law may fail with
    target_gaps: Mapping[str, Fraction]  # other gaps, by target
    track_gaps: Mapping[str, Fraction]  # and by track
    starts_at: Fraction | None  # seconds since 1970 from which the policy holds
    ends_at: Fraction | None  # and until when
    deadline_at: Fraction | None  # everything is released by then
    season: Season | None  # what all acts of a person together may cost
    blocks: int | None  # of a law for a season: how many,
    order: Decimal | None  # and how they are shaped

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
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
        season: Season | None = None,
        blocks: int | None = None,
        order: Number | None = None,
    ) -> None:
        if window is None:
            window = "0s" if labels in ("simultaneous", "none") else DEFAULT_WINDOW
        if epsilon is None and season is None:
            raise BadInput("the policy has no epsilon", "give it, or a season")
        fields = {
            "epsilon": Fraction(0) if epsilon is None else parse_number(epsilon, "epsilon"),
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
            "season": season,
            "blocks": blocks,
            "order": None if order is None else _order(order),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self._check_choices()
        self._check_gaps()
        if season is not None:
            self._keep_season(season)
        self._check_numbers()
        self._check_period()
        for each in self.gaps:
            self.mechanism(each)  # a policy that exists is one that can be kept

    @property
    def law_name(self) -> str:
        """The law's name, also when it is a function of the user's own."""
        if isinstance(self.law, str):
            return self.law
        family = self.law.family if isinstance(self.law, LabelFree | SeasonLaw) else self.law
        return getattr(family, "__name__", "own law")

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
        gap = self.target_gaps.get(str(target))
        if gap is None and track is not None:
            gap = self.track_gaps.get(str(track))
        return self.gap if gap is None else gap

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
        if (
            gap is None or gap is self.gap
        ):  # as for most posts: a hash of a fraction would cost more than that
            return self._usual
        if gap not in self._built:
            self._built[gap] = Mechanism(pair=self._pair(gap), hold=self.hold_ticks)
        return self._built[gap]

    @cached_property
    def _usual(self) -> Mechanism:
        return Mechanism(pair=self._pair(self.gap), hold=self.hold_ticks)

    @cached_property
    def _built(self) -> dict[Fraction, Mechanism]:
        return {}

    def _pair(self, gap: Fraction) -> LawPair:
        ask = Ask(
            share=self.share,
            start=self.start_ticks(gap),
            weight=self.weight,
            delta=self.delta,
            blocks=self.blocks,
            order=self.order,
        )
        pair: object = _family(self.law)(ask)
        if not isinstance(pair, LawPair):
            raise BadInput(f"law {self.law_name!r} must return a LawPair, not {pair!r}")
        if pair.start != ask.start:
            raise BadInput(
                f"law {self.law_name!r} must start batched delays at {ask.start} ticks, not at {pair.start}"
            )
        if self.labels == "none" and not pair.label_free:
            raise BadInput(
                f"law {self.law_name!r} has one law for batched and one for unbatched events",
                "choose other labels than 'none', or return one law twice",
            )
        return replace(pair)  # without anything but its laws: whether it is coupled follows from these

    def _keep_season(self, season: Season) -> None:
        """Epsilon and all that follows from it come from the season; refuse one that does not hold."""
        for name, value, usual in (
            ("weight", self.weight, Fraction(1, 2)),
            ("cover", self.cover, "pair"),
            ("delta", self.delta, 0),
        ):
            if value != usual:
                raise BadInput(f"{name} must not be given with a season", "leave it out")
        if self.labels in ("follower", "none"):
            raise BadInput(
                f"labels must not be {self.labels!r} with a season", "use held, declared or simultaneous"
            )
        share = season.share
        if isinstance(_family(self.law), SeasonLaw):
            pair = self._pair(self.gap)
            if (ratio := pair.largest_ratio) is None:
                raise BadInput(
                    f"law {self.law_name!r} must give every delay of a batched act to unbatched ones"
                )
            share = ln_above(ratio)
            Accountant(pair, share).check(season)
        if self.epsilon not in {0, 2 * share}:
            raise BadInput("epsilon must not be given with a season, it follows from it", "leave it out")
        object.__setattr__(self, "epsilon", 2 * share)

    def _check_choices(self) -> None:
        if self.labels not in LABEL_RULES:
            raise BadInput(f"unknown labels {self.labels!r}", f"use {', '.join(LABEL_RULES)}")
        if self.cover not in COVERS:
            raise BadInput(f"unknown cover {self.cover!r}", f"use {', '.join(COVERS)}")
        if self.cover != "pair" and self.labels in ("follower", "none"):
            raise BadInput(f"cover must be 'pair' with labels {self.labels!r}, not 'bridge'")
        if not needs_labels(self.law) and self.labels != "none":
            raise BadInput(f"labels must be 'none' with law {self.law_name!r}, not {self.labels!r}")
        is_for_season = isinstance(_family(self.law), SeasonLaw)
        if is_for_season and None in (self.season, self.blocks, self.order):
            raise BadInput(
                f"law {self.law_name!r} must have a season, blocks and an order",
                "tarry plan --season finds them",
            )
        if not is_for_season and (self.blocks, self.order) != (None, None):
            raise BadInput(
                f"law {self.law_name!r} has no blocks or order", "leave them out, or use law 'cosine'"
            )
        if self.labels == "none" and isinstance(self.law, str) and needs_labels(self.law):
            raise BadInput(
                f"labels must not be 'none' with law {self.law!r}",
                "choose other labels, or law 'label-free'",
            )

    def _check_numbers(self) -> None:
        if not LEAST_EPSILON <= self.epsilon <= MOST_EPSILON:
            raise BadInput(
                f"epsilon must be between 0.000001 and 100, not {_decimal(self.epsilon)}",
                "0.5 to 2 is usual",
            )
        if not 0 <= self.weight <= 1:
            raise BadInput(f"weight must be between 0 and 1, not {_decimal(self.weight)}")
        if self.labels == "none" and not 0 < self.delta < 1:
            raise BadInput(
                f"delta must be above 0 and below 1 with labels 'none', not {_decimal(self.delta)}",
                "try a small chance such as 0.001",
            )
        if self.labels != "none" and self.delta:
            raise BadInput(
                f"delta must be 0 with labels {self.labels!r}, not {_decimal(self.delta)}",
                "leave it out, the promise of this law holds without exception",
            )

    def _check_gaps(self) -> None:
        if not self.tick:
            raise BadInput("tick must be above 0s, not 0s", "1s is usual")
        if self.window and self.labels in ("simultaneous", "none"):
            raise BadInput(
                f"window must be 0s with labels {self.labels!r}, not {format_duration(self.window)}",
                "leave it out, or choose labels held, declared or follower",
            )
        gaps = {"gap": self.gap}
        gaps |= {f"the gap of target {name!r}": gap for name, gap in self.target_gaps.items()}
        gaps |= {f"the gap of track {name!r}": gap for name, gap in self.track_gaps.items()}
        for name, gap in gaps.items():
            self._check_gap(name, gap)

    def _check_gap(self, name: str, gap: Fraction) -> None:
        length, window, tick = (format_duration(each) for each in (gap, self.window, self.tick))
        if gap <= self.window:
            raise BadInput(
                f"{name} must be above the window ({window}), not {length}",
                "choose a longer gap or a shorter window",
            )
        # Else one person's acts a gap apart, which a batch is to be confused with, may be batched too.
        if ticks_up(gap, self.tick) <= self.window_ticks:
            raise BadInput(
                f"{name} must be above the window ({window}) in whole ticks of {tick} too, not {length}",
                "choose a shorter tick or a longer gap",
            )
        if self.start_ticks(gap) > MOST_TICKS:
            raise BadInput(f"{name} must stay below 2^40 ticks, not {length}", "choose a longer tick")

    def _check_period(self) -> None:
        for name, at in (("until", self.ends_at), ("deadline", self.deadline_at)):
            if at is not None and self.starts_at is not None and at <= self.starts_at:
                before = format_duration(self.starts_at - at)
                raise BadInput(f"{name} must come after from, not {before} before it")


def _family(law: str | Family) -> Family:
    """The function behind a law: loaded by its name, or given as it is."""
    if not isinstance(law, str):
        if not callable(law):
            raise BadInput(f"law must be a name or a function, not {law!r}")
        return law
    family: object = load("law", law)
    if not callable(family):
        raise BadInput(f"law {law!r} must be a function that takes an Ask, not {family!r}")
    return family


def _order(order: Number) -> Decimal:
    """As an exact decimal: it decides the integers of a law."""
    number = parse_number(order, "order")
    return Decimal(number.numerator) / Decimal(number.denominator)


def _moment(at: Number | None, key: str) -> Fraction | None:
    return None if at is None else parse_number(at, key)


def _gaps(gaps: Mapping[str, Duration] | None, kind: str) -> Mapping[str, Fraction]:
    return {
        str(name): parse_duration(gap, f"the gap of {kind} {name!r}") for name, gap in (gaps or {}).items()
    }


def _decimal(number: Fraction) -> str:
    return f"{float(number):g}" if abs(number) < 10**100 else "a number of more than 100 digits"
