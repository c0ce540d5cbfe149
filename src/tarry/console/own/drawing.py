"""The timeline of one's own page: where each act lies between now and the last release, in percent."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from tarry.core.exact import format_duration
from tarry.keep.acts import OwnAct

__all__ = ["AxisStop", "Track", "axis", "track_of"]

_STEPS_S = (1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800)
_MOST_STOPS = 4


class AxisStop(NamedTuple):
    """A moment that is written below the timeline.

    >>> AxisStop(at="50.0", words="1h").words
    '1h'
    """

    at: str  # percent
    words: str  # from now


class Track(NamedTuple):
    """Where an act may leave: at one moment, at one of two, or anywhere between.

    >>> Track(early="25.0", late="75.0", width="50.0", in_between=True).in_between
    True
    """

    early: str  # percent
    late: str
    width: str
    in_between: bool


def axis(acts: Sequence[OwnAct], now: Fraction) -> tuple[Fraction, list[AxisStop]]:
    """How many seconds the timeline shows, and its stops.

    >>> axis([], Fraction(0))
    (Fraction(4, 1), [AxisStop(at='25.0', words='1s'), AxisStop(at='50.0', words='2s'), \
AxisStop(at='75.0', words='3s'), AxisStop(at='100.0', words='4s')])
    """
    ends = [act.status.between[1] - now for act in acts if act.status.between is not None]
    span = max([Fraction(_MOST_STOPS), *ends])
    step = next((step for step in _STEPS_S if step * _MOST_STOPS >= span), _STEPS_S[-1])
    count = max(1, -(-span // step))
    every = -(-count // _MOST_STOPS)
    span = Fraction(count * step)
    return span, [
        AxisStop(_percent(n * step, span), format_duration(Fraction(n * step)))
        for n in range(every, count + 1, every)
    ]


def track_of(act: OwnAct, now: Fraction, span: Fraction) -> Track | None:
    """Where an act lies; None if it is not known.

    >>> from tarry.keep.posts import Status
    >>> status = Status(state="waiting", earliest=10, latest=30, tick=Fraction(1))
    >>> track_of(OwnAct({}, status, {}, runs=False), Fraction(0), Fraction(40))
    Track(early='25.0', late='75.0', width='50.0', in_between=False)
    """
    if act.status.between is None:
        return None
    early, late = (min(span, max(Fraction(0), at - now)) for at in act.status.between)
    return Track(
        _percent(early, span), _percent(late, span), _percent(late - early, span), act.status.in_between
    )


def _percent(part: Fraction | int, whole: Fraction) -> str:
    return f"{float(100 * part / whole):.1f}"
