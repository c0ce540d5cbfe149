"""A picture with something to drag: every stop of its slider, drawn and said by the server.

The script knows no formula. It puts the marks of a stop where the server has put them.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tarry.console.drawing import Picture

__all__ = ["Moving", "Stop", "moving"]


class Stop(NamedTuple):
    """One place of a slider: what it is called, what it comes to, and where the marks of the picture are.

    >>> Stop("11m", "Half of the strangers are inside.", {"here": {"cx": 40.0}}).value
    '11m'
    """

    value: str
    sentence: str
    marks: Mapping[str, Mapping[str, object]]  # attributes by mark; `text` is what a mark says


class Moving(NamedTuple):
    """A picture, and every way it can look.

    >>> Moving("gap", "<svg></svg>", (Stop("11m", "Half.", {}),), 0).shown.sentence
    'Half.'
    """

    name: str
    picture: str
    stops: tuple[Stop, ...]
    start: int

    @property
    def shown(self) -> Stop:
        """Where it begins, and what it shows without a script."""
        return self.stops[self.start]

    @property
    def json(self) -> str:
        """The stops for the script: of their marks what differs from stop to stop."""
        first = self.stops[0].marks
        fixed = {
            (mark, name)
            for mark, attributes in first.items()
            for name, value in attributes.items()
            if all(stop.marks[mark][name] == value for stop in self.stops)
        }
        rows = [
            (value, sentence, {mark: _changing(mark, each, fixed) for mark, each in marks.items()})
            for value, sentence, marks in self.stops
        ]
        return msgspec.json.encode(rows).decode()


def _changing(
    mark: str, attributes: Mapping[str, object], fixed: Collection[tuple[str, str]]
) -> dict[str, object]:
    """Numbers to a tenth of a unit, as in the picture."""
    return {
        name: round(value, 1) if isinstance(value, float) else value
        for name, value in attributes.items()
        if (mark, name) not in fixed
    }


def moving(
    picture: Picture, marks: Sequence[tuple[str, str, str]], stops: Sequence[Stop], start: int
) -> Moving:
    """Draw the marks, each as (name, element, class), as they are at the start; the last one lies on top.

    >>> from tarry.console.drawing import Axis, Frame
    >>> picture = Picture("gap", Frame(10, 10, 0, 0, 10, 10), Axis("linear", 0, 1), Axis("linear", 0, 1))
    >>> "cx=" in moving(
    ...     picture, [("here", "circle", "here")], [Stop("1", "", {"here": {"cx": 3.0}})], 0
    ... ).picture
    True
    """
    for name, element, class_ in marks:
        given: dict[str, Any] = {"class": class_, "data-mark": name, **stops[start].marks[name]}
        picture.add(element, str(given.pop("text", "")), **given)
    held = (stop._replace(sentence=stop.sentence.replace(" %", "\N{NO-BREAK SPACE}%")) for stop in stops)
    return Moving(picture.name, picture.__html__(), tuple(held), start)
