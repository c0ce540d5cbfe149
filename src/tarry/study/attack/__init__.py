"""Attacks: ways to claim, from what an observer saw, that two events are one person's.

Here is what every attack is given and has. Ours, and those of installed packages, are found by name.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from tarry.core import plugins
from tarry.core.errors import BadInput
from tarry.core.lanes import BoolArray, IntArray
from tarry.study.pairs import Near, near
from tarry.study.person import People
from tarry.study.practice import Observer, Practice
from tarry.study.score import RECALL, Counts, Score
from tarry.study.table import EventTable

__all__ = [
    "Attack",
    "AttackKind",
    "Claiming",
    "Learned",
    "Lessons",
    "Observed",
    "Occurring",
    "PairTally",
    "Totals",
    "Truth",
    "attack",
    "attack_kind",
    "best_of",
    "middle_two",
    "no_parameter",
]

#: Counts by name, one for each cutoff.
PairTally = Mapping[str, Sequence[int]]


@dataclass(frozen=True, kw_only=True)
class Totals:
    """How many pairs of a table there are to claim.

    >>> Totals(linked=1, candidates=3, persons=1).counts(1, 2).false_positives
    1
    """

    linked: int  # one actor's, on different targets, arrivals at most the window apart
    candidates: int  # on different targets
    persons: int  # one actor's, on different targets

    def counts(self, linked: int, flagged: int, candidates: int | None = None) -> Counts:
        """The four counts, from the linked pairs among those flagged and all the pairs flagged."""
        candidates = self.candidates if candidates is None else candidates
        missed = self.linked - linked
        return Counts(
            true_positives=linked,
            false_positives=flagged - linked,
            false_negatives=missed,
            true_negatives=candidates - flagged - missed,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Truth:
    """What is true of a table, and so the same for every practice and attack.

    Linked pairs are candidates (different targets) of one actor whose arrivals are at most the window
    apart.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60, 61])
    >>> truth = Truth(table=table, window=60)
    >>> truth.linked_pairs, truth.candidate_pairs
    (1, 3)
    """

    table: EventTable
    window: int  # microseconds

    def __post_init__(self) -> None:
        if self.window < 0:
            raise BadInput(f"the window must be at least 0, not {self.window} microseconds")

    @cached_property
    def near(self) -> Near:
        """The linked pairs, as ranges of rows."""
        return near(self.table.actor, self.table.target, self.table.time, self.window)

    @property
    def linked_pairs(self) -> int:
        """How many candidates are linked."""
        return self.near.total

    @cached_property
    def candidate_pairs(self) -> int:
        """How many pairs of events are on different targets."""
        return self.table.candidate_pairs

    def counts(self, linked: int, flagged: int, candidates: int | None = None) -> Counts:
        """The four counts, from the linked pairs among those flagged and all the pairs flagged."""
        return self.totals.counts(linked, flagged, candidates)

    @cached_property
    def totals(self) -> Totals:
        """How many pairs there are to claim."""
        return Totals(
            linked=self.linked_pairs, candidates=self.candidate_pairs, persons=self.table.person_pairs
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Observed:
    """One practice as one observer saw it, and what is true.

    >>> from tarry.study.table import event_table
    >>> from tarry.study.baselines import baseline
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60])
    >>> truth = Truth(table=table, window=60)
    >>> Observed(truth=truth, practice=baseline("nothing"), seen=table.time).truth.linked_pairs
    1
    """

    truth: Truth
    practice: Practice
    seen: IntArray  # microseconds, in the order of the table
    labels: BoolArray | None = None  # as the policy gave them; None: not known, or it has none


@dataclass(frozen=True, kw_only=True)
class Lessons:
    """Values that an attack learns from: of some it needs every one, of others the middle ones alone.

    >>> import numpy as np
    >>> Lessons(values={"gap": np.array([5, 3, 5])}).learned({}).values["gap"].counts.tolist()
    [1, 2]
    """

    values: Mapping[str, IntArray] = field(default_factory=dict)
    middles: Mapping[str, IntArray] = field(default_factory=dict)

    def learned(self, pairs: Mapping[str, int]) -> "Learned":
        """All that is learned, where these are all values there are."""
        return Learned(
            values={
                name: Occurring(*np.unique(each, return_counts=True)) for name, each in self.values.items()
            },
            middles={name: middle_two(each) for name, each in self.middles.items()},
            pairs=pairs,
        )


class Occurring(NamedTuple):
    """Values in rising order, and how often each occurs.

    >>> import numpy as np
    >>> Occurring(np.array([3]), np.array([2])).counts.tolist()
    [2]
    """

    values: IntArray
    counts: IntArray


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What lessons come to over a whole history.

    >>> Learned(values={}, middles={"gap": (3, 5)}, pairs={}).middles["gap"]
    (3, 5)
    """

    values: Mapping[str, Occurring]
    middles: Mapping[str, tuple[int, int] | None]  # the two that a median lies between; None: no value
    pairs: Mapping[str, int]


