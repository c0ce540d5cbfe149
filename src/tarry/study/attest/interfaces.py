"""What an attestation is made of: a black box, pairs of stories, and a test that tells them apart.

A *story* is what happens: people act, and some of it may be withdrawn and posted again, or the whole be
restarted. A black box turns a story into what is seen of it: a release for each act. A neighbour generator
gives pairs of stories with the nats by which the second may be less likely than the first. A tester picks
the region of releases that speaks for the first. Each of the three is a protocol: write your own.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from tarry.core.entropy import Secure, Seeded
from tarry.core.lanes import BoolArray, IntArray
from tarry.core.verify.streams import Stream

__all__ = ["BlackBox", "NeighbourGenerator", "Region", "Story", "StoryPair", "Tester", "ordinal"]

_ORDINALS = ("first", "second", "third")


@dataclass(frozen=True, kw_only=True)
class Story:
    """What happens, in whole units of time.

    >>> from tarry.core.verify.streams import Act
    >>> print(Story(acts=(Act(0, 0, 0), Act(3, 1, 1)), restarts=(2,)))
    person 0 on target 0 at 0, person 1 on target 1 at 3; a restart at 2
    """

    acts: Stream
    reposts: tuple[tuple[int, int], ...] = ()  # (act, moment): withdrawn then, and at once posted again
    restarts: tuple[int, ...] = ()  # moments at which the mechanism is stopped, and started again
    moments: int = 1  # in each unit: more than one where acts lie on both sides of a tick's edge

    def __str__(self) -> str:
        acts = ", ".join(
            f"person {act.actor} on target {act.target} at {act.at}"
            + (" (more to come)" if act.declared else "")
            for act in self.acts
        )
        again = [f"; the {ordinal(act)} act withdrawn and posted again at {at}" for act, at in self.reposts]
        stopped = [f"; a restart at {at}" for at in self.restarts]
        parts = [] if self.moments == 1 else [f"; {self.moments} moments in a tick"]
        return "".join([acts, *again, *stopped, *parts])

    def as_json(self) -> dict[str, Any]:
        """Plain values, from which the story can be told again."""
        return {
            "acts": [
                {"at": at, "actor": actor, "target": target, "declared": declared}
                for at, actor, target, declared in self.acts
            ],
            "reposts": [list(repost) for repost in self.reposts],
            "restarts": list(self.restarts),
            "moments": self.moments,
        }


@dataclass(frozen=True, kw_only=True)
class StoryPair:
    """Two stories in this order, and what is promised of them.

    Whatever is seen has at most e^nats times the chance in `true` that it has in `other`, and delta on top.

    >>> from tarry.core.verify.streams import Act
    >>> together, apart = (Story(acts=(Act(0, 0, 0), Act(0, who, 1))) for who in (0, 1))
    >>> StoryPair(kind="pair", true=together, other=apart, nats=Fraction(1)).watched
    (0, 1)
    """

    kind: str  # in a word or two
    true: Story
    other: Story
    nats: Fraction
    delta: Fraction = Fraction(0)
    looks_at: tuple[int, ...] | None = None  # the acts whose releases may tell; None: all of them

    @property
    def watched(self) -> tuple[int, ...]:
        """The acts whose releases are looked at."""
        return tuple(range(len(self.true.acts))) if self.looks_at is None else self.looks_at


def ordinal(act: int) -> str:
    """Which act of a story that is, in words.

    >>> ordinal(0), ordinal(3)
    ('first', '4th')
    """
    return _ORDINALS[act] if act < len(_ORDINALS) else f"{act + 1}th"


class BlackBox(Protocol):
    """A mechanism of which only releases are known."""

    @property
    def name(self) -> str:
        """What tables call it."""

    def releases(self, story: Story, samples: int, source: Seeded | Secure) -> IntArray:
        """The release of each act (a column), in independent repetitions of the story (a row each).

        Times are whole numbers of one unit, of the box's choice. All chance comes from `source`, or, where
        the box has a source of its own, from there; calls with another source are independent.
        """


class NeighbourGenerator(Protocol):
    """Where pairs of stories come from."""

    def pairs(self) -> Iterable[StoryPair]:
        """The pairs to try, each in the order that the promise speaks of."""


class Region(Protocol):
    """A set of releases."""

    def contains(self, releases: IntArray) -> BoolArray:
        """Whether each row is in it."""

    def as_json(self) -> dict[str, Any]:
        """Plain values, from which it can be told again."""


class Tester(Protocol):
    """Chooses, from samples of two stories, the region that speaks most clearly for the first."""

    def choose(self, true: IntArray, other: IntArray, pair: StoryPair) -> tuple[float, Region]:
        """How far the region is thought to be beyond the promise, in nats, and the region.

        Whatever it answers, an attestation stays right: it counts hits of the region in fresh samples.
        """
