"""The audit as a picture: what each policy waits, and how often an observer was right all the same."""

from collections.abc import Mapping
from typing import Any

from tarry.console.drawing import Axis, Frame, Picture, tick_marks
from tarry.console.pages import texts

__all__ = ["frontier"]

_FRAME = Frame(560, 300, 48, 30, 546, 252)
#: Where the axis of delays may begin, and end.
_LEAST_S = (1, 10, 60, 300, 900, 3600, 14_400, 86_400)
_MOST_S = (3600, 14_400, 86_400, 345_600, 1_728_000, 8_640_000, 34_560_000)
_TOPS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


def frontier(answer: Mapping[str, Any], chosen: int, there: str) -> Picture | None:
    """Mean delay against right claims: policies that were tried, and practices beside them.

    A policy is a disc and can be chosen; a practice that promises nothing is an empty square. None where
    nothing was tried.

    >>> frontier({"advice": None}, 0, "/audit") is None
    True
    """
    advice = answer["advice"]
    if not advice or not advice["choices"]:
        return None
    words, choices = texts()["audit"], advice["choices"]
    others = [
        row
        for row in (answer.get("compared") or {}).get("rows", ())
        if row["mean_s"] and row["share"] is not None and row["name"] != "recommended"
    ]
    waits = [max(1.0, each["mean_s"]) for each in (*choices, *others)]
    low = max(end for end in _LEAST_S if end <= min(waits))
    high = min((end for end in _MOST_S if end >= max(waits)), default=_MOST_S[-1])
    shares = [advice["before_share"], *(each["share"] for each in (*choices, *others))]
    top = next(top for top in _TOPS if 1.05 * max(shares) <= top or top == 1)
    picture = Picture("audit", _FRAME, across := Axis("log", low, high), Axis("linear", 0, top))
    up = {top * part / 4: f"{100 * top * part / 4:g} %" for part in range(5)}
    picture.axes(tick_marks(across), up, words["mean"], words["chart_up"])
    f, y = picture.frame, picture.y(advice["before_share"])
    picture.add("line", class_="level without", x1=f.left, x2=f.right, y1=y, y2=y)
    picture.add("text", words["chart_before"], class_="word end over", x=f.right, y=y - 5)
    best = sorted((each["mean_s"], each["share"]) for each in choices if each["on_frontier"])
    picture.curve("curve", best, class_="line delayed")
    for row in others:
        x, y = picture.x(row["mean_s"]), picture.y(row["share"])
        name = words["habits"][row["name"]] if row["is_habit"] else row["name"]
        said = words["chart_other"].format(
            name=name, mean=row["mean"], right=row["right"][0], promise=row["promise"]
        )
        picture.add(
            "rect",
            class_="other",
            x=x - 4.5,
            y=y - 4.5,
            width=9,
            height=9,
            data_x=x,
            data_y=y,
            data_says=said,
        )
    for number, each in enumerate(choices):
        x, y = picture.x(each["mean_s"]), picture.y(each["share"])
        picture.add(
            "circle",
            class_="point chosen" if number == chosen else "point",
            cx=x,
            cy=y,
            r=9 if number == chosen else 6,
            data_x=x,
            data_y=y,
            data_says=_says(each, words),
            data_to=f"{there}?choice={number}#chosen-heading",
        )
    return picture


def _says(choice: Mapping[str, Any], words: Mapping[str, Any]) -> str:
    """One policy in a sentence."""
    name = words["epsilon_gap"].format(epsilon=choice["epsilon"], gap=choice["gap"])
    return str(words["chart_choice"]).format(
        name=name, mean=choice["mean"], longest=choice["longest"], right=choice["right"]
    )
