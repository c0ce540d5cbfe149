"""The charts of the workbench: the trade, the two laws, the evening, and what an observer can learn."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from tarry.console.drawing import (
    SHARES,
    Axis,
    Frame,
    Picture,
    line_chart,
    steps,
    tag,
    tick_marks,
)
from tarry.console.pages import texts
from tarry.console.workbench.evening import PEOPLE, Evening, Guess, watch
from tarry.console.workbench.figures import Figures
from tarry.console.workbench.instrument import Facts, facts
from tarry.console.workbench.seasons import risen

__all__ = ["BINS", "RANGES", "Ranges", "charts", "law_bins"]

_W: dict[str, Any] = texts()["workbench"]
_HOUR, _DAY = 3600, 86_400
#: The ranges that axes may have, from narrow to wide: of mean waits, of delays, and of the evening.
RANGES: Mapping[str, tuple[tuple[float, float], ...]] = {
    "frontier": ((300, _DAY), (60, 20 * _DAY), (1, 400 * _DAY)),
    "laws": tuple(
        (0, end)
        for end in (
            *(60, 300, 900, 1800, _HOUR, 2 * _HOUR, 4 * _HOUR, 8 * _HOUR, 16 * _HOUR),
            *(_DAY * days for days in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)),
        )
    ),
    "evening": tuple(
        (0, end)
        for end in (
            *(4 * _HOUR, 5 * _HOUR, 6 * _HOUR, 8 * _HOUR, 12 * _HOUR, 18 * _HOUR),
            *(_DAY * days for days in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)),
        )
    ),
}
#: Which range each axis has: chosen here, or held by whoever locked them.
Ranges = Mapping[str, int]
BINS = 60
_TOPS = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 1.0)
#: The evening begins at seven.
START_S = 19 * 3600


def charts(numbers: Figures, locked: Ranges) -> dict[str, Picture]:
    """Every picture by its name.

    >>> from tarry.console.workbench.figures import START, figures
    >>> list(charts(figures(START), {}))
    ['frontier', 'laws', 'evening', 'odds', 'power', 'posterior']
    """
    known, choices = facts(numbers), numbers.choices
    return {
        "frontier": _frontier(known, locked),
        "laws": _laws(known, locked),
        "evening": _evening(watch(choices), locked),
        "odds": _odds(numbers),
        "power": _power(numbers),
        "posterior": _posterior(numbers),
    }


def _place(name: str, high: float, locked: Ranges, low: float | None = None) -> int:
    """The narrowest range that holds these, unless the axes are locked."""
    ranges = RANGES[name]
    if name in locked:
        return min(locked[name], len(ranges) - 1)
    fits = (place for place, one in enumerate(ranges) if high <= one[1] and (low is None or one[0] <= low))
    return next(fits, len(ranges) - 1)


_BIG = Frame(560, 310, 48, 30, 546, 262)


def _frontier(known: Facts, locked: Ranges) -> Picture:
    """Wait against success: every stop of the budget, and where one stands."""
    words = _W["charts"]
    mean = known.waits["batched"][1]
    waits = [mean, *(trade.wait_s for trade in known.trades)]
    place = _place("frontier", max(waits), locked, min(waits))
    across = Axis("log", *RANGES["frontier"][place])
    picture = Picture("frontier", _BIG, across, Axis("linear", 0, 1))
    picture.range = place
    picture.axes(tick_marks(across), SHARES, words["mean_batched"], words["success"])
    f = picture.frame
    for mark, level in (("without", known.without.person), ("guessing", known.base)):
        y = picture.y(level or 0)
        picture.add("line", class_=f"level {mark}", x1=f.left, x2=f.right, y1=y, y2=y, data_mark=mark)
        picture.add(
            "text",
            words[f"level_{mark}"],
            class_="word end over",
            x=f.right,
            y=y - 5,
            data_mark=f"{mark}-word",
        )
    stops = [(trade.wait_s, trade.right or 0.0) for trade in known.trades]
    picture.curve("curve", stops, class_="line delayed")
    for trade in known.trades:
        x, y = picture.x(trade.wait_s), picture.y(trade.right or 0.0)
        picture.add("circle", class_="stop", cx=x, cy=y, r=2.5, data_value=trade.value)
    right, spread = known.delayed.person or 0.0, known.delayed.spread
    x = picture.x(mean)
    picture.add("g", "", data_mark="baseline")
    picture.add(
        "line",
        class_="spread",
        x1=x,
        x2=x,
        y1=picture.y(right - spread),
        y2=picture.y(right + spread),
        data_mark="spread",
    )
    picture.add("circle", class_="here", cx=x, cy=picture.y(right), r=8, data_mark="here")
    return picture


def law_bins(runs: Sequence[tuple[int, float]], hold: int, end: float) -> list[float]:
    """The chance of each of sixty equal stretches of delay.

    >>> [round(share, 2) for share in law_bins([(60, 1 / 60)], 0, 60)[:2]]
    [0.02, 0.02]
    """
    ends = list(accumulate(length for length, _ in runs))
    sums = list(accumulate(length * mass for length, mass in runs))

    def below(ticks: float) -> float:
        if ticks <= 0:
            return 0.0
        run = bisect_right(ends, ticks)
        if run == len(ends):
            return sums[-1]
        before = ends[run] - runs[run][0]
        return sums[run] - runs[run][0] * runs[run][1] + (ticks - before) * runs[run][1]

    edges = [below(end * n / BINS - hold) for n in range(BINS + 1)]
    return [then - now for now, then in pairwise(edges)]


_SMALL = Frame(420, 256, 46, 30, 408, 212)


def _laws(known: Facts, locked: Ranges) -> Picture:
    """How long acts wait, batched and alone, as chances of equal stretches."""
    words = _W["charts"]
    place = _place("laws", known.waits["batched"][2] + 1, locked)
    across = Axis("linear", *RANGES["laws"][place])
    bins = {name: law_bins(runs, known.hold, across.high) for name, runs in known.laws.items()}
    most = max(bins["batched"])
    top = next(top for top in _TOPS if 1.3 * most <= top or top == 1.0)
    picture = Picture("laws", _SMALL, across, Axis("linear", 0, top))
    picture.range = place
    up = {top: f"{100 * top:g} %", top / 2: f"{50 * top:g} %"}
    picture.axes(tick_marks(across), up, words["delay"], words["share"])
    picture.add(
        "path", d=steps(picture, bins["batched"], closed=True), class_="area batched", data_mark="area"
    )
    for name in ("batched", "unbatched"):
        path = steps(picture, bins[name], closed=False)
        picture.add("path", d=path, class_=f"line {name}", data_mark=name)
    mean = picture.x(known.waits["batched"][1])
    f = picture.frame
    picture.add("line", class_="mean", x1=mean, x2=mean, y1=f.top, y2=f.bottom, data_mark="mean")
    return picture


# --- the evening -----------------------------------------------------------------------------------------

_LANE, _BAND, _TOP = 11, 6, 8
_LEFT, _RIGHT, _WIDTH = 44, 548, 560


def _places(evening: Evening) -> list[float]:
    """Where each pseudonym's line lies; a little apart from the next person's."""
    people = {act.lane: act.person for act in evening.acts}
    y, places = float(_TOP), []
    for lane in range(len(people)):
        y += _LANE + (_BAND if lane and people[lane] != people[lane - 1] else 0)
        places.append(y - _LANE / 2)
    return places


def _evening(evening: Evening, locked: Ranges) -> Picture:
    """Each act when it was written and when it appears, and a line between the two as long as its delay."""
    ys = _places(evening)
    bottom = int(ys[-1] + _LANE / 2 + 4)
    place = _place("evening", max(evening.at_s), locked)
    across = Axis("linear", *RANGES["evening"][place])
    frame = Frame(_WIDTH, bottom + 36, _LEFT, _TOP, _RIGHT, bottom)
    picture = Picture("evening", frame, across, Axis("linear", 0, 1))
    picture.range = place
    for person, name in enumerate(PEOPLE):
        mine = [ys[lane] for lane in sorted({act.lane for act in evening.acts if act.person == person})]
        top, height = mine[0] - _LANE / 2, mine[-1] - mine[0] + _LANE
        picture.add("rect", class_="band", x=0, y=top, width=_WIDTH, height=height, rx=3)
        picture.add("text", name, class_="word name", x=5, y=top + height / 2 + 4)
    for value, word in _clock_marks(across).items():
        x = picture.x(value)
        picture.add("line", class_="tick", x1=x, x2=x, y1=bottom, y2=bottom + 4)
        picture.add("text", word, class_="word middle", x=x, y=bottom + 17)
    written = tuple(act.at_s for act in evening.acts)
    for side, moments, guesses in (
        ("without", written, evening.guesses_without),
        ("delayed", evening.at_s, evening.guesses),
    ):
        drawn = "".join(_guess(picture, ys, evening, moments, guess) for guess in guesses)
        picture.add("g", drawn, class_=f"guesses {side}", data_mark=f"guesses-{side}")
    for number, (act, at_s) in enumerate(zip(evening.acts, evening.at_s, strict=True)):
        y, start, end = ys[act.lane], picture.x(act.at_s), picture.x(at_s)
        picture.add("line", class_="waiting", x1=start, x2=end, y1=y, y2=y, data_wait=number)
        picture.add("circle", class_="written", cx=start, cy=y, r=2.6)
        picture.add("circle", class_="appears", cx=end, cy=y, r=3.2, data_act=number)
    return picture


def _guess(picture: Picture, ys: list[float], evening: Evening, at_s: Sequence[int], guess: Guess) -> str:
    """A right guess is a solid line, a wrong one dashed: colour only repeats it."""
    first, second = guess.first, guess.second
    x0, x1 = picture.x(at_s[first]), picture.x(at_s[second])
    y0, y1 = ys[evening.acts[first].lane], ys[evening.acts[second].lane]
    turn = (x0 + x1) / 2 + (8 + abs(y1 - y0) * 0.12) * (-1 if max(x0, x1) > _RIGHT - 40 else 1)
    path = f"M{x0:.1f} {y0:.1f}Q{turn:.1f} {(y0 + y1) / 2:.1f} {x1:.1f} {y1:.1f}"
    return tag("path", d=path, class_=f"guess {'right' if guess.is_right else 'wrong'}")


def _clock_marks(axis: Axis) -> dict[float, str]:
    """Hours of the clock, or days where the evening grows long."""
    marks = list(tick_marks(axis))
    if axis.high > 2 * _DAY:
        return {at: _W["replay"]["day"].format(day=1 + int((START_S + at) // _DAY)) for at in marks}
    return {at: f"{int((START_S + at) // 3600) % 24:02}:{int(at // 60) % 60:02}" for at in marks}


# --- what an observer can learn --------------------------------------------------------------------------


def _numbers(*values: int) -> dict[float, str]:
    return {value: f"{value:,}" for value in values}


def _odds(numbers: Figures) -> Picture:
    """What a suspicion of 1 % becomes after many pairs."""
    older = [(one.pairs, risen(one.older)) for one in numbers.odds]
    season = [(one.pairs, risen(one.season)) for one in numbers.odds if one.season is not None]
    marks = _numbers(1, 3, 10, 30, 100, 300, 1000)
    chosen = {"older": older, "season": season}
    picture = line_chart("odds", Axis("log", 1, 1000), marks, _W["charts"]["pairs"], chosen)
    return _mark(picture, numbers.choices.pairs)


def _power(numbers: Figures) -> Picture:
    """The most that any test can find, over the share of innocent pairs that it accuses."""
    series = {
        name: [(one.error, one.bounds[place]) for one in numbers.power]
        for place, name in enumerate(("half", "chosen", "twice"))
    }
    series["blind"] = [(0, 0), (0.2, 0.2)]
    marks = {share / 100: f"{share} %" for share in (0, 5, 10, 15, 20)}
    return line_chart("power", Axis("linear", 0, 0.2), marks, _W["charts"]["error"], series)


def _posterior(numbers: Figures) -> Picture:
    """How sure an observer can be of the right person, without delays and with them."""
    series = {
        "together": [(one.suspects, one.together) for one in numbers.suspicions],
        "delayed": [(one.suspects, one.delayed) for one in numbers.suspicions],
        "before": [(one.suspects, one.before) for one in numbers.suspicions],
    }
    marks = _numbers(2, 5, 10, 20, 50, 100)
    picture = line_chart("posterior", Axis("log", 2, 100), marks, _W["charts"]["suspects"], series)
    return _mark(picture, numbers.choices.suspects)


def _mark(picture: Picture, value: float) -> Picture:
    """A thin line where the chosen number is."""
    f, x = picture.frame, picture.x(value)
    picture.add("line", class_="mean", x1=x, x2=x, y1=f.top, y2=f.bottom)
    return picture
