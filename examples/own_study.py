# ruff: noqa: INP001 - found by its name, and no package
"""An attack and a practice of one's own; docs/own-attack.md explains them.

PYTHONPATH=examples tarry audit HISTORY --attack own_study:NEIGHBOURS --allow-code
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.study.attack import Attack, AttackKind, Observed, no_parameter
from tarry.study.baselines import Habit, OneSpan, arrivals, shown_at
from tarry.study.practice import Shown
from tarry.study.score import Score


class Neighbours(Attack):
    """Claims two acts only if nobody else was seen between them."""

    name = "neighbours"

    def score(self, observed: Observed, cutoffs: Sequence[int]) -> list[Score]:
        """How right it is, at each cutoff."""
        # What is claimed rests on the moments that were seen, and on the targets.
        truth, table = observed.truth, observed.truth.table
        moments, rows, acts = np.unique(observed.seen, return_index=True, return_counts=True)
        one, other = rows[:-1], rows[1:]
        alone = (acts[:-1] == 1) & (acts[1:] == 1)
        claimed = alone & (table.target[one] != table.target[other])
        # Who acted, and when in truth, says how right that is.
        person = claimed & (table.actor[one] == table.actor[other])
        linked = person & (np.abs(table.time[one] - table.time[other]) <= truth.window)
        return [
            Score(
                cutoff=cutoff,
                counts=truth.counts(linked=int((linked & near).sum()), flagged=int((claimed & near).sum())),
                persons=int((person & near).sum()),
            )
            for cutoff in cutoffs
            for near in [np.diff(moments) <= cutoff]
        ]


def neighbours(parameter: str) -> Neighbours:
    """The attack by its text; it takes no parameter."""
    no_parameter("neighbours", parameter)
    return Neighbours()


NEIGHBOURS = AttackKind(
    name="neighbours",
    what="claims pairs that appear at most a cutoff apart, with nothing between them",
    make=neighbours,
    examples=("neighbours",),
)


@dataclass(frozen=True, kw_only=True)
class Moderator(OneSpan):
    """Somebody looks at the queue once a shift, and lets everything out."""

    habit: ClassVar[str] = "moderator"
    of_what: ClassVar[str] = "the shift of a moderator"
    draws: ClassVar[bool] = False  # no chance in it: the same every time

    def show(self, history: History, draw: Seeded) -> Shown:  # noqa: ARG002 - likewise
        """Each event at the end of its shift, with that time on it."""
        return shown_at(-(-arrivals(history) // self.span) * self.span)


MODERATOR = Habit(
    name="moderator",
    what="somebody lets all out at the end of each shift",
    make=Moderator.read,
    usual="4h",
    examples=("moderator:4h", "moderator:90m"),
)