class Claiming(NamedTuple):
    """What a method counted of a whole history: all that its scores are made of.

    >>> from tarry.study.baselines import baseline
    >>> totals = Totals(linked=1, candidates=3, persons=1)
    >>> Claiming(baseline("nothing"), totals, [60], {"claimed": [2]}).counts["claimed"]
    [2]
    """

    practice: Practice
    totals: Totals
    cutoffs: Sequence[int]  # microseconds
    counts: PairTally


class Attack(ABC):
    """A method of claiming that two events are one person's.

    Only its name and `score` must be written; it applies everywhere unless it says otherwise.

    >>> class Everybody(Attack):
    ...     name = "everybody"
    ...
    ...     def score(self, observed, cutoffs):
    ...         truth = observed.truth
    ...         counts = truth.counts(truth.linked_pairs, truth.candidate_pairs)
    ...         return [Score(cutoff=cutoff, counts=counts) for cutoff in cutoffs]
    >>> Everybody().needs
    ''
    """

    name: str  # what tables and charts call it: the text that makes it
    needs: ClassVar[str] = ""  # where it applies, in words, if that is not everywhere
    seeks: ClassVar[str] = "linked pairs"  # what its counts are of
    #: What it counts where that can be done by parts: pairs, which count where they are complete; events,
    #: by those around them; or people, where all acts of an actor are together and nobody else's matter.
    by_parts: str = ""
    learns: ClassVar[bool] = False  # whether it must learn of a history before it claims

    def applies_to(self, practice: Practice, watcher: Observer) -> bool:  # noqa: ARG002 - most do everywhere
        """Whether the method can be used there."""
        return True

    @abstractmethod
    def score(self, observed: Observed, cutoffs: Sequence[int]) -> list[Score]:
        """How right its claims are, at each cutoff in microseconds."""

    def tally(self, observed: Observed, cutoffs: Sequence[int]) -> PairTally:
        """Counts of pairs at each cutoff, all that scores are made of; where it counts pairs by parts."""
        raise NotImplementedError

    def tally_events(self, observed: Observed, own: BoolArray, cutoffs: Sequence[int]) -> PairTally:
        """Counts of the events that are `own`, with others around them; where it counts events by parts."""
        raise NotImplementedError

    def scores_of(self, claimed: Claiming) -> list[Score]:
        """The scores that such counts make."""
        raise NotImplementedError

    def lessons(self, observed: Observed, new: BoolArray) -> Lessons:
        """What it learns from the events that are `new`, where it learns.

        It may look at those up to the window around them, or at all of their actor where it counts people.
        """
        raise NotImplementedError

    def pair_lessons(self, observed: Observed) -> Mapping[str, int]:  # noqa: ARG002 - most learn from events
        """Counts that it learns from pairs at most the window apart."""
        return {}

    def taught(self, practice: Practice, learned: Learned) -> "Attack":
        """The same attack once it has learned, where it learns."""
        raise NotImplementedError

    def reach(self, cutoffs: Sequence[int]) -> int:
        """How far apart pairs are seen at most that it counts at these cutoffs, in microseconds."""
        return max(cutoffs, default=0)

    def looks(self, practice: Practice) -> int:  # noqa: ARG002 - likewise
        """How far around an event it looks besides cutoff and window, in microseconds."""
        return 0

    def farthest(self, window: int, spread: int) -> int | None:  # noqa: ARG002 - likewise
        """How far it looks for the best cutoff for claims about people; None: among its scores alone.

        The spread is how much further some events are moved than others. All in microseconds.
        """
        return None

    def people(self, observed: Observed, scores: Sequence[Score], *, thorough: bool) -> People:  # noqa: ARG002 - some look again
        """The best of these scores: right about the person most often, of those that find a tenth.

        An attack that can be asked for other cutoffs may look among all, and for whom the claims are about.
        """
        return best_of(scores)


