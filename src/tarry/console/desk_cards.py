"""A space on the desk: its policies in turn, its deadline, and what waits there by hour of release."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from tarry.console.desk_figures import Standing
from tarry.gateway.book import Space
from tarry.keep.clock import moment

__all__ = ["Card", "Held", "Waiting", "cards"]

State = Literal["holds", "comes", "held", "never"]


class Waiting(NamedTuple):
    """What is to leave in one hour.

    >>> Waiting(at=None, posts=3, share=100).posts
    3
    """

    at: str | None  # when the hour begins; None: not known yet
    posts: int
    share: int  # of the busiest hour, in percent


class Held(NamedTuple):
    """One policy of a space, and whether it holds.

    >>> Held(1, None, "holds").number
    1
    """

    number: int
    held_from: str | None  # None: from the start
    state: State


class Card(NamedTuple):
    """A space, as its operator sees it.

    >>> from tarry.gateway.testing import small_gateway
    >>> (card,) = cards(None, small_gateway().book.spaces.values())
    >>> card.policies
    [Held(number=1, held_from=None, state='holds')]
    """

    space: Space
    until: str | None  # a new policy takes effect then, and admission pauses until then
    deadline: str | None
    is_over: bool  # the deadline has passed
    policies: list[Held]  # latest first
    waiting: list[Waiting]
    total: int  # posts that wait


def cards(standing: Standing | None, spaces: Iterable[Space]) -> list[Card]:
    """One for each space.

    >>> cards(None, [])
    []
    """
    return [_card(standing, space) for space in spaces]


def _card(standing: Standing | None, space: Space) -> Card:
    deadline, tick = space.version.policy.deadline_at, space.version.policy.tick
    now_tick = None if standing is None else standing.last_tick + 1
    policies = _policies(space, now_tick)
    waiting = [] if standing is None else _waiting(standing, space.name)
    return Card(
        space=space,
        until=policies[0].held_from if policies[0].state == "comes" else None,
        deadline=None if deadline is None else moment(deadline),
        is_over=deadline is not None and now_tick is not None and now_tick * tick > deadline,
        policies=policies,
        waiting=waiting,
        total=sum(each.posts for each in waiting),
    )


def _policies(space: Space, now_tick: int | None) -> list[Held]:
    """Latest first. One whose successor took effect no later than itself never held."""
    found: list[Held] = []
    first: float = float("inf")  # tick of those after it
    state: State
    for version in reversed(space.versions):
        comes = now_tick is not None and version.first_tick > now_tick
        if version.first_tick >= first:
            state = "never"
        elif comes:
            state = "comes"
        else:
            state = "held" if any(each.state != "never" for each in found) else "holds"
        first = min(first, version.first_tick)
        held_from = moment(version.first_tick * version.policy.tick) if version.first_tick else None
        found.append(Held(version.number, held_from, state))
    return found


def _waiting(standing: Standing, space: str) -> list[Waiting]:
    rows = [row for row in standing.ahead if row["outlet"] == space]
    most = max((row["posts"] for row in rows), default=0)
    # What is not known yet has hour 0, and comes after what is.
    rows.sort(key=lambda row: (not row["hour"], row["hour"]))
    return [
        Waiting(
            moment(row["hour"] * standing.hour_s) if row["hour"] else None,
            row["posts"],
            100 * row["posts"] // most,
        )
        for row in rows
    ]
