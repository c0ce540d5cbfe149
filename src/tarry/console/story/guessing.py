"""The first picture: posts without names, for a visitor to guess which are one person's.

The posts, their delays and the observer who does as well are those of the workbench's evening.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tarry.console.drawing import Axis, Frame, Picture, tag
from tarry.console.pages import texts
from tarry.console.workbench.evening import (
    DRAWS,
    PEOPLE,
    EveningAct,
    base_rate,
    batches,
    watch,
)
from tarry.console.workbench.figures import START
from tarry.console.workbench.instrument import about, share_words
from tarry.console.workbench.page import clock
from tarry.core.exact import parse_duration

__all__ = ["Dot", "Guessing", "guessing"]

_POSTS, _ROWS = 14, 7
_END_S = 90 * 60
_FRAME = Frame(420, 284, 14, 4, 406, 254)
#: How far apart two posts of one row are at least, so that a finger can choose between them.
_APART_S = 8 * 60
SIDES = ("without", "delayed")


@dataclass(frozen=True, kw_only=True)
class Dot:
    """Who wrote it, and where it is drawn, without delays and with them.

    >>> guessing().posts[0].person
    'Ben'
    """

    person: str
    at_s: tuple[int, int]
    places: tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Guessing:
    """The posts, both pictures of them, and what the simple observer of the workbench makes of the evening.

    >>> guessing().sentence[-40:]
    'Blind guesses are right 9 % of the time.'
    """

    posts: tuple[Dot, ...]
    pictures: dict[str, str]
    sentence: str


@cache
def guessing() -> Guessing:
    """The first posts of the evening; each is under another name.

    >>> len(guessing().posts)
    14
    """
    evening, words = watch(START), texts()["story"]["observer"]
    acts = evening.acts[:_POSTS]
    at = [(act.at_s, release_s) for act, release_s in zip(acts, evening.at_s, strict=False)]
    posts = _placed(acts, at)
    return Guessing(
        posts=posts,
        pictures={side: _picture(posts, side) for side in SIDES},
        sentence=words["simple"].format(
            cutoff=about(float(parse_duration(START.cutoff))),
            draws=DRAWS,
            without=share_words(evening.without.person, ""),
            delayed=share_words(evening.delayed.person, ""),
            base=share_words(base_rate(), ""),
        ),
    )


def _axes(name: str) -> Picture:
    picture = Picture(name, _FRAME, Axis("linear", 0, _END_S), Axis("linear", 0, _ROWS))
    for row in range(_ROWS):
        y = picture.y(row + 0.5)
        picture.add("line", class_="grid", x1=_FRAME.left, x2=_FRAME.right, y1=y, y2=y)
    picture.axes({at: clock(at) for at in range(0, _END_S + 1, 900)}, {}, "")
    return picture


def _placed(acts: tuple[EveningAct, ...], at: list[tuple[int, int]]) -> tuple[Dot, ...]:
    """Each in a row that has room for it on both pictures: how high a post is drawn says nothing."""
    picture = _axes("observer")
    rows: list[list[tuple[int, int]]] = [[] for _ in range(_ROWS)]
    posts = []
    for number, (act, moments) in enumerate(zip(acts, at, strict=True)):
        order = [(number * 3 + step) % _ROWS for step in range(_ROWS)]
        row = next(row for row in order if all(_is_apart(moments, other) for other in rows[row]))
        rows[row].append(moments)
        y = picture.y(row + 0.5)
        first, second = ((picture.x(moment), y) for moment in moments)
        posts.append(Dot(person=PEOPLE[act.person], at_s=moments, places=(first, second)))
    return tuple(posts)


def _is_apart(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return all(abs(here - there) >= _APART_S for here, there in zip(one, other, strict=True))


def _picture(posts: tuple[Dot, ...], side: str) -> str:
    """Dots; who wrote them is in a group of its own, which a script hides until it is asked for."""
    place = SIDES.index(side)
    picture = _axes("observer" if side == "without" else "observer-delayed")
    places = [post.places[place] for post in posts]
    for group, at in enumerate(SIDES if side == "without" else (side,)):
        lines = "".join(
            tag("line", class_="truth", x1=one[0], y1=one[1], x2=other[0], y2=other[1])
            for one, other in _batched([post.places[SIDES.index(at)] for post in posts])
        )
        picture.add("g", lines, class_=f"truths {at}", data_mark=f"truth-{at}", data_order=group)
    for post, (x, y) in zip(posts, places, strict=True):
        dot = tag("circle", class_="post", r=9) + tag(
            "text", post.person[0], class_="word middle initial", y=4
        )
        picture.add("g", dot, class_="who", transform=f"translate({x:.1f} {y:.1f})", data_post="")
    return picture.__html__()


def _batched(places: list[tuple[float, float]]) -> list[tuple[Any, Any]]:
    """Neighbours among what one person wrote within the window."""
    together = batches(START.policy.window_ticks)[:_POSTS, :_POSTS]
    return [
        (places[first], places[second])
        for first in range(_POSTS)
        for second in np.flatnonzero(together[first])[:_POSTS]
        if second > first and not any(together[first, between] for between in range(first + 1, second))
    ]