def best_of(scores: Sequence[Score]) -> People:
    """The best of these scores: right about the person most often, of those that find a tenth.

    >>> best_of([]).best is None
    True
    """
    far = [score for score in scores if (score.counts.recall or 0) >= RECALL and score.right_person]
    return People(best=max(far, key=lambda score: score.right_person or 0, default=None))


def middle_two(values: IntArray) -> tuple[int, int] | None:
    """The two values that their median lies between; None where there is none.

    >>> middle_two(np.array([9, 2, 5])), middle_two(np.array([9, 2]))
    ((5, 5), (2, 9))
    """
    count = len(values)
    if not count:
        return None
    low, high = (count - 1) // 2, count // 2
    parted = np.partition(values, (low, high))
    return int(parted[low]), int(parted[high])


@dataclass(frozen=True, kw_only=True)
class AttackKind:
    """What a name stands for in `--attack`: an attack, and how it is made of a parameter.

    >>> attack_kind("nearest").make("0.1").name
    'nearest:0.1'
    """

    name: str
    what: str  # one line for people, after "the attack"
    make: Callable[[str], Attack]  # from the text after the colon, "" where there is none
    examples: tuple[str, ...]  # whole texts: every form a parameter takes


def attack(text: str, *, allow_code: bool = False) -> Attack:
    """The attack that a text names: ours, an installed one, or with `allow_code` also `module:NAME`.

    `nearest:0.1` watches a tenth of the targets; `informed:0.5,1,2` claims within these multiples of
    each recipient's gap, instead of cutoffs in proportion to it; `likelihood:neighbours` takes pairs
    that are not batched to be as far apart as neighbours in the history.

    >>> attack("cutoff").name
    'cutoff'
    >>> attack("cutof")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: unknown attack 'cutof': use cutoff, likelihood, recipient, informed, \
nearest, or install the package that has it
    """
    kind, parameter = plugins.find("attack", text, allow_code=allow_code)
    return _checked(kind, text).make(parameter)


def attack_kind(name: str) -> AttackKind:
    """What is known of a kind of attack by its name.

    >>> attack_kind("cutoff").what
    'claims pairs that appear at most a cutoff apart'
    """
    return _checked(plugins.load("attack", name), name)


def no_parameter(name: str, parameter: str) -> None:
    """Refuse a parameter where none is taken.

    >>> no_parameter("cutoff", "5m")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the attack cutoff takes no parameter, and 'cutoff:5m' has one: write cutoff
    """
    if parameter:
        raise BadInput(
            f"the attack {name} takes no parameter, and '{name}:{parameter}' has one", f"write {name}"
        )


def _checked(kind: object, text: str) -> AttackKind:
    if not isinstance(kind, AttackKind):
        raise BadInput(
            f"{text!r} is no attack but {type(kind).__name__}", "name a tarry.study.attack.AttackKind"
        )
    return kind
