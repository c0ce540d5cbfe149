"""Pictures on pages: small SVG in the page itself, with or without scripts.

What moves with a slider carries the name of its mark, so that `static/drawing.js` can move it inside axes
that stay as they are. Axes come from a few round ranges: a longer gap looks longer.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import log
from typing import NamedTuple

from tarry.core.exact import format_duration

__all__ = ["Axis", "Frame", "Picture", "curve", "line_chart", "steps", "tag", "tick_marks"]

Points = Iterable[tuple[float, float]]


def tag(element: str, content: str = "", **attributes: object) -> str:
    """An element of SVG; the content is markup already, and values are escaped.

    >>> tag("circle", r=3, class_="act", data_mark="<")
    '<circle r="3" class="act" data-mark="&lt;"></circle>'
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_short(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{element}{written}>{content}</{element}>"


def _short(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


class Axis(NamedTuple):
    """What an axis spans, evenly or by factors.

    >>> Axis("log", 1, 100).share(10)
    0.5
    """

    kind: str  # linear or log
    low: float
    high: float

    def share(self, value: float) -> float:
        """How far along the axis a value lies; beyond its ends, at them."""
        value = min(max(value, self.low), self.high)
        if self.kind == "log":
            return log(value / self.low) / log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def __str__(self) -> str:
        return f"{self.kind} {self.low:g} {self.high:g}"


class Frame(NamedTuple):
    """Where in a picture its axes lie, in units of the picture.

    >>> Frame(420, 250, 44, 12, 408, 210).height
    250
    """

    width: int
    height: int
    left: int
    top: int
    right: int
    bottom: int


class Picture:
    """A frame with two axes, and what is drawn in it.

    >>> frame = Frame(420, 250, 40, 10, 400, 210)
    >>> picture = Picture("laws", frame, Axis("linear", 0, 60), Axis("linear", 0, 1))
    >>> picture.x(30), picture.y(1)
    (220.0, 10.0)
    """

    def __init__(self, name: str, frame: Frame, across: Axis, up: Axis) -> None:
        self.name, self.frame, self.across, self.up = name, frame, across, up
        self.range: int | None = None  # which of its round ranges the axis across has, if it has some
        self.parts: list[str] = []

    def x(self, value: float) -> float:
        """Where a value of the axis across is drawn."""
        return self.frame.left + self.across.share(value) * (self.frame.right - self.frame.left)

    def y(self, value: float) -> float:
        """Where a value of the axis up is drawn."""
        return self.frame.bottom - self.up.share(value) * (self.frame.bottom - self.frame.top)

    def add(self, element: str, content: str = "", **attributes: object) -> None:
        """Draw one thing more."""
        self.parts.append(tag(element, content, **attributes))

    def axes(
        self, across: Mapping[float, str], up: Mapping[float, str], title: str, side: str = ""
    ) -> None:
        """Both axes, with words at these values: every second one may go where there is little room."""
        f = self.frame
        for place, (value, word) in enumerate(across.items()):
            x = self.x(value)
            less = " less" if place % 2 else ""
            self.add("line", class_="tick", x1=x, x2=x, y1=f.bottom, y2=f.bottom + 4)
            self.add("text", escape(word), class_=f"word middle{less}", x=x, y=f.bottom + 17)
        for value, word in up.items():
            y = self.y(value)
            self.add("line", class_="grid", x1=f.left, x2=f.right, y1=y, y2=y)
            self.add("text", escape(word), class_="word end", x=f.left - 6, y=y + 4)
        self.add("line", class_="axis", x1=f.left, x2=f.right, y1=f.bottom, y2=f.bottom)
        self.add("text", escape(title), class_="word end", x=f.right, y=f.height - 4)
        if side:
            self.add("text", escape(side), class_="word", x=4, y=f.top - 14)

    def curve(self, mark: str, points: Points, class_: str) -> None:
        """A line through points, under a name."""
        self.add("path", d=curve(self, points), data_mark=mark, class_=class_)

    def __html__(self) -> str:
        """The picture as markup; the page's words beside it describe it."""
        f = self.frame
        box = f"{f.left} {f.top} {f.right} {f.bottom}"
        return tag(
            "svg",
            "".join(self.parts),
            viewBox=f"0 0 {f.width} {f.height}",
            role="img",
            aria_labelledby=f"{self.name}-sentence",
            data_chart=self.name,
            data_box=box,
            data_x=self.across,
            data_y=self.up,
            data_range=self.range,
        )


def curve(picture: Picture, points: Points) -> str:
    """The path of a line through points.

    >>> picture = Picture("p", Frame(100, 100, 0, 0, 100, 100), Axis("linear", 0, 1), Axis("linear", 0, 1))
    >>> curve(picture, [(0, 0), (1, 1)])
    'M0 100L100 0'
    """
    places = [f"{_short(picture.x(x))} {_short(picture.y(y))}" for x, y in points]
    return f"M{'L'.join(places)}" if places else "M0 0"


def steps(picture: Picture, shares: Sequence[float], *, closed: bool) -> str:
    """The path of a staircase over equal stretches of the axis; closed, the area below it.

    >>> picture = Picture("p", Frame(100, 100, 0, 0, 100, 100), Axis("linear", 0, 1), Axis("linear", 0, 1))
    >>> steps(picture, [0.5, 1], closed=False)
    'M0 50H50V0H100'
    """
    f = picture.frame
    width = (f.right - f.left) / len(shares)
    places = "".join(
        f"V{_short(picture.y(share))}H{_short(f.left + (n + 1) * width)}" for n, share in enumerate(shares)
    )
    if closed:
        return f"M{f.left} {f.bottom}{places}V{f.bottom}Z"
    first, rest = places[1:].split("H", 1)
    return f"M{f.left} {first}H{rest}"


_STEPS_S = (
    *(1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600),
    *(2 * 3600, 4 * 3600, 6 * 3600, 12 * 3600, 86_400, 2 * 86_400, 5 * 86_400),
    *(10 * 86_400, 20 * 86_400, 50 * 86_400, 100 * 86_400, 200 * 86_400),
)
_ROUND_S = (1, 10, 60, 300, 900, 3600, 14_400, 86_400, 345_600, 1_728_000, 8_640_000)
_MOST_MARKS = 6


def tick_marks(axis: Axis) -> dict[float, str]:
    """Words at round delays of an axis of seconds.

    >>> tick_marks(Axis("linear", 0, 3600)), tick_marks(Axis("log", 60, 4000))
    ({0: '0s', 600: '10m', 1200: '20m', 1800: '30m', 2400: '40m', 3000: '50m', 3600: '1h'}, \
{60: '1m', 300: '5m', 900: '15m', 3600: '1h'})
    """
    if axis.kind == "log":
        return {value: format_duration(value) for value in _ROUND_S if axis.low <= value <= axis.high}
    step = next((step for step in _STEPS_S if axis.high <= step * _MOST_MARKS), _STEPS_S[-1])
    return {value: format_duration(value) for value in range(0, int(axis.high) + 1, step)}


SHARES = {share / 100: f"{share} %" for share in (0, 25, 50, 75, 100)}
_SMALL = Frame(420, 250, 46, 14, 408, 206)


def line_chart(
    name: str, across: Axis, marks: Mapping[float, str], title: str, series: Mapping[str, Points]
) -> Picture:
    """Chances over a number, a line for each name.

    >>> chart = line_chart("odds", Axis("log", 1, 10), {1: "1"}, "pairs", {"older": [(1, 0.5), (10, 1)]})
    >>> 'data-mark="older"' in chart.__html__()
    True
    """
    picture = Picture(name, _SMALL, across, Axis("linear", 0, 1))
    picture.axes(marks, SHARES, title)
    for mark, points in series.items():
        picture.curve(mark, points, class_=f"line {mark}")
    return picture
