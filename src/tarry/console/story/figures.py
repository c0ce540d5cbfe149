"""The pictures of the story that move, each with one slider: delay, laws, gap, budget, days.

The numbers come from the core and from the workbench; only the people of the last picture are made up here.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import exp, log, log2
from typing import Any

import numpy as np

from tarry.console.drawing import Axis, Frame, Picture
from tarry.console.pages import texts
from tarry.console.story.moving import Moving, Stop, moving
from tarry.console.workbench.evening import delays_at, fixed_numbers
from tarry.console.workbench.figures import (
    START,
    STRANGERS_S,
    innocent_mass,
    read_choices,
    suspicion,
)
from tarry.console.workbench.instrument import about, share_words
from tarry.console.workbench.page import clock
from tarry.console.workbench.seasons import odds, risen
from tarry.core.exact import format_duration
from tarry.core.plan import plan
from tarry.core.policy import Policy

__all__ = ["GHOSTS", "budget", "days", "delay", "gap", "laws"]

_W: dict[str, Any] = texts()["story"]
_MINUTE, _HOUR = 60, 3600


def _wait(policy: Policy) -> str:
    return about(float(plan(policy).batched.mean))


# --- one post, and the delays that it could have had -------------------------------------------------

GHOSTS = 200
_COLUMNS = 20


@cache
def delay() -> Moving:
    """A post at seven, and two hundred delays that are equally likely for it.

    >>> delay().stops[0].value, len(delay().stops)
    ('1 of 200', 200)
    """
    policy = START.policy
    law, hold = policy.mechanism().pair.batched, policy.hold_ticks
    numbers = (np.arange(GHOSTS) + 0.5) / GHOSTS
    waits = (hold + delays_at(law, numbers)).tolist()
    frame = Frame(420, 176, 14, 8, 406, 142)
    picture = Picture("delay", frame, Axis("linear", 0, _HOUR), Axis("linear", 0, 1))
    picture.axes({at: clock(at) for at in range(0, _HOUR + 1, 900)}, {}, "")
    dots, bar = _dots(picture, waits), frame.bottom - 22
    for x, y in dots:
        picture.add("circle", class_="ghost", cx=x, cy=y, r=2.6)
    picture.add(
        "rect", class_="held", x=frame.left, y=bar - 7, width=picture.x(hold) - frame.left, height=14
    )
    stops = []
    for number, (wait, (x, y)) in enumerate(zip(waits, dots, strict=True)):
        end = picture.x(wait)
        sentence = _W["delay"]["sentence"].format(
            wait=about(wait), clock=clock(wait), fewer=number, more=GHOSTS - 1 - number
        )
        marks = {
            "bar": {"x": picture.x(hold), "y": bar - 7, "width": end - picture.x(hold), "height": 14},
            "thread": {"x1": end, "x2": x, "y1": bar, "y2": y},
            "one": {"cx": x, "cy": y, "r": 4.2},
            "here": {"cx": end, "cy": bar, "r": 9},
        }
        stops.append(Stop(_W["delay"]["value"].format(number=number + 1, all=GHOSTS), sentence, marks))
    kinds = [("bar", "rect", "bar"), ("thread", "line", "thread"), ("one", "circle", "one"), _HERE]
    return moving(picture, kinds, stops, 83)


_HERE = ("here", "circle", "here")


def _dots(picture: Picture, waits: Sequence[int]) -> list[tuple[float, float]]:
    """Each delay as a dot above its stretch, stacked."""
    width = (waits[-1] + 1 - waits[0]) / _COLUMNS
    places: list[tuple[float, float]] = []
    stacked = [0] * _COLUMNS
    for wait in waits:
        column = int((wait - waits[0]) / width)
        stacked[column] += 1
        y = picture.frame.bottom - 40 - 6.4 * stacked[column]
        places.append((picture.x(waits[0] + (column + 0.5) * width), y))
    return places


# --- two laws, and epsilon as a ruler between their heights -------------------------------------------

_EPSILONS = "0.3 0.35 0.4 0.45 0.5 0.6 0.7 0.8 0.9 1 1.1 1.2 1.3 1.4 1.5 1.6 1.8 2 2.2 2.4 2.6 2.8 3"
_STRETCH_S = 120
_HEIGHTS = {0.01: "1 %", 0.02: "2 %", 0.05: "5 %", 0.1: "10 %", 0.2: "20 %", 0.5: "50 %"}


@cache
def laws() -> Moving:
    """The laws of batched and lone posts over the delay; equal factors are equal heights.

    >>> laws().shown.value
    '1'
    """
    picture = Picture(
        "laws", Frame(420, 236, 40, 26, 408, 194), Axis("linear", 0, 2 * _HOUR), Axis("log", 0.01, 0.5)
    )
    across: dict[float, str] = {at: format_duration(at) for at in range(0, 2 * _HOUR + 1, 1200)}
    picture.axes(across, _HEIGHTS, _W["laws"]["across"], _W["laws"]["up"])
    kinds = [
        ("area", "path", "area"),
        ("alone", "path", "line alone"),
        ("batched", "path", "line batched"),
        ("at-once", "line", "line alone"),
        ("low", "line", "guide"),
        ("ruler", "line", "ruler"),
        ("word", "text", "word middle over strong"),
        _HERE,
    ]
    stops = [_laws_stop(picture, epsilon) for epsilon in _EPSILONS.split()]
    return moving(picture, kinds, stops, _EPSILONS.split().index("1"))


def _laws_stop(picture: Picture, epsilon: str) -> Stop:
    policy = replace(START.policy, epsilon=Fraction(epsilon))
    pair, hold = policy.mechanism().pair, policy.hold_ticks
    end, start = (pair.batched.maximum or 0) + 1, pair.start
    high, low = (_STRETCH_S * float(law.mass(end - 1)) for law in (pair.batched, pair.unbatched))
    at_once = max(float(pair.unbatched.mass(0)), low)
    (x0, x1, x2), (top, under) = (
        map(picture.x, (hold, hold + start, hold + end)),
        map(picture.y, (high, low)),
    )
    floor, ruler, share = picture.frame.bottom, picture.x(hold + start) - 9, exp(float(policy.share))
    marks: dict[str, dict[str, object]] = {
        "area": {"d": f"M{x1:.1f} {floor}V{top:.1f}H{x2:.1f}V{floor}Z"},
        "batched": {"d": f"M{x1:.1f} {floor}V{top:.1f}H{x2:.1f}V{floor}"},
        "alone": {"d": f"M{x0:.1f} {floor}V{under:.1f}H{x2:.1f}V{floor}"},
        "at-once": {"x1": x0, "x2": x0, "y1": under, "y2": picture.y(at_once)},
        "low": {"x1": ruler, "x2": x1, "y1": top, "y2": top},
        "ruler": {"x1": ruler, "x2": ruler, "y1": top, "y2": under},
        "word": {"x": ruler, "y": top - 14, "text": f"× {share:.2f}"},
        "here": {"cx": ruler, "cy": top, "r": 8},
    }
    sentence = _W["laws"]["sentence"].format(
        epsilon=epsilon,
        share=f"{share:.2f}",
        pair=f"{exp(float(policy.epsilon)):.2f}",
        risen=_percent(risen(float(policy.epsilon))),
        wait=_wait(policy),
    )
    return Stop(epsilon, sentence, marks)


def _percent(share: float) -> str:
    """Whole percent; small ones and those near certainty with a word or a digit that tells more."""
    if share > 0.99:
        over: str = _W["over"].format(share=share_words(0.99, ""))
        return over
    return f"{100 * share:.1f} %" if share < 0.1 else share_words(share, "")


# --- the gap as a band, in which strangers fill the suspicion -----------------------------------------

_GAPS = "6m 7m 8m 9m 10m 11m 12m 13m 15m 17m 20m 23m 26m 30m 35m 40m 45m 50m 55m 1h 1h10m 1h20m 1h30m"
_STRANGERS = 20
_SUSPECTS = 10


@cache
def gap() -> Moving:
    """Strangers after a post, and the band of gap and window that makes some of them count.

    >>> gap().shown.value
    '11m'
    """
    frame = Frame(420, 218, 14, 34, 406, 132)
    picture = Picture("gap", frame, Axis("linear", 0, 2 * _HOUR), Axis("linear", 0, 1))
    picture.axes({at: format_duration(at) for at in range(0, 2 * _HOUR + 1, 1200)}, {}, "")
    shares = [(number + 0.5) / _STRANGERS for number in range(_STRANGERS)]
    dots = [
        (picture.x(-STRANGERS_S * log2(1 - share)), frame.bottom - 16 - 17 * (number * 2 % 5))
        for number, share in enumerate(shares)
    ]
    bar = frame.bottom + 50
    picture.add("line", class_="yours", x1=frame.left, x2=frame.left, y1=frame.top, y2=frame.bottom)
    picture.add("text", _W["gap"]["post"], class_="word", x=frame.left - 2, y=frame.top - 18)
    for name, x in (("you", frame.left), ("others", frame.right)):
        side = "" if name == "you" else " end"
        picture.add("text", _W["gap"][name], class_=f"word{side}", x=x, y=bar - 6)
    kinds = [
        ("band", "rect", "band"),
        ("edge", "line", "edge"),
        *((f"dot-{number}", "circle", "stranger") for number in range(_STRANGERS)),
        ("rest", "rect", "others"),
        ("sure", "rect", "you"),
        ("word", "text", "word strong inside"),
        ("before", "line", "earlier"),
        _HERE,
    ]
    stops = [_gap_stop(picture, dots, shares, bar, value) for value in _GAPS.split()]
    return moving(picture, kinds, stops, _GAPS.split().index("11m"))


def _gap_stop(
    picture: Picture, dots: Sequence[tuple[float, float]], shares: Sequence[float], bar: int, value: str
) -> Stop:
    policy = read_choices({"gap": value}).policy
    band = policy.mechanism().pair.start
    mass, known = float(innocent_mass(policy)), suspicion(policy, _SUSPECTS)
    inside = sum(share <= mass for share in shares)
    f, edge = picture.frame, picture.x(band)
    split, before = (f.left + share * (f.right - f.left) for share in (known.delayed, known.together))
    marks: dict[str, dict[str, object]] = {
        "band": {"x": f.left, "y": f.top, "width": edge - f.left, "height": f.bottom - f.top},
        "edge": {"x1": edge, "x2": edge, "y1": f.top, "y2": f.bottom},
        "here": {"cx": edge, "cy": f.top, "r": 9},
        "sure": {"x": f.left, "y": bar, "width": split - f.left, "height": 24},
        "rest": {"x": split, "y": bar, "width": f.right - split, "height": 24},
        "word": {"x": f.left + 8, "y": bar + 16, "text": share_words(known.delayed, "")},
        "before": {"x1": before, "x2": before, "y1": bar - 4, "y2": bar + 28},
    }
    for number, (x, y) in enumerate(dots):
        kind = "stranger inside" if shares[number] <= mass else "stranger"
        marks[f"dot-{number}"] = {"cx": x, "cy": y, "r": 5.5, "class": kind}
    sentence = _W["gap"]["sentence"].format(
        gap=about(float(policy.gap)),
        band=about(band),
        inside=inside,
        strangers=_STRANGERS,
        sure=share_words(known.delayed, ""),
        together=share_words(known.together, ""),
        wait=_wait(policy),
    )
    return Stop(value, sentence, marks)


# --- the budget: evening after evening -----------------------------------------------------------------

_EVENINGS = (1, 2, 5, 10, 20, 50, 100, 200)
_FACTORS = {1.0: "1", 10.0: "10", 100.0: "100", 1000.0: "1,000"}


@cache
def budget() -> Moving:
    """What evenings add up to, under three laws: as factors, so that equal losses are equal bricks.

    >>> budget().shown.value
    '100'
    """
    season = read_choices({"law": "season"})
    frame = Frame(420, 280, 46, 44, 408, 224)
    picture = Picture("budget", frame, Axis("linear", 0, 3), Axis("log", 1, 1000))
    picture.axes({}, _FACTORS, "")
    picture.add("text", _W["budget"]["up"], class_="word", x=4, y=14)
    short, long = _wait(START.policy), _wait(season.policy)
    for column, wait in enumerate((short, long, long)):
        x = picture.x(column + 0.5)
        law = _W["budget"]["season" if column == 2 else "pair"]
        picture.add("text", law, class_="word middle strong", x=x, y=frame.bottom + 18)
        picture.add(
            "text", _W["budget"]["wait"].format(wait=wait), class_="word middle", x=x, y=frame.bottom + 36
        )
    known = {one.pairs: one for one in odds(season.policy, season.pairs, Fraction(season.delta))}
    each = float(START.policy.epsilon)
    rows = [(n, (n * each, known[n].older, known[n].season or 0.0)) for n in _EVENINGS]
    kinds = [
        (f"{part}-{column}", element, f"{class_} law-{column}")
        for column in range(3)
        for part, element, class_ in (
            ("stack", "rect", "stack"),
            ("risen", "text", "word middle strong over"),
        )
    ]
    stops = [_budget_stop(picture, rows, place, (short, long)) for place in range(len(rows))]
    return moving(picture, [*kinds, ("bricks", "path", "bricks"), _HERE], stops, _EVENINGS.index(100))


_Rows = list[tuple[int, tuple[float, float, float]]]


def _budget_stop(picture: Picture, rows: _Rows, place: int, waits: tuple[str, str]) -> Stop:
    evenings, nats = rows[place]
    f = picture.frame
    marks: dict[str, dict[str, Any]] = {}
    for column, cost in enumerate(nats):
        x, top = picture.x(column + 0.5), picture.y(exp(min(cost, 50)))
        marks[f"stack-{column}"] = {"x": x - 38, "y": top, "width": 76, "height": max(f.bottom - top, 1.0)}
        marks[f"risen-{column}"] = {"x": x, "y": top - 7, "text": _percent(risen(cost))}
    marks["bricks"] = {"d": _bricks(picture, evenings, nats[0] / evenings)}
    marks["here"] = {"cx": picture.x(1.5) + 38, "cy": marks["stack-1"]["y"], "r": 8}
    low, older, season = (_percent(risen(cost)) for cost in nats)
    words = _W["budget"]["sentence" if evenings > 1 else "sentence_one"]
    sentence = words.format(
        evenings=evenings, short=waits[0], long=waits[1], low=low, older=older, season=season
    )
    return Stop(str(evenings), sentence, marks)


def _bricks(picture: Picture, evenings: int, each: float) -> str:
    """The joints between the bricks of the first stack."""
    left = picture.x(0.5) - 38
    heights = [picture.y(exp(each * n)) for n in range(1, evenings) if each * n < log(picture.up.high)]
    return "".join(f"M{left:.1f} {y:.1f}h76" for y in heights) or "M0 0"


# --- what it does not hide: the days --------------------------------------------------------------------

_NAMES, _DAYS = 12, 14
_YOURS = 4  # which of the names is yours


@cache
def days() -> Moving:
    """Made-up names and the days on which each posts; fewer and fewer share all of yours.

    >>> days().stops[-1].sentence
    'After 14 days one name is left: yours.'
    """
    active = _active()
    frame = Frame(420, 224, 14, 22, 406, 196)
    picture = Picture("days", frame, Axis("linear", 0, _DAYS), Axis("linear", 0, _NAMES + 2))
    kinds = [("band", "rect", "band"), ("edge", "line", "edge")]
    kinds += [(f"name-{number}", "path", "days") for number in range(_NAMES)]
    for day in range(0, _DAYS + 1, 2):
        x = picture.x(day)
        picture.add("line", class_="tick", x1=x, x2=x, y1=frame.bottom, y2=frame.bottom + 4)
        picture.add("text", str(day), class_="word middle", x=x, y=frame.bottom + 18)
    picture.add("path", class_="days yours", d=_cells(picture, active[_YOURS], _NAMES + 1.4))
    stops = [_days_stop(picture, active, days) for days in range(1, _DAYS + 1)]
    return moving(picture, [*kinds, _HERE], stops, 2)


def _active() -> np.ndarray:
    """Each name posts on every second day or so."""
    numbers = fixed_numbers().ravel()[: _NAMES * _DAYS].reshape(_NAMES, _DAYS)
    found: np.ndarray = numbers < 0.5
    return found


def _cells(picture: Picture, active: np.ndarray, row: float) -> str:
    y, size = picture.y(row) - 4.5, 9
    return "".join(
        f"M{picture.x(day + 0.5) - size / 2:.1f} {y:.1f}h{size}v{size}h-{size}Z"
        for day in np.flatnonzero(active)
    )


def _days_stop(picture: Picture, active: np.ndarray, watched: int) -> Stop:
    same = (active[:, :watched] == active[_YOURS, :watched]).all(axis=1)
    left, f, edge = int(same.sum()), picture.frame, picture.x(watched)
    marks: dict[str, dict[str, object]] = {
        "band": {"x": f.left, "y": f.top, "width": edge - f.left, "height": f.bottom - f.top},
        "edge": {"x1": edge, "x2": edge, "y1": f.top, "y2": f.bottom},
        "here": {"cx": edge, "cy": f.top, "r": 9},
    }
    for number in range(_NAMES):
        kind = "days left" if same[number] else "days"
        marks[f"name-{number}"] = {
            "d": _cells(picture, active[number], _NAMES - 0.4 - number),
            "class": kind,
        }
    words = _W["days"]["sentence_one" if left == 1 else "sentence"]
    some = _W["days"]["day" if watched == 1 else "days"].format(days=watched)
    return Stop(str(watched), words.format(days=some, left=left, names=_NAMES), marks)
